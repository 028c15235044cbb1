"""How far a run is, for people: a line in a terminal, a line of text under a notebook's cell."""

from __future__ import annotations

import sys
import time
from typing import Any

from incast.progress import Progress


class Meter:
    """Shows the progress of one run. Use it as a context, and call it."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._begin = time.monotonic()
        self._handle: Any = None
        self._width = 0

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()

    def __call__(self, progress: Progress) -> None:
        """Shows how far the run is."""
        text = line(self._label, progress, time.monotonic() - self._begin)
        if in_notebook():
            self._in_notebook(text)
        elif sys.stderr.isatty():
            sys.stderr.write("\r" + text.ljust(self._width))
            sys.stderr.flush()
            self._width = len(text)

    def _in_notebook(self, text: str) -> None:
        from IPython.display import display

        data = {"text/plain": text}
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)


def line(label: str, progress: Progress, seconds: float) -> str:
    """One line: simulated time, flows, speed."""
    at = f"{progress.now_ps / 1e6:,.0f} µs"
    if progress.until_ps:
        at += f" of {progress.until_ps / 1e6:,.0f}"
    speed = progress.hops / seconds / 1e6 if seconds > 0 else 0.0
    flows = f"{progress.flows_finished:,}/{progress.flows:,} flows"
    return f"{label}: {at}, {flows}, {speed:.1f} million packet-hops/s"


def in_notebook() -> bool:
    """Whether this is a notebook, where cells show rich output."""
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    shell = get_ipython()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"
