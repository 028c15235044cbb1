"""Execution of runs: the interface of executors, and making one run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from incast.progress import Progress
from incast.results.result import Result
from incast.runs import store
from incast.scenario import Scenario


@dataclass(frozen=True)
class Task:
    """One run, as it is sent to an executor. It contains only strings and numbers.

    Attributes:
        index: Its number in the batch.
        scenario: The effective scenario as a file.
        file: Name of the scenario file: for messages, and for the files that the scenario names.
        folder: Where its result is to be; empty to keep the result in memory, which only executors
            within this process can do.
        fresh: Run it even if the result exists.
        limit_s: Wall time after which it is ended and has failed, in seconds; None: it has no limit.
    """

    index: int
    scenario: str
    file: str
    folder: str
    fresh: bool = False
    limit_s: float | None = None


def overdue(limit_s: float) -> str:
    """The error of a run that reached its limit."""
    return f"took longer than {limit_s:g} s; --limit sets another"


@dataclass(frozen=True)
class Done:
    """A finished or failed run.

    Attributes:
        index: Its number in the batch.
        error: Why there is no result; None if there is one.
        reused: Whether the result already existed, made by another process in the meantime.
        result: The result of a task without a folder.
        info: The text of its ``result.json``, from where the run was made; None if it is to be read.
        cause: The exception behind ``error``, where the run was made within this process.
    """

    index: int
    error: str | None = None
    reused: bool = False
    result: Result | None = None
    info: str | None = None
    cause: Exception | None = None


Watch = Callable[[int, float], None]
"""Called with the number of a run and the share of it that is done, from 0 to 1; from any thread."""


class Executor(Protocol):
    """Makes runs. Its own errors are :class:`incast.ResultError`."""

    @property
    def jobs(self) -> int:
        """Runs at the same time."""

    def run(self, tasks: Sequence[Task], watch: Watch) -> Iterator[Done]:
        """Makes runs in any order, and yields each once its result is in its folder or it has failed.

        A run that fails does not affect the others. Closing the iterator early stops active runs.

        Args:
            tasks: The runs; each is made when it is asked for, so take one after the other.
            watch: Called as they go on.
        """


def execute(task: Task, progress: Callable[[Progress], None] | None = None) -> bool:
    """Makes one run in this process and saves its result. The batch waits until it is on disk.

    Args:
        task: The run; it has a folder.
        progress: Called during the run.

    Returns:
        Whether its result existed already.

    Raises:
        ScenarioError: When the scenario is wrong.
        ResultError: When the result cannot be saved.
    """
    return obtain(task, Scenario.from_toml(task.scenario, task.file), progress).reused


def obtain(
    task: Task, scenario: Scenario, progress: Callable[[Progress], None] | None = None
) -> store.Obtained:
    """Makes one run, as :func:`execute` does, and returns its result.

    Args:
        task: The run; it has a folder.
        scenario: Its scenario.
        progress: Called during the run.

    Raises:
        ResultError: When the result cannot be saved.
    """
    return store.obtain(scenario, Path(task.folder), fresh=task.fresh, progress=progress, wait=False)


_SEEDED = re.compile(r"(?:(?!\[).*\n)*?seed = (\d+)\n")
"""The begin of an effective scenario up to its seed, which comes before the first section."""


class Scenarios:
    """Reads the scenarios of tasks, one after the other.

    Of one that differs from the last only in its seed, as most in a sweep do, nothing but the seed is read.
    """

    def __init__(self) -> None:
        self._rest: tuple[str, str, str] | None = None
        self._last: Scenario | None = None

    def read(self, task: Task) -> Scenario:
        """Returns the scenario of a task.

        Raises:
            ScenarioError: When it is wrong.
        """
        seeded = _SEEDED.match(task.scenario)
        if seeded is None:
            return Scenario.from_toml(task.scenario, task.file)
        rest = (task.scenario[: seeded.start(1)], task.scenario[seeded.end(1) :], task.file)
        if self._last is not None and rest == self._rest:
            return self._last.with_seed(int(seeded[1]))
        scenario = Scenario.from_toml(task.scenario, task.file)
        # Files that it names may change from one run to the next.
        self._rest, self._last = rest, None if scenario.files else scenario
        return scenario
