"""Measures of ports and switches: queues, use of links, drops, pauses.

Ports are written like ``s0->h15``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from incast.results.arrays import Floats, Ints, np
from incast.results.measures.call import Dimension, declare
from incast.results.measures.quantity import Quantity, picoseconds, quantity
from incast.results.measures.view import View, statistic
from incast.results.result import samples_between


@declare("bytes", better="lower")
def queue(view: View, port: str, stat: str = "mean", start: str = "", end: str = "") -> Quantity:
    """The queue of a port, as sampled; or the queues of ``all`` sampled ports, every sample of each."""
    if port == "all":
        values, counts = _all_queues(view, start, end)
        return Quantity(statistic(values, stat, counts), "bytes")
    series = view.port(port)
    cut = view.span(series.time_ps, start, end)
    return Quantity(statistic(series.queue_bytes[cut].astype(float), stat), "bytes")


def _all_queues(view: View, start: str, end: str) -> tuple[Floats, Ints]:
    """The queues of all sampled ports by the rows of their samples, and how many samples each row covers."""
    first = view.instant(start) if start else 0
    last = view.instant(end) if end else int(np.iinfo(np.int64).max)
    values, counts = [], []
    for rows in view.port_rows.values():
        time, samples = rows["time_ps"].astype(np.int64), rows["samples"].astype(np.int64)
        covered = samples_between(time, samples, first, last)
        values.append(rows["queue_bytes"][covered > 0].astype(float))
        counts.append(covered[covered > 0])
    if not sum(map(len, counts)):
        raise ValueError(f"no port is sampled from {start or 'the start'} to {end or 'the end'}")
    return np.concatenate(values), np.concatenate(counts)


@declare("bytes", better="lower")
def peak_queues(view: View, stat: str = "max", ports: str = "switches") -> Quantity:
    """A statistic over ports of the longest queue of each in the whole run, exactly.

    It needs no samples.

    Args:
        view: The run.
        stat: The statistic.
        ports: ``switches``, ``hosts``, or the beginning of the names of nodes, like ``leaf``.
    """
    table = view.result.ports
    if ports in ("switches", "hosts"):
        hosts = view.result.info.get("hosts")
        if hosts is None:
            raise ValueError(f"the run {view.name!r} does not say which of its nodes are hosts")
        chosen = (table.column("node_id") < hosts) == (ports == "hosts")
    else:
        chosen = np.array([str(name).startswith(ports) for name in table.column("node")], dtype=bool)
    peaks = table.column("peak_queue_bytes")[chosen].astype(float)
    if not len(peaks):
        raise ValueError(f"there is no port of {ports!r} in the run {view.name!r}")
    return Quantity(statistic(peaks, stat), "bytes")


@declare("time", better="lower")
def settling(view: View, port: str, start: str = "", end: str = "") -> Quantity:
    """The time from an instant until the queue of a port stays within 10 % or 10 KB of its steady value.

    The steady value is the mean over the last quarter of the span. Infinite when it does not settle before
    that.
    """
    first = view.instant(start) if start else 0
    found = view.result.response(port, None, first, view.instant(end) if end else None).settling_ps
    return Quantity(math.inf if found is None else found / 1e12, "time")


@declare("count")
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


@declare("bytes", better="lower")
def peak_queue(view: View, port: str) -> Quantity:
    """The longest queue of a port in the whole run, exactly."""
    return Quantity(float(view.peak_queue_bytes(port)), "bytes")


@declare()
def nonempty(view: View, port: str, start: str = "", end: str = "") -> Quantity:
    """The share of samples at which a port has a queue."""
    series = view.port(port)
    cut = view.span(series.time_ps, start, end)
    return Quantity(float(np.mean(series.queue_bytes[cut] > 0)))


@declare("time", better="lower")
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


@declare(better="higher")
def utilisation(view: View, port: str, start: str = "", end: str = "") -> Quantity:
    """The share of a port's link that is used."""
    time, sent, rate = _cumulative_bytes(view, port)
    cut = view.span(time, start, end)
    time, sent = time[cut], sent[cut]
    return Quantity(float((sent[-1] - sent[0]) * 8 / ((time[-1] - time[0]) / 1e12 * rate)))


BUSIEST = "busiest"
"""Text for the port of a switch that is used most in the whole run."""


@declare(better="lower")
def unused(view: View, port: str = BUSIEST, start: str = "", end: str = "") -> Quantity:
    """The share of a port's link that stayed idle while some flow of the run was open.

    The link could have carried its rate times the time for which a flow was open; pauses between flows do not
    count. Without an interval the totals of the port decide, exactly; with one its samples do.

    Args:
        view: The run.
        port: The port, or ``busiest``: the one of a switch whose link is used most in the whole run.
        start: Where the interval begins.
        end: Where it ends.
    """
    node, number = _busiest(view) if port == BUSIEST else view.result.find_port(port)
    ports = view.result.ports
    here = np.flatnonzero((ports.column("node") == node) & (ports.column("port") == number))
    if not len(here):
        raise ValueError(f"there is no port {port!r} in the run {view.name!r}")
    rate = int(ports.column("rate_bps")[here[0]])
    last = int(view.result.info["outcome"]["now_ps"])
    if start or end:
        time, total, _ = _cumulative_bytes(view, f"{node}:{number}")
        cut = view.span(time, start, end)
        first, last = int(time[cut][0]), int(time[cut][-1])
        sent = float(total[cut][-1] - total[cut][0])
    else:
        first, sent = 0, float(ports.column("transmitted_bytes")[here[0]])
    wanted = _open_time(view, first, last)
    if not wanted:
        raise ValueError(f"no flow is open from {start or 'the start'} to {end or 'the end'}")
    return Quantity(1 - sent * 8 / (wanted / 1e12 * rate))


def _busiest(view: View) -> tuple[str, int]:
    """The port of a switch with the largest share of its link used in the whole run."""
    ports, hosts = view.result.ports, view.result.info.get("hosts")
    if hosts is None:
        raise ValueError(f"the run {view.name!r} does not say which of its nodes are hosts")
    rates = ports.column("rate_bps").astype(float)
    used = np.where(ports.column("node_id") >= hosts, ports.column("transmitted_bytes") / rates, -1.0)
    if not len(used) or used.max() <= 0:
        raise ValueError(f"no switch of the run {view.name!r} sent anything")
    row = int(np.argmax(used))
    return str(ports.column("node")[row]), int(ports.column("port")[row])


def _open_time(view: View, first: int, last: int) -> int:
    """The time from one instant to another, in picoseconds, for which some flow is open."""
    flows = view.result.flows
    ends = flows.column("finish_ps").astype(float)
    spans = sorted(
        (max(int(begin), first), last if np.isnan(end) else min(int(end), last))
        for begin, end, started in zip(flows.column("start_ps"), ends, flows.column("started"), strict=True)
        if started
    )
    total, until = 0, first
    for begin, end in spans:
        total += max(end - max(begin, until), 0)
        until = max(until, end)
    return total


@declare(better="higher")
def lowest_utilisation(view: View, port: str, step: str, start: str = "", end: str = "") -> Quantity:
    """The smallest share of a port's link used in any step of a given length."""
    return Quantity(float(steps_of_use(view, port, start, end, step)[1].min()))


@declare("time", better="lower")
def lost_time(view: View, port: str, start: str, end: str) -> Quantity:
    """The time for which a port's link might as well have stood still: what it did not carry, at its rate."""
    time, sent, rate = _cumulative_bytes(view, port)
    cut = view.span(time, start, end)
    time, sent = time[cut], sent[cut]
    return Quantity(float((time[-1] - time[0]) / 1e12 - (sent[-1] - sent[0]) * 8 / rate), "time")


@declare("time", better="lower")
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


@declare("time", better="lower")
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


@declare()
def congestion(
    view: View, port: str, flow: str, stat: str = "mean", start: str = "", end: str = ""
) -> Quantity:
    """HPCC's utilisation of a port from its samples: queue over BDP, plus the share of the link used."""
    return Quantity(statistic(congestion_series(view, port, flow, start, end)[1], stat))


def congestion_series(view: View, port: str, flow: str, start: str, end: str) -> tuple[Ints, Floats]:
    """Times, and HPCC's utilisation of a port at each."""
    series = view.port(port)
    cut = view.span(series.time_ps, start, end)
    bdp = float(series.rate_bps) * view.base_rtt_ps(flow) / 8e12
    return series.time_ps[cut], series.queue_bytes[cut] / bdp + series.utilisation[cut]


@declare("bytes", better="lower")
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
    return Quantity(statistic(values, stat), "bytes", samples)


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


def _lost(arguments: Mapping[str, Any]) -> Dimension:
    return "count" if arguments.get("per") == "number" else "number"


@declare(_lost, better="lower")
def lost_packets(view: View, per: str = "sent") -> Quantity:
    """Packets that switches dropped: as a share of the data packets ``sent`` (again), or their ``number``."""
    dropped = float(view.result.ports.column("dropped_packets").sum())
    if per == "number":
        return Quantity(dropped)
    if per != "sent":
        raise ValueError(f"{per!r} is neither sent nor number")
    return Quantity(dropped / float(view.result.flows.column("packets").sum()))


@declare("count", better="lower")
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
