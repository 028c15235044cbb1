"""Checks a switch, packet by packet: what came, what may stay, what leaves when, which packets are marked."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from incast.audit.draws import WHOLE, mix
from incast.audit.evidence import FRAMES, Evidence, Packet, Port
from incast.audit.links import Pauses
from incast.audit.report import Report
from incast.audit.routes import Routes
from incast.audit.rules import Buffer, Marks, Scheduler, scheduler

MOST_FINDINGS = 50
"""Findings at a switch at which its replay ends: what follows is their consequence."""

SENT, CAME, SEEN = range(3)
"""Events in their order at one instant: a transmission ends, a packet arrives, and after all events of it."""

LOSSES = ("dropped_packets", "dropped_bytes")
"""The totals that are known only if the way of each lost packet is."""

TOTALS = ("marked_packets", "peak_queue_bytes", "paused_ps", "pauses_sent", "trimmed_packets", *LOSSES)
"""The totals of a port that a replay derives: columns of the table ``ports``."""


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
    mark: bool | None


@dataclass
class Out:
    """A port of a switch, while its packets are replayed.

    Attributes:
        lengths: Bytes in each queue.
        frames: The kinds of the frames that wait, in their order, by the queues that they pause or resume.
        paused: The queues that the far end has paused.
        next: How many of its packets were replayed.
        busy: When its transmission ends.
        perhaps: Packets that came with a mark, and that a draw that is not known may have marked again.
        totals: The numbers in `TOTALS`, as they follow from the replay.
    """

    port: Port
    choose: Scheduler
    marks: Marks | None
    queues: list[deque[Waiting]]
    lengths: list[int]
    frames: dict[int, str] = field(default_factory=dict)
    paused: Pauses = field(default_factory=Pauses)
    next: int = 0
    busy: int = 0
    perhaps: int = 0
    totals: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TOTALS, 0))

    @property
    def due(self) -> Packet | None:
        """The next packet that it sent, of those that were not replayed yet."""
        return self.port.sent[self.next] if self.next < len(self.port.sent) else None

    def leave(self, packet: Packet) -> None:
        """Begins the transmission of the packet that is due."""
        self.next += 1
        self.busy = self.port.ends(packet)

    def drop(self, packet: Packet) -> None:
        """Counts a packet that is lost here."""
        self.totals["dropped_packets"] += 1
        self.totals["dropped_bytes"] += packet.size


class Replay:
    """Replays a switch: its arrivals and transmissions are of the result, all else follows from the rules."""

    def __init__(self, evidence: Evidence, report: Report, node: int, routes: Routes) -> None:
        switch = evidence.settings["switch"]
        queues = switch.get("queues", 1)
        self.evidence, self.report, self.node, self.routes = evidence, report, node, routes
        self.name = evidence.nodes[node]
        self.buffer = Buffer(evidence, node)
        self.outs = {
            number: Out(
                port, scheduler(switch), Marks.of(evidence, port),
                [deque() for _ in range(queues)], [0] * queues,
            )
            for number, port in evidence.ports_of(node).items()
        }  # fmt: skip
        self.stream = mix(evidence.settings["seed"] ^ mix(node))
        self.before = len(report.findings)
        self.arrivals = evidence.arrivals(node)
        self.undecided = 0
        self.certain: set[int] = set()
        # The last arrival of each port and queue that left: what came before and did not leave is gone.
        self.last_by_queue: dict[tuple[int, int], int] = {}
        # The ports by which packets left, by flow and receiver, and by receiver.
        self.ways: dict[Any, set[int]] = defaultdict(set)
        self.matched = self._match()

    # What became of each arrival.

    def _match(self) -> list[list[Packet]]:
        """Finds the transmissions that each arrival can be, by time: equal packets that began after it.

        Where there are as many arrivals as transmissions each arrival has one. Where there are fewer some
        were dropped, and the rules say which. Equal packets that took different ways are known by their
        neighbours in the queue.
        """
        left: dict[Any, list[Packet]] = defaultdict(list)
        for number, out in self.outs.items():
            for packet in out.port.sent:
                if packet.kind not in FRAMES:
                    left[packet.identity].append(packet)
                    self.ways[packet.flow, packet.destination].add(number)
                    self.ways[packet.destination].add(number)
        came: dict[Any, list[int]] = defaultdict(list)
        for i, (_, _, packet) in enumerate(self.arrivals):
            came[packet.identity].append(i)
        matched: list[list[Packet]] = [[] for _ in self.arrivals]
        origin: dict[Packet, int] = {}
        apart = []
        for identity, departures in left.items():
            departures.sort(key=lambda packet: packet.time)
            numbers = came[identity]
            one_way = len(self.ways[departures[0].flow, departures[0].destination]) == 1
            if len(numbers) == len(departures) and (one_way or len(numbers) == 1):
                origin |= zip(departures, numbers, strict=True)
            elif one_way:
                for i in numbers:
                    matched[i] = [packet for packet in departures if packet.time >= self.arrivals[i][0]]
            else:
                apart.append((departures, numbers))
        low, high = self._bounds(origin) if apart else ({}, {})
        for departures, numbers in apart:
            for packet in sorted(departures, key=lambda packet: high[packet]):
                for i in numbers:
                    if low[packet] < i < high[packet] and self.arrivals[i][0] <= packet.time:
                        origin[packet] = i
                        numbers.remove(i)
                        break
        for packet, i in origin.items():
            matched[i] = [packet]
            self.certain.add(i)
            key = packet.port, packet.queue
            self.last_by_queue[key] = max(i, self.last_by_queue.get(key, -1))
        return matched

    def _bounds(self, origin: dict[Packet, int]) -> tuple[dict[Packet, int], dict[Packet, int]]:
        """Finds the arrivals after and before which each packet came, by the order of its queue."""

        def nearest(packets: Iterable[Packet], none: int) -> dict[Packet, int]:
            bounds: dict[Packet, int] = {}
            last: dict[tuple[int, int], int] = {}
            for packet in packets:
                key = packet.port, packet.queue
                bounds[packet] = last.get(key, none)
                last[key] = origin.get(packet, bounds[packet])
            return bounds

        sent = [packet for out in self.outs.values() for packet in out.port.sent]
        return nearest(sent, -1), nearest(reversed(sent), len(self.arrivals))

    def candidates(self, index: int, packet: Packet) -> set[int]:
        """Returns the ports by which a packet leaves, or would have left if it had not been dropped."""
        way = self.routes.way(self.node, packet)
        ways = {packet.port for packet in self.matched[index]}
        if not ways and way is not None:
            return {way}
        if not ways:
            near = {number for number, out in self.outs.items() if out.port.peer == packet.destination}
            return near or self.ways[packet.flow, packet.destination] or self.ways[packet.destination]
        if way is not None:
            self.report.checked["routes"] += 1
            if ways != {way}:
                place, time = self.outs[way].port.name, self.arrivals[index][0]
                self.report.find("route", place, time, packet, f"by port {way}", f"by port {min(ways)}")
        return ways

    # The replay.

    def run(self) -> None:
        """Replays everything up to the end of the run, and compares the totals."""
        events = [(time, CAME, port, i) for i, (time, port, _) in enumerate(self.arrivals)]
        for number, out in self.outs.items():
            for i, packet in enumerate(out.port.sent):
                events.append((packet.time, SEEN, number, i))
                if (end := out.port.ends(packet)) < self.evidence.end:
                    events.append((end, SENT, number, i))
        for time, kind, port, i in sorted(events):
            out = self.outs[port]
            if kind == CAME:
                self._came(time, out, i)
            elif kind == SENT:
                self._serve(time, out)
            elif out.next <= i:
                self._unexpected(time, out)
            if len(self.report.findings) - self.before >= MOST_FINDINGS:
                self.report.skip(f"{self.name} after {time} ps: it has {MOST_FINDINGS} findings before")
                return
        self._totals()

    def _came(self, time: int, ingress: Out, index: int) -> None:
        """Handles a packet whose last bit has come in."""
        packet = self.arrivals[index][2]
        if packet.kind in FRAMES:
            ingress.paused.apply(time, packet)
            self._serve(time, ingress)
            return
        ways = self.candidates(index, packet)
        if len(ways) == 1:
            self._came_to(time, ingress, index, self.outs[min(ways)])
        elif ways:
            self.undecided += 1
        else:
            place, expected = ingress.port.name, "a port by which it leaves"
            self.report.find("route", place, time, f"{packet} came", expected, "none")

    def _came_to(self, time: int, ingress: Out, index: int, out: Out) -> None:
        """Handles a packet that leaves by the port ``out``, if there is room for it."""
        packet = self.arrivals[index][2]
        port, queue, place = ingress.port.port, packet.queue, out.port.name
        limits = self.buffer.limits(queue, out.lengths[queue], sum(out.lengths), packet.size)
        over = [f"{held} B exceed the {what} of {most} B" for what, held, most in limits if held > most]
        self.report.checked["admissions"] += 1
        certain = index in self.certain
        if over and certain:
            self.report.find("admission", place, time, packet, f"dropped: {over[0]}", "sent")
        elif over:
            out.drop(packet)
            return
        taken = self.buffer.take(port, queue, packet.size)
        if taken == "full":
            out.drop(packet)
            if certain:
                self.report.find("admission", place, time, packet, "dropped: its headroom is full", "sent")
            return
        if not self.matched[index] and self.last_by_queue.get((out.port.port, queue), -1) > index:
            fits = ", ".join(f"{held} B within the {what} of {most} B" for what, held, most in limits)
            self.report.find("admission", place, time, packet, f"sent: {fits or 'no limit'}", "never sent")
            self.buffer.release(port, queue, packet.size)
            return
        if taken == "pause":
            self._signal(time, ingress, "pause", queue)
        self._append(time, port, out, packet)

    def _append(self, time: int, ingress: int, out: Out, packet: Packet) -> None:
        """Puts a packet into its queue, with a mark if the rule says so."""
        queue = self.queue_of(packet)
        mark = self._drawn(out, packet, out.lengths[queue], at_enqueue=True)
        out.queues[queue].append(Waiting(packet, ingress, mark))
        out.lengths[queue] += packet.size
        out.totals["marked_packets"] += bool(mark)
        out.totals["peak_queue_bytes"] = max(out.totals["peak_queue_bytes"], sum(out.lengths))
        self._serve(time, out)

    def queue_of(self, packet: Packet) -> int:
        """Returns the queue of a packet."""
        return packet.queue

    def _signal(self, time: int, out: Out, kind: str, queue: int) -> None:
        """Sends a frame to the far end of a port, or cancels one that waits for the same queue."""
        out.totals["pauses_sent"] += kind == "pause"
        if out.frames.pop(queue, None) is not None:
            out.totals["pauses_sent"] -= 1
        else:
            out.frames[queue] = kind
            self._serve(time, out)

    def _serve(self, time: int, out: Out) -> None:
        """Compares what a port sends now, if it is idle, with what it is to send."""
        due = out.due
        if out.busy > time or (due is not None and due.time < time):
            return
        if out.frames:
            queue, kind = next(iter(out.frames.items()))
            self.report.checked["pause frames"] += 1
            if due is None or due.time != time or (due.kind, due.queue) != (kind, queue):
                self._late("pause", time, out, f"{kind} of queue {queue}")
            else:
                del out.frames[queue]
                out.leave(due)
            return
        may = [bool(queue) and i not in out.paused.queues for i, queue in enumerate(out.queues)]
        if not any(may):
            return
        heads = [queue[0].packet.size if may[i] else None for i, queue in enumerate(out.queues)]
        chosen = out.choose(heads, [len(queue) == 1 for queue in out.queues])
        first = out.queues[chosen][0].packet
        self.report.checked["transmissions of switches"] += 1
        if due is None or due.time != time:
            self._late("departure", time, out, str(first))
            return
        if due.identity != first.identity:
            self.report.find("order", out.port.name, time, due, f"{first} before it", "sent ahead of it")
        self._take(time, out, due)

    def _late(self, kind: str, time: int, out: Out, subject: str) -> None:
        """Reports a port that is idle although something is to leave."""
        due = out.due
        after = f"{due} at {due.time} ps" if due is not None else "nothing until the end"
        self.report.find(kind, out.port.name, time, subject, f"sent at {time} ps", after)
        # What the port sends next is taken for granted: then the replay continues.
        out.busy = due.time if due is not None else self.evidence.end

    def _unexpected(self, time: int, out: Out) -> None:
        """Reports a transmission that has begun and was not due."""
        due = out.due
        assert due is not None
        if out.busy == time:
            out.busy = 0
            before = len(self.report.findings)
            self._serve(time, out)
            if out.due is not due:
                del self.report.findings[before:]
                return
        if due.kind in FRAMES:
            self.report.find("pause", out.port.name, time, due, "no frame at this time", "sent")
            out.frames.pop(due.queue, None)
            out.leave(due)
            return
        why = "no transmission at this time"
        if due.queue in out.paused.queues:
            why = "no transmission: its queue is paused"
        elif out.busy > time:
            why = f"no transmission: the port is busy until {out.busy} ps"
        self.report.find("departure", out.port.name, time, due, why, "sent")
        self._take(time, out, due)

    def _take(self, time: int, out: Out, sent: Packet) -> None:
        """Takes a packet that leaves out of its queue, with its mark and its share of the buffer."""
        out.leave(sent)
        queue = self.queue_of(sent)
        equal = (each for each in out.queues[queue] if each.packet.identity == sent.identity)
        waiting = next(equal, None)
        if waiting is None:
            return
        out.queues[queue].remove(waiting)
        out.lengths[queue] -= sent.size
        self._marked(out, waiting, sent, out.lengths[queue])
        if self.buffer.release(waiting.ingress, sent.queue, sent.size):
            self._signal(time, self.outs[waiting.ingress], "resume", sent.queue)

    # Marks.

    def _drawn(self, out: Out, packet: Packet, queue: int, at_enqueue: bool) -> bool | None:
        """Returns whether a packet is marked behind ``queue`` bytes; None: its draw is too close to tell."""
        if out.marks is None or out.marks.at_enqueue != at_enqueue or packet.kind != "data":
            return False
        probability = out.marks.probability(queue)
        if probability in (0, 1):
            return probability == 1
        draw = Fraction(mix(self.stream ^ packet.hash ^ mix(packet.position ^ out.port.port)), WHOLE)
        return None if abs(draw - probability) < Fraction(1, 2**20) else draw < probability

    def _marked(self, out: Out, waiting: Waiting, sent: Packet, queue: int) -> None:
        """Compares the mark of a packet that leaves with the rule."""
        at_dequeue = self._drawn(out, waiting.packet, queue, at_enqueue=False)
        mark = at_dequeue if waiting.mark is False else waiting.mark
        if mark is None:
            self.report.checked["draws of marks too close to tell"] += 1
            out.totals["marked_packets"] += sent.marked and not waiting.packet.marked
            out.perhaps += waiting.packet.marked
            return
        out.totals["marked_packets"] += bool(at_dequeue)
        self.report.checked["marks"] += 1
        expected = waiting.packet.marked or mark
        if sent.marked != expected:
            words = {True: "marked", False: "not marked"}
            subject = f"{sent} behind {queue} B"
            self.report.find("mark", out.port.name, sent.time, subject, words[expected], words[sent.marked])

    def _totals(self) -> None:
        """Compares the totals of the ports."""
        for out in self.outs.values():
            # A packet that is marked already can be marked again by a draw.
            least, found = out.totals["marked_packets"], out.port.row["marked_packets"]
            out.totals["marked_packets"] = min(max(least, found), least + out.perhaps)
            out.totals["paused_ps"] = out.paused.total(self.evidence.outcome["now_ps"])
            checked = [name for name in TOTALS if name not in LOSSES or not self.undecided]
            expected = {name: out.totals[name] for name in checked}
            self.report.same("totals", out.port.name, expected, out.port.row)
        if self.undecided:
            lost = f"{self.undecided} packets at {self.name} that did not leave"
            self.report.skip(f"{lost}: more than one port was possible")
