"""Runs of settings of a scenario, whose results are kept in the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from incast.errors import ResultError, ScenarioError
from incast.progress import State
from incast.results.result import is_sound
from incast.runs import store
from incast.runs.runner import Batch, Executor, Job
from incast.scenario import Scenario
from incast.tuning.aim import Aim
from incast.tuning.space import Parameter, Setting, values_of
from incast.tuning.trial import Outcome, Wanted


class Meter:
    """The progress of all batches of a search together.

    Args:
        runs: How many runs there will be, at most.
        watch: Called when something has changed.
    """

    def __init__(self, runs: int, watch: Callable[[State], None] | None) -> None:
        self._whole = State(runs)
        self._watch = watch

    @property
    def state(self) -> State:
        """The progress of all batches that are over."""
        return self._whole

    def expect(self, runs: int) -> None:
        """Sets how many runs are still to come, at most."""
        self._whole.runs = self._whole.done + len(self._whole.failures) + runs

    def spare(self, runs: int) -> None:
        """Takes off runs that are not needed."""
        self._whole.runs -= runs

    def now(self, part: State) -> None:
        """Shows the progress of a batch, added to the batches before."""
        if self._watch is None:
            return
        whole = self._whole
        self._watch(
            State(
                whole.runs,
                whole.reused + part.reused,
                whole.made + part.made,
                [*whole.failures, *part.failures],
                dict(part.shares),
            )
        )

    def over(self, part: State) -> None:
        """Adds a batch that is over."""
        self._whole.reused += part.reused
        self._whole.made += part.made
        self._whole.failures += part.failures


class Runs:
    """Makes the runs of settings of a scenario.

    Args:
        scenario: The scenario in its default setting.
        parameters: What is changed.
        aim: The numbers to keep of each run.
        results: The folder of all results.
        executor: Where runs are made; None takes processes of this machine.
        meter: Shows the progress.
        fresh: Make each run again, once.
    """

    def __init__(
        self,
        scenario: Scenario,
        parameters: Sequence[Parameter],
        aim: Aim,
        results: Path,
        executor: Executor | None = None,
        meter: Meter | None = None,
        fresh: bool = False,
    ) -> None:
        self._scenario = scenario
        self._parameters = parameters
        self._aim = aim
        self._results = results
        self._executor = executor
        self._meter = meter or Meter(0, None)
        self._fresh = fresh
        self._again: set[Path] = set()

    def scenario(self, setting: Setting | None, seed: int) -> Scenario:
        """The scenario of a setting with a seed.

        Raises:
            ScenarioError: When the setting is refused.
        """
        values = {} if setting is None else values_of(self._parameters, setting)
        changed = self._scenario.with_(values) if values else self._scenario
        return changed.with_seed(seed)

    def measure(self, wanted: Sequence[Wanted]) -> list[Outcome]:
        """Makes the runs that have no result yet, and returns the outcome of each."""
        jobs: dict[Path, Job] = {}
        places: list[Path | Outcome] = []
        for setting, seed in wanted:
            try:
                scenario = self.scenario(setting, seed)
                scenario.size()
            except ScenarioError as error:
                places.append(Outcome({}, error.problems[0].problem))
                continue
            folder = store.place(self._results, scenario, store.named_files(scenario))
            label = "default" if setting is None else ", ".join(map(str, setting))
            jobs.setdefault(folder, Job(f"{label}, seed {seed}", scenario, folder))
            places.append(folder)
        self._meter.spare(len(wanted) - len(jobs))
        batch = Batch(list(jobs.values()))
        again = self._fresh and not self._again.issuperset(jobs)
        batch.run(self._executor, fresh=again, watch=self._meter.now)
        self._again.update(jobs)
        self._meter.over(batch.state)
        number = {folder: n for n, folder in enumerate(jobs)}
        return [
            place if isinstance(place, Outcome) else self._outcome(batch, number[place]) for place in places
        ]

    def _outcome(self, batch: Batch, n: int) -> Outcome:
        info = batch.infos.get(n)
        if info is None:
            return Outcome({}, batch.errors[n].splitlines()[0])
        if not is_sound(info):
            return Outcome({}, info["outcome"]["why"])
        try:
            numbers = self._aim.numbers(info, partial(batch.result, n))
        except (ValueError, ResultError) as error:
            return Outcome({}, str(error))
        return Outcome(numbers, None, info["outcome"]["fingerprint"])
