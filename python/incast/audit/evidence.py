"""The evidence of an audit: the tables and settings of a result, as plain numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

FRAMES = ("pause", "resume")
"""Kinds of frames that pause one queue (PFC)."""

SECOND = 10**12
"""A second in picoseconds."""

_UNITS = {
    **{f"{prefix}{unit}": factor * size for prefix, factor in
       (("", 1), ("K", 10**3), ("M", 10**6), ("G", 10**9), ("T", 10**12),
        ("Ki", 2**10), ("Mi", 2**20), ("Gi", 2**30), ("Ti", 2**40))
       for unit, size in (("B", 1), ("bps", 1))},
    "kB": 10**3, "kbps": 10**3,
    "ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": SECOND,
}  # fmt: skip


def quantity(text: object) -> int:
    """Reads a quantity of a scenario: bytes, bits per second or picoseconds.

    Raises:
        ValueError: When it is none.
    """
    match = re.fullmatch(r"\s*([0-9.eE+]+)\s*([A-Za-z]+)\s*", text) if isinstance(text, str) else None
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"{text!r} is no quantity, like 16MB, 100Gbps or 1us")
    return math.floor(Fraction(match[1]) * _UNITS[match[2]])


def duration(size: int, rate: int) -> int:
    """Returns the time of ``size`` bytes on a link, rounded up to a picosecond (docs/network/engine.md)."""
    return -(-size * 8 * SECOND // rate)


class Packet(NamedTuple):
    """A packet whose transmission began at a port; as the table ``packets`` has it."""

    time: int
    node: int
    port: int
    kind: str
    flow: int | None
    source: int
    destination: int
    position: int
    payload: int
    size: int
    queue: int
    marked: bool
    hash: int

    @property
    def identity(self) -> tuple[Any, ...]:
        """The fields that a packet keeps on its way. Switches mark data only."""
        return (*self[3:11], self.hash, self.kind != "data" and self.marked)

    def __str__(self) -> str:
        if self.flow is None:
            return f"{self.kind} of queue {self.queue}"
        return f"{self.kind} at {self.position} of flow {self.flow} ({self.size} B)"


Columns = Mapping[str, Sequence[Any]]
"""The columns of a table, by name. A missing value is None."""

Row = Mapping[str, Any]
"""A row of a table: its values by the names of the columns."""


def rows_of(table: Columns) -> list[Row]:
    """Returns the rows of a table."""
    return [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]


class Port(NamedTuple):
    """A port that has a link: where that leads, and what was sent.

    Attributes:
        row: The row of the port in the table ``ports``.
        sent: The packets that the port sent, by time.
    """

    name: str
    node: int
    port: int
    peer: int
    peer_port: int
    rate: int
    delay: int
    row: Row
    sent: list[Packet]

    def ends(self, packet: Packet) -> int:
        """Returns the time at which the last bit of a packet leaves this port."""
        return packet.time + duration(packet.size, self.rate)


@dataclass(frozen=True)
class Evidence:
    """The content of a result.

    Attributes:
        settings: The effective scenario: its sections, as a TOML file has them.
        outcome: The object ``outcome`` of ``result.json``.
        flow_rows: The table ``flows``.
        port_rows: The table ``ports``.
        packet_rows: The table ``packets``; None if the result has none.
    """

    settings: Mapping[str, Any]
    outcome: Mapping[str, Any]
    flow_rows: Columns
    port_rows: Columns
    packet_rows: Columns | None

    def sizes(self, *keys: str) -> list[int]:
        """Returns quantities of the section ``transport``, in bytes."""
        return [quantity(self.settings["transport"][key]) for key in keys]

    @cached_property
    def end(self) -> int:
        """The first instant, in ps, that is not part of the run (docs/network/engine.md, *Endings*)."""
        return int(self.outcome["now_ps"]) + int(self.outcome["end"] == "finished")

    @cached_property
    def nodes(self) -> dict[int, str]:
        """The names of the nodes by number."""
        return dict(zip(self.port_rows["node_id"], self.port_rows["node"], strict=True))

    @cached_property
    def hosts(self) -> set[int]:
        """The numbers of the hosts, which are numbered before switches."""
        return set(range(int(self.outcome["hosts"])))

    @cached_property
    def flows(self) -> dict[int, Row]:
        """The rows of the flows, by the numbers of the flows."""
        return {row["flow"]: row for row in rows_of(self.flow_rows)}

    @cached_property
    def packets(self) -> list[Packet]:
        """The packets that all ports sent, by time."""
        names = ["time_ps", "node_id", "port", "kind", "flow", "source_id", "destination_id"]
        names += ["position_bytes", "payload_bytes", "size_bytes", "queue", "marked", "hash"]
        columns = [self.packet_rows[name] for name in names] if self.packet_rows is not None else []
        return sorted(map(Packet._make, zip(*columns, strict=True)), key=lambda packet: packet.time)

    @cached_property
    def ports(self) -> dict[tuple[int, int], Port]:
        """The ports by the numbers of node and port, in order."""
        numbers = {name: number for number, name in self.nodes.items()}
        ports: dict[tuple[int, int], Port] = {}
        for row in rows_of(self.port_rows):
            node, port, peer, peer_port = (row[name] for name in ("node_id", "port", "peer", "peer_port"))
            if peer is not None and peer_port is not None:
                link = numbers[peer], peer_port, row["rate_bps"], row["delay_ps"]
                ports[node, port] = Port(f"{row['node']}:{port}->{peer}", node, port, *link, row, [])
        for packet in self.packets:
            ports[packet.node, packet.port].sent.append(packet)
        return dict(sorted(ports.items()))

    def ports_of(self, node: int) -> dict[int, Port]:
        """Returns the ports of a node, by number."""
        return {number: port for (at, number), port in self.ports.items() if at == node}

    def arrivals(self, node: int) -> list[tuple[int, int, Packet]]:
        """Returns the arrivals at a node during the run: time, port there, and the packet as it was sent."""
        found = [
            (time, port.peer_port, packet)
            for port in self.ports.values()
            if port.peer == node
            for packet in port.sent
            if (time := port.ends(packet) + port.delay) < self.end
        ]
        return sorted(found, key=lambda arrival: arrival[:2])

    @cached_property
    def begun(self) -> dict[tuple[int | None, int, int], list[int]]:
        """The times at which copies of each data packet left their sender, by flow, position and hash."""
        times: dict[tuple[int | None, int, int], list[int]] = {}
        for packet in self.packets:
            if packet.kind == "data" and packet.source == packet.node:
                times.setdefault((packet.flow, packet.position, packet.hash), []).append(packet.time)
        return times

    @cached_property
    def extra(self) -> dict[int | None, int]:
        """The most bytes that the algorithm of each flow adds to the header of a data packet."""
        header, smallest = self.sizes("header", "smallest")
        extra: dict[int | None, int] = {}
        for packet in self.packets:
            # A packet of the smallest size may be padded: what was added to it cannot be seen.
            if packet.kind == "data" and packet.node == packet.source and packet.size > smallest:
                added = packet.size - packet.payload - header
                extra[packet.flow] = max(extra.get(packet.flow, 0), added)
        return extra
