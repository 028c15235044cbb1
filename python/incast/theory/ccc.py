"""The plane of queueing delay and its change: criterion, regions, steps, trajectories (CCC, section 4.3).

The state of a bottleneck is its queueing delay q and q_v, how fast q changes: q_v = (R − C)/C with the
arrival rate R. The criterion δ = ½·log2(q_B/q) − q_v divides the plane into states in which rates grow and
shrink; its zero is the layover curve, on which the destination (q_B, 0) lies.

Figure 4 of the paper, the map of the regions, exists as a picture that its text does not spell out. The map
here is taken from the algorithm's page: the one that agrees with the text, Appendix A and Table 1.

Delays are in seconds, rates in bit/s.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from incast.results.arrays import Floats
from incast.theory._quantities import bits_per_second, seconds
from incast.units import Rate, Time

REGIONS = ("H1i", "H2i", "H1d", "H2d", "Ai", "Ad")
"""The regions, in the order of the simulator's quantity ``region``."""


@dataclass(frozen=True)
class SetUp:
    """The constants of an analysis. Defaults: CCC, section 6.1.

    Attributes:
        line: R_l, the rate of a sender's line and of the bottleneck.
        base_rtt: RTT_min.
        q_b: q_B, the queueing delay that is aimed at.
        gamma: Weight of the old value in the average of q_v.
        packet_bits: M, of a full packet on the wire.
        w_1: Weight of an increase in H1i.
        w_2: Weight of an increase in H2i.
        w_md: Weight of a decrease.
    """

    line: Rate | str = "25Gbps"
    base_rtt: Time | str = "20us"
    q_b: Time | str = "5us"
    gamma: float = 0.2
    packet_bits: float = 8000.0
    w_1: float = 0.5
    w_2: float = 0.1
    w_md: float = 0.25


PAPER = SetUp()
"""The set-up of the paper's simulations."""


def _log(q: float, set_up: SetUp) -> float:
    """½·log2(q_B/q); a q near zero counts as RTT_min/4096, or q_B/4 if that is less."""
    goal = seconds(set_up.q_b)
    least = min(seconds(set_up.base_rtt) / 4096, goal / 4)
    return 0.5 * math.log2(goal / max(q, least))


def criterion(q: float, q_v: float, set_up: SetUp = PAPER) -> float:
    """δ = ½·log2(q_B/q) − q_v (CCC, Equation 5).

    Args:
        q: Queueing delay in seconds, not negative.
        q_v: Its change, a pure number of at least −1.
        set_up: The constants.

    Raises:
        ValueError: When q is negative, or q_v below −1.
    """
    _state(q, q_v)
    return _log(q, set_up) - q_v


def layover(q: float, set_up: SetUp = PAPER) -> float:
    """The q_v on the layover curve δ = 0 at a queueing delay (CCC, Equation 5).

    ½·log2(q_B/q): 0 at q_B, −1 at 4·q_B, beyond which there is no layover target, since q_v is at least −1.

    Args:
        q: Queueing delay in seconds, above zero.
        set_up: The constants.

    Raises:
        ValueError: When q is not above zero.
    """
    if q <= 0:
        raise ValueError(f"q = {q} is not above zero")
    return 0.5 * math.log2(seconds(set_up.q_b) / q)


def region(q: float, q_v: float, set_up: SetUp = PAPER) -> str:
    """The region of a state: one of :data:`REGIONS` (CCC, Figure 4, in our reading).

    H1d: q_v > 0, δ ≤ 0. Otherwise, below q_B: H1i if q_v < 0, else H2i; above 4·q_B: H2d; in between: Ai if
    δ > 0, else Ad.

    Args:
        q: Queueing delay in seconds, not negative.
        q_v: Its change, at least −1.
        set_up: The constants.

    Raises:
        ValueError: When q is negative, or q_v below −1.
    """
    delta, goal = criterion(q, q_v, set_up), seconds(set_up.q_b)
    if q_v > 0 and delta <= 0:
        return "H1d"
    if q < goal:
        return "H1i" if q_v < 0 else "H2i"
    if q > 4 * goal:
        return "H2d"
    return "Ai" if delta > 0 else "Ad"


def step(
    q: float,
    q_v: float,
    rate: float,
    interval: float,
    basis: float,
    acceleration: float = 1.0,
    set_up: SetUp = PAPER,
) -> float:
    """u, by which an acknowledgement changes a rate, in bit/s (CCC, Equations 1, 6, 8, 9).

    Args:
        q: Queueing delay in seconds.
        q_v: Its change.
        rate: r, the rate before, in bit/s.
        interval: Itv, the time since the acknowledgement before, in seconds.
        basis: S, in bit/s.
        acceleration: v_ai.
        set_up: The constants.

    Raises:
        ValueError: When q is negative, q_v below −1, or the interval negative.
    """
    if interval < 0:
        raise ValueError(f"the interval {interval} is negative")
    where, delta = region(q, q_v, set_up), criterion(q, q_v, set_up)
    line, base, goal = bits_per_second(set_up.line), seconds(set_up.base_rtt), seconds(set_up.q_b)
    interval = min(interval, base)
    if where == "Ai":
        return (_log(q + interval * q_v, set_up) - q_v) * set_up.packet_bits / base
    reference = max(0.0, 1 - q / goal)
    if (line * reference - rate) * delta <= 0:
        return 0.0
    share = interval / base
    if where == "H1i":
        slowed = max(0.0, 1 - 2 * rate / line)
        return basis * set_up.w_1 * reference * slowed * acceleration * share
    if where == "H2i":
        return basis * set_up.w_2 * reference * acceleration * share
    return -rate * set_up.w_md * min(abs(q - goal) / goal, 1.0) * share


def dead_zone(flows: float, set_up: SetUp = PAPER) -> tuple[float, float]:
    """Returns the range in which equal flows can rest: queueing delays from q_B(1 − 1/N) to q_B, in seconds.

    At rest q_v is 0. Below q_B, δ forbids a decrease, and f an increase once Irr = R_l(1 − q/q_B) is below
    the rate R_l/N (CCC, Equations 6 and 9).

    Args:
        flows: N, at least 1.
        set_up: The constants.

    Raises:
        ValueError: When there is no flow.
    """
    if flows < 1:
        raise ValueError(f"{flows} flows: at least one is needed")
    goal = seconds(set_up.q_b)
    return goal * (1 - 1 / flows), goal


def visits(regions: list[str]) -> list[str]:
    """The regions in the order in which they are entered, without repetitions in a row."""
    return [name for name, _ in groupby(regions)]


def first_visits(regions: list[str]) -> list[str]:
    """The regions in the order in which they are entered first, with Ai and Ad as one, ``A``."""
    return list(dict.fromkeys("A" if name in ("Ai", "Ad") else name for name in regions))


@dataclass(frozen=True)
class Trajectory:
    """A path through the plane, as a sender sees it.

    Attributes:
        seconds: When acknowledgements came, or a sample of that.
        q: Queueing delay at each, in seconds.
        q_v: Its averaged change, per time between acknowledgements: R/C − 1 of the arrival rate shows as
            1 − C/R.
        regions: The region at each.
        rate_bps: The rate of one flow at each.
    """

    seconds: Floats
    q: Floats
    q_v: Floats
    regions: list[str]
    rate_bps: Floats


def trajectory(
    flows: int,
    duration: Time | str,
    set_up: SetUp = PAPER,
    start_share: float = 1.0,
    window: str = "headroom",
    resolution: Time | str = "50ns",
) -> Trajectory:
    r"""The path of equal flows in step to one bottleneck, from the start on: a fluid model with delays.

    Each flow sends at its rate, or as acknowledgements come when its window is full. The bottleneck is a
    quarter of RTT_min away, as in a star. An acknowledgement covers one packet of a flow. S is the rate at
    the start until the A regions are left; then the mean of the last five rates at a q_v between -0.05 and
    0.05. v_ai is 1. The window has room for q_B (``"headroom"``: r·(RTT_min + q_B)), or not (``"letter"``:
    r·RTT_min), or there is none (``"none"``).

    Args:
        flows: N, at least 1.
        duration: How long.
        set_up: The constants.
        start_share: Rates at the start, as a share of the line.
        window: ``"headroom"``, ``"letter"`` or ``"none"``.
        resolution: Step of time.

    Returns:
        One sample for each acknowledgement of a flow after the first.

    Raises:
        ValueError: When there is no flow, no such window, or nothing is acknowledged within the duration.
    """
    rooms = {"headroom": seconds(set_up.q_b), "letter": 0.0, "none": math.inf}
    if flows < 1:
        raise ValueError(f"{flows} flows: at least one is needed")
    if window not in rooms:
        raise ValueError(f"{window!r} is not a window; known: {', '.join(rooms)}")
    dt, line, base = seconds(resolution), bits_per_second(set_up.line), seconds(set_up.base_rtt)
    count = round(seconds(duration) / dt)
    there = round(base / 4 / dt)
    back = round(base * 3 / 4 / dt)
    if count <= there + back:
        raise ValueError(f"nothing is acknowledged within {duration}")
    packet, room = set_up.packet_bits, base + rooms[window]
    sent = np.zeros(count + 1)  # of one flow, in bits, at each step
    left = np.zeros(count + 1)  # what has left the bottleneck
    rate = basis = start_share * line
    average, previous, previous_at, acked, search = 0.0, math.nan, math.nan, 0.0, 0
    found: list[tuple[float, float, float, float]] = []
    calm: deque[float] = deque(maxlen=5)
    where = ""
    for i in range(count):
        # The bottleneck: what has arrived, less what has left.
        arrived = sent[i - there] if i >= there else 0.0
        left[i + 1] = left[i] + min(line * dt / flows, arrived - left[i])
        returned = float(left[i - back]) if i >= back else 0.0
        if returned >= acked + packet:
            acked += packet
            while sent[search + 1] < acked:
                search += 1
            # Between two steps, evenly.
            gap = sent[search + 1] - sent[search]
            rtt = (i - search - (acked - sent[search]) / gap) * dt
            now = i * dt
            if not math.isnan(previous):
                slope = (rtt - previous) / (now - previous_at)
                average = set_up.gamma * average + (1 - set_up.gamma) * slope
                q, q_v = max(0.0, rtt - base), max(average, -1.0)
                q_v = 0.0 if abs(q_v) < 2**-20 else q_v
                found.append((now, q, q_v, rate))
                if abs(q_v) < 0.05:
                    calm.append(rate)
                before, where = where, region(q, q_v, set_up)
                if before.startswith("A") and not where.startswith("A") and calm:
                    basis = sum(calm) / len(calm)
                rate += step(q, q_v, rate, now - previous_at, basis, 1.0, set_up)
                rate = min(max(rate, line / 1000), line)
            previous, previous_at = rtt, now
        flying = sent[i] - returned
        sent[i + 1] = sent[i] + min(rate * dt, max(0.0, max(rate * room, packet) - flying))
    if not found:
        raise ValueError(f"nothing is acknowledged within {duration}")
    times, delays, changes, rates = (np.array(column) for column in zip(*found, strict=True))
    regions = [region(q, q_v, set_up) for q, q_v in zip(delays.tolist(), changes.tolist(), strict=True)]
    return Trajectory(times, delays, changes, regions, rates)


def _state(q: float, q_v: float) -> None:
    if q < 0:
        raise ValueError(f"q = {q} is negative")
    if q_v < -1:
        raise ValueError(f"q_v = {q_v} is below -1: a link cannot drain faster")


def fairness_line(capacity: float) -> tuple[Floats, Floats]:
    """The equal rates of two flows that share a link of this capacity: a line to draw, in its unit."""
    return np.array([0.0, capacity]), np.array([0.0, capacity])


def efficiency_line(capacity: float) -> tuple[Floats, Floats]:
    """The rates of two flows that fill a link of this capacity together: a line to draw, in its unit."""
    return np.array([0.0, capacity]), np.array([capacity, 0.0])
