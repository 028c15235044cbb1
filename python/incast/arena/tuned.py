"""A tuned setting beside the default one, in all scenarios of a battery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from incast.arena.contenders import Contender, chosen
from incast.arena.score import LEAST_GOOD, Column, Standing, judge
from incast.errors import ScenarioError
from incast.results.decide import Difference, Values, difference
from incast.results.measures.named import Measure
from incast.scenario.contestants import definitions

if TYPE_CHECKING:
    from incast.arena.making import Arena


@dataclass(frozen=True)
class Side:
    """One metric of a scenario, of both settings.

    Attributes:
        scenario: The scenario.
        metric: The metric.
        default: The geometric mean of the default setting's values; None where a run failed.
        tuned: The same of the tuned setting.
        difference: The difference of the tuned setting to the default one, over the replicates.
    """

    scenario: str
    metric: str
    default: float | None
    tuned: float | None
    difference: Difference


@dataclass(frozen=True)
class Beside:
    """A tuned setting beside the default one.

    Attributes:
        default: The contestant with the default setting.
        tuned: The one with the tuned setting.
        whole: The place of the tuned one where the default one sets the best: ``whole.mean`` is the geometric
            mean of its ratios over all scenarios, below 1 where it is better. None without a common scenario.
        sides: One for each metric of each scenario that both have.
    """

    default: str
    tuned: str
    whole: Standing | None
    sides: tuple[Side, ...]


def pairs(file: Path) -> list[tuple[str, str]]:
    """Returns the contestants of a file, each after the one that it is made from.

    Args:
        file: The file with tuned settings, as ``incast tune`` writes it.

    Raises:
        ScenarioError: When it cannot be read, or a contestant of it is made from none.
    """
    found = []
    for name, of in definitions(file).items():
        base = of.get("from")
        if not isinstance(base, str):
            raise ScenarioError(
                f"{file}: {name} has no `from`, so there is no default setting beside it\n"
                "    help: `incast tune --contestant` writes one"
            )
        preset = dict(of.get("cc", {})).get("preset", "")
        found.append((f"{base}:{preset}" if preset else base, name))
    return found


def contenders(file: Path, beside: Sequence[Contender] = ()) -> list[Contender]:
    """Returns the contestants of a file and those that they are made from.

    Args:
        file: The file with tuned settings.
        beside: Contestants that run anyway.

    Raises:
        ScenarioError: As :func:`pairs` does, and when a contestant is unknown.
    """
    tuned = chosen([], [str(file)])
    there = {one.name for one in (*beside, *tuned)}
    defaults = [default for default, _ in pairs(file) if default not in there]
    return [*chosen(list(dict.fromkeys(defaults))), *tuned]


def beside(arena: Arena, default: str, tuned: str) -> Beside:
    """Compares two contestants of an arena, of which one has the default setting of the other.

    Args:
        arena: The arena.
        default: The contestant with the default setting.
        tuned: The one with the tuned setting.
    """
    columns = [
        Column(
            one.scenario,
            one.metric,
            one.better,
            one.replicates,
            {name: one.values[name] for name in (default, tuned)},
            one.drawn,
        )
        for one in arena.columns
        if default in one.values and tuned in one.values
    ]
    judged = judge(columns, [default], arena.plan.battery.digest)
    means = {(one.scenario, one.metric, one.contestant): one.mean for one in judged.scores}
    sides = [
        Side(
            one.scenario,
            one.metric,
            means[one.scenario, one.metric, default],
            means[one.scenario, one.metric, tuned],
            difference(
                _values(one, tuned), _values(one, default), Measure(one.metric, (), "", "ratio", one.better)
            ),
        )
        for one in columns
    ]
    whole = next((one for one in judged.standings if one.contestant == tuned), None)
    return Beside(default, tuned, whole, tuple(sides))


def _values(column: Column, contestant: str) -> Values:
    """Returns the values of a contestant as they are: of goods more is better."""
    seen = column.values[contestant]
    known = {n: one for n, one in enumerate(seen) if one is not None}
    if len(known) < len(seen):
        known = {}
    least = LEAST_GOOD if column.better == "higher" else 0.0
    return Values(
        {n: max(one.value, least) for n, one in known.items()},
        frozenset(range(len(seen))),
        frozenset(n for n, one in known.items() if one.censored),
        None,
        contestant in column.drawn,
    )
