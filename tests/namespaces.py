"""TCP flows of this machine's own kernel, between two network namespaces with a slow link between them."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from helpers import run, wait_until
from incast import kernel
from incast.real.kernel.image import patched

__all__ = ["Flow", "Network", "network"]

ADDRESS = "10.77.0.2"
PORT = 7077


@dataclass(frozen=True)
class Flow:
    """Outcome of a flow.

    Attributes:
        seconds: From its first byte to the end of the receiver's.
        rtts_us: The kernel's smoothed RTT while it sent, each millisecond or so.
        windows: Its congestion window in packets then.
        ecn: Whether both ends agreed on ECN.
        marked: Packets that were acknowledged with a mark.
    """

    seconds: float
    rtts_us: list[int]
    windows: list[int]
    ecn: bool
    marked: int

    @property
    def rtt_us(self) -> float:
        """The median RTT of the later half, when slow start is over."""
        return median(self.rtts_us[len(self.rtts_us) // 2 :])

    @property
    def window(self) -> float:
        """The median window of the later half."""
        return median(self.windows[len(self.windows) // 2 :])


class Network:
    """Two namespaces, `sender` and `receiver`, and the link between them."""

    def __init__(self, sender: str, receiver: str) -> None:
        self.sender = sender
        self.receiver = receiver

    def mark(self, above: int, bpftool: str) -> None:
        """Marks packets that find more than ``above`` bytes before the slow link."""
        constants = {"incast_mark_above": above.to_bytes(8, "little")}
        with _pinned("mark.bpf.o", constants, (bpftool, "prog", "load")) as pinned:
            _attach(self.sender, "to-b", "egress", pinned)

    def stamp(self, rate_kbps: int, bpftool: str) -> None:
        """Writes telemetry of the slow link, whose rate this is, into packets that leave its queue."""
        constants = {"incast_port_kbps": rate_kbps.to_bytes(4, "little")}
        with _pinned("stamp.bpf.o", constants, (bpftool, "prog", "loadall")) as pinned:
            _attach(self.sender, "to-b", "egress", f"{pinned}/incast_port")
            _attach(self.receiver, "to-a", "ingress", f"{pinned}/incast_stamp")

    @contextlib.contextmanager
    def queue_on_the_way_back(self, rate: str, limit: int) -> Iterator[None]:
        """Keeps a queue of ``limit`` bytes before a link of this rate on the way back full of packets."""
        tc = (*_enter(self.receiver), "tc", "qdisc")
        run(*tc, "add", "dev", "to-a", "root", "tbf", "rate", rate, "burst", "3000", "limit", str(limit))
        flood = subprocess.Popen([*_enter(self.receiver), sys.executable, "-c", _FLOOD])
        try:
            yield
        finally:
            flood.kill()
            flood.wait()
            run(*tc, "delete", "dev", "to-a", "root")

    @contextlib.contextmanager
    def captured(self) -> Iterator[list[tuple[bool, bytes]]]:
        """The packets of the receiver's device, in the list when this ends: whether they go out, and bytes.

        Those that come are captured before telemetry is written into them.
        """
        with tempfile.TemporaryDirectory() as folder:
            ready, file = Path(folder) / "ready", Path(folder) / "packets"
            command = [*_enter(self.receiver), sys.executable, "-c", _CAPTURE, str(ready), str(file)]
            capture = subprocess.Popen(command, stdin=subprocess.PIPE)
            packets: list[tuple[bool, bytes]] = []
            try:
                wait_until(ready.exists)
                yield packets
                capture.communicate(timeout=60)
                data = file.read_bytes()
            finally:
                capture.kill()
                capture.wait()
        while data:
            end = 5 + int.from_bytes(data[:4], "little")
            packets.append((data[4] == socket.PACKET_OUTGOING, data[5:end]))
            data = data[end:]

    def flow(self, control: str, size: int, both: bool = False) -> Flow:
        """Sends ``size`` bytes under a congestion control.

        Args:
            control: Its name in the kernel.
            size: Bytes.
            both: Whether the receiver takes it too, as those with ECN need.
        """
        listener = subprocess.Popen(
            [*_enter(self.receiver), sys.executable, "-c", _RECEIVER, control if both else "", str(PORT)],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert listener.stdout is not None
            assert listener.stdout.readline() == "ready\n"
            done = subprocess.run(
                [*_enter(self.sender), sys.executable, "-c", _SENDER, control, ADDRESS, str(PORT), str(size)],
                capture_output=True,
                text=True,
                timeout=120,
                check=True,
            )
            assert listener.stdout.readline() == f"{size}\n"
        finally:
            listener.kill()
            listener.communicate()
        return Flow(**json.loads(done.stdout))


@contextlib.contextmanager
def network(rate: str = "100mbit", limit: int = 300_000) -> Iterator[Network]:
    """A network with a queue of `limit` bytes before a link of this rate, gone afterwards."""
    here = f"incast-{os.getpid()}"
    a, b = f"{here}-a", f"{here}-b"
    made = []
    try:
        for name in (a, b):
            run("ip", "netns", "add", name)
            made.append(name)
        run("ip", "link", "add", "to-b", "netns", a, "type", "veth", "peer", "name", "to-a", "netns", b)
        for name, device, address in ((a, "to-b", "10.77.0.1"), (b, "to-a", ADDRESS)):
            # One packet is one segment: queues and marks are those of packets.
            run("ip", "-n", name, "link", "set", device, "gso_max_segs", "1", "up")
            run("ip", "-n", name, "address", "add", f"{address}/24", "dev", device)
        # Acknowledgements at once, also for one packet in flight.
        run("ip", "-n", b, "route", "change", "10.77.0.0/24", "dev", "to-a", "src", ADDRESS, "quickack", "1")
        tc = (*_enter(a), "tc", "qdisc", "add", "dev", "to-b", "root")
        run(*tc, "tbf", "rate", rate, "burst", "20000", "limit", str(limit))
        # The sender's kernel writes whole checksums, which the receiver's then checks.
        run(*_enter(a), sys.executable, "-c", _NO_OFFLOAD, "to-b")
        yield Network(a, b)
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "delete", name], check=False)


@contextlib.contextmanager
def _pinned(program: str, constants: dict[str, bytes], load: tuple[str, ...]) -> Iterator[str]:
    """Loads a program into the kernel with these constants in it, and pins it.

    Args:
        program: The file of its object.
        constants: The values of its constants.
        load: The command that loads it, to which file and place are added.

    Yields:
        Where it is pinned until the block ends.
    """
    image = (kernel.OBJECTS / program).read_bytes()
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile(suffix=".o") as file:
        file.write(patched(image, constants))
        file.flush()
        run("mount", "-t", "bpf", "bpf", folder)
        try:
            run(*load, file.name, f"{folder}/program")
            yield f"{folder}/program"
        finally:
            run("umount", folder)


def _attach(name: str, device: str, side: str, pinned: str) -> None:
    """Runs a pinned program for the packets of one direction of a device in a namespace."""
    tc = (*_enter(name), "tc")
    run(*tc, "qdisc", "add", "dev", device, "clsact")
    run(*tc, "filter", "add", "dev", device, side, "bpf", "da", "pinned", pinned)


def _enter(name: str) -> list[str]:
    # `ip netns exec` would give the command another /sys, where what is pinned is not to be seen.
    return ["nsenter", f"--net=/run/netns/{name}"]


_NO_OFFLOAD = """
import ctypes, fcntl, socket, struct, sys
SIOCETHTOOL, ETHTOOL_STXCSUM = 0x8946, 0x17
wanted = bytearray(struct.pack("<II", ETHTOOL_STXCSUM, 0))
place = ctypes.addressof(ctypes.c_char.from_buffer(wanted))
request = struct.pack("<16sQ16x", sys.argv[1].encode(), place)
fcntl.ioctl(socket.socket(), SIOCETHTOOL, request)
"""

_FLOOD = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("10.77.0.1", 9))
while True:
    for _ in range(10):
        try:
            s.send(bytes(958))
        except OSError:
            pass
    time.sleep(0.001)
"""

_CAPTURE = """
import select, socket, struct, sys
from pathlib import Path
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
s.bind(("to-a", 0))
Path(sys.argv[1]).touch()
with open(sys.argv[2], "wb") as file:
    while True:
        readable = select.select([s, sys.stdin], [], [])[0]
        if s in readable:
            packet, (_, _, kind, *_) = s.recvfrom(1 << 16)
            file.write(struct.pack("<IB", len(packet), kind) + packet)
        elif readable:
            break
"""

_RECEIVER = """
import socket, sys
listener = socket.create_server(("", int(sys.argv[2])))
if sys.argv[1]:
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[1].encode())
print("ready", flush=True)
connection, _ = listener.accept()
total = 0
while data := connection.recv(1 << 16):
    total += len(data)
connection.sendall(b"x")
print(total, flush=True)
"""

_SENDER = """
import json, socket, struct, sys, threading, time
control, address, port, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
s = socket.socket()
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
s.settimeout(100)
s.connect((address, port))
rtts, windows, over = [], [], threading.Event()

def info():
    return s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 400)

def watch():
    while not over.wait(0.001):
        now = info()
        rtts.append(struct.unpack_from("<I", now, 68)[0])
        windows.append(struct.unpack_from("<I", now, 80)[0])

watcher = threading.Thread(target=watch)
start = time.monotonic()
watcher.start()
s.sendall(bytes(size))
s.shutdown(socket.SHUT_WR)
assert s.recv(1) == b"x"
seconds = time.monotonic() - start
over.set()
watcher.join()
last = info()
ecn = bool(last[5] & 8)
marked = struct.unpack_from("<I", last, 196)[0]
print(json.dumps(dict(seconds=seconds, rtts_us=rtts, windows=windows, ecn=ecn, marked=marked)))
"""
