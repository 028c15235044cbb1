"""Refusals of a testbed, and its use of measurements: nothing here needs rights or a network."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import incast
from blocks import block, joined, star, traffic
from helpers import Incast
from incast import ScenarioError, _core, captures, store, testbed
from incast._build import build
from incast.cli.plot import labelled
from incast.ledger.figure import find, ids
from incast.real.kernel import KernelError
from incast.real.kernel import machine as kernel_machine
from incast.real.testbed import machine, plan, telemetry
from incast.real.testbed.distance import distance, pairs
from incast.report.entries import titles

STAR = joined(
    star(
        3,
        "100Mbps",
        "5us",
        switch={"buffer": {"per_port": "300KB"}, "ecn": {"kmin": "30KB", "kmax": "30KB", "pmax": 1}},
        cc={"algorithm": "dctcp"},
    ),
    traffic("two", ["h0", "h1"], "h2", size="1MB"),
    block("[probe]", ports=["to h2"], flows=["two"], interval="1ms"),
)
"""Two flows onto one port."""


def check_refusal(text: str, key: str, said: str) -> None:
    """Checks that no testbed takes a scenario, and what is said of a key."""
    with pytest.raises(ScenarioError) as refused:
        plan.read(scenario(text=text))
    problems = {problem.key: str(problem) for problem in refused.value.problems}
    assert said in problems.get(key, str(problems))


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
            "a star, a dumbbell or a graph",
        ),
        ("switch.queues=2", "switch.queues", "one queue"),
        ("transport.header=60B", "transport.header", "54B"),
        ("transport.payload=100B", "transport.payload", "500B to 8946B"),
        ("transport.ack_every=2", "transport.ack_every", "acknowledge each packet"),
        ("transport.counting=payload", "transport.counting", "with their headers"),
        ("switch.ecn.kmax=60KB", "switch.ecn.kmax", "at one threshold"),
        ("traffic.two.start=1200s", "run.until", "at most for ten minutes"),
        ("traffic.two.count=600", "traffic", "at most 1,000"),
        ('cc={algorithm="oscar",preset="owd"}', "cc", "one-way delays in a TCP option"),
        ("cc.algorithm=dcqcn", "cc", "there is no 'dcqcn' for the kernel"),
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

RINGS = '[[traffic]]\nname = "ring"\nkind = "ring-allreduce"\nsize = "1MB"\ncompute = "350s"\npasses = 3\n\n'
SLOW = STAR.replace("[probe]", RINGS + "[probe]")

RING = joined(
    star(2, "100Mbps", "5us", cc={"algorithm": "newreno"}),
    block("[[traffic]]", name="ring", kind="ring-allreduce", size="100KB", compute="4ms", passes=2),
)
"""Two hosts that send each other a flow, compute, and send again."""


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        (HOMA, "transport.kind", "there is no homa"),
        (SPRAYED, "balancing.policy", "one path"),
        (SLOW, "traffic", "takes 700 s at least"),
    ],
)
def test_whole_features_are_refused(text: str, key: str, said: str) -> None:
    check_refusal(text, key, said)


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("transport.ack_size=70B", "transport.ack_size"),
        ("transport.ack_extra=20B", "transport.ack_extra"),
        ("transport.smallest=100B", "transport.smallest"),
        ("transport.cnp_interval=1ms", "transport.cnp_interval"),
        ("transport.ack_queue=0", "transport.ack_queue"),
        ("transport.nack_interval=1ms", "transport.nack_interval"),
        ("switch.path=five-tuple", "switch.path"),
        ("switch.next_hops=descending", "switch.next_hops"),
        ("switch.scheduler=drr", "switch.scheduler"),
    ],
)
def test_keys_that_a_testbed_would_ignore_are_refused(override: str, key: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        plan.read(scenario(override))
    (problem,) = refused.value.problems
    assert (problem.file, problem.key) == (f"--set {override}", key)
    assert problem.hint is not None


def test_defaults_that_are_written_out_are_accepted() -> None:
    found = scenario("traffic.two.balancing=ecmp")
    again = incast.Scenario.from_toml(found.to_toml(), "again.toml")
    assert [flow.number for flow in plan.read(again).flows] == [0, 1]


PAPERS = Path(__file__).parent.parent / "papers"
MEASURED = [name for name in ids(PAPERS) if "testbed = true" in (PAPERS / name / "claims.toml").read_text()]


@pytest.mark.parametrize("name", MEASURED)
def test_figures_on_a_testbed_are_accepted(name: str) -> None:
    (figure,) = find(PAPERS, [name])
    specs = [spec for spec in figure.runs if spec.testbed]
    assert specs
    for spec in specs:
        assert plan.read(spec.load(None)).flows


def test_the_example_is_accepted() -> None:
    example = incast.Scenario.load(PAPERS.parent / "examples" / "testbed.toml")
    assert len(plan.read(example).flows) == 4


def test_everything_is_refused_at_once_and_placed_in_the_file() -> None:
    text = STAR.replace("100Mbps", "1Gbps").replace("switch = {", "switch = { queues = 2,")
    with pytest.raises(ScenarioError) as refused:
        plan.read(scenario(text=text))
    first, second = refused.value.problems
    assert (first.file, first.line, first.key) == ("star.toml", 1, "topology.rate")
    assert (second.file, second.line, second.key) == ("star.toml", 2, "switch.queues")


def test_each_setup_of_an_algorithm_has_a_name_in_the_kernel() -> None:
    block = '[[traffic]]\nname = "other"\nkind = "flows"\nfrom = "h2"\nto = "h0"\nsize = "1MB"\n'
    text = STAR.replace("[probe]", block + 'cc = { algorithm = "dctcp", g = 0.5 }\n[probe]')
    found = plan.read(scenario(text=text))
    names = [flow.control.name for flow in sorted(found.flows, key=lambda flow: flow.source)]
    assert names == ["incast_dctcp", "incast_dctcp", "incast_dctc2"]
    wanted = {name: control.wanted for name, control in found.controls.items()}
    parameters = {name: of.parameters[0] for name, of in wanted.items() if of is not None}
    assert parameters == {"incast_dctcp": "g=0.0625", "incast_dctc2": "g=0.5"}
    found = plan.read(scenario(text=text.replace('"dctcp", g = 0.5', '"newreno"')))
    assert {name: control.label for name, control in found.controls.items()} == {
        "incast_dctcp": "dctcp:paper",
        "reno": "newreno:rfc",
    }


GRAPH = """\
[topology]
kind = "graph"
hosts = ["h0-h3", "r"]
switches = ["left", "right"]
rate = "100Mbps"
delay = "1ms"
links = [
    { between = ["h0", "left"] },
    { between = ["h1", "left"], delay = "3ms" },
    { between = ["h2-h3", "right"], rate = "50Mbps" },
    { between = ["left", "right"], delay = "2ms" },
    { between = ["r", "right"] },
]

[switch]
buffer = "unlimited"

[cc]
algorithm = "swift"

[[traffic]]
name = "each"
kind = "flows"
from = ["h0", "h1", "h2", "h3"]
to = "r"
size = "100KB"
"""
"""Four hosts on three kinds of paths to one."""


def test_each_connection_is_told_of_its_own_path() -> None:
    found = plan.read(scenario(text=GRAPH))
    names = [flow.control.name for flow in sorted(found.flows, key=lambda flow: flow.source)]
    # That of the longest path has the usual name. h2 and h3 have the same path, and so the same setup.
    assert names == ["incast_swif2", "incast_swift", "incast_swif3", "incast_swif3"]
    links = {name: control.wanted.link for name, control in found.controls.items() if control.wanted}
    # A packet has 1054 B, an acknowledgement 64 B: 80 ns a byte at 100 Mbps, 160 ns at 50 Mbps.
    far = 2 * (3 + 2 + 1) * 10**9 + 3 * (1054 + 64) * 80_000
    assert links["incast_swift"].base_rtt_ps == far
    assert links["incast_swif2"].base_rtt_ps == far - 4 * 10**9
    assert links["incast_swif3"].base_rtt_ps == 4 * 10**9 + (1054 + 64) * (160_000 + 80_000)
    assert [links[name].hops for name in ("incast_swift", "incast_swif3")] == [3, 2]
    assert [links[name].line_rate_bps for name in ("incast_swift", "incast_swif3")] == [10**8, 5 * 10**7]
    assert found.core.user


def rate_of_all(rate: str) -> str:
    return GRAPH.replace('"100Mbps"', f'"{rate}"')


_HOSTS = "".join(f'    {{ between = ["h{n}", "s"], delay = "{n + 1}ms" }},\n' for n in range(10))

MANY_PATHS = f"""\
[topology]
kind = "graph"
hosts = ["h0-h9", "r"]
switches = ["s"]
rate = "100Mbps"
links = [
{_HOSTS}    {{ between = ["r", "s"], delay = "1ms" }},
]

[cc]
algorithm = "swift"

[[traffic]]
kind = "flows"
from = "h0-h9"
to = "r"
size = "100KB"
"""


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        (rate_of_all("1Gbps"), "topology.rate", "1Mbps to 200Mbps"),
        (GRAPH.replace('"50Mbps"', '"1Gbps"'), "topology.links.2.rate", "1Gbps: a testbed has links of"),
        (GRAPH.replace("h0-h3", "h0-h70").replace("h2-h3", "h2-h70"), "topology.hosts", "at most 64 hosts"),
        (GRAPH.replace('"left"', '"the_left_one"').replace('r"', 'r_0123456789ab"'), "topology.hosts", "12"),
        (
            GRAPH.replace('["left", "right"]\nrate', '["left", "right", "top"]\nrate').replace(
                "links = [", 'links = [\n    { between = ["top", "left"] },'
            ),
            "topology.switches",
            "at most 2",
        ),
        (
            GRAPH.replace("links = [", 'links = [\n    { between = ["h0", "right"] },'),
            "topology.links",
            "h0 has several",
        ),
        (
            GRAPH.replace('right"], delay = "2ms"', 'right"], parallel = 2'),
            "topology.links",
            "two switches of a testbed have one link",
        ),
        (MANY_PATHS, "cc", "the kernel can have it 9 times"),
    ],
    ids=["rate", "rate of a link", "hosts", "names", "switches", "two links", "two trunks", "paths"],
)
def test_graphs_that_a_testbed_cannot_make_are_refused(text: str, key: str, said: str) -> None:
    check_refusal(text, key, said)


def test_a_graph_of_links_without_delay_is_forwarded_by_the_kernel() -> None:
    near = GRAPH.replace("ms", "us")
    assert not plan.read(scenario(text=near)).core.user
    text = GRAPH.replace('delay = "1ms"\nlinks', "links").replace('"] }', '"], delay = "1ms" }')
    text = text.replace('rate = "50Mbps" }', 'rate = "50Mbps", delay = "1ms" }')
    with pytest.raises(ScenarioError, match=r"topology\.links: the kernel cannot delay packets"):
        plan.read(scenario(text=text), "kernel")


def test_packets_are_captured_where_there_is_a_host() -> None:
    found = plan.read(scenario('probe.captures=["left->h0", "h1"]', text=GRAPH))
    assert len(found.core.captured_ports) == 2
    assert any("captured by the kernels of hosts" in note for note in found.core.deviations)
    with pytest.raises(ScenarioError, match=r"probe\.captures: .* none at either end of left:\d->right"):
        plan.read(scenario('probe.captures=["left->right", "left->h0"]', text=GRAPH))


def test_telemetry_comes_from_either_switch() -> None:
    near = plan.read(scenario("cc.algorithm=hpcc"))
    far = plan.read(scenario("cc.algorithm=hpcc", "topology.delay=1ms"))
    assert (near.core.user, far.core.user) == (False, True)
    for found in (near, far):
        control = found.controls["incast_hpcc"]
        assert control.telemetry
        assert control.wanted is not None
        # 1000 B and 54 B of headers: the option's room is taken from the payload. The simulator adds 42 B.
        assert (control.wanted.link.packet_bytes, control.wanted.link.payload_bytes) == (1054, 1000)
    # A tenth of a millisecond is 1250 B, and a bucket of 20 KB more than any window.
    assert any("20 KB" in note and "telemetry" in note for note in near.core.deviations)
    assert not any("telemetry" in note for note in far.core.deviations)


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


def test_round_trips_are_those_of_packets_whose_last_byte_was_acknowledged() -> None:
    def packet(time: int, port: str, sequence: int, acknowledged: int, bytes_: int) -> captures.Packet:
        ip = bytes([0x45, 0]) + (40 + bytes_).to_bytes(2, "big") + bytes(5) + b"\6" + bytes(10)
        tcp = struct.pack(">HHIIH", 1, 2, sequence, acknowledged, 5 << 12) + bytes(6)
        return captures.Packet(time, port, 54 + bytes_, bytes(12) + b"\x08\x00" + ip + tcp)

    last = 2**32 - 100
    packets = [
        packet(10, "h0:0->s0", last, 0, 100),
        packet(20, "h0:0->s0", 0, 0, 100),
        packet(30, "h0:0->s0", 100, 0, 100),
        packet(40, "h0:0->s0", 200, 0, 100),
        packet(50, "s0:0->h0", 0, 0, 0),
        # Two at once: the first of them has no acknowledgement of its own.
        packet(60, "s0:0->h0", 0, 200, 0),
        packet(61, "s0:0->h0", 0, 200, 0),
        # Sent again: which of both was acknowledged is not known.
        packet(70, "h0:0->s0", 200, 0, 100),
        packet(80, "s0:0->h0", 0, 300, 0),
        captures.Packet(90, "h0:0->s0", 60, b"\xff" * 60),
    ]
    assert telemetry.round_trips(packets, "h0") == [(10, 50), (30, 60)]


def test_delays_decide_what_forwards() -> None:
    assert not plan.read(scenario()).core.user
    assert plan.read(scenario("topology.delay=1ms")).core.user
    assert plan.read(scenario(), "user").core.user
    with pytest.raises(ScenarioError, match=r"topology\.delay: the kernel cannot delay packets"):
        plan.read(scenario("topology.delay=1ms"), "kernel")
    # With it marks between two thresholds are possible too.
    found = plan.read(scenario("switch.ecn.kmax=60KB", "switch.ecn.pmax=0.5"), "user")
    assert marks(found) == {(3, port): (30_000, 60_000, 0.5) for port in range(3)}


def marks(found: plan.Plan) -> dict[tuple[int, int], tuple[int, int, float]]:
    """Returns the queues at which each port begins to mark and marks all, and the probability just below."""
    return {
        (link.node, link.port): (link.marks.low_bytes, link.marks.high_bytes, link.marks.probability)
        for link in found.links
        if link.marks is not None
    }


def test_pauses_are_those_of_the_switch_in_user_space() -> None:
    found = plan.read(scenario(text=PAUSES))
    assert found.core.user
    assert any("network card" in note for note in found.core.deviations)
    # Of each host's link into the switch: 1/4 of what is free; headroom for two delays of 5 us at 12.5 B/us,
    # a packet of 1054 B, a frame of 64 B, and two packets (docs/network/pfc.md).
    headroom = 125 + 1054 + 64 + 2 * 1054
    assert pausing(found) == {(host, 0): (None, 1 << 30, 3072, headroom, 4096) for host in range(3)}
    text = PAUSES.replace("pfc = {}", 'pfc = { xoff = "20KB", headroom = "9KB" }')
    assert pausing(plan.read(scenario(text=text)))[0, 0] == (20_000, 1 << 30, 3072, 9_000, 4096)
    with pytest.raises(ScenarioError, match=r"switch\.pfc: the kernel switch does not support PFC"):
        plan.read(scenario(text=PAUSES), "kernel")
    with pytest.raises(ScenarioError, match=r"probe\.pauses: pauses are counted for each port"):
        plan.read(scenario("probe.pauses=true", text=PAUSES))


def pausing(found: plan.Plan) -> dict[tuple[int, int], tuple[int | None, int, int, int, int]]:
    """Returns each paused port with its threshold, part of what is free, offset, headroom and reserve."""
    return {
        (link.node, link.port): (
            rule.xoff_bytes,
            rule.alpha,
            rule.xon_offset_bytes,
            rule.headroom_bytes,
            rule.reserve_bytes,
        )
        for link in found.links
        if (rule := link.pausing) is not None
    }


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
    assert marks(found) == {(3, port): (15_000, 15_000, 1.0) for port in range(3)}


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
    assert "nsenter is missing: install it (Debian: apt install util-linux)" in refusal()
    (tmp_path / "nsenter").touch(0o755)
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
