"""Trajectories of Figure 26, and Theorems D.1 to D.3 in numbers."""

from __future__ import annotations

import itertools
import math

import numpy as np

from incast.theory import oscar
from incast.theory.fluid import Floats

GAPS = tuple(10.0**power for power in range(1, 7))
PORTIONS = (0.3, 0.5, 0.9)
STARTS = {"2": np.array([0.6, 0.1])} | {str(n): np.linspace(0.01, 1, n) ** 2 / n for n in (10, 100)}
INCREASES = (0.001, 0.01)
# Rounding in floating point.
LEAST = 1e-12


def steps_off() -> float:
    """The largest difference of the steps to converge from the formula's next whole number plus one."""
    return max(
        abs(oscar.steps_to_converge(gap, portion) - (math.floor(oscar.steps_by_formula(gap, portion)) + 2))
        for gap, portion in itertools.product(GAPS, PORTIONS)
        if not oscar.steps_by_formula(gap, portion).is_integer()
    )


def steps_per_decade(portion: float) -> float:
    """The slope of the steps over log10 of the gap, over that of the formula."""
    steps = [oscar.steps_to_converge(gap, portion) for gap in GAPS]
    slope = float(np.polyfit(np.log10(GAPS), steps, 1)[0])
    return slope * -math.log10(1 - portion)


def _windows() -> Floats:
    """All ways to share a target window among three flows in fortieths."""
    parts = range(41)
    return np.array([(a, b, 40 - a - b) for a, b in itertools.product(parts, parts) if a + b <= 40]) / 40


def rate_off(exponent: float) -> float:
    """The largest difference of the sum of rates from its target, as a share, where windows fill theirs."""
    rates = oscar.rates_of_windows(_windows(), 1.0, "1Gbps", exponent)
    return float(np.abs(rates.sum(axis=1) / 1e9 - 1).max())


def least_rate_off() -> float:
    """The least of these over exponents other than one."""
    return min(rate_off(exponent) for exponent in (0.5, 0.8, 0.9, 1.1, 1.25, 2.0))


def _all(cycles: int = 400) -> list[tuple[int, float, Floats]]:
    return [
        (len(start), increase, oscar.converge(start, increase, cycles))
        for start, increase in itertools.product(STARTS.values(), INCREASES)
    ]


def changed_by_mimd() -> float:
    """The largest change of F by an MIMD operation."""
    fairness = (oscar.fairness(states) for _, _, states in _all())
    return max(float(np.abs(each[1::2] - each[:-1:2]).max()) for each in fairness)


def least_by_ai() -> float:
    """The smallest growth of F by an AI operation, as a share of 1 - F before it, where F is below 1."""
    least = math.inf
    for _, _, states in _all():
        fairness = oscar.fairness(states)
        before, after = fairness[1::2], fairness[2::2]
        unfair = 1 - before > 1e-9
        least = min(least, float(((after - before)[unfair] / (1 - before)[unfair]).min()))
    return least


def falls() -> float:
    """How often F falls by more than rounding."""
    return float(sum(np.sum(np.diff(oscar.fairness(states)) < -LEAST) for _, _, states in _all()))


def unfairness(flows: str, increase: float, cycles: int = 10_000) -> float:
    """1 - F after many cycles."""
    return abs(float(1 - oscar.fairness(oscar.converge(STARTS[flows], increase, cycles)[-1])))


def cycles_to(fairness: float, increase: float) -> float:
    """Cycles of MIMD and AI until two flows have this F."""
    found = oscar.fairness(oscar.converge(STARTS["2"], increase, 5000)[::2])
    return float(np.argmax(found >= fairness))


def factor_off() -> float:
    """The largest relative difference of what AI does to 1 - F from the factor k."""
    worst = 0.0
    for _, increase, states in _all(100):
        gap = 1 - oscar.fairness(states)
        for before, after, state in zip(gap[1::2], gap[2::2], states[1::2], strict=True):
            worst = max(
                worst, abs(after / before / oscar.gap_factor(state, increase) - 1) if before > 1e-6 else 0
            )
    return worst


def _factors() -> list[tuple[float, float]]:
    """Each k with its limit."""
    return [
        (oscar.gap_factor(state, increase), oscar.gap_factor_limit(n, increase))
        for n, increase, states in _all(100)
        for state in states[1::2]
    ]


def largest_factor() -> float:
    """The largest k."""
    return max(k for k, _ in _factors())


def least_printed_factor() -> float:
    """The smallest factor of those that the paper prints, which are the reciprocals."""
    return min(1 / k for k, _ in _factors())


def over_limit() -> float:
    """The largest k over its limit 1/(1 + 2α/μ + n α²/μ²)."""
    return max(k / limit for k, limit in _factors())


# The picture.


def trajectory(increase: float, cycles: int = 60) -> tuple[Floats, Floats]:
    """The states of two flows."""
    first, second = oscar.converge(STARTS["2"], increase, cycles).T
    return first, second


def named(increase: float) -> tuple[Floats, Floats]:
    """S_0 to S_3."""
    first, second = oscar.converge(STARTS["2"], increase, 2)[:4].T
    return first, second


def fair() -> tuple[Floats, Floats]:
    """The line of equal rates."""
    return np.array([0.0, 1.0]), np.array([0.0, 1.0])


def full() -> tuple[Floats, Floats]:
    """The line of full utilisation."""
    return np.array([0.0, 1.0]), np.array([1.0, 0.0])


def unfair_over_cycles(flows: str, increase: float) -> tuple[Floats, Floats]:
    """1 - F after each cycle."""
    gaps = 1 - oscar.fairness(oscar.converge(STARTS[flows], increase, 2000)[::2])
    shown = gaps > 1e-8
    return np.arange(len(gaps), dtype=np.float64)[shown], gaps[shown]


def steps(portion: float) -> tuple[Floats, Floats]:
    """Steps to converge over the gap."""
    gaps = np.logspace(0.5, 6, 23)
    return gaps, np.array([float(oscar.steps_to_converge(gap, portion)) for gap in gaps])
