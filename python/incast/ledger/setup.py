"""The set-up of each paper, ``papers/PAPER/setup.toml``: fixed from sources before results are looked at."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from incast import catalogue
from incast.ledger.builds import as_text, builds, same_value
from incast.ledger.figure import FILE as CLAIMS
from incast.ledger.figure import Figure, RunSpec
from incast.ledger.reader import LedgerError, Reader, parse

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = "setup.toml"
"""The file, in the folder of its paper."""

EVERYWHERE = ""
"""The environment of an entry or a baseline that names none."""

DRIVERS = ("constant", "oracle")
"""Algorithms that send at rates written in the scenario: part of the traffic, and no baseline."""

NONE = "none"
"""The value in ``holds`` for a key that the scenario must not have."""


@dataclass(frozen=True)
class Environment:
    """A part of the paper's evaluation with parameters of its own.

    Attributes:
        name: Its name, like ``testbed``.
        what: What it is, and where the paper describes it.
        figures: Patterns for the names of its figures, like ``fig6*``.
    """

    name: str
    what: str
    figures: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """A part of the set-up that is no algorithm.

    Attributes:
        key: Its name, like ``switch.buffer``.
        value: Its value, as text for readers.
        source: Where it comes from.
        environment: The environment for which it holds.
        holds: What runs must have: scenario keys, each with the values that are allowed, and ``seeds``.
    """

    key: str
    value: str
    source: str
    environment: str
    holds: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Baseline:
    """The one build of an algorithm in a paper, or in one of its environments.

    Attributes:
        cc: The algorithm with its preset.
        parameters: The parameters that differ from the preset, as ``name=value``.
        varies: Parameters with a value for each run, as the source says.
        source: Where it comes from.
        environment: The environment for which it holds.
    """

    cc: str
    parameters: tuple[str, ...]
    varies: tuple[str, ...]
    source: str
    environment: str

    @property
    def algorithm(self) -> str:
        """The algorithm's name."""
        return self.cc.partition(":")[0]

    @property
    def values(self) -> dict[str, str]:
        """All parameters with their values."""
        return {**_values(self.cc), **dict(item.split("=", 1) for item in self.parameters)}


@dataclass(frozen=True)
class Exemption:
    """Runs that differ from the set-up.

    Attributes:
        figure: The figure, like ``fig12``.
        runs: Patterns for the names of the runs.
        differs: What differs, like ``dcqcn.window``, ``switch.buffer`` or ``seeds``; an algorithm's name for
            all of its parameters.
        what: What the runs have instead.
        caption: The paper's words that say so; empty for an open difference.
        since: When an open difference was found.
        needs: What would end an open difference.
    """

    figure: str
    runs: tuple[str, ...]
    differs: tuple[str, ...]
    what: str
    caption: str = ""
    since: str = ""
    needs: str = ""

    def covers(self, difference: Difference) -> bool:
        """Whether a difference is one of these."""
        return (
            difference.figure == self.figure
            and any(fnmatchcase(difference.run, pattern) for pattern in self.runs)
            and any(difference.fits(pattern) for pattern in self.differs)
        )


@dataclass(frozen=True)
class Difference:
    """A run behind a verdict that is not made with the set-up.

    Attributes:
        figure: The figure, without its paper.
        run: The run.
        key: What differs: ``dcqcn.window``, ``switch.buffer``, ``seeds``; the name of an algorithm alone if
            the set-up has no baseline for it.
        here: The run's value.
        setup: The set-up's value.
    """

    figure: str
    run: str
    key: str
    here: str
    setup: str

    def fits(self, key: str) -> bool:
        """Whether it is a difference in a key, or in a parameter of the algorithm with that name.

        Args:
            key: A key, or the name of an algorithm.
        """
        return self.key == key or self.key.startswith(f"{key}.")

    def __str__(self) -> str:
        return f"{self.figure}: run {self.run!r}: {self.key} is {self.here}, and the set-up has {self.setup}"


@dataclass(frozen=True)
class Setup:
    """The set-up of a paper.

    Attributes:
        paper: The paper, like ``ccc``.
        file: Its file.
        environments: Parts of the evaluation with parameters of their own.
        entries: Topology, buffers, seeds and the like.
        baselines: One build for each algorithm and environment.
        deviations: Figures whose own text says that they differ.
        open: Differences without such a text, that are to be mended.
    """

    paper: str
    file: Path
    environments: tuple[Environment, ...]
    entries: tuple[Entry, ...]
    baselines: tuple[Baseline, ...]
    deviations: tuple[Exemption, ...]
    open: tuple[Exemption, ...]

    def environment(self, figure: str) -> str:
        """Returns the environment of a figure; empty if no environment lists it.

        Args:
            figure: The figure, like ``fig12``.
        """
        for one in self.environments:
            if any(fnmatchcase(figure, pattern) for pattern in one.figures):
                return one.name
        return EVERYWHERE

    def baseline(self, algorithm: str, environment: str) -> Baseline | None:
        """Returns the build of an algorithm in an environment: its own, or the one for everywhere.

        Args:
            algorithm: The algorithm's name.
            environment: The environment's name.
        """
        found = {one.environment: one for one in self.baselines if one.algorithm == algorithm}
        return found.get(environment, found.get(EVERYWHERE))

    def holds(self, environment: str) -> dict[str, tuple[str, ...]]:
        """Returns what the runs of an environment must have.

        Args:
            environment: The environment's name. Its entries take precedence over those for everywhere.
        """
        found: dict[str, tuple[str, ...]] = {}
        for wanted in (EVERYWHERE, environment):
            for entry in self.entries:
                if entry.environment == wanted:
                    found.update(entry.holds)
        return found

    def differences(self, figure: Figure) -> list[Difference]:
        """Returns what differs from the set-up in the runs that verdicts of a figure are about.

        Evidence, earlier rules and pictures may look at other runs.

        Args:
            figure: The figure.
        """
        name = figure.id.partition("/")[2]
        environment = self.environment(name)
        found = []
        for spec, seeds in _behind_verdicts(figure):
            for key, here, setup in self._of_run(spec, seeds, environment):
                found.append(Difference(name, spec.name, key, here, setup))
        return list(dict.fromkeys(found))

    def _of_run(self, spec: RunSpec, seeds: int, environment: str) -> Iterator[tuple[str, str, str]]:
        for build in builds(spec):
            if build.algorithm in DRIVERS:
                continue
            baseline = self.baseline(build.algorithm, environment)
            if baseline is None:
                yield build.algorithm, f"{build.algorithm}:{build.preset}", "no baseline"
                continue
            values = {**_values(f"{build.algorithm}:{build.preset}"), **dict(build.changed)}
            for key, value in baseline.values.items():
                if key not in baseline.varies and not same_value(values[key], value):
                    yield f"{build.algorithm}.{key}", values[key], value
        holds = self.holds(environment)
        scenario = tomllib.loads(spec.load(spec.seeds[0] if spec.seeds else None).to_toml()) if holds else {}
        for key, wanted in holds.items():
            here = str(seeds) if key == "seeds" else _at(scenario, key)
            if key == "seeds" and not seeds:
                continue
            if not any(same_value(here, each) for each in wanted):
                yield key, here, " or ".join(wanted)


def _behind_verdicts(figure: Figure) -> Iterator[tuple[RunSpec, int]]:
    """Yields each run that verdicts are about, once for each number of seeds behind one."""
    found = {}
    for claim in figure.claims:
        if not claim.text_only and figure.is_given_runs(claim.measure):
            for spec in figure.behind(claim):
                seeds = min(claim.seeds or len(spec.seeds), len(spec.seeds))
                found[spec.name, seeds] = spec
    return ((spec, seeds) for (_, seeds), spec in found.items())


def _values(cc: str) -> dict[str, str]:
    name, _, preset = cc.partition(":")
    known = catalogue.algorithm(name, preset)
    assert known is not None, cc
    return {parameter.name: parameter.value for parameter in known.parameters}


def _at(scenario: Mapping[str, Any], key: str) -> str:
    """Returns the value of a dotted key of a scenario, as text; ``none`` if it is not there."""
    value: Any = scenario
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            return NONE
        value = value[part]
    return as_text(value)


def read(papers: Path, paper: str) -> Setup:
    """Reads the set-up of a paper.

    Args:
        papers: The folder of the papers.
        paper: The paper, like ``ccc``.

    Raises:
        LedgerError: When there is none, or something in it is wrong.
    """
    file = papers / paper / FILE
    if not file.is_file():
        raise LedgerError(f"there is no {file}: each paper has one set-up; papers/README.md says how")
    top = Reader(parse(file), str(file))

    def tables(key: str) -> Iterator[Reader]:
        for number, table in enumerate(top.tables(key), 1):
            yield Reader(table, f"{file}: {key}, number {number}")

    environments = tuple(_environment(reader) for reader in tables("environment"))
    names = [one.name for one in environments]
    entries = tuple(_entry(reader, names) for reader in tables("entry"))
    baselines = tuple(_baseline(reader, names) for reader in tables("baseline"))
    figures = sorted(folder.parent.name for folder in (papers / paper).glob(f"*/{CLAIMS}"))
    deviations = tuple(_exemption(reader, figures, said=True) for reader in tables("deviation"))
    left = tuple(_exemption(reader, figures, said=False) for reader in tables("open"))
    top.finish()
    for what, keys in (
        ("entries", [(one.key, one.environment) for one in entries]),
        ("baselines", [(one.algorithm, one.environment) for one in baselines]),
        ("environments", [(name, EVERYWHERE) for name in names]),
    ):
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            where = f" in the environment {twice[1]!r}" if twice[1] else ""
            raise LedgerError(f"{file}: there are two {what} for {twice[0]!r}{where}: a set-up has one")
    return Setup(paper, file, environments, entries, baselines, deviations, left)


def _environment(reader: Reader) -> Environment:
    found = Environment(reader.text("name"), reader.text("what"), reader.texts("figures"))
    reader.finish()
    if not found.figures:
        raise reader.fail("figures is missing: which figures of the paper belong to the environment")
    return found


def _named(reader: Reader, names: Sequence[str]) -> str:
    name = reader.text("environment", EVERYWHERE)
    if name and name not in names:
        known = ", ".join(names) or "none is declared"
        raise reader.fail(f"there is no environment {name!r}: {known}")
    return name


def _entry(reader: Reader, names: Sequence[str]) -> Entry:
    environment = _named(reader, names)
    table = reader.table("holds") if "holds" in reader.left else {}
    holds = {key: (value,) if isinstance(value, str) else value for key, value in table.items()}
    wrong = next((key for key, value in holds.items() if not _texts(value)), None)
    if wrong is not None:
        raise reader.fail(f'holds.{wrong} must be a string, like "4MB" or "5", or a list of strings')
    holds = {key: tuple(value) for key, value in holds.items()}
    found = Entry(reader.text("key"), reader.text("value"), reader.text("source"), environment, holds)
    reader.finish()
    return found


def _texts(value: object) -> bool:
    return isinstance(value, (tuple, list)) and bool(value) and all(isinstance(each, str) for each in value)


def _baseline(reader: Reader, names: Sequence[str]) -> Baseline:
    environment = _named(reader, names)
    cc, parameters, varies = reader.text("cc"), reader.texts("parameters"), reader.texts("varies")
    source = reader.text("source")
    reader.finish()
    name, _, preset = cc.partition(":")
    known = catalogue.algorithm(name, preset) if preset else None
    if known is None:
        raise reader.fail(f"cc = {cc!r} is no ALGORITHM:PRESET of the catalogue; `incast list` shows them")
    have = {parameter.name for parameter in known.parameters}
    for item in (*parameters, *(f"{key}=" for key in varies)):
        key, equals, _ = item.partition("=")
        if key not in have or not equals:
            raise reader.fail(f"{item!r} is no parameter of {name}, as NAME=VALUE")
    return Baseline(cc, parameters, varies, source, environment)


def _exemption(reader: Reader, figures: Sequence[str], *, said: bool) -> Exemption:
    found = Exemption(
        figure=reader.text("figure"),
        runs=reader.texts("runs") or ("*",),
        differs=reader.texts("differs"),
        what=reader.text("what"),
        caption=reader.text("caption") if said else "",
        since="" if said else reader.text("since"),
        needs="" if said else reader.text("needs"),
    )
    reader.finish()
    if found.figure not in figures:
        raise reader.fail(f"there is no figure {found.figure!r}: {', '.join(figures)}")
    if not found.differs:
        raise reader.fail('differs is missing: what differs, like ["dcqcn.window", "seeds"]')
    return found


def faults(setup: Setup, found: Sequence[Difference]) -> list[str]:
    """Returns what is wrong between a set-up and the figures of its paper, each as a sentence.

    These are runs behind verdicts that differ without an entry that says so, and entries that say so of
    nothing: an entry that is no longer needed must go.

    Args:
        setup: The set-up.
        found: The differences of all figures of the paper.
    """
    exempt = [*setup.deviations, *setup.open]
    wrong = [f"{setup.file}: {each}" for each in found if not any(one.covers(each) for one in exempt)]
    for kind, ones in (("deviation", setup.deviations), ("open", setup.open)):
        for number, one in enumerate(ones, 1):
            where = f"{setup.file}: {kind}, number {number} ({one.figure})"
            covered = [each for each in found if one.covers(each)]
            wrong += [
                f"{where}: no run {pattern!r} of a verdict differs so: take it out"
                for pattern in one.runs
                if not any(fnmatchcase(each.run, pattern) for each in covered)
            ]
            wrong += [
                f"{where}: no run of a verdict differs in {key!r}: take it out"
                for key in one.differs
                if not any(each.fits(key) for each in covered)
            ]
    return wrong
