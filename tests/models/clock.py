"""The order of events in the models."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any


class Clock:
    """The events to come, by time, kind and entity. Nodes cannot disturb each other at one instant.

    Attributes:
        now: The time.
        finished: Number of the flows that are done.
    """

    def __init__(self) -> None:
        self.now = self.finished = 0
        self._heap: list[tuple[int, int, int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0

    def at(self, time: int, kind: int, entity: int, what: Callable[..., None], *arguments: object) -> None:
        """Schedules a call of `what` at `time`."""
        self._count += 1
        heapq.heappush(self._heap, (time, kind, entity, self._count, what, arguments))

    def run(self, unfinished: Callable[[], bool]) -> None:
        """Runs until nothing is left to finish, or to happen."""
        while self._heap and unfinished():
            self.now, _, _, _, what, arguments = heapq.heappop(self._heap)
            what(*arguments)
