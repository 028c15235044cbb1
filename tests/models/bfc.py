"""A plain model of backpressure flow control, and the cases it is held against the simulator with.

It is written from docs/network/bfc.md, scheduling.md, switch-buffer.md and engine.md; hosts and
transport are from plain.py, wires from links.py.
"""

from __future__ import annotations

import math
import random
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from incast import Scenario
from models import links, plain, spreading, switches
from models.cases import US, Case, Flow, Link, Shared, lossless_star, sprayed, tiny_packets
from models.clock import Clock
from models.links import Packet, Wire, duration
from models.plain import Host, Outcome
from models.schedulers import DeficitRoundRobin, RoundRobin

MAP_TIMER = links.ARRIVAL + 1
"""At a switch regular maps come after all arrivals of an instant, by port."""

MAP_FRAME = 156
SINGLE_FRAME = 64
NUMBERS = 1024
QUANTUM = 1518
STREAM = 0x6266635F71756575
"""Name of the stream of BFC's draws."""


@dataclass(frozen=True)
class Bfc:
    """The keys of `[switch.bfc]`; `interval` in picoseconds, None for the delay of each link."""

    queues: int
    factor: float = 1.5
    resume: str = "last-packet"
    signal: str = "map"
    interval: int | None = None
    entries: int = 200
    sticky: int = 3
    single_packet: bool = True
    drr: bool = False


@dataclass(frozen=True)
class BfcCase(Case):
    """A case whose switches all have BFC."""

    bfc: Bfc = field(default_factory=lambda: Bfc(1))
    five_tuple: bool = False
    """Whether the path is `"five-tuple"`; the model knows it where there is but one."""

    def scenario(self) -> Scenario:
        bfc = self.bfc
        keys: dict[str, object] = {
            "queues": bfc.queues,
            "factor": bfc.factor,
            "resume": bfc.resume,
            "signal": bfc.signal,
            "entries": bfc.entries,
            "sticky": bfc.sticky,
            "single_packet": bfc.single_packet,
        }
        if bfc.interval is not None and bfc.signal == "map":
            keys["interval"] = f"{bfc.interval}ps"
        changes: dict[str, object] = {"switch.bfc": keys, "probe.pauses": True}
        if bfc.drr:
            changes["switch.scheduler"] = "drr"
        if self.five_tuple:
            changes["switch.path"] = "five-tuple"
        return super().scenario().with_(changes)


@dataclass(frozen=True, order=True)
class Pause:
    """A queue of a port, or a flow of a host by its number, is paused or resumed by the far end."""

    time: int
    node: str
    port: int
    queue: int
    paused: bool


class BfcHost(Host):
    """A host that receives numbers that are paused: each is the number of a flow."""

    def __init__(self, clock: Clock, case: Case, link: Link) -> None:
        super().__init__(clock, case, link)
        self.paused: frozenset[int] = frozenset()
        self.pauses: list[Pause] = []
        _watch(clock, self.wire, self.turned)

    def turned(self, port: int, down: bool) -> None:
        """The link fails, with what its far end has paused, or returns."""
        self.wire.down = down
        if down:
            before, self.paused = self.paused, frozenset()
            record(self.pauses, self.clock.now, self.name, port, before, self.paused)
        self.serve()

    def arrived(self, port: int, packet: Packet) -> None:
        if packet.flow is not None:
            super().arrived(port, packet)
            return
        before, self.paused = self.paused, told(self.paused, packet)
        record(self.pauses, self.clock.now, self.name, port, before, self.paused)
        self.serve()

    @property
    def name(self) -> str:
        """The host's name in the case."""
        ends = (self.wire.link.a, self.wire.link.b)
        return next(end for end in ends if end[0] == "h")

    def serve(self) -> None:
        """Control packets first, then the first ready flow that is not paused; paused ones stay."""
        if self.wire.busy or self.wire.down:
            return
        if self.replies:
            self.wire.send(self.replies.popleft())
            return
        for sender in list(self.ring):
            if number(sender) in self.paused:
                continue
            self.ring.remove(sender)
            sender.state = "idle"
            if sender.may_send():
                sender.state, self.leaving = "leaving", sender
                sender.send()
                return


def _watch(clock: Clock, wire: Wire, turned: Callable[[int, bool], None]) -> None:
    """Has a node called whenever the link of a port fails or returns."""
    for outage in wire.link.outages:
        for time, down in zip(outage, (True, False), strict=True):
            clock.at(time, links.CHANGED, wire.port, turned, wire.port, down)


def number(sender: plain.Sender) -> int:
    """The number of a flow at its host, as its packets have it on the first link."""
    return sender.place % NUMBERS


def index(case: Case, sender: plain.Sender) -> int:
    """The number of a flow: in the order of starts, and of the scenario where flows start together."""
    own = (case.flows[sender.number].start, sender.number)
    return sum((flow.start, number) < own for number, flow in enumerate(case.flows))


def told(paused: frozenset[int], frame: Packet) -> frozenset[int]:
    """Returns the paused numbers after a frame has arrived."""
    match frame.kind:
        case "map":
            return frame.told
        case "pause":
            return paused | {frame.byte}
        case _:
            return paused - {frame.byte}


def record(
    pauses: list[Pause], now: int, node: str, port: int, before: frozenset[int], after: frozenset[int]
) -> None:
    """Notes what has changed."""
    pauses += [Pause(now, node, port, one, one in after) for one in sorted(before ^ after)]


@dataclass
class Entry:
    """An entry of the table of flows: its queue, its packets in the port, when one last joined or left."""

    queue: int
    time: int
    packets: int = 0


@dataclass
class Waiting:
    """A packet in a queue: how it came, and for data its entry and whether it pauses its number."""

    packet: Packet
    ingress: int
    number: int = 0
    entry: Entry | None = None
    pausing: bool = False


class PausableDeficit(DeficitRoundRobin):
    """Deficit round robin of queues that may be paused: such a queue is given without packets.

    `heads` are the sizes of the first packets, also of those that are paused.
    """

    def choose_among(self, queues: Sequence[Sequence[int]], heads: Sequence[int]) -> int:
        """The queue whose first packet is sent now."""
        if self.visiting and not queues[self.visited]:
            # It was paused during its visit.
            self.counters[self.visited] = min(self.counters[self.visited], heads[self.visited] - 1)
            self.visiting = False
        return self.choose(queues)


class Port:
    """A port of a switch: its queues and table for what leaves by it, its counts for what comes by it."""

    def __init__(self, bfc: Bfc, wire: Wire) -> None:
        self.wire = wire
        self.queues: list[deque[Waiting]] = [deque() for _ in range(bfc.queues + 1)]
        self.lengths = [0] * (bfc.queues + 1)
        self.paused: frozenset[int] = frozenset()
        self.table: dict[int, Entry] = {}
        self.scheduler = PausableDeficit([QUANTUM] * bfc.queues) if bfc.drr else RoundRobin(bfc.queues)
        self.counts: Counter[int] = Counter()
        self.frames: deque[Packet] = deque()
        self.map_waits = self.map_scheduled = False
        self.sent = 0

    def join(self, queue: int, waiting: Waiting) -> None:
        """A packet joins a queue."""
        self.queues[queue].append(waiting)
        self.lengths[queue] += waiting.packet.size

    def take(self, queue: int) -> Waiting:
        """The first packet of a queue leaves it."""
        waiting = self.queues[queue].popleft()
        self.lengths[queue] -= waiting.packet.size
        return waiting

    def open(self) -> list[int]:
        """The data queues that hold a packet and are not paused."""
        return [q for q in range(1, len(self.queues)) if self.queues[q] and q not in self.paused]

    def choose(self) -> int:
        """The data queue that is served next; one of them is open."""
        ready = set(self.open())
        data = list(enumerate(self.queues))[1:]
        sizes = [[it.packet.size for it in queue] if q in ready else [] for q, queue in data]
        if isinstance(self.scheduler, PausableDeficit):
            heads = [queue[0].packet.size if queue else 0 for _, queue in data]
            return 1 + self.scheduler.choose_among(sizes, heads)
        return 1 + self.scheduler.choose(sizes)


class BfcSwitch(switches.Switch):
    """A switch that pauses the queues, or flows, from which packets come."""

    def __init__(self, clock: Clock, case: BfcCase, name: str, node: int) -> None:
        super().__init__(clock, case, node)
        self.bfc, self.name, self.node, self.five_tuple = case.bfc, name, node, case.five_tuple
        self.case = case
        self.factor = Fraction(math.floor(Fraction(str(case.bfc.factor)) * 2**32), 2**32)
        self.ports: list[Port] = []
        self.pauses: list[Pause] = []

    def add(self, link: Link) -> Wire:
        wire = Wire(self.clock, link, self, len(self.wires))
        self.wires.append(wire)
        self.ports.append(Port(self.bfc, wire))
        _watch(self.clock, wire, self.turned)
        return wire

    def turned(self, port: int, down: bool) -> None:
        """A link fails or returns."""
        here = self.ports[port]
        here.wire.down = down
        if down:
            before, here.paused = here.paused, frozenset()
            record(self.pauses, self.clock.now, self.name, port, before, here.paused)
            here.counts.clear()
            here.frames.clear()
            here.map_waits = False
            waiting = [it for other in self.ports for queue in other.queues for it in queue]
            for it in waiting:
                it.pausing = it.pausing and it.ingress != port
            for queue in here.queues:
                self.release(queue)
        self.serve(port)

    def arrived(self, port: int, packet: Packet) -> None:
        if packet.flow is None:
            here = self.ports[port]
            queues = frozenset(range(1, self.bfc.queues + 1))
            before, here.paused = here.paused, told(here.paused, packet) & queues
            record(self.pauses, self.clock.now, self.name, port, before, here.paused)
            self.serve(port)
            return
        flow = packet.flow.flow
        data = packet.kind == "data"
        egress = self.way(flow.destination if data else flow.source, packet.path)
        (self.data if data else self.control)(port, egress, packet)

    def admitted(self, ingress: int, egress: int, queue: int, packet: Packet) -> bool:
        """Whether there is room for a packet in a queue."""
        packet.queue = queue
        if self.admit(ingress, self.ports[egress].lengths, packet):
            self.held += packet.size
            return True
        self.drops += 1
        return False

    def control(self, ingress: int, egress: int, packet: Packet) -> None:
        """A packet of a host that is not data has come."""
        if self.admitted(ingress, egress, 0, packet):
            self.ports[egress].join(0, Waiting(packet, ingress))
            self.serve(egress)

    def data(self, ingress: int, egress: int, packet: Packet) -> None:
        """A data packet has come."""
        out, now, link = self.ports[egress], self.clock.now, self.wires[ingress].link
        assert packet.flow is not None
        at_host = isinstance(self.wires[ingress].far[0], Host)
        waiting = Waiting(packet, ingress, number(packet.flow) if at_host else packet.queue)

        key = self.key(packet.flow)
        entry = out.table.get(key)
        if entry and (entry.packets or now - entry.time <= self.bfc.sticky * 2 * link.delay):
            queue = entry.queue
        else:
            queue = self.empty_queue(out, packet)
        if not self.admitted(ingress, egress, queue, packet):
            return
        out.join(queue, waiting)
        entry = out.table.setdefault(key, Entry(queue, now))
        entry.queue, entry.time = queue, now
        entry.packets += 1
        waiting.entry = entry

        long = self.is_long(link, out, queue)
        waiting.pausing = long and (entry.packets > 1 or not self.bfc.single_packet)
        if waiting.pausing:
            counts = self.ports[ingress].counts
            counts[waiting.number] += 1
            if counts[waiting.number] == 1:
                self.pause(ingress, waiting.number)
        self.serve(egress)

    def is_long(self, came: Link, out: Port, queue: int) -> bool:
        """Whether a queue is above the threshold of a link by which packets come."""
        return out.lengths[queue] * max(len(out.open()), 1) > self.threshold(came, out.wire.link)

    def threshold(self, came: Link, leaves: Link) -> int:
        """Returns the longest queue for packets that come by a link, times the number of active queues."""
        return math.floor(self.factor * (2 * came.delay * leaves.rate // (8 * 10**12)))

    def key(self, sender: plain.Sender) -> int:
        """The entry of a flow in the table of every port."""
        flow = 2 * index(self.case, sender) if self.five_tuple else sender.data_hash >> 16 << 16
        draw = spreading.drawn(spreading.mix(self.node ^ STREAM), flow)
        return (draw >> 32) * self.bfc.entries * self.bfc.queues >> 32

    def empty_queue(self, out: Port, packet: Packet) -> int:
        """The first empty queue that is not paused, from a random one on; or that one."""
        assert packet.flow is not None
        path = 2 * index(self.case, packet.flow) if self.five_tuple else packet.path
        stream = spreading.mix(spreading.SEED ^ spreading.mix(self.node ^ STREAM)) ^ path
        draw = spreading.drawn(stream, packet.byte ^ spreading.mix(packet.sent))
        count = self.bfc.queues
        first = (draw >> 32) * count >> 32
        order = [(first + step) % count + 1 for step in range(count)]
        return next((q for q in order if not out.queues[q] and q not in out.paused), order[0])

    def pause(self, port: int, number: int) -> None:
        """A number is to be paused."""
        here = self.ports[port]
        if self.bfc.signal == "at-once":
            self.tell(port, "pause", number)
        elif not here.map_scheduled:
            here.map_scheduled = True
            interval = self.interval(port)
            self.clock.at(-(-self.clock.now // interval) * interval, MAP_TIMER, port, self.regular_map, port)

    def resume(self, port: int, number: int) -> None:
        """A number is to be resumed."""
        if self.bfc.signal == "at-once":
            self.tell(port, "resume", number)
        else:
            self.ports[port].map_waits = True
            self.serve(port)

    def tell(self, port: int, kind: str, number: int) -> None:
        """A frame for one number waits, unless its opposite does."""
        frames = self.ports[port].frames
        opposite = next((frame for frame in frames if frame.byte == number), None)
        if opposite is None:
            frames.append(Packet(kind, SINGLE_FRAME, byte=number))
        else:
            assert opposite.kind != kind
            frames.remove(opposite)
        self.serve(port)

    def interval(self, port: int) -> int:
        """The time between two regular maps of a port."""
        return self.wires[port].link.delay if self.bfc.interval is None else self.bfc.interval

    def regular_map(self, port: int) -> None:
        """The time of a regular map."""
        here = self.ports[port]
        here.map_scheduled = any(here.counts.values())
        if here.map_scheduled:
            here.map_waits = True
            self.clock.at(self.clock.now + self.interval(port), MAP_TIMER, port, self.regular_map, port)
            self.serve(port)

    def serve(self, port: int) -> None:
        """Begins to send the next packet of a port: frames of BFC, control packets, data."""
        here = self.ports[port]
        if here.wire.busy or here.wire.down:
            return
        if here.frames:
            here.sent += 1
            here.wire.send(here.frames.popleft())
        elif here.map_waits:
            here.sent += 1
            here.map_waits = False
            paused = frozenset(number for number, count in here.counts.items() if count)
            here.wire.send(Packet("map", MAP_FRAME, told=paused))
        elif here.queues[0]:
            self.leave(here, 0)
        elif here.open():
            self.leave(here, here.choose())

    def leave(self, here: Port, queue: int) -> None:
        """The first packet of a queue begins to leave."""
        waiting = here.take(queue)
        self.held -= waiting.packet.size
        here.wire.send(waiting.packet)
        if waiting.entry is not None:
            waiting.entry.packets -= 1
            waiting.entry.time = self.clock.now
        if waiting.pausing:
            self.lower(waiting)
        link = self.wires[waiting.ingress].link
        if self.bfc.resume == "threshold" and not self.is_long(link, here, queue):
            self.release(here.queues[queue])

    def release(self, waiting: deque[Waiting]) -> None:
        """Packets in a queue pause their numbers no longer."""
        for it in waiting:
            if it.pausing:
                it.pausing = False
                self.lower(it)

    def lower(self, waiting: Waiting) -> None:
        """A packet pauses its number no longer."""
        counts = self.ports[waiting.ingress].counts
        counts[waiting.number] -= 1
        if counts[waiting.number] == 0:
            self.resume(waiting.ingress, waiting.number)


@dataclass(frozen=True)
class Run:
    """Result of a run of the model: outcomes of the flows, pauses in order, and frames and drops."""

    outcomes: list[Outcome]
    pauses: list[Pause]
    frames: dict[tuple[str, int], int]
    """BFC frames that each port of a switch has begun to send."""
    drops: int


def played(case: BfcCase, order: list[int]) -> Run:
    """The model's run of a case; `order` as in `plain.run`."""
    clock = Clock()
    switches, hosts = plain.network(
        case, lambda name, node: BfcSwitch(clock, case, name, node), lambda link: BfcHost(clock, case, link)
    )
    selective = case.transport.recovery == "selective"
    kind = plain.SelectiveReceiver if selective else plain.Receiver
    senders = plain.finished(clock, case, order, hosts, kind)
    nodes: list[BfcHost | BfcSwitch] = [*hosts.values(), *switches.values()]
    return Run(
        plain.outcomes(senders),
        sorted(pause for node in nodes for pause in node.pauses),
        {(name, p): port.sent for name, switch in switches.items() for p, port in enumerate(switch.ports)},
        sum(switch.drops for switch in switches.values()),
    )


def run(case: BfcCase, order: list[int]) -> list[Outcome]:
    """The outcome of every flow of a case, in the order of the case; `order` as in `plain.run`."""
    return played(case, order).outcomes


def _bfc(draw: random.Random, links: Sequence[Link]) -> Bfc:
    """Few queues, so that flows share them, and thresholds of a few packets, so that they are paused."""
    shortest = _shortest(links)
    default = all(link.delay >= shortest for link in links) and draw.random() < 0.5
    return Bfc(
        queues=draw.choice([1, 2, 2, 3, 3, 4, 6, 32]),
        factor=draw.choice([0.02, 0.1, 0.25, 0.5, 1.5, round(draw.uniform(0.01, 1), 3)]),
        resume=draw.choice(["last-packet", "threshold"]),
        signal=draw.choice(["map", "at-once"]),
        interval=None if default else draw.randrange(shortest, shortest + 3 * US),
        entries=draw.choice([1, 2, 5, 200]),
        sticky=draw.choice([0, 1, 2, 3, 3]),
        single_packet=draw.random() < 0.5,
        drr=draw.random() < 0.5,
    )


def _shortest(links: Sequence[Link]) -> int:
    """The shortest interval that is allowed: regular maps may take half of a link."""
    return 2 * max(duration(MAP_FRAME, link.rate) for link in links)


def _aligned(draw: random.Random, case: BfcCase) -> BfcCase:
    """Changes a case to steps of 10ns with links and packets alike, and thresholds of whole packets.

    So packets, frames and regular maps come at one instant, and lengths of queues are equal to thresholds or
    (because of how `factor` is rounded) one byte longer.
    """
    step = US // 100
    links = tuple(replace(link, rate=100 * 10**9, delay=US // draw.choice([1, 1, 2])) for link in case.links)
    full = draw.choice([1250, 625])
    transport = replace(
        case.transport,
        header=50,
        payload=full - 50,
        ack_extra=200,
        smallest=250,
        ack_every=1,
        ack_payload=None,
    )
    flows = tuple(
        replace(
            flow,
            start=flow.start // 4 // step * step,
            size=min(-(-flow.size // transport.payload), 40) * transport.payload,
            rate=None,
        )
        for flow in case.flows
    )
    bfc = replace(
        case.bfc,
        factor=draw.choice([0.05, 0.1, 0.125, 0.25, 0.5]),
        interval=draw.choice([None, 4 * step, 20 * step]),
    )
    return replace(case, links=links, flows=flows, transport=transport, bfc=bfc)


def _small(draw: random.Random, case: BfcCase) -> BfcCase:
    """Changes a case to packets of 8 to 200 bytes, with thresholds to match, and longer flows."""
    transport = tiny_packets(draw, case.transport, 160)
    flows = tuple(
        replace(flow, size=draw.randrange(1, draw.choice([10, 100]) * transport.payload))
        for flow in case.flows
    )
    if draw.random() < 0.5:
        bfc = replace(case.bfc, factor=case.bfc.factor / 8)
        return replace(case, flows=flows, transport=transport, bfc=bfc)
    links = tuple(replace(link, rate=link.rate // 8) for link in case.links)
    shortest = _shortest(links)
    bfc = replace(
        case.bfc, factor=draw.choice([0.5, 1.5, 2.5]), interval=draw.randrange(shortest, 2 * shortest)
    )
    return replace(case, links=links, flows=flows, transport=transport, bfc=bfc)


def _interrupted(draw: random.Random, case: BfcCase) -> BfcCase:
    """Changes a case to tiny packets: queues are paused while deficit round robin visits them."""
    case = _small(draw, case)
    payload = case.transport.payload
    flows = tuple(
        replace(flow, size=draw.randrange(20, 80) * payload, start=flow.start // 4, window=None, rate=None)
        for flow in case.flows
    )
    bfc = replace(case.bfc, queues=draw.choice([2, 3, 4]), drr=True, single_packet=False)
    return replace(case, flows=flows, bfc=bfc)


def _varied(draw: random.Random, case: BfcCase) -> BfcCase:
    """The case as it is, aligned, or with small packets; one in five drops packets."""
    kind = draw.randrange(4)
    if kind == 0:
        case = _aligned(draw, case)
    if kind == 1:
        case = _small(draw, case)
    if draw.random() < 0.8:
        return case
    limit = max(int(case.transport.data(case.transport.payload) * draw.uniform(2, 15)), case.transport.ack)
    transport = replace(
        case.transport, rto=draw.randrange(30 * US, 200 * US), nack_interval=draw.randrange(US, 20 * US)
    )
    shared = Shared(2 * limit, draw.choice([0.5, 1.0, 2.0]))
    return replace(case, transport=transport, buffer=limit if draw.random() < 0.5 else shared)


def _above(draw: random.Random, flow: Flow) -> Flow:
    """A flow that BFC alone holds back, or that is also paced, or has a window."""
    kind = draw.random()
    if kind < 0.7:
        return replace(flow, window=None, rate=None)
    return replace(flow, window=None) if kind < 0.85 else flow


def star(seed: int) -> BfcCase:
    """A star with an incast."""
    draw = random.Random(f"bfc star {seed}")
    case = lossless_star(seed)
    transport = case.transport
    links = [*case.links, replace(case.links[0], a=f"h{len(case.links)}")]
    if draw.random() < 0.5:
        links[0] = _slower(draw, links[0])
    hosts = [link.a for link in links]
    victim = hosts[0] if draw.random() < 0.7 else draw.choice(hosts)
    flows = []
    for _ in range(draw.randint(3, 14)):
        source, destination = draw.sample(hosts, 2)
        if source != victim and draw.random() < 0.8:
            destination = victim
        size = draw.randint(1, draw.choice([2, 30, 80]) * transport.payload)
        start = draw.choice([0, draw.randrange(10 * US), draw.randrange(2 * US)])
        window, rate = draw.randint(1, 30) * transport.payload, draw.randrange(10**9, 10**11)
        flows.append(_above(draw, Flow(source, destination, size, start, window, rate)))
    case = BfcCase(
        tuple(links), tuple(flows), transport, bfc=_bfc(draw, links), five_tuple=draw.random() < 0.1
    )
    return _varied(draw, case)


def broken(seed: int) -> BfcCase:
    """A star with an incast, and links that fail and return."""
    draw = random.Random(f"bfc outages {seed}")
    case = star(seed)
    victim = Counter(flow.destination for flow in case.flows).most_common(1)[0][0]
    failing = {victim if draw.random() < 0.5 else draw.choice(case.flows).source for _ in range(2)}
    broken_links = []
    for link in case.links:
        outages: list[tuple[int, int]] = []
        if failing & {link.a, link.b}:
            for _ in range(draw.randint(1, 3)):
                fails = (outages[-1][1] if outages else 0) + draw.randrange(1, 15 * US)
                outages.append(
                    (fails, fails + draw.choice([1, draw.randrange(1, US), draw.randrange(1, 10 * US)]))
                )
        broken_links.append(replace(link, outages=tuple(outages)))
    transport = replace(case.transport, rto=draw.randrange(100 * US, 200 * US))
    return replace(case, links=tuple(broken_links), transport=transport)


def _slower(draw: random.Random, link: Link) -> Link:
    return replace(link, rate=link.rate // draw.randint(2, 5))


def spines(seed: int) -> BfcCase:
    """Leaves and spines, where queues of switches are paused too; some flows are spread over the spines."""
    draw = random.Random(f"bfc spines {seed}")
    case = sprayed(seed)
    spread = draw.random() < 0.4
    flows = []
    for flow in case.flows:
        for _ in range(draw.randint(1, 3)):
            size = min(flow.size * draw.choice([1, 2, 4]), 40 * case.transport.payload)
            ends = flow.source, flow.destination
            if "h0" not in ends and draw.random() < 0.4:
                ends = flow.source, "h0"
            again = replace(flow, size=size, start=draw.randrange(flow.start // 4 + US), destination=ends[1])
            flows.append(_above(draw, replace(again, balancing=flow.balancing if spread else None)))
    links = tuple(
        _slower(draw, link) if "h0" in (link.a, link.b) and draw.random() < 0.6 else link
        for link in case.links
    )
    transport = replace(case.transport, rto=10_000 * US)
    if not spread and draw.random() < 0.7:
        transport = replace(transport, recovery="go-back-n")
    bfc = _bfc(draw, links)
    if draw.random() < 0.15:
        return _interrupted(draw, BfcCase(links, tuple(flows), transport, balancing=case.balancing, bfc=bfc))
    return _varied(draw, BfcCase(links, tuple(flows), transport, balancing=case.balancing, bfc=bfc))


KINDS: dict[str, Callable[[int], BfcCase]] = {"bfc star": star, "bfc spines": spines, "bfc outages": broken}
"""Functions that draw a case of each kind from a seed."""
