"""Tables for a terminal: aligned, with units in the header, no wider than 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from incast._terminal import WIDTH, cells


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        title: Its name.
        unit: The unit of its numbers, on a line of its own under the name; empty for none.
        left: Whether it is text, aligned to the left. Numbers are aligned to the right.
        group: What it is a part of, together with the columns beside it of the same group: a title over them.
    """

    title: str
    unit: str = ""
    left: bool = False
    group: str = ""


Heading: TypeAlias = "str | tuple[str, str] | tuple[str, str, str]"
"""A column of text by its title, or a column of numbers by its title, its unit and perhaps its group."""


def columns(*headings: Heading) -> list[Column]:
    """Returns a column for each heading."""
    return [
        Column(heading, left=True)
        if isinstance(heading, str)
        else Column(*heading[:2], group="".join(heading[2:]))
        for heading in headings
    ]


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int = WIDTH) -> str:
    """Lays out a table.

    Text that does not fit is wrapped inside the last column, where that one is text; elsewhere a
    cell is never cut.

    Args:
        columns: The columns.
        rows: The cells, already formatted, one per column.
        width: Widest line allowed.

    Returns:
        The lines, without a final line break.
    """
    units = [column.unit for column in columns]
    head = [[column.title for column in columns], *([units] if any(units) else [])]
    widths = [max(cells(row[i]) for row in [*head, *rows]) for i in range(len(columns))]
    last = len(columns) - 1
    room = width - sum(widths[:last]) - 2 * last
    if columns[last].left:
        widths[last] = min(widths[last], max(room, 20))

    lines = [_groups(columns, widths)] if any(column.group for column in columns) else []
    for row in [*head, ["-" * w for w in widths], *rows]:
        wrapped = textwrap.wrap(row[last], widths[last]) if columns[last].left else [row[last]]
        for n, part in enumerate(wrapped or [""]):
            cut = [*(row[:last] if n == 0 else [""] * last), part]
            padded = (pad(c, w, col.left) for c, w, col in zip(cut, widths, columns, strict=True))
            lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def _groups(columns: Sequence[Column], widths: Sequence[int]) -> str:
    """The line of the titles of groups of columns."""
    parts = []
    both = zip(columns, widths, strict=True)
    for group, members in groupby(both, key=lambda pair: pair[0].group):
        width = sum(width + 2 for _, width in members) - 2
        parts.append(f" {group} ".center(width, "-") if group else " " * width)
    return "  ".join(parts).rstrip()


def pad(text: str, width: int, left: bool) -> str:
    """Pads a text with spaces to a width."""
    space = " " * (width - cells(text))
    return text + space if left else space + text


def number(value: float, digits: int = 3) -> str:
    """A number with the given significant digits, thousands grouped; a dash for None.

    Whole digits are never rounded away: 1234.5 is ``1,234`` or ``1,235`` with three digits.
    """
    if value != value:  # NaN
        return "–"
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    if whole:
        return f"{value:,.{max(digits - whole, 0)}f}"
    places = digits
    scaled = abs(value)
    while scaled < 0.1 and places < digits + 3:
        scaled *= 10
        places += 1
    return f"{value:.{places}f}"


def paragraph(text: str, indent: str = "", width: int = WIDTH) -> str:
    """Wraps a text, with the same indentation on every line."""
    return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


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
