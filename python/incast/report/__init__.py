"""Reports: results as one self-contained HTML file.

The file contains its data, its pictures and its script; it can be opened from disk or from a mail, and its
content security policy forbids loading anything else.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from incast.errors import ResultError
from incast.report.entries import Entry
from incast.report.page import page
from incast.results.grid import Grid, Gridlike
from incast.results.paired import baseline_of
from incast.results.require import require as judge

__all__ = ["Entry", "write"]


def write(
    results: Gridlike,
    path: str | os.PathLike[str],
    *,
    baseline: str | None = None,
    require: Sequence[str] = (),
    command: str | None = None,
) -> Path:
    """Writes a report.

    Results of a list that differ only in their seed are one entry.

    Args:
        results: One result, several to compare, or a mapping of several by name; a comparison, replications,
            a sweep, or another grid. Without names they are labelled by algorithm, and if that is ambiguous
            also by what else tells them apart.
        path: The file, which is replaced if it exists. It is written atomically.
        baseline: What the others are compared with, seed by seed: a value like ``hpcc`` or ``delay=1us``, or
            the name of an entry. None takes the one that a sweep was made with, if it was.
        require: Requirements, as for :func:`incast.require`.
        command: The command line that asks for it, for the foot of the page.

    Returns:
        The file.

    Raises:
        ValueError: When there are no results, the file's name does not end in .html, or there is no such
            baseline, or a text is no requirement.
        ResultError: When a result cannot be read or the file cannot be written.
    """
    target = Path(path)
    if reason := refused(target):
        raise ValueError(reason)
    grid = Grid.of(results)
    if not any(run.open for run in grid.runs):
        raise ValueError("a report needs at least one result")
    named = grid.baseline if baseline is None else baseline
    try:
        base = None if named is None else baseline_of(grid, named)
    except ValueError as error:
        raise ValueError(f"baseline {named}: {error}") from None
    text = page(grid, base, judge(grid, *require), command)
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
