"""Single decisions of LSwift, MSwift and MNSCC beside what the median paper prints of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incast.ledger.runs import Results
from incast.results.measures import internal_series
from incast.results.measures.quantity import Quantity

FLOW = "flow.0"
BASE_RTT_S, PACKET_BYTES, LINE_BPS = 10e-6, 4054, 800e9
SHRINK, MOST = 0.8, 0.5
"""Share of the relative excess by which a window shrinks (β, γ), and the largest decrease, in both."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def _windows(results: Results, run: str) -> tuple[Ints, Floats]:
    """Times, and the window in bytes, with Swift's fraction rounded down."""
    samples = results.view(run).samples(FLOW)
    return samples["time_ps"].astype(np.int64), samples["window_bytes"].astype(float)


def _rtts(results: Results, run: str) -> tuple[Ints, Floats]:
    """Times, and the RTT in seconds that was measured last."""
    samples = results.view(run).samples(FLOW)
    rtt = samples["rtt_ps"].astype(float) / 1e12
    known = ~np.isnan(rtt)
    return samples["time_ps"].astype(np.int64)[known], rtt[known]


def _at(series: tuple[Ints, Floats], times: Ints) -> Floats:
    """Values of a series that is written when it changes, at some times."""
    return series[1][np.searchsorted(series[0], times, side="right") - 1]


def _targets(results: Results, run: str, series: tuple[Ints, Floats]) -> Floats:
    """The target in seconds, solved for in each decrease: new = old (1 − SHRINK (delay − target)/delay).

    Decreases by MOST say nothing of it, and are left out.
    """
    times, window = _windows(results, run)
    at = np.flatnonzero(np.diff(window) < 0) + 1
    taken = 1 - window[at] / window[at - 1]
    delay = _at(series, times[at])
    free = taken < MOST - 0.001
    return (delay * (1 - taken / SHRINK))[free]


def queue_target(results: Results, run: str) -> Quantity:
    """The target queueing delay of LSwift (by RTTs) or MSwift (by medians): the mean over decreases."""
    own = run.startswith("mswift")
    series = internal_series(results.view(run), FLOW, "delay_ps") if own else _rtts(results, run)
    return Quantity(float(np.mean(_targets(results, run, series))) - BASE_RTT_S, "time")


def average_target(results: Results, run: str) -> Quantity:
    """The target queueing delay of MNSCC, by its average delay: of the first decrease."""
    series = internal_series(results.view(run), FLOW, "average_delay_ps")
    return Quantity(float(_targets(results, run, series)[0]), "time")


def first_window(results: Results, run: str) -> float:
    """The first window over the BDP."""
    _, window = _windows(results, run)
    return float(window[0]) / (LINE_BPS * BASE_RTT_S / 8)


def fewest(results: Results, runs: str) -> float:
    """The smallest number of neighbours whose loss halves the window."""
    halving = []
    for run in results.matching(runs):
        _, window = _windows(results, run)
        if window.min() < 0.6 * window[0]:
            halving.append(int(results.view(run).result.info["outcome"]["packets_lost"]))
    return float(min(halving))


def _longer(results: Results, run: str) -> int:
    """The time of the first longer RTT, in ps."""
    times, rtt = _rtts(results, run)
    return int(times[np.flatnonzero(rtt > rtt[0] * 1.01)[0]])


def _packets(span_ps: int) -> float:
    """Packets that arrive in a span at the rate of the line."""
    return span_ps / 1e12 * LINE_BPS / 8 / PACKET_BYTES


def before_median(results: Results, run: str) -> float:
    """Longer delays that arrive before MSwift goes by them, over the packets of the window."""
    first = _longer(results, run)
    times, delay = internal_series(results.view(run), FLOW, "delay_ps")
    moved = int(times[np.flatnonzero(delay > delay[0] * 1.01)[0]])
    window = _at(_windows(results, run), np.array([first]))[0] / PACKET_BYTES
    return _packets(moved - first) / float(window)


def counted_at(results: Results, run: str) -> float:
    """The longer delay, from 1 on, with which MNSCC's median is a longer one: its fast increase ends."""
    first = _longer(results, run)
    times, fast = internal_series(results.view(run), FLOW, "fast_increase")
    ended = int(times[(times >= first) & (fast == 0)][0])
    return 1 + round(_packets(ended - first))


def law(results: Results, of: str) -> tuple[Floats, Floats]:
    """Times in us after the first longer RTT, and queueing delays in us: ``rtt``, or the ``median``."""
    run = "mswift/longer"
    view, first = results.view(run), _longer(results, run)
    times, delay = _rtts(results, run) if of == "rtt" else internal_series(view, FLOW, "delay_ps")
    grid = np.arange(first - 2_000_000, first + 6_000_000, 20_000)
    return (grid - first) / 1e6, (_at((times, delay), grid) - BASE_RTT_S) * 1e6
