"""Table 1 of OSCAR: how many steps an algorithm takes to converge, up and down."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from incast.ledger.runs import Results
from incast.results.measures import r_squared
from incast.results.measures.quantity import picoseconds
from incast.units import Time

Floats = npt.NDArray[np.float64]

BEGIN, END = "1ms", "4ms"
"""Of the short flows."""
ENDS = tuple(4_000_000 + 750 * end for end in range(16))
"""Of the short flows in nanoseconds, over a base RTT."""
RATES = (25, 50, 100, 200)
FLOWS = (1, 3, 7, 15, 31, 63)
STEPS = {
    "dcqcn": ("rate", "55us", "50us"),
    "timely": ("rate", "", ""),
    "oscar": ("rate", "", ""),
    "ndp": ("arrived", "", ""),
    "homa": ("arrived", "", ""),
}
"""What shows the state of an algorithm, and its own period up and down, where it is not a round trip."""
SEGMENTS = {"timely": 64_000}
"""Bytes on the wire between two updates of an algorithm whose own period they are."""
HEADER = 54
"""Of a packet without telemetry, in bytes."""
PAYLOAD = 1000
"""Of a packet, in bytes."""


def _algorithm(run: str) -> str:
    return run.partition("/")[0].partition(":")[0]


def _credits(run: str) -> bool:
    """Whether a receiver decides what is sent, so that a sender has neither window nor rate."""
    return STEPS.get(_algorithm(run), ("window",))[0] == "arrived"


def _series(results: Results, run: str) -> tuple[Floats, Floats, Floats]:
    """Times in ps, window or rate as a share of the whole, and the times of a step in ps.

    Of a receiver-driven transport: the payload acknowledged in the last base RTT, over what the link takes in
    it; a step is a base RTT.
    """
    view = results.view(run)
    base = float(view.base_rtt_ps("long"))
    if _credits(run):
        ticks, acked = view.acked("long")
        time = ticks.astype(float)
        arrived = acked - np.interp(time - base, time, acked, left=0.0)
        return time, arrived * 8e12 / (base * view.line_bps("long")), np.full(len(time), base)
    time, values = view.allowance("long", STEPS.get(_algorithm(run), ("window",))[0])
    rtt = view.result.flow("long").filled().rtt_ps.astype(float)
    return time.astype(float), values, np.nan_to_num(rtt, nan=base)


def _grain(results: Results, run: str) -> float:
    """The margin beyond its threshold from which a change counts: one packet, where packets are counted."""
    view = results.view(run)
    return PAYLOAD * 8e12 / (view.base_rtt_ps("long") * view.line_bps("long")) if _credits(run) else 0.0


def _end(results: Results, run: str) -> int:
    """The end of the burst in ps: of short flows that have a size, the arrival of the last byte of all."""
    return results.view(run).instant("end(short)") if _credits(run) else picoseconds(END)


def _count(results: Results, run: str, time: Floats, rtt: Floats, first: int, last: int, down: bool) -> float:
    """Steps between two samples: own periods in time or in bytes, or round trips of their time."""
    algorithm = _algorithm(run)
    if algorithm in SEGMENTS:
        ticks, acked = results.view(run).acked("long")
        payload = np.diff(np.interp([time[first], time[last]], ticks.astype(float), acked))
        return float(payload[0]) * (1 + HEADER / PAYLOAD) / SEGMENTS[algorithm]
    period = STEPS.get(algorithm, ("", "", ""))[2 if down else 1]
    if period:
        return float(time[last] - time[first]) / int(Time(period))
    trips = float(np.sum(np.diff(time[first : last + 1]) / rtt[first:last]))
    # OSCAR makes two updates in a base RTT.
    return 2 * trips if algorithm == "oscar" and not down else trips


def up(results: Results, run: str, end: str = "") -> float:
    """Steps from the first increase after the burst until 95 % of the value at the run's end; one at least.

    An increase is one by more than 1 % of the whole, and where packets are counted by one packet more.
    """
    time, values, rtt = _series(results, run)
    after = np.flatnonzero(time >= (picoseconds(end) if end else _end(results, run)))
    start, goal = values[after[0]], 0.95 * values[-1]
    moved = after[values[after] > start + 0.01 + _grain(results, run)]
    there = after[values[after] >= goal]
    if not len(there) or not len(moved):
        return math.inf
    first = max(int(moved[0]) - 1, 0)
    return max(1.0, _count(results, run, time, rtt, first, int(there[there >= first][0]), down=False))


def down(results: Results, run: str) -> float:
    """Steps from the first decrease in the burst until 125 % of its last millisecond's mean; one at least.

    A decrease is one by more than 2 % of the value before, and where packets are counted by one packet more.
    """
    time, values, rtt = _series(results, run)
    end = _end(results, run)
    burst = (time >= picoseconds(BEGIN)) & (time < end)
    goal = 1.25 * float(values[burst & (time >= end - picoseconds("1ms"))].mean())
    places = np.flatnonzero(burst)
    start = values[places[0]]
    moved = places[values[places] < 0.98 * start - _grain(results, run)]
    there = places[values[places] <= goal]
    if not len(moved) or not len(there):
        return math.inf
    first = max(int(moved[0]) - 1, 0)
    return max(1.0, _count(results, run, time, rtt, first, int(there[there >= first][0]), down=True))


def exponent(results: Results, algorithm: str) -> float:
    """The power of the link rate with which the steps up grow, at nine short flows."""
    found = [up(results, f"{algorithm}/rate/{rate}") for rate in RATES]
    return float(np.polyfit(np.log(RATES), np.log(found), 1)[0])


def _over_ends(results: Results, run: str, rate: int) -> float:
    """Median over the ends of the burst of the steps up."""
    return float(np.median([up(results, f"{run}/rate/{rate}/{end}", f"{end}ns") for end in ENDS]))


def exponent_over_ends(results: Results, run: str) -> float:
    """As `exponent`, of the medians over the ends of the burst."""
    return float(np.polyfit(np.log(RATES), np.log([_over_ends(results, run, rate) for rate in RATES]), 1)[0])


def most_over_ends(results: Results, run: str, batches: float) -> float:
    """The most steps up at any rate, of the medians over the ends, with these ``batches`` in a base RTT."""
    return max(_over_ends(results, run, rate) for rate in RATES) * batches / 2


def growth(results: Results, algorithm: str, way: str) -> float:
    """The steps with 63 short flows over those with one, up or down."""
    function = up if way == "up" else down
    return function(results, f"{algorithm}/flows/63") / function(results, f"{algorithm}/flows/1")


def logarithmic(results: Results, algorithm: str, way: str = "down", least: int = 1) -> float:
    """R² of a straight line through the steps over the logarithm of the flows, from ``least`` of them on."""
    function = up if way == "up" else down
    numbers = [number for number in FLOWS if number >= least]
    found = np.array([function(results, f"{algorithm}/flows/{number}") for number in numbers])
    return r_squared(np.log2(np.array(numbers) + 1.0), found)


def most(results: Results, algorithm: str, way: str) -> float:
    """The most steps at any rate (up only) and number of flows."""
    function = up if way == "up" else down
    found = [function(results, f"{algorithm}/flows/{number}") for number in FLOWS]
    if way == "up":
        found += [up(results, f"{algorithm}/rate/{rate}") for rate in RATES]
    return max(found)


def by_rate(results: Results, name: str) -> tuple[Floats, Floats]:
    """Steps up over the link rate in Gbps."""
    return np.array(RATES, dtype=float), np.array([up(results, f"{name}/rate/{rate}") for rate in RATES])


def by_flows(results: Results, name: str, way: str) -> tuple[Floats, Floats]:
    """Steps up or down over the number of short flows."""
    function = up if way == "up" else down
    values = [function(results, f"{name}/flows/{number}") for number in FLOWS]
    return np.array(FLOWS, dtype=float), np.array(values)
