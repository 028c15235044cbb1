"""Fixed points and limits of patched TIMELY and SQCC (SQCC, sections II-B, III; notation: its Table I).

N flows share one bottleneck of capacity C. A flow changes its rate once per segment, by the round-trip time
(RTT) of that segment: with the weight w of the gradient, rate ← δ(1 − w) + rate·(1 − β·error·w). At rest the
gradient is zero, w is ½ and every flow has C/N, so that error = x with x = Nδ/(βC).

The paper writes this once in RTTs (its listings) and once in queues (its equations), with q = (RTT − D)·C.
The error of a listing is relative to T_low, the error of Equation 6 to q' = (T_low − D)·C: the two forms have
different fixed points, by up to 10 % with the paper's values. A packet network follows the listings.
Functions take ``form``: ``"rtt"`` for the listings, ``"queue"`` for the equations as printed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from incast.results.arrays import Floats
from incast.theory._quantities import bits_per_second, seconds
from incast.units import Rate, Time

LAWS = ("patched", "error")
FORMS = ("rtt", "queue")
STAGES = ("error", "delta", "full")


@dataclass(frozen=True)
class SetUp:
    """The constants of an analysis. Defaults: SQCC, section IV.

    Attributes:
        capacity: C, of the bottleneck.
        beta: Multiplicative decrease per unit of error.
        delta: δ, the additive step of one flow.
        t_low: RTT to which errors refer.
        t_high: RTT from which on rates only shrink; the pole of SQCC's error.
        delay: D, the RTT without a queue.
        min_rtt: RTT by which gradients are normalised (not printed; D is taken).
        alpha: Weight of a new RTT difference in the average.
        segment_bits: Bits between two changes of a rate. 64 KB: T_low is one segment at C.
    """

    capacity: Rate | str = "10Gbps"
    beta: float = 0.008
    delta: Rate | str = "10Mbps"
    t_low: Time | str = "50us"
    t_high: Time | str = "500us"
    delay: Time | str = "5us"
    min_rtt: Time | str = "5us"
    alpha: float = 0.875
    segment_bits: float = 512_000.0


PAPER = SetUp()
"""The set-up of the paper's section IV."""


def load(flows: float, set_up: SetUp = PAPER) -> float:
    """X = Nδ/(βC), the error at rest (SQCC, Equations 6 and 19).

    Args:
        flows: N, the number of flows.
        set_up: The constants.

    Raises:
        ValueError: When the number of flows is negative.
    """
    if flows < 0:
        raise ValueError(f"{flows} flows: the number must not be negative")
    return flows * bits_per_second(set_up.delta) / (set_up.beta * bits_per_second(set_up.capacity))


def error(law: str, rtt: Time | str, set_up: SetUp = PAPER) -> float:
    """The error of an RTT between T_low and T_high (SQCC, Equations 9 and 16).

    Args:
        law: ``"patched"`` for patched TIMELY's, ``"error"`` for SQCC's.
        rtt: The RTT.
        set_up: The constants.

    Returns:
        A pure number: 0 at T_low; of SQCC's law, infinite at T_high.

    Raises:
        ValueError: When there is no such law, or the RTT is not between the thresholds.
    """
    _known(law, LAWS, "law")
    low, high = seconds(set_up.t_low), seconds(set_up.t_high)
    value = seconds(rtt)
    if not low <= value <= high:
        raise ValueError(f"{rtt} is not between {set_up.t_low} and {set_up.t_high}")
    if law == "patched":
        return (value - low) / low
    return math.inf if value == high else high * (value - low) / (low * (high - value))


def weight(gradient: float) -> float:
    """w, the weight of the decrease: 2g + ½ between 0 and 1 (SQCC, Equation 5)."""
    return min(max(2 * gradient + 0.5, 0.0), 1.0)


def fixed_point(law: str, flows: float, set_up: SetUp = PAPER, form: str = "rtt") -> float:
    """Returns the RTT at rest, in seconds (SQCC, Equations 6 and 17).

    Patched TIMELY: T_low·(1 + x). SQCC's error: T_low·T_high·(1 + x)/(x·T_low + T_high). In the form
    ``"queue"`` T_low − D and T_high − D take the places of T_low and T_high, and D is added.

    Args:
        law: ``"patched"`` or ``"error"``.
        flows: N; infinity gives the limit.
        set_up: The constants.
        form: ``"rtt"`` or ``"queue"``.

    Returns:
        Seconds. For patched TIMELY it can be above T_high, where it is no equilibrium
        (:func:`unstable_from`).

    Raises:
        ValueError: When there is no such law or form, or the number of flows is negative.
    """
    _known(law, LAWS, "law")
    low, high, shift = _thresholds(set_up, form)
    x = load(flows, set_up)
    if law == "patched":
        return shift + low * (1 + x)
    if math.isinf(x):
        return shift + high
    return shift + low * high * (1 + x) / (x * low + high)


def queue(rtt_seconds: float, set_up: SetUp = PAPER) -> float:
    """The queue that an RTT means, (RTT − D)·C, in bytes (SQCC, Equation 10)."""
    return (rtt_seconds - seconds(set_up.delay)) * bits_per_second(set_up.capacity) / 8


def fixed_point_queue(law: str, flows: float, set_up: SetUp = PAPER, form: str = "rtt") -> float:
    """The queue at rest q*, in bytes: :func:`queue` of :func:`fixed_point`."""
    return queue(fixed_point(law, flows, set_up, form), set_up)


def unstable_from(set_up: SetUp = PAPER, form: str = "rtt") -> float:
    """The N at which patched TIMELY's fixed point reaches T_high (SQCC, Equations 7 and 8).

    From there on a flow grows at every RTT below T_high, so that there is no equilibrium.

    Args:
        set_up: The constants.
        form: ``"queue"``: (T_high − T_low)βC/(δ(T_low − D)), Equation 8; ``"rtt"``: with T_low in place of
            T_low − D, as the listing has it.

    Returns:
        A number of flows, not rounded.

    Raises:
        ValueError: When there is no such form.
    """
    low, high, _ = _thresholds(set_up, form)
    return (high - low) / low / load(1, set_up)


def saving(flows: float, set_up: SetUp = PAPER) -> float:
    """By how much SQCC's error shortens the queue at rest, in bytes, as printed (SQCC, after Equation 18).

    q_low²·δN(δN + βC)/(βC(δN·q_low + βC·q_high)), which is the difference of the fixed points in the form
    ``"queue"`` and grows with N without a bound.
    """
    low, high, _ = _thresholds(set_up, "queue")
    rate = bits_per_second(set_up.capacity) / 8
    x = load(flows, set_up)
    return low * low * x * (1 + x) / (x * low + high) * rate


def scale(flows: int) -> int:
    """k, by which T_low and δ grow with the number of flows (SQCC, Equation 25 and Algorithm 3).

    max(1, ⌈lg N⌉ − 1): the reading that fits the printed values (k = 1 with 40, 60 and k = 2 with 500 flows)
    and the queues of Figure 4; the listing has ⌊lg N⌋, the equation ⌈lg N⌉.

    Args:
        flows: N, at least 1.

    Raises:
        ValueError: When there is no flow.
    """
    if flows < 1:
        raise ValueError(f"{flows} flows: at least one is needed")
    return max(1, len(str(flows - 1)) - 1 if flows > 1 else 1)


def adapted(stage: str, flows: int, set_up: SetUp = PAPER) -> SetUp:
    """The set-up with δ and T_low as SQCC adapts them (SQCC, Equations 22 and 25).

    Args:
        stage: ``"error"``: as they are; ``"delta"``: δ = C/N²; ``"full"``: δ = k·C/N², T_low = k·T_low. δ
            never exceeds the set-up's δ.
        flows: N, at least 1.
        set_up: The constants before.

    Raises:
        ValueError: When there is no such stage, or no flow.
    """
    _known(stage, STAGES, "stage")
    if stage == "error":
        return set_up
    k = scale(flows) if stage == "full" else 1
    step = min(bits_per_second(set_up.delta), k * bits_per_second(set_up.capacity) / flows**2)
    low = Time(round(k * seconds(set_up.t_low) * 1e12))
    return replace(set_up, delta=Rate(round(step)), t_low=low)


def step_bounds(flows: int, k: float = 1, capacity: Rate | str = "10Gbps") -> tuple[float, float]:
    """The δ with which a queue does not run empty (SQCC, Equations 21 and 24).

    The roots of N³δ² − N²Cδ + C²k = 0.

    Args:
        flows: N, more than 4k.
        k: The factor of T_low.
        capacity: C.

    Returns:
        Smallest and largest δ in bit/s; for large N about k·C/N² and C/N.

    Raises:
        ValueError: When there are too few flows for a solution.
    """
    if flows < 4 * k:
        raise ValueError(f"{flows} flows: at least {4 * k:g} are needed")
    rate = bits_per_second(capacity)
    root = math.sqrt(flows * (flows - 4 * k))
    half = rate / (2 * flows)
    return half * (flows - root) / flows, half * (flows + root) / flows


@dataclass(frozen=True)
class Trajectory:
    """A solution of the fluid model.

    Attributes:
        seconds: Times.
        queue_bytes: The queue at each.
        rate_bps: The rate of one flow at each.
    """

    seconds: Floats
    queue_bytes: Floats
    rate_bps: Floats


def trajectory(
    law: str,
    flows: int,
    duration: Time | str,
    set_up: SetUp = PAPER,
    start_queue_bytes: float = 0.0,
    step: Time | str = "2us",
) -> Trajectory:
    """Solves the delayed fluid model of equal flows (SQCC, Equations 1 to 5).

    All flows have the same rate at all times. What a flow sees at time t is the RTT D + q(t − τ')/C with
    τ' = D + q/C; the gradient is the average over intervals τ* = max(segment/R, D_minRTT) that Equation 1
    leaves to "ECN or Delay" (there: dg/dt = α/τ*·(−g + (q(t − τ') − q(t − τ' − τ*))/(C·D_minRTT))). Rates
    change by Euler steps. Below T_low a rate grows by δ per τ*, from T_high on it shrinks by
    β(1 − T_high/RTT), in between as the law says; the decrease of SQCC's law is limited to one half.

    Args:
        law: ``"patched"`` or ``"error"``.
        flows: N.
        duration: How long.
        set_up: The constants.
        start_queue_bytes: The queue before time 0; rates start at C/N.
        step: Step of time.

    Raises:
        ValueError: When there is no such law, no flow, or the step is not shorter than the duration.
    """
    _known(law, LAWS, "law")
    if flows < 1:
        raise ValueError(f"{flows} flows: at least one is needed")
    dt, total = seconds(step), seconds(duration)
    if not 0 < dt < total:
        raise ValueError(f"a step of {step} is not shorter than {duration}, or zero")
    capacity, delta = bits_per_second(set_up.capacity), bits_per_second(set_up.delta)
    low, high, base = seconds(set_up.t_low), seconds(set_up.t_high), seconds(set_up.delay)
    shortest = seconds(set_up.min_rtt)
    count = round(total / dt) + 1
    delays = [0.0] * count  # q/C in seconds
    rates = [0.0] * count
    start = start_queue_bytes * 8 / capacity
    rate, delay, gradient = capacity / flows, start, 0.0

    def past(at: float) -> float:
        place = at / dt
        if place <= 0:
            return start
        whole = min(int(place), count - 2)
        return delays[whole] + (place - whole) * (delays[whole + 1] - delays[whole])

    for i in range(count):
        delays[i], rates[i] = delay, rate
        if i + 1 < count:
            delays[i + 1] = delay
        now = i * dt
        seen = now - delay - base
        interval = max(set_up.segment_bits / rate, shortest)
        recent, before = past(seen), past(seen - interval)
        rtt = base + recent
        gradient += dt * set_up.alpha / interval * ((recent - before) / shortest - gradient)
        if rtt < low:
            change = delta
        elif rtt >= high:
            change = -rate * set_up.beta * (1 - high / rtt)
        else:
            w = weight(gradient)
            relative = (rtt - low) / low if law == "patched" else high * (rtt - low) / (low * (high - rtt))
            change = delta * (1 - w) - rate * min(set_up.beta * relative * w, 0.5)
        delay = max(0.0, delay + dt * (flows * rate / capacity - 1))
        rate = max(rate + dt / interval * change, 1e5)
    return Trajectory(
        np.arange(count, dtype=np.float64) * dt,
        np.array(delays) * capacity / 8,
        np.array(rates),
    )


def _thresholds(set_up: SetUp, form: str) -> tuple[float, float, float]:
    """Returns a form's values for T_low and T_high, and the value added to get an RTT, in seconds."""
    _known(form, FORMS, "form")
    shift = seconds(set_up.delay) if form == "queue" else 0.0
    return seconds(set_up.t_low) - shift, seconds(set_up.t_high) - shift, shift


def _known(word: str, words: tuple[str, ...], what: str) -> None:
    if word not in words:
        raise ValueError(f"{word!r} is not a {what}; known: {', '.join(words)}")
