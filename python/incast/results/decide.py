"""Differences between two sides over the same seeds, and the word that each of them earns.

Runs of one scenario with the same seed have the same flows, so two algorithms are compared seed by seed. The
difference of a seed is ``d = ln(a / b)``, or ``a - b`` where a ratio says nothing. Its interval over the
seeds is ``mean ± t · s / √S`` as in :mod:`incast.stats`. It holds for means, percentiles and heavy tails,
since what is heavy is common to both sides. It does not hold for differences that are skewed over seeds.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Literal, TypeVar

from incast.results.measures.named import UNITS, Measure
from incast.results.stats import rounded, student

ALPHA = 0.05
"""Share of tables in which a word of a column may be wrong."""

LEAST_SEEDS = 3
"""Fewer pairs of seeds decide nothing, unless nothing is drawn."""

_LARGEST_EXPONENT = math.log(sys.float_info.max)

K = TypeVar("K", bound=Hashable)


class Word(Enum):
    """The outcome of a comparison."""

    BETTER = "better"
    WORSE = "worse"
    LOWER = "lower"
    HIGHER = "higher"
    EQUAL = "equal"
    NOT_SHOWN = "no difference shown"
    TOO_FEW = "too few"


@dataclass(frozen=True)
class Values:
    """The values of one side of a comparison.

    Attributes:
        by_seed: The values of the sound runs that have the number, by seed.
        runs: All seeds that were run.
        at_least: Seeds whose value is only a lower bound.
        samples: Fewest values behind a percentile in any run; None where this is unknown or no percentile.
        drawn: Whether the seeds made a difference to the results.
    """

    by_seed: Mapping[int, float]
    runs: frozenset[int]
    at_least: frozenset[int] = frozenset()
    samples: int | None = None
    drawn: bool = True

    def __post_init__(self) -> None:
        if any(math.isnan(value) for value in self.by_seed.values()):
            raise ValueError("a value is NaN: leave out seeds without a value")
        if not self.by_seed.keys() <= self.runs or not self.at_least <= self.by_seed.keys():
            raise ValueError("values are of seeds that were run, and lower bounds are values")


@dataclass(frozen=True)
class Difference:
    """One side compared with another one, the baseline.

    Attributes:
        measure: The number that is compared.
        seeds: The seeds that both have in common, without those in which neither has a value.
        scale: Whether the sides are compared by their ratio or by their difference.
        value: The geometric mean of the ratios (no difference: 1), or the mean of the differences (none: 0);
            NaN if it is unknown.
        low: Lower end of its interval; NaN if there is none, and ``value`` if it is exact.
        high: Upper end, likewise.
        confidence: The share of such intervals that contain the true value.
        word: The outcome.
        why: The reason for too few, or ``exact``; else empty.
        final: Whether more seeds change nothing.
    """

    measure: Measure
    seeds: int
    scale: Literal["ratio", "difference"]
    value: float
    low: float
    high: float
    confidence: float
    word: Word
    why: str = ""
    final: bool = False

    def shown(self) -> str:
        """The value with its interval: ``−12 % (−16 – −8)``, ``×2.4 (2.1 – 2.8)``, ``+3.5 KB (+1.2 – +5.8)``.

        The ends of ratios are rounded outwards.
        """
        if math.isnan(self.value):
            return "–"
        if self.scale == "difference":
            value, low, high = (
                _amount(one / self.measure.scale) for one in (self.value, self.low, self.high)
            )
            unit = UNITS.get(self.measure.kind, "")
            return self._spanned(f"{value} {unit}".strip(), low, high)
        if self.value >= 2:
            places = 1 if self.value < 10 else 0
            value, low, high = _outwards(self.value, self.low, self.high, places, sign="")
            return self._spanned(f"×{value}", low, high)
        percent = [round(100 * (one - 1), 9) for one in (self.value, self.low, self.high)]
        places = 0 if abs(percent[0]) >= 10 else 1 if abs(percent[0]) >= 1 else 2
        value, low, high = _outwards(percent[0], percent[1], percent[2], places, sign="+")
        return self._spanned(f"{value} %", low, high)

    def beside(self) -> str:
        """The amount in words that end before the name of the baseline.

        Like ``12 % (8 – 16) below``, ``18 % (9 – 28) above``, ``2.4 times (2.1 – 2.8) as high as with``.
        Empty if it is unknown.
        """
        none = 1.0 if self.scale == "ratio" else 0.0
        if math.isnan(self.value):
            return ""
        below = self.value < none
        side = "below" if below else "above"
        if self.scale == "ratio" and self.value >= 2:
            number, _, ends = self.shown().removeprefix("×").partition(" ")
            return f"{f'{number} times {ends}'.strip()} as high as with"
        low, high = (-self.high, -self.low) if below else (self.low, self.high)
        value = -self.value if below else self.value
        if self.scale == "difference":
            texts = [_amount(one / self.measure.scale).removeprefix("+") for one in (value, low, high)]
            unit = UNITS.get(self.measure.kind, "")
            return f"{self._spanned(f'{texts[0]} {unit}'.strip(), texts[1], texts[2])} {side}"
        start = -none if below else none
        percent = [round(100 * (one - start), 9) for one in (value, low, high)]
        places = 0 if percent[0] >= 10 else 1 if percent[0] >= 1 else 2
        value_text, low_text, high_text = _outwards(percent[0], percent[1], percent[2], places, sign="")
        return f"{self._spanned(f'{value_text} %', low_text, high_text)} {side}"

    def cell(self) -> str:
        """The outcome in a narrow cell: the interval has the sign of the value, which is written once.

        ``−12 % (8 – 16)``; ``·`` where no difference is shown, ``…`` where it is too few, or ``equal``.
        """
        if self.word is Word.TOO_FEW:
            return "…"
        if self.word is Word.NOT_SHOWN:
            return "·"
        if self.word is Word.EQUAL:
            return "equal"
        amount = self.beside()
        for side, sign in (("below", "−"), ("above", "+")):
            if amount.endswith(f" {side}"):
                return f"{sign}{amount.removesuffix(f' {side}')}"
        return f"×{amount.removesuffix(' as high as with').replace(' times', '', 1)}"

    def _spanned(self, value: str, low: str, high: str) -> str:
        """Returns a value with the ends of its interval, if there is one."""
        return value if math.isnan(self.low) or self.low == self.high else f"{value} ({low} – {high})"

    def __str__(self) -> str:
        why = f" ({self.why})" if self.why else ""
        seeds = "1 seed" if self.seeds == 1 else f"{self.seeds:,} seeds"
        return f"{self.shown()}, {self.word.value}{why}, {seeds}"


def difference(
    of: Values,
    baseline: Values,
    measure: Measure,
    *,
    confidence: float = 0.95,
    margin: float | None = None,
) -> Difference:
    """Compares two sides seed by seed.

    Args:
        of: The side that is judged.
        baseline: The side that it is compared with.
        measure: The number.
        confidence: The share of intervals that contain the true value.
        margin: Ratios between 1 / (1 + margin) and 1 + margin count as equal, if the whole interval is in it;
            likewise differences up to this part of the mean of the baseline. By default only what is exactly
            equal is.

    Raises:
        ValueError: With a confidence that is not between 0 and 1, or a margin that is not above 0.
    """
    if not 0 < confidence < 1 or (margin is not None and not margin > 0):
        raise ValueError("a difference needs a confidence between 0 and 1, and a margin above 0")
    common = of.runs & baseline.runs
    seeds = sorted(common & (of.by_seed.keys() | baseline.by_seed.keys()))
    pairs = [
        (of.by_seed[seed], baseline.by_seed[seed])
        for seed in seeds
        if seed in of.by_seed and seed in baseline.by_seed
    ]
    known = measure.kind != "count" and all(a > 0 and b > 0 for a, b in pairs)
    scale: Literal["ratio", "difference"] = "ratio" if known else "difference"

    def few(why: str, value: float = math.nan, *, final: bool) -> Difference:
        count = len(seeds)
        return Difference(
            measure, count, scale, value, math.nan, math.nan, confidence, Word.TOO_FEW, why, final
        )

    complete = of.runs == baseline.runs
    if not common:
        return few("no seed in common", final=False)
    if not pairs or len(pairs) < len(seeds):
        # Where neither side has any value, all seeds are without.
        all_seeds = len(seeds) or len(common)
        return few(f"no value in {_share(all_seeds - len(pairs), all_seeds)}", final=complete)
    if never := sum(math.isinf(a) or math.isinf(b) for a, b in pairs):
        return few(f"never in {_share(never, len(pairs))}", final=complete)

    d = [math.log(a / b) if known else a - b for a, b in pairs]
    bound, bound_below = (bool(side.at_least.intersection(seeds)) for side in (of, baseline))
    mean = math.fsum(d) / len(d)
    unspread = all(one == d[0] for one in d)
    exact = unspread and (len(d) >= LEAST_SEEDS or not (of.drawn or baseline.drawn))
    half = 0.0
    if exact:
        mean = d[0]
    else:
        value = math.exp(mean) if known else mean
        if len(d) < LEAST_SEEDS:
            seeds_text = "1 seed" if len(d) == 1 else f"{len(d)} seeds"
            return few(f"{seeds_text}; at least {LEAST_SEEDS}", value, final=False)
        samples = min((n for n in (of.samples, baseline.samples) if n is not None), default=None)
        if samples is not None and measure.rank is not None and _largest(measure.rank, samples):
            why = f"p{measure.rank:g} of {samples:,} flows is their largest"
            return few(why, value, final=True)
        deviation = math.sqrt(math.fsum((one - mean) ** 2 for one in d) / (len(d) - 1))
        half = student(confidence, len(d) - 1) * deviation / math.sqrt(len(d))
    if bound and bound_below:
        return few("unfinished flows on both sides", final=False)
    # A lower bound leaves one end open, also of a difference that is the same in every seed.
    exact = exact and not (bound or bound_below)
    low = -math.inf if bound_below else mean - half
    high = math.inf if bound else mean + half
    around = 0.0
    if margin is not None:
        level = abs(math.fsum(b for _, b in pairs) / len(pairs))
        around = math.log1p(margin) if known else margin * level
    word = _word(low, high, around, measure)
    if exact and mean == 0:
        word = Word.EQUAL
    if known:
        mean, low, high = math.exp(mean), _exp(low), _exp(high)
    why = "exact" if exact else ""
    return Difference(measure, len(seeds), scale, mean, low, high, confidence, word, why, exact)


def differences(
    of: Mapping[K, Values],
    baseline: K | None,
    measure: Measure,
    *,
    alpha: float = ALPHA,
    margin: float | None = None,
) -> dict[tuple[K, K], Difference]:
    """Compares several sides, so that all words hold together with probability 1 − alpha.

    Each pair has the confidence 1 − alpha / (number of pairs).

    Args:
        of: The sides.
        baseline: The side that all others are compared with; None: each is compared with each.
        measure: The number.
        alpha: The probability that any interval misses the true value.
        margin: As of :func:`difference`.

    Returns:
        The comparisons, by the names of both sides, the baseline last.

    Raises:
        KeyError: When the baseline is not among the sides.
    """
    if baseline is not None and baseline not in of:
        raise KeyError(baseline)
    pairs = (
        list(itertools.combinations(of, 2))
        if baseline is None
        else [(name, baseline) for name in of if name != baseline]
    )
    confidence = 1 - alpha / max(len(pairs), 1)
    return {(a, b): difference(of[a], of[b], measure, confidence=confidence, margin=margin) for a, b in pairs}


def _word(low: float, high: float, around: float, measure: Measure) -> Word:
    """Returns the word of an interval around 0; ``around`` 0 means no margin."""
    if high < 0 or low > 0:
        if measure.better == "neither":
            return Word.LOWER if high < 0 else Word.HIGHER
        return Word.BETTER if (high < 0) == (measure.better == "lower") else Word.WORSE
    return Word.EQUAL if -around < low and high < around else Word.NOT_SHOWN


def _largest(rank: float, samples: int) -> bool:
    """Whether a percentile of this many values is the largest of them."""
    # Exactly, as the percentile itself: 99.9 % of 1000 is 999.
    return math.ceil(Fraction(str(float(rank))) * samples / 100) == samples


def _exp(value: float) -> float:
    """Returns the exponential function of a number; infinity where it is too large."""
    return math.inf if value > _LARGEST_EXPONENT else math.exp(value)


def _share(some: int, seeds: int) -> str:
    return f"{some:,} of {seeds:,} seed{'' if seeds == 1 else 's'}"


def _amount(value: float) -> str:
    """Returns a difference with three significant digits and its sign."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return _signed(rounded(abs(value), 3), value, "+")


def _outwards(value: float, low: float, high: float, places: int, sign: str) -> tuple[str, str, str]:
    """Returns a value and the ends of its interval, which only grow by rounding.

    An end that is not 0 but would be shown as 0 gives all of them another digit.
    """

    def end(one: float, places: int, up: bool) -> float:
        if not math.isfinite(one):
            return one
        scaled = round(one * 10**places, 9)
        return float(math.ceil(scaled) if up else math.floor(scaled)) / 10.0**places

    low, high = round(low, 9), round(high, 9)
    while any(one and not end(one, places, up) for one, up in ((low, False), (high, True))):
        places += 1
    ends = (value, end(low, places, False), end(high, places, True))
    texts = [_signed(f"{abs(one):,.{places}f}", one, sign) for one in ends]
    return texts[0], texts[1], texts[2]


def _signed(digits: str, value: float, plus: str) -> str:
    """Returns digits with the sign of their value; without one if they are all 0."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if not digits.strip("0.,"):
        return digits
    return f"−{digits}" if value < 0 else f"{plus}{digits}"
