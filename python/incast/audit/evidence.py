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
    """The time that ``size`` bytes take on a link, rounded up to a picosecond (docs/network/engine.md)."""
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


class Port(NamedTuple):
    """A port: its link, and where that leads."""

    name: str
    node: int
    port: int
    peer: int
    peer_port: int
    rate: int
    delay: int

    def arrives(self, packet: Packet) -> int:
        """The time at which the last bit of a packet that this port sends is at the far end."""
        return packet.time + duration(packet.size, self.rate) + self.delay


Columns = Mapping[str, Sequence[Any]]
"""The columns of a table, by name. A missing value is None."""


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

    def section(self, *names: str) -> Mapping[str, Any] | None:
        """A section of the scenario, of sections in it; None if it is absent."""
        found: Any = self.settings
        for name in names:
            found = found.get(name) if isinstance(found, Mapping) else None
        return found if isinstance(found, Mapping) else None

    @cached_property
    def end(self) -> int:
        """The first instant, in ps, that is not part of the run (docs/network/engine.md, *Endings*)."""
        return int(self.outcome["now_ps"]) + int(self.outcome["end"] == "finished")

    @cached_property
    def nodes(self) -> dict[int, str]:
        """The names of the nodes by number."""
        return dict(zip(self.port_rows["node_id"], self.port_rows["node"], strict=True))

    @cached_property
    def ports(self) -> dict[tuple[int, int], Port]:
        """The ports by the numbers of node and port, in order."""
        rows = self.port_rows
        numbers = {name: number for number, name in self.nodes.items()}
        ports = {}
        for i, node in enumerate(rows["node_id"]):
            if rows["peer_port"][i] is None or rows["peer"][i] is None:
                continue
            peer = rows["peer"][i]
            name = f"{rows['node'][i]}:{rows['port'][i]}->{peer}"
            ports[node, rows["port"][i]] = Port(
                name, node, rows["port"][i], numbers[peer], rows["peer_port"][i],
                rows["rate_bps"][i], rows["delay_ps"][i],
            )  # fmt: skip
        return dict(sorted(ports.items()))

    @cached_property
    def hosts(self) -> set[int]:
        """The numbers of the hosts, which are numbered before switches."""
        return set(range(int(self.outcome["hosts"])))

    @cached_property
    def packets(self) -> dict[tuple[int, int], list[Packet]]:
        """The packets that each port sent, by time. Every port has an entry."""
        sent: dict[tuple[int, int], list[Packet]] = {key: [] for key in self.ports}
        rows = self.packet_rows
        if rows is None:
            return sent
        names = ["time_ps", "node_id", "port", "kind", "flow", "source_id", "destination_id"]
        names += ["position_bytes", "payload_bytes", "size_bytes", "queue", "marked", "hash"]
        for row in zip(*(rows[name] for name in names), strict=True):
            packet = Packet._make(row)
            sent[packet.node, packet.port].append(packet)
        for packets in sent.values():
            packets.sort(key=lambda packet: packet.time)
        return sent

    def arrivals(self, node: int) -> list[tuple[int, int, Packet]]:
        """The arrivals at a node during the run: time, port there, and the packet as it was sent."""
        found = [
            (time, port.peer_port, packet)
            for key, port in self.ports.items()
            if port.peer == node
            for packet in self.packets[key]
            if (time := port.arrives(packet)) < self.end
        ]
        found.sort(key=lambda arrival: arrival[:2])
        return found

    @cached_property
    def extra(self) -> int:
        """The most bytes that an algorithm of the run adds to the header of a data packet."""
        header = self.size("transport", "header")
        return max(
            (
                packet.size - packet.payload - header
                for packets in self.packets.values()
                for packet in packets
                if packet.kind == "data" and packet.size > self.size("transport", "smallest")
            ),
            default=0,
        )

    def size(self, section: str, key: str) -> int:
        """A quantity of a section."""
        return quantity(self.settings[section][key])

    @cached_property
    def positions(self) -> dict[int, int]:
        """The row of each flow, by its number."""
        return {flow: row for row, flow in enumerate(self.flow_rows["flow"])}

    @cached_property
    def rows_of_ports(self) -> dict[tuple[int, int], int]:
        """The row of each port, by the numbers of node and port."""
        rows = self.port_rows
        return {key: row for row, key in enumerate(zip(rows["node_id"], rows["port"], strict=True))}

    def row_of(self, node: int, port: int) -> int:
        """The row of a port."""
        return self.rows_of_ports[node, port]

    @property
    def connected(self) -> bool:
        """Whether flows are messages of connections (docs/network/connections.md)."""
        return "idle" in self.settings["transport"]
