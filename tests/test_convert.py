"""Files of other programs: made, checked, and read by the programs that they are for."""

from __future__ import annotations

import json
import struct
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from blocks import block, joined, star
from helpers import ROOT, Incast, written
from incast import Result, Scenario

TOPOLOGY = """\
6 2 6
4 5
0 4 100Gbps 1us 0
1 4 100Gbps 1000ns 0.000000
2 5 100Gbps 0.001ms 0
3 5 100Gbps 1us 0
4 5 400Gbps 1us 0
4 5 400Gbps 1us 0
"""
FLOWS = "3\n0 3 3 100 450000 2.0\n1 3 3 200 20000 2.000001\n2 0 3 100 1000 2.0005"
SIZES = "0 0\n1000 50\n30000 100\n"

PAUSES = joined(
    star(
        4,
        "100Gbps",
        "1us",
        switch={"pfc": {"xoff": "50KB"}, "ecn": {"kmin": "20KB", "kmax": "60KB", "pmax": 0.5}},
        cc={"algorithm": "dcqcn"},
    ),
    block("[[traffic]]", kind="incast", to="h3", size="100KB"),
    block("[probe]", ports=["to h3"], captures=["to h3", "s0->h0", "h3"], pauses=True, interval="2us"),
)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with files as HPCC's simulator has them."""
    return written(tmp_path / "hpcc", {"topology.txt": TOPOLOGY, "flow.txt": FLOWS, "sizes.cdf": SIZES})


@pytest.fixture
def pauses(incast: Incast) -> Path:
    """The result of a run with pauses and captured packets."""
    (incast.folder / "pauses.toml").write_text(PAUSES)
    done = incast.here("run", "pauses.toml", "--out", "result", "--quiet")
    assert done.returncode == 0, done.stderr
    return incast.folder / "result"


def test_files_become_a_scenario_and_results_become_files(incast: Incast, files: Path) -> None:
    # The order of the two does not matter, and the scenario may lie elsewhere.
    done = incast.here("convert", files / "flow.txt", files / "topology.txt", "--to", "made.toml")
    assert done.returncode == 0, done.stderr
    assert "made.toml: 3 flows on 4 hosts, 2 switches, 6 links" in done.stdout
    text = (incast.folder / "made.toml").read_text()
    assert 'file = "hpcc/topology.txt"' in text
    assert text.count('file = "hpcc/flow.txt"') == 2

    done = incast.here("run", "made.toml", "--out", "result", "--quiet")
    assert done.returncode == 0, done.stderr
    done = incast.here("convert", "result", "--to", "fct.txt")
    assert done.stdout == "fct.txt: 3 flows\n", done.stderr
    lines = [line.split() for line in (incast.folder / "fct.txt").read_text().splitlines()]
    assert {tuple(line[:5]) for line in lines} == {
        ("0b000001", "0b000301", "10000", "100", "450000"),
        ("0b000101", "0b000301", "10000", "200", "20000"),
        ("0b000201", "0b000001", "10000", "100", "1000"),
    }
    flows = Result.open(incast.folder / "result").flows
    for line, start, fct, ideal in zip(
        lines, *(flows.column(name) for name in ("start_ps", "fct_ps", "ideal_fct_ps")), strict=True
    ):
        assert [int(text) for text in line[5:]] == [start // 1000, (fct + 500) // 1000, (ideal + 500) // 1000]
    # What HPCC's analysis does with such a line.
    sip, dport, size, fct, ideal = lines[0][0], *map(int, (lines[0][i] for i in (3, 4, 6, 7)))
    assert (int(sip, 16) >> 8) & 0xFFFF in (0, 1)
    assert dport in (100, 200)
    assert size > 0
    assert max(1.0, fct / ideal) < 3


def test_a_scenario_goes_where_its_files_go(incast: Incast, files: Path) -> None:
    assert (
        incast.here(
            "convert", files / "topology.txt", files / "flow.txt", "--to", files / "s.toml"
        ).returncode
        == 0
    )
    moved = files.rename(incast.folder / "moved")
    done = incast.here("validate", moved / "s.toml")
    assert done.returncode == 0, done.stderr
    # An effective scenario is held to the files that it was made of.
    (incast.folder / "all.toml").write_text(incast.here("validate", moved / "s.toml", "--effective").stdout)
    assert incast.here("validate", "all.toml").returncode == 0
    (moved / "flow.txt").write_text(FLOWS.replace("450000", "450001"))
    done = incast.here("validate", "all.toml")
    assert done.returncode == 2
    assert "has changed since this scenario was made" in done.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("topology.txt", "fine, HPCC topology"),
        ("flow.txt", "2 of pg 3, dport 100; 1 of pg 3, dport 200"),
        ("sizes.cdf", "percentages (the last is 100)"),
    ],
)
def test_validate_reads_the_files(incast: Incast, files: Path, name: str, said: str) -> None:
    done = incast.here("validate", files / name)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("topology.txt", "100Gbps 1us", "100 1", 'topology.txt:3:9: delay: "1": has no unit'),
        ("topology.txt", "6 2 6", "6 2 7", "the file ends after 6"),
        ("flow.txt", "450000", "450KB", 'flow.txt:2:11: size: "450KB": not a whole number'),
        ("sizes.cdf", "30000 100", "30000 99", "it must be 1 (fractions) or 100 (percentages)"),
    ],
)
def test_validate_says_line_and_field(
    incast: Incast, files: Path, name: str, old: str, new: str, said: str
) -> None:
    path = files / name
    path.write_text(path.read_text().replace(old, new, 1))
    done = incast.here("validate", path)
    assert done.returncode == 2
    assert said in done.stderr


def test_bad_calls_are_refused(incast: Incast, files: Path, pauses: Path) -> None:
    both = (files / "topology.txt", files / "flow.txt")
    calls = [
        ((*both, "--to", "x.yaml"), 2, "the extension gives the format"),
        ((both[0], "--to", "x.toml"), 2, "a topology alone is not a scenario"),
        ((both[0], both[0], "--to", "x.toml"), 2, "topology.txt: this file is a second topology"),
        ((both[1], both[1], "--to", "x.toml"), 2, "flow.txt: this file is a second traffic file"),
        ((*both, "--to", "x.toml", "--start-unit", "ps"), 2, "--start-unit has no effect"),
        ((pauses, "--to", "fct.txt", "--start-unit", "ps"), 2, "--start-unit has no effect"),
        ((both[1], "--to", "x.toml"), 2, "a flow.txt names hosts of a topology: name its topology.txt, too"),
        ((files / "sizes.cdf", "--to", "x.toml"), 2, "sizes.cdf: this file is a distribution of flow sizes"),
        (("trace.et", "--to", "x.toml"), 2, "the name has no number to take as the rank"),
        (("trace.0.et", "--to", "x.toml"), 2, "there is no file ./trace.0.et"),
        ((*both, "--to", "x.toml", "--cc", "hpc"), 2, "hpc"),
        ((both[0], "--to", "fct.txt"), 2, "expected the folder of a result"),
        ((files, "--to", "fct.txt"), 1, "holds no result"),
        ((pauses, pauses, "--to", "fct.txt"), 2, "is made from one result"),
        ((pauses, "--to", files / "flow.txt"), 1, "--force replaces it"),
        ((*both, "--to", "pauses.toml"), 1, "--force replaces it"),
        ((pauses, "--to", "nowhere/fct.txt"), 1, "cannot be written"),
    ]
    for words, code, said in calls:
        done = incast.here("convert", *words)
        assert (done.returncode, said in done.stderr) == (code, True), done.stderr
        assert "Traceback" not in done.stderr
    assert (files / "flow.txt").read_text() == FLOWS
    assert not (incast.folder / "x.toml").exists()


@pytest.mark.parametrize(
    "words", [["run"], ["compare", "--cc", "swift,hpcc"], ["sweep"], ["validate", "--set", "seed=1"]]
)
def test_a_file_of_another_program_is_no_scenario(incast: Incast, files: Path, words: list[str]) -> None:
    done = incast.here(*words, files / "flow.txt")
    assert done.returncode == 2
    said = "flow.txt: this is no scenario, but looks like a flow.txt of HPCC's simulator"
    assert said in done.stderr
    assert "TOML" not in done.stderr


def test_a_file_of_no_known_format_says_how_each_begins(incast: Incast) -> None:
    (incast.folder / "notes.txt").write_text("hello there\n")
    done = incast.here("convert", "notes.txt", "--to", "x.toml")
    assert "`incast validate FILE` says how each format begins" in done.stderr
    done = incast.here("validate", "notes.txt")
    assert done.returncode == 2
    assert "a flow.txt with the number of flows" in done.stderr
    assert "TOML" not in done.stderr


def test_a_byte_order_mark_is_no_part_of_a_text(incast: Incast, files: Path) -> None:
    """Editors on Windows begin a text with U+FEFF."""
    plain = incast.folder / "no-mark.toml"
    plain.write_text(PAUSES.replace('cc = { algorithm = "dcqcn" }\n', ""))
    marked = incast.folder / "marked.toml"
    marked.write_text(plain.read_text(), encoding="utf-8-sig")
    texts = []
    for path in (plain, marked):
        # Both name no algorithm, which is found by reading the file in Python.
        done = incast.here("compare", path, "--cc", "dcqcn,swift", "--quiet", "--out", path.stem)
        assert done.returncode == 0, done.stderr
        texts.append(done.stdout.replace(path.stem, "NAME"))
    assert texts[0] == texts[1]
    assert Scenario.from_toml("\ufeff" + PAUSES) == Scenario.from_toml(PAUSES)
    for name in ("topology.txt", "flow.txt", "sizes.cdf"):
        (files / name).write_text((files / name).read_text(), encoding="utf-8-sig")
        done = incast.here("validate", files / name)
        assert done.returncode == 0, done.stderr


GOAL = """\
num_ranks 3
rank 0 {
a: calc 1500
b: send 100000b to 1 tag 7
b requires a
}
rank 1 {
a: recv 100000b from 0 tag 7
b: send 2000b to 2 tag 1 nic 0
b requires a
}
rank 2 {
recv 2000b from 1 tag 1
}
"""
CONNECTIONS = """\
Nodes 4
Connections 3
Triggers 1
0->1 id 1 start 0 size 2000 recv_done_trigger 1
1->2 id 2 trigger 1 size 2000
3->2 id 3 start 5 size 2000 prio 2
trigger id 1 oneshot
"""
TREE = """\
Nodes 4
Tiers 2
Podsize 4
Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 500
Queue_Up 100
Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Downlink_Latency_ns 500
"""


def binary_goal() -> bytes:
    """The binary form of GOAL: little-endian numbers without padding."""
    send, receive, calc = 1, 2, 3

    def step(waits: int, kind: int, peer: int, size: int, tag: int, behind: int, place: int) -> bytes:
        # Nothing waits for a start.
        return struct.pack("<IBIQIBBIIII", waits, kind, peer, size, tag, 0, 0, behind, place, 0, 0)

    chain = [step(0, calc, 0, 1500, 0, 1, 0), step(1, send, 1, 100000, 7, 0, 1)]
    middle = [step(0, receive, 0, 100000, 7, 1, 0), step(1, send, 2, 2000, 1, 0, 1)]
    # The first operation of each waits for nothing, the second, number 1, for it.
    blocks = [
        struct.pack("<III", 2, 1, 0) + b"".join(steps) + struct.pack("<I", 1) for steps in (chain, middle)
    ]
    blocks.append(struct.pack("<III", 1, 1, 0) + step(0, receive, 1, 2000, 1, 0, 0))
    file, place = struct.pack("<QIBB", 4223, len(blocks), 0, 0), 6 + 16 * len(blocks)
    for one in blocks:
        file += struct.pack("<QQ", place, place + len(one))
        place += len(one)
    return file + b"".join(blocks)


def varint(value: int) -> bytes:
    """A number in Protocol Buffers' coding."""
    low, value = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + varint(value) if value else bytes([low])


def chakra(bytes_: int) -> bytes:
    """A trace with one node: an all-reduce (COMM_COLL_NODE is 7, ALL_REDUCE 0)."""

    def number(field: int, value: int) -> bytes:
        return varint(field << 3) + varint(value)

    def text(field: int, value: bytes) -> bytes:
        return varint(field << 3 | 2) + varint(len(value)) + value

    def attribute(name: bytes, value: int) -> bytes:
        return text(10, text(1, name) + number(9, value))

    node = number(1, 1) + text(2, b"reduce") + number(3, 7)
    node += attribute(b"comm_type", 0) + attribute(b"comm_size", bytes_)
    records = (text(1, b"0.0.4"), node)
    return b"".join(varint(len(record)) + record for record in records)


@pytest.fixture
def workloads(incast: Incast) -> Path:
    """A folder with a schedule, a connection matrix, a topology and traces of four ranks."""
    moe = (ROOT / "examples/workloads/moe_8.txt").read_text()
    files = {"chain.goal": GOAL, "three.cm": CONNECTIONS, "tree.topo": TREE, "moe.txt": moe}
    folder = written(incast.folder / "work", files)
    for rank in range(4):
        (folder / f"trace.{rank}.et").write_bytes(chakra(4000))
    return folder


def test_a_trace_as_json_is_the_trace(incast: Incast, workloads: Path) -> None:
    """JSON as `chakra_jsonizer` writes it gives the flows and results of the trace."""
    node = {
        "id": "1",
        "name": "reduce",
        "type": "COMM_COLL_NODE",
        "attr": [{"name": "comm_type", "int64Val": "0"}, {"name": "comm_size", "int64Val": "4000"}],
    }
    for rank in range(4):
        text = json.dumps({"version": "0.0.4"}, indent=2) + json.dumps(node, indent=2)
        (workloads / f"trace.{rank}.json").write_text(text)
    told, fingerprints = [], []
    for end in ("et", "json"):
        done = incast.here("validate", workloads / f"trace.1.{end}")
        assert done.returncode == 0, done.stderr
        told.append(done.stdout.replace(f".{end}", ""))
        done = incast.here("convert", *sorted(workloads.glob(f"*.{end}")), "--to", "made.toml", "--force")
        assert done.returncode == 0, done.stderr
        assert "24 flows on 4 hosts" in done.stdout
        done = incast.here("run", "made.toml", "--out", end, "--quiet")
        assert done.returncode == 0, done.stderr
        fingerprints.append(Result.open(incast.folder / end).fingerprint)
    assert told[0] == told[1]
    assert fingerprints[0] == fingerprints[1]


def test_a_binary_schedule_is_the_text(incast: Incast, workloads: Path) -> None:
    """Either form gives the same flows, operations and results."""
    (workloads / "chain.bin").write_bytes(binary_goal())
    told, made = [], []
    for name in ("chain.goal", "chain.bin"):
        done = incast.here("validate", workloads / name)
        assert done.returncode == 0, done.stderr
        told.append(done.stdout.replace(name, "NAME").replace("schedule, binary", "schedule"))
        done = incast.here("convert", workloads / name, "--to", "made.toml", "--force")
        assert done.returncode == 0, done.stderr
        done = incast.here("run", "made.toml", "--out", name, "--quiet")
        assert done.returncode == 0, done.stderr
        result = Result.open(incast.folder / name)
        tables = (result.flows, result.operations)
        made.append([{name: table.column(name).tolist() for name in table.columns} for table in tables])
    assert told[0] == told[1]
    assert "computes   1" in told[0]
    assert str(made[0]) == str(made[1])
    assert len(made[0][0]["start_ps"]) == 2

    done = incast.here("run", workloads / "chain.bin", "--quiet")
    assert "chain.bin: this is no scenario, but looks like a GOAL schedule" in done.stderr
    (workloads / "chain.bin").write_bytes(binary_goal()[:100])
    done = incast.here("validate", workloads / "chain.bin")
    assert done.returncode == 2
    assert "chain.bin: byte " in done.stderr
    assert "is the file truncated?" in done.stderr


def test_workloads_become_scenarios_that_run(incast: Incast, workloads: Path) -> None:
    traces = sorted(workloads.glob("*.et"))
    topology = workloads / "tree.topo"
    cases = [
        ((workloads / "chain.goal",), "2 flows on 3 hosts, 1 switch, 3 links", 'kind = "star"\nhosts = 3\n'),
        ((topology, workloads / "chain.goal"), "2 flows on 4 hosts, 4 switches, 8 links", '"htsim-file"'),
        (
            (workloads / "three.cm", topology, "--start-unit", "us"),
            "3 flows on 4 hosts, 4 switches, 8 links",
            'start_unit = "1us"',
        ),
        # A ring of four: six steps of four messages each.
        (tuple(traces), "24 flows on 4 hosts, 1 switch, 4 links", 'file = "work/trace.*.et"'),
        (tuple(traces[:1]), "24 flows on 4 hosts, 1 switch, 4 links", 'file = "work/trace.*.et"'),
        ((workloads / "trace.*.et",), "24 flows on 4 hosts, 1 switch, 4 links", 'kind = "chakra-trace"'),
        # In groups of 2, 4, 2 and 2 GPUs: 4 all-reduces of 4 messages and 2 of 24, and 4 operations
        # of 2 messages for each of 5 others in the file.
        ((workloads / "moe.txt",), "104 flows on 8 hosts, 1 switch, 8 links", 'kind = "simai-file"'),
    ]
    for inputs, told, key in cases:
        done = incast.here("convert", *inputs, "--to", "made.toml", "--cc", "swift", "--force")
        assert done.returncode == 0, done.stderr
        assert f"made.toml: {told}" in done.stdout
        text = (incast.folder / "made.toml").read_text()
        assert key in text
        assert 'algorithm = "swift"' in text
        done = incast.here("run", "made.toml", "--out", "result", "--quiet", "--fresh")
        assert done.returncode == 0, done.stderr
        assert "flows finished" in done.stdout
    done = incast.here("convert", workloads / "three.cm", topology, "--to", "made.toml", "--force")
    assert done.returncode == 2
    assert '"1ps" (htsim_ndp): the last connection starts at 5.00 ps' in done.stderr
    assert "--start-unit" in done.stderr
    done = incast.here(
        "convert", workloads / "three.cm", topology, "--start-unit", "5ns", "--to", "made.toml", "--force"
    )
    # 6 kB in 25 ns, and four links of 100 Gbps: 48,000 bit of 10,000.
    assert "traffic    0.00600 MB" in done.stdout
    assert "starts     0 us to 0.0250 us" in done.stdout
    assert "load       480 % of" in done.stdout
    assert "dropped or different:" in done.stdout
    assert "prio (1)" in done.stdout
    assert "queue_down, queue_up: not taken over" in done.stdout


def test_a_workload_that_is_refused_says_line_and_field(incast: Incast, workloads: Path) -> None:
    for name, old, new, said in [
        ("chain.goal", "100000b to 1", "100000 to 1", "chain.goal:4:"),
        ("chain.goal", "recv 2000b from 1", "recv 2000b from -1", "chain.goal:13:17: from:"),
        ("three.cm", "Connections 3", "Connections 4", "three.cm:7: the header says Connections 4"),
        ("three.cm", "size 2000 prio", "size 0 prio", "three.cm:6:"),
        ("tree.topo", "Radix_Up 2", "Radix_Up 3", "tree.topo:"),
    ]:
        path = workloads / name
        good = path.read_text()
        path.write_text(good.replace(old, new, 1))
        done = incast.here("convert", workloads / "chain.goal", path, "--to", "made.toml")
        if name != "tree.topo":
            done = incast.here("convert", path, "--to", "made.toml")
        assert done.returncode == 2
        assert said in done.stderr
        path.write_text(good)
    (workloads / "trace.2.et").write_bytes(chakra(4001))
    done = incast.here("convert", workloads / "trace.0.et", "--to", "made.toml")
    assert done.returncode == 2
    assert "trace.2.et" in done.stderr
    (workloads / "trace.2.et").unlink()
    done = incast.here("convert", workloads / "trace.0.et", "--to", "made.toml")
    assert "there is no file" in done.stderr
    assert not (incast.folder / "made.toml").exists()
    # More ranks than the topology has hosts.
    (workloads / "chain.goal").write_text(
        GOAL.replace("num_ranks 3", "num_ranks 5") + "rank 3 {}\nrank 4 {}\n"
    )
    done = incast.here("convert", workloads / "chain.goal", workloads / "tree.topo", "--to", "made.toml")
    assert "4 hosts for the 5 ranks of the file" in done.stderr


def test_a_trace_is_what_perfetto_reads(incast: Incast, pauses: Path) -> None:
    trace_pb2 = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    done = incast.here("convert", "result", "--to", "run.pftrace")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("run.pftrace: 3 flows, ")
    trace = trace_pb2.Trace()
    trace.ParseFromString((incast.folder / "run.pftrace").read_bytes())

    tracks = {packet.track_descriptor.uuid: packet.track_descriptor for packet in trace.packet}
    del tracks[0]
    assert all(t.parent_uuid in tracks for t in tracks.values() if t.HasField("parent_uuid"))
    named = {track.name: track for track in tracks.values()}
    assert tracks[named["queue"].parent_uuid].name == "s0 port 3 to h3"
    assert named["queue"].counter.unit == trace_pb2.CounterDescriptor.UNIT_SIZE_BYTES
    assert named["throughput"].counter.unit_name == "bit/s"
    events = [(p.timestamp, p.track_event) for p in trace.packet if p.HasField("track_event")]
    assert all(p.trusted_packet_sequence_id == 1 for p in trace.packet)
    kinds = trace_pb2.TrackEvent
    begun = [event for _, event in events if event.type == kinds.TYPE_SLICE_BEGIN]
    ended = [event for _, event in events if event.type == kinds.TYPE_SLICE_END]
    assert len(begun) == len(ended)
    assert Counter(event.categories[0] for event in begun)["flow"] == 3
    assert any(event.name == "queue 0 paused" for event in begun)
    flow = next(event for event in begun if event.name == "flow 0 to h3 (100KB)")
    notes = {note.name: note for note in flow.debug_annotations}
    assert notes["algorithm"].string_value == "dcqcn:paper"
    assert notes["acked_bytes"].uint_value == 100_000
    assert notes["slowdown"].double_value > 1

    result = Result.open(pauses)
    queue = [(at, e.counter_value) for at, e in events if e.track_uuid == named["queue"].uuid]
    samples = result.port_series
    expected = zip(samples.column("time_ps") // 1000, samples.column("queue_bytes"), strict=True)
    assert queue == [(int(at), int(size)) for at, size in expected]


def tshark(capture: Path, only: str, *fields: str) -> list[list[str]]:
    """Returns these fields of every packet that Wireshark's filter lets through."""
    words = ["tshark", "-o", "ip.check_checksum:TRUE", "-r", str(capture), "-Y", only, "-T", "fields"]
    words += [word for field in fields for word in ("-e", field)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def test_wireshark_reads_a_capture(pauses: Path) -> None:
    capture = pauses / "capture.pcapng"
    everything = tshark(capture, "frame", "frame.interface_name", "frame.len", "frame.time_epoch")
    ports = Result.open(pauses).ports
    for name, node, port in [("h3:0->s0", "h3", 0), ("s0:0->h0", "s0", 0), ("s0:3->h3", "s0", 3)]:
        row = list(zip(ports.column("node"), ports.column("port"), strict=True)).index((node, port))
        here = [packet for packet in everything if packet[0] == name]
        assert len(here) == ports.column("transmitted_packets")[row]
        assert sum(int(packet[1]) for packet in here) == ports.column("transmitted_bytes")[row]
    times = [float(packet[2]) for packet in everything]
    assert times == sorted(times)
    assert times[-1] < 1e-3

    # Nothing is malformed, and every checksum of an IP header is right.
    assert not tshark(capture, "_ws.malformed || (ip && ip.checksum.status != 1)", "frame.number")
    data = tshark(
        capture,
        'frame.interface_name == "s0:3->h3" && infiniband.bth.opcode < 5',
        "ip.src",
        "ip.dst",
        "infiniband.bth.psn",
        "infiniband.bth.destqp",
    )
    assert {(source, target) for source, target, *_ in data} == {
        (f"11.0.{i}.1", "11.0.3.1") for i in range(3)
    }
    for host in range(3):
        numbers = [int(number) for source, _, number, _ in data if source == f"11.0.{host}.1"]
        assert numbers == list(range(100))
    marks = tshark(capture, "ip.dsfield.ecn == 3", "infiniband.bth.opcode")
    assert marks
    assert all(int(opcode) < 5 for (opcode,) in marks)
    acknowledged = tshark(capture, "infiniband.bth.opcode == 17", "infiniband.aeth.msn", "infiniband.bth.psn")
    assert ["1", "99"] in acknowledged
    assert tshark(capture, "infiniband.bth.opcode == 129", "infiniband.bth.psn")
    frames = tshark(capture, "macc", "macc.opcode", "macc.cbfc.enbv", "eth.dst")
    assert frames
    assert all(int(opcode, 16) == 0x0101 for opcode, *_ in frames)
    assert {target for *_, target in frames} == {"01:80:c2:00:00:01"}
