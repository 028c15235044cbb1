"""Plain models of hosts and switches: one heap of events for the whole network, one event at a time.

They are written from docs/network/transport.md, scheduling.md, switch-buffer.md, pfc.md and engine.md, and
share nothing with the simulator. Times are picoseconds, sizes bytes.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from models.cases import Case, Flow, Link, Shared
from models.schedulers import Scheduler, scheduler

DEPARTED, ARRIVAL, START, PACED, RETRANSMIT, HELD_ACK = range(6)
"""What happens at a node, in the order in which it happens at one instant (engine.md, *Order of events*)."""

PFC_FRAME = 64
LARGEST_BACKOFF = 6
"""The retransmission timer doubles up to 64 times."""


class Clock:
    """The events to come, by time, kind and entity. Nodes cannot disturb each other at one instant."""

    def __init__(self) -> None:
        self.now = 0
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


@dataclass
class Packet:
    """A packet of the kind data, ack, nack, pause or resume.

    `byte` is the first one of a data packet; of an acknowledgement or a NACK it is the next expected.
    """

    kind: str
    size: int
    flow: Sender | None = None
    byte: int = 0
    payload: int = 0
    queue: int = 0


class Node(Protocol):
    """A node at the end of a link."""

    def departed(self, port: int) -> None:
        """The port has sent its packet's last bit."""

    def arrived(self, port: int, packet: Packet) -> None:
        """A packet's last bit has come in."""


class Wire:
    """One direction of a link: one packet after the other, each of which then takes the link's delay."""

    def __init__(self, clock: Clock, link: Link, node: Node, port: int) -> None:
        self.clock, self.link, self.node, self.port = clock, link, node, port
        self.far: tuple[Node, int]
        self.busy = self.paused = False

    def send(self, packet: Packet) -> None:
        """Begins to send a packet."""
        self.busy = True
        done = self.clock.now + duration(packet.size, self.link.rate)
        node, port = self.far
        self.clock.at(done, DEPARTED, self.port, self.node.departed, self.port)
        self.clock.at(done + self.link.delay, ARRIVAL, port, node.arrived, port, packet)


def duration(size: int, rate: int) -> int:
    """How long so many bytes take, rounded up to a picosecond."""
    return -(-size * 8 * 10**12 // rate)


class Sender:
    """The sending side of a flow: window, pacing, go-back-N and retransmission timer."""

    def __init__(self, host: Host, flow: Flow, number: int, place: int, receiver: Receiver) -> None:
        self.host, self.flow, self.number, self.place, self.receiver = host, flow, number, place, receiver
        self.state = "idle"  # or: in the ring, paced, leaving, done
        self.acknowledged = self.next = self.highest = 0
        self.inflight = 0
        self.next_at = flow.start
        self.finish: int | None = None
        self.deadline: int | None = None
        self.backoff = 0
        self.packets = self.resent = self.timeouts = 0
        line = host.wire.link.rate
        self.rate = line if flow.rate is None else min(flow.rate, line)
        self.window = math.inf if flow.window is None else flow.window

    def may_send(self) -> bool:
        """Whether there is something to send, and room in the window: one packet always has."""
        return self.next < self.flow.size and (self.inflight == 0 or self.inflight < self.window)

    def send(self) -> None:
        """The next packet, onto the wire."""
        now, transport = self.host.clock.now, self.host.case.transport
        payload = min(transport.payload, self.flow.size - self.next)
        packet = Packet("data", transport.data(payload), self, self.next, payload, self.flow.queue)
        self.packets += 1
        self.resent += self.next < self.highest
        self.next += payload
        self.highest = max(self.highest, self.next)
        self.inflight += packet.size
        self.next_at = now + duration(packet.size, self.rate)
        if self.deadline is None:
            self.restart_timer()
        self.host.wire.send(packet)

    def restart_timer(self) -> None:
        """The timer runs while bytes are in flight, from now on; each expiry in a row has doubled it."""
        self.deadline = None
        if self.inflight:
            self.deadline = self.host.clock.now + (self.host.case.transport.rto << self.backoff)
            self.host.clock.at(self.deadline, RETRANSMIT, self.place, self.host.expired, self)

    def on_ack(self, packet: Packet) -> None:
        """Takes an acknowledgement or a NACK."""
        if packet.byte > self.acknowledged:
            if packet.byte >= self.next:
                self.next, self.inflight = packet.byte, 0
            else:
                self.inflight = max(0, self.inflight - self.wire_bytes(self.acknowledged, packet.byte))
            self.acknowledged = packet.byte
            self.backoff = 0
            self.restart_timer()
        if packet.kind == "nack" and packet.byte == self.acknowledged:
            self.go_back()

    def wire_bytes(self, first: int, end: int) -> int:
        """Sizes of the packets that carry these bytes."""
        transport = self.host.case.transport
        return sum(
            transport.data(min(transport.payload, end - byte))
            for byte in range(first, end, transport.payload)
        )

    def go_back(self) -> None:
        """Everything that is not acknowledged is to be sent again; nothing counts as in flight."""
        self.next, self.inflight = self.acknowledged, 0


class Receiver:
    """The receiving side of a flow: data in order, acknowledgements that may be held, NACKs."""

    def __init__(self, host: Host, flow: Flow, place: int) -> None:
        self.host, self.flow, self.place = host, flow, place
        self.expected = 0
        self.delivered: int | None = None
        self.reported, self.report_after = -1, 0
        self.held = 0
        self.held_until: int | None = None

    def receive(self, packet: Packet) -> None:
        """Takes a data packet."""
        now, transport = self.host.clock.now, self.host.case.transport
        if packet.byte > self.expected:
            if self.reported != self.expected or now >= self.report_after:
                self.reported, self.report_after = self.expected, now + transport.nack_interval
                self.release()
                self.answer("nack", packet)
            return
        new = packet.byte == self.expected
        if new:
            self.expected += packet.payload
            if self.expected == self.flow.size:
                self.delivered = now
        if self.held == 0 and transport.ack_every > 1:
            self.held_until = now + transport.ack_delay
            self.host.clock.at(self.held_until, HELD_ACK, self.place, self.expired, packet)
        self.held += 1
        last = packet.byte + packet.payload == self.flow.size
        if self.held >= transport.ack_every or last or not new:
            self.release()
            self.answer("ack", packet)

    def expired(self, packet: Packet) -> None:
        """An acknowledgement may have been held long enough."""
        if self.held_until == self.host.clock.now:
            self.release()
            self.answer("ack", packet)

    def release(self) -> None:
        """No acknowledgement is held any more."""
        self.held, self.held_until = 0, None

    def answer(self, kind: str, packet: Packet) -> None:
        """Tells the sender which byte is expected next."""
        transport = self.host.case.transport
        queue = self.flow.queue if transport.ack_queue is None else transport.ack_queue
        self.host.replies.append(Packet(kind, transport.ack, packet.flow, self.expected, queue=queue))
        self.host.serve()


class Host:
    """A host: acknowledgements first, lowest queue first, then a packet from each flow in turn.

    A flow joins the ring, at its tail, when it becomes ready: when its pacing time comes, an acknowledgement
    opens its window, or, for the flow whose packet leaves, no earlier than that packet has left.
    """

    def __init__(self, clock: Clock, case: Case, link: Link) -> None:
        self.clock, self.case = clock, case
        self.wire = Wire(clock, link, self, 0)
        self.replies: deque[Packet] = deque()
        self.ring: deque[Sender] = deque()
        self.leaving: Sender | None = None
        self.senders: list[Sender] = []
        self.free: list[int] = []
        self.places = 0
        self.finished = 0

    def start(self, flow: Flow, number: int, receiver: Receiver) -> None:
        """A flow begins; it takes the place that became free last."""
        place = self.free.pop() if self.free else self.places
        self.places = max(self.places, place + 1)
        sender = Sender(self, flow, number, place, receiver)
        self.senders.append(sender)
        self.wake(sender)
        self.serve()

    def wake(self, sender: Sender) -> None:
        """Something about an idle flow has changed: it joins the ring, or waits for its pacing time."""
        if sender.state != "idle" or not sender.may_send():
            return
        if sender.next_at <= self.clock.now:
            sender.state = "in the ring"
            self.ring.append(sender)
        else:
            sender.state = "paced"
            self.clock.at(sender.next_at, PACED, sender.place, self.paced, sender)

    def paced(self, sender: Sender) -> None:
        """The pacing time of a flow has come."""
        if sender.state == "paced":
            sender.state = "idle"
            self.wake(sender)
            self.serve()

    def departed(self, port: int) -> None:
        self.wire.busy = False
        sender, self.leaving = self.leaving, None
        if sender is not None and sender.state == "leaving":
            sender.state = "idle"
            self.wake(sender)
        self.serve()

    def serve(self) -> None:
        """Begins to send the next packet if the wire is free."""
        if self.wire.busy or self.wire.paused:
            return
        if self.replies:
            reply = min(self.replies, key=lambda packet: packet.queue)
            self.replies.remove(reply)
            self.wire.send(reply)
            return
        while self.ring:
            sender = self.ring.popleft()
            sender.state = "idle"
            if sender.may_send():
                sender.state, self.leaving = "leaving", sender
                sender.send()
                return

    def arrived(self, port: int, packet: Packet) -> None:
        sender = packet.flow
        if sender is None:
            self.wire.paused = packet.kind == "pause"
        elif packet.kind == "data":
            sender.receiver.receive(packet)
        elif sender.state != "done":
            sender.on_ack(packet)
            if sender.acknowledged == sender.flow.size:
                self.finish(sender)
            else:
                self.wake(sender)
        self.serve()

    def expired(self, sender: Sender) -> None:
        """The retransmission timer of a flow may have run out."""
        if sender.state == "done" or sender.deadline != self.clock.now:
            return
        sender.deadline = None
        if sender.inflight:
            sender.timeouts += 1
            sender.backoff = min(sender.backoff + 1, LARGEST_BACKOFF)
            sender.go_back()
            self.wake(sender)
            self.serve()

    def finish(self, sender: Sender) -> None:
        """The last byte is acknowledged."""
        if sender in self.ring:
            self.ring.remove(sender)
        sender.state, sender.finish = "done", self.clock.now
        self.finished += 1
        self.free.append(sender.place)


class Switch:
    """An output-queued switch. Queues keep the port through which a packet came, and the packet."""

    def __init__(self, clock: Clock, case: Case) -> None:
        self.clock, self.case = clock, case
        self.wires: list[Wire] = []
        self.queues: list[list[deque[tuple[int, Packet]]]] = []
        self.schedulers: list[Scheduler] = []
        self.route: dict[str, int] = {}
        self.drops = 0
        self.held = 0

    def add(self, link: Link) -> Wire:
        """Joins a link to the next port."""
        self.wires.append(Wire(self.clock, link, self, len(self.wires)))
        self.queues.append([deque() for _ in self.case.quanta])
        self.schedulers.append(scheduler(self.case.scheduler, self.case.quanta))
        return self.wires[-1]

    def arrived(self, port: int, packet: Packet) -> None:
        if packet.flow is None:
            self.wires[port].paused = packet.kind == "pause"
            self.serve(port)
            return
        flow = packet.flow.flow
        out = self.route[flow.destination if packet.kind == "data" else flow.source]
        lengths = [sum(self.sizes(queue)) for queue in self.queues[out]]
        if not self.admit(port, lengths, packet):
            self.drops += 1
            return
        self.held += packet.size
        self.queues[out][packet.queue].append((port, packet))
        self.serve(out)

    def departed(self, port: int) -> None:
        self.wires[port].busy = False
        self.serve(port)

    def serve(self, port: int) -> None:
        """Begins to send the next packet of a port."""
        wire, queues = self.wires[port], self.queues[port]
        if any(queues) and not wire.busy and not wire.paused:
            chosen = self.schedulers[port].choose([self.sizes(queue) for queue in queues])
            ingress, packet = queues[chosen].popleft()
            wire.send(packet)
            self.held -= packet.size
            self.released(ingress, packet.size)

    @staticmethod
    def sizes(queue: deque[tuple[int, Packet]]) -> list[int]:
        """The sizes of the packets of a queue."""
        return [packet.size for _, packet in queue]

    def admit(self, ingress: int, lengths: list[int], packet: Packet) -> bool:
        """Whether a packet may stay: whether its port's limit holds it, or its queue's dynamic threshold.

        `lengths` are those of the queues of the port by which it will leave.
        """
        match self.case.buffer:
            case None:
                return True
            case Shared() as shared:
                free = shared.size - self.held
                length = lengths[packet.queue] + packet.size
                return packet.size <= free and length <= math.floor(shared.alpha * free)
            case limit:
                return sum(lengths) + packet.size <= limit

    def released(self, ingress: int, size: int) -> None:
        """A packet that came through `ingress` begins to leave."""


class Held:
    """What a switch with PFC holds from one port: charged to the reserve, the shared pool, the headroom."""

    def __init__(self) -> None:
        self.reserve = self.pool = self.headroom = 0
        self.pausing = False


class PausingSwitch(Switch):
    """A switch with PFC and one queue: what neither reserve nor shared pool takes pauses the far end."""

    def __init__(self, clock: Clock, case: Case) -> None:
        super().__init__(clock, case)
        assert case.pfc is not None
        self.pfc = case.pfc
        self.ingress: list[Held] = []
        self.frames: list[deque[str]] = []

    def add(self, link: Link) -> Wire:
        self.ingress.append(Held())
        self.frames.append(deque())
        return super().add(link)

    def threshold(self) -> float:
        """What one port may hold of the pool."""
        if self.pfc.xoff is not None:
            return self.pfc.xoff
        assert isinstance(self.case.buffer, Shared)
        return math.floor(self.case.buffer.alpha * self.free())

    def free(self) -> float:
        """What is left of the pool: of the buffer less all headroom and all reserves."""
        if not isinstance(self.case.buffer, Shared):
            return math.inf
        kept = len(self.ingress) * (self.pfc.headroom + self.pfc.reserve)
        return self.case.buffer.size - kept - sum(held.pool for held in self.ingress)

    def admit(self, ingress: int, lengths: list[int], packet: Packet) -> bool:
        held, size = self.ingress[ingress], packet.size
        if self.case.buffer is None:
            # There is no headroom to run out of: everything counts against the fixed threshold.
            pause = held.pool + size > self.threshold()
            held.pool += size
        else:
            pause = not self.charge(held, size)
        if pause and not held.pausing:
            held.pausing = True
            self.signal(ingress, "pause")
        return True

    def charge(self, held: Held, size: int) -> bool:
        """Charges a packet to the first part that takes it. Says whether the headroom was spared."""
        if held.reserve + size <= self.pfc.reserve:
            held.reserve += size
            return True
        if not held.headroom and held.pool + size <= self.threshold() and size <= self.free():
            held.pool += size
            return True
        held.headroom += size
        assert held.headroom <= self.pfc.headroom, "the case's headroom is too small"
        return False

    def released(self, ingress: int, size: int) -> None:
        held = self.ingress[ingress]
        for part in ("headroom", "pool", "reserve"):
            taken = min(size, getattr(held, part))
            setattr(held, part, getattr(held, part) - taken)
            size -= taken
        low = held.pool == 0 or held.pool + self.pfc.xon_offset <= self.threshold()
        if held.pausing and held.headroom == 0 and low:
            held.pausing = False
            self.signal(ingress, "resume")

    def signal(self, port: int, kind: str) -> None:
        """Tells the far end of a port to pause or to go on. Its opposite that waits cancels a frame."""
        if self.frames[port]:
            opposite = self.frames[port].pop()
            assert opposite != kind
        else:
            self.frames[port].append(kind)
        self.serve(port)

    def serve(self, port: int) -> None:
        if self.frames[port] and not self.wires[port].busy:
            self.wires[port].send(Packet(self.frames[port].popleft(), PFC_FRAME))
        super().serve(port)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a flow: finish and delivery times, packets and timeouts."""

    finish: int | None
    delivered: int | None
    packets: int
    resent: int
    timeouts: int


def run(case: Case, order: list[int]) -> list[Outcome]:
    """The outcome of every flow of a case, in the order of the case.

    Args:
        case: The case.
        order: The flows in the order of their starts. It decides between flows that start at one instant.
    """
    clock = Clock()
    switches = {
        name: PausingSwitch(clock, case) if case.pfc else Switch(clock, case) for name in case.switches()
    }
    hosts: dict[str, Host] = {}
    for link in case.links:
        wires = []
        for end in (link.a, link.b):
            if end in switches:
                wires.append(switches[end].add(link))
            else:
                hosts[end] = Host(clock, case, link)
                wires.append(hosts[end].wire)
        for near, far in (wires, reversed(wires)):
            near.far = (far.node, far.port)
    for name, switch in switches.items():
        for host in hosts:
            switch.route[host] = _port_towards(case, name, host)
    for place, number in enumerate(order):
        flow = case.flows[number]
        receiver = Receiver(hosts[flow.destination], flow, place)
        clock.at(flow.start, START, place, hosts[flow.source].start, flow, number, receiver)
    clock.run(lambda: sum(host.finished for host in hosts.values()) < len(case.flows))
    senders = sorted((s for host in hosts.values() for s in host.senders), key=lambda s: s.number)
    return [Outcome(s.finish, s.receiver.delivered, s.packets, s.resent, s.timeouts) for s in senders]


def _port_towards(case: Case, switch: str, host: str) -> int:
    """The port of a switch that leads to a host, in a network without two ways."""

    def reaches(node: str, came_from: str) -> bool:
        return node == host or any(
            reaches(other, node)
            for link in case.links
            if node in (link.a, link.b) and (other := link.b if node == link.a else link.a) != came_from
        )

    ports = [link for link in case.links if switch in (link.a, link.b)]
    ways = [link.b if link.a == switch else link.a for link in ports]
    return next(port for port, way in enumerate(ways) if reaches(way, switch))
