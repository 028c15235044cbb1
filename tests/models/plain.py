"""Plain models of hosts and their networks: one heap of events for the whole network, one event at a time.

They are written from docs/network/transport.md, balancing.md and engine.md, and share nothing with the
simulator. Times are picoseconds, sizes bytes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from models import spreading
from models.cases import Case, Flow, Link
from models.clock import Clock
from models.links import HELD_ACK, PACED, RETRANSMIT, START, Packet, Wire, duration
from models.switches import PausingSwitch, Switch
from models.ways import routes

LARGEST_BACKOFF = 6
"""The retransmission timer doubles up to 64 times."""

TOLD = 64
"""Number of packets whose arrival an acknowledgement of selective repeat reports."""
MOST_COVERED = 255
"""Number of packets that one acknowledgement covers at most."""
KEPT = 16_384
"""Number of packets from the next expected one on that a receiver with selective repeat keeps."""
HELD_STEP = 64
"""An acknowledgement of selective repeat tells in such steps for how long it was held."""


class Sender(ABC):
    """The sending side of a flow: window, pacing and retransmission timer.

    What it sends, and what an acknowledgement means, is for a class of each loss recovery.
    """

    packet: type[Packet] = Packet
    """The type of its packets."""

    def __init__(self, host: Host, flow: Flow, number: int, place: int, receiver: Receiver) -> None:
        self.host, self.flow, self.number, self.place, self.receiver = host, flow, number, place, receiver
        self.state = "idle"  # or: in the ring, paced, leaving, done
        self.acknowledged = self.highest = 0
        self.inflight = 0
        self.next_at = flow.start
        self.finish: int | None = None
        self.deadline: int | None = None
        self.backoff = 0
        self.packets = self.resent = self.timeouts = 0
        self.again = False
        line = host.wire.link.rate
        self.rate = line if flow.rate is None else min(flow.rate, line)
        self.window = math.inf if flow.window is None else flow.window
        key = spreading.flow_key(f"f{number}", 0)
        self.data_hash, self.reply_hash = spreading.data_hash(key), spreading.reply_hash(key)
        self.policy = spreading.policy(flow.balancing, key, host.case.balancing)
        self.sent_last: dict[int, int] = {}
        self.rtts: list[tuple[int, int]] = []

    @abstractmethod
    def has_something(self) -> bool:
        """Whether there is something to send."""

    @abstractmethod
    def take(self) -> int:
        """The first byte of the packet to send; that packet is in flight from now on."""

    @abstractmethod
    def on_ack(self, packet: Packet) -> None:
        """Takes an acknowledgement or a NACK."""

    @abstractmethod
    def give_up(self) -> None:
        """Everything in flight is to be sent again; nothing counts as in flight."""

    def is_complete(self) -> bool:
        """Whether all of the flow is acknowledged."""
        return self.acknowledged == self.flow.size

    def may_send(self) -> bool:
        """Whether there is something to send, and room in the window: one packet always has."""
        return self.has_something() and (self.inflight == 0 or self.inflight < self.window)

    def send(self) -> None:
        """The next packet, onto the wire."""
        now, transport = self.host.clock.now, self.host.case.transport
        byte = self.take()
        payload = min(transport.payload, self.flow.size - byte)
        entropy = self.policy.entropy(now)
        self.sent_last[byte] = now
        packet = self.packet(
            "data",
            transport.data(payload),
            self,
            byte,
            payload,
            self.flow.queue,
            path=self.data_hash ^ entropy,
            sent=now,
            entropy=entropy,
        )
        self.again = byte < self.highest
        self.packets += 1
        self.resent += self.again
        self.highest = max(self.highest, byte + payload)
        self.inflight += packet.size
        if transport.recovery == "selective" and transport.holds:
            packet.asks = self.again or not self.may_send() or byte + payload == self.flow.size
        self.next_at = now + duration(packet.size, self.rate)
        if self.deadline is None:
            self.restart_timer()
        self.host.wire.send(packet)

    def measure(self, packet: Packet) -> None:
        """Takes the sample of an acknowledgement or a NACK."""
        now, transport = self.host.clock.now, self.host.case.transport
        sent = packet.sent
        if transport.sample == "cumulative" and packet.byte > 0:
            before = -(-packet.byte // transport.payload) - 1
            sent = self.sent_last[before * transport.payload]
        self.rtts.append((now, max(0, now - sent - packet.held)))

    def restart_timer(self) -> None:
        """The timer runs while bytes are in flight, from now on; each expiry in a row has doubled it."""
        self.deadline = None
        if self.inflight:
            self.deadline = self.host.clock.now + (self.host.case.transport.rto << self.backoff)
            self.host.clock.at(self.deadline, RETRANSMIT, self.place, self.host.expired, self)


class GoBackN(Sender):
    """A sender that sends everything again from a hole on."""

    def __init__(self, host: Host, flow: Flow, number: int, place: int, receiver: Receiver) -> None:
        super().__init__(host, flow, number, place, receiver)
        self.next = 0

    def has_something(self) -> bool:
        return self.next < self.flow.size

    def take(self) -> int:
        byte = self.next
        self.next = min(byte + self.host.case.transport.payload, self.flow.size)
        return byte

    def on_ack(self, packet: Packet) -> None:
        if packet.byte > self.acknowledged:
            if packet.byte >= self.next:
                self.next, self.inflight = packet.byte, 0
            else:
                self.inflight = max(0, self.inflight - self.wire_bytes(self.acknowledged, packet.byte))
            self.acknowledged = packet.byte
            self.backoff = 0
            self.restart_timer()
        if packet.kind == "nack" and packet.byte == self.acknowledged:
            self.give_up()

    def wire_bytes(self, first: int, end: int) -> int:
        """Sizes of the packets that carry these bytes."""
        transport = self.host.case.transport
        return sum(
            transport.data(min(transport.payload, end - byte))
            for byte in range(first, end, transport.payload)
        )

    def give_up(self) -> None:
        self.next, self.inflight = self.acknowledged, 0


class Selective(Sender):
    """A sender that sends again what is lost. Its packets have numbers, from 0."""

    def __init__(self, host: Host, flow: Flow, number: int, place: int, receiver: Receiver) -> None:
        super().__init__(host, flow, number, place, receiver)
        self.payload = host.case.transport.payload
        self.total = -(-flow.size // self.payload)
        self.next = 0
        self.expected = 0
        self.told: set[int] = set()
        self.flying: set[int] = set()
        self.lost: set[int] = set()
        self.sent_once: dict[int, int] = {}
        self.latest = 0
        self.repair_delay = host.case.transport.repair_delay
        if self.repair_delay is None:
            self.repair_delay = base_rtt(self)

    def has_something(self) -> bool:
        return bool(self.lost) or self.next < min(self.total, self.expected + KEPT)

    def take(self) -> int:
        if self.lost:
            number = min(self.lost)
            self.lost.remove(number)
            self.sent_once.pop(number, None)
        else:
            number = self.next
            self.next += 1
            self.sent_once[number] = self.host.clock.now
        self.flying.add(number)
        return number * self.payload

    def on_ack(self, packet: Packet) -> None:
        expected = -(-packet.byte // self.payload)
        self.told |= set(range(expected)) | packet.told
        self.latest = max(self.latest, packet.sent)
        self.flying -= self.told
        self.lost -= self.told
        for number in sorted(self.flying):
            if number in self.sent_once and self.is_lost(number):
                self.flying.remove(number)
                self.lost.add(number)
        transport = self.host.case.transport
        self.inflight = sum(
            transport.data(min(self.payload, self.flow.size - number * self.payload))
            for number in self.flying
        )
        if expected > self.expected:
            self.expected, self.acknowledged = expected, packet.byte
            self.backoff = 0
            self.restart_timer()

    def is_lost(self, number: int) -> bool:
        """Whether a packet that was sent once, and is not acknowledged, is lost."""
        transport = self.host.case.transport
        match transport.repair:
            case "threshold":
                return sum(other > number for other in self.told) >= transport.repair_threshold
            case "lazy":
                assert self.repair_delay is not None
                return self.latest >= self.sent_once[number] + self.repair_delay
            case _:
                return False

    def give_up(self) -> None:
        self.lost |= self.flying
        self.flying = set()
        self.inflight = 0


def base_rtt(sender: Sender) -> int:
    """Returns the time of a full packet and its acknowledgement under ECMP, without queues."""
    transport, flow = sender.host.case.transport, sender.flow
    full = transport.data(transport.payload)
    there = one_way(sender.host.wire, flow.destination, sender.data_hash, full)
    return there + one_way(sender.receiver.host.wire, flow.source, sender.reply_hash, transport.ack)


def one_way(wire: Wire, destination: str, path: int, size: int) -> int:
    """Returns the time of a packet from a host's wire to its destination, without queues."""
    time = duration(size, wire.link.rate) + wire.link.delay
    node, _ = wire.far
    if isinstance(node, Switch):
        return time + one_way(node.wires[node.way(destination, path)], destination, path, size)
    return time


class Receiver:
    """The receiving side with go-back-N: data in order, acknowledgements that may be held, NACKs."""

    def __init__(self, host: Host, flow: Flow, place: int) -> None:
        self.host, self.flow, self.place = host, flow, place
        self.expected = 0
        self.delivered: int | None = None
        self.reported, self.report_after = -1, 0
        self.held = self.held_payload = 0
        self.held_until: int | None = None
        self.kept: set[int] = set()

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
        self.acknowledge(packet, at_once=not new)

    def acknowledge(self, packet: Packet, at_once: bool) -> None:
        """Acknowledges a packet, now or with later ones. The last packet is acknowledged at once."""
        now, transport = self.host.clock.now, self.host.case.transport
        self.newest, self.newest_at = packet, now
        if self.held == 0 and transport.holds:
            self.held_until = now + transport.ack_delay
            self.host.clock.at(self.held_until, HELD_ACK, self.place, self.expired)
        self.held += 1
        self.held_payload += packet.payload
        if transport.ack_payload is None:
            enough = self.held >= transport.ack_every
        else:
            enough = self.held_payload >= transport.ack_payload or self.held >= MOST_COVERED
        last = packet.byte + packet.payload == self.flow.size
        if enough or last or at_once:
            self.release()
            self.answer("ack", packet)

    def expired(self) -> None:
        """Sends an acknowledgement if it was held long enough."""
        if self.held_until == self.host.clock.now:
            self.let_go()

    def let_go(self) -> None:
        """Sends the acknowledgement that is held, if one is. It answers the last packet it covers."""
        if self.held:
            self.release()
            held = self.host.clock.now - self.newest_at
            if self.host.case.transport.recovery == "selective":
                held = held // HELD_STEP * HELD_STEP
            self.answer("ack", self.newest, held)

    def release(self) -> None:
        """No acknowledgement is held any more."""
        self.held, self.held_payload, self.held_until = 0, 0, None

    def answer(self, kind: str, packet: Packet, held: int = 0) -> None:
        """Tells the sender which byte is expected next, and of packets that are kept after it."""
        assert packet.flow is not None
        transport = self.host.case.transport
        path = packet.flow.reply_hash ^ packet.entropy
        if self.host.case.balancing.acknowledgements == "one-path" and self.flow.balancing not in ONE_PATH:
            path = path >> 16 << 16
        next_expected = -(-self.expected // transport.payload)
        first = max(next_expected + 1, packet.byte // transport.payload - (TOLD - 1))
        reply = Packet(
            kind,
            transport.ack,
            packet.flow,
            self.expected,
            queue=self.flow.queue if transport.ack_queue is None else transport.ack_queue,
            path=path,
            sent=packet.sent,
            entropy=packet.entropy,
            told=frozenset(self.kept & set(range(first, first + TOLD))),
            held=held,
        )
        self.host.replies.append(reply)
        self.host.serve()


ONE_PATH = {None, "ecmp"}
"""The policies under which a flow's packets all take one path."""


class SelectiveReceiver(Receiver):
    """The receiving side of a flow with selective repeat: `kept` are numbers of packets out of order."""

    def __init__(self, host: Host, flow: Flow, place: int) -> None:
        super().__init__(host, flow, place)
        self.begun = self.asked = False

    def receive(self, packet: Packet) -> None:
        payload = self.host.case.transport.payload
        at_once = not self.begun or packet.asks
        at_once |= packet.byte < self.expected or packet.byte // payload in self.kept
        self.begun = True
        had_holes = bool(self.kept)
        if packet.byte >= self.expected:
            assert packet.byte < self.expected + KEPT * payload
            self.kept.add(packet.byte // payload)
        while self.expected < self.flow.size and self.expected // payload in self.kept:
            self.kept.remove(self.expected // payload)
            self.expected = min(self.expected + payload, self.flow.size)
            if self.expected == self.flow.size:
                self.delivered = self.host.clock.now
                at_once = True
        closes = had_holes and not self.kept
        at_once |= closes and self.asked
        self.asked = bool(self.kept) and (self.asked or packet.asks)
        self.acknowledge(packet, at_once)


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

    def start(self, flow: Flow, number: int, receiver: Receiver) -> None:
        """A flow begins; it takes the place that became free last."""
        place = self.free.pop() if self.free else self.places
        self.places = max(self.places, place + 1)
        selective = self.case.transport.recovery == "selective"
        sender = (Selective if selective else GoBackN)(self, flow, number, place, receiver)
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
        elif packet.kind in ("data", "header"):
            sender.receiver.receive(packet)
        elif sender.state != "done":
            self.answered(sender, packet)
            if sender.is_complete():
                self.finish(sender)
            else:
                self.wake(sender)
        self.serve()

    def answered(self, sender: Sender, packet: Packet) -> None:
        """An acknowledgement or a NACK has arrived."""
        if packet.kind == "ack":
            sender.policy.good(self.clock.now, packet.entropy)
        sender.measure(packet)
        sender.on_ack(packet)

    def expired(self, sender: Sender) -> None:
        """The retransmission timer of a flow may have run out."""
        if sender.state == "done" or sender.deadline != self.clock.now:
            return
        sender.deadline = None
        if sender.inflight:
            sender.timeouts += 1
            sender.backoff = min(sender.backoff + 1, LARGEST_BACKOFF)
            sender.policy.timeout(self.clock.now)
            sender.give_up()
            self.wake(sender)
            self.serve()

    def finish(self, sender: Sender) -> None:
        """The last byte is acknowledged."""
        if sender in self.ring:
            self.ring.remove(sender)
        sender.state, sender.finish = "done", self.clock.now
        self.clock.finished += 1
        self.free.append(sender.place)


class Endpoint(Protocol):
    """The part of a host that joins it to the network."""

    @property
    def wire(self) -> Wire:
        """The host's wire."""
        ...


AnySwitch = TypeVar("AnySwitch", bound=Switch)
AnyHost = TypeVar("AnyHost", bound=Endpoint)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a flow: finish and delivery times, packets and timeouts."""

    finish: int | None
    delivered: int | None
    packets: int
    resent: int
    timeouts: int


def run(case: Case, order: list[int]) -> list[Outcome]:
    """The outcome of every flow of a case, in the order of the case; `order` as in `finished`."""
    return outcomes(played(case, order))


def outcomes(senders: list[Sender]) -> list[Outcome]:
    """The outcomes of the flows of these senders."""
    return [Outcome(s.finish, s.receiver.delivered, s.packets, s.resent, s.timeouts) for s in senders]


def played(case: Case, order: list[int], host: type[Host] = Host) -> list[Sender]:
    """The senders of the flows of a case after a run, in the order of the case; `order` as in `finished`."""
    clock = Clock()
    kind = PausingSwitch if case.pfc else Switch
    _, hosts = network(
        case, lambda _, number: kind(clock, case, number), lambda link: host(clock, case, link)
    )
    selective = case.transport.recovery == "selective"
    return finished(clock, case, order, hosts, SelectiveReceiver if selective else Receiver)


def finished(
    clock: Clock, case: Case, order: list[int], hosts: Mapping[str, Host], kind: type[Receiver] = Receiver
) -> list[Sender]:
    """Starts the flows of a case and runs it to its end. Returns the senders in the order of the case.

    Args:
        clock: The clock of its nodes.
        case: The case.
        order: The flows in the order of their starts. It decides between flows that start at one instant.
        hosts: The hosts by their names.
        kind: The kind of the receivers.
    """
    for place, number in enumerate(order):
        flow = case.flows[number]
        receiver = kind(hosts[flow.destination], flow, place)
        clock.at(flow.start, START, place, hosts[flow.source].start, flow, number, receiver)
    clock.run(lambda: clock.finished < len(case.flows))
    return sorted((s for host in hosts.values() for s in host.senders), key=lambda s: s.number)


def network(
    case: Case, switch: Callable[[str, int], AnySwitch], host: Callable[[Link], AnyHost]
) -> tuple[dict[str, AnySwitch], dict[str, AnyHost]]:
    """Builds the switches and hosts of a case, joined by its links, with routes.

    Args:
        case: The case.
        switch: Makes the switch of a name and a number of its node.
        host: Makes the host at the end of a link.
    """
    switches = {
        name: switch(name, number) for number, name in enumerate(case.switches(), start=len(case.hosts()))
    }
    hosts: dict[str, AnyHost] = {}
    for link in case.links:
        wires = []
        for end in (link.a, link.b):
            if end in switches:
                wires.append(switches[end].add(link))
            else:
                hosts[end] = host(link)
                wires.append(hosts[end].wire)
        for near, far in (wires, reversed(wires)):
            near.far = (far.node, far.port)
    for (name, destination), ports in routes(case).items():
        switches[name].routes[destination] = ports
    return switches, hosts
