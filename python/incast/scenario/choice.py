"""Choice of the algorithms with which a scenario is run: the named ones, or all that its network permits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from incast import catalogue
from incast.algorithm import algorithms, families, registered
from incast.errors import Problem, ScenarioError, scenario_error
from incast.scenario.scenario import Scenario

ALL = "all"
"""Selects every algorithm compatible with the scenario."""

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
    """

    scenarios: Mapping[str, Scenario]
    left_out: Mapping[str, str] = field(default_factory=dict)
    all: bool = False


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


def choose(scenario: Scenario, labels: Sequence[str], source: str | None = None) -> Choice:
    """The scenario with each algorithm of a list, which may contain ``all``.

    From ``all``, an algorithm is left out if the scenario is refused with it or warns about it: the network
    does not give it the signals that it needs. An algorithm that is named is an error if it is refused.

    Args:
        scenario: The scenario.
        labels: Names like ``oscar`` and ``swift:oscar``, as people write them, and ``all``.
        source: Where the labels are written, for messages.

    Raises:
        ScenarioError: With the problems of all that are named; or when no algorithm is left.
    """
    labels = [named(label) for label in labels]
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
                made = permitted(name, partial(scenario.with_algorithm, name))
                if isinstance(made, Scenario):
                    scenarios[name] = made
                else:
                    left_out[name] = made.why
                    refused.update(dict.fromkeys(made.problems))
        else:
            try:
                scenarios[label] = scenario.with_algorithm(label)
                scenarios[label].size()
            except ScenarioError as error:
                problems.update(dict.fromkeys(error.problems))
    if not scenarios and not problems:
        problems = refused or {Problem("no algorithm is left", file=source): None}
    if problems:
        raise scenario_error(list(problems))
    return Choice(scenarios, left_out, ALL in labels)


def named(label: str) -> str:
    """Returns the label of an algorithm as results carry it; names may be written as people write them."""
    return catalogue.canonical(label, registered())


def refuse_overrides(overrides: Sequence[str], choice: str) -> None:
    """Refuses overrides of the section ``cc`` beside a choice of algorithms, which replaces that section.

    Args:
        overrides: Keys to set, as in :meth:`Scenario.load`.
        choice: The option that chooses the algorithms, for the message.

    Raises:
        ScenarioError: When one of them would have no effect.
    """
    for text in overrides:
        key = re.match(r"\s*(cc(?:\s*\.\s*\w+)*)\s*=", text)
        if key is None:
            continue
        if key[1] in ("cc", "cc.algorithm", "cc.preset"):
            help_ = f"give {choice} a name, or a name and a preset, like swift:oscar"
        else:
            help_ = f"`incast sweep FILE --vary cc=NAME --vary {text.strip()}` gives an algorithm a parameter"
        raise ScenarioError(
            f"--set {text}: has no effect: {choice} chooses the algorithms, and their parameters have their "
            f"defaults\n    help: {help_}"
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
