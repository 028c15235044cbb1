"""Comparisons of the combinations of a sweep with a baseline, seed by seed, each with a word."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from incast.errors import ScenarioError, nearest
from incast.results.decide import ALPHA, Difference, Values, difference
from incast.results.grid import CHOICES, NONE, Axis, Entry, Run, headings
from incast.results.measures.call import Call
from incast.results.measures.named import NAMED, Measure
from incast.results.result import Result
from incast.runs.sweep.plan import ALGORITHM, CONTESTANT, Plan
from incast.runs.sweep.tables import Column, Sheet
from incast.scenario import contestants
from incast.scenario.choice import named

TRAFFIC = "traffic"
"""The section whose keys are the workload: with others of its values the flows of a seed are others."""

Combination: TypeAlias = "tuple[str, ...]"
"""The values of the axes."""

Pair: TypeAlias = "tuple[Combination, Combination]"
"""A combination that is judged, and its baseline."""


@dataclass(frozen=True)
class Baseline:
    """The value of an axis with which all its other values are compared.

    Attributes:
        axis: The number of the axis.
        value: The value.
    """

    axis: int
    value: str

    def shown(self, plan: Plan) -> str:
        """Its name in text: the value; with the key in front of it where it is no algorithm."""
        key = headings(plan.axes)[self.axis]
        return self.value if key in CHOICES else f"{key}={self.value}"

    def comparisons(self, plan: Plan) -> list[Pair]:
        """Returns each combination that has a partner with the baseline's value, and this partner.

        Both have the same values of all other keys. A parameter that the algorithm of the baseline does not
        have makes no difference to it.
        """
        known = dict.fromkeys(run.values for run in plan.runs)
        pairs = ((of, self._partner(plan, of, known)) for of in known if of[self.axis] != self.value)
        return [(of, to) for of, to in pairs if to is not None]

    def _partner(self, plan: Plan, of: Combination, known: Container[Combination]) -> Combination | None:
        to = (*of[: self.axis], self.value, *of[self.axis + 1 :])
        parameters = [a.key.startswith(f"{ALGORITHM}.") for a in plan.axes]
        without = tuple(NONE if own else value for value, own in zip(to, parameters, strict=True))
        possible = [to] if parameters[self.axis] else [to, without]
        return next((one for one in possible if one in known), None)


def baseline_of(plan: Plan, text: str | None = None) -> Baseline | None:
    """Finds the baseline of a sweep.

    Args:
        plan: The sweep.
        text: The value, or ``KEY=VALUE``. None takes the first algorithm, if it was named and there are two
            of them and several seeds; there is none where the algorithms come from ``cc=all``.

    Raises:
        ScenarioError: When no value is meant, or several are.
    """
    if text is None:
        for n, a in enumerate(plan.axes):
            if a.key in CHOICES and len(a.values) > 1 and a.values[0] not in plan.from_all:
                baseline = Baseline(n, a.values[0])
                return baseline if plan.seeds > 1 and baseline.comparisons(plan) else None
        return None
    found = [n for n, a in enumerate(plan.axes) if _value(a, text) is not None]
    value = text
    if not found and "=" in text:
        key, _, value = text.partition("=")
        found = _keyed(plan, text, key.strip(), value.strip())
    fixed = [n for n in found if _is_traffic(plan.axes[n])]
    found = [n for n in found if n not in fixed]
    if len(found) > 1:
        keys = [plan.axes[n].key for n in found]
        raise ScenarioError(
            f"--baseline {text}: {', '.join(keys[:-1])} and {keys[-1]} {'both' if len(keys) == 2 else 'all'} "
            f"have this value; write {keys[0]}={value}"
        )
    if fixed and not found:
        key = headings(plan.axes)[fixed[0]]
        raise ScenarioError(
            f"--baseline {text}: {key} is part of the traffic; runs with other traffic are not compared"
        )
    if not found:
        raise ScenarioError(f"--baseline {text}: {_missing(plan, text)}")
    at = found[0]
    if len(plan.axes[at].values) < 2:
        raise ScenarioError(f"--baseline {text}: {headings(plan.axes)[at]} has no other value")
    baseline = Baseline(at, _value(plan.axes[at], value.strip()) or value)
    if not baseline.comparisons(plan):
        raise ScenarioError(f"--baseline {text}: nothing is compared with it, since its runs are left out")
    return baseline


def _is_traffic(axis: Axis) -> bool:
    return axis.key.partition(".")[0] == TRAFFIC


def _value(axis: Axis, text: str) -> str | None:
    """Returns the value of an axis that a text means, if any."""
    labels = {ALGORITHM: named, CONTESTANT: contestants.named}
    as_label = labels[axis.key](text) if axis.key in labels else text
    return next((value for value in (text, as_label) if value in axis.values), None)


def _keyed(plan: Plan, text: str, key: str, value: str) -> list[int]:
    """Returns the axis of a key, if it has a value."""
    names = {**{short: n for n, short in enumerate(headings(plan.axes))}}
    names |= {a.key: n for n, a in enumerate(plan.axes)}
    if key not in names:
        return []
    axis = plan.axes[names[key]]
    if _value(axis, value) is None and not _is_traffic(axis):
        raise ScenarioError(f"--baseline {text}: {_no_value(axis, value)}")
    return [names[key]]


def _missing(plan: Plan, text: str) -> str:
    """Says that no axis has a value, with the nearest one."""
    possible = [a for a in plan.axes if not _is_traffic(a)]
    if not possible:
        return "no key is varied whose runs can be compared"
    if len(possible) == 1:
        return _no_value(possible[0], text)
    keys = [a.key for a in possible]
    near = nearest(text, [value for a in possible for value in a.values])
    hint = "" if near is None else f'; did you mean "{near}"?'
    return f'no value of {", ".join(keys[:-1])} and {keys[-1]} is "{text}"{hint}'


def _no_value(axis: Axis, value: str) -> str:
    near = nearest(value, axis.values)
    hint = f"; its values are {', '.join(axis.values)}" if near is None else f'; did you mean "{near}"?'
    return f'no value of {axis.key} is "{value}"{hint}'


@dataclass(frozen=True)
class Decision:
    """A combination compared with its baseline in all measures that either of them has.

    Attributes:
        of: The values of the combination that is judged.
        to: The values of its baseline.
        differences: By the name of the measure.
        look: The number of the look that ended it, from 1; 0 without a rule that adds seeds.
    """

    of: Combination
    to: Combination
    differences: Mapping[str, Difference]
    look: int = 0


class Numbers:
    """The values of the runs of a sweep, for comparisons.

    Args:
        plan: The sweep.
        infos: The contents of ``result.json``, by the number of the run; it may grow.
        calls: Measures beside those that every run has.
    """

    def __init__(
        self, plan: Plan, infos: Mapping[int, Mapping[str, Any]], calls: Sequence[Call] = ()
    ) -> None:
        self._plan = plan
        self._infos = infos
        self._calls = tuple(calls)
        self.measures = (*NAMED.values(), *(call.measure for call in calls))
        self._known: dict[int, Run] = {}
        self._runs: dict[Combination, list[int]] = {}
        for n, run in enumerate(plan.runs):
            self._runs.setdefault(run.values, []).append(n)

    def has(self, combination: Combination, measure: Measure, seeds: int) -> bool:
        """Whether any sound run of a combination has a measure, with the first seeds."""
        runs = self._first(combination, seeds)
        return any(run.sound and measure.of(run.numbers) is not None for run in runs)

    def values(self, combination: Combination, measure: Measure, seeds: int) -> Values:
        """Returns one side of a comparison, as :meth:`incast.results.grid.Entry.values_of` gives it.

        A run without a result has no value.

        Args:
            combination: The values of the axes.
            measure: The number.
            seeds: The number of seeds, counted from the first one.
        """
        values = Entry(combination, "", "", tuple(self._first(combination, seeds))).values_of(measure)
        planned = self._runs[combination][:seeds]
        return replace(values, runs=frozenset(self._plan.runs[n].scenario.seed for n in planned))

    def _first(self, combination: Combination, seeds: int) -> list[Run]:
        """The runs of a combination that have a result, with the first seeds."""
        return [self.run(n) for n in self._runs[combination][:seeds] if n in self._infos]

    def run(self, n: int) -> Run:
        """A run that has a result, with its numbers, which are read once."""
        if n not in self._known:
            run = self._plan.runs[n]
            # Its tables are read only for calls, and if a flow is unfinished.
            open_ = partial(Result.open, run.folder)
            self._known[n] = Run(run.scenario.seed, self._infos[n], open_, self._calls)
        return self._known[n]

    def runs(self) -> dict[int, Run]:
        """All runs that have a result, by their numbers in the plan."""
        return {n: self.run(n) for n in sorted(self._infos)}


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
    confidence = 1 - alpha / max(len(comparisons) if of is None else of, 1)
    decisions = []
    for one, to in comparisons:
        found = {
            measure.name: difference(
                numbers.values(one, measure, seeds),
                numbers.values(to, measure, seeds),
                measure,
                confidence=confidence,
                margin=margin,
            )
            for measure in numbers.measures
            if measure == also or numbers.has(one, measure, seeds) or numbers.has(to, measure, seeds)
        }
        decisions.append(Decision(one, to, found, look))
    return decisions


def sheet(plan: Plan, baseline: Baseline, decisions: Sequence[Decision]) -> Sheet:
    """Makes the table of differences: one row for each comparison and measure.

    Args:
        plan: The sweep.
        baseline: The value that the others are compared with.
        decisions: The comparisons.
    """
    ruled = any(one.look for one in decisions)
    rows = [(one, found) for one in decisions for found in one.differences.values()]

    def known(value: float) -> float | None:
        return None if math.isnan(value) else value

    return Sheet(
        [
            *(Column(a.key, "text", [one.of[n] for one, _ in rows]) for n, a in enumerate(plan.axes)),
            Column("baseline", "text", [baseline.value for _ in rows]),
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
