"""Measures of whole traffic blocks and of jobs, after their end."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from incast.results import censored as censoring
from incast.results.arrays import Floats, np
from incast.results.measures.call import Dimension, declare
from incast.results.measures.quantity import Quantity, quantity
from incast.results.measures.view import View, statistic


def _slowdown_or_time(arguments: Mapping[str, Any]) -> Dimension:
    return "time" if arguments.get("of") == "fct" else "number"


@declare(_slowdown_or_time, better="lower", ranked=True)
def slowdown(
    view: View,
    stat: str,
    above: str = "0B",
    up_to: str = "",
    group: str | list[str] = "",
    of: str = "slowdown",
    censored: bool = False,
) -> Quantity:
    """A statistic of the slowdown (or of ``fct``, the completion time) of the flows of a class of sizes.

    A percentile comes with the number of flows. ``group`` is a traffic block, or a list of them; by default
    all count. With ``censored`` flows that did not finish count with the least value that they can have, and
    the statistic is a lower bound where these decide it.
    """
    largest = quantity(up_to).value if up_to else math.inf
    groups = [group] if isinstance(group, str) else group
    chosen = [one for one in groups if one]
    values, bound = censoring.bounds(view.result, quantity(above).value, largest, chosen, of)
    if not censored:
        values = values[~bound]
    if not len(values):
        raise ValueError("there is no flow of this class" if censored else "no flow of this class finished")
    samples = len(values) if stat.startswith("p") else None
    found, at_least = statistic(values, stat), False
    if censored:
        found, at_least = censoring.statistic(values, bound, stat)
    if of == "fct":
        return Quantity(found / 1e12, "time", samples, at_least)
    return Quantity(found, "number", samples, at_least)


@declare("count")
def flows(view: View, above: str = "0B", up_to: str = "", finished: bool = True) -> Quantity:
    """Number of flows of a class of sizes that finished, or did not."""
    table = view.result.flows
    sizes, done = table.column("size_bytes").astype(float), ~np.isnan(table.column("slowdown"))
    chosen = (done == finished) & table.column("counted") & (sizes > quantity(above).value)
    if up_to:
        chosen &= sizes <= quantity(up_to).value
    return Quantity(float(chosen.sum()))


@declare("time", better="lower")
def cct(view: View, group: str) -> Quantity:
    """The collective completion time of a traffic block: the largest completion time of its flows.

    Infinite when one of them did not finish.
    """
    return Quantity(float(np.max(_completion_s(view, group))), "time")


@declare("time")
def cct_bound(view: View, group: str) -> Quantity:
    """A lower bound of the collective completion time of a traffic block without queues in the network.

    For each host: what its flows need alone, one after the other on its link, and one base RTT. A host's
    flows are those that it sends, and those that it receives. The bound is the largest of these.
    """
    rows, table = view.rows(group), view.result.flows
    rtt = table.column("base_rtt_ps")[rows].astype(float)
    busy = censoring.ideal_times(view.result)[rows] - rtt
    if np.isnan(busy).any():
        raise ValueError(
            f"there is no bound of the flows of {group!r} in the run {view.name!r}: some have not started, "
            "or have no size"
        )
    found = 0.0
    for end in ("source", "destination"):
        hosts = table.column(end)[rows]
        for host in np.unique(hosts):
            own = hosts == host
            found = max(found, float(np.max(rtt[own]) + np.sum(busy[own])))
    return Quantity(found / 1e12, "time")


@declare(better="lower")
def cct_increase(view: View, group: str) -> Quantity:
    """By how much the collective completion time of a traffic block exceeds its lower bound: 0.5 for half."""
    time = cct(view, group).value
    return Quantity(time / cct_bound(view, group).value - 1 if math.isfinite(time) else time)


@declare(better="lower")
def last_over_bound(view: View, group: str) -> Quantity:
    """The collective completion time of a traffic block over its lower bound (:func:`cct_bound`).

    While flows are unfinished it is a lower bound: the time of each since its start, over that bound.
    """
    bound = cct_bound(view, group).value
    rows = view.rows(group)
    finished = view.result.flows.column("finished")[rows]
    lives = np.array([view.life_ps(int(row)) for row in rows])
    times = np.where(finished, _completion_s(view, group), (lives[:, 1] - lives[:, 0]) / 1e12)
    return Quantity(float(np.max(times)) / bound, at_least=not finished.all())


@declare(better="lower")
def cost_in_packets(view: View, group: list[str]) -> Quantity:
    """Packets sent for each packet of data of some traffic blocks: 1, and what was sent again."""
    rows = np.concatenate([view.rows(one) for one in group])
    sent = float(view.result.flows.column("packets")[rows].sum())
    again = float(view.result.flows.column("resent_packets")[rows].sum())
    if sent == again:
        raise ValueError(f"the flows of {', '.join(group)} sent nothing")
    return Quantity(1 + again / (sent - again))


@declare("time", better="lower")
def completion(view: View, group: str, stat: str) -> Quantity:
    """A statistic of the completion times of a traffic block's flows, infinite for unfinished ones."""
    return Quantity(statistic(_completion_s(view, group), stat), "time")


def _completion_s(view: View, group: str) -> Floats:
    """The completion times of the flows of a traffic block in seconds, infinite for unfinished ones."""
    rows, table = view.rows(group), view.result.flows
    times = table.column("fct_ps")[rows].astype(float) / 1e12
    return np.where(table.column("finished")[rows], times, math.inf)


def completion_times(view: View, group: str) -> Floats:
    """The completion times of the flows of a traffic block that finished, in seconds."""
    times = _completion_s(view, group)
    return times[np.isfinite(times)]


@declare("count", better="lower")
def resent(view: View, group: str) -> Quantity:
    """Number of packets that the flows of a traffic block sent again."""
    return Quantity(float(np.sum(view.result.flows.column("resent_packets")[view.rows(group)])))


@declare("time", better="lower")
def job_time(view: View, stat: str = "mean") -> Quantity:
    """A statistic of the completion times of the jobs; infinite when one did not end."""
    times = view.result.jobs.column("jct_ps").astype(float)
    if not len(times):
        raise ValueError("the run has no jobs")
    return Quantity(math.inf if np.isnan(times).any() else statistic(times / 1e12, stat), "time")
