"""Figure 16 of OSCAR, simulated and on a testbed: the updates of u around the edges of a burst."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incast.ledger.runs import Results
from incast.results.measures.quantity import picoseconds

Floats = npt.NDArray[np.float64]


def _updates(results: Results, run: str, flow: str, start: str, end: str) -> tuple[Floats, Floats]:
    """Times in us and values of u after each update of a flow in a span, the value before the span first."""
    view = results.view(run)
    number = int(view.result.flows.column("flow")[view.one(flow)])
    series = view.result.internals_of(number)["u"]
    changed = np.concatenate([[0], np.flatnonzero(np.diff(series.value)) + 1])
    time, value = series.time_ps[changed].astype(float), series.value[changed]
    inside = (time >= picoseconds(start)) & (time < picoseconds(end))
    before = value[time < picoseconds(start)]
    first = before[-1:] if len(before) else value[:1]
    return np.concatenate([[picoseconds(start)], time[inside]]) / 1e6, np.concatenate([first, value[inside]])


def steps(
    results: Results,
    run: str,
    flow: str,
    start: str,
    end: str,
    target: float,
    within: float,
    move: float = 0.05,
    either_way: bool = False,
) -> int:
    """Updates from the first that sees a change until u is within a share of its target.

    The first is the one that moves u by more than the share ``move``, towards the target or ``either_way``.
    """
    _, u = _updates(results, run, flow, start, end)
    by = np.diff(u) / u[:-1]
    seen = np.abs(by) > move if either_way else by * np.sign(target - u[0]) > move
    moves = np.flatnonzero(seen)
    there = np.flatnonzero(np.abs(u[1:] / target - 1) <= within)
    if not len(moves) or not len(there[there >= moves[0]]):
        return 10**6
    return int(there[there >= moves[0]][0] - moves[0]) + 1


def ahead(results: Results, run: str, flow: str, packet: int, rate: float) -> float:
    """Packets in flight 1 ms after a flow's start, less those that a link of this rate can have carried."""
    view = results.view(run)
    at = view.one(flow)
    start = int(view.result.flows.column("start_ps")[at])
    series = view.result.flow(int(view.result.flows.column("flow")[at]))
    first = int(np.searchsorted(series.time_ps, start + 10**9))
    since = float(series.time_ps[first] - start) / 1e12
    return (float(series.inflight_bytes[first]) - since * rate / 8) / packet


def points(
    results: Results, at: int, flow: str, start: str, end: str, runs: str = "oscar", per: float = 1.0
) -> tuple[Floats, Floats]:
    """The ratio u over time, in units of so many us, as steps, with the burst from so many us on."""
    time, u = _updates(results, f"{runs}/{at}", flow, start, end)
    return np.append(np.repeat(time / per, 2)[1:], np.nan), np.append(np.repeat(u, 2)[:-1], np.nan)
