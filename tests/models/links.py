"""Packets and links of the plain models, and the order of events at a node.

They are written from docs/network/links.md and engine.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from models.cases import Link
from models.clock import Clock

if TYPE_CHECKING:
    from models.plain import Sender

DEPARTED, CHANGED, TAKEN, ARRIVAL, START, PACED, RETRANSMIT, HELD_ACK = range(8)
"""Events at a node, in their order at one instant (engine.md, *Order of events*)."""


@dataclass
class Packet:
    """A packet of the kind data, ack, nack, pause or resume.

    `byte` is the first one of a data packet; for an acknowledgement or a NACK it is the next expected.
    Switches choose among equal paths by `path`. `sent` and `entropy` are the time at which a data packet was
    sent and what was mixed into its path; an acknowledgement has both from the packet that caused it, and the
    time for which it was held. With selective repeat it also has, in `told`, numbers of packets that have
    arrived after the next expected, and a data packet may ask for its acknowledgement.
    """

    kind: str
    size: int
    flow: Sender | None = None
    byte: int = 0
    payload: int = 0
    queue: int = 0
    path: int = 0
    sent: int = 0
    entropy: int = 0
    told: frozenset[int] = frozenset()
    held: int = 0
    asks: bool = False


class Node(Protocol):
    """A node at the end of a link."""

    def departed(self, port: int) -> None:
        """The port has sent its packet's last bit."""

    def arrived(self, port: int, packet: Packet) -> None:
        """A packet's last bit has come in."""


class Wire:
    """One direction of a link: one packet after the other, each of which then takes the link's delay.

    What has not arrived when the link fails is lost.
    """

    def __init__(self, clock: Clock, link: Link, node: Node, port: int) -> None:
        self.clock, self.link, self.node, self.port = clock, link, node, port
        self.far: tuple[Node, int]
        self.busy = self.paused = self.down = False

    def send(self, packet: Packet) -> None:
        """Begins to send a packet."""
        self.busy = True
        done = self.clock.now + duration(packet.size, self.link.rate)
        node, port = self.far
        self.clock.at(done, DEPARTED, self.port, self.node.departed, self.port)
        arrival = done + self.link.delay
        if not any(self.clock.now <= fails <= arrival for fails, _ in self.link.outages):
            self.clock.at(arrival, ARRIVAL, port, node.arrived, port, packet)


def duration(size: int, rate: int) -> int:
    """Returns the time that `size` bytes take, rounded up to a picosecond."""
    return -(-size * 8 * 10**12 // rate)
