"""Runs in threads of this process: results may stay in memory, and classes defined here are known."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from incast.progress import Progress, share
from incast.runs.runner.executor import Done, Task, Watch, execute, overdue
from incast.scenario import Scenario


class Threads:
    """Makes runs in threads of this process.

    The simulator releases Python's global interpreter lock, so that runs are concurrent; algorithms written
    in Python hold it. Unlike :class:`incast.runner.Local` it knows algorithms that are registered in this
    process only, and it can keep results in memory. The limit of a run ends it when it next reports its
    progress, so an algorithm that never returns is not ended.

    Args:
        jobs: Number of concurrent runs.
    """

    def __init__(self, jobs: int = 1) -> None:
        self._jobs = jobs

    @property
    def jobs(self) -> int:
        """Runs at the same time."""
        return self._jobs

    def run(self, tasks: Sequence[Task], watch: Watch) -> Iterator[Done]:
        """Makes runs; see :meth:`incast.runs.runner.Executor.run`."""
        stop = threading.Event()
        if self._jobs == 1:
            # In the calling thread, where Ctrl-C stops a run at once.
            for task in tasks:
                yield _make(task, watch, stop)
            return
        with ThreadPoolExecutor(self._jobs) as pool:
            pending = [pool.submit(_made, tasks, place, watch, stop) for place in range(len(tasks))]
            try:
                for future in as_completed(pending):
                    yield future.result()
            finally:
                stop.set()
                for future in pending:
                    future.cancel()


class _StoppedError(Exception):
    """Stops a run from its progress callback."""


class _OverdueError(Exception):
    """Stops a run that has reached its limit."""


def _made(tasks: Sequence[Task], place: int, watch: Watch, stop: threading.Event) -> Done:
    """Makes a task only when its turn has come: it holds the text of its scenario."""
    return _make(tasks[place], watch, stop)


def _make(task: Task, watch: Watch, stop: threading.Event) -> Done:
    began = time.monotonic()

    def progress(now: Progress) -> None:
        if stop.is_set():
            raise _StoppedError
        if task.limit_s is not None and time.monotonic() - began > task.limit_s:
            raise _OverdueError
        watch(task.index, share(now))

    if stop.is_set():
        return Done(task.index, "it was stopped")
    try:
        if task.folder:
            return Done(task.index, reused=execute(task, progress))
        result = Scenario.from_toml(task.scenario, task.file).run_quietly(progress=progress)
    except _StoppedError:
        return Done(task.index, "it was stopped")
    except _OverdueError:
        return Done(task.index, overdue(task.limit_s or 0.0))
    except Exception as error:
        return Done(task.index, str(error) or type(error).__name__, cause=error)
    return Done(task.index, result=result)
