"""Network namespaces without names.

A namespace lives as long as a process is in it, a socket is in it or a file of it is open. Those of a testbed
are open files of its process and nothing else: the kernel removes them, with their devices, queueing
disciplines and programs, however that process ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from incast.real.testbed.machine import TestbedError, run

__all__ = ["Space"]

_NEWNET = 0x40000000
_TIMER_SLACK = 29
_SIOCETHTOOL = 0x8946
_OFFLOADS = (0x17, 0x1F, 0x24, 0x2C)
"""Orders to the device: checksums on sending, TSO, GSO, GRO."""

_HERE = "/proc/thread-self/ns/net"


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _must(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise TestbedError(
            f"{what}: {os.strerror(number)}; a container's seccomp profile can forbid it, and --privileged "
            "permits it"
        )


class Space:
    """A network namespace. Closing it, or the end of the process, removes it.

    Attributes:
        name: What it is called in messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._file = -1
        before = os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _must(_libc().unshare(_NEWNET), "no network namespace can be made")
            try:
                self._file = os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)
            finally:
                _must(_libc().setns(before, _NEWNET), "the first network namespace cannot be entered again")
        finally:
            os.close(before)

    @property
    def path(self) -> str:
        """Path under which other processes find it while it is open."""
        return f"/proc/{os.getpid()}/fd/{self._file}"

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Puts this thread into the namespace: its new sockets and processes are there."""
        before = os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _must(_libc().setns(self._file, _NEWNET), f"the namespace of {self.name} cannot be entered")
            try:
                yield
            finally:
                _must(_libc().setns(before, _NEWNET), "the first network namespace cannot be entered again")
        finally:
            os.close(before)

    def run(self, words: Sequence[str], lines: Sequence[str] = (), data: bytes = b"") -> str:
        """Runs a command in it, as :func:`incast.real.testbed.machine.run` does."""
        with self.entered():
            return run(words, lines, data)

    def set(self, values: dict[str, str | int]) -> None:
        """Sets kernel parameters of it, by their names below ``/proc/sys/net``."""
        with self.entered():
            for name, value in values.items():
                path = Path("/proc/sys/net") / name
                try:
                    path.write_text(str(value))
                except FileNotFoundError:
                    continue  # without IPv6, for example, there is nothing to switch off
                except OSError as error:
                    raise TestbedError(f"{path} cannot be set: {error.strerror}") from None

    def offloads_off(self, device: str) -> None:
        """Makes a device send what the link carries: single packets with their checksums."""
        with self.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            for order in _OFFLOADS:
                value = ctypes.create_string_buffer(struct.pack("II", order, 0))
                request = struct.pack("16sP", device.encode(), ctypes.addressof(value))
                with contextlib.suppress(OSError):  # a kernel that has no such offload
                    fcntl.ioctl(control, _SIOCETHTOOL, request)

    def close(self) -> None:
        """Removes it, once no socket is in it any more."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


@contextlib.contextmanager
def in_time() -> Iterator[None]:
    """Lets this thread run before all others of the machine, and be woken to the microsecond.

    Without the right to that it runs as others do.
    """
    _libc().prctl(_TIMER_SLACK, 1, 0, 0, 0)
    places = os.sched_getaffinity(0)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, {min(places)})
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, *before)
            os.sched_setaffinity(0, places)
        _libc().prctl(_TIMER_SLACK, 0, 0, 0, 0)
