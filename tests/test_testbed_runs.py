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
from blocks import block, joined, star, traffic
from helpers import Incast, wait_until
from incast import _core, captures, kernel, testbed
from incast.real.kernel import KernelError
from incast.real.kernel import machine as kernel_machine
from incast.real.testbed import TestbedError, controls, flows, machine
from incast.real.testbed import captures as taps
from incast.real.testbed.network import _HOST, Network
from incast.real.testbed.plan import Plan
from incast.real.testbed.telemetry import Record, payload, record
from testbeds import three_paths

STAR = joined(
    star(3, "100Mbps", "5us", switch={"buffer": {"per_port": "200KB"}}, cc={"algorithm": "newreno"}),
    traffic("two", ["h0", "h1"], "h2", size="2MB"),
    block("[probe]", ports=["to h2"], flows=["two"], interval="1ms"),
    block("[run]", until="20s"),
)
"""Two flows onto one port, of 16.9 ms each alone."""

MARKS = ("switch.ecn={ kmin = '20KB', kmax = '20KB', pmax = 1 }",)


def lacking() -> str:
    """Returns what this machine lacks; empty if nothing."""
    try:
        machine.check(marks=True)
        for name in ("sh", "sed"):
            if shutil.which(name) is None:
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


def programs(name: str) -> int:
    """Returns the number of programs of a name in the kernel."""
    shown = kernel_machine.call(kernel_machine.ready(), "--json", "prog", "show")
    return sum(row.get("name") == name for row in json.loads(shown))


def marking_programs() -> int:
    """Returns the number of marking programs in the kernel: each holds its device and namespace."""
    return programs("incast_mark")


def mounted() -> list[str]:
    """Returns the mounts in the tree in which a testbed mounts its own."""
    return [
        line for line in Path("/proc/mounts").read_text().splitlines() if line.split()[1].startswith("/sys")
    ]


def goodput(result: incast.Result) -> float:
    """Payload that arrived per second while flows ran, in bit/s."""
    flows = result.flows
    return float(flows.column("acked_bytes").sum()) * 8e12 / float(flows.column("finish_ps").max())


def incast_open(folder: Path) -> incast.Result:
    return incast.Result.open(folder)


def as_simulated(of: incast.Scenario) -> incast.Result:
    """A run whose last flow ends when it does in the simulator: on a busy machine, one of several."""
    expected = of.run().flows.column("fct_ps").max()
    ratios = []
    for _ in range(5):
        result = testbed.run(of)
        ratios.append(float(result.flows.column("fct_ps").max() / expected))
        if 0.9 < ratios[-1] < 1.3:
            return result
    pytest.fail(f"the last flow took {ratios} of the time that it takes in the simulator")


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


def test_captures_end_with_the_run_and_begin_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A buffer for a tenth of the packets: it is read while flows go on.
    monkeypatch.setattr(taps, "_BUFFER", 250_000)
    endless = scenario("traffic.two.size=100MB", "run.until=400ms", "probe.captures=['to h2']")
    for run in range(4):
        result = testbed.run(endless, tmp_path / str(run))
        assert result.end == "time limit"
        # On a machine that is busy with other tests, nothing may read for the 20 ms that the buffer lasts.
        notes = [note for note in result.info["testbed"]["notes"] if "were not captured" in note]
        if not notes:
            break
    else:
        pytest.fail(f"packets were lost in each of four runs: {notes}")
    packets = captures.read(result)
    assert 0 <= packets[0].time_ps < 100 * 10**9
    assert 300 * 10**9 < packets[-1].time_ps <= result.info["outcome"]["now_ps"]
    ports = result.ports
    (sent,) = ports.column("transmitted_packets")[
        (ports.column("node") == "s0") & (ports.column("peer") == "h2")
    ]
    assert 1000 < 0.97 * sent < len(packets) <= sent


@pytest.mark.parametrize("switch", ["kernel", "user"])
def test_packets_carry_what_the_port_had(switch: str, tmp_path: Path) -> None:
    # Windows of 125 KB each at the start, so that there is a queue.
    captured = ('probe.captures=["to h2", "h2"]', "cc.algorithm=hpcc", "transport.base_rtt=10ms")
    for run in range(4):
        result = testbed.run(scenario(*captured), tmp_path / str(run), switch=switch)
        # On a machine that is busy with other tests, two senders may not fill the link at the same time.
        if result.peak_queue_bytes("to h2") > 10_000:
            break
    else:
        pytest.fail("there was no queue in any of four runs")
    # What passed the port before each frame, in bytes: everything that came.
    passed = {0}
    total = segments = 0
    records: list[Record] = []
    for packet in captures.read(result):
        bytes_ = payload(packet.frame)
        found = record(packet.frame)
        if packet.port.startswith("h2:"):
            records += [found] if found else []
            # Acknowledgements have no payload, and nothing else leaves.
            assert bytes_ == 0
        else:
            total += packet.length
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

    def connected(of: Plan, made: Network) -> list[flows.Connection]:
        connections = connect(of, made)
        before.extend(connection.begun.window for connection in connections)
        for host in made.hosts:
            host.set({limit: 131_072})
        return connections

    connect = flows.connect
    monkeypatch.setattr(flows, "connect", connected)
    # A base BDP of 125 KB, 119 packets: that is the window at the start.
    result = testbed.run(scenario("cc.algorithm=powertcp", "transport.base_rtt=10ms"))
    if before == [119, 119]:
        pytest.skip("this kernel has one such limit for all namespaces")
    assert before == [10, 10]
    assert result.end == "finished"
    assert result.flow_series.column("window_bytes").max() > 60 * 1054
    # And its telemetry: windows come down to where the queue is short.
    assert result.flow_series.column("window_bytes").min() < 119 * 1054 / 1.5


def test_telemetry_works_over_links_with_delay() -> None:
    far = scenario("cc.algorithm=powertcp", "topology.delay=1ms")
    result = as_simulated(far)
    assert result.info["testbed"]["switch"] == "user"
    full = testbed.run(scenario("topology.delay=1ms"))
    assert mean_queue(result) < mean_queue(full) / 2


def test_a_switch_in_user_space_delays_and_marks() -> None:
    far = scenario(*MARKS, "cc.algorithm=dctcp", "topology.delay=2ms")
    result = as_simulated(far)
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


def test_pauses_in_place_of_losses() -> None:
    small = ("switch.buffer=80KB", "topology.delay=200us")
    lossy = testbed.run(scenario(*small), switch="user")
    assert lossy.ports.column("dropped_packets").sum() > 0
    assert lossy.ports.column("pauses_sent").sum() == 0
    lossless = testbed.run(scenario(*small, "switch.pfc={}"))
    assert (lossless.end, lossless.info["testbed"]["switch"]) == ("finished", "user")
    ports = lossless.ports
    assert ports.column("dropped_packets").sum() == 0
    # Both senders are paused, by the switch, and nobody else is; each for a part of the time.
    senders = np.isin(ports.column("node"), ["h0", "h1"])
    assert ports.column("paused_ps")[senders].min() > 0
    assert ports.column("paused_ps")[~senders].max() == 0
    assert ports.column("paused_ps").max() < lossless.flows.column("finish_ps").max()
    at_switch = np.isin(ports.column("peer"), ["h0", "h1"])
    assert ports.column("pauses_sent")[at_switch].min() > 0
    assert ports.column("pauses_sent")[~at_switch].max() == 0
    # The simulator pauses the same ports.
    simulated = scenario(*small, "switch.pfc={}").run()
    for column in ("paused_ps", "pauses_sent"):
        assert ((simulated.ports.column(column) > 0) == (ports.column(column) > 0)).all()
    assert 0.3 < goodput(lossless) / goodput(simulated) < 1.1


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


GRAPH = joined(
    three_paths("h0-h2", "h2", "s0", "s1", delay="4ms", rate="20Mbps"),
    block("[switch]", buffer="unlimited"),
    block("[cc]", algorithm="oscar"),
    traffic("each", ["h0", "h1", "h2"], "r", size="500KB"),
    block("[probe]", ports=["s1->r"], flows=["each"], interval="1ms"),
    block("[run]", until="20s"),
)
"""Base RTTs of 8, 14 and 4 ms, but for transmissions."""


def test_links_have_their_own_delays_and_rates() -> None:
    result = testbed.run(incast.Scenario.from_toml(GRAPH, "graph.toml"))
    assert result.end == "finished"
    assert result.info["testbed"]["controls"] == {"oscar:fair": "incast_oscar, incast_osca2, incast_osca3"}
    columns = {name: result.flows.column(name).tolist() for name in ("flow", "fct_ps", "base_rtt_ps")}
    sources = result.flows.column("source").tolist()
    rows = {source: {name: of[at] for name, of in columns.items()} for at, source in enumerate(sources)}
    # Each measures its own path, and no other one has a base RTT as near.
    for source, delay_ms in (("h0", 8), ("h1", 14), ("h2", 4)):
        least = float(np.min(result.flow(rows[source]["flow"]).rtt_ps))
        assert least >= delay_ms * 10**9
        assert least / rows[source]["base_rtt_ps"] < 1.4
    # 500 KB need 212 ms at 20 Mbps, and 42 ms at the rate of the others.
    assert rows["h2"]["fct_ps"] > 200 * 10**9
    ports = result.ports
    port = (ports.column("node") == "h2") & (ports.column("peer") == "s1")
    assert int(ports.column("transmitted_bytes")[port][0]) >= 500_000


def test_the_kernel_forwards_a_graph() -> None:
    text = GRAPH.replace('ms"', 'us"').replace('interval = "1us"', 'interval = "1ms"')
    text = text.replace('"oscar"', '"newreno"')
    result = testbed.run(incast.Scenario.from_toml(text, "graph.toml"), switch="kernel")
    assert result.end == "finished"
    slow = result.flows.column("source") == "h2"
    # The bucket lets 20 KB pass at once.
    assert result.flows.column("fct_ps")[slow][0] > 0.9 * 480_000 * 8 / 20e6 * 1e12
    assert result.ports.column("node").tolist().count("s1") == 3


@pytest.mark.filterwarnings("ignore:.*mswift is made for packets that are spread:incast.IncastWarning")
@pytest.mark.parametrize("algorithm", ["oscar", "swift", "dctcp", "mswift"])
def test_internals_of_flows_are_those_of_their_windows(algorithm: str) -> None:
    # Swift's delays are those of faster networks by default.
    slow = ("cc.base_target=12ms", "cc.fs_range=4ms") if "swift" in algorithm else ()
    letter = ("cc.preset=paper",) if algorithm == "oscar" else ()
    probed = ("topology.delay=2ms", "probe.internals=true")
    far = scenario(*MARKS, f"cc.algorithm={algorithm}", *letter, *slow, *probed)
    result = testbed.run(far)
    assert result.end == "finished"
    simulated = far.run()
    for flow in (0, 1):
        series, internals = result.flow(flow), result.internals_of(flow)
        assert set(internals) <= set(simulated.internals_of(flow))
        for one in internals.values():
            assert set(one.time_ps) <= set(series.time_ps)
        if algorithm == "oscar":
            # The window is u times 1.5 base BDPs, at most one, rounded up to packets; the rate is u times the
            # line's. The kernel tells both some microseconds before.
            u = internals["u"].value
            assert len(u) == len(series.time_ps)
            assert len(set(u)) > 5
            assert u.max() <= 1
            bdp = 100e6 / 8e12 * float(result.flows.column("base_rtt_ps")[0])
            off = np.abs(series.window_bytes - np.minimum(1.5 * u, 1) * bdp)
            assert np.mean(off <= 1060) > 0.9
            assert np.mean(np.abs(series.rate_bps / 100e6 / u - 1) < 0.01) > 0.9
        elif algorithm == "dctcp":
            alpha = internals["alpha"].value
            assert 0 <= alpha.min() < alpha.max() <= 1
        else:
            # The window of the algorithm itself, in bytes, which the kernel's is rounded up from.
            cwnd = internals["cwnd_bytes"].value
            assert np.mean(np.abs(series.window_bytes - np.maximum(cwnd, 1060)) <= 1060) > 0.9


LATE = """\
[[traffic]]
name = "late"
kind = "flows"
from = "h1"
to = "h2"
size = "1MB"
start = "400ms"

[probe]
"""


def test_an_algorithm_starts_with_its_flow() -> None:
    text = STAR.replace('["h0", "h1"]', '"h0"').replace("[probe]\n", LATE)
    text = text.replace('flows = ["two"]', 'flows = ["two", "late"]')
    probed = ("cc.algorithm=swift", "cc.base_target=12ms", "probe.internals=true")
    result = testbed.run(incast.Scenario.from_toml(text, "star.toml", probed))
    assert result.end == "finished"
    # Swift has its start for the last decrease, which the first sample of a flow finds: here 400 ms apart.
    first, second = (result.internals_of(name)["last_decrease_ps"].value[0] for name in ("two", "late"))
    assert 0.9 < (second - first) / 400e9 < 1.5


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


BARRIER = joined(
    star(3, "100Mbps", "5us", switch={"buffer": {"per_port": "300KB"}}, cc={"algorithm": "newreno"}),
    block("[[traffic]]", name="moe", kind="all-to-all", size="60KB", compute="10ms", barrier=True, passes=3),
)
"""Three passes of three hosts, each to both others, which begin when all have ended the one before."""


@pytest.mark.filterwarnings("ignore:.*no flow was held back:incast.IncastWarning")
@pytest.mark.parametrize("delay", ["5us", "1ms"])
def test_operations_start_after_what_they_wait_for(delay: str) -> None:
    run = incast.Scenario.from_toml(BARRIER, "moe.toml", [f"topology.delay={delay}"])
    result = testbed.run(run)
    assert result.info["testbed"]["switch"] == ("user" if delay == "1ms" else "kernel")
    assert result.end == "finished"
    simulated = run.run()

    def listed(of: incast.Result) -> list[str]:
        key = ("operation", "job", "host", "kind", "flow", "processor")
        return sorted(str(row) for row in zip(*(of.operations.column(c) for c in key), strict=True))

    assert result.operations.columns == simulated.operations.columns
    assert listed(result) == listed(simulated)
    table, flows = result.operations, result.flows
    column = {name: table.column(name) for name in ("operation", "start_ps", "end_ps")}
    times = {int(n): (int(s), int(e)) for n, s, e in zip(*column.values(), strict=True)}
    rows = {int(flow): row for row, flow in enumerate(flows.column("flow"))}
    plan = _core.plan(run._core)
    passes: dict[int, list[tuple[int, int]]] = {}
    planned = plan.flows
    for number, operation in enumerate(plan.operations):
        of = operation.number
        start, end = times[number]
        assert all(times[other][1] <= start for other in operation.after)
        assert all(times[other][0] <= start for other in operation.after_start)
        if operation.kind == "compute":
            assert end - start == operation.time_ps == 10**10
        elif operation.kind == "send":
            # Its flow's times are its own.
            row = rows[of]
            assert (start, end) == (flows.column("start_ps")[row], flows.column("finish_ps")[row])
            if planned[of].size_bytes == 60_000:
                passes.setdefault(sum(len(ends) for ends in passes.values()) // 6, []).append((start, end))
        else:
            assert start <= end
            assert flows.column("start_ps")[rows[of]] < end
    # All flows of a pass end before any of the next starts, and hosts compute in between.
    each = list(passes.values())
    assert [len(ones) for ones in each] == [6, 6, 6]
    for one, later in itertools.pairwise(each):
        assert max(last for _, last in one) + 10**10 <= min(first for first, _ in later)
    # Nothing is faster than its bound, but for a bucket.
    assert result.jobs.column("jct_ps")[0] >= 0.7 * result.jobs.column("bound_ps")[0]


def test_a_loop_leaves_out_what_would_start_too_late() -> None:
    text = BARRIER[: BARRIER.index("[[traffic]]")] + (
        '[[traffic]]\nname = "loop"\nkind = "closed-loop"\nfrom = "h0"\nto = "h1"\nsizes = "10KB"\n'
        'until = "100ms"\nthink = "1ms"\n'
    )
    run = incast.Scenario.from_toml(text, "loop.toml", ["topology.delay=2ms"])
    result = testbed.run(run)
    starts = np.sort(result.flows.column("start_ps").astype(np.int64))
    # Four delays of 2 ms and a pause of 1 ms: no more than 12 start before 100 ms. More could, were there
    # but half of the delay.
    assert result.end == "finished"
    assert 1 <= len(starts) <= 12 < len(_core.plan(run._core).flows)
    assert starts[-1] < 10**11
    assert (np.diff(starts) > 9 * 10**9).all()
    assert bool(result.flows.column("finished").all())


def test_hundreds_of_flows_run_at_once() -> None:
    result = testbed.run(scenario("traffic.two.size=5KB", "traffic.two.count=300"))
    assert (result.end, len(result.flows)) == ("finished", 600)


def test_algorithms_are_compared_on_a_testbed(tmp_path: Path, incast: Incast) -> None:
    (tmp_path / "star.toml").write_text(STAR.replace('"2MB"', '"300KB"'))
    done = incast("compare", "star.toml", "--cc", "oscar,newreno,lswift", "--testbed", "--out", "all")
    assert "lswift failed:" in done.stderr
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


def test_an_unloading_that_was_killed_is_brought_to_its_end() -> None:
    before = subprocess.Popen([sys.executable, "-c", ""])
    owner = controls._identity(before.pid)
    before.wait()
    control = kernel.load("powertcp", [], kernel.Link(10**9, 10**8))
    (loaded,) = kernel.loaded()
    # It held the name, and had come to the congestion control, but not to the program for the TCP option.
    controls.FOLDER.mkdir(mode=0o700, exist_ok=True)
    held = {"owner": owner, "id": loaded.id}
    (controls.FOLDER / f"{control.name}.lock").write_text(json.dumps(held))
    kernel_machine.call(kernel_machine.ready(), "struct_ops", "unregister", "id", str(loaded.id))
    assert programs("incast_options") == 1
    testbed.clear()
    assert list(controls.FOLDER.glob("*")) == []
    wait_until(lambda: programs("incast_options") == 0)


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
