"""Cases for the models and the simulator: small networks with flows, drawn at random."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from incast import Result, Scenario
from models.schedulers import SCHEDULERS
from models.spreading import POLICIES, Balancing

if TYPE_CHECKING:
    from models.plain import Outcome

GBPS = 10**9
US = 10**6
"""Picoseconds."""


@dataclass(frozen=True)
class Link:
    """A link between two nodes: bits per second, and picoseconds one way.

    It is down during its outages, each a time at which it fails and one at which it returns.
    """

    a: str
    b: str
    rate: int
    delay: int
    outages: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Flow:
    """A flow with a fixed window and a fixed rate. None: no limit but the line."""

    source: str
    destination: str
    size: int
    start: int
    window: int | None = None
    rate: int | None = None
    queue: int = 0
    balancing: str | None = None
    """Policy by which its packets are spread over equal paths. None: ECMP, which is the scenario's policy."""


@dataclass(frozen=True)
class Transport:
    """The keys of `[transport]`, in bytes and picoseconds. The keys of `repair` are for selective repeat."""

    payload: int = 1000
    header: int = 54
    ack_extra: int = 4
    smallest: int = 64
    ack_every: int = 1
    ack_payload: int | None = None
    """The payload that one acknowledgement covers, in place of a number of packets."""
    ack_on_mark: bool = False
    ack_delay: int = 50 * US
    nack_interval: int = 500 * US
    rto: int = 10_000 * US
    ack_queue: int | None = None
    recovery: str = "go-back-n"
    repair: str = "threshold"
    repair_threshold: int = 3
    repair_delay: int | None = None
    """None: the base RTT of the flow's path."""
    sample: str = "packet"

    @property
    def holds(self) -> bool:
        """Whether an acknowledgement can cover several packets."""
        return self.ack_every > 1 or self.ack_payload is not None

    @property
    def unused(self) -> set[str]:
        """The keys that have no effect beside the others, and those without a value."""
        unused = {key for key, value in asdict(self).items() if value is None}
        unused |= {"ack_payload"} if self.holds else {"ack_payload", "ack_on_mark"}
        if self.recovery == "go-back-n":
            return unused | {"recovery", "repair", "repair_threshold", "repair_delay"}
        unused.add("nack_interval")
        if self.repair != "threshold":
            unused.add("repair_threshold")
        if self.repair != "lazy":
            unused.add("repair_delay")
        return unused

    def data(self, payload: int) -> int:
        """Size of a data packet on the wire."""
        return max(payload + self.header, self.smallest)

    @property
    def ack(self) -> int:
        """Size of an acknowledgement on the wire."""
        return max(self.header + self.ack_extra, self.smallest)


@dataclass(frozen=True)
class Shared:
    """A buffer shared by all ports; `alpha` belongs to the egress threshold, with PFC to the ingress one."""

    size: int
    alpha: float


@dataclass(frozen=True)
class Pfc:
    """Priority flow control. Without `xoff` it pauses at the dynamic threshold."""

    xon_offset: int
    headroom: int
    reserve: int = 0
    xoff: int | None = None


@dataclass(frozen=True)
class Case:
    """A network with its flows. Its buffer: None has no limit, a number is a limit for each port in bytes."""

    links: tuple[Link, ...]
    flows: tuple[Flow, ...]
    transport: Transport = field(default_factory=Transport)
    buffer: int | Shared | None = None
    pfc: Pfc | None = None
    scheduler: str = "strict-priority"
    quanta: tuple[int, ...] = (1518,)
    """The number of each queue that its scheduler has: bytes at a visit, packets in a turn. Schedulers that
    have none only count the queues."""
    strict: int = 0
    """Queues that are served by strict priority before the scheduler."""
    balancing: Balancing = field(default_factory=Balancing)

    def hosts(self) -> list[str]:
        """Names of the hosts: nodes whose name begins with h."""
        return sorted({end for link in self.links for end in (link.a, link.b) if end[0] == "h"})

    def switches(self) -> list[str]:
        """Names of the switches."""
        return sorted({end for link in self.links for end in (link.a, link.b) if end[0] == "s"})

    def topology(self) -> dict[str, object]:
        """Returns the section `topology` of the scenario."""
        return {
            "kind": "graph",
            "hosts": self.hosts(),
            "switches": self.switches(),
            "links": [
                {"between": [link.a, link.b], "rate": f"{link.rate}bps", "delay": f"{link.delay}ps"}
                for link in self.links
            ],
        }

    def observed(self, result: Result, outcomes: list[Outcome], order: list[int]) -> list[Outcome]:
        """Returns Incast's outcomes with what else of its result is compared.

        Args:
            result: The result.
            outcomes: The outcomes of the flows, in the order of the case.
            order: The flows in the order of their numbers in Incast.
        """
        del result, order
        return outcomes

    def scenario(self) -> Scenario:
        """Returns the case as a scenario of Incast."""
        return Scenario.from_dict(self.sections())

    def sections(self) -> dict[str, object]:
        """The sections of that scenario."""
        switch: dict[str, object] = {"buffer": "unlimited"}
        if isinstance(self.buffer, int):
            switch = {"buffer": {"per_port": f"{self.buffer}B"}}
        elif self.buffer is not None:
            alpha = "egress_alpha" if self.pfc is None else "ingress_alpha"
            switch = {"buffer": f"{self.buffer.size}B", alpha: self.buffer.alpha}
        if self.pfc is not None:
            switch["pfc"] = {"xon_offset": f"{self.pfc.xon_offset}B"}
            if self.pfc.xoff is not None:
                switch["pfc"]["xoff"] = f"{self.pfc.xoff}B"  # type: ignore[index]
            if self.buffer is not None:
                switch["pfc"]["headroom"] = f"{self.pfc.headroom}B"  # type: ignore[index]
                switch["reserve"] = f"{self.pfc.reserve}B"
        if len(self.quanta) > 1:
            switch |= {"queues": len(self.quanta), "scheduler": self.scheduler}
        switch |= SCHEDULERS[self.scheduler].keys(self.quanta)
        if self.strict > 0:
            switch["strict"] = self.strict
        times = {"ack_delay", "nack_interval", "rto", "repair_delay"}
        plain = {"ack_every", "ack_on_mark", "ack_queue", "recovery", "repair", "repair_threshold", "sample"}
        transport: dict[str, object] = {
            key: value if key in plain else f"{value}{'ps' if key in times else 'B'}"
            for key, value in asdict(self.transport).items()
            if key not in self.transport.unused
        }
        if self.transport.ack_payload is not None:
            transport["ack_every"] = f"{self.transport.ack_payload}B"
        balancing = self.balancing.keys({flow.balancing or "ecmp" for flow in self.flows})
        sections: dict[str, object] = {"balancing": balancing} if balancing else {}
        changes = [
            {"at": f"{fails}ps", "until": f"{returns}ps", "between": [link.a, link.b], "state": "down"}
            for link in self.links
            for fails, returns in link.outages
        ]
        if changes:
            sections["change"] = changes
        return sections | {
            "topology": self.topology(),
            "switch": switch,
            "transport": transport,
            "traffic": [_block(number, flow) for number, flow in enumerate(self.flows)],
        }


def between(number: int, flow: Flow) -> dict[str, object]:
    """Returns the keys of a block of traffic for what a flow sends, its ends and its start."""
    return {
        "kind": "flows",
        "name": f"f{number}",
        "from": flow.source,
        "to": flow.destination,
        "size": f"{flow.size}B",
        "start": f"{flow.start}ps",
    }


def _block(number: int, flow: Flow) -> dict[str, object]:
    cc = {"algorithm": "constant"}
    if flow.window is not None:
        cc["window"] = f"{flow.window}B"
    if flow.rate is not None:
        cc["rate"] = f"{flow.rate}bps"
    balancing = {} if flow.balancing is None else {"balancing": flow.balancing}
    return between(number, flow) | balancing | {"queue": flow.queue, "cc": cc}


RATES = [rate * GBPS for rate in (10, 25, 40, 50, 100, 200, 400)]
ROUND = [share * GBPS for share in (1, 5, 10, 20, 25, 40, 50, 51, 75, 99)]


def _rate(draw: random.Random) -> int:
    """A usual rate, or one at which a byte is no whole number of picoseconds."""
    return draw.choice(RATES) if draw.random() < 0.7 else draw.randrange(GBPS, 400 * GBPS)


def _delay(draw: random.Random) -> int:
    return draw.choice([US, draw.randrange(US // 10, 3 * US)])


def _star(draw: random.Random, hosts: int) -> tuple[Link, ...]:
    """A star, with one rate and delay for all links or with their own."""
    rate, delay, own = _rate(draw), _delay(draw), draw.random() < 0.5
    return tuple(
        Link(f"h{i}", "s0", _rate(draw) if own else rate, _delay(draw) if own else delay)
        for i in range(hosts)
    )


def _flow(
    draw: random.Random, ends: tuple[str, str], transport: Transport, packets: int, spread: int
) -> Flow:
    full = transport.data(transport.payload)
    window = None if draw.random() < 0.4 else max(1, int(full * draw.uniform(0.5, 30)))
    pacing = draw.random()
    rate = None if pacing < 0.5 else draw.choice(ROUND) if pacing < 0.8 else draw.randrange(GBPS, 100 * GBPS)
    size = max(1, int(transport.payload * draw.choice([draw.random(), draw.uniform(1, packets)])))
    if draw.random() < 0.3:
        size = -(-size // transport.payload) * transport.payload
    start = draw.choice([0, draw.randrange(spread), draw.randrange(spread // 1000) * 1000])
    return Flow(ends[0], ends[1], size, start, window, rate)


def _transport(draw: random.Random) -> Transport:
    """Packets of the usual size or any other, an acknowledgement for each or for several."""
    usual = Transport()
    if draw.random() < 0.5:
        usual = Transport(
            payload=draw.choice([draw.randrange(64, 1500), 4096]),
            header=draw.randrange(100),
            ack_extra=draw.randrange(30),
            smallest=draw.randrange(1, 100),
        )
    if draw.random() < 0.4:
        usual = replace(usual, ack_every=draw.choice([2, 3, 8, 16]), ack_delay=draw.randrange(US, 60 * US))
    # Of its own stream, so that all else is drawn as without it.
    own = random.Random(f"payload {usual}")
    if own.random() < 0.2:
        payload, delay = own.randrange(1, 12 * usual.payload), own.randrange(US, 60 * US)
        usual = replace(usual, ack_payload=payload, ack_delay=delay)
    return usual


def lossless_star(seed: int) -> Case:
    """A star whose switch keeps everything."""
    draw = random.Random(f"lossless {seed}")
    hosts = draw.randint(2, 6)
    transport = _transport(draw)
    flows = tuple(
        _flow(draw, _ends(draw, hosts), transport, packets=40, spread=30 * US)
        for _ in range(draw.randint(1, 10))
    )
    return Case(_star(draw, hosts), flows, transport)


def lossy_star(seed: int, heavy: bool = False) -> Case:
    """A star with a drop-tail limit or a small shared buffer, a short retransmission timer, and an incast."""
    draw = random.Random(f"lossy {heavy} {seed}")
    hosts = draw.randint(3, 6)
    transport = replace(
        _transport(draw),
        rto=draw.randrange(15 * US, 200 * US),
        nack_interval=draw.choice([draw.randrange(US, 20 * US), 500 * US]),
    )
    full = transport.data(transport.payload)
    limit = int(full * (draw.uniform(1, 4) if heavy else draw.uniform(5, 25)))
    limit = max(limit, transport.ack)
    buffer: int | Shared = limit
    if draw.random() < 0.3:
        buffer = Shared(size=2 * limit, alpha=draw.choice([0.5, 1.0, 2.0]))
    flows = tuple(
        _flow(
            draw,
            (f"h{draw.randrange(1, hosts)}", "h0") if draw.random() < 0.8 else _ends(draw, hosts),
            transport,
            packets=25,
            spread=20 * US,
        )
        for _ in range(draw.randint(2, 10))
    )
    return Case(_star(draw, hosts), flows, transport, buffer)


def _selective(draw: random.Random, transport: Transport) -> Transport:
    """Changes a transport to selective repeat, by any of its rules."""
    return replace(
        transport,
        recovery="selective",
        repair=draw.choice(["threshold", "lazy", "never"]),
        repair_threshold=draw.randint(1, 6),
        repair_delay=None if draw.random() < 0.4 else draw.randrange(US // 10, 60 * US),
    )


def selective_star(seed: int, heavy: bool = False) -> Case:
    """The star with losses, under selective repeat, and most flows in more of a hurry."""
    case = lossy_star(seed, heavy)
    draw = random.Random(f"selective {heavy} {seed}")
    flows = tuple(_hurried(draw, flow, case.transport) for flow in case.flows)
    return replace(case, flows=flows, transport=_selective(draw, case.transport))


def _hurried(draw: random.Random, flow: Flow, transport: Transport) -> Flow:
    """A flow that perhaps starts early, has no window or no rate, or is long.

    One acknowledgement cannot tell of all packets that the receiver keeps of the longest.
    """
    if draw.random() < 0.7:
        flow = replace(flow, start=flow.start // draw.choice([1, 10, 100]))
    if draw.random() < 0.5:
        flow = replace(flow, window=None)
    if draw.random() < 0.5:
        flow = replace(flow, rate=None)
    if draw.random() < 0.5:
        flow = replace(flow, size=draw.randint(1, draw.choice([20, 60, 200]) * transport.payload))
    return flow


def sprayed(seed: int) -> Case:
    """Leaves and spines, with flows of different policies under selective repeat, with or without losses."""
    draw = random.Random(f"sprayed {seed}")
    leaves, spines = draw.randint(2, 3), draw.randint(1, 4)
    names = draw.sample([f"s{i}" for i in range(leaves + spines)], leaves + spines)
    places = [leaf for leaf in names[:leaves] for _ in range(draw.randint(1, 3))]
    ends = [(f"h{i}", leaf) for i, leaf in enumerate(places)]
    ends += [(leaf, spine) for leaf in names[:leaves] for spine in names[leaves:]]
    draw.shuffle(ends)
    rate, delay, own = _rate(draw), _delay(draw), draw.random() < 0.7
    links = tuple(Link(*pair, _rate(draw) if own else rate, _delay(draw) if own else delay) for pair in ends)
    transport = replace(_selective(draw, _transport(draw)), rto=draw.randrange(15 * US, 200 * US))
    incast = draw.random() < 0.5
    flows = tuple(
        replace(
            _hurried(
                draw,
                _flow(
                    draw,
                    (f"h{draw.randrange(1, len(places))}", "h0") if incast else _ends(draw, len(places)),
                    transport,
                    packets=25,
                    spread=20 * US,
                ),
                transport,
            ),
            balancing=draw.choice([*POLICIES, "reps"]),
        )
        for _ in range(draw.randint(1, 8))
    )
    limit = max(int(transport.data(transport.payload) * draw.uniform(2, 20)), transport.ack)
    return Case(
        links,
        flows,
        transport,
        buffer=limit if draw.random() < 0.6 else None,
        balancing=Balancing.drawn(draw),
    )


def paused(seed: int) -> Case:
    """Two switches with hosts on both, and pauses: at a fixed threshold, or at the dynamic one."""
    draw = random.Random(f"paused {seed}")
    left, right = draw.randint(1, 4), draw.randint(1, 3)
    rate, delay, own = _rate(draw), _delay(draw), draw.random() < 0.5
    links = [
        Link(f"h{i}", "s0" if i < left else "s1", _rate(draw) if own else rate, _delay(draw))
        for i in range(left + right)
    ]
    links.insert(draw.randrange(len(links) + 1), Link("s0", "s1", draw.choice([rate, _rate(draw)]), delay))
    transport = _transport(draw)
    flows = tuple(
        _flow(draw, _ends(draw, left + right), transport, packets=60, spread=10 * US)
        for _ in range(draw.randint(3, 12))
    )
    full = transport.data(transport.payload)
    # What can arrive after a pause was decided is at most the flight of two delays and a few packets.
    headroom = max(2 * link.rate * link.delay // (8 * 10**12) for link in links) + 10 * full + 1000
    pfc = Pfc(xon_offset=draw.choice([0, full, 3 * full]), headroom=headroom)
    buffer = None
    if draw.random() < 0.6:
        pfc = replace(pfc, reserve=draw.choice([0, 2 * full, 4096]))
        ports = len(links) + 1
        pool = int(full * draw.uniform(8, 60))
        buffer = Shared(ports * (headroom + pfc.reserve) + pool, draw.choice([0.125, 0.25, 0.5, 1.0]))
    if buffer is None or draw.random() < 0.3:
        pfc = replace(pfc, xoff=int(full * draw.uniform(1, 12)) + pfc.xon_offset)
    return Case(tuple(links), flows, transport, buffer, pfc)


def tiny_packets(draw: random.Random, transport: Transport, payload: int) -> Transport:
    """Draws the sizes of small packets, of less than ``payload`` bytes of payload."""
    header = draw.randrange(8, 40)
    return replace(
        transport,
        payload=draw.randrange(1, payload),
        header=header,
        ack_extra=draw.randrange(8),
        smallest=draw.randrange(1, header + 1),
    )


def tiny(seed: int) -> Case:
    """Draws a case with packets of 8 to 102 bytes, and thresholds so low that PFC frames wait and cancel."""
    case = paused(seed)
    draw = random.Random(f"tiny {seed}")
    transport = tiny_packets(draw, case.transport, 64)
    full = transport.data(transport.payload)
    flows = tuple(replace(flow, size=draw.randrange(1, 400 * transport.payload)) for flow in case.flows)
    pfc = Pfc(xon_offset=draw.choice([0, full]), headroom=0, xoff=full * draw.randint(1, 4))
    return replace(case, flows=flows, transport=transport, buffer=None, pfc=pfc)


def queues(seed: int, scheduler: str) -> Case:
    """A star whose ports have several queues, with or without a limit, and an incast that keeps them full."""
    draw = random.Random(f"queues {scheduler} {seed}")
    hosts, number = draw.randint(3, 6), draw.randint(2, 6)
    transport = replace(_transport(draw), rto=draw.randrange(50 * US, 400 * US))
    if draw.random() < 0.5:
        transport = replace(transport, ack_queue=draw.randrange(number))
    full = transport.data(transport.payload)
    quanta = SCHEDULERS[scheduler].numbers(draw, full, number)
    flows = tuple(
        replace(
            _flow(
                draw,
                (f"h{draw.randrange(1, hosts)}", "h0") if draw.random() < 0.9 else _ends(draw, hosts),
                # Packets of other sizes: acknowledgements, and the short ones with which flows end.
                transport,
                packets=draw.choice([2, 40, 100]),
                spread=5 * US,
            ),
            queue=draw.randrange(number),
        )
        for _ in range(draw.randint(6, 16))
    )
    buffer: int | Shared | None = None
    if draw.random() < 0.4:
        limit = max(int(full * draw.uniform(4, 40)), transport.ack)
        buffer = limit if draw.random() < 0.5 else Shared(size=2 * limit, alpha=draw.choice([0.5, 1.0, 2.0]))
    return Case(_star(draw, hosts), flows, transport, buffer, scheduler=scheduler, quanta=quanta)


def after_strict(seed: int) -> Case:
    """Draws a case with strict queues before those of any other scheduler."""
    draw = random.Random(f"after strict {seed}")
    case = queues(seed, draw.choice([name for name in SCHEDULERS if name != "strict-priority"]))
    return replace(case, strict=draw.randint(1, len(case.quanta)))


def _ends(draw: random.Random, hosts: int) -> tuple[str, str]:
    source, destination = draw.sample(range(hosts), 2)
    return f"h{source}", f"h{destination}"


KINDS: dict[str, Callable[[int], Case]] = {
    "lossless star": lossless_star,
    "lossy star": lossy_star,
    "lossy star, heavy loss": lambda seed: lossy_star(seed, heavy=True),
    "two switches with PFC": paused,
    "two switches with PFC, tiny packets": tiny,
    **{name: partial(queues, scheduler=name) for name in SCHEDULERS},
    "strict queues before another scheduler": after_strict,
    "lossy star, selective repeat": selective_star,
    "lossy star, selective repeat, heavy loss": lambda seed: selective_star(seed, heavy=True),
    "sprayed spines": sprayed,
}
"""Functions that draw a case of each kind from a seed."""
