"""Single updates of θ-PowerTCP's window beside Algorithm 2."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incast.ledger.runs import Results
from incast.results.measures import internal_series
from incast.results.measures.quantity import Quantity

TAU_S, HOST_BPS, PORTION = 20e-6, 25e9, 0.006
"""τ, HostBw, and β over their product: 150 of 25,000 Mbps."""

BETA = PORTION * HOST_BPS * TAU_S / 8
"""β in bytes."""

Floats = npt.NDArray[np.float64]


def _updates(results: Results, run: str) -> tuple[Floats, Floats, Floats]:
    """Windows in bytes before and after each update of the first flow, and Γ_smooth at it.

    Samples are closer than acknowledgements: the first one with a new window has the power of line 20.
    """
    view = results.view(run)
    _, windows = internal_series(view, "flow.0", "cwnd_old_bytes")
    _, power = internal_series(view, "flow.0", "power")
    at = np.flatnonzero(np.diff(windows)) + 1
    return windows[at - 1], windows[at], power[at]


def gamma(results: Results, run: str, updates: int) -> float:
    """γ, solved for in line 20 with the windows and the power of the first updates: the mean."""
    before, after, power = (each[:updates] for each in _updates(results, run))
    return float(np.mean((after / before - 1) / (1 / power + BETA / before - 1)))


def largest_window(results: Results, run: str) -> float:
    """The largest window of a flow over HostBw·τ."""
    _, windows = internal_series(results.view(run), "flow.0", "cwnd_old_bytes")
    return float(windows.max()) / (HOST_BPS * TAU_S / 8)


def steps(results: Results) -> tuple[Floats, Floats]:
    """1/Γ and the window after an update over the one before, of all updates."""
    before, after, power = _updates(results, "two")
    return 1 / power, after / before


def line_20() -> tuple[Floats, Floats]:
    """The curve of line 20 with γ = 0.9, without β: the window ratio over 1/Γ."""
    inverse = np.linspace(0.4, 1.0, 50)
    return inverse, 0.9 * inverse + 0.1


def rest_rtt(flows: int) -> Quantity:
    """The RTT at which line 20 leaves a window as it is: τ + Nβ/HostBw."""
    return Quantity(TAU_S + flows * BETA * 8 / HOST_BPS, "time")
