"""Inflight and arrival rate as deduced from round-trip times, and as the switch has them (CCC's Figure 2)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incast.ledger.runs import Results
from incast.results.congestion import congestion_at
from incast.results.measures.quantity import Quantity
from incast.results.measures.view import View

PORT = "s0->h50"
LINE_BPS = 25e9
BASE_PS = 20_000_000
BDP = LINE_BPS * BASE_PS / 8e12
STEP_PS = 10_000_000
"""The switch's arrival rate is averaged over this time."""

Floats = npt.NDArray[np.float64]
Pair = tuple[npt.NDArray[np.int64], Floats]


def _deduced(view: View, flow: str, what: str) -> Pair:
    """Times of a flow's acknowledgements, and what it deduces there: in BDPs, or in line rates.

    Acknowledgements within 1 us of the one before are left out, as the paper does with packets back to back.
    """
    series = view.result.flow(view.flow_number(flow))
    news = np.flatnonzero(np.diff(series.acked_bytes)) + 1
    news = news[~np.isnan(series.rtt_ps[news])]
    time, rtt = series.time_ps[news], series.rtt_ps[news]
    if what == "inflight":
        return time, rtt / BASE_PS
    apart = np.diff(time)
    kept = np.flatnonzero(apart >= 1_000_000)
    return time[kept + 1], 1 + np.diff(rtt)[kept] / apart[kept]


def _actual(view: View, what: str) -> Pair:
    """The same at the switch, one base RTT later than it was, when a sender can know it at the earliest."""
    seen = congestion_at(view.result, PORT, "20us")
    if what == "inflight":
        return seen.time_ps + BASE_PS, seen.inflight_bytes / BDP
    edges = np.concatenate([[0], seen.time_ps])
    arrived = np.concatenate([[0.0], np.cumsum(seen.arrival_bps * np.diff(edges))])
    grid = np.arange(0, edges[-1], 1_000_000)
    before, after = np.maximum(grid - STEP_PS // 2, 0), np.minimum(grid + STEP_PS // 2, edges[-1])
    rate = (np.interp(after, edges, arrived) - np.interp(before, edges, arrived)) / (after - before)
    return grid + BASE_PS, rate / LINE_BPS


def _cut(view: View, pair: Pair, start: str, end: str) -> Pair:
    time, values = pair
    inside = (time >= view.instant(start)) & (time <= view.instant(end))
    return time[inside], values[inside]


def deduced(results: Results, what: str, flow: str = "long.0", run: str = "theta") -> tuple[Floats, Floats]:
    """What a flow deduces, over the time in ms."""
    time, values = _deduced(results.view(run), flow, what)
    return time / 1e9, values


def actual(results: Results, what: str, run: str = "theta") -> tuple[Floats, Floats]:
    """What the switch has, over the time in ms."""
    time, values = _actual(results.view(run), what)
    return time / 1e9, values


def mean_deduced(results: Results, run: str, what: str, flow: str, start: str, end: str) -> float:
    """The mean of what a flow deduces."""
    view = results.view(run)
    return float(np.mean(_cut(view, _deduced(view, flow, what), start, end)[1]))


def mean_actual(results: Results, run: str, what: str, start: str, end: str) -> float:
    """The mean of what the switch has."""
    view = results.view(run)
    return float(np.mean(_cut(view, _actual(view, what), start, end)[1]))


def extreme_actual(results: Results, run: str, what: str, which: str, start: str, end: str) -> float:
    """The largest or smallest of what the switch has."""
    view = results.view(run)
    values = _cut(view, _actual(view, what), start, end)[1]
    return float(values.max() if which == "largest" else values.min())


def _rise(view: View, pair: Pair, start: str, end: str) -> float:
    """The time in seconds from an instant until nine tenths of the largest value after it are reached."""
    time, values = _cut(view, pair, start, end)
    return float(time[np.flatnonzero(values >= 0.9 * values.max())[0]] - view.instant(start)) / 1e12


def rise(results: Results, run: str, of: str, start: str, end: str) -> Quantity:
    """That time of the inflight: ``actual``, or the median over the long flows of what is ``deduced``."""
    view = results.view(run)
    if of == "actual":
        return Quantity(_rise(view, _actual(view, "inflight"), start, end), "time")
    times = [_rise(view, _deduced(view, flow, "inflight"), start, end) for flow in _long(view)]
    return Quantity(float(np.median(times)), "time")


def at_peak(results: Results, run: str, start: str, end: str) -> float:
    """Inflight deduced over actual where the actual one is largest: the median over the long flows."""
    view = results.view(run)
    time, values = _cut(view, _actual(view, "inflight"), start, end)
    peak = int(np.argmax(values))
    shares = [np.interp(time[peak], *_deduced(view, flow, "inflight")) / values[peak] for flow in _long(view)]
    return float(np.median(shares))


def _long(view: View) -> list[str]:
    return [view.name_of(int(row)) for row in view.rows("long")]


def rate_error(results: Results, run: str, start: str, end: str) -> float:
    """Root mean square of the deduced arrival rate less the actual one, over all long flows, in C."""
    view = results.view(run)
    truth = _actual(view, "rate")
    errors = []
    for flow in _long(view):
        time, values = _cut(view, _deduced(view, flow, "rate"), start, end)
        errors.append(values - np.interp(time, *truth))
    return float(np.sqrt(np.mean(np.concatenate(errors) ** 2)))


def _lowest(view: View, start: str, end: str) -> Floats:
    flows = _long(view)
    return np.array([_cut(view, _deduced(view, flow, "rate"), start, end)[1].min() for flow in flows])


def lowest(results: Results, run: str, start: str, end: str) -> float:
    """The lowest arrival rate that a long flow deduces, in line rates."""
    return float(_lowest(results.view(run), start, end).min())


def negative(results: Results, run: str, start: str, end: str) -> float:
    """The share of the long flows that deduce a negative arrival rate at least once."""
    return float(np.mean(_lowest(results.view(run), start, end) < 0))
