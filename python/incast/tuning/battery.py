"""Tuning over a battery of the arena: the aim, the runs of a setting, and the setting as a contestant."""

from __future__ import annotations

import hashlib
import math
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from incast import catalogue
from incast.arena.contenders import Contender, chosen
from incast.arena.entries import HELD_OUT, Battery, Entry, read
from incast.arena.entries import battery as published
from incast.arena.measure import check, observe
from incast.arena.planning import scenario_of
from incast.arena.score import LEAST_GOOD
from incast.errors import ResultError, ScenarioError
from incast.results.measures.call import Call
from incast.results.measures.named import Measure
from incast.results.result import Result, is_sound
from incast.runs import store
from incast.runs.runner import Batch, Job
from incast.scenario import Scenario
from incast.scenario.contestants import definitions, texts
from incast.tuning import space
from incast.tuning.aim import Aim
from incast.tuning.plan import TRIALS, Lab, Plan
from incast.tuning.space import Parameter, Setting, Value, together, values_of
from incast.tuning.trial import Bench, Outcome, Wanted

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

RATIO = Measure("ratio", ("ratio",), "geometric mean of the ratios to the default setting", "ratio", "lower")
"""The objective: the geometric mean over scenarios of the ratio to the default setting, itself the geometric
mean over the metrics of a scenario, with goods inverted. The default setting has 1."""


class ArenaAim(Aim):
    """The aim of a search over a battery: :data:`RATIO`, and no condition."""

    @cached_property
    def objectives(self) -> tuple[Measure, ...]:
        """The only objective."""
        return (RATIO,)

    @cached_property
    def measures(self) -> dict[str, Call]:
        """The name of the objective; it is no number of one run."""
        return {RATIO.name: Call(RATIO.name, {}, "")}


@dataclass(frozen=True)
class ArenaPlan(Plan):
    """A search over a battery.

    Attributes:
        battery: The battery, with the scenarios that the contestant can run.
        last: The battery of the last check, likewise.
        contender: The contestant in its default setting.
    """

    battery: Battery = field(kw_only=True)
    last: Battery = field(kw_only=True)
    contender: Contender = field(kw_only=True)

    @property
    def key(self) -> str:
        """A hash of the search but for its length: a longer one continues a shorter one."""
        parts = [super().key, self.battery.digest, *self.contender.definitions]
        return hashlib.sha256("\n\0".join(parts).encode()).hexdigest()[: store.KEY_DIGITS]

    @property
    def subject(self) -> str:
        """The battery with its version."""
        return f"battery {self.battery.name} {self.battery.version}"

    @property
    def folder(self) -> Path:
        """The default folder of its files."""
        name = f"arena-{self.battery.name}-{self.battery.version}"
        return store.DEFAULT / name / f"tune-{self.key}"

    @property
    def repeats(self) -> str:
        """One of the runs that a setting has of each scenario: a replicate."""
        return "replicate"

    @property
    def runs_each(self) -> int:
        """Number of runs of a setting in one replicate of all scenarios."""
        return len(self.battery.entries)

    @property
    def source(self) -> str:
        """The source of a tuned value."""
        return f"{super().source}, {self.subject}"

    def check_runs(self, seeds: int) -> int:
        """Returns the number of runs of the check after the search.

        Args:
            seeds: The number of replicates of a trial, which the check does not depend on.
        """
        return 2 * _common(self.last) * len(self.last.entries)

    def bench(self, make: Lab) -> Bench:
        """Returns where settings are measured in the search.

        Args:
            make: Where and how runs are made.
        """
        return BatteryRuns(self, self.battery, make)

    def checks(self, make: Lab, seeds: Sequence[int], *, drawn: bool) -> list[tuple[str, list[int], Bench]]:
        """Returns the check after the search: its name, its replicates, and where it is measured.

        Args:
            make: Where and how runs are made.
            seeds: The replicates of the search.
            drawn: Whether replicates differ.
        """
        name = f"battery {self.last.name} {self.last.version}"
        return [(name, list(range(_common(self.last))), BatteryRuns(self, self.last, make))]

    def definition_of(self, setting: Mapping[str, object]) -> dict[str, Any]:
        """Returns a setting as the definition of a contestant, without what it is and its sources.

        Shares of the bandwidth-delay product stay shares, so that it is the same on all networks.

        Args:
            setting: Values by key.
        """
        base = {key: it for key, it in self.definition.items() if key not in ("what", "sources")}
        found: dict[str, Any] = {key: dict(it) if isinstance(it, Mapping) else it for key, it in base.items()}
        name, _, preset = self.contender.name.partition(":")
        if not base:
            found["from"] = name
        if preset:
            found["cc"] = {"algorithm": str(self.cc.get("algorithm", name)), "preset": preset}
        inherited = _settings(str(found.get("from", "")))
        for key, value in setting.items():
            section, *path, last = key.split(".")
            at = found.setdefault(section, {})
            if section == "balancing" and not at:
                # It replaces the one that is inherited as a whole, and so does a table in a section.
                at |= inherited.get(section, {})
            for depth, step in enumerate(path):
                at[step] = dict(at.get(step) or _table(inherited, [section, *path[: depth + 1]]))
                at = at[step]
            at[last] = value
        return found

    def tuned(self, setting: Mapping[str, object]) -> Contender:
        """Returns a setting as a contestant.

        Args:
            setting: Values by key.
        """
        definitions = tuple(texts({_TRIED: self.definition_of(setting)}))
        return Contender(_TRIED, _TRIED, definitions=definitions)


_TRIED = "tried-here"
"""The name of the contestant that has the setting that is tried."""


def plan_arena(
    battery: str,
    contestant: str,
    vary: Sequence[str],
    *,
    trials: int = TRIALS,
    seeds: int | None = None,
    search_seed: int = 1,
    held_out: str | None = None,
) -> ArenaPlan:
    """Reads a search over a battery.

    Args:
        battery: ``quick`` or ``full``, or the folder of a battery.
        contestant: What is tuned: a contestant, or a file that defines one.
        vary: Keys with their ranges or values, as for :func:`incast.tuning.plan`.
        trials: How many settings are tried.
        seeds: How many replicates of each scenario a setting runs; None takes as many as all scenarios have.
        search_seed: The seed of the search.
        held_out: The folder of the battery of the last check; None takes ``held-out``.

    Raises:
        ScenarioError: When something is wrong.
        ValueError: When a number is out of range.
    """
    (contender, *more) = chosen([], [contestant])
    if more:
        raise ScenarioError(f"--contestant {contestant}: one contestant is tuned at a time")
    whole, last = _searched(battery), _last(held_out)
    if whole.digest == last.digest:
        raise ScenarioError(f"--held-out {held_out}: this is the battery of the search")
    some, scenarios = _fitting(whole, contender)
    for entry, scenario in zip(some.entries, scenarios, strict=True):
        check(some.name, entry, scenario)
    least = _common(some)
    count = least if seeds is None else seeds
    if trials < 1 or not 1 <= count <= least:
        raise ValueError(f"tuning over {whole.name} needs at least one trial, and 1 to {least} replicates")
    effective = [tomllib.loads(one.to_toml()) for one in scenarios]
    parameters = space.checked([space.read(text, effective[0]) for text in vary])
    options: list[tuple[str, Sequence[str]]] = [
        ("--arena", [battery]),
        ("--contestant", [contestant]),
        ("--vary", vary),
        ("--held-out", [] if held_out is None else [held_out]),
        ("--trials", [] if trials == TRIALS else [str(trials)]),
        ("--seeds", [] if seeds is None else [str(seeds)]),
        ("--search-seed", [] if search_seed == 1 else [str(search_seed)]),
    ]
    words = [word for option, values in options for value in values for word in (option, value)]
    of_file = next(iter(definitions(Path(contestant)).values())) if contestant.endswith(".toml") else {}
    found = ArenaPlan(
        scenarios[0],
        parameters,
        tuple(together([_present(effective, contender, of_file, key) for key in p.keys]) for p in parameters),
        ArenaAim((), ()),
        trials,
        tuple(range(count)),
        search_seed,
        (),
        {key: it for key, it in effective[0].get("cc", {}).items() if key == "algorithm"},
        contender.name,
        of_file,
        shlex.join(["incast", "tune", *words]),
        battery=some,
        last=_fitting(last, contender)[0],
        contender=contender,
    )
    for parameter in parameters:
        _check(found, parameter)
    return found


def _common(battery: Battery) -> int:
    """Returns the number of replicates that all scenarios of a battery have."""
    return min(entry.seeds for entry in battery.entries)


def _searched(name: str) -> Battery:
    """Returns the battery of a search, which is never the held-out one."""
    folder = Path(name)
    found = read(folder) if (folder / "battery.toml").is_file() else published(name)
    if found.digest == _last(None).digest:
        raise ScenarioError("--arena: the held-out battery is for a last check, not for search")
    return found


def _last(folder: str | None) -> Battery:
    """Returns the battery of the last check: nothing else in the search opens it."""
    return published(HELD_OUT, for_check=True) if folder is None else read(Path(folder))


def _fitting(battery: Battery, contender: Contender) -> tuple[Battery, list[Scenario]]:
    """Returns a battery with the scenarios that a contestant can run, and these in its default setting."""
    names, scenarios, why = [], [], ""
    for entry in battery.entries:
        try:
            scenario = scenario_of(entry, contender, 0)
            scenario.size()
        except ScenarioError as error:
            why = why or error.problems[0].problem
            continue
        names.append(entry.name)
        scenarios.append(scenario)
    if not names:
        raise ScenarioError(f"{contender.name} can run no scenario of the battery {battery.name}: {why}")
    return battery.only(names), scenarios


def _settings(contestant: str) -> dict[str, Any]:
    """Returns the settings of a contestant of Incast as sections."""
    found: dict[str, Any] = {}
    for one in catalogue.contestants():
        if one.name != contestant:
            continue
        for key, written, _ in one.settings:
            *path, last = key.split(".")
            at = found
            for step in path:
                at = at.setdefault(step, {})
            at[last] = tomllib.loads(f"value = {written}")["value"]
    return found


def _table(of: Mapping[str, Any], path: Sequence[str]) -> Mapping[str, Any]:
    """Returns a table within tables; an empty one where there is none."""
    for step in path:
        of = of.get(step) or {}
        if not isinstance(of, Mapping):
            return {}
    return of


def _present(
    effective: Sequence[Mapping[str, Any]], contender: Contender, of_file: Mapping[str, Any], key: str
) -> Value:
    """Returns the default value of a key: as the contestant has it, or the one that all scenarios have."""
    *path, last = key.split(".")
    inherited = _settings(str(of_file.get("from") or contender.name.partition(":")[0]))
    own = _table(of_file, path).get(last, _table(inherited, path).get(last))
    known = {repr(_table(one, path).get(last)) for one in effective}
    found = own if own is not None else _table(effective[0], path).get(last) if len(known) == 1 else None
    return found if isinstance(found, bool | int | float | str) else ""


def _check(what: ArenaPlan, parameter: Parameter) -> None:
    """Refuses a parameter if all scenarios refuse all of the values that are tried here."""
    ends: Sequence[Value] = parameter.choices or [
        parameter.value(number) for number in (parameter.low, parameter.high)
    ]
    first: ScenarioError | None = None
    for value in ends:
        contender = what.tuned(values_of([parameter], (value,)))
        for entry in what.battery.entries:
            try:
                scenario_of(entry, contender, 0).size()
            except ScenarioError as error:
                first = first or error
            else:
                return
    assert first is not None
    problem = first.problems[0]
    raise ScenarioError(f"--vary {parameter}: {problem.problem}")


class BatteryRuns:
    """Makes the runs of settings in all scenarios of a battery, where a seed is the number of a replicate.

    Args:
        what: The search.
        battery: The battery.
        make: Where and how runs are made.
    """

    def __init__(self, what: ArenaPlan, battery: Battery, make: Lab) -> None:
        self._what = what
        self._battery = battery
        self._make = make
        self._again: set[Path] = set()
        self._texts = {entry.name: entry.file.read_text(encoding="utf-8") for entry in battery.entries}
        self._default: dict[int, dict[str, float]] = {}

    def measure(self, wanted: Sequence[Wanted]) -> list[Outcome]:
        """Makes the runs that have no result yet, and returns the ratios to the default setting."""
        missing = [n for n in dict.fromkeys(n for _, n in wanted) if n not in self._default]
        asked: list[Wanted] = [*((None, n) for n in missing), *wanted]
        measured = self._costs(asked)
        for (_, n), one in zip(asked[: len(missing)], measured, strict=False):
            if not isinstance(one, str):
                self._default[n] = one[0]
        return [self._outcome(n, one) for (_, n), one in zip(wanted, measured[len(missing) :], strict=True)]

    def _outcome(self, replicate: int, one: tuple[dict[str, float], str] | str) -> Outcome:
        if isinstance(one, str):
            return Outcome({}, one)
        costs, fingerprint = one
        if replicate not in self._default:
            return Outcome({}, "the default setting has no result")
        default = self._default[replicate]
        logs = [math.log(costs[name] / default[name]) for name in costs]
        return Outcome({RATIO.name: math.exp(math.fsum(logs) / len(logs))}, None, fingerprint)

    def _costs(self, wanted: Sequence[Wanted]) -> list[tuple[dict[str, float], str] | str]:
        """Returns of each the costs by scenario with one fingerprint, or what failed."""
        jobs: dict[Path, Job] = {}
        places: list[dict[str, Path] | str] = []
        for setting, replicate in wanted:
            contender = self._contender(setting)
            mine: dict[str, Path] | str = {}
            for entry in self._battery.entries:
                try:
                    scenario = scenario_of(entry, contender, replicate, self._texts[entry.name])
                    scenario.size()
                except ScenarioError as error:
                    mine = f"{entry.name}: {error.problems[0].problem}"
                    break
                folder = store.place(self._make.results, scenario, store.named_files(scenario))
                assert isinstance(mine, dict)
                mine[entry.name] = folder
                label = "default" if setting is None else ", ".join(map(str, setting))
                jobs.setdefault(
                    folder, Job(f"{label} in {entry.name}, seed {scenario.seed}", scenario, folder)
                )
            places.append(mine)
        self._make.meter.spare(len(wanted) * len(self._battery.entries) - len(jobs))
        batch = Batch(list(jobs.values()))
        again = self._make.fresh and not self._again.issuperset(jobs)
        batch.run(self._make.executor, fresh=again, watch=self._make.meter.now)
        self._again.update(jobs)
        self._make.meter.over(batch.state)
        numbers = {folder: n for n, folder in enumerate(jobs)}
        read: dict[tuple[str, Path], tuple[float, str] | str] = {}
        found: list[tuple[dict[str, float], str] | str] = []
        for mine in places:
            if isinstance(mine, str):
                found.append(mine)
                continue
            costs: dict[str, float] = {}
            prints, why = [], ""
            for entry in self._battery.entries:
                place = (entry.name, mine[entry.name])
                if place not in read:
                    read[place] = _cost(entry, batch, numbers[place[1]])
                one = read[place]
                if isinstance(one, str):
                    why = why or f"{entry.name}: {one}"
                else:
                    costs[entry.name], print_ = one
                    prints.append(print_)
            joined = hashlib.sha256("\n".join(prints).encode()).hexdigest()
            found.append(why or (costs, joined))
        return found

    def _contender(self, setting: Setting | None) -> Contender:
        if setting is None:
            return self._what.contender
        return self._what.tuned(values_of(self._what.parameters, setting))


def _cost(entry: Entry, batch: Batch, number: int) -> tuple[float, str] | str:
    """Returns the mean cost of a run in its metrics with its fingerprint, or what failed."""
    info = batch.infos.get(number)
    if info is None:
        return batch.errors[number].splitlines()[0]
    if not is_sound(info):
        return str(info["outcome"]["why"])
    try:
        return _mean_cost(entry, batch.result(number)), str(info["outcome"]["fingerprint"])
    except (ValueError, ResultError) as error:
        return str(error)


def _mean_cost(entry: Entry, result: Result) -> float:
    seen = observe(entry.metrics, result)
    costs = [
        one.value if metric.better == "lower" else 1 / max(one.value, LEAST_GOOD)
        for metric, one in zip(entry.metrics, seen, strict=True)
    ]
    return math.exp(math.fsum(map(math.log, costs)) / len(costs))
