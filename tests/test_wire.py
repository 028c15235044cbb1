"""Files over the network: what arrives is what was sent, and what is said where that cannot be."""

from __future__ import annotations

import io
import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from helpers import Incast, Terminal, lacking_for_namespaces, wait_until
from incast import ScenarioError, kernel, wire
from incast._core import read_quantity
from incast.cli.wire import Line, changed, place, rate, receiving, seconds, sending, size
from incast.real.kernel import KernelError, machine
from incast.real.wire import Route, WireError
from namespaces import ADDRESS, Network, network

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sockets use calls of Linux")

ROUTE = Route(base_rtt_ps=10**9, line_rate_bps=100_000_000)
PATH = ("--rtt", "1ms", "--rate", "100Mbps")


def message(length: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(length)


@dataclass
class Waiting:
    """A process that receives, and its port."""

    process: subprocess.Popen[str]
    port: int

    def end(self) -> tuple[int, str, str]:
        """Its exit code, and what it says after where it waits."""
        out, errors = self.process.communicate(timeout=60)
        return self.process.returncode, out, errors


Start = Callable[..., Waiting]


@pytest.fixture
def receive(tmp_path: Path) -> Iterator[Start]:
    """Starts `incast receive`."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str, enter: tuple[str, ...] = ()) -> Waiting:
        command = [*enter, *Incast(tmp_path).words("receive", "--port", "0", "--wait", "60s", *words)]
        process = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("waiting at "), line + process.stderr.read()
        return Waiting(process, int(line.rpartition(":")[2]))

    yield start
    for process in started:
        process.kill()
        process.communicate()


class Relay:
    """Passes packets on between whoever wrote first and a port; each way 5 % are lost, 10 % late."""

    def __init__(self, port: int) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.settimeout(0.005)
        self.port: int = self._socket.getsockname()[1]
        self._to = ("127.0.0.1", port)
        self.lost = 0
        self.late = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._pass)
        self._thread.start()

    def _pass(self) -> None:
        draw = random.Random(7)
        first = self._to
        held: list[list[Any]] = []
        while not self._over.is_set():
            try:
                packet, writer = self._socket.recvfrom(9000)
            except TimeoutError:
                due = len(held)
            else:
                if writer != self._to:
                    first = writer
                other = first if writer == self._to else self._to
                dice = draw.randrange(100)
                if dice < 5:
                    self.lost += 1
                elif dice < 15:
                    self.late += 1
                    held.append([draw.randrange(1, 20), packet, other])
                else:
                    self._socket.sendto(packet, other)
                for one in held:
                    one[0] -= 1
                held.sort(key=lambda one: int(one[0]))
                due = sum(one[0] <= 0 for one in held)
            for _, packet, other in held[:due]:
                self._socket.sendto(packet, other)
            del held[:due]

    def close(self) -> None:
        self._over.set()
        self._thread.join()
        self._socket.close()


@pytest.mark.parametrize(("algorithm", "length"), [("swift", 2_000_000), ("oscar:owd", 0), ("dctcp", 1)])
def test_what_arrives_is_what_was_sent(
    incast: Incast, receive: Start, tmp_path: Path, algorithm: str, length: int
) -> None:
    (tmp_path / "sent").write_bytes(message(length))
    waiting = receive("--out", "arrived")
    done = incast.here("send", "sent", f"127.0.0.1:{waiting.port}", "--cc", algorithm, *PATH)
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.splitlines()
    assert first.startswith(f"sent: {size(length)} in ")
    assert "sent again" in second
    code, out, errors = waiting.end()
    assert (code, errors) == (0, "")
    assert out.startswith(f"arrived: {size(length)} from 127.0.0.1:")
    assert (tmp_path / "arrived").read_bytes() == message(length)
    assert {path.name for path in tmp_path.iterdir()} >= {"sent", "arrived"}
    assert not (tmp_path / ".arrived.incast-part").exists()


@pytest.mark.parametrize("algorithm", ["oscar", "newreno"])
def test_nothing_is_lost_with_5_percent_lost_and_10_percent_late(
    incast: Incast, receive: Start, tmp_path: Path, algorithm: str
) -> None:
    content = message(700_000)
    (tmp_path / "sent").write_bytes(content)
    waiting = receive("--out", "arrived")
    relay = Relay(waiting.port)
    try:
        done = incast.here("send", "sent", f"127.0.0.1:{relay.port}", "--cc", algorithm, *PATH)
    finally:
        relay.close()
    assert (done.returncode, done.stderr) == (0, "")
    assert waiting.end()[0] == 0
    assert (tmp_path / "arrived").read_bytes() == content
    # Of five hundred packets each way.
    assert relay.lost > 20
    assert relay.late > 40


def lacking() -> str:
    """Returns what this machine lacks for network namespaces; empty if nothing."""
    return lacking_for_namespaces("ip", "tc", "nsenter")


def test_a_file_from_one_namespace_to_another(incast: Incast, receive: Start, tmp_path: Path) -> None:
    if missing := lacking():
        pytest.skip(missing)
    content = message(3_000_000)
    (tmp_path / "sent").write_bytes(content)
    smoothed = {}

    def sent(net: Network, algorithm: str, *words: str) -> str:
        enter = ("nsenter", f"--net=/run/netns/{net.receiver}")
        waiting = receive("--out", "arrived", "--replace", enter=enter)
        done = subprocess.run(
            [
                *("nsenter", f"--net=/run/netns/{net.sender}"),
                *incast.words("send", "sent", f"{ADDRESS}:{waiting.port}", "--cc", algorithm),
                *("--rtt", "400us", "--rate", "1Gbps", *words),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert waiting.end()[0] == 0
        assert (tmp_path / "arrived").read_bytes() == content
        (tmp_path / "arrived").write_bytes(b"")
        return done.stdout

    # The link is ten times slower than the sender's, before it are at most 300 KB: a window of 250 KB fills
    # most of that, which is 20 ms.
    with network() as net:
        for algorithm, words in {"constant": ("--set", "window=250KB"), "oscar": (), "swift": ()}.items():
            text = sent(net, algorithm, *words).partition("smoothed RTT ")[2].partition(";")[0]
            smoothed[algorithm] = read_quantity("time", text)
        marks = kernel.OBJECTS / "mark.bpf.o"
        try:
            bpftool = machine.ready() if marks.exists() else None
        except KernelError:
            bpftool = None
        if bpftool is not None:
            net.mark(10_000, bpftool)
            marked = int(sent(net, "dctcp").rpartition(" timeouts, ")[2].split()[0].replace(",", ""))
            assert marked > 10
    assert smoothed["oscar"] < smoothed["constant"] / 2
    assert smoothed["swift"] < smoothed["constant"] / 2


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_each_side_is_told_when_the_other_is_stopped(
    incast: Incast, receive: Start, tmp_path: Path, sent: signal.Signals
) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(500_000_000)
    words = ("--cc", "constant", "--rtt", "1ms", "--rate", "20Mbps")

    def begun(waiting: Waiting) -> bool:
        assert waiting.process.poll() is None
        return (tmp_path / ".arrived.incast-part").stat().st_size > 100_000

    # The sender is stopped.
    waiting = receive("--out", "arrived")
    process = incast.start("send", "large", f"127.0.0.1:{waiting.port}", *words)
    wait_until(lambda: begun(waiting), process)
    process.send_signal(sent)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors.strip()) == (130, "incast: stopped")
    code, _, errors = waiting.end()
    assert (code, "the other side was stopped (from 127.0.0.1:" in errors) == (1, True)
    assert not (tmp_path / "arrived").exists()
    assert not (tmp_path / ".arrived.incast-part").exists()
    # The receiver is.
    waiting = receive("--out", "arrived")
    process = incast.start("send", "large", f"127.0.0.1:{waiting.port}", *words)
    wait_until(lambda: begun(waiting), process)
    waiting.process.send_signal(sent)
    assert waiting.end()[0] == 130
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (
        1,
        f"incast: the other side was stopped (of 127.0.0.1:{waiting.port})\n",
    )
    assert not (tmp_path / ".arrived.incast-part").exists()


def test_what_a_killed_receiver_leaves_is_cleared(incast: Incast, receive: Start, tmp_path: Path) -> None:
    waiting = receive("--out", "arrived")
    second = incast.here("receive", "--port", "0", "--out", "arrived")
    assert (second.returncode, "another process receives the same file" in second.stderr) == (1, True)
    waiting.process.kill()
    waiting.process.communicate()
    assert (tmp_path / ".arrived.incast-part").exists()
    (tmp_path / ".arrived.incast-part").write_bytes(bytes(1000))
    (tmp_path / "sent").write_bytes(b"hello")
    waiting = receive("--out", "arrived")
    assert incast.here("send", "sent", f"127.0.0.1:{waiting.port}", "--cc", "swift", *PATH).returncode == 0
    assert waiting.end()[0] == 0
    assert (tmp_path / "arrived").read_bytes() == b"hello"
    assert not (tmp_path / ".arrived.incast-part").exists()


def test_a_receiver_of_another_version_is_named(incast: Incast, tmp_path: Path) -> None:
    (tmp_path / "sent").write_bytes(b"hello")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as newer:
        newer.bind(("127.0.0.1", 0))
        newer.settimeout(30)
        process = incast.start("send", "sent", f"127.0.0.1:{newer.getsockname()[1]}", "--cc", "swift", *PATH)
        begin, sender = newer.recvfrom(9000)
        # Magic, version, kind, sum, connection: the first three and the last are the same in all versions.
        assert begin[:4] == b"\x1c\xa5\x01\x01"
        newer.sendto(b"\x1c\xa5\x07\x2a????" + begin[8:16] + b"whatever", sender)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "the other side speaks version 7 of the format, this one version 1" in errors


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(WireError) as caught:
        call()
    return str(caught.value)


def test_what_cannot_be_is_said_before_anything_runs(incast: Incast, tmp_path: Path) -> None:
    file = tmp_path / "sent"
    file.write_bytes(b"hello")

    def send(algorithm: str = "swift", route: Route = ROUTE, path: Path = file) -> Callable[[], object]:
        return lambda: wire.send(path, "127.0.0.1", 9, algorithm, route)

    assert refused(send("powertcp")) == (
        "powertcp needs the signal int: no switch on the path writes telemetry into the packets"
    )
    assert "count=estimate" in refused(send("sqcc"))
    assert "hop_delay" in refused(send("poseidon"))
    assert "no such file" in refused(send(path=tmp_path / "none")).lower()
    assert "no regular file" in refused(send(path=tmp_path))
    assert "103B to 9038B here, not 100B" in refused(send(route=Route(10**9, 10**8, packet_bytes=100)))
    assert "10ms to 1h" in refused(lambda: wire.send(file, "127.0.0.1", 9, "swift", ROUTE, patience_ps=1))
    with pytest.raises(ScenarioError, match="nothing"):
        send("nothing")()
    with pytest.raises(ScenarioError, match="betta"):
        wire.send(file, "127.0.0.1", 9, "swift", ROUTE, ["betta=1"])
    for wrong in (
        {"base_rtt_ps": 0},
        {"line_rate_bps": 10**14},
        {"base_owd_ps": 10**9},
        {"hops": 0},
        {"packet_bytes": 1 << 16},
    ):
        with pytest.raises(WireError):
            Route(**{"base_rtt_ps": 10**9, "line_rate_bps": 10**8, **wrong})
    assert '"nowhere.invalid"' in refused(lambda: wire.send(file, "nowhere.invalid", 9, "swift", ROUTE))
    assert "exists already" in refused(lambda: wire.receive(file, 0))
    assert "is a folder" in refused(lambda: wire.receive(tmp_path, 0, replace=True))
    assert "No such file" in refused(lambda: wire.receive(tmp_path / "none/arrived", 0))
    assert "0 to 65535, not 65536" in refused(lambda: wire.receive(tmp_path / "new", 65536))
    nobody = incast.here("send", file, "127.0.0.1:9", "--cc", "swift", *PATH, "--timeout", "100ms")
    assert (nobody.returncode, nobody.stderr) == (
        1,
        "incast: no answer within 100ms: nothing listens at 127.0.0.1:9\n",
    )
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("0.0.0.0", 0))
        port = taken.getsockname()[1]
        busy = refused(lambda: wire.receive(tmp_path / "new", port))
    assert f"nothing can be received at 0.0.0.0:{port}: Address already in use" in busy
    alone = refused(lambda: wire.receive(tmp_path / "new", 0, wait_ps=10**10))
    assert "no sender began at 0.0.0.0:" in alone
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sent"]


def test_a_file_that_becomes_shorter_is_named(receive: Start, tmp_path: Path) -> None:
    file = tmp_path / "sent"
    file.write_bytes(message(2_000_000))
    waiting = receive("--out", "arrived")

    def shorten(now: object) -> None:
        file.write_bytes(b"")

    error = refused(lambda: wire.send(file, "127.0.0.1", waiting.port, "swift", ROUTE, report=shorten))
    assert error.endswith("sent: the file has become shorter during the transfer")
    assert "the other side failed" in waiting.end()[2]


def test_a_file_that_grows_is_sent_as_it_was(incast: Incast, receive: Start, tmp_path: Path) -> None:
    file, content = tmp_path / "sent", message(2_000_000)
    file.write_bytes(content)
    waiting = receive("--out", "arrived")
    # 2 MB at 20 Mbps take 0.8 s.
    path = ("--cc", "constant", "--rtt", "1ms", "--rate", "20Mbps")
    process = incast.start("send", "sent", f"127.0.0.1:{waiting.port}", *path)
    wait_until(lambda: (tmp_path / ".arrived.incast-part").stat().st_size > 100_000, process)
    with file.open("ab") as end:
        end.write(b"more")
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (
        0,
        "incast: sent had 2,000,000B at the beginning, which were sent, and now has 2,000,004B\n",
    )
    assert out.startswith("sent: 2MB in ")
    code, out, errors = waiting.end()
    assert (code, errors) == (0, "")
    assert out.startswith("arrived: 2MB from ")
    assert (tmp_path / "arrived").read_bytes() == content
    # One that is written to in place.
    waiting = receive("--out", "arrived", "--replace")

    def write(now: wire.Sending) -> None:
        with file.open("r+b") as start:
            start.write(b"other")

    done = wire.send(file, "127.0.0.1", waiting.port, "swift", ROUTE, report=write)
    assert (done.size_bytes, done.changed_to_bytes) == (2_000_004, 2_000_004)
    assert waiting.end()[0] == 0
    assert "can have old and new parts" in changed(5, 5)


@pytest.mark.parametrize("name", ["/proc/cpuinfo", "/sys/kernel/mm/transparent_hugepage/enabled"])
def test_a_file_whose_reported_size_is_wrong_arrives_whole(
    incast: Incast, receive: Start, tmp_path: Path, name: str
) -> None:
    try:
        content = Path(name).read_bytes()
    except OSError:
        pytest.skip(f"there is no {name}")
    assert Path(name).stat().st_size != len(content) > 0
    waiting = receive("--out", "arrived")
    done = incast.here("send", name, f"127.0.0.1:{waiting.port}", "--cc", "swift", *PATH)
    assert (done.returncode, done.stderr) == (0, "")
    assert waiting.end()[0] == 0
    arrived = (tmp_path / "arrived").read_bytes()
    # The frequencies of processors change.
    varying = b"cpu MHz"
    lines = [[line for line in one.splitlines() if varying not in line] for one in (content, arrived)]
    assert lines[0] == lines[1]


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "no regular file" in refused(lambda: wire.send(tmp_path / "pipe", "127.0.0.1", 9, "swift", ROUTE))


def test_a_report_that_raises_stops_the_transfer(receive: Start, tmp_path: Path) -> None:
    file = tmp_path / "sent"
    file.write_bytes(message(2_000_000))
    waiting = receive("--out", "arrived")

    def raises(now: object) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        wire.send(file, "127.0.0.1", waiting.port, "swift", ROUTE, report=raises)
    assert waiting.end()[0] == 1


def test_places_rates_and_sizes() -> None:
    assert place("server") == ("server", 7077)
    assert place("10.0.0.2:80") == ("10.0.0.2", 80)
    assert place("[fe80::1%eth0]:80") == ("fe80::1%eth0", 80)
    assert [rate(125_000, 1), rate(1, 1), rate(10**9, 2), rate(5, 0)] == ["1Mbps", "8bps", "4Gbps", "0bps"]
    assert [size(999), size(12_345), size(7 * 10**9)] == ["999B", "12.3KB", "7GB"]
    # Never with an exponent.
    assert (rate(999_600_000, 8), size(999_999), seconds(0.9999)) == ("1000Mbps", "1000KB", "1000ms")


@pytest.mark.parametrize("wrong", ["::1", "a:b", "a:1:2", "", "a:123456"])
def test_no_place(incast: Incast, wrong: str) -> None:
    done = incast.here("send", "sent", wrong, "--cc", "swift", *PATH)
    assert (done.returncode, "HOST:PORT" in done.stderr) == (2, True)


def test_the_line_shows_rate_rtt_and_window() -> None:
    now = SimpleNamespace(
        size_bytes=10_000_000,
        acknowledged_bytes=1_000_000,
        elapsed_s=1.0,
        window_bytes=45_678,
        rtt_ps=123_456_789,
        resent=0,
    )
    stream, times = Terminal(), iter([0.0, 0.05, 1.0])
    line: Line[Any] = Line(sending, stream, lambda: next(times))
    with line:
        line(now)
        line(now)
        line(SimpleNamespace(**{**vars(now), "acknowledged_bytes": 3_500_000, "elapsed_s": 2.0, "resent": 7}))
    _, first, second, last = stream.getvalue().split("\r\x1b[2K")
    assert first == " 10 %  8Mbps  RTT 123us  window 45.7KB  9 s left"
    # 2.5 MB in the second since then; the call in between came too soon.
    assert second == " 35 %  20Mbps  RTT 123us  window 45.7KB  7 sent again  4 s left"
    assert last == ""
    assert Line(cast(Any, receiving), io.StringIO())(now) is None


def test_the_line_of_a_receiver() -> None:
    now = SimpleNamespace(sender="10.0.0.1:5", size_bytes=0, received_bytes=0, elapsed_s=0.0)
    assert receiving(cast(Any, now), 0, 0.0) == ("from 10.0.0.1:5  100 %  0bps", 0)
