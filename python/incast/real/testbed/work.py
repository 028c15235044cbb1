"""Operations of hosts that depend on each other: which have started, which have ended, and what follows.

The rules are the simulator's (``docs/network/workloads.md``): an operation is ready when those that it comes
after have ended and those whose start it needs have started. There is no clock here: whoever runs the flows
says what has happened when, and asks what is to start. Times are in ps from the start of the scenario.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

__all__ = ["Operation", "Work"]

Described = tuple[int, str, int, int, Sequence[int], Sequence[int], "int | None"]
"""Host, ``send``, ``receive`` or ``compute``, flow or processor, time of a computation, operations that must
have ended, operations that must have started, and from when on it is left out."""


@dataclass
class Operation:
    """An operation.

    Attributes:
        host: Its host.
        what: ``send``, ``receive`` or ``compute``.
        number: Its flow, or the processor on which it computes.
        time_ps: How long it computes.
        before_ps: From when on it is left out; none for no such limit.
        unmet: Dependencies that are not met.
        after_ps: When the last of the others was met.
        ready_ps: When it became ready.
        start_ps: When it started.
        end_ps: When it ended.
        arrived_ps: Of a receive, when its flow had arrived.
        left_out: Whether it will never start.
        ends: Operations that wait for its end.
        starts: Operations that wait for its start.
    """

    host: int
    what: str
    number: int
    time_ps: int
    before_ps: int | None
    unmet: int
    after_ps: int = 0
    ready_ps: int | None = None
    start_ps: int | None = None
    end_ps: int | None = None
    arrived_ps: int | None = None
    left_out: bool = False
    ends: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)


@dataclass
class _Processor:
    """A processor of a host.

    Attributes:
        busy: Whether it computes.
        free_ps: Since when it does not.
        queue: Operations that are ready: since when, which.
    """

    busy: bool = False
    free_ps: int = 0
    queue: list[tuple[int, int]] = field(default_factory=list)


class Work:
    """The operations of a scenario while it runs.

    Args:
        described: The operations.
        earliest: When each flow may start.

    Attributes:
        operations: The operations, by number.
        open: How many have neither ended nor been left out.
        flows_left_out: Flows that will never start.
    """

    def __init__(self, described: Sequence[Described], earliest: Sequence[int]) -> None:
        self.operations = [
            Operation(host, what, number, time, before, len(after) + len(after_start))
            for host, what, number, time, after, after_start, before in described
        ]
        self.open = len(self.operations)
        self.flows_left_out: list[int] = []
        self._earliest = earliest
        self._senders: dict[int, int] = {}
        self._receivers: dict[int, int] = {}
        self._processors: dict[tuple[int, int], _Processor] = {}
        # Operations that become ready or end, by time; those that are ready and have not started.
        self._due: list[tuple[int, int]] = []
        self._ready: list[int] = []
        # The time at which those became ready.
        self._instant = 0
        for place, (_, what, number, _, after, after_start, _) in enumerate(described):
            for other in after:
                self.operations[other].ends.append(place)
            for other in after_start:
                self.operations[other].starts.append(place)
            if what == "send":
                self._senders[number] = place
            elif what == "receive":
                self._receivers[number] = place
        for place, operation in enumerate(self.operations):
            if operation.unmet == 0:
                self._expect(place)

    def __contains__(self, flow: int) -> bool:
        """Whether an operation sends a flow: then it does not start by the clock."""
        return flow in self._senders

    @property
    def due_ps(self) -> int | None:
        """Time at which something is due, unless something else happens before; None if nothing is."""
        return self._due[0][0] if self._due else None

    def sent(self, flow: int, when: int) -> None:
        """The last byte of a flow was acknowledged at its sender."""
        if (place := self._senders.get(flow)) is not None:
            heapq.heappush(self._due, (when, place))

    def received(self, flow: int, when: int) -> None:
        """The last byte of a flow has arrived."""
        if (place := self._receivers.get(flow)) is None:
            return
        operation = self.operations[place]
        operation.arrived_ps = when
        if operation.start_ps is not None:
            heapq.heappush(self._due, (when, place))

    def advance(self, now: int) -> int | None:
        """Does what is due by ``now``, up to the next flow that is to start, at ``now``.

        What happened at one time comes before what happened later, also where both are learned of at once: a
        computation begins when what it waits for ended, and not when that was learned.

        Returns:
            The flow; none if nothing is left to do.
        """
        while True:
            if not self._ready and not (self._due and self._due[0][0] <= now):
                return None
            if not self._ready:
                self._instant = self._due[0][0]
            # All that is due at one time comes before what starts then.
            while self._due and self._due[0][0] <= self._instant:
                self._happens(*heapq.heappop(self._due))
            if not self._ready:
                continue
            place = heapq.heappop(self._ready)
            operation = self.operations[place]
            ready = operation.ready_ps or 0
            at = now if operation.what == "send" else ready
            if operation.before_ps is not None and at >= operation.before_ps:
                self._leave_out(place)
            elif operation.what == "compute":
                processor = self._processors.setdefault((operation.host, operation.number), _Processor())
                heapq.heappush(processor.queue, (ready, place))
                self._serve(processor)
            else:
                self._start(at, operation)
                if operation.what == "send":
                    return operation.number
                if operation.arrived_ps is not None:
                    heapq.heappush(self._due, (max(ready, operation.arrived_ps), place))

    def waits(self) -> Iterator[tuple[int, str]]:
        """Operations that have started and not ended, with what each waits for."""
        text = {
            "send": "waits for the end of its flow {}",
            "receive": "waits for the last byte of flow {}",
            "compute": "computes on processor {}",
        }
        for place, operation in enumerate(self.operations):
            if operation.start_ps is not None and operation.end_ps is None:
                yield place, text[operation.what].format(operation.number)

    def late_ps(self) -> list[int]:
        """Returns the delays with which sends started after they were ready."""
        return [
            operation.start_ps - (operation.ready_ps or 0)
            for operation in self.operations
            if operation.what == "send" and operation.start_ps is not None
        ]

    def _happens(self, at: int, place: int) -> None:
        operation = self.operations[place]
        if operation.left_out or operation.end_ps is not None:
            return
        if operation.start_ps is not None:
            self._end(max(at, operation.start_ps), operation)
        elif operation.ready_ps is None:
            operation.ready_ps = at
            heapq.heappush(self._ready, place)

    def _start(self, at: int, operation: Operation) -> None:
        operation.start_ps = at
        for other in operation.starts:
            self._release(at, other)

    def _end(self, at: int, operation: Operation) -> None:
        operation.end_ps = at
        self.open -= 1
        for other in operation.ends:
            self._release(at, other)
        if operation.what == "compute":
            processor = self._processors[operation.host, operation.number]
            processor.busy, processor.free_ps = False, at
            self._serve(processor)

    def _release(self, at: int, place: int) -> None:
        operation = self.operations[place]
        operation.unmet -= 1
        # What happened last need not be what was learned of last.
        operation.after_ps = max(operation.after_ps, at)
        if operation.unmet == 0:
            self._expect(place)

    def _expect(self, place: int) -> None:
        """Schedules an operation: all that it waits for has happened."""
        operation = self.operations[place]
        at = operation.after_ps
        if operation.what == "send":
            at = max(at, self._earliest[operation.number])
        heapq.heappush(self._due, (at, place))

    def _serve(self, processor: _Processor) -> None:
        """Starts the next computation of a processor that is free."""
        if processor.busy or not processor.queue:
            return
        ready, place = heapq.heappop(processor.queue)
        processor.busy = True
        operation = self.operations[place]
        self._start(max(ready, processor.free_ps), operation)
        heapq.heappush(self._due, ((operation.start_ps or 0) + operation.time_ps, place))

    def _leave_out(self, place: int) -> None:
        """An operation will not start, nor will what depends on it."""
        places = [place]
        while places:
            operation = self.operations[places.pop()]
            if operation.left_out:
                continue
            operation.left_out = True
            self.open -= 1
            if operation.what == "send":
                self.flows_left_out.append(operation.number)
            places += [*operation.ends, *operation.starts]
