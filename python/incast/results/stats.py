"""Definitions of all statistics.

**Percentile.** The percentile ``p`` of ``n`` values is the smallest of them that at least ``p`` % of them do
not exceed: in rising order, the value of rank ``⌈p·n/100⌉`` ("nearest rank", "inverted CDF", type 1 of
Hyndman and Fan, *Sample Quantiles in Statistical Packages*, 1996). It is always a value that occurred. Of
``1, 2, 4, 8, 16`` the 50th is 4 (rank ⌈2.5⌉ = 3), the 60th is 4 (rank 3) and the 61st is 8 (rank ⌈3.05⌉ = 4).
The median is the 50th percentile: of an even number of values the lower of the two in the middle.

**Mean over seeds.** Its confidence interval is ``mean ± t · s / √n`` with ``s`` the standard deviation
(``n - 1`` in the denominator) and ``t`` the quantile of Student's distribution with ``n - 1`` degrees of
freedom: 95 % of such intervals contain the true mean if runs with different seeds are independent and their
values are normally distributed. Where nothing is drawn at random, every seed gives the same result, bit for
bit, and there is no interval.

**Slowdown** is completion time divided by the ideal one; flows that did not finish have none. Only flows that
count are included: of traffic with a measured window, those that start in it.

**Fairness** is Jain's index, ``(Σx)² / (n · Σx²)``.

The summary of a result (``result.json``), the tables of commands, reports, sweeps, pictures and the ledger
use these definitions and no others.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from incast._terminal import in_full
from incast.results.arrays import BoolArray, Floats, Ints, np

if TYPE_CHECKING:
    import numpy.typing as npt

PERCENTILES = (50.0, 95.0, 99.0, 99.9)
"""The percentiles that tables have."""

SIZE_EDGES = (0, 10_000, 100_000, 1_000_000, 10_000_000)
"""Lower ends of bins of flow sizes, in bytes, by default. The last has no upper end."""


@dataclass(frozen=True)
class FlowTimes:
    """Sizes and completion times of the flows that transferred all of their size.

    Attributes:
        size_bytes: Their sizes.
        fct_ps: Their completion times in picoseconds.
        slowdown: Completion time over that on the idle path.
    """

    size_bytes: Ints
    fct_ps: Ints
    slowdown: Floats

    def within(self, over_bytes: int, upto_bytes: int | None) -> BoolArray:
        """Whether the size of each flow is above one bound and not above another one, if there is one."""
        inside: BoolArray = self.size_bytes > over_bytes
        return inside if upto_bytes is None else inside & (self.size_bytes <= upto_bytes)


@dataclass(frozen=True)
class SizeBin:
    """The slowdowns of the flows of some sizes.

    Attributes:
        over_bytes: Exclusive lower bound of their sizes (the first bin begins at 0 B, which no flow has).
        upto_bytes: Inclusive upper bound of their sizes; None for no bound.
        flows: Number of flows.
        mean: Their mean slowdown; NaN without flows, as are the percentiles.
        percentiles: Percentiles of their slowdown, by rank in percent.
    """

    over_bytes: int
    upto_bytes: int | None
    flows: int
    mean: float
    percentiles: Mapping[float, float]


def percentile(values: npt.ArrayLike, rank: float, counts: npt.ArrayLike | None = None) -> float:
    """A percentile by nearest rank, as defined in this module; NaN without values.

    Args:
        values: Numbers.
        rank: In percent, 0 to 100.
        counts: How often each of them counts, at least once; by default once.
    """
    array = np.asarray(values, dtype=np.float64)
    if not array.size:
        return math.nan
    order = np.argsort(array)
    ranks = np.cumsum(np.ones(array.size, dtype=np.int64) if counts is None else np.asarray(counts)[order])
    # Exactly: in floating point 99.9 % of 1000 is a little more than 999.
    place = rank_among(rank, int(ranks[-1]))
    return float(array[order[np.searchsorted(ranks, min(max(place, 1), int(ranks[-1])))]])


def median(values: npt.ArrayLike) -> float:
    """The 50th percentile; NaN without values."""
    return percentile(values, 50)


def slowdown_by_size(
    times: FlowTimes, edges: Sequence[int] = SIZE_EDGES, ranks: Sequence[float] = PERCENTILES
) -> list[SizeBin]:
    """Slowdowns in bins of flow sizes.

    Args:
        times: The flows that transferred their whole size: :meth:`incast.Result.flow_times`.
        edges: Lower bounds of the bins, in bytes, increasing; a bin contains sizes above its bound, up to
            the next one.
        ranks: Percentiles to give, in percent.

    Raises:
        ValueError: When the edges do not increase.
    """
    bins = []
    for low, high in bins_of(edges):
        values = times.slowdown[times.within(low, high)]
        mean = float(np.mean(values)) if len(values) else math.nan
        bins.append(SizeBin(low, high, len(values), mean, {rank: percentile(values, rank) for rank in ranks}))
    return bins


def bins_of(edges: Sequence[int]) -> list[tuple[int, int | None]]:
    """Returns the lower and the upper bound of each bin; the last has no upper one.

    Args:
        edges: The lower bounds, in bytes.

    Raises:
        ValueError: When they do not increase.
    """
    if list(edges) != sorted(set(edges)) or not edges:
        raise ValueError(f"edges of bins must rise: {list(edges)}")
    return list(zip(edges, [*edges[1:], None], strict=True))


def equal_bins(times: FlowTimes, bins: int = 10) -> list[int]:
    """Edges of bins with about equally many flows, for :func:`slowdown_by_size`.

    Args:
        times: The flows.
        bins: How many, at most: sizes that many flows share stay in one bin.
    """
    if not len(times.size_bytes):
        return [0]
    inner = (percentile(times.size_bytes, 100 * i / bins) for i in range(1, bins))
    return sorted({0, *(int(edge) for edge in inner)} - {int(times.size_bytes.max())})


def jain(shares: npt.ArrayLike) -> float:
    """Jain's fairness index of shares, ``(Σx)² / (n · Σx²)``: 1 if all are equal, 1/n if only one is not 0.

    Jain, Chiu, Hawe, "A quantitative measure of fairness", DEC-TR-301, 1984. NaN when all are zero.

    Args:
        shares: The shares, zero or more.
    """
    array = np.asarray(shares, dtype=np.float64)
    squares = array.size * float(np.sum(array**2))
    return float(np.sum(array)) ** 2 / squares if squares else math.nan


@dataclass(frozen=True)
class Estimate:
    """The mean of a number over seeds, with its confidence interval.

    Attributes:
        mean: The mean.
        half_width: Half the width of the interval around it; None with a single value, and where every seed
            has the same, of which Student's t would make an interval without width.
        values: The value of each seed, in their order.
        confidence: The share of such intervals that contain the true mean.
        drawn: Whether the seeds made a difference, to this number or another one; see :func:`drawn`.
    """

    mean: float
    half_width: float | None
    values: tuple[float, ...]
    confidence: float = 0.95
    drawn: bool = True

    @classmethod
    def of(cls, values: Iterable[float], confidence: float = 0.95, drawn: bool = True) -> Estimate:
        """From the values of the seeds: ``mean ± t · s / √n``.

        Args:
            values: The value of each seed.
            confidence: The share of such intervals that contain the true mean.
            drawn: Whether the seeds made a difference to the results.

        Raises:
            ValueError: Without any value, or with a confidence that is not between 0 and 1.
        """
        known = tuple(float(value) for value in values)
        if not known or not 0 < confidence < 1:
            raise ValueError("an estimate needs at least one value, and a confidence between 0 and 1")
        n = len(known)
        mean = math.fsum(known) / n
        if n < 2 or any(math.isnan(value) for value in known):
            return cls(mean, None, known, confidence)
        if min(known) == max(known):
            return cls(known[0], None, known, confidence, drawn)
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in known) / (n - 1))
        return cls(mean, student(confidence, n - 1) * deviation / math.sqrt(n), known, confidence)

    @property
    def same(self) -> bool:
        """Whether several seeds have the same value."""
        return len(self.values) > 1 and min(self.values) == max(self.values)

    @property
    def low(self) -> float:
        """Lower end of the interval; the mean if there is none."""
        return self.mean - (self.half_width or 0.0)

    @property
    def high(self) -> float:
        """Upper end of the interval; the mean if there is none."""
        return self.mean + (self.half_width or 0.0)

    def __str__(self) -> str:
        if not self.drawn:
            return f"{rounded(self.mean, 4)} (no draws)"
        mean = rounded(self.mean, 4)
        if self.same:
            return f"{mean} (every seed)"
        return mean if self.half_width is None else f"{mean} ± {rounded(self.half_width, 2)}"


def rank_among(rank: float, samples: int) -> int:
    """Returns the place of a percentile among sorted samples, from 1; exact, as ranks are decimal numbers.

    Args:
        rank: The percentile, in percent.
        samples: How many samples there are.
    """
    whole, _, part = str(float(rank)).partition(".")
    if (whole + part).isdecimal():
        one: int = 10 ** len(part)
        return -(-int(whole + part) * samples // (100 * one))
    from fractions import Fraction

    return math.ceil(Fraction(str(float(rank))) * samples / 100)


def rounded(value: float, digits: int) -> str:
    """Returns a number with this many significant digits, without an exponent: 1.2e+06 is 1200000."""
    return in_full(f"{value:.{digits}g}") if math.isfinite(value) else str(value)


NO_DRAWS = "No draws: every seed gives the same result, so there is no interval."
"""Explanation in the place of an interval."""

SAME = "Without ±: the same with every seed, so there is no interval."
"""Explanation of single numbers without an interval, where the seeds make a difference to others."""

INTERVAL = "Mean over the seeds ± half of its 95 % confidence interval (Student's t)."
"""Explanation of an interval."""


def drawn(infos: Iterable[Mapping[str, Any]]) -> bool:
    """Whether runs that differ in their seed have different results; also true of a single run.

    Args:
        infos: What ``result.json`` of each says.
    """
    fingerprints = [info["outcome"]["fingerprint"] for info in infos]
    return len(fingerprints) < 2 or len(set(fingerprints)) > 1


@functools.lru_cache(maxsize=4096)
def student(confidence: float, freedom: int) -> float:
    """The ``t`` for which a given share of Student's distribution lies between ``-t`` and ``t``.

    Found by bisection on the closed form for whole degrees of freedom (Abramowitz and Stegun, 26.7.3
    and 26.7.4).

    Args:
        confidence: The share, from 0 to 1.
        freedom: Degrees of freedom, at least 1.
    """
    low, high = 0.0, 1.0
    while _inside(high, freedom) < confidence:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if _inside(middle, freedom) < confidence:
            low = middle
        else:
            high = middle
    return high


def _inside(t: float, freedom: int) -> float:
    """The share of Student's distribution between -t and t."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    term = total = cosine if freedom % 2 else 1.0
    for k in range(2 if freedom % 2 else 1, freedom - 1, 2):
        term *= cosine * cosine * k / (k + 1)
        total += term
    if freedom % 2:
        return 2 / math.pi * (angle + (sine * total if freedom > 1 else 0.0))
    return sine * total


class Summarised(Protocol):
    """A result, as far as its numbers are concerned."""

    @property
    def info(self) -> Mapping[str, Any]:
        """The contents of its ``result.json``."""


SIZE_CLASSES = ("small", "large", "all")
"""Classes of flow sizes in the summary of a result: up to 150 KB, above it, and all."""

LIMITS = (
    "sending",
    "answer",
    "window",
    "pacing",
    "credit",
    "card",
    "paused",
    "repair",
    "connection",
)
"""The parts of the time of flows, by what kept their next packet back, as the table ``limits`` has them."""

METRICS = (
    "job_time_mean_ps",
    "job_time_max_ps",
    "job_bound_ratio_mean",
    "job_bound_ratio_max",
    "job_algbw_mean_bps",
    "job_busbw_mean_bps",
    "jobs_unfinished",
    *(f"slowdown_{name}_{statistic}" for name in SIZE_CLASSES for statistic in ("mean", "p50", "p99")),
    "queue_mean_bytes",
    "queue_peak_bytes",
    "flows_finished",
    "flows_unfinished",
    "packets_dropped",
    "packets_resent",
    *(f"share_{name}" for name in LIMITS),
)
"""The numbers of a run that sweeps and replications average over seeds. Job times are completion times of all
jobs, and their ratios to their lower bounds; ratios and slowdowns have no unit. Only collectives
have bandwidths. Queues are the probed ports',
as sampled: the mean over all of them, and the longest. Flows without a size cannot be unfinished. Shares are
of the summed time of the flows that count, by what kept their next packet back."""


def metrics(of: Summarised | Mapping[str, Any], block: str | None = None) -> dict[str, float]:
    """The numbers of a run that sweeps and replications average over seeds.

    Args:
        of: A result, or what its ``result.json`` says.
        block: A traffic block of the run, for its slowdowns, jobs and unfinished flows only.

    Returns:
        The :data:`METRICS` that the run has: there is no slowdown of a class without finished flows,
        no queue without a probed port, no job without operations, no slowest job before all have ended, and
        no shares where nothing divides the time of flows.
    """
    info = of if isinstance(of, Mapping) else of.info
    jobs = info["summary"].get("jobs", [])
    by_class = {one["class"]: one for one in _classes(info, block)}
    found = _job_metrics(jobs if block is None else [one for one in jobs if one["group"] == block])
    for name in SIZE_CLASSES:
        if name in by_class and (slowdown := by_class[name]["slowdown"]):
            found |= {
                f"slowdown_{name}_{statistic}": slowdown[statistic] for statistic in ("mean", "p50", "p99")
            }
    if "all" in by_class:
        found["flows_unfinished"] = float(by_class["all"]["unfinished"])
    found |= {f"share_{name}": share for name, share in limit_shares(info, block).items()}
    if block is not None:
        return found
    queues = [port["queue"] for port in info["summary"]["ports"] if port["queue"]]
    if queues:
        found["queue_mean_bytes"] = math.fsum(queue["mean_bytes"] for queue in queues) / len(queues)
        found["queue_peak_bytes"] = max(float(queue["max_bytes"]) for queue in queues)
    found.setdefault("flows_unfinished", 0.0)
    found["flows_finished"] = float(info["outcome"]["flows_finished"])
    found["packets_dropped"] = float(info["outcome"]["packets_dropped"])
    resent = info["outcome"].get("packets_resent")
    return found if resent is None else {**found, "packets_resent": float(resent)}


def limit_shares(info: Mapping[str, Any], block: str | None = None) -> dict[str, float]:
    """Returns the shares of what kept packets back in the summed time of the flows that count.

    Args:
        info: What ``result.json`` of the run says.
        block: A traffic block of the run, for its flows only.

    Returns:
        The shares by the names of the limits, from 0 to 1; none where the time of flows is not divided, or
        there is none.
    """
    return limit_shares_of([info], block)


def limit_shares_of(infos: Iterable[Mapping[str, Any]], block: str | None = None) -> dict[str, float]:
    """Returns the shares of what kept packets back in the summed time of the flows of several runs.

    Args:
        infos: What ``result.json`` of each run says.
        block: A traffic block, for its flows only.

    Returns:
        As :func:`limit_shares`.
    """
    of = limit_times_of(infos, block)
    return {name: time / of.time_ps for name, time in of.by_limit.items()} if of.time_ps else {}


@dataclass(frozen=True)
class LimitTimes:
    """The divided time of flows.

    Attributes:
        flows: Number of the flows.
        time_ps: Their summed time, in picoseconds.
        by_limit: Its parts by what kept their next packet back; 0 for a limit that took none.
    """

    flows: int
    time_ps: int
    by_limit: Mapping[str, int]


def limit_times_of(infos: Iterable[Mapping[str, Any]], block: str | None = None) -> LimitTimes:
    """Returns the divided time of the flows of several runs.

    Args:
        infos: What ``result.json`` of each run says.
        block: A traffic block, for its flows only.
    """
    flows, total, by_limit = 0, 0, dict.fromkeys(LIMITS, 0)
    for info in infos:
        every = [one for one in info["summary"].get("limits", []) if one["class"] == "all"]
        several = any(one["group"] is not None for one in every)
        for one in every:
            if one["group"] == (block if several else None):
                flows += one["flows"]
                total += one["time_ps"]
                for name in LIMITS:
                    by_limit[name] += one["limits_ps"].get(name, 0)
    return LimitTimes(flows, total, by_limit)


def fewest_flows(infos: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Returns the least number of finished flows of a run, by the class of their sizes.

    Args:
        infos: What ``result.json`` of each run says.
    """
    fewest: dict[str, int] = {}
    for info in infos:
        for one in info["summary"]["slowdowns"]:
            if one["group"] is None:
                fewest[one["class"]] = min(one["flows"], fewest.get(one["class"], one["flows"]))
    return fewest


def unfinished_classes(info: Mapping[str, Any], block: str | None = None) -> frozenset[str]:
    """Returns the classes of sizes of which a run has unfinished flows.

    Args:
        info: What its ``result.json`` says.
        block: A traffic block, for its flows only.
    """
    return frozenset(one["class"] for one in _classes(info, block) if one["unfinished"])


def _classes(info: Mapping[str, Any], block: str | None) -> list[Mapping[str, Any]]:
    """Returns the summaries of the classes of sizes, of all traffic or of a block."""
    every = info["summary"]["slowdowns"]
    # The entry of a single traffic block is the one of all.
    several = any(one["group"] is not None for one in every)
    return [one for one in every if one["group"] == (block if several else None)]


def _job_metrics(groups: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The numbers of the jobs of all traffic blocks together."""
    if not groups:
        return {}
    unfinished = sum(group["unfinished"] for group in groups)
    found = {"jobs_unfinished": float(unfinished)}
    for name, key in (("job_time_{}_ps", "jct_ps"), ("job_bound_ratio_{}", "bound_ratio")):
        known = [group for group in groups if group[key]]
        if not known:
            continue
        counts = [group["jobs"] for group in known]
        means = (group[key]["mean"] * count for group, count in zip(known, counts, strict=True))
        found[name.format("mean")] = math.fsum(means) / sum(counts)
        if not unfinished:
            found[name.format("max")] = max(float(group[key]["max"]) for group in known)
    for key in ("algbw", "busbw"):
        rates = [(group[f"{key}_bps"]["mean"], group["jobs"]) for group in groups if group.get(f"{key}_bps")]
        if rates:
            total = math.fsum(mean * count for mean, count in rates)
            found[f"job_{key}_mean_bps"] = total / sum(count for _, count in rates)
    return found


def place(numbers: Mapping[str, float | None], jobs: bool) -> tuple[float, ...]:
    """The place of a run among others of its workload, the best one first, by what the workload is about.

    Where it has jobs, that is their mean time; where it has none, the mean slowdown of flows. Runs in which
    less was finished come after the others: what is not finished is in no mean.

    Args:
        numbers: The values of :func:`metrics`, or their means over seeds.
        jobs: Whether the workload has jobs.
    """
    names = ("jobs_unfinished", "job_time_mean_ps") if jobs else ("flows_unfinished", "slowdown_all_mean")
    values = (numbers.get(name) for name in names)
    return tuple(math.inf if value is None else value for value in values)


def criterion(jobs: bool) -> str:
    """Names the measure that :func:`place` compares."""
    return "jobs.mean" if jobs else "mean.all"
