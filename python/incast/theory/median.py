"""Throughput collapse of sprayed flows (the median paper, arXiv 2509.07907, sections II, III-A, Appendix A).

One flow sprays its packets over n paths. One of them is congested: its round trip is T_l, the others' is T_s.
A share q = 1/n of the packets therefore tells of congestion. Table I gives the throughput of five algorithms
as a function of q; all fall as 1/√q. An algorithm that decides by the median of the last delays does not
collapse while q is below a third (Theorem 6).

Throughputs are in packets per T_s: multiply by MSS/T_s.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from incast.results.arrays import Floats
from incast.theory._quantities import seconds
from incast.units import Time

SPACINGS = ("rotation", "rounds", "random")


def sawtooth(q: float, cut: float, increase: float = 1.0) -> float:
    """Throughput of a window that is cut once per congested packet (the proof of Theorem 3).

    √((1/cut − ½)·increase/q) packets per T_s: the window grows by ``increase`` packets per round trip, and
    loses the share ``cut`` every 1/q packets.

    Args:
        q: Share of the packets on the congested path, more than 0 and at most 1.
        cut: Share of the window that a cut takes, above 0 and below 1: ½ for New Reno, max_mdf for Swift.
        increase: Packets per round trip: ai for Swift.

    Raises:
        ValueError: When an argument is out of its range.
    """
    _share(q)
    _cut(cut)
    return math.sqrt((1 / cut - 0.5) * increase / q)


def largest_window(q: float, cut: float, increase: float = 1.0) -> float:
    """The window before a cut, in packets: √(ai/(q(1 − cut/2)·cut)) (the proof of Theorem 3).

    Args:
        q: Share of the packets on the congested path.
        cut: Share of the window that a cut takes.
        increase: Packets per round trip.

    Raises:
        ValueError: When an argument is out of its range.
    """
    _share(q)
    _cut(cut)
    return math.sqrt(increase / (q * (1 - cut / 2) * cut))


def newreno(q: float) -> float:
    """Theorem 1, and Theorem 2 (i) for DCTCP without marks: √(3/2)/√q, where the paper prints 1.22/√q.

    Args:
        q: Share of the packets on the congested path.

    Raises:
        ValueError: When it is not above 0 and at most 1.
    """
    return sawtooth(q, 0.5)


def swift(q: float, max_mdf: float = 0.5, ai: float = 1.0) -> float:
    """Theorem 3: √((1/mm − ½)·ai/q).

    Args:
        q: Share of the packets on the congested path.
        max_mdf: mm, the share of the window that a hole takes.
        ai: Packets per round trip.

    Raises:
        ValueError: When an argument is out of its range.
    """
    return sawtooth(q, max_mdf, ai)


def delay_cut(long: Time | str, target: Time | str, beta: float = 0.8, max_mdf: float = 0.5) -> float:
    """The share of the window that a delay takes in Swift: β(T_l − target)/T_l, at most max_mdf.

    Args:
        long: T_l.
        target: The target delay, as a round trip.
        beta: β.
        max_mdf: The largest share.

    Raises:
        ValueError: When the delay does not exceed the target: then nothing is cut.
    """
    late, aim = seconds(long), seconds(target)
    if late <= aim:
        raise ValueError(f"T_l = {long} does not exceed the target of {target}: nothing is cut")
    return min(beta * (late - aim) / late, max_mdf)


def resilient_swift(
    q: float,
    long: Time | str,
    target: Time | str,
    beta: float = 0.8,
    max_mdf: float = 0.5,
    ai: float = 1.0,
    fs_range: Time | str = "0us",
    fs_min: float = 0.1,
    fs_max: float = 100.0,
) -> float:
    """Theorem 5: Swift that is cut by the delay of a congested packet alone, not by the hole that it leaves.

    The paper gives the order, Θ(1/√q), and no constant. Here: :func:`sawtooth` with :func:`delay_cut`. With
    flow scaling the target grows as the window shrinks, target(W) = target + clamp(a/√W + b, 0, fs_range)
    (Swift, section 3.5), W being the largest window: both equations are solved together.

    Args:
        q: Share of the packets on the congested path.
        long: T_l.
        target: The target delay without flow scaling, as a round trip.
        beta: β.
        max_mdf: The largest share that a cut takes.
        ai: Packets per round trip.
        fs_range: Largest extension of the target; 0 for no flow scaling.
        fs_min: Window from which on the extension is less than its largest, in packets.
        fs_max: Window from which on there is none.

    Returns:
        Packets per T_s.

    Raises:
        ValueError: When an argument is out of its range, or the delay never exceeds the target.
    """
    _share(q)
    late, aim, extent = seconds(long), seconds(target), seconds(fs_range)
    a = extent / (1 / math.sqrt(fs_min) - 1 / math.sqrt(fs_max))
    b = -a / math.sqrt(fs_max)

    def cut_at(window: float) -> float:
        aimed = aim + min(max(a / math.sqrt(window) + b, 0.0), extent)
        return min(beta * (late - aimed) / late, max_mdf)

    # The largest window falls with the cut, and the cut rises with the window: one crossing, by bisection.
    low, high = fs_min, 2 / math.sqrt(q) * max(ai, 1.0) * 1e3
    if cut_at(high) <= 0:
        raise ValueError(f"T_l = {long} does not exceed the target of {target}: nothing is cut")
    for _ in range(200):
        middle = math.sqrt(low * high)
        cut = cut_at(middle)
        if cut > 0 and largest_window(q, cut, ai) < middle:
            high = middle
        else:
            low = middle
    return sawtooth(q, cut_at(high), ai)


def smartt(q: float, alpha: float, bdp_packets: float, fd: float = 0.8) -> float:
    """Theorem 4: A/(q(Γ + (1 − Γ)W)) packets per T_avg, the mean round trip (Appendix A).

    A = (12 − 7α)/(4α), Γ = 1 − fd/BDP, W the positive solution of W²(1 − Γ²) + 2Γ²W − Γ² = 2A/q. It is for
    SMaRTT's suggested parameters (target 1.5 base round trips, mi 2, md 2, fi 0.25).

    Args:
        q: Share of the packets on the congested path.
        alpha: T_s over the base round trip, between 1 and 1.5.
        bdp_packets: SMaRTT's BDP, in packets.
        fd: Its weight of fair decrease.

    Raises:
        ValueError: When an argument is out of its range.
    """
    _share(q)
    if not 1 < alpha < 1.5:
        raise ValueError(f"alpha = {alpha} is not between 1 and 1.5")
    if bdp_packets <= fd:
        raise ValueError(f"a BDP of {bdp_packets} packets is too small")
    added = (12 - 7 * alpha) / (4 * alpha)
    kept = 1 - fd / bdp_packets
    square = kept * kept
    window = (-square + math.sqrt(square * (1 - 2 * added / q) + 2 * added / q)) / (1 - square)
    return added / (q * (kept + (1 - kept) * window))


def capped(window: float, q: float, long: Time | str, short: Time | str) -> float:
    """Throughput without a collapse, in packets per T_s: W/(1 + q(T_l − T_s)/T_s).

    A window of W packets of which the share q takes T_l.

    Args:
        window: W, the largest window in packets.
        q: Share of the packets on the congested path.
        long: T_l.
        short: T_s.

    Raises:
        ValueError: When q is out of its range.
    """
    _share(q)
    return window / (1 + q * (seconds(long) / seconds(short) - 1))


def worst_share(paths: int, history: int, late: float) -> float:
    """The largest share of congested acknowledgements among consecutive ones (the proof of Theorem 6).

    Packets are sent one per unit of time, in rotation over the paths; packets of path 0 are acknowledged
    ``late`` units later than the others.

    Args:
        paths: n, at least 2.
        history: How many consecutive acknowledgements are looked at.
        late: T_l − T_s in units of the time between two packets; ties arrive congested first.

    Raises:
        ValueError: When there are too few paths, or no history.
    """
    if paths < 2 or history < 1:
        raise ValueError(f"{paths} paths and {history} acknowledgements: at least 2 and 1 are needed")
    packets = np.arange(max(40, 4 * history) * paths + 2 * math.ceil(late))
    congested = packets % paths == 0
    arrival = packets + np.where(congested, late, 0.0)
    order = np.lexsort((~congested, arrival))
    # The end is left out: uncongested packets that would come between are not sent any more.
    counted = congested[order][math.ceil(late) : len(packets) - 2 * math.ceil(late) - paths]
    sums = np.convolve(counted, np.ones(history), "valid")
    return float(sums.max() / history)


def spacing_factor(cut: float, spacing: str, paths: int = 256, cuts: int = 200_000, seed: int = 1) -> float:
    """The throughput of a sawtooth with congested packets that are not evenly spaced, over :func:`sawtooth`.

    Our extension of the paper's model, for networks that do not rotate paths. Between cuts W² grows by two
    increases per packet, so that only the gaps between congested packets matter; they are drawn.

    Args:
        cut: Share of the window that a cut takes.
        spacing: ``"rotation"``: every n-th packet (1 by definition); ``"rounds"``: a random one of each n;
            ``"random"``: each with probability 1/n.
        paths: n; the result hardly depends on it.
        cuts: How many cuts are drawn.
        seed: Of the draws.

    Raises:
        ValueError: When there is no such spacing, or an argument is out of its range.
    """
    _cut(cut)
    if spacing not in SPACINGS:
        raise ValueError(f"{spacing!r} is not a spacing; known: {', '.join(SPACINGS)}")
    random = np.random.default_rng(seed)
    if spacing == "rotation":
        gaps = np.full(cuts, float(paths))
    elif spacing == "rounds":
        places = np.arange(cuts + 1) * paths + random.integers(0, paths, cuts + 1)
        gaps = np.diff(places).astype(float)
    else:
        gaps = random.geometric(1 / paths, cuts).astype(float)
    window, packets, time = largest_window(1 / paths, cut), 0.0, 0.0
    for place, gap in enumerate(gaps.tolist()):
        begin = window * (1 - cut)
        window = math.sqrt(begin * begin + 2 * gap)
        if place >= cuts // 100:
            packets, time = packets + gap, time + window - begin
    return packets / time / sawtooth(1 / paths, cut)


def exponents(paths: list[float], throughputs: list[float]) -> Floats:
    """The local exponents of a throughput in n: of each two neighbouring points. ½ is a collapse as 1/√q.

    Args:
        paths: n, rising.
        throughputs: As many, all positive.

    Raises:
        ValueError: When there are fewer than two points, or not as many of both.
    """
    if len(paths) != len(throughputs) or len(paths) < 2:
        raise ValueError("at least two points are needed, and as many throughputs as numbers of paths")
    logs = [(math.log(n), math.log(value)) for n, value in zip(paths, throughputs, strict=True)]
    return np.array([(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(logs)])


def _share(q: float) -> None:
    if not 0 < q <= 1:
        raise ValueError(f"q = {q} is not a share above 0")


def _cut(cut: float) -> None:
    if not 0 < cut < 1:
        raise ValueError(f"a cut of {cut} is not between 0 and 1")
