"""The time of a port: when it sent packets, of which flows, and when pauses and outages kept them back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache

import numpy as np

from incast.results.arrays import BoolArray, Ints
from incast.results.hops.packets import NONE, Place, Sent
from incast.results.tables import Tables

Intervals = tuple[Ints, Ints]
"""Begins and ends of intervals, in picoseconds."""

NO_INTERVALS: Intervals = (np.empty(0, np.int64), np.empty(0, np.int64))

_NEVER = np.iinfo(np.int64).max
"""The end of an interval that has none."""

Outage = tuple[int, int, int, int | None]
"""A time in which a node knows that a link is down: node, port, begin and end (None: never), in ps."""

Measure = Callable[[Ints], Ints]
"""Gives the time up to some instants that is in a set."""


def pauses_of(result: Tables) -> dict[Place, dict[int, Intervals]]:
    """Returns the intervals in which each queue of each port was paused.

    Args:
        result: A result with the table ``pauses``.
    """
    table = result.pauses
    names = ("node_id", "port", "queue", "paused", "time_ps")
    found: dict[Place, dict[int, tuple[list[int], list[int]]]] = {}
    for node, port, queue, paused, time in zip(*(table.column(name).tolist() for name in names), strict=True):
        begins, ends = found.setdefault((node, port), {}).setdefault(queue, ([], []))
        is_paused = len(begins) > len(ends)
        if paused and not is_paused:
            begins.append(time)
        elif is_paused and not paused:
            ends.append(time)
    return {
        place: {
            queue: (np.array(begins), np.array([*ends, _NEVER][: len(begins)]))
            for queue, (begins, ends) in queues.items()
        }
        for place, queues in found.items()
    }


def outages_of(outages: Collection[Outage]) -> dict[Place, Intervals]:
    """Returns the intervals in which each port held packets back because its link was down.

    Args:
        outages: All outages of the run.
    """
    found: dict[Place, list[tuple[int, int]]] = {}
    for node, port, begin, end in outages:
        found.setdefault((node, port), []).append((begin, _NEVER if end is None else end))
    return {place: (np.array(times)[:, 0], np.array(times)[:, 1]) for place, times in found.items()}


class Port:
    """The packets that a port sent, its outages and its pauses.

    Attributes:
        sent: The packets, by time.
    """

    def __init__(
        self, sent: Sent, pauses: Mapping[int, Intervals], any_queue: bool, down: Intervals = NO_INTERVALS
    ) -> None:
        """Takes the time of a port.

        Args:
            sent: The packets that it sent, by time.
            pauses: The intervals in which each queue was paused.
            any_queue: Whether a pause of any queue counts for each packet.
            down: The intervals in which its link was down.
        """
        self.sent, self._pauses, self._any_queue, self._down = sent, pauses, any_queue, down
        self._timeline = cache(self._timeline_of)

    def divide(self, came: Ints, left: Ints, queue: int) -> tuple[Ints, Ints, Ints]:
        """Divides the waits of packets in one queue.

        Args:
            came: When each of them came.
            left: When its first bit left.
            queue: The queue.

        Returns:
            Of each wait the parts in which the port sent packets, in which it sent none and the queue was
            paused, and in which it did neither and its link was down.
        """
        edges, is_sent, is_paused, is_down = self._timeline(queue)
        parts = is_sent, is_paused & ~is_sent, is_down & ~is_paused & ~is_sent
        sending, paused, down = (_measure(edges, part) for part in parts)
        return sending(left) - sending(came), paused(left) - paused(came), down(left) - down(came)

    def busy_since(self, left: Ints, queue: int) -> Ints:
        """Returns the times from which on the port sent, or could not, without a break.

        Args:
            left: When packets of the queue began to leave: the ends of these times.
            queue: The queue.
        """
        edges, is_sent, is_paused, is_down = self._timeline(queue)
        is_busy = (is_sent | is_paused | is_down)[:-1]
        # Nothing is known of the time before the first edge.
        ends = np.maximum.accumulate(np.where(is_busy, np.iinfo(np.int64).min, edges[1:]))
        place = np.searchsorted(edges, left) - 1
        return np.where(place < 0, left, np.minimum(ends[place], left))

    def in_front(self, came: Ints, left: Ints) -> dict[int | None, int]:
        """Returns the time that packets took while others waited, by flow, the longest first.

        Args:
            came: When each of the packets that waited came.
            left: When its first bit left.
        """
        waited = _summed(came, left)
        return self._by_flow(self.sent.flow, waited(self.sent.gone) - waited(self.sent.left))

    @staticmethod
    def _by_flow(flows: Ints, times: Ints) -> dict[int | None, int]:
        known, inverse = np.unique(flows, return_inverse=True)
        sums = np.zeros(len(known), dtype=np.int64)
        np.add.at(sums, inverse, times)
        order = np.lexsort((known, -sums))
        pairs = zip(known[order].tolist(), sums[order].tolist(), strict=True)
        return {None if flow == NONE else flow: time for flow, time in pairs if time}

    def _timeline_of(self, queue: int) -> tuple[Ints, BoolArray, BoolArray, BoolArray]:
        """Returns edges, and whether up to the next the port sends, the queue is paused, the link is down."""
        queues = self._pauses.values() if self._any_queue else [self._pauses.get(queue)]
        pauses = _joined(intervals for intervals in queues if intervals is not None)
        sending = self.sent.left, self.sent.gone
        edges = np.unique(np.concatenate([*sending, *pauses, *self._down]))
        return edges, _covered(edges, sending), _covered(edges, pauses), _covered(edges, self._down)


def _joined(intervals: Iterable[Intervals]) -> Intervals:
    several: Sequence[Intervals] = [*intervals, NO_INTERVALS]
    return np.concatenate([begins for begins, _ in several]), np.concatenate([ends for _, ends in several])


def _covered(edges: Ints, intervals: Intervals) -> BoolArray:
    """Whether the time from each edge to the next is in some of the intervals."""
    depth = np.zeros(len(edges), dtype=np.int64)
    np.add.at(depth, np.searchsorted(edges, intervals[0]), 1)
    np.add.at(depth, np.searchsorted(edges, intervals[1]), -1)
    covered: BoolArray = np.cumsum(depth) > 0
    return covered


def _measure(edges: Ints, covered: BoolArray) -> Measure:
    """Measures the covered time; none is after the last edge."""
    lengths = np.where(covered[:-1], np.diff(edges), 0)
    before = np.concatenate([[0], np.cumsum(lengths)])

    def until(times: Ints) -> Ints:
        place = np.maximum(np.searchsorted(edges, times, side="right") - 1, 0)
        inside = np.where(covered[place], np.maximum(times - edges[place], 0), 0)
        found: Ints = before[place] + inside
        return found

    return until


def _summed(came: Ints, left: Ints) -> Measure:
    """Measures the waits of several packets up to some instants, as a sum.

    It may exceed 64 bits and wraps around; differences, which are small, are right.
    """
    came, left = np.sort(came), np.sort(left)
    sums = [np.concatenate([[0], np.cumsum(times)]) for times in (came, left)]

    def until(times: Ints) -> Ints:
        found = np.zeros(len(times), dtype=np.int64)
        for ordered, total, sign in ((came, sums[0], 1), (left, sums[1], -1)):
            number = np.searchsorted(ordered, times)
            found += sign * (number * times - total[number])
        return found

    return until
