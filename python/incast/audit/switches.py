"""Checks a switch, packet by packet: what came, what may stay, what leaves when, which packets are marked."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from incast.audit.draws import WHOLE, mix
from incast.audit.evidence import FRAMES, Evidence, Packet, Port, duration
from incast.audit.links import Pauses
from incast.audit.report import Report
from incast.audit.routes import Routes
from incast.audit.rules import Buffer, Marks, Scheduler, scheduler

MOST_FINDINGS = 50
"""Findings at a switch at which its replay ends: what follows is their consequence."""

SENT, CAME, SEEN = range(3)
"""Events in their order at one instant: a transmission ends, a packet arrives, and after all events of it."""


@dataclass
class Waiting:
    """A packet that is in a queue.

    Attributes:
        packet: The packet, as it was sent to this switch.
        ingress: The port by which it came.
        mark: Whether it is to be marked at enqueue; None: a draw that is not known decides.
    """

    packet: Packet
    ingress: int
    mark: bool | None = False

    @property
    def marked(self) -> bool:
        """Whether it carries a mark after it was queued."""
        return self.packet.marked or bool(self.mark)


@dataclass
class Out:
    """A port of a switch, while its packets are replayed."""

    port: Port
    sent: list[Packet]
    scheduler: Scheduler
    marks: Marks | None
    queues: list[deque[Waiting]]
    lengths: list[int]
    frames: deque[tuple[str, int]] = field(default_factory=deque)
    paused: Pauses = field(default_factory=Pauses)
    next: int = 0
    busy: int = 0
    peak: int = 0
    drops: int = 0
    dropped: int = 0
    marked: int = 0
    perhaps: int = 0
    trimmed: int = 0
    pauses: int = 0

    @property
    def due(self) -> Packet | None:
        """The next packet that it sent, of those that were not replayed yet."""
        return self.sent[self.next] if self.next < len(self.sent) else None


class Replay:
    """Replays a switch: its arrivals and transmissions are of the result, all else follows from the rules."""

    def __init__(self, evidence: Evidence, report: Report, node: int, routes: Routes) -> None:
        switch = evidence.settings["switch"]
        self.evidence, self.report, self.node = evidence, report, node
        self.name = evidence.nodes[node]
        self.buffer = Buffer.of(evidence, node)
        queues = switch.get("queues", 1)
        self.outs = {
            number: Out(
                port, evidence.packets[at, number], scheduler(switch), Marks.of(evidence, port),
                [deque() for _ in range(queues)], [0] * queues,
            )
            for (at, number), port in evidence.ports.items()
            if at == node
        }  # fmt: skip
        self.stream = mix(evidence.settings["seed"] ^ mix(node))
        self.before = len(report.findings)
        self.routes = routes
        self.arrivals = evidence.arrivals(node)
        self.undecided = 0
        self.certain: set[int] = set()
        # The last arrival of each port and queue that left: what came before and did not leave is gone.
        self.last_by_queue: dict[tuple[int, int], int] = {}
        self.ways = self._ways()
        self.matched = self._match()

    # What became of each arrival.

    def _match(self) -> list[list[Packet]]:
        """The transmissions that each arrival can be, by time: equal packets that began after it.

        Where there are as many arrivals as transmissions each arrival has one. Where there are fewer some
        were dropped, and the rules say which. Equal packets that took different ways are known by their
        neighbours in the queue.
        """
        left: dict[Any, list[Packet]] = {}
        for out in self.outs.values():
            for packet in out.sent:
                if packet.kind not in FRAMES:
                    left.setdefault(packet.identity, []).append(packet)
        came: dict[Any, list[int]] = {}
        for i, (_, _, packet) in enumerate(self.arrivals):
            came.setdefault(packet.identity, []).append(i)
        matched: list[list[Packet]] = [[] for _ in self.arrivals]
        origin: dict[Packet, int] = {}
        apart = []
        for identity, departures in left.items():
            departures.sort(key=lambda packet: packet.time)
            numbers = came.get(identity, [])
            one_way = len(self.ways[departures[0].flow, departures[0].destination]) == 1
            if len(numbers) == len(departures) and (one_way or len(numbers) == 1):
                origin |= zip(departures, numbers, strict=True)
            elif one_way:
                for i in numbers:
                    matched[i] = [packet for packet in departures if packet.time >= self.arrivals[i][0]]
            else:
                apart.append((departures, numbers))
        bounds = self._bounds(origin) if apart else {}
        for departures, numbers in apart:
            for packet in sorted(departures, key=lambda packet: bounds[packet][1]):
                low, high = bounds[packet]
                fits = [i for i in numbers if low < i < high and self.arrivals[i][0] <= packet.time]
                if fits:
                    origin[packet] = fits[0]
                    numbers.remove(fits[0])
        for packet, i in origin.items():
            matched[i] = [packet]
            self.certain.add(i)
            key = packet.port, packet.queue
            self.last_by_queue[key] = max(i, self.last_by_queue.get(key, -1))
        return matched

    def _bounds(self, origin: dict[Packet, int]) -> dict[Packet, tuple[int, int]]:
        """The arrivals between which each packet came, by the order of its queue."""
        bounds: dict[Packet, tuple[int, int]] = {}
        for out in self.outs.values():
            low: dict[int, int] = {}
            for packet in out.sent:
                bounds[packet] = low.get(packet.queue, -1), 0
                low[packet.queue] = origin.get(packet, low.get(packet.queue, -1))
            high: dict[int, int] = {}
            for packet in reversed(out.sent):
                bounds[packet] = bounds[packet][0], high.get(packet.queue, len(self.arrivals))
                high[packet.queue] = origin.get(packet, high.get(packet.queue, len(self.arrivals)))
        return bounds

    def _ways(self) -> dict[Any, set[int]]:
        """The ports by which packets left this switch, by flow and receiver, and by receiver."""
        ways: dict[Any, set[int]] = {}
        for number, out in self.outs.items():
            for packet in out.sent:
                if packet.kind not in FRAMES:
                    ways.setdefault((packet.flow, packet.destination), set()).add(number)
                    ways.setdefault(packet.destination, set()).add(number)
        return ways

    def candidates(self, index: int, packet: Packet) -> set[int]:
        """The ports by which a packet leaves, or would have left if it had not been dropped."""
        matched = self.matched[index]
        way = self.routes.way(self.node, packet)
        if matched:
            ways = {packet.port for packet in matched}
            if way is not None:
                self.report.checked["routes"] += 1
                if ways != {way}:
                    at = self.arrivals[index][0]
                    self._find("route", at, way, packet, f"by port {way}", f"by port {min(ways)}")
            return ways
        if way is not None:
            return {way}
        near = {number for number, out in self.outs.items() if out.port.peer == packet.destination}
        return (
            near
            or self.ways.get((packet.flow, packet.destination))
            or self.ways.get(packet.destination, set())
        )

    # The replay.

    def run(self) -> None:
        """Replays everything up to the end of the run, and compares the totals."""
        events: list[tuple[int, int, int, int]] = [
            (time, CAME, port, i) for i, (time, port, _) in enumerate(self.arrivals)
        ]
        end = self.evidence.end
        for number, out in self.outs.items():
            for i, packet in enumerate(out.sent):
                events.append((packet.time, SEEN, number, i))
                ends = packet.time + duration(packet.size, out.port.rate)
                if ends < end:
                    events.append((ends, SENT, number, i))
        events.sort()
        for time, kind, port, i in events:
            if kind == CAME:
                self._came(time, port, i)
            elif kind == SENT:
                self._serve(time, port)
            elif self.outs[port].next <= i:
                self._unexpected(time, port)
            if len(self.report.findings) - self.before >= MOST_FINDINGS:
                self.report.skip(f"{self.name} after {time} ps: it has {MOST_FINDINGS} findings before")
                return
        self._totals()

    def _find(
        self, kind: str, time: int, port: int, subject: object, expected: object, found: object
    ) -> None:
        self.report.find(kind, self.outs[port].port.name, time, str(subject), expected, found)

    def _came(self, time: int, port: int, index: int) -> None:
        """A packet's last bit has come in."""
        packet = self.arrivals[index][2]
        if packet.kind in FRAMES:
            self._paused(time, port, packet)
            return
        ways = self.candidates(index, packet)
        if not ways:
            self._find("route", time, port, f"{packet} came", "a port by which it leaves", "none")
            return
        if len(ways) > 1:
            self.undecided += 1
            return
        self._came_to(time, port, index, *ways)

    def _came_to(self, time: int, port: int, index: int, number: int) -> None:
        """A packet has come that leaves by the port ``number``, if there is room for it."""
        packet, out = self.arrivals[index][2], self.outs[number]
        queue = packet.queue
        limits = self.buffer.limits(queue, out.lengths[queue], sum(out.lengths), packet.size)
        over = [limit for limit in limits if limit[1] > limit[2]]
        self.report.checked["admissions"] += 1
        gone = not self.matched[index] and self.last_by_queue.get((number, queue), -1) > index
        certain = index in self.certain
        if over and certain:
            what, held, most = over[0]
            self._find(
                "admission", time, number, packet, f"dropped: {held} B exceed the {what} of {most} B", "sent"
            )
        elif over:
            self._drop(out, packet)
            return
        taken = self.buffer.take(port, queue, packet.size)
        if taken == "full":
            self._drop(out, packet)
            if certain:
                self._find("admission", time, number, packet, "dropped: its headroom is full", "sent")
            return
        if gone:
            fits = ", ".join(f"{held} B within the {what} of {most} B" for what, held, most in limits)
            self._find("admission", time, number, packet, f"sent: {fits or 'no limit'}", "never sent")
            self.buffer.release(port, queue, packet.size)
            return
        mark = self._marked_at_enqueue(out, packet, out.lengths[queue])
        if taken == "pause":
            self._signal(time, port, "pause", queue)
        self._append(time, number, queue, Waiting(packet, port, mark))

    def _marked_at_enqueue(self, out: Out, packet: Packet, length: int) -> bool | None:
        """Whether a packet is marked now, behind ``length`` bytes; None: as for :meth:`_drawn`."""
        if out.marks is None or not out.marks.at_enqueue:
            return False
        mark = self._drawn(out, packet, length)
        out.marked += bool(mark)
        return mark

    def _append(self, time: int, number: int, queue: int, waiting: Waiting) -> None:
        """Puts a packet into a queue of a port."""
        out = self.outs[number]
        out.queues[queue].append(waiting)
        out.lengths[queue] += waiting.packet.size
        out.peak = max(out.peak, sum(out.lengths))
        self._serve(time, number)

    def _drop(self, out: Out, packet: Packet) -> None:
        out.drops += 1
        out.dropped += packet.size

    def queue_of(self, packet: Packet) -> int:
        """The queue of a packet."""
        return packet.queue

    def _paused(self, time: int, port: int, frame: Packet) -> None:
        """A frame that pauses or resumes a queue of a port has come in."""
        self.outs[port].paused.apply(time, frame.kind, frame.queue)
        self._serve(time, port)

    def _signal(self, time: int, port: int, kind: str, queue: int) -> None:
        """A frame for the far end of a port: it cancels one that waits for the same queue."""
        out = self.outs[port]
        if kind == "pause":
            out.pauses += 1
        for waiting in out.frames:
            if waiting[1] == queue:
                out.frames.remove(waiting)
                out.pauses -= 1
                return
        out.frames.append((kind, queue))
        self._serve(time, port)

    def _serve(self, time: int, number: int) -> None:
        """Compares what a port sends now, if it is idle, with what it is to send."""
        out = self.outs[number]
        if out.busy > time:
            return
        due = out.due
        if due is not None and due.time < time:
            return
        if out.frames:
            kind, queue = out.frames[0]
            self.report.checked["pause frames"] += 1
            if due is None or due.time != time or (due.kind, due.queue) != (kind, queue):
                self._late("pause", time, number, f"{kind} of queue {queue}", due)
                return
            out.frames.popleft()
            self._leave(out, due)
            return
        may = [bool(queue) and i not in out.paused.queues for i, queue in enumerate(out.queues)]
        if not any(may):
            return
        heads = [queue[0].packet.size if may[i] else None for i, queue in enumerate(out.queues)]
        chosen = out.scheduler.choose(heads, [len(queue) == 1 for queue in out.queues])
        first = out.queues[chosen][0]
        self.report.checked["transmissions of switches"] += 1
        if due is None or due.time != time:
            self._late("departure", time, number, str(first.packet), due)
            return
        if due.identity != first.packet.identity:
            self._find("order", time, number, due, f"{first.packet} before it", "sent ahead of it")
            self._take(time, out, due)
            return
        self._take(time, out, due, out.queues[chosen])

    def _late(self, kind: str, time: int, number: int, subject: str, due: Packet | None) -> None:
        """A port is idle although something is to leave. The replay continues when its next packet leaves."""
        out = self.outs[number]
        after = f"{due} at {due.time} ps" if due is not None else "nothing until the end"
        self._find(kind, time, number, subject, f"sent at {time} ps", after)
        # What the port sends next is taken for granted.
        out.busy = due.time if due is not None else self.evidence.end

    def _unexpected(self, time: int, number: int) -> None:
        """A transmission has begun which was not due."""
        out = self.outs[number]
        due = out.due
        assert due is not None
        if out.busy == time:
            out.busy = 0
            before = len(self.report.findings)
            self._serve(time, number)
            if out.due is not due:
                del self.report.findings[before:]
                return
        why = "no transmission at this time"
        if due.queue in out.paused.queues:
            why = "no transmission: its queue is paused"
        elif out.busy > time:
            why = f"no transmission: the port is busy until {out.busy} ps"
        if due.kind in FRAMES:
            self._find("pause", time, number, due, "no frame at this time", "sent")
            out.frames = deque(frame for frame in out.frames if frame[1] != due.queue)
            self._leave(out, due)
        else:
            self._find("departure", time, number, due, why, "sent")
            self._take(time, out, due)

    def _leave(self, out: Out, packet: Packet) -> None:
        out.next += 1
        out.busy = packet.time + duration(packet.size, out.port.rate)

    def _take(self, time: int, out: Out, sent: Packet, queue: deque[Waiting] | None = None) -> None:
        """Takes a packet that leaves out of its queue, with its mark and its share of the buffer."""
        self._leave(out, sent)
        waiting = None
        if queue is not None:
            waiting = queue.popleft()
        else:
            for each in out.queues:
                waiting = next((w for w in each if w.packet.identity == sent.identity), None)
                if waiting is not None:
                    each.remove(waiting)
                    break
        if waiting is None:
            return
        out.lengths[self.queue_of(sent)] -= sent.size
        self._marked(out, waiting, sent, out.lengths[self.queue_of(sent)])
        if self.buffer.release(waiting.ingress, sent.queue, sent.size):
            self._signal(time, waiting.ingress, "resume", sent.queue)

    # Marks.

    def _drawn(self, out: Out, packet: Packet, queue: int) -> bool | None:
        """Whether a packet is marked behind ``queue`` bytes; None: its draw is too close to tell."""
        assert out.marks is not None
        probability = out.marks.probability(queue)
        if packet.kind != "data" or probability == 0:
            return False
        if probability == 1:
            return True
        draw = mix(self.stream ^ packet.hash ^ mix(packet.position ^ out.port.port))
        if abs(Fraction(draw, WHOLE) - probability) < Fraction(1, 2**20):
            return None
        return Fraction(draw, WHOLE) < probability

    def _marked(self, out: Out, waiting: Waiting, sent: Packet, queue: int) -> None:
        """Compares the mark of a packet that leaves with the rule."""
        at_dequeue = out.marks is not None and not out.marks.at_enqueue
        mark = self._drawn(out, waiting.packet, queue) if at_dequeue else waiting.mark
        if mark is None:
            self.report.checked["draws of marks too close to tell"] += 1
            out.marked += sent.marked and not waiting.packet.marked
            out.perhaps += waiting.packet.marked
            return
        out.marked += mark and at_dequeue
        self.report.checked["marks"] += 1
        expected = waiting.packet.marked or mark
        if sent.marked != expected:
            words = {True: "marked", False: "not marked"}
            self._find("mark", sent.time, out.port.port, f"{sent} behind {queue} B", words[expected],
                       words[sent.marked])  # fmt: skip

    def _totals(self) -> None:
        """Compares the totals of the ports."""
        for number, out in self.outs.items():
            rows, row = self.evidence.port_rows, self.evidence.row_of(self.node, number)
            # A packet that is marked already can be marked again by a draw.
            marked = rows["marked_packets"][row]
            expected = {
                "marked_packets": min(max(out.marked, marked), out.marked + out.perhaps),
                "peak_queue_bytes": out.peak,
                "paused_ps": out.paused.total(self.evidence.outcome["now_ps"]),
                "pauses_sent": out.pauses,
                "trimmed_packets": out.trimmed,
            }
            if not self.undecided:
                expected |= {"dropped_packets": out.drops, "dropped_bytes": out.dropped}
            for name, value in expected.items():
                self.report.same("totals", out.port.name, None, name, value, rows[name][row])
        if self.undecided:
            self.report.skip(
                f"{self.undecided} packets at {self.name} that did not leave: more than one port was possible"
            )
