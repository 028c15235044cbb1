"""Figure 14 of OSCAR: the total rate of four sprayed flows while a link has half of its rate."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from incast.ledger.runs import Results
from incast.results.measures import steps_of_use
from incast.results.measures.quantity import Quantity

Floats = npt.NDArray[np.float64]

PORTS = ("leaf1->h4", "leaf1->h5", "leaf1->h6", "leaf1->h7")


def _total(results: Results, run: str, start: str, end: str, step: str = "10us") -> tuple[Floats, Floats]:
    """Ends of steps in us, and what arrived in each at the four receivers, in Gbps, headers counted."""
    view = results.view(run)
    used = [steps_of_use(view, port, start, end, step) for port in PORTS]
    return used[0][0] / 1e6, np.sum([share for _, share in used], axis=0) * 100


def rate(results: Results, run: str, start: str, end: str) -> Quantity:
    """The mean total rate."""
    return Quantity(float(np.mean(_total(results, run, start, end)[1])) * 1e9, "rate")


def lowest(results: Results, run: str, start: str, end: str) -> Quantity:
    """The smallest total rate of 10 us."""
    return Quantity(float(np.min(_total(results, run, start, end)[1])) * 1e9, "rate")


def arrives(results: Results, run: str, start: str, end: str, low: float, high: float) -> Quantity:
    """The time from ``start`` until the end of the first 10 us with a total rate within limits, in Gbps."""
    at, total = _total(results, run, start, end)
    there = np.flatnonzero((total >= low) & (total <= high))
    if not len(there):
        return Quantity(math.inf, "time")
    return Quantity(float(at[there[0]] - results.view(run).instant(start) / 1e6) / 1e6, "time")


def slower(results: Results, run: str, start: str, end: str, low: float) -> float:
    """How many times as long as OSCAR an algorithm takes to reach a total rate.

    One that does not within the time is taken to reach it at its end.
    """
    limit = (results.view(run).instant(end) - results.view(run).instant(start)) / 1e12
    took = [min(arrives(results, name, start, end, low, 1e9).value, limit) for name in (run, "oscar")]
    return took[0] / took[1]


def straightness(results: Results, run: str, start: str, end: str) -> float:
    """R² of a straight line through the total rate."""
    at, total = _total(results, run, start, end)
    return float(np.corrcoef(at, total)[0, 1] ** 2)


def points(results: Results, name: str) -> tuple[Floats, Floats]:
    """The total rate in Gbps over time in us."""
    at, total = _total(results, name, "", "")
    return np.repeat(at, 2)[1:] - 10, np.repeat(total, 2)[:-1]
