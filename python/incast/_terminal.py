"""Texts on a terminal: their widths, and short numbers."""

from __future__ import annotations

import unicodedata
from decimal import Decimal

WIDTH = 80
"""Columns that every table and line fits in."""


def cells(text: str) -> int:
    """Returns the number of columns that a text takes in a terminal."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def shortened(text: str, width: int) -> str:
    """The beginning of a text, as far as it fits a width."""
    while cells(text) > width:
        text = text[:-1]
    return text


def short(value: float, digits: int = 3) -> str:
    """A number of a few significant digits, never with an exponent: ``0.0123``, ``400``."""
    return format(Decimal(f"{value:.{digits}g}"), "f")
