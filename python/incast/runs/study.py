"""Several runs of one scenario: with other seeds, with other algorithms."""

from __future__ import annotations

import math
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incast import algorithm
from incast.errors import Problem, ResultError, unsaid, warn
from incast.progress import Progress
from incast.results import censored, decide, stats
from incast.results.decide import Difference, Values
from incast.results.grid import Axis, Grid, Run, made_of, run_of
from incast.results.listing.of_grid import estimates
from incast.results.listing.of_results import listings
from incast.results.listing.shown import Screen, Shown
from incast.results.measures.named import Better, Measure, find
from incast.results.result import Result, warnings_of
from incast.results.stats import Estimate
from incast.results.titles import number_of, title
from incast.runs import store
from incast.scenario import Scenario, _toml, template
from incast.scenario.choice import Choice, choose
from incast.scenario.contestants import choose_contestants

if TYPE_CHECKING:
    from incast.runs.runner import Executor


@dataclass(frozen=True)
class Replications(Shown):
    """Runs of one scenario that differ in their seed.

    Attributes:
        seeds: The seeds.
        results: The result of each, by its seed; empty unless ``keep`` was set.
        metrics: The mean of each number over the seeds, with its interval.
        warnings: The warnings about the scenario with any of the seeds, and verdicts on the runs, each once.
        name: The scenario's name.
        numbers: All numbers of each run, by its seed, also those that other runs lack.
        flows: Fewest finished flows of a run, by the class of their sizes: ``small``, ``large`` and ``all``.
        unfinished: Classes of sizes of which a run has unfinished flows, by its seed.
        infos: The content of ``result.json`` of each run, by its seed.
        at_least: Numbers that are only lower bounds, since flows did not finish in some run.
    """

    seeds: tuple[int, ...]
    metrics: Mapping[str, Estimate]
    results: Mapping[int, Result] = field(default_factory=dict, repr=False)
    warnings: tuple[Problem, ...] = ()
    name: str = ""
    numbers: Mapping[int, Mapping[str, float]] = field(default_factory=dict, repr=False)
    flows: Mapping[str, int] = field(default_factory=dict, repr=False)
    unfinished: Mapping[int, frozenset[str]] = field(default_factory=dict, repr=False)
    infos: Mapping[int, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    at_least: frozenset[str] = frozenset()

    @property
    def grid(self) -> Grid:
        """One entry with its runs, as :mod:`incast.plot` takes them; tables are there if they were kept."""
        runs = [Run(seed, info, self._open(seed)) for seed, info in self.infos.items()]
        return made_of(self.name, [], {(): runs})

    def _open(self, seed: int) -> Callable[[], Result] | None:
        return partial(self.results.__getitem__, seed) if seed in self.results else None

    @property
    def notices(self) -> list[str]:
        """Notices for the user: the warnings."""
        return [f"warning: {problem}" for problem in self.warnings]

    def _screen(self, form: str) -> Screen:
        del form
        seeds = number_of(len(self.seeds), "seed")
        warnings = [str(problem) for problem in self.warnings]
        listing = estimates(f"means over {seeds}", self.metrics, self.at_least, self.flows)
        return Screen(f"{self.name}, {seeds}", (), warnings, [listing])

    def __repr__(self) -> str:
        seeds, numbers = number_of(len(self.seeds), "seed"), number_of(len(self.metrics), "number")
        return f"<Replications of {self.name!r}: {seeds}, {numbers}>"

    def __str__(self) -> str:
        width = max(map(len, self.metrics), default=0)
        rows = (
            f"{name:<{width}}  {'≥ ' if name in self.at_least else ''}{estimate}"
            for name, estimate in self.metrics.items()
        )
        same = [] if all(estimate.drawn for estimate in self.metrics.values()) else [stats.NO_DRAWS]
        return "\n".join([f"{len(self.seeds)} seeds", *rows, *same, *self.notices])


def replicate(
    scenario: Scenario,
    seeds: int | Sequence[int] = 5,
    *,
    measure: Callable[[Result], Mapping[str, float]] = stats.metrics,
    confidence: float = 0.95,
    jobs: int = 1,
    keep: bool = False,
    folder: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
) -> Replications:
    """Runs a scenario with several seeds, and gives the mean of each number with its interval.

    Args:
        scenario: What to run.
        seeds: The seeds, or how many: then the scenario's own and the ones after it.
        measure: Gives the numbers of a result by name. A name that a result lacks is left out. By default
            they are the ones of :func:`incast.stats.metrics`, in which each unfinished flow counts with the
            least slowdown that it can have.
        confidence: The share of intervals that contain the true mean.
        jobs: Number of concurrent runs, in threads of this process.
        keep: Whether to keep the results; if not, only their numbers stay in memory.
        folder: A folder of results, like ``"incast-results"``: existing results are reused, the others are
            saved there, so that replications that were stopped continue where they were.
        executor: Where the runs are made instead, like ``incast.runner.Local()`` (processes) or
            ``incast.runs.runner.on_ray.Ray("ray://head:10001")``.

    Raises:
        ValueError: Without seeds, or when one is given twice.
        ScenarioError: When the scenario cannot be built with one of the seeds.
        ResultError: When a run failed: it has no result, stalled, or violated an invariant.

    Warns:
        IncastWarning: For each of the warnings, once.
    """
    from incast.runs.runner import Batch, Job, Threads

    chosen = range(scenario.seed, scenario.seed + seeds) if isinstance(seeds, int) else seeds
    known = tuple(chosen)
    if not known or len(set(known)) < len(known):
        raise ValueError(f"seeds must be at least one, each once: {list(known)}")
    scenarios = [scenario.with_seed(seed) for seed in known]
    warned = list(dict.fromkeys(problem for one in scenarios for problem in one.warnings))
    warn(warned, 2)
    numbers: dict[int, Mapping[str, float]] = {}
    results: dict[int, Result] = {}
    at_least: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="incast-") as temporary:
        # Other processes hand results over in folders.
        where = Path(folder) if folder is not None else Path(temporary) if executor else None

        def place(one: Scenario) -> Path | None:
            files = store.named_files(one)
            return None if where is None else store.place(where, one, files)

        def take(batch: Batch) -> None:
            for cause in batch.causes.values():
                raise cause
            for failure in batch.state.failures:
                raise ResultError(f"{failure.label}: {failure.why}")
            for n in batch.infos.keys() - numbers.keys():
                result = batch.result(n)
                if measure is stats.metrics:
                    numbers[n], low = censored.metrics(result)
                    at_least.update(low)
                else:
                    numbers[n] = measure(result)
                if keep:
                    results[n] = result if folder is not None else result.in_memory()
                batch.results.pop(n, None)

        batch = Batch([Job(f"seed {one.seed}", one, place(one)) for one in scenarios])
        batch.run(executor or Threads(jobs), progressed=take)
    late = unsaid((problem for n in sorted(batch.infos) for problem in warnings_of(batch.infos[n])), warned)
    warned += dict.fromkeys(late)
    warn(late, 2)
    order = range(len(known))
    names = [name for name in numbers[0] if all(name in numbers[n] for n in order)]
    drawn = stats.drawn(batch.infos.values())
    estimates = {name: Estimate.of((numbers[n][name] for n in order), confidence, drawn) for name in names}
    kept = {known[n]: results[n] for n in order if keep}
    return Replications(
        known,
        estimates,
        kept,
        tuple(warned),
        scenario.name,
        {known[n]: numbers[n] for n in order},
        stats.fewest_flows(batch.infos.values()),
        {known[n]: stats.unfinished_classes(batch.infos[n]) for n in order},
        {known[n]: batch.infos[n] for n in order},
        frozenset(at_least),
    )


def difference(
    of: Replications | Mapping[int, float],
    baseline: Replications | Mapping[int, float],
    measure: str,
    *,
    better: Better | None = None,
    confidence: float = 0.95,
    margin: float | None = None,
) -> Difference:
    """Compares two sides seed by seed, and says in a word whether one is better.

    A run with unfinished flows has no slowdown here: without them it would be too good.

    ```python
    a, b = (incast.replicate(scenario.with_algorithm(cc), seeds=5) for cc in ("oscar", "hpcc"))
    print(incast.difference(a, b, "p99.small"))
    ```

    Args:
        of: The side that is judged: replications, or its value for each seed (NaN: the run has none).
        baseline: The side that it is compared with.
        measure: The name of a measure, like ``p99.small``, or of a number of the runs. For values by seed it
            says what they are.
        better: ``lower``, ``higher`` or ``neither``. A name that is not declared needs it.
        confidence: The share of intervals that contain the true value.
        margin: Sides whose whole interval lies within this part of each other are equal: 0.05 is 5 %. By
            default only what is exactly the same is.

    Raises:
        KeyError: When there is no such measure, and ``better`` is not given.
        ValueError: With a confidence that is not between 0 and 1, or a margin that is not above 0.
    """
    try:
        asked = find(measure)
    except KeyError:
        if better is None:
            raise
        asked = Measure(measure, (measure,), measure, "ratio", better)
    if better is not None:
        asked = replace(asked, better=better)
    a, b = _values(of, asked), _values(baseline, asked)
    return decide.difference(a, b, asked, confidence=confidence, margin=margin)


def _values(side: Replications | Mapping[int, float], measure: Measure) -> Values:
    """Returns the values of a side for a comparison."""
    if not isinstance(side, Replications):
        known = {seed: float(value) for seed, value in side.items() if not math.isnan(value)}
        return Values(known, frozenset(side))
    found = {seed: measure.of(numbers) for seed, numbers in side.numbers.items()}
    samples = None
    of = measure.slowdown_of
    if of is not None:
        found = {seed: value for seed, value in found.items() if of not in side.unfinished.get(seed, ())}
        samples = side.flows.get(of)
    return Values(
        {seed: value for seed, value in found.items() if value is not None and not math.isnan(value)},
        frozenset(side.seeds),
        samples=samples,
        drawn=all(estimate.drawn for estimate in side.metrics.values()),
    )


class Comparison(Shown, dict[str, Result]):
    """The result for each algorithm, by its name.

    Reading the result of a run that failed raises what it failed with.

    Attributes:
        name: The scenario's name.
        left_out: The reasons for which algorithms of ``"all"`` were left out, by their names.
        failed: What a run failed with, by the name of its algorithm.
    """

    def __init__(self, name: str, left_out: Mapping[str, str], order: Sequence[str], key: str = "cc") -> None:
        super().__init__()
        self._key = key
        self._order = tuple(order)
        self.name = name
        self.left_out = dict(left_out)
        self.failed: dict[str, Exception] = {}

    @property
    def grid(self) -> Grid:
        """Its entries with their runs, as :mod:`incast.plot` takes them."""
        names = tuple(sorted((*self, *self.failed), key=self._order.index))
        axis = Axis(self._key, names)
        runs: dict[tuple[str, ...], list[Run]] = {
            (name,): [run_of(self[name])] if name in self else [] for name in names
        }
        return made_of(self.name, [axis], runs, failed={name: str(it) for name, it in self.failed.items()})

    def __missing__(self, name: str) -> Result:
        if name in self.failed:
            raise self.failed[name]
        why = f"{name} was left out: {self.left_out[name]}" if name in self.left_out else name
        raise KeyError(why)

    def _screen(self, form: str) -> Screen:
        del form
        lines = [f"{name} failed: {error}" for name, error in self.failed.items()]
        lines += [f"{title(name)}: {it.info['outcome']['why']}" for name, it in self.items() if not it.sound]
        lines += [f"left out: {name}: {why}" for name, why in self.left_out.items()]
        warnings = dict.fromkeys(str(problem) for result in self.values() for problem in result.warnings)
        return Screen(self.name, lines, list(warnings), listings(self))

    def __repr__(self) -> str:
        failed = f"; failed: {', '.join(self.failed)}" if self.failed else ""
        return f"<Comparison of {self.name!r}: {', '.join(self)}{failed}>"


def _chosen(
    scenario: Scenario,
    cc: str | Iterable[str | Callable[..., Any]] | None,
    contestants: str | Iterable[str] | None,
    parameters: Mapping[str, object],
) -> Choice:
    """Returns the scenario with each algorithm or contestant."""
    if (cc is None) == (contestants is None):
        raise TypeError("compare() takes either cc or contestants")
    given: Iterable[str | Callable[..., Any]] = cc if cc is not None else contestants or ()
    labels = [label.strip() for label in given.split(",")] if isinstance(given, str) else given
    names = [it if isinstance(it, str) else algorithm.name_of(it) for it in labels]
    texts = [f"cc.{name}={_toml.value(it, name)}" for name, it in parameters.items()]
    return (choose if contestants is None else choose_contestants)(scenario, names, None, texts)


def compare(
    scenario: Scenario | str | os.PathLike[str],
    cc: str | Iterable[str | Callable[..., Any]] | None = None,
    *,
    contestants: str | Iterable[str] | None = None,
    parameters: Mapping[str, object] | None = None,
    threads: int = 1,
    fresh: bool = False,
    progress: Callable[[Progress], None] | bool | None = None,
) -> Comparison:
    """Runs one scenario with several algorithms or contestants: same flows, same seed.

    ```python
    results = incast.compare("examples/incast.toml", cc="all")
    results.left_out  # {"constant": "no control: …", …}
    ```

    A run that fails does not stop the others: there is a warning (``RuntimeWarning``), and the exception is
    in ``failed``. Only if every run fails is the first exception raised.

    Args:
        scenario: What to run; or a scenario file, which then needs no section ``[cc]``.
        cc: Names like ``"oscar"`` and ``"swift:oscar"``, in a list or with commas between them, and classes
            of your own. ``"all"`` means every algorithm, including registered ones, that the scenario
            permits: not those that control nothing, nor those whose signals the network does not give.
        contestants: In place of ``cc`` algorithms with the switches, transport and balancing that they are
            made for (:func:`incast.contestants`), named likewise; ``"mine.toml"`` means the contestants
            that the file defines.
        parameters: Parameters of algorithms, like ``{"beta": 0.4}``. Each is given to those that have it.
        threads: As for :meth:`incast.Scenario.run`.
        fresh: As for :meth:`incast.Scenario.run`.
        progress: As for :meth:`incast.Scenario.run`.

    Returns:
        The result for each algorithm, by its name, in their order: what the pictures of
        :mod:`incast.plot` take.

    Raises:
        ScenarioError: When there is no such algorithm, or one that is named is incompatible with the rest.
        TypeError: With both ``cc`` and ``contestants``, or neither.

    Warns:
        IncastWarning: For each warning about the scenario with one of the algorithms.
    """
    of = scenario if isinstance(scenario, Scenario) else template(scenario)
    chosen = _chosen(of, cc, contestants, parameters or {})
    key = "cc" if contestants is None else "contestant"
    results = Comparison(of.name, chosen.left_out, list(chosen.scenarios), key)
    said = [problem for each in chosen.scenarios.values() for problem in each.warnings]
    warn(said, 2)
    for name, each in chosen.scenarios.items():
        try:
            results[name] = each.run_quietly(threads=threads, fresh=fresh, progress=progress)
        except Exception as error:
            results.failed[name] = error
            if len(results.failed) == len(chosen.scenarios):
                raise next(iter(results.failed.values())) from None
            warnings.warn(f"{name} failed: {error}", RuntimeWarning, stacklevel=2)
    warn(unsaid((problem for result in results.values() for problem in result.warnings), said), 2)
    return results
