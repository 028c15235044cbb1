"""Distance of a testbed's result from the simulator's of the same scenario, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incast.results import stats
from incast.results.result import Result

__all__ = ["Row", "distance", "is_measured", "pairs"]


@dataclass(frozen=True)
class Row:
    """One quantity in both.

    Attributes:
        title: What it is.
        unit: Its unit; empty for a ratio.
        simulated: Its value in the simulation.
        measured: Its value on the testbed.
    """

    title: str
    unit: str
    simulated: float
    measured: float

    @property
    def difference(self) -> float:
        """By how much the testbed's is more, in the unit."""
        return self.measured - self.simulated

    @property
    def share(self) -> float | None:
        """By how much it is more, relative to the simulation; None where that is zero."""
        return self.difference / self.simulated if self.simulated else None


def is_measured(result: Result) -> bool:
    """Whether a result was measured on a testbed."""
    return "testbed" in result.info


def distance(simulated: Result, measured: Result) -> list[Row]:
    """Compares two results of one scenario.

    Queues are compared at the ports that are sampled in both: mean and 99th percentile of the samples in KB,
    each counted once. Completion times are compared for the flows that finished in both, in ms; the last row
    is the median over these flows of the relative difference without its sign. JCT is the time of the jobs
    that ended in both. Fairness is Jain's index (1984) of the flows' mean goodputs.

    Args:
        simulated: The simulator's.
        measured: The testbed's.
    """
    rows = []
    both = [port for port in simulated.probed_ports() if port in set(measured.probed_ports())]
    for node, port in both:
        for title, rank in (("mean queue", None), ("p99 queue", 99.0)):
            values = [_queue(result, (node, port), rank) / 1e3 for result in (simulated, measured)]
            rows.append(Row(f"{title} of {node}:{port}", "KB", *values))
        values = [result.peak_queue_bytes(node, port) / 1e3 for result in (simulated, measured)]
        rows.append(Row(f"peak queue of {node}:{port}", "KB", *values))
    first, second = _times(simulated), _times(measured)
    common = sorted(first.keys() & second.keys())
    if common:
        here, there = (np.array([times[flow] for flow in common]) / 1e9 for times in (first, second))
        rows.append(Row("mean FCT", "ms", float(here.mean()), float(there.mean())))
        for rank in (50.0, 99.0):
            values = [stats.percentile(times, rank) for times in (here, there)]
            rows.append(Row(f"p{rank:g} FCT", "ms", *values))
        off = float(np.median(np.abs(there / here - 1)))
        rows.append(Row("FCT of a flow, median difference", "%", 0.0, 100 * off))
    jobs = [_jobs(result) for result in (simulated, measured)]
    ended = sorted(jobs[0].keys() & jobs[1].keys())
    if ended:
        values = [sum(times[job] for job in ended) / len(ended) / 1e9 for times in jobs]
        rows.append(Row("mean JCT", "ms", *values))
    fair = [_jain(result) for result in (simulated, measured)]
    if None not in fair:
        rows.append(Row("fairness of goodput (Jain)", "", *(index or 0.0 for index in fair)))
    return rows


def pairs(results: Sequence[Result], scenarios: Sequence[str]) -> list[tuple[int, int]]:
    """Returns the pairs of results that are simulation and measurement of the same scenario.

    Args:
        results: The results.
        scenarios: The effective scenario of each, as text; empty where it is not known.

    Returns:
        Places of the simulation and of the measurement.
    """
    found = []
    for place, result in enumerate(results):
        if not is_measured(result) or not scenarios[place]:
            continue
        same = [
            other
            for other, text in enumerate(scenarios)
            if text == scenarios[place] and not is_measured(results[other])
        ]
        if same:
            found.append((same[0], place))
    return found


def _queue(result: Result, port: tuple[str, int], rank: float | None) -> float:
    series = result.port(port)
    if rank is None:
        return float(np.average(series.queue_bytes, weights=series.samples))
    return stats.percentile(series.queue_bytes, rank, series.samples)


def _times(result: Result) -> dict[int, float]:
    """Completion times by flow, in ps."""
    times = result.flows.column("fct_ps").astype(np.float64)
    numbers = result.flows.column("flow").tolist()
    return {n: float(t) for n, t in zip(numbers, times.tolist(), strict=True) if not np.isnan(t) and t > 0}


def _jobs(result: Result) -> dict[str, float]:
    """Completion times by job, in ps."""
    jobs = result.jobs
    if not len(jobs):
        return {}
    times = jobs.column("jct_ps").astype(np.float64).tolist()
    return {str(n): t for n, t in zip(jobs.column("job").tolist(), times, strict=True) if not np.isnan(t)}


def _jain(result: Result) -> float | None:
    flows = result.flows
    end = float((result.info.get("outcome") or {}).get("now_ps", 0))
    start = flows.column("start_ps").astype(np.float64)
    finish = flows.column("finish_ps").astype(np.float64)
    took: npt.NDArray[np.float64] = np.where(np.isnan(finish), end, finish) - start
    begun = flows.column("started") & (took > 0)
    rates = flows.column("acked_bytes")[begun] / took[begun]
    squares = float((rates**2).sum())
    return float(rates.sum()) ** 2 / (len(rates) * squares) if squares > 0 else None
