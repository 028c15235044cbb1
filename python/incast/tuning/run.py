"""Tuning: the search for a setting, its robust region, and its check on runs that no trial has seen."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from incast.errors import ResultError
from incast.progress import State
from incast.results.decide import Difference
from incast.results.titles import number_of
from incast.runs import store
from incast.runs.runner import Executor, Local
from incast.scenario import Scenario
from incast.tuning import record
from incast.tuning.battery import plan_arena
from incast.tuning.check import Check, check
from incast.tuning.front import compromise, hypervolume
from incast.tuning.plan import SEEDS, TRIALS, Lab, Plan, plan
from incast.tuning.robust import ROUNDS, Region, robust
from incast.tuning.runs import Meter
from incast.tuning.search import FILE, GENERATION, best, costs, importances, search
from incast.tuning.space import values_of
from incast.tuning.trial import Bench, Trial, compared, measure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Tuning:
    """A search that is over.

    Attributes:
        plan: The search.
        folder: Where its files are.
        default: The default setting as a trial.
        trials: All trials.
        front: The trials on the Pareto front, of all trials that meet the conditions; with one objective the
            best one. The default setting is among them if nothing better was found.
        chosen: The trial of the front whose largest loss against the best of each objective is least; None
            if no setting meets the conditions.
        gains: The difference of the chosen setting to the default one in the search, by objective. Of many
            trials the best is in part the luckiest: ``checks`` say what is left of it.
        importances: The share of each parameter in the differences of an objective, by objective.
        hypervolume: After each generation, the share of the volume that the whole front dominates.
        robust: The robust region of each parameter.
        checks: The chosen setting on other seeds, then in other scenarios.
        state: Runs that were made and reused.
        files: The files that were written.
    """

    plan: Plan
    folder: Path
    default: Trial
    trials: tuple[Trial, ...]
    front: tuple[Trial, ...]
    chosen: Trial | None
    gains: Mapping[str, Difference]
    importances: Mapping[str, Mapping[str, float]]
    hypervolume: tuple[float, ...]
    robust: tuple[Region, ...]
    checks: tuple[Check, ...]
    state: State
    files: tuple[Path, ...] = ()

    @property
    def setting(self) -> dict[str, object]:
        """The chosen values by key, as :meth:`incast.Scenario.with_` takes them; empty without any."""
        if self.chosen is None:
            return {}
        return {**values_of(self.plan.parameters, self.chosen.setting)}

    def plot(self) -> Figure:
        """Draws trials, hypervolume, importances and robust regions.

        Raises:
            ImportError: Without matplotlib: ``pip install 'incast[plot]'``.
        """
        from incast.tuning.picture import draw

        return draw(self)

    def __repr__(self) -> str:
        parameters = number_of(len(self.plan.parameters), "parameter")
        return f"<Tuning of {self.plan.title!r}: {parameters}, {number_of(len(self.trials), 'trial')}>"


def tune(
    scenario: Scenario | str | os.PathLike[str],
    vary: Sequence[str],
    objective: str | Sequence[str],
    *,
    subject_to: str | Sequence[str] = (),
    cc: str | None = None,
    contestant: str | None = None,
    trials: int = TRIALS,
    seeds: int = SEEDS,
    seed: int | None = None,
    search_seed: int = 1,
    held_out: Sequence[str | os.PathLike[str]] = (),
    folder: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    fresh: bool = False,
    watch: Callable[[State], None] | None = None,
) -> Tuning:
    """Searches for a better setting of an algorithm in a scenario.

    ```python
    tuning = incast.tune(
        "examples/load.toml",
        ["cc.beta=0.2:1", "cc.base_target=5us:50us:log"],
        "p99.small",
        subject_to="mean.large <= 105% of default",
        cc="swift",
    )
    tuning.setting
    ```

    Killed at any time and begun again, it continues and ends with the same numbers.

    Args:
        scenario: The scenario or its file.
        vary: Keys with their ranges or values: ``cc.beta=0.2:1``, ``cc.base_target=5us:50us:log``,
            ``cc.unit=packet,bdp``.
        objective: One or several measures that are to improve, like ``p99.small`` or ``queue(all, p99)``.
        subject_to: Conditions that every run has to meet, like ``queue.peak <= 100KB``.
        cc: The algorithm, with its preset; None takes the scenario's.
        contestant: A contestant in its place, like ``"nscc"``, or a file that defines one.
        trials: How many settings are tried.
        seeds: How many seeds each setting runs with, unless it is given up earlier.
        seed: The first of them; None takes the scenario's.
        search_seed: The seed of the search.
        held_out: Files of scenarios for the last check.
        folder: Where to keep the study and to put the files; None takes a folder under ``incast-results``.
        executor: Where runs are made; None takes processes of this machine, one for each core.
        fresh: Forget an earlier study and make all runs again.
        watch: Called when something has changed, from any thread.

    Raises:
        ScenarioError: When something is wrong.
        ResultError: When Optuna is not installed (``pip install 'incast[tune]'``), the folder holds something
            else, or the default setting has no result.
        KeyboardInterrupt: After Ctrl-C; what is done stays.
    """
    what = plan(
        scenario,
        vary,
        [objective] if isinstance(objective, str) else objective,
        subject_to=[subject_to] if isinstance(subject_to, str) else subject_to,
        cc=cc,
        contestant=contestant,
        trials=trials,
        seeds=seeds,
        seed=seed,
        search_seed=search_seed,
        held_out=held_out,
    )
    place = None if folder is None else Path(folder)
    return run(what, folder=place, executor=executor, fresh=fresh, watch=watch)


def tune_arena(
    battery: str,
    contestant: str,
    vary: Sequence[str],
    *,
    trials: int = TRIALS,
    seeds: int | None = None,
    search_seed: int = 1,
    held_out: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    fresh: bool = False,
    watch: Callable[[State], None] | None = None,
) -> Tuning:
    """Searches for a setting of a contestant that is better over a battery of the arena.

    The objective is the geometric mean over the scenarios of the ratio to the default setting. The ratio of
    a scenario is the geometric mean over its metrics, with goods inverted. All settings run the same ones.

    Args:
        battery: ``quick`` or ``full``, or the folder of a battery.
        contestant: What is tuned, like ``"nscc"``, or a file that defines it.
        vary: As for :func:`tune`.
        trials: How many settings are tried.
        seeds: How many replicates of each scenario a setting runs; None takes as many as all scenarios have.
        search_seed: The seed of the search.
        held_out: The folder of the battery of the last check; None takes the held-out one.
        folder: As for :func:`tune`, and so are the next three.
        executor: Where runs are made.
        fresh: Forget an earlier study and make all runs again.
        watch: Called when something has changed, from any thread.

    Raises:
        ScenarioError: When something is wrong.
        ResultError: As :func:`tune` does.
        KeyboardInterrupt: After Ctrl-C; what is done stays.
    """
    what = plan_arena(
        battery, contestant, vary, trials=trials, seeds=seeds, search_seed=search_seed, held_out=held_out
    )
    place = None if folder is None else Path(folder)
    return run(what, folder=place, executor=executor, fresh=fresh, watch=watch)


def run(
    what: Plan,
    *,
    folder: Path | None = None,
    executor: Executor | None = None,
    fresh: bool = False,
    watch: Callable[[State], None] | None = None,
) -> Tuning:
    """Makes a search that was read before; see :func:`tune`."""
    where = what.folder if folder is None else folder
    record.prepare(where, what, fresh, FILE)
    executor = executor or Local()
    # A search makes many small batches.
    with executor if isinstance(executor, Local) else nullcontext():
        return _made(what, where, store.DEFAULT if folder is None else where / "runs", executor, fresh, watch)


def _made(
    what: Plan,
    where: Path,
    results: Path,
    executor: Executor,
    fresh: bool,
    watch: Callable[[State], None] | None,
) -> Tuning:
    """Makes a search whose folder is there."""
    parameters, aim = what.parameters, what.aim
    meter = Meter(0, watch)
    lab = Lab(results, executor, meter, fresh)
    search_bench = what.bench(lab)

    def expect(seeds: Sequence[int], settings: int) -> None:
        meter.expect(len(seeds) * settings * what.runs_each + what.check_runs(len(seeds)))

    def spare(runs: int) -> None:
        meter.spare(runs * what.runs_each)

    expect(what.seeds, 1 + what.trials + most_around(what))
    seeds = _seeds(search_bench, what)
    drawn = len(seeds) == len(what.seeds)
    expect(seeds, 1 + what.trials + most_around(what))
    (default,) = measure(search_bench, aim, seeds, [None], -1)
    if default.state == "failed":
        raise ResultError(f"the default setting has no result to compare with: {default.why}")
    default = replace(default, setting=what.default)
    trials = search(
        search_bench,
        parameters,
        aim,
        trials=what.trials,
        seeds=seeds,
        seed=what.search_seed,
        default=default,
        folder=where,
        key=what.key,
        spare=spare,
    )
    front = best(aim, [default, *trials])
    chosen = front[compromise([costs(aim, trial.values) for trial in front])] if front else None
    gains: dict[str, Difference] = {}
    regions: list[Region] = []
    checks: list[Check] = []
    if chosen is not None and chosen.number >= 0:
        gains = {o.name: compared(chosen, default, o) for o in aim.objectives}
        expect(seeds, most_around(what))
        regions = robust(search_bench, parameters, aim, seeds, chosen, default, spare)
        expect(seeds, 0)
        checks = [
            check(bench, aim, others, chosen.setting, name, gains)
            for name, others, bench in what.checks(lab, seeds, drawn=drawn)
        ]
    done = Tuning(
        what,
        where,
        default,
        tuple(trials),
        tuple(front),
        chosen,
        gains,
        {o.name: importances(parameters, aim, trials, n) for n, o in enumerate(aim.objectives)},
        tuple(volumes(what, default, trials)),
        tuple(regions),
        tuple(checks),
        meter.state,
    )
    return record.save(done)


def _seeds(bench: Bench, what: Plan) -> tuple[int, ...]:
    """The seeds of the trials: one where every seed gives the same result."""
    outcomes = bench.measure([(None, seed) for seed in what.seeds])
    same = len({outcome.fingerprint for outcome in outcomes if outcome.why is None}) == 1
    failed = any(outcome.why is not None for outcome in outcomes)
    return what.seeds[:1] if same and not failed else what.seeds


def most_around(what: Plan) -> int:
    """The most settings that are measured for the robust region."""
    return sum(len(p.choices) - 1 if p.choices else 2 * ROUNDS for p in what.parameters)


def volumes(what: Plan, default: Trial, trials: Sequence[Trial]) -> list[float]:
    """The share of the volume of the whole front that is dominated after each generation.

    The corner of the volume is the worst value of each objective among all trials that meet the conditions, a
    hundredth of the range beyond.
    """
    points = {
        trial.number: costs(what.aim, trial.values)
        for trial in (default, *trials)
        if trial.state in ("complete", "given up")
    }
    complete = {
        trial.number: points[trial.number] for trial in (default, *trials) if trial.state == "complete"
    }
    if not complete:
        return []
    sides = list(zip(*points.values(), strict=True))
    corner = [max(side) + 0.01 * (max(side) - min(side)) for side in sides]
    whole = hypervolume(list(complete.values()), corner)
    ends = range(GENERATION, len(trials) + GENERATION, GENERATION)
    known = [[point for n, point in complete.items() if n < end] for end in ends]
    return [hypervolume(some, corner) / whole if whole else 1.0 for some in known]
