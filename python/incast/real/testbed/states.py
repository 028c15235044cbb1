"""States of algorithms in the kernel, read while connections run.

The kernel's objects keep the state of a flow in storage of its socket (``bpf/glue.bpf.c``). Who has the
socket can read it.
"""

from __future__ import annotations

import json
import socket
import struct

from incast.real import kernel
from incast.real.kernel import machine, options
from incast.real.testbed.machine import TestbedError
from incast.real.testbed.queues import OpenMap

__all__ = ["States"]

_MAP = "flows"
"""The map of flows, and the type of its values, in which the state is the first member."""

_AGAIN = 8
"""Largest number of times that a state is read until it is the same twice."""


class States:
    """The states of the flows of one congestion control.

    Args:
        name: Its name in the kernel, where it is loaded.

    Raises:
        TestbedError: When they cannot be read.
    """

    def __init__(self, name: str) -> None:
        bpftool = machine.ready()
        numbers = [one.id for one in kernel.loaded() if one.name == name and one.selectable]
        if not numbers:
            raise TestbedError(f"the kernel has no {name} any more: another process has unloaded it")
        number = max(numbers)
        for place in options.maps(bpftool, number):
            of = json.loads(machine.call(bpftool, "--json", "map", "show", "id", str(place)))
            if of.get("name") == _MAP:
                self._size = _state_bytes(bpftool, name, int(of.get("btf_id", 0)))
                self._map = OpenMap(place, int(of["bytes_value"]), "the state of a flow")
                return
        raise TestbedError(f"{name} has no map of its flows: run `make bpf`")

    def read(self, connection: socket.socket) -> bytes:
        """The state of a connection's flow now.

        The kernel may write it at the same time, on another processor. So it is read until it is the same
        twice, and eight times at most.
        """
        struct.pack_into("=i", self._map.key, 0, connection.fileno())
        before = b""
        for _ in range(_AGAIN):
            now = self._map.read()[: self._size]
            if now == before:
                break
            before = now
        return now

    def close(self) -> None:
        """Ends it."""
        self._map.close()


def _state_bytes(bpftool: str, name: str, types: int) -> int:
    """Returns the size of a state in bytes, by the types of the object; they must be this version's."""
    try:
        listed = json.loads(machine.call(bpftool, "--json", "btf", "dump", "id", str(types)))["types"]
        flow = next(one for one in listed if one["kind"] == "STRUCT" and one.get("name") == _MAP[:-1])
        found = int(flow["members"][1]["bits_offset"]) // 8
    except (KeyError, IndexError, StopIteration, TypeError, ValueError):
        raise TestbedError(f"bpftool does not list the types of {name}") from None
    expected = kernel.state_bytes(name)
    if found != -(-expected // 8) * 8:
        raise TestbedError(f"{name} has states of {found} bytes, and this version {expected}: run `make bpf`")
    return expected
