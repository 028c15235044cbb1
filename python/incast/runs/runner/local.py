"""Runs on this machine, each in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence

from incast.errors import ResultError
from incast.runs.runner.executor import Done, Task, Watch, overdue


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


class Local:
    """Makes runs in processes of this machine.

    A process makes one run after the other. When it ends unexpectedly, its run has failed and another
    process replaces it. When the parent ends, the processes stop at their next progress report.

    As a context it keeps its processes from one batch to the next: to start one takes as long as some runs.

    ```python
    with Local() as executor:
        first.run(executor)
        second.run(executor)
    ```

    Args:
        jobs: Number of processes; None takes one per core.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self._jobs = jobs or cores()
        self._idle: list[_Process] | None = None

    def __enter__(self) -> Local:
        if self._idle is not None:
            raise ValueError("the processes are kept already")
        self._idle = []
        return self

    def __exit__(self, *error: object) -> None:
        idle, self._idle = self._idle or [], None
        for process in idle:
            process.end()

    @property
    def jobs(self) -> int:
        """Runs at the same time."""
        return self._jobs

    def run(self, tasks: Sequence[Task], watch: Watch) -> Iterator[Done]:
        """Makes runs; see :meth:`incast.runs.runner.Executor.run`."""
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        for place in range(len(tasks)):
            waiting.put(place)
        done: queue.SimpleQueue[Done | BaseException] = queue.SimpleQueue()
        workers = [
            _Worker(tasks, waiting, done, watch, self._idle) for _ in range(min(self._jobs, len(tasks)))
        ]
        threads = [threading.Thread(target=worker.work, daemon=True) for worker in workers]
        try:
            for thread in threads:
                thread.start()
            for _ in range(len(tasks)):
                over = done.get()
                if isinstance(over, BaseException):
                    raise over
                yield over
            # Nothing is left to do: their processes become idle, where these are kept.
            for thread in threads:
                thread.join()
        finally:
            for worker in workers:
                worker.stop()
            for thread in threads:
                thread.join()


class _Process:
    """A process that makes runs, and the file with what it says."""

    def __init__(self) -> None:
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        try:
            self.popen = subprocess.Popen(
                [sys.executable, "-m", "incast.runs.runner.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                text=True,
                encoding="utf-8",
            )
        except OSError:
            self._said.close()
            raise

    def end(self) -> tuple[int, str]:
        """Ends it, if it has not ended; returns its exit code and the last line that it said."""
        self.popen.kill()
        return self.ended()

    def ended(self) -> tuple[int, str]:
        """Waits until it has ended; returns its exit code and the last line that it said."""
        for pipe in (self.popen.stdin, self.popen.stdout):
            # Data that it no longer reads cannot be flushed.
            with contextlib.suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()
        code = self.popen.wait()
        with self._said as said:
            said.seek(0)
            return code, " ".join(said.read().splitlines()[-1:])


class _Worker:
    """A process, restarted when it dies, and the thread that communicates with it."""

    def __init__(
        self,
        tasks: Sequence[Task],
        waiting: queue.SimpleQueue[int],
        done: queue.SimpleQueue[Done | BaseException],
        watch: Watch,
        idle: list[_Process] | None,
    ) -> None:
        self._tasks = tasks
        self._waiting = waiting
        self._done = done
        self._watch = watch
        self._lock = threading.Lock()
        self._stopped = False
        self._idle = idle
        self._process: _Process | None = None

    def work(self) -> None:
        """Sends waiting runs to the process."""
        try:
            while not self._stopped:
                self._done.put(self._make(self._tasks[self._waiting.get_nowait()]))
        except queue.Empty:
            self._keep()
        except OSError as error:
            self._done.put(ResultError(f"cannot start a process: {error}"))
        finally:
            self.stop()
            if self._process is not None:
                self._process.ended()

    def _keep(self) -> None:
        """Leaves the process to the next batch, where processes are kept."""
        with self._lock:
            if self._idle is not None and self._process is not None and not self._stopped:
                self._idle.append(self._process)
                self._process = None

    def stop(self) -> None:
        """Ends the process; its active run stays incomplete."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.popen.kill()

    def _make(self, task: Task) -> Done:
        started = self._start()
        process = started.popen
        assert process.stdin is not None
        assert process.stdout is not None
        over = threading.Event()

        def end() -> None:
            over.set()
            process.kill()

        # The next run of the process must not meet the limit of this one: the timer is over before it begins.
        timer = None if task.limit_s is None else threading.Timer(task.limit_s, end)
        if timer is not None:
            timer.start()
        try:
            process.stdin.write(json.dumps(vars(task)) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                answer = json.loads(line)
                if "share" in answer:
                    self._watch(task.index, answer["share"])
                else:
                    error, reused = answer.get("error"), answer.get("reused", False)
                    return Done(task.index, error, reused, info=answer.get("info"))
        except BrokenPipeError:
            pass
        finally:
            if timer is not None:
                timer.cancel()
                timer.join()
        self._process = None
        code, last = started.ended()
        if over.is_set() and task.limit_s is not None:
            return Done(task.index, overdue(task.limit_s))
        return Done(task.index, f"its process {_how(code)}" + (f": {last}" if last else ""))

    def _start(self) -> _Process:
        with self._lock:
            while self._process is None and self._idle and not self._stopped:
                # One that ended while it was idle is of no use.
                process = self._idle.pop()
                if process.popen.poll() is None:
                    self._process = process
                else:
                    process.ended()
            if self._process is None and not self._stopped:
                self._process = _Process()
            if self._process is None:
                raise queue.Empty
            return self._process


def _how(code: int) -> str:
    """Describes the end of a process."""
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name
    hint = " (as when memory runs out)" if name == "SIGKILL" else ""
    return f"was ended by {name}{hint}"
