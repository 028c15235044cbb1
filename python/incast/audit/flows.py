"""Checks flows: what was sent, delivered and acknowledged, when, and the ideal times."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from incast.audit.evidence import Evidence, Packet, Port, Row, duration
from incast.audit.report import Report


@dataclass
class Seen:
    """The packets of a flow, as captures show them.

    Attributes:
        row: The row of the flow.
        sent: Data packets that left its sender.
        positions: Their positions. A packet whose position had left before was resent.
        first: When the first of them left.
        ways: The ports, by node and direction, that its packets took.
        acks: How many acknowledgements left its receiver, by size.
        expected: The first position that its receiver lacks.
        arrived: The payloads that came to its receiver before that, by position.
        delivered: When the last byte came to its receiver.
        acked: The highest position that an acknowledgement brought to its sender.
        finish: When that was the last one.
    """

    row: Row
    sent: int = 0
    positions: set[int] = field(default_factory=set)
    first: int | None = None
    ways: dict[tuple[int, bool], set[int]] = field(default_factory=dict)
    acks: Counter[int] = field(default_factory=Counter)
    expected: int = 0
    arrived: dict[int, int] = field(default_factory=dict)
    delivered: int | None = None
    acked: int = 0
    finish: int | None = None

    def left(self, packet: Packet) -> None:
        """Adds a packet that a port sent."""
        forward = packet.destination == self.row["destination_id"]
        self.ways.setdefault((packet.node, forward), set()).add(packet.port)
        if packet.node != packet.source:
            return
        if packet.kind == "data":
            self.sent += 1
            self.positions.add(packet.position)
            if self.first is None:
                self.first = packet.time
        elif packet.kind == "ack":
            self.acks[packet.size] += 1

    def came(self, time: int, packet: Packet, in_order: bool) -> None:
        """Adds a packet that came to a host. A receiver that wants data in order discards other data."""
        size = self.row["size_bytes"]
        if packet.kind == "data" and (packet.position == self.expected or not in_order):
            self.arrived[packet.position] = packet.payload
            while self.expected in self.arrived:
                self.expected += self.arrived.pop(self.expected)
            if self.delivered is None and self.expected == size:
                self.delivered = time
        elif packet.kind in ("ack", "nack"):
            self.acked = max(self.acked, packet.position)
            if self.finish is None and size is not None and packet.position >= size:
                self.finish = time


def observe(evidence: Evidence) -> dict[int, Seen]:
    """Collects what captures show of each flow."""
    seen = {flow: Seen(row) for flow, row in evidence.flows.items()}
    for packet in evidence.packets:
        if packet.flow is not None and packet.flow in seen:
            seen[packet.flow].left(packet)
    in_order = evidence.settings["transport"].get("recovery") == "go-back-n"
    for node in evidence.hosts:
        for time, _, packet in evidence.arrivals(node):
            if packet.flow is not None and packet.flow in seen:
                seen[packet.flow].came(time, packet, in_order)
    return seen


def check_flows(evidence: Evidence, report: Report) -> None:
    """Checks every flow against the packets that were captured."""
    transport = evidence.settings["transport"]
    # With `idle`, flows are messages of connections (docs/network/connections.md).
    windows, alone = transport["kind"] == "window", "idle" not in transport
    if not windows:
        report.skip(f"acknowledgements and resent packets of flows: transport.kind is {transport['kind']}")
    if not alone:
        report.skip("delivery and acknowledgements of flows: those of a connection share them")
    for flow, seen in observe(evidence).items():
        row, place = seen.row, f"flow {flow}"
        if not row["started"]:
            continue
        expected: dict[str, int | None] = {"packets": seen.sent}
        if row["finish_ps"] is not None:
            expected["fct_ps"] = row["finish_ps"] - row["start_ps"]
            if alone:
                expected["delivered_ps"] = seen.delivered
        if windows:
            expected["resent_packets"] = seen.sent - len(seen.positions)
            if alone:
                expected |= {"acked_bytes": seen.acked, "finish_ps": seen.finish}
        report.same("flow times and totals", place, expected, row)
        if seen.first is not None:
            report.checked["starts of flows"] += 1
            if seen.first < row["start_ps"]:
                earliest = f"no earlier than {row['start_ps']} ps"
                report.find("start", place, seen.first, "first packet", earliest, "sent")
        if windows:
            _check_ideal(evidence, report, seen)


def check_slowdowns(evidence: Evidence, report: Report) -> None:
    """Checks that slowdowns are completion times divided by ideal ones, and none is below 1."""
    varies = evidence.settings.get("change") or evidence.settings["topology"]["kind"] == "rotor"
    for flow, row in evidence.flows.items():
        for slowdown, ideal in (("slowdown", "ideal_fct_ps"), ("own_slowdown", "own_ideal_fct_ps")):
            best, time = row[ideal], row["fct_ps"]
            if row[slowdown] is None or best is None or time is None:
                continue
            report.checked["slowdowns"] += 1
            if row[slowdown] != time / best:
                report.find("slowdown", f"flow {flow}", None, slowdown, time / best, row[slowdown])
            if time < best and not varies and slowdown == "own_slowdown":
                report.find("ideal", f"flow {flow}", None, "fct_ps", f"at least {ideal} of {best}", time)


def _check_ideal(evidence: Evidence, report: Report, seen: Seen) -> None:
    """Checks the ideal times of a flow whose data and acknowledgements each took one path."""
    row, size = seen.row, seen.row["size_bytes"]
    if size is None or row["finish_ps"] is None or not seen.acks:
        return
    there, back = (_path(evidence, seen, forward) for forward in (True, False))
    spread = evidence.settings.get("balancing", {}).get("policy", "ecmp") != "ecmp"
    blocks = {block["name"]: block for block in evidence.settings["traffic"]}
    spread |= blocks.get(row["group"], {}).get("balancing", "ecmp") != "ecmp"
    if there is None or back is None or spread:
        report.skip("ideal times of flows that took more than one path")
        return
    payload, header, ack_extra, least = evidence.sizes("payload", "header", "ack_extra", "smallest")
    count, tail, extra = -(-size // payload), (size - 1) % payload + 1, evidence.extra.get(row["flow"], 0)
    expected = {}
    for name, of_data, of_ack in (
        ("ideal_fct_ps", 0, max(header + ack_extra, least)),
        ("own_ideal_fct_ps", extra, seen.acks.most_common(1)[0][0]),
    ):
        full, last = payload + header + of_data, tail + header + of_data
        if name == "own_ideal_fct_ps" and count == 1 and last <= least < full:
            continue  # The packet is padded: what the algorithm adds cannot be seen.
        expected[name] = ideal_time(there, back, count, max(full, least), max(last, least), of_ack)
    report.same("ideal times", f"flow {row['flow']}", expected, row)


def ideal_time(there: list[Port], back: list[Port], count: int, full: int, last: int, ack: int) -> int:
    """Returns the time of a flow alone on its path (docs/network/routing.md, *Ideal completion time*).

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


def _path(evidence: Evidence, seen: Seen, forward: bool) -> list[Port] | None:
    """Returns the ports that all packets of a flow took in one direction; None if there were several ways."""
    node, end = seen.row["source_id"], seen.row["destination_id"]
    if not forward:
        node, end = end, node
    path: list[Port] = []
    while node != end:
        ways = seen.ways.get((node, forward), set())
        if len(ways) != 1 or len(path) > len(evidence.nodes):
            return None
        path.append(evidence.ports[node, next(iter(ways))])
        node = path[-1].peer
    return path
