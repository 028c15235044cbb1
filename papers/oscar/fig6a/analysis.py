"""Figure 6a of OSCAR: when the long flow is at its fair share."""

from __future__ import annotations

import numpy as np

from incast.ledger.runs import Results
from incast.results.measures.quantity import Quantity, picoseconds

FLOWS = ("long", *(f"short.{n}" for n in range(5)))


def settles(results: Results, burst: str, level: float) -> Quantity:
    """The time from 1 ms until the long flow's goodput stays near the mean of all, in steps of 100 us.

    Near is within the share ``level``.
    """
    view = results.view(burst)
    edges = np.arange(picoseconds("1ms"), picoseconds("3ms") + 1, picoseconds("100us"))
    acked = [np.interp(edges, *view.acked(flow)) for flow in FLOWS]
    rates = np.diff(np.array(acked), axis=1)
    off = np.flatnonzero(np.abs(rates[0] / rates.mean(axis=0) - 1) > level)
    if len(off) and off[-1] == rates.shape[1] - 1:
        return Quantity(float("inf"), "time")
    steps = int(off[-1]) + 1 if len(off) else 0
    return Quantity(steps * 100e-6, "time")
