"""Figure 5 of OSCAR: the window after a congested round trip, by HPCC's reference and by OSCAR's."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

STEPS = 1000
"""Acknowledgements in a round trip."""


def _windows(reference: str) -> Floats:
    """The window in base BDPs after each of the acknowledgements of three round trips.

    Congestion begins at time 0 with a utilisation of 2, and lasts for one round trip; what is sent after that
    finds what two windows of its time make. A window is divided by the utilisation that its acknowledgement
    brings. HPCC divides the window of its last commit, one in a round trip; OSCAR the one with
    which the packet was sent.
    """
    windows = np.ones(4 * STEPS)
    committed = 1.0
    for i in range(STEPS, len(windows)):
        sent = i - STEPS
        utilisation = 2.0 if sent < STEPS else 2 * windows[sent]
        base = committed if reference == "original" else windows[sent]
        windows[i] = base / max(utilisation, 1.0)
        # HPCC commits at the first acknowledgement of a round trip.
        if i % STEPS == 0:
            committed = windows[i]
    return windows


def after(reference: str, round_trips: float) -> float:
    """The window in base BDPs, so many round trips after congestion began."""
    return float(_windows(reference)[round(round_trips * STEPS)])


def path(reference: str) -> tuple[Floats, Floats]:
    """The window in base BDPs over time in round trips."""
    windows = _windows(reference)
    return np.arange(len(windows)) / STEPS, windows
