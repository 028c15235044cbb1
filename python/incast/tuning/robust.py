"""The robust region of a setting: how far each parameter may move before something is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from incast.results.measures.named import Measure
from incast.tuning.aim import Aim
from incast.tuning.space import Parameter, Setting, Value
from incast.tuning.trial import Bench, Trial, measure

LOSS = 0.05
"""Share of an objective that may be lost within the region."""

STEP = 1 / 64
"""Share of a range to which the ends of the region are known."""

ROUNDS = 7
"""Settings that are measured for an end of the region, at most: the end of the range, and six halvings."""


@dataclass(frozen=True)
class Region:
    """The robust region of a parameter, with the others as they are in the setting.

    Attributes:
        parameter: The parameter.
        value: Its value in the setting.
        low: The lowest value at which no objective is more than 5 % worse and all conditions hold; None for a
            choice.
        high: The highest value, likewise.
        low_open: Whether ``low`` is the end of the range, so that the region may go on below it.
        high_open: Likewise for ``high``.
        others: For a choice, the other values at which the same holds.
    """

    parameter: Parameter
    value: Value
    low: Value | None = None
    high: Value | None = None
    low_open: bool = False
    high_open: bool = False
    others: tuple[Value, ...] = field(default=())


@dataclass
class _End:
    """One end of a region while it is searched, as places in the range from 0 to 1."""

    at: int
    good: float
    bad: float
    first: bool = True

    @property
    def over(self) -> bool:
        return abs(self.bad - self.good) <= STEP

    @property
    def open(self) -> bool:
        """Whether the end of the range was not shown to lose anything."""
        return self.first or self.good == self.bad


def robust(
    bench: Bench,
    parameters: Sequence[Parameter],
    aim: Aim,
    seeds: Sequence[int],
    best: Trial,
    default: Trial,
    spare: Callable[[int], None] = lambda _: None,
) -> list[Region]:
    """Finds the robust region of each parameter, by bisection between the setting and the ends of the range.

    Of a region in several parts it finds the part around the setting, or more where a gap is not met.

    Args:
        bench: Where settings are measured.
        parameters: What was varied.
        aim: Objectives and conditions.
        seeds: The seeds of the search.
        best: The setting.
        default: The default setting's trial, for conditions that refer to it.
        spare: Called with the number of runs that were not needed.
    """

    def holds(settings: Sequence[Setting]) -> list[bool]:
        trials = measure(bench, aim, seeds, settings, 0, default)
        spare(sum(len(seeds) - len(trial.runs) for trial in trials))
        return [trial.state == "complete" and not _lost(aim, trial, best) for trial in trials]

    def moved(at: int, value: Value) -> Setting:
        return (*best.setting[:at], value, *best.setting[at + 1 :])

    ends: dict[tuple[int, float], _End] = {}
    choices: list[tuple[int, Value]] = []
    for n, p in enumerate(parameters):
        if p.kind == "choice":
            choices += [(n, value) for value in p.choices if value != best.setting[n]]
        else:
            place = p.place(p.number(best.setting[n]))
            ends |= {(n, limit): _End(n, place, limit) for limit in (0.0, 1.0)}
    kept = holds([moved(n, value) for n, value in choices])
    while active := [end for end in ends.values() if not end.over]:
        middles = [end.bad if end.first else (end.good + end.bad) / 2 for end in active]
        settings = [
            moved(end.at, parameters[end.at].value(parameters[end.at].at(middle)))
            for end, middle in zip(active, middles, strict=True)
        ]
        for end, middle, good in zip(active, middles, holds(settings), strict=True):
            if good:
                end.good = middle
            else:
                end.bad = middle
            end.first = False
    found = []
    for n, p in enumerate(parameters):
        value = best.setting[n]
        if p.kind == "choice":
            same = tuple(c for (at, c), good in zip(choices, kept, strict=True) if at == n and good)
            found.append(Region(p, value, others=same))
            continue
        low, high = ends[n, 0.0], ends[n, 1.0]
        found.append(
            Region(
                p,
                value,
                _value(p, value, low),
                _value(p, value, high),
                low.open,
                high.open,
            )
        )
    return found


def _value(p: Parameter, value: Value, end: _End) -> Value:
    place = p.place(p.number(value))
    return value if end.good == place else p.value(p.at(end.good))


def _lost(aim: Aim, trial: Trial, best: Trial) -> bool:
    """Whether an objective is more than 5 % worse than the setting's."""
    return any(
        lost(objective, value, reference) > LOSS
        for objective, value, reference in zip(aim.objectives, trial.values, best.values, strict=True)
    )


def lost(objective: Measure, value: float, reference: float) -> float:
    """The share of an objective that is lost against a reference; negative where it is better.

    Costs are divided by the reference, goods divide it: 1.05 is a loss of 5 % of a cost of 1, and 1 of a good
    of 1.05. From a reference of 0 everything is lost.
    """
    over, under = (value, reference) if objective.better == "lower" else (reference, value)
    if over == under:
        return 0.0
    return over / under - 1 if under > 0 else float("inf")
