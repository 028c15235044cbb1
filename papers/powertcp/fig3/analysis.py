"""The trajectories of Figure 3 and what the text says of them."""

from __future__ import annotations

from functools import cache

import numpy as np

from incast.results.measures.quantity import Quantity
from incast.theory.fluid import Floats, Link, Path
from incast.theory.powertcp import Law, Model

LINK = Link("100Gbps", "20us")
BDP = LINK.bdp_bytes
INCREASE = "12.5KB"  # β̂: 0.05 BDP

# Starting points in BDPs: 8 windows and 5 queues.
WINDOWS, QUEUES = (
    each.ravel() for each in np.meshgrid(np.linspace(0.2, 3, 8), np.linspace(0, 2, 5), indexing="ij")
)


@cache
def _paths(law: Law, increase: str = INCREASE, delayed: bool = False) -> Path:
    """The trajectories from all starting points over 25 base RTTs."""
    model = Model(law, LINK, increase, delayed=delayed)
    return model.path(WINDOWS[None] * BDP, QUEUES * BDP, until="500us", step="400ns")


def _ends(law: Law, increase: str) -> Floats:
    """Window and queue at the end of each trajectory in BDPs."""
    path = _paths(law, increase)
    return np.stack([path["window_bytes"][-1], path["queue_bytes"][-1]]) / BDP


def spread(law: Law, increase: str = INCREASE) -> float:
    """The range of the queues in which trajectories end, in BDPs."""
    return float(np.ptp(_ends(law, increase)[1]))


def from_equilibrium(law: Law) -> float:
    """The largest distance of an end from (bτ + β̂, β̂) in window or queue, in BDPs."""
    goal = np.array(Model(law, LINK, INCREASE).equilibrium()) / BDP
    return float(np.abs(_ends(law, INCREASE) - goal[:, None]).max())


def still_moving(law: Law, increase: str) -> float:
    """The largest change of window or queue at the end of a trajectory in BDPs per base RTT."""
    window, queue = _ends(law, increase) * BDP
    rates = np.abs(Model(law, LINK, increase).direction(window, queue))
    return float(rates.max() * LINK.base_rtt_s / BDP)


def loses(law: Law, delayed: bool = False) -> float:
    """The share of starting points from which the window is below one BDP, with no queue, at some time."""
    path = _paths(law, delayed=delayed)
    lost = (path["window_bytes"] < BDP * (1 - 1e-9)) & (path["queue_bytes"] <= 0)
    return float(lost.any(axis=0).mean())


def falls_below(law: Law, least: float = 0.0) -> float:
    """The share of starting points from which the window falls below one BDP after it was at one or above.

    Counted are starting points with a window of at least so many BDPs.
    """
    window = _paths(law)["window_bytes"]
    above = np.maximum.accumulate(window, axis=0) >= BDP * (1 - 1e-9)
    falls = ((window < BDP * (1 - 1e-6)) & above).any(axis=0)
    return float(falls[least <= WINDOWS].mean())


def from_closed_form() -> float:
    """The largest difference of PowerTCP's windows from Equation 18, in BDPs."""
    path, model = _paths("power"), Model("power", LINK, INCREASE)
    exact = [model.decay(window * BDP, path.time_s) for window in WINDOWS]
    return float(np.abs(path["window_bytes"] - np.transpose(exact)).max() / BDP)


def first_tenth(law: Law) -> Quantity:
    """The time in which a window of three BDPs without a queue has fallen by a tenth."""
    path = _paths(law)
    start = int(np.flatnonzero((WINDOWS.max() == WINDOWS) & (QUEUES == 0))[0])
    window = path["window_bytes"][:, start]
    falling = slice(0, int(window.argmin()))
    return Quantity(float(np.interp(-0.9 * window[0], -window[falling], path.time_s[falling])), "time")


def length(law: Law) -> float:
    """The mean length of the trajectories in the plane of window and queue, in BDPs."""
    path = _paths(law)
    steps = np.hypot(np.diff(path["window_bytes"], axis=0), np.diff(path["queue_bytes"], axis=0))
    return float(steps.sum(axis=0).mean() / BDP)


# The picture: queue in KB along, window in KB up.

_DRAWN = np.flatnonzero(np.isin(np.round(WINDOWS, 6), (0.2, 1.4, 3.0)) & np.isin(QUEUES, (0, 1, 2)))


def trajectories(law: Law) -> tuple[Floats, Floats]:
    """The curves from some of the starting points."""
    path = _paths(law)
    gap = np.full((1, len(_DRAWN)), np.nan)
    curves = (np.vstack([path[name][:, _DRAWN] / 1e3, gap]) for name in ("queue_bytes", "window_bytes"))
    queue, window = (curve.T.ravel() for curve in curves)
    return queue, window


def points(law: Law, at: int) -> tuple[Floats, Floats]:
    """The first (0) or the last (-1) points of those curves."""
    path = _paths(law)
    return path["queue_bytes"][at, _DRAWN] / 1e3, path["window_bytes"][at, _DRAWN] / 1e3


def arrows(law: Law) -> tuple[Floats, Floats]:
    """Where states move: a line with two barbs from each point of a grid."""
    queue, window = (each.ravel() for each in np.meshgrid(np.arange(40, 560, 80), np.arange(50, 900, 80)))
    up, along = Model(law, LINK, INCREASE).direction(window * 1e3, queue * 1e3)
    size = np.hypot(along, up)
    x, y = along / size, up / size
    end = queue + 42 * x, window + 42 * y
    curves = []
    for turn in (0.5, -0.5):
        barb = (
            end[0] - 14 * (x * np.cos(turn) - y * np.sin(turn)),
            end[1] - 14 * (x * np.sin(turn) + y * np.cos(turn)),
        )
        curves.append([(queue, end[0], barb[0]), (window, end[1], barb[1])])
    gap = np.full_like(queue, np.nan, dtype=np.float64)
    both = [np.concatenate([np.stack([*curve[i], gap], axis=1).ravel() for curve in curves]) for i in (0, 1)]
    return both[0], both[1]
