"""Operations of CCC's Algorithm 1, counted as it runs on numbers that count, and the size of its state."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import incast

REGIONS = ("Ai", "Ad", "H1i", "H2i", "H1d", "H2d")
"""The regions of Figure 4."""

KINDS = ("quotients", "products", "sums")

LISTED = {
    "Ai": (1, 6 + 1 + 4, 8 + 1 + 3 + 3 + 1),
    "increase": (1, 6 + 1 + 5 + 5, 8 + 1 + 3 + 1 + 1),
    "decrease": (1, 6 + 1 + 2 + 4, 8 + 1 + 3 + 1 + 1),
}
"""What the comments of Algorithm 1 add up to: lines 2, 4, 5, the branch, and 16, in the order of KINDS."""

RTT_MIN, Q_B, LINE, PACKET, GAMMA = 20_000.0, 5_000.0, 25.0, 8_000.0, 0.2
"""Section 6.1, in ns, Gbps and bits."""

LATEST = 5
"""Rates of which S is the mean."""


class Number:
    """A number that counts what is done with it.

    Comparisons, negations and powers of two are free, as in the paper.
    """

    def __init__(self, value: float, counts: dict[str, int]) -> None:
        self.value = value
        self.counts = counts

    def _with(self, kind: str, value: float) -> Number:
        self.counts[kind] += 1
        return Number(value, self.counts)

    def __add__(self, other: Number | float) -> Number:
        return self._with("sums", self.value + _value(other))

    def __sub__(self, other: Number | float) -> Number:
        return self._with("sums", self.value - _value(other))

    def __rsub__(self, other: float) -> Number:
        return self._with("sums", other - self.value)

    def __mul__(self, other: Number | float) -> Number:
        return self._with("products", self.value * _value(other))

    __radd__, __rmul__ = __add__, __mul__

    def __rtruediv__(self, other: float) -> Number:
        return self._with("quotients", other / self.value)

    def __gt__(self, other: float) -> bool:
        return self.value > other

    def piecewise(self) -> Number:
        """log2 as in Equation 10: i + (x − 2^i)/2^i; i and the quotient are shifts."""
        whole = math.floor(math.log2(self.value))
        above = self - 2.0**whole
        return Number(above.value / 2.0**whole, self.counts) + whole


def _value(other: Number | float) -> float:
    return other.value if isinstance(other, Number) else other


class Step(NamedTuple):
    """One acknowledgement.

    Attributes:
        region: The region in which it is.
        change: u, in Gbps.
        counts: The operations, by kind.
    """

    region: str
    change: float
    counts: dict[str, int]


def step(region: str) -> Step:
    """Algorithm 1 for an acknowledgement that lies in a region.

    Raises:
        ValueError: When it lies in another.
    """
    q_ns, slope, rate_gbps = {
        "Ai": (6_000.0, -0.4, 5.0),
        "Ad": (8_000.0, -0.1, 5.0),
        "H1i": (1_000.0, -0.2, 5.0),
        "H2i": (1_000.0, 0.1, 5.0),
        "H1d": (7_000.0, 0.5, 5.0),
        "H2d": (30_000.0, -0.2, 5.0),
    }[region]
    counts = dict.fromkeys(KINDS, 0)

    def known(value: float) -> Number:
        return Number(value, counts)

    itv_ns = 1_000.0
    rtt, rtt_before = known(RTT_MIN + q_ns), known(RTT_MIN + q_ns - slope * itv_ns)
    now, before = known(50_000.0), known(50_000.0 - itv_ns)
    rate, q_v_before, recorded, oldest = known(rate_gbps), known(slope), known(LATEST * 5.0), known(5.0)
    # Line 2: Equations 2 to 4, 10 and 6. Constants, such as 1/q_B, are known before.
    q = rtt - RTT_MIN
    itv = now - before
    gradient = (rtt - rtt_before) * (1.0 / itv)
    q_v = GAMMA * q_v_before + (1 - GAMMA) * gradient
    delta = 0.5 * (math.log2(Q_B) - q.piecewise()) - q_v
    irr = (-LINE / Q_B) * q + LINE
    irr = irr if irr > 0.0 else known(0.0)
    # Lines 3 to 5: the basis is the mean of the latest rates, kept as their sum.
    found = _region(q.value, q_v.value, delta.value)
    if found != region:
        raise ValueError(f"the acknowledgement lies in {found}, not in {region}")
    fair = 1.0 if delta * (irr - rate) > 0.0 else 0.0
    recorded = recorded + rate - oldest
    basis = recorded * (1 / LATEST)
    # Lines 6 to 15.
    if region == "Ai":
        ahead = (q + itv * q_v).piecewise()
        change = (0.5 * (math.log2(Q_B) - ahead) - q_v) * (PACKET / RTT_MIN)
    elif region in ("H1i", "H2i"):
        if region == "H1i":
            room = 1.0 - rate * 2.0 * (1 / LINE)
            weight = 0.5 * irr * (1 / LINE) * (room if room > 0.0 else known(0.0))
        else:
            weight = irr * (0.1 / LINE)
        change = itv * (1 / RTT_MIN) * 2.0 * weight * fair * basis
    else:
        excess = q - Q_B
        share = known(abs(excess.value)) * (1 / Q_B)
        weight = -0.25 * known(min(share.value, 1.0))
        change = itv * (1 / RTT_MIN) * weight * fair * rate
    # Line 16.
    _ = rate + change
    return Step(region, change.value, counts)


def _region(q: float, q_v: float, delta: float) -> str:
    """Figure 4, with A regions from q_B to 4 q_B."""
    if q_v > 0 and delta <= 0:
        return "H1d"
    if q < Q_B:
        return "H1i" if q_v < 0 else "H2i"
    if q > 4 * Q_B:
        return "H2d"
    return "Ai" if delta > 0 else "Ad"


def most(kind: str) -> float:
    """The most operations of a kind in any region."""
    return float(max(step(region).counts[kind] for region in REGIONS))


def most_listed(kind: str) -> float:
    """The most that the comments of Algorithm 1 add up to on a way through it."""
    return float(max(counts[KINDS.index(kind)] for counts in LISTED.values()))


def state_bits() -> float:
    """Bits of the state of a flow here."""
    (found,) = (one for one in incast.algorithms() if one.name == "ccc")
    return float(8 * found.state_bytes)


def counted(kind: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The operations of a kind in each region, by its number."""
    return np.arange(1.0, len(REGIONS) + 1), np.array(
        [float(step(region).counts[kind]) for region in REGIONS]
    )
