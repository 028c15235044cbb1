"""The method by which the arena judges: from the values of runs to ratios, intervals, ranks and fronts.

Nothing here reads a file or knows an algorithm. ``docs/guide/arena.md`` has the formulas and their reasons.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from incast.results.arrays import Floats, Ints
from incast.results.decide import Values, Word, difference
from incast.results.measures.named import Measure

LEAST_GOOD = 0.01
"""Goods below this count as this: a good of 0 has no ratio."""

MOST = 100.0
"""The largest ratio, and the one of a scenario in which a run failed."""

FRONT = 0.01
"""Share by which a contestant must be better to dominate, and may not be worse."""

SAMPLES = 2000
"""Bootstrap samples behind the intervals of the largest and of the mean ratio."""

_COST = Measure("cost", (), "cost", "ratio", "lower")

BEST = "best"
"""The word of the contestant with the best value, in the place of a comparison with itself."""


@dataclass(frozen=True)
class Observed:
    """The value of a metric in one run.

    Attributes:
        value: The value, above 0 or a good of 0.
        censored: Whether it is a lower bound of a cost, since flows are unfinished.
    """

    value: float
    censored: bool = False


@dataclass(frozen=True)
class Column:
    """The values of a metric of a scenario.

    Attributes:
        scenario: The scenario.
        metric: The metric.
        better: The direction in which it improves.
        replicates: Number of replicates.
        values: By contestant, one value for each replicate; None where a run failed. A contestant that was
            refused is not in it.
        drawn: Contestants whose replicates differ in anything.
    """

    scenario: str
    metric: str
    better: Literal["higher", "lower"]
    replicates: int
    values: Mapping[str, Sequence[Observed | None]]
    drawn: frozenset[str] = frozenset()

    def costs(self, contestant: str) -> list[float] | None:
        """Returns the values as costs, goods inverted; None where a run failed."""
        found = []
        for one in self.values[contestant]:
            if one is None:
                return None
            found.append(one.value if self.better == "lower" else 1 / max(one.value, LEAST_GOOD))
        return found

    def censored(self, contestant: str) -> bool:
        """Whether one of the values is only a bound."""
        return any(one is not None and one.censored for one in self.values[contestant])

    def compared(self, contestant: str) -> Values:
        """Returns the costs as a side of a comparison."""
        seen = self.values[contestant]
        costs = self.costs(contestant) or []
        bounds = frozenset(n for n, one in enumerate(seen) if one is not None and one.censored)
        drawn = contestant in self.drawn
        return Values(
            dict(enumerate(costs)), frozenset(range(len(seen))), bounds if costs else frozenset(), None, drawn
        )


@dataclass(frozen=True)
class Score:
    """The place of a contestant in one metric of a scenario.

    Attributes:
        scenario: The scenario.
        metric: The metric.
        contestant: The contestant.
        mean: The geometric mean of its values, or of bounds of them; None where a run failed.
        ratio: Its cost over the least cost of a ranked contestant, at most :data:`MOST`.
        low: Lower end of the interval of the ratio; None if there is none.
        high: Upper end.
        word: The outcome of the comparison with the best contestant, or :data:`BEST`, or ``failed``.
        replicates: Number of replicates with a value.
        censored: Whether the ratio is only a lower bound.
        failed: Whether a run failed.
        front: Whether no contestant dominates it in the scenario.
    """

    scenario: str
    metric: str
    contestant: str
    mean: float | None
    ratio: float
    low: float | None
    high: float | None
    word: str
    replicates: int
    censored: bool
    failed: bool
    front: bool


@dataclass(frozen=True)
class Standing:
    """The place of a contestant in all scenarios.

    Attributes:
        contestant: The contestant.
        worst: Its largest ratio of a scenario: it is never worse than this times the best.
        worst_low: Lower end of the interval of that; None without one.
        worst_high: Upper end.
        scenario: The scenario with that ratio.
        mean: The geometric mean of the ratios of its scenarios.
        mean_low: Lower end of the interval of that.
        mean_high: Upper end.
        scenarios: Number of its scenarios.
        failed: Number of scenarios in which a run failed.
        censored: Whether one of its ratios is a lower bound.
        ranked: Whether it is ranked; references are not.
    """

    contestant: str
    worst: float
    worst_low: float | None
    worst_high: float | None
    scenario: str
    mean: float
    mean_low: float | None
    mean_high: float | None
    scenarios: int
    failed: int
    censored: bool
    ranked: bool


@dataclass(frozen=True)
class Pair:
    """The comparisons of one contestant with another one, over all metrics that both have.

    Attributes:
        contestant: The one that is compared.
        other: The other one.
        better: Number of metrics in which it is better.
        worse: Number in which it is worse.
        no_difference: Number in which no difference is shown, or none is there.
        too_few: Number without a comparison.
    """

    contestant: str
    other: str
    better: int
    worse: int
    no_difference: int
    too_few: int


@dataclass(frozen=True)
class Judged:
    """All that the method says of some columns.

    Attributes:
        scores: One for each scenario, metric and contestant.
        standings: One for each contestant: the ranked ones in the order of their ranks, then the others.
        pairs: One for each ordered pair of contestants.
        ratios: The ratio of each contestant in each scenario.
    """

    scores: tuple[Score, ...]
    standings: tuple[Standing, ...]
    pairs: tuple[Pair, ...]
    ratios: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def front(self, scenario: str) -> list[str]:
        """Returns the contestants of a scenario that nobody dominates."""
        found = [score.contestant for score in self.scores if score.scenario == scenario and score.front]
        return list(dict.fromkeys(found))


def judge(columns: Sequence[Column], ranked: Iterable[str], digest: str) -> Judged:
    """Judges contestants by the values of their runs.

    Args:
        columns: The values; the columns of a scenario have the same contestants.
        ranked: The contestants that are ranked and set the best values.
        digest: The digest of the battery, from which bootstrap samples are drawn.
    """
    listed = list(ranked)
    contestants = list(dict.fromkeys(name for column in columns for name in column.values))
    scenarios = list(dict.fromkeys(column.scenario for column in columns))
    of = {name: [column for column in columns if column.scenario == name] for name in scenarios}
    failed = {name: _failed(of[name]) for name in scenarios}
    scores: list[Score] = []
    ratios: dict[str, dict[str, float]] = {}
    for name in scenarios:
        found = [_scores(column, listed, failed[name]) for column in of[name]]
        front = _front(found, [one for one in listed if one not in failed[name]])
        for one in found:
            scores += [Score(**{**vars(score), "front": score.contestant in front}) for score in one.values()]
        ratios[name] = {
            contestant: math.exp(math.fsum(math.log(one[contestant].ratio) for one in found) / len(found))
            for contestant in found[0]
        }
    intervals = _bootstrap(of, failed, listed, contestants, digest)
    standings = [
        _standing(contestant, ratios, failed, intervals.get(contestant), contestant in listed, scores)
        for contestant in contestants
        if any(contestant in ratios[name] for name in scenarios)
    ]
    order = sorted((one for one in standings if one.ranked), key=_rank)
    others = sorted((one for one in standings if not one.ranked), key=_rank)
    return Judged(tuple(scores), (*order, *others), tuple(_pairs(columns, contestants)), ratios)


def _failed(columns: Sequence[Column]) -> frozenset[str]:
    """Returns the contestants of a scenario of which some run has no value."""
    return frozenset(
        name
        for column in columns
        for name, values in column.values.items()
        if any(one is None for one in values)
    )


def _scores(column: Column, ranked: Sequence[str], failed: frozenset[str]) -> dict[str, Score]:
    """Returns the scores of a metric, without fronts."""
    logs = {
        name: float(np.mean(np.log(costs)))
        for name in column.values
        if name not in failed and (costs := column.costs(name)) is not None
    }
    setting = [name for name in column.values if name in logs and name in ranked]
    best = min(setting, key=lambda name: logs[name], default=None)
    found = {}
    for name, values in column.values.items():
        if name not in logs:
            count = sum(one is not None for one in values)
            found[name] = Score(
                column.scenario,
                column.metric,
                name,
                None,
                MOST,
                None,
                None,
                "failed",
                count,
                False,
                True,
                False,
            )
            continue
        ratio = 1.0 if best is None else min(math.exp(logs[name] - logs[best]), MOST)
        mean = math.exp(logs[name] if column.better == "lower" else -logs[name])
        word, low, high = BEST, None, None
        if best is not None and name != best:
            compared = difference(column.compared(name), column.compared(best), _COST)
            word = f"{compared.word.value}{f' ({compared.why})' if compared.why == 'exact' else ''}"
            if not math.isnan(compared.low):
                low, high = max(compared.low, 1.0), max(compared.high, 1.0)
        censored = column.censored(name)
        found[name] = Score(
            column.scenario,
            column.metric,
            name,
            mean,
            ratio,
            low,
            high,
            word,
            len(values),
            censored,
            False,
            False,
        )
    return found


def _front(found: Sequence[Mapping[str, Score]], contestants: Sequence[str]) -> set[str]:
    """Returns the contestants that no other one of them dominates."""
    here = [name for name in contestants if all(name in one for one in found)]
    costs = {name: np.array([one[name].ratio for one in found]) for name in here}

    def dominates(one: str, other: str) -> bool:
        worse = costs[one] > costs[other] * (1 + FRONT)
        better = costs[one] * (1 + FRONT) <= costs[other]
        return bool(not worse.any() and better.any())

    return {name for name in here if not any(dominates(other, name) for other in here if other != name)}


def _bootstrap(
    of: Mapping[str, Sequence[Column]],
    failed: Mapping[str, frozenset[str]],
    ranked: Sequence[str],
    contestants: Sequence[str],
    digest: str,
) -> dict[str, tuple[float, float, float, float]]:
    """Returns the intervals of the largest and of the mean ratio, by contestant."""
    of_scenario: list[dict[str, Floats]] = []
    for name, columns in of.items():
        draws = sample(digest, name, columns[0].replicates)
        total: dict[str, Floats] = {}
        for column in columns:
            logs = {
                one: np.log(np.array(costs))[draws].mean(axis=1)
                for one in column.values
                if one not in failed[name] and (costs := column.costs(one)) is not None
            }
            setting = [logs[one] for one in logs if one in ranked]
            best = np.min(setting, axis=0) if setting else np.zeros(SAMPLES)
            for one in column.values:
                ratio = (
                    np.minimum(logs[one] - best, math.log(MOST))
                    if one in logs
                    else np.full(SAMPLES, math.log(MOST))
                )
                total[one] = total.get(one, np.zeros(SAMPLES)) + ratio / len(columns)
        of_scenario.append(total)
    found = {}
    for name in contestants:
        mine = [total[name] for total in of_scenario if name in total]
        if mine:
            largest, mean = np.exp(np.max(mine, axis=0)), np.exp(np.mean(mine, axis=0))
            ends = [float(np.percentile(one, rank)) for one in (largest, mean) for rank in (2.5, 97.5)]
            found[name] = (ends[0], ends[1], ends[2], ends[3])
    return found


def sample(digest: str, scenario: str, replicates: int) -> Ints:
    """Returns bootstrap samples of the replicates of a scenario: a row for each sample.

    They follow from hashes alone, so that they are the same on every machine.

    Args:
        digest: The digest of the battery.
        scenario: The scenario.
        replicates: Number of replicates, at most 8.
    """
    rows = []
    for number in range(SAMPLES):
        hashed = hashlib.sha256(f"{digest} {scenario} {number}".encode()).digest()
        words = [int.from_bytes(hashed[4 * n : 4 * n + 4], "little") for n in range(8)]
        rows.append([word * replicates >> 32 for word in words[:replicates]])
    return np.array(rows, dtype=np.int64)


def _standing(
    contestant: str,
    ratios: Mapping[str, Mapping[str, float]],
    failed: Mapping[str, frozenset[str]],
    interval: tuple[float, float, float, float] | None,
    ranked: bool,
    scores: Sequence[Score],
) -> Standing:
    mine = {name: of[contestant] for name, of in ratios.items() if contestant in of}
    scenario = max(mine, key=lambda name: mine[name])
    mean = math.exp(math.fsum(map(math.log, mine.values())) / len(mine))
    ends = interval or (None, None, None, None)
    return Standing(
        contestant,
        mine[scenario],
        ends[0],
        ends[1],
        scenario,
        mean,
        ends[2],
        ends[3],
        len(mine),
        sum(contestant in of for of in failed.values()),
        any(score.censored for score in scores if score.contestant == contestant),
        ranked,
    )


def _rank(standing: Standing) -> tuple[int, float, float]:
    """Returns the place of a standing: by failures, then the largest ratio to three digits, then the mean."""
    return (standing.failed, float(f"{standing.worst:.3g}"), standing.mean)


def _pairs(columns: Sequence[Column], contestants: Sequence[str]) -> Iterable[Pair]:
    """Compares every contestant with every other one in every metric that both have."""
    counts = {(a, b): [0, 0, 0, 0] for a in contestants for b in contestants if a != b}
    places = {Word.BETTER: 0, Word.WORSE: 1, Word.EQUAL: 2, Word.NOT_SHOWN: 2}
    mirrored = (1, 0, 2, 3)
    for column in columns:
        sides = {name: column.compared(name) for name in column.values}
        here = list(sides)
        for n, a in enumerate(here):
            for b in here[n + 1 :]:
                place = places.get(difference(sides[a], sides[b], _COST).word, 3)
                counts[a, b][place] += 1
                counts[b, a][mirrored[place]] += 1
    return (Pair(a, b, *count) for (a, b), count in counts.items() if any(count))
