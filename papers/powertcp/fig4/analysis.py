"""Figure 4 of PowerTCP: when the queue is near zero again."""

from __future__ import annotations

import numpy as np

from incast.ledger.runs import Results
from incast.results.measures.quantity import Quantity, picoseconds


def near_zero(results: Results, run: str) -> Quantity:
    """The time from the incast, at 1 ms, until the queue is at most 23 KB after its longest."""
    series = results.view(run).port("edge0->h0")
    start = int(np.argmax(series.queue_bytes))
    there = np.flatnonzero(series.queue_bytes[start:] <= 23_000)
    if not len(there):
        return Quantity(float("inf"), "time")
    return Quantity(float(series.time_ps[start + there[0]] - picoseconds("1ms")) / 1e12, "time")
