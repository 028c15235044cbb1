"""The question of an attack: a scenario with ranges, a contestant, and with which other it is compared."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incast._build import build
from incast.attacking.document import Document, override, put, text
from incast.errors import ScenarioError
from incast.results.measures.call import Call
from incast.runs import store
from incast.scenario import Scenario, _toml
from incast.scenario.contestants import everyone, gathered, named
from incast.scenario.measured import refuse_missing
from incast.scenario.scenario import document
from incast.tuning.space import Parameter, Setting, checked, read

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SECTIONS = ("topology", "traffic", "run", "change", "impairments", "probe", "transport", "switch")
"""Sections whose keys may be varied: everything but the algorithm and its balancing."""

BUDGET = 320
"""Candidates that are tried."""

SEEDS = 3
"""Seeds on which each candidate is judged."""

BOUNDED = ("carried", "carried_least", "fairness", "jain", "last_over_bound", "cost_in_packets", "slowdown")
"""Measures whose best value is 1."""


@dataclass(frozen=True)
class Side:
    """A contestant of an attack.

    Attributes:
        name: Its name, with its preset.
        overrides: The overrides that choose it.
    """

    name: str
    overrides: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """A search that was read.

    Attributes:
        file: The scenario's file.
        document: The scenario's sections, without a seed.
        contestant: The contestant that is attacked.
        against: The other one; None for the bound, 1.
        score: The number that is compared.
        parameters: The keys that are varied, with their ranges.
        seeds: Seeds on which each candidate is judged.
        budget: Candidates that are tried.
        search_seed: The seed of the search.
    """

    file: str
    document: Document
    contestant: Side
    against: Side | None
    score: Call
    parameters: tuple[Parameter, ...]
    seeds: tuple[int, ...]
    budget: int
    search_seed: int

    @property
    def name(self) -> str:
        """The scenario's name."""
        return str(self.document.get("name", Path(self.file).stem))

    @property
    def higher(self) -> bool:
        """Whether more of the score is better."""
        return self.score.measure.better == "higher"

    @property
    def other(self) -> str:
        """The name of the other side in sentences."""
        return "the bound" if self.against is None else self.against.name

    @property
    def key(self) -> str:
        """The hash of everything that determines the search."""
        said = [
            build(),
            text(self.document),
            self.contestant.overrides,
            None if self.against is None else self.against.overrides,
            self.score.text,
            [str(parameter) for parameter in self.parameters],
            self.seeds,
            self.budget,
            self.search_seed,
        ]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[: store.KEY_DIGITS]

    @property
    def folder(self) -> Path:
        """The default folder of its files."""
        return store.DEFAULT / f"attack-{store.folder_name(self.contestant.name)}-{self.key}"

    def candidate(self, setting: Setting) -> Document:
        """Returns the document of a setting."""
        made = copy.deepcopy(self.document)
        for parameter, value in zip(self.parameters, setting, strict=True):
            for key in parameter.keys:
                put(made, key, value)
        return made

    def scenario(self, candidate: Document, side: Side, seed: int) -> Scenario:
        """Returns the scenario of a document with a contestant and a seed.

        Raises:
            ScenarioError: When the document is wrong, or the contestant does not fit it.
        """
        return Scenario.from_toml(text(candidate), self.file, [*side.overrides, f"seed={seed}"])


def ask(
    file: str | os.PathLike[str],
    contestant: str,
    vary: Sequence[str],
    score: str,
    *,
    against: str | None = None,
    overrides: Sequence[str] = (),
    budget: int = BUDGET,
    seeds: int = SEEDS,
    seed: int | None = None,
    search_seed: int = 1,
) -> Question:
    """Reads a search; see :func:`incast.attack`.

    Raises:
        ScenarioError: When something is wrong.
    """
    try:
        base = document(file)
    except tomllib.TOMLDecodeError:
        # Reported with its place by the reader of scenarios.
        Scenario.load(file)
        raise
    for one in overrides:
        override(base, one)
    first = int(base.pop("seed", 1)) if seed is None else seed
    base.pop("seed", None)
    own = base.get("contestant", {})
    call = _score(score, against)
    attacked = _side(contestant, own, "--contestant")
    other = None if against is None else _side(against, own, "--against")
    if other == attacked:
        raise ScenarioError(f"--against {against}: this is the contestant that is attacked")
    name = os.fspath(file)
    plain = Scenario.from_toml(text(base), name, [*attacked.overrides, f"seed={first}"])
    if other is not None:
        Scenario.from_toml(text(base), name, [*other.overrides, f"seed={first}"])
    refuse_missing("--score", [call], [plain])
    effective = tomllib.loads(plain.to_toml())
    parameters = checked([read(spec, effective, SECTIONS) for spec in vary], "an attack")
    chosen = tuple(range(first, first + seeds))
    return Question(name, base, attacked, other, call, parameters, chosen, budget, search_seed)


def _score(written: str, against: str | None) -> Call:
    """The number that is compared."""
    try:
        call = Call.read(written)
    except ValueError as error:
        raise ScenarioError(f"--score {written}: {error}") from None
    if call.measure.better == "neither":
        raise ScenarioError(f"--score {written}: neither less nor more of it is better")
    slowdown = call.name.startswith(("mean.", "p50.", "p99.")) or call.name.startswith("jobs.bound")
    if against is None and call.name not in BOUNDED and not slowdown:
        raise ScenarioError(
            f"--score {written}: it has no bound\n    help: --against NAME compares with another contestant"
        )
    return call


def _side(label: str, own: Mapping[str, Any], option: str) -> Side:
    """A contestant: one of Incast, of the scenario's file, of a file, or an algorithm of a plugin."""
    names, definitions = gathered([label])
    if len(names) != 1:
        raise ScenarioError(f"{option} {label}: one contestant is needed, not {', '.join(names) or 'none'}")
    name = named(names[0], [*own, *definitions])
    if name.partition(":")[0] not in everyone([*own, *definitions]):
        raise ScenarioError(f"{option} {label}: there is no such contestant")
    more = [f"contestant.{key}={_toml.value(it, key)}" for key, it in definitions.items()]
    return Side(name, (*more, f"contestant={name}"))
