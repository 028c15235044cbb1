"""Refusals of a testbed, and its plans: nothing here needs rights or a network."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import incast
from blocks import block, graph, joined, link, traffic
from helpers import Incast
from incast import ScenarioError, captures
from incast.ledger.figure import find, ids
from incast.real.kernel import machine as kernel_machine
from incast.real.testbed import machine, plan, telemetry
from testbeds import STAR, scenario, three_paths


def check_refusal(text: str, key: str, said: str) -> None:
    """Checks that no testbed takes a scenario, and what is said of a key."""
    with pytest.raises(ScenarioError) as refused:
        plan.read(scenario(text=text))
    problems = {problem.key: str(problem) for problem in refused.value.problems}
    assert said in problems.get(key, str(problems))


LEAF_SPINE = 'topology={kind="leaf-spine",leaves=2,spines=2,hosts=2,rate="100Mbps",delay="1us"}'


@pytest.mark.parametrize(
    ("override", "said"),
    {
        "topology.rate=1Gbps": "topology.rate: 1Mbps to 200Mbps",
        "topology.rate=100Kbps": "topology.rate: 1Mbps to 200Mbps",
        "topology.hosts=65": "topology.hosts: at most 64 hosts",
        LEAF_SPINE: "topology.kind: a star, a dumbbell or a graph",
        "switch.queues=2": "switch.queues: one queue",
        "transport.header=60B": "transport.header: 54B",
        "transport.payload=100B": "transport.payload: 500B to 8946B",
        "transport.ack_every=2": "transport.ack_every: acknowledge each packet",
        "transport.counting=payload": "transport.counting: with their headers",
        "switch.ecn.kmax=60KB": "switch.ecn.kmax: at one threshold",
        "traffic.two.start=1200s": "run.until: at most for ten minutes",
        "traffic.two.count=600": "traffic: at most 1,000",
        'cc={algorithm="oscar",preset="owd"}': "cc: one-way delays in a TCP option",
        "cc.algorithm=dcqcn": "cc: there is no 'dcqcn' for the kernel",
        "cc.algorithm=sqcc": "cc: count=estimate",
        'cc={algorithm="newreno",increase=2}': "cc: the reno of Linux has no such parameter",
        'change=[{at="1ms",between=["h0","s0"],rate="10Mbps"}]': "change: do not change",
    }.items(),
)
def test_what_a_testbed_cannot_do_is_refused_by_key(override: str, said: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        plan.read(scenario(override))
    problems = {problem.key: problem for problem in refused.value.problems}
    key, _, why = said.partition(": ")
    assert key in problems
    assert why in str(problems[key])


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


GRAPH = joined(
    three_paths("h0-h3", "h2-h3", "left", "right", delay="3ms", rate="50Mbps"),
    block("[switch]", buffer="unlimited"),
    block("[cc]", algorithm="swift"),
    traffic("each", ["h0", "h1", "h2", "h3"], "r", size="100KB"),
)
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


MANY_PATHS = joined(
    graph(
        ["h0-h9", "r"],
        ["s"],
        *(link(f"h{n}", "s", delay=f"{n + 1}ms") for n in range(10)),
        link("r", "s", delay="1ms"),
        rate="100Mbps",
    ),
    block("[cc]", algorithm="swift"),
    block("[[traffic]]", kind="flows", **{"from": "h0-h9"}, to="r", size="100KB"),
)


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        (rate_of_all("1Gbps"), "topology.rate", "1Mbps to 200Mbps"),
        (GRAPH.replace('"50Mbps"', '"1Gbps"'), "topology.links.2.rate", "1Gbps: a testbed has links of"),
        (GRAPH.replace("h0-h3", "h0-h70").replace("h2-h3", "h2-h70"), "topology.hosts", "at most 64 hosts"),
        (GRAPH.replace('"left"', '"the_left_one"').replace('r"', 'r_0123456789ab"'), "topology.hosts", "12"),
        (
            GRAPH.replace('["left", "right"]\nrate', '["left", "right", "top"]\nrate').replace(
                "links = [", 'links = [{ between = ["top", "left"] }, '
            ),
            "topology.switches",
            "at most 2",
        ),
        (
            GRAPH.replace("links = [", 'links = [{ between = ["h0", "right"] }, '),
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
