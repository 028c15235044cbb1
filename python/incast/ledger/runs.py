"""Making the runs of a figure, several at a time."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from fnmatch import fnmatchcase

from incast.ledger.figure import Figure, LedgerError, RunSpec
from incast.ledger.view import View
from incast.result import Result
from incast.scenario import Progress, Scenario


@dataclass(frozen=True)
class Progressing:
    """How far the runs of a figure are.

    Attributes:
        figure: Its id.
        done: Runs that are done.
        runs: Runs in all.
        latest: The run that was heard from last.
        progress: Where that one is; nothing when it has just ended.
    """

    figure: str
    done: int
    runs: int
    latest: str
    progress: Progress | None


class Results(Mapping[str, Result]):
    """The results of a figure's runs, by name.

    Attributes:
        figure: The figure.
        wall_s: Seconds of wall time that all runs took together.
    """

    def __init__(self, figure: Figure, results: Mapping[str, Result], wall_s: float = 0.0) -> None:
        self.figure = figure
        self.wall_s = wall_s
        self._results = {spec.name: results[spec.name] for spec in figure.runs}
        self._views: dict[str, View] = {}
        self._specs = {spec.name: spec for spec in figure.runs}

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
        """What a run was."""
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


class _StoppedError(Exception):
    """Ends a run from within."""


def run_figure(
    figure: Figure, jobs: int | None = None, report: Callable[[Progressing], None] | None = None
) -> Results:
    """Makes all runs of a figure.

    Args:
        figure: The figure.
        jobs: Runs at the same time; none takes one per core. The numbers do not depend on it.
        report: Called as they go on, from several threads.

    Raises:
        ScenarioError: When a scenario is wrong; before anything runs.
        LedgerError: When a run does not come to a proper end.
        KeyboardInterrupt: After Ctrl-C; the runs under way are stopped.
    """
    began = time.monotonic()
    scenarios = {spec.name: Scenario.load(spec.scenario, spec.overrides) for spec in figure.runs}
    for scenario in scenarios.values():
        scenario.size()
    stop = threading.Event()
    results: dict[str, Result] = {}

    def make(name: str) -> Result:
        def tell(progress: Progress) -> None:
            if stop.is_set():
                raise _StoppedError
            if report:
                report(Progressing(figure.id, len(results), len(scenarios), name, progress))

        if stop.is_set():
            raise _StoppedError
        return scenarios[name].run(threads=1, progress=tell)

    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        pending = {pool.submit(make, name): name for name in scenarios}
        try:
            for future in as_completed(pending):
                name = pending[future]
                results[name] = future.result()
                _check(figure, name, results[name])
                if report:
                    report(Progressing(figure.id, len(results), len(scenarios), name, None))
        except BaseException:
            stop.set()
            for future in pending:
                future.cancel()
            raise
    return Results(figure, results, time.monotonic() - began)


def _check(figure: Figure, name: str, result: Result) -> None:
    """A run that stalled or broke an invariant proves nothing."""
    outcome = result.info["outcome"]
    if result.end not in ("finished", "time limit") or outcome["violations"]:
        why = "; ".join([outcome["why"], *outcome["violations"]])
        raise LedgerError(f"{figure.id}: the run {name!r} came to no proper end: {why}")
