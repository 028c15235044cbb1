"""Two network namespaces for tests of frames, joined by a link or by a bridge that harms packets."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from helpers import lacking_for_namespaces, run

__all__ = ["Pair", "Passed", "Start", "bridged", "joined", "lacking"]

Start = Callable[..., subprocess.Popen[str]]
"""Starts `incast` with words, entering a namespace: the fixture ``start``."""

SENDER, RECEIVER = "10.78.0.1", "10.78.0.2"


@dataclass(frozen=True)
class Pair:
    """Two namespaces: the interface ``to-b`` of the sender's and ``to-a`` of the receiver's."""

    sender: str
    receiver: str

    def enter(self, receiver: bool = False) -> list[str]:
        """Returns the beginning of a command that runs in one of them."""
        # `ip netns exec` would also mount another /sys.
        return ["nsenter", f"--net=/run/netns/{self.receiver if receiver else self.sender}"]

    def link(self, receiver: bool = False) -> str:
        """Returns the output of `ip link` about the interface."""
        words = ["ip", "-n", self.receiver if receiver else self.sender, "link", "show"]
        words += ["to-a" if receiver else "to-b"]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@dataclass
class Passed:
    """Packets that a bridge saw, once it has ended.

    Attributes:
        packets: UDP datagrams.
        lost: The packets that it dropped.
        late: Those that it passed on after later ones.
        capable: Those that were ECN-capable, by the sender's and by the receiver's side.
        marked: Those that it marked.
        wrong: Those with a wrong sum, with fragments allowed, or with another header than expected.
    """

    packets: int = 0
    lost: int = 0
    late: int = 0
    capable: tuple[int, int] = (0, 0)
    marked: int = 0
    wrong: int = 0


def lacking() -> str:
    """Returns what this machine lacks for AF_XDP between network namespaces; empty if nothing."""
    if missing := lacking_for_namespaces("ip", "nsenter"):
        return missing
    tried = subprocess.run([sys.executable, "-c", _TRY], capture_output=True, text=True, check=False)
    return tried.stdout.strip()


@contextlib.contextmanager
def joined(mtu: int = 1500, queues: int = 1) -> Iterator[Pair]:
    """Two namespaces with a link between them, gone afterwards."""
    with _namespaces("a", "b") as (a, b):
        count = ("numrxqueues", str(queues), "numtxqueues", str(queues))
        link = ("to-b", "netns", a, "mtu", str(mtu), *count, "type", "veth")
        run("ip", "link", "add", *link, "peer", "name", "to-a", "netns", b, "mtu", str(mtu), *count)
        _addresses(a, b)
        yield Pair(a, b)


@contextlib.contextmanager
def bridged(lost: int = 0, late: int = 0, marked: int = 0) -> Iterator[tuple[Pair, Passed]]:
    """Two namespaces with a bridge between them, gone afterwards.

    Args:
        lost: Datagrams of a hundred that it drops, each way.
        late: Datagrams of a hundred that it passes on after up to 20 later ones, or 5 ms without any.
        marked: Datagrams of a hundred that it marks, of those that are ECN-capable.
    """
    with _namespaces("a", "m", "b") as (a, m, b):
        for name, device, peer in ((a, "to-b", "at-a"), (b, "to-a", "at-b")):
            run("ip", "link", "add", device, "netns", name, "type", "veth", "peer", "name", peer, "netns", m)
            run("ip", "-n", m, "link", "set", peer, "up")
            # The kernel writes whole sums: the bridge checks them, and so does the other side.
            run("nsenter", f"--net=/run/netns/{name}", sys.executable, "-c", _NO_OFFLOAD, device)
        _addresses(a, b)
        command = ["nsenter", f"--net=/run/netns/{m}", sys.executable, str(Path(__file__)), str(lost)]
        bridge = subprocess.Popen(
            [*command, str(late), str(marked)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        passed = Passed()
        try:
            assert bridge.stdout is not None
            assert bridge.stdout.readline() == "ready\n"
            yield Pair(a, b), passed
            out, _ = bridge.communicate(timeout=60)
            passed.__dict__.update(json.loads(out))
            passed.capable = (passed.capable[0], passed.capable[1])
        finally:
            bridge.kill()
            bridge.communicate()


@contextlib.contextmanager
def _namespaces(*names: str) -> Iterator[list[str]]:
    made: list[str] = []
    try:
        for name in names:
            made.append(f"incast-xdp-{os.getpid()}-{name}")
            run("ip", "netns", "add", made[-1])
        yield made
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "delete", name], check=False)


def _addresses(a: str, b: str) -> None:
    for name, device, address in ((a, "to-b", SENDER), (b, "to-a", RECEIVER)):
        run("ip", "-n", name, "link", "set", device, "up")
        run("ip", "-n", name, "link", "set", "lo", "up")
        run("ip", "-n", name, "address", "add", f"{address}/24", "dev", device)


_TRY = """
import socket
try:
    socket.socket(44, socket.SOCK_RAW)
except OSError as error:
    print(f"no AF_XDP socket can be made: {error}")
"""

_NO_OFFLOAD = """
import ctypes, fcntl, socket, struct, sys
SIOCETHTOOL, ETHTOOL_STXCSUM = 0x8946, 0x17
wanted = bytearray(struct.pack("<II", ETHTOOL_STXCSUM, 0))
place = ctypes.addressof(ctypes.c_char.from_buffer(wanted))
fcntl.ioctl(socket.socket(), SIOCETHTOOL, struct.pack("<16sQ16x", sys.argv[1].encode(), place))
"""


def _sum(data: bytes) -> int:
    """The sum of RFC 1071: 65535 over what has a right one."""
    total = sum(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data) - 1, 2))
    total += data[-1] << 8 if len(data) % 2 else 0
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def _is_right(frame: bytes) -> bool:
    """Whether a frame with a UDP datagram is as a host writes it."""
    size = int.from_bytes(frame[16:18], "big")
    packet = frame[14 : 14 + size]
    udp = packet[20:]
    return (
        len(packet) == size
        and (frame[14], frame[20] & 0x40, frame[22]) == (0x45, 0x40, 64)
        and _sum(packet[:20]) == 0xFFFF
        and int.from_bytes(udp[4:6], "big") == len(udp)
        and _sum(packet[12:20] + bytes([0, 17]) + udp[4:6] + udp) == 0xFFFF
    )


def _bridge(lost: int, late: int, marked: int) -> None:
    """Passes frames between two interfaces until its input ends, and prints what it did."""
    import random
    import select
    import socket

    sides = []
    for device in ("at-a", "at-b"):
        side = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        side.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
        side.setsockopt(263, 23, 1)  # SOL_PACKET, PACKET_IGNORE_OUTGOING
        side.bind((device, 0))
        sides.append(side)
    draw, seen = random.Random(7), Passed()
    capable = [0, 0]
    held: list[tuple[int, bytes, socket.socket]] = []
    print("ready", flush=True)
    while True:
        readable = select.select([*sides, sys.stdin], [], [], 0.005)[0]
        if sys.stdin in readable:
            break
        for number, side in enumerate(sides):
            if side not in readable:
                continue
            frame, other = side.recv(1 << 14), sides[1 - number]
            if frame[12:14] != b"\x08\x00" or frame[23] != 17:
                other.send(frame)
                continue
            seen.packets += 1
            seen.wrong += not _is_right(frame)
            capable[number] += frame[15] & 3 == 2
            if frame[15] & 3 == 2 and draw.randrange(100) < marked:
                seen.marked += 1
                header = frame[14:15] + bytes([frame[15] | 3]) + frame[16:24] + bytes(2) + frame[26:34]
                total = (0xFFFF - _sum(header)).to_bytes(2, "big")
                frame = frame[:14] + header[:10] + total + header[12:] + frame[34:]
            dice = draw.randrange(100)
            if dice < lost:
                seen.lost += 1
            elif dice < lost + late:
                seen.late += 1
                held.append((draw.randrange(1, 20), frame, other))
            else:
                other.send(frame)
            held = [(packets - 1, one, way) for packets, one, way in held]
        for packets, frame, other in held:
            if packets <= 0 or not readable:
                other.send(frame)
        held = [one for one in held if one[0] > 0] if readable else []
    seen.capable = (capable[0], capable[1])
    print(json.dumps(seen.__dict__))


if __name__ == "__main__":
    _bridge(*map(int, sys.argv[1:]))
