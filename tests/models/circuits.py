"""A plain model of the rotor network: racks whose switches (ToRs) are joined in pairs, in turn, by circuits.

Written from docs/network/circuits.md; hosts, transport and the packet switch are taken from `plain`.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from incast import Scenario
from models import cases
from models.cases import US, Case, Link, Shared
from models.clock import Clock
from models.links import ARRIVAL, START, Packet, Wire, duration
from models.plain import Host, Outcome, Receiver, SelectiveReceiver, outcomes
from models.schedulers import SCHEDULERS, scheduler
from models.switches import Switch

DAY = -1
"""The begin or end of a day comes before everything else at its instant."""


@dataclass(frozen=True)
class Rotor:
    """The keys of `[topology]`: rates in bits per second, times in picoseconds, limits in bytes."""

    racks: int
    hosts: int
    rate: int
    delay: int
    uplink_rate: int
    uplink_delay: int
    circuit_rate: int
    circuit_delay: int
    day: int
    night: int
    prebuffer: int = 0
    voq: int | None = None
    voq_large: int | None = None

    def keys(self) -> dict[str, object]:
        """Returns the keys of a scenario."""
        keys: dict[str, object] = {"kind": "rotor", "racks": self.racks, "hosts": self.hosts}
        for name in ("rate", "uplink_rate", "circuit_rate"):
            keys[name] = f"{getattr(self, name)}bps"
        for name in ("delay", "uplink_delay", "circuit_delay", "day", "night", "prebuffer"):
            keys[name] = f"{getattr(self, name)}ps"
        for name in ("voq", "voq_large"):
            if getattr(self, name) is not None:
                keys[name] = f"{getattr(self, name)}B"
        return keys

    @property
    def slot(self) -> int:
        """From the begin of a day to the begin of the next one."""
        return self.day + self.night

    def links(self) -> tuple[Link, ...]:
        """The links of the hosts, and those to the packet switch; ToR `i` is `s{i}`."""
        of_hosts = [
            Link(f"h{rack * self.hosts + i}", f"s{rack}", self.rate, self.delay)
            for rack in range(self.racks)
            for i in range(self.hosts)
        ]
        packet = f"s{self.racks}"
        uplinks = [
            Link(f"s{rack}", packet, self.uplink_rate, self.uplink_delay) for rack in range(self.racks)
        ]
        return tuple(of_hosts + uplinks)

    def matching(self, now: int) -> int:
        """The matching of the day that it is now; 0 at night."""
        number, into = divmod(now, self.slot)
        return number % (self.racks - 1) + 1 if into < self.day else 0

    def end_of_day(self, now: int) -> int:
        """Returns the end of the present day."""
        return now // self.slot * self.slot + self.day

    def announced(self, source: int, destination: int, now: int) -> bool:
        """Whether a circuit is announced to a pair of racks."""
        matching = (destination - source) % self.racks
        # No announcement is longer than a week: the day is the one of this week, or that of the next.
        week = self.slot * (self.racks - 1)
        first = now // week * week + (matching - 1) * self.slot
        return any(begin - self.prebuffer <= now < begin + self.day for begin in (first, first + week))

    def limit(self, source: int, destination: int, now: int) -> int | None:
        """Returns the number of bytes that may wait for another rack."""
        if self.voq is None or not self.announced(source, destination, now):
            return self.voq
        if self.voq_large is not None:
            return self.voq_large
        return self.voq_large_by_default()

    def voq_large_by_default(self) -> int:
        """The limit while a circuit is announced, where there is no other."""
        assert self.voq is not None
        more = self.prebuffer * self.uplink_rate // (8 * 10**12)
        return max(self.voq, self.voq * self.circuit_rate // self.uplink_rate + more)


@dataclass(frozen=True)
class RotorCase(Case):
    """Racks and circuits with flows. `links` belong to the packet network."""

    rotor: Rotor | None = None

    def scenario(self) -> Scenario:
        assert self.rotor is not None
        return super().scenario().with_({"topology": self.rotor.keys()})


class Optical:
    """The optical switch: every bit is passed on at once, to the ToR of the matching."""

    def __init__(self, clock: Clock, rotor: Rotor) -> None:
        self.clock, self.rotor = clock, rotor
        self.racks: list[Rack] = []

    def arrived(self, port: int, packet: Packet) -> None:
        """The last bit of a packet has come from a ToR."""
        rotor = self.rotor
        last = self.clock.now - rotor.circuit_delay
        first = last - duration(packet.size, rotor.circuit_rate)
        matching = rotor.matching(first)
        assert matching, "a packet begins to leave at night"
        assert last <= rotor.end_of_day(first), "a packet ends after its day"
        rack = self.racks[(port + matching) % rotor.racks]
        self.clock.at(
            self.clock.now + rotor.circuit_delay, ARRIVAL, rack.circuit, rack.arrived, rack.circuit, packet
        )

    def departed(self, port: int) -> None:
        """It sends nothing of its own."""


class Voq:
    """Packets that wait in a ToR for one other rack: queues, with a scheduler of their own."""

    def __init__(self, case: Case) -> None:
        self.queues: list[deque[Packet]] = [deque() for _ in case.quanta]
        self.scheduler = scheduler(case.scheduler, case.quanta, case.strict)

    def __bool__(self) -> bool:
        return any(self.queues)

    def lengths(self) -> list[int]:
        """The bytes in each queue."""
        return [sum(packet.size for packet in queue) for queue in self.queues]

    def longest_head(self) -> int:
        """The size of the longest packet that may be the next."""
        return max(queue[0].size for queue in self.queues if queue)

    def take(self) -> Packet:
        """The next packet, which leaves."""
        chosen = self.scheduler.choose([[packet.size for packet in queue] for queue in self.queues])
        return self.queues[chosen].popleft()


class Rack(Switch):
    """A ToR: ports of its hosts, the uplink, the circuit; and a VOQ for every rack, its own always empty.

    By port, `sent` counts bytes sent to other racks, and `lost` packets dropped on the way there; `limited`
    is how many of those a VOQ's limit dropped, and `blocked` how often a packet was too long for its day.
    """

    def __init__(self, clock: Clock, case: RotorCase, number: int, rack: int) -> None:
        super().__init__(clock, case, number)
        assert case.rotor is not None
        self.rotor, self.rack = case.rotor, rack
        self.uplink, self.circuit = self.rotor.hosts, self.rotor.hosts + 1
        self.voqs = [Voq(case) for _ in range(self.rotor.racks)]
        self.last = rack
        self.sent = {self.uplink: 0, self.circuit: 0}
        self.lost = {self.uplink: 0, self.circuit: 0}
        self.blocked = self.limited = 0

    def destination(self, packet: Packet) -> int:
        """The number of the host to which a packet goes."""
        assert packet.flow is not None
        flow = packet.flow.flow
        return _number(flow.destination if packet.kind == "data" else flow.source)

    def served_by_circuit(self) -> int | None:
        """The rack whose day it is."""
        matching = self.rotor.matching(self.clock.now)
        return (self.rack + matching) % self.rotor.racks if matching else None

    def arrived(self, port: int, packet: Packet) -> None:
        rack = self.destination(packet) // self.rotor.hosts
        if rack == self.rack:
            super().arrived(port, packet)
            return
        voq = self.voqs[rack]
        lengths = voq.lengths()
        limit = self.rotor.limit(self.rack, rack, self.clock.now)
        out = self.circuit if rack == self.served_by_circuit() else self.uplink
        within = limit is None or sum(lengths) + packet.size <= limit
        self.limited += not within
        if within and self.admit(port, lengths, packet):
            self.held += packet.size
            voq.queues[packet.queue].append(packet)
            self.serve(out)
        else:
            self.lost[out] += 1

    def serve(self, port: int) -> None:
        if port < self.uplink:
            super().serve(port)
        elif not self.wires[port].busy:
            voq = self.next_by_circuit() if port == self.circuit else self.next_by_uplink()
            if voq is not None:
                packet = voq.take()
                self.held -= packet.size
                self.sent[port] += packet.size
                self.wires[port].send(packet)

    def next_by_circuit(self) -> Voq | None:
        """The VOQ of the day, if its next packet ends with the day or before."""
        rack, now = self.served_by_circuit(), self.clock.now
        if rack is None or not self.voqs[rack]:
            return None
        done = now + duration(self.voqs[rack].longest_head(), self.rotor.circuit_rate)
        if done > self.rotor.end_of_day(now):
            self.blocked += 1
            return None
        return self.voqs[rack]

    def next_by_uplink(self) -> Voq | None:
        """Returns the next VOQ after the one served last that holds a packet and is not the day's."""
        day = self.served_by_circuit()
        for step in range(1, self.rotor.racks + 1):
            rack = (self.last + step) % self.rotor.racks
            if rack != day and self.voqs[rack]:
                self.last = rack
                return self.voqs[rack]
        return None

    def day_begins(self) -> None:
        """The circuit has a VOQ."""
        self.clock.at(self.clock.now + self.rotor.day, DAY, 0, self.day_ends)
        self.serve(self.circuit)

    def day_ends(self) -> None:
        """The uplink has all VOQs."""
        self.clock.at(self.clock.now + self.rotor.night, DAY, 0, self.day_begins)
        self.serve(self.uplink)


class Network:
    """All nodes of a case, joined, with its flows to come."""

    def __init__(self, case: RotorCase, order: Sequence[int]) -> None:
        assert case.rotor is not None
        rotor = self.rotor = case.rotor
        clock = self.clock = Clock()
        self.flows = len(case.flows)
        first = rotor.racks * rotor.hosts
        self.racks = [Rack(clock, case, first + rack, rack) for rack in range(rotor.racks)]
        self.packet = Switch(clock, case, first + rotor.racks)
        optical = Optical(clock, rotor)
        optical.racks = self.racks
        self.hosts: list[Host] = []
        for link in rotor.links():
            if link.a[0] == "h":
                host, rack = Host(clock, case, link), self.racks[_number(link.b)]
                rack.routes[link.a] = [len(rack.wires)]
                _join(host.wire, rack.add(link))
                self.hosts.append(host)
            else:
                _join(self.racks[_number(link.a)].add(link), self.packet.add(link))
        for rack in self.racks:
            circuit = rack.add(Link("", "", rotor.circuit_rate, rotor.circuit_delay))
            circuit.far = (optical, rack.rack)
            for number in range(len(self.hosts)):
                rack.routes.setdefault(f"h{number}", [rack.uplink])
                self.packet.routes[f"h{number}"] = [number // rotor.hosts]
            clock.at(0, DAY, 0, rack.day_begins)
        for place, number in enumerate(order):
            flow = case.flows[number]
            kind = SelectiveReceiver if case.transport.recovery == "selective" else Receiver
            receiver = kind(self.hosts[_number(flow.destination)], flow, place)
            clock.at(flow.start, START, place, self.hosts[_number(flow.source)].start, flow, number, receiver)

    def go_on(self, time: int) -> None:
        """Runs for some more time, up to the end of what happens at the next event."""
        end = self.clock.now + time
        self.clock.run(lambda: self.clock.now < end)

    def totals(self) -> dict[tuple[str, int], tuple[int, int]]:
        """Bytes sent, and packets dropped, at every port from a ToR to other racks."""
        return {
            (f"tor{rack.rack}", port): (rack.sent[port], rack.lost[port])
            for rack in self.racks
            for port in (rack.uplink, rack.circuit)
        }

    def run(self) -> list[Outcome]:
        """Runs until all flows are done."""
        self.clock.run(lambda: self.clock.finished < self.flows)
        senders = sorted((s for host in self.hosts for s in host.senders), key=lambda s: s.number)
        return outcomes(senders)


def _number(name: str) -> int:
    """The number of a host or ToR by its name."""
    return int(name[1:])


def _join(a: Wire, b: Wire) -> None:
    a.far, b.far = (b.node, b.port), (a.node, a.port)


def run(case: RotorCase, order: list[int]) -> list[Outcome]:
    """The outcome of every flow of a case, in the order of the case; `order` as in `plain.run`."""
    return Network(case, order).run()


def drawn(seed: int) -> RotorCase:
    """Racks with short days, most flows between racks, with or without limits and losses."""
    draw = random.Random(f"rotor {seed}")
    transport = replace(cases._selective(draw, cases._transport(draw)), rto=draw.randrange(40 * US, 400 * US))
    if draw.random() < 0.2:
        transport = replace(transport, recovery="go-back-n", nack_interval=draw.randrange(US, 20 * US))
    queues = draw.choice([1, 1, draw.randint(2, 4)])
    if draw.random() < 0.3:
        transport = replace(transport, ack_queue=draw.randrange(queues))
    full = transport.data(transport.payload)
    rotor = _rotor(draw, full, transport.ack)
    racks, hosts = rotor.racks, rotor.racks * rotor.hosts
    pairs = [draw.sample(range(racks), 2) for _ in range(draw.randint(1, 3))]
    flows = []
    for _ in range(draw.randint(2, 10)):
        ends = draw.choice(pairs) if draw.random() < 0.8 else draw.choices(range(racks), k=2)
        source, destination = (end * rotor.hosts + draw.randrange(rotor.hosts) for end in ends)
        if source == destination:
            source, destination = draw.sample(range(hosts), 2)
        flow = cases._flow(draw, (f"h{source}", f"h{destination}"), transport, packets=40, spread=20 * US)
        flow = cases._hurried(draw, flow, transport)
        flow = replace(flow, size=min(flow.size, 80 * transport.payload), queue=draw.randrange(queues))
        flows.append(replace(flow, window=None, rate=None) if draw.random() < 0.4 else flow)
    buffer: int | Shared | None = None
    if draw.random() < 0.5:
        limit = max(int(full * draw.uniform(3, draw.choice([8, 40]))), transport.ack)
        buffer = limit if draw.random() < 0.5 else Shared(size=3 * limit, alpha=draw.choice([0.5, 1.0, 2.0]))
    name = draw.choice(list(SCHEDULERS)) if queues > 1 else "strict-priority"
    return RotorCase(
        rotor.links(),
        tuple(flows),
        transport,
        buffer,
        scheduler=name,
        quanta=SCHEDULERS[name].numbers(draw, full, queues),
        strict=draw.randint(0, queues) if name != "strict-priority" and draw.random() < 0.3 else 0,
        rotor=rotor,
    )


def _rotor(draw: random.Random, full: int, ack: int) -> Rotor:
    """Days of half a full packet to 60 of them by the circuit; in some cases much happens at one instant."""
    racks = draw.randint(2, 5)
    rates = [cases._rate(draw)]
    rates.append(draw.choice([rates[0], rates[0] // draw.randint(2, 10), cases._rate(draw)]))
    rates.append(draw.choice([rates[1], 4 * rates[1], cases._rate(draw)]))
    delays = [cases._delay(draw) for _ in range(3)]
    packet = duration(full, rates[2])
    day, night = (int(packet * draw.uniform(0.5, draw.choice([3, 60]))) for _ in range(2))
    if draw.random() < 0.4:
        # All times are multiples of that of a full packet.
        rates = [100 * cases.GBPS] * 3
        packet = duration(full, rates[2])
        delays = [packet * draw.randint(1, 20) for _ in range(3)]
        day, night = (packet * draw.randint(1, draw.choice([4, 60])) for _ in range(2))
        rates[1] //= draw.choice([1, 1, 2, 4])
    slot, week = day + night, (day + night) * (racks - 1)
    rotor = Rotor(
        racks,
        hosts=draw.randint(1, 3),
        rate=rates[0],
        delay=delays[0],
        uplink_rate=rates[1],
        uplink_delay=delays[1],
        circuit_rate=rates[2],
        circuit_delay=delays[2],
        day=day,
        night=night,
        prebuffer=draw.choice([0, week - day, draw.randint(0, week - day), min(slot, week - day)]),
    )
    if draw.random() < 0.6:
        voq = max(int(full * draw.uniform(1, draw.choice([4, 12]))), ack)
        rotor = replace(rotor, voq=voq)
        if draw.random() < 0.5:
            rotor = replace(rotor, voq_large=voq + int(full * draw.uniform(0, draw.choice([2, 40]))))
    return rotor


KINDS: dict[str, Callable[[int], Case]] = {"rotor": drawn}
"""Functions that draw a case from a seed."""
