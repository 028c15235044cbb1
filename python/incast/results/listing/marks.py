"""Marks behind numbers that rest on few values, and what they mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from incast.results.listing.sheet import number
from incast.results.pooled import above

FEW = "*"
"""Behind a percentile whose rank is the largest of the values."""

HEAVY = "†"
"""Behind a mean that rests on few values."""

MARKS = FEW + HEAVY

LEAST_INDEX = 2.0
"""Tail index below which a mean rests on few values: the distribution has no variance."""

_BOUND_NOTE = "≥: a lower bound."


@dataclass
class Marked:
    """Numbers of a table with their marks, which remembers those that it has given.

    Attributes:
        of: The values behind percentiles, in a word.
        few: Whether a percentile is the largest value.
        bound: Whether a number is a lower bound.
        heavy: The tail indices of marked means.
    """

    of: str = "flows"
    few: bool = False
    bound: bool = False
    heavy: list[float] = field(default_factory=list)

    def percentile(self, text: str, rank: float, samples: Iterable[int]) -> str:
        """Returns a percentile with its mark.

        Args:
            text: The number.
            rank: In percent.
            samples: The number of values behind it; of a mean of percentiles, the one of each of them.
        """
        if not any(count > 0 and above(count, rank) == 0 for count in samples):
            return text
        self.few = True
        return f"{text}{FEW}"

    def mean(self, text: str, tail_index: float | None) -> str:
        """Returns a mean with its mark.

        Args:
            text: The number.
            tail_index: The exponent of the tail of its values; None if it has none.
        """
        if tail_index is None or not tail_index < LEAST_INDEX:
            return text
        self.heavy.append(tail_index)
        return f"{text}{HEAVY}"

    def at_least(self, text: str, bound: bool) -> str:
        """Returns a number, after a sign if it is only a lower bound.

        Args:
            text: The number.
            bound: Whether it is one.
        """
        self.bound = self.bound or bound
        return f"≥ {text}" if bound else text

    def notes(self) -> list[str]:
        """Returns the meanings of the marks that were given."""
        said = [_BOUND_NOTE] if self.bound else []
        if self.few:
            said.append(f"{FEW} is the largest value: there are too few {self.of} for this percentile.")
        if self.heavy:
            least, most = (number(round(value, 1), 2) for value in (min(self.heavy), max(self.heavy)))
            index = least if least == most else f"{least} to {most}"
            said.append(
                f"{HEAVY} rests on few flows (tail index {index}): its interval is too narrow; compare "
                "percentiles, or pairs."
            )
        return said
