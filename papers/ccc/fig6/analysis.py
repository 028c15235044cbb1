"""Figure 6 of CCC: when the analytical rule runs, by the regions that the senders record."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incast.ledger.runs import Results
from incast.theory import ccc

Floats = npt.NDArray[np.float64]

RULE = {"Ai": ("Ai",), "A": ("Ai", "Ad")}
STEP_MS = 0.05

# Of the samples of flows, in turbulence.toml.
INTERVAL_PS = 2_000_000


def _samples(results: Results, run: str, which: str) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Times in ms, and whether a long flow was in these regions; of all fifty flows."""
    result = results.view(run).result
    numbers = [ccc.REGIONS.index(name) for name in RULE[which]]
    flows, table = result.flows, result.internals
    long = flows.column("flow")[flows.column("group") == "long"]
    rows = (table.column("name") == "region") & np.isin(table.column("flow"), long)
    time, value, samples = (table.column(name)[rows] for name in ("time_ps", "value", "samples"))
    # A row stands for equal samples before it, too.
    ends = np.repeat(np.cumsum(samples), samples)
    before = ends - 1 - np.arange(len(ends))
    times = (np.repeat(time, samples) - before * INTERVAL_PS).astype(np.float64) / 1e9
    return times, np.repeat(np.isin(value, numbers), samples)


def _steps(begin: float, end: float) -> Floats:
    return begin + STEP_MS * np.arange(round((end - begin) / STEP_MS) + 1, dtype=np.float64)


def share(results: Results, run: str, begin: float, end: float, which: str = "Ai") -> float:
    """The share of steps of 50 us, between times in ms, in which a long flow is in Ai; ``"A"``: or in Ad."""
    times, inside = _samples(results, run, which)
    edges = _steps(begin, end)
    counts, _ = np.histogram(times[inside], edges)
    return float(np.mean(counts > 0))


def active(results: Results, name: str, which: str = "Ai") -> tuple[Floats, Floats]:
    """The share of the long flows' samples in these regions (%), in steps of 50 us, over time in ms."""
    times, inside = _samples(results, name, which)
    edges = _steps(0.2, 4.0)
    there, _ = np.histogram(times[inside], edges)
    both, _ = np.histogram(times, edges)
    return edges[1:], 100 * there / np.maximum(both, 1)
