"""The exceptions of the compiled core, the problems that they list, and the warnings about scenarios."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping

from incast._core import (
    PluginError,
    Problem,
    ResultError,
    ScenarioError,
    WireError,
    nearest,
    scenario_error,
)

__all__ = [
    "IncastWarning",
    "KernelError",
    "PluginError",
    "Problem",
    "ResultError",
    "ScenarioError",
    "WireError",
    "nearest",
    "renamed",
    "scenario_error",
    "unsaid",
    "warn",
]


def renamed(error: ScenarioError, names: Mapping[str, str]) -> ScenarioError:
    """Returns an error whose problems have other sources, as their author wrote them.

    A source that is renamed has no lines: nobody wrote them.

    Args:
        error: The error.
        names: The new sources by the old ones, like ``--set topology.rte=3``.
    """
    return scenario_error([_renamed(problem, names) for problem in error.problems])


def _renamed(problem: Problem, names: Mapping[str, str]) -> Problem:
    if problem.file is None or problem.file not in names:
        return problem
    return Problem(problem.problem, names[problem.file], key=problem.key, hint=problem.hint)


class KernelError(OSError):
    """Something about the kernel cannot be done. The text says why, and what helps."""


class IncastWarning(UserWarning):
    """A scenario has a setting that is possible but hardly intended, or there is a verdict on its run."""


def warn(problems: Iterable[Problem], stacklevel: int) -> None:
    """Issues a warning of Python for each of some problems, each once.

    Args:
        problems: The warnings about scenarios.
        stacklevel: The call that is shown as the place: 1 is the caller of this function.
    """
    for problem in dict.fromkeys(problems):
        warnings.warn(str(problem), IncastWarning, stacklevel=stacklevel + 1)


def unsaid(found: Iterable[Problem], said: Iterable[Problem]) -> list[Problem]:
    """Returns the warnings of a result that are not among those about its scenario: the verdicts on its run.

    Args:
        found: The warnings of the result, which have no places.
        said: The warnings about its scenario.
    """
    known = {(problem.key, problem.problem, problem.hint) for problem in said}
    return [problem for problem in found if (problem.key, problem.problem, problem.hint) not in known]
