"""Figure 20 of OSCAR: how steady the queue is, and how much of it each flow adds."""

from __future__ import annotations

import numpy as np

from incast.ledger.runs import Results
from incast.results.measures.quantity import Quantity, picoseconds

PORT = "s0->h1000"


def swing(results: Results, run: str, start: str, end: str) -> float:
    """How far the queue's mean over 100 us is at most from its mean over the span, as a share of that."""
    view = results.view(run)
    series = view.port(PORT)
    cut = view.span(series.time_ps, start, end)
    time, queue = series.time_ps[cut], series.queue_bytes[cut].astype(float)
    step = picoseconds("100us")
    number = (time - time[0]) // step
    means = np.array([queue[number == n].mean() for n in range(int(number[-1]))])
    return float(np.max(np.abs(means / means.mean() - 1)))


def excess_per_flow(results: Results, run: str, flows: int, target: float, start: str, end: str) -> Quantity:
    """The mean queue above a target in bytes, for each of so many flows."""
    view = results.view(run)
    series = view.port(PORT)
    cut = view.span(series.time_ps, start, end)
    return Quantity(float(series.queue_bytes[cut].mean() - target) / flows, "bytes")
