"""Figures 9 to 11 of PowerTCP: Homa at several levels of overcommitment."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from incast import stats
from incast.ledger.runs import Results
from incast.results.measures import queue

Floats = npt.NDArray[np.float64]

LEVELS = range(1, 7)
SPANS = ((15, 20, 2), (25, 30, 3), (35, 40, 4), (45, 50, 3), (55, 60, 2))
"""From and to in ms, and how many of the flows are under way."""


def _queues(results: Results, degree: int) -> list[float]:
    views = [results.view(f"{degree}/{level}") for level in LEVELS]
    return [queue(view, "edge0->h0", start="4ms", end="6ms").value for view in views]


def best_over_first(results: Results, degree: int) -> float:
    """The shortest mean queue of levels 2 to 6 over that of level 1."""
    found = _queues(results, degree)
    return min(found[1:]) / found[0]


def growing(results: Results, degree: int) -> float:
    """The share of the steps from one level to the next in which the mean queue is not shorter by 5 %."""
    found = _queues(results, degree)
    return float(np.mean([b >= 0.95 * a for a, b in itertools.pairwise(found)]))


def longer(results: Results, degree: int) -> float:
    """The share of the steps from one level to the next in which the mean queue gets longer."""
    found = _queues(results, degree)
    return float(np.mean([b > a for a, b in itertools.pairwise(found)]))


def _delivered(results: Results, level: int, flow: str, edges: Floats) -> Floats:
    """Payload in bytes that a row of messages has delivered until some instants in ms.

    Between start and delivery of a message it is taken to come evenly: a receiver's bytes are not sampled.
    """
    flows = results.view(f"four/{level}").result.flows
    mine = flows.column("group") == flow
    starts = flows.column("start_ps")[mine].astype(float) / 1e9
    ends = flows.column("delivered_ps")[mine].astype(float) / 1e9
    sizes = flows.column("size_bytes")[mine].astype(float)
    total = np.zeros(len(edges))
    for start, end, size in zip(starts, ends, sizes, strict=True):
        if not np.isnan(end):
            total += size * np.clip((edges - start) / (end - start), 0, 1)
    return total


def fairness(results: Results, level: int) -> float:
    """The smallest Jain's index of the flows under way, over the second 5 ms after each event."""
    found = []
    for start, end, number in SPANS:
        edges = np.array([start, end], dtype=float)
        rates = [float(np.diff(_delivered(results, level, f"flow{n}", edges))[0]) for n in range(number)]
        found.append(stats.jain(np.array(rates)))
    return min(found)


def fairness_points(results: Results) -> tuple[list[float], list[float]]:
    """That index for each level."""
    return [float(level) for level in LEVELS], [fairness(results, level) for level in LEVELS]


def goodput(results: Results, level: int, flow: str) -> tuple[Floats, Floats]:
    """What a row of messages delivers in each millisecond, in Gbps, over time in ms."""
    edges = np.arange(0.0, 75.5, 1.0)
    rates = np.diff(_delivered(results, level, flow, edges)) * 8 / 1e-3 / 1e9
    return np.repeat(edges, 2)[1:-1], np.repeat(rates, 2)
