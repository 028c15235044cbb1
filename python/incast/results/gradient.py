"""The delay gradient that a flow could measure, from its sampled round-trip times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incast.results.arrays import Floats, Ints
from incast.results.result import FlowSeries, Result
from incast.units import Time


@dataclass(frozen=True)
class Gradient:
    """The slope of a flow's round-trip time over the send time of its packets, at acknowledgements.

    Attributes:
        time_ps: When the acknowledgement arrived, in picoseconds.
        sent_ps: When its packet was sent, in picoseconds.
        rtt_ps: Its round-trip time, in picoseconds.
        gradient: The slope there, without unit. At a bottleneck with a queue it is the arrival rate over the
            link's rate, less 1. NaN where there are too few round-trip times.
    """

    time_ps: Ints
    sent_ps: Ints
    rtt_ps: Ints
    gradient: Floats


def gradient_of(result: Result, flow: int | str, window: str | Time = "1us") -> Gradient:
    """The delay gradient of a flow by sliding-window least squares.

    At each acknowledgement it is the slope of the least-squares line through the round-trip times of the
    packets sent within ``window`` up to its own (OSCAR, NSDI 2026, Figure 3).

    The round-trip times are those that the flow's samples hold, so ``probe.flow_interval`` has to be at most
    the time between two acknowledgements, like ``"20ns"``: of several in one interval only the last is seen.
    Send times are known to half an interval.

    Args:
        result: A result with samples of the flow (``probe.flows``).
        flow: The flow as for :meth:`Result.flow`.
        window: Send time that a line covers, like ``"1us"``.

    Raises:
        KeyError: When the flow has no samples.
        ValueError: When the window is no time above zero, or shorter than two intervals of samples.
    """
    span = int(Time(window))
    if span == 0:
        raise ValueError("a window is a time above zero")
    series = result.flow(flow).filled()
    apart = Time(_interval(series))
    if 2 * apart > span:
        raise ValueError(
            f"the samples of {flow!r} are {apart} apart, too far for a window of {Time(span)}: "
            f"set probe.flow_interval to {Time(span // 2)} or less, or take a longer window"
        )
    time, sent, rtt = _round_trips(series)
    order = np.argsort(sent, kind="stable")
    time, sent, rtt = time[order], sent[order], rtt[order]
    first = np.searchsorted(sent, sent - span, side="right")
    slopes = [_slope(sent[i : n + 1], rtt[i : n + 1]) for n, i in enumerate(first)]
    return Gradient(time, sent, rtt, np.array(slopes, dtype=np.float64))


def timely_gradient_of(
    result: Result, flow: int | str, base_rtt: str | Time, packets: int = 64, weight: float = 0.875
) -> Gradient:
    """The delay gradient of a flow as TIMELY computes it (SIGCOMM 2015, Algorithm 1).

    After each ``packets`` acknowledgements the difference of the round-trip time from the last update's
    enters a moving average, which is divided by the base RTT. The notes on samples at :func:`gradient_of`
    hold here too.

    Args:
        result: A result with samples of the flow (``probe.flows``).
        flow: The flow as for :meth:`Result.flow`.
        base_rtt: What differences are divided by (D_minRTT), like ``"12us"``.
        packets: Acknowledgements from one update to the next.
        weight: Weight of a new difference in the average.

    Returns:
        A row for each update.

    Raises:
        KeyError: When the flow has no samples.
        ValueError: When the base RTT is no time above zero, ``packets`` is no number above zero, or the
            weight is not within 0 and 1.
    """
    base = int(Time(base_rtt))
    if base == 0:
        raise ValueError("a base RTT is above zero")
    if packets < 1:
        raise ValueError("an update takes a packet at least")
    if not 0 <= weight <= 1:
        raise ValueError("a weight is from 0 to 1")
    time, sent, rtt = (column[packets - 1 :: packets] for column in _round_trips(result.flow(flow).filled()))
    gradient = np.full(len(rtt), np.nan)
    average = 0.0
    for n in range(1, len(rtt)):
        average += weight * (float(rtt[n] - rtt[n - 1]) - average)
        gradient[n] = average / base
    return Gradient(time, sent, rtt, gradient)


def _interval(series: FlowSeries) -> int:
    """The time between two samples."""
    return int(series.time_ps[1] - series.time_ps[0]) if len(series.time_ps) > 1 else 0


def _round_trips(
    series: FlowSeries,
) -> tuple[Ints, Ints, Ints]:
    """Returns arrival times of acknowledgements of new data, send times, and the differences."""
    news = np.flatnonzero(np.diff(series.acked_bytes)) + 1
    news = news[~np.isnan(series.rtt_ps[news])]
    # It arrived since the sample before.
    time = series.time_ps[news] - _interval(series) // 2
    rtt = series.rtt_ps[news].astype(np.int64)
    return time, time - rtt, rtt


def _slope(x: Ints, y: Ints) -> float:
    # Relative to the first, in which picoseconds are exact.
    dx, dy = (x - x[0]).astype(np.float64), (y - y[0]).astype(np.float64)
    dx -= dx.mean()
    square = float(dx @ dx)
    return float(dx @ dy) / square if square > 0 else float("nan")
