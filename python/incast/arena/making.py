"""Running an arena: its runs, its scores, its files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incast.arena import duels, html, measure, record
from incast.arena.duels import Duel
from incast.arena.entries import Metric
from incast.arena.planning import Plan
from incast.arena.score import Column, Judged, Observed, Score, Standing, judge
from incast.progress import State
from incast.results.load import loads_of
from incast.results.result import Result, is_sound, warnings_of
from incast.runs import store
from incast.runs.runner import Batch, Executor, Job

LIMIT_S = 300.0
"""Wall time after which a run has failed."""


@dataclass(frozen=True)
class Made:
    """A run with a result.

    Attributes:
        values: The values of the metrics of its scenario; None where the run has failed.
        end: How it ended.
        hops: Packet-hops.
        steady: Whether every load in it is steady.
        warnings: The warnings about it, each once.
        fingerprint: The hash of what it produced.
    """

    values: tuple[Observed, ...] | None
    end: str
    hops: int
    steady: bool
    warnings: tuple[str, ...]
    fingerprint: str


@dataclass(frozen=True)
class Arena:
    """An arena that is over.

    Attributes:
        plan: What it ran.
        made: The runs that have a result, by their numbers in the plan.
        failures: The reason for which a run or a duel has no value, by its label.
        columns: The values of all metrics.
        judged: What the method says of them.
        duels: The matrix of duels, both halves.
        state: What was reused and made, and what failed.
    """

    plan: Plan
    made: Mapping[int, Made]
    failures: Mapping[str, str]
    columns: tuple[Column, ...]
    judged: Judged
    duels: tuple[Duel, ...]
    state: State

    def front(self, scenario: str) -> list[str]:
        """Returns the contestants of a scenario that nobody dominates.

        Args:
            scenario: Its name.
        """
        return self.judged.front(scenario)

    @property
    def ranking(self) -> list[Standing]:
        """The ranked contestants, the best first."""
        return [one for one in self.judged.standings if one.ranked]

    @property
    def scores(self) -> tuple[Score, ...]:
        """The places of all contestants in all metrics."""
        return self.judged.scores

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Writes the record and the tables into a folder, and returns the files.

        Args:
            folder: The folder, which is made if it is not there.

        Raises:
            ResultError: When one of them cannot be written.
        """
        return record.save(self, Path(folder))

    def html(self) -> str:
        """Returns the results as one HTML file."""
        return html.page(record.content(self))

    def _repr_html_(self) -> str:
        return html.ranking(record.content(self))

    @property
    def title(self) -> str:
        """The battery with its version: ``quick 1``."""
        return f"{self.plan.battery.name} {self.plan.battery.version}"

    def __repr__(self) -> str:
        of = self.plan
        return f"<Arena {self.title}: {len(of.contestants)} contestants, {len(of.battery.entries)} scenarios>"


def default_folder(plan: Plan) -> Path:
    """Returns the default folder of an arena's files."""
    return store.DEFAULT / f"arena-{plan.battery.name}-{plan.battery.version}-{plan.key}"


def make(
    plan: Plan,
    *,
    executor: Executor | None = None,
    fresh: bool = False,
    limit_s: float | None = LIMIT_S,
    watch: Callable[[State], None] | None = None,
) -> Arena:
    """Makes the runs of an arena and judges them.

    Killed at any time and begun again, it makes only the runs that are missing, and ends with the same
    numbers. A run that fails, or takes too long, costs its contestant the scenario and stops nothing.

    Args:
        plan: What to run.
        executor: Where the runs are made; None takes processes of this machine, one for each core.
        fresh: Make all runs again.
        limit_s: Wall time in seconds after which a run has failed; None for no limit.
        watch: Called when something has changed, from any thread.

    Raises:
        ResultError: When results cannot be saved.
        KeyboardInterrupt: After Ctrl-C; what is done stays.
    """
    jobs = [Job(one.label, one.scenario, one.folder) for one in plan.runs]
    jobs += [Job(one.label, one.scenario, one.folder) for one in plan.matches]
    batch = Batch(jobs)
    made: dict[int, Made] = {}
    matches: dict[int, Duel] = {}
    failures: dict[str, str] = {}

    def progressed(batch: Batch) -> None:
        # Results are read as they arrive: this process is idle meanwhile, and keeps numbers only.
        for number in list(batch.infos):
            if number not in made and number not in matches and jobs[number].label not in failures:
                _read(plan, number, batch, made, matches, failures)

    batch.run(executor, fresh=fresh, limit_s=limit_s, watch=watch, progressed=progressed)
    progressed(batch)
    for number, why in batch.errors.items():
        failures[jobs[number].label] = why
    columns = _columns(plan, made)
    judged = judge(columns, plan.ranked, plan.battery.digest)
    ordered = [matches[number] for number in sorted(matches)]
    mirrored = [duel.mirrored() for duel in ordered if duel.contestant != duel.other]
    order = {jobs[number].label: number for number in range(len(jobs))}
    said = dict(sorted(failures.items(), key=lambda item: order[item[0]]))
    return Arena(
        plan, dict(sorted(made.items())), said, tuple(columns), judged, (*ordered, *mirrored), batch.state
    )


def _read(
    plan: Plan,
    number: int,
    batch: Batch,
    made: dict[int, Made],
    matches: dict[int, Duel],
    failures: dict[str, str],
) -> None:
    """Reads the result of a run, and keeps its numbers."""
    info = batch.infos[number]
    why = "" if is_sound(info) else _unsound(info)
    if number >= len(plan.runs):
        match = plan.matches[number - len(plan.runs)]
        try:
            if why:
                raise ValueError(why)
            matches[number] = duels.judged(match.contestants, batch.result(number))
        except ValueError as error:
            failures[match.label] = str(error)
        return
    one = plan.runs[number]
    values = None
    if not why:
        try:
            values = _values(one.entry.metrics, batch.result(number))
        except ValueError as error:
            why = str(error)
    outcome = info["outcome"]
    made[number] = Made(
        values,
        outcome["end"],
        outcome["hops"],
        all(load.steady for load in loads_of(info)),
        tuple(dict.fromkeys(str(problem) for problem in warnings_of(info))),
        outcome["fingerprint"],
    )
    if why:
        failures[one.label] = why


def _values(metrics: Sequence[Metric], result: Result) -> tuple[Observed, ...]:
    return tuple(measure.observe(metrics, result))


def _unsound(info: Mapping[str, Any]) -> str:
    outcome = info["outcome"]
    return "; ".join([outcome["why"], *outcome["violations"]])


def _columns(plan: Plan, made: Mapping[int, Made]) -> list[Column]:
    """Returns the values of all metrics, with the contestants in the order of the plan."""
    of: dict[tuple[str, str], list[Made | None]] = {}
    for number, one in enumerate(plan.runs):
        of.setdefault((one.entry.name, one.contestant), []).append(made.get(number))
    columns = []
    for entry in plan.battery.entries:
        here = {
            contender.name: of[entry.name, contender.name]
            for contender in plan.contestants
            if (entry.name, contender.name) in of
        }
        drawn = frozenset(
            name
            for name, some in here.items()
            if len({one.fingerprint for one in some if one is not None}) > 1
        )
        for place, metric in enumerate(entry.metrics):
            values = {
                name: [None if one is None or one.values is None else one.values[place] for one in some]
                for name, some in here.items()
            }
            columns.append(Column(entry.name, metric.name, metric.better, entry.seeds, values, drawn))
    return columns
