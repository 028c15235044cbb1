"""Texts of commands: tables, paragraphs, sections, no wider than 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from incast._terminal import cells
from incast.results.listing.forms import pad, paragraph, table
from incast.results.listing.sheet import Column, Heading, columns, number

__all__ = ["Column", "Heading", "columns", "number", "pad", "paragraph", "section", "table"]


def section(title: str, rows: Sequence[Sequence[str]], width: int = 0) -> str:
    """A title, and under it names with one or several texts each.

    Args:
        title: The title.
        rows: A name and its texts, each of which begins on a line of its own.
        width: Least width of the names.
    """
    width = max([width, *(cells(row[0]) for row in rows)])
    lines = [title]
    for name, *texts in rows:
        for n, text in enumerate(texts):
            wrapped = paragraph(text, " " * (width + 4))
            lines.append(f"  {pad(name if n == 0 else '', width, True)}{wrapped[width + 2 :]}")
    return "\n".join(lines)
