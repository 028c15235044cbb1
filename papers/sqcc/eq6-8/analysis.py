"""The fixed points of SQCC, Equations 6 to 8, as this figure's claims and panels use them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from incast.ledger.runs import Results
from incast.results import measures
from incast.results.measures.quantity import Quantity
from incast.theory import sqcc

Floats = npt.NDArray[np.float64]

RISING = tuple(f"patched-timely/{n}" for n in (2, 10, 20, 40, 60))
"""The runs that come to rest."""


def fixed_point(flows: int, form: str = "rtt") -> Quantity:
    """The queue at rest with patched TIMELY."""
    return Quantity(sqcc.fixed_point_queue("patched", flows, form=form), "bytes")


def unstable_from(form: str) -> float:
    """The number of flows at which the fixed point reaches T_high."""
    return sqcc.unstable_from(form=form)


def fluid_peak(flows: int) -> Quantity:
    """The longest queue in the second half of a second of the fluid model that starts 5 % above rest."""
    found = _fluid(flows)
    return Quantity(float(found.queue_bytes[len(found.queue_bytes) // 2 :].max()), "bytes")


def _fluid(flows: int) -> sqcc.Trajectory:
    start = 1.05 * sqcc.fixed_point_queue("patched", flows)
    return sqcc.trajectory("patched", flows, "1s", start_queue_bytes=start, step="5us")


def fluid(flows: int) -> tuple[Floats, Floats]:
    """The fluid model's queue (KB) over time (ms)."""
    found = _fluid(flows)
    return found.seconds[::20] * 1e3, found.queue_bytes[::20] / 1e3


def line(form: str) -> tuple[Floats, Floats]:
    """Fixed points in KB over the number of flows."""
    flows = np.linspace(1, 100, 100)
    return flows, np.array([sqcc.fixed_point_queue("patched", n, form=form) for n in flows]) / 1e3


def straightness(results: Results, runs: Sequence[str] = RISING) -> float:
    """R² of a straight line through the mean queues of runs, whose names end with the number of flows."""
    flows = [float(name.rpartition("/")[2]) for name in runs]
    means = [measures.queue(results.view(name), "s0->h0", "mean", "240ms", "400ms").value for name in runs]
    return measures.r_squared(np.array(flows), np.array(means))


def jain(results: Results, run: str) -> float:
    """Jain's index of the goodputs of all flows of a run, over the last 40 % of its 400 ms."""
    view = results.view(run)
    names = [view.name_of(int(row)) for row in view.rows("incast")]
    return measures.jain(view, names, "240ms", "400ms").value
