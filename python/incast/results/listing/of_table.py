"""A table of a result in a notebook."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from incast.results.listing import forms
from incast.results.listing.sheet import Column, Listing

if TYPE_CHECKING:
    from incast.results import Table


def html(table: Table) -> str:
    """Returns the first rows of a table as HTML, with the number of all.

    Args:
        table: The table.
    """
    shown = min(len(table), forms.MOST_ROWS)
    known = [table.column(name)[:shown].tolist() for name in table.columns]
    columns = [Column(name, left=_is_text(values)) for name, values in zip(table.columns, known, strict=True)]
    rows = [[_text(value) for value in row] for row in zip(*known, strict=True)]
    count = f"{len(table):,} row{'' if len(table) == 1 else 's'}"
    title = f"the first {shown} of {count}" if shown < len(table) else count
    return forms.html(Listing(title, columns, rows))


def _is_text(values: list[object]) -> bool:
    return any(isinstance(value, str | bool) for value in values)


def _text(value: object) -> str:
    """Returns a value as text; whole numbers without a point, also in a column with missing ones."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return f"{value:.0f}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
