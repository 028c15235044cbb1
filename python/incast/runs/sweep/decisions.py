"""Comparisons of the combinations of a sweep with a baseline, seed by seed, each with a word."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from incast.errors import ScenarioError
from incast.results import paired
from incast.results.decide import ALPHA, Values
from incast.results.grid import CHOICES, Entry, Run, made_of
from incast.results.measures.call import Call
from incast.results.measures.named import NAMED, Measure
from incast.results.paired import Baseline, Combination, Decision, Pair, declared_of
from incast.runs.sweep.plan import Plan
from incast.runs.sweep.tables import Column, Sheet

__all__ = ["Baseline", "Combination", "Decision", "Numbers", "Pair", "baseline_of", "decide", "sheet"]


def baseline_of(plan: Plan, text: str | None = None) -> Baseline | None:
    """Finds the baseline of a sweep.

    Args:
        plan: The sweep.
        text: As for :func:`incast.results.paired.baseline_of`. None takes the first algorithm, if it was
            named and there are two of them and several seeds; there is none where the algorithms come from
            ``cc=all``.

    Raises:
        ScenarioError: When no value is meant, or several are.
    """
    if text is None:
        for n, a in enumerate(plan.axes):
            if a.key in CHOICES and len(a.values) > 1 and a.values[0] not in plan.from_all:
                baseline = Baseline(n, a.values[0])
                return baseline if plan.seeds > 1 and baseline.comparisons(plan) else None
        return None
    try:
        return paired.baseline_of(made_of(plan.name, plan.axes, {one: [] for one in plan.combinations}), text)
    except ValueError as error:
        raise ScenarioError(f"--baseline {text}: {error}") from None


class Numbers:
    """The values of the runs of a sweep, for comparisons.

    Args:
        plan: The sweep.
        made: The runs that have a result, by their numbers in the plan; they may become more.
        calls: Measures beside those that every run has.
    """

    def __init__(self, plan: Plan, made: Mapping[int, Run], calls: Sequence[Call] = ()) -> None:
        self._plan = plan
        self._made = made
        self.measures = (*NAMED.values(), *(call.measure for call in calls))
        self._runs: dict[Combination, list[int]] = {}
        for n, run in enumerate(plan.runs):
            self._runs.setdefault(run.values, []).append(n)

    def has(self, combination: Combination, measure: Measure, seeds: int) -> bool:
        """Whether any sound run of a combination has a measure, with the first seeds."""
        runs = (self._made[n] for n in self._runs[combination][:seeds] if n in self._made)
        return any(run.sound and measure.of(run.numbers) is not None for run in runs)

    def values(self, combination: Combination, measure: Measure, seeds: int) -> Values:
        """Returns one side of a comparison, as :meth:`incast.results.grid.Entry.values_of` gives it.

        A run without a result has no value.

        Args:
            combination: The values of the axes.
            measure: The number.
            seeds: The number of seeds, counted from the first one.
        """
        planned = self._runs[combination][:seeds]
        made = tuple(self._made[n] for n in planned if n in self._made)
        values = Entry(combination, "", "", made).values_of(measure)
        return replace(values, runs=frozenset(self._plan.runs[n].seed for n in planned))


def decide(
    numbers: Numbers,
    comparisons: Sequence[Pair],
    seeds: int,
    *,
    alpha: float = ALPHA,
    margin: float | None = None,
    of: int | None = None,
    also: Measure | None = None,
    look: int = 0,
) -> list[Decision]:
    """Makes comparisons, so that all words of a measure hold together with probability 1 − alpha.

    Args:
        numbers: The values.
        comparisons: Each combination and its baseline.
        seeds: The number of seeds, counted from the first one.
        alpha: The probability that any interval of a measure misses the true value.
        margin: As of :func:`incast.difference`.
        of: The number of comparisons that share alpha; None: these.
        also: A measure that is compared even if no side has it.
        look: The number of the look.
    """
    return [
        paired.decision(
            pair,
            numbers.measures,
            lambda one, measure: numbers.has(one, declared_of(measure), seeds),
            lambda one, measure: numbers.values(one, declared_of(measure), seeds),
            confidence=1 - alpha / max(len(comparisons) if of is None else of, 1),
            margin=margin,
            also=also,
            look=look,
        )
        for pair in comparisons
    ]


def sheet(plan: Plan, baseline: Baseline, decisions: Sequence[Decision]) -> Sheet:
    """Makes the table of differences: one row for each comparison and measure.

    Args:
        plan: The sweep.
        baseline: The value that the others are compared with.
        decisions: The comparisons.
    """
    ruled = any(one.look for one in decisions)
    name = baseline.shown(plan) if baseline.also else baseline.value
    rows = [(one, found) for one in decisions for found in one.differences.values()]

    def known(value: float) -> float | None:
        return None if math.isnan(value) else value

    return Sheet(
        [
            *(Column(a.key, "text", [one.of[n] for one, _ in rows]) for n, a in enumerate(plan.axes)),
            Column("baseline", "text", [name for _ in rows]),
            Column("measure", "text", [found.measure.name for _, found in rows]),
            Column("metric", "text", [" + ".join(found.measure.metrics) for _, found in rows]),
            Column("seeds", "unsigned", [found.seeds for _, found in rows]),
            Column("scale", "text", [found.scale for _, found in rows]),
            Column("value", "number", [known(found.value) for _, found in rows]),
            Column("low", "number", [known(found.low) for _, found in rows]),
            Column("high", "number", [known(found.high) for _, found in rows]),
            Column("confidence", "number", [found.confidence for _, found in rows]),
            Column("word", "text", [found.word.value for _, found in rows]),
            Column("why", "text", [found.why for _, found in rows]),
            *([Column("look", "unsigned", [one.look for one, _ in rows])] if ruled else []),
        ]
    )
