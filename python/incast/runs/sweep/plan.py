"""The runs of a sweep: every combination of the values of some keys, each with several seeds."""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from incast.algorithm import parameters_of
from incast.errors import Problem, ScenarioError, renamed, scenario_error
from incast.results.grid import NONE, Axis, last_word
from incast.runs import store
from incast.runs.sweep import ranges as ranges_
from incast.scenario import Scenario, contestants, template
from incast.scenario.choice import (
    ALL,
    Refusal,
    applied,
    everything,
    named,
    permitted,
    refuse_overrides,
    split,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ALGORITHM = "cc"
"""The key for the algorithm with its preset: ``cc=oscar,swift:oscar``."""

CONTESTANT = "contestant"
"""The key for a contestant: ``contestant=nscc,dcqcn``."""

CHOICES = (ALGORITHM, CONTESTANT)
"""The keys that choose an algorithm."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a sweep.

    It is small, since there may be ten thousand: runs that differ only in the seed share a scenario.

    Attributes:
        keys: The keys of the axes.
        values: The values of the axes, in their order.
        first: The scenario with the first seed.
        seed: Its seed.
        parent: The folder of its result's folder.
        name: The name of its result's folder.
    """

    keys: tuple[str, ...]
    values: tuple[str, ...]
    first: Scenario
    seed: int
    parent: Path
    name: str

    @property
    def scenario(self) -> Scenario:
        """The scenario to run, with its seed."""
        return self.first if self.seed == self.first.seed else self.first.with_seed(self.seed)

    @property
    def label(self) -> str:
        """Its name in messages."""
        return " ".join([_label(self.keys, self.values), f"seed={self.seed}"]).strip()

    @property
    def folder(self) -> Path:
        """The folder of its result, which need not be there yet."""
        return self.parent / self.name


@dataclass(frozen=True)
class Plan:
    """All runs of a sweep.

    Attributes:
        file: The scenario file.
        name: The scenario's name.
        axes: What is varied.
        seeds: How many seeds each combination runs with, one after the other from the scenario's own.
        runs: All runs: the first axis outermost, the seeds innermost.
        left_out: The reason for which a combination with an algorithm of ``cc=all`` is left out, by its
            label.
        from_all: The algorithms that were not named but come from ``cc=all``.
        notes: Parameters that are set for some of the algorithms only, a sentence for each.
    """

    file: Path
    name: str
    axes: tuple[Axis, ...]
    seeds: int
    runs: tuple[Run, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    from_all: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()

    @property
    def combinations(self) -> list[tuple[str, ...]]:
        """The combinations of values, each once."""
        return list(dict.fromkeys(run.values for run in self.runs))

    @property
    def key(self) -> str:
        """A hash of the keys of all runs: the same plan, the same key."""
        names = "\n".join(run.name for run in self.runs)
        return hashlib.sha256(names.encode()).hexdigest()[: store.KEY_DIGITS]


def axis(text: str) -> Axis:
    """Reads ``KEY=VALUE,VALUE,…``. A comma inside brackets or quotes does not separate values.

    A value like ``0.3:0.9:0.1`` or ``10KB:1MB:x10`` is a range: from the first to the second, in
    steps of the third or by this factor.

    Raises:
        ScenarioError: When something is missing or given twice.
    """
    key, equals, rest = text.partition("=")
    key = key.strip()
    help_ = '    help: write it like cc=oscar,hpcc or traffic.0.load=0.5,0.8 or topology.rate="100Gbps"'
    if not equals or not key:
        raise ScenarioError(f"--vary {text}: expected a key and its values, separated by =\n{help_}")
    if key == "seed":
        raise ScenarioError(
            f"--vary {text}: seeds cannot be varied; give their number instead\n    help: --seeds 5"
        )
    values = tuple(value.strip() for value in _split(rest))
    if key not in CHOICES:
        ranges = [ranges_.expanded(value, f"--vary {text}") or [value] for value in values]
        values = tuple(value for of_range in ranges for value in of_range)
    if key == ALGORITHM:
        values = tuple(map(named, values))
    if key == CONTESTANT:
        values = tuple(map(contestants.named, values))
    if not all(values):
        raise ScenarioError(f"--vary {text}: a value is missing\n{help_}")
    twice = [value for n, value in enumerate(values) if value in values[:n]]
    if twice:
        raise ScenarioError(f"--vary {text}: {twice[0]!r} is given twice")
    return Axis(key, values)


def _split(text: str) -> list[str]:
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "[{":
            depth += 1
        elif letter in "]}":
            depth -= 1
        if letter == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def plan(
    file: str | os.PathLike[str],
    vary: Sequence[str],
    *,
    seeds: int = 1,
    seed: int | None = None,
    overrides: Sequence[str] = (),
    results: Path = store.DEFAULT,
) -> Plan:
    """Reads and checks all that a sweep runs, before anything runs.

    Args:
        file: The scenario file; not a scenario, since runs in other processes read the file again.
        vary: What to vary, each like ``cc=oscar,hpcc`` or ``traffic.0.load=0.5,0.8``; where only one traffic
            block has the key, its name will do: ``load=0.5,0.8``. ``cc=all`` means every algorithm that the
            scenario permits, in each combination, and ``contestant=all`` likewise every contestant.
        seeds: How many seeds each combination runs with.
        seed: The first seed; none takes the scenario's.
        overrides: Keys to set in every run.
        results: The folder of all results.

    Raises:
        TypeError: When it is given a scenario.
        ScenarioError: With the problems of all combinations.
    """
    if isinstance(file, Scenario):
        raise TypeError("plan() takes the file of a scenario: runs in other processes read it again")
    file = Path(file)
    axes = tuple(axis(text) for text in vary)
    axes, overrides = _with_choice(axes, overrides)
    chosen = [a.key for a in axes if a.key in CHOICES]
    if len(set(chosen)) > 1:
        raise ScenarioError(
            "--vary cc and --vary contestant both choose the algorithm\n"
            "    help: a contestant with a preset is contestant=NAME:PRESET"
        )
    axes, defined = _gathered(axes)
    overrides = [*overrides, *defined]
    parameters: Sequence[str] = ()
    if chosen:
        refuse_overrides(overrides, f"--vary {chosen[0]}")
        overrides, parameters = split(overrides)
    if any(a.key not in CHOICES and "." not in a.key for a in axes):
        read = template if chosen else Scenario.load
        effective = tomllib.loads(read(file, list(overrides)).to_toml())
        axes = tuple(replace(a, key=_in_full(a.key, effective)) for a in axes)
    keys = tuple(a.key for a in axes)
    twice = [key for n, key in enumerate(keys) if key in keys[:n]]
    if twice:
        help_ = "    help: give it all its values at once"
        raise ScenarioError(f"--vary {twice[0]}: this key is varied twice\n{help_}")
    axes, optional = _expanded(axes, file, overrides)
    known: Parameters = {}
    if parameters or any(a.key.startswith(f"{ALGORITHM}.") for a in axes):
        known = _parameters(axes, file, overrides)
    notes = applied(parameters, known)
    fits = partial(_fits, parameters=known)
    runs: list[Run] = []
    problems: dict[Problem, None] = {}
    # By the values of the other keys: the problems of all that was left out, and whether anything runs.
    refused: dict[tuple[str, ...], dict[Problem, None]] = {}
    possible: set[tuple[str, ...]] = set()
    left_out: dict[tuple[str, ...], str] = {}
    name = file.stem
    combinations = (
        _applicable(keys, values, fits) for values in itertools.product(*(a.values for a in axes))
    )
    for values in dict.fromkeys(combinations):
        of = dict(zip(keys, values, strict=True))
        others = tuple(value for key, value in of.items() if key not in CHOICES)
        name_of = next((of[key] for key in CHOICES if key in of), None)
        given = {key: value for key, value in of.items() if value != NONE}
        own = [text for text in parameters if fits(name_of or "", _key_of(text))]
        make = partial(_scenario, file, given, overrides, seed, own)
        if name_of is not None and name_of in optional:
            made = (permitted if ALGORITHM in of else contestants.fitting)(name_of, make)
            if isinstance(made, Refusal):
                left_out[values] = made.why
                refused.setdefault(others, {}).update(dict.fromkeys(made.problems))
                continue
            scenario = made
        else:
            try:
                scenario = make()
                scenario.size()
            except ScenarioError as error:
                problems.update(dict.fromkeys(error.problems))
                continue
        possible.add(others)
        name = scenario.name
        if scenario.seed + seeds > 2**64:
            raise ScenarioError(f"--seeds {seeds}: the last seed would be larger than 2^64 - 1")
        parent = None
        for n in range(seeds):
            one = scenario.with_seed(scenario.seed + n)
            folder = store.place(results, one, store.named_files(one))
            parent = folder.parent if parent is None else parent
            runs.append(Run(keys, values, scenario, one.seed, parent, folder.name))
    # What no algorithm is possible with is not an algorithm's fault.
    for others, found in refused.items():
        problems.update({} if others in possible else found)
    if problems:
        raise scenario_error(list(problems))
    by_folder: dict[tuple[Path, str], Run] = {}
    for run in runs:
        same = by_folder.setdefault((run.parent, run.name), run)
        if same is not run:
            raise ScenarioError(f"{same.label} and {run.label} are the same scenario")
    return Plan(
        file, name, axes, seeds, tuple(runs), _merged(left_out, axes), frozenset(optional), tuple(notes)
    )


def _label(keys: Sequence[str], values: Sequence[str]) -> str:
    return " ".join(f"{last_word(k)}={v}" for k, v in zip(keys, values, strict=True) if v != NONE)


def _with_choice(axes: tuple[Axis, ...], overrides: Sequence[str]) -> tuple[tuple[Axis, ...], Sequence[str]]:
    """Returns an override that chooses an algorithm as an axis, where parameters of it are varied."""
    varied = any(a.key.startswith(f"{ALGORITHM}.") for a in axes)
    if not varied or any(a.key in CHOICES for a in axes):
        return axes, overrides
    chosen = [text for text in overrides if _key_of(text) in CHOICES]
    if not chosen or "{" in chosen[-1]:
        return axes, overrides
    rest = [text for text in overrides if text not in chosen]
    return (axis(chosen[-1]), *axes), rest


def _key_of(text: str) -> str:
    """The key of an override."""
    return text.partition("=")[0].replace(" ", "")


Parameters: TypeAlias = Mapping[str, frozenset[str] | None]
"""The parameters of each algorithm or contestant of an axis; None where any is taken."""


def _parameters(axes: Sequence[Axis], file: Path, overrides: Sequence[str]) -> Parameters:
    """Returns the parameters of all that an axis chooses."""
    found: dict[str, frozenset[str] | None] = {}
    for a in axes:
        for value in a.values if a.key in CHOICES else ():
            if a.key == ALGORITHM:
                name = _named_in(value) if value.startswith("{") else value
                found[value] = parameters_of((name or "").partition(":")[0])
                continue
            try:
                made = Scenario.load(file, [*overrides, f"{CONTESTANT}={value}"])
                found[value] = contestants.parameters_of_scenario(made)
            except ScenarioError:
                # It is reported when the runs are planned.
                found[value] = None
    return found


def _named_in(section: str) -> str | None:
    """Returns the algorithm in a section on one line."""
    try:
        name = tomllib.loads(f"cc = {section}")["cc"].get("algorithm")
    except tomllib.TOMLDecodeError:
        return None
    return name if isinstance(name, str) else None


def _fits(name: str, key: str, *, parameters: Parameters) -> bool:
    """Whether a key applies with an algorithm or a contestant: it is no parameter, or one that it has.

    A parameter that none has applies to all, which is the error.
    """
    prefix, _, parameter = key.partition(".")
    if prefix != ALGORITHM or parameter in ("", "algorithm", "preset") or name not in parameters:
        return True
    if not any(known is None or parameter in known for known in parameters.values()):
        return True
    known = parameters[name]
    return known is None or parameter in known


def _applicable(
    keys: Sequence[str], values: tuple[str, ...], fits: Callable[[str, str], bool]
) -> tuple[str, ...]:
    """Returns the values of a combination, with none for parameters that its algorithm has not."""
    of = dict(zip(keys, values, strict=True))
    name = next((of[key] for key in CHOICES if key in of), "")
    return tuple(value if fits(name, key) else NONE for key, value in of.items())


def _gathered(axes: Sequence[Axis]) -> tuple[tuple[Axis, ...], list[str]]:
    """Returns the axes with names in the place of files, and overrides that define the contestants of these.

    Raises:
        ScenarioError: When a file cannot be read, or the axis takes none of its kind.
    """
    gathered, texts = [], []
    for a in axes:
        values = a.values
        if a.key == CONTESTANT:
            names, defined = contestants.gathered([it for it in values if not it.startswith("{")])
            values = (*names, *(it for it in values if it.startswith("{")))
            texts += contestants.texts(defined)
        elif a.key == ALGORITHM:
            names, defined = contestants.gathered([it for it in values if not it.startswith("{")])
            if defined:
                raise ScenarioError(
                    f"--vary cc={','.join(values)}: a file of contestants is no algorithm\n"
                    "    help: --vary contestant=FILE, or --contestants FILE, takes them with their networks"
                )
            values = (*names, *(it for it in values if it.startswith("{")))
        gathered.append(replace(a, values=tuple(dict.fromkeys(values))))
    return tuple(gathered), texts


def _expanded(
    axes: Sequence[Axis], file: Path, overrides: Sequence[str]
) -> tuple[tuple[Axis, ...], set[str]]:
    """Returns the axes with all algorithms or contestants in the place of ``all``, and the set of these."""
    optional: set[str] = set()
    expanded = []
    for a in axes:
        values = list(a.values)
        if a.key in CHOICES and ALL in values:
            own = template(file, list(overrides)).own_contestants if a.key == CONTESTANT else ()
            known = everything() if a.key == ALGORITHM else contestants.everyone(own)
            stands_for = [name for name in known if name not in values]
            optional.update(stands_for)
            at = values.index(ALL)
            values[at : at + 1] = stands_for
        expanded.append(replace(a, values=tuple(values)))
    return tuple(expanded), optional


def _merged(left_out: Mapping[tuple[str, ...], str], axes: Sequence[Axis]) -> dict[str, str]:
    """Merges left-out combinations by label, without keys whose values make no difference."""
    keys = [a.key for a in axes]
    combinations = math.prod(len(a.values) for a in axes if a.key not in CHOICES)
    of: dict[tuple[str, str], dict[str, str]] = {}
    for values, why in left_out.items():
        chosen = next((key, values[keys.index(key)]) for key in CHOICES if key in keys)
        of.setdefault(chosen, {})[_label(keys, values)] = why
    merged: dict[str, str] = {}
    for (key, name), entries in of.items():
        same = len(entries) == combinations and len(set(entries.values())) == 1
        alone = {_label([key], [name]): next(iter(entries.values()))}
        merged.update(alone if same else entries)
    return merged


def _in_full(key: str, effective: dict[str, object]) -> str:
    """The whole path of a key that may be named by its last word alone, if it is a traffic block's."""
    blocks = effective.get("traffic")
    if key in CHOICES or "." in key or key in effective or not isinstance(blocks, list):
        return key
    paths = [f"traffic.{n}.{key}" for n, block in enumerate(blocks) if key in block]
    if len(paths) > 1:
        help_ = f"    help: say which: {', '.join(paths)}"
        raise ScenarioError(f"--vary {key}: {len(paths)} traffic blocks have this key\n{help_}")
    return paths[0] if paths else key


def _scenario(
    file: Path, values: Mapping[str, str], overrides: Sequence[str], seed: int | None, own: Sequence[str]
) -> Scenario:
    # The algorithm comes first: it replaces the whole section, of which other keys may be varied too.
    ordered = sorted(values.items(), key=lambda item: item[0] not in CHOICES)
    as_table = bool(own) or any(key.startswith(f"{ALGORITHM}.") for key in values)
    varied = [
        _section(value) if as_table and key == ALGORITHM else f"{key}={value}" for key, value in ordered
    ]
    try:
        scenario = Scenario.load(file, [*overrides, *varied, *own])
        return scenario if seed is None else scenario.with_seed(seed)
    except ScenarioError as error:
        words = [f"{key}={value}" for key, value in ordered]
        sources = {f"--set {made}": f"--vary {word}" for made, word in zip(varied, words, strict=True)}
        raise renamed(error, sources) from None


def _section(algorithm: str) -> str:
    """The setting of an algorithm, ``name`` or ``name:preset``, as a section that takes parameters."""
    if algorithm.startswith("{"):
        return f"{ALGORITHM}={algorithm}"
    name, _, preset = algorithm.partition(":")
    return f'{ALGORITHM}={{algorithm="{name}"' + (f', preset="{preset}"}}' if preset else "}")
