"""The kernel's queues, asked through netlink, and the counters of its programs."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import platform
import socket
import struct
from dataclasses import dataclass

from incast.real.kernel import machine
from incast.real.testbed.machine import TestbedError
from incast.real.testbed.spaces import Space

__all__ = ["Counter", "OpenMap", "Queue", "Totals"]

_GET_QDISC = 38
_REQUEST = 1 | 8
"""A request with an echo; newer kernels answer a request that has none only to those who listen for
changes."""
_ERROR = 2
_ROOT = 0xFFFFFFFF
_STATS = 7
"""The attribute with statistics."""
_BASIC, _QUEUE = 1, 3
"""In it: what was sent, and what waits."""

_BPF = {"x86_64": 321, "aarch64": 280}
"""The number of the system call bpf()."""
_LOOKUP, _MAP_BY_ID = 1, 14


@dataclass(frozen=True)
class Totals:
    """The state of a queue.

    Attributes:
        queued: Bytes in it.
        transmitted: Bytes that have left it.
        packets: Packets that have left it.
        drops: Packets for which there was no room.
    """

    queued: int
    transmitted: int
    packets: int
    drops: int


class Queue:
    """The root queueing discipline of a device.

    Args:
        space: Where the device is.
        name: The device.
        counter: What counts the packets that are marked before it, if any.
    """

    def __init__(self, space: Space, name: str, counter: Counter | None) -> None:
        self._counter = counter
        with space.entered():
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
            index = socket.if_nametoindex(name)
        self._socket.settimeout(5)
        self._socket.bind((0, 0))
        body = struct.pack("=BxxxiIII", 0, index, 0, _ROOT, 0)
        self._question = struct.pack("=IHHII", 16 + len(body), _GET_QDISC, _REQUEST, 1, 0) + body

    def read(self) -> Totals:
        """Its state now; takes 20 to 60 microseconds."""
        self._socket.send(self._question)
        answer = self._socket.recv(8192)
        length, kind = struct.unpack_from("=IH", answer)
        if kind == _ERROR:
            number = -struct.unpack_from("=i", answer, 16)[0]
            raise TestbedError(f"the kernel does not report its queue: {os.strerror(number)}")
        transmitted = packets = drops = queued = 0
        for name, start, end in _attributes(answer, 36, length):
            if name != _STATS:
                continue
            for inner, at, _ in _attributes(answer, start, end):
                if inner == _BASIC:
                    transmitted, packets = struct.unpack_from("=QI", answer, at)
                elif inner == _QUEUE:
                    _, queued, drops = struct.unpack_from("=III", answer, at)
        return Totals(queued, transmitted, packets, drops)

    def marked(self) -> int:
        """Packets marked before it so far."""
        return self._counter.read() if self._counter else 0

    def close(self) -> None:
        """Ends it."""
        self._socket.close()
        if self._counter:
            self._counter.close()


def _attributes(answer: bytes, start: int, end: int) -> list[tuple[int, int, int]]:
    """Attributes of netlink: their names, where their values start, and where they end."""
    found = []
    while start + 4 <= end:
        length, name = struct.unpack_from("=HH", answer, start)
        if length < 4:
            break
        found.append((name & 0x3FFF, start + 4, start + length))
        start += length + 3 & ~3
    return found


class Counter:
    """The counter of the program that marks.

    Args:
        program: Its number in the kernel.
    """

    def __init__(self, program: int) -> None:
        bpftool = machine.ready()
        shown = json.loads(machine.call(bpftool, "--json", "prog", "show", "id", str(program)))
        for number in shown.get("map_ids", []):
            of = json.loads(machine.call(bpftool, "--json", "map", "show", "id", str(number)))
            if str(of.get("name", "")).endswith(".bss"):
                self._map = OpenMap(number, int(of["bytes_value"]), "the counter of marks")
                return
        raise TestbedError("the program that marks has no counter: run `make bpf`")

    def read(self) -> int:
        """Its value."""
        return int.from_bytes(self._map.read()[:8], "little")

    def close(self) -> None:
        """Ends it."""
        self._map.close()


class OpenMap:
    """A map of the kernel, open for reading.

    Args:
        number: Its number in the kernel.
        value_bytes: Size of each value.
        what: What is read, for messages.

    Attributes:
        key: The key whose value is read: four bytes, zero at first.
    """

    def __init__(self, number: int, value_bytes: int, what: str) -> None:
        self.key, self._value = ctypes.create_string_buffer(4), ctypes.create_string_buffer(value_bytes)
        self._what = what
        self._file = _bpf(_MAP_BY_ID, struct.pack("=II", number, 0), what)
        places = ctypes.addressof(self.key), ctypes.addressof(self._value)
        self._order = struct.pack("=IIQQQ", self._file, 0, *places, 0)

    def read(self) -> bytes:
        """The value at the key now."""
        _bpf(_LOOKUP, self._order, self._what)
        return self._value.raw

    def close(self) -> None:
        """Ends it."""
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = -1


def _bpf(command: int, order: bytes, what: str) -> int:
    """The system call ``bpf()``.

    Args:
        command: What to do.
        order: Its arguments.
        what: What is read, for messages.
    """
    call = _BPF.get(platform.machine())
    if call is None:
        raise TestbedError(f"{what} cannot be read on {platform.machine()}")
    given = ctypes.create_string_buffer(order, len(order))
    result = _LIBC.syscall(call, command, given, len(order))
    if result < 0:
        raise TestbedError(f"{what} cannot be read: {os.strerror(ctypes.get_errno())}")
    return int(result)


_LIBC = ctypes.CDLL(None, use_errno=True)
