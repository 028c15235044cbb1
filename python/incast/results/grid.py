"""Grids: what a comparison, replications, a sweep and a list of results have in common.

A grid has an entry for each combination of the values that vary, and each entry has a run for each seed.

```python
from incast.results.grid import Grid

grid = Grid.of(incast.compare("examples/microburst.toml", cc="oscar,hpcc"))
[entry.title for entry in grid.entries]  # ["OSCAR", "HPCC"]
grid.entry("hpcc").values("queue.peak").by_seed
```

Only ``result.json`` of each run is read; the tables of a run are read when :attr:`Run.open` is called.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

from incast import catalogue
from incast.errors import ResultError, nearest
from incast.results import censored, stats
from incast.results.decide import Values
from incast.results.measures.call import Call, in_column
from incast.results.measures.named import Measure, find
from incast.results.measures.quantity import Quantity
from incast.results.measures.view import View
from incast.results.result import Result, is_sound, parse_info
from incast.results.titles import made, short, title

NONE = "–"
"""The value of an axis where it does not apply."""

CHOICES = ("contestant", "cc")
"""The axes whose values are algorithms, with all that belongs to them or alone."""


@dataclass(frozen=True)
class Axis:
    """A key of the scenario and the values that it takes.

    Attributes:
        key: The key, like ``traffic.0.load``; or ``cc`` for the algorithm.
        values: Its values as text, at least one, each once.
    """

    key: str
    values: tuple[str, ...]

    @cached_property
    def numbers(self) -> Mapping[str, float] | None:
        """The values as numbers, quantities in their smallest unit; None where they are of several kinds."""
        texts = [value for value in self.values if value != NONE]
        quantities = (partial(catalogue.read_quantity, kind) for kind in ("bytes", "rate", "time"))
        readers: list[Callable[[str], float]] = [float, *quantities]
        for read in readers:
            try:
                found = {text: float(read(text.strip("\"'"))) for text in texts}
            except ValueError:
                continue
            return found if all(map(math.isfinite, found.values())) else None
        return None


def last_word(key: str) -> str:
    """Returns the end of a key, which says most: ``load`` of ``traffic.0.load``."""
    return key.rpartition(".")[2]


def headings(axes: Sequence[Axis]) -> list[str]:
    """Short names for the axes; whole keys where short ones would not tell them apart."""
    names = [last_word(a.key) for a in axes]
    return [s if names.count(s) == 1 else a.key for s, a in zip(names, axes, strict=True)]


@dataclass(frozen=True)
class RunNumbers:
    """The numbers of a run.

    Attributes:
        values: By the names of their columns.
        at_least: The columns that are only lower bounds.
        bounded: Whether unfinished flows are counted.
        missing: Reasons for which calls have no value, by the names of their columns.
    """

    values: dict[str, float]
    at_least: frozenset[str]
    bounded: bool
    missing: dict[str, str]


@dataclass(frozen=True)
class Run:
    """A run of an entry that has a result.

    Attributes:
        seed: Its seed.
        info: The content of its ``result.json``.
        open: Reads its tables; None where only its numbers are known.
        calls: Measures that are numbers of it, too, by the names of their columns.
        known: Its numbers, where they have been read before; else they are read when they are asked for.
    """

    seed: int
    info: Mapping[str, Any] = field(repr=False)
    open: Callable[[], Result] | None = field(default=None, repr=False)
    calls: tuple[Call, ...] = field(default=(), repr=False)
    known: RunNumbers | None = field(default=None, repr=False, compare=False)
    _called: dict[str, Quantity | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def sound(self) -> bool:
        """Whether it ended as it should; only then its numbers count."""
        return is_sound(self.info)

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers of :func:`incast.stats.metrics` and of the calls; none of a run that was killed.

        Slowdowns count unfinished flows with their lower bounds, if the tables of the run can be read.
        """
        return self.read.values

    @property
    def at_least(self) -> frozenset[str]:
        """The numbers that are only lower bounds, since flows did not finish."""
        return self.read.at_least

    @property
    def bounded(self) -> bool:
        """Whether unfinished flows are counted in the slowdowns, with their lower bounds."""
        return self.read.bounded

    @property
    def missing(self) -> dict[str, str]:
        """Reasons for which calls have no value, by the names of their columns."""
        return self.read.missing

    @cached_property
    def read(self) -> RunNumbers:
        """All of its numbers, which are read once."""
        if self.known is not None:
            return self.known
        if not self.info.get("outcome"):
            return RunNumbers({}, frozenset(), False, {})
        result = None
        if self.open is not None and (self.calls or stats.unfinished_classes(self.info)):
            with suppress(ResultError):
                result = self.open()
        if result is None:
            why = "the tables of the run cannot be read"
            return RunNumbers(
                stats.metrics(self.info), frozenset(), False, {call.column: why for call in self.calls}
            )
        values, at_least = censored.metrics(result)
        missing = {}
        view = View(str(self.info["name"]), result) if self.calls else None
        for call in self.calls:
            try:
                found = call.of(view or result)
            except ValueError as error:
                missing[call.column] = str(error)
                continue
            values[call.column] = in_column(found)
            if found.at_least:
                at_least |= {call.column}
        return RunNumbers(values, at_least, True, missing)

    def value(self, measure: Asked) -> float | None:
        """The value of a measure; None where it has none.

        Args:
            measure: The number, or a call, which may read the tables.
        """
        if isinstance(measure, Measure):
            return measure.of(self.numbers)
        if measure.column in self.numbers:
            return self.numbers[measure.column]
        found = self._quantity(measure)
        return None if found is None else in_column(found)

    def is_bound(self, measure: Asked) -> bool:
        """Whether the value of a measure is only a lower bound, since flows did not finish.

        Args:
            measure: The number or the call.
        """
        if isinstance(measure, Measure):
            return not self.at_least.isdisjoint(measure.metrics)
        if measure.column in self.numbers:
            return measure.column in self.at_least
        found = self._quantity(measure)
        return found is not None and found.at_least

    def _quantity(self, call: Call) -> Quantity | None:
        """Returns the value of a call, which is computed once."""
        column = call.column
        if column not in self._called:
            try:
                found = None if self.open is None else call.of(self.open())
            except ValueError:
                found = None
            self._called[column] = found
        return self._called[column]

    def unfinished(self, of: str) -> bool:
        """Whether it has unfinished flows of a class of sizes: ``small``, ``large`` or ``all``.

        The slowdown of the finished ones is then too good.
        """
        return any(one["unfinished"] for one in _classes(self.info, of))

    def flows(self, of: str) -> int:
        """The number of its finished flows of a class of sizes."""
        return sum(one["flows"] for one in _classes(self.info, of))

    def behind(self, of: str) -> int:
        """The number of flows of a class of sizes that its slowdowns are statistics of."""
        return sum(
            one["flows"] + (one["unfinished"] if self.bounded else 0) for one in _classes(self.info, of)
        )


def _classes(info: Mapping[str, Any], of: str) -> list[Mapping[str, Any]]:
    """Returns the summary of a class of sizes over all traffic."""
    every = info.get("summary", {}).get("slowdowns", [])
    return [one for one in every if one["group"] is None and one["class"] == of]


Asked: TypeAlias = "Measure | Call"
"""A number that every run has, or a call of a measure."""


def asked(text: str) -> Asked:
    """Reads a measure: ``p99.small``, ``queue_peak_bytes``, ``queue(all, p99)``.

    Raises:
        ValueError: When there is none, with the nearest name.
    """
    try:
        return find(text)
    except KeyError:
        return Call.read(text)


@dataclass(frozen=True)
class Entry:
    """A combination of values, with its runs.

    Attributes:
        values: One for each axis of the grid; ``–`` for an axis that does not apply.
        title: Its name in text and pictures: what varies.
        label: A name that is unique in the grid, like ``swift:oscar,load=0.6``. Until the colon it is the
            algorithm, which determines the colour.
        runs: The runs that have a result, by their seeds.
    """

    values: tuple[str, ...]
    title: str
    label: str
    runs: tuple[Run, ...]

    def values_of(self, measure: str | Asked) -> Values:
        """The values of a number by seed, for :func:`incast.results.decide.difference`.

        A run that is not sound has none. The slowdown of a run with unfinished flows is a lower bound where
        these decide it; a run without tables has none then. No run has times of jobs if a job is unfinished.

        Args:
            measure: The number or the call, or its text, like ``p99.small`` and ``queue(all, p99)``.

        Raises:
            ValueError: When there is no such measure.
        """
        given = asked(measure) if isinstance(measure, str) else measure
        number = given if isinstance(given, Measure) else given.measure
        size = number.slowdown_of
        sound = [run for run in self.runs if run.sound]
        found = {run.seed: run.value(given) for run in sound if not _censored(run, given)}
        return Values(
            {seed: value for seed, value in found.items() if value is not None and value == value},
            frozenset(run.seed for run in self.runs),
            at_least=frozenset(
                run.seed for run in sound if found.get(run.seed) is not None and run.is_bound(given)
            ),
            samples=min((run.flows(size) for run in sound), default=None) if size and number.rank else None,
            drawn=stats.drawn(run.info for run in sound),
        )

    @property
    def sound(self) -> bool:
        """Whether it has runs, and all of them ended as they should."""
        return bool(self.runs) and all(run.sound for run in self.runs)

    def first(self) -> Result | None:
        """The result of its first seed; None where there is no result to open."""
        return next((run.open() for run in self.runs if run.open), None)


def _censored(run: Run, given: Asked) -> bool:
    """Whether what did not finish would change the number of a run."""
    if isinstance(given, Call) and (block := given.arguments.get("block")) is not None:
        of_jobs = given.name.startswith(("jobs.", "busbw", "algbw"))
        return of_jobs and stats.metrics(run.info, str(block)).get("jobs_unfinished", 0) > 0
    measure = given if isinstance(given, Measure) else given.measure
    if size := measure.slowdown_of:
        return run.unfinished(size) and not run.bounded
    return measure.metrics[0].startswith("job_") and run.numbers.get("jobs_unfinished", 0) > 0


@dataclass(frozen=True)
class Grid:
    """Entries times seeds.

    Attributes:
        name: The scenario's name.
        axes: What varies, with the values in the order in which they were asked for.
        entries: The entries, in the order in which they were asked for.
        command: The words of the command line that made it; None where there was none.
        failed: Why runs have no result, by their labels.
        looks: Where a rule has added seeds, the share of wrong intervals that each of its looks permits, by
            the number of its seeds.
        baseline: The baseline that it was made with, as ``KEY=VALUE``; None where there was none.
    """

    name: str
    axes: tuple[Axis, ...]
    entries: tuple[Entry, ...]
    command: str | None = None
    failed: Mapping[str, str] = field(default_factory=dict)
    looks: Mapping[int, float] = field(default_factory=dict)
    baseline: str | None = None

    @classmethod
    def of(cls, results: Gridlike) -> Grid:
        """Returns the grid of results, or of anything that has one.

        Results of a list that differ only in their seed are runs of one entry. Each name of a mapping is an
        entry.

        Args:
            results: A result, several of them, several by name; or a comparison, replications or a sweep.

        Raises:
            ValueError: Without results.
        """
        if isinstance(results, Grid):
            return results
        if isinstance(grid := getattr(results, "grid", None), Grid):
            return grid
        its = [results] if isinstance(results, Result) else cast("_Results", results)
        if not its:
            raise ValueError("a grid needs at least one result")
        return _named(its) if isinstance(its, Mapping) else _listed(list(its))

    @property
    def runs(self) -> list[Run]:
        """The runs of all entries."""
        return [run for entry in self.entries for run in entry.runs]

    @property
    def combinations(self) -> list[tuple[str, ...]]:
        """The values of each entry."""
        return [entry.values for entry in self.entries]

    def failed_of(self, entry: Entry) -> frozenset[int]:
        """The seeds of an entry whose runs failed."""
        words = (f"{head}={value}" for head, value in zip(headings(self.axes), entry.values, strict=True))
        start = " ".join(words)
        parts = (label.rpartition("seed=") for label in self.failed)
        return frozenset(int(seed) for text, equals, seed in parts if equals and text.strip() == start)

    def seeds_of(self, entry: Entry) -> frozenset[int]:
        """The seeds of an entry, also those whose runs failed."""
        return frozenset(run.seed for run in entry.runs) | self.failed_of(entry)

    def values_of(self, entry: Entry, measure: str | Asked) -> Values:
        """The values of an entry as one side of a comparison: a run that failed has none.

        Args:
            entry: The entry.
            measure: As for :meth:`Entry.values_of`.
        """
        values = entry.values_of(measure)
        return replace(values, runs=self.seeds_of(entry)) if self.failed else values

    @property
    def choice(self) -> int | None:
        """The place of the axis whose values are algorithms; None where no such axis varies."""
        keys = [a.key for a in self.axes]
        return next((keys.index(key) for key in CHOICES if key in keys), None)

    @property
    def varying(self) -> list[int]:
        """The places of the axes that have several values among the entries."""
        return [n for n in range(len(self.axes)) if len({entry.values[n] for entry in self.entries}) > 1]

    def axis(self, text: str) -> int:
        """Finds the place of an axis that varies.

        Args:
            text: Its key, or the short name of it, like ``load``.

        Raises:
            KeyError: When no axis is called that or it does not vary, with the names of those that do.
        """
        heads = headings(self.axes)
        for n, name in enumerate(heads):
            if text in (name, self.axes[n].key) and n in self.varying:
                return n
        names = [heads[n] for n in self.varying]
        near = nearest(text, names)
        hint = f'did you mean "{near}"?' if near else f"{', '.join(names) or 'nothing'} varies"
        raise KeyError(f'"{text}" does not vary; {hint}')

    def entry(self, text: str) -> Entry:
        """Finds an entry by its title, its label or its values, as a command line writes them.

        Args:
            text: Like ``OSCAR``, ``oscar``, ``cc=oscar load=0.6``, ``oscar,0.6``.

        Raises:
            KeyError: When none is called that, with a suggestion; or several are.
        """
        found = self.matching(text)
        if len(found) == 1:
            return found[0]
        some = ", ".join(f'"{entry.title}"' for entry in found[:3])
        more = ", …" if len(found) > 3 else ""
        raise KeyError(f'"{text}" means {len(found)} entries: {some}{more}')

    def matching(self, text: str) -> list[Entry]:
        """Finds all entries that a text names, like ``oscar`` at each load.

        Args:
            text: As for :meth:`entry`.

        Raises:
            KeyError: When none is called that, with a suggestion.
        """
        for is_it in (self._titled, self._valued):
            found = [entry for entry in self.entries if is_it(entry, text)]
            if found:
                return found
        names = dict.fromkeys(name for entry in self.entries for name in (entry.title, entry.label))
        near = nearest(text, [*names, *(value for a in self.axes for value in a.values)])
        hint = f'; did you mean "{near}"?' if near else ""
        raise KeyError(f'no entry is called "{text}"{hint}')

    @staticmethod
    def _titled(entry: Entry, text: str) -> bool:
        return text == entry.label or catalogue.folded(text) == catalogue.folded(entry.title)

    def _valued(self, entry: Entry, text: str) -> bool:
        """Whether every word is a value of the entry, after its key and ``=`` or alone."""
        names = headings(self.axes)
        for word in filter(None, re.split(r"[\s,]+", text)):
            key, equals, value = word.partition("=")
            wanted = value if equals else word
            its = [
                one
                for one, name, axis in zip(entry.values, names, self.axes, strict=True)
                if not equals or key in (name, axis.key)
            ]
            if wanted not in its and catalogue.canonical(wanted) not in its:
                return False
        return bool(text.strip())


_Results: TypeAlias = "Sequence[Result] | Mapping[str, Result]"


class HasGrid(Protocol):
    """A comparison, replications or a sweep."""

    @property
    def grid(self) -> Grid:
        """Its entries with their runs."""


Gridlike: TypeAlias = "Grid | HasGrid | Result | Sequence[Result] | Mapping[str, Result]"
"""Everything that has a grid."""


def made_of(
    name: str,
    axes: Sequence[Axis],
    runs: Mapping[tuple[str, ...], Sequence[Run]],
    *,
    command: str | None = None,
    failed: Mapping[str, str] | None = None,
) -> Grid:
    """Returns a grid whose entries have values of axes.

    Args:
        name: The scenario's name.
        axes: What varies.
        runs: The runs by the values of the axes, in the order of the entries.
        command: As for :class:`Grid`.
        failed: As for :class:`Grid`.
    """
    keys = [a.key for a in axes]
    choice = next((keys.index(key) for key in CHOICES if key in keys), None)
    heads = headings(axes)
    varies = [len({values[n] for values in runs}) > 1 for n in range(len(axes))]
    entries = []
    for values, its in runs.items():
        parts: list[str] = []
        for n, value in enumerate(values):
            if not varies[n] or value == NONE:
                continue
            if n == choice:
                parts.insert(0, title(value, [one[n] for one in runs]))
            else:
                parts.append(f"{heads[n]} {value}")
        base = values[choice] if choice is not None else _algorithms(its)
        rest = [
            f"{heads[n]}={value}"
            for n, value in enumerate(values)
            if n != choice and varies[n] and value != NONE
        ]
        label = _labelled(short(base), rest)
        entries.append(Entry(values, ", ".join(parts) or name, label, tuple(its)))
    return Grid(name, tuple(axes), tuple(entries), command, dict(failed or {}))


def _labelled(base: str, rest: Sequence[str]) -> str:
    """Returns a label whose part before the colon is an algorithm."""
    if not rest:
        return base
    return ",".join([base, *rest]) if ":" in base else f"{base}:{','.join(rest)}"


def _algorithms(runs: Sequence[Run]) -> str:
    """Returns the algorithms of runs, joined."""
    names = runs[0].info.get("algorithms", []) if runs else []
    return "+".join(map(short, names)) or "no flows"


def run_of(result: Result) -> Run:
    """Returns the run of a result that is open."""
    info = result.info
    return Run(int(info["seed"]), info, lambda: result)


def opened(folder: Path, seed: int) -> Run:
    """Returns the run of a saved result; its tables are read when it is opened.

    Args:
        folder: The folder of the result.
        seed: Its seed.

    Raises:
        ResultError: When there is no result, or it cannot be read.
    """
    try:
        info = parse_info((folder / "result.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise ResultError(f"cannot read {folder / 'result.json'}: {error.strerror}") from None
    except ValueError:
        raise ResultError(f"cannot read {folder / 'result.json'}: it is damaged") from None
    return Run(seed, info, partial(Result.open, folder))


def _named(results: Mapping[str, Result]) -> Grid:
    """Returns a grid with an entry for each name."""
    runs = {label: run_of(result) for label, result in results.items()}
    first = next(iter(runs.values()))
    entries = tuple(Entry((label,), title(label, runs), label, (run,)) for label, run in runs.items())
    return Grid(str(first.info["name"]), (Axis("cc", tuple(runs)),), entries)


def _listed(results: Sequence[Result]) -> Grid:
    """Returns a grid of results, with their seeds pooled."""
    groups: dict[tuple[object, ...], list[Result]] = {}
    for result in results:
        identity = _identity(result)
        seed = result.info["seed"]
        place = 0
        # Two runs with one seed are not two samples of one entry.
        while any(one.info["seed"] == seed for one in groups.get((*identity, place), [])):
            place += 1
        groups.setdefault((*identity, place), []).append(result)
    its = list(groups.values())
    titles = _titles([group[0] for group in its])
    labels = [_algorithms([run_of(group[0])]) for group in its]
    counts = Counter(labels)
    entries = []
    for group, its_title, base in zip(its, titles, labels, strict=True):
        label = base if counts[base] == 1 else _labelled(base, [its_title])
        runs = sorted(map(run_of, group), key=lambda run: run.seed)
        entries.append(Entry((label,), its_title, label, tuple(runs)))
    name = str(results[0].info["name"])
    return Grid(name, (Axis("cc", tuple(entry.label for entry in entries)),), tuple(entries))


def _identity(result: Result) -> tuple[object, ...]:
    """Returns what results with other seeds have in common: their scenario, as far as it is known."""
    text = ""
    if result.folder is not None:
        try:
            text = (result.folder / "scenario.toml").read_text(encoding="utf-8", errors="replace")
        except OSError:
            text = str(result.folder)
    without = re.sub(r"(?m)^seed = .*\n", "", text, count=1)
    info = result.info
    return (info["name"], tuple(info["algorithms"]), info.get("build"), made(result), without)


def _titles(results: Sequence[Result]) -> list[str]:
    """Returns names of results: their algorithms, and what else tells them apart."""
    labels = [label for result in results for label in result.info["algorithms"]]
    names = [
        "+".join(title(label, labels) for label in result.info["algorithms"]) or "no flows"
        for result in results
    ]
    for further in (made, _scenario, _folder):
        twice = Counter(names)
        for name in (name for name, count in twice.items() if count > 1):
            same = [n for n, one in enumerate(names) if one == name]
            if len({further(results[n]) for n in same}) > 1:
                for n in same:
                    names[n] = f"{name} ({further(results[n])})"
    seen: Counter[str] = Counter()
    total = Counter(names)
    for n, name in enumerate(names):
        seen[name] += 1
        if total[name] > 1:
            names[n] = f"{name} #{seen[name]}"
    return names


def _scenario(result: Result) -> str:
    return str(result.info["name"])


def _folder(result: Result) -> str:
    return "in memory" if result.folder is None else result.folder.name


def primary(grid: Grid) -> Measure:
    """Returns the measure that a grid is judged by first.

    The mean time of jobs where a run has jobs; else the p99 of small flows, where all entries have such
    flows; else the mean slowdown of all.
    """
    numbers = [run.numbers for run in grid.runs]
    if any("jobs_unfinished" in known for known in numbers):
        return find("jobs.mean")
    small = (any(run.flows("small") for run in entry.runs) for entry in grid.entries)
    return find("p99.small" if all(small) else "mean.all")


def headline(grid: Grid) -> list[Measure]:
    """Returns the measures of the first screen: the primary one, and the time of the slowest job or the mean.

    Args:
        grid: The grid.
    """
    first = primary(grid)
    second = find("jobs.slowest" if first.name == "jobs.mean" else "mean.all")
    return [first] if first == second else [first, second]
