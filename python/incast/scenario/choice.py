"""Choice of the algorithms with which a scenario is run: the named ones, or all that its network permits."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from incast import catalogue
from incast.algorithm import algorithms, families, parameters_of, registered
from incast.errors import Problem, ScenarioError, nearest, scenario_error
from incast.scenario.scenario import Scenario

ALL = "all"
"""Selects every algorithm compatible with the scenario."""

OWN = "scenario"
"""Selects the section ``cc`` of the scenario, as it is."""

BESIDE = {
    "fixed": "controls nothing; name it to run it too",
    "oracle": "knows what no network tells; name it to run it too",
}
"""The groups of what is no candidate and is left out of a comparison of all, with the reason."""


@dataclass(frozen=True)
class Choice:
    """The scenario with each algorithm.

    Attributes:
        scenarios: By the label of the algorithm, in the order of the tables.
        left_out: The reason for which an algorithm is left out, by its name; only algorithms from ``all``.
        all: Whether ``all`` was among the labels.
        notes: Parameters that some of the algorithms have not, a sentence for each.
    """

    scenarios: Mapping[str, Scenario]
    left_out: Mapping[str, str] = field(default_factory=dict)
    all: bool = False
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Refusal:
    """Reason for which an algorithm is left out.

    Attributes:
        why: One line.
        problems: The problems of the scenario with it, if it cannot be built.
    """

    why: str
    problems: Sequence[Problem] = ()


def everything() -> list[str]:
    """Every algorithm by its group, then those that are registered."""
    order = [family.name for family in families()]
    known = sorted(algorithms(), key=lambda algorithm: order.index(algorithm.family))
    return [algorithm.name for algorithm in known] + list(registered())


def choose(
    scenario: Scenario,
    labels: Sequence[str],
    source: str | None = None,
    parameters: Sequence[str] = (),
    sections: Mapping[str, Mapping[str, Any]] | None = None,
) -> Choice:
    """The scenario with each algorithm of a list, which may contain ``all``.

    From ``all``, an algorithm is left out if the scenario is refused with it or warns about it: the network
    does not give it the signals that it needs. An algorithm that is named is an error if it is refused.

    Args:
        scenario: The scenario.
        labels: Names like ``oscar`` and ``swift:oscar``, as people write them, ``all``, and ``scenario``: the
            scenario's own algorithm with its parameters.
        source: Where the labels are written, for messages.
        parameters: Overrides like ``cc.beta=0.5``. Each is given to the algorithms that have the parameter.
        sections: The section ``cc`` of labels that are no algorithms by themselves.

    Raises:
        ScenarioError: With the problems of all that are named; when no algorithm is left; when none has a
            parameter.
    """
    known = dict(sections or {})
    if OWN in labels:
        # It is titled with its algorithm.
        own = tomllib.loads(scenario.to_toml()).get("cc")
        if own is None:
            raise ScenarioError(f"{source or OWN}: the scenario has no algorithm for all of its traffic")
        name = f"{scenario.algorithm}"
        labels = [name if label == OWN else label for label in labels]
        known[name] = own
    labels = [label if label in known else named(label) for label in labels]

    def of_label(label: str) -> Mapping[str, Any]:
        return known.get(label, {"algorithm": label})

    scenarios: dict[str, Scenario] = {}
    left_out: dict[str, str] = {}
    problems: dict[Problem, None] = {}
    refused: dict[Problem, None] = {}
    for n, label in enumerate(labels):
        if not label or label in labels[:n]:
            wrong = f"{label!r} is given twice" if label else "the name of an algorithm is missing"
            problems[Problem(wrong, file=source)] = None
        elif label == ALL:
            for name in everything():
                if name in labels:
                    continue
                made = permitted(name, partial(_with, scenario, {"algorithm": name}, parameters))
                if isinstance(made, Scenario):
                    scenarios[name] = made
                else:
                    left_out[name] = made.why
                    refused.update(dict.fromkeys(made.problems))
        else:
            try:
                scenarios[label] = _with(scenario, of_label(label), parameters)
                scenarios[label].size()
            except ScenarioError as error:
                problems.update(dict.fromkeys(error.problems))
    if not scenarios and not problems:
        problems = refused or {Problem("no algorithm is left", file=source): None}
    if problems:
        raise scenario_error(list(problems))
    of = {label: parameters_of(of_label(label)["algorithm"].partition(":")[0]) for label in scenarios}
    return Choice(scenarios, left_out, ALL in labels, applied(parameters, of))


def _with(scenario: Scenario, section: Mapping[str, Any], parameters: Sequence[str]) -> Scenario:
    """Returns the scenario with an algorithm and the parameters that it has."""
    others = dict(section)
    label = ":".join(others.pop(key) for key in ("algorithm", "preset") if key in others)
    known = parameters_of(label.partition(":")[0])
    fitting = [text for text in parameters if known is None or parameter_in(text) in known]
    return scenario.with_algorithm(label, **others).with_overrides(fitting)


def applied(parameters: Sequence[str], known: Mapping[str, frozenset[str] | None]) -> list[str]:
    """Returns a sentence for each parameter that only some of the algorithms have.

    Args:
        parameters: Overrides like ``cc.beta=0.5``.
        known: The parameters of each algorithm; None where any is taken.

    Raises:
        ScenarioError: When none of them has a parameter.
    """
    notes = []
    for text in parameters:
        refuse_unknown(text, known)
        those = [name for name, of in known.items() if of is None or parameter_in(text) in of]
        if len(those) < len(known):
            notes.append(f"{text} applies to {', '.join(those)} only")
    return notes


def named(label: str) -> str:
    """Returns the label of an algorithm as results carry it; names may be written as people write them."""
    return catalogue.canonical(label, registered())


def split(overrides: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns the overrides of other keys, and the parameters of the algorithm, like ``cc.beta=0.5``."""
    ours = [text for text in overrides if re.match(r"\s*cc\s*\.\s*(?!(algorithm|preset)\s*=)", text)]
    return [text for text in overrides if text not in ours], ours


def parameter_in(text: str) -> str:
    """The parameter that an override like ``cc.beta=0.5`` sets."""
    return text.partition("=")[0].partition(".")[2].partition(".")[0].strip()


def refuse_unknown(text: str, known: Mapping[str, frozenset[str] | None]) -> None:
    """Refuses a parameter that no algorithm has.

    Args:
        text: The override that sets it.
        known: The parameters of each algorithm; None where any is taken.

    Raises:
        ScenarioError: When none of them has it.
    """
    name = parameter_in(text)
    sets = [one for one in known.values() if one is not None]
    if len(sets) < len(known) or not known or any(name in one for one in sets):
        return
    near = nearest(name, sorted(frozenset().union(*sets)))
    hint = "" if near is None else f"\n    help: did you mean {near!r}?"
    raise ScenarioError(f"--set {text}: none of {', '.join(known)} has the parameter {name}{hint}")


def refuse_overrides(overrides: Sequence[str], choice: str) -> None:
    """Refuses overrides of the section ``cc`` beside a choice of algorithms, which replaces that section.

    Overrides of parameters are given to the algorithms that have them.

    Args:
        overrides: Keys to set, as in :meth:`Scenario.load`.
        choice: The option that chooses the algorithms, for the message.

    Raises:
        ScenarioError: When one of them would have no effect.
    """
    for text in overrides:
        key = re.match(r"\s*(cc(?:\s*\.\s*\w+)*)\s*=", text)
        if re.match(r"\s*contestant\s*=", text):
            raise ScenarioError(f"--set {text}: has no effect: {choice} chooses the algorithms")
        if key is not None and key[1].replace(" ", "") in ("cc", "cc.algorithm", "cc.preset"):
            raise ScenarioError(
                f"--set {text}: has no effect: {choice} chooses the algorithms\n"
                f"    help: give {choice} a name, or a name and a preset, like swift:oscar"
            )


def permitted(name: str, make: Callable[[], Scenario]) -> Scenario | Refusal:
    """The scenario with an algorithm, or why it is left out.

    Args:
        name: The algorithm.
        make: Makes the scenario with it.
    """
    known = catalogue.algorithm(name)
    if known is not None and known.family in BESIDE:
        return Refusal(BESIDE[known.family])
    return permitted_scenario(name, make)


def permitted_scenario(name: str, make: Callable[[], Scenario]) -> Scenario | Refusal:
    """The scenario with an algorithm or a contestant, or the problem for which it is left out.

    Args:
        name: The algorithm or contestant.
        make: Makes the scenario with it.
    """
    try:
        scenario = make()
        scenario.size()
    except ScenarioError as error:
        return Refusal(_reason(name, error.problems[0]), error.problems)
    for warning in scenario.warnings:
        if (warning.key or "").endswith("cc.algorithm"):
            return Refusal(_reason(name, warning))
    return scenario


def _reason(name: str, problem: Problem) -> str:
    """A problem in one line, without the name of the algorithm that it begins with."""
    text = problem.problem.removeprefix(f"{name} ")
    if text == problem.problem and problem.key:
        text = f"{problem.key} {text}"
    return text if problem.hint is None else f"{text}; {problem.hint}"
