"""Quantities of the ledger: values with a dimension, and the bands that rules are made of."""

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
    """

    value: float
    dimension: str = "number"
    samples: int | None = None

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
            raise ValueError(f"{unit!r} is not a unit of {_NAMES[self.dimension]}")
        if math.isnan(self.value):
            return "none"
        if math.isinf(self.value):
            return "never" if self.dimension == "time" else "no limit"
        number = digits(self.value / size, places)
        if unit in ("%", "x"):
            return f"{number} %" if unit == "%" else f"{number}×"
        return f"{number} {unit}".strip()


_NAMES = {"bytes": "an amount of bytes", "time": "a time", "rate": "a rate", "number": "a pure number"}


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


@dataclass(frozen=True)
class Band:
    """An interval, ends included.

    Attributes:
        text: As it was written: ``65KB to 85KB``, ``at least 2x``, ``at most 20us``.
        low: Lower end; ``-inf`` for none.
        high: Upper end; ``inf`` for none.
        dimension: Of its ends.
    """

    text: str
    low: float
    high: float
    dimension: str

    @classmethod
    def parse(cls, text: str) -> Band:
        """Reads a band.

        Raises:
            ValueError: When the text is none, or its lower end is above the upper one.
        """
        stripped = text.strip()
        if stripped.startswith("at least "):
            end = quantity(stripped.removeprefix("at least "))
            return cls(stripped, end.value, math.inf, end.dimension)
        if stripped.startswith("at most "):
            end = quantity(stripped.removeprefix("at most "))
            return cls(stripped, -math.inf, end.value, end.dimension)
        low, to, high = stripped.partition(" to ")
        if not to:
            raise ValueError(
                f"{text!r} is not a band; write one like 65KB to 85KB, at least 2x or at most 20us"
            )
        ends = quantity(low), quantity(high)
        if ends[0].dimension != ends[1].dimension:
            raise ValueError(f"{text!r} runs from {_NAMES[ends[0].dimension]} to {_NAMES[ends[1].dimension]}")
        if ends[0].value > ends[1].value:
            raise ValueError(f"{text!r} runs backward")
        return cls(stripped, ends[0].value, ends[1].value, ends[0].dimension)

    def holds(self, found: Quantity) -> bool:
        """Whether a value lies in the band. What could not be measured lies in none.

        Raises:
            ValueError: When the value is of another dimension.
        """
        self.fits(found)
        return self.low <= found.value <= self.high

    def fits(self, found: Quantity) -> None:
        """Refuses a value of another dimension than the band.

        Raises:
            ValueError: When it is.
        """
        if found.dimension != self.dimension:
            raise ValueError(f"{self.text!r} is not a band of {_NAMES[found.dimension]}")

    def holds_all(self, low: float, high: float) -> bool:
        """Whether a whole interval lies in the band."""
        return self.low <= low and high <= self.high

    def touches(self, low: float, high: float) -> bool:
        """Whether some of an interval lies in the band."""
        return low <= self.high and high >= self.low
