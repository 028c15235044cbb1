"""Where the runs of a sweep are made: the interface, and making one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from incast import store
from incast.scenario import Progress, Scenario


@dataclass(frozen=True)
class Task:
    """One run, as it travels to where it is made. Texts and numbers only.

    Attributes:
        index: Its number in the sweep.
        scenario: The effective scenario as a file.
        file: Name of the scenario file: for messages, and for the files that the scenario names.
        folder: Where its result is to be.
        fresh: Run it even if the result is there.
    """

    index: int
    scenario: str
    file: str
    folder: str
    fresh: bool = False


@dataclass(frozen=True)
class Done:
    """A run that is over.

    Attributes:
        index: Its number in the sweep.
        error: Why there is no result; nothing when there is one, in its folder.
        reused: Whether the result was there already, made by another process meanwhile.
    """

    index: int
    error: str | None = None
    reused: bool = False


Watch = Callable[[int, float], None]
"""Told the number of a run and how much of it is done, from 0 to 1; from any thread."""


class Executor(Protocol):
    """Makes the runs of a sweep. Its own errors are :class:`incast.ResultError`."""

    @property
    def jobs(self) -> int:
        """Runs at the same time."""

    def run(self, tasks: Sequence[Task], watch: Watch) -> Iterator[Done]:
        """Makes runs in any order, and yields each as soon as it is over and its result in its folder.

        That one run fails touches no other. Closing the iterator early stops what is under way.

        Args:
            tasks: The runs.
            watch: Told how far they are.
        """


def execute(task: Task, progress: Callable[[Progress], None] | None = None) -> bool:
    """Makes one run, here and now.

    Args:
        task: The run.
        progress: Called as it goes on.

    Returns:
        Whether its result was there already.

    Raises:
        ScenarioError: When the scenario is wrong.
        ResultError: When the result cannot be saved.
    """
    scenario = Scenario.from_toml(task.scenario, task.file)
    return store.obtain(scenario, Path(task.folder), fresh=task.fresh, progress=progress).reused


def share(progress: Progress) -> float:
    """How much of a run is done, from 0 to 1: whichever ends it first, its flows or its time limit."""
    by_flows = progress.flows_finished / progress.flows if progress.flows else 0.0
    by_time = progress.now_ps / progress.until_ps if progress.until_ps else 0.0
    return min(max(by_flows, by_time), 1.0)
