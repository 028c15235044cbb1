"""Results of testbeds: what becomes of measurements, and distances from simulations."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import incast
from helpers import Incast
from incast import ScenarioError, _core, captures, store, testbed
from incast._build import build
from incast.cli.plot import labelled
from incast.real.kernel import KernelError
from incast.real.testbed import plan
from incast.real.testbed.distance import distance, pairs
from incast.results.grid import Grid
from testbeds import RING, STAR, scenario


def measured_flow(
    flow: int,
    start: int,
    finish: int | None,
    delivered: int | None,
    acked: int,
    *,
    packets: int,
    resent: int = 0,
    marked: int = 0,
) -> _core.MeasuredFlow:
    return _core.MeasuredFlow(
        flow=flow,
        start_ps=start,
        finish_ps=finish,
        delivered_ps=delivered,
        acked_bytes=acked,
        packets=packets,
        resent_packets=resent,
        marked_packets=marked,
        timeouts=0,
    )


@dataclass
class Measurement:
    """A measurement of the two flows as a testbed could make it."""

    end: str = "finished"
    now_ps: int = 200 * 10**9
    dropped_packets: int = 1
    waiting_flows: list[_core.Waiting] = field(default_factory=list)
    waiting_operations: list[_core.Waiting] = field(default_factory=list)
    flows: list[_core.MeasuredFlow] = field(
        default_factory=lambda: [
            measured_flow(0, 0, 200 * 10**9, 199 * 10**9, 1_000_000, packets=1001, resent=1, marked=300),
            measured_flow(1, 0, 160 * 10**9, 159 * 10**9, 1_000_000, packets=1000, resent=0, marked=200),
        ]
    )
    port_samples: list[_core.PortSample] = field(
        default_factory=lambda: [
            _core.PortSample(
                time_ps=k * 10**9,
                node_id=3,
                port=2,
                queue_bytes=10_000 * k,
                transmitted_bytes=12_500 * k,
                dropped_bytes=0,
                marked_packets=k,
                paused=k == 1,
            )
            for k in range(4)
        ]
    )
    flow_samples: list[_core.FlowSample] = field(
        default_factory=lambda: [
            _core.FlowSample(
                time_ps=10**9,
                flow=0,
                window_bytes=20_000,
                rate_bps=None,
                rtt_ps=300_000_000,
                inflight_bytes=9_000,
                acked_bytes=5_000,
            )
        ]
    )
    # The first internal quantity of DCTCP, alpha, as a ratio in units of 2^-32.
    internals: list[_core.InternalSample] = field(
        default_factory=lambda: [
            _core.InternalSample(time_ps=10**9, flow=1, internal=0, kind=3, bits=3 << 30)
        ]
    )
    ports: list[_core.MeasuredPort] = field(
        default_factory=lambda: [
            _core.MeasuredPort(
                node_id=3,
                port=2,
                transmitted_bytes=2_109_054,
                transmitted_packets=2001,
                dropped_bytes=1054,
                dropped_packets=1,
                marked_packets=500,
                peak_queue_bytes=31_000,
                paused_ps=10**9,
                pauses_sent=7,
            )
        ]
    )
    operations: list[_core.MeasuredOperation] = field(default_factory=list)
    frames: list[_core.CapturedPacket] = field(default_factory=list)
    testbed: str = json.dumps(
        {
            "switch": "kernel",
            "kernel": "6.18",
            "controls": {"dctcp:paper": "incast_dctcp"},
            "notes": ["a note"],
            "wall_s": 0.2,
        }
    )


def test_packets_of_a_testbed_are_in_the_capture(tmp_path: Path) -> None:
    frames = [
        _core.CapturedPacket(time_ps=time, node_id=node, port=port, length_bytes=length, data=data)
        for time, node, port, length, data in (
            (5_000_999, 0, 0, 1054, bytes(range(94))),
            (6_000_000, 3, 2, 60, b"short"),
            # Of a port that is not captured.
            (7_000_000, 1, 0, 1054, b"other"),
        )
    ]
    captured = scenario('probe.captures=["h0", "to h2"]')
    result = incast.Result(
        _core.record(captured._core, Measurement(frames=frames), str(tmp_path), False, build())
    )
    assert captures.read(result) == [
        (5_000_000, "h0:0->s0", 1054, bytes(range(94))),
        (6_000_000, "s0:2->h2", 60, b"short"),
    ]
    assert b"packets of star on a testbed, seed 1" in (tmp_path / "capture.pcapng").read_bytes()


def recorded(folder: Path | None = None) -> incast.Result:
    out = None if folder is None else str(folder)
    return incast.Result(_core.record(scenario()._core, Measurement(), out, False, build()))


def test_what_is_measured_is_in_the_result() -> None:
    result = recorded()
    flows = result.flows
    # By number, although the second one is done first.
    assert flows.column("flow").tolist() == [0, 1]
    assert flows.column("fct_ps").tolist() == [200 * 10**9, 160 * 10**9]
    assert flows.column("resent_packets").tolist() == [1, 0]
    simulated = scenario().run()
    # The ideal times are those of the simulator, to the picosecond.
    assert set(flows.column("ideal_fct_ps").tolist()) == set(simulated.flows.column("ideal_fct_ps").tolist())
    assert set(flows.column("base_rtt_ps").tolist()) == set(simulated.flows.column("base_rtt_ps").tolist())
    ideal = flows.column("ideal_fct_ps")[1]
    assert flows.column("slowdown")[1] == pytest.approx(160e9 / ideal, rel=1e-12)
    assert result.port("to h2").queue_bytes.tolist() == [0, 10_000, 20_000, 30_000]
    assert result.flow(0).rtt_ps.tolist() == [300_000_000]
    assert result.peak_queue_bytes("to h2") == 31_000
    port = (result.ports.column("node") == "s0") & (result.ports.column("peer") == "h2")
    assert result.ports.column("paused_ps")[port].tolist() == [10**9]
    assert result.ports.column("pauses_sent")[port].tolist() == [7]
    assert result.port_series.column("paused").tolist() == [False, True, False, False]
    outcome = result.info["outcome"]
    assert (outcome["packets_sent"], outcome["packets_dropped"], outcome["packets_in_flight"]) == (2001, 1, 0)
    assert (result.end, result.sound, outcome["wall_s"]) == ("finished", True, 0.2)
    assert result.info["testbed"]["controls"] == {"dctcp:paper": "incast_dctcp"}
    assert "testbed" not in simulated.info
    assert recorded().fingerprint == result.fingerprint


def test_measurements_are_named_as_the_columns_that_they_become() -> None:
    result = recorded()

    def fields(measured: object) -> set[str]:
        return {name for name in dir(measured) if not name.startswith("_")}

    made = Measurement()
    assert fields(made.flows[0]) <= set(result.flows.columns)
    assert fields(made.port_samples[0]) <= set(result.port_series.columns)
    assert fields(made.ports[0]) <= set(result.ports.columns)
    assert fields(made.flow_samples[0]) <= set(result.flow_series.columns)
    operation = _core.MeasuredOperation(operation=0, start_ps=0, end_ps=None)
    assert fields(operation) <= set(result.operations.columns)


def test_internals_are_in_the_table_of_the_simulator() -> None:
    table = recorded().internals
    assert [table.column(name).tolist() for name in ("time_ps", "flow", "value", "samples")] == [
        [10**9],
        [1],
        [0.75],
        [1],
    ]
    simulated = scenario("probe.internals=true").run().internals
    assert table.column("name").tolist() == [simulated.column("name").tolist()[0]]
    unknown = _core.InternalSample(time_ps=10**9, flow=1, internal=0, kind=9, bits=0)
    made = Measurement(internals=[unknown])
    with pytest.raises(ValueError, match="no kind of values has the number 9"):
        _core.record(scenario()._core, made, None, False, build())


def test_internals_of_what_linux_has_itself_are_refused() -> None:
    with pytest.raises(ScenarioError, match=r"probe\.internals: newreno:rfc is the reno of Linux"):
        plan.read(scenario("cc.algorithm=newreno", "probe.internals=true"))
    assert plan.read(scenario("probe.internals=true")).core.internals


def ring(end: str) -> incast.Result:
    """Returns a possible measurement of the ring: 10 ms for each flow, 4 ms for each computation.

    If it did not finish, the second flows did not.
    """
    ms = 10**9
    run = incast.Scenario.from_toml(RING, "ring.toml")
    rows = []
    began = {0: 0, 1: 0}
    for number, operation in enumerate(_core.plan(run._core).operations):
        start: int
        done: int | None
        # As the simulator numbers them: a host's computation is behind its first flows.
        if operation.kind == "compute":
            began[operation.host] = 14 * ms
            start, done = 10 * ms, 14 * ms
        else:
            start = began[operation.host]
            done = start + 10 * ms if start == 0 or end == "finished" else None
        rows.append(_core.MeasuredOperation(operation=number, start_ps=start, end_ps=done))
    flows = []
    for flow, start in enumerate((0, 0, 14 * ms, 14 * ms)):
        done = start + 10 * ms if start == 0 or end == "finished" else None
        flows.append(measured_flow(flow, start, done, done, 100_000, packets=100))
    waiting = [_core.Waiting(number=4, waits_for="waits for the end of its flow 2")]
    measured = Measurement(
        end,
        30 * ms,
        0,
        waiting_operations=waiting if end == "stalled" else [],
        flows=flows,
        port_samples=[],
        flow_samples=[],
        internals=[],
        ports=[],
        operations=rows,
    )
    return incast.Result(_core.record(run._core, measured, None, False, build()))


def test_operations_are_in_the_tables_of_the_simulator() -> None:
    measured, simulated = ring("finished"), incast.Scenario.from_toml(RING, "ring.toml").run()
    for table in ("operations", "jobs"):
        assert getattr(measured, table).columns == getattr(simulated, table).columns
    key = ("operation", "job", "host", "kind", "flow", "processor")

    def listed(result: incast.Result) -> list[str]:
        return sorted(str(row) for row in zip(*(result.operations.column(c) for c in key), strict=True))

    assert listed(measured) == listed(simulated)
    ends = measured.operations.column("end_ps").tolist()
    assert ends == sorted(ends)
    # From 0 to the second flows' end.
    assert measured.jobs.column("jct_ps").tolist() == [24 * 10**9]
    assert measured.jobs.column("bound_ps").tolist() == simulated.jobs.column("bound_ps").tolist()
    assert measured.info["outcome"]["operations_ended"] == simulated.info["outcome"]["operations_ended"] == 10
    rows = {row.title: row for row in distance(simulated, measured)}
    assert rows["mean JCT"].measured == 24
    assert rows["mean JCT"].simulated == simulated.jobs.column("jct_ps")[0] / 1e9


def test_operations_that_have_not_ended_are_told() -> None:
    result = ring("stalled")
    outcome = result.info["outcome"]
    assert (outcome["operations"], outcome["operations_ended"]) == (10, 6)
    assert outcome["waiting_operations"] == [{"operation": 4, "waits_for": "waits for the end of its flow 2"}]
    assert result.jobs.column("ended_operations").tolist() == [6]
    assert ring("finished").fingerprint != result.fingerprint


def test_a_measured_result_is_never_taken_for_a_simulation(tmp_path: Path) -> None:
    recorded(tmp_path / "here")
    assert store.find(tmp_path / "here", scenario()) is None
    obtained = store.obtain(scenario(), tmp_path / "here")
    assert not obtained.reused
    assert "testbed" not in obtained.result.info


def test_distances_by_hand() -> None:
    measured, simulated = recorded(), scenario().run()
    rows = {row.title: row for row in distance(simulated, measured)}
    assert rows["mean queue of s0:2"].measured == 15.0
    assert rows["p99 queue of s0:2"].measured == 30.0
    assert rows["peak queue of s0:2"].measured == 31.0
    assert rows["mean FCT"].measured == pytest.approx(180)
    assert rows["mean FCT"].simulated == pytest.approx(simulated.flows.column("fct_ps").mean() / 1e9)
    # Rates 1/200 and 1/160: (x + y)^2 / (2 (x^2 + y^2)).
    assert rows["fairness of goodput (Jain)"].measured == pytest.approx(
        (1 / 200 + 1 / 160) ** 2 / (2 * (1 / 200**2 + 1 / 160**2))
    )
    assert rows["mean FCT"].share == pytest.approx(180 / rows["mean FCT"].simulated - 1)
    for row in distance(simulated, simulated):
        assert row.difference == 0, row
    texts = ["a", "a", "b"]
    assert pairs([measured, simulated, simulated], texts) == [(1, 0)]
    assert pairs([measured, measured, simulated], texts) == []


def test_commands_read_a_measured_result(tmp_path: Path, incast: Incast) -> None:
    recorded(tmp_path / "real")
    scenario().run(tmp_path / "simulated")
    shown = incast.here("show", "real").stdout
    assert "measured on a testbed: Linux 6.18" in shown
    assert "a note" in shown
    drawn = incast.here("plot", "simulated", "real", "--kind", "queue", "--out", "queue.svg")
    assert (drawn.returncode, (tmp_path / "queue.svg").exists()) == (0, True), drawn.stderr
    assert incast.here("report", "simulated", "real", "--out", "both.html").returncode == 0
    page = (tmp_path / "both.html").read_text()
    for said in (
        "Distance of the testbed from the simulation",
        "DCTCP (testbed)",
        "DCTCP (simulation)",
        "mean queue of s0:2, difference",
        "fairness of goodput (Jain)",
        "was measured on a testbed: a note",
        "testbed, switch: kernel",
    ):
        assert said in page


def test_measured_and_simulated_results_have_different_names() -> None:
    both = [recorded(), scenario().run()]
    assert [entry.title for entry in Grid.of(both).entries] == ["DCTCP (testbed)", "DCTCP (simulation)"]
    assert list(labelled(both)) == ["dctcp:testbed", "dctcp:simulation"]
    assert [entry.title for entry in Grid.of(both[:1]).entries] == ["DCTCP"]


def test_the_command_refuses_before_it_makes_anything(tmp_path: Path, incast: Incast) -> None:
    (tmp_path / "fast.toml").write_text(STAR.replace("100Mbps", "100Gbps"))
    done = incast.here("testbed", "fast.toml")
    assert done.returncode == 2
    assert "fast.toml:1" in done.stderr
    assert "topology.rate" in done.stderr
    assert not (tmp_path / "incast-results").exists()
    recorded(tmp_path / "real")
    (tmp_path / "star.toml").write_text(STAR)
    against = incast.here("testbed", "star.toml", "--against", "real")
    assert (against.returncode, "was measured on a testbed" in against.stderr) == (1, True)
    scenario("traffic.two.size=2MB").run(tmp_path / "other")
    against = incast.here("testbed", "star.toml", "--against", "other")
    assert (against.returncode, "the result of another scenario" in against.stderr) == (1, True)
    taken = incast.here("testbed", "star.toml", "--out", "real")
    assert (taken.returncode, "--fresh replaces it" in taken.stderr) == (1, True)


def test_errors_are_errors_of_the_system() -> None:
    assert issubclass(testbed.TestbedError, OSError)
    assert issubclass(KernelError, OSError)
