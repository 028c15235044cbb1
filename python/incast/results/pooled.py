"""Means and percentiles of the flows of several seeds together, with intervals.

The value is taken over all flows of all seeds. Its interval comes from the values of the single seeds
("sectioning"; Dong and Nakayama compare it with batching in *Quantile Estimation With Latin Hypercube
Sampling*, Operations Research): with ``L = ln θ`` of all values and ``l_s = ln θ`` of the seed ``s`` it is
``θ · exp(± h)``, ``h = t(S − 1) · √(Σ(l_s − L)² / (S(S − 1)))``. Where a value is not above 0, logarithms
are left out: ``θ ± h``. For the mean of a distribution without variance the interval is too narrow:
:func:`tail_index` tells.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from incast.results.arrays import Floats, np
from incast.results.stats import PERCENTILES, SIZE_EDGES, FlowTimes, bins_of, percentile, rank_among, student

if TYPE_CHECKING:
    import numpy.typing as npt

LEAST_TAIL = 100
"""Of fewer values the tail says nothing."""


@dataclass(frozen=True)
class Pooled:
    """A statistic of the flows of several seeds together.

    Attributes:
        value: Its value over all of them; NaN without any.
        low: Lower end of its interval; NaN if there is none.
        high: Upper end, likewise.
        seeds: The seeds that have values.
        samples: Number of values.
        above: Of a percentile, the values beyond it; None for a mean.
        tail_index: Hill's estimate of the exponent of the tail; None if it has none. Below 2 the mean rests
            on few flows, and its interval is too narrow.
    """

    value: float
    low: float
    high: float
    seeds: int
    samples: int
    above: int | None
    tail_index: float | None

    @property
    def few(self) -> bool:
        """Whether a percentile is the largest of all values."""
        return self.above == 0


def pooled(
    of: Mapping[int, npt.ArrayLike],
    statistic: float | Literal["mean"],
    *,
    confidence: float = 0.95,
    drawn: bool = True,
) -> Pooled:
    """Computes a mean or a percentile of the values of several seeds together, with its interval.

    There is no interval with fewer than two seeds that have values, without draws, and for a percentile that
    is the largest of all values.

    Args:
        of: The values of each seed, like the slowdowns of its flows.
        statistic: ``mean``, or the rank of a percentile in percent.
        confidence: The share of intervals that contain the true value.
        drawn: Whether the seeds made a difference to the results.

    Raises:
        ValueError: With a confidence that is not between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise ValueError("an interval needs a confidence between 0 and 1")
    arrays = (np.asarray(values, dtype=np.float64) for values in of.values())
    sections = [array for array in arrays if array.size]
    together = np.concatenate(sections) if sections else np.empty(0)
    samples = len(together)
    value = _statistic(together, statistic)
    beyond = None if statistic == "mean" or not samples else above(samples, statistic)
    low = high = math.nan
    if len(sections) > 1 and drawn and beyond != 0:
        low, high = _interval(value, [_statistic(one, statistic) for one in sections], confidence)
    return Pooled(value, low, high, len(sections), samples, beyond, tail_index(together))


@dataclass(frozen=True)
class PooledBin:
    """The slowdowns of the flows of some sizes, of several seeds together.

    Attributes:
        over_bytes: Exclusive lower bound of their sizes.
        upto_bytes: Inclusive upper bound of their sizes; None for no bound.
        flows: Number of flows of all seeds.
        mean: Their mean slowdown.
        percentiles: Percentiles of their slowdown, by rank in percent.
    """

    over_bytes: int
    upto_bytes: int | None
    flows: int
    mean: Pooled
    percentiles: Mapping[float, Pooled]


def pooled_by_size(
    of: Mapping[int, FlowTimes],
    edges: Sequence[int] = SIZE_EDGES,
    ranks: Sequence[float] = PERCENTILES,
    *,
    confidence: float = 0.95,
    drawn: bool = True,
) -> list[PooledBin]:
    """Computes the slowdowns of several seeds in bins of flow sizes, with intervals.

    Args:
        of: For each seed the flows that transferred their whole size: :meth:`incast.Result.flow_times`.
        edges: Lower bounds of the bins, as of :func:`incast.stats.slowdown_by_size`.
        ranks: Percentiles to give, in percent.
        confidence: As of :func:`pooled`.
        drawn: As of :func:`pooled`.

    Raises:
        ValueError: When the edges do not increase, or with a confidence that is not between 0 and 1.
    """
    bins = []
    for low, high in bins_of(edges):
        inside = {seed: times.slowdown[times.within(low, high)] for seed, times in of.items()}
        mean = pooled(inside, "mean", confidence=confidence, drawn=drawn)
        percentiles = {rank: pooled(inside, rank, confidence=confidence, drawn=drawn) for rank in ranks}
        bins.append(PooledBin(low, high, mean.samples, mean, percentiles))
    return bins


def together(of: Iterable[FlowTimes]) -> FlowTimes:
    """Joins the flows of several runs."""
    each = list(of)
    size, fct, slowdown = (
        np.concatenate([getattr(one, name) for one in each]) for name in ("size_bytes", "fct_ps", "slowdown")
    )
    return FlowTimes(size, fct, slowdown)


def above(samples: int, rank: float) -> int:
    """Counts the values beyond a percentile.

    Args:
        samples: Number of all values.
        rank: In percent, above 0.
    """
    return samples - rank_among(rank, samples)


def tail_index(values: Floats) -> float | None:
    """Estimates the exponent of a Pareto tail from the ⌊√n⌋ largest values (Hill, 1975).

    Args:
        values: The values; of fewer than a hundred the tail says nothing.

    Returns:
        The exponent; infinity where the largest values are all the same; None for few values, and where the
        largest are not above 0.
    """
    if len(values) < LEAST_TAIL:
        return None
    count = math.isqrt(len(values))
    largest = np.sort(values)[-count - 1 :]
    if largest[0] <= 0:
        return None
    mean = float(np.mean(np.log(largest[1:] / largest[0])))
    return 1 / mean if mean else math.inf


def _statistic(values: Floats, statistic: float | Literal["mean"]) -> float:
    """Returns the statistic of some values; NaN without any."""
    if statistic != "mean":
        return percentile(values, statistic)
    return float(np.mean(values)) if len(values) else math.nan


def _interval(value: float, sections: list[float], confidence: float) -> tuple[float, float]:
    """Returns the ends of the interval about a value, from the values of its sections."""
    logarithms = value > 0 and all(one > 0 for one in sections)
    center = math.log(value) if logarithms else value
    parts = [math.log(one) if logarithms else one for one in sections]
    n = len(parts)
    squares = math.fsum((one - center) ** 2 for one in parts)
    half = student(confidence, n - 1) * math.sqrt(squares / (n * (n - 1)))
    if not logarithms:
        return value - half, value + half
    with np.errstate(over="ignore"):
        return value * math.exp(-half), value * float(np.exp(half))
