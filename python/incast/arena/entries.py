"""Batteries: fixed, versioned sets of scenarios, each with the numbers by which it is judged."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast

from incast.errors import ScenarioError, nearest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HELD_OUT = "held-out"
"""The battery that no search may see."""

LOCK = "battery.lock"
"""The file with a line ``NAME VERSION SHA256`` for each version that was ever published."""

_FILE = "battery.toml"


@dataclass(frozen=True)
class Metric:
    """A number by which a scenario is judged.

    Attributes:
        name: Its name.
        measure: The measure of a run that it is.
        arguments: The arguments of the measure.
        better: The direction in which it improves.
    """

    name: str
    measure: str
    arguments: Mapping[str, Any]
    better: Literal["higher", "lower"]


@dataclass(frozen=True)
class Entry:
    """A scenario of a battery.

    Attributes:
        name: Its name.
        question: The question that it asks.
        file: Its file.
        seeds: Number of replicates, with the seeds 1, 2, …; every contestant gets the same ones.
        metrics: The numbers by which it is judged.
        along: Values of keys by replicate: the n-th value comes with the n-th seed.
        fix: Keys that are set after the contestant's, for all.
        extra: Sections that are added to every contestant, like ``{"switch": {"pfc": False}}``.
        without: Keys of the file and of ``fix`` that one contestant does not get, by contestant.
        first_seed: The seed of the first replicate.
    """

    name: str
    question: str
    file: Path
    seeds: int
    metrics: tuple[Metric, ...]
    along: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fix: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    without: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    first_seed: int = 1

    def overrides(self, replicate: int, contestant: str) -> dict[str, Any]:
        """Returns the keys that are set for a replicate, after the contestant, by their paths.

        Args:
            replicate: Its number from 0.
            contestant: The contestant.
        """
        left_out = self.without.get(contestant, ())
        kept = {key: value for key, value in self.fix.items() if key not in left_out}
        of_replicate = {key: values[replicate] for key, values in self.along.items()}
        return {**kept, **of_replicate, "seed": self.first_seed + replicate}


@dataclass(frozen=True)
class Battery:
    """A set of scenarios.

    Attributes:
        name: Its name.
        version: Its version; scores of different versions are never mixed.
        digest: SHA-256 of the names and contents of all of its files.
        entries: Its scenarios.
        duel: The scenario in which two contestants share a link, or none.
    """

    name: str
    version: int
    digest: str
    entries: tuple[Entry, ...]
    duel: Path | None

    def only(self, names: Sequence[str]) -> Battery:
        """Returns the battery with some of its scenarios, in its own order.

        Raises:
            ScenarioError: When it has no scenario of such a name.
        """
        known = [entry.name for entry in self.entries]
        for name in names:
            if name not in known:
                near = nearest(name, known)
                help_ = f"did you mean {near!r}?" if near else f"it has {', '.join(known)}"
                raise ScenarioError(f'the battery {self.name} has no scenario "{name}"\n    help: {help_}')
        chosen = tuple(entry for entry in self.entries if entry.name in names)
        return Battery(self.name, self.version, self.digest, chosen, self.duel)


def names() -> list[str]:
    """The names of all batteries."""
    folder = _folder()
    return sorted(path.name for path in folder.iterdir() if (path / _FILE).is_file())


def battery(name: str, *, for_check: bool = False) -> Battery:
    """Returns a battery of Incast.

    Args:
        name: Its name.
        for_check: Whether the results are a last check, after which nothing is changed: only then is the
            held-out battery given.

    Raises:
        ScenarioError: When there is no such battery, or its files differ from its last published version.
    """
    if name not in names():
        near = nearest(name, names())
        help_ = f"did you mean {near!r}?" if near else f"there are {', '.join(names())}"
        raise ScenarioError(f'there is no battery "{name}"\n    help: {help_}')
    if name == HELD_OUT and not for_check:
        raise ScenarioError(
            "the held-out battery is for a last check, not for search\n    help: --held-out makes that check"
        )
    return read(_folder() / name, _folder() / LOCK)


def read(folder: Path, lock: Path | None = None) -> Battery:
    """Reads a battery and compares it with its lock.

    Args:
        folder: The folder with its ``battery.toml`` and its scenarios.
        lock: The file with the digests of all published versions; None for a battery that is not published.

    Raises:
        ScenarioError: When it is no battery, or its files differ from its last published version.
    """
    try:
        said = tomllib.loads((folder / _FILE).read_text(encoding="utf-8"))
        name, version, found = folder.name, int(said["version"]), digest(folder)
    except (OSError, ValueError, KeyError) as error:
        raise ScenarioError(f"{folder} is no folder of a battery: {error}") from None
    lines = [] if lock is None else lock.read_text(encoding="utf-8").splitlines()
    published = [line.split() for line in lines if line.strip()]
    mine = [(int(number), hash_) for of, number, hash_ in published if of == name]
    if lock is not None and (not mine or mine[-1] != (version, found)):
        raise ScenarioError(
            f"{folder} is not version {version} of the battery {name}, which {lock.name} has\n"
            "    help: a changed battery is a new version: its scores are never mixed with others"
        )
    duel = folder / said["duel"] if "duel" in said else None
    first_seed = int(said.get("first_seed", 1))
    entries = tuple(_entry(folder, one, first_seed) for one in said["scenario"])
    return Battery(name, version, found, entries, duel)


def digest(folder: Path) -> str:
    """Returns SHA-256 of the names and contents of all files of a folder, sorted by name."""
    hashed = hashlib.sha256()
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        for part in (path.name.encode(), path.read_bytes()):
            # Each part is preceded by its length, so that two parts cannot be confused with one.
            hashed.update(len(part).to_bytes(8, "little") + part)
    return hashed.hexdigest()


def _entry(folder: Path, said: Mapping[str, Any], first_seed: int) -> Entry:
    where = f"{folder.name}: {said.get('name', 'a scenario')}"
    needed = {"name", "question", "file", "seeds", "metric"}
    _check_keys(where, said, needed, needed | {"along", "fix", "with", "without"})
    if not isinstance(said["seeds"], int) or said["seeds"] < 1:
        raise ScenarioError(f"{where}: seeds is {said['seeds']!r}; it is a number of replicates, 1 or more")
    if not (folder / str(said["file"])).is_file():
        raise ScenarioError(f"{where}: there is no file {said['file']!r} in {folder}")
    entry = Entry(
        name=said["name"],
        question=said["question"],
        file=folder / said["file"],
        seeds=said["seeds"],
        metrics=tuple(_metric(where, one) for one in said["metric"]),
        along=MappingProxyType({key: tuple(values) for key, values in said.get("along", {}).items()}),
        fix=MappingProxyType(dict(said.get("fix", {}))),
        extra=MappingProxyType(dict(said.get("with", {}))),
        without=MappingProxyType({key: tuple(keys) for key, keys in said.get("without", {}).items()}),
        first_seed=first_seed,
    )
    for key, values in entry.along.items():
        if len(values) != entry.seeds:
            raise ScenarioError(f"{entry.name}: {key} has {len(values)} values for {entry.seeds} replicates")
    return entry


def _metric(where: str, said: Mapping[str, Any]) -> Metric:
    where = f'{where}: metric "{said.get("name", "")}"'
    needed = {"name", "measure", "better"}
    _check_keys(where, said, needed, needed | {"arguments"})
    if said["better"] not in ("higher", "lower"):
        raise ScenarioError(f'{where}: better is {said["better"]!r}; it is "higher" or "lower"')
    arguments = MappingProxyType(dict(said.get("arguments", {})))
    return Metric(said["name"], said["measure"], arguments, cast(Literal["higher", "lower"], said["better"]))


def _check_keys(where: str, said: Mapping[str, Any], needed: Set[str], known: Set[str]) -> None:
    """Refuses unknown and missing keys."""
    for key in sorted(set(said) - known):
        near = nearest(key, sorted(known))
        hint = f"; did you mean {near!r}?" if near else f"; known: {', '.join(sorted(known))}"
        raise ScenarioError(f"{where} has the unknown key {key!r}{hint}")
    for key in sorted(needed - set(said)):
        raise ScenarioError(f"{where}: {key} is missing")


def _folder() -> Path:
    """Returns the folder with all batteries."""
    return Path(os.fspath(cast(Any, resources.files("incast.arena") / "batteries")))
