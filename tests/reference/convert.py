"""Writes the flows of other simulators' files in the form of HPCC's `flow.txt`, which Incast reads.

    python tests/reference/convert.py

writes the three files of `data` that are made from others.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

DATA = Path(__file__).parent / "data"

SEGMENT = 4160
"""Bytes of a packet of csg-htsim's Swift, all of which it counts as payload."""


def matrix(text: str) -> str:
    """The flows of a connection matrix of htsim (`.cm`).

    csg-htsim's Swift sends whole packets: as many as the size comes to with 4096 bytes in each, and one more,
    which it adds to every flow. All flows of these files start at zero.
    """
    flows = re.findall(r"^(\d+)->(\d+) id \d+ start 0 size (\d+)$", text, re.MULTILINE)
    lines = [f"{a} {b} 3 100 {(-(-int(size) // 4096) + 1) * SEGMENT} 0" for a, b, size in flows]
    return "\n".join([str(len(lines)), *lines, ""])


def completions(text: str) -> str:
    """The flows of a table of completion times."""
    rows = list(csv.DictReader(text.splitlines()))
    lines = [
        f"{row['src']} {row['dst']} 3 100 {row['size_bytes']} {int(row['start_ns']) / 1e9:.9f}"
        for row in rows
    ]
    return "\n".join([str(len(lines)), *lines, ""])


MADE = {
    "perm128_8MB.txt": ("perm128_8MB.cm", matrix),
    "incast32_8MB.txt": ("incast32_8MB.cm", matrix),
    "ns3-websearch256-flow.txt": ("ns3-websearch256-timely-fct.csv", completions),
}
"""Source of each file, and how it is made."""

if __name__ == "__main__":
    for name, (source, how) in MADE.items():
        (DATA / name).write_text(how((DATA / source).read_text()))
