"""The step's bounds, Equations 19 to 25 of SQCC, as the claims and panels use them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from incast.results.measures.quantity import Quantity
from incast.theory import sqcc

Floats = npt.NDArray[np.float64]

CAPACITY = 10e9
BETA = 0.008
SEGMENT = 512_000.0
"""C in bit/s, β, and the bits of a segment."""


def error_at_rest(flows: int) -> float:
    """SQCC's error at the fixed point of Equation 17, by Equation 16."""
    at_rest = sqcc.fixed_point("error", flows)
    return sqcc.error("error", f"{at_rest * 1e12:.0f}ps")


def left(flows: int, k: float, end: str) -> float:
    """What Equation 20 leaves in the queue at an end of the bounds, over C·T_low.

    The left side of Equation 20 as printed, with error = δN/(βC), τ = seg N/C and C·T_low = k segments.
    """
    step = sqcc.step_bounds(flows, k)[("lower", "upper").index(end)]
    return _left(flows, step) / (k * SEGMENT)


def _left(flows: int, step: float) -> float:
    error = step * flows / (BETA * CAPACITY)
    tau = SEGMENT * flows / CAPACITY
    fast = CAPACITY / flows + step
    return flows * (fast * tau + fast * (1 - BETA * error) * tau) - CAPACITY * 2 * tau


def outside(flows: int, k: float) -> float:
    """The most that Equation 20 leaves a hundredth outside of the bounds, over C·T_low."""
    low, high = sqcc.step_bounds(flows, k)
    return max(_left(flows, 0.99 * low), _left(flows, 1.01 * high)) / (k * SEGMENT)


def bound(flows: int, k: float = 1, end: str = "lower") -> Quantity:
    """An end of the bounds of Equations 21 and 24."""
    return Quantity(sqcc.step_bounds(flows, k)[("lower", "upper").index(end)], "rate")


def over_approximation(flows: int, k: float, end: str) -> float:
    """An end of the bounds over what Equation 22, or 25, has for it: kC/N² and C/N."""
    low, high = sqcc.step_bounds(flows, k)
    return low / (k * CAPACITY / flows**2) if end == "lower" else high / (CAPACITY / flows)


def flows_at(step: float) -> float:
    """The number of flows at which Equation 22 gives this step in Mbps."""
    return math.sqrt(CAPACITY / (step * 1e6))


def printed_step(flows: int, less: int) -> Quantity:
    """δ = kC/N² of Equation 25, with k = ⌈lg N⌉ less a number."""
    return Quantity((math.ceil(math.log10(flows)) - less) * CAPACITY / flows**2, "rate")


def bounds_points(end: str, k: float) -> tuple[Floats, Floats]:
    """An end of the bounds in Mbps over the number of flows."""
    flows = np.unique(np.geomspace(4 * k, 1000, 60).astype(int))
    place = ("lower", "upper").index(end)
    return flows.astype(float), np.array([sqcc.step_bounds(int(n), k)[place] / 1e6 for n in flows])
