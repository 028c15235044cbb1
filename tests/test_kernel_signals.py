"""Signals that come to the algorithms in the kernel with a TCP option: one-way delays and telemetry."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import statistics
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers import Incast
from incast import kernel
from incast.real.kernel import KernelError, Link, machine, options
from namespaces import Network, network

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
    windows = {}
    for name, answered in (("oscar", True), ("oscar:owd", True), ("oscar:owd", False)):
        kernel.load(name, [], SLOW)
        if not answered:
            detach()
        # 20 KB at 20 Mbps: 8 ms, above the target of 1.5 base RTTs whatever the way there is like.
        with network() as net, net.queue_on_the_way_back("20mbit", 20_000):
            # Windows and not seconds: a window that falls takes more or less time with the machine's load.
            flows = [net.flow("incast_oscar", 300_000) for _ in range(3)]
        windows[name, answered] = statistics.median(flow.window for flow in flows)
        assert kernel.unload("oscar")
    assert windows["oscar:owd", True] > 3 * windows["oscar", True]
    # Where nobody answers, as on another machine, round trips take the place of one-way delays.
    assert windows["oscar:owd", True] > 3 * windows["oscar:owd", False]


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


IDLES = """
import json, socket, struct, sys, threading, time
control, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
found = {}

def acknowledged(s):
    return struct.unpack_from("<Q", s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 400), 120)[0]

def after(idle):
    with socket.socket() as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        s.connect((address, port))
        s.sendall(bytes(100_000))
        while acknowledged(s) < 100_000:
            time.sleep(0.001)
        time.sleep(idle)
        s.setblocking(False)
        end = time.monotonic() + 0.4
        while time.monotonic() < end:
            try:
                s.send(bytes(20_000))
            except BlockingIOError:
                time.sleep(0.001)
        found[idle] = acknowledged(s) - 100_000

over = threading.Event()

def others():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        # 40 Mbit/s, of which no idle of 50 ms could be left.
        while not over.wait(0.002):
            for _ in range(10):
                s.sendto(bytes(958), (address, 9))

threads = [threading.Thread(target=after, args=(float(idle),)) for idle in sys.argv[4:]]
threads.append(threading.Thread(target=others))
for thread in threads:
    thread.start()
for thread in threads[:-1]:
    thread.join()
over.set()
print(json.dumps(found))
"""
"""Sends on a connection for each idle, beside 40 Mbit/s of others; bytes in the 0.4 s after the idle."""

DRAIN = """
import socket, threading
listener = socket.create_server(("", 7077))
print("ready", flush=True)

def drain(connection):
    while connection.recv(1 << 16):
        pass

while True:
    threading.Thread(target=drain, args=(listener.accept()[0],), daemon=True).start()
"""


@contextlib.contextmanager
def drained(net: Network) -> Iterator[list[str]]:
    """Takes what comes to port 7077 of the receiver; yields what begins a command at the sender."""
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    enter = ["nsenter", f"--net=/run/netns/{net.receiver}"]
    drain = subprocess.Popen([*enter, sys.executable, "-c", DRAIN], stdout=pipe, stderr=nothing, text=True)
    try:
        assert drain.stdout is not None
        assert drain.stdout.readline() == "ready\n"
        yield ["nsenter", f"--net=/run/netns/{net.sender}"]
    finally:
        drain.kill()
        drain.communicate()


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("name", ["hpcc", "powertcp"])
def test_the_clock_of_telemetry_goes_on_over_any_idle(name: str) -> None:
    known = kernel.load(name, [], TELEMETRY)
    # 50 ms beyond once, twice, three times 2^32 ns = 4.295 s. If 4.35 s passed for 55 ms, the bytes of others
    # would be 79 times as many as 40 Mbit/s make, far above the link's 100: the window would be one packet.
    idles = ["1", "4.35", "8.64", "12.93"]
    with network() as net:
        net.stamp(100_000, machine.ready())
        with drained(net) as enter:
            command = [*enter, sys.executable, "-c", IDLES, known.name, "10.77.0.2", "7077", *idles]
            found = dict.fromkeys(map(float, idles), 0)
            # A busy machine sends less now and then; a clock that is wrong is wrong each time.
            for _ in range(3):
                done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
                for idle, sent in json.loads(done.stdout).items():
                    found[float(idle)] = max(found[float(idle)], sent)
                if found[1.0] > 500_000 and min(found.values()) > found[1.0] / 2:
                    break
    assert found[1.0] > 500_000, found
    assert min(found.values()) > found[1.0] / 2, found


def test_records_are_continued_beyond_their_32_bits(tmp_path: Path) -> None:
    """The functions of ``bpf/echo.h``, compiled for this machine, against sums of whole numbers."""
    source = Path(__file__).parents[1] / "bpf" / "echo.h"
    main = (
        f'#include <stdio.h>\n#include "{source}"\n'
        "int main(void) { unsigned long long kind, last, elapsed, record;"
        'while (scanf("%llu %llu %llu %llu", &kind, &last, &elapsed, &record) == 4)'
        'printf("%llu\\n", (unsigned long long)(kind ? continued_count(last, record, elapsed) :'
        " continued_time(last, elapsed, record))); }"
    )
    (tmp_path / "main.c").write_text(main)
    subprocess.run([os.environ.get("CC", "cc"), "main.c", "-o", "continued"], check=True, cwd=tmp_path)
    wrap, second = 1 << 32, 10**9
    lines, expected = [], []
    for last in (wrap + 5, 3 * wrap - 1, 7 * wrap + second):
        # Idles below the wrap, 1 ms about it, beyond it up to an hour; records that come a second sooner or
        # later than our clock says, or are older than the last one.
        for idle in (0, 1, second, *(n * wrap + off for n in (1, 2, 3, 838) for off in (-(10**6), 0, 10**6))):
            for late in (-second, -1, 0, 1, second):
                time = last + idle + late
                lines.append(f"0 {last} {idle} {time % wrap}")
                expected.append(time)
        for more in (0, 1, wrap - 1):
            lines.append(f"1 {last} 1 {(last + more) % wrap}")
            expected.append(last + more)
        lines.append(f"1 {last} 0 {(last - 1538) % wrap}")
        expected.append(last - 1538)
    done = subprocess.run(
        ["./continued"], input="\n".join(lines), cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert [int(line) for line in done.stdout.split()] == expected


LEAVES = """
import socket, sys, time
s = socket.socket()
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"incast_hpcc")
s.connect(("10.77.0.2", 7077))
for control in (b"incast_hpcc", b"reno", b"incast_hpcc"):
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control)
    s.sendall(control * 100)
    time.sleep(0.2)
"""


@pytest.mark.usefixtures("root")
def test_a_connection_that_leaves_an_algorithm_has_its_option_no_more() -> None:
    kernel.load("hpcc", [], TELEMETRY)
    with network() as net, drained(net) as enter, net.captured() as packets:
        subprocess.run([*enter, sys.executable, "-c", LEAVES], timeout=60, check=True)
    has: dict[bytes, set[bool]] = {}
    for outgoing, packet in packets:
        if not outgoing and packet[12:14] == b"\x08\x00" and packet[23] == socket.IPPROTO_TCP:
            payload, option = experiment(packet)
            for control in (b"incast_hpcc", b"reno"):
                if payload and control in packet[-payload:]:
                    has.setdefault(control, set()).add(len(option) > 0)
    assert has == {b"incast_hpcc": {True}, b"reno": {False}}


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
