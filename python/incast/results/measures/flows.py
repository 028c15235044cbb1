"""Measures of flows over time: rates, windows, round trips, internal quantities.

Flows are written like ``long`` or ``short.3``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from incast.results import stats
from incast.results.arrays import Floats, Ints, np
from incast.results.measures.call import Dimension, declare
from incast.results.measures.quantity import Quantity, picoseconds, quantity
from incast.results.measures.view import View, statistic


@declare()
def allowance(
    view: View, flow: str, what: str, stat: str = "mean", start: str = "", end: str = ""
) -> Quantity:
    """Window (in base BDPs) or rate (in line rates) of a flow."""
    time, values = view.allowance(flow, what)
    return Quantity(statistic(values[view.span(time, start, end)], stat))


def _reaching(arguments: Mapping[str, Any]) -> Dimension:
    return "number" if arguments.get("per") == "rtt" else "time"


@declare(_reaching, better="lower")
def reaches(
    view: View, flow: str, what: str, level: str, start: str, end: str = "", per: str = "time"
) -> Quantity:
    """The time from an instant until window or rate of a flow has come to a level.

    From below when it is below at that instant, and from above when it is not. Infinite when it does not.

    Args:
        view: The run.
        flow: A single flow.
        what: ``window`` or ``rate``.
        level: In base BDPs or line rates.
        start: The instant.
        end: How far to look.
        per: ``time``, or ``rtt`` to count in base RTTs.
    """
    time, values = view.allowance(flow, what)
    cut = view.span(time, start, end)
    time, values = time[cut], values[cut]
    goal = quantity(level).value
    there = values >= goal if values[0] < goal else values <= goal
    hits = np.flatnonzero(there)
    took = math.inf if not len(hits) else float(time[hits[0]] - view.instant(start))
    if per == "rtt":
        return Quantity(took / view.base_rtt_ps(flow))
    return Quantity(took / 1e12, "time")


@declare()
def largest_step(view: View, flow: str, what: str, start: str = "", end: str = "") -> Quantity:
    """The largest factor by which window or rate of a flow grows within one base RTT."""
    time, values = view.allowance(flow, what)
    cut = view.span(time, start, end)
    time, values = time[cut], values[cut]
    later = np.searchsorted(time, time + view.base_rtt_ps(flow), "right") - 1
    return Quantity(float(np.max(values[later] / values)))


@declare()
def straightness(view: View, flow: str, what: str, start: str, end: str) -> Quantity:
    """R² of a straight line through window or rate of a flow over time."""
    time, values = view.allowance(flow, what)
    cut = view.span(time, start, end)
    return Quantity(r_squared(time[cut] / 1e12, values[cut]))


def r_squared(x: Floats, y: Floats) -> float:
    """The share of the variance of y that a straight line in x explains."""
    if np.ptp(y) == 0 or np.ptp(x) == 0:
        return math.nan
    return float(np.corrcoef(x, y)[0, 1] ** 2)


def _rate_of(view: View, flow: str, start: str, end: str) -> float:
    time, acked = view.acked(flow)
    cut = view.span(time, start, end)
    time, acked = time[cut], acked[cut]
    return float((acked[-1] - acked[0]) * 8e12 / (time[-1] - time[0]))


@declare("rate", better="higher")
def goodput(view: View, flow: str, start: str = "", end: str = "") -> Quantity:
    """Payload of a flow that is acknowledged, per time."""
    return Quantity(_rate_of(view, flow, start, end), "rate")


@declare("rate", better="higher")
def wire_rate(view: View, flow: str, header: str, payload: str, start: str = "", end: str = "") -> Quantity:
    """Rate that a flow takes of its links: its goodput, with the headers of full packets."""
    share = (quantity(header).value + quantity(payload).value) / quantity(payload).value
    return Quantity(_rate_of(view, flow, start, end) * share, "rate")


@declare(better="higher")
def goodput_in_steps(view: View, flow: str, stat: str, step: str, start: str, end: str) -> Quantity:
    """A statistic of a flow's goodput, as a share of its line, over steps of equal length."""
    time, acked = view.acked(flow)
    cut = view.span(time, start, end)
    time, acked = time[cut], acked[cut]
    edges = np.arange(time[0], time[-1] + 1, picoseconds(step))
    rates = np.diff(np.interp(edges, time, acked)) * 8 / (np.diff(edges) / 1e12)
    return Quantity(statistic(rates / view.line_bps(flow), stat))


@declare(better="higher")
def share_of_line(view: View, flow: str, start: str = "", end: str = "", parts: str = "1") -> Quantity:
    """Goodput of a flow over its fair share: its line rate divided by ``parts``."""
    fair = view.line_bps(flow) / quantity(parts).value
    return Quantity(_rate_of(view, flow, start, end) / fair)


@declare(better="higher")
def mean_share(view: View, flows: list[str], start: str, end: str, parts: str) -> Quantity:
    """The mean goodput of some flows over the fair share: the line rate divided by ``parts``.

    Args:
        view: The run.
        flows: Flows or traffic blocks.
        start: From when.
        end: Until when.
        parts: How many parts.
    """
    numbers = [view.name_of(int(row)) for flow in flows for row in view.rows(flow)]
    rates = [_rate_of(view, flow, start, end) for flow in numbers]
    return Quantity(float(np.mean(rates)) / (view.line_bps(flows[0]) / quantity(parts).value))


@declare(better="higher")
def jain(view: View, flows: list[str], start: str, end: str) -> Quantity:
    """Jain's index of the goodputs of some flows: 1 when all are equal, 1/n when one has everything."""
    rates = np.array([_rate_of(view, flow, start, end) for flow in flows])
    return Quantity(stats.jain(rates))


@declare("time", better="lower")
def fair_after(view: View, flows: list[str], level: str, step: str, start: str, end: str) -> Quantity:
    """The time from an instant until some flows share fairly and go on to, by their goodputs in steps.

    Fair is a Jain's index of at least a level. Infinite when it is below in the last step.
    """
    first, last, width = view.instant(start), view.instant(end), picoseconds(step)
    edges = np.arange(first, last + 1, width)
    rates = np.array([np.diff(np.interp(edges, *view.acked(flow))) for flow in flows])
    below = np.flatnonzero([stats.jain(column) < quantity(level).value for column in rates.T])
    if len(below) and below[-1] == len(edges) - 2:
        return Quantity(math.inf, "time")
    return Quantity(float(edges[below[-1] + 1] - first) / 1e12 if len(below) else 0.0, "time")


def round_trips(view: View, flows: str, start: str = "", end: str = "") -> tuple[Ints, Floats]:
    """Times of the samples of some flows, and the round-trip time in seconds that each had measured last.

    In the order of time. Samples before a flow's first round trip are left out.
    """
    times, values = [], []
    first = view.instant(start) if start else 0
    last = view.instant(end) if end else np.iinfo(np.int64).max
    for row in view.rows(flows):
        samples = view.samples(view.name_of(int(row)))
        time, rtt = samples["time_ps"].astype(np.int64), samples["rtt_ps"].astype(float) / 1e12
        cut = (time >= first) & (time <= last) & ~np.isnan(rtt)
        times.append(time[cut])
        values.append(rtt[cut])
    time, value = np.concatenate(times), np.concatenate(values)
    if not len(time):
        raise ValueError(
            f"{flows!r} measured no round-trip time from {start or 'start'} to {end or 'the end'}"
        )
    order = np.argsort(time, kind="stable")
    return time[order], value[order]


@declare("time", better="lower")
def rtt(view: View, flows: str, stat: str = "mean", start: str = "", end: str = "") -> Quantity:
    """A statistic of the round-trip times that some flows measured, over their samples."""
    return Quantity(statistic(round_trips(view, flows, start, end)[1], stat), "time")


@declare("time", better="lower")
def rtt_below(
    view: View, flows: str, level: str, start: str, stat: str = "p99", step: str = "100us", end: str = ""
) -> Quantity:
    """The time from an instant until a statistic of the round-trip times of a step is below a level.

    That is the end of the first step of this length in which it is, after the first in which it is not; zero
    when it never is not, infinite when it stays so.

    Args:
        view: The run.
        flows: A traffic block or a flow.
        level: The round-trip time.
        start: The instant.
        stat: Which statistic of a step.
        step: Its length.
        end: How far to look.
    """
    time, values = round_trips(view, flows, start, end)
    width, begin = picoseconds(step), view.instant(start)
    bins = (time - begin) // width
    numbers, firsts = np.unique(bins, return_index=True)
    found = np.array([statistic(piece, stat) for piece in np.split(values, firsts[1:])])
    above = np.flatnonzero(found >= quantity(level).value)
    if not len(above):
        return Quantity(0.0, "time")
    below = np.flatnonzero(found[above[0] :] < quantity(level).value)
    took = math.inf if not len(below) else float(numbers[above[0] + below[0]] + 1) * width / 1e12
    return Quantity(took, "time")


@declare("time", better="lower")
def rtt_last_above(view: View, flows: str, level: str, start: str, end: str = "") -> Quantity:
    """The time from an instant to the last sample of some flows whose round-trip time is above a level."""
    time, values = round_trips(view, flows, start, end)
    above = time[values > quantity(level).value]
    return Quantity(float(above[-1] - view.instant(start)) / 1e12 if len(above) else 0.0, "time")


_DIMENSIONS: dict[str, Dimension] = {"ps": "time", "bytes": "bytes", "bps": "rate"}


def _ending(arguments: Mapping[str, Any]) -> Dimension:
    return _DIMENSIONS.get(arguments["name"].rpartition("_")[2], "number")


@declare(_ending)
def internal(
    view: View, flow: str, name: str, stat: str = "mean", start: str = "", end: str = ""
) -> Quantity:
    """A statistic of an internal quantity of a flow's congestion control, over its samples.

    Its dimension follows from the end of its name: ``_ps`` is a time, ``_bytes`` an amount, ``_bps`` a rate.
    """
    time, values = internal_series(view, flow, name)
    return Quantity(statistic(values[view.span(time, start, end)], stat), _ending({"name": name}))


def internal_series(view: View, flow: str, name: str) -> tuple[Ints, Floats]:
    """Times and values of an internal quantity of a flow's congestion control; times in seconds."""
    found = view.result.internals_of(view.flow_number(flow))
    if name not in found:
        raise ValueError(f"{flow!r} has no samples of {name!r}; it has {', '.join(found)}")
    series = found[name].filled()
    scale = 1e-12 if name.endswith("_ps") else 1.0
    return series.time_ps.astype(np.int64), series.value.astype(float) * scale


@declare()
def internal_share(
    view: View, flows: str, name: str, values: list[float], start: str = "", end: str = ""
) -> Quantity:
    """The share of the samples of some flows at which an internal quantity has one of some values."""
    hits = total = 0
    for row in view.rows(flows):
        time, found = internal_series(view, view.name_of(int(row)), name)
        cut = view.span(time, start, end)
        hits += int(np.isin(found[cut], values).sum())
        total += len(found[cut])
    return Quantity(hits / total)
