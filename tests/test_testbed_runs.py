"""Testbeds that really run: rates, queues, marks, delays, two at once, and what a killed one leaves.

They need root, iproute2, bpftool and what `make bpf` builds; where something is missing they are skipped.
Numbers are compared as ratios, because the machine does other things too.
"""

from __future__ import annotations

import itertools
import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import incast
from helpers import Incast, wait_until
from incast import kernel, testbed
from incast.kernel import KernelError
from incast.kernel import machine as kernel_machine
from incast.testbed import TestbedError, controls, flows, machine
from incast.testbed.network import _HOST, Network
from incast.testbed.plan import Plan
from incast.testbed.telemetry import Record, Tap, payload, record

STAR = """\
topology = { kind = "star", hosts = 3, rate = "100Mbps", delay = "5us" }
switch = { buffer = { per_port = "200KB" } }
cc = { algorithm = "newreno" }

[[traffic]]
name = "two"
kind = "flows"
from = ["h0", "h1"]
to = "h2"
size = "2MB"

[probe]
ports = ["to h2"]
flows = ["two"]
interval = "1ms"

[run]
until = "20s"
"""
"""Two flows onto one port, of 16.9 ms each alone."""

MARKS = ("switch.ecn={ kmin = '20KB', kmax = '20KB', pmax = 1 }",)


def lacking() -> str:
    """What this machine lacks; empty if nothing."""
    try:
        machine.check(marks=True)
        for name in ("bpftool", "sh", "sed"):
            if shutil.which(name) is None and name != "bpftool":
                return f"{name} is missing"
    except (KernelError, TestbedError) as error:
        return str(error)
    needed = [kernel.OBJECTS / "mark.bpf.o", *(kernel.OBJECTS / known.object for known in kernel.CONTROLS)]
    return "" if all(path.exists() for path in needed) else "the objects are not built: make bpf"


@pytest.fixture(autouse=True)
def root() -> Iterator[None]:
    """The right to make testbeds; nothing is left of them."""
    missing = lacking()
    if missing:
        pytest.skip(missing)
    testbed.clear()
    if kernel.loaded():
        pytest.skip("something is loaded already, which may be in use: incast kernel unload all")
    yield
    testbed.clear()
    wait_until(lambda: not kernel.loaded())


pytestmark = pytest.mark.xdist_group("kernel")


def scenario(*overrides: str) -> incast.Scenario:
    return incast.Scenario.from_toml(STAR, "star.toml", overrides)


def marking_programs() -> int:
    """How many programs that mark are in the kernel: each holds its device, and that its namespace."""
    shown = kernel_machine.call(kernel_machine.ready(), "--json", "prog", "show")
    return sum(row.get("name") == "incast_mark" for row in json.loads(shown))


def mounted() -> list[str]:
    """What is mounted in the tree in which a testbed mounts for itself."""
    return [
        line for line in Path("/proc/mounts").read_text().splitlines() if line.split()[1].startswith("/sys")
    ]


def goodput(result: incast.Result) -> float:
    """Payload that arrived per second while flows ran, in bit/s."""
    flows = result.flows
    return float(flows.column("acked_bytes").sum()) * 8e12 / float(flows.column("finish_ps").max())


def incast_open(folder: Path) -> incast.Result:
    return incast.Result.open(folder)


def mean_queue(result: incast.Result) -> float:
    """The mean queue while both flows ran, in bytes."""
    series = result.port("to h2")
    return float(np.mean(series.queue_bytes[series.time_ps < result.flows.column("finish_ps").min()]))


def test_two_flows_share_a_link_of_its_rate() -> None:
    result = testbed.run(scenario())
    assert result.end == "finished"
    assert result.flows.column("acked_bytes").tolist() == [2_000_000, 2_000_000]
    # 1000 of 1054 bytes are payload. Faster it cannot be, but for a bucket of 20 KB of 4 MB.
    assert 0.5 < goodput(result) / (100e6 * 1000 / 1054) < 1.02
    rows = result.ports
    port = (rows.column("node") == "s0") & (rows.column("peer") == "h2")
    sent = int(rows.column("transmitted_bytes")[port][0])
    packets = int(result.flows.column("packets").sum()) - int(rows.column("dropped_packets").sum())
    # The payload and 54 B for each packet, and nothing else of size goes that way.
    assert 4_000_000 + 4000 * 54 <= sent <= packets * 1054 + 2000
    assert result.info["testbed"]["controls"] == {"newreno:rfc": "reno"}
    assert marking_programs() == 0


def test_marks_keep_the_queue_shorter() -> None:
    full = testbed.run(scenario())
    marked = testbed.run(scenario(*MARKS, "cc.algorithm=dctcp"))
    assert marked.flows.column("marked_packets").min() > 0
    assert full.flows.column("marked_packets").max() == 0
    assert mean_queue(marked) < mean_queue(full) / 2
    # The port counts the marks that the senders are told of, and perhaps some that are not.
    told = int(marked.flows.column("marked_packets").sum())
    assert 0 < told <= int(marked.ports.column("marked_packets").sum()) * 1.05
    wait_until(lambda: marking_programs() == 0)


def test_telemetry_keeps_the_queue_shorter() -> None:
    full = testbed.run(scenario())
    told = testbed.run(scenario("cc.algorithm=powertcp"))
    assert told.end == "finished"
    assert mean_queue(told) < mean_queue(full) / 2
    # Without telemetry it would not open its window.
    assert goodput(told) > goodput(full) / 4


@pytest.mark.parametrize("switch", ["kernel", "user"])
def test_packets_carry_what_the_port_had(switch: str) -> None:
    taps: list[Tap] = []
    # Windows of 125 KB each at the start, so that there is a queue.
    result = testbed.run(
        scenario("cc.algorithm=hpcc", "transport.base_rtt=10ms"),
        switch=switch,
        standing=lambda plan, network: taps.append(Tap(plan, network, 2)),
    )
    # What passed the port before each frame, in bytes: everything that came.
    passed = {0}
    total = segments = 0
    records: list[Record] = []
    for packet in taps[0].read():
        bytes_ = payload(packet.frame)
        found = record(packet.frame)
        if packet.outgoing:
            records += [found] if found else []
            # Acknowledgements have no payload, and nothing else leaves.
            assert bytes_ == 0
        else:
            total += len(packet.frame)
            passed.add(total)
            segments += bool(bytes_)
            assert found is None
    assert 0.9 * segments < len(records) <= segments
    assert {(of.option_bytes, of.rate_bps) for of in records} == {(24, 100_000_000)}
    counters = [of.transmitted_bytes for of in records]
    offsets = {counters[0] - at for at in sorted(passed)[:50]}
    assert any(all(counter - offset in passed for counter in counters) for offset in offsets)
    peak = result.peak_queue_bytes("to h2")
    assert 5_000 < max(of.queue_bytes for of in records) <= peak * (1.3 if switch == "kernel" else 1)
    # In the time on its clock no more comes out than the rate permits and is saved up, 20 KB or nothing. In
    # the model a packet begins when the one before has ended.
    saved = 20_000 if switch == "kernel" else 0
    first, last = records[0], records[-1]
    seconds = (last.at_ns - first.at_ns) % 2**32 / 1e9
    assert (counters[-1] - counters[0]) * 8 <= 1.01 * seconds * 100e6 + saved * 8
    if switch == "user":
        for one, two in itertools.pairwise(records):
            spent = (two.transmitted_bytes - one.transmitted_bytes) * 80
            assert (two.at_ns - one.at_ns) % 2**32 >= spent - 1


def test_connections_that_got_no_memory_get_it_with_their_first_segment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What a socket may have for such things, for each network namespace since Linux 6.8.
    limit = "core/optmem_max"
    monkeypatch.setitem(_HOST, limit, 1000)
    before: list[int] = []

    def standing(_: Plan, made: Network) -> None:
        for host in made.hosts:
            host.set({limit: 131_072})

    def connected(of: Plan, made: Network) -> list[flows.Connection]:
        connections = connect(of, made)
        before.extend(connection.begun.window for connection in connections)
        return connections

    connect = flows.connect
    monkeypatch.setattr(flows, "connect", connected)
    # A base BDP of 125 KB, 119 packets: that is the window at the start.
    result = testbed.run(scenario("cc.algorithm=powertcp", "transport.base_rtt=10ms"), standing=standing)
    if before == [119, 119]:
        pytest.skip("this kernel has one such limit for all namespaces")
    assert before == [10, 10]
    assert result.end == "finished"
    assert result.flow_series.column("window_bytes").max() > 60 * 1054
    # And its telemetry: windows come down to where the queue is short.
    assert result.flow_series.column("window_bytes").min() < 119 * 1054 / 1.5


def test_telemetry_works_over_links_with_delay() -> None:
    far = scenario("cc.algorithm=powertcp", "topology.delay=1ms")
    result, simulated = testbed.run(far), far.run()
    assert result.info["testbed"]["switch"] == "user"
    ratio = result.flows.column("fct_ps").max() / simulated.flows.column("fct_ps").max()
    assert 0.8 < ratio < 3
    full = testbed.run(scenario("topology.delay=1ms"))
    assert mean_queue(result) < mean_queue(full) / 2


def test_a_switch_in_user_space_delays_and_marks() -> None:
    far = scenario(*MARKS, "cc.algorithm=dctcp", "topology.delay=2ms")
    result = testbed.run(far)
    assert result.end == "finished"
    assert result.info["testbed"]["switch"] == "user"
    # Nothing is faster than light: four delays of 2 ms, and the transmissions.
    rtts = result.flow_series.column("rtt_ps")
    base = int(result.flows.column("base_rtt_ps")[0])
    assert base > 8 * 10**9
    assert np.min(rtts) >= 8 * 10**9
    assert result.flows.column("slowdown").min() >= 1
    assert 0.3 < goodput(result) / (100e6 * 1000 / 1054) < 1
    # Every packet that was acknowledged as marked was marked at the port to h2 and nowhere else.
    ports = result.ports
    port = (ports.column("node") == "s0") & (ports.column("peer") == "h2")
    assert ports.column("marked_packets")[~port].max() == 0
    told = int(result.flows.column("marked_packets").sum())
    assert 0 < told <= int(ports.column("marked_packets")[port][0])
    # As far from the simulation as a busy machine may make it, but the same thing.
    simulated = far.run()
    ratio = result.flows.column("fct_ps").max() / simulated.flows.column("fct_ps").max()
    assert 0.8 < ratio < 3


def test_a_dumbbell_shares_its_middle() -> None:
    text = STAR.replace("hosts = 3", "left = 2, right = 2, bottleneck_rate = '50Mbps'").replace(
        "star", "dumbbell"
    )
    text = text.replace('to = "h2"', 'to = ["h2", "h3"]').replace("to h2", "s0->s1").replace("2MB", "1MB")
    for switch in ("kernel", "user"):
        result = testbed.run(incast.Scenario.from_toml(text, "bell.toml"), switch=switch)
        assert result.end == "finished"
        assert 0.3 < goodput(result) / (50e6 * 1000 / 1054) < 1.05
        assert result.peak_queue_bytes("s0->s1") > 20_000


def test_the_command_saves_a_result_that_others_read(tmp_path: Path, incast: Incast) -> None:
    (tmp_path / "star.toml").write_text(STAR)
    done = incast("testbed", "star.toml", "--simulate", "--out", "real")
    assert done.returncode == 0, done.stderr
    assert "distance from the simulation" in done.stdout
    assert "mean FCT" in done.stdout
    (simulated,) = (tmp_path / "incast-results" / "star").iterdir()
    assert incast.here("show", "real").returncode == 0
    assert incast.here("report", "real", simulated, "--out", "both.html").returncode == 0
    assert "Distance of the testbed" in (tmp_path / "both.html").read_text()


def test_algorithms_are_compared_on_a_testbed(tmp_path: Path, incast: Incast) -> None:
    (tmp_path / "star.toml").write_text(STAR.replace('"2MB"', '"300KB"'))
    done = incast("compare", "star.toml", "--cc", "oscar,newreno,constant", "--testbed", "--out", "all")
    assert "constant failed:" in done.stderr
    assert done.returncode == 1
    assert "2 of 3 algorithms ran" in done.stdout
    rows = {line.split("  ")[0] for line in done.stdout.splitlines()}
    assert {"OSCAR", "New Reno"} <= rows
    for name in ("oscar", "newreno"):
        assert "testbed" in incast_open(tmp_path / "all" / name).info


def test_what_a_killed_testbed_leaves_is_gone_after_the_next(tmp_path: Path) -> None:
    (tmp_path / "star.toml").write_text(STAR.replace('"2MB"', '"100MB"'))
    words = [sys.executable, "-m", "incast", "testbed", "star.toml", "--quiet", "--out", "real", "--fresh"]
    for change in (*MARKS, "cc.algorithm=dctcp"):
        words += ["--set", change]
    mounts = mounted()
    draws = random.Random(5)
    loaded = 0
    for turn in range(5):
        # Every second one with the switch in user space.
        delay = ["--set", f"topology.delay={'1ms' if turn % 2 else '5us'}"]
        process = subprocess.Popen([*words, *delay], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        try:
            # Killed at random moments from its start to the middle of its flows, it has loaded something now
            # and then; the last one certainly.
            if turn == 4:
                wait_until(lambda: "incast_dctcp" in kernel_machine.available(), process)
            else:
                time.sleep(draws.uniform(0.2, 1.6))
        finally:
            process.kill()
            process.communicate()
        loaded += "incast_dctcp" in kernel_machine.available()
        testbed.clear()
        assert "incast_dctcp" not in [one.name for one in kernel.loaded()]
        assert list(controls.FOLDER.glob("*")) == []
        # With the process its namespaces go, and with them devices, their queues, and the programs on them.
        wait_until(lambda: marking_programs() == 0)
    assert loaded > 0
    assert mounted() == mounts
    assert testbed.run(scenario("cc.algorithm=dctcp", *MARKS)).end == "finished"


def test_two_at_once_do_not_touch(tmp_path: Path) -> None:
    (tmp_path / "star.toml").write_text(STAR.replace('"2MB"', '"1MB"'))

    def start(name: str, *changes: str) -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "incast", "testbed", "star.toml", "--quiet", "--out", name]
        for change in changes:
            words += ["--set", change]
        return subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True)

    runs = {
        "reno": start("reno"),
        "first": start("first", "cc.algorithm=oscar"),
        # The same algorithm is loaded with the path of one testbed at a time: this one waits.
        "second": start("second", "cc.algorithm=oscar", "topology.rate=50Mbps"),
        "far": start("far", "topology.delay=1ms"),
    }
    said = {name: process.communicate(timeout=60)[1] for name, process in runs.items()}
    assert {name: process.returncode for name, process in runs.items()} == dict.fromkeys(runs, 0), said
    for name in runs:
        result = incast.Result.open(tmp_path / name)
        assert (result.end, result.flows.column("acked_bytes").tolist()) == ("finished", [1_000_000] * 2)
    assert kernel.loaded() == []


def test_an_interrupted_testbed_keeps_its_result(tmp_path: Path) -> None:
    def stop(progress: incast.Progress) -> None:
        if progress.now_ps > 10**11:
            raise KeyboardInterrupt

    with pytest.raises(incast.Interrupted) as stopped:
        testbed.run(scenario("traffic.two.size=100MB"), tmp_path / "real", progress=stop)
    result = stopped.value.result
    assert (result.end, len(result.flows)) == ("interrupted", 2)
    assert incast.Result.open(tmp_path / "real").end == "interrupted"
