"""Means and their confidence intervals over seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence

CONFIDENCE = 0.95
"""Share of such intervals that hold the true mean, where runs with other seeds are independent and
their values are spread normally."""


def mean_interval(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean of some values, and half the width of its interval: ``t · s / √n``.

    ``s`` is the standard deviation with ``n - 1`` in the denominator, ``t`` the quantile of Student's
    distribution with ``n - 1`` degrees of freedom.

    Args:
        values: At least one.

    Returns:
        The mean, and half the width; None for a single value, of which nothing is known.
    """
    n = len(values)
    mean = math.fsum(values) / n
    if n < 2:
        return mean, None
    if min(values) == max(values):
        # Exactly: rounding of the mean is no spread.
        return values[0], 0.0
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    return mean, student(CONFIDENCE, n - 1) * deviation / math.sqrt(n)


def student(confidence: float, freedom: int) -> float:
    """The ``t`` between whose negative and positive a share of Student's distribution lies.

    Found by bisection on the closed form for whole degrees of freedom (Abramowitz and Stegun, 26.7.3
    and 26.7.4).

    Args:
        confidence: The share, from 0 to 1.
        freedom: Degrees of freedom, at least 1.
    """
    low, high = 0.0, 1.0
    while _inside(high, freedom) < confidence:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if _inside(middle, freedom) < confidence:
            low = middle
        else:
            high = middle
    return high


def _inside(t: float, freedom: int) -> float:
    """The share of Student's distribution between -t and t."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    term = total = cosine if freedom % 2 else 1.0
    for k in range(2 if freedom % 2 else 1, freedom - 1, 2):
        term *= cosine * cosine * k / (k + 1)
        total += term
    if freedom % 2:
        return 2 / math.pi * (angle + (sine * total if freedom > 1 else 0.0))
    return sine * total
