"""A scenario's requests to a testbed, and those that a testbed cannot meet."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from incast import _core
from incast.real import kernel
from incast.real.kernel import KernelError
from incast.real.kernel import Link as Told
from incast.real.testbed.controls import Wanted
from incast.scenario import Scenario

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Control", "Flow", "Link", "Plan", "read"]

FASTEST_BPS = 200_000_000
"""Links that one machine carries beside everything else."""

SLOWEST_BPS = 1_000_000
"""Slower links make packets of many milliseconds, which say nothing about congestion control."""

MOST_HOSTS = 64
"""Each is a network namespace."""

MOST_SWITCHES = 2
"""Every further hop shares the same processors."""

LONGEST_NAME = 12
"""Letters in the name of a node: a device is called ``to-NAME``, and has at most 15."""

MOST_FLOWS = 1000
"""Each is two sockets, open from the beginning."""

LONGEST_PS = 600 * 10**12
"""Ten minutes: a testbed runs in real time."""

SHORTEST_SAMPLE_PS = 10**9
"""A millisecond: a sample of the kernel's queue or of a connection takes up to 65 us."""

DIRECT_PS = 10 * 10**6
"""Delay of a link up to which the kernel forwards by itself, because that takes about as long."""

HEADER = 54
"""Ethernet, IPv4 and TCP without options."""

LARGEST_PAYLOAD = 8946
"""A packet of 9000 bytes, which a bucket of 20 KB lets pass."""

BUCKET = 20_000
"""Bytes that the kernel's tbf lets pass at once: its clock is as late as other work keeps it."""

OFFERED = {"newreno": "reno"}
"""Algorithms that Linux has itself, under another name."""


@dataclass(frozen=True)
class Link:
    """One direction of a link.

    Attributes:
        node: The node that sends on it.
        port: Its port there.
        peer: The node at its end.
        rate_bps: Its rate.
        delay_ps: Its delay.
    """

    node: int
    port: int
    peer: int
    rate_bps: int
    delay_ps: int


@dataclass(frozen=True)
class Flow:
    """A flow.

    Attributes:
        number: Its number.
        source: The host that sends.
        destination: The host that receives.
        size: Bytes; none without a size.
        start_ps: When it starts; when it may start, if an operation sends it.
        stop_ps: When it stops sending; none if it does not.
        control: The kernel's congestion control for it.
    """

    number: int
    source: int
    destination: int
    size: int | None
    start_ps: int
    stop_ps: int | None
    control: Control


@dataclass(frozen=True)
class Control:
    """A congestion control of the kernel.

    Attributes:
        name: Its name there.
        label: The algorithm that it is, with its preset.
        wanted: How to load it; none for one that Linux has itself.
        ecn: Whether it needs ECN at both ends.
        telemetry: Whether ports of switches must write telemetry into its packets.
    """

    name: str
    label: str
    wanted: Wanted | None
    ecn: bool
    telemetry: bool = False


@dataclass(frozen=True)
class Plan:
    """Plan of a run on a testbed.

    Attributes:
        core: The scenario in numbers.
        links: Both directions of every link, by node and port.
        flows: The flows, by number.
        payload: Payload of a full packet.
        rto_ps: The shortest retransmission timeout.
        user: Whether a switch in user space forwards, and not the kernel.
        notes: Deviations from the scenario, in sentences.
    """

    core: _core.Plan
    links: tuple[Link, ...]
    flows: tuple[Flow, ...]
    payload: int
    rto_ps: int
    user: bool
    notes: tuple[str, ...]

    @property
    def name(self) -> Callable[[int], str]:
        """The name of a node."""
        return self.core.nodes.__getitem__

    @property
    def controls(self) -> dict[str, Control]:
        """The congestion controls of all flows, by name."""
        return {flow.control.name: flow.control for flow in self.flows}

    @property
    def port_interval_ps(self) -> int:
        """Time between two samples of a port."""
        return max(self.core.port_interval_ps, SHORTEST_SAMPLE_PS // (10 if self.user else 1))

    @property
    def flow_interval_ps(self) -> int:
        """Time between two samples of a flow."""
        return max(self.core.flow_interval_ps, SHORTEST_SAMPLE_PS)

    def limit(self) -> int | None:
        """The longest queue of a port by its buffer, in bytes; none without a limit."""
        buffer, alpha = self.core.buffer_bytes, self.core.buffer_alpha
        if buffer is None or alpha is None:
            return buffer
        # One queue alone grows to where it is alpha times what is free: Choudhury and Hahne (1998).
        return int(buffer * alpha / (1 + alpha))

    def marks(self, rate_bps: int) -> tuple[int, int, float] | None:
        """Returns the lengths at which marks begin and are certain, in bytes, and the probability just below.

        Args:
            rate_bps: The rate of the port.
        """
        if self.core.ecn is None:
            return None
        low, high, probability, reference, _ = self.core.ecn
        if reference is not None:
            low, high = low * rate_bps // reference, high * rate_bps // reference
        return low, high, probability


def read(scenario: Scenario, switch: str = "auto") -> Plan:
    """Reads a scenario's requests to a testbed.

    Args:
        scenario: The scenario.
        switch: What forwards packets: ``kernel``, ``user``, or ``auto`` to choose by the links' delays.

    Raises:
        ScenarioError: With everything that a testbed cannot do, by file and key.
    """
    text = tomllib.loads(scenario.to_toml())
    problems = [scenario._core.problem(key, why) for key, why in _refused(text)]
    if problems:
        raise _core.scenario_error(problems)
    core = _core.plan(scenario._core)
    far = max(delay for *_, delay in core.links)
    user = switch == "user" or (switch == "auto" and (far > DIRECT_PS or bool(core.pausing)))
    chosen, wrong = _controls(text, core)
    problems += [scenario._core.problem(key, why) for key, why in [*wrong, *_impossible(core, text, user)]]
    if problems:
        raise _core.scenario_error(problems)
    links = [
        link
        for a, a_port, b, b_port, rate, delay in core.links
        for link in (Link(a, a_port, b, rate, delay), Link(b, b_port, a, rate, delay))
    ]
    flows = tuple(
        Flow(number, source, destination, size, start, stop, control)
        for number, ((source, destination, size, start, stop, _, _), control) in enumerate(
            zip(core.flows, chosen, strict=True)
        )
    )
    transport = text["transport"]
    rto = _core.read_quantity("time", transport["rto"])
    telemetry = any(control.telemetry for control in chosen)
    notes = tuple(_notes(core, text, user, telemetry))
    return Plan(core, tuple(links), flows, scenario.payload_bytes, rto, user, notes)


_Found = Iterator[tuple[str, str]]
"""Keys with what is wrong there."""


def _refused(text: Mapping[str, Any]) -> _Found:
    """Returns the problems that the keys alone show."""
    topology, switch, transport = text["topology"], text["switch"], text["transport"]
    if topology["kind"] not in ("star", "dumbbell", "graph"):
        yield (
            "topology.kind",
            "a testbed is a star, a dumbbell or a graph: all hops share the processors of one machine",
        )
        return
    if transport["kind"] != "window":
        yield "transport.kind", f"flows of a testbed are TCP connections; there is no {transport['kind']}"
        return
    rates = [(f"topology.{key}", topology.get(key)) for key in ("rate", "bottleneck_rate")]
    links = enumerate(topology.get("links", ()))
    rates += [(f"topology.links.{number}.rate", link.get("rate")) for number, link in links]
    for key, written in rates:
        if written is not None and not SLOWEST_BPS <= _core.read_quantity("rate", written) <= FASTEST_BPS:
            why = "a testbed has links of 1Mbps to 200Mbps; one machine forwards no faster without gaps"
            yield key, f"{written}: {why}"
    for key in ("hosts", "left", "right"):
        # Those of a graph are names, and ranges of names, which are counted when they are expanded.
        number = topology.get(key, 0)
        if isinstance(number, int) and number > MOST_HOSTS:
            yield f"topology.{key}", f"{number}: a testbed has at most {MOST_HOSTS} hosts"
    if text.get("change"):
        yield "change", "links of a testbed do not change"
    for key, why in _SWITCH.items():
        if switch.get(key):
            yield f"switch.{key}", why
    if switch.get("queues", 1) != 1:
        yield "switch.queues", f"{switch['queues']}: a port of a testbed has one queue"
    header = _core.read_quantity("bytes", transport["header"])
    if header != HEADER:
        yield (
            "transport.header",
            f"{transport['header']}: TCP over IPv4 on Ethernet has {HEADER}B without options",
        )
    payload = _core.read_quantity("bytes", transport["payload"])
    if not 500 <= payload <= LARGEST_PAYLOAD:
        yield (
            "transport.payload",
            f"{transport['payload']}: a testbed has packets with 500B to {LARGEST_PAYLOAD}B",
        )
    if transport["ack_every"] != 1:
        yield (
            "transport.ack_every",
            f"{transport['ack_every']}: receivers of a testbed acknowledge each packet",
        )
    if transport["counting"] != "wire":
        yield "transport.counting", "the kernel's algorithms count packets with their headers"
    if transport["sample"] != "packet":
        yield "transport.sample", "TCP takes its samples from the packet that was acknowledged"
    policies = [("balancing.policy", text["balancing"]["policy"])]
    policies += [
        (f"traffic.{b['name']}.balancing", b["balancing"]) for b in text["traffic"] if "balancing" in b
    ]
    for key, policy in policies:
        if policy != "ecmp":
            yield key, f"{policy}: there is one path in a testbed, over which nothing can be spread"


_SWITCH = {
    "bfc": "the switch of a testbed has one queue for each port, and pauses links, not flows",
    "trimming": "TCP does not understand packets without their payload",
    "buffers": "every switch of a testbed has the same buffer",
    "packed_telemetry": "the record that TCP carries on a testbed is not packed",
    "egress_limit": "with PFC ports of a testbed drop nothing, and without PFC they share the buffer",
}
"""Keys of switches that must be absent, and why."""


def _impossible(core: _core.Plan, text: Mapping[str, Any], user: bool) -> _Found:
    """Returns the problems that flows and numbers show."""
    yield from _graph(core)
    if len(core.flows) > MOST_FLOWS:
        yield "traffic", f"makes {len(core.flows):,} flows; a testbed has at most {MOST_FLOWS:,}"
    end = max([core.until_ps or 0, *(flow[3] for flow in core.flows)])
    if end > LONGEST_PS:
        yield "run.until", "a testbed runs in real time, and at most for ten minutes"
    elif core.until_ps is None and core.longest_job_ps > LONGEST_PS:
        takes = core.longest_job_ps // 10**12
        yield "traffic", f"takes {takes:,} s at least; a testbed runs for ten minutes at most"
    if core.internals:
        algorithms = {core.algorithms[core.flows[number][6]] for number in core.probed_flows}
        for label in sorted(algorithms):
            if (offered := OFFERED.get(label.partition(":")[0])) is not None:
                why = "which has none of Incast's internal quantities"
                yield "probe.internals", f"{label} is the {offered} of Linux, {why}"
    ecn = core.ecn
    if ecn is not None and ecn[0] != ecn[1] and not user:
        yield (
            "switch.ecn.kmax",
            "the kernel marks at one threshold: give kmin and kmax the same value, or --switch user",
        )
    if not user and any(delay > DIRECT_PS for *_, delay in core.links):
        key = "topology.delay" if "delay" in text["topology"] else "topology.links"
        yield key, "the kernel cannot delay packets here (no netem): --switch user can"
    if core.pausing and not user:
        yield "switch.pfc", "the kernel switch does not support PFC: --switch user does"
    for node, port in core.captured_ports:
        peer = _peer(core, (node, port))
        if min(node, peer) >= core.hosts:
            why = "packets of a testbed are captured by hosts, and there is none at either end of"
            yield "probe.captures", f"{why} {core.nodes[node]}:{port}->{core.nodes[peer]}"
    if core.pausing and text["probe"].get("pauses"):
        yield "probe.pauses", "pauses are counted for each port on a testbed, but not recorded one by one"


def _peer(core: _core.Plan, of: tuple[int, int]) -> int:
    """The node at the end of a port's link."""
    ends = [((a, a_port), (b, b_port)) for a, a_port, b, b_port, *_ in core.links]
    return next(far[0] for near, far in (*ends, *((b, a) for a, b in ends)) if near == of)


def _graph(core: _core.Plan) -> _Found:
    """Returns the properties of a network of any form that a testbed cannot have."""
    if core.hosts > MOST_HOSTS:
        yield "topology.hosts", f"makes {core.hosts}: a testbed has at most {MOST_HOSTS} hosts"
    switches = len(core.nodes) - core.hosts
    if switches > MOST_SWITCHES:
        why = "all hops share the processors of one machine"
        yield "topology.switches", f"makes {switches}: a testbed has at most {MOST_SWITCHES}; {why}"
    for key, names in (("hosts", core.nodes[: core.hosts]), ("switches", core.nodes[core.hosts :])):
        for name in names:
            if len(name) > LONGEST_NAME:
                why = f"nodes of a testbed have names of at most {LONGEST_NAME} letters, for their devices"
                yield f"topology.{key}", f"{name}: {why}"
    pairs = [frozenset((a, b)) for a, _, b, *_ in core.links]
    for host in range(core.hosts):
        if sum(host in pair for pair in pairs) > 1:
            why = "a host of a testbed has one link, over which its connections go"
            yield "topology.links", f"{core.nodes[host]} has several: {why}"
    if switches <= MOST_SWITCHES and sum(min(pair) >= core.hosts for pair in pairs) > 1:
        yield "topology.links", "two switches of a testbed have one link, and no other path between them"


def _controls(text: Mapping[str, Any], core: _core.Plan) -> tuple[list[Control], list[tuple[str, str]]]:
    """The kernel's congestion control for each flow, and what is wrong.

    The setup of one in the kernel is constant. So for each setup one is loaded, under a name of its own.
    """
    wrong: list[tuple[str, str]] = []
    blocks = {block["name"]: block for block in text["traffic"]}
    found: dict[tuple[int, Told], Control] = {}
    setups: dict[str, list[Control]] = {}
    wishes = [
        # Telemetry is in a TCP option, which takes its room from the payload: packets do not grow by it.
        (flow[6], flow[5], Told(rtt, rate, min(packet, payload + HEADER), payload, owd, hops))
        for flow, (rtt, owd, rate, packet, payload, hops) in zip(core.flows, core.paths, strict=True)
    ]
    # The longest path first, which has the usual name, and then in the order of the file.
    order = sorted(set(wishes), key=lambda wish: (-wish[2].base_rtt_ps, wish[1], wish[0], repr(wish[2])))
    for number, group, told in order:
        block = blocks[core.groups[group]]
        key = f"traffic.{block['name']}.cc" if "cc" in block else "cc"
        if (number, told) in found:
            continue
        try:
            made = _control(block.get("cc") or text["cc"], told)
        except (KernelError, _core.ScenarioError) as error:
            if (key, str(error)) not in wrong:
                wrong.append((key, str(error)))
            continue
        same = setups.setdefault(made.name, [])
        place = next((p for p, other in enumerate(same) if other.wanted == made.wanted), len(same))
        if place == len(same):
            same.append(made)
        if made.wanted is not None:
            names = kernel.names(kernel.control(made.name))
            if place >= len(names):
                why = f"the kernel can have it {len(names)} times, one for each path and set of parameters"
                if (key, f"{made.label}: {why}") not in wrong:
                    wrong.append((key, f"{made.label}: {why}"))
                continue
            made = replace(made, name=names[place])
        found[number, told] = made
    if wrong:
        return [], wrong
    return [found[number, told] for number, _, told in wishes], []


def _control(section: Mapping[str, Any], told: Told) -> Control:
    name, preset = section["algorithm"], section.get("preset")
    label = f"{name}:{preset}" if preset else name
    if name in OFFERED:
        usual = _core.algorithm(name)
        assert usual is not None
        default = {parameter.name: parameter.value for parameter in usual.parameters}
        changed = [key for key in default if key in section and not _same(section[key], default[key])]
        if changed:
            raise KernelError(f"{changed[0]}: the {OFFERED[name]} of Linux has no such parameter")
        return Control(OFFERED[name], label, None, False)
    known = kernel.control(name)
    telemetry = "int" in known.signals
    skip = ("algorithm", "preset")
    parameters = tuple(f"{key}={_shown(value)}" for key, value in section.items() if key not in skip)
    if kernel.option(label, parameters, told) and not telemetry:
        raise KernelError(f"{label} needs one-way delays in a TCP option, which a testbed does not use")
    wanted = Wanted(label, parameters, told)
    return Control(known.name, label, wanted, "ecn" in known.signals, telemetry)


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _same(written: object, default: str) -> bool:
    try:
        return float(_shown(written)) == float(default)
    except ValueError:
        return _shown(written) == default


def _shallow(core: _core.Plan) -> str:
    """Returns the problem with telemetry where a link's bucket is much of a base RTT; empty: none."""
    rtt, rate = min((rtt, rate) for rtt, _, rate, *_ in core.paths)
    # What passes at once, over what the link sends in a base RTT.
    share = BUCKET * 8 * 10**12 / (rate * rtt)
    if share <= 1:
        return ""
    return (
        f"{BUCKET // 1000} KB that pass at once are {share:.1f} base BDP: in telemetry links send faster "
        "than their rate, and senders hold back; --switch user, or a longer transport.base_rtt"
    )


def _notes(core: _core.Plan, text: Mapping[str, Any], user: bool, telemetry: bool) -> Iterator[str]:
    """Yields the deviations from the scenario."""
    if core.ecn is not None and core.ecn[4] and not user:
        yield "packets are marked when they come to a queue, and not when they leave it"
    if core.pausing:
        yield "packets of a paused host wait in the switch, as in a network card, and TCP does not see them"
    if not user:
        yield f"links are buckets of {BUCKET // 1000} KB: a packet alone is not slowed down to the rate"
        if telemetry and (note := _shallow(core)):
            yield note
        yield "delays of links are the kernel's own, not the scenario's"
        yield "the peak of a queue is the largest of its samples"
        if core.buffer_alpha is not None:
            yield "ports do not share the buffer: each can take as much as one port alone could"
    if core.captured_ports:
        yield "packets are captured by the kernels of hosts: packets to a host are stamped on arrival"
    if core.port_interval_ps < SHORTEST_SAMPLE_PS and core.probed_ports and not user:
        yield "ports are sampled every millisecond"
    if core.flow_interval_ps < SHORTEST_SAMPLE_PS and core.probed_flows:
        yield "flows are sampled every millisecond"
    if text["transport"]["recovery"] == "go-back-n":
        yield "losses are repaired by TCP (selective acknowledgements), and not by go-back-n"
