"""The runs of an arena: every contestant through every scenario of a battery, and who is refused where."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path
from types import MappingProxyType
from typing import Any

from incast.arena import duels
from incast.arena.contenders import Contender, candidates
from incast.arena.entries import Battery, Entry
from incast.arena.measure import check
from incast.errors import ScenarioError
from incast.runs import store
from incast.scenario import Scenario
from incast.scenario._toml import value


@dataclass(frozen=True)
class Run:
    """A run of the battery.

    Attributes:
        entry: The scenario.
        contestant: Who runs it.
        replicate: The number of the replicate, from 0.
        scenario: What is run.
        folder: Where its result is or will be.
    """

    entry: Entry
    contestant: str
    replicate: int
    scenario: Scenario
    folder: Path

    @property
    def label(self) -> str:
        """Its name in messages."""
        return f"{self.contestant} in {self.entry.name}, seed {self.scenario.seed}"


@dataclass(frozen=True)
class Match:
    """A duel that is to be run.

    Attributes:
        contestants: Both contestants.
        scenario: What is run.
        folder: Where its result is or will be.
    """

    contestants: tuple[str, str]
    scenario: Scenario
    folder: Path

    @property
    def label(self) -> str:
        """Its name in messages."""
        return f"{self.contestants[0]} beside {self.contestants[1]}"


@dataclass(frozen=True)
class Plan:
    """All runs of an arena.

    Attributes:
        battery: The battery, with the scenarios that were chosen.
        scenarios: Number of scenarios of the whole battery.
        contestants: The contestants.
        runs: The runs: scenario by scenario, contestant by contestant.
        matches: The duels.
        refused: The reason for which a contestant has no runs of a scenario, by scenario and contestant.
        dropped: Keys of a scenario that a contestant's settings leave without effect, likewise.
        no_duels: The reason for which a contestant has no duels, by contestant.
        candidates: All contestants of Incast, of which some may not run.
    """

    battery: Battery
    scenarios: int
    contestants: tuple[Contender, ...]
    runs: tuple[Run, ...]
    matches: tuple[Match, ...]
    refused: Mapping[tuple[str, str], str]
    dropped: Mapping[tuple[str, str], tuple[str, ...]]
    no_duels: Mapping[str, str]
    candidates: frozenset[str] = frozenset()

    @property
    def missing(self) -> int:
        """Number of contestants of Incast that do not run."""
        return len(self.candidates - {one.name for one in self.contestants})

    @property
    def whole(self) -> bool:
        """Whether all contestants of Incast run in all scenarios: only then are there ranks."""
        return len(self.battery.entries) == self.scenarios and not self.missing

    @property
    def ranked(self) -> list[str]:
        """The names of the contestants that are ranked."""
        return [one.name for one in self.contestants if one.ranked]

    @property
    def key(self) -> str:
        """A hash of the keys of all runs: the same plan, the same key."""
        names = [one.folder.name for one in self.runs] + [one.folder.name for one in self.matches]
        folders = "\n".join(names)
        return hashlib.sha256(f"{self.battery.digest}\n{folders}".encode()).hexdigest()[: store.KEY_DIGITS]


def plan(
    battery: Battery,
    contestants: Sequence[Contender],
    *,
    scenarios: Sequence[str] | None = None,
    with_duels: bool = True,
    results: Path = store.DEFAULT,
) -> Plan:
    """Reads and checks all that an arena runs, before anything runs.

    Args:
        battery: The battery.
        contestants: The contestants.
        scenarios: Names of the scenarios that are run; None runs all.
        with_duels: Whether there are duels.
        results: The folder of all results.

    Raises:
        ScenarioError: When there is no such scenario, a metric cannot be computed, or no scenario has any
            contestant.
    """
    chosen = battery if scenarios is None else battery.only(scenarios)
    runs: list[Run] = []
    checked: set[str] = set()
    refused: dict[tuple[str, str], str] = {}
    dropped: dict[tuple[str, str], tuple[str, ...]] = {}
    for entry in chosen.entries:
        check(battery.name, entry)
        text = entry.file.read_text(encoding="utf-8")
        for contender in contestants:
            try:
                scenario = scenario_of(entry, contender, 0, text)
                scenario.size()
            except ScenarioError as error:
                refused[entry.name, contender.name] = reason(error)
                continue
            if entry.name not in checked:
                check(battery.name, entry, scenario)
                checked.add(entry.name)
            if left := tuple(str(problem.key) for problem in scenario.dropped):
                dropped[entry.name, contender.name] = left
            for replicate in range(entry.seeds):
                one = scenario if replicate == 0 else scenario_of(entry, contender, replicate, text)
                folder = store.place(results, one, store.named_files(one))
                runs.append(Run(entry, contender.name, replicate, one, folder))
    if not runs:
        why = next(iter(refused.values()), "it has none")
        raise ScenarioError(f"no scenario of the battery {battery.name} has a contestant: {why}")
    matches, no_duels = _matches(battery, contestants, runs, results) if with_duels else ([], {})
    return Plan(
        chosen,
        len(battery.entries),
        tuple(contestants),
        tuple(runs),
        tuple(matches),
        MappingProxyType(refused),
        MappingProxyType(dropped),
        MappingProxyType(no_duels),
        candidates(),
    )


def scenario_of(entry: Entry, contender: Contender, replicate: int, text: str | None = None) -> Scenario:
    """Returns the scenario of one run.

    Args:
        entry: The scenario of the battery.
        contender: The contestant.
        replicate: The number of the replicate, from 0.
        text: The contents of the scenario's file, where they are read already.

    Raises:
        ScenarioError: When the contestant cannot run it.
    """
    keys = entry.overrides(replicate, contender.name)
    written = [f"{path}={value(one, path)}" for path, one in keys.items()]
    overrides = [*contender.definitions, contender.override(entry.extra), *written]
    text = entry.file.read_text(encoding="utf-8") if text is None else text
    for key in entry.without.get(contender.name, ()):
        text = _without(text, key)
    return Scenario.from_toml(text, str(entry.file), overrides)


def _without(text: str, key: str) -> str:
    """Returns a scenario file without a key like ``run.clock``; one that it does not have is no error."""
    section, _, name = key.rpartition(".")
    lines, here = [], False
    for line in text.splitlines(keepends=True):
        if line.startswith("["):
            here = line.strip() == f"[{section}]"
        if not (here and line.partition("=")[0].strip() == name):
            lines.append(line)
    return "".join(lines)


def reason(error: ScenarioError) -> str:
    """Returns what is wrong with a scenario, on one line."""
    problems = dict.fromkeys(problem.problem for problem in error.problems)
    return "; ".join(problems) or str(error).partition("\n")[0]


def _matches(
    battery: Battery, contestants: Sequence[Contender], runs: Sequence[Run], results: Path
) -> tuple[list[Match], dict[str, str]]:
    """Returns all duels, and who has none."""
    if battery.duel is None:
        return [], {}
    cc: dict[str, Mapping[str, Any]] = {}
    without: dict[str, str] = {}
    for contender in contestants:
        first = next((run.scenario for run in runs if run.contestant == contender.name), None)
        if not contender.ranked or first is None:
            continue
        if why := duels.own_network(first):
            without[contender.name] = why
        else:
            cc[contender.name] = duels.algorithm(first)
    matches = []
    for one, other in combinations_with_replacement(cc, 2):
        scenario = duels.scenario(battery.duel, cc[one], cc[other])
        matches.append(Match((one, other), scenario, store.place(results, scenario)))
    return matches, without
