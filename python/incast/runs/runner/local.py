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
from dataclasses import asdict
from typing import IO

from incast.errors import ResultError
from incast.runs.runner.executor import Done, Task, Watch


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


class Local:
    """Makes runs in processes of this machine.

    A process makes one run after the other. When it ends unexpectedly, its run has failed and another
    process replaces it. When the parent ends, the processes stop at their next progress report.

    Args:
        jobs: Number of processes; None takes one per core.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self._jobs = jobs or cores()

    @property
    def jobs(self) -> int:
        """Runs at the same time."""
        return self._jobs

    def run(self, tasks: Sequence[Task], watch: Watch) -> Iterator[Done]:
        """Makes runs; see :meth:`incast.runs.runner.Executor.run`."""
        waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
        for task in tasks:
            waiting.put(task)
        done: queue.SimpleQueue[Done | BaseException] = queue.SimpleQueue()
        workers = [_Worker(waiting, done, watch) for _ in range(min(self._jobs, len(tasks)))]
        threads = [threading.Thread(target=worker.work, daemon=True) for worker in workers]
        try:
            for thread in threads:
                thread.start()
            for _ in tasks:
                over = done.get()
                if isinstance(over, BaseException):
                    raise over
                yield over
        finally:
            for worker in workers:
                worker.stop()
            for thread in threads:
                thread.join()


class _Worker:
    """A process, restarted when it dies, and the thread that communicates with it."""

    def __init__(
        self,
        waiting: queue.SimpleQueue[Task],
        done: queue.SimpleQueue[Done | BaseException],
        watch: Watch,
    ) -> None:
        self._waiting = waiting
        self._done = done
        self._watch = watch
        self._lock = threading.Lock()
        self._stopped = False
        self._process: subprocess.Popen[str] | None = None

    def work(self) -> None:
        """Sends waiting runs to the process."""
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
            try:
                while not self._stopped:
                    self._done.put(self._make(self._waiting.get_nowait(), said))
            except queue.Empty:
                pass
            except OSError as error:
                self._done.put(ResultError(f"cannot start a process: {error}"))
            finally:
                self.stop()
                if self._process is not None:
                    _reap(self._process)

    def stop(self) -> None:
        """Ends the process; its active run stays incomplete."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()

    def _make(self, task: Task, said: IO[str]) -> Done:
        process = self._start(said)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(asdict(task)) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                answer = json.loads(line)
                if "share" in answer:
                    self._watch(task.index, answer["share"])
                else:
                    return Done(task.index, answer.get("error"), answer.get("reused", False))
        except BrokenPipeError:
            pass
        self._process = None
        code = _reap(process)
        said.seek(0)
        last = " ".join(said.read().splitlines()[-1:])
        return Done(task.index, f"its process {_how(code)}" + (f": {last}" if last else ""))

    def _start(self, said: IO[str]) -> subprocess.Popen[str]:
        with self._lock:
            if self._process is None and not self._stopped:
                said.seek(0)
                said.truncate()
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "incast.runs.runner.worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=said,
                    text=True,
                    encoding="utf-8",
                )
            if self._process is None:
                raise queue.Empty
            return self._process


def _reap(process: subprocess.Popen[str]) -> int:
    """Waits for a process that has ended or is about to, and closes its pipes; returns its exit code."""
    for pipe in (process.stdin, process.stdout):
        # Data that it no longer reads cannot be flushed.
        with contextlib.suppress(BrokenPipeError):
            if pipe is not None:
                pipe.close()
    return process.wait()


def _how(code: int) -> str:
    """Describes the end of a process."""
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name
    hint = " (as when memory runs out)" if name == "SIGKILL" else ""
    return f"was ended by {name}{hint}"
