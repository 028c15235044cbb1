"""Execution of runs: the interface of executors, and making one run."""

from __future__ import annotations

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
        cause: The exception behind ``error``, where the run was made within this process.
    """

    index: int
    error: str | None = None
    reused: bool = False
    result: Result | None = None
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
    scenario = Scenario.from_toml(task.scenario, task.file)
    folder = Path(task.folder)
    return store.obtain(scenario, folder, fresh=task.fresh, progress=progress, wait=False).reused
