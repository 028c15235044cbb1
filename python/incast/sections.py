"""The sections of a scenario as typed Python objects, for :meth:`incast.Scenario.build`.

Made from the declarations that scenarios are read with, by ``tools/sections.py``. A quantity is a string with
its unit (``"100Gbps"``) or a value of :mod:`incast.units`; a key that is None is not written, and has its
default. What is wrong with a value is said when the scenario is read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from incast.section import Cc, Section
from incast.units import Bytes, Rate, Time


@dataclasses.dataclass(frozen=True, kw_only=True)
class Star(Section):
    """Hosts around one switch, ``s0``.

    Attributes:
        delay: One-way delay of every link.
        hosts: Number of hosts.
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
        hosts: Number of hosts on each switch. Default: 2.
        switches: Number of switches. Default: 3.
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
    """Leaf switches with hosts, each connected to every spine.

    Attributes:
        delay: One-way delay of the hosts' links.
        hosts: Number of hosts on each leaf.
        leaves: Number of leaves.
        rate: Rate of the hosts' links.
        spines: Number of spines.
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
        core_links: Cores to which an aggregation switch is connected. Default: divided.
        core_rate: Rate of the links to the cores. Default: as fabric_rate.
        edge: Edge switches in each pod.
        fabric_delay: One-way delay of the links between edge and aggregation. Default: as delay.
        fabric_rate: Rate of the links between switches. Default: as rate.
        hosts: Hosts on each edge switch.
        k: Ports of every switch, an even number: k pods of k/2 edge and k/2 aggregation switches, k/2
            hosts on each edge, k²/4 cores.
        pods: Number of pods.
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
class RailOptimized(Section):
    """A rail-optimized fabric.

    Attributes:
        delay: One-way delay of the cards' links.
        rails: Network cards of each server, and rail switches of each group.
        rate: Rate of each card's link.
        servers: Number of servers in each group.
        spines: Number of spines; none are needed for one group.
        fabric_delay: One-way delay of the links between rail switches and spines. Default: as delay.
        fabric_rate: Rate of the links between rail switches and spines. Default: as rate.
        groups: Number of groups. Default: 1.
    """

    _kind: ClassVar[str | None] = "rail-optimized"
    delay: str | Time
    rails: int
    rate: str | Rate
    servers: int
    spines: int
    fabric_delay: str | Time | None = None
    fabric_rate: str | Rate | None = None
    groups: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rotor(Section):
    """Racks whose switches (ToRs) are connected in pairs.

    Attributes:
        circuit_delay: One-way delay of the links between ToRs and the optical switch. (chosen here).
            Default: as uplink_delay.
        circuit_rate: Rate of the links between ToRs and the optical switch. (PowerTCP section 5).
            Default: 100Gbps.
        day: Duration of a matching. (PowerTCP section 5). Default: 225us.
        delay: One-way delay of the hosts' links. (chosen here: with uplink_delay the largest base RTT
            is 24us). Default: 1us.
        hosts: Number of hosts in each rack. (PowerTCP section 5). Default: 10.
        night: Time that the optical switch takes to turn to the next matching, during which it is dark.
            (PowerTCP section 5). Default: 20us.
        prebuffer: So long before each day of a pair its ToR announces the circuit to senders, and
            ``voq_large`` limits its queue. (PowerTCP section 5: 600us and 1800us, for reTCP alone).
            Default: 0ps.
        racks: Number of racks. (PowerTCP section 5). Default: 25.
        rate: Rate of the hosts' links. (PowerTCP section 5). Default: 25Gbps.
        uplink_delay: One-way delay of the links between ToRs and the packet switch. (PowerTCP section
            5: a largest base RTT of 24us, here with packets of 1054B acknowledged by 64B). Default:
            4.64224us.
        uplink_rate: Rate of the links between ToRs and the packet switch. (PowerTCP section 5).
            Default: 25Gbps.
        voq: Limit of the queue that a ToR has for each other rack; by default only the buffer limits
            it.
        voq_large: Its limit in the day of the pair and for ``prebuffer`` before it; by default ``voq ·
            circuit_rate / uplink_rate`` and what arrives at ``uplink_rate`` in ``prebuffer``.
    """

    _kind: ClassVar[str | None] = "rotor"
    circuit_delay: str | Time | None = None
    circuit_rate: str | Rate | None = None
    day: str | Time | None = None
    delay: str | Time | None = None
    hosts: int | None = None
    night: str | Time | None = None
    prebuffer: str | Time | None = None
    racks: int | None = None
    rate: str | Rate | None = None
    uplink_delay: str | Time | None = None
    uplink_rate: str | Rate | None = None
    voq: str | Bytes | None = None
    voq_large: str | Bytes | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Graph(Section):
    """Any network: named hosts, named switches, and links between them.

    Attributes:
        hosts: Names of the hosts.
        links: The links.
        switches: Names of the switches.
        delay: One-way delay of links that do not give one.
        rate: Rate of links that do not give one.
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
        ignore_loss: Treat links that lose packets at random as lossless. Default: False.
        types: Rate and delay of each type of links, for files that name types (OSCAR's artifact).
            Default: [].
    """

    _kind: ClassVar[str | None] = "hpcc-file"
    file: str | Mapping[str, object]
    ignore_loss: bool | None = None
    types: Sequence[Mapping[str, object]] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class HtsimFile(Section):
    """The fat-tree of an htsim topology file (``.topo``).

    Attributes:
        file: The file.
    """

    _kind: ClassVar[str | None] = "htsim-file"
    file: str | Mapping[str, object]


@dataclasses.dataclass(frozen=True, kw_only=True)
class FatTree128(Section):
    """128 hosts at 800Gbps in three non-blocking tiers (the median paper, section IV-A).

    Attributes:
        core_delay: One-way delay of the links to the cores. Default: as fabric_delay.
        core_links: Cores to which an aggregation switch is connected. Default: divided.
        core_rate: Rate of the links to the cores. Default: as fabric_rate.
        delay: One-way delay of the hosts' links. Default: 500ns.
        fabric_delay: One-way delay of the links between edge and aggregation. Default: as delay.
        fabric_rate: Rate of the links between switches. Default: as rate.
        k: Ports of every switch, an even number: k pods of k/2 edge and k/2 aggregation switches, k/2
            hosts on each edge, k²/4 cores. Default: 8.
        rate: Rate of the hosts' links. Default: 800Gbps.
    """

    _kind: ClassVar[str | None] = "fat-tree-128"
    core_delay: str | Time | None = None
    core_links: Literal["divided", "all"] | None = None
    core_rate: str | Rate | None = None
    delay: str | Time | None = None
    fabric_delay: str | Time | None = None
    fabric_rate: str | Rate | None = None
    k: int | None = None
    rate: str | Rate | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class FatTree250(Section):
    """250 hosts at 25Gbps.

    Attributes:
        core_delay: One-way delay of the links to the cores. Default: as fabric_delay.
        core_links: Cores to which an aggregation switch is connected. Default: divided.
        core_rate: Rate of the links to the cores. Default: as fabric_rate.
        delay: One-way delay of the hosts' links. Default: 1577ns.
        fabric_delay: One-way delay of the links between edge and aggregation. Default: as delay.
        fabric_rate: Rate of the links between switches. Default: 100Gbps.
        k: Ports of every switch, an even number: k pods of k/2 edge and k/2 aggregation switches, k/2
            hosts on each edge, k²/4 cores. Default: 10.
        rate: Rate of the hosts' links. Default: 25Gbps.
    """

    _kind: ClassVar[str | None] = "fat-tree-250"
    core_delay: str | Time | None = None
    core_links: Literal["divided", "all"] | None = None
    core_rate: str | Rate | None = None
    delay: str | Time | None = None
    fabric_delay: str | Time | None = None
    fabric_rate: str | Rate | None = None
    k: int | None = None
    rate: str | Rate | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class FatTree256(Section):
    """256 hosts at 25Gbps.

    Attributes:
        agg: Aggregation switches in each pod. Default: 2.
        core: Core switches. Default: 2.
        core_delay: One-way delay of the links to the cores. Default: 5us.
        core_links: Cores to which an aggregation switch is connected. Default: all.
        core_rate: Rate of the links to the cores. Default: as fabric_rate.
        delay: One-way delay of the hosts' links. Default: 1us.
        edge: Edge switches in each pod. Default: 2.
        fabric_delay: One-way delay of the links between edge and aggregation. Default: as delay.
        fabric_rate: Rate of the links between switches. Default: 100Gbps.
        hosts: Hosts on each edge switch. Default: 32.
        pods: Number of pods. Default: 4.
        rate: Rate of the hosts' links. Default: 25Gbps.
    """

    _kind: ClassVar[str | None] = "fat-tree-256"
    agg: int | None = None
    core: int | None = None
    core_delay: str | Time | None = None
    core_links: Literal["divided", "all"] | None = None
    core_rate: str | Rate | None = None
    delay: str | Time | None = None
    edge: int | None = None
    fabric_delay: str | Time | None = None
    fabric_rate: str | Rate | None = None
    hosts: int | None = None
    pods: int | None = None
    rate: str | Rate | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class FatTree320(Section):
    """320 hosts at 100Gbps.

    Attributes:
        agg: Aggregation switches in each pod. Default: 4.
        core: Core switches. Default: 16.
        core_delay: One-way delay of the links to the cores. Default: as fabric_delay.
        core_links: Cores to which an aggregation switch is connected. Default: divided.
        core_rate: Rate of the links to the cores. Default: as fabric_rate.
        delay: One-way delay of the hosts' links. Default: 1us.
        edge: Edge switches in each pod. Default: 4.
        fabric_delay: One-way delay of the links between edge and aggregation. Default: as delay.
        fabric_rate: Rate of the links between switches. Default: 400Gbps.
        hosts: Hosts on each edge switch. Default: 16.
        pods: Number of pods. Default: 5.
        rate: Rate of the hosts' links. Default: 100Gbps.
    """

    _kind: ClassVar[str | None] = "fat-tree-320"
    agg: int | None = None
    core: int | None = None
    core_delay: str | Time | None = None
    core_links: Literal["divided", "all"] | None = None
    core_rate: str | Rate | None = None
    delay: str | Time | None = None
    edge: int | None = None
    fabric_delay: str | Time | None = None
    fabric_rate: str | Rate | None = None
    hosts: int | None = None
    pods: int | None = None
    rate: str | Rate | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class OscarTraining(Section):
    """64 hosts at 200Gbps on 16 leaves, oversubscribed 2 to 1 (OSCAR, section 6.1).

    Attributes:
        delay: One-way delay of the hosts' links. Default: 1us.
        fabric_delay: One-way delay of the links between leaves and spines. Default: as delay.
        fabric_rate: Rate of the links between leaves and spines. Default: as rate.
        hosts: Number of hosts on each leaf. Default: 4.
        leaves: Number of leaves. Default: 16.
        rate: Rate of the hosts' links. Default: 200Gbps.
        spines: Number of spines. Default: 2.
    """

    _kind: ClassVar[str | None] = "oscar-training"
    delay: str | Time | None = None
    fabric_delay: str | Time | None = None
    fabric_rate: str | Rate | None = None
    hosts: int | None = None
    leaves: int | None = None
    rate: str | Rate | None = None
    spines: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class OscarFig14(Section):
    """Two leaves of four hosts under four spines.

    Attributes:
        delay: One-way delay of the hosts' links. Default: 1us.
        fabric_delay: One-way delay of the links between leaves and spines. Default: as delay.
        fabric_rate: Rate of the links between leaves and spines. Default: as rate.
        hosts: Number of hosts on each leaf. Default: 4.
        leaves: Number of leaves. Default: 2.
        rate: Rate of the hosts' links. Default: 100Gbps.
        spines: Number of spines. Default: 4.
    """

    _kind: ClassVar[str | None] = "oscar-fig14"
    delay: str | Time | None = None
    fabric_delay: str | Time | None = None
    fabric_rate: str | Rate | None = None
    hosts: int | None = None
    leaves: int | None = None
    rate: str | Rate | None = None
    spines: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class OscarStar(Section):
    """Any number of hosts at 100Gbps around one switch, base RTT 12us (OSCAR's micro-benchmarks).

    Attributes:
        hosts: Number of hosts.
        delay: One-way delay of every link. Default: 3us.
        rate: Rate of every link. Default: 100Gbps.
    """

    _kind: ClassVar[str | None] = "oscar-star"
    hosts: int
    delay: str | Time | None = None
    rate: str | Rate | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class OscarTestbed(Section):
    """Any number of hosts at 40Gbps around one switch.

    Attributes:
        hosts: Number of hosts.
        delay: One-way delay of every link. Default: 3262600ps.
        rate: Rate of every link. Default: 40Gbps.
    """

    _kind: ClassVar[str | None] = "oscar-testbed"
    hosts: int
    delay: str | Time | None = None
    rate: str | Rate | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class CccStar(Section):
    """Any number of hosts at 25Gbps around one switch.

    Attributes:
        hosts: Number of hosts.
        delay: One-way delay of every link. Default: 4821ns.
        rate: Rate of every link. Default: 25Gbps.
    """

    _kind: ClassVar[str | None] = "ccc-star"
    hosts: int
    delay: str | Time | None = None
    rate: str | Rate | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class CccLeafSpine(Section):
    """128 hosts at 25Gbps on eight leaves.

    Attributes:
        delay: One-way delay of the hosts' links. Default: 1577ns.
        fabric_delay: One-way delay of the links between leaves and spines. Default: as delay.
        fabric_rate: Rate of the links between leaves and spines. Default: 100Gbps.
        hosts: Number of hosts on each leaf. Default: 16.
        leaves: Number of leaves. Default: 8.
        rate: Rate of the hosts' links. Default: 25Gbps.
        spines: Number of spines. Default: 4.
    """

    _kind: ClassVar[str | None] = "ccc-leaf-spine"
    delay: str | Time | None = None
    fabric_delay: str | Time | None = None
    fabric_rate: str | Rate | None = None
    hosts: int | None = None
    leaves: int | None = None
    rate: str | Rate | None = None
    spines: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class SqccStar(Section):
    """Any number of hosts at 10Gbps around one switch.

    Attributes:
        hosts: Number of hosts.
        delay: One-way delay of every link. Default: 800ns.
        rate: Rate of every link. Default: 10Gbps.
    """

    _kind: ClassVar[str | None] = "sqcc-star"
    hosts: int
    delay: str | Time | None = None
    rate: str | Rate | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class SqccDumbbell(Section):
    """Any number of hosts at 10Gbps that share one link to one receiver (SQCC, section IV).

    Attributes:
        left: Hosts on ``s0``.
        bottleneck_delay: One-way delay of the link between the switches. Default: as delay.
        bottleneck_rate: Rate of the link between the switches. Default: as rate.
        delay: One-way delay of the hosts' links. Default: 1us.
        rate: Rate of the hosts' links. Default: 10Gbps.
        right: Hosts on ``s1``. Default: 1.
    """

    _kind: ClassVar[str | None] = "sqcc-dumbbell"
    left: int
    bottleneck_delay: str | Time | None = None
    bottleneck_rate: str | Rate | None = None
    delay: str | Time | None = None
    rate: str | Rate | None = None
    right: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bfc128(Section):
    """128 hosts at 100Gbps on eight leaves.

    Attributes:
        delay: One-way delay of the hosts' links. Default: 1us.
        fabric_delay: One-way delay of the links between leaves and spines. Default: as delay.
        fabric_rate: Rate of the links between leaves and spines. Default: as rate.
        hosts: Number of hosts on each leaf. Default: 16.
        leaves: Number of leaves. Default: 8.
        rate: Rate of the hosts' links. Default: 100Gbps.
        spines: Number of spines. Default: 8.
    """

    _kind: ClassVar[str | None] = "bfc-128"
    delay: str | Time | None = None
    fabric_delay: str | Time | None = None
    fabric_rate: str | Rate | None = None
    hosts: int | None = None
    leaves: int | None = None
    rate: str | Rate | None = None
    spines: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Flows(Section):
    """Flows listed by their ends.

    Attributes:
        from_: Senders, hosts or network cards of hosts: ``"h0.3"`` is card 3 of h0, ``"h0-h7.3"`` card
            3 of each of eight hosts. Without a card the flow's hash chooses one.
        to: Receivers, hosts or network cards of hosts.
        balancing: Policy by which the packets of its flows are spread over equal paths, instead of the
            scenario's policy.
        cc: Algorithm of its flows, instead of the scenario's.
        connections: Flows that share a connection, and with it a path, an order and a congestion state;
            by default "pair" over the window transport for ring-allreduce, all-to-all, collective,
            parameter-server, hsdp, goal-file, chakra-trace and simai-file, and "flow" for the others.
        count: Number of flows for each pair of hosts. Default: 1.
        name: Name of the block in results and for its random draws; by default its kind.
        queue: Queue (priority) of its flows in the switches. Default: 0.
        size: Payload per flow.
        stagger: Time between the starts of successive flows. Default: 0ps.
        start: Start of the first flow. Default: 0ps.
        stop: Time at which the flows stop sending new data.
    """

    _kind: ClassVar[str | None] = "flows"
    from_: str | Sequence[str]
    to: str | Sequence[str]
    balancing: Literal["ecmp", "ops", "ops-rounds", "reps", "random", "adaptive"] | None = None
    cc: Cc | Mapping[str, object] | None = None
    connections: Literal["flow", "pair"] | None = None
    count: int | None = None
    name: str | None = None
    queue: int | None = None
    size: str | Bytes | None = None
    stagger: str | Time | None = None
    start: str | Time | None = None
    stop: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Poisson(Section):
    """Flows that arrive as a Poisson process.

    Attributes:
        load: Offered payload as a share of capacity.
        sizes: Payload per flow: a distribution, a file, or one size.
        balancing: Policy by which the packets of its flows are spread over equal paths, instead of the
            scenario's policy.
        cc: Algorithm of its flows, instead of the scenario's.
        connections: Flows that share a connection, and with it a path, an order and a congestion state;
            by default "pair" over the window transport for ring-allreduce, all-to-all, collective,
            parameter-server, hsdp, goal-file, chakra-trace and simai-file, and "flow" for the others.
        duration: Duration of the measured window, after the warm-up.
        flows: Number of flows, counted or not.
        from_: Senders, hosts or network cards; each is drawn in proportion to its capacity. Default:
            all.
        gaps: Distribution of the times between flows. Default: exponential.
        load_of: The capacity to which ``load`` is relative. Default: senders.
        name: Name of the block in results and for its random draws; by default its kind.
        queue: Queue (priority) of its flows in the switches. Default: 0.
        sigma: Standard deviation of the natural logarithm of log-normal gaps; by default 2, as in the
            BFC artifact.
        start: Start of the process. Default: 0ps.
        tail: Whether flows still arrive after ``duration``, without counting, until those that count
            are done. Default: True.
        to: Receivers, hosts or network cards; each at another host than the sender's is equally likely.
            Default: all.
        warmup: Time from the start until flows count. Default: 0ps.
    """

    _kind: ClassVar[str | None] = "poisson"
    load: float
    sizes: str | Mapping[str, object]
    balancing: Literal["ecmp", "ops", "ops-rounds", "reps", "random", "adaptive"] | None = None
    cc: Cc | Mapping[str, object] | None = None
    connections: Literal["flow", "pair"] | None = None
    duration: str | Time | None = None
    flows: int | None = None
    from_: str | Sequence[str] | None = None
    gaps: Literal["exponential", "lognormal", "constant"] | None = None
    load_of: Literal["senders", "receivers", "uplinks"] | None = None
    name: str | None = None
    queue: int | None = None
    sigma: float | None = None
    start: str | Time | None = None
    tail: bool | None = None
    to: str | Sequence[str] | None = None
    warmup: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Incast(Section):
    """Requests.

    Attributes:
        size: Payload per sender and request, not per request: the receiver gets fan_in times as much.
        balancing: Policy by which the packets of its flows are spread over equal paths, instead of the
            scenario's policy.
        cc: Algorithm of its flows, instead of the scenario's.
        connections: Flows that share a connection, and with it a path, an order and a congestion state;
            by default "pair" over the window transport for ring-allreduce, all-to-all, collective,
            parameter-server, hsdp, goal-file, chakra-trace and simai-file, and "flow" for the others.
        duration: Duration of the measured window of a process, after the warm-up.
        fan_in: Number of senders of each request; by default all hosts of ``from`` except the receiver.
        from_: Possible senders, hosts or network cards; none is of the receiver's host. Default: all.
        gaps: Distribution of the times between requests; by default exponential.
        interval: Mean time between two requests.
        jitter: Each sender is delayed by a random time, uniform from zero to this. Default: 0ps.
        load: Requested payload as a share of the capacity of the links of all hosts of ``from``.
        name: Name of the block in results and for its random draws; by default its kind.
        queue: Queue (priority) of its flows in the switches. Default: 0.
        requests: Number of requests.
        sigma: Standard deviation of the natural logarithm of log-normal gaps; by default 2, as in the
            BFC artifact.
        spread: Placement of the senders of one request. Default: anywhere.
        stagger: Time between the starts of successive senders of a request. Default: 0ps.
        start: Time of the single request, or start of the process. Default: 0ps.
        tail: Whether requests still arrive after ``duration``, without counting, until the flows that
            count are done. Default: True.
        to: Possible receivers, hosts or network cards. Default: all.
        warmup: Time from the start of a process until flows count. Default: 0ps.
    """

    _kind: ClassVar[str | None] = "incast"
    size: str | Bytes
    balancing: Literal["ecmp", "ops", "ops-rounds", "reps", "random", "adaptive"] | None = None
    cc: Cc | Mapping[str, object] | None = None
    connections: Literal["flow", "pair"] | None = None
    duration: str | Time | None = None
    fan_in: int | None = None
    from_: str | Sequence[str] | None = None
    gaps: Literal["exponential", "lognormal", "constant"] | None = None
    interval: str | Time | None = None
    jitter: str | Time | None = None
    load: float | None = None
    name: str | None = None
    queue: int | None = None
    requests: int | None = None
    sigma: float | None = None
    spread: Literal["anywhere", "one-other-rack"] | None = None
    stagger: str | Time | None = None
    start: str | Time | None = None
    tail: bool | None = None
    to: str | Sequence[str] | None = None
    warmup: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Permutation(Section):
    """Every host sends one flow to another and receives one.

    Attributes:
        size: Payload per flow, of which each member sends one.
        balancing: Policy by which the packets of its flows are spread over equal paths, instead of the
            scenario's policy.
        cc: Algorithm of its flows, instead of the scenario's.
        connections: Flows that share a connection, and with it a path, an order and a congestion state;
            by default "pair" over the window transport for ring-allreduce, all-to-all, collective,
            parameter-server, hsdp, goal-file, chakra-trace and simai-file, and "flow" for the others.
        hosts: The hosts that take part, or network cards of hosts, one of each. Default: all.
        jitter: Each flow is delayed by a random time, uniform from zero to this. Default: 0ps.
        name: Name of the block in results and for its random draws; by default its kind.
        queue: Queue (priority) of its flows in the switches. Default: 0.
        shift: Distance from sender to receiver in the list of hosts.
        start: Start of the flows. Default: 0ps.
    """

    _kind: ClassVar[str | None] = "permutation"
    size: str | Bytes
    balancing: Literal["ecmp", "ops", "ops-rounds", "reps", "random", "adaptive"] | None = None
    cc: Cc | Mapping[str, object] | None = None
    connections: Literal["flow", "pair"] | None = None
    hosts: str | Sequence[str] | None = None
    jitter: str | Time | None = None
    name: str | None = None
    queue: int | None = None
    shift: int | None = None
    start: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Staggered(Section):
    """Long flows that start one after the other, ``interval`` apart, and end one after the other.

    Attributes:
        duration: Duration of the first flow.
        from_: Senders.
        interval: Time between the starts of successive flows.
        to: Receivers: one for all, or one for each sender.
        balancing: Policy by which the packets of its flows are spread over equal paths, instead of the
            scenario's policy.
        cc: Algorithm of its flows, instead of the scenario's.
        connections: Flows that share a connection, and with it a path, an order and a congestion state;
            by default "pair" over the window transport for ring-allreduce, all-to-all, collective,
            parameter-server, hsdp, goal-file, chakra-trace and simai-file, and "flow" for the others.
        leave: The order in which they end. Default: first-in-first-out.
        name: Name of the block in results and for its random draws; by default its kind.
        queue: Queue (priority) of its flows in the switches. Default: 0.
        start: Start of the first flow. Default: 0ps.
    """

    _kind: ClassVar[str | None] = "staggered"
    duration: str | Time
    from_: str | Sequence[str]
    interval: str | Time
    to: str | Sequence[str]
    balancing: Literal["ecmp", "ops", "ops-rounds", "reps", "random", "adaptive"] | None = None
    cc: Cc | Mapping[str, object] | None = None
    connections: Literal["flow", "pair"] | None = None
    leave: Literal["first-in-first-out", "last-in-first-out"] | None = None
    name: str | None = None
    queue: int | None = None
    start: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class FlowTable(Section):
    """Flows listed in a table.

    Attributes:
        file: The file.
        balancing: Policy by which the packets of its flows are spread over equal paths, instead of the
            scenario's policy.
        cc: Algorithm of its flows, instead of the scenario's.
        connections: Flows that share a connection, and with it a path, an order and a congestion state;
            by default "pair" over the window transport for ring-allreduce, all-to-all, collective,
            parameter-server, hsdp, goal-file, chakra-trace and simai-file, and "flow" for the others.
        first: Start of the first flow of the file; all others are shifted by the same time. By default
            flows start as given in the file.
        name: Name of the block in results and for its random draws; by default its kind.
        queue: Queue (priority) of its flows in the switches. Default: 0.
    """

    _kind: ClassVar[str | None] = "flow-table"
    file: str | Mapping[str, object]
    balancing: Literal["ecmp", "ops", "ops-rounds", "reps", "random", "adaptive"] | None = None
    cc: Cc | Mapping[str, object] | None = None
    connections: Literal["flow", "pair"] | None = None
    first: str | Time | None = None
    name: str | None = None
    queue: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class HpccFileTraffic(Section):
    """Flows listed in a ``flow.txt``, as the simulators of HPCC and its descendants read it.

    Attributes:
        file: The file.
        balancing: Policy by which the packets of its flows are spread over equal paths, instead of the
            scenario's policy.
        cc: Algorithm of its flows, instead of the scenario's.
        connections: Flows that share a connection, and with it a path, an order and a congestion state;
            by default "pair" over the window transport for ring-allreduce, all-to-all, collective,
            parameter-server, hsdp, goal-file, chakra-trace and simai-file, and "flow" for the others.
        dport: Only flows to this UDP port.
        first: Start of the first flow of the file; all others are shifted by the same time. By default
            flows start as given in the file.
        ignore_extra: Whether lines beyond the number of flows in the first line are left out, as ns-3's
            simulators do. If false, such a file is refused. Default: False.
        name: Name of the block in results and for its random draws; by default its kind.
        pg: Only flows of this priority group.
        queue: Queue (priority) of its flows in the switches. Default: 0.
    """

    _kind: ClassVar[str | None] = "hpcc-file"
    file: str | Mapping[str, object]
    balancing: Literal["ecmp", "ops", "ops-rounds", "reps", "random", "adaptive"] | None = None
    cc: Cc | Mapping[str, object] | None = None
    connections: Literal["flow", "pair"] | None = None
    dport: int | None = None
    first: str | Time | None = None
    ignore_extra: bool | None = None
    name: str | None = None
    pg: int | None = None
    queue: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class GoalFile(Section):
    """The messages and computations of a GOAL schedule, as LogGOPSim and ATLAHS read it.

    Attributes:
        file: The file, as text or in the binary form of LogGOPSim's ``txt2bin``.
        balancing: Policy by which the packets of its flows are spread over equal paths, instead of the
            scenario's policy.
        cc: Algorithm of its flows, instead of the scenario's.
        compute_factor: Factor of all times of computation; the file's unit is the nanosecond. Default:
            1.0.
        connections: Flows that share a connection, and with it a path, an order and a congestion state;
            by default "pair" over the window transport for ring-allreduce, all-to-all, collective,
            parameter-server, hsdp, goal-file, chakra-trace and simai-file, and "flow" for the others.
        hosts: The host of each rank, as many as there are ranks, or its network card, as ``"h0.3"``; by
            default the first hosts of the network. With ranks = "cards" the hosts whose cards they are.
        name: Name of the block in results and for its random draws; by default its kind.
        queue: Queue (priority) of its flows in the switches. Default: 0.
        ranks: Places of ranks: hosts, or all network cards of the hosts, host by host; messages within
            a host then take no time. By default hosts if these have one card each, and cards if these
            are as many as ranks.
        size_factor: Factor of all sizes of messages; each keeps at least one byte. Default: 1.0.
    """

    _kind: ClassVar[str | None] = "goal-file"
    file: str | Mapping[str, object]
    balancing: Literal["ecmp", "ops", "ops-rounds", "reps", "random", "adaptive"] | None = None
    cc: Cc | Mapping[str, object] | None = None
    compute_factor: float | None = None
    connections: Literal["flow", "pair"] | None = None
    hosts: str | Sequence[str] | None = None
    name: str | None = None
    queue: int | None = None
    ranks: Literal["cards", "hosts"] | None = None
    size_factor: float | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class HtsimConnections(Section):
    """The connections of an htsim connection matrix (``.cm``), with its triggers.

    Attributes:
        file: The file.
        balancing: Policy by which the packets of its flows are spread over equal paths, instead of the
            scenario's policy.
        cc: Algorithm of its flows, instead of the scenario's.
        connections: Flows that share a connection, and with it a path, an order and a congestion state;
            by default "pair" over the window transport for ring-allreduce, all-to-all, collective,
            parameter-server, hsdp, goal-file, chakra-trace and simai-file, and "flow" for the others.
        hosts: The host, or the network card, of each node, as many as there are nodes; by default the
            first hosts of the network.
        name: Name of the block in results and for its random draws; by default its kind.
        nearest_end: Whether a connection that starts at one end of another, which has completed at its
            other end, starts when that connection completes at its own end. If false, such a file is
            refused. Default: False.
        queue: Queue (priority) of its flows in the switches. Default: 0.
        size_factor: Factor of all sizes; each connection keeps at least one byte. Default: 1.0.
        start_unit: Unit of the file's start times, which the file does not say: 1us for htsim_uec, and
            for htsim_eqds, htsim_roce and htsim_dcqcn of uet-htsim; 1ps for htsim_ndp. It must be given
            where a connection does not start at 0.
    """

    _kind: ClassVar[str | None] = "htsim-connections"
    file: str | Mapping[str, object]
    balancing: Literal["ecmp", "ops", "ops-rounds", "reps", "random", "adaptive"] | None = None
    cc: Cc | Mapping[str, object] | None = None
    connections: Literal["flow", "pair"] | None = None
    hosts: str | Sequence[str] | None = None
    name: str | None = None
    nearest_end: bool | None = None
    queue: int | None = None
    size_factor: float | None = None
    start_unit: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChakraTrace(Section):
    """The messages.

    Attributes:
        file: The files, one of each rank: ``*`` is the rank. A name that ends in ``.json`` is a trace
            as JSON.
        balancing: Policy by which the packets of its flows are spread over equal paths, instead of the
            scenario's policy.
        cc: Algorithm of its flows, instead of the scenario's.
        compute_factor: Factor of all times of computation. Default: 1.0.
        connections: Flows that share a connection, and with it a path, an order and a congestion state;
            by default "pair" over the window transport for ring-allreduce, all-to-all, collective,
            parameter-server, hsdp, goal-file, chakra-trace and simai-file, and "flow" for the others.
        ctrl_deps: Wait for ``ctrl_deps`` too, and not for ``data_deps`` alone. Default: False.
        hosts: The host of each rank, as many as there are ranks, or its network card, as ``"h0.3"``; by
            default the first hosts of the network. With ranks = "cards" the hosts whose cards they are.
        name: Name of the block in results and for its random draws; by default its kind.
        queue: Queue (priority) of its flows in the switches. Default: 0.
        ranks: Places of ranks: hosts, or all network cards of the hosts, host by host; messages within
            a host then take no time. By default hosts if these have one card each, and cards if these
            are as many as ranks.
        size_factor: Factor of all sizes of messages; each keeps at least one byte. Default: 1.0.
    """

    _kind: ClassVar[str | None] = "chakra-trace"
    file: str | Mapping[str, object]
    balancing: Literal["ecmp", "ops", "ops-rounds", "reps", "random", "adaptive"] | None = None
    cc: Cc | Mapping[str, object] | None = None
    compute_factor: float | None = None
    connections: Literal["flow", "pair"] | None = None
    ctrl_deps: bool | None = None
    hosts: str | Sequence[str] | None = None
    name: str | None = None
    queue: int | None = None
    ranks: Literal["cards", "hosts"] | None = None
    size_factor: float | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class SimaiFile(Section):
    """The computations and collectives of a workload of SimAI, which AICB writes.

    Attributes:
        file: The file.
        balancing: Policy by which the packets of its flows are spread over equal paths, instead of the
            scenario's policy.
        cc: Algorithm of its flows, instead of the scenario's.
        compute_factor: Factor of all times of computation; the file's unit is the nanosecond. Default:
            1.0.
        connections: Flows that share a connection, and with it a path, an order and a congestion state;
            by default "pair" over the window transport for ring-allreduce, all-to-all, collective,
            parameter-server, hsdp, goal-file, chakra-trace and simai-file, and "flow" for the others.
        hosts: The hosts whose GPUs take part, in order; by default the first ones of the network.
        name: Name of the block in results and for its random draws; by default its kind.
        passes: Number of passes, each forward and backward. (SimAI: 1). Default: 1.
        queue: Queue (priority) of its flows in the switches. Default: 0.
        ranks: GPUs: hosts, or all network cards of the hosts. By default cards where all hosts have
            equally many, two or more.
        size_factor: Factor of all sizes of collectives, rounded down. Default: 1.0.
    """

    _kind: ClassVar[str | None] = "simai-file"
    file: str | Mapping[str, object]
    balancing: Literal["ecmp", "ops", "ops-rounds", "reps", "random", "adaptive"] | None = None
    cc: Cc | Mapping[str, object] | None = None
    compute_factor: float | None = None
    connections: Literal["flow", "pair"] | None = None
    hosts: str | Sequence[str] | None = None
    name: str | None = None
    passes: int | None = None
    queue: int | None = None
    ranks: Literal["cards", "hosts"] | None = None
    size_factor: float | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class RingAllreduce(Section):
    """Ring all-reduce.

    Attributes:
        balancing: Policy by which the packets of its flows are spread over equal paths, instead of the
            scenario's policy.
        cc: Algorithm of its flows, instead of the scenario's.
        channels: Number of channels, which divide the bytes; channel c takes card c of each host,
            modulo the number of cards. By default one for each card. (NCCL: a channel for each card,
            NCCL_CROSS_NIC = 0).
        compute: Time that a host computes between two passes; by default as the model, or not at all.
        connections: Flows that share a connection, and with it a path, an order and a congestion state;
            by default "pair" over the window transport for ring-allreduce, all-to-all, collective,
            parameter-server, hsdp, goal-file, chakra-trace and simai-file, and "flow" for the others.
        group_size: Number of hosts of each ring.
        groups: Division into rings. Default: one.
        hosts: The hosts that take part, in the order of the ring. Default: all.
        model: A neural network, which gives size and compute.
        name: Name of the block in results and for its random draws; by default its kind.
        passes: Number of passes. Default: 1.
        queue: Queue (priority) of its flows in the switches. Default: 0.
        ranks: Members of a ring; by default cards where all hosts have equally many, two or more.
        size: Payload per rank and pass, not per flow: all that is reduced. Each edge of the ring
            carries 2(n-1)/n times as much.
        start: Start of the first pass. Default: 0ps.
        steps: Whether a pass is 2(n-1) steps, in each of which a host passes on what it received in the
            step before; if not, it is one flow of as many bytes. Default: False.
    """

    _kind: ClassVar[str | None] = "ring-allreduce"
    balancing: Literal["ecmp", "ops", "ops-rounds", "reps", "random", "adaptive"] | None = None
    cc: Cc | Mapping[str, object] | None = None
    channels: int | None = None
    compute: str | Time | None = None
    connections: Literal["flow", "pair"] | None = None
    group_size: int | None = None
    groups: Literal["one", "consecutive", "one-per-switch", "one-per-rail"] | None = None
    hosts: str | Sequence[str] | None = None
    model: Literal["resnet", "vgg"] | None = None
    name: str | None = None
    passes: int | None = None
    queue: int | None = None
    ranks: Literal["cards", "hosts"] | None = None
    size: str | Bytes | None = None
    start: str | Time | None = None
    steps: bool | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class AllToAll(Section):
    """All-to-all: in each pass every host sends to every other host of its group, not to itself.

    Attributes:
        balancing: Policy by which the packets of its flows are spread over equal paths, instead of the
            scenario's policy.
        barrier: Whether a pass begins at all hosts of a group only when all have ended the one before;
            by default as the model, or not.
        cc: Algorithm of its flows, instead of the scenario's.
        compute: Time that a host computes between two passes; by default as the model, or not at all.
        connections: Flows that share a connection, and with it a path, an order and a congestion state;
            by default "pair" over the window transport for ring-allreduce, all-to-all, collective,
            parameter-server, hsdp, goal-file, chakra-trace and simai-file, and "flow" for the others.
        experts: Of each member of a group, how often it is chosen, relative to the others: each host
            then sends one flow in each pass, to a host drawn by these shares, and drawn again if it is
            the host itself.
        group_size: Number of hosts of each group.
        groups: Division into groups. Default: one.
        hosts: The hosts that take part. Default: all.
        model: A mixture of experts, which gives experts, size, compute and barrier.
        name: Name of the block in results and for its random draws; by default its kind.
        parallel: Maximum number of flows of a host at the same time, in the order of the distance in
            the list; by default all.
        passes: Number of passes. Default: 1.
        queue: Queue (priority) of its flows in the switches. Default: 0.
        ranks: Members of a group; by default cards where all hosts have equally many, two or more.
            Flows between hosts take a card by their hash.
        size: Payload per pair and pass, not per rank: each of n ranks sends n - 1 times as much in a
            pass, or with experts once as much. The operation all-to-all of a collective counts per
            rank: n times as much as this size.
        start: Start of the first pass. Default: 0ps.
    """

    _kind: ClassVar[str | None] = "all-to-all"
    balancing: Literal["ecmp", "ops", "ops-rounds", "reps", "random", "adaptive"] | None = None
    barrier: bool | None = None
    cc: Cc | Mapping[str, object] | None = None
    compute: str | Time | None = None
    connections: Literal["flow", "pair"] | None = None
    experts: Sequence[float] | None = None
    group_size: int | None = None
    groups: Literal["one", "consecutive", "one-per-switch", "one-per-rail"] | None = None
    hosts: str | Sequence[str] | None = None
    model: Literal["moe-16"] | None = None
    name: str | None = None
    parallel: int | None = None
    passes: int | None = None
    queue: int | None = None
    ranks: Literal["cards", "hosts"] | None = None
    size: str | Bytes | None = None
    start: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Collective(Section):
    """A collective operation by one of its algorithms, pass after pass.

    Attributes:
        operation: Operation.
        algorithm: Algorithm; by default "ring", for all-to-all "direct". (NCCL: rings, and sends and
            receives of pairs).
        balancing: Policy by which the packets of its flows are spread over equal paths, instead of the
            scenario's policy.
        cc: Algorithm of its flows, instead of the scenario's.
        channels: Number of channels, which divide the bytes and carry their parts beside each other.
            With rings and trees, and with ranks = "hosts", channel c takes card c of each host, modulo
            the number of cards, and there is one for each card by default. With other algorithms each
            GPU sends by its own card, and there is one by default. (NCCL: a channel for each card,
            NCCL_CROSS_NIC = 0).
        chunk: Of trees, and of a broadcast or reduce by chains: maximum size of the pieces that a rank
            passes on one after the other; by default 524,288 B. (NCCL: NCCL_BUFFSIZE = 4 MiB in 8
            steps).
        compute: Time that a rank computes between two passes. Default: 0ps.
        connections: Flows that share a connection, and with it a path, an order and a congestion state;
            by default "pair" over the window transport for ring-allreduce, all-to-all, collective,
            parameter-server, hsdp, goal-file, chakra-trace and simai-file, and "flow" for the others.
        group_size: Number of hosts of each group.
        groups: Division into groups, each with a collective of its own. Default: one.
        hosts: The hosts that take part, in the order of their ranks. Default: all.
        inner: Of hierarchical algorithms: number of ranks that follow each other in each inner group;
            by default the GPUs of a host.
        matrix: Of an all-to-all, instead of its size: the bytes of each rank for each rank, a row for
            each sender, or the file that has them. What a rank has for itself is not sent.
        name: Name of the block in results and for its random draws; by default its kind.
        passes: Number of passes. Default: 1.
        queue: Queue (priority) of its flows in the switches. Default: 0.
        ranks: Members of a group; by default cards where all hosts have equally many, two or more.
        root: Rank of each group, from 0, that has the data of a broadcast or scatter, or the result of
            a reduce or gather; by default 0.
        size: Payload per rank and pass, not per message or pair, as nccl-tests counts it. All-reduce,
            broadcast, reduce: the data of each rank. All-gather: all that a rank has at the end.
            Reduce-scatter, all-to-all: all that a rank has at the beginning, an n-th of it for each of
            the n ranks, itself included. Gather, scatter: all that the root has at the end, or at the
            beginning.
        start: Start of the first pass. Default: 0ps.
    """

    _kind: ClassVar[str | None] = "collective"
    operation: Literal[
        "all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce", "gather", "scatter", "all-to-all"
    ]
    algorithm: Literal["ring", "tree", "halving-doubling", "direct", "hierarchical"] | None = None
    balancing: Literal["ecmp", "ops", "ops-rounds", "reps", "random", "adaptive"] | None = None
    cc: Cc | Mapping[str, object] | None = None
    channels: int | None = None
    chunk: str | Bytes | None = None
    compute: str | Time | None = None
    connections: Literal["flow", "pair"] | None = None
    group_size: int | None = None
    groups: Literal["one", "consecutive", "one-per-switch", "one-per-rail"] | None = None
    hosts: str | Sequence[str] | None = None
    inner: int | None = None
    matrix: Sequence[Sequence[str | Bytes]] | str | Mapping[str, object] | None = None
    name: str | None = None
    passes: int | None = None
    queue: int | None = None
    ranks: Literal["cards", "hosts"] | None = None
    root: int | None = None
    size: str | Bytes | None = None
    start: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClosedLoop(Section):
    """Closed loops.

    Attributes:
        sizes: Payload per flow: a distribution, a file, or one size.
        balancing: Policy by which the packets of its flows are spread over equal paths, instead of the
            scenario's policy.
        cc: Algorithm of its flows, instead of the scenario's.
        connections: Flows that share a connection, and with it a path, an order and a congestion state;
            by default "pair" over the window transport for ring-allreduce, all-to-all, collective,
            parameter-server, hsdp, goal-file, chakra-trace and simai-file, and "flow" for the others.
        flows: Number of flows of each loop, one after the other.
        from_: Senders, hosts or network cards. Default: all.
        name: Name of the block in results and for its random draws; by default its kind.
        parallel: Flows of a sender at the same time: the number of loops. Default: 1.
        queue: Queue (priority) of its flows in the switches. Default: 0.
        start: Start of the first flows. Default: 0ps.
        think: Time from the end of a flow to the start of the next one. Default: 0ps.
        to: Receivers, hosts or network cards; each at another host than the sender's is equally likely.
            Default: all.
        until: Time from which on no flow is started, instead of ``flows``; those that have started go
            on.
    """

    _kind: ClassVar[str | None] = "closed-loop"
    sizes: str | Mapping[str, object]
    balancing: Literal["ecmp", "ops", "ops-rounds", "reps", "random", "adaptive"] | None = None
    cc: Cc | Mapping[str, object] | None = None
    connections: Literal["flow", "pair"] | None = None
    flows: int | None = None
    from_: str | Sequence[str] | None = None
    name: str | None = None
    parallel: int | None = None
    queue: int | None = None
    start: str | Time | None = None
    think: str | Time | None = None
    to: str | Sequence[str] | None = None
    until: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ParameterServer(Section):
    """Parameter servers.

    Attributes:
        servers: The servers, hosts or network cards.
        balancing: Policy by which the packets of its flows are spread over equal paths, instead of the
            scenario's policy.
        cc: Algorithm of its flows, instead of the scenario's.
        compute: Time that a worker computes before the gradient of each layer. Default: 0ps.
        connections: Flows that share a connection, and with it a path, an order and a congestion state;
            by default "pair" over the window transport for ring-allreduce, all-to-all, collective,
            parameter-server, hsdp, goal-file, chakra-trace and simai-file, and "flow" for the others.
        layers: Bytes of the gradient of each layer, in the order of back-propagation.
        model: A neural network, which gives layers and scale.
        name: Name of the block in results and for its random draws; by default its kind.
        queue: Queue (priority) of its flows in the switches. Default: 0.
        scale: Share of these bytes that is sent; by default as the model, or 1.
        start: Start of the workers. Default: 0ps.
        workers: The workers, hosts or network cards; by default all other hosts.
    """

    _kind: ClassVar[str | None] = "parameter-server"
    servers: str | Sequence[str]
    balancing: Literal["ecmp", "ops", "ops-rounds", "reps", "random", "adaptive"] | None = None
    cc: Cc | Mapping[str, object] | None = None
    compute: str | Time | None = None
    connections: Literal["flow", "pair"] | None = None
    layers: Sequence[str | Bytes] | None = None
    model: Literal["alexnet"] | None = None
    name: str | None = None
    queue: int | None = None
    scale: float | None = None
    start: str | Time | None = None
    workers: str | Sequence[str] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Hsdp(Section):
    """One step of the rings of hybrid sharded data parallelism.

    Attributes:
        balancing: Policy by which the packets of its flows are spread over equal paths, instead of the
            scenario's policy.
        cc: Algorithm of its flows, instead of the scenario's.
        connections: Flows that share a connection, and with it a path, an order and a congestion state;
            by default "pair" over the window transport for ring-allreduce, all-to-all, collective,
            parameter-server, hsdp, goal-file, chakra-trace and simai-file, and "flow" for the others.
        gpus: GPUs of each server if these are hosts, which is also the number of rings; by default 8.
            (median paper, section IV-A: 8 rings).
        hosts: The GPUs, or the servers. Default: all.
        name: Name of the block in results and for its random draws; by default its kind.
        placement: Placement of servers. Default: random.
        queue: Queue (priority) of its flows in the switches. Default: 0.
        ranks: GPUs; by default cards where all hosts have equally many, two or more.
        size: Payload per flow, of which each GPU sends one. (median paper, section IV-A: 3,344 packets
            of 4,000 B). Default: 13.376MB.
        start: Start of the flows. Default: 0ps.
    """

    _kind: ClassVar[str | None] = "hsdp"
    balancing: Literal["ecmp", "ops", "ops-rounds", "reps", "random", "adaptive"] | None = None
    cc: Cc | Mapping[str, object] | None = None
    connections: Literal["flow", "pair"] | None = None
    gpus: int | None = None
    hosts: str | Sequence[str] | None = None
    name: str | None = None
    placement: Literal["random", "in-order"] | None = None
    queue: int | None = None
    ranks: Literal["cards", "hosts"] | None = None
    size: str | Bytes | None = None
    start: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class FileRequests(Section):
    """File requests.

    Attributes:
        interval: Mean time between two requests of a host.
        size: Payload per request, not per sender: each of the responders sends an equal part.
        balancing: Policy by which the packets of its flows are spread over equal paths, instead of the
            scenario's policy.
        cc: Algorithm of its flows, instead of the scenario's.
        connections: Flows that share a connection, and with it a path, an order and a congestion state;
            by default "pair" over the window transport for ring-allreduce, all-to-all, collective,
            parameter-server, hsdp, goal-file, chakra-trace and simai-file, and "flow" for the others.
        duration: Duration of the measured window, after the warm-up.
        from_: Hosts, or network cards, that can send. Default: all.
        name: Name of the block in results and for its random draws; by default its kind.
        queue: Queue (priority) of its flows in the switches. Default: 0.
        requests: Number of requests of each host.
        responders: Number of hosts that send a part of a file. (PowerTCP artifact). Default: 5.
        start: Start of the requests. Default: 0ps.
        tail: Whether requests still arrive after ``duration``, without counting, until the flows that
            count are done. Default: True.
        to: Hosts, or network cards, that ask. Default: all.
        warmup: Time from the start of the requests until they count. Default: 0ps.
    """

    _kind: ClassVar[str | None] = "file-requests"
    interval: str | Time
    size: str | Bytes
    balancing: Literal["ecmp", "ops", "ops-rounds", "reps", "random", "adaptive"] | None = None
    cc: Cc | Mapping[str, object] | None = None
    connections: Literal["flow", "pair"] | None = None
    duration: str | Time | None = None
    from_: str | Sequence[str] | None = None
    name: str | None = None
    queue: int | None = None
    requests: int | None = None
    responders: int | None = None
    start: str | Time | None = None
    tail: bool | None = None
    to: str | Sequence[str] | None = None
    warmup: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class OnOff(Section):
    """On and off: every sender sends without end for some time, then nothing for some time, and so on.

    Attributes:
        from_: Senders.
        off: Time for which it pauses after that.
        on: Time for which it sends.
        to: Receivers: one for all, or one for each sender.
        balancing: Policy by which the packets of its flows are spread over equal paths, instead of the
            scenario's policy.
        cc: Algorithm of its flows, instead of the scenario's.
        connections: Flows that share a connection, and with it a path, an order and a congestion state;
            by default "pair" over the window transport for ring-allreduce, all-to-all, collective,
            parameter-server, hsdp, goal-file, chakra-trace and simai-file, and "flow" for the others.
        cycles: Number of times that each sender sends.
        duration: Duration of all: no flow starts later.
        name: Name of the block in results and for its random draws; by default its kind.
        queue: Queue (priority) of its flows in the switches. Default: 0.
        random: Whether both are random, with an exponential distribution whose means are these; then a
            sender begins with a pause. Default: False.
        start: Start of the first flows, or with ``random`` of the first pauses. Default: 0ps.
    """

    _kind: ClassVar[str | None] = "on-off"
    from_: str | Sequence[str]
    off: str | Time
    on: str | Time
    to: str | Sequence[str]
    balancing: Literal["ecmp", "ops", "ops-rounds", "reps", "random", "adaptive"] | None = None
    cc: Cc | Mapping[str, object] | None = None
    connections: Literal["flow", "pair"] | None = None
    cycles: int | None = None
    duration: str | Time | None = None
    name: str | None = None
    queue: int | None = None
    random: bool | None = None
    start: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Balancing(Section):
    """Load balancing: how the packets of a flow are spread over equal paths.

    Attributes:
        acknowledgements: Path of the acknowledgements of flows that are spread. (the public UEC
            simulator). Default: balanced.
        freeze: With ``"reps"``: how long a sender keeps to the entropies that it has stored after a
            timeout; by default it does not.
        interval: With ``"adaptive"``: shortest time between two looks of a switch at the queue of a
            port. (the public UEC simulator). Default: 100ns.
        paths: Number of entropies among which ``"reps"`` and ``"ops-rounds"`` choose; for rounds a
            power of two. (the public UEC simulator). Default: 64.
        policy: The policy of flows whose traffic block has none of its own. (chosen here). Default:
            ecmp.
        thresholds: With ``"adaptive"``: the three queue lengths at which a port falls into the next
            worse class; by default 5, 10 and 20 % of the limit that ``switch.buffer`` or
            ``switch.trimming`` gives each port. Default: [].
    """

    acknowledgements: Literal["balanced", "one-path"] | None = None
    freeze: str | Time | None = None
    interval: str | Time | None = None
    paths: int | None = None
    policy: Literal["ecmp", "ops", "ops-rounds", "reps", "random", "adaptive"] | None = None
    thresholds: Sequence[str | Bytes] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Change(Section):
    """Changes of links during the run.

    Attributes:
        at: Time of the change.
        between: The two ends of the link, like ``["s0", "h3"]``; one of them may be a range, like
            ``"h0-h3"``. If both are, every link between them is meant.
        delay: One-way delay, for packets whose transmission begins after the change.
        number: Number of one of several links between the same two nodes, from 0 in the order of the
            topology; by default all of them.
        probability: Each of these links changes with this probability, drawn by the scenario's seed; by
            default all do.
        rate: Rate in each direction, for packets whose transmission begins after the change.
        state: Whether the link is up.
        until: Time at which the change ends and the link is as in the topology again; by default it
            lasts until the end of the run.
    """

    at: str | Time
    between: Sequence[str]
    delay: str | Time | None = None
    number: int | None = None
    probability: float | None = None
    rate: str | Rate | None = None
    state: Literal["down", "up"] | None = None
    until: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Impairments(Section):
    """Departures from the ideal.

    Attributes:
        base_rtt_error: The base RTT that algorithms are given is longer than the true one by this
            share, or shorter. Default: 0%.
        clock_drift: The clock of each host is fast by a share from minus this to this, drawn by the
            seed. RTTs and one-way delays are measured by these clocks. Default: 0%.
        clock_offset: The clock of each host is wrong by a time from minus this to this, drawn by the
            seed. It shows in one-way delays alone. Default: 0ps.
        errors: Links that corrupt packets: each entry has a ``bit_error_rate`` or a
            ``packet_error_rate``, the ends of the links in ``between`` (by default every link) with
            ``number``, and the mean length of a ``burst``. Of several entries that name a link the last
            one holds, before what the topology says. Default: [].
        host_detection: Time until hosts notice it: for their own links, and for their choice among
            several. Default: 0ps.
        receivers: Hosts that take packets slower than their links bring them: each entry has the
            ``hosts``, the ``rate`` at which each network card hands packets on, and its ``buffer``.
            With PFC it pauses its switch before the buffer is full; without, it drops. Of several
            entries that name a host the last one holds. Default: [].
        switch_detection: Time until switches notice that a link has failed or returned. Until then they
            send into a dead link, and their routes are those from before. Default: 0ps.
        timestamp_noise: Amount of the errors of time stamps: the stamp of a data packet is made this
            long before it leaves, at random, so that every RTT and one-way delay seems longer. Default:
            0ps.
        timestamp_noise_kind: Distribution of these errors. Default: exponential.
    """

    base_rtt_error: str | float | None = None
    clock_drift: str | float | None = None
    clock_offset: str | Time | None = None
    errors: Sequence[Mapping[str, object]] | None = None
    host_detection: str | Time | None = None
    receivers: Sequence[Mapping[str, object]] | None = None
    switch_detection: str | Time | None = None
    timestamp_noise: str | Time | None = None
    timestamp_noise_kind: Literal["exponential", "uniform", "normal"] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Probe(Section):
    """Records to write in addition to totals and flow completions.

    Attributes:
        captures: Ports whose packets are captured when their transmission begins; written like
            ``ports``. Default: [].
        flow_interval: Time between two samples of a flow. Default: as interval.
        flows: Flows: ``"all"``, a block's name, or ``"name.3"`` for its fourth flow to start. Default:
            [].
        from_: Time of the first sample. Default: 0ps.
        internals: Whether internal quantities of those flows' congestion control are sampled too.
            Default: False.
        interval: Time between two samples of a port. Default: 1us.
        limits: Time between two counts of the open flows of each block by what keeps their next packets
            back, for ``limit_series``; by default they are not counted.
        load_interval: Time between two rows of ``load_series``: bytes of each block with a load that
            have started, and that are acknowledged; by default there are none.
        packets: Whether these packets are rows of the table ``packets`` too, with times in picoseconds.
            Default: False.
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
    limits: str | Time | None = None
    load_interval: str | Time | None = None
    packets: bool | None = None
    pauses: bool | None = None
    ports: Sequence[str] | None = None
    until: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run(Section):
    """End of the run.

    Attributes:
        clock: The clocks of hosts and switches; by default "100ppm" where an algorithm of the group
            loss (New Reno) may lose packets to a full queue, and "exact" everywhere else.
        draws: Random draws about packets of connections: which ones are marked, and which paths they
            take. Default: per-packet.
        reuse: Parts of the run that repeat an earlier part exactly, as the passes of a training job
            may. Default: off.
        stall_after: The run is ended as stalled when no packet has arrived anywhere for this long while
            flows are unfinished, and no retransmission timer is to expire that has not been doubled as
            often as it can. Default: 1s.
        until: Simulated time at which the run ends even if flows are unfinished; by default it ends
            with the last flow.
    """

    clock: Literal["exact", "100ppm"] | None = None
    draws: Literal["per-packet", "per-pass"] | None = None
    reuse: Literal["off", "exact", "summary"] | None = None
    stall_after: str | Time | None = None
    until: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Server(Section):
    """Links inside of hosts with several GPUs.

    Attributes:
        local_rate: Rate at which each GPU, by the number of its network card, sends to others of its
            host, one message after the other.
        local_delay: Time that such a message needs after it has left its GPU. Default: 0ps.
    """

    local_rate: str | Rate
    local_delay: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bfc(Section):
    """Backpressure flow control.

    Attributes:
        entries: Entries of a port's table of flows for each queue. Flows with the same entry have the
            same queue. (the authors' simulator; OSCAR's: 100). Default: 200.
        factor: A queue is paused when it holds more than this times 2 × delay of the link by which the
            packet came × rate of the port, divided by the number of queues with data that are not
            paused. (the authors' simulator; OSCAR's: 1). Default: 1.5.
        interval: With signal = "map": time between two maps; by default the delay of the link.
        queues: Queues for data at each port of a switch; control packets have another one, which is
            served first. (OSCAR's paper, BFC-32; the authors' simulator has 31). Default: 32.
        resume: Time at which a packet that found more in its queue ceases to have the queue paused from
            which it came. (chosen here; last-packet: the simulators of BFC's and of OSCAR's authors).
            Default: threshold.
        signal: Way to tell the far end of a link. (the authors' simulator; OSCAR's: at-once). Default:
            map.
        single_packet: Whether a packet causes no pause if its flow has no other in the port. (the
            authors' simulator; OSCAR's: false). Default: True.
        sticky: A flow without packets in the port keeps its queue for this times 2 × delay of the link
            by which its next packet comes. (the authors' simulator; OSCAR's: 2). Default: 3.
    """

    entries: int | None = None
    factor: float | None = None
    interval: str | Time | None = None
    queues: int | None = None
    resume: Literal["last-packet", "threshold"] | None = None
    signal: Literal["map", "at-once"] | None = None
    single_packet: bool | None = None
    sticky: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ecn(Section):
    """ECN marking.

    Attributes:
        kmax: All packets are marked above this length.
        kmin: No marks up to this length.
        pmax: Probability of a mark just below ``kmax``.
        at: Moment of the decision whether to mark a packet. (HPCC's public artifact). Default: dequeue.
        reference: The port rate to which ``kmin`` and ``kmax`` apply; they scale with a port's rate. By
            default they are the same at every rate.
    """

    kmax: str | Bytes
    kmin: str | Bytes
    pmax: float
    at: Literal["dequeue", "enqueue"] | None = None
    reference: str | Rate | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Watchdog(Section):
    """Watchdog, which ends pauses that last too long.

    Attributes:
        action: The fate of packets of the queue in between. (SONiC). Default: drop.
        detect: A storm begins when a queue has been paused for so long, and has held a packet all that
            time. (SONiC's ``pfcwd start_default``). Default: 200ms.
        restore: It ends when the far end has not paused the queue for so long; by default twice
            ``detect``. (SONiC's ``pfcwd start``).
    """

    action: Literal["drop", "forward"] | None = None
    detect: str | Time | None = None
    restore: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pfc(Section):
    """Priority flow control; if it is absent, the fabric drops packets.

    Attributes:
        headroom: Buffer for packets that arrive after a pause was triggered, for each lossless (ingress
            port, priority); ``"auto"``: computed from the link's rate and delay and the largest packet.
            Default: auto.
        headroom_factor: Automatic headroom is this multiple of the link's rate times delay instead.
        queues: The lossless queues, ``[3, 4]``; by default all. Packets of other queues pause nobody
            and are dropped where there is no room.
        watchdog: Watchdog, which ends pauses that last too long.
        xoff: Amount at which to pause; ``"auto"``: the dynamic threshold of the shared buffer. Default:
            auto.
        xon_offset: Resume this far below the threshold. (public artifacts of HPCC and OSCAR: 3 KiB).
            Default: 3KiB.
    """

    headroom: str | Bytes | Literal["auto"] | None = None
    headroom_factor: int | None = None
    queues: Sequence[int] | None = None
    watchdog: Watchdog | bool | Mapping[str, object] | None = None
    xoff: str | Bytes | Literal["auto"] | None = None
    xon_offset: str | Bytes | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trimming(Section):
    """Packet trimming: a full port removes the payload of packets and sends their headers first.

    Attributes:
        data: Limit of the data queue of each port. (NDP: 8 packets of 9,000 B). Default: 72KB.
        headers: Limit of its queue of headers and control packets; by default the same as of its data
            queue.
        ratio: Largest number of headers after each data packet while both queues hold packets. (NDP;
            its authors' simulator). Default: 10.
        return_to_sender: Whether a header for which there is no room is returned to its sender, once,
            or dropped. (NDP; on in its authors' runs). Default: True.
        size: Size of a header without its payload. (public simulators of NDP). Default: 64B.
    """

    data: str | Bytes | None = None
    headers: str | Bytes | None = None
    ratio: int | None = None
    return_to_sender: bool | None = None
    size: str | Bytes | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Switch(Section):
    """Behaviour of every switch.

    Attributes:
        bfc: Backpressure flow control.
        buffer: The packet buffer: an amount shared by all ports with dynamic thresholds,
            ``"unlimited"``, or ``{ per_port = "800KB" }`` for a drop-tail limit for each port. (OSCAR's
            public artifact: 32 MiB). Default: 32MB.
        buffers: Different buffers for some switches; of two entries for the same switch the later one
            applies. Default: [].
        ecn: ECN marking.
        egress_alpha: Without PFC on it, an (egress port, queue) may occupy at most this times the free
            part of a shared buffer. (the case worked out by Choudhury and Hahne, 1998). Default: 1.0.
        egress_limit: With PFC too, drop a packet if its egress queue would exceed ``egress_alpha``
            times the free part of the whole buffer. Default: False.
        ingress_alpha: With PFC, a lossless (ingress port, priority) may occupy at most this times the
            free part of a shared buffer. (OSCAR's public artifact). Default: 0.25.
        ingress_alpha_rate: The port rate to which ``ingress_alpha`` applies: for a faster port it is
            doubled, up to 1, for each halving of the port's rate that is needed to bring it down to
            this rate. By default it is the same at every rate.
        next_hops: The order in which equal-cost ports are numbered. Default: ascending.
        packed_telemetry: Telemetry records are rounded as in HPCC's packed format: queue lengths down
            to units of 80 B times this, transmitted bytes to 128 B times this, times to nanoseconds.
            When absent they are exact.
        path: Hash by which a switch chooses among equal-cost ports. Default: ecmp.
        pfc: Priority flow control; if it is absent, the fabric drops packets.
        quanta: Quantum of each queue under ``"drr"``, from queue 0 on; 1518 B for queues not listed.
            Default: [].
        queues: Number of queues (priorities) of each port; queue 0 is served first under strict
            priority. Default: 1.
        reserve: Bytes guaranteed to every lossless (ingress port, priority) of a shared buffer with
            PFC. (public artifacts of HPCC and OSCAR). Default: 4KiB.
        scheduler: The order in which queues are served; with ``[switch.bfc]`` the default is ``"round-
            robin"``. Default: strict-priority.
        strict: Number of queues, from queue 0 on, that are served by strict priority before the
            scheduler serves the others. Default: 0.
        trimming: Packet trimming: a full port removes the payload of packets and sends their headers
            first.
        weights: Packets that each queue sends in its turn under ``"wrr"``, from queue 0 on; 1 for
            queues not listed. Default: [].
    """

    bfc: Bfc | bool | Mapping[str, object] | None = None
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
    scheduler: Literal["strict-priority", "round-robin", "drr", "wrr"] | None = None
    strict: int | None = None
    trimming: Trimming | bool | Mapping[str, object] | None = None
    weights: Sequence[int] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Homa(Section):
    """Settings of kind = "homa".

    Attributes:
        cap: No grants while more than this is granted or unscheduled and has not arrived, over all
            messages to a host; by default there is no such limit.
        cutoffs: Largest size of the messages of each unscheduled level but the last; by default so that
            each level carries about the same number of unscheduled bytes of the scenario's flows.
            Default: [].
        last_rtt_bytes: The level of those packets of a message's last RTTbytes that need a grant.
            (unscheduled: an option of the simulator of Homa's authors). Default: scheduled.
        levels: Number of priority levels; by default one for each queue.
        oldest_share: The part of what a receiver grants that goes to the oldest message, whatever is
            missing of it. (none: the Homa paper; the kernel module of Homa's authors has 0.05).
            Default: 0.0.
        oldest_step: Amount that the oldest message is granted at a time. (the kernel module of Homa's
            authors). Default: 50KB.
        overcommitment: Number of messages that a receiver grants at the same time; by default the
            number of levels for scheduled packets.
        resend_timeout: A receiver that has received nothing new of a message for this long, although
            more of it may be sent, requests what is missing; a sender that has heard nothing for twice
            this long sends the first packet again. (chosen here). Default: 1ms.
        resend_tries: Largest number of such requests, or of such retransmissions, in a row. (the kernel
            module of Homa's authors). Default: 5.
        rtt_bytes: Bytes of a message that are sent without a grant, and how far grants exceed what has
            arrived. (network: PowerTCP, section 4.1). Default: network.
        scheduled: Choice of the scheduled levels while fewer messages are granted than there are
            levels. (the Homa paper; the highest: a public ns-3 port). Default: lowest.
        unscheduled: Number of levels for unscheduled packets, the highest ones. (a public ns-3 port of
            Homa). Default: 2.
    """

    cap: str | Bytes | None = None
    cutoffs: Sequence[str | Bytes] | None = None
    last_rtt_bytes: Literal["scheduled", "unscheduled"] | None = None
    levels: int | None = None
    oldest_share: float | None = None
    oldest_step: str | Bytes | None = None
    overcommitment: int | None = None
    resend_timeout: str | Time | None = None
    resend_tries: int | None = None
    rtt_bytes: Literal["network", "pair"] | str | Bytes | None = None
    scheduled: Literal["lowest", "highest"] | None = None
    unscheduled: int | Literal["rule"] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ndp(Section):
    """Settings of kind = "ndp".

    Attributes:
        first_window: Packets that a flow sends without being pulled. (chosen here; the authors' runs
            have 23, their code 15). Default: bdp.
        pull_rate: Rate of a receiver's pulls in full packets: this part of the rate of its first link.
            (the authors' simulator). Default: 1.0.
        rto: A packet that was not answered for this long is sent again; doubles with each consecutive
            expiry, up to 64 times this. (the authors' runs of short flows). Default: 1ms.
    """

    first_window: int | Literal["bdp"] | None = None
    pull_rate: float | None = None
    rto: str | Time | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Transport(Section):
    """Behaviour of every host.

    Attributes:
        ack_delay: Longest time for which an acknowledgement is held; by default an eighth of the base
            RTT of the flow's path, and "50us" with such a preset.
        ack_every: Number of data packets per acknowledgement, or the payload that one covers; under
            selective repeat with an algorithm's preset for Ultra Ethernet, "16384B". (public artifacts
            of HPCC and OSCAR). Default: 1.
        ack_extra: Additional bytes of an acknowledgement. (OSCAR's public artifact). Default: 4B.
        ack_on_mark: Whether a marked packet is acknowledged at once, with what is held; under selective
            repeat with such a preset, true. Default: False.
        ack_queue: Queue of acknowledgements; by default their flow's queue.
        ack_size: Size of an acknowledgement before what the algorithm adds; by default header and
            ack_extra.
        base_rtt: The base RTT that algorithms are given: each flow's own, the network's largest, or a
            value. (chosen here; HPCC and PowerTCP are evaluated with the network's). Default: path.
        cnp_interval: Shortest time between two congestion notifications of one flow. (DCQCN, section
            3.1). Default: 50us.
        cnp_queue: Queue of congestion notification packets. Default: 0.
        counting: Bytes of a packet that count against a window. (OSCAR's public artifact; HPCC's counts
            payload). Default: wire.
        header: Header of every packet before what the algorithm adds: Ethernet 14, IPv4 20, UDP 8, BTH
            12. (OSCAR's public artifact). Default: 54B.
        homa: Settings of kind = "homa".
        idle: The congestion state of a connection (traffic.connections) that has nothing to send and
            nothing in flight. (chosen here: network cards keep it with the queue pair; restart: RFC
            5681, section 4.1). Default: keep.
        idle_after: With idle = "restart": a message that starts longer than this after the connection's
            last packet finds the state of a new flow; by default rto. (RFC 5681, section 4.1: the
            retransmission timeout).
        kind: The transport protocol. Default: window.
        nack_interval: Shortest time between two NACKs for the same missing packet. (HPCC's public
            artifact). Default: 500us.
        ndp: Settings of kind = "ndp".
        pacing: The time from which the next packet of a flow with a rate is due. (public artifacts of
            HPCC, PowerTCP and OSCAR). Default: restart.
        payload: Payload of a full data packet. (public artifacts of HPCC and OSCAR). Default: 1KB.
        recovery: The loss recovery; where packets are spread over paths and it is not written, it is
            "selective". Default: go-back-n.
        repair: Under selective repeat: when a packet is lost before the retransmission timer expires;
            "lazy" where packets are spread over paths and neither this nor recovery is written. (chosen
            here; the usual rule of TCP (RFC 6675)). Default: threshold.
        repair_delay: With repair = "lazy": a packet is lost when one that was sent this much later has
            arrived; by default the base RTT of the flow's path.
        repair_threshold: Number of packets with higher numbers that must have arrived, with repair =
            "threshold". (RFC 6675, DupThresh). Default: 3.
        rto: Retransmission timeout, from the last advance of the cumulative acknowledgement; doubles
            with each consecutive expiry, up to 64 times this. (OSCAR's public artifact). Default: 10ms.
        sample: The packet whose send time, and other values on record at the sender, an acknowledgement
            is a sample of. (chosen here, as OSCAR's header has it; its public artifact takes the
            cumulative number's). Default: packet.
        smallest: Smallest packet on the wire. (Ethernet). Default: 64B.
    """

    ack_delay: str | Time | None = None
    ack_every: int | str | Bytes | None = None
    ack_extra: str | Bytes | None = None
    ack_on_mark: bool | None = None
    ack_queue: int | None = None
    ack_size: str | Bytes | None = None
    base_rtt: Literal["path", "network"] | str | Time | None = None
    cnp_interval: str | Time | None = None
    cnp_queue: int | None = None
    counting: Literal["wire", "payload"] | None = None
    header: str | Bytes | None = None
    homa: Homa | bool | Mapping[str, object] | None = None
    idle: Literal["keep", "restart"] | None = None
    idle_after: str | Time | None = None
    kind: Literal["window", "ndp", "homa"] | None = None
    nack_interval: str | Time | None = None
    ndp: Ndp | bool | Mapping[str, object] | None = None
    pacing: Literal["restart", "keep"] | None = None
    payload: str | Bytes | None = None
    recovery: Literal["go-back-n", "selective"] | None = None
    repair: Literal["threshold", "lazy", "never"] | None = None
    repair_delay: str | Time | None = None
    repair_threshold: int | None = None
    rto: str | Time | None = None
    sample: Literal["packet", "cumulative"] | None = None
    smallest: str | Bytes | None = None


__all__ = [
    "AllToAll",
    "Balancing",
    "Bfc",
    "Bfc128",
    "Cc",
    "CccLeafSpine",
    "CccStar",
    "ChakraTrace",
    "Change",
    "ClosedLoop",
    "Collective",
    "Dumbbell",
    "Ecn",
    "FatTree",
    "FatTree128",
    "FatTree250",
    "FatTree256",
    "FatTree320",
    "FileRequests",
    "FlowTable",
    "Flows",
    "GoalFile",
    "Graph",
    "Homa",
    "HpccFileTopology",
    "HpccFileTraffic",
    "Hsdp",
    "HtsimConnections",
    "HtsimFile",
    "Impairments",
    "Incast",
    "LeafSpine",
    "Ndp",
    "OnOff",
    "OscarFig14",
    "OscarStar",
    "OscarTestbed",
    "OscarTraining",
    "ParameterServer",
    "ParkingLot",
    "Permutation",
    "Pfc",
    "Poisson",
    "Probe",
    "RailOptimized",
    "RingAllreduce",
    "Rotor",
    "Run",
    "Section",
    "Server",
    "SimaiFile",
    "SqccDumbbell",
    "SqccStar",
    "Staggered",
    "Star",
    "Switch",
    "Transport",
    "Trimming",
    "Watchdog",
]
