"""The sections of a scenario as typed Python objects, for :meth:`incast.Scenario.build`.

Made from the declarations that scenarios are read with, by ``tools/sections.py``. A quantity is a text with
its unit (``"100Gbps"``) or a value of :mod:`incast.units`; a key that is None is not written, and has its
default. What is wrong with a value is said when the scenario is read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from incast.units import Bytes, Rate, Time


class Section:
    """A section of a scenario."""

    _kind: ClassVar[str | None] = None

    def table(self) -> dict[str, object]:
        """Its keys as a scenario file has them; what is None is left out."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        keys = {field.name.rstrip("_"): getattr(self, field.name) for field in fields}
        written = {key: value for key, value in keys.items() if value is not None}
        return written if self._kind is None else {"kind": self._kind, **written}


class Cc(Section):
    """The congestion control algorithm, its preset, and any of its parameters by name."""

    def __init__(self, algorithm: str, preset: str | None = None, **parameters: object) -> None:
        self.algorithm = algorithm
        self.preset = preset
        self.parameters = parameters

    def table(self) -> dict[str, object]:
        """Its keys as a scenario file has them."""
        preset = {} if self.preset is None else {"preset": self.preset}
        return {"algorithm": self.algorithm, **preset, **self.parameters}

    def __eq__(self, other: object) -> bool:
        return self.table() == other.table() if isinstance(other, Cc) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self.table()))

    def __repr__(self) -> str:
        return f"Cc({', '.join(f'{key}={value!r}' for key, value in self.table().items())})"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Star(Section):
    """Hosts around one switch, ``s0``.

    Attributes:
        delay: One-way delay of every link.
        hosts: How many hosts.
        rate: Rate of every link.
    """

    _kind: ClassVar[str | None] = "star"
    delay: str | Time
    hosts: int
    rate: str | Rate


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dumbbell(Section):
    """Two switches with one link between them.

    Attributes:
        delay: One-way delay of the hosts' links.
        left: Hosts on ``s0``.
        rate: Rate of the hosts' links.
        right: Hosts on ``s1``.
        bottleneck_delay: One-way delay of the link between the switches. Default: as delay.
        bottleneck_rate: Rate of the link between the switches. Default: as rate.
    """

    _kind: ClassVar[str | None] = "dumbbell"
    delay: str | Time
    left: int
    rate: str | Rate
    right: int
    bottleneck_delay: str | Time | None = None
    bottleneck_rate: str | Rate | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ParkingLot(Section):
    """A chain of switches ``s0``, ``s1``, …, each with the same number of hosts.

    Attributes:
        delay: One-way delay of the hosts' links.
        rate: Rate of the hosts' links.
        bottleneck_delay: One-way delay of the links between the switches. Default: as delay.
        bottleneck_rate: Rate of the links between the switches. Default: as rate.
        hosts: How many hosts on each switch. Default: 2.
        switches: How many switches. Default: 3.
    """

    _kind: ClassVar[str | None] = "parking-lot"
    delay: str | Time
    rate: str | Rate
    bottleneck_delay: str | Time | None = None
    bottleneck_rate: str | Rate | None = None
    hosts: int | None = None
    switches: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class LeafSpine(Section):
    """Leaf switches with hosts, each joined to every spine.

    Attributes:
        delay: One-way delay of the hosts' links.
        hosts: How many hosts on each leaf.
        leaves: How many leaves.
        rate: Rate of the hosts' links.
        spines: How many spines.
        fabric_delay: One-way delay of the links between leaves and spines. Default: as delay.
        fabric_rate: Rate of the links between leaves and spines. Default: as rate.
    """

    _kind: ClassVar[str | None] = "leaf-spine"
    delay: str | Time
    hosts: int
    leaves: int
    rate: str | Rate
    spines: int
    fabric_delay: str | Time | None = None
    fabric_rate: str | Rate | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class FatTree(Section):
    """A fat-tree (Al-Fares et al., SIGCOMM 2008).

    Attributes:
        delay: One-way delay of the hosts' links.
        rate: Rate of the hosts' links.
        agg: Aggregation switches in each pod.
        core: Core switches.
        core_delay: One-way delay of the links to the cores. Default: as fabric_delay.
        core_links: Which cores an aggregation switch is joined to. Default: divided.
        core_rate: Rate of the links to the cores. Default: as fabric_rate.
        edge: Edge switches in each pod.
        fabric_delay: One-way delay of the links between edge and aggregation. Default: as delay.
        fabric_rate: Rate of the links between switches. Default: as rate.
        hosts: Hosts on each edge switch.
        k: Ports of every switch, an even number: k pods of k/2 edge and k/2 aggregation switches, k/2
            hosts on each edge, k²/4 cores.
        pods: How many pods.
    """

    _kind: ClassVar[str | None] = "fat-tree"
    delay: str | Time
    rate: str | Rate
    agg: int | None = None
    core: int | None = None
    core_delay: str | Time | None = None
    core_links: Literal["divided", "all"] | None = None
    core_rate: str | Rate | None = None
    edge: int | None = None
    fabric_delay: str | Time | None = None
    fabric_rate: str | Rate | None = None
    hosts: int | None = None
    k: int | None = None
    pods: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Graph(Section):
    """Any network: named hosts, named switches, and links between them.

    Attributes:
        hosts: Names of the hosts.
        links: The links.
        switches: Names of the switches.
        delay: One-way delay of the links that give none.
        rate: Rate of the links that give none.
    """

    _kind: ClassVar[str | None] = "graph"
    hosts: Sequence[str]
    links: Sequence[Mapping[str, object]]
    switches: Sequence[str]
    delay: str | Time | None = None
    rate: str | Rate | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class HpccFileTopology(Section):
    """The network of a ``topology.txt``.

    Attributes:
        file: The file.
        ignore_loss: Take links that lose packets at random for links that do not. Without it such a
            file is refused. Default: False.
        types: Rate and delay of each type of links, for files that name types (OSCAR's artifact).
            Default: [].
    """

    _kind: ClassVar[str | None] = "hpcc-file"
    file: str | Mapping[str, object]
    ignore_loss: bool | None = None
    types: Sequence[Mapping[str, object]] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Flows(Section):
    """Flows listed by their ends.

    Attributes:
        from_: Senders.
        to: Receivers.
        cc: Its own algorithm, in place of the scenario's.
        count: Flows for each pair of hosts. Default: 1.
        name: Its name in results, and of its random draws; the kind when absent.
        queue: Its queue (priority) in the switches. Default: 0.
        size: Payload of each flow.
        stagger: From the start of one flow to the start of the next. Default: 0ps.
        start: When the first flow starts. Default: 0ps.
        stop: When the flows stop offering data.
    """

    _kind: ClassVar[str | None] = "flows"
    from_: str | Sequence[str]
    to: str | Sequence[str]
    cc: Cc | Mapping[str, object] | None = None
    count: int | None = None
    name: str | None = None
    queue: int | None = None
    size: str | Bytes | None = None
    stagger: str | Time | None = None
    start: str | Time | None = None
    stop: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Poisson(Section):
    """Flows that arrive as a Poisson process, each from a random sender to a random other receiver.

    Attributes:
        load: Offered payload as a share of capacity.
        sizes: How large the flows are: a distribution, a file, or one size.
        cc: Its own algorithm, in place of the scenario's.
        duration: How long it lasts.
        flows: How many flows it makes.
        from_: Senders; each is drawn in proportion to its capacity. Default: all.
        load_of: Of which capacity. Default: senders.
        name: Its name in results, and of its random draws; the kind when absent.
        queue: Its queue (priority) in the switches. Default: 0.
        start: When it begins. Default: 0ps.
        to: Receivers; each is equally likely. Default: all.
    """

    _kind: ClassVar[str | None] = "poisson"
    load: float
    sizes: str
    cc: Cc | Mapping[str, object] | None = None
    duration: str | Time | None = None
    flows: int | None = None
    from_: str | Sequence[str] | None = None
    load_of: Literal["senders", "receivers", "uplinks"] | None = None
    name: str | None = None
    queue: int | None = None
    start: str | Time | None = None
    to: str | Sequence[str] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Incast(Section):
    """Requests.

    Attributes:
        size: Payload from each sender.
        cc: Its own algorithm, in place of the scenario's.
        duration: How long the process lasts.
        fan_in: Senders of each request; when absent all hosts of ``from`` but the receiver.
        from_: Possible senders. Default: all.
        interval: Mean time between two requests.
        jitter: Every sender starts later by a random time, uniform from zero to this. Default: 0ps.
        load: Requested payload as a share of the capacity of the links of all hosts of ``from``.
        name: Its name in results, and of its random draws; the kind when absent.
        queue: Its queue (priority) in the switches. Default: 0.
        requests: How many requests.
        spread: Where the senders of one request are. Default: anywhere.
        stagger: From the start of one sender to the next within a request. Default: 0ps.
        start: When the one request happens, or when the process begins. Default: 0ps.
        to: Possible receivers. Default: all.
    """

    _kind: ClassVar[str | None] = "incast"
    size: str | Bytes
    cc: Cc | Mapping[str, object] | None = None
    duration: str | Time | None = None
    fan_in: int | None = None
    from_: str | Sequence[str] | None = None
    interval: str | Time | None = None
    jitter: str | Time | None = None
    load: float | None = None
    name: str | None = None
    queue: int | None = None
    requests: int | None = None
    spread: Literal["anywhere", "one-other-rack"] | None = None
    stagger: str | Time | None = None
    start: str | Time | None = None
    to: str | Sequence[str] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Permutation(Section):
    """Every host sends one flow to another and receives one.

    Attributes:
        size: Payload of each flow.
        cc: Its own algorithm, in place of the scenario's.
        hosts: The hosts that take part. Default: all.
        jitter: Every flow starts later by a random time, uniform from zero to this. Default: 0ps.
        name: Its name in results, and of its random draws; the kind when absent.
        queue: Its queue (priority) in the switches. Default: 0.
        shift: Places from sender to receiver in the list of hosts.
        start: When the flows start. Default: 0ps.
    """

    _kind: ClassVar[str | None] = "permutation"
    size: str | Bytes
    cc: Cc | Mapping[str, object] | None = None
    hosts: str | Sequence[str] | None = None
    jitter: str | Time | None = None
    name: str | None = None
    queue: int | None = None
    shift: int | None = None
    start: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Staggered(Section):
    """Long flows, each joining ``interval`` after the one before, and leaving one after the other.

    Attributes:
        duration: How long the first flow stays.
        from_: Senders.
        interval: From one flow's start to the next.
        to: Receivers: one for all, or one for each sender.
        cc: Its own algorithm, in place of the scenario's.
        leave: In which order they leave. Default: first-in-first-out.
        name: Its name in results, and of its random draws; the kind when absent.
        queue: Its queue (priority) in the switches. Default: 0.
        start: When the first flow joins. Default: 0ps.
    """

    _kind: ClassVar[str | None] = "staggered"
    duration: str | Time
    from_: str | Sequence[str]
    interval: str | Time
    to: str | Sequence[str]
    cc: Cc | Mapping[str, object] | None = None
    leave: Literal["first-in-first-out", "last-in-first-out"] | None = None
    name: str | None = None
    queue: int | None = None
    start: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class HpccFileTraffic(Section):
    """Flows listed in a ``flow.txt``, as the simulators of HPCC and its descendants read it.

    Attributes:
        file: The file.
        cc: Its own algorithm, in place of the scenario's.
        dport: Only flows to this UDP port.
        first: When the first flow of the whole file starts; the others keep their distance to it. When
            absent, flows start when the file says.
        name: Its name in results, and of its random draws; the kind when absent.
        pg: Only flows of this priority group.
        queue: Its queue (priority) in the switches. Default: 0.
    """

    _kind: ClassVar[str | None] = "hpcc-file"
    file: str | Mapping[str, object]
    cc: Cc | Mapping[str, object] | None = None
    dport: int | None = None
    first: str | Time | None = None
    name: str | None = None
    pg: int | None = None
    queue: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Change(Section):
    """What becomes of links while the run goes on.

    Attributes:
        at: When.
        between: The two ends of the link, like ``["s0", "h3"]``; one of them may be a range, like
            ``"h0-h3"``.
        delay: One-way delay, for packets that begin to leave from then on.
        number: Which of several links between the same two nodes, from 0 in the order of the topology;
            all of them when absent.
        rate: Rate in each direction, for packets that begin to leave from then on.
        state: Whether the link works.
        until: When that which the block changes is again as the topology says; when absent it lasts.
    """

    at: str | Time
    between: Sequence[str]
    delay: str | Time | None = None
    number: int | None = None
    rate: str | Rate | None = None
    state: Literal["down", "up"] | None = None
    until: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pfc(Section):
    """Priority flow control; without it the fabric drops packets.

    Attributes:
        headroom: Room for what is on its way when the pause goes out, for each (ingress port,
            priority); ``"auto"``: from the link's rate and delay and the largest packet. Default: auto.
        headroom_factor: Automatic headroom is so many times rate times delay of the link instead.
        xoff: Pause at this much; ``"auto"``: at the dynamic threshold of the shared buffer. Default:
            auto.
        xon_offset: Resume this far below the threshold. (public artifacts of HPCC and OSCAR: 3 KiB).
            Default: 3KiB.
    """

    headroom: str | Bytes | Literal["auto"] | None = None
    headroom_factor: int | None = None
    xoff: str | Bytes | Literal["auto"] | None = None
    xon_offset: str | Bytes | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ecn(Section):
    """ECN marking.

    Attributes:
        kmax: Certain marks above this length.
        kmin: No marks up to this length.
        pmax: Probability of a mark just below ``kmax``.
        reference: The link rate that ``kmin`` and ``kmax`` are meant for: they scale with a port's
            rate. When absent they hold at every rate.
    """

    kmax: str | Bytes
    kmin: str | Bytes
    pmax: float
    reference: str | Rate | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Switch(Section):
    """What every switch does.

    Attributes:
        buffer: The packet buffer: an amount shared by all ports with dynamic thresholds,
            ``"unlimited"``, or ``{ per_port = "800KB" }`` for a drop-tail limit for each port. (OSCAR's
            public artifact: 32 MiB). Default: 32MB.
        buffers: Other buffers for some switches; of two entries for the same switch the later one
            holds. Default: [].
        ecn: ECN marking.
        egress_alpha: Without PFC, an (egress port, queue) may hold this times the free part of a shared
            buffer. (the case worked out by Choudhury and Hahne, 1998). Default: 1.0.
        egress_limit: With PFC too, a packet is dropped whose egress queue would exceed ``egress_alpha``
            times what is free of the whole buffer. Default: False.
        ingress_alpha: With PFC, an (ingress port, priority) may hold this times the free part of a
            shared buffer. (OSCAR's public artifact). Default: 0.25.
        ingress_alpha_rate: The port rate that ``ingress_alpha`` is meant for: for a faster port it is
            doubled, up to 1, until the rate, halved each time, is no more than this. When absent it
            holds at every rate.
        next_hops: The order in which equally short ports are counted. Default: ascending.
        packed_telemetry: Telemetry records are rounded as in HPCC's packed format: queue lengths down
            to units of 80 B times this, transmitted bytes to 128 B times this, times to nanoseconds.
            When absent they are exact.
        path: How a switch chooses among equally short ports. Default: ecmp.
        pfc: Priority flow control; without it the fabric drops packets.
        quanta: Bytes that ``"drr"`` grants each queue at a visit, from queue 0 on; 1518 B for those not
            named. Default: [].
        queues: Queues (priorities) of each port; queue 0 is served first under strict priority.
            Default: 1.
        reserve: Guaranteed to every (ingress port, priority) of a shared buffer under PFC. (public
            artifacts of HPCC and OSCAR). Default: 4KiB.
        scheduler: In which order the queues are served. Default: strict-priority.
    """

    buffer: str | Bytes | Literal["unlimited"] | Mapping[str, object] | None = None
    buffers: Sequence[Mapping[str, object]] | None = None
    ecn: Ecn | bool | Mapping[str, object] | None = None
    egress_alpha: float | None = None
    egress_limit: bool | None = None
    ingress_alpha: float | None = None
    ingress_alpha_rate: str | Rate | None = None
    next_hops: Literal["ascending", "descending"] | None = None
    packed_telemetry: int | None = None
    path: Literal["ecmp", "five-tuple"] | None = None
    pfc: Pfc | bool | Mapping[str, object] | None = None
    quanta: Sequence[str | Bytes] | None = None
    queues: int | None = None
    reserve: str | Bytes | None = None
    scheduler: Literal["strict-priority", "round-robin", "drr"] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Transport(Section):
    """What every host does.

    Attributes:
        ack_delay: A held acknowledgement leaves after this long at the latest. (chosen here). Default:
            50us.
        ack_every: One acknowledgement for so many data packets. (public artifacts of HPCC and OSCAR).
            Default: 1.
        ack_extra: What an acknowledgement carries beyond the header. (OSCAR's public artifact).
            Default: 4B.
        ack_queue: Queue of acknowledgements; when absent that of their flow.
        ack_size: Size of an acknowledgement before what the algorithm adds; when absent header and
            ack_extra.
        base_rtt: The base RTT that algorithms are told: each flow's own, the network's largest, or a
            value. (chosen here; HPCC and PowerTCP are evaluated with the network's). Default: path.
        cnp_interval: Shortest time between two congestion notifications to one flow. (DCQCN, section
            3.1). Default: 50us.
        cnp_queue: Queue of congestion notification packets. Default: 0.
        counting: Which bytes of a packet count against a window. (OSCAR's public artifact; HPCC's
            counts payload). Default: wire.
        header: Header of every packet before what the algorithm adds: Ethernet 14, IPv4 20, UDP 8, BTH
            12. (OSCAR's public artifact). Default: 54B.
        nack_interval: Shortest time between two NACKs for the same missing packet. (HPCC's public
            artifact). Default: 500us.
        payload: Payload of a full data packet. (public artifacts of HPCC and OSCAR). Default: 1KB.
        recovery: How losses are repaired. Default: go-back-n.
        rto: Retransmission timer; doubles with each expiry in a row, up to 64 times. (OSCAR's public
            artifact). Default: 10ms.
        smallest: Smallest packet on the wire. (Ethernet). Default: 64B.
    """

    ack_delay: str | Time | None = None
    ack_every: int | None = None
    ack_extra: str | Bytes | None = None
    ack_queue: int | None = None
    ack_size: str | Bytes | None = None
    base_rtt: Literal["path", "network"] | str | Time | None = None
    cnp_interval: str | Time | None = None
    cnp_queue: int | None = None
    counting: Literal["wire", "payload"] | None = None
    header: str | Bytes | None = None
    nack_interval: str | Time | None = None
    payload: str | Bytes | None = None
    recovery: Literal["go-back-n"] | None = None
    rto: str | Time | None = None
    smallest: str | Bytes | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Probe(Section):
    """What to measure beyond totals and flow completions.

    Attributes:
        captures: Ports whose packets are captured as they begin to leave; written like ``ports``.
            Default: [].
        flow_interval: Time between two samples of a flow. Default: as interval.
        flows: Flows: ``"all"``, a block's name, or ``"name.3"`` for its fourth flow to start. Default:
            [].
        from_: First sample. Default: 0ps.
        internals: Whether the internal quantities of those flows' congestion controls are sampled as
            well. Default: False.
        interval: Time between two samples of a port. Default: 1us.
        pauses: Whether every pause and resume of a port is recorded. Default: False.
        ports: Ports: ``"s0->h15"``, ``"to h15"``, ``"s0:15"``, ``"h3"``, ``"s0"``, ``"all switch
            ports"``, ``"all host ports"``. Default: [].
        until: No sample after this.
    """

    captures: Sequence[str] | None = None
    flow_interval: str | Time | None = None
    flows: Sequence[str] | None = None
    from_: str | Time | None = None
    internals: bool | None = None
    interval: str | Time | None = None
    pauses: bool | None = None
    ports: Sequence[str] | None = None
    until: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run(Section):
    """When the run ends.

    Attributes:
        stall_after: It gives up when nothing has arrived anywhere for this long while flows are
            unfinished. Default: 1s.
        until: Simulated time at which it ends even when flows are left; when absent it ends with the
            last flow.
    """

    stall_after: str | Time | None = None
    until: str | Time | None = None


__all__ = [
    "Cc",
    "Change",
    "Dumbbell",
    "Ecn",
    "FatTree",
    "Flows",
    "Graph",
    "HpccFileTopology",
    "HpccFileTraffic",
    "Incast",
    "LeafSpine",
    "ParkingLot",
    "Permutation",
    "Pfc",
    "Poisson",
    "Probe",
    "Run",
    "Section",
    "Staggered",
    "Star",
    "Switch",
    "Transport",
]
