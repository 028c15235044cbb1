"""The measures that claims name: each takes one value out of the tables of a run.

Instants are written as :meth:`View.instant` reads them, ports like ``s0->h15``, flows like ``long`` or
``short.3``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from incast.ledger.quantity import Quantity, picoseconds, quantity
from incast.ledger.view import Ints, View
from incast.results import stats
from incast.results.arrays import Floats

Measure = Callable[..., Quantity]

MEASURES: dict[str, Measure] = {}
"""All measures by name."""


def measure(function: Measure) -> Measure:
    """Makes a function known to claims under its own name."""
    MEASURES[function.__name__] = function
    return function


def _statistic(values: Floats, stat: str) -> float:
    """``mean``, ``std``, ``min``, ``max``, ``span`` (max less min), ``spread`` (span over mean), ``p99``."""
    match stat:
        case "mean":
            return float(np.mean(values))
        case "std":
            return float(np.std(values))
        case "min":
            return float(np.min(values))
        case "max":
            return float(np.max(values))
        case "span":
            return float(np.ptp(values))
        case "spread":
            return float(np.ptp(values) / np.mean(values))
        case _ if stat.startswith("p") and stat[1:].replace(".", "", 1).isdigit():
            return stats.percentile(values, float(stat[1:]))
    raise ValueError(f"{stat!r} is not a statistic; known: mean, std, min, max, span, spread, p99")


@measure
def queue(view: View, port: str, stat: str = "mean", start: str = "", end: str = "") -> Quantity:
    """The queue of a port, as sampled."""
    series = view.port(port)
    cut = view.span(series.time_ps, start, end)
    return Quantity(_statistic(series.queue_bytes[cut].astype(float), stat), "bytes")


@measure
def direction_changes(view: View, port: str, by: str, below: str, start: str, end: str) -> Quantity:
    """Number of turns of a port's queue by more than a step, once it has fallen below a length.

    Args:
        view: The run.
        port: The port.
        by: A change of direction counts once the queue has gone so far the other way.
        below: The length below which it must have come for the counting to begin.
        start: Where to look for that.
        end: Where the counting ends.
    """
    series = view.port(port)
    cut = view.span(series.time_ps, start, end)
    values = series.queue_bytes[cut].astype(float)
    highest = int(np.argmax(values))
    falls = np.flatnonzero(values[highest:] < quantity(below).value)
    if not len(falls):
        raise ValueError(f"the queue does not fall below {below} from {start} to {end}")
    values, step = values[highest + int(falls[0]) :], quantity(by).value
    count, falling, extreme = 0, True, values[0]
    for value in values:
        if value < extreme if falling else value > extreme:
            extreme = value
        elif abs(value - extreme) >= step:
            count, falling, extreme = count + 1, not falling, value
    return Quantity(float(count))


@measure
def peak_queue(view: View, port: str) -> Quantity:
    """The longest queue of a port in the whole run, exactly."""
    return Quantity(float(view.peak_queue_bytes(port)), "bytes")


@measure
def nonempty(view: View, port: str, start: str = "", end: str = "") -> Quantity:
    """The share of samples at which a port has a queue."""
    series = view.port(port)
    cut = view.span(series.time_ps, start, end)
    return Quantity(float(np.mean(series.queue_bytes[cut] > 0)))


def _cumulative_bytes(view: View, port: str) -> tuple[Ints, Floats, int]:
    """Returns times, bytes sent until then, and the rate of a port.

    The bytes come from the shares between the samples, which the result has worked out.
    """
    series = view.port(port)
    steps = series.utilisation[1:] * (np.diff(series.time_ps) / 8e12) * series.rate_bps
    return series.time_ps, np.concatenate([[0.0], np.cumsum(steps)]), series.rate_bps


def steps_of_use(view: View, port: str, start: str, end: str, step: str) -> tuple[Ints, Floats]:
    """Ends of steps of equal length, and the share of the link used in each."""
    time, sent, rate = _cumulative_bytes(view, port)
    cut = view.span(time, start, end)
    time, sent = time[cut], sent[cut]
    edges = np.arange(time[0], time[-1] + 1, picoseconds(step))
    if len(edges) < 2:
        raise ValueError(f"the span from {start} to {end} is shorter than one step of {step}")
    at = np.interp(edges, time, sent)
    return edges[1:], np.diff(at) * 8 / (np.diff(edges) / 1e12 * rate)


@measure
def utilisation(view: View, port: str, start: str = "", end: str = "") -> Quantity:
    """The share of a port's link that is used."""
    time, sent, rate = _cumulative_bytes(view, port)
    cut = view.span(time, start, end)
    time, sent = time[cut], sent[cut]
    return Quantity(float((sent[-1] - sent[0]) * 8 / ((time[-1] - time[0]) / 1e12 * rate)))


@measure
def lowest_utilisation(view: View, port: str, step: str, start: str = "", end: str = "") -> Quantity:
    """The smallest share of a port's link used in any step of a given length."""
    return Quantity(float(steps_of_use(view, port, start, end, step)[1].min()))


@measure
def lost_time(view: View, port: str, start: str, end: str) -> Quantity:
    """The time for which a port's link might as well have stood still: what it did not carry, at its rate."""
    time, sent, rate = _cumulative_bytes(view, port)
    cut = view.span(time, start, end)
    time, sent = time[cut], sent[cut]
    return Quantity(float((time[-1] - time[0]) / 1e12 - (sent[-1] - sent[0]) * 8 / rate), "time")


@measure
def recovery(view: View, port: str, start: str, end: str, level: str, step: str) -> Quantity:
    """The time from an instant until a port's link is used to a level and stays so, in steps.

    Infinite when it is below the level in the last step.
    """
    edges, used = steps_of_use(view, port, start, end, step)
    low = np.flatnonzero(used < quantity(level).value)
    if len(low) and low[-1] == len(used) - 1:
        return Quantity(math.inf, "time")
    until = edges[low[-1]] if len(low) else view.instant(start)
    return Quantity((int(until) - view.instant(start)) / 1e12, "time")


@measure
def allowance(
    view: View, flow: str, what: str, stat: str = "mean", start: str = "", end: str = ""
) -> Quantity:
    """Window (in base BDPs) or rate (in line rates) of a flow."""
    time, values = view.allowance(flow, what)
    return Quantity(_statistic(values[view.span(time, start, end)], stat))


@measure
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


@measure
def largest_step(view: View, flow: str, what: str, start: str = "", end: str = "") -> Quantity:
    """The largest factor by which window or rate of a flow grows within one base RTT."""
    time, values = view.allowance(flow, what)
    cut = view.span(time, start, end)
    time, values = time[cut], values[cut]
    later = np.searchsorted(time, time + view.base_rtt_ps(flow), "right") - 1
    return Quantity(float(np.max(values[later] / values)))


@measure
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


@measure
def goodput(view: View, flow: str, start: str = "", end: str = "") -> Quantity:
    """Payload of a flow that is acknowledged, per time."""
    return Quantity(_rate_of(view, flow, start, end), "rate")


@measure
def wire_rate(view: View, flow: str, header: str, payload: str, start: str = "", end: str = "") -> Quantity:
    """Rate that a flow takes of its links: its goodput, with the headers of full packets."""
    share = (quantity(header).value + quantity(payload).value) / quantity(payload).value
    return Quantity(_rate_of(view, flow, start, end) * share, "rate")


@measure
def goodput_in_steps(view: View, flow: str, stat: str, step: str, start: str, end: str) -> Quantity:
    """A statistic of a flow's goodput, as a share of its line, over steps of equal length."""
    time, acked = view.acked(flow)
    cut = view.span(time, start, end)
    time, acked = time[cut], acked[cut]
    edges = np.arange(time[0], time[-1] + 1, picoseconds(step))
    rates = np.diff(np.interp(edges, time, acked)) * 8 / (np.diff(edges) / 1e12)
    return Quantity(_statistic(rates / view.line_bps(flow), stat))


@measure
def share_of_line(view: View, flow: str, start: str = "", end: str = "", parts: str = "1") -> Quantity:
    """Goodput of a flow over its fair share: its line rate divided by ``parts``."""
    fair = view.line_bps(flow) / quantity(parts).value
    return Quantity(_rate_of(view, flow, start, end) / fair)


@measure
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


@measure
def jain(view: View, flows: list[str], start: str, end: str) -> Quantity:
    """Jain's index of the goodputs of some flows: 1 when all are equal, 1/n when one has everything."""
    rates = np.array([_rate_of(view, flow, start, end) for flow in flows])
    return Quantity(stats.jain(rates))


@measure
def congestion(
    view: View, port: str, flow: str, stat: str = "mean", start: str = "", end: str = ""
) -> Quantity:
    """HPCC's utilisation of a port from its samples: queue over BDP, plus the share of the link used."""
    return Quantity(_statistic(congestion_series(view, port, flow, start, end)[1], stat))


def congestion_series(view: View, port: str, flow: str, start: str, end: str) -> tuple[Ints, Floats]:
    """Times, and HPCC's utilisation of a port at each."""
    series = view.port(port)
    cut = view.span(series.time_ps, start, end)
    bdp = float(series.rate_bps) * view.base_rtt_ps(flow) / 8e12
    return series.time_ps[cut], series.queue_bytes[cut] / bdp + series.utilisation[cut]


@measure
def slowdown(
    view: View,
    stat: str,
    above: str = "0B",
    up_to: str = "",
    group: str | list[str] = "",
    of: str = "slowdown",
) -> Quantity:
    """A statistic of the slowdown (or of ``fct``, the completion time) of the flows of a class of sizes.

    A percentile comes with the number of flows. ``group`` is a traffic block, or a list of them; by default
    all count.
    """
    flows = view.result.flows
    sizes, values = flows.column("size_bytes").astype(float), flows.column("slowdown")
    chosen = ~np.isnan(values) & flows.column("counted") & (sizes > quantity(above).value)
    if up_to:
        chosen &= sizes <= quantity(up_to).value
    if group:
        chosen &= np.isin(flows.column("group"), group)
    if not chosen.any():
        raise ValueError("no flow of this class finished")
    samples = int(chosen.sum()) if stat.startswith("p") else None
    if of == "fct":
        return Quantity(_statistic(flows.column("fct_ps")[chosen] / 1e12, stat), "time", samples)
    return Quantity(_statistic(values[chosen], stat), samples=samples)


@measure
def buffer(view: View, switches: str, stat: str = "mean", start: str = "", end: str = "") -> Quantity:
    """Bytes in the buffer of a switch: the queues of all its ports, as sampled.

    Args:
        view: The run, of which all ports of these switches are sampled.
        switches: Beginnings of their names, like ``edge``, or ``edge agg core``.
        stat: The statistic, over all samples of all these switches.
        start: From when.
        end: Until when.
    """
    values = buffer_samples(view, switches, start, end)
    samples = len(values) if stat.startswith("p") else None
    return Quantity(_statistic(values, stat), "bytes", samples)


def buffer_samples(view: View, switches: str, start: str, end: str) -> Floats:
    """The samples of :func:`buffer`, in bytes."""
    found = [
        held[view.span(time, start, end)]
        for node, (time, held) in view.buffers.items()
        if node.rstrip("0123456789") in switches.split()
    ]
    if not found:
        raise ValueError(f"no port of the switches {switches!r} is sampled in the run {view.name!r}")
    return np.concatenate(found)


@measure
def flows(view: View, above: str = "0B", up_to: str = "", finished: bool = True) -> Quantity:
    """Number of flows of a class of sizes that finished, or did not."""
    table = view.result.flows
    sizes, done = table.column("size_bytes").astype(float), ~np.isnan(table.column("slowdown"))
    chosen = (done == finished) & table.column("counted") & (sizes > quantity(above).value)
    if up_to:
        chosen &= sizes <= quantity(up_to).value
    return Quantity(float(chosen.sum()))


@measure
def cct(view: View, group: str) -> Quantity:
    """The collective completion time of a traffic block: the largest completion time of its flows.

    Infinite when one of them did not finish.
    """
    return Quantity(float(np.max(_completion_s(view, group))), "time")


@measure
def cct_bound(view: View, group: str) -> Quantity:
    """A lower bound of the collective completion time of a traffic block without queues in the network.

    For each host: what its flows need alone, one after the other on its link, and one base RTT. A host's
    flows are those that it sends, and those that it receives. The bound is the largest of these.
    """
    rows, table = view.rows(group), view.result.flows
    rtt = table.column("base_rtt_ps")[rows].astype(float)
    busy = table.column("ideal_fct_ps")[rows].astype(float) - rtt
    found = 0.0
    for end in ("source", "destination"):
        hosts = table.column(end)[rows]
        for host in np.unique(hosts):
            own = hosts == host
            found = max(found, float(np.max(rtt[own]) + np.sum(busy[own])))
    return Quantity(found / 1e12, "time")


@measure
def cct_increase(view: View, group: str) -> Quantity:
    """By how much the collective completion time of a traffic block exceeds its lower bound: 0.5 for half."""
    return Quantity(cct(view, group).value / cct_bound(view, group).value - 1)


@measure
def completion(view: View, group: str, stat: str) -> Quantity:
    """A statistic of the completion times of a traffic block's flows, infinite for unfinished ones."""
    return Quantity(_statistic(_completion_s(view, group), stat), "time")


def _completion_s(view: View, group: str) -> Floats:
    """The completion times of the flows of a traffic block in seconds, infinite for unfinished ones."""
    rows, table = view.rows(group), view.result.flows
    times = table.column("fct_ps")[rows].astype(float) / 1e12
    return np.where(table.column("finished")[rows], times, math.inf)


def completion_times(view: View, group: str) -> Floats:
    """The completion times of the flows of a traffic block that finished, in seconds."""
    times = _completion_s(view, group)
    return times[np.isfinite(times)]


@measure
def resent(view: View, group: str) -> Quantity:
    """Number of packets that the flows of a traffic block sent again."""
    return Quantity(float(np.sum(view.result.flows.column("resent_packets")[view.rows(group)])))


@measure
def regained(view: View, port: str, start: str, end: str, level: str, step: str) -> Quantity:
    """The time from an instant until a port's link is used to a level again, in steps, after it was not.

    That is the end of the first step at the level after the first one below it. Unlike :func:`recovery` it
    does not ask whether the link stays so. Zero when no step is below, infinite when none follows that is
    not.
    """
    edges, used = steps_of_use(view, port, start, end, step)
    low = np.flatnonzero(used < quantity(level).value)
    if not len(low):
        return Quantity(0.0, "time")
    hits = np.flatnonzero(used[low[0] :] >= quantity(level).value)
    took = math.inf if not len(hits) else float(edges[low[0] + hits[0]] - view.instant(start)) / 1e12
    return Quantity(took, "time")


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


@measure
def rtt(view: View, flows: str, stat: str = "mean", start: str = "", end: str = "") -> Quantity:
    """A statistic of the round-trip times that some flows measured, over their samples."""
    return Quantity(_statistic(round_trips(view, flows, start, end)[1], stat), "time")


@measure
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
    found = np.array([_statistic(piece, stat) for piece in np.split(values, firsts[1:])])
    above = np.flatnonzero(found >= quantity(level).value)
    if not len(above):
        return Quantity(0.0, "time")
    below = np.flatnonzero(found[above[0] :] < quantity(level).value)
    took = math.inf if not len(below) else float(numbers[above[0] + below[0]] + 1) * width / 1e12
    return Quantity(took, "time")


@measure
def rtt_last_above(view: View, flows: str, level: str, start: str, end: str = "") -> Quantity:
    """The time from an instant to the last sample of some flows whose round-trip time is above a level."""
    time, values = round_trips(view, flows, start, end)
    above = time[values > quantity(level).value]
    return Quantity(float(above[-1] - view.instant(start)) / 1e12 if len(above) else 0.0, "time")


@measure
def internal(
    view: View, flow: str, name: str, stat: str = "mean", start: str = "", end: str = ""
) -> Quantity:
    """A statistic of an internal quantity of a flow's congestion control, over its samples.

    Its dimension follows from the end of its name: ``_ps`` is a time, ``_bytes`` an amount, ``_bps`` a rate.
    """
    time, values = internal_series(view, flow, name)
    dimension = _DIMENSIONS.get(name.rpartition("_")[2], "number")
    return Quantity(_statistic(values[view.span(time, start, end)], stat), dimension)


_DIMENSIONS = {"ps": "time", "bytes": "bytes", "bps": "rate"}


def internal_series(view: View, flow: str, name: str) -> tuple[Ints, Floats]:
    """Times and values of an internal quantity of a flow's congestion control; times in seconds."""
    found = view.result.internals_of(view.flow_number(flow))
    if name not in found:
        raise ValueError(f"{flow!r} has no samples of {name!r}; it has {', '.join(found)}")
    series = found[name].filled()
    scale = 1e-12 if name.endswith("_ps") else 1.0
    return series.time_ps.astype(np.int64), series.value.astype(float) * scale


@measure
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


@measure
def lost_packets(view: View, per: str = "sent") -> Quantity:
    """Packets that switches dropped: as a share of the data packets ``sent`` (again), or their ``number``."""
    dropped = float(view.result.ports.column("dropped_packets").sum())
    if per == "number":
        return Quantity(dropped)
    if per != "sent":
        raise ValueError(f"{per!r} is neither sent nor number")
    return Quantity(dropped / float(view.result.flows.column("packets").sum()))


@measure
def pauses(view: View, node: str = "", start: str = "") -> Quantity:
    """Pause frames that were sent, by all nodes or by those whose name begins so.

    With ``start`` those from an instant on; the scenario must then have ``probe.pauses``.
    """
    if not start:
        ports = view.result.ports
        chosen = np.array([str(name).startswith(node) for name in ports.column("node")])
        return Quantity(float(ports.column("pauses_sent")[chosen].sum()))
    table = view.result.pauses
    if not len(table) and view.result.ports.column("pauses_sent").sum():
        raise ValueError(f"the pauses of the run {view.name!r} are not recorded")
    chosen = table.column("paused") & (table.column("time_ps") >= view.instant(start))
    named = np.array([str(name).startswith(node) for name in table.column("node")], dtype=bool)
    return Quantity(float((chosen & named).sum()))


@measure
def job_time(view: View, stat: str = "mean") -> Quantity:
    """A statistic of the completion times of the jobs; infinite when one did not end."""
    times = view.result.jobs.column("jct_ps").astype(float)
    if not len(times):
        raise ValueError("the run has no jobs")
    return Quantity(math.inf if np.isnan(times).any() else _statistic(times / 1e12, stat), "time")


@measure
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


@measure
def queue_below(view: View, port: str, level: str, start: str, end: str = "") -> Quantity:
    """The time from an instant until the queue of a port is below a length again, after it was longer.

    Zero when it never is longer, infinite when it stays so.
    """
    series = view.port(port)
    cut = view.span(series.time_ps, start, end)
    time, values = series.time_ps[cut], series.queue_bytes[cut]
    above = np.flatnonzero(values >= quantity(level).value)
    if not len(above):
        return Quantity(0.0, "time")
    below = np.flatnonzero(values[above[0] :] < quantity(level).value)
    took = math.inf if not len(below) else float(time[above[0] + below[0]] - view.instant(start)) / 1e12
    return Quantity(took, "time")
