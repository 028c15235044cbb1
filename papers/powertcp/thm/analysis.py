"""Theorems 1 to 3: eigenvalues, decay and shares of the fluid model, and the same from packets."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np

from incast.ledger.runs import Results
from incast.results.measures.quantity import Quantity
from incast.theory.fluid import Floats, Link, Path
from incast.theory.powertcp import Model

LINK = Link("100Gbps", "20us")
BDP = LINK.bdp_bytes
FLOWS = ("one", "two", "four")
PARTS = np.array([1, 2, 4])


def _flows(percent: float, delayed: bool = False) -> Model:
    """Three flows whose increases are as 1 : 2 : 4 and together so many percent of the BDP."""
    each = [f"{round(BDP * percent / 100 * part / PARTS.sum())}B" for part in PARTS]
    return Model("power", LINK, each, delayed=delayed)


def eigenvalue(of: str, increase: str = "12.5KB") -> float:
    """The eigenvalue of the queue or of the window at the equilibrium, in 1/s, by numerical derivatives."""
    model = Model("power", LINK, increase)
    # The matrix has a zero below its diagonal: w' does not depend on q.
    return float(model.jacobian()[("queue", "window").index(of)][("queue", "window").index(of)])


def least_stable() -> float:
    """The largest real part of any eigenvalue in 1/s, over β̂, γ and δt."""
    increases = [f"{round(BDP * part)}B" for part in (0.0001, 0.01, 0.1, 1, 2)]
    models = (
        Model("power", LINK, increase, gamma=gamma, interval=interval)
        for increase, gamma, interval in itertools.product(
            increases, (0.1, 0.5, 0.9, 1.0), ("2us", "20us", "200us")
        )
    )
    return max(float(model.eigenvalues()[0].real) for model in models)


@cache
def _perturbed(window_bdps: float, queue_bdps: float) -> Path:
    """The fluid model with late feedback after a perturbation, β̂ of 0.05 BDP, 5 µs to the bottleneck."""
    model = Model("power", LINK, "12.5KB", delayed=True, forward="5us")
    return model.path(window_bdps * BDP, queue_bdps * BDP, until="400us", step="400ns")


STARTS = ((0.2, 0.0), (0.5, 1.0), (1.5, 0.0), (3.0, 0.0), (3.0, 2.0))


def from_equilibrium() -> float:
    """The largest distance from (bτ + β̂, β̂) after 20 base RTTs, in BDPs, from several states."""
    goal = np.array(Model("power", LINK, "12.5KB").equilibrium())
    ends = [
        [path[name][-1] for name in ("window_bytes", "queue_bytes")]
        for path in map(_perturbed, *zip(*STARTS, strict=True))
    ]
    return float(np.abs(np.array(ends) - goal).max() / BDP)


def _left(path: Path) -> Floats:
    """The part of a perturbation of the window that is left, over time."""
    off = path["window_bytes"] - BDP * 1.05
    return np.asarray(off / off[0], dtype=np.float64)


def decayed(after: float = 5.0) -> float:
    """The part of a perturbation that is gone after so many δt/γ: the least of several states."""
    when = after * LINK.base_rtt_s / 0.9
    return min(
        1 - abs(float(np.interp(when, path.time_s, _left(path))))
        for path in (_perturbed(*at) for at in STARTS)
    )


def time_constant() -> Quantity:
    """The time constant of the decay: of a straight line through the logarithm of what is left."""
    path = _perturbed(3.0, 0.0)
    early = path.time_s <= 200e-6
    slope = np.polyfit(path.time_s[early], np.log(_left(path)[early]), 1)[0]
    return Quantity(float(-1 / slope), "time")


def fluid_shares(percent: float = 7.0) -> float:
    """The largest relative difference of a flow's window from Theorem 3, after 6 ms from equal windows."""
    found = _from_equal(percent)["flow_window_bytes"][-1]
    return float(np.abs(found / _flows(percent).shares_bytes() - 1).max())


@cache
def _from_equal(percent: float) -> Path:
    return _flows(percent).path([BDP] * 3, until="6ms", step="2us")


def packet_shares(results: Results, run: str, percent: float) -> float:
    """The same from packets: the mean windows from 10 ms to 20 ms."""
    view = results.view(run)
    windows = []
    for flow in FLOWS:
        time, window = view.allowance(flow, "window")
        windows.append(window[view.span(time, "10ms", "20ms")].mean() * BDP)
    return float(np.abs(np.array(windows) / _flows(percent).shares_bytes() - 1).max())


def packet_queue(results: Results, run: str, percent: float) -> float:
    """The mean queue from 10 ms to 20 ms over β̂."""
    series = results.view(run).port("s0->h3")
    cut = results.view(run).span(series.time_ps, "10ms", "20ms")
    return float(series.queue_bytes[cut].mean() / (BDP * percent / 100))


def packets_decayed(results: Results, run: str) -> float:
    """The part of the perturbation by the start that is gone from 5 δt/γ on, as long again.

    Three flows start with a window of one BDP each. The time counts from the first feedback, one base RTT
    later.
    """
    view = results.view(run)
    several = [view.allowance(flow, "window") for flow in FLOWS]
    time = several[0][0]
    off = np.abs(sum(window for _, window in several) - 1.07)
    cut = view.span(time, "131us", "242us")
    return float(1 - off[cut].max() / off[0])


# The picture.


def left(window: float, queue: float = 0.0) -> tuple[Floats, Floats]:
    """What is left of a perturbation in percent, over time in µs."""
    path = _perturbed(window, queue)
    return path.time_s * 1e6, 100 * np.abs(_left(path))


def closed_form() -> tuple[Floats, Floats]:
    """The same by Equation 18."""
    time = np.linspace(0, 200, 9)
    return time, 100 * np.exp(-0.9 * time / 20)


def windows(part: int) -> tuple[Floats, Floats]:
    """The window of a flow in KB by the fluid model, over time in ms."""
    path = _from_equal(7.0)
    return path.time_s * 1e3, path["flow_window_bytes"][:, part] / 1e3


def packet_windows(results: Results, flow: str) -> tuple[Floats, Floats]:
    """The same from packets."""
    time, window = results.view("packets/7").allowance(flow, "window")
    return time / 1e9, window * BDP / 1e3


def queue() -> tuple[Floats, Floats]:
    """The queue in KB by the fluid model, over time in ms."""
    path = _from_equal(7.0)
    return path.time_s * 1e3, path["queue_bytes"] / 1e3
