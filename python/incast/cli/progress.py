"""The line on a terminal that says how far a run is."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO

from incast.cli.table import WIDTH, cells
from incast.scenario import Progress

REDRAW_AFTER = 0.1
"""Seconds of wall time between two drawings of the line."""


class ProgressLine:
    """Shows the progress of one run on standard error; silent where nobody looks.

    Args:
        label: What is running.
        quiet: Never show anything.
        stream: Where to write; nothing is written when it is not a terminal.
    """

    def __init__(self, label: str, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._label = label
        self._stream = sys.stderr if stream is None else stream
        self._shown = not quiet and self._stream.isatty()
        self._began = time.monotonic()
        self._drawn = 0.0

    def __call__(self, progress: Progress) -> None:
        """Shows where the run is now."""
        now = time.monotonic()
        if not self._shown or now - self._drawn < REDRAW_AFTER:
            return
        self._drawn = now
        text = line(self._label, progress, now - self._began)
        while cells(text) > WIDTH - 1:
            text = text[:-1]
        self._stream.write(f"\r\x1b[2K{text}")
        self._stream.flush()

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wipes the line."""
        if self._shown and self._drawn:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()


def line(label: str, progress: Progress, elapsed: float) -> str:
    """The text of the line.

    Args:
        label: What is running.
        progress: Where it is.
        elapsed: Seconds of wall time since it began.
    """
    parts = [f"{label:<15}", f"{simulated(progress.now_ps):>9}"]
    parts.append(f"{progress.flows_finished:,}/{progress.flows:,} flows")
    if elapsed > 0:
        parts.append(f"{progress.hops / elapsed / 1e6:.2f} M packet-hops/s")
    done = share_done(progress)
    if done > 0.01 and elapsed > 0.5:
        parts.append(f"{duration(elapsed * (1 - done) / done)} left")
    return "  ".join(parts)


def share_done(progress: Progress) -> float:
    """How much of a run is done, from 0 to 1: whichever ends it first, its flows or its time limit."""
    by_flows = progress.flows_finished / progress.flows if progress.flows else 0.0
    by_time = progress.now_ps / progress.until_ps if progress.until_ps else 0.0
    return min(max(by_flows, by_time), 1.0)


def simulated(ps: int) -> str:
    """A simulated time in a unit that suits it."""
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
