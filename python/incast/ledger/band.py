"""The bands that rules are made of."""

from __future__ import annotations

import math
from dataclasses import dataclass

from incast.results.measures.quantity import NAMES, Quantity, quantity


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
            raise ValueError(f"{text!r} runs from {NAMES[ends[0].dimension]} to {NAMES[ends[1].dimension]}")
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
            raise ValueError(f"{self.text!r} is not a band of {NAMES[found.dimension]}")

    def holds_all(self, low: float, high: float) -> bool:
        """Whether a whole interval lies in the band."""
        return self.low <= low and high <= self.high

    def touches(self, low: float, high: float) -> bool:
        """Whether some of an interval lies in the band."""
        return low <= self.high and high >= self.low
