"""Algorithms in the Linux kernel: loading them, and what is said where that cannot be."""

from __future__ import annotations

import argparse
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import Incast, wait_until
from incast import ScenarioError, kernel
from incast._core import algorithm, algorithms
from incast.cli import doctor
from incast.cli import kernel as cli
from incast.real.kernel import CONTROLS, KernelError, Link, machine, options
from incast.real.kernel.image import ImageError, patched, renamed
from namespaces import network

LINK = Link(base_rtt_ps=400_000_000, line_rate_bps=1_000_000_000)
"""1 Gbps at the sender, with a base RTT of 400 us."""

# SQCC's number of flows is not in TCP.
PARAMETERS = {"sqcc": ["count=estimate"]}

# Nor is a word that an algorithm stores with each packet.
UNTOLD = {("hpcc", "synchronised")}


@pytest.mark.usefixtures("root")
@pytest.mark.xdist_group("kernel")
@pytest.mark.parametrize("known", CONTROLS, ids=lambda known: known.algorithm)
def test_every_object_passes_the_verifier_with_every_preset(known: kernel.Control) -> None:
    found = algorithm(known.algorithm)
    assert found is not None
    parameters = PARAMETERS.get(known.algorithm, [])
    # The verifier knows parameters and path, and follows only what can happen with them.
    paths = (LINK, Link(10_000_000, 400_000_000_000, 4150, 4096))
    for preset in (name for name, _ in found.presets if (known.algorithm, name) not in UNTOLD):
        for link in paths:
            kernel.load(f"{known.algorithm}:{preset}", parameters, link)
            assert [one.selectable for one in kernel.loaded() if one.name == known.name] == [True]
            with pytest.raises(KernelError, match="is loaded already"):
                kernel.load(known.algorithm, parameters, link)
            assert kernel.unload(known.algorithm)
            assert known.name not in [one.name for one in kernel.loaded()]
            assert known.name not in machine.available()


@pytest.mark.usefixtures("root")
@pytest.mark.xdist_group("kernel")
def test_mswift_passes_the_verifier_with_a_limit_of_the_age_too() -> None:
    # Another loop over its 512 samples.
    kernel.load("mswift", ["age_limit=2"], LINK)
    assert kernel.unload("mswift")


@pytest.mark.usefixtures("root")
@pytest.mark.xdist_group("kernel")
def test_what_a_killed_process_leaves_is_listed_and_can_be_unloaded(incast: Incast) -> None:
    code = (
        "import os; from incast import kernel;"
        "kernel.load('oscar:artifact', ['u_ai=0.002'], kernel.Link(10**9, 10**8)); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert incast("kernel", "list").stdout.split() == ["incast_oscar", "loaded"]
    again = incast("kernel", "load", "oscar", "--rtt", "1ms", "--rate", "100Mbps")
    assert (again.returncode, "unload incast_oscar" in again.stderr) == (1, True)
    done = incast("kernel", "unload", "oscar")
    assert (done.returncode, done.stdout) == (0, "incast_oscar is unloaded.\n")
    assert incast("kernel", "list").stderr == "nothing is loaded\n"


@pytest.mark.usefixtures("root")
@pytest.mark.xdist_group("kernel")
def test_connections_keep_what_is_unloaded_until_they_end() -> None:
    kernel.load("swift", [], LINK)
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as sender:
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"incast_swift")
        sender.connect(listener.getsockname())
        receiver, _ = listener.accept()
        with receiver:
            assert not kernel.unload("swift")
            assert [one.selectable for one in kernel.loaded()] == [False]
            with pytest.raises(KernelError, match="disappears with the last connection"):
                kernel.unload("swift")
            # The connection works as before, and another may be loaded meanwhile.
            sender.sendall(bytes(100_000))
            assert len(receiver.recv(100_000, socket.MSG_WAITALL)) == 100_000
            kernel.load("swift", [], LINK)
            assert [one.selectable for one in kernel.loaded()] == [False, True]
    wait_until(lambda: [one.selectable for one in kernel.loaded()] == [True])
    assert kernel.unload("swift")


@pytest.mark.usefixtures("root")
@pytest.mark.xdist_group("kernel")
def test_flows_leave_a_far_shorter_queue_than_one_that_fills_the_buffer() -> None:
    # The link is ten times slower than the sender's. OSCAR's target is 1.5 base RTTs; marks come above 10 KB.
    kernel.load("oscar", [], LINK)
    kernel.load("dctcp", [], LINK)
    with network() as net:
        reno = net.flow("reno", 5_000_000)
        oscar = net.flow("incast_oscar", 5_000_000)
        net.mark(10_000, machine.ready())
        dctcp = net.flow("incast_dctcp", 5_000_000, both=True)
    assert dctcp.ecn
    assert dctcp.marked > 0
    assert not reno.ecn
    for flow in (oscar, dctcp):
        assert flow.rtt_us < reno.rtt_us / 2
        assert flow.window < reno.window / 2
        assert flow.seconds < reno.seconds * 2


RATES = """
import socket, struct, sys, threading, time
listener = socket.create_server(("127.0.0.1", 0))
print("ready", flush=True)
for _ in sys.stdin:
    with socket.create_connection(listener.getsockname()) as c, listener.accept()[0]:
        # The kernel's pacing rate in B/s.
        info = c.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 400)
        print(struct.unpack_from("<Q", info, 104)[0], flush=True)
"""


@pytest.mark.usefixtures("root")
@pytest.mark.xdist_group("kernel")
def test_new_connections_have_the_parameters_of_the_last_loading(incast: Incast) -> None:
    def load(rate: str) -> str:
        done = incast.here("kernel", "load", "constant", "--rtt", "1ms", "--rate", rate)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert load("10Mbps") == "incast_constant is loaded.\n"
    with network() as net:
        enter = ["nsenter", f"--net=/run/netns/{net.sender}"]
        subprocess.run(["ip", "-n", net.sender, "link", "set", "lo", "up", "mtu", "1500"], check=True)
        default = "net.ipv4.tcp_congestion_control=incast_constant"
        subprocess.run([*enter, "sysctl", "-q", default], check=True)
        pipe = subprocess.PIPE
        command = [*enter, sys.executable, "-c", RATES]
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None

            def rate() -> int:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write("\n")
                process.stdin.flush()
                return int(process.stdout.readline())

            assert process.stdout.readline() == "ready\n"
            before = rate()
            # 10 Mbit/s less 90 B of headers in 1538 B.
            assert before == pytest.approx(10**7 / 8 * 1448 / 1538, rel=0.01)
            users = kernel.holders("incast_constant")
            assert users.defaults == (f"the network namespace {net.sender}",)
            assert len(users.listening) == 1
            assert users.whole
            out = incast.here("kernel", "unload", "constant").stdout
            assert f"used by the default of the network namespace {net.sender}" in out
            assert "of this name: the default of" in incast.here("kernel", "list").stdout
            out = load("100Mbps")
            assert f"It is the default of the network namespace {net.sender}: new connections" in out
            assert "These listening sockets had it before" in out
            assert rate() == pytest.approx(10 * before, rel=0.01)
            process.stdin.close()
    assert not kernel.holders("incast_constant")


def test_each_act_names_the_rights_that_it_lacks(able: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rights(*numbers: int) -> None:
        (able / "status").write_text(f"CapEff:\t{sum(1 << number for number in numbers):016x}\n")

    # CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_PERFMON, CAP_BPF.
    for given, load, ask in (
        ((), "CAP_BPF and CAP_PERFMON are missing", "CAP_SYS_ADMIN is missing"),
        ((12, 39), "loading needs root, or CAP_BPF and CAP_PERFMON: CAP_PERFMON is missing", "CAP_SYS_ADMIN"),
        ((12, 38, 39), "", "CAP_SYS_ADMIN is missing"),
        ((21,), "", ""),
    ):
        rights(*given)
        for act, said in ((machine.Act.LOAD, load), (machine.Act.ASK, ask)):
            if said:
                with pytest.raises(KernelError, match=said):
                    machine.ready(act=act)
            else:
                machine.ready(act=act)


def test_parameters_and_path_are_what_the_code_in_the_kernel_reads() -> None:
    link = Link(12_000_000, 100_000_000_000, 1000, 900, base_owd_ps=7_000_000, hops=4)
    data = kernel.setup("dctcp", ["g=0.25", "initial_window=7"], link)
    # Four numbers in units of 2^-32, a flag and a count between them.
    params = struct.unpack_from("<qqq?7xQqq", data)
    one = 1 << 32
    assert params == (one // 4, one, one, False, 7, one, one // 2)
    assert struct.unpack_from("<QQQQQI", data, 56) == (12_000_000, 7_000_000, 10**11, 1000, 900, 4)
    # The base BDP; then a packet, the smallest window and the growth in a round trip.
    assert struct.unpack_from("<Qqqq", data, 104) == (150_000, 1000 * one, 1000 * one, 1000 * one)
    assert len(data) == 136
    # Half of the RTT where nothing else is said.
    assert struct.unpack_from("<Q", kernel.setup("dctcp", [], LINK), 64) == (200_000_000,)


@pytest.mark.parametrize(
    ("name", "parameters", "said"),
    [
        ("dcqcn", [], "there is no 'dcqcn' for the kernel; known: constant, oscar"),
        ("sqcc", [], "add --set count=estimate"),
        ("hpcc:synchronised", [], "hpcc:synchronised needs the signal packet_tag, which TCP lacks"),
        ("swift", ["median=5"], "swift needs a median before its signal"),
        ("nscc", [], "there is no 'nscc' for the kernel"),
    ],
)
def test_what_tcp_does_not_tell_is_refused(name: str, parameters: list[str], said: str) -> None:
    with pytest.raises(KernelError, match=said):
        kernel.setup(name, parameters, LINK)


def test_wrong_parameters_are_told_as_in_scenarios() -> None:
    with pytest.raises(ScenarioError, match="no preset"):
        kernel.setup("oscar:nonsense", [], LINK)
    with pytest.raises(ScenarioError, match="u_ai"):
        kernel.setup("incast_oscar", ["u_ai=2"], LINK)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"base_rtt_ps": 0}, "at most 60s"),
        ({"base_rtt_ps": 61 * 10**12}, "at most 60s"),
        ({"line_rate_bps": 0}, "at most 10Tbps"),
        ({"line_rate_bps": 10**14}, "at most 10Tbps"),
        ({"packet_bytes": 100, "payload_bytes": 100}, "less than the whole packet"),
        ({"packet_bytes": 10**10}, "at most 65573B"),
        ({"base_owd_ps": 10**9}, "a part of the base RTT"),
        ({"hops": 0}, "1 to 255"),
        ({"hops": -1}, "1 to 255"),
        ({"hops": 99_999_999_999}, "1 to 255"),
    ],
)
def test_paths_that_there_cannot_be_are_refused(wrong: dict[str, int], said: str) -> None:
    with pytest.raises(KernelError, match=said):
        Link(**{"base_rtt_ps": 10**9, "line_rate_bps": 10**9} | wrong)


def test_names_fit_the_kernel() -> None:
    every = [name for known in CONTROLS for name in kernel.names(known)]
    assert len(set(every)) == len(every) == 9 * len(CONTROLS)
    assert all(len(name) <= 15 for name in every)
    assert kernel.control("incast_osca3") == kernel.control("oscar")
    with pytest.raises(KernelError, match="cannot be loaded as incast_swift"):
        kernel.load("oscar", (), Link(10**9, 10**9), name="incast_swift")


def test_an_object_is_renamed_wherever_its_name_is_whole() -> None:
    image = b"\x7fELF..incast_oscar\0\0..incast_oscar_start\0..xincast_oscar\0"
    assert renamed(image, "incast_oscar", "incast_osca2") == (
        b"\x7fELF..incast_osca2\0\0..incast_oscar_start\0..xincast_osca2\0"
    )
    with pytest.raises(ImageError, match="has no incast_swift"):
        renamed(image, "incast_swift", "incast_swif2")
    with pytest.raises(ValueError, match="not as long"):
        renamed(image, "incast_oscar", "incast_oscar2")


def test_what_is_built_is_what_can_be_loaded() -> None:
    """The table that ``bpf/build.sh`` reads, against what the compiled core knows."""
    root = Path(__file__).parents[1]
    command = ["cargo", "run", "--quiet", "--locked", "--bin", "kernels", "--manifest-path"]
    listed = subprocess.run(
        [*command, root / "crates/cc/bpf/Cargo.toml"],
        env={**os.environ, "CARGO_TARGET_DIR": str(root / "target/bpf")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert [line.split()[0].replace("_", "-") for line in listed.splitlines()] == [
        known.name for known in algorithms()
    ]
    built = {tuple(line.split()) for line in listed.splitlines() if len(line.split()) > 2}
    kinds = {None: "NONE", options.DELAY: "DELAY", options.TELEMETRY: "TELEMETRY"}
    assert {(module, name, ecn, echo) for module, _, name, ecn, echo in built} == {
        (
            known.algorithm.replace("-", "_"),
            known.name,
            str(int("ecn" in known.signals)),
            kinds[known.option],
        )
        for known in CONTROLS
    }


def little(*values: int) -> bytes:
    """Whole numbers of 64 bits as they lie in memory."""
    return b"".join((value & (1 << 64) - 1).to_bytes(8, "little") for value in values)


def test_internals_are_told_from_the_bytes_of_a_state() -> None:
    path = Link(10**10, 10**8)
    # struct Timely: rate, last RTT in ps, gradient in units of 2^-32, bytes, position, increases in a row.
    state = little(60_000_000, 12 * 10**9, -(1 << 30), 0, 0, 7)
    # Ratio -1/4, time 12 ms, number 7, in the order of its list.
    told = [(0, 3, (1 << 64) - (1 << 30)), (1, 0, 12 * 10**9), (2, 4, 7)]
    before = little(60_000_000, -1, 0, 0, 0, 0)
    found = kernel.internals("timely", (), path, [state + b"what comes after it", before])
    # Before the first RTT there is none to show.
    assert found == [told, [(0, 3, 0), (2, 4, 0)]]
    assert kernel.state_bytes("timely") == kernel.state_bytes("incast_timel2") == len(state)
    with pytest.raises(KernelError, match="a state of timely has 48 bytes"):
        kernel.internals("timely", (), path, [state, state[:-1]])


@pytest.fixture
def able(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine that seems to have all that is needed, with a bpftool that answers what a test wants."""
    for name in ("status", "btf", "available"):
        (tmp_path / name).touch()
    (tmp_path / "status").write_text("Name:\tincast\nCapEff:\t000001ffffffffff\n")
    (tmp_path / "available").write_text("reno cubic\n")
    monkeypatch.setattr(machine, "STATUS", tmp_path / "status")
    monkeypatch.setattr(machine, "BTF", tmp_path / "btf")
    monkeypatch.setattr(machine, "AVAILABLE", tmp_path / "available")
    monkeypatch.setattr(machine, "_PLACES", ())
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("platform.release", lambda: "6.18.1")
    monkeypatch.setenv("PATH", str(tmp_path))
    answers(tmp_path, "[]")
    return tmp_path


def answers(folder: Path, out: str, error: str = "", code: int = 0) -> None:
    tool = folder / "bpftool"
    tool.write_text(f"#!/bin/sh\necho '{out}'\necho '{error}' >&2\nexit {code}\n")
    tool.chmod(0o755)


def refusal(folder: Path) -> str:
    """Returns the reason for which oscar is not loaded, with an object that has all symbols."""
    with pytest.raises(KernelError) as refused:
        kernel.load("oscar", [], LINK, folder)
    return str(refused.value)


def test_every_refusal_says_what_to_do(able: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(able) == (
        f"{able}/oscar.bpf.o is missing: build it with `make bpf`, or name its folder with --objects"
    )
    (able / "oscar.bpf.o").write_bytes(b"\x7fELF")
    assert refusal(able).endswith(
        "does not fit this version of Incast (it is no 64-bit little-endian ELF file): run `make bpf`"
    )
    (able / "available").write_text("reno cubic incast_oscar\n")
    assert refusal(able) == "incast_oscar is loaded already: `incast kernel unload incast_oscar` first"
    (able / "bpftool").unlink()
    assert refusal(able) == "bpftool is missing: install it (Debian: apt install bpftool)"
    (able / "btf").unlink()
    assert "must be built with CONFIG_DEBUG_INFO_BTF=y" in refusal(able)
    (able / "status").write_text("CapEff:\t0000000000000000\n")
    assert "run it with sudo" in refusal(able)
    monkeypatch.setattr("platform.release", lambda: "6.1.0-42-amd64")
    assert refusal(able) == "Linux 6.1.0-42-amd64 is too old: 6.10 or newer is needed"
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    assert "only the Linux kernel" in refusal(able)


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        ("libbpf: struct tcp_congestion_ops is not found in kernel BTF", "CONFIG_BPF_JIT=y"),
        ("Error: can't register struct_ops: Operation not permitted", "seccomp"),
        ("libbpf: failed to register: File exists", "incast kernel list"),
        ("Error: can't unload: Operation now in progress", "waits for the connections"),
        (
            "R1 invalid mem access",
            "the kernel refused it; what bpftool said last:\n    R1 invalid mem access",
        ),
    ],
)
def test_what_bpftool_says_is_explained(able: Path, said: str, meaning: str) -> None:
    answers(able, "", said.replace("'", ""), 1)
    with pytest.raises(KernelError) as refused:
        machine.call(machine.ready(), "struct_ops", "register", "x")
    assert meaning in str(refused.value)


def test_lists_what_is_loaded_and_what_is_being_unloaded(
    able: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = (
        '[{"id": 7, "name": "incast_oscar"}, {"id": 9, "name": "incast_oscar"}, {"id": 8, "name": "other"},'
    )
    answers(able, rows + ' {"id": 3, "name": "incast_ccc"}]')
    (able / "available").write_text("reno incast_oscar\n")
    found = [(one.name, one.id, one.selectable) for one in kernel.loaded()]
    assert found == [("incast_ccc", 3, False), ("incast_oscar", 7, False), ("incast_oscar", 9, True)]
    with pytest.raises(KernelError, match="disappears with the last connection"):
        kernel.unload("ccc")
    with pytest.raises(KernelError, match="incast_swift is not loaded"):
        kernel.unload("swift")
    answers(able, "[]")
    assert cli.unload(argparse.Namespace(algorithm="all")) == 0
    assert capsys.readouterr() == ("", "nothing is loaded\n")
    answers(able, "no json")
    with pytest.raises(KernelError, match="does not understand: no json"):
        kernel.loaded()


def test_doctor_says_whether_the_kernel_takes_algorithms(able: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "OBJECTS", able)
    assert doctor.linux().state == "missing"
    assert doctor.linux().help == "build them in a checkout: make bpf"
    for known in CONTROLS:
        (able / known.object).touch()
    assert (doctor.linux().state, doctor.linux().found) == ("ok", "can load algorithms; loaded: none")
    answers(able, '[{"id": 3, "name": "incast_ccc"}]')
    assert doctor.linux().found == "can load algorithms; loaded: incast_ccc"
    # A container whose profile forbids the system call, and a user without rights.
    answers(able, "", "Error: Operation not permitted", 1)
    assert "seccomp" in doctor.linux().help
    (able / "status").write_text("CapEff:\t0000000000000000\n")
    assert (doctor.linux().state, "run it with sudo" in doctor.linux().help) == ("missing", True)


def test_the_command_says_refusals_in_one_line(incast: Incast) -> None:
    done = incast("kernel", "load", "dcqcn", "--rtt", "1ms", "--rate", "100Mbps")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("incast: there is no 'dcqcn' for the kernel; known: constant, oscar, ")
    assert len(done.stderr.splitlines()) == 1
    for wrong in (("--rtt", "1", "--rate", "1Gbps"), ("--rtt", "1ms", "--rate", "fast"), ("--rtt", "1ms")):
        assert incast("kernel", "load", "oscar", *wrong).returncode == 2


def test_constants_of_an_object_are_replaced(tmp_path: Path) -> None:
    """The patched object, linked with a program that prints them."""
    source = "const volatile unsigned long long before = 1, second = 2, table[3] = {3, 4, 5};"
    compiler = os.environ.get("CC", "cc")
    subprocess.run(
        [compiler, "-xc", "-", "-c", "-o", "a.o"], input=source, text=True, check=True, cwd=tmp_path
    )
    image = (tmp_path / "a.o").read_bytes()
    new = patched(image, {"second": (77).to_bytes(8, "little"), "table": struct.pack("<QQQ", 6, 7, 8)})
    (tmp_path / "b.o").write_bytes(new)
    main = (
        "#include <stdio.h>\nextern const volatile unsigned long long before, second, table[3];"
        'int main(void) { printf("%llu %llu %llu %llu %llu", before, second, table[0], table[1], table[2]); }'
    )
    (tmp_path / "main.c").write_text(main)
    subprocess.run([compiler, "main.c", "b.o", "-o", "show"], check=True, cwd=tmp_path)
    shown = subprocess.run([tmp_path / "show"], capture_output=True, text=True, check=True).stdout
    assert shown == "1 77 6 7 8"
    for values, said in (({"third": b""}, "no third"), ({"second": b"\0"}, "second has 8 bytes, not 1")):
        with pytest.raises(ImageError, match=said):
            patched(image, values)
    with pytest.raises(ImageError, match="cut off"):
        patched(image[:200], {})
    with pytest.raises(ImageError, match="no 64-bit"):
        patched(b"\x7fELF\x01\x01" + image[6:], {})
