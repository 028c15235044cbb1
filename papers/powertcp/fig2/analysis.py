"""The values of Figure 2: reactions at 100 Gbit/s and 20 µs."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from incast.theory.fluid import Floats, Link
from incast.theory.powertcp import Law, reaction

LINK = Link("100Gbps", "20us")

# Queue in BDPs and growth in line rates. Voltage does not tell 2 from 3, current not 1 from 3.
CASES = {1: (0.0, 4.0), 2: (0.5, 0.0), 3: (0.5, 4.0)}


def factor(law: Law, bdps: float, growth: float) -> float:
    """By how much a law divides a window."""
    return float(reaction(law, LINK, bdps * LINK.bdp_bytes, growth))


def by_queue(law: Law, growth: float = 1.0) -> tuple[Floats, Floats]:
    """Queues in KB, and the reaction to each."""
    queue = np.linspace(0, 2 * LINK.bdp_bytes, 101)
    return queue / 1e3, reaction(law, LINK, queue, growth)


def by_growth(law: Law, bdps: float = 1.0) -> tuple[Floats, Floats]:
    """Growth of the queue in line rates, and the reaction to each."""
    growth = np.linspace(0, 8, 101)
    return growth, reaction(law, LINK, bdps * LINK.bdp_bytes, growth)


def range_by_queue(law: Law) -> float:
    """The largest reaction to any queue up to 2 BDPs over the smallest, at a growth of one line rate."""
    values = by_queue(law)[1]
    return float(values.max() / values.min())


def range_by_growth(law: Law) -> float:
    """The largest reaction to any growth up to eight line rates over the smallest; queue of one BDP."""
    values = by_growth(law)[1]
    return float(values.max() / values.min())


def in_cases(law: Law) -> tuple[Floats, Floats]:
    """The three cases, and the reaction in each."""
    return np.array(list(CASES)), np.array([factor(law, *case) for case in CASES.values()])


def apart(law: Law, first: int = 0, second: int = 0) -> float:
    """The larger of the reactions in two cases over the smaller; without cases the least of all pairs."""
    pairs = [(first, second)] if first else list(combinations(CASES, 2))
    ratios = [factor(law, *CASES[a]) / factor(law, *CASES[b]) for a, b in pairs]
    return min(max(ratio, 1 / ratio) for ratio in ratios)
