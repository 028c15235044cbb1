"""Choice of the queue of a switch's port that sends next, written from docs/network/scheduling.md."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

Queues = Sequence[Sequence[int]]
"""The sizes of the first two packets, or fewer, in each queue of a port; at least one queue has some."""


class Scheduler(Protocol):
    """The scheduler of one port."""

    def choose(self, queues: Queues) -> int:
        """The queue whose first packet is sent now."""


class StrictPriority:
    """The lowest number."""

    def choose(self, queues: Queues) -> int:
        return next(number for number, queue in enumerate(queues) if queue)


class RoundRobin:
    """The next one after the last served."""

    def __init__(self, queues: int) -> None:
        self.last = queues - 1

    def choose(self, queues: Queues) -> int:
        self.last = following(self.last, queues)
        return self.last


class DeficitRoundRobin:
    """Each visit adds a quantum, and the queue sends while its first packet is no larger than its counter."""

    def __init__(self, quanta: Sequence[int]) -> None:
        self.quanta = quanta
        self.counters = [0] * len(quanta)
        self.visited = len(quanta) - 1
        self.visiting = False

    def choose(self, queues: Queues) -> int:
        while not self.visiting or queues[self.visited][0] > self.counters[self.visited]:
            self.visited, self.visiting = following(self.visited, queues), True
            self.counters[self.visited] += self.quanta[self.visited]
        queue = queues[self.visited]
        self.counters[self.visited] -= queue[0]
        if len(queue) == 1:
            # It is empty now: the visit is over, and what is left of the counter is lost.
            self.counters[self.visited], self.visiting = 0, False
        return self.visited


class WeightedRoundRobin:
    """In its turn a queue sends as many packets as its weight; a turn ends when another queue sends."""

    def __init__(self, weights: Sequence[int]) -> None:
        self.weights = weights
        self.turn = len(weights) - 1
        self.sent = self.weights[-1]

    def choose(self, queues: Queues) -> int:
        if self.sent >= self.weights[self.turn] or not queues[self.turn]:
            self.turn, self.sent = following(self.turn, queues), 0
        self.sent += 1
        return self.turn


class StrictThen:
    """The first queues by strict priority, then the others by another scheduler."""

    def __init__(self, strict: int, others: Scheduler) -> None:
        self.strict, self.others = strict, others

    def choose(self, queues: Queues) -> int:
        for number in range(self.strict):
            if queues[number]:
                return number
        return self.others.choose(queues)


def following(last: int, queues: Queues) -> int:
    """The next queue after `last`, by number and round and round, that holds a packet; `last` comes last."""
    ahead = [(last + step) % len(queues) for step in range(1, len(queues) + 1)]
    return next(number for number in ahead if queues[number])


@dataclass(frozen=True)
class Described:
    """A scheduler as cases draw and set it. Those without a number for each queue only count them.

    Attributes:
        make: Makes the state of a port, from the numbers of its queues.
        key: The key of `[switch]` with these numbers; None if there is none.
        unit: The unit of a number in scenario files.
        draw: Draws the number of a queue, given the size of a full packet.
    """

    make: Callable[[Sequence[int]], Scheduler]
    key: str | None = None
    unit: str = ""
    draw: Callable[[random.Random, int], int] = lambda _, full: full

    def keys(self, numbers: Sequence[int]) -> dict[str, object]:
        """The keys of `[switch]`."""
        if self.key is None:
            return {}
        return {self.key: [f"{number}{self.unit}" if self.unit else number for number in numbers]}

    def numbers(self, draw: random.Random, full: int, queues: int) -> tuple[int, ...]:
        """Draws the numbers of all queues."""
        return tuple(self.draw(draw, full) for _ in range(queues))


def _quantum(draw: random.Random, full: int) -> int:
    """Draws from a few bytes, with which a queue saves up over many visits, to many packets."""
    return draw.choice([full, draw.randint(1, full), draw.randint(1, 8 * full)])


def _weight(draw: random.Random, _: int) -> int:
    return draw.choice([1, draw.randint(1, 4), draw.randint(1, 20)])


SCHEDULERS = {
    "strict-priority": Described(lambda _: StrictPriority()),
    "round-robin": Described(lambda numbers: RoundRobin(len(numbers))),
    "drr": Described(DeficitRoundRobin, "quanta", "B", _quantum),
    "wrr": Described(WeightedRoundRobin, "weights", draw=_weight),
}
"""All schedulers by their names in scenario files. Cases of each are drawn, alone and after strict queues."""


def scheduler(name: str, numbers: Sequence[int], strict: int) -> Scheduler:
    """A scheduler by its name in scenario files, with the number of each queue."""
    return StrictThen(strict, SCHEDULERS[name].make(numbers))
