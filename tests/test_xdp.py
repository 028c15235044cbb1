"""Files through AF_XDP sockets, and what stays as it is at an interface that they use."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from bridged import RECEIVER, SENDER, Pair, Start, bridged, joined, lacking
from helpers import Incast, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="AF_XDP is a part of Linux")

PATH = ("--rtt", "2ms", "--rate", "20Mbps")
RIGHTS = "AF_XDP needs root, or CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF, and a container that allows it"


@pytest.fixture
def xdp() -> None:
    """The right to use AF_XDP, and network namespaces."""
    if missing := lacking():
        pytest.skip(missing)


def receiving(start: Start, pair: Pair, *words: str) -> subprocess.Popen[str]:
    """A receiver at port 7077."""
    return start(
        pair.enter(receiver=True), "receive", "--out", "arrived", "--replace", "--wait", "60s", *words
    )


def sending(start: Start, pair: Pair, algorithm: str, *words: str) -> subprocess.Popen[str]:
    """A sender of the file ``sent``."""
    return start(pair.enter(), "send", "sent", RECEIVER, "--cc", algorithm, *PATH, *words)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code, output and messages."""
    out, errors = process.communicate(timeout=100)
    return process.returncode, out, errors


def content(folder: Path, length: int) -> bytes:
    """Returns the content of the file ``sent``."""
    data = random.Random(length).randbytes(length)
    (folder / "sent").write_bytes(data)
    return data


def number(text: str, name: str) -> int:
    """The number before a word: ``1,234 marked``."""
    found = re.search(rf"([\d,]+) (of them )?{name}", text)
    assert found is not None, text
    return int(found[1].replace(",", ""))


@pytest.mark.usefixtures("xdp")
@pytest.mark.parametrize(
    ("sender", "receiver", "algorithm"),
    [
        (True, False, "oscar"),
        (False, True, "newreno"),
        (True, True, "oscar:owd"),
        (True, False, "dctcp"),
        (False, True, "dctcp"),
        (True, True, "dctcp"),
    ],
)
def test_nothing_is_lost_with_5_percent_lost_and_10_percent_late(
    start: Start, tmp_path: Path, sender: bool, receiver: bool, algorithm: str
) -> None:
    data = content(tmp_path, 500_000)
    with bridged(lost=5, late=10, marked=10) as (pair, passed):
        waiting = receiving(start, pair, *(("--xdp", "to-a") if receiver else ()))
        code, out, errors = ended(sending(start, pair, algorithm, *(("--xdp", "to-b") if sender else ())))
        assert (code, errors) == (0, "")
        code, arrived, errors = ended(waiting)
        assert (code, errors) == (0, "")
    assert (tmp_path / "arrived").read_bytes() == data
    # Of 349 packets and as many acknowledgements.
    assert passed.packets > 600
    assert passed.lost > 15
    assert passed.late > 30
    assert number(out, "sent again") > 5
    # Every sum and header is right, whoever wrote it.
    assert passed.wrong == 0
    # Only the sender's packets can be marked, and only with an algorithm that wants it. The bridge marks
    # before it drops 5 %, so most marks arrive; and the sender knows of those acknowledged.
    if algorithm == "dctcp":
        assert passed.capable[0] >= 349
        assert 0.7 * passed.marked <= number(arrived, "marked") <= passed.marked
        assert 0 < number(out, "marked") <= number(arrived, "marked")
    else:
        assert passed.capable[0] == passed.marked == number(arrived, "marked") == number(out, "marked") == 0
    assert passed.capable[1] == 0


@pytest.mark.usefixtures("xdp")
@pytest.mark.parametrize(("sender", "receiver"), [(True, False), (False, True), (True, True)])
def test_every_queue_of_an_interface_is_read(
    start: Start, tmp_path: Path, sender: bool, receiver: bool
) -> None:
    # Which of four queues a packet of the kernel takes follows from its ports. Should five flows all take the
    # first, the test says nothing, but does not fail.
    data = content(tmp_path, 100_000)
    with joined(queues=4) as pair:
        for _ in range(5):
            waiting = receiving(start, pair, *(("--xdp", "to-a") if receiver else ()))
            code, _, errors = ended(sending(start, pair, "swift", *(("--xdp", "to-b") if sender else ())))
            assert (code, errors) == (0, "")
            assert ended(waiting)[0] == 0
            assert (tmp_path / "arrived").read_bytes() == data


PING = """
import os, socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
s.settimeout(20)
s.sendto(struct.pack(">BBHHH", 8, 0, 0xffff - 0x0800 - 0x1234 - 1, 0x1234, 1), (sys.argv[1], 0))
while s.recv(100)[20:] != struct.pack(">BBHHH", 0, 0, 0xffff - 0x1234 - 1, 0x1234, 1):
    pass
"""
"""Sends an ICMP echo and waits for the answer; the checksums fit these eight bytes."""

ECHO = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7078))
t = socket.create_server(("", 7077))
print("ready", flush=True)
data, place = s.recvfrom(4000)
s.sendto(data, place)
c, _ = t.accept()
c.sendall(c.recv(100))
"""
"""Answers one UDP datagram at port 7078 and one TCP connection at port 7077."""

ASK = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(20)
# The one of 3 KB in fragments.
s.sendto(bytes(3000), (sys.argv[1], 7078))
assert s.recv(4000) == bytes(3000)
c = socket.create_connection((sys.argv[1], 7077), timeout=20)
c.sendall(b"hello")
assert c.recv(100) == b"hello"
"""


@pytest.mark.usefixtures("xdp")
def test_everything_else_passes_and_nothing_is_left_after_a_kill(
    start: Start, incast: Incast, tmp_path: Path
) -> None:
    content(tmp_path, 5)

    def python(pair: Pair, code: str) -> None:
        enter = [*pair.enter(), sys.executable, "-c", code, RECEIVER]
        done = subprocess.run(enter, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")

    with joined() as pair:
        assert "xdpgeneric" not in pair.link(receiver=True)
        waiting = receiving(start, pair, "--xdp", "to-a")
        assert "xdpgeneric" in pair.link(receiver=True)
        echo = subprocess.Popen(
            [*pair.enter(receiver=True), sys.executable, "-c", ECHO], stdout=subprocess.PIPE, text=True
        )
        try:
            assert echo.stdout is not None
            assert echo.stdout.readline() == "ready\n"
            python(pair, PING)
            python(pair, ASK)
        finally:
            echo.kill()
            echo.communicate()
        # Only one can have the interface.
        second = start(
            pair.enter(receiver=True), "send", "sent", SENDER, "--cc", "swift", *PATH, "--xdp", "to-a"
        )
        code, _, errors = ended(second)
        assert (code, "another program uses XDP at to-a, and only one can" in errors) == (1, True), errors
        waiting.kill()
        waiting.communicate()
        wait_until(lambda: "xdpgeneric" not in pair.link(receiver=True))
        # The sender, in the middle.
        with (tmp_path / "sent").open("wb") as file:
            file.truncate(500_000_000)
        waiting = receiving(start, pair, "--xdp", "to-a")
        sender = sending(start, pair, "constant", "--xdp", "to-b")
        wait_until(lambda: (tmp_path / ".arrived.incast-part").stat().st_size > 100_000, sender)
        assert "xdpgeneric" in pair.link()
        sender.kill()
        waiting.kill()
        sender.communicate()
        waiting.communicate()
        # What they had is free at once for the next command, which waits for it if it must.
        data = content(tmp_path, 300_000)
        waiting = receiving(start, pair, "--xdp", "to-a")
        assert ended(sending(start, pair, "swift", "--xdp", "to-b"))[0] == 0
        assert ended(waiting)[0] == 0
        assert (tmp_path / "arrived").read_bytes() == data
        wait_until(lambda: "xdpgeneric" not in pair.link() + pair.link(receiver=True))
        # The interface goes away.
        waiting = receiving(start, pair, "--xdp", "to-a")
        subprocess.run(["ip", "-n", pair.receiver, "link", "delete", "to-a"], check=True)
        code, _, errors = ended(waiting)
        assert (code, "the network interface has gone away" in errors) == (1, True), errors


@pytest.mark.usefixtures("xdp")
def test_what_cannot_be_is_said(start: Start, incast: Incast, tmp_path: Path) -> None:
    content(tmp_path, 5000)

    def refused(pair: Pair, *words: str, to: str = RECEIVER) -> str:
        command = ("send", "sent", to, "--cc", "swift", *PATH, "--timeout", "500ms", *words)
        code, out, errors = ended(start(pair.enter(), *command))
        assert (code, out) == (1, "")
        return errors.removeprefix("incast: ").rstrip("\n")

    with joined(mtu=9000) as pair:
        assert refused(pair, "--xdp", "lo").startswith("lo is this machine's loopback")
        assert refused(pair, "--xdp", "eth9") == (
            'there is no network interface named "eth9": `ip link` lists them'
        )
        assert refused(pair, "--xdp", "to-b", to="[fd00::1]") == (
            "AF_XDP is for IPv4 here, and fd00::1 is an address of IPv6"
        )
        assert "is an address of this machine" in refused(pair, "--xdp", "to-b", to=SENDER)
        assert "Network is unreachable" in refused(pair, "--xdp", "to-b", to="192.0.2.1")
        assert refused(pair, "--xdp", "to-b", to="10.78.0.77").startswith("no machine at to-b answers for")
        assert refused(pair, "--xdp", "to-b", "--packet", "9038B") == (
            "a frame of AF_XDP holds packets of at most 3.864KB on the wire, not 9.038KB: choose smaller ones"
        )
        assert refused(pair, "--xdp", "to-b", "--packet", "9039B").startswith("a packet on the wire has 103B")
        assert refused(pair, "--xdp", "to-b") == f"no answer within 500ms: nothing listens at {RECEIVER}:7077"
        # A receiver whose frames are too small for the packets of a sender with UDP sockets: both say so.
        waiting = receiving(start, pair, "--xdp", "to-a")
        assert refused(pair, "--packet", "9038B").startswith(
            "the other side failed; its own message says why"
        )
        code, _, errors = ended(waiting)
        # 4096 without 256 that the kernel keeps, 42 of headers and 36 of the format.
        assert (code, "here at most 3.762KB can arrive in one" in errors) == (1, True), errors
        # A second interface, down; up, without an address; on no way.
        link = ("ip", "-n", pair.sender, "link")
        subprocess.run([*link, "add", "other", "type", "veth", "peer", "name", "unused"], check=True)
        assert refused(pair, "--xdp", "other") == "other is down: `ip link set other up`"
        subprocess.run([*link, "set", "other", "up"], check=True)
        assert (
            refused(pair, "--xdp", "other") == f"packets to {RECEIVER} leave through to-b, not through other"
        )
        here = incast.words("receive", "--out", "arrived", "--xdp")
        refusals: list[tuple[tuple[str, ...], str]] = [
            (("other",), "other has no IPv4 address"),
            (("to-b", "--bind", "127.0.0.1"), f"127.0.0.1 is no address of to-b, which has {SENDER}"),
            (("to-b", "--bind", "::"), "AF_XDP is for IPv4 here, and :: is an address of IPv6"),
        ]
        for words, said in refusals:
            done = subprocess.run(
                [*pair.enter(), *here, *words], cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert (done.returncode, done.stderr) == (1, f"incast: {said}\n")
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o777)
            nobody = (
                # Python's own modules may be out of this user's reach: what is imported on use comes first.
                "import fcntl, os; from incast import wire; os.setuid(65534)\n"
                f"wire.receive({f'{folder}/arrived'!r}, 7077, xdp='to-b')"
            )
            done = subprocess.run(
                [*pair.enter(), sys.executable, "-c", nobody], capture_output=True, text=True, check=False
            )
        assert RIGHTS in done.stderr
