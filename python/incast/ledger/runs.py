"""Making the runs of figures, and their results."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType

from incast.ledger import testbeds
from incast.ledger.figure import Figure, RunSpec
from incast.ledger.reader import LedgerError
from incast.progress import State
from incast.results.measures.view import View
from incast.results.result import Result
from incast.runs import store
from incast.runs.runner import Batch, Executor, Job, Threads, cores


class Results(Mapping[str, Result]):
    """The results of a figure's runs, by name: of one seed, where runs have several.

    Attributes:
        figure: The figure.
        wall_s: Seconds of wall time that the runs of all seeds took, each on one thread, added up. A reused
            result counts with the time that its run took.
        hops: Packet-hops of the runs of all seeds: what they cost, whatever the machine does besides.
        seeded: Whether a run with several seeds was looked at, since this was last set to False.
        allowed: The runs at which a measure may look now; None for all.
    """

    def __init__(self, figure: Figure, results: Mapping[str, Sequence[Result]]) -> None:
        self.figure = figure
        self.seeded = False
        self.allowed: frozenset[str] | None = None
        self._results = {spec.name: tuple(results[spec.name]) for spec in figure.runs}
        self._views: dict[tuple[str, int], View] = {}
        self._specs = {spec.name: spec for spec in figure.runs}
        self._replica = 0
        self._module: ModuleType | None = None
        every = [result for of_run in self._results.values() for result in of_run]
        self.wall_s = sum(float(result.info["outcome"]["wall_s"]) for result in every)
        self.hops = sum(int(result.info["outcome"]["hops"]) for result in every)

    def __getitem__(self, name: str) -> Result:
        return self._results[name][self._place(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def replicas(self) -> Iterator[Results]:
        """These results for each seed in turn.

        Runs of the same seed go together, and a run without seeds goes with each. It is the same object, so
        that what was read of a run is kept.
        """
        try:
            for replica in range(self.figure.replicas):
                self._replica = replica
                yield self
        finally:
            self._replica = 0

    def view(self, name: str) -> View:
        """A run's result as the measures see it."""
        place = self._place(name)
        if (name, place) not in self._views:
            self._views[name, place] = View(name, self[name])
        return self._views[name, place]

    def _place(self, name: str) -> int:
        if self.allowed is not None and name in self._results and name not in self.allowed:
            raise LedgerError(f"it looks at the run {name!r}, which the claim does not list under runs")
        several = len(self._results[name]) > 1
        self.seeded |= several
        return self._replica if several else 0

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

    def analysis(self, name: str) -> Callable[..., object]:
        """A function of the figure's file of analysis.

        Raises:
            LedgerError: When there is no such file or function, or the file cannot be run.
        """
        file = self.figure.analysis
        if self._module is None:
            found = importlib.util.spec_from_file_location(f"analysis_of_{self.figure.id}", file)
            if found is None or found.loader is None or not file.is_file():
                raise LedgerError(f"there is no {file}")
            module = importlib.util.module_from_spec(found)
            try:
                found.loader.exec_module(module)
            except Exception as error:
                raise LedgerError(f"{file}: {error!r}") from error
            self._module = module
        function = getattr(self._module, name, None)
        if not callable(function) or name.startswith("_"):
            raise LedgerError(f"{file}: there is no function {name!r}")
        return function  # type: ignore[no-any-return]  # what it returns is checked where it is called


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
        folder: The folder of all results, like :data:`incast.runs.store.DEFAULT`; None keeps the results in
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
    found: list[Results] = []
    run_figures(
        [figure],
        lambda _, results: found.append(results),
        folder=folder,
        executor=executor,
        fresh=fresh,
        watch=watch,
    )
    return found[0]


def run_figures(
    figures: Sequence[Figure],
    done: Callable[[Figure, Results], None],
    *,
    folder: Path | None = None,
    executor: Executor | None = None,
    fresh: bool = False,
    watch: Callable[[State], None] | None = None,
    absent: Callable[[Figure, str], None] | None = None,
) -> None:
    """Makes all runs of some figures as one batch, so that no core waits for the last run of a figure.

    Args:
        figures: The figures.
        done: Called for each figure, in their order, as soon as the results of it and of those before it are
            there; not for one of which a run failed.
        folder: As for :func:`run_figure`.
        executor: As there.
        fresh: As there.
        watch: As there; the state covers all figures.
        absent: Called for each figure with runs on a testbed that this machine cannot make, with the reason.

    Runs on a testbed are made after all others, one at a time: they share the cores with nothing else.

    Raises:
        ScenarioError: When a scenario is wrong; before anything runs.
        LedgerError: When runs failed: without result, stalled, or with a violated invariant; after all others
            were made.
        ResultError: When results cannot be saved or read.
        KeyboardInterrupt: After Ctrl-C; finished runs are kept.
    """
    jobs: list[Job] = []
    ranges: list[tuple[Figure, range]] = []
    for figure in figures:
        first = len(jobs)
        jobs.extend(_jobs(figure, folder))
        ranges.append((figure, range(first, len(jobs))))
    batch = Batch(jobs)
    batch.state.runs += sum(map(testbeds.count, figures))
    left = list(ranges)
    waiting: list[tuple[Figure, range]] = []

    def check(batch: Batch) -> None:
        failed = {failure.label for failure in batch.state.failures}
        while left and all(index in batch.infos or index in batch.errors for index in left[0][1]):
            figure, indices = left.pop(0)
            if any(jobs[index].label in failed for index in indices):
                batch.state.runs -= testbeds.count(figure)
                continue
            if figure.testbed:
                waiting.append((figure, indices))
            else:
                done(figure, _collected(figure, batch, indices))

    default = Threads(cores()) if folder is None else None
    batch.run(executor or default, fresh=fresh, watch=watch, progressed=check)
    check(batch)
    failures = [f"{failure.label} failed: {failure.why}" for failure in batch.state.failures]
    for figure, indices in waiting:
        expected = batch.state.made + batch.state.reused + testbeds.count(figure)
        try:
            measured = testbeds.measure(figure, folder, fresh, batch.state, watch)
        except testbeds.AbsentError as reason:
            if absent is None:
                raise LedgerError(f"{figure.id}: not run here: {reason}") from None
            absent(figure, str(reason))
        except LedgerError as error:
            failures.append(str(error))
        else:
            done(figure, _collected(figure, batch, indices, measured))
            continue
        # What was not made of it never will be.
        batch.state.runs -= expected - batch.state.made - batch.state.reused
        if watch is not None:
            watch(batch.state)
    if failures:
        raise LedgerError("\n".join(failures))


def _jobs(figure: Figure, folder: Path | None) -> Iterator[Job]:
    for spec in figure.runs:
        for seed in () if spec.testbed else spec.seeds or (None,):
            scenario = spec.load(seed)
            scenario.size()
            files = store.named_files(scenario)
            place = None if folder is None else store.place(folder, scenario, files)
            name = f"{figure.id}: the run {spec.name!r}" + ("" if seed is None else f" with seed {seed}")
            yield Job(name, scenario, place)


def _collected(
    figure: Figure, batch: Batch, indices: range, measured: Mapping[str, Sequence[Result]] | None = None
) -> Results:
    found: dict[str, Sequence[Result]] = dict(measured or {})
    places = iter(indices)
    for spec in figure.runs:
        if not spec.testbed:
            found[spec.name] = [batch.result(next(places)) for _ in spec.seeds or (None,)]
    return Results(figure, found)
