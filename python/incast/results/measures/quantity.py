"""Values with a dimension."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

_UNITS = {
    "B": ("bytes", 1.0),
    "KB": ("bytes", 1e3),
    "MB": ("bytes", 1e6),
    "GB": ("bytes", 1e9),
    "ps": ("time", 1e-12),
    "ns": ("time", 1e-9),
    "us": ("time", 1e-6),
    "ms": ("time", 1e-3),
    "s": ("time", 1.0),
    "Mbps": ("rate", 1e6),
    "Gbps": ("rate", 1e9),
    "": ("number", 1.0),
    "x": ("number", 1.0),
    "%": ("number", 0.01),
    "RTT": ("number", 1.0),
    "BDP": ("number", 1.0),
}

_NUMBER = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([A-Za-z%]*)\s*")


@dataclass(frozen=True)
class Quantity:
    """A measured value.

    Attributes:
        value: In bytes, seconds, bit/s, or as it is for a pure number; NaN where nothing could be
            measured.
        dimension: ``bytes``, ``time``, ``rate`` or ``number``.
        samples: How many samples a percentile was taken from; None for other values.
        at_least: Whether the value is only a lower bound, since flows did not finish.
    """

    value: float
    dimension: str = "number"
    samples: int | None = None
    at_least: bool = False

    def shown(self, unit: str, places: int = 3) -> str:
        """The value in a unit: ``76.1 KB``.

        Args:
            unit: The unit.
            places: Significant digits.

        Raises:
            ValueError: When the unit is of another dimension.
        """
        dimension, size = unit_of(unit)
        if dimension != self.dimension:
            raise ValueError(f"{unit!r} is not a unit of {NAMES[self.dimension]}")
        if math.isnan(self.value):
            return "none"
        if math.isinf(self.value):
            return "never" if self.dimension == "time" else "no limit"
        number = digits(self.value / size, places)
        if self.at_least:
            number = f"≥ {number}"
        if unit in ("%", "x"):
            return f"{number} %" if unit == "%" else f"{number}×"
        return f"{number} {unit}".strip()


NAMES = {"bytes": "an amount of bytes", "time": "a time", "rate": "a rate", "number": "a pure number"}


def digits(value: float, significant: int = 3) -> str:
    """A number with three significant digits or another number of them, whole digits never rounded away."""
    if value == 0:
        return "0"
    places = max(0, significant - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(places, significant + 2)}f}"
    return text.rstrip("0").rstrip(".") if "." in text and places > 2 else text


def unit_of(unit: str) -> tuple[str, float]:
    """Dimension and size of a unit.

    Raises:
        ValueError: When there is no such unit.
    """
    if unit not in _UNITS:
        raise ValueError(f"{unit!r} is not a unit; known: {', '.join(u for u in _UNITS if u)}")
    return _UNITS[unit]


def quantity(text: str) -> Quantity:
    """Reads ``"75KB"``, ``"12us"``, ``"0.5"``, ``"86%"``.

    Raises:
        ValueError: When it is none of these.
    """
    found = _NUMBER.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is not a quantity; write one like 75KB, 12us, 0.5 or 86%")
    dimension, size = unit_of(found[2])
    # Exact until the end: 20us is the number nearest to 0.00002.
    return Quantity(float(Fraction(found[1]) * Fraction(str(size))), dimension)


def picoseconds(text: str) -> int:
    """Reads a time as picoseconds.

    Raises:
        ValueError: When it is not a time.
    """
    found = quantity(text)
    if found.dimension != "time":
        raise ValueError(f"{text!r} is not a time; write one like 12us")
    return round(found.value * 1e12)
