"""Listings: tables of formatted cells, apart from their layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias


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


@dataclass(frozen=True)
class Listing:
    """A table with its title and its notes.

    Attributes:
        title: Its title.
        columns: Its columns.
        rows: Its cells, already formatted, one per column.
        notes: The explanation below it; empty for none.
        apart: Whether the notes explain the listings before it too.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    notes: str = ""
    apart: bool = False


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
