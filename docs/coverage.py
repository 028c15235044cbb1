"""Measures how often intervals and words are right, on known distributions, for the page on statistics.

``python docs/coverage.py`` writes its tables into ``docs/guide/statistics.md``, each between
``<!-- made: NAME -->`` and ``<!-- end -->``. It takes a quarter of an hour of a core; ``--only sequential``,
which makes the table of the rule that adds seeds, a minute.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from incast.results.decide import Values, Word, difference
from incast.results.measures.named import find
from incast.results.pooled import pooled
from incast.results.stats import percentile
from incast.runs.sweep.decisions import Baseline, Decision, Pair
from incast.runs.sweep.rule import Rule, follow, schedule

PAGE = Path(__file__).parent / "guide/statistics.md"
SEEDS = (3, 5, 10)
FLOWS = 1_000
PAIRED_FLOWS = 300
SPREAD = 0.2
"""Of the logarithm of the factor that the flows of a seed have in common, where seeds differ."""
RESAMPLES = 200
"""Draws of each hierarchical bootstrap."""
BOOTSTRAP_FLOWS = 300
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


STATISTICS: tuple[Statistic, ...] = ("mean", 50.0, 99.0)


def interval_rows(
    draw: np.random.Generator,
    repetitions: int,
    flows_of_seed: int,
    interval: Callable[[np.random.Generator, Draws], tuple[Draws, Draws]],
) -> list[str]:
    """Makes a row for each distribution: how often intervals of the three statistics contain the true value.

    Args:
        draw: The source of draws.
        repetitions: Intervals for each number of seeds.
        flows_of_seed: Flows of each seed.
        interval: Computes the lower and the upper ends from a row of flows for each seed.
    """
    rows = []
    for name, kind, differ in DISTRIBUTIONS:
        truth = [true_value(kind, differ, statistic) for statistic in STATISTICS]
        held = np.zeros((len(STATISTICS), len(SEEDS)))
        for column, seeds in enumerate(SEEDS):
            for _ in range(repetitions):
                flows = kind(draw, (seeds, flows_of_seed))
                if differ:
                    flows *= np.exp(SPREAD * draw.standard_normal((seeds, 1)))
                low, high = interval(draw, flows)
                held[:, column] += (low <= truth) & (truth <= high)
        cells = (" / ".join(f"{100 * one / repetitions:.1f}" for one in row) for row in held)
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return rows


def pooled_rows(repetitions: int) -> list[str]:
    """Makes the rows of the table of pooled flows."""
    return interval_rows(np.random.default_rng(1), repetitions, FLOWS, sectioned)


def bootstrap_rows(repetitions: int) -> list[str]:
    """Makes the rows of the hierarchical bootstrap: seeds are drawn, then flows of each.

    Its intervals are from the 2.5th to the 97.5th percentile. It is not in the package; its rows are here so
    that the decision can be repeated.
    """
    return interval_rows(np.random.default_rng(4), repetitions, BOOTSTRAP_FLOWS, bootstrap)


def sectioned(_: np.random.Generator, flows: Draws) -> tuple[Draws, Draws]:
    """Computes the intervals of the package, as :func:`bootstrap` computes its own."""
    found = [pooled(dict(enumerate(flows)), statistic) for statistic in STATISTICS]  # type: ignore[arg-type]
    return np.array([one.low for one in found]), np.array([one.high for one in found])


def bootstrap(draw: np.random.Generator, flows: Draws) -> tuple[Draws, Draws]:
    """Computes 95 % intervals of the mean, the p50 and the p99 of all flows by a hierarchical bootstrap.

    Args:
        draw: The source of draws.
        flows: A row of flows for each seed.

    Returns:
        The lower and the upper ends.
    """
    seeds, count = flows.shape
    chosen = draw.integers(0, seeds, (RESAMPLES, seeds, 1))
    inside = draw.integers(0, count, (RESAMPLES, seeds, count))
    drawn = flows[chosen, inside].reshape(RESAMPLES, -1)
    n = seeds * count
    # Nearest ranks, as of all percentiles.
    ranks = [math.ceil(n * rank / 100) - 1 for rank in (50, 99)]
    ordered = np.partition(drawn, ranks, axis=1)
    values = np.stack([drawn.mean(axis=1), *(ordered[:, rank] for rank in ranks)])
    low, high = np.quantile(values, (0.025, 0.975), axis=1)
    return low, high


SIDES: tuple[tuple[str, str, float, float], ...] = (
    ("equal", "normal", 1.0, 0.03),
    ("equal", "normal", 1.0, 0.1),
    ("1.10", "normal", 1.1, 0.1),
    ("1.22", "normal", 1.22, 0.1),
    ("equal", "exponential", 1.0, 0.1),
    ("equal", "a rare event", 1.0, 0.1),
)
"""The ratio of both sides in words, how its logarithms differ between seeds, the ratio, and their spread."""

MARGIN = 0.05
MOST_SEEDS = 40
EVENT, EVENT_SIZE = 0.2, 8.0
"""Probability of a rare event, and its size in spreads of all else."""


def spread_draws(draw: np.random.Generator, kind: str, spread: float, shape: tuple[int, ...]) -> Draws:
    """Draws with the mean 0 and a standard deviation."""
    if kind == "exponential":
        return spread * (draw.exponential(1.0, shape) - 1)
    if kind == "normal":
        return spread * draw.standard_normal(shape)
    rest = spread / math.sqrt(1 + EVENT_SIZE**2 * EVENT * (1 - EVENT))
    happened = draw.random(shape) < EVENT
    return rest * (draw.standard_normal(shape) + EVENT_SIZE * (happened - EVENT))


def sequential_rows(repetitions: int) -> list[str]:
    """Makes the rows of the rule that adds seeds: real error rates, and the seeds that it takes."""
    draw = np.random.default_rng(3)
    measure = find("mean.all")
    base, other = ("base",), ("other",)
    rule = Rule(Baseline(0, "base"), measure, MARGIN, schedule(MOST_SEEDS))
    rows = []
    for words, kind, ratio, spread in SIDES:
        logarithms = math.log(ratio) + spread_draws(draw, kind, spread, (repetitions, MOST_SEEDS))
        said: Counter[Word] = Counter()
        seeds = 0
        for values in np.exp(logarithms).tolist():

            def judge(n: int, _: Sequence[Pair], values: Sequence[float] = values) -> list[Decision]:
                look = rule.looks[n]
                runs = frozenset(range(look.seeds))
                of, to = (
                    Values(dict(enumerate(values[: look.seeds])), runs),
                    Values(dict.fromkeys(runs, 1.0), runs),
                )
                found = difference(of, to, measure, confidence=1 - look.alpha, margin=MARGIN)
                return [Decision(other, base, {measure.name: found}, n + 1)]

            (last,) = follow(rule, [(other, base)], lambda _n, _of: None, judge)
            said[last.differences[measure.name].word] += 1
            seeds += rule.looks[last.look - 1].seeds
        right = Word.EQUAL if ratio == 1 else Word.WORSE
        wrong = sum(said[word] for word in (Word.BETTER, Word.WORSE, Word.EQUAL) if word is not right)
        cells = (100 * wrong, 100 * said[right], 100 * said[Word.NOT_SHOWN])
        parts = " | ".join(f"{cell / repetitions:.1f}" for cell in cells)
        rows.append(f"| {words} | {kind} | {spread} | {parts} | {seeds / repetitions:.0f} |")
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


def coverage(repetitions: int, bootstraps: int) -> str:
    """Makes the tables of intervals."""
    deviations = [200 * math.sqrt(0.95 * 0.05 / count) for count in (repetitions, bootstraps)]
    head = ("Flows", "mean", "p50", "p99")
    return (
        "Share of 95 % intervals that contain the true value, in percent, with 3 / 5 / 10 seeds;\n"
        f"{repetitions:,} repetitions (± {deviations[0]:.1f}). Pooled, {FLOWS:,} flows a seed:\n\n"
        f"{table(head, pooled_rows(repetitions))}\n\n"
        f"Pairs, {PAIRED_FLOWS} flows a seed:\n\n"
        f"{table(('Flows', 'mean', 'p99'), paired_rows(repetitions))}\n\n"
        f"For comparison a hierarchical bootstrap (seeds, then flows of each; {RESAMPLES} draws), which the\n"
        f"package does not have, {BOOTSTRAP_FLOWS} flows a seed, {bootstraps:,} repetitions "
        f"(± {deviations[1]:.1f}):\n\n"
        f"{table(head, bootstrap_rows(bootstraps))}\n"
    )


def sequential(repetitions: int) -> str:
    """Makes the table of the rule that adds seeds."""
    looks = ", ".join(f"{look.seeds}" for look in schedule(MOST_SEEDS))
    head = ("Ratio", "Differences of seeds", "Spread", "false, %", "right, %", "no word, %", "seeds, mean")
    deviation = 200 * math.sqrt(0.95 * 0.05 / repetitions)
    return (
        f"Looks after {looks} seeds, a margin of {100 * MARGIN:.0f} %, {repetitions:,} repetitions "
        f"(± {deviation:.1f} for a share of 5 %).\n"
        "*False* is a word for the wrong side, or any side if both are equal, or *equal* if they are not:\n\n"
        f"{table(head, sequential_rows(repetitions))}\n"
    )


def main() -> None:
    """Makes the tables and writes them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repetitions", type=int, default=10_000)
    parser.add_argument("--bootstraps", type=int, default=1_000, help="repetitions of the bootstrap")
    parser.add_argument("--only", choices=("coverage", "sequential"), help="one part (default: both)")
    options = parser.parse_args()
    page = PAGE.read_text()
    parts: dict[str, Callable[[], str]] = {
        "coverage": lambda: coverage(options.repetitions, options.bootstraps),
        "sequential": lambda: sequential(options.repetitions),
    }
    for name, make in parts.items():
        if options.only in (None, name):
            begin, end = f"<!-- made: {name} -->\n", "<!-- end -->"
            before, _, rest = page.partition(begin)
            page = f"{before}{begin}\n{make()}\n{end}{rest.partition(end)[2]}"
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
