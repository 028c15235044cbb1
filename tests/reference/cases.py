"""The scenarios of the runs whose results are kept here, and those results.

python tests/reference/cases.py                       # lists them
python tests/reference/cases.py hpcc-320 > hpcc.toml  # writes one
"""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from incast import Result, Scenario

DATA = Path(__file__).parent / "data"

Sections = dict[str, Any]
Key = tuple[int, int, int]
"""A flow by source, destination and bytes; no two flows of a case have all of them in common."""


def hpcc_320() -> Sections:
    """HPCC's fat-tree, 1,099 flows of WebSearch at 30 %, HPCC as the run script of its artifact sets it."""
    return {
        "topology": {
            "kind": "fat-tree",
            "pods": 5,
            "edge": 4,
            "agg": 4,
            "core": 16,
            "hosts": 16,
            "rate": "100Gbps",
            "delay": "1us",
            "fabric_rate": "400Gbps",
        },
        "switch": {"buffer": "32MiB", "pfc": {}},
        # Ethernet 14, IPv4 20, UDP 8, sequence number and priority 6; telemetry comes on top.
        "transport": {"header": "48B", "ack_size": "46B", "smallest": "1B"},
        "cc": {"algorithm": "hpcc", "preset": "artifact"},
        "traffic": [_file("ns3-hpcc-fat320-flow.txt") | {"first": "0s"}],
    }


def hpcc_320_imitated(later: int | None = None) -> Sections:
    """Changes the case to the behaviour of HPCC's tree where it differs and Incast has a setting for it.

    Args:
        later: Seed of random times below 1 ns by which every flow starts later; None: not at all.
    """
    sections = hpcc_320()
    # The largest RTT of its network as it counts it, without headers and acknowledgements: 2 · 6 · 1 us, and
    # 1000 bytes on two links of 100 and four of 400 Gbps.
    sections["transport"] |= {"base_rtt": "12240ns", "counting": "payload"}
    sections["switch"] |= {
        "path": "five-tuple",
        # The order of next hops there is that of the switches' addresses in memory. A switch takes 2 MB, and
        # the memory allocator places blocks of such a size one below the other.
        "next_hops": "descending",
        # INT_MULTI of its run script at 100 Gbps.
        "packed_telemetry": 4,
        "ingress_alpha": 0.125,
        "ingress_alpha_rate": "100Gbps",
        "pfc": {"headroom_factor": 3},
    }
    if later is not None:
        sections["traffic"] = _later("ns3-hpcc-fat320-fct.csv", random.Random(f"later {later}"))
    return sections


def _later(name: str, draw: random.Random) -> list[Sections]:
    """The flows of a table of completion times, each later by a random number of picoseconds below 1 ns."""
    flows = rows(name)
    first = int(flows[0]["start_ns"])
    return [
        {
            "kind": "flows",
            "name": f"f{number}",
            "from": f"h{flow['src']}",
            "to": f"h{flow['dst']}",
            "size": f"{flow['size_bytes']}B",
            "start": f"{(int(flow['start_ns']) - first) * 1000 + draw.randrange(1000)}ps",
        }
        for number, flow in enumerate(flows)
    ]


def timely_256() -> Sections:
    """PowerTCP's fat-tree, oversubscribed 4:1, 689 flows of WebSearch, TIMELY with that artifact's steps."""
    return {
        "topology": {
            "kind": "fat-tree",
            "pods": 4,
            "edge": 2,
            "agg": 2,
            "core": 4,
            "hosts": 32,
            "rate": "25Gbps",
            "delay": "1us",
            "fabric_rate": "100Gbps",
            "core_delay": "5us",
        },
        "switch": {"buffer": "4MiB", "ingress_alpha": 0.125, "pfc": {}},
        # 48 as for HPCC, and a timestamp of 8; an acknowledgement has 60.
        "transport": {"header": "56B", "ack_extra": "4B", "smallest": "1B"},
        "cc": {
            "algorithm": "timely",
            "preset": "hpcc",
            # 50 and 100 Mbps a step, and 100 Mbps at least, at 25 Gbps.
            "delta": "50Mbps",
            "delta_share": 0,
            "hai_steps": 2,
            "floor_rate": "100Mbps",
        },
        "traffic": [_file("ns3-websearch256-flow.txt")],
    }


def timely_256_imitated() -> Sections:
    """Changes the case to the buffers of PowerTCP's tree."""
    sections = timely_256()
    sections["switch"] |= {
        # Each of eight queues at every port has its headroom, and nothing has a reserve.
        "queues": 8,
        "reserve": "0B",
        "egress_limit": True,
        "pfc": {"headroom_factor": 3, "xon_offset": "2496B"},
        # There the headroom exceeds the buffer, and what is left wraps below zero: no limit in effect.
        "buffers": [{"switches": ["core"], "buffer": "4GB"}],
    }
    sections["traffic"][0]["queue"] = 3
    return sections


def swift_permutation() -> Sections:
    """128 hosts, each sends 8 MB to one other at 800 Gbps, Swift as csg-htsim has it."""
    return _swift("perm128_8MB.txt")


def swift_incast() -> Sections:
    """32 hosts send 8 MB each to one at 800 Gbps, Swift as csg-htsim has it."""
    return _swift("incast32_8MB.txt")


def _swift(flows: str) -> Sections:
    return {
        "topology": {"kind": "fat-tree", "k": 8, "rate": "800Gbps", "delay": "1us"},
        "switch": {"buffer": "unlimited"},
        # Its packets have no header: all 4160 bytes are payload.
        # Its first window is one BDP of the longest path.
        "transport": {
            "payload": "4160B",
            "header": "0B",
            "ack_size": "40B",
            "smallest": "1B",
            "base_rtt": "network",
        },
        "cc": {"algorithm": "swift", "preset": "htsim"},
        "traffic": [_file(flows)],
    }


def _nscc(flows: str, balancing: Sections) -> Sections:
    """NSCC as uet-htsim has it by default: 295 packets of 4,160 B are one BDP of the longest path."""
    packet = 4160
    return {
        "topology": {"kind": "fat-tree", "k": 8, "rate": "800Gbps", "delay": "1us"},
        "switch": {
            "trimming": {
                "data": f"{295 * packet}B",
                "headers": f"{2 * 295 * packet}B",
                "ratio": 100_000,
                "return_to_sender": False,
            },
            # A fifth and four fifths of the queue, in whole packets.
            "ecn": {"kmin": f"{59 * packet}B", "kmax": f"{236 * packet}B", "pmax": 1.0},
        },
        # Its timer: 15 us and six times what a full queue takes.
        "transport": {
            "recovery": "selective",
            "repair": "never",
            "payload": "4096B",
            "header": "64B",
            "ack_size": "64B",
            "base_rtt": "network",
            "rto": f"{15_000_000 + 6 * 295 * packet * 10}ps",
        },
        "balancing": balancing,
        "cc": {"algorithm": "nscc", "preset": "trimming"},
        "traffic": [{"kind": "htsim-connections", "name": "flows", "file": str(DATA / flows)}],
    }


def _nscc_cases() -> dict[str, Callable[[], Sections]]:
    policies: dict[str, Sections] = {
        "ops": {"policy": "ops-rounds"},
        "reps": {"policy": "reps", "freeze": "10ms"},
        "adaptive": {"policy": "adaptive"},
    }
    flows = {"permutation": "perm128_8MB.cm", "incast": "incast32_8MB.cm"}
    return {
        f"nscc-{name}-{policy}": partial(_nscc, file, balancing)
        for name, file in flows.items()
        for policy, balancing in policies.items()
    }


def _file(name: str) -> Sections:
    return {"kind": "hpcc-file", "name": "flows", "file": str(DATA / name)}


CASES: dict[str, Callable[[], Sections]] = {
    "hpcc-320": hpcc_320,
    "hpcc-320-imitated": hpcc_320_imitated,
    "timely-256": timely_256,
    "timely-256-imitated": timely_256_imitated,
    "swift-permutation": swift_permutation,
    "swift-incast": swift_incast,
    **_nscc_cases(),
}


def run(case: str, seed: int = 1) -> Result:
    """Runs a case. The seed decides which of equal paths a flow takes, and nothing else.

    In `hpcc-320-imitated` the paths are taken from HPCC's tree, and the seed lets flows start later by less
    than 1 ns.
    """
    if case == "hpcc-320-imitated":
        return Scenario.from_dict(hpcc_320_imitated(seed)).run()
    return Scenario.from_dict(CASES[case]() | {"seed": seed}).run()


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a table in `data`."""
    lines = (line for line in (DATA / name).read_text().splitlines() if not line.startswith("#"))
    return list(csv.DictReader(lines))


def theirs(name: str) -> dict[Key, int]:
    """Completion times in ps of a table in `data`."""
    return {
        (int(row["src"]), int(row["dst"]), int(row["size_bytes"])): int(row["fct_ns"]) * 1000
        for row in rows(name)
    }


def ours(result: Result, column: str = "fct_ps") -> dict[Key, int]:
    """A column of a result by the same keys."""
    names = ("source_id", "destination_id", "size_bytes", column)
    columns = [result.flows.column(name).astype(np.int64).tolist() for name in names]
    return {
        (source, destination, size): value for source, destination, size, value in zip(*columns, strict=True)
    }


def errors(result: Result, name: str) -> npt.NDArray[np.float64]:
    """(Incast − peer)/peer of the completion time of every flow, in the order of the peer's table."""
    peer, here = theirs(name), ours(result)
    return np.array([(here[key] - time) / time for key, time in peer.items()])


if __name__ == "__main__":
    if len(sys.argv) == 1:
        for name, case in CASES.items():
            print(f"{name:<25} {case.func.__doc__ if isinstance(case, partial) else case.__doc__}")
    else:
        print(Scenario.from_dict(CASES[sys.argv[1]]()).to_toml(), end="")
