"""Quantities over time: queues, throughput, windows, rates, fairness, and pairs of them in their movement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from incast.plot import style
from incast.plot.place import labelled, legend, place, ports
from incast.results.result import FlowSeries, PortSeries, Result
from incast.results.stats import jain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Results = Mapping[str, Result] | Result
"""A result, or several by the label of their algorithm (``"oscar"``, ``"swift:oscar"``)."""


Port = str | tuple[str, int]
"""A port: ``"s0:15"``, ``"s0->h15"``, ``"to h15"``, or name of the node and number of the port."""

Flows = Sequence[int | str] | str | int
"""Flows: numbers, or names like ``"burst"`` (a traffic block) and ``"burst.3"`` (its fourth flow)."""


def queue(results: Results, port: Port | None = None, axes: Axes | None = None) -> Axes:
    """Draws the queue of a port, one line for each algorithm.

    Args:
        results: What to draw.
        port: The port, like ``"s0:15"`` or ``"s0->h15"``, or name of the node and number of the port; by
            default the one with the longest queue.
        axes: Where to draw; by default in a new picture of one column's width.

    Raises:
        KeyError: When a result has no samples of the port.
    """
    with style.look():
        axes = place(axes)
        series = {label: result.port(*at) for label, result, at in ports(results, port)}
        for label, one in series.items():
            axes.plot(one.time_ps / 1e6, one.queue_bytes / 1e3, **style.line(label, list(series)))
        axes.set(xlabel="time (µs)", ylabel="queue (KB)")
        axes.margins(x=0)
        axes.set_ylim(bottom=0)
        legend(axes, len(series))
    return axes


def throughput(
    results: Results,
    port: Port | None = None,
    axes: Axes | None = None,
    every: int | None = None,
) -> Axes:
    """Draws what leaves a port, in Gbit/s, one line for each algorithm.

    Args:
        results: What to draw.
        port: As for :func:`queue`.
        axes: As for :func:`queue`.
        every: Samples to one step of the line; by default enough to hide single packets.

    Raises:
        KeyError: When a result has no samples of the port.
    """
    with style.look():
        axes = place(axes)
        series = {label: result.port(*at) for label, result, at in ports(results, port)}
        highest = 0.0
        for label, one in series.items():
            edges, rate = throughput_steps(one, every)
            axes.stairs(rate, edges / 1e6, baseline=None, **style.patch(label, list(series)))
            highest = max(highest, one.rate_bps / 1e9)
        axes.set(xlabel="time (µs)", ylabel="throughput (Gbit/s)")
        axes.margins(x=0)
        axes.set_ylim(0, 1.05 * highest)
        legend(axes, len(series), loc="lower right")
    return axes


def throughput_steps(
    series: PortSeries, every: int | None = None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Returns the throughput of a port over every ``every`` samples.

    Args:
        series: The samples.
        every: Samples to one step; by default as many as some 50 packets of 1100 B take.

    Returns:
        The times between which each step lies, in ps, and the rate in each, in Gbit/s.
    """
    time, interval = series.time_ps, series.interval_ps
    if not interval:
        return np.array([0, 1]), np.zeros(1)
    each = every or max(1, round(50 * 1100 * 8e12 / series.rate_bps / interval))
    sent = np.concatenate([[0.0], np.cumsum(series.utilisation[1:] * np.diff(time))])
    edges = np.arange(time[0], time[-1] + 1, min(each * interval, time[-1] - time[0]))
    rate = np.diff(np.interp(edges, time, sent)) / np.diff(edges) * series.rate_bps / 1e9
    return edges, rate


def window(results: Results, flows: Flows | None = None, axes: Axes | None = None) -> Axes:
    """Draws the windows of flows in KB, one line for each; flows of one algorithm share its colour.

    Args:
        results: What to draw.
        flows: Their numbers, or names like ``"burst"`` (all flows of a traffic block) and ``"burst.3"`` (its
            fourth flow to start); by default all that have samples.
        axes: As for :func:`queue`.

    Raises:
        KeyError: When a result has no samples of one of the flows.
    """
    axes = _flows(results, flows, axes, lambda one: one.window_bytes / 1e3)
    axes.set_ylabel("window (KB)")
    return axes


def rate(results: Results, flows: Flows | None = None, axes: Axes | None = None) -> Axes:
    """Draws the rates that flows may send at, in Gbit/s; all else is as in :func:`window`."""
    axes = _flows(results, flows, axes, lambda one: one.rate_bps / 1e9)
    axes.set_ylabel("rate (Gbit/s)")
    return axes


def goodput(results: Results, flows: Flows | None = None, axes: Axes | None = None, every: int = 20) -> Axes:
    """Draws the payload that flows get acknowledged, in Gbit/s; all else is as in :func:`window`.

    Args:
        results: As for :func:`window`.
        flows: As for :func:`window`.
        axes: As for :func:`window`.
        every: Samples over which a goodput is taken: over fewer, single packets show.
    """
    axes = _flows(results, flows, axes, lambda one: moving_goodput(one, every), filled=True)
    axes.set_ylabel("goodput (Gbit/s)")
    return axes


def moving_goodput(series: FlowSeries, every: int) -> npt.NDArray[np.float64]:
    """Returns the goodput of a flow over ``every`` rows before each, in Gbit/s; NaN for the first of them."""
    rate = np.full(len(series.time_ps), np.nan)
    took = series.time_ps[every:] - series.time_ps[:-every]
    rate[every:] = (series.acked_bytes[every:] - series.acked_bytes[:-every]) * 8e3 / took
    return rate


def fairness(results: Results, axes: Axes | None = None, every: int = 10) -> Axes:
    """Draws Jain's index of the goodputs of the flows that have samples at a time.

    Args:
        results: What to draw.
        axes: As for :func:`queue`.
        every: Samples over which a goodput is taken; the axis names their time. Over less than some round
            trips with their queue, bursts of packets show, and every algorithm looks unfair.

    Raises:
        KeyError: When a result has no samples of flows.
    """
    with style.look():
        axes = place(axes)
        known = labelled(results)
        steps = set()
        for label, result in known.items():
            time, index = fairness_over_time(result, every)
            steps.add(every * int(np.diff(result.flow(_probed(result)[0]).filled().time_ps[:2]).sum()))
            axes.plot(time / 1e6, index, **style.line(label, list(known)))
        over = f"\nof goodputs over {steps.pop() / 1e6:,g} µs" if len(steps) == 1 else ""
        axes.set(xlabel="time (µs)", ylabel=f"Jain's fairness index{over}")
        axes.margins(x=0)
        axes.set_ylim(0, 1.03)
        legend(axes, len(known), loc="lower right")
    return axes


def fairness_over_time(
    result: Result, every: int = 10
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Jain's index of goodputs at each sampled time.

    Args:
        result: With samples of flows.
        every: Samples over which a goodput is taken.

    Returns:
        Times in ps, and the index of the flows that have goodputs then; times without any are left out.

    Raises:
        KeyError: When the result has no samples of flows.
    """
    shares: dict[int, list[float]] = {}
    for number in _probed(result):
        one = result.flow(number).filled()
        full = moving_goodput(one, every)[every:]
        for at, share in zip(one.time_ps[every:].tolist(), full.tolist(), strict=True):
            shares.setdefault(at, []).append(share)
    times = sorted(at for at, each in shares.items() if any(each))
    return np.array(times, dtype=np.int64), np.array([jain(shares[at]) for at in times])


def phase_plane(
    results: Results,
    port: Port | None = None,
    against: str = "growth",
    axes: Axes | None = None,
) -> Axes:
    """Draws how the state moves: the queue against its growth, or against the sum of the windows.

    A dot marks where a line begins, a cross where it ends.

    Args:
        results: What to draw.
        port: As for :func:`queue`.
        against: ``"growth"`` in Gbit/s, or ``"window"``: the windows of all flows with samples, in KB.
        axes: As for :func:`queue`.

    Raises:
        ValueError: When ``against`` is neither.
        KeyError: When a result has no samples of the port, or none of flows where they are needed.
    """
    if against not in ("growth", "window"):
        raise ValueError(f'against must be "growth" or "window", not {against!r}')
    with style.look():
        axes = place(axes, square=True)
        chosen = ports(results, port)
        labels = [label for label, _, _ in chosen]
        for label, result, at in chosen:
            one = result.port(*at).filled()
            x, y = (one.queue_bytes, growth(one)) if against == "growth" else _by_window(result, one)
            look = style.line(label, labels)
            axes.plot(x / 1e3, y, linewidth=0.7, **{k: v for k, v in look.items() if k != "linewidth"})
            if len(x):
                axes.plot(x[0] / 1e3, y[0], marker="o", markersize=3, color=look["color"])
                axes.plot(x[-1] / 1e3, y[-1], marker="x", markersize=4, color=look["color"])
        growing = against == "growth"
        axes.set(xlabel="queue (KB)", ylabel="growth of the queue (Gbit/s)" if growing else "windows (KB)")
        legend(axes, len(labels))
    return axes


def growth(series: PortSeries) -> npt.NDArray[np.float64]:
    """Returns the growth of a queue at each row, in Gbit/s: central differences, one-sided at the ends."""
    if len(series.time_ps) < 2:
        return np.zeros(len(series.time_ps))
    slope: npt.NDArray[np.float64] = np.gradient(series.queue_bytes.astype(float), series.time_ps) * 8e3
    return slope


def _by_window(result: Result, port: PortSeries) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Queue in bytes, and the sum of windows in KB at the same times, from the first sample of a flow on.

    Where a flow has no window, there is no sum.
    """
    total = np.zeros(len(port.time_ps))
    known = np.zeros(len(port.time_ps), dtype=bool)
    for number in _probed(result):
        one = result.flow(number)
        inside = (port.time_ps >= one.time_ps[0]) & (port.time_ps <= one.time_ps[-1])
        last = np.searchsorted(one.time_ps, port.time_ps[inside], side="right") - 1
        total[inside] += one.window_bytes[last]
        known |= inside
    return port.queue_bytes[known], total[known] / 1e3


def _flows(
    results: Results,
    flows: Flows | None,
    axes: Axes | None,
    values: _Values,
    filled: bool = False,
) -> Axes:
    with style.look():
        axes = place(axes)
        known = labelled(results)
        for label, result in known.items():
            numbers = _chosen(result, flows)
            look = style.line(label, list(known))
            shades = style.shades(look["color"], len(numbers))
            for number, shade in zip(numbers, shades, strict=True):
                one = result.flow(number).filled() if filled else result.flow(number)
                name = look["label"] if len(known) > 1 else f"{one.group}, flow {number}"
                first = number == numbers[0] or len(known) == 1
                drawn = {**look, "color": shade, "label": name if first else None}
                points = values(one)
                if not np.isfinite(points).any():
                    # A transport without a window or a rate has no points to mark.
                    drawn["markevery"] = None
                axes.plot(one.time_ps / 1e6, points, **drawn)
        axes.set_xlabel("time (µs)")
        axes.margins(x=0)
        axes.set_ylim(bottom=0)
        drawn_lines = len(known) if len(known) > 1 else len(axes.lines)
        if drawn_lines <= MOST_NAMES:
            legend(axes, drawn_lines)
    return axes


if TYPE_CHECKING:
    from collections.abc import Callable

    _Values = Callable[[FlowSeries], npt.NDArray[np.float64]]

MOST_NAMES = 10
"""More lines than this have no legend: it would cover them."""


def _chosen(result: Result, flows: Flows | None) -> list[int]:
    if flows is None:
        return _probed(result)
    named = [flows] if isinstance(flows, (str, int)) else flows
    return list(dict.fromkeys(number for one in named for number in result.find_flows(one)))


def _probed(result: Result) -> list[int]:
    numbers = result.probed_flows()
    if not numbers:
        raise KeyError('no flow has samples; name some in the scenario: [probe] flows = ["all"]')
    return numbers
