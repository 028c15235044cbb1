"""Choice of the contestants with which a scenario is run: the named ones, or all that fit its network."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from incast import catalogue
from incast.algorithm import PLUGIN_SUFFIXES, load_plugin, parameters_of, registered
from incast.errors import Problem, ScenarioError, renamed, scenario_error
from incast.scenario import _toml
from incast.scenario.choice import ALL, Choice, Refusal, applied, parameter_in, permitted_scenario
from incast.scenario.scenario import Scenario, document

BESIDE = "it is no candidate: {}; name it to run it too"
"""The reason for which a reference is left out of a comparison of all."""

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Definitions = Mapping[str, Mapping[str, Any]]
"""Contestants as a file defines them, by their names."""


def definitions(path: Path) -> dict[str, Mapping[str, Any]]:
    """The contestants that a file defines.

    Raises:
        ScenarioError: When the file cannot be read, is no TOML, or defines none.
    """
    try:
        found = document(path).get("contestant")
    except ValueError as error:
        if isinstance(error, ScenarioError):
            raise
        raise ScenarioError(f"{path}: this is not TOML: {error}") from None
    if not isinstance(found, Mapping) or not found:
        raise ScenarioError(f"{path}: defines no contestant\n    help: write a section [contestant.NAME]")
    return dict(found)


def alone_in(path: Path) -> list[str]:
    """The names of the contestants in a file that has nothing else; none of a scenario.

    Raises:
        ScenarioError: When one of them is wrong.
    """
    try:
        if set(document(path)) != {"contestant"}:
            return []
    except ValueError:
        # It is reported when the scenario is read.
        return []
    found = definitions(path)
    anywhere = Scenario.from_toml(_ANYWHERE)
    for name in found:
        anywhere.with_contestant(name, found)
    return list(found)


def texts(of: Definitions) -> list[str]:
    """Contestants as overrides that define them."""
    return [f"contestant.{name}={_toml.value(it, name)}" for name, it in of.items()]


def everyone(own: Iterable[str] = ()) -> list[str]:
    """The names of all contestants: of Incast, of a file, and of registered algorithms."""
    built_in = [one.name for one in catalogue.contestants() if one.role != "base"]
    return list(dict.fromkeys([*built_in, *own, *registered()]))


def named(label: str, own: Iterable[str] = ()) -> str:
    """Returns the label of a contestant as results carry it; names may be written as people write them."""
    name, colon, preset = label.partition(":")
    if name in own or name in registered():
        return label
    for known in catalogue.contestants():
        if known.role != "base" and catalogue.folded(name) in map(
            catalogue.folded, (known.name, known.title)
        ):
            of_preset = catalogue.canonical(f"{known.name}:{preset}").partition(":")[2] if preset else ""
            return f"{known.name}{colon}{of_preset}"
    return label


def gathered(labels: Sequence[str]) -> tuple[list[str], dict[str, Mapping[str, Any]]]:
    """Returns the names in a list, with the ones in its files, and the contestants that the files define.

    Args:
        labels: Names, files with contestants (``.toml``), and files with algorithms (``.py``, ``.so``),
            which are loaded.

    Raises:
        ScenarioError: When a file cannot be read or defines nothing.
    """
    names: list[str] = []
    defined: dict[str, Mapping[str, Any]] = {}
    for label in labels:
        path = Path(label)
        if path.suffix == ".toml":
            found = definitions(path)
            defined.update(found)
            names += found
        elif path.suffix in PLUGIN_SUFFIXES:
            try:
                names += load_plugin(path)
            except (FileNotFoundError, ValueError) as error:
                raise ScenarioError(str(error)) from None
        else:
            names.append(label)
    return names, defined


def algorithms_in(labels: Sequence[str]) -> tuple[list[str], dict[str, Mapping[str, Any]]]:
    """Returns the names in a list of algorithms, and the sections ``cc`` of the contestants in its files.

    Args:
        labels: As for :func:`gathered`; of the contestants in a file the algorithms are taken alone.

    Raises:
        ScenarioError: As there; and when a contestant has no algorithm at the sender.
    """
    names, defined = gathered(labels)
    anywhere = Scenario.from_toml(_ANYWHERE)
    found: dict[str, Mapping[str, Any]] = {}
    for name in defined:
        made = tomllib.loads(anywhere.with_contestant(name, defined).to_toml())
        if "cc" not in made:
            raise ScenarioError(
                f"{name} has no algorithm at the sender\n    help: --contestants takes it whole"
            )
        found[name] = made["cc"]
    return names, found


_ANYWHERE = """
topology = { kind = "star", hosts = 3, rate = "100Gbps", delay = "1us" }
cc = "constant"
switch = { ecn = { kmin = "1KB", kmax = "1KB", pmax = 1.0 } }
traffic = [{ kind = "incast", to = "h2", size = "1KB" }]
"""
"""A scenario that every contestant fits, to read what it sets."""


def choose_contestants(
    scenario: Scenario, labels: Sequence[str], source: str | None = None, parameters: Sequence[str] = ()
) -> Choice:
    """The scenario with each contestant of a list, which may contain ``all``.

    From ``all``, references are left out, and so is a contestant with which the scenario is refused. One
    that is named is an error if it is refused.

    Args:
        scenario: The scenario.
        labels: Names like ``nscc`` and ``swift:oscar``, as people write them; ``all``; files with contestants
            (``mine.toml``) and with algorithms of your own (``mine.py``, ``mine.so``).
        source: Where the labels are written, for messages.
        parameters: Overrides like ``cc.beta=0.5``. Each is given to the contestants whose algorithm has the
            parameter.

    Raises:
        ScenarioError: With the problems of all that are named; when no contestant is left; when none has a
            parameter.
    """
    given, defined = gathered(labels)
    own = [*scenario.own_contestants, *defined]
    given = [named(label, own) for label in given]
    scenarios: dict[str, Scenario] = {}
    left_out: dict[str, str] = {}
    problems: dict[Problem, None] = {}
    refused: dict[Problem, None] = {}
    of: dict[str, frozenset[str] | None] = {}

    def make(label: str) -> Scenario:
        made = scenario.with_contestant(label, defined)
        of[label] = parameters_of_scenario(made)
        known = of[label]
        return made.with_overrides([it for it in parameters if known is None or parameter_in(it) in known])

    for n, label in enumerate(given):
        if not label or label in given[:n]:
            wrong = f"{label!r} is given twice" if label else "the name of a contestant is missing"
            problems[Problem(wrong, file=source)] = None
        elif label == ALL:
            for name in everyone(own):
                if name in given:
                    continue
                made = fitting(name, partial(make, name))
                if isinstance(made, Scenario):
                    scenarios[name] = made
                else:
                    left_out[name] = made.why
                    refused.update(dict.fromkeys(made.problems))
        else:
            try:
                scenarios[label] = make(label)
                scenarios[label].size()
            except ScenarioError as error:
                names = {} if source is None else {f'with_contestant("{label}")': source}
                problems.update(dict.fromkeys(renamed(error, names).problems))
    if not scenarios and not problems:
        problems = refused or {Problem("no contestant is left", file=source): None}
    if problems:
        raise scenario_error(list(problems))
    notes = applied(parameters, {label: of[label] for label in scenarios})
    return Choice(scenarios, left_out, ALL in given, notes)


def parameters_of_scenario(scenario: Scenario) -> frozenset[str] | None:
    """The names of the parameters of a scenario's algorithm; none of a transport that controls itself."""
    name = (scenario.algorithm or "").partition(":")[0]
    if name in {control.name for control in catalogue.own_controls()}:
        return frozenset()
    return parameters_of(name)


def fitting(name: str, make: partial[Scenario]) -> Scenario | Refusal:
    """The scenario with a contestant, or why it is left out.

    Args:
        name: The contestant.
        make: Makes the scenario with it.
    """
    known = {one.name: one for one in catalogue.contestants()}.get(name)
    if known is not None and known.role == "reference":
        return Refusal(BESIDE.format(known.what.rstrip(".")))
    return permitted_scenario(name, make)
