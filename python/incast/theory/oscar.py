"""OSCAR's analysis: convergence in steps, window and rate together, fairness of MIMD followed by AI.

Source: *OSCAR*, NSDI 2026, appendix D (Theorems D.1 to D.3, Propositions D.1 and D.2, Figure 26).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from incast.results import stats
from incast.results.arrays import Floats
from incast.units import Rate


def steps_to_converge(gap: float, portion: float, tolerance: float = 1.0) -> int:
    """S(Δ), the steps of a control that removes a portion of its gap in each (Theorem D.1, its recursion).

    S is 1 where Δ < ε, else S((1 - ζ) Δ) + 1: the updates until the gap is below ε, and a last step that
    finds it so. The proof's "n < log(Δ/ε)" is to be read as n > log(Δ/ε): dividing by the negative logarithm
    of 1 - ζ turns the relation round.

    Args:
        gap: Δ, in any unit.
        portion: ζ, above 0 and at most 1; with 1 a single update removes the gap.
        tolerance: ε, in the unit of Δ.

    Raises:
        ValueError: When an argument is outside its range.
    """
    if not (0 < portion <= 1 and tolerance > 0 and math.isfinite(gap)):
        raise ValueError("the portion is above 0 and at most 1, the tolerance above 0, the gap finite")
    steps = 1
    while gap >= tolerance:
        gap *= 1 - portion
        steps += 1
    return steps


def steps_by_formula(gap: float, portion: float, tolerance: float = 1.0) -> float:
    """The logarithm of Δ/ε to the base 1/(1 - ζ) (Theorem D.1).

    :func:`steps_to_converge` is the next whole number above it, plus 1.

    Raises:
        ValueError: When the gap or the tolerance is not above 0, or the portion is not between 0 and 1.
    """
    if not (0 < portion < 1 and tolerance > 0 and gap > 0):
        raise ValueError("the portion is between 0 and 1, gap and tolerance are above 0")
    return math.log(gap / tolerance) / -math.log(1 - portion)


def rates_of_windows(
    windows_bytes: npt.ArrayLike, target_window_bytes: float, target_rate: str | Rate, exponent: float = 1.0
) -> Floats:
    """Rates that belong to windows by r = R (w/W)^p (Theorem D.2).

    With every exponent p equal windows have equal rates, larger windows larger ones, and f(0) = 0, f(W) = R
    (properties 1 and 2 of the proof). Property 3, that windows whose sum is W have rates whose sum is R,
    holds for p = 1 alone: the same ratio of window and of rate.

    Args:
        windows_bytes: Windows of flows.
        target_window_bytes: W, the target of the sum of all windows.
        target_rate: R, the target of the sum of all rates.
        exponent: p.

    Returns:
        The rates in bit/s, of the shape of the windows.

    Raises:
        ValueError: When a window is negative, or the target or the exponent is not above zero.
    """
    windows = np.asarray(windows_bytes, dtype=np.float64)
    if np.any(windows < 0) or target_window_bytes <= 0 or exponent <= 0:
        raise ValueError("windows are at least 0, target and exponent above 0")
    return np.asarray(int(Rate(target_rate)) * (windows / target_window_bytes) ** exponent)


def mimd(rates: npt.ArrayLike, total: float = 1.0) -> Floats:
    """The linear MIMD of Proposition D.1: all rates by the factor that makes their sum the target.

    Args:
        rates: Rates of flows, in any unit.
        total: The target of their sum, in the same unit: the line of full utilisation in Figure 26.

    Raises:
        ValueError: When no rate is above zero.
    """
    values = np.asarray(rates, dtype=np.float64)
    if np.any(values < 0) or values.sum() <= 0:
        raise ValueError("rates are at least 0, and one is above")
    return np.asarray(values * (total / values.sum()))


def additive(rates: npt.ArrayLike, increase: float) -> Floats:
    """The AI of Proposition D.2: the same addition to every rate."""
    return np.asarray(np.asarray(rates, dtype=np.float64) + increase)


def converge(rates: npt.ArrayLike, increase: float, cycles: int, total: float = 1.0) -> Floats:
    """The states of Figure 26: MIMD and AI in turns, from any rates (Theorem D.3).

    Args:
        rates: S_0, the rate of each flow, of shape (flows), in any unit.
        increase: α, what an AI operation adds to each rate.
        cycles: How often MIMD and AI follow each other.
        total: μ, the target of the sum.

    Returns:
        S_0, S_1, … of shape (2 · cycles + 1, flows): odd ones after MIMD, even ones after AI.

    Raises:
        ValueError: As :func:`mimd`.
    """
    states = [np.asarray(rates, dtype=np.float64)]
    for _ in range(cycles):
        states.append(mimd(states[-1], total))
        states.append(additive(states[-1], increase))
    return np.stack(states)


def fairness(states: npt.ArrayLike) -> Floats:
    """F, Jain's index of each state: (Σr)²/(n Σr²) (appendix D.3).

    Args:
        states: Of shape (…, flows).

    Returns:
        Of shape (…).
    """
    values = np.asarray(states, dtype=np.float64)
    return np.apply_along_axis(stats.jain, -1, values)


def gap_factor(rates: npt.ArrayLike, increase: float) -> float:
    """k, by which an AI operation shrinks 1 - F: n Σr² / (n Σr² + 2 n α Σr + n² α²) (proof of Theorem D.3).

    The paper prints the reciprocal, which is above 1; its next line says 0 < k < 1, which is so for this one.

    Args:
        rates: Rates before the operation.
        increase: α.
    """
    values = np.asarray(rates, dtype=np.float64)
    n = len(values)
    before = n * float(values @ values)
    return before / (before + 2 * n * increase * float(values.sum()) + n**2 * increase**2)


def gap_factor_limit(flows: int, increase: float, total: float = 1.0) -> float:
    """The largest k of all states whose sum is μ: 1/(1 + 2α/μ + n α²/μ²).

    It is the k of one flow with everything, where Σr² = μ² is largest. That every k is below 1 is not enough
    for their product to vanish, as the proof of Theorem D.3 concludes; that all are below this limit is.

    Args:
        flows: n.
        increase: α.
        total: μ.
    """
    part = increase / total
    return 1 / (1 + 2 * part + flows * part**2)
