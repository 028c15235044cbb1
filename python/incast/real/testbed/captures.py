"""Packets of captured ports, as the kernels of the hosts see them."""

from __future__ import annotations

import ctypes
import socket
import struct

from incast._core import CapturedPacket
from incast.real.testbed.machine import TestbedError
from incast.real.testbed.network import Network, device
from incast.real.testbed.plan import Plan

__all__ = ["Captures"]

_ALL = 3
"""Frames of every protocol."""
_BUFFER_FORCED, _ATTACH_FILTER, _TIMESTAMP_NS = 33, 26, 35
_PACKET, _STATISTICS = 263, 6
_MEMORY = 55
"""Number of the socket option for the memory of a socket's buffer: used bytes, then its size, each of 32
bits."""
_IPV4 = b"\x08\x00"

_BUFFER = 256_000_000
"""Half of the bytes of a buffer, as the kernel counts them: with its own structures, for both directions."""

_AT_ONCE = 500
"""Packets that are read at most of a buffer that fills up, while flows go on."""

_KEPT = 128
"""Bytes of a packet that are kept: all of its headers."""


class _Tap:
    """All frames of a host, from its making on. They wait in the kernel until they are read."""

    def __init__(self, plan: Plan, network: Network, host: int) -> None:
        (link,) = (link for link in plan.links if link.node == host)
        (back,) = (link for link in plan.links if link.peer == host)
        self.sends, self.comes = link.key, back.key
        # BPF_RET | BPF_K: so many bytes of each frame.
        code = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, _KEPT), 8)
        program = struct.pack("@HP", 1, ctypes.addressof(code))
        try:
            with network.hosts[host].entered():
                self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self._socket.setsockopt(socket.SOL_SOCKET, _BUFFER_FORCED, _BUFFER)
            self._socket.setsockopt(socket.SOL_SOCKET, _TIMESTAMP_NS, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, program)
            self._socket.bind((device(plan, link), _ALL))
        except TestbedError:
            raise
        except OSError as error:
            raise TestbedError(f"packets of {plan.name(host)} cannot be seen: {error.strerror}") from None
        self._socket.setblocking(False)
        self._found: list[tuple[int, bool, bytes]] = []

    def _read(self, most: int | None = None) -> None:
        """Takes frames from the buffer, all or at most ``most``."""
        while most is None or most > 0:
            try:
                frame, extra, _, (_, _, kind, *_) = self._socket.recvmsg(_KEPT, 64)
            except BlockingIOError:
                break
            seconds, nanoseconds = struct.unpack_from("qq", extra[0][2])
            self._found.append((seconds * 10**9 + nanoseconds, kind == socket.PACKET_OUTGOING, frame))
            most = None if most is None else most - 1

    def relieve(self) -> None:
        """Reads some frames where the buffer is a quarter full."""
        taken, size = struct.unpack_from("=II", self._socket.getsockopt(socket.SOL_SOCKET, _MEMORY, 36))
        if taken > size // 4:
            self._read(_AT_ONCE)

    def read(self) -> tuple[list[tuple[int, bool, bytes]], int]:
        """The frames so far: time of day in ns, whether the host sent it, bytes; and how many are lacking."""
        self._read()
        _, lost = struct.unpack("=II", self._socket.getsockopt(_PACKET, _STATISTICS, 8))
        return self._found, lost

    def close(self) -> None:
        self._socket.close()


class Captures:
    """Packets that pass the ports that a scenario captures, from its making on.

    Args:
        plan: The plan of the testbed.
        network: Its network, which stands.

    Raises:
        TestbedError: When the kernel has no packet sockets.
    """

    def __init__(self, plan: Plan, network: Network) -> None:
        self._ports = set(plan.core.captured_ports)
        ends = {link.node: link.peer for link in plan.links if link.node < plan.core.hosts}
        wanted = {
            host
            for host, switch in ends.items()
            for link in plan.links
            if {link.node, link.peer} == {host, switch} and link.key in self._ports
        }
        self._taps: list[_Tap] = []
        try:
            for host in sorted(wanted):
                self._taps.append(_Tap(plan, network, host))
        except BaseException:
            self.close()
            raise

    def relieve(self) -> None:
        """To be called now and then while flows go on: buffers that fill up are read."""
        for tap in self._taps:
            tap.relieve()

    def read(self, epoch_ns: int, end_ns: int) -> tuple[list[CapturedPacket], int]:
        """The packets of a scenario by time, and how many were lost because a buffer was full.

        Args:
            epoch_ns: When the scenario started, by the time of day, with which packets are stamped.
            end_ns: When it ended, from its start on.
        """
        frames: list[CapturedPacket] = []
        lacking = 0
        for tap in self._taps:
            found, lost = tap.read()
            lacking += lost
            for at, outgoing, frame in found:
                port = tap.sends if outgoing else tap.comes
                if port in self._ports and 0 <= at - epoch_ns <= end_ns:
                    frames.append(
                        CapturedPacket(
                            time_ps=(at - epoch_ns) * 1000,
                            node_id=port.node,
                            port=port.port,
                            length_bytes=_length(frame),
                            data=frame,
                        )
                    )
        frames.sort(key=lambda frame: (frame.time_ps, frame.node_id, frame.port))
        return frames, lacking

    def close(self) -> None:
        """Ends it."""
        for tap in self._taps:
            tap.close()


def _length(frame: bytes) -> int:
    """The length of a frame of which the first bytes are here."""
    if frame[12:14] != _IPV4:
        return len(frame)
    (length,) = struct.unpack_from(">H", frame, 16)
    return 14 + int(length)
