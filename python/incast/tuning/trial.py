"""Trials: settings that are measured with several seeds, as long as they may still be the best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from incast.results.decide import ALPHA, LEAST_SEEDS, Difference, Values, Word, difference
from incast.results.measures.named import Measure
from incast.tuning.aim import Aim, Numbers
from incast.tuning.space import Setting

State = Literal["complete", "given up", "infeasible", "failed"]
"""The end of a trial: all seeds measured; no improvement; a condition does not hold; no result."""


@dataclass(frozen=True)
class Outcome:
    """The numbers of one run.

    Attributes:
        numbers: Those that the search asks for, by name.
        why: Why there is no sound result; None if there is one.
        fingerprint: The fingerprint of the run.
    """

    numbers: Numbers
    why: str | None = None
    fingerprint: str = ""


Wanted: TypeAlias = "tuple[Setting | None, int]"
"""A setting with a seed; None is the default setting."""


class Bench(Protocol):
    """Measures settings."""

    def measure(self, wanted: Sequence[Wanted]) -> list[Outcome]:
        """Returns the outcome of each setting with its seed."""


@dataclass(frozen=True)
class Trial:
    """A setting with what was measured of it.

    Attributes:
        number: Its number in the search, from 0; -1 for the default setting.
        setting: The value of each parameter.
        state: Its end.
        runs: What was measured, by seed.
        values: The mean of each objective over the seeds; of a trial that was given up an estimate for all
            seeds: the mean of the trial that it was compared with, times the ratio of both over common seeds.
        violations: The largest violation of each condition, by its text; 0 where it holds.
        why: The reason of the end, where it is not complete.
    """

    number: int
    setting: Setting
    state: State
    runs: Mapping[int, Numbers]
    values: tuple[float, ...] = ()
    violations: Mapping[str, float] = field(default_factory=dict)
    why: str = ""

    def side(self, measure: Measure) -> Values:
        """The values of a number, to compare them with another trial's."""
        known = {seed: run[measure.name] for seed, run in self.runs.items() if measure.name in run}
        return Values(known, frozenset(self.runs))


def looks(seeds: int, alpha: float = ALPHA) -> dict[int, float]:
    """The numbers of seeds after which a trial may be given up, with the error that each look may make.

    Of K looks the k-th (from 0) spends alpha · 2^k / (2^K − 1), so that all looks together wrongly give up a
    trial with at most this probability.

    Args:
        seeds: All seeds.
        alpha: The probability.
    """
    counts = range(LEAST_SEEDS, seeds)
    parts = 2 ** len(counts) - 1
    return {count: alpha * 2**k / parts for k, count in enumerate(counts)}


def measure(
    bench: Bench,
    aim: Aim,
    seeds: Sequence[int],
    settings: Sequence[Setting | None],
    first: int,
    default: Trial | None = None,
    rivals: Sequence[Trial] = (),
) -> list[Trial]:
    """Measures settings, seed by seed.

    A trial ends early when a condition does not hold or a run fails; and when it is shown, with the error of
    :func:`looks`, to be better than one of the rivals in no objective.

    Args:
        bench: Where they are measured.
        aim: Objectives and conditions.
        seeds: The seeds, in their order.
        settings: The settings; None is the default one.
        first: The number of the first.
        default: The default setting's trial, for conditions that refer to it.
        rivals: Complete trials that a trial has to improve on.
    """
    runs: list[dict[int, Numbers]] = [{} for _ in settings]
    ended: dict[int, tuple[State, str, Trial | None]] = {}
    at = 0
    chances = looks(len(seeds))
    while at < len(seeds) and len(ended) < len(settings):
        # Nothing is decided before the first look.
        upto = min(max(at + 1, LEAST_SEEDS), len(seeds))
        wanted = [(n, seed) for seed in seeds[at:upto] for n in range(len(settings)) if n not in ended]
        for (n, seed), outcome in zip(
            wanted, bench.measure([(settings[n], seed) for n, seed in wanted]), strict=True
        ):
            if outcome.why is not None:
                ended.setdefault(n, ("failed", f"seed {seed}: {outcome.why}", None))
            else:
                runs[n][seed] = outcome.numbers
        at = upto
        for n, known in enumerate(runs):
            if n in ended:
                continue
            if (end := _end(aim, known, default)) is not None:
                # The default setting is what others are compared with: all seeds.
                if settings[n] is not None or at == len(seeds):
                    ended[n] = (*end, None)
            elif at in chances and settings[n] is not None:
                rival = _beaten(aim, known, rivals, chances[at])
                if rival is not None:
                    ended[n] = ("given up", f"no better than {_name(rival)} after {at} seeds", rival)
    return [
        _trial(aim, first + n, () if setting is None else setting, runs[n], ended.get(n), default)
        for n, setting in enumerate(settings)
    ]


def _name(trial: Trial) -> str:
    return "the default" if trial.number < 0 else f"trial {trial.number}"


def _end(aim: Aim, runs: Mapping[int, Numbers], default: Trial | None) -> tuple[State, str] | None:
    """The end of a trial whose runs lack a number or miss a condition."""
    for seed, run in runs.items():
        for condition in aim.conditions:
            reference = None if default is None else default.runs.get(seed)
            if condition.violation(run, reference) > 0:
                return "infeasible", f"seed {seed}: not {condition.text}"
        for objective in aim.objectives:
            if not math.isfinite(run.get(objective.name, math.nan)):
                return "failed", f"seed {seed}: no value of {objective.name}"
    return None


def _beaten(aim: Aim, runs: Mapping[int, Numbers], rivals: Sequence[Trial], alpha: float) -> Trial | None:
    """The first rival on which a trial is shown to improve in no objective."""
    one = Trial(0, (), "complete", runs)
    confidence = 1 - alpha / max(len(rivals), 1)
    for rival in rivals:
        if all(
            compared(one, rival, objective, confidence=confidence).word in (Word.WORSE, Word.EQUAL)
            for objective in aim.objectives
        ):
            return rival
    return None


def compared(of: Trial, to: Trial, measure: Measure, *, confidence: float = 0.95) -> Difference:
    """Compares two trials over the seeds that both have."""
    seeds = of.runs.keys() & to.runs.keys()

    def side(trial: Trial) -> Values:
        whole = trial.side(measure)
        known = {seed: value for seed, value in whole.by_seed.items() if seed in seeds}
        return Values(known, frozenset(seeds))

    return difference(side(of), side(to), measure, confidence=confidence)


def _trial(
    aim: Aim,
    number: int,
    setting: Setting,
    runs: Mapping[int, Numbers],
    end: tuple[State, str, Trial | None] | None,
    default: Trial | None,
) -> Trial:
    state, why, rival = end or ("complete", "", None)
    violations = {
        condition.text: max(
            (
                condition.violation(run, None if default is None else default.runs.get(seed))
                for seed, run in runs.items()
            ),
            default=0.0,
        )
        for condition in aim.conditions
    }
    values: tuple[float, ...] = ()
    if state != "failed":
        known = tuple(_mean(runs, objective) for objective in aim.objectives)
        if all(value is not None for value in known):
            values = tuple(value for value in known if value is not None)
        if rival is not None:
            values = tuple(
                _estimate(runs, rival, objective, value)
                for objective, value in zip(aim.objectives, rival.values, strict=True)
            )
    return Trial(number, setting, state, dict(runs), values, violations, why)


def _mean(runs: Mapping[int, Numbers], measure: Measure) -> float | None:
    known = [run[measure.name] for run in runs.values() if measure.name in run]
    return math.fsum(known) / len(known) if known else None


def _estimate(runs: Mapping[int, Numbers], rival: Trial, measure: Measure, whole: float) -> float:
    """The mean of a trial over all seeds, from the rival's and what both have in the seeds of the trial.

    Seeds differ more from each other than settings do: the mean over a few of them would mislead the search.
    """
    own = _mean(runs, measure)
    other = _mean({seed: rival.runs[seed] for seed in runs}, measure)
    assert own is not None
    assert other is not None
    return whole * own / other if other else whole + own
