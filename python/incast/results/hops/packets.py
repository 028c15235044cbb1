"""Captured packets and the links that they took, in columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

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


class Sent(NamedTuple):
    """The packets of all flows that one port sent, by time. Of frames of flow control the flow is -1.

    Attributes:
        left: When the first bit of each left.
        gone: When the last bit left.
    """

    left: Ints
    gone: Ints
    flow: Ints


class Packets(NamedTuple):
    """The packets of one flow at the ports that sent them, by time.

    Attributes:
        left: When the first bit left.
        gone: When the last bit left.
        propagation: Delay of the link then.
        arrives: When the last bit arrives at the far end; -1 if the link loses it.
        peer: Number of the node there.
        peer_port: Number of the port there.
    """

    left: Ints
    node: Ints
    port: Ints
    to: Ints
    position: Ints
    size: Ints
    queue: Ints
    hash: Ints
    kind: npt.NDArray[Any]
    gone: Ints
    propagation: Ints
    arrives: Ints
    peer: Ints
    peer_port: Ints

    def by_port(self) -> Iterator[tuple[Place, Ints]]:
        """Yields every port with the rows of the packets that it sent."""
        return _by_port(self.node << 16 | self.port)


def packets_of(result: Tables, links: Mapping[Place, Link], flow: int) -> tuple[Packets, dict[Place, Sent]]:
    """Returns the captured packets of a flow, and all packets at the ports that it uses.

    Args:
        result: A result with the table ``packets``.
        links: Its ports.
        flow: Number of the flow.
    """
    table = result.packets
    flows = _whole(table.column("flow"))
    mine = flows == flow
    code = _whole(table.column("node_id")) << 16 | _whole(table.column("port"))
    left = _whole(table.column("time_ps"))
    gone = left + _whole(table.column("serialisation_ps"))
    peer, peer_port = (np.zeros(int(mine.sum()), dtype=np.int64) for _ in range(2))
    place_of = np.cumsum(mine) - 1
    sent = {}
    for place, rows in _by_port(code):
        own = mine[rows]
        if not own.any():
            continue
        sent[place] = Sent(left[rows], gone[rows], flows[rows])
        here = place_of[rows[own]]
        peer[here], peer_port[here] = links[place].peer, links[place].peer_port
    names = ("destination_id", "position_bytes", "size_bytes", "queue", "hash")
    columns = [_whole(table.column(name)[mine]) for name in names]
    at = [left[mine], code[mine] >> 16, code[mine] & 0xFFFF]
    kind = table.column("kind")[mine]
    on_link = (_whole(table.column(name)[mine]) for name in ("propagation_ps", "arrives_ps"))
    return Packets(*[*at, *columns, kind, gone[mine], *on_link, peer, peer_port]), sent


def _by_port(code: Ints) -> Iterator[tuple[Place, Ints]]:
    """Yields every port with its rows; a code has the port in its lower 16 bits, and above them the node."""
    order = np.argsort(code, kind="stable")
    known, begins = np.unique(code[order], return_index=True)
    for place, rows in zip(known.tolist(), np.split(order, begins[1:]), strict=True):
        yield (place >> 16, place & 0xFFFF), rows


def _whole(column: npt.NDArray[Any]) -> Ints:
    """A column as whole numbers."""
    if column.dtype.kind == "f":
        column = np.where(np.isnan(column), NONE, column)
    return column.astype(np.int64)
