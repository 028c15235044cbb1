"""Captured packets of a result: ``capture.pcapng``, which ``probe.captures`` of a scenario asks for."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from incast.results.result import Result

__all__ = ["Packet", "read"]

_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_LITTLE_ENDIAN = 0x1A2B3C4D
_NAME, _RESOLUTION = 2, 9
_NANOSECONDS = b"\x09"


class Packet(NamedTuple):
    """A captured packet.

    Attributes:
        time_ps: When, in picoseconds from the start of the scenario, to the nanosecond. In the simulator,
            when its transmission began; on a testbed, when the kernel of the host had it.
        port: The port that sent it, like ``s0:1->h1``.
        length: Its bytes without preamble, gap and check sequence.
        frame: Its first bytes, from the Ethernet header on. The simulator has only headers, as in RoCEv2; on
            a testbed they are TCP's.
    """

    time_ps: int
    port: str
    length: int
    frame: bytes


def read(result: Result | str | os.PathLike[str]) -> list[Packet]:
    """The captured packets of a result, by time.

    Args:
        result: A result that has a folder, or the folder.

    Raises:
        FileNotFoundError: When the result has no captured packets.
        ValueError: When the file is not one of Incast's, or was cut off.
    """
    folder = result.folder if isinstance(result, Result) else Path(result)
    if folder is None:
        raise FileNotFoundError("captured packets are in a file, and this result has no folder")
    path = folder / "capture.pcapng"
    ports: list[str] = []
    packets = []
    try:
        for kind, block in _blocks(path):
            if kind == _INTERFACE:
                options = dict(_options(block))
                if options.get(_RESOLUTION) != _NANOSECONDS:
                    raise ValueError(f"{path} is no capture of Incast: its times are not in nanoseconds")
                ports.append(options[_NAME].decode())
            elif kind == _PACKET:
                port, high, low, stored, length = struct.unpack_from("<IIIII", block)
                time_ps = (high << 32 | low) * 1000
                packets.append(Packet(time_ps, ports[port], length, block[20 : 20 + stored]))
    except (struct.error, LookupError, UnicodeDecodeError):
        raise ValueError(f"{path} is no capture of Incast: a block in it is malformed") from None
    return packets


def _blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Types and bodies of the blocks (draft-ietf-opsawg-pcapng, section 3)."""
    data = path.read_bytes()
    if len(data) < 12 or struct.unpack_from("<I4xI", data) != (_SECTION, _LITTLE_ENDIAN):
        raise ValueError(f"{path} is no capture of Incast")
    at = 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if length < 12 or at + length > len(data):
            break
        yield kind, data[at + 8 : at + length - 4]
        at += length
    if at != len(data):
        raise ValueError(f"{path} is cut off")


def _options(block: bytes) -> Iterator[tuple[int, bytes]]:
    """Numbers and values of the options of an interface."""
    at = 8
    while at + 4 <= len(block):
        option, length = struct.unpack_from("<HH", block, at)
        yield option, block[at + 4 : at + 4 + length]
        at += 4 + length + -length % 4
