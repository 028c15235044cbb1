"""Values that were measured, and the text by which they are shown and recorded."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from incast.results import stats
from incast.results.measures.quantity import Quantity, unit_of

RECORDED = 6
"""Significant digits of a recorded value."""


@dataclass(frozen=True)
class Found:
    """A value that was measured, over the seeds where the runs have several.

    Attributes:
        value: Its mean over the seeds.
        low: Lower end of the 95 % confidence interval of the mean; the value itself without seeds.
        high: Upper end of it.
        seeds: The number of seeds; 0 where no run that it was taken from has several.
    """

    value: Quantity
    low: float
    high: float
    seeds: int = 0

    @classmethod
    def once(cls, value: Quantity) -> Found:
        """A value of runs without several seeds."""
        return cls(value, value.value, value.value)

    @classmethod
    def over(cls, found: Sequence[Quantity]) -> Found:
        """The mean of the values of several seeds, with its interval.

        "Never" for some of the seeds has no mean: the interval then goes from the least value to the largest.
        """
        values = [quantity.value for quantity in found]
        estimate = stats.Estimate.of(values)
        counted = [quantity.samples for quantity in found if quantity.samples is not None]
        samples = sum(counted) if len(counted) == len(found) else None
        low, high = estimate.low, estimate.high
        if any(map(math.isnan, values)):
            low = high = math.nan
        elif not all(map(math.isfinite, values)):
            low, high = min(values), max(values)
        return cls(Quantity(estimate.mean, found[0].dimension, samples), low, high, len(found))

    @property
    def bounded(self) -> bool:
        """Whether the value and its interval are finite numbers."""
        return all(map(math.isfinite, (self.value.value, self.low, self.high)))

    def shown(self, unit: str, places: int = 3) -> str:
        """The value in a unit, with its interval and the number of samples of a percentile.

        Like ``23.1 % (21.0 % to 25.2 %, 5 seeds; n = 1,204)``.

        Args:
            unit: The unit.
            places: Significant digits.

        Raises:
            ValueError: When the unit is of another dimension.
        """
        text = self.value.shown(unit, places)
        notes = []
        if self.seeds:
            ends = [Quantity(end, self.value.dimension).shown(unit, places) for end in (self.low, self.high)]
            notes.append(f"{ends[0]} to {ends[1]}, {self.seeds} seeds")
        if self.value.samples is not None:
            notes.append(f"n = {self.value.samples:,}")
        return f"{text} ({'; '.join(notes)})" if notes else text

    @classmethod
    def read(cls, text: str, unit: str) -> Found:
        """Reads what :meth:`shown` returns.

        Args:
            text: The text.
            unit: The unit in which it was shown.

        Raises:
            ValueError: When it is no such text.
        """
        written = _SHOWN.fullmatch(text)
        if written is None:
            raise ValueError(f"{text!r} is not a recorded value")
        dimension, _ = unit_of(unit)
        samples = int(written["samples"].replace(",", "")) if written["samples"] else None
        value = _number(written["value"], unit)
        ends = [_number(written[end], unit) if written[end] else value for end in ("low", "high")]
        return cls(Quantity(value, dimension, samples), ends[0], ends[1], int(written["seeds"] or 0))

    def agrees(self, recorded: Found, unit: str) -> bool:
        """Whether the value lies in the interval of a recorded one, or is shown as the same.

        The ends of the interval are taken with the precision with which they are shown.

        Args:
            recorded: The recorded value.
            unit: The unit in which both are shown.
        """
        low, value, high = recorded.low, self.value.value, recorded.high
        if self.value.shown(unit) == recorded.value.shown(unit):
            return True
        if not (self.bounded and recorded.bounded):
            return False
        slack = 0.5 * 10.0 ** (1 - 3) * max(abs(low), abs(high))
        return low - slack <= value <= high + slack


_SHOWN = re.compile(
    r"(?P<value>[^(]+?)"
    r"(?: \((?:(?P<low>[^()]+?) to (?P<high>[^()]+?), (?P<seeds>\d+) seeds)?"
    r"(?:; )?(?:n = (?P<samples>[\d,]+))?\))?"
)


def _number(text: str, unit: str) -> float:
    if text in ("never", "no limit"):
        return math.inf
    if text == "none":
        return math.nan
    bare = text.removesuffix({"x": "×", "%": " %"}.get(unit, f" {unit}" if unit else ""))
    return float(bare.replace(",", "")) * unit_of(unit)[1]
