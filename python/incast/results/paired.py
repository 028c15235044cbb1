"""Entries of a grid compared with a baseline, seed by seed: which pairs there are, and their differences.

A baseline is a value of an axis, like ``hpcc``: each entry with another value is compared with the one that
has this value and is like it in all else. Or it is one entry, with which all others are compared.

```python
from incast.results import paired
from incast.results.grid import Grid
from incast.results.measures.named import find

grid = Grid.of(incast.sweep.grid_of("incast-results/microburst/sweep-0123456789abcdef"))
for one in paired.compared(grid, paired.baseline_of(grid, "hpcc"), [find("p99.small")]):
    print(one.of, one.differences["p99.small"])
```
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from incast import catalogue
from incast.errors import nearest
from incast.results.decide import ALPHA, Difference, Values, Word, difference
from incast.results.grid import CHOICES, NONE, Asked, Axis, Entry, Grid, headings
from incast.results.measures.named import Measure
from incast.results.titles import title

TRAFFIC = "traffic"
"""The section whose keys are the workload: with others of its values the flows of a seed are others."""

PARAMETERS = "cc."
"""Beginning of the keys of parameters, which not every algorithm has."""

Combination: TypeAlias = "tuple[str, ...]"
"""The values of the axes."""

Pair: TypeAlias = "tuple[Combination, Combination]"
"""A combination that is judged, and its baseline."""


class Varied(Protocol):
    """Anything with combinations of values: a grid, or the plan of a sweep."""

    @property
    def axes(self) -> Sequence[Axis]:
        """The keys that vary."""

    @property
    def combinations(self) -> Sequence[Combination]:
        """The combinations of their values, each once, in their order."""


@dataclass(frozen=True)
class Baseline:
    """The value of an axis with which all its other values are compared.

    Attributes:
        axis: The place of the axis.
        value: The value.
        also: Further places of axes with their values: then only what has all of them is the baseline.
    """

    axis: int
    value: str
    also: tuple[tuple[int, str], ...] = ()

    @property
    def fixed(self) -> dict[int, str]:
        """All values that a baseline has, by the places of their axes."""
        return {self.axis: self.value, **dict(self.also)}

    def shown(self, of: Varied) -> str:
        """Its name in text: the value; with the key in front of it where it is no algorithm."""
        return " ".join(
            value if of.axes[n].key in CHOICES else f"{headings(of.axes)[n]}={value}"
            for n, value in self.fixed.items()
            if value != NONE
        )

    def titled(self, of: Varied) -> str:
        """Its name as entries have it: an algorithm by its title."""
        axes = of.axes
        return ", ".join(
            title(value, axes[n].values) if axes[n].key in CHOICES else f"{headings(axes)[n]} {value}"
            for n, value in self.fixed.items()
            if value != NONE
        )

    def has(self, of: Combination) -> bool:
        """Whether a combination is a baseline."""
        return all(of[n] == value for n, value in self.fixed.items())

    def comparisons(self, of: Varied) -> list[Pair]:
        """Returns each combination that has a partner with the baseline's values, and this partner.

        Both have the same values of all other keys. A parameter that the algorithm of the baseline does not
        have makes no difference to it. Runs with other traffic are not compared.
        """
        known = dict.fromkeys(of.combinations)
        pairs = ((one, self._partner(of.axes, one, known)) for one in known)
        return [(one, to) for one, to in pairs if to is not None]

    def partner(self, of: Varied, one: Combination) -> Combination | None:
        """Returns the baseline of a combination; None if it is one itself, or has none.

        Args:
            of: What the combination is of.
            one: The combination.
        """
        return self._partner(of.axes, one, set(of.combinations))

    def _partner(
        self, axes: Sequence[Axis], one: Combination, known: Container[Combination]
    ) -> Combination | None:
        fixed = self.fixed
        if self.has(one):
            return None
        if any(one[n] != value for n, value in fixed.items() if is_traffic(axes[n])):
            return None
        to = tuple(fixed.get(n, value) for n, value in enumerate(one))
        parameters = [n for n, axis in enumerate(axes) if axis.key.startswith(PARAMETERS)]
        without = tuple(NONE if n in parameters else value for n, value in enumerate(to))
        possible = [to] if fixed.keys() & set(parameters) else [to, without]
        return next((it for it in possible if it in known), None)


def is_traffic(axis: Axis) -> bool:
    """Whether other values of an axis are another workload."""
    return axis.key.partition(".")[0] == TRAFFIC


def baseline_of(grid: Grid, text: str) -> Baseline:
    """Finds the baseline that a text means.

    Args:
        grid: The entries; they need no runs.
        text: A value like ``hpcc``, ``KEY=VALUE`` where two keys have this value, or the name of an entry,
            as for :meth:`incast.results.grid.Grid.entry`.

    Raises:
        ValueError: When nothing is meant, or several values are, or nothing can be compared with it.
    """
    axes = grid.axes
    found = [n for n, axis in enumerate(axes) if _value(axis, text) is not None]
    value = text
    whole = None
    if not found:
        key, _, keyed = text.partition("=")
        at = _place(axes, key.strip())
        if at is None or _value(axes[at], keyed.strip()) is None:
            whole = _entry(grid, text)
        if whole is None and at is not None:
            found, value = [at], keyed.strip()
            if _value(axes[at], value) is None and not is_traffic(axes[at]):
                raise ValueError(_no_value(axes[at], value))
    fixed = [n for n in found if is_traffic(axes[n])]
    found = [n for n in found if n not in fixed]
    if len(found) > 1:
        keys = [axes[n].key for n in found]
        raise ValueError(
            f"{', '.join(keys[:-1])} and {keys[-1]} {'both' if len(keys) == 2 else 'all'} have this value; "
            f"write {keys[0]}={value}"
        )
    if fixed and not found:
        key = headings(axes)[fixed[0]]
        raise ValueError(f"{key} is part of the traffic; runs with other traffic are not compared")
    if whole is None and not found:
        raise ValueError(_missing(axes, text))
    if whole is None:
        at = found[0]
        if len(axes[at].values) < 2:
            raise ValueError(f"{headings(axes)[at]} has no other value")
        whole = Baseline(at, _value(axes[at], value) or value)
    if not whole.comparisons(grid):
        raise ValueError("nothing is compared with it, since its runs are left out")
    return whole


def _value(axis: Axis, text: str) -> str | None:
    """Returns the value of an axis that a text means, if any."""
    if axis.key not in CHOICES:
        return text if text in axis.values else None
    wanted = (text, catalogue.canonical(text))
    folded = catalogue.folded(text)
    return next(
        (one for one in wanted if one in axis.values),
        next(
            (
                one
                for one in axis.values
                if folded in (catalogue.folded(one), catalogue.folded(title(one, axis.values)))
            ),
            None,
        ),
    )


def _entry(grid: Grid, text: str) -> Baseline | None:
    """Returns the baseline that is one entry, or what several have in common; None if it is none."""
    try:
        found = grid.matching(text)
    except KeyError:
        return None
    first = found[0].values
    same = [n for n in grid.varying if all(one.values[n] == first[n] for one in found)]
    ours = [n for n in same if not is_traffic(grid.axes[n])]
    if not ours:
        return None
    at = ours[0]
    return Baseline(at, first[at], tuple((n, first[n]) for n in same if n != at))


def _place(axes: Sequence[Axis], key: str) -> int | None:
    """Returns the place of the axis with a key, which may be written as its last word."""
    names = {short: n for n, short in enumerate(headings(axes))}
    return (names | {axis.key: n for n, axis in enumerate(axes)}).get(key)


def _missing(axes: Sequence[Axis], text: str) -> str:
    """Says that no axis has a value, with the nearest one."""
    possible = [axis for axis in axes if not is_traffic(axis)]
    if not possible:
        return "no key is varied whose runs can be compared"
    if len(possible) == 1:
        return _no_value(possible[0], text)
    keys = [axis.key for axis in possible]
    near = nearest(text, [value for axis in possible for value in axis.values])
    hint = "" if near is None else f'; did you mean "{near}"?'
    return f'no value of {", ".join(keys[:-1])} and {keys[-1]} is "{text}"{hint}'


def _no_value(axis: Axis, value: str) -> str:
    near = nearest(value, axis.values)
    hint = f"; its values are {', '.join(axis.values)}" if near is None else f'; did you mean "{near}"?'
    return f'no value of {axis.key} is "{value}"{hint}'


@dataclass(frozen=True)
class Decision:
    """A combination compared with its baseline in several measures.

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


def decision(
    pair: Pair,
    measures: Sequence[Asked],
    has: Callable[[Combination, Asked], bool],
    values: Callable[[Combination, Asked], Values],
    *,
    confidence: float,
    margin: float | None = None,
    also: Measure | None = None,
    look: int = 0,
) -> Decision:
    """Compares a combination with its baseline in all measures that either of them has.

    Args:
        pair: Both.
        measures: The measures.
        has: Whether any run of a combination has a measure.
        values: Returns a side of a comparison.
        confidence: The share of intervals that contain the true value.
        margin: As of :func:`incast.difference`.
        also: A measure that is compared even if no side has it.
        look: The number of the look.
    """
    of, to = pair
    return Decision(
        of,
        to,
        {
            declared.name: difference(
                values(of, one), values(to, one), declared, confidence=confidence, margin=margin
            )
            for one, declared in ((one, declared_of(one)) for one in measures)
            if declared == also or has(of, one) or has(to, one)
        },
        look,
    )


def declared_of(measure: Asked) -> Measure:
    """Returns the number that a call gives, or the number itself."""
    return measure if isinstance(measure, Measure) else measure.measure


def compared(grid: Grid, baseline: Baseline, measures: Sequence[Asked]) -> list[Decision]:
    """Compares all entries with their baselines, so that all words of a measure hold together.

    They do with 95 %: each of n comparisons has the confidence 1 − 0.05 / n. Where a rule has added seeds, a
    comparison has the confidence of the look with its number of seeds.

    Args:
        grid: The entries with their runs.
        baseline: The baseline.
        measures: What is compared.
    """
    entries = {entry.values: entry for entry in grid.entries}
    pairs = baseline.comparisons(grid)
    known: dict[tuple[Combination, int], Values] = {}

    def values(combination: Combination, measure: Asked) -> Values:
        # Calls have no hash.
        key = (combination, measures.index(measure))
        if key not in known:
            known[key] = grid.values_of(entries[combination], measure)
        return known[key]

    def has(combination: Combination, measure: Asked) -> bool:
        return any(run.sound and run.value(measure) is not None for run in entries[combination].runs)

    return [
        decision(
            (of, to),
            measures,
            has,
            values,
            confidence=confidence_of(grid, entries[of], entries[to], len(pairs)),
        )
        for of, to in pairs
    ]


def kinds(found: Iterable[Difference]) -> str:
    """Returns how sides are compared, in words: by their ratios, by their differences, or both.

    Args:
        found: The differences, of which those that are too few do not count.
    """
    scales = {one.scale for one in found if one.word is not Word.TOO_FEW}
    if scales == {"difference"}:
        return "mean differences"
    ratios = "ratios of geometric means"
    return f"{ratios}, and mean differences," if "difference" in scales else ratios


def confidence_of(grid: Grid, of: Entry, to: Entry, comparisons: int) -> float:
    """Returns the confidence of one of several comparisons, so that all intervals hold together with 95 %.

    Args:
        grid: What the entries are of.
        of: The entry that is judged.
        to: Its baseline.
        comparisons: The number of comparisons.
    """
    alpha = ALPHA
    if grid.looks:
        seeds = len(grid.seeds_of(of) & grid.seeds_of(to))
        alpha = grid.looks.get(seeds, min(grid.looks.values()))
    return 1 - alpha / max(comparisons, 1)
