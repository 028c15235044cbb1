"""Figure 8 of OSCAR: what a flow sends in each 10 us, as the public artifact draws it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incast.ledger.runs import Results
from incast.results.measures import steps_of_use

Floats = npt.NDArray[np.float64]


def swing(results: Results, name: str, start: str, end: str) -> float:
    """Highest less lowest rate of the first flow's host over its mean, in steps of 10 us."""
    _, used = steps_of_use(results.view(name), "h0->s0", start, end, "10us")
    return float(np.ptp(used) / np.mean(used))


def rates(results: Results, name: str, host: str) -> tuple[Floats, Floats]:
    """What a host sends in each 10 us, in Gbps, over time in us."""
    ends, used = steps_of_use(results.view(name), f"{host}->s0", "", "", "10us")
    return np.repeat(ends / 1e6, 2)[1:] - 10, np.repeat(100 * used, 2)[:-1]
