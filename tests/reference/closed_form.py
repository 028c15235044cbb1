"""Time that a flow takes alone, worked out link by link: exactly, or as ns-3.17 counts time.

A packet leaves a link when its last bit does; the next link begins with it at the earliest when it has
arrived, and when the packet before it has left. So do the acknowledgements, one for each packet; the flow is
complete when the last one has come back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Duration = Callable[[int, int], int]
"""Picoseconds that a number of bytes takes at a number of Gbps."""


def exact(size: int, gbps: int) -> int:
    """All of them: at these rates a byte takes a whole number of picoseconds."""
    assert 8000 % gbps == 0
    return size * (8000 // gbps)


def truncated(size: int, gbps: int) -> int:
    """As ns-3.17 has it: what is left of the last nanosecond is lost."""
    return size * 8 // gbps * 1000


@dataclass(frozen=True)
class Packets:
    """Bytes of payload of a full packet, of all other in a packet, of an acknowledgement; link delay."""

    payload: int
    header: int
    ack: int
    delay_ps: int


def alone(size: int, rates: list[int], packets: Packets, duration: Duration) -> int:
    """Completion time in ps of a flow of `size` bytes that meets no other.

    Args:
        size: Its payload in bytes.
        rates: Of the links there, in Gbps; the acknowledgement comes back over the same.
        packets: What they are like.
        duration: How long bytes take.
    """
    there, back = [0] * len(rates), [0] * len(rates)
    time = 0
    for first in range(0, size, packets.payload):
        whole = min(packets.payload, size - first) + packets.header
        time = 0
        for left, links, length in ((there, rates, whole), (back, rates[::-1], packets.ack)):
            for link, rate in enumerate(links):
                left[link] = max(time, left[link]) + duration(length, rate)
                time = left[link] + packets.delay_ps
    return time
