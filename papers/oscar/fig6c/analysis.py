"""Figure 6c of OSCAR: delay gradients by batched least squares, and by division with a moving average.

Times are in us of the paper's testbed: in a run with a longer base RTT they stand for as much longer times.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import incast
from incast import captures
from incast.ledger.runs import Results
from incast.real.testbed.distance import is_measured
from incast.real.testbed.telemetry import round_trips
from incast.results.measures.quantity import Quantity

Floats = npt.NDArray[np.float64]

EDGES = (100.0, 600.0, 1100.0, 1600.0)
"""In us of send time, the edges of the three phases."""
BASE_RTT = 13.5
TRUTH = (0.5, 0.0, -0.5)
WEIGHT = 0.2


def _delays(results: Results, name: str, noise: float) -> tuple[Floats, Floats]:
    """Send times and delays of the steady flow's packets, with uniform noise of at most so many us.

    In the simulator they are those of its samples, on a testbed those of the packets that its host saw.
    """
    result = results[name]
    if is_measured(result):
        rows = np.array(round_trips(captures.read(result), "h0"), dtype=np.float64).reshape(-1, 2)
        sent, delay = rows[:, 0], rows[:, 1] - rows[:, 0]
    else:
        found = incast.gradient_of(result, "steady", f"{_unit(results, name)}us")
        sent, delay = found.sent_ps.astype(np.float64), found.rtt_ps.astype(np.float64)
    sent, delay = (times / 1e6 / _unit(results, name) for times in (sent, delay))
    random = np.random.default_rng(int(result.info["seed"]))
    noisy = delay + random.uniform(-noise, noise, len(delay))
    inside = (sent >= EDGES[0]) & (sent < EDGES[-1])
    return sent[inside], noisy[inside]


def _unit(results: Results, name: str) -> int:
    """How long a us of the paper's testbed takes, in us."""
    return round(results.view(name).base_rtt_ps("steady") / 1e6 / BASE_RTT)


def _batched(sent: Floats, delay: Floats, period: float) -> tuple[Floats, Floats]:
    """Algorithm 1 of OSCAR: a line through the packets of each period of send time, of three at least."""
    at, slopes = [], []
    start = 0
    for i in range(len(sent)):
        if sent[i] - sent[start] >= period and i - start >= 3:
            x, y = sent[start + 1 : i + 1], delay[start + 1 : i + 1]
            x = x - x.mean()
            at.append(sent[i])
            slopes.append(float(x @ (y - y.mean()) / (x @ x)))
            start = i
    return np.array(at), np.array(slopes)


def _divided(sent: Floats, delay: Floats, apart: int) -> tuple[Floats, Floats]:
    """The difference of delays over that of send times, of packets so many apart, in a moving average."""
    raw = (delay[apart:] - delay[:-apart]) / (sent[apart:] - sent[:-apart])
    smooth = np.empty(len(raw))
    average = 0.0
    for i, value in enumerate(raw):
        average += WEIGHT * (value - average)
        smooth[i] = average
    return sent[apart:], smooth


def _estimated(results: Results, name: str, method: str, noise: float) -> tuple[Floats, Floats]:
    sent, delay = _delays(results, name, noise)
    if method == "batched":
        return _batched(sent, delay, BASE_RTT / 2)
    return _divided(sent, delay, 1 if method == "division" else 2)


def _truth(at: Floats) -> Floats:
    return np.array(TRUTH)[np.searchsorted(EDGES[1:-1], at, "right")]


def error(results: Results, method: str, noise: float = 1.0, name: str = "run") -> float:
    """The mean squared error of the gradients.

    ``batched``, ``division`` (of one acknowledgement and the next) or ``wide`` (of one and the next but one).
    """
    at, found = _estimated(results, name, method, noise)
    return float(np.mean((found - _truth(at)) ** 2))


def mean(results: Results, method: str, phase: int, noise: float = 1.0, name: str = "run") -> float:
    """The mean of the gradients of a phase, without its first 50 us."""
    at, found = _estimated(results, name, method, noise)
    inside = (at >= EDGES[phase] + 50) & (at < EDGES[phase + 1])
    return float(np.mean(found[inside]))


def worse(results: Results, method: str = "division", noise: float = 1.0, name: str = "run") -> float:
    """How many times the mean squared error of batched least squares is that of another method."""
    return error(results, method, noise, name) / error(results, "batched", noise, name)


def empties(results: Results) -> Quantity:
    """When the queue is empty again, in send time from the beginning of the first phase."""
    series = results.view("run").port("s0->h2")
    busy = series.time_ps[series.queue_bytes > 5_000]
    return Quantity(float(busy.max() - EDGES[0] * 1e6) / 1e12, "time")


def roughness(results: Results, noise: float = 0.0, name: str = "run") -> float:
    """How much successive delays differ beyond the gradient, over the time between their packets.

    The standard deviation of the former, over the mean of the latter.
    """
    sent, delay = _delays(results, name, noise)
    apart = np.diff(sent)
    beyond = np.diff(delay) - _truth(sent[1:]) * apart
    return float(beyond.std() / apart.mean())


def points(
    results: Results, method: str, noise: float = 1.0, name: str = "run", stretch: float = 1.0
) -> tuple[Floats, Floats]:
    """Gradients over the send time in us, times ``stretch``, from the beginning of the first phase."""
    at, found = _estimated(results, name, method, noise)
    return (at - EDGES[0]) * stretch, found


def truth(stretch: float = 1.0) -> tuple[Floats, Floats]:
    """The gradients that the rates make, over the same."""
    return (np.repeat(EDGES, 2)[1:-1] - EDGES[0]) * stretch, np.repeat(TRUTH, 2)
