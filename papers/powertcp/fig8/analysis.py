"""Figure 8 of PowerTCP: the circuit of the pair of racks 0 and 1, and what packets wait for it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incast import stats
from incast.ledger.runs import Results
from incast.results.measures.quantity import Quantity

Floats = npt.NDArray[np.float64]

PORT = "tor0->optical"
WEEK, DAY = 5_880_000_000, 225_000_000
"""In picoseconds; the pair has the first day of each week."""
WEEKS = range(1, 6)
RATE = 100e9


def _sent(results: Results, run: str, week: int, until: int) -> tuple[Floats, Floats]:
    """Times from the begin of a day in us, and the bytes that the circuit has sent since then."""
    series = results.view(run).port(PORT)
    inside = (series.time_ps >= week * WEEK) & (series.time_ps <= week * WEEK + until)
    sent = series.transmitted_bytes[inside].astype(float)
    return (series.time_ps[inside] - week * WEEK) / 1e6, sent - sent[0]


def use(results: Results, run: str) -> float:
    """The mean over days of what the circuit carries for the pair, over what it could."""
    return float(np.mean([_sent(results, run, week, DAY)[1][-1] for week in WEEKS])) * 8 / (RATE * DAY / 1e12)


def fills(results: Results, run: str, level: float) -> Quantity:
    """The median over days of the time from daylight to the end of the first 5 us of use to a level."""
    found = []
    for week in WEEKS:
        time, sent = _sent(results, run, week, DAY)
        used = (sent[5:] - sent[:-5]) * 8 / (RATE * 5e-6)
        there = np.flatnonzero(used >= level)
        found.append(time[there[0] + 5] if len(there) else float("inf"))
    return Quantity(float(np.median(found)) / 1e6, "time")


def queue(results: Results, run: str) -> Quantity:
    """The mean queue for the circuit over days."""
    series = results.view(run).port(PORT)
    phase = series.time_ps % WEEK
    return Quantity(float(series.queue_bytes[phase < DAY].mean()), "bytes")


def _delays(results: Results, run: str) -> Floats:
    """The queueing delays of acknowledged packets of the pair at samples, in us."""
    view = results.view(run)
    found = []
    for row in view.rows("pair"):
        name = view.name_of(int(row))
        number = int(view.result.flows.column("flow")[row])
        rtt = view.result.flow(number).filled().rtt_ps
        found.append((rtt[~np.isnan(rtt)] - view.base_rtt_ps(name)) / 1e6)
    return np.maximum(np.concatenate(found), 0)


def tail_delay(results: Results, run: str, rank: float = 99) -> Quantity:
    """A percentile of the queueing delay of the pair's packets, over all weeks."""
    return Quantity(stats.percentile(_delays(results, run), rank) / 1e6, "time")


def throughput(results: Results, name: str) -> tuple[Floats, Floats]:
    """What the circuit carries in each 5 us of the second day, in Gbps, over time from its begin in us."""
    series = results.view(name).port(PORT)
    day = 2 * WEEK
    inside = (series.time_ps >= day - 60_000_000) & (series.time_ps <= day + DAY + 60_000_000)
    time, sent = series.time_ps[inside][::5], series.transmitted_bytes[inside][::5].astype(float)
    rates = np.diff(sent) * 8 / (np.diff(time) / 1e12) / 1e9
    # The night before and after: other pairs have the circuit.
    middle = (time[1:] + time[:-1]) / 2 - day
    rates[(middle < 0) | (middle > DAY)] = np.nan
    return np.repeat((time - day) / 1e6, 2)[1:-1], np.repeat(rates, 2)


def queue_points(results: Results, name: str) -> tuple[Floats, Floats]:
    """The queue for the circuit in the second day, in KB, over time from its begin in us."""
    series = results.view(name).port(PORT)
    day = 2 * WEEK
    inside = (series.time_ps >= day) & (series.time_ps <= day + DAY)
    return (series.time_ps[inside] - day) / 1e6, series.queue_bytes[inside] / 1e3


def distribution(results: Results, name: str) -> tuple[Floats, Floats]:
    """Queueing delays in us, and the share of packets in per cent that have at most this."""
    ranks = np.concatenate([np.arange(1, 99, 0.5), np.arange(99, 100.01, 0.05)])
    delays = np.sort(_delays(results, name))
    place = np.minimum((ranks / 100 * len(delays)).astype(int), len(delays) - 1)
    return delays[place], ranks


def rtts(number: int) -> Quantity:
    """So many largest base RTTs."""
    return Quantity(number * 24e-6, "time")
