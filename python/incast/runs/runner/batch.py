"""A batch of runs: existing results are reused, the others are computed."""

from __future__ import annotations

import json
import os
import threading
from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incast._lazy import Lazy
from incast.progress import Failure, State
from incast.results.result import Result, is_sound, parse_info
from incast.runs import store
from incast.runs.runner.executor import Done, Executor, Task
from incast.runs.runner.local import Local
from incast.runs.runner.settling import Settling
from incast.scenario import Scenario


@dataclass(frozen=True)
class Job:
    """A run to be made.

    Attributes:
        label: Its name in messages.
        scenario: What to run.
        folder: Where its result is or will be; None to keep the result in memory.
    """

    label: str
    scenario: Scenario
    folder: Path | None


class Batch:
    """Several runs. When repeated after a stop or kill, only the missing ones are made.

    Attributes:
        jobs: The runs.
        state: Their progress.
        infos: The contents of ``result.json`` of each run that has a result, by its index.
        errors: Why a run has no result, by its index.
        results: Results that were kept in memory, by their index.
        causes: The exceptions behind ``errors``, of runs that were made within this process.
    """

    def __init__(self, jobs: Sequence[Job], state: State | None = None) -> None:
        """Takes the runs, and the progress of batches before this one, to which its own is added."""
        self.jobs = jobs
        self.state = State(0) if state is None else state
        self.state.runs += len(self.jobs)
        self._failed_before = list(self.state.failures)
        self._failed: list[tuple[int, Failure]] = []
        self._arrived: Callable[[int, dict[str, Any]], None] | None = None
        self._settling = Settling()
        self.infos: dict[int, dict[str, Any]] = {}
        self.errors: dict[int, str] = {}
        self.results: dict[int, Result] = {}
        self.causes: dict[int, Exception] = {}
        self._lock = threading.Lock()

    def run(
        self,
        executor: Executor | None = None,
        *,
        fresh: bool = False,
        limit_s: float | None = None,
        watch: Callable[[State], None] | None = None,
        progressed: Callable[[Batch], None] | None = None,
        arrived: Callable[[int, dict[str, Any]], None] | None = None,
    ) -> None:
        """Makes the runs without existing results. A run that fails does not stop the others.

        At its end, also after Ctrl-C, all results are on disk.

        Args:
            executor: Where they are made; None takes processes of this machine, one for each core.
            fresh: Make all runs again.
            limit_s: Wall time after which a run is ended and has failed, in seconds; None: no limit.
            watch: Called when something has changed, from any thread.
            progressed: Called from this thread, once before the first run is made and after each one.
            arrived: Called from this thread with the index of each run that has a result and the content of
                its ``result.json``, which :attr:`infos` then does not hold: ten thousand take much memory.

        Raises:
            ResultError: When the executor cannot make runs at all, or a result does not reach the disk.
            KeyboardInterrupt: After Ctrl-C; finished runs are kept.
        """
        self._arrived = arrived
        missing = [index for index in range(len(self.jobs)) if fresh or not self._reuse(index)]
        # A task holds the text of its scenario, so none is made before it is due.
        tasks = Lazy(len(missing), lambda n: self._task(missing[n], fresh, limit_s))
        if progressed:
            progressed(self)
        if not tasks:
            return

        def changed(index: int | None = None, share: float = 0.0) -> None:
            with self._lock:
                if index is not None:
                    self.state.shares[index] = share
                if watch:
                    watch(self.state)

        finished = (executor or Local()).run(tasks, changed)
        try:
            for done in finished:
                self._take(done)
                changed()
                if progressed:
                    progressed(self)
        finally:
            # Stops what is under way when something went wrong here, like Ctrl-C.
            close = getattr(finished, "close", None)
            if close:
                close()
            self._settling.close()

    def result(self, index: int) -> Result:
        """The result of a run that has one.

        Raises:
            ResultError: When it cannot be read any more.
        """
        folder = self.jobs[index].folder
        return self.results[index] if folder is None else Result.open(folder)

    def _reuse(self, index: int) -> bool:
        """Takes the result of a job, if it exists; returns whether it does."""
        job = self.jobs[index]
        info = None if job.folder is None else store.read_info(job.folder, job.scenario)
        if info is None:
            return False
        self.state.reused += 1
        self._judge(index, info)
        self._keep(index, info)
        return True

    def _keep(self, index: int, info: dict[str, Any]) -> None:
        """Hands the content of a result on, or holds it."""
        if self._arrived is None:
            self.infos[index] = info
        else:
            self._arrived(index, info)

    def _task(self, index: int, fresh: bool, limit_s: float | None) -> Task:
        """Returns the task of a job."""
        job = self.jobs[index]
        folder = "" if job.folder is None else os.fspath(job.folder)
        file = str(Path(job.scenario.file).with_suffix(".toml"))
        return Task(index, job.scenario.to_toml(), file, folder, fresh, limit_s)

    def _take(self, done: Done) -> None:
        job = self.jobs[done.index]
        info = None
        if done.result is not None:
            info = done.result.info
        elif done.error is None and done.info is not None:
            # The keys of those that are held are shared, which takes longer than the rest of the reading.
            said = parse_info(done.info) if self._arrived is None else json.loads(done.info)
            info = said if store.is_reusable(said) else None
        elif done.error is None and job.folder is not None:
            info = store.read_info(job.folder, job.scenario)
        with self._lock:
            self.state.shares.pop(done.index, None)
            if info is not None:
                self._judge(done.index, info)
                self.state.reused += done.reused
                self.state.made += not done.reused
            else:
                self.errors[done.index] = done.error or f"its result is not in {job.folder}"
                self._fail(done.index, self.errors[done.index])
            if done.result is not None:
                self.results[done.index] = done.result
            if done.cause is not None:
                self.causes[done.index] = done.cause
        if info is not None:
            if job.folder is not None and not done.reused:
                self._settling.add(job.folder)
            self._keep(done.index, info)

    def _judge(self, index: int, info: Mapping[str, Any]) -> None:
        """Notes a run that did not end as it should."""
        if not is_sound(info):
            outcome = info["outcome"]
            self._fail(index, "; ".join([outcome["why"], *outcome["violations"]]))

    def _fail(self, index: int, why: str) -> None:
        insort(self._failed, (index, Failure(self.jobs[index].label, why)), key=lambda one: one[0])
        self.state.failures = self._failed_before + [failure for _, failure in self._failed]
