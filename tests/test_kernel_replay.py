"""The kernel's results for real connections equal those that the same source computes elsewhere."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from incast import _core, kernel
from incast.real.kernel import CONTROLS, Link, machine
from namespaces import network

ROOT = Path(__file__).parents[1]
# Flows are told of ten times the rate that they find, so that they meet queues.
LINK = Link(base_rtt_ps=500_000_000, line_rate_bps=1_000_000_000)
PARAMETERS = {"sqcc": ["count=estimate"]}


def built(folder: Path) -> Path:
    """Objects that write down each call, and the program that collects the calls; its path."""
    to = str(folder)
    for words in (["bpf/build.sh", "--record", to], ["crates/replay/bpf/build.sh", to, "constant"]):
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        said = (done.stdout + done.stderr).strip()
        if done.returncode and "missing: " in said.splitlines()[-1]:
            pytest.skip(said)
        assert done.returncode == 0, said
    return folder / "collect"


def recorded(algorithm: str, folder: Path, collector: Path) -> Path:
    """A recording of flows of an algorithm; crates/replay/src/recording.rs has the format."""
    out = folder / f"{algorithm}.recording"
    calls = folder / f"{algorithm}.calls"
    parameters = PARAMETERS.get(algorithm, [])
    known = kernel.load(algorithm, parameters, LINK, folder)
    collect = subprocess.Popen([collector, calls], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert collect.stdout is not None
        assert collect.stdout.readline() == "ready\n"
        with network(rate="100mbit", limit=30_000) as net:
            if known.option and known.option.signal == "int":
                net.stamp(100_000, machine.ready())
            if "ecn" in known.signals:
                net.mark(10_000, machine.ready())
            for _ in range(2):
                net.flow(known.name, 3_000_000, both="ecn" in known.signals)
    finally:
        collect.communicate()
        kernel.unload(algorithm)
    assert collect.returncode == 0
    option = kernel.option(algorithm, parameters, LINK)
    payload = LINK.payload_bytes - (option.request_bytes if option else 0)
    found = _core.algorithm(algorithm)
    assert found is not None
    lines = [f"algorithm {algorithm}", f"preset {found.presets[0][0]}"]
    lines += [f"set {parameter.replace('=', ' ')}" for parameter in parameters]
    owd, rate, packet = LINK.base_rtt_ps // 2, LINK.line_rate_bps, LINK.packet_bytes
    lines += [f"path {LINK.base_rtt_ps} {owd} {rate} {packet} {payload} {LINK.hops}"]
    text = "\n".join(lines).encode()
    data = calls.read_bytes()
    out.write_bytes(b"incastR1" + struct.pack("<I", len(text)) + data[:4] + text + data[4:])
    return out


@pytest.mark.usefixtures("root")
@pytest.mark.xdist_group("kernel")
def test_what_the_kernel_computes_for_real_connections_is_the_same_everywhere(tmp_path: Path) -> None:
    collector = built(tmp_path)
    files = {known.algorithm: recorded(known.algorithm, tmp_path, collector) for known in CONTROLS}
    done = replay(*files.values())
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if " kernel native" in line]
    assert [line.split()[0] for line in lines] == [known.algorithm for known in CONTROLS]
    for line in lines:
        _, connections, steps, changes = line.split()[:4]
        # Two flows of 3 MB are more than 4000 packets, of which an acknowledgement can report several.
        # (DCTCP is at both ends: the receiver's half is a connection, too.)
        assert int(connections) >= 2, line
        assert int(steps) > 500, line
        # What is constant changes once: at the start.
        assert int(changes) == 1 if line.startswith("constant ") else int(changes) > 10, line
    # An inverted bit in the times of twenty calls. OSCAR's state depends on those of acknowledgements; a call
    # for a loss or for a start does not read them, so that one call alone may change nothing.
    data = bytearray(files["oscar"].read_bytes())
    (text, length) = struct.unpack_from("<II", data, 8)
    state = length - 384
    for number in range(400, 420):
        call = 16 + text + number * length
        data[call + state + 3] ^= 1
    files["oscar"].write_bytes(data)
    done = replay(files["oscar"])
    assert done.returncode == 1
    assert "native and kernel differ after step" in done.stderr
    assert "told: Ack { now: " in done.stderr


def replay(*files: Path) -> subprocess.CompletedProcess[str]:
    """Replays recordings through every target that there is."""
    # Of the whole workspace, not of its package: so each dependency has the features with which the Rust
    # tests have compiled it, and nothing is compiled once more.
    words = ["cargo", "run", "--quiet", "--bin", "incast-replay", "--features", "incast-sim/examples"]
    words += ["--", "--recordings"]
    return subprocess.run([*words, *map(str, files)], cwd=ROOT, capture_output=True, text=True, check=False)
