"""Signals that come to the algorithms in the kernel with a TCP option: one-way delays and telemetry."""

from __future__ import annotations

import itertools
import json
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import Incast
from incast import kernel
from incast.real.kernel import KernelError, Link, machine, options
from namespaces import network

SLOW = Link(base_rtt_ps=4_000_000_000, line_rate_bps=200_000_000)
"""A base RTT of 4 ms, with which small queues of this machine's are no congestion."""

TELEMETRY = Link(base_rtt_ps=1_000_000_000, line_rate_bps=200_000_000)

pytestmark = pytest.mark.xdist_group("kernel")


def attached() -> list[int]:
    """Numbers of the programs for TCP options in the kernel."""
    programs = json.loads(machine.call(machine.ready(), "--json", "prog", "show") or "[]")
    return [one["id"] for one in programs if one.get("name") == "incast_options"]


def detach() -> None:
    """Takes the programs for TCP options away, and leaves the congestion control."""
    for number in attached():
        options._apart('"$1" cgroup detach cgroup sock_ops id "$2"', [machine.ready(), str(number)])


@pytest.mark.usefixtures("root")
def test_a_queue_on_the_way_back_is_in_round_trips_and_not_in_one_way_delays() -> None:
    seconds = {}
    for name, answered in (("oscar", True), ("oscar:owd", True), ("oscar:owd", False)):
        kernel.load(name, [], SLOW)
        if not answered:
            detach()
        # 20 KB at 20 Mbps: 8 ms, above the target of 1.5 base RTTs whatever the way there is like.
        with network() as net, net.queue_on_the_way_back("20mbit", 20_000):
            seconds[name, answered] = net.flow("incast_oscar", 1_000_000).seconds
        assert kernel.unload("oscar")
    assert seconds["oscar:owd", True] < seconds["oscar", True] / 3
    # Where nobody answers, as on another machine, round trips take the place of one-way delays.
    assert seconds["oscar:owd", True] < seconds["oscar:owd", False] / 3


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("name", ["hpcc", "powertcp"])
def test_telemetry_and_nothing_else_keeps_the_queue_short(name: str) -> None:
    known = kernel.load(name, [], TELEMETRY)
    with network() as net:
        # The window at the start, a base BDP, is 2.5 times that of the slow link at this base RTT: it stays.
        without = net.flow(known.name, 3_000_000)
        net.stamp(100_000, machine.ready())
        told = net.flow(known.name, 3_000_000)
    assert told.rtt_us < without.rtt_us / 4
    assert told.seconds < without.seconds * 2
    assert told.window < without.window


def experiment(packet: bytes) -> tuple[int, bytes]:
    """The payload of a TCP segment over IPv4 in bytes, and its option of kind 253 (empty: none)."""
    header = 14 + 4 * (packet[14] & 15)
    data = header + 4 * (packet[header + 12] >> 4)
    at, end = header + 20, data
    while at < end and packet[at] != 0:
        if packet[at] == 1:
            at += 1
            continue
        if packet[at] == 253:
            return len(packet) - data, packet[at : at + packet[at + 1]]
        at += packet[at + 1]
    return len(packet) - data, b""


@pytest.mark.usefixtures("root")
def test_answers_have_what_left_the_port() -> None:
    kernel.load("hpcc", [], TELEMETRY)
    with network() as net:
        net.stamp(100_000, machine.ready())
        with net.captured() as packets:
            net.flow("incast_hpcc", 500_000)
    # What passed the port before each packet, in bytes: everything that comes.
    passed = {0}
    answers = []
    requests = total = 0
    for outgoing, packet in packets:
        if not outgoing:
            total += len(packet)
            passed.add(total)
        if packet[12:14] != b"\x08\x00" or packet[23] != socket.IPPROTO_TCP:
            continue
        payload, option = experiment(packet)
        if outgoing and option:
            assert option[:8] == b"\xfd\x18\x1c\xa5\x7e\x1e\1\1"
            answers.append(struct.unpack_from(">IIII", option, 8))
        elif not outgoing:
            # In every segment with payload and in no other, with a record that is yet to be written.
            assert len(packet) <= 1514
            assert (len(option) > 0) == (payload > 0)
            if option:
                assert option[:8] == b"\xfd\x18\x1c\xa5\x7e\x1e\0\0"
                requests += 1
    assert requests > 300
    assert len(answers) > requests / 2
    assert {rate for *_, rate in answers} == {100_000}
    assert all(queue <= 300_000 for _, queue, _, _ in answers)
    # The port's counter before a packet is what had come out of it until then, from some start.
    counters = [transmitted for _, _, transmitted, _ in answers]
    assert counters == sorted(counters)
    offsets = {counters[0] - at for at in passed}
    assert any(all(counter - offset in passed for counter in counters) for offset in offsets)
    # In the time on its clock no more comes out than the rate permits (to a tenth) and is saved up (20 KB).
    for (first, _, sent, _), (last, _, more, _) in itertools.pairwise(answers[:: len(answers) // 10]):
        seconds = (last - first) % 2**32 / 1e9
        assert (more - sent) * 8 <= 1.1 * seconds * 100e6 + 20_000 * 8


@pytest.mark.usefixtures("root")
def test_programs_for_options_go_with_their_algorithm(incast: Incast) -> None:
    load = ("kernel", "load", "hpcc", "--rtt", "1ms", "--rate", "100Mbps")
    assert incast(*load).returncode == 0
    assert incast("kernel", "load", "oscar:owd", *load[3:]).returncode == 0
    assert len(attached()) == 2
    assert incast("kernel", "unload", "hpcc").returncode == 0
    assert len(attached()) == 1
    assert incast("kernel", "unload", "all").returncode == 0
    assert attached() == []
    # Without one-way delays nothing is attached.
    assert incast("kernel", "load", "oscar", *load[3:]).returncode == 0
    assert attached() == []
    assert incast("kernel", "list").stdout.split() == ["incast_oscar", "loaded"]


@pytest.mark.usefixtures("root")
def test_what_a_killed_process_leaves_of_options_is_cleared(incast: Incast) -> None:
    # Killed between the congestion control and its option.
    code = (
        "import os; from incast import kernel;"
        "kernel.options.attach = lambda *_: os.kill(os.getpid(), 9);"
        "kernel.load('powertcp', [], kernel.Link(10**9, 10**8))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert "only partly loaded: it has no signals; unload it" in incast("kernel", "list").stdout
    assert incast("kernel", "unload", "powertcp").returncode == 0
    # Killed between unloading the congestion control and the program for its option.
    kernel.load("powertcp", [], TELEMETRY)
    for _, number in machine.registered():
        machine.call(machine.ready(), "struct_ops", "unregister", "id", str(number))
    assert len(attached()) == 1
    assert incast("kernel", "list").stderr == "nothing is loaded\n"
    assert attached() == []


@pytest.mark.usefixtures("root")
def test_an_object_that_does_not_fit_leaves_nothing_loaded(tmp_path: Path) -> None:
    for name in ("hpcc.bpf.o", "options.bpf.o"):
        (tmp_path / name).write_bytes((kernel.OBJECTS / name).read_bytes())
    (tmp_path / "options.bpf.o").write_bytes(b"\x7fELF")
    with pytest.raises(KernelError, match=r"options\.bpf\.o does not fit this version of Incast"):
        kernel.load("hpcc", [], TELEMETRY, tmp_path)
    assert kernel.loaded() == []
    (tmp_path / "options.bpf.o").unlink()
    with pytest.raises(KernelError, match=r"options\.bpf\.o is missing"):
        kernel.load("hpcc", [], TELEMETRY, tmp_path)
    assert kernel.loaded() == []


def test_the_option_takes_its_room_from_the_payload() -> None:
    # 1448 B less 12 for one-way delays and 24 for telemetry: the path is at the same place in both setups.
    for name, payload in (("oscar", 1448), ("oscar:owd", 1436), ("hpcc", 1424)):
        data = kernel.setup(name, [], TELEMETRY)
        assert (1538).to_bytes(8, "little") + payload.to_bytes(8, "little") in data
    with pytest.raises(KernelError, match="needs a payload above 24B"):
        kernel.setup("hpcc", [], Link(10**9, 10**9, packet_bytes=60, payload_bytes=24))


def test_a_list_that_changes_while_it_is_made_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    said = ['{"error":"get by id (7): No such file or directory"}'] * 2

    def call(bpftool: str, *words: str) -> str:
        if said:
            raise KernelError(said.pop())
        return '[{"id": 8}]'

    monkeypatch.setattr(options, "call", call)
    assert options._ask("bpftool", "prog", "show") == [{"id": 8}]
    said.append("get by id (8): No such file or directory")
    with pytest.raises(KernelError, match="get by id"):
        options._ask("bpftool", "prog", "show", "id", "8")
