"""A plain model of packet trimming under the window transport with selective repeat.

Written from docs/network/trimming.md (and the pages that plain.py names); hosts are from plain.py, with what
headers change about them. Congestion marks are at a step, and matter to REPS only.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from incast import Scenario
from models import links, plain, switches
from models.cases import US, Case, Flow, Link, Transport, selective_star, sprayed
from models.clock import Clock
from models.links import Wire
from models.plain import ONE_PATH, TOLD, Outcome
from models.spreading import SEED, mix

TRIMMING = 0x7472696D6D696E67
"""Name of the stream of trimming."""


@dataclass(frozen=True)
class Trimming:
    """The keys of `[switch.trimming]`; `headers` is None for as many bytes as of data."""

    data: int
    headers: int | None = None
    ratio: int = 10
    size: int = 64
    return_to_sender: bool = True

    def keys(self) -> dict[str, object]:
        """Returns the keys of a scenario."""
        keys: dict[str, object] = {
            "data": f"{self.data}B",
            "ratio": self.ratio,
            "size": f"{self.size}B",
            "return_to_sender": self.return_to_sender,
        }
        return keys if self.headers is None else keys | {"headers": f"{self.headers}B"}


@dataclass(frozen=True)
class TrimmingCase(Case):
    """A case whose switches trim, and perhaps mark above `mark` bytes, at dequeue or at enqueue."""

    trimming: Trimming = field(default_factory=lambda: Trimming(72_000))
    mark: int | None = None
    mark_at: str = "dequeue"

    def scenario(self) -> Scenario:
        switch: dict[str, object] = {"trimming": self.trimming.keys()}
        if self.mark is not None:
            step = f"{self.mark}B"
            switch["ecn"] = {"kmin": step, "kmax": step, "pmax": 1.0, "at": self.mark_at}
        return super().scenario().with_({"switch": switch})


@dataclass
class Packet(links.Packet):
    """Also of the kind header, or returned: a header on its way back to the sender.

    A NACK has in `byte` and `sent` the packet that it names.
    """

    marked: bool = False


class Sender(plain.Selective):
    """A sender that also learns which copy was trimmed."""

    packet = Packet

    def __init__(self, host: Host, flow: Flow, number: int, place: int, receiver: plain.Receiver) -> None:
        super().__init__(host, flow, number, place, receiver)
        self.copies: dict[int, int] = {}

    def take(self) -> int:
        byte = super().take()
        self.copies[byte // self.payload] = self.host.clock.now
        return byte

    def on_trimmed(self, packet: links.Packet) -> None:
        """A copy was trimmed: if it is the last one of its packet, and in flight, the packet is lost."""
        number = packet.byte // self.payload
        if number in self.flying and self.copies[number] == packet.sent:
            self.flying.remove(number)
            self.lost.add(number)
            payload = min(self.payload, self.flow.size - packet.byte)
            self.inflight -= self.host.case.transport.data(payload)


class Receiver(plain.SelectiveReceiver):
    """A receiver that answers headers, and tells whether packets that it acknowledges were marked."""

    def __init__(self, host: plain.Host, flow: Flow, place: int) -> None:
        super().__init__(host, flow, place)
        self.marked = False

    def receive(self, packet: links.Packet) -> None:
        assert isinstance(packet, Packet)
        if packet.kind == "header":
            self.let_go()
            self.reply(replace(packet, kind="nack", size=self.host.case.transport.ack))
            return
        self.marked |= packet.marked
        super().receive(packet)

    def acknowledge(self, packet: links.Packet, at_once: bool) -> None:
        assert isinstance(packet, Packet)
        super().acknowledge(packet, at_once or (packet.marked and self.host.case.transport.ack_on_mark))

    def answer(self, kind: str, packet: links.Packet, held: int = 0) -> None:
        transport = self.host.case.transport
        next_expected = -(-self.expected // transport.payload)
        first = max(next_expected + 1, packet.byte // transport.payload - (TOLD - 1))
        self.reply(
            Packet(
                kind,
                transport.ack,
                packet.flow,
                self.expected,
                sent=packet.sent,
                entropy=packet.entropy,
                told=frozenset(self.kept & set(range(first, first + TOLD))),
                held=held,
                marked=self.marked,
            )
        )
        self.marked = False

    def reply(self, reply: Packet) -> None:
        """Sends an answer by the path of answers to packets with its entropy."""
        assert reply.flow is not None
        reply.path = reply.flow.reply_hash ^ reply.entropy
        if self.host.case.balancing.acknowledgements == "one-path" and self.flow.balancing not in ONE_PATH:
            reply.path = reply.path >> 16 << 16
        self.host.replies.append(reply)
        self.host.serve()


class Host(plain.Host):
    """A host whose flows learn of trimmed packets."""

    kind: type[Sender] = Sender

    def start(self, flow: Flow, number: int, receiver: plain.Receiver) -> None:
        place = self.free.pop() if self.free else self.places
        self.places = max(self.places, place + 1)
        sender = self.kind(self, flow, number, place, receiver)
        self.senders.append(sender)
        self.wake(sender)
        self.serve()

    def answered(self, sender: plain.Sender, packet: links.Packet) -> None:
        assert isinstance(packet, Packet)
        assert isinstance(sender, Sender)
        if packet.kind != "ack":
            sender.on_trimmed(packet)
            return
        if not packet.marked:
            sender.policy.good(self.clock.now, packet.entropy)
        sender.on_ack(packet)


class Port:
    """A port of a switch: its two queues, and how many headers it has sent while data waited."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.data: deque[Packet] = deque()
        self.headers: deque[Packet] = deque()
        self.in_a_row = 0


class Switch(switches.Switch):
    """A switch that trims what its ports' data queues cannot hold."""

    case: TrimmingCase

    def __init__(self, clock: Clock, case: TrimmingCase, number: int) -> None:
        super().__init__(clock, case, number)
        self.case = case
        self.trimming = case.trimming
        self.stream = mix(SEED ^ mix(number ^ TRIMMING))
        self.ports: list[Port] = []
        self.totals: Counter[str] = Counter()

    def add(self, link: Link) -> Wire:
        self.ports.append(Port(super().add(link)))
        return self.wires[-1]

    def arrived(self, port: int, packet: links.Packet) -> None:
        assert isinstance(packet, Packet)
        assert packet.flow is not None
        flow = packet.flow.flow
        forwards = packet.kind in ("data", "header")
        out = self.way(flow.destination if forwards else flow.source, packet.path)
        if packet.kind == "data":
            self.data(out, packet)
        else:
            self.control(out, packet)

    def data(self, out: int, packet: Packet) -> None:
        """A data packet comes to a port."""
        queue, limit = self.ports[out].data, self.trimming.data
        length = sum(other.size for other in queue)
        last = queue[-1].size if queue else 0
        if length + packet.size <= limit:
            self.queue(out, length, packet)
        elif length - last + packet.size > limit or self.draw(packet) == 0:
            self.trim(out, packet)
        else:
            victim = queue.pop()
            self.queue(out, length - last, packet)
            self.trim(out, victim)

    def draw(self, packet: Packet) -> int:
        """0 or 1."""
        return mix(self.stream ^ packet.path ^ mix(packet.byte ^ mix(packet.sent))) >> 63

    def queue(self, out: int, length: int, packet: Packet) -> None:
        """Queues a data packet behind ``length`` bytes."""
        if self.case.mark_at == "enqueue":
            self.mark(packet, length)
        self.ports[out].data.append(packet)
        self.serve(out)

    def mark(self, packet: Packet, length: int) -> None:
        """Marks a packet if the rest of the data queue is that long."""
        if self.case.mark is not None and length > self.case.mark:
            packet.marked = True
            self.totals["marked"] += 1

    def trim(self, out: int, packet: Packet) -> None:
        """Removes a packet's payload; its header is forwarded."""
        self.totals["trimmed"] += 1
        size = min(packet.size, self.trimming.size)
        self.control(out, replace(packet, kind="header", size=size, payload=0))

    def control(self, out: int, packet: Packet) -> None:
        """A header or a packet that is no data comes to a port."""
        port = self.ports[out]
        limit = self.trimming.data if self.trimming.headers is None else self.trimming.headers
        if sum(other.size for other in port.headers) + packet.size <= limit:
            port.headers.append(packet)
            self.serve(out)
        elif packet.kind == "header" and self.trimming.return_to_sender:
            assert packet.flow is not None
            self.totals["returned"] += 1
            self.control(self.way(packet.flow.flow.source, packet.path), replace(packet, kind="returned"))
        else:
            self.totals["dropped"] += 1

    def serve(self, port: int) -> None:
        at = self.ports[port]
        if at.wire.busy or not (at.data or at.headers):
            return
        if not at.headers or (at.data and at.in_a_row >= self.trimming.ratio):
            packet = at.data.popleft()
            if self.case.mark_at == "dequeue":
                self.mark(packet, sum(other.size for other in at.data))
            at.in_a_row = 0
        else:
            packet = at.headers.popleft()
            at.in_a_row += bool(at.data)
        at.wire.send(packet)

    def departed(self, port: int) -> None:
        self.ports[port].wire.busy = False
        self.serve(port)


@dataclass
class Run:
    """Result of a case: the senders in its order, and the number of each event at all switches."""

    senders: list[plain.Sender]
    totals: Counter[str]

    @property
    def outcomes(self) -> list[Outcome]:
        """The outcome of every flow."""
        return plain.outcomes(self.senders)


def played(
    case: TrimmingCase,
    order: list[int],
    host_kind: type[Host] = Host,
    receiver_kind: type[Receiver] = Receiver,
) -> Run:
    """Plays a case. `order` is the order of its flows' starts."""
    clock = Clock()
    switches, hosts = plain.network(
        case, lambda _, number: Switch(clock, case, number), lambda link: host_kind(clock, case, link)
    )
    senders = plain.finished(clock, case, order, hosts, receiver_kind)
    return Run(senders, sum((switch.totals for switch in switches.values()), Counter()))


def run(case: TrimmingCase, order: list[int]) -> list[Outcome]:
    """The outcome of every flow of a case, in the order of the case."""
    return played(case, order).outcomes


def _trimmed(draw: random.Random, case: Case) -> TrimmingCase:
    """Changes a case to switches that trim, whose queues hold a few packets."""
    transport = case.transport
    if transport.repair != "never" and draw.random() < 0.5:
        transport = replace(transport, repair="never")
    full = transport.data(transport.payload)
    on_mark = transport.holds and random.Random(f"mark {transport}").random() < 0.5
    transport = replace(transport, ack_on_mark=on_mark)
    size = draw.choice([min(64, full - 1), draw.randint(1, min(200, full - 1))])
    needed = max(size, transport.ack)
    flows = tuple(_bounded(draw, flow, transport) for flow in case.flows)
    if draw.random() < 0.6:
        # What a queue of headers cannot hold takes many packets at once.
        flows += tuple(
            replace(flow, start=draw.randrange(3 * US), rate=None)
            for flow in flows
            for _ in range(draw.randint(0, 2))
        )
    data = int(full * draw.choice([1, draw.uniform(1, 4), draw.uniform(4, 8)]))
    return TrimmingCase(
        case.links,
        flows,
        replace(transport, rto=draw.randrange(50 * US, 400 * US)),
        balancing=case.balancing,
        trimming=Trimming(
            data=data,
            headers=draw.choice([None, draw.randint(needed, 2 * needed), draw.randint(needed, 6 * needed)]),
            ratio=draw.choice([1, 2, 3, 10, 10, draw.randint(1, 30)]),
            size=size,
            return_to_sender=draw.random() < 0.7,
        ),
        mark=int(data * draw.random()) if draw.random() < 0.5 else None,
        mark_at=draw.choice(["dequeue", "enqueue"]),
    )


def _bounded(draw: random.Random, flow: Flow, transport: Transport) -> Flow:
    """A flow with a window, or a short one: without, every header makes it send another packet at once."""
    flow = replace(flow, size=min(flow.size, draw.choice([20, 60, 100]) * transport.payload))
    if flow.window is None and draw.random() < 0.7:
        return replace(flow, window=int(transport.data(transport.payload) * draw.uniform(4, 30)))
    if flow.window is None:
        return replace(flow, size=min(flow.size, 25 * transport.payload))
    return flow


def trimming_star(seed: int) -> TrimmingCase:
    """A star with an incast whose switch trims."""
    draw = random.Random(f"trimming {seed}")
    return _trimmed(draw, selective_star(seed, heavy=draw.random() < 0.5))


def trimming_spines(seed: int) -> TrimmingCase:
    """Leaves and spines that trim, and senders that spread their packets by different policies."""
    return _trimmed(random.Random(f"trimming spines {seed}"), sprayed(seed))


KINDS: dict[str, Callable[[int], Case]] = {
    "trimming star": trimming_star,
    "trimming spines": trimming_spines,
}
"""Functions that draw a case of each kind from a seed."""
