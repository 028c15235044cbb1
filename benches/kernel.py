"""Costs of the algorithms in the Linux kernel: instructions, stack, and time per call.

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
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from incast import kernel  # noqa: E402
from incast.real.kernel import Link, machine, options  # noqa: E402
from namespaces import network  # noqa: E402

LINK = Link(base_rtt_ps=400_000_000, line_rate_bps=1_000_000_000)
PARAMETERS = {"sqcc": ["count=estimate"]}
SIZE = 20_000_000
STATISTICS = Path("/proc/sys/kernel/bpf_stats_enabled")

# Names of the programs in the kernel, and what they are called for: functions of the congestion control,
# its TCP option, and the switch port that writes telemetry.
PROGRAMS = {
    "incast_control": "ack",
    "incast_min_tso": "send",
    "incast_init": "start",
    "incast_options": "option",
    "incast_stamp": "stamp",
}

# Of these the verifier's log, the only place that has the stack, has hundreds of megabytes.
LONG = ("mswift",)

# Those that are not functions of the congestion control.
APART = ("incast_options", "incast_stamp")

ALGORITHMS = sorted([*(known.algorithm for known in kernel.CONTROLS), "oscar:owd"])


def main() -> None:
    """Measures and prints, and records when asked to."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("names", nargs="*", metavar="NAME")
    options.add_argument("--record", action="store_true")
    given = options.parse_args()
    names = [name for name in ALGORITHMS if not given.names or name in given.names]
    before = STATISTICS.read_text()
    STATISTICS.write_text("1")
    try:
        rows = [measure(name) for name in names]
    finally:
        STATISTICS.write_text(before)
    for row in rows:
        print("  ".join(f"{name} {value}" for name, value in row.items()))
    if given.record:
        record(rows)


def measure(algorithm: str) -> dict[str, str | int]:
    """One algorithm: loaded with the verifier's log, then used by one flow."""
    bpftool = machine.ready()
    known = kernel.control(algorithm.partition(":")[0])
    parameters = PARAMETERS.get(algorithm, [])
    row: dict[str, str | int] = {"algorithm": algorithm}
    row["setup_bytes"] = len(kernel.setup(algorithm, parameters, LINK))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{known.name}.o"
        path.write_bytes(kernel.prepared(algorithm, parameters, LINK))
        debug = [] if algorithm in LONG else ["--debug"]
        words = [bpftool, *debug, "struct_ops", "register", str(path)]
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=True)
    try:
        stacks = [
            sum(map(int, depth.split("+")))
            for depth in re.findall(r"stack depth ([\d+]+)", done.stdout + done.stderr)
        ]
        row["stack_bytes"] = max(stacks) if stacks else ""
        option = kernel.option(algorithm, parameters, LINK)
        number = max(number for name, number in machine.registered() if name == known.name)
        if option:
            source = (kernel.OBJECTS / "options.bpf.o").read_bytes()
            options.attach(bpftool, source, option, number)
        with network(rate="200mbit") as net:
            if option == options.TELEMETRY:
                net.stamp(200_000, bpftool)
            flow = net.flow(known.name, SIZE, both="ecn" in known.signals)
            own = re.findall(
                r"incast_\w+/prog_id:(\d+)", machine.call(bpftool, "struct_ops", "dump", "id", str(number))
            )
            programs = json.loads(machine.call(bpftool, "--json", "prog", "show"))
            row |= costs([p for p in programs if str(p["id"]) in own or p.get("name") in APART])
        row["rtt_us"] = round(flow.rtt_us)
        row["seconds"] = f"{flow.seconds:.2f}"
        return row
    finally:
        kernel.unload(known.name)


def costs(programs: list[dict[str, Any]]) -> dict[str, str | int]:
    """Returns the kernel's numbers on the newest program of each name that is there."""
    row: dict[str, str | int] = {}
    for name, call in PROGRAMS.items():
        numbers = [program for program in programs if program.get("name") == name]
        facts: dict[str, str | int] = dict.fromkeys(COSTS, "")
        if numbers:
            newest = max(numbers, key=lambda program: int(program["id"]))
            told = details(newest["id"])
            values = (
                told["verified_insns"],
                newest["bytes_xlated"] // 8,
                newest["bytes_jited"],
                told["run_cnt"],
                told["run_time_ns"] // max(told["run_cnt"], 1),
            )
            facts = dict(zip(COSTS, values, strict=True))
        row |= {f"{call}_{cost}": value for cost, value in facts.items()}
    return row


COSTS = ("verified", "instructions", "machine_bytes", "calls", "ns")


def details(number: int) -> dict[str, int]:
    """Returns the kernel's numbers on a program, through a file descriptor opened for that."""
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
    before = []
    if path.exists():
        with path.open(newline="") as file:
            before = list(csv.DictReader(file))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*where, *rows[0]], restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows([*before, *({**where, **row} for row in rows)])


if __name__ == "__main__":
    main()
