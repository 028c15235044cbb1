"""Reports: results as one self-contained HTML file.

The file contains its data, its pictures and its script; it can be opened from disk or from a mail, and its
content security policy forbids loading anything else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from incast.errors import ResultError
from incast.report.entries import Entry, entries
from incast.report.page import page
from incast.results.result import Result

__all__ = ["Entry", "write"]


def write(results: Result | Sequence[Result] | Mapping[str, Result], path: str | os.PathLike[str]) -> Path:
    """Writes a report.

    Args:
        results: One result, several to compare, or a mapping of several by name. Without names they are
            labelled by algorithm, and if that is ambiguous also by seed or folder.
        path: The file, which is replaced if it exists. It is written atomically.

    Returns:
        The file.

    Raises:
        ValueError: When there are no results, or the file's name does not end in .html.
        ResultError: When the file cannot be written.
    """
    if isinstance(results, Result):
        results = [results]
    if not results:
        raise ValueError("a report needs at least one result")
    target = Path(path)
    if reason := refused(target):
        raise ValueError(reason)
    text = page(entries(results))
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ResultError(f"cannot write {target}: {error.strerror or error}") from error
    return target


def refused(path: Path) -> str | None:
    """Returns why a file name is not allowed for a report; None if it is."""
    if path.suffix.lower() in (".html", ".htm"):
        return None
    help_ = "name one that ends in .html (`incast plot` draws pdf, png and svg)"
    return f"{path}: a report is an HTML file; {help_}"
