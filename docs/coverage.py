"""Measures how often intervals contain the true value, on known distributions, for the page on statistics.

``python docs/coverage.py`` writes its tables into ``docs/guide/statistics.md``, between
``<!-- made: coverage -->`` and ``<!-- end -->``. It takes some minutes of a core.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from incast.results.decide import Values, difference
from incast.results.measures.named import find
from incast.results.pooled import pooled
from incast.results.stats import percentile

PAGE = Path(__file__).parent / "guide/statistics.md"
SEEDS = (3, 5, 10)
FLOWS = 1_000
PAIRED_FLOWS = 300
SPREAD = 0.2
"""Of the logarithm of the factor that the flows of a seed have in common, where seeds differ."""
NOISE = 0.4
"""Of the logarithm of the factor that an algorithm gives each flow."""

Draws = npt.NDArray[np.float64]
Statistic = float | str


def exponential(draw: np.random.Generator, shape: tuple[int, ...]) -> Draws:
    """Draws from the exponential distribution with the mean 1."""
    return draw.exponential(1.0, shape)


def pareto(draw: np.random.Generator, shape: tuple[int, ...]) -> Draws:
    """Draws from Pareto's distribution with the exponent 1.5 and the least value 1, which has no variance."""
    return np.asarray(draw.pareto(1.5, shape) + 1)


DISTRIBUTIONS: tuple[tuple[str, Callable[[np.random.Generator, tuple[int, ...]], Draws], bool], ...] = (
    ("exponential", exponential, False),
    ("Pareto, exponent 1.5", pareto, False),
    ("exponential, seeds differ", exponential, True),
    ("Pareto, seeds differ", pareto, True),
)


def true_value(kind: Callable[..., Draws], differ: bool, statistic: Statistic) -> float:
    """Computes the mean or a percentile of a distribution."""
    if statistic == "mean":
        return (1.0 if kind is exponential else 3.0) * (math.exp(SPREAD**2 / 2) if differ else 1.0)
    normal = np.linspace(-8, 8, 16_001)
    weights = np.exp(-(normal**2) / 2)
    factors = np.exp(SPREAD * normal) if differ else np.ones(1)
    weights = weights / weights.sum() if differ else np.ones(1)

    def below(value: float) -> float:
        each = value / factors
        shares = 1 - np.exp(-each) if kind is exponential else 1 - np.maximum(each, 1.0) ** -1.5
        return float(np.sum(weights * shares))

    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < float(statistic) / 100 else (low, middle)
    return high


def pooled_rows(repetitions: int) -> list[str]:
    """Makes the rows of the table of pooled flows."""
    draw = np.random.default_rng(1)
    rows = []
    statistics: tuple[Statistic, ...] = ("mean", 50.0, 99.0)
    for name, kind, differ in DISTRIBUTIONS:
        truth = [true_value(kind, differ, statistic) for statistic in statistics]
        held = np.zeros((len(statistics), len(SEEDS)))
        for column, seeds in enumerate(SEEDS):
            for _ in range(repetitions):
                flows = kind(draw, (seeds, FLOWS))
                if differ:
                    flows *= np.exp(SPREAD * draw.standard_normal((seeds, 1)))
                for row, statistic in enumerate(statistics):
                    asked = float(statistic) if statistic != "mean" else "mean"
                    found = pooled(dict(enumerate(flows)), asked)  # type: ignore[arg-type]
                    held[row, column] += found.low <= truth[row] <= found.high
        cells = (" / ".join(f"{100 * one / repetitions:.1f}" for one in row) for row in held)
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return rows


def paired_rows(repetitions: int) -> list[str]:
    """Makes the rows of the table of pairs: the flows of a seed are the same, times a factor for each flow.

    Both sides have the same distribution, so that the true ratio is 1.
    """
    draw = np.random.default_rng(2)
    rows = []
    measure = find("mean.all")
    statistics: tuple[Callable[[Draws], float], ...] = (
        lambda flows: float(np.mean(flows)),
        lambda flows: percentile(flows, 99),
    )
    for name, kind, differ in DISTRIBUTIONS:
        held = np.zeros((len(statistics), len(SEEDS)))
        for column, seeds in enumerate(SEEDS):
            runs = frozenset(range(seeds))
            for _ in range(repetitions):
                flows = kind(draw, (seeds, PAIRED_FLOWS))
                if differ:
                    flows *= np.exp(SPREAD * draw.standard_normal((seeds, 1)))
                both = flows * np.exp(NOISE * draw.standard_normal((2, *flows.shape)))
                for row, statistic in enumerate(statistics):
                    a, b = (Values({n: statistic(one) for n, one in enumerate(side)}, runs) for side in both)
                    found = difference(a, b, measure)
                    held[row, column] += found.low <= 1 <= found.high
        cells = (" / ".join(f"{100 * one / repetitions:.1f}" for one in row) for row in held)
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return rows


def table(head: Sequence[str], rows: Sequence[str]) -> str:
    """Puts a table together."""
    return "\n".join([f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *rows])


def main() -> None:
    """Makes both tables and writes them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repetitions", type=int, default=2_000)
    repetitions = parser.parse_args().repetitions
    deviation = 100 * math.sqrt(0.95 * 0.05 / repetitions)
    text = (
        "Share of 95 % intervals that contain the true value, in percent, with 3 / 5 / 10 seeds;\n"
        f"{repetitions:,} repetitions (± {2 * deviation:.1f}). Pooled, {FLOWS:,} flows a seed:\n\n"
        f"{table(('Flows', 'mean', 'p50', 'p99'), pooled_rows(repetitions))}\n\n"
        f"Pairs, {PAIRED_FLOWS} flows a seed:\n\n"
        f"{table(('Flows', 'mean', 'p99'), paired_rows(repetitions))}\n"
    )
    page = PAGE.read_text()
    made = re.compile(r"(<!-- made: coverage -->\n).*?(<!-- end -->)", re.DOTALL)
    PAGE.write_text(made.sub(lambda found: f"{found[1]}\n{text}\n{found[2]}", page))


if __name__ == "__main__":
    main()
