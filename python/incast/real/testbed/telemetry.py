"""Telemetry of real packets: records and reports in acknowledgements, and round-trip times."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from incast.real.kernel.options import TELEMETRY
from incast.results.captures import Packet

__all__ = ["Record", "payload", "record", "round_trips"]

_KIND = 253
_IPV4, _TCP = b"\x08\x00", 6


@dataclass(frozen=True)
class Record:
    """The record of a switch port, as an acknowledgement brings it back. Time and counter are modulo 2^32.

    Attributes:
        option_bytes: The length of the TCP option in which it is.
        at_ns: When the port wrote it, by its clock (``CLOCK_MONOTONIC``).
        queue_bytes: Its queue.
        transmitted_bytes: What it had sent before.
        rate_bps: Its rate.
    """

    option_bytes: int
    at_ns: int
    queue_bytes: int
    transmitted_bytes: int
    rate_bps: int


def record(frame: bytes) -> Record | None:
    """Returns the record in a frame, if it is an acknowledgement with one (``bpf/echo.h``)."""
    found = _option(frame)
    # Kind, length, identifier, whether it is an answer, number of records.
    if found is None or len(found) != TELEMETRY.request_bytes or found[6:8] != b"\1\1":
        return None
    at, queue, transmitted, kbps = struct.unpack_from(">IIII", found, 8)
    return Record(len(found), at, queue, transmitted, kbps * 1000)


def payload(frame: bytes) -> int | None:
    """The payload of a frame in bytes; none where it is not TCP over IPv4."""
    start = _transport(frame)
    if start is None:
        return None
    (length,) = struct.unpack_from(">H", frame, 16)
    return int(14 + length - start - 4 * (frame[start + 12] >> 4))


def round_trips(packets: Iterable[Packet], host: str) -> list[tuple[int, int]]:
    """Round trips of a host's packets, which has one connection.

    Args:
        packets: What was captured at the host, by time, in both directions of its link.
        host: Its name.

    Returns:
        When each packet left, and when the acknowledgement came that ends with it, in ps, by the former.
        Packets that were sent again are left out, and those that are acknowledged together with later ones.
    """
    sent: dict[int, int | None] = {}
    found = []
    for packet in packets:
        start = _transport(packet.frame)
        if start is None:
            continue
        sequence, acknowledged = struct.unpack_from(">II", packet.frame, start + 4)
        if packet.port.startswith(f"{host}:"):
            if bytes_ := payload(packet.frame):
                end = (sequence + bytes_) % 2**32
                sent[end] = None if end in sent else packet.time_ps
        elif (left := sent.get(acknowledged)) is not None:
            found.append((left, packet.time_ps))
            sent[acknowledged] = None
    return sorted(found)


def _transport(frame: bytes) -> int | None:
    """Returns the offset of the TCP header."""
    if frame[12:14] != _IPV4 or frame[23] != _TCP:
        return None
    return 14 + 4 * (frame[14] & 15)


def _option(frame: bytes) -> bytes | None:
    """The option of Incast's own in a frame."""
    start = _transport(frame)
    if start is None:
        return None
    at, end = start + 20, start + 4 * (frame[start + 12] >> 4)
    while at + 1 < end and frame[at] != 0:
        if frame[at] == 1:
            at += 1
            continue
        length = max(2, frame[at + 1])
        identifier = struct.pack(">I", TELEMETRY.identifier)
        if frame[at] == _KIND and frame[at + 2 : at + 6] == identifier:
            return frame[at : at + length]
        at += length
    return None
