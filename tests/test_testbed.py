"""What a testbed refuses, and what it makes of what it measures: nothing here needs rights or a network."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import incast
from helpers import Incast
from incast import ScenarioError, _core, store, testbed
from incast._build import build
from incast.cli.plot import labelled
from incast.kernel import KernelError
from incast.kernel import machine as kernel_machine
from incast.report.entries import titles
from incast.testbed import machine, plan, telemetry
from incast.testbed.distance import distance, pairs

STAR = """\
topology = { kind = "star", hosts = 3, rate = "100Mbps", delay = "5us" }
switch = { buffer = { per_port = "300KB" }, ecn = { kmin = "30KB", kmax = "30KB", pmax = 1 } }
cc = { algorithm = "dctcp" }

[[traffic]]
name = "two"
kind = "flows"
from = ["h0", "h1"]
to = "h2"
size = "1MB"

[probe]
ports = ["to h2"]
flows = ["two"]
interval = "1ms"
"""
"""Two flows onto one port."""


def scenario(*overrides: str, text: str = STAR) -> incast.Scenario:
    return incast.Scenario.from_toml(text, "star.toml", overrides)


@pytest.mark.parametrize(
    ("override", "key", "said"),
    [
        ("topology.rate=1Gbps", "topology.rate", "1Mbps to 200Mbps"),
        ("topology.rate=100Kbps", "topology.rate", "1Mbps to 200Mbps"),
        ("topology.hosts=65", "topology.hosts", "at most 64 hosts"),
        (
            'topology={kind="leaf-spine",leaves=2,spines=2,hosts=2,rate="100Mbps",delay="1us"}',
            "topology.kind",
            "a star or a dumbbell",
        ),
        ("switch.queues=2", "switch.queues", "one queue"),
        ("transport.header=60B", "transport.header", "54B"),
        ("transport.payload=100B", "transport.payload", "500B to 8946B"),
        ("transport.ack_every=2", "transport.ack_every", "acknowledge each packet"),
        ("transport.counting=payload", "transport.counting", "with their headers"),
        ("probe.internals=true", "probe.internals", "in the simulator only"),
        ('probe.captures=["to h2"]', "probe.captures", "in the simulator only"),
        ("switch.ecn.kmax=60KB", "switch.ecn.kmax", "at one threshold"),
        ("traffic.two.start=1200s", "run.until", "at most for ten minutes"),
        ("traffic.two.count=600", "traffic", "at most 1,000"),
        ('cc={algorithm="oscar",preset="owd"}', "cc", "one-way delays in a TCP option"),
        ("cc.algorithm=constant", "cc", "there is no 'constant' for the kernel"),
        ("cc.algorithm=sqcc", "cc", "count=estimate"),
        ('cc={algorithm="newreno",increase=2}', "cc", "the reno of Linux has no such parameter"),
        ('change=[{at="1ms",between=["h0","s0"],rate="10Mbps"}]', "change", "do not change"),
    ],
)
def test_what_a_testbed_cannot_do_is_refused_by_key(override: str, key: str, said: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        plan.read(scenario(override))
    problems = {problem.key: problem for problem in refused.value.problems}
    assert key in problems
    assert said in str(problems[key])


HOMA = """\
topology = { kind = "star", hosts = 3, rate = "100Mbps", delay = "5us" }
switch = { queues = 8 }
transport = { kind = "homa" }
traffic = [{ kind = "flows", from = "h0", to = "h2", size = "1MB" }]
"""


PAUSES = STAR.replace("ecn = {", "pfc = {}, ecn = {").replace('{ per_port = "300KB" }', '"1MB"')

SPRAYED = STAR.replace(
    "[probe]", '[balancing]\npolicy = "ops"\n\n[transport]\nrecovery = "selective"\n\n[probe]'
)

RING = STAR.replace("[probe]", '[[traffic]]\nname = "ring"\nkind = "ring-allreduce"\nsize = "1MB"\n\n[probe]')


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        (HOMA, "transport.kind", "there is no homa"),
        (PAUSES, "switch.pfc", "pause"),
        (SPRAYED, "balancing.policy", "one path"),
        (RING, "traffic", "by the clock"),
    ],
)
def test_whole_features_are_refused(text: str, key: str, said: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        plan.read(scenario(text=text))
    problems = {problem.key: str(problem) for problem in refused.value.problems}
    assert said in problems.get(key, str(problems))


def test_everything_is_refused_at_once_and_placed_in_the_file() -> None:
    text = STAR.replace("100Mbps", "1Gbps").replace('interval = "1ms"', "internals = true")
    with pytest.raises(ScenarioError) as refused:
        plan.read(scenario(text=text))
    first, second = refused.value.problems
    assert (first.file, first.line, first.key) == ("star.toml", 1, "topology.rate")
    assert (second.file, second.line, second.key) == ("star.toml", 15, "probe.internals")


def test_two_setups_of_one_algorithm_are_refused() -> None:
    block = '[[traffic]]\nname = "other"\nkind = "flows"\nfrom = "h2"\nto = "h0"\nsize = "1MB"\n'
    text = STAR.replace("[probe]", block + 'cc = { algorithm = "dctcp", g = 0.5 }\n[probe]')
    with pytest.raises(
        ScenarioError, match=r"traffic\.other\.cc: dctcp:paper: the kernel has incast_dctcp once"
    ):
        plan.read(scenario(text=text))
    found = plan.read(scenario(text=text.replace('"dctcp", g = 0.5', '"newreno"')))
    assert {name: control.label for name, control in found.controls.items()} == {
        "incast_dctcp": "dctcp:paper",
        "reno": "newreno:rfc",
    }


def test_telemetry_comes_from_either_switch() -> None:
    near = plan.read(scenario("cc.algorithm=hpcc"))
    far = plan.read(scenario("cc.algorithm=hpcc", "topology.delay=1ms"))
    assert (near.user, far.user) == (False, True)
    for found in (near, far):
        control = found.controls["incast_hpcc"]
        assert control.telemetry
        assert control.wanted is not None
        # 1000 B and 54 B of headers: the option's room is taken from the payload. The simulator adds 42 B.
        assert (control.wanted.link.packet_bytes, control.wanted.link.payload_bytes) == (1054, 1000)
    # A tenth of a millisecond is 1250 B, and a bucket of 20 KB more than any window.
    assert any("20 KB" in note and "telemetry" in note for note in near.notes)
    assert not any("telemetry" in note for note in far.notes)


def test_records_are_read_from_acknowledgements() -> None:
    option = bytes.fromhex("fd18 1ca57e1e 01 01 00000001 00000002 00000003 00000064")

    def frame(options: bytes, payload: bytes = b"") -> bytes:
        ip = (
            bytes([0x45, 0])
            + (40 + len(options) + len(payload)).to_bytes(2, "big")
            + bytes(5)
            + b"\6"
            + bytes(10)
        )
        tcp = bytes(12) + bytes([(5 + len(options) // 4) << 4]) + bytes(7)
        return bytes(12) + b"\x08\x00" + ip + tcp + options + payload

    expected = telemetry.Record(24, 1, 2, 3, 100_000)
    assert telemetry.record(frame(option)) == expected
    # Behind padding and time stamps.
    assert telemetry.record(frame(b"\1\1\x08\x0a" + bytes(8) + option)) == expected
    # A request, another identifier, behind the end of the options, another protocol.
    assert telemetry.record(frame(option[:6] + b"\0\1" + option[8:])) is None
    assert telemetry.record(frame(option[:5] + b"\x1f" + option[6:])) is None
    assert telemetry.record(frame(bytes(4) + option)) is None
    assert telemetry.record(b"\xff" * 90) is None
    assert telemetry.payload(frame(option, b"12345")) == 5
    assert telemetry.payload(frame(b"")) == 0
    assert telemetry.payload(b"\xff" * 90) is None


def test_delays_decide_what_forwards() -> None:
    assert not plan.read(scenario()).user
    assert plan.read(scenario("topology.delay=1ms")).user
    assert plan.read(scenario(), "user").user
    with pytest.raises(ScenarioError, match=r"topology\.delay: the kernel cannot delay packets"):
        plan.read(scenario("topology.delay=1ms"), "kernel")
    # With it marks between two thresholds are possible too.
    found = plan.read(scenario("switch.ecn.kmax=60KB", "switch.ecn.pmax=0.5"), "user")
    assert found.marks(10**8) == (30_000, 60_000, 0.5)


def test_paths_of_algorithms_are_those_of_the_simulator() -> None:
    (wanted,) = (control.wanted for control in plan.read(scenario()).controls.values())
    assert wanted is not None
    # A packet of 1054 B and an acknowledgement of 64 B, each twice at 80 ns a byte, and four times 5 us.
    assert wanted.link.base_rtt_ps == 2 * (1054 + 64) * 80_000 + 4 * 5_000_000
    assert (wanted.link.line_rate_bps, wanted.link.packet_bytes, wanted.link.payload_bytes) == (
        10**8,
        1054,
        1000,
    )


def test_marks_scale_with_the_reference_rate() -> None:
    found = plan.read(scenario("switch.ecn.reference=200Mbps"))
    assert found.marks(100_000_000) == (15_000, 15_000, 1.0)


def test_missing_rights_and_tools_are_one_sentence_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, incast: Incast
) -> None:
    (tmp_path / "star.toml").write_text(STAR.replace("dctcp", "newreno").replace(", ecn = {", ", ecn = {"))
    status = tmp_path / "status"
    monkeypatch.setattr(kernel_machine, "STATUS", status)

    def refusal() -> str:
        done = incast.here("testbed", "star.toml", "--set", "switch.ecn.kmin=30KB", "--quiet")
        assert (done.returncode, done.stdout) == (1, "")
        assert len(done.stderr.splitlines()) == 1
        return done.stderr

    status.write_text("CapEff:\t0000000000000000\n")
    assert "needs root" in refusal()
    assert "CAP_NET_ADMIN" in refusal()
    status.write_text("CapEff:\tffffffffffffffff\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(machine, "_PLACES", ())
    assert "ip is missing: install it (Debian: apt install iproute2)" in refusal()
    (tmp_path / "ip").touch(0o755)
    assert "tc is missing" in refusal()
    for name in ("tc", "unshare", "mount"):
        (tmp_path / name).touch(0o755)
    monkeypatch.setattr(kernel_machine, "_PLACES", ())
    monkeypatch.setattr("platform.release", lambda: "6.18.0")
    monkeypatch.setattr(kernel_machine, "BTF", status)
    assert "bpftool is missing" in refusal()
    monkeypatch.setattr("platform.release", lambda: "5.10.0")
    assert "too old" in refusal()
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    assert "this is Darwin" in refusal()


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        ("RTNETLINK answers: Operation not permitted", "seccomp"),
        ("Error: Specified qdisc kind is unknown.", "CONFIG_NET_SCH_TBF"),
        ("Error: Unknown device type.", "CONFIG_VETH"),
        ("something\nelse", "said last: else"),
        ("", "said last: nothing"),
    ],
)
def test_what_commands_say_is_explained(said: str, meaning: str) -> None:
    assert meaning in machine.reason("ip", said)


@dataclass
class Measurement:
    """What a testbed might have measured of the two flows."""

    ending: tuple[str, int, int, list[tuple[int, str]]] = ("finished", 200 * 10**9, 1, [])
    flows: list[Any] = field(
        default_factory=lambda: [
            (0, 0, 200 * 10**9, 199 * 10**9, 1_000_000, 1001, 1, 300, 0),
            (1, 0, 160 * 10**9, 159 * 10**9, 1_000_000, 1000, 0, 200, 0),
        ]
    )
    port_samples: list[Any] = field(
        default_factory=lambda: [(k * 10**9, 3, 2, 10_000 * k, 12_500 * k, 0, k) for k in range(4)]
    )
    flow_samples: list[Any] = field(
        default_factory=lambda: [(10**9, 0, 20_000, None, 300_000_000, 9_000, 5_000)]
    )
    ports: list[Any] = field(default_factory=lambda: [(3, 2, 2_109_054, 2001, 1, 1054, 500, 31_000)])
    testbed: str = json.dumps(
        {
            "switch": "kernel",
            "kernel": "6.18",
            "controls": {"dctcp:paper": "incast_dctcp"},
            "notes": ["a note"],
            "wall_s": 0.2,
        }
    )


def recorded(folder: Path | None = None) -> incast.Result:
    out = None if folder is None else str(folder)
    return incast.Result(_core.record(scenario()._core, Measurement(), out, False, build()))


def test_what_is_measured_is_in_the_result() -> None:
    result = recorded()
    flows = result.flows
    assert flows.column("flow").tolist() == [1, 0]
    assert flows.column("fct_ps").tolist() == [160 * 10**9, 200 * 10**9]
    assert flows.column("resent_packets").tolist() == [0, 1]
    simulated = scenario().run()
    # The ideal times are those of the simulator, to the picosecond.
    assert set(flows.column("ideal_fct_ps").tolist()) == set(simulated.flows.column("ideal_fct_ps").tolist())
    assert set(flows.column("base_rtt_ps").tolist()) == set(simulated.flows.column("base_rtt_ps").tolist())
    ideal = flows.column("ideal_fct_ps")[0]
    assert flows.column("slowdown")[0] == pytest.approx(160e9 / ideal, rel=1e-12)
    assert result.port("to h2").queue_bytes.tolist() == [0, 10_000, 20_000, 30_000]
    assert result.flow(0).rtt_ps.tolist() == [300_000_000]
    assert result.peak_queue_bytes("to h2") == 31_000
    outcome = result.info["outcome"]
    assert (outcome["packets_sent"], outcome["packets_dropped"], outcome["packets_in_flight"]) == (2001, 1, 0)
    assert (result.end, result.sound, outcome["wall_s"]) == ("finished", True, 0.2)
    assert result.info["testbed"]["controls"] == {"dctcp:paper": "incast_dctcp"}
    assert "testbed" not in simulated.info
    assert recorded().fingerprint == result.fingerprint


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
    assert titles(both) == ["DCTCP (testbed)", "DCTCP (simulation)"]
    assert list(labelled(both)) == ["dctcp:testbed", "dctcp:simulation"]
    assert titles(both[:1]) == ["DCTCP"]


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
