"""A plain model of Homa: receivers grant, senders send the shortest message first, packets have priorities.

Written from docs/network/homa.md (and the pages that plain.py and the others name); switches and links are
from switches.py and links.py.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from incast import Scenario
from models import links, plain, spreading, switches, ways
from models.cases import US, Case, Flow, Link, Shared, Transport, between, lossy_star, sprayed
from models.clock import Clock
from models.links import START, Wire, duration
from models.plain import Outcome

SENDER_TIMER, RECEIVER_TIMER = START + 1, START + 2
"""Events at a host after starts at the same instant."""

COUNTED = ("grant", "request", "ack", "given up", "waiting", "capped", "oldest", "told to wait", "excused")
"""Counts of hosts: control packets, messages given up, how often a message had to wait for others, or for the
cap, when grants were chosen, how often the oldest message was granted its share, how often a message was told
that it waits, and how often it was not taken for lost since messages before it arrived."""


@dataclass(frozen=True)
class Settings:
    """The keys of `[transport.homa]`, in bytes and picoseconds; None for the default."""

    rtt_bytes: int | str | None = None
    overcommitment: int | None = None
    levels: int | None = None
    unscheduled: int | str = 2
    cutoffs: tuple[int, ...] | None = None
    scheduled: str = "lowest"
    resend_timeout: int = 1000 * US
    resend_tries: int = 5
    cap: int | None = None
    oldest_share: Fraction = Fraction(0)
    oldest_step: int = 50_000
    last_rtt_bytes: str = "scheduled"

    def keys(self) -> dict[str, object]:
        """Returns the keys of a scenario."""
        keys: dict[str, object] = {
            "unscheduled": self.unscheduled,
            "scheduled": self.scheduled,
            "resend_timeout": f"{self.resend_timeout}ps",
            "resend_tries": self.resend_tries,
            "last_rtt_bytes": self.last_rtt_bytes,
        }
        if self.oldest_share > 0:
            keys |= {"oldest_share": float(self.oldest_share), "oldest_step": f"{self.oldest_step}B"}
        for name, size in (("rtt_bytes", self.rtt_bytes), ("cap", self.cap)):
            if size is not None:
                keys[name] = size if isinstance(size, str) else f"{size}B"
        if self.overcommitment is not None:
            keys["overcommitment"] = self.overcommitment
        if self.levels is not None:
            keys["levels"] = self.levels
        if self.cutoffs is not None:
            keys["cutoffs"] = [f"{size}B" for size in self.cutoffs]
        return keys


@dataclass(frozen=True)
class HomaCase(Case):
    """A case whose hosts speak Homa. Each of `quanta` belongs to a queue of the switches."""

    homa: Settings = field(default_factory=Settings)

    def scenario(self) -> Scenario:
        switch: dict[str, object] = {"buffer": "unlimited", "queues": len(self.quanta)}
        if isinstance(self.buffer, int):
            switch["buffer"] = {"per_port": f"{self.buffer}B"}
        elif self.buffer is not None:
            switch |= {"buffer": f"{self.buffer.size}B", "egress_alpha": self.buffer.alpha}
        switch |= {"scheduler": self.scheduler} | ({"strict": self.strict} if self.strict else {})
        sizes = {name: f"{getattr(self.transport, name)}B" for name in _SIZES}
        balancing = self.balancing.keys({flow.balancing or "ecmp" for flow in self.flows})
        balancing.pop("acknowledgements", None)
        return Scenario.from_dict(
            {
                "topology": self.topology(),
                "switch": switch,
                "balancing": balancing,
                "transport": {"kind": "homa", **sizes, "homa": self.homa.keys()},
                "traffic": [_block(number, flow) for number, flow in enumerate(self.flows)],
            }
        )


_SIZES = ("payload", "header", "ack_extra", "smallest")


def _block(number: int, flow: Flow) -> dict[str, object]:
    return between(number, flow) | {"balancing": flow.balancing or "ecmp"}


class Plan:
    """Knowledge of all hosts from the start: RTTbytes and the priority levels."""

    def __init__(self, case: HomaCase) -> None:
        homa, payload = case.homa, case.transport.payload
        self.case, self.homa, self.payload = case, homa, payload
        routes = ways.routes(case)
        pairs = {(flow.source, flow.destination) for flow in case.flows}
        if homa.rtt_bytes == "pair":
            rtt_bytes = {pair: ways.pair_bytes(case, routes, *pair) for pair in pairs}
        elif isinstance(homa.rtt_bytes, int):
            rtt_bytes = dict.fromkeys(pairs, homa.rtt_bytes)
        else:
            rtt_bytes = dict.fromkeys(pairs, _rtt_bytes(case, routes))
        self.at_once = {pair: max(1, -(-size // payload)) for pair, size in rtt_bytes.items()}
        self.levels = len(case.quanta) if homa.levels is None else homa.levels
        flows = sorted(case.flows, key=lambda flow: flow.size)
        sizes = [flow.size for flow in flows]
        first_bytes = [min(flow.size, self.rtt_packets(flow) * payload) for flow in flows]
        if isinstance(homa.unscheduled, int):
            self.unscheduled = homa.unscheduled
        else:
            rounded = (2 * self.levels * sum(first_bytes) + sum(sizes)) // (2 * sum(sizes))
            self.unscheduled = max(1, min(self.levels - 1, rounded))
        self.overcommitment = homa.overcommitment or self.levels - self.unscheduled
        self.cutoffs = list(homa.cutoffs or [])
        if homa.cutoffs is None:
            for share in range(1, self.unscheduled):
                reached = (
                    size
                    for place, size in enumerate(sizes)
                    if sum(first_bytes[: place + 1]) * self.unscheduled >= share * sum(first_bytes)
                )
                self.cutoffs.append(next(reached))
        self.cap = None if homa.cap is None else homa.cap // payload
        self.step = max(1, homa.oldest_step // payload)
        self.every: int | None = None
        if homa.oldest_share > 0:
            others = self.step * (1 - homa.oldest_share) / homa.oldest_share
            self.every = max(1, math.floor(others + Fraction(1, 2)))

    def rtt_packets(self, flow: Flow) -> int:
        """Returns RTTbytes of a flow in packets."""
        return self.at_once[flow.source, flow.destination]

    def unscheduled_level(self, size: int) -> int:
        """The level of the first packets of a message."""
        return sum(cutoff < size for cutoff in self.cutoffs)

    def scheduled_level(self, place: int, active: int) -> int:
        """The level of the message at a place among the active ones."""
        number = self.levels - self.unscheduled
        unused = max(0, number - active) if self.homa.scheduled == "lowest" else 0
        return self.unscheduled + min(number - 1, place + unused)


@dataclass
class Packet(links.Packet):
    """A packet of the kind data, grant, request or ack.

    `first` is the number of a data packet, or the first that is requested; `end` is the limit of a grant, or
    the end of a request. `level` is a grant's, for the packets that it allows.
    """

    outgoing: Outgoing | None = None
    destination: str = ""
    first: int = 0
    end: int = 0
    level: int = 0


class Outgoing:
    """A message at its sender."""

    def __init__(self, host: Host, plan: Plan, flow: Flow, number: int, index: int) -> None:
        self.host, self.plan, self.flow, self.number, self.index = host, plan, flow, number, index
        self.packets = -(-flow.size // plan.payload)
        self.rtt_packets = plan.rtt_packets(flow)
        self.at_once = min(self.packets, self.rtt_packets)
        self.limit = self.at_once
        self.next = 0
        self.again: set[int] = set()
        self.level = plan.levels - 1
        self.heard = self.done = False
        self.expiries = 0
        self.last = flow.start
        self.finish: int | None = None
        self.sent = self.resent = self.timeouts = 0
        key = spreading.flow_key(f"f{number}", 0)
        self.data_hash, self.reply_hash = spreading.data_hash(key), spreading.reply_hash(key)
        self.policy = spreading.policy(flow.balancing, key, plan.case.balancing)
        self.incoming: Incoming

    def payload(self, number: int) -> int:
        """Bytes of a packet."""
        return min(self.plan.payload, self.flow.size - number * self.plan.payload)

    def ready(self) -> bool:
        """Whether there is a packet that may be sent."""
        return bool(self.again) or self.next < self.limit

    def left(self) -> int:
        """Bytes of the packets that were never sent, and of those to be sent again."""
        new = max(0, self.flow.size - self.next * self.plan.payload)
        return new + sum(self.payload(number) for number in self.again)

    def take(self) -> Packet:
        """The next packet."""
        self.resent += bool(self.again)
        self.sent += 1
        if self.again:
            number, level = min(self.again), 0
            self.again.remove(number)
        else:
            number, level = self.next, self.level
            self.next += 1
            at_end = (
                self.plan.homa.last_rtt_bytes == "unscheduled" and number >= self.packets - self.rtt_packets
            )
            if number < self.at_once or at_end:
                level = self.plan.unscheduled_level(self.flow.size)
        self.last = self.host.clock.now
        payload = self.payload(number)
        return Packet(
            "data",
            self.plan.case.transport.data(payload),
            payload=payload,
            queue=level,
            sent=self.last,
            path=self.data_hash ^ self.policy.entropy(self.last),
            outgoing=self,
            destination=self.flow.destination,
            first=number,
        )

    def told(self, packet: Packet) -> None:
        """Takes a grant or a request."""
        self.heard, self.expiries, self.last = True, 0, self.host.clock.now
        self.limit = max(self.limit, packet.end)
        if packet.kind == "grant":
            self.level = packet.level
        else:
            self.again |= set(range(packet.first, min(packet.end, self.next)))

    def deadline(self) -> int | None:
        """Returns the time at which the timer expires, as things are."""
        waits = not self.heard or self.next == self.packets
        if self.done or self.ready() or not waits or self.expiries == self.plan.homa.resend_tries:
            return None
        return self.last + 2 * self.plan.homa.resend_timeout

    def watch(self) -> None:
        """Sets the timer again."""
        deadline = self.deadline()
        if deadline is not None:
            self.host.clock.at(deadline, SENDER_TIMER, self.index, self.expired)

    def expired(self) -> None:
        """The timer may have expired."""
        if self.deadline() == self.host.clock.now:
            self.expiries += 1
            self.timeouts += 1
            self.again.add(0)
            self.host.serve()


class Incoming:
    """A message at its receiver."""

    def __init__(self, host: Host, outgoing: Outgoing, index: int) -> None:
        self.host, self.outgoing, self.index, self.plan = host, outgoing, index, outgoing.plan
        self.limit = outgoing.at_once
        self.arrived: set[int] = set()
        self.missing = outgoing.flow.size
        self.level = self.plan.levels - 1
        self.known = self.given_up = False
        self.expiries = self.last = self.began = 0
        self.heard = -1
        self.armed: int | None = None
        self.occupied_then = 0
        self.newest: Packet
        self.delivered: int | None = None

    def ungranted(self) -> int:
        """Bytes that its sender may not send yet."""
        return max(0, self.outgoing.flow.size - self.limit * self.plan.payload)

    def touch(self) -> None:
        """Restarts its timeout."""
        self.last, self.occupied_then = self.host.clock.now, self.host.occupied

    def outstanding(self) -> int:
        """Packets that may be sent and have not arrived."""
        return self.limit - len(self.arrived) if self.known and not self.given_up else 0

    def receive(self, packet: Packet) -> None:
        """Takes a data packet."""
        self.newest = packet
        now, number = self.host.clock.now, packet.first
        self.host.occupied += duration(packet.size, self.host.rate)
        if self.delivered is not None:
            if number == 0:
                self.reply("ack")
            return
        if not self.known:
            self.known, self.began = True, now
        if self.given_up:
            self.given_up, self.expiries = False, 0
            self.touch()
        if number in self.arrived:
            if number == 0:
                self.reply("grant", end=self.limit, level=self.level)
        else:
            self.arrived.add(number)
            self.missing -= packet.payload
            self.expiries, self.heard = 0, now
            self.touch()
            if self.missing == 0:
                self.known, self.delivered = False, now
                self.reply("ack")
            self.host.grant()
            if self.limit == self.outgoing.rtt_packets == len(self.arrived) < self.outgoing.packets:
                self.reply("grant", end=self.limit, level=self.level)
                self.host.counts["told to wait"] += 1
        self.watch()

    def reply(self, kind: str, first: int = 0, end: int = 0, level: int = 0) -> None:
        """Sends a control packet, which answers the packet that came last."""
        outgoing = self.outgoing
        self.host.counts[kind] += 1
        packet = Packet(
            kind,
            self.plan.case.transport.ack,
            sent=self.newest.sent,
            path=outgoing.reply_hash,
            outgoing=outgoing,
            destination=outgoing.flow.source,
            first=first,
            end=end,
            level=level,
        )
        self.host.control.append(packet)
        self.host.serve()

    def deadline(self) -> int | None:
        """Returns the time at which the timer expires, as things are."""
        if self.outstanding() == 0:
            return None
        now, timeout = self.host.clock.now, self.plan.homa.resend_timeout
        before = [
            other.heard
            for other in self.host.incoming
            if (other.missing, other.index) < (self.missing, self.index)
        ]
        idle = max(0, now - self.last - (self.host.occupied - self.occupied_then))
        return min(max(self.last, *before, 0) + timeout, now + max(0, timeout - idle))

    def watch(self) -> None:
        """Sets the timer again."""
        deadline = self.deadline()
        if deadline is not None and (self.armed is None or deadline < self.armed):
            self.armed = deadline
            self.host.clock.at(deadline, RECEIVER_TIMER, self.index, self.expired)

    def expired(self) -> None:
        """The timer may have expired."""
        now = self.host.clock.now
        if self.armed != now:
            return
        self.armed = None
        deadline = self.deadline()
        if deadline is None or deadline > now:
            excused = deadline is not None and self.last + self.plan.homa.resend_timeout <= now
            self.host.counts["excused"] += excused
            self.watch()
            return
        if self.expiries == self.plan.homa.resend_tries:
            self.given_up = True
            self.host.counts["given up"] += 1
            self.host.grant()
            return
        self.expiries += 1
        self.touch()
        lacking = set(range(self.limit)) - self.arrived
        firsts = sorted(number for number in lacking if number - 1 not in lacking)
        ends = sorted(number + 1 for number in lacking if number + 1 not in lacking)
        for first, end in zip(firsts, ends, strict=True):
            self.reply("request", first, end)
        self.watch()


class Host:
    """A host: control packets first, then of the messages that are ready the one with the least left."""

    def __init__(self, clock: Clock, link: Link, plan: Plan) -> None:
        self.clock, self.plan, self.wire = clock, plan, Wire(clock, link, self, 0)
        self.control: deque[Packet] = deque()
        self.started: list[Outgoing] = []
        self.incoming: list[Incoming] = []
        self.rate, self.occupied = link.rate, 0
        self.counts = dict.fromkeys(COUNTED, 0)
        self.since_oldest = 0

    def start(self, message: Outgoing) -> None:
        """A message begins."""
        self.started.append(message)
        self.serve()

    def departed(self, port: int) -> None:
        self.wire.busy = False
        self.serve()

    def serve(self) -> None:
        """Begins to send the next packet if the wire is free."""
        if self.wire.busy:
            return
        if self.control:
            self.wire.send(self.control.popleft())
            return
        ready = [message for message in self.started if not message.done and message.ready()]
        if ready:
            message = min(ready, key=lambda message: (message.left(), message.index))
            self.wire.send(message.take())
            message.watch()

    def arrived(self, port: int, packet: links.Packet) -> None:
        assert isinstance(packet, Packet)
        assert packet.outgoing is not None
        message = packet.outgoing
        if packet.kind == "data":
            message.incoming.receive(packet)
        elif packet.kind != "ack" and not message.done:
            message.told(packet)
            message.watch()
        elif not message.done:
            message.done, message.finish = True, self.clock.now
            self.clock.finished += 1
        self.serve()

    def grant(self) -> None:
        """Chooses the active messages, and grants them what may be on its way."""
        candidates = [
            message
            for message in self.incoming
            if message.known and not message.given_up and message.limit < message.outgoing.packets
        ]
        active: list[Incoming] = []
        for message in sorted(
            candidates, key=lambda message: (message.ungranted(), message.outgoing.flow.size, message.index)
        ):
            senders = {other.outgoing.host for other in active}
            if message.outgoing.host not in senders and len(active) < self.plan.overcommitment:
                active.append(message)
        complete = [
            message
            for message in self.incoming
            if message.known
            and not message.given_up
            and message.limit == message.outgoing.packets > message.outgoing.rtt_packets
        ]
        full = sum(message.outstanding() for message in complete)
        places = min(self.plan.overcommitment, len(complete) + len(active))
        self.counts["waiting"] += any(
            message.limit < message.outgoing.packets for message in candidates if message not in active
        )
        for place, message in enumerate(active):
            each = message.outgoing.rtt_packets
            room = min(each, max(0, (self.plan.overcommitment - place) * each - full))
            wanted = min(message.outgoing.packets, len(message.arrived) + room)
            own = min(len(complete) + place, self.plan.overcommitment - 1)
            self.since_oldest += self.allow(message, wanted, self.plan.scheduled_level(own, places))
        if self.plan.every is not None and self.since_oldest >= self.plan.every:
            self.since_oldest -= self.plan.every
            few = [
                message
                for message in candidates
                if message.limit < message.outgoing.packets
                and message.outstanding() <= message.outgoing.rtt_packets
            ]
            if few:
                oldest = min(few, key=lambda message: (message.began, message.index))
                wanted = min(oldest.outgoing.packets, oldest.limit + self.plan.step)
                self.counts["oldest"] += self.allow(oldest, wanted, self.plan.unscheduled) > 0

    def allow(self, message: Incoming, wanted: int, level: int) -> int:
        """Raises the limit of a message up to `wanted` if the cap permits, with a grant; says by how much."""
        limit = wanted
        if self.plan.cap is not None:
            outstanding = sum(other.outstanding() for other in self.incoming)
            limit = min(wanted, message.limit + max(0, self.plan.cap - outstanding))
        self.counts["capped"] += limit < wanted
        more = limit - message.limit
        if more <= 0:
            return 0
        message.limit, message.level = limit, level
        message.touch()
        message.reply("grant", end=limit, level=level)
        message.watch()
        return more


class Switch(switches.Switch):
    """A switch of which each queue has a level."""

    def arrived(self, port: int, packet: links.Packet) -> None:
        assert isinstance(packet, Packet)
        self.enqueue(port, self.way(packet.destination, packet.path), packet)


@dataclass(frozen=True)
class Run:
    """Result of a case: the messages in its order, and the number of each event."""

    messages: list[Outgoing]
    counts: dict[str, int]

    @property
    def outcomes(self) -> list[Outcome]:
        """The outcome of every flow."""
        return [Outcome(m.finish, m.incoming.delivered, m.sent, m.resent, m.timeouts) for m in self.messages]


def played(case: HomaCase, order: list[int], host: type[Host] = Host) -> Run:
    """Plays a case; `order` are the flows in the order of their starts."""
    clock = Clock()
    plan = Plan(case)
    switches, hosts = plain.network(
        case, lambda _, number: Switch(clock, case, number), lambda link: host(clock, link, plan)
    )
    messages = []
    from_host = dict.fromkeys(hosts, 0)
    for number in order:
        flow = case.flows[number]
        message = Outgoing(hosts[flow.source], plan, flow, number, from_host[flow.source])
        from_host[flow.source] += 1
        receiver = hosts[flow.destination]
        message.incoming = Incoming(receiver, message, len(receiver.incoming))
        receiver.incoming.append(message.incoming)
        clock.at(flow.start, START, message.index, message.host.start, message)
        messages.append(message)
    clock.run(lambda: clock.finished < len(messages))
    counts = {name: sum(host.counts[name] for host in hosts.values()) for name in COUNTED}
    counts["drops"] = sum(switch.drops for switch in switches.values())
    counts["unfinished"] = sum(message.finish is None for message in messages)
    counts["timeouts"] = sum(message.timeouts for message in messages)
    return Run(sorted(messages, key=lambda message: message.number), counts)


def run(case: HomaCase, order: list[int]) -> list[Outcome]:
    """The outcome of every flow of a case, in the order of the case; of a flow without end, nothing."""
    return [NOTHING if outcome.finish is None else outcome for outcome in played(case, order).outcomes]


NOTHING = Outcome(None, None, 0, 0, 0)
"""The outcome of a flow without end."""


def _rtt_bytes(case: HomaCase, routes: ways.Routes) -> int:
    """Returns the bytes that a host's port sends during the longest round trip of the network."""
    hosts, transport = case.hosts(), case.transport
    paths = [path for a in hosts for b in hosts if a != b for path in ways.paths(case, routes, a, b)]
    sizes = (transport.data(transport.payload), transport.ack)
    round_trip = sum(ways.longest(paths, size) for size in sizes)
    rate = max(link.rate for link in case.links if "h" in (link.a[0], link.b[0]))
    return round_trip * rate // (8 * 10**12)


def homa_star(seed: int) -> HomaCase:
    """A star with more messages than a receiver grants at once, in many cases with losses."""
    draw = random.Random(f"homa star {seed}")
    return _homa(draw, lossy_star(seed), hops=2)


def homa_spines(seed: int) -> HomaCase:
    """Draws a case with leaves and spines, and packets that overtake each other."""
    draw = random.Random(f"homa spines {seed}")
    return _homa(draw, sprayed(seed), hops=4)


def _homa(draw: random.Random, base: Case, hops: int) -> HomaCase:
    """Draws messages and settings on the network of another case; paths have ``hops`` links.

    Half of the cases are crowded: more than a round trip is on its way to one host, so that levels matter.
    """
    transport = Transport(**{name: getattr(base.transport, name) for name in _SIZES})
    full = transport.data(transport.payload)
    crowded = draw.random() < 0.5
    links = base.links
    if crowded:
        links = tuple(replace(link, rate=links[0].rate, delay=link.delay // 20 + 1) for link in links)
    slowest = max(duration(full, link.rate) for link in links)
    round_trip = 2 * hops * (slowest + max(link.delay for link in links))
    bound = round_trip * max(link.rate for link in links) / (8 * 10**12 * transport.payload)
    packets, rtt_bytes = bound, None
    if bound > (30 if crowded else 60) or (crowded and draw.random() < 0.4):
        own = min(bound, 20) * draw.uniform(0.5, 2)
        packets = own if crowded else draw.uniform(0.5, draw.choice([4, 25]))
        rtt_bytes = max(1, int(packets * transport.payload))
    hosts = len({end for link in links for end in (link.a, link.b) if end[0] == "h"})
    policies: list[str | None] = [None]
    if hops > 2:
        policies = draw.choice([[None], ["ops"], [None, "ops", "ops-rounds"]])
    flows = []
    for _ in range(draw.randint(4, 13)):
        source, destination = draw.sample(range(hosts), 2)
        if draw.random() < 0.85:
            source, destination = draw.randrange(1, hosts), 0
        more = draw.choice([packets + draw.choice([3, 40]), (3 + crowded) * packets + 10])
        longest = draw.choice([1, packets, more, more])
        size = max(1, int(transport.payload * longest * draw.choice([1, draw.random()])))
        if draw.random() < 0.3:
            size = -(-size // transport.payload) * transport.payload
        start = draw.choice([0, draw.randrange(20 * US), draw.randrange(20) * US])
        start //= draw.choice([1, 10]) if crowded else 1
        flows.append(Flow(f"h{source}", f"h{destination}", size, start, balancing=draw.choice(policies)))
    buffer: int | Shared | None = None
    if draw.random() < (0.5 if crowded else 0.7):
        most = draw.choice([1, draw.uniform(1, 3), draw.uniform(2, 12)])
        if crowded:
            most = draw.uniform(2, 3 * packets + 3)
        limit = max(int(full * most), transport.ack)
        buffer = limit if draw.random() < 0.7 else Shared(2 * limit, draw.choice([0.5, 1.0, 2.0]))
    levels = draw.randint(2, 8)
    unscheduled = draw.randint(1, draw.choice([2, levels]) - 1)
    cutoffs = None
    if draw.random() < 0.3:
        sizes = range(1, max(flow.size for flow in flows) + levels)
        cutoffs = tuple(sorted(draw.sample(sizes, unscheduled - 1)))
    overcommitment = draw.choice([1, 1, 1, 2, draw.randint(1, 6), None])
    settings = Settings(
        rtt_bytes=rtt_bytes,
        overcommitment=None if overcommitment is None else overcommitment + crowded,
        levels=levels,
        unscheduled="rule" if cutoffs is None and draw.random() < 0.3 else unscheduled,
        cutoffs=cutoffs,
        scheduled=draw.choice(["lowest", "highest"]),
        resend_timeout=max(draw.randrange(US, draw.choice([10, 40, 200]) * US), 4 * slowest),
        resend_tries=draw.choice([1, 2, draw.randint(1, 8)]),
        cap=int(transport.payload * draw.uniform(1, 4 * packets + 4)) if draw.random() < 0.3 else None,
    )
    if draw.random() < 0.4:
        settings = replace(
            settings,
            oldest_share=Fraction(draw.randint(1, 128), 256),
            oldest_step=draw.randint(1, draw.choice([2, 20]) * transport.payload),
        )
    if draw.random() < 0.3:
        settings = replace(settings, last_rtt_bytes="unscheduled")
    strict = draw.random() < 0.2
    if rtt_bytes is None and draw.random() < 0.5:
        settings = replace(settings, rtt_bytes="pair")
    return HomaCase(
        links,
        tuple(flows),
        transport,
        buffer,
        scheduler=draw.choice(["round-robin", "drr"]) if strict else "strict-priority",
        quanta=(1518,) * (levels + draw.choice([0, 0, 1])),
        strict=levels if strict else 0,
        balancing=replace(base.balancing, freeze=None),
        homa=settings,
    )


KINDS: dict[str, Callable[[int], Case]] = {"homa star": homa_star, "homa spines": homa_spines}
