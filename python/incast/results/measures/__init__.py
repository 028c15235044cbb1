"""Everything that can be asked of a run, by name.

Each measure takes one value out of the tables of a run. Instants are written as :meth:`View.instant` reads
them, ports like ``s0->h15``, flows like ``long`` or ``short.3``.
"""

from __future__ import annotations

from typing import Any

from incast.results.measures import named
from incast.results.measures.call import MEASURES, Call, Known
from incast.results.measures.flows import (
    allowance,
    fair_after,
    goodput,
    goodput_in_steps,
    internal,
    internal_series,
    internal_share,
    jain,
    largest_step,
    mean_share,
    r_squared,
    reaches,
    round_trips,
    rtt,
    rtt_below,
    rtt_last_above,
    share_of_line,
    straightness,
    wire_rate,
)
from incast.results.measures.groups import (
    cct,
    cct_bound,
    cct_increase,
    completion,
    completion_times,
    cost_in_packets,
    flows,
    job_time,
    last_over_bound,
    resent,
    slowdown,
)
from incast.results.measures.ports import (
    buffer,
    buffer_samples,
    congestion,
    congestion_series,
    direction_changes,
    lost_packets,
    lost_time,
    lowest_utilisation,
    nonempty,
    pauses,
    peak_queue,
    peak_queues,
    queue,
    queue_below,
    recovery,
    regained,
    settling,
    steps_of_use,
    unused,
    utilisation,
)
from incast.results.measures.quantity import Quantity
from incast.results.measures.view import View
from incast.results.measures.windows import carried, fairness, fairness_over_time, share, window_bytes
from incast.results.result import Result

__all__ = [
    "MEASURES",
    "Call",
    "Known",
    "View",
    "allowance",
    "buffer",
    "buffer_samples",
    "carried",
    "cct",
    "cct_bound",
    "cct_increase",
    "completion",
    "completion_times",
    "congestion",
    "congestion_series",
    "cost_in_packets",
    "direction_changes",
    "fair_after",
    "fairness",
    "fairness_over_time",
    "flows",
    "goodput",
    "goodput_in_steps",
    "internal",
    "internal_series",
    "internal_share",
    "jain",
    "job_time",
    "largest_step",
    "last_over_bound",
    "lost_packets",
    "lost_time",
    "lowest_utilisation",
    "mean_share",
    "measure",
    "measures",
    "nonempty",
    "pauses",
    "peak_queue",
    "peak_queues",
    "queue",
    "queue_below",
    "r_squared",
    "reaches",
    "recovery",
    "regained",
    "resent",
    "round_trips",
    "rtt",
    "rtt_below",
    "rtt_last_above",
    "settling",
    "share",
    "share_of_line",
    "slowdown",
    "steps_of_use",
    "straightness",
    "unused",
    "utilisation",
    "window_bytes",
    "wire_rate",
]


def measure(result: Result, what: str, *arguments: Any, **named_arguments: Any) -> Quantity:  # noqa: ANN401  # of any measure
    """Computes a number of a run.

    Args:
        result: The run.
        what: The name of a measure, ``"fairness"``; or a whole call as on the command line,
            ``"fairness(long, start=1ms, end=5ms)"`` or ``"p99.small"``.
        arguments: The first arguments of the measure, as texts or lists of texts.
        named_arguments: Others, by name.

    Raises:
        ValueError: When there is no such measure, it takes other arguments, or the run does not have it.
    """
    if arguments or named_arguments or what in MEASURES:
        return Call.made(what, arguments, named_arguments).of(result)
    return Call.read(what).of(result)


def measures() -> list[Known | named.Measure]:
    """Returns everything that can be measured.

    First come the numbers that every run has, which need no arguments; then the measures that are computed
    from tables, with their ``signature``.
    """
    return [*named.NAMED.values(), *MEASURES.values()]
