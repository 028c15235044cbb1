"""Statistics of results: percentiles, bins of sizes, fairness, means over seeds with their intervals.

A percentile ``p`` of ``n`` values is the smallest of them that at least ``p`` % do not exceed (rank
``⌈p·n/100⌉``, "inverted CDF"): always a value that occurred. The mean over seeds has the interval
``mean ± t · s / √n`` with ``s`` the standard deviation (``n - 1`` in the denominator) and ``t`` the quantile
of Student's distribution with ``n - 1`` degrees of freedom: of such intervals 95 % hold the true mean when
runs with different seeds are independent and their values are spread normally.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from incast.result import FlowTimes, Result

if TYPE_CHECKING:
    from incast.scenario import Scenario

PERCENTILES = (50.0, 95.0, 99.0, 99.9)
"""The percentiles that tables have."""

SIZE_EDGES = (0, 10_000, 100_000, 1_000_000, 10_000_000)
"""Where bins of flow sizes begin, in bytes, when nobody says otherwise. The last has no end."""


@dataclass(frozen=True)
class SizeBin:
    """The slowdowns of the flows of some sizes.

    Attributes:
        over_bytes: They are larger than this (the first bin begins with 0 B, which no flow has).
        upto_bytes: They are no larger than this; None without an end.
        flows: How many there are.
        mean: Their mean slowdown; NaN without flows, as are the percentiles.
        percentiles: Percentiles of their slowdown, by rank in percent.
    """

    over_bytes: int
    upto_bytes: int | None
    flows: int
    mean: float
    percentiles: Mapping[float, float]


def percentile(values: npt.ArrayLike, rank: float) -> float:
    """A percentile by rank (inverted CDF); NaN of no values.

    Args:
        values: Numbers.
        rank: In percent, 0 to 100.
    """
    array = np.sort(np.asarray(values, dtype=np.float64))
    if not array.size:
        return math.nan
    # Exactly: in floating point 99.9 % of 1000 is a little more than 999.
    place = math.ceil(Fraction(str(float(rank))) * array.size / 100)
    return float(array[min(max(place, 1), array.size) - 1])


def slowdown_by_size(
    times: FlowTimes, edges: Sequence[int] = SIZE_EDGES, ranks: Sequence[float] = PERCENTILES
) -> list[SizeBin]:
    """Slowdowns in bins of flow sizes.

    Args:
        times: The flows that transferred all of their size: :meth:`incast.Result.flow_times`.
        edges: Where bins begin, in bytes, rising; a bin holds sizes above its edge, up to the next one.
        ranks: Percentiles to give, in percent.

    Raises:
        ValueError: When the edges do not rise.
    """
    if list(edges) != sorted(set(edges)) or not edges:
        raise ValueError(f"edges of bins must rise: {list(edges)}")
    bins = []
    for low, high in zip(edges, [*edges[1:], None], strict=True):
        inside = times.size_bytes > low
        if high is not None:
            inside &= times.size_bytes <= high
        values = times.slowdown[inside]
        mean = float(np.mean(values)) if len(values) else math.nan
        bins.append(SizeBin(low, high, len(values), mean, {rank: percentile(values, rank) for rank in ranks}))
    return bins


def equal_bins(times: FlowTimes, bins: int = 10) -> list[int]:
    """Edges of bins that hold about as many flows each, for :func:`slowdown_by_size`.

    Args:
        times: The flows.
        bins: How many, at most: sizes that many flows share stay in one bin.
    """
    if not len(times.size_bytes):
        return [0]
    inner = (percentile(times.size_bytes, 100 * i / bins) for i in range(1, bins))
    return sorted({0, *(int(edge) for edge in inner)} - {int(times.size_bytes.max())})


def jain(shares: npt.ArrayLike) -> float:
    """Jain's fairness index of shares, ``(Σx)² / (n · Σx²)``: 1 when all are equal, 1/n when one has all.

    Jain, Chiu, Hawe, "A quantitative measure of fairness", DEC-TR-301, 1984. NaN when no one has any.

    Args:
        shares: What each one has, zero or more.
    """
    array = np.asarray(shares, dtype=np.float64)
    squares = array.size * float(np.sum(array**2))
    return float(np.sum(array)) ** 2 / squares if squares else math.nan


@dataclass(frozen=True)
class Estimate:
    """The mean of a number over seeds, and how sure it is.

    Attributes:
        mean: The mean.
        half_width: Half the width of the interval around it; None with a single value.
        values: The value of each seed, in their order.
        confidence: The share of such intervals that hold the true mean.
    """

    mean: float
    half_width: float | None
    values: tuple[float, ...]
    confidence: float = 0.95

    @classmethod
    def of(cls, values: Iterable[float], confidence: float = 0.95) -> Estimate:
        """From the values of the seeds: ``mean ± t · s / √n``.

        Raises:
            ValueError: Without any value, or with a confidence that is no share.
        """
        known = tuple(float(value) for value in values)
        if not known or not 0 < confidence < 1:
            raise ValueError("an estimate needs at least one value, and a confidence between 0 and 1")
        n = len(known)
        mean = math.fsum(known) / n
        if n < 2 or any(math.isnan(value) for value in known):
            return cls(mean, None, known, confidence)
        if min(known) == max(known):
            return cls(known[0], 0.0, known, confidence)
        from incast.sweep.interval import student

        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in known) / (n - 1))
        return cls(mean, student(confidence, n - 1) * deviation / math.sqrt(n), known, confidence)

    @property
    def low(self) -> float:
        """Where the interval begins; the mean when there is none."""
        return self.mean - (self.half_width or 0.0)

    @property
    def high(self) -> float:
        """Where the interval ends; the mean when there is none."""
        return self.mean + (self.half_width or 0.0)

    def __str__(self) -> str:
        return f"{self.mean:.4g}" if self.half_width is None else f"{self.mean:.4g} ± {self.half_width:.2g}"


def metrics(result: Result) -> dict[str, float]:
    """The numbers of a result that replications compare.

    Returns:
        ``flows_finished``; ``slowdown_mean`` and ``slowdown_p50``, ``_p99``, ``_p99.9`` and ``fct_mean_us``
        over the flows that transferred all of their size; ``queue_max_kb``, the longest queue of any port,
        and for each sampled port its mean queue, ``queue_mean_kb[s0:3]``.
    """
    times = result.flow_times()
    found: dict[str, float] = {"flows_finished": float(result.flows.column("finished").sum())}
    if len(times.slowdown):
        found["slowdown_mean"] = float(np.mean(times.slowdown))
        found |= {f"slowdown_p{rank:g}": percentile(times.slowdown, rank) for rank in (50.0, 99.0, 99.9)}
        found["fct_mean_us"] = float(np.mean(times.fct_ps)) / 1e6
    found["queue_max_kb"] = float(result.ports.column("peak_queue_bytes").max(initial=0)) / 1e3
    for node, port in result.probed_ports():
        found[f"queue_mean_kb[{node}:{port}]"] = float(np.mean(result.port(node, port).queue_bytes)) / 1e3
    return found


@dataclass(frozen=True)
class Replications:
    """Runs of one scenario that differ in their seed.

    Attributes:
        seeds: The seeds.
        results: The result of each, by its seed; empty unless they were to be kept.
        metrics: The mean of each number over the seeds, with its interval.
    """

    seeds: tuple[int, ...]
    metrics: Mapping[str, Estimate]
    results: Mapping[int, Result] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        width = max(map(len, self.metrics), default=0)
        rows = (f"{name:<{width}}  {estimate}" for name, estimate in self.metrics.items())
        return "\n".join([f"{len(self.seeds)} seeds", *rows])


def replicate(
    scenario: Scenario,
    seeds: int | Sequence[int] = 5,
    *,
    measure: Callable[[Result], Mapping[str, float]] = metrics,
    confidence: float = 0.95,
    jobs: int = 1,
    keep: bool = False,
) -> Replications:
    """Runs a scenario with several seeds, and gives the mean of each number with its interval.

    Args:
        scenario: What to run.
        seeds: The seeds, or how many: then the scenario's own and the ones after it.
        measure: Gives the numbers of a result by name. A name that a result lacks is left out.
        confidence: The share of intervals that hold the true mean.
        jobs: How many runs at the same time, in threads of this process.
        keep: Whether to keep the results; otherwise only their numbers stay in memory.

    Raises:
        ValueError: Without seeds, or when one is there twice.
        ScenarioError: When the scenario cannot be built with one of the seeds.
    """
    chosen = range(scenario.seed, scenario.seed + seeds) if isinstance(seeds, int) else seeds
    known = tuple(chosen)
    if not known or len(set(known)) < len(known):
        raise ValueError(f"seeds must be at least one, each once: {list(known)}")

    def run(seed: int) -> tuple[Mapping[str, float], Result | None]:
        result = scenario.with_seed(seed).run()
        return measure(result), result if keep else None

    if jobs > 1:
        with ThreadPoolExecutor(jobs) as pool:
            runs = list(pool.map(run, known))
    else:
        runs = [run(seed) for seed in known]
    names = [name for name in runs[0][0] if all(name in numbers for numbers, _ in runs)]
    estimates = {name: Estimate.of((numbers[name] for numbers, _ in runs), confidence) for name in names}
    kept = {seed: result for seed, (_, result) in zip(known, runs, strict=True) if result is not None}
    return Replications(known, estimates, kept)


def compare(
    scenario: Scenario,
    algorithms: Iterable[str | Callable[..., Any]],
    **options: Any,  # noqa: ANN401 - those of Scenario.run
) -> dict[str, Result]:
    """Runs one scenario with several algorithms: same flows, same seed.

    Args:
        scenario: What to run.
        algorithms: Names like ``"oscar"`` and ``"swift:oscar"``, and classes of your own.
        **options: Those of :meth:`incast.Scenario.run` other than ``out``.

    Returns:
        The result for each algorithm, by its name, in their order: what the pictures of
        :mod:`incast.plot` take.

    Raises:
        ScenarioError: When there is no such algorithm, or it does not go with the rest.
    """
    from incast import algorithm

    names = [it if isinstance(it, str) else algorithm.name_of(it) for it in algorithms]
    scenarios = {name: scenario.with_algorithm(name) for name in names}
    return {name: each.run(**options) for name, each in scenarios.items()}
