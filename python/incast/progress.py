"""Progress of runs: for programs, and as a line in a terminal or under a notebook's cell."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TextIO

from incast._terminal import WIDTH, printable, shortened, wipe

REDRAW_AFTER = 0.1
"""Seconds of wall time between two drawings of the line."""


@dataclass(frozen=True)
class Progress:
    """Progress of a run.

    Attributes:
        now_ps: Simulated time reached, in picoseconds.
        until_ps: Simulated time at which the run ends at the latest, in picoseconds; None without a
            limit.
        flows_finished: Flows that are done.
        flows: Flows in all.
        hops: Packet-hops so far; one hop is one packet that left one port.
    """

    now_ps: int
    until_ps: int | None
    flows_finished: int
    flows: int
    hops: int


@dataclass
class Series:
    """Several runs of about the same cost, one after the other.

    Attributes:
        runs: How many.
        over: How many are over.
        made: How many of these took time: the others had a result already.
        elapsed: Seconds of wall time that those took.
    """

    runs: int
    over: int = 0
    made: int = 0
    elapsed: float = 0.0

    def ended(self, elapsed: float | None) -> None:
        """Counts a run.

        Args:
            elapsed: Seconds of wall time that it took; None if it had a result already.
        """
        self.over += 1
        if elapsed is not None:
            self.made += 1
            self.elapsed += elapsed


@dataclass(frozen=True)
class Failure:
    """A run without a result, or with one that does not count.

    Attributes:
        label: The run.
        why: What went wrong.
    """

    label: str
    why: str


@dataclass
class State:
    """The progress of a batch.

    Attributes:
        runs: Total number of runs.
        reused: Runs whose results existed already.
        made: Runs that were made.
        failures: Runs that failed.
        shares: The completed share of each active run, from 0 to 1.
        stage: The part of the batch that is being made, like ``look 2 of 4``; empty for all of it.
    """

    runs: int
    reused: int = 0
    made: int = 0
    failures: list[Failure] = field(default_factory=list)
    shares: dict[int, float] = field(default_factory=dict)
    stage: str = ""

    @property
    def done(self) -> int:
        """Runs that have a result."""
        return self.reused + self.made


class ProgressLine:
    """Shows how far a run or a batch of runs is, on one line that is redrawn in place.

    Use it as a context and call it. It shows nothing where standard error is neither a terminal nor a
    notebook.

    Args:
        label: What is running; empty for nothing.
        quiet: Never show anything.
        stream: Where to write, if it is a terminal; by default standard error, or the notebook.
        clock: Returns seconds of wall time.
        series: The runs of which this is one.
    """

    def __init__(
        self,
        label: str = "",
        quiet: bool = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        series: Series | None = None,
    ) -> None:
        self._series = series
        self._label = label
        self._stream = sys.stderr if stream is None else stream
        self._notebook = not quiet and stream is None and in_notebook()
        self._shown = self._notebook or (not quiet and self._stream.isatty())
        self._clock = clock
        self._began = clock()
        self._drawn: float | None = None
        self._handle: Any = None
        self._lock = threading.Lock()

    def __call__(self, now: Progress | State) -> None:
        """Shows where the runs are now, a few times a second at most; from any thread."""
        if not self._shown:
            return
        with self._lock:
            at = self._clock()
            if self._drawn is not None and at - self._drawn < REDRAW_AFTER:
                return
            self._drawn = at
            if isinstance(now, Progress):
                self._draw(of_run(self._label, now, at - self._began, self._series))
            else:
                self._draw(of_batch(self._label, now, at - self._began))

    def wipe(self) -> None:
        """Wipes the line."""
        if self._drawn is not None and not self._notebook:
            wipe(self._stream)
            self._stream.flush()
            self._drawn = None

    def _draw(self, text: str) -> None:
        if not self._notebook:
            wipe(self._stream)
            self._stream.write(printable(shortened(text, WIDTH - 1)))
            self._stream.flush()
            return
        data = {"text/plain": text}
        if self._handle is None:
            from IPython.display import display

            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *error: object) -> None:
        self.wipe()


def of_run(label: str, progress: Progress, elapsed: float, series: Series | None = None) -> str:
    """Returns the text of the line for one run.

    Args:
        label: What is running.
        progress: Where it is.
        elapsed: Seconds of wall time since it began.
        series: The runs of which this is one: then the time that is left is for all.
    """
    parts = [f"{label:<15}", f"{simulated(progress.now_ps):>9}"]
    parts.append(f"{progress.flows_finished:,}/{progress.flows:,} flows")
    if series is not None and series.runs > 1:
        done = (series.made + share(progress)) / (series.runs - series.over + series.made)
        parts.append(f"run {series.over + 1} of {series.runs}")
        return "  ".join([*parts, *_left(done, series.elapsed + elapsed)])
    if elapsed > 0:
        parts.append(f"{progress.hops / elapsed / 1e6:.2f} M packet-hops/s")
    return "  ".join([*parts, *_left(share(progress), elapsed)])


def of_batch(label: str, state: State, elapsed: float) -> str:
    """The text of the line for several runs.

    Args:
        label: What is running; empty for nothing.
        state: How far they are.
        elapsed: Seconds of wall time since they began.
    """
    over = state.done + len(state.failures)
    parts = [label] if label else []
    parts += [state.stage] if state.stage else []
    parts.append(f"{over:,}/{state.runs:,} runs")
    if state.shares:
        parts.append(f"{len(state.shares):,} running")
    if state.failures:
        parts.append(f"{len(state.failures):,} failed")
    # Reused runs took no time and do not help to predict the rest.
    left = state.runs - state.reused
    done = (over - state.reused + sum(state.shares.values())) / left if left else 1.0
    return "  ".join([*parts, *_left(done, elapsed)])


def _left(done: float, elapsed: float) -> list[str]:
    """The remaining time, once enough is done to estimate it."""
    return [f"{duration(elapsed * (1 - done) / done)} left"] if done > 0.01 and elapsed > 0.5 else []


def share(progress: Progress) -> float:
    """The completed share of a run, from 0 to 1: by flows or by time, whichever is larger."""
    by_flows = progress.flows_finished / progress.flows if progress.flows else 0.0
    by_time = progress.now_ps / progress.until_ps if progress.until_ps else 0.0
    return min(max(by_flows, by_time), 1.0)


def simulated(ps: int) -> str:
    """A simulated time in a suitable unit."""
    for unit, size in (("s", 10**12), ("ms", 10**9), ("us", 10**6)):
        if ps >= size:
            return f"{ps / size:.2f} {unit}"
    return f"{ps / 1000:.0f} ns"


def duration(seconds: float) -> str:
    """A span of wall time."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    if whole >= 60:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole} s"


def in_notebook() -> bool:
    """Whether this is a notebook, where cells show rich output."""
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    shell = get_ipython()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"
