"""A search, read and checked before anything runs."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incast._build import build
from incast.errors import ScenarioError
from incast.runs import store
from incast.runs.runner import Executor
from incast.scenario import Scenario, template
from incast.scenario.choice import named
from incast.scenario.contestants import choose_contestants, definitions
from incast.scenario.measured import refuse_missing
from incast.scenario.scenario import document
from incast.tuning import aim, space
from incast.tuning.aim import Aim
from incast.tuning.check import FIRST_SEED
from incast.tuning.runs import Meter, Runs
from incast.tuning.space import Parameter, Setting, Value
from incast.tuning.trial import Bench

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TRIALS = 64
"""Settings that are tried, by default."""

SEEDS = 5
"""Seeds of each setting, by default."""

MOST_SEEDS = 1_000
"""The most seeds; a check has seeds far above."""


@dataclass(frozen=True)
class Lab:
    """The place and the means of the runs of a search.

    Attributes:
        results: The folder of all results.
        executor: Makes the runs.
        meter: Shows the progress.
        fresh: Whether each run is made again, once.
    """

    results: Path
    executor: Executor
    meter: Meter
    fresh: bool = False


@dataclass(frozen=True)
class Plan:
    """A search.

    Attributes:
        scenario: The scenario in its default setting, with its first seed.
        parameters: What is varied.
        default: The present value of each parameter; an empty text where the scenario has none.
        aim: Objectives and conditions.
        trials: How many settings are tried.
        seeds: The seeds of each setting.
        search_seed: The seed of the search.
        held_out: Scenarios for the last check, in their default setting.
        cc: The algorithm with the parameters that are not the preset's, as a section of a scenario file;
            empty where traffic blocks have their own.
        contestant: The contestant, with its preset if one was named; None where only an algorithm was chosen.
        definition: The contestant as its file defines it; empty for one of Incast.
        command: The command that makes the search.
    """

    scenario: Scenario
    parameters: tuple[Parameter, ...]
    default: Setting
    aim: Aim
    trials: int
    seeds: tuple[int, ...]
    search_seed: int
    held_out: tuple[Scenario, ...]
    cc: dict[str, Value]
    contestant: str | None
    definition: Mapping[str, Any]
    command: str

    @property
    def key(self) -> str:
        """A hash of the search but for its length: a longer one continues a shorter one."""
        parts = [
            build(),
            self.scenario.to_toml(),
            *map(str, self.parameters),
            *(f"{call.label}={call.text}" for call in self.aim.calls),
            *(condition.text for condition in self.aim.conditions),
            str(len(self.seeds)),
            str(self.search_seed),
        ]
        return hashlib.sha256("\n\0".join(parts).encode()).hexdigest()[: store.KEY_DIGITS]

    @property
    def subject(self) -> str:
        """The runs in which a better setting is searched: the scenario's name."""
        return self.scenario.name

    @property
    def repeats(self) -> str:
        """One of the runs that a setting has of everything: a seed."""
        return "seed"

    @property
    def runs_each(self) -> int:
        """Number of runs of a setting with one seed."""
        return 1

    @property
    def source(self) -> str:
        """The source of a tuned value."""
        return f"tuned: {self.command}"

    def check_runs(self, seeds: int) -> int:
        """Returns the number of runs of the checks after the search, at most.

        Args:
            seeds: The number of seeds of a trial.
        """
        return 2 * seeds * (1 + len(self.held_out))

    def bench(self, make: Lab) -> Bench:
        """Returns where settings are measured in the search.

        Args:
            make: Where and how runs are made.
        """
        return self._bench(self.scenario, make)

    def checks(self, make: Lab, seeds: Sequence[int], *, drawn: bool) -> list[tuple[str, list[int], Bench]]:
        """Returns the checks after the search: the name of each, its seeds, and where it is measured.

        Args:
            make: Where and how runs are made.
            seeds: The seeds of the search.
            drawn: Whether seeds make a difference.
        """
        others = [FIRST_SEED + n for n in range(len(seeds))]
        scenarios = [*([self.scenario] if drawn else []), *self.held_out]
        return [(one.name, others, self._bench(one, make)) for one in scenarios]

    def _bench(self, scenario: Scenario, make: Lab) -> Bench:
        return Runs(scenario, self.parameters, self.aim, make.results, make.executor, make.meter, make.fresh)

    def definition_of(self, setting: Mapping[str, object]) -> dict[str, Any]:
        """Returns a setting as the definition of a contestant, without what it is and its sources.

        A contestant's ``balancing``, and each table in its ``switch`` and ``transport``, takes the place of
        the scenario's as a whole, so these are written with all of their keys.

        Args:
            setting: Values by key.
        """
        base: dict[str, Any] = {k: v for k, v in self.definition.items() if k not in ("what", "sources")}
        if self.contestant is not None and not base:
            base["from"] = self.title.partition(":")[0]
        sections: dict[str, dict[str, Any]] = {}
        if self.contestant is None:
            sections["cc"] = dict(self.cc)
        elif ":" in self.contestant:
            algorithm, _, preset = self.contestant.partition(":")
            sections["cc"] = {"algorithm": self.cc.get("algorithm", algorithm), "preset": preset}
        effective = tomllib.loads(self.scenario.with_(setting).to_toml())
        for key, value in setting.items():
            section, *path, last = key.split(".")
            at = sections.setdefault(section, dict(base.get(section, {})))
            if section == "balancing":
                at |= effective[section]
            for depth, step in enumerate(path):
                if step not in at:
                    at[step] = dict(_at(effective, [section, *path[: depth + 1]]))
                at = at[step]
            at[last] = value
        return {**base, **{section: table for section, table in sections.items() if table}}

    @property
    def title(self) -> str:
        """The name of what is tuned: the contestant or the algorithm, or else the scenario."""
        if self.contestant is not None:
            return self.contestant
        return store.label(self.scenario) if self.cc else self.scenario.name

    @property
    def folder(self) -> Path:
        """The default folder of its files."""
        return store.DEFAULT / store.folder_name(self.scenario.name) / f"tune-{self.key}"


def _at(effective: Mapping[str, Any], path: Sequence[str]) -> Mapping[str, Any]:
    for step in path:
        effective = effective[step]
    return effective


def plan(
    scenario: Scenario | str | os.PathLike[str],
    vary: Sequence[str],
    objectives: Sequence[str],
    *,
    subject_to: Sequence[str] = (),
    cc: str | None = None,
    contestant: str | None = None,
    overrides: Sequence[str] = (),
    trials: int = TRIALS,
    seeds: int = SEEDS,
    seed: int | None = None,
    search_seed: int = 1,
    held_out: Sequence[str | os.PathLike[str]] = (),
) -> Plan:
    """Reads a search.

    Args:
        scenario: The scenario or its file.
        vary: Keys with their ranges or values: ``cc.beta=0.2:1``, ``cc.base_target=5us:50us:log``,
            ``cc.unit=packet,bdp``.
        objectives: Measures that are to improve, like ``p99.small`` or ``queue(all, p99)``.
        subject_to: Conditions that every run has to meet, like ``queue.peak <= 100KB``.
        cc: The algorithm, with its preset; None takes the scenario's.
        contestant: A contestant in its place: its name, or a file that defines one.
        overrides: Keys to set in the scenario file.
        trials: How many settings are tried.
        seeds: How many seeds each setting runs with.
        seed: The first of them; None takes the scenario's.
        search_seed: The seed of the search.
        held_out: Files of scenarios for the last check.

    Raises:
        ScenarioError: When something is wrong.
        ValueError: When a number is out of range.
    """
    if trials < 1 or not 1 <= seeds <= MOST_SEEDS:
        raise ValueError(f"tuning needs at least one trial, and 1 to {MOST_SEEDS} seeds")
    if cc is not None and contestant is not None:
        raise ScenarioError("tuning: choose an algorithm or a contestant, not both")
    base = _base(scenario, cc, contestant, overrides)
    base = base if seed is None else base.with_seed(seed)
    if base.seed + seeds > 1_000_000:
        raise ScenarioError("the seeds of trials are at most 1,000,000; the ones above are for the check")
    base.size()
    effective = tomllib.loads(base.to_toml())
    parameters = space.checked([space.read(text, effective) for text in vary])
    for parameter in parameters:
        _check(base, parameter)
    section = _section(base, effective)
    if not section and any(key.startswith("cc.") for p in parameters for key in p.keys):
        raise ScenarioError("every traffic block has its own algorithm\n    help: choose one with --cc NAME")
    others = tuple(_held_out(file, base, contestant, section, parameters) for file in held_out)
    goal = aim.read(objectives, subject_to)
    for one in (base, *others):
        refuse_missing("--objective", goal.calls, [one])
        refuse_missing("--subject-to", (condition.call for condition in goal.conditions), [one])
    options: list[tuple[str, Sequence[str]]] = [
        ("--set", overrides),
        ("--cc", [] if cc is None else [cc]),
        ("--contestant", [] if contestant is None else [contestant]),
        ("--vary", vary),
        ("--objective", objectives),
        ("--subject-to", subject_to),
        ("--held-out", [os.fspath(file) for file in held_out]),
        ("--trials", [] if trials == TRIALS else [str(trials)]),
        ("--seeds", [] if seeds == SEEDS else [str(seeds)]),
        ("--seed", [] if seed is None else [str(seed)]),
        ("--search-seed", [] if search_seed == 1 else [str(search_seed)]),
    ]
    file = scenario.file if isinstance(scenario, Scenario) else os.fspath(scenario)
    words = [word for option, values in options for value in values for word in (option, value)]
    return Plan(
        base,
        parameters,
        tuple(space.together([_present(effective, key) for key in p.keys]) for p in parameters),
        goal,
        trials,
        tuple(range(base.seed, base.seed + seeds)),
        search_seed,
        others,
        section,
        base.contestant,
        _definition(scenario, contestant),
        shlex.join(["incast", "tune", file, *words]),
    )


def _base(
    scenario: Scenario | str | os.PathLike[str],
    cc: str | None,
    contestant: str | None,
    overrides: Sequence[str],
) -> Scenario:
    """The scenario in its default setting."""
    if contestant is not None:
        of = scenario if isinstance(scenario, Scenario) else template(scenario, overrides)
        return _with_contestant(of, contestant)
    if isinstance(scenario, Scenario):
        return scenario if cc is None else scenario.with_algorithm(cc)
    if cc is None:
        return Scenario.load(scenario, overrides)
    # The algorithm replaces the section of the file; what is set for it comes after.
    own = [text for text in overrides if re.match(r"\s*cc\s*\.", text)]
    others = [text for text in overrides if text not in own]
    name, _, preset = named(cc).partition(":")
    chosen = f'cc={{algorithm="{name}"' + (f', preset="{preset}"}}' if preset else "}")
    return Scenario.load(scenario, [*others, chosen, *own])


def _with_contestant(scenario: Scenario, contestant: str) -> Scenario:
    """The scenario with one contestant."""
    found = list(choose_contestants(scenario, [contestant], f"--contestant {contestant}").scenarios.items())
    if len(found) > 1:
        names = ", ".join(name for name, _ in found)
        raise ScenarioError(f"--contestant {contestant}: one contestant is tuned at a time, not {names}")
    return found[0][1]


def _definition(scenario: Scenario | str | os.PathLike[str], contestant: str | None) -> Mapping[str, Any]:
    """The contestant as its own file, or the scenario's, defines it."""
    if contestant is None:
        return {}
    if contestant.endswith(".toml"):
        return next(iter(definitions(Path(contestant)).values()))
    if isinstance(scenario, Scenario):
        return {}
    found: Mapping[str, Any] = document(scenario).get("contestant", {}).get(contestant.partition(":")[0], {})
    return found


def _present(effective: dict[str, Any], key: str) -> Value:
    at: Any = effective
    for step in key.split("."):
        at = at.get(step, "") if isinstance(at, dict) else ""
    return at if isinstance(at, (bool, int, float, str)) else ""


def _check(base: Scenario, parameter: Parameter) -> None:
    """Refuses a parameter if the scenario refuses all of the values that are tried here."""
    ends: Sequence[Value] = parameter.choices or [
        parameter.value(number) for number in (parameter.low, parameter.high)
    ]
    errors = []
    for value in ends:
        try:
            changed = base.with_(space.values_of([parameter], (value,)))
            changed.size()
        except ScenarioError as error:
            errors.append(error)
            continue
        for problem in changed.dropped:
            if problem.key in parameter.keys:
                raise ScenarioError(f"--vary {parameter}: {problem.problem}")
    if len(errors) == len(ends):
        problem = errors[0].problems[0]
        hint = f"\n    help: {problem.hint}" if problem.hint else ""
        raise ScenarioError(f"--vary {parameter}: {problem.problem}{hint}")


def _section(base: Scenario, effective: dict[str, Any]) -> dict[str, Value]:
    """The section of the algorithm, without the values that its preset has anyway."""
    if base.algorithm is None or "cc" not in effective:
        return {}
    plain = tomllib.loads(base.with_algorithm(base.algorithm).to_toml())["cc"]
    names = ("algorithm", "preset")
    return {key: value for key, value in effective["cc"].items() if key in names or plain.get(key) != value}


def _held_out(
    file: str | os.PathLike[str],
    base: Scenario,
    contestant: str | None,
    section: dict[str, Value],
    parameters: Sequence[Parameter],
) -> Scenario:
    """A scenario for the last check, with the algorithm of the search."""
    scenario = template(file)
    if contestant is not None:
        scenario = _with_contestant(scenario, contestant)
    elif section:
        scenario = scenario.with_({"cc": section})
    if scenario == base:
        raise ScenarioError(f"--held-out {os.fspath(file)}: this is the scenario of the search")
    for parameter in parameters:
        _check(scenario, parameter)
    return scenario
