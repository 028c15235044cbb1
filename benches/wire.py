"""Costs of files over a real network with each driver of ``crates/wire``.

``sudo .venv/bin/python benches/wire.py`` sends files between two network namespaces that a veth link joins,
and prints round trips, processor time and speed. Nothing is recorded: they depend on the machine and on what
else runs there.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from bridged import RECEIVER, Pair, joined  # noqa: E402
from incast import wire  # noqa: E402

ROUTE = wire.Route(base_rtt_ps=30 * 10**6, line_rate_bps=100 * 10**9, hops=1)
PACKET = 1538
SMALL, LARGE = 60_000_000, 100_000_000
SEND = "--send"


def send(path: str, window: int, xdp: str | None) -> None:
    """Sends a file; prints its seconds, packets, packets sent again, processor time, round trips."""
    rtts: list[int] = []
    before = resource.getrusage(resource.RUSAGE_SELF)
    done = wire.send(
        path,
        RECEIVER,
        7077,
        "constant",
        ROUTE,
        [f"window={window}B"],
        report=lambda now: rtts.append(now.rtt_ps),
        xdp=xdp,
    )
    after = resource.getrusage(resource.RUSAGE_SELF)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    known = [rtt for rtt in rtts if rtt]
    print(done.elapsed_s, done.packets, done.resent, spent, *known)


def measured(pair: Pair, window: int, size: int, sender: bool, receiver: bool) -> list[float]:
    """Returns the numbers that `send` prints, and before them the receiver's processor time."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "sent").write_bytes(os.urandom(size))
        waiting = subprocess.Popen(
            [
                *pair.enter(receiver=True),
                *(sys.executable, "-m", "incast", "receive", "--out", "arrived"),
                *(("--xdp", "to-a") if receiver else ()),
            ],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert waiting.stderr is not None
        waiting.stderr.readline()
        ticks = _ticks(waiting.pid)
        here = [sys.executable, __file__, SEND, f"{folder}/sent", str(window), *(["to-b"] if sender else [])]
        done = subprocess.run([*pair.enter(), *here], stdout=subprocess.PIPE, text=True, check=True)
        _, _, usage = os.wait4(waiting.pid, 0)
        waiting.returncode = 0
        spent = usage.ru_utime + usage.ru_stime - ticks
    return [spent, *map(float, done.stdout.split())]


def _ticks(pid: int) -> float:
    """Seconds of processor time that a process has taken, in steps of a hundredth."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measures every pair of drivers, three times in turn."""
    drivers = [(False, False), (True, False), (False, True), (True, True)]
    rtts: dict[tuple[bool, bool], list[float]] = {pair: [] for pair in drivers}
    fast: dict[tuple[bool, bool], list[list[float]]] = {pair: [] for pair in drivers}
    with joined() as pair:
        for _ in range(3):
            for both in drivers:
                rtts[both] += measured(pair, PACKET, SMALL, *both)[5:]
                fast[both].append(measured(pair, 64 * PACKET, LARGE, *both))
    print("sender receiver | one packet in flight: median RTT | 64: best speed; least CPU of both")
    for both in drivers:
        name = " ".join("AF_XDP" if one else "UDP" for one in both)
        speed = max(8e-6 * LARGE / run[1] for run in fast[both])
        sender, receiver = (min(1e6 * run[at] / run[2] for run in fast[both]) for at in (4, 0))
        print(
            f"{name:15} | {median(rtts[both]) / 1e6:.1f}us of {len(rtts[both])} samples | "
            f"{speed:.0f}Mbps; {sender:.1f}us and {receiver:.1f}us a packet; "
            f"{sum(run[3] for run in fast[both]):.0f} sent again"
        )


if __name__ == "__main__":
    if sys.argv[1:2] == [SEND]:
        send(sys.argv[2], int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else None)
    else:
        main()
