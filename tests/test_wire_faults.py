"""Files between namespaces whose network fails for a while, refuses packets, or reports what is not so."""

from __future__ import annotations

import contextlib
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bridged import RECEIVER, Pair, Start, joined
from bridged import lacking as lacking_for_xdp
from helpers import lacking_for_namespaces, run, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sockets use calls of Linux")

Fault = Callable[[Pair], contextlib.AbstractContextManager[None]]


def filtered(enter: list[str], hook: str, rule: str) -> None:
    """Adds a rule for UDP packets that come (`input`) or go (`output`)."""
    text = f"table ip faults {{\n chain {hook} {{\n type filter hook {hook} priority 0;\n{rule}\n}}\n}}\n"
    run(*enter, "nft", "-f", "-", given=text)


# Each fault stands before its `yield`, and what ends it after: the sender waits for the first and sends
# until the second.
@contextlib.contextmanager
def link_down(pair: Pair) -> Iterator[None]:
    run("ip", "-n", pair.sender, "link", "set", "to-b", "down")
    yield
    time.sleep(1)
    run("ip", "-n", pair.sender, "link", "set", "to-b", "up")


def route_away(kind: str) -> Fault:
    @contextlib.contextmanager
    def away(pair: Pair) -> Iterator[None]:
        run("ip", "-n", pair.sender, "route", "add", kind, f"{RECEIVER}/32")
        yield
        time.sleep(0.3)
        run("ip", "-n", pair.sender, "route", "delete", kind, f"{RECEIVER}/32")

    return away


# Filters count packets: a random share of 1 in 1,000 spares a file of 3,400 packets in one run of thirty.
@contextlib.contextmanager
def output_dropped(pair: Pair) -> Iterator[None]:
    filtered(pair.enter(), "output", "ip protocol udp numgen inc mod 100 == 0 drop")
    yield


@contextlib.contextmanager
def prohibited(pair: Pair) -> Iterator[None]:
    rule = "ip protocol udp numgen inc mod 1000 == 0 reject with icmp type admin-prohibited"
    filtered(pair.enter(receiver=True), "input", rule)
    yield


FORGE = """
import socket, struct, sys
near = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
icmp = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
def total(data):
    s = sum(struct.unpack(f">{len(data) // 2}H", data))
    s = (s & 0xffff) + (s >> 16)
    return ~(s + (s >> 16)) & 0xffff
count = 0
while count < int(sys.argv[1]):
    packet = near.recv(2000)
    if packet[9] != 17 or packet[16:20] != socket.inet_aton(sys.argv[2]):
        continue
    said = struct.pack(">BBHHH", 3, 4, 0, 0, 576) + packet[:28]
    icmp.sendto(said[:2] + struct.pack(">H", total(said)) + said[4:], (socket.inet_ntoa(packet[12:16]), 0))
    count += 1
"""
"""Reports for some packets that they are larger than 576 B and need to be cut, which is not so."""


@contextlib.contextmanager
def forged(pair: Pair, count: int = 1) -> Iterator[None]:
    yield
    run(*pair.enter(receiver=True), sys.executable, "-c", FORGE, str(count), RECEIVER)


def forged_often(pair: Pair) -> contextlib.AbstractContextManager[None]:
    return forged(pair, 50)


FAULTS: list[Fault] = [
    link_down,
    *map(route_away, ("unreachable", "prohibit", "blackhole", "throw")),
    output_dropped,
    prohibited,
    forged,
    forged_often,
]
NAMES = [
    "down",
    "unreachable",
    "prohibit",
    "blackhole",
    "throw",
    "dropped",
    "prohibited",
    "forged",
    "forged-often",
]


@pytest.mark.parametrize("fault", FAULTS, ids=NAMES)
def test_a_fault_that_passes_costs_packets_and_not_the_file(
    start: Start, tmp_path: Path, fault: Fault
) -> None:
    if missing := lacking_for_namespaces("ip", "nft", "nsenter"):
        pytest.skip(missing)
    with joined() as pair:
        passes(start, tmp_path, pair, fault)


@pytest.mark.parametrize("fault", [link_down, forged], ids=["down", "forged"])
def test_a_fault_that_passes_costs_packets_and_not_the_file_with_xdp(
    start: Start, tmp_path: Path, fault: Fault
) -> None:
    if missing := lacking_for_xdp():
        pytest.skip(missing)
    with joined() as pair:
        passes(start, tmp_path, pair, fault, "--xdp", "to-b")


def passes(start: Start, folder: Path, pair: Pair, fault: Fault, *words: str) -> None:
    """Sends 5 MB, which takes 2 s at the rate, with a fault after the first 100 KB of them."""
    data = random.Random(1).randbytes(5_000_000)
    (folder / "sent").write_bytes(data)
    waiting = start(pair.enter(receiver=True), "receive", "--out", "arrived", "--wait", "60s")
    path = ("--cc", "constant", "--rtt", "2ms", "--rate", "20Mbps")
    sender = start(pair.enter(), "send", "sent", RECEIVER, *path, *words)
    wait_until(lambda: (folder / ".arrived.incast-part").stat().st_size > 100_000, sender)
    sender.send_signal(signal.SIGSTOP)
    with fault(pair):
        sender.send_signal(signal.SIGCONT)
    out, errors = sender.communicate(timeout=100)
    assert (sender.returncode, errors) == (0, "")
    _, errors = waiting.communicate(timeout=100)
    assert (waiting.returncode, errors) == (0, "")
    assert (folder / "arrived").read_bytes() == data
    # Reports cost nothing: no packet was lost.
    found = re.search(r"([\d,]+) (?:of them )?sent again", out)
    assert found is not None, out
    assert (int(found[1].replace(",", "")) > 0) == (fault not in (forged, forged_often)), out


@contextlib.contextmanager
def _smaller_behind(pair: Pair, mtu: int, reports: bool) -> Iterator[None]:
    """Drops larger packets at the receiver's side, with reports as a router sends them or without."""
    filtered(pair.enter(receiver=True), "input", f"ip protocol udp ip length > {mtu} drop")
    if not reports:
        yield
        return
    router = subprocess.Popen([*pair.enter(receiver=True), sys.executable, "-c", FORGE, "1000000", RECEIVER])
    try:
        yield
    finally:
        router.kill()
        router.wait()


@pytest.mark.parametrize("reports", [True, False], ids=["icmp", "silence"])
def test_packets_too_large_for_the_path_are_named(start: Start, tmp_path: Path, reports: bool) -> None:
    if missing := lacking_for_namespaces("ip", "nft", "nsenter"):
        pytest.skip(missing)
    (tmp_path / "sent").write_bytes(bytes(100_000))
    with joined() as pair, _smaller_behind(pair, 1400, reports):
        waiting = start(pair.enter(receiver=True), "receive", "--out", "arrived", "--wait", "60s")
        path = ("--cc", "constant", "--rtt", "2ms", "--rate", "20Mbps", "--timeout", "2s")
        sender = start(pair.enter(), "send", "sent", RECEIVER, *path)
        _, errors = sender.communicate(timeout=100)
        assert sender.returncode == 1
        if reports:
            assert errors == (
                "incast: packets of 1.538KB on the wire do not fit the path to "
                f"{RECEIVER}:7077: choose smaller packets\n"
            )
        else:
            assert "no packet with data arrived: if packets of 1.538KB on the wire do not fit" in errors
        _, errors = waiting.communicate(timeout=100)
        assert waiting.returncode == 1
        said = "the other side failed" if reports else "the other side heard nothing for too long"
        assert said in errors
        # Smaller ones arrive.
        waiting = start(pair.enter(receiver=True), "receive", "--out", "arrived", "--wait", "60s")
        sender = start(pair.enter(), "send", "sent", RECEIVER, *path, "--packet", "1400B")
        sender.communicate(timeout=100)
        waiting.communicate(timeout=100)
        assert (sender.returncode, waiting.returncode) == (0, 0)
