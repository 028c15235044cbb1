"""Captured packets that are read back."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest

import incast
from blocks import block, joined, star, traffic
from incast import captures

SCENARIO = joined(
    star(3, "10Gbps", "1us", cc={"algorithm": "newreno"}),
    traffic("two", ["h0", "h1"], "h2", size="50KB"),
    block("[probe]", ports=["to h2"], captures=["to h2", "h2"]),
)


def test_packets_are_those_that_the_ports_sent(tmp_path: Path) -> None:
    result = incast.Scenario.from_toml(SCENARIO).run(tmp_path / "run")
    packets = captures.read(result)
    assert captures.read(tmp_path / "run") == packets
    assert [p.time_ps for p in packets] == sorted(p.time_ps for p in packets)
    sent = {port: [p for p in packets if p.port == port] for port in ("s0:2->h2", "h2:0->s0")}
    assert len(packets) == sum(map(len, sent.values()))
    ports = result.ports
    for node, found in zip(("s0", "h2"), sent.values(), strict=True):
        (row,) = (
            row
            for row in range(len(ports))
            if ports.column("node")[row] == node and (node == "h2" or ports.column("port")[row] == 2)
        )
        assert len(found) == ports.column("transmitted_packets")[row] > 0
        assert sum(p.length for p in found) == ports.column("transmitted_bytes")[row]
    # One link at 10 Gbps, of 0.8 ns a byte: a packet begins when the one before has ended.
    busy = sent["s0:2->h2"]
    assert all(
        after.time_ps - before.time_ps >= (before.length - 1) * 800
        for before, after in itertools.pairwise(busy)
    )
    # IPv4, and from the hosts' addresses.
    assert {p.frame[12:14] for p in packets} == {b"\x08\x00"}
    assert {p.frame[26:30] for p in busy} == {bytes([11, 0, n, 1]) for n in (0, 1)}


def test_what_is_no_capture_is_said(tmp_path: Path) -> None:
    scenario = incast.Scenario.from_toml(SCENARIO)
    with pytest.warns(incast.IncastWarning, match="captured packets are not kept"):
        result = scenario.run()
    with pytest.raises(FileNotFoundError, match="this result has no folder"):
        captures.read(result)
    folder = tmp_path / "run"
    scenario.run(folder)
    path = folder / "capture.pcapng"
    data = path.read_bytes()
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    for damaged, said in ((data[:-5], "cut off"), (b"\n" * 40, "no capture"), (b"", "no capture")):
        (other / "capture.pcapng").write_bytes(damaged)
        with pytest.raises(ValueError, match=said):
            captures.read(other)
    # Times in microseconds (option 9, one byte); and a packet of an interface that is not there.
    micro = data.replace(b"\x09\x00\x01\x00\x09", b"\x09\x00\x01\x00\x06", 1)
    assert micro != data
    block = 0
    while data[block : block + 4] != b"\x06\x00\x00\x00":
        block += int.from_bytes(data[block + 4 : block + 8], "little")
    unknown = data[: block + 8] + b"\x63" + data[block + 9 :]
    for damaged, said in ((micro, "not in nanoseconds"), (unknown, "malformed")):
        (other / "capture.pcapng").write_bytes(damaged)
        with pytest.raises(ValueError, match=said):
            captures.read(other)
    (other / "capture.pcapng").unlink()
    with pytest.raises(FileNotFoundError):
        captures.read(other)
