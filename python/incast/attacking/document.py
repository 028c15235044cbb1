"""Scenario files as plain data: values by their paths, and files with a contestant's keys."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from incast import catalogue
from incast.errors import ScenarioError
from incast.scenario import Scenario, _toml
from incast.tuning.space import block

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Document: TypeAlias = "dict[str, Any]"
"""The sections of a scenario file."""
Path: TypeAlias = "tuple[str | int, ...]"
"""The place of a value in it."""


def put(document: Document, key: str, value: object) -> None:
    """Sets a value in a document.

    Args:
        document: The document, which is changed.
        key: The path of the key, with the name or the number of a block: ``traffic.burst.size``.
        value: The value.

    Raises:
        ScenarioError: When the path leads nowhere.
    """
    *steps, last = key.split(".")
    at: Any = document
    for step in steps:
        below = block(at, step) if isinstance(at, list) else at.setdefault(step, {})
        if not isinstance(below, (dict, list)):
            raise ScenarioError(f"{key}: there is no {step!r}")
        at = below
    if not isinstance(at, dict):
        raise ScenarioError(f"{key}: this is no key of a block")
    at[last] = value


def override(document: Document, text: str) -> None:
    """Sets a value in a document as ``--set KEY=VALUE`` does.

    Args:
        document: The document, which is changed.
        text: The key and its value.

    Raises:
        ScenarioError: When it is none, or the path leads nowhere.
    """
    key, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not key:
        raise ScenarioError(f"--set {text}: expected KEY=VALUE")
    try:
        parsed = tomllib.loads(f"x = {value}")["x"]
    except tomllib.TOMLDecodeError:
        parsed = value
    put(document, key, parsed)


def walk(document: Document) -> Iterator[tuple[Path, Any]]:
    """Yields all values of a document with their places, sections before what is in them."""

    def below(at: object, path: Path) -> Iterator[tuple[Path, Any]]:
        inside: Sequence[tuple[str | int, Any]] = []
        if isinstance(at, Mapping):
            inside = list(at.items())
        elif isinstance(at, list):
            inside = list(enumerate(at))
        for step, thing in inside:
            yield (*path, step), thing
            yield from below(thing, (*path, step))

    return below(document, ())


def found(document: Document, path: Path) -> Any | None:  # noqa: ANN401  # of any file
    """Returns the value at a place; None without one."""
    at: Any = document
    for step in path:
        try:
            at = at[step]
        except (KeyError, IndexError, TypeError):
            return None
    return at


def replaced(document: Document, path: Path, value: object) -> Document:
    """Returns a copy of a document with another value at a place."""
    copied = copy.deepcopy(document)
    found(copied, path[:-1])[path[-1]] = value  # type: ignore[index]
    return copied


def without(document: Document, path: Path) -> Document:
    """Returns a copy of a document without what is at a place."""
    copied = copy.deepcopy(document)
    del found(copied, path[:-1])[path[-1]]  # type: ignore[union-attr]
    return copied


def text(document: Document) -> str:
    """Returns a document as a file, with plain values before sections, and blocks of traffic last."""
    plain = {key: value for key, value in document.items() if not isinstance(value, (Mapping, list))}
    sections = {key: value for key, value in document.items() if isinstance(value, Mapping)}
    blocks = {key: value for key, value in document.items() if isinstance(value, list)}
    return _toml.document({**plain, **sections, **blocks})


def written_out(document: Document, scenario: Scenario, contestant: str, file: str) -> str:
    """Returns a file that means a scenario by itself: a document with the contestant's keys.

    Args:
        document: The document, without the contestant.
        scenario: The scenario of the document with the contestant.
        contestant: The contestant.
        file: The file that paths in the document are relative to.
    """
    copied = copy.deepcopy(document)
    try:
        _merge(copied, contestant)
        for problem in scenario.dropped:
            _drop(copied, str(problem.key).split("."))
        made = text({**copied, "seed": scenario.seed})
        if Scenario.from_toml(made, file).to_toml() == scenario.to_toml():
            return made
    except (ScenarioError, KeyError):
        pass
    # A contestant of the user's own, or one with a key that means something else without it.
    return scenario.to_toml()


def _merge(document: Document, contestant: str) -> None:
    """Adds the keys of one of Incast's contestants to a document."""
    name, _, preset = contestant.partition(":")
    known = {one.name: one for one in catalogue.contestants()}
    for section in ("cc", "balancing"):
        document.pop(section, None)
    for key, written, _ in known[name].settings:
        value = tomllib.loads(f"x = {written}")["x"]
        if value is False and key.startswith("switch.") and key.count(".") == 1:
            document.get("switch", {}).pop(key.partition(".")[2], None)
        elif not (preset and key.startswith("cc.") and key != "cc.algorithm"):
            put(document, key, value)
    if preset:
        put(document, "cc.preset", preset)


def _drop(document: Document, steps: Sequence[str]) -> None:
    """Removes a key from a document, if it is there."""
    at: Any = document
    for step in steps[:-1]:
        at = block(at, step) if isinstance(at, list) else at.get(step) if isinstance(at, dict) else None
    if isinstance(at, dict):
        at.pop(steps[-1], None)
