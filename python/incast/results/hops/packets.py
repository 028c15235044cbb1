"""Captured packets and the links that they took, in columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from incast.audit.evidence import duration
from incast.results.arrays import Ints
from incast.results.tables import Tables

NONE = -1
"""A time, a row or a flow that does not exist, in columns of whole numbers."""

Place = tuple[int, int]
"""A port: the number of its node, and its own there."""


class Link(NamedTuple):
    """A port that has a link.

    Attributes:
        name: Like ``"s0->h0"``; ``"s0:3"`` where several links lead from the node to the other.
        node: Name of the node.
        peer: Number of the node at the far end.
        peer_port: Number of the port there.
        rate_bps: Its rate in bit/s.
        delay_ps: Its delay in picoseconds.
        dropped: Packets that were dropped on admission to the queues of the port, in the whole run.
        transmitted: Packets that it sent in the whole run.
    """

    name: str
    node: str
    peer: int
    peer_port: int
    rate_bps: int
    delay_ps: int
    dropped: int
    transmitted: int


def links_of(result: Tables) -> dict[Place, Link]:
    """Returns the ports that have links.

    Args:
        result: A result with the totals of its ports.
    """
    numbers = ("port", "peer_port", "rate_bps", "delay_ps", "dropped_packets", "transmitted_packets")
    table = result.ports
    node, node_id, peer = (table.column(name).tolist() for name in ("node", "node_id", "peer"))
    number = dict(zip(node, node_id, strict=True))
    several = Counter(zip(node, peer, strict=True))
    found = {}
    for name, at, to, port, *link in zip(
        node, node_id, peer, *(table.column(name).tolist() for name in numbers), strict=True
    ):
        if to is not None:
            label = f"{name}:{port}" if several[name, to] > 1 else f"{name}->{to}"
            found[at, port] = Link(label, name, number[to], *map(int, link))
    return found


class Packets(NamedTuple):
    """Packets that ports sent, by time. Of frames of flow control the flow is -1.

    Attributes:
        left: When the first bit left.
        gone: When the last bit left.
        arrives: When the last bit arrives at the far end.
        peer: Number of the node there.
        peer_port: Number of the port there.
    """

    left: Ints
    node: Ints
    port: Ints
    flow: Ints
    to: Ints
    position: Ints
    size: Ints
    queue: Ints
    hash: Ints
    kind: npt.NDArray[Any]
    gone: Ints
    arrives: Ints
    peer: Ints
    peer_port: Ints

    def of(self, rows: npt.NDArray[Any]) -> Packets:
        """Returns some of the packets.

        Args:
            rows: Their numbers, or a mask.
        """
        return Packets(*(column[rows] for column in self))

    def by_port(self) -> Iterator[tuple[Place, Ints]]:
        """Yields every port with the rows of the packets that it sent."""
        code = self.node << 16 | self.port
        order = np.argsort(code, kind="stable")
        known, begins = np.unique(code[order], return_index=True)
        for place, rows in zip(known.tolist(), np.split(order, begins[1:]), strict=True):
            yield (place >> 16, place & 0xFFFF), rows


_COLUMNS = (
    "time_ps", "node_id", "port", "flow", "destination_id", "position_bytes", "size_bytes", "queue", "hash",
)  # fmt: skip


def packets_of(result: Tables, links: dict[Place, Link]) -> Packets:
    """Returns the captured packets of a result.

    Args:
        result: A result with the table ``packets``.
        links: Its ports.
    """
    table = result.packets
    columns = [_whole(table.column(name)) for name in _COLUMNS]
    gone, arrives, peer, peer_port = (np.empty(len(table), dtype=np.int64) for _ in range(4))
    packets = Packets(*[*columns, table.column("kind"), gone, arrives, peer, peer_port])
    for place, rows in packets.by_port():
        link = links[place]
        sizes, kind = np.unique(packets.size[rows], return_inverse=True)
        times = np.array([duration(int(size), link.rate_bps) for size in sizes], dtype=np.int64)
        gone[rows] = packets.left[rows] + times[kind]
        arrives[rows] = gone[rows] + link.delay_ps
        peer[rows], peer_port[rows] = link.peer, link.peer_port
    return packets


def _whole(column: npt.NDArray[Any]) -> Ints:
    """A column as whole numbers."""
    if column.dtype.kind == "f":
        column = np.where(np.isnan(column), NONE, column)
    return column.astype(np.int64)
