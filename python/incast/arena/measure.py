"""The numbers by which the arena judges a run: measures that any command can ask for, and two of its own."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from incast.arena.entries import Entry, Metric
from incast.arena.score import Observed
from incast.errors import ScenarioError
from incast.results.measures import ahead
from incast.results.measures.call import Call
from incast.results.measures.quantity import picoseconds
from incast.results.measures.view import View
from incast.results.result import Result
from incast.scenario import Scenario

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def observe(metrics: Sequence[Metric], result: Result) -> list[Observed]:
    """Returns the values of some metrics in a run.

    Args:
        metrics: The metrics.
        result: The result of the run.

    Raises:
        ValueError: When the run does not have one of them.
    """
    view = View(str(result.info["name"]), result)
    return [_value(metric, view) for metric in metrics]


def check(battery: str, entry: Entry, scenario: Scenario | None = None) -> None:
    """Refuses metrics that no run can have: measures, arguments, traffic and ports that there are not.

    Args:
        battery: The name of the battery, for the error.
        entry: The scenario with its metrics.
        scenario: The scenario as it is run, for its ports; None checks all but these.

    Raises:
        ScenarioError: When a metric cannot be computed, with the reason.
    """
    blocks = tomllib.loads(entry.file.read_text(encoding="utf-8")).get("traffic", [])
    names = {block["name"] for block in blocks if "name" in block}
    for metric in entry.metrics:
        try:
            if metric.measure in OWN:
                inspect.signature(OWN[metric.measure]).bind(None, **metric.arguments)
            else:
                Call.made(metric.measure, keyed=metric.arguments)
            ahead.refuse_missing(
                metric.arguments,
                sorted(names) if len(names) == len(blocks) else None,
                None if scenario is None else scenario.ports,
            )
        except (TypeError, ValueError) as error:
            where = f'{battery}: scenario "{entry.name}", metric "{metric.name}"'
            raise ScenarioError(f"{where}: {error}") from None


def _value(metric: Metric, view: View) -> Observed:
    own = OWN.get(metric.measure)
    found = own(view, **metric.arguments) if own else _called(metric.measure, metric.arguments, view)
    if not math.isfinite(found.value) or found.value < 0:
        raise ValueError(f"{metric.name} is {found.value}")
    return found


def _called(name: str, arguments: Mapping[str, Any], view: View) -> Observed:
    found = Call.made(name, keyed=arguments).of(view)
    return Observed(found.value, found.at_least)


def rtt_inflation(view: View, port: str, stat: str, start: str, end: str, rtt: str) -> Observed:
    """Returns 1 plus the time that a queue takes to leave a port, in base RTTs.

    Args:
        view: The run.
        port: The port.
        stat: ``mean`` or ``max`` of its samples.
        start: The first instant.
        end: The last one.
        rtt: The base RTT of the network, for packets to which no algorithm adds anything.
    """
    series = view.port(port)
    queue = _called("queue", {"port": port, "stat": stat, "start": start, "end": end}, view)
    return Observed(1 + queue.value * 8e12 / (series.rate_bps * picoseconds(rtt)))


def carried_least(view: View, parts: Sequence[Mapping[str, Any]], start: str, end: str) -> Observed:
    """Returns the least of what several ports carry.

    Args:
        view: The run.
        parts: Of each port its ``port``, and the ``flows`` that cross it.
        start: The first instant.
        end: The last one.
    """
    found = (_called("carried", {**part, "start": start, "end": end}, view) for part in parts)
    return min(found, key=lambda one: one.value)


def jobs_over_bound(view: View) -> Observed:
    """Returns the largest ratio of a job's time to its bound; of a job that did not end, its time so far.

    Args:
        view: The run.
    """
    jobs = view.result.jobs
    start, end, bound = (
        np.asarray(jobs.column(name), dtype=np.float64) for name in ("start_ps", "end_ps", "bound_ps")
    )
    unfinished = np.isnan(end)
    ratios = (np.where(unfinished, view.end_ps, end) - start) / bound
    if not len(ratios) or not np.isfinite(ratios).all():
        raise ValueError("it has no jobs with a bound")
    return Observed(float(ratios.max()), bool(unfinished.any()))


OWN: Mapping[str, Callable[..., Observed]] = {
    function.__name__: function for function in (rtt_inflation, carried_least, jobs_over_bound)
}
"""Measures of the arena alone, by name."""
