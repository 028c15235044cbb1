"""What the algorithms cost in the Linux kernel: instructions, stack, and time per call.

``sudo .venv/bin/python benches/kernel.py [--record] [NAME…]`` loads each object, sends 20 MB over a link of
200 Mbps between two network namespaces, and prints a table; ``--record`` adds it to ``benches/kernel.csv``.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from incast import kernel  # noqa: E402
from incast.kernel import Link, machine  # noqa: E402
from incast.kernel.image import patched  # noqa: E402
from namespaces import network  # noqa: E402

LINK = Link(base_rtt_ps=400_000_000, line_rate_bps=1_000_000_000)
PARAMETERS = {"sqcc": ["count=estimate"]}
SIZE = 20_000_000
STATISTICS = Path("/proc/sys/kernel/bpf_stats_enabled")

# Names of the programs in the kernel, and what they are called for.
PROGRAMS = {"incast_control": "ack", "incast_min_tso": "send", "incast_init": "start"}


def main() -> None:
    """Measures and prints, and records when asked to."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("names", nargs="*", metavar="NAME")
    options.add_argument("--record", action="store_true")
    given = options.parse_args()
    known = [one for one in kernel.CONTROLS if not given.names or one.algorithm in given.names]
    before = STATISTICS.read_text()
    STATISTICS.write_text("1")
    try:
        rows = [measure(one) for one in known]
    finally:
        STATISTICS.write_text(before)
    for row in rows:
        print("  ".join(f"{name} {value}" for name, value in row.items()))
    if given.record:
        record(rows)


def measure(known: kernel.Control) -> dict[str, str | int]:
    """One algorithm: loaded with the verifier's log, then used by one flow."""
    bpftool = machine.ready()
    data = kernel.setup(known.algorithm, PARAMETERS.get(known.algorithm, []), LINK)
    header = (LINK.packet_bytes - LINK.payload_bytes).to_bytes(8, "little")
    image = (kernel.OBJECTS / known.object).read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{known.name}.o"
        path.write_bytes(patched(image, {"incast_setup": data, "incast_header": header}))
        words = [bpftool, "--debug", "struct_ops", "register", str(path)]
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=True)
    try:
        stacks = [
            sum(map(int, depth.split("+")))
            for depth in re.findall(r"stack depth ([\d+]+)", done.stdout + done.stderr)
        ]
        with network(rate="200mbit") as net:
            flow = net.flow(known.name, SIZE, both="ecn" in known.signals)
        programs = json.loads(machine.call(bpftool, "--json", "prog", "show"))
        row: dict[str, str | int] = {"algorithm": known.algorithm, "setup_bytes": len(data)}
        row["stack_bytes"] = max(stacks, default=0)
        for name, call in PROGRAMS.items():
            newest = max((p for p in programs if p.get("name") == name), key=lambda p: int(p["id"]))
            facts = details(newest["id"])
            calls = facts["run_cnt"]
            row[f"{call}_verified"] = facts["verified_insns"]
            row[f"{call}_instructions"] = newest["bytes_xlated"] // 8
            row[f"{call}_machine_bytes"] = newest["bytes_jited"]
            row[f"{call}_calls"] = calls
            row[f"{call}_ns"] = facts["run_time_ns"] // max(calls, 1)
        row["rtt_us"] = round(flow.rtt_us)
        row["seconds"] = f"{flow.seconds:.2f}"
        return row
    finally:
        kernel.unload(known.name)


def details(number: int) -> dict[str, int]:
    """What the kernel says of a program: of its file descriptor, which is opened for that."""
    call, get_by_id = {"x86_64": 321, "aarch64": 280}[platform.machine()], 13
    attribute = (ctypes.c_uint32 * 32)(number)
    descriptor = ctypes.CDLL(None, use_errno=True).syscall(
        call, get_by_id, attribute, ctypes.sizeof(attribute)
    )
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "the kernel does not give this program")
    try:
        text = Path(f"/proc/self/fdinfo/{descriptor}").read_text()
    finally:
        os.close(descriptor)
    return {name: int(value) for name, value in re.findall(r"^(\w+):\s+(\d+)$", text, re.MULTILINE)}


def record(rows: list[dict[str, str | int]]) -> None:
    """Adds the rows to the history."""
    path = ROOT / "benches/kernel.csv"
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    model = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    where: dict[str, str | int] = {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "commit": commit.stdout.strip(),
        "kernel": platform.release(),
        "machine": model[1] if model else platform.machine(),
    }
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, [*where, *rows[0]])
        if new:
            writer.writeheader()
        writer.writerows({**where, **row} for row in rows)


if __name__ == "__main__":
    main()
