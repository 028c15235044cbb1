"""The exceptions of the compiled core, the problems that they list, and the warnings about scenarios."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping

from incast._core import PluginError, Problem, ResultError, ScenarioError, WireError, scenario_error

__all__ = [
    "IncastWarning",
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


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Returns the known word that is most likely meant by another, if any is near enough.

    The rule is the core's for scenario files: at most a third of the letters differ (by insertion, deletion,
    replacement or exchange of neighbours), or one word begins with the other.

    Args:
        word: What was written.
        known: The words that are possible. Of several that are equally near, the first is taken.
    """
    plain = _plain(word)
    found: str | None = None
    least = 0
    for candidate in known:
        other = _plain(candidate)
        changes = _changes(plain, other)
        begins = min(len(plain), len(other)) >= 3 and (other.startswith(plain) or plain.startswith(other))
        if (begins or changes * 3 <= max(len(plain), len(other))) and (found is None or changes < least):
            found, least = candidate, changes
    return found


def _plain(text: str) -> str:
    return text.lower().translate(str.maketrans("- .", "___"))


def _changes(a: str, b: str) -> int:
    """Returns the number of single-letter changes between two words (optimal string alignment distance)."""
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            best = min(last[j - 1] + (x != y), last[j] + 1, row[j - 1] + 1)
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        before, last = last, row
    return last[-1]


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
