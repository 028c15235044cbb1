"""Waiting until results are on disk: of many at once, which takes hardly longer than of one."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from incast.errors import ResultError

EVERY_S = 2.0
"""Seconds of wall time from one round of waiting to the next."""

TOGETHER = 16
"""Files that are waited for at the same time: a file system writes them together."""

MOST = 128
"""Results that are held back at most, so that memory does not grow with the runs of a batch."""


class Settling:
    """Brings small results to the disk, some seconds after they were made.

    A run that waits for the disk by itself does so for longer than a short run takes. Here a thread waits for
    all that were made since its last round, or for as many as are held back at most. Until then a crash of
    the machine may cost a result, which the same batch makes again; a kill of the process costs nothing.

    Args:
        every_s: Seconds from one round to the next.
    """

    def __init__(self, every_s: float = EVERY_S) -> None:
        self._every_s = every_s
        self._due = time.monotonic() + every_s
        self._waiting: list[Path] = []
        self._thread: threading.Thread | None = None
        self._error: ResultError | None = None

    def add(self, folder: Path) -> None:
        """Takes a result that was made.

        Args:
            folder: Its folder.
        """
        self._waiting.append(folder)
        is_full = len(self._waiting) >= MOST
        if is_full and self._thread is not None:
            self._thread.join()
        busy = self._thread is not None and self._thread.is_alive()
        if not busy and (is_full or time.monotonic() >= self._due):
            folders, self._waiting = self._waiting, []
            self._thread = threading.Thread(target=self._settle, args=(folders,), daemon=True)
            self._thread.start()
            self._due = time.monotonic() + self._every_s

    def close(self) -> None:
        """Waits for all results.

        Raises:
            ResultError: When one of them cannot be written.
        """
        if self._thread is not None:
            self._thread.join()
        self._settle(self._waiting)
        self._waiting = []
        if self._error is not None:
            raise self._error

    def _settle(self, folders: list[Path]) -> None:
        """Waits for some results."""
        # A process that makes runs has no use for it.
        from concurrent.futures import ThreadPoolExecutor

        if not folders:
            return
        with ThreadPoolExecutor(min(TOGETHER, len(folders))) as pool:
            for folder, error in zip(folders, pool.map(_sync, folders), strict=True):
                if error is not None:
                    self._error = ResultError(f"cannot write {folder / 'result.json'}: {error.strerror}")


def _sync(folder: Path) -> OSError | None:
    """Waits until the last file of a result is on disk; returns why it does not get there."""
    try:
        file = os.open(folder / "result.json", os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(file)
        finally:
            os.close(file)
    except FileNotFoundError:
        # Somebody removed it.
        return None
    except OSError as error:
        return error
    return None
