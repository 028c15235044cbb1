"""Users of a congestion control: what keeps one, with its parameters, also when it is unloaded.

The default of a network namespace (``net.ipv4.tcp_congestion_control``) and sockets point to what they
selected, and not to its name. When that is unloaded and loaded again, they keep the old one until they select
it again.
"""

from __future__ import annotations

import contextlib
import ctypes
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Holders", "holders", "renew"]

_DEFAULT = Path("/proc/sys/net/ipv4/tcp_congestion_control")
_NAMED = Path("/run/netns")
_NEWNET = 0x40000000
_NETLINK_SOCK_DIAG, _BY_FAMILY, _DUMP, _DONE, _ERROR = 4, 20, 0x301, 3, 2
_CONG = 4
"""The attribute of a socket with the name of its congestion control."""
_LISTEN = 10


@dataclass(frozen=True)
class Holders:
    """Users of a congestion control, by its name.

    Attributes:
        defaults: Network namespaces whose default it is.
        listening: Listening sockets with it: address, and namespace.
        connections: Number of other sockets with it.
        whole: Whether all namespaces with a process or a name were looked at, and not this one alone.
    """

    defaults: tuple[str, ...]
    listening: tuple[str, ...]
    connections: int
    whole: bool

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.defaults or self.listening or self.connections)


def holders(name: str) -> Holders:
    """Returns the users of a congestion control.

    Args:
        name: Its name in the kernel.
    """
    defaults: list[str] = []
    listening: list[str] = []
    connections = 0

    def look(namespace: str) -> None:
        nonlocal connections
        if _default() == name:
            defaults.append(namespace)
        for control, listens, place in _sockets():
            if control == name and listens:
                listening.append(f"{place} in {namespace}")
            elif control == name:
                connections += 1

    whole = _each(look)
    return Holders(tuple(defaults), tuple(listening), connections, whole)


def renew(name: str) -> list[str]:
    """Lets namespaces whose default has this name select it again, and returns which.

    New connections there have the parameters with which it was loaded last.

    Args:
        name: Its name in the kernel.
    """
    renewed: list[str] = []

    def again(namespace: str) -> None:
        if _default() == name:
            with contextlib.suppress(OSError):
                _DEFAULT.write_text(name)
                renewed.append(namespace)

    _each(again)
    return renewed


def _default() -> str:
    try:
        return _DEFAULT.read_text().strip()
    except OSError:
        return ""


def _each(call: Callable[[str], None]) -> bool:
    """Calls a function in each network namespace; in this one alone where others cannot be entered."""
    libc = ctypes.CDLL(None, use_errno=True)
    entered: list[bool] = []

    def within(path: Path, name: str) -> None:
        with contextlib.suppress(OSError), path.open("rb") as file:
            entered.append(libc.setns(file.fileno(), _NEWNET) == 0)
            if entered[-1]:
                call(name)

    here = _inode(Path("/proc/thread-self/ns/net"))
    call("this network namespace")
    for path, name in _namespaces(here):
        # A thread that ends: no other one leaves its namespace.
        thread = threading.Thread(target=within, args=(path, name))
        thread.start()
        thread.join()
    return all(entered)


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _namespaces(here: int) -> Iterator[tuple[Path, str]]:
    """Path and name of each network namespace but this one that has a name or a process."""
    seen = {here, 0}
    with contextlib.suppress(OSError):
        for path in sorted(_NAMED.iterdir()):
            if (inode := _inode(path)) not in seen:
                seen.add(inode)
                yield path, f"the network namespace {path.name}"
    for folder in sorted(Path("/proc").glob("[0-9]*"), key=lambda folder: int(folder.name)):
        path = folder / "ns/net"
        if (inode := _inode(path)) not in seen:
            seen.add(inode)
            yield path, f"the network namespace of process {folder.name}"


def _sockets() -> Iterator[tuple[str, bool, str]]:
    """Of each TCP socket here the congestion control, whether it listens, and its address."""
    for family in (socket.AF_INET, socket.AF_INET6):
        # Family, protocol, the attributes that are wanted, all states, any addresses.
        wanted = struct.pack("BBBBI48x", family, socket.IPPROTO_TCP, 1 << (_CONG - 1), 0, 0xFFFFFFFF)
        head = struct.pack("IHHII", 16 + len(wanted), _BY_FAMILY, _DUMP, 1, 0)
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as diag,
        ):
            diag.settimeout(5)
            diag.send(head + wanted)
            over = False
            while not over:
                for kind, data in _parts(diag.recv(1 << 18), "IH10x", 16):
                    over = over or kind in (_DONE, _ERROR)
                    if kind == _BY_FAMILY:
                        attributes = dict(_parts(data[72:], "HH", 4))
                        control = attributes.get(_CONG, b"").partition(b"\0")[0].decode(errors="replace")
                        size = 4 if family == socket.AF_INET else 16
                        place = socket.inet_ntop(family, data[8 : 8 + size])
                        port = int.from_bytes(data[4:6], "big")
                        shown = f"{place}:{port}" if size == 4 else f"[{place}]:{port}"
                        yield control, data[1] == _LISTEN, shown


def _parts(data: bytes, form: str, head: int) -> Iterator[tuple[int, bytes]]:
    """Kind and content of each message of netlink, or of each attribute of one."""
    while len(data) >= head:
        size, kind = struct.unpack_from(form, data)
        if size < head:
            break
        yield kind, data[head:size]
        data = data[(size + 3) & ~3 :]
