"""Workloads with dependencies: what hosts do over time, and when jobs are done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from incast.plot import style
from incast.plot.place import labelled, legend, place
from incast.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_HOSTS = 40
"""Most rows of a timeline."""

COLOURS = {"send": "#0072b2", "receive": "#e69f00", "compute": "#1a1a1a"}
"""Colours of operations, told apart with every common form of colour blindness.

Colours of operations, in the order of the lanes of a host, from the top.
"""

_LANE = 0.26
"""Height of an operation's bar; the rows of two hosts are 1 apart."""


def operations(
    result: Result,
    job: str | None = None,
    hosts: Sequence[str] | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draws the operations of a workload with dependencies over time: a row for each host.

    Each host has a lane for its sends, one for its receives and one for its computations. A bar begins and
    ends with its operation, but the bar of a receive begins no earlier than its flow: the time for which a
    host only waits is left empty. Operations that had not ended are hatched and last until the end of the
    run; those that had not started are not drawn. Bars of one lane can cover each other where a host sends or
    receives several flows at once.

    Args:
        result: A result of traffic with operations.
        job: The job, as in ``result.jobs``; by default all jobs.
        hosts: Names of the hosts to draw; by default all that have operations, in the order of the network.
        axes: Axes to draw into; by default a new picture of a page's width.

    Returns:
        The axes, with the time in microseconds.

    Raises:
        KeyError: When the result has no operations, or none of the job or of a host; when no operation has
            started.
        ValueError: When there are more than 40 hosts to draw.
    """
    import matplotlib.pyplot as plt

    names, bars = _bars(result, job, hosts)
    with style.look():
        if axes is None:
            size = (style.PAGE, 0.75 + 0.17 * max(len(names), 3))
            _, axes = plt.subplots(figsize=size, layout="constrained")
        for kind in COLOURS:
            for ended in (True, False):
                _draw(axes, bars, kind, ended)
        axes.set_xlim(0, max(bars.end_us.max(), 1e-6) * 1.005)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_yticks(range(len(names)), names)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("time (µs)")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=6, borderaxespad=0.2, handlelength=1.2)
    return axes


class _Bars:
    """The operations to draw.

    Attributes:
        kind: What each does.
        row: The row of its host.
        start_us: When it started; for a receive not before its flow.
        end_us: When it ended, or the run did.
        ended: Whether it ended.
    """

    def __init__(self, result: Result, chosen: npt.NDArray[np.bool_], row: npt.NDArray[np.int64]) -> None:
        table = result.operations
        start, end = (table.column(name)[chosen].astype(np.float64) for name in ("start_ps", "end_ps"))
        outcome = result.info.get("outcome")
        over = float(outcome["now_ps"]) if outcome else np.nanmax([*start, *end])
        self.kind = table.column("kind")[chosen]
        self.row = row
        self.start_us = np.maximum(start, _flow_starts(result, chosen)) / 1e6
        self.ended = ~np.isnan(end)
        self.end_us = np.where(self.ended, end, over) / 1e6


def _bars(result: Result, job: str | None, hosts: Sequence[str] | None) -> tuple[list[str], _Bars]:
    """Returns names of rows, and the operations in them; raises the same errors as `operations`."""
    table = result.operations
    if not len(table):
        raise KeyError(
            "the result has no operations; workloads with dependencies have them, like the kind "
            '"ring-allreduce" of [[traffic]]'
        )
    of_job, host = table.column("job"), table.column("host")
    jobs = list(dict.fromkeys(result.jobs.column("job").tolist()))
    if job is not None and job not in jobs:
        raise KeyError(f"no job is called {job!r}; jobs: {_some(jobs)}")
    chosen = np.ones(len(table), np.bool_) if job is None else of_job == job
    numbers = table.column("host_id")[chosen]
    _, first = np.unique(numbers, return_index=True)
    names = host[chosen][first].tolist()
    if hosts is not None:
        for name in hosts:
            if name not in names:
                raise KeyError(f"host {name!r} has no operations here; hosts that have: {_some(names)}")
        names = list(dict.fromkeys(hosts))
    if len(names) > MOST_HOSTS:
        what = "choose some of them"
        if job is None and len(jobs) > 1:
            what = f"choose a job, like {jobs[0]!r} (jobs: {_some(jobs)}), or some of the hosts"
        raise ValueError(f"{len(names)} hosts are too many for one picture, {MOST_HOSTS} at most: {what}")
    chosen &= np.isin(host, names) & ~np.isnan(table.column("start_ps").astype(np.float64))
    chosen &= ~np.isinf(_flow_starts(result))
    if not chosen.any():
        raise KeyError("none of these operations has started")
    place_of = {name: row for row, name in enumerate(names)}
    return names, _Bars(result, chosen, np.array([place_of[name] for name in host[chosen]], np.int64))


def _flow_starts(result: Result, chosen: npt.NDArray[np.bool_] | None = None) -> npt.NDArray[np.float64]:
    """For receives the start of the flow in picoseconds, infinite if it did not start; 0 for the others."""
    flows, table = result.flows, result.operations
    begun = flows.column("started").astype(np.bool_)
    started, start = flows.column("flow")[begun].astype(np.int64), flows.column("start_ps")[begun]
    # What has no flow has the number 0 here, and is not looked up.
    flow = np.nan_to_num(table.column("flow").astype(np.float64)).astype(np.int64)
    starts = np.full(max(flow.max(initial=0), started.max(initial=0)) + 1, np.inf)
    starts[started] = start
    found = np.where(table.column("kind") == "receive", starts[flow], 0.0)
    return found if chosen is None else found[chosen]


def _some(names: Sequence[str]) -> str:
    """The first few names."""
    more = f" and {len(names) - 6:,} more" if len(names) > 6 else ""
    return ", ".join(names[:6]) + more


def _draw(axes: Axes, bars: _Bars, kind: str, ended: bool) -> None:
    """The bars of one kind, as one collection; none where there are none."""
    from matplotlib.collections import PolyCollection

    mine = (bars.kind == kind) & (bars.ended == ended)
    if not mine.any():
        return
    lane = list(COLOURS).index(kind) - 1
    left, right, middle = bars.start_us[mine], bars.end_us[mine], bars.row[mine] + lane * _LANE
    low, high = middle - _LANE / 2, middle + _LANE / 2
    corners = np.array([[left, low], [right, low], [right, high], [left, high]]).transpose(2, 0, 1)
    made = PolyCollection(list(corners), linewidth=0.3, label=kind if ended else f"{kind}, not ended")
    made.set_facecolor(COLOURS[kind] if ended else "white")
    made.set_edgecolor("white" if ended else COLOURS[kind])
    if not ended:
        made.set_hatch("//////")
    axes.add_collection(made)


def jobs(results: Mapping[str, Result] | Result, ratio: bool = False, axes: Axes | None = None) -> Axes:
    """Draws the distribution of job completion times, one line for each algorithm.

    The shares are of all jobs, so that a line ends below 100 % when some had not ended.

    Args:
        results: A result, or several by the label of their algorithm.
        ratio: Draw completion times divided by their lower bounds (no packet waits in a queue) instead of
            times in microseconds; of the jobs that have a bound.
        axes: Axes to draw into; by default a new picture of one column's width.

    Returns:
        The axes.

    Raises:
        KeyError: When a result has no jobs, or with `ratio` none with a bound.
    """
    known = labelled(results)
    with style.look():
        values = {label: _completion(label, result, ratio) for label, result in known.items()}
        axes = place(axes)
        for label, (times, total) in values.items():
            steps = np.concatenate([times[:1], times])
            share = 100 * np.arange(len(steps)) / total
            axes.step(steps, share, where="post", **style.line(label, list(values)))
        unit = "completion time / lower bound" if ratio else "job completion time (µs)"
        axes.set(xlabel=unit, ylabel="jobs (%)")
        axes.set_ylim(0, 101)
        axes.ticklabel_format(axis="x", useOffset=False)
        legend(axes, len(values), loc="lower right")
    return axes


def _completion(label: str, result: Result, ratio: bool) -> tuple[npt.NDArray[np.float64], int]:
    """Completion times in microseconds, or ratios, in ascending order; and of how many jobs."""
    table = result.jobs
    if not len(table):
        raise KeyError(
            f"the result of {label} has no jobs; workloads with dependencies have them, like the kind "
            '"ring-allreduce" of [[traffic]]'
        )
    column = "bound_ratio" if ratio else "jct_ps"
    values = table.column(column).astype(np.float64)
    total = len(values)
    if ratio:
        total = int((~np.isnan(table.column("bound_ps").astype(np.float64))).sum())
        if not total:
            why = table.column("no_bound")[0]
            raise KeyError(f"no job of {label} has a lower bound: {why}")
    done = np.sort(values[~np.isnan(values)])
    return (done if ratio else done / 1e6), total
