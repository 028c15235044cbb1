"""Making the runs of a figure, and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from incast import store
from incast.ledger.figure import Figure, LedgerError, RunSpec
from incast.ledger.view import View
from incast.result import Result
from incast.runner import Batch, Executor, Job, State, Threads, cores
from incast.scenario import Scenario


class Results(Mapping[str, Result]):
    """The results of a figure's runs, by name.

    Attributes:
        figure: The figure.
        wall_s: Seconds of wall time that the runs took, each on one thread, added up. A reused result
            counts with the time that its run took.
    """

    def __init__(self, figure: Figure, results: Mapping[str, Result]) -> None:
        self.figure = figure
        self._results = {spec.name: results[spec.name] for spec in figure.runs}
        self._views: dict[str, View] = {}
        self._specs = {spec.name: spec for spec in figure.runs}
        self.wall_s = sum(float(result.info["outcome"]["wall_s"]) for result in self._results.values())

    def __getitem__(self, name: str) -> Result:
        return self._results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def view(self, name: str) -> View:
        """A run's result as the measures see it."""
        if name not in self._views:
            self._views[name] = View(name, self._results[name])
        return self._views[name]

    def spec(self, name: str) -> RunSpec:
        """The description of a run."""
        return self._specs[name]

    def matching(self, pattern: str) -> list[str]:
        """Names of the runs that fit a pattern like ``oscar/*``, in the order of the figure.

        Raises:
            LedgerError: When there are none.
        """
        names = [name for name in self._results if fnmatchcase(name, pattern)]
        if not names:
            known = ", ".join(self._results)
            raise LedgerError(f"{self.figure.id}: no run is called {pattern!r}; there are {known}")
        return names


def run_figure(
    figure: Figure,
    *,
    folder: Path | None = None,
    executor: Executor | None = None,
    fresh: bool = False,
    watch: Callable[[State], None] | None = None,
) -> Results:
    """Makes all runs of a figure. When repeated after a stop or kill, it makes only the missing ones.

    Args:
        figure: The figure.
        folder: The folder of all results, like :data:`incast.store.DEFAULT`; None keeps the results in
            memory and makes the runs in this process.
        executor: Where the runs are made; None takes one run for each core of this machine.
        fresh: Make all runs again.
        watch: Called when something has changed, from any thread.

    Raises:
        ScenarioError: When a scenario is wrong; before anything runs.
        LedgerError: When a run fails: it has no result, stalled, or violated an invariant.
        ResultError: When results cannot be saved or read.
        KeyboardInterrupt: After Ctrl-C; finished runs are kept.
    """
    jobs = []
    for spec in figure.runs:
        scenario = Scenario.load(spec.scenario, spec.overrides)
        scenario.size()
        files = store.named_files(scenario)
        place = None if folder is None else store.place(folder, scenario, files)
        jobs.append(Job(spec.name, scenario, place))

    def check(batch: Batch) -> None:
        for failure in batch.state.failures:
            raise LedgerError(f"{figure.id}: the run {failure.label!r} failed: {failure.why}")

    batch = Batch(jobs)
    default = Threads(cores()) if folder is None else None
    batch.run(executor or default, fresh=fresh, watch=watch, progressed=check)
    return Results(figure, {job.label: batch.result(n) for n, job in enumerate(jobs)})
