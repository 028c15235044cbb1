"""The check of a setting on seeds and scenarios that no trial has seen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from incast.results.decide import Difference
from incast.results.measures.named import Measure
from incast.tuning.aim import Aim
from incast.tuning.space import Setting
from incast.tuning.trial import Bench, Trial, compared

FIRST_SEED = 1_000_001
"""The first of the seeds that are kept for the check. No trial gets them."""


@dataclass(frozen=True)
class Check:
    """The tuned setting beside the default one, on runs that had no part in the search.

    Attributes:
        name: The runs: the scenario's name.
        seeds: Their seeds.
        differences: The difference of the tuned setting to the default one, by the name of the objective.
        losses: The part of the gain in the search that is lost here, by objective: the ratio of both here
            over the ratio of both in the search, minus 1, with costs as they are and goods the other way
            round. 0.03 is 3 % worse than promised. For differences, the change of the difference. NaN where
            one of them is unknown.
        broken: The conditions that the tuned setting does not meet here, and why it failed, if it did.
        broken_default: Likewise for the default setting.
    """

    name: str
    seeds: tuple[int, ...]
    differences: Mapping[str, Difference]
    losses: Mapping[str, float]
    broken: tuple[str, ...] = ()
    broken_default: tuple[str, ...] = ()


def check(
    bench: Bench,
    aim: Aim,
    seeds: Sequence[int],
    setting: Setting,
    name: str,
    gains: Mapping[str, Difference],
) -> Check:
    """Measures the tuned and the default setting with other seeds or in another scenario.

    Args:
        bench: Where they are measured.
        aim: Objectives and conditions.
        seeds: The seeds.
        setting: The tuned setting.
        name: The name of the runs.
        gains: The differences in the search, by objective.
    """
    wanted = [(one, seed) for seed in seeds for one in (None, setting)]
    measured = bench.measure(wanted)

    def trial(of: Setting | None) -> tuple[Trial, list[str]]:
        """The trial with all sound runs, also those that miss a condition."""
        outcomes = {seed: outcome for (one, seed), outcome in zip(wanted, measured, strict=True) if one is of}
        why = [f"seed {seed}: {outcome.why}" for seed, outcome in outcomes.items() if outcome.why is not None]
        runs = {seed: outcome.numbers for seed, outcome in outcomes.items() if outcome.why is None}
        return Trial(-1, (), "complete", runs), why

    (default, failed_default), (tuned, failed) = trial(None), trial(setting)
    differences = {o.name: compared(tuned, default, o) for o in aim.objectives}
    return Check(
        name,
        tuple(seeds),
        differences,
        {o.name: loss(o, gains[o.name], differences[o.name]) for o in aim.objectives},
        (*_broken(aim, tuned, default), *failed),
        (*_broken(aim, default, default), *failed_default),
    )


def loss(objective: Measure, before: Difference, after: Difference) -> float:
    """Returns the part of a gain that is lost between two comparisons; see :attr:`Check.losses`."""
    if before.scale != after.scale or math.isnan(before.value) or math.isnan(after.value):
        return math.nan
    if before.scale == "difference":
        worse = after.value - before.value
        return worse if objective.better == "lower" else -worse
    ratio = after.value / before.value
    return (ratio if objective.better == "lower" else 1 / ratio) - 1


def _broken(aim: Aim, trial: Trial, default: Trial) -> list[str]:
    """The conditions that some run misses, each with the number of these runs."""
    found = []
    for condition in aim.conditions:
        missed = sum(condition.violation(run, default.runs.get(seed)) > 0 for seed, run in trial.runs.items())
        if missed:
            found.append(f"not {condition.text} in {missed} of {len(trial.runs)} runs")
    return found
