"""The runs of a sweep: every combination of the values of some keys, each with several seeds."""

from __future__ import annotations

import hashlib
import itertools
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from incast.errors import Problem, ScenarioError, scenario_error
from incast.runs import store
from incast.scenario import Scenario, template
from incast.scenario.choice import ALL, Refusal, everything, named, permitted, refuse_overrides

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ALGORITHM = "cc"
"""The key for the algorithm with its preset: ``cc=oscar,swift:oscar``."""


@dataclass(frozen=True)
class Axis:
    """A key of the scenario and the values that it takes.

    Attributes:
        key: The key, like ``traffic.0.load``; or ``cc`` for the algorithm.
        values: Its values as text, at least one, each once.
    """

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """One run of a sweep.

    Attributes:
        values: The values of the axes, in their order.
        scenario: What to run; its seed is the run's.
        label: What to call it.
        folder: Where its result is or will be.
    """

    values: tuple[str, ...]
    scenario: Scenario
    label: str
    folder: Path


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
    """

    file: Path
    name: str
    axes: tuple[Axis, ...]
    seeds: int
    runs: tuple[Run, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """A hash of the keys of all runs: the same plan, the same key."""
        names = "\n".join(run.folder.name for run in self.runs)
        return hashlib.sha256(names.encode()).hexdigest()[: store.KEY_DIGITS]


def axis(text: str) -> Axis:
    """Reads ``KEY=VALUE,VALUE,…``. A comma inside brackets or quotes does not separate values.

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
    if key == ALGORITHM:
        values = tuple(map(named, values))
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
    file: Path,
    vary: Sequence[str],
    *,
    seeds: int = 1,
    seed: int | None = None,
    overrides: Sequence[str] = (),
    results: Path = store.DEFAULT,
) -> Plan:
    """Reads and checks all that a sweep runs, before anything runs.

    Args:
        file: The scenario file.
        vary: What to vary, each like ``cc=oscar,hpcc`` or ``traffic.0.load=0.5,0.8``; where only one traffic
            block has the key, its name will do: ``load=0.5,0.8``. ``cc=all`` means every algorithm that the
            scenario permits, in each combination.
        seeds: How many seeds each combination runs with.
        seed: The first seed; none takes the scenario's.
        overrides: Keys to set in every run.
        results: The folder of all results.

    Raises:
        ScenarioError: With the problems of all combinations.
    """
    axes = tuple(axis(text) for text in vary)
    if any(a.key == ALGORITHM for a in axes):
        refuse_overrides(overrides, "--vary cc")
    if any(a.key != ALGORITHM and "." not in a.key for a in axes):
        read = template if any(a.key == ALGORITHM for a in axes) else Scenario.load
        effective = tomllib.loads(read(file, list(overrides)).to_toml())
        axes = tuple(replace(a, key=_in_full(a.key, effective)) for a in axes)
    keys = [a.key for a in axes]
    twice = [key for n, key in enumerate(keys) if key in keys[:n]]
    if twice:
        help_ = "    help: give it all its values at once"
        raise ScenarioError(f"--vary {twice[0]}: this key is varied twice\n{help_}")
    axes, optional = _expanded(axes)
    runs: list[Run] = []
    problems: dict[Problem, None] = {}
    # By the values of the other keys: the problems of all that was left out, and whether anything runs.
    refused: dict[tuple[str, ...], dict[Problem, None]] = {}
    possible: set[tuple[str, ...]] = set()
    left_out: dict[tuple[str, ...], str] = {}
    name = file.stem
    for values in itertools.product(*(a.values for a in axes)):
        of = dict(zip(keys, values, strict=True))
        others = tuple(value for key, value in of.items() if key != ALGORITHM)
        make = partial(_scenario, file, of, overrides, seed)
        if of.get(ALGORITHM) in optional:
            made = permitted(of[ALGORITHM], make)
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
        for n in range(seeds):
            one = scenario.with_seed(scenario.seed + n)
            folder = store.place(results, one, store.named_files(one))
            label = " ".join([_label(keys, values), f"seed={one.seed}"]).strip()
            runs.append(Run(values, one, label, folder))
    # What no algorithm is possible with is not an algorithm's fault.
    for others, found in refused.items():
        problems.update({} if others in possible else found)
    if problems:
        raise scenario_error(list(problems))
    by_folder: dict[Path, Run] = {}
    for run in runs:
        if run.folder in by_folder:
            raise ScenarioError(f"{by_folder[run.folder].label} and {run.label} are the same scenario")
        by_folder[run.folder] = run
    return Plan(file, name, axes, seeds, tuple(runs), _merged(left_out, axes))


def _label(keys: Sequence[str], values: Sequence[str]) -> str:
    return " ".join(f"{_short(k)}={v}" for k, v in zip(keys, values, strict=True))


def _expanded(axes: Sequence[Axis]) -> tuple[tuple[Axis, ...], set[str]]:
    """Returns the axes with all algorithms in the place of ``all``, and the set of these."""
    optional: set[str] = set()
    expanded = []
    for a in axes:
        values = list(a.values)
        if a.key == ALGORITHM and ALL in values:
            stands_for = [name for name in everything() if name not in values]
            optional.update(stands_for)
            at = values.index(ALL)
            values[at : at + 1] = stands_for
        expanded.append(replace(a, values=tuple(values)))
    return tuple(expanded), optional


def _merged(left_out: Mapping[tuple[str, ...], str], axes: Sequence[Axis]) -> dict[str, str]:
    """Merges left-out combinations by label, without keys whose values make no difference."""
    keys = [a.key for a in axes]
    combinations = math.prod(len(a.values) for a in axes if a.key != ALGORITHM)
    of: dict[str, dict[str, str]] = {}
    for values, why in left_out.items():
        of.setdefault(values[keys.index(ALGORITHM)], {})[_label(keys, values)] = why
    merged: dict[str, str] = {}
    for algorithm, entries in of.items():
        same = len(entries) == combinations and len(set(entries.values())) == 1
        alone = {_label([ALGORITHM], [algorithm]): next(iter(entries.values()))}
        merged.update(alone if same else entries)
    return merged


def _in_full(key: str, effective: dict[str, object]) -> str:
    """The whole path of a key that may be named by its last word alone, if it is a traffic block's."""
    blocks = effective.get("traffic")
    if key == ALGORITHM or "." in key or key in effective or not isinstance(blocks, list):
        return key
    paths = [f"traffic.{n}.{key}" for n, block in enumerate(blocks) if key in block]
    if len(paths) > 1:
        help_ = f"    help: say which: {', '.join(paths)}"
        raise ScenarioError(f"--vary {key}: {len(paths)} traffic blocks have this key\n{help_}")
    return paths[0] if paths else key


def _scenario(file: Path, values: Mapping[str, str], overrides: Sequence[str], seed: int | None) -> Scenario:
    # The algorithm comes first: it replaces the whole section, of which other keys may be varied too.
    ordered = sorted(values.items(), key=lambda item: item[0] != ALGORITHM)
    as_table = any(key.startswith(f"{ALGORITHM}.") for key in values)
    varied = [
        _section(value) if as_table and key == ALGORITHM else f"{key}={value}" for key, value in ordered
    ]
    try:
        scenario = Scenario.load(file, [*overrides, *varied])
        return scenario if seed is None else scenario.with_seed(seed)
    except ScenarioError as error:
        words = [f"{key}={value}" for key, value in ordered]
        sources = {f"--set {made}": f"--vary {word}" for made, word in zip(varied, words, strict=True)}
        problems = [
            Problem(p.problem, sources.get(p.file or "", p.file), p.line, p.column, p.key, p.hint)
            for p in error.problems
        ]
        raise scenario_error(problems) from None


def _section(algorithm: str) -> str:
    """The setting of an algorithm, ``name`` or ``name:preset``, as a section that takes parameters."""
    if algorithm.startswith("{"):
        return f"{ALGORITHM}={algorithm}"
    name, _, preset = algorithm.partition(":")
    return f'{ALGORITHM}={{algorithm="{name}"' + (f', preset="{preset}"}}' if preset else "}")


def _short(key: str) -> str:
    """The end of a key, which says most: ``load`` of ``traffic.0.load``."""
    return key.rpartition(".")[2]


def headings(axes: Sequence[Axis]) -> list[str]:
    """Short names for the axes; whole keys where short ones would not tell them apart."""
    short = [_short(a.key) for a in axes]
    return [s if short.count(s) == 1 else a.key for s, a in zip(short, axes, strict=True)]
