"""Checks flows: what was sent, delivered and acknowledged, when, and the ideal times."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from incast.audit.evidence import Evidence, Packet, Port, duration
from incast.audit.report import Report


@dataclass
class Seen:
    """The packets of a flow, as captures show them.

    Attributes:
        sent: Data packets that left its sender.
        resent: Data packets whose position had left before.
        first: When the first of them left.
        ways: The ports, by node and direction, that its packets took.
        data: Sizes of its full data packets; `acks` of its acknowledgements.
    """

    sent: int = 0
    resent: int = 0
    first: int | None = None
    positions: set[int] = field(default_factory=set)
    ways: dict[tuple[int, bool], set[int]] = field(default_factory=dict)
    extra: int = 0
    acks: Counter[int] = field(default_factory=Counter)
    expected: int = 0
    arrived: dict[int, int] = field(default_factory=dict)
    delivered: int | None = None
    acked: int = 0
    finish: int | None = None
    marks: int = 0


def observe(evidence: Evidence) -> dict[int, Seen]:
    """Collects what captures show of each flow."""
    seen = {flow: Seen() for flow in evidence.flow_rows["flow"]}
    rows, at = evidence.flow_rows, evidence.positions
    header, smallest = (evidence.size("transport", key) for key in ("header", "smallest"))
    for (node, number), packets in evidence.packets.items():
        for packet in packets:
            if packet.flow is None or packet.flow not in seen:
                continue
            flow, forward = seen[packet.flow], packet.destination == rows["destination_id"][at[packet.flow]]
            flow.ways.setdefault((node, forward), set()).add(number)
            if packet.kind == "data" and node == packet.source:
                flow.sent += 1
                flow.resent += packet.position in flow.positions
                flow.positions.add(packet.position)
                flow.first = packet.time if flow.first is None else min(flow.first, packet.time)
                if packet.size > smallest:
                    flow.extra = max(flow.extra, packet.size - packet.payload - header)
            elif packet.kind == "ack" and node == packet.source:
                flow.acks[packet.size] += 1
    in_order = evidence.settings["transport"].get("recovery") == "go-back-n"
    for node in evidence.hosts:
        for time, _, packet in evidence.arrivals(node):
            if packet.flow is not None and packet.flow in seen:
                row = at[packet.flow]
                _arrived(seen[packet.flow], time, packet, rows["size_bytes"][row], in_order)
    return seen


def _arrived(flow: Seen, time: int, packet: Packet, size: int | None, in_order: bool) -> None:
    """A packet of a flow has come to a host."""
    if packet.kind == "data":
        if in_order and packet.position != flow.expected:
            return
        flow.arrived[packet.position] = packet.payload
        while flow.expected in flow.arrived:
            flow.expected += flow.arrived.pop(flow.expected)
        if flow.delivered is None and flow.expected == size:
            flow.delivered = time
    elif packet.kind in ("ack", "nack"):
        flow.acked = max(flow.acked, packet.position)
        flow.marks += packet.marked
        if flow.finish is None and size is not None and packet.position >= size:
            flow.finish = time


def check_flows(evidence: Evidence, report: Report) -> None:
    """Checks every flow against the packets that were captured."""
    kind = evidence.settings["transport"]["kind"]
    windows, alone = kind == "window", not evidence.connected
    if not windows:
        report.skip(f"acknowledgements and resent packets of flows: transport.kind is {kind}")
    if not alone:
        report.skip("delivery and acknowledgements of flows: those of a connection share them")
    seen, rows = observe(evidence), evidence.flow_rows
    for row, flow in enumerate(rows["flow"]):
        if not rows["started"][row]:
            continue
        found, place = seen[flow], f"flow {flow}"
        values: dict[str, int | None] = {"packets": found.sent}
        if rows["finish_ps"][row] is not None and alone:
            values["delivered_ps"] = found.delivered
        if windows:
            values["resent_packets"] = found.resent
        if windows and alone:
            values |= {"acked_bytes": found.acked, "finish_ps": found.finish}
        for name, value in values.items():
            report.same("flow times and totals", place, None, name, value, rows[name][row])
        if found.first is not None:
            report.checked["starts of flows"] += 1
            if found.first < rows["start_ps"][row]:
                report.find(
                    "start",
                    place,
                    found.first,
                    "first packet",
                    f"no earlier than {rows['start_ps'][row]} ps",
                    "sent",
                )
        finish = rows["finish_ps"][row]
        if finish is not None:
            report.same(
                "flow times and totals",
                place,
                None,
                "fct_ps",
                finish - rows["start_ps"][row],
                rows["fct_ps"][row],
            )
        if windows:
            _check_ideal(evidence, report, row, found)


def check_slowdowns(evidence: Evidence, report: Report) -> None:
    """Checks that slowdowns are completion times divided by ideal ones, and none is below 1."""
    rows = evidence.flow_rows
    for row, flow in enumerate(rows["flow"]):
        for slowdown, ideal in (("slowdown", "ideal_fct_ps"), ("own_slowdown", "own_ideal_fct_ps")):
            value, best, time = rows[slowdown][row], rows[ideal][row], rows["fct_ps"][row]
            if value is None or best is None or time is None:
                continue
            report.checked["slowdowns"] += 1
            if value != time / best:
                report.find("slowdown", f"flow {flow}", None, slowdown, time / best, value)
            varies = evidence.settings.get("change") or evidence.settings["topology"]["kind"] == "rotor"
            if time < best and not varies and slowdown == "own_slowdown":
                report.find("ideal", f"flow {flow}", None, "fct_ps", f"at least {ideal} of {best}", time)


def _check_ideal(evidence: Evidence, report: Report, row: int, seen: Seen) -> None:
    """Checks the ideal times of a flow whose data and acknowledgements each took one path."""
    rows = evidence.flow_rows
    size = rows["size_bytes"][row]
    if size is None or rows["finish_ps"][row] is None or not seen.acks:
        return
    there = _path(evidence, seen, rows["source_id"][row], rows["destination_id"][row], True)
    back = _path(evidence, seen, rows["destination_id"][row], rows["source_id"][row], False)
    spread = evidence.settings.get("balancing", {}).get("policy", "ecmp") != "ecmp"
    blocks = {block["name"]: block for block in evidence.settings["traffic"]}
    spread |= blocks.get(rows["group"][row], {}).get("balancing", "ecmp") != "ecmp"
    if there is None or back is None or spread:
        report.skip("ideal times of flows that took more than one path")
        return
    payload, header, extra, least = (
        evidence.size("transport", key) for key in ("payload", "header", "ack_extra", "smallest")
    )
    ack = max(header + extra, least)
    for name, of_data, of_ack in (
        ("ideal_fct_ps", 0, ack),
        ("own_ideal_fct_ps", seen.extra, seen.acks.most_common(1)[0][0]),
    ):
        full, rest = payload + header + of_data, (size - 1) % payload + 1 + header + of_data
        count = -(-size // payload)
        ideal = ideal_time(there, back, count, max(full, least), max(rest, least), of_ack)
        if name == "own_ideal_fct_ps" and max(full, rest) > least and rest <= least and count == 1:
            continue  # The packet is padded: what the algorithm adds cannot be seen.
        report.same("ideal times", f"flow {rows['flow'][row]}", None, name, ideal, rows[name][row])


def ideal_time(there: list[Port], back: list[Port], count: int, full: int, last: int, ack: int) -> int:
    """The completion time of a flow alone on its path (docs/network/routing.md, *Ideal completion time*).

    Args:
        there: The ports that its data packets take.
        back: The ports that its acknowledgements take.
        count: Number of data packets.
        full: Size of a full packet on the wire.
        last: Size of the last one.
        ack: Size of an acknowledgement.
    """
    first = slowest = arrived = 0
    for port in there:
        time = duration(full, port.rate)
        slowest = max(slowest, time)
        # When the full packet before the last one has left this link.
        before = first + (count - 2) * slowest + time if count > 1 else 0
        arrived = max(arrived, before) + duration(last, port.rate) + port.delay
        first += time + port.delay
    return arrived + sum(duration(ack, port.rate) + port.delay for port in back)


def _path(evidence: Evidence, seen: Seen, node: int, end: int, forward: bool) -> list[Port] | None:
    """The ports that all packets of a flow took in one direction; None if there were several ways."""
    path: list[Port] = []
    while node != end:
        ways = seen.ways.get((node, forward), set())
        if len(ways) != 1 or len(path) > len(evidence.nodes):
            return None
        path.append(evidence.ports[node, next(iter(ways))])
        node = path[-1].peer
    return path
