"""Result folders written by hand, so that what a report must show is known to the last digit."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

GBPS = 1_000_000_000
RATE = 100 * GBPS
US = 1_000_000

SCENARIO = """\
name = "{name}"
seed = {seed}

[topology]
kind = "leaf-spine"

[cc]
algorithm = "{algorithm}"
preset = "{preset}"
"""

_TYPES = {
    "flows": {
        "flow": pa.uint32(), "source": pa.string(), "destination": pa.string(), "source_id": pa.uint32(),
        "destination_id": pa.uint32(), "group": pa.string(), "algorithm": pa.string(),
        "size_bytes": pa.int64(), "acked_bytes": pa.int64(), "start_ps": pa.int64(),
        "delivered_ps": pa.int64(), "finish_ps": pa.int64(),
        "fct_ps": pa.int64(), "ideal_fct_ps": pa.int64(), "slowdown": pa.float64(), "base_rtt_ps": pa.int64(),
        "packets": pa.int64(), "resent_packets": pa.int64(), "marked_packets": pa.int64(),
        "timeouts": pa.uint32(), "started": pa.bool_(), "finished": pa.bool_(),
    },
    "ports": {
        "node": pa.string(), "node_id": pa.uint32(), "port": pa.uint16(), "peer": pa.string(),
        "rate_bps": pa.int64(), "transmitted_bytes": pa.int64(), "transmitted_packets": pa.int64(),
        "dropped_bytes": pa.int64(), "dropped_packets": pa.int64(), "marked_packets": pa.int64(),
        "peak_queue_bytes": pa.int64(), "paused_ps": pa.int64(), "pauses_sent": pa.int64(),
    },
    "port_series": {
        "time_ps": pa.int64(), "node": pa.string(), "node_id": pa.uint32(), "port": pa.uint16(),
        "queue_bytes": pa.int64(), "transmitted_bytes": pa.int64(), "dropped_bytes": pa.int64(),
        "marked_packets": pa.int64(), "paused": pa.bool_(), "samples": pa.int64(),
    },
    "flow_series": {
        "time_ps": pa.int64(), "flow": pa.uint32(), "window_bytes": pa.int64(), "rate_bps": pa.int64(),
        "rtt_ps": pa.int64(), "inflight_bytes": pa.int64(), "acked_bytes": pa.int64(),
        "samples": pa.int64(),
    },
}  # fmt: skip


@dataclass
class Made:
    """A result to be written.

    Attributes:
        name: Name of the scenario.
        algorithm: Name of the algorithm.
        seed: The seed; it also shifts the made-up numbers.
        preset: The algorithm's preset; empty for its default.
        flows: How many flows there are.
        samples: How many samples there are of a port and of each of two flows.
        leaves: Switches with hosts, and as many above them.
        hosts: Hosts of each of them.
        group: Name of the second traffic block.
        unfinished: How many of the last flows did not finish.
        endless: How many of the first flows have no size.
        outcome: What to say of the end instead of "finished".
        killed: Whether the run was killed: parts, and no totals.
    """

    name: str = "made"
    algorithm: str = "oscar"
    seed: int = 1
    preset: str = ""
    flows: int = 2000
    samples: int = 2000
    leaves: int = 2
    hosts: int = 4
    group: str = "burst"
    unfinished: int = 0
    endless: int = 0
    outcome: dict[str, Any] | None = None
    killed: bool = False

    def write(self, folder: Path) -> Path:
        """Writes the folder of the result."""
        folder.mkdir(parents=True)
        tables = {
            "flows": self._flows(),
            "ports": self._ports(),
            "port_series": self._port_series(),
            "flow_series": self._flow_series(),
        }
        for name, columns in tables.items():
            schema = pa.schema(list(_TYPES[name].items()))
            table = pa.table(columns, schema=schema)
            if not self.killed:
                pq.write_table(table, folder / f"{name}.parquet")
            elif name != "ports":
                (folder / name).mkdir()
                pq.write_table(table, folder / name / "part-00000.parquet")
        (folder / "scenario.toml").write_text(
            SCENARIO.format(
                name=self.name.replace("\\", "\\\\").replace('"', '\\"'),
                seed=self.seed,
                algorithm=self.algorithm,
                preset=self.preset,
            )
        )
        (folder / "result.json").write_text(json.dumps(self._info()))
        return folder

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {
            "format": "incast-result",
            "format_version": 1,
            "incast_version": "0.1.0",
            "state": "running" if self.killed else "complete",
            "name": self.name,
            "seed": self.seed,
            "algorithms": [":".join(filter(None, (self.algorithm, self.preset)))],
            "threads": 1,
            "started_unix_s": 0,
            "units": {},
        }
        if not self.killed:
            info["outcome"] = {
                "end": "finished",
                "why": f"all {self.flows} flows finished by {self.samples}us",
                "fingerprint": f"{self.seed:016x}",
                "now_ps": self.samples * US,
                "flows": self.flows,
                "flows_finished": self.flows,
                "hops": 1_000_000,
                "packets_sent": 1000,
                "packets_delivered": 1000,
                "packets_dropped": 0,
                "packets_in_flight": 0,
                "violations": [],
                "wall_s": 0.5,
                "hops_per_s": 2e6,
                **(self.outcome or {}),
            }
            info["summary"] = {"slowdowns": [], "ports": []}
        return info

    def _flows(self) -> dict[str, Any]:
        n = np.arange(self.flows)
        # Sizes from 1 KB to 10 MB; slowdowns from 1 upward, larger for larger flows and seeds.
        size = (1000 * 10 ** (n * 7919 % self.flows / max(self.flows, 1) * 4)).astype(np.int64)
        slowdown = 1 + (n * 104729 % 997 / 997) ** 4 * 8 * (1 + 0.4 * self.seed) * (
            0.5 + np.log10(size / 1000) / 4
        )
        ideal = 8 * US + size * 80
        fct = (ideal * slowdown).astype(np.int64)
        start = n * US
        source = n % self.hosts
        total = self.hosts * self.leaves
        without = (n < self.endless) | (n >= self.flows - self.unfinished)

        def done(values: npt.NDArray[Any]) -> pa.Array:
            return pa.array(values, mask=without)

        return {
            "flow": n,
            "source": [f"h{i}" for i in source],
            "destination": [f"h{total - 1 - i}" for i in source],
            "source_id": source,
            "destination_id": total - 1 - source,
            "group": ["web" if i % 4 else self.group for i in n],
            "algorithm": [self.algorithm] * self.flows,
            "size_bytes": pa.array(size, mask=n < self.endless),
            "acked_bytes": size,
            "start_ps": start,
            "delivered_ps": done(start + fct),
            "finish_ps": done(start + fct),
            "fct_ps": done(fct),
            "ideal_fct_ps": ideal,
            "slowdown": done(slowdown),
            "base_rtt_ps": np.full(self.flows, 8 * US),
            "packets": size // 1000,
            "resent_packets": np.zeros(self.flows, np.int64),
            "marked_packets": np.zeros(self.flows, np.int64),
            "timeouts": np.zeros(self.flows, np.int64),
            "started": n >= 0,
            "finished": ~without,
        }

    def links(self) -> list[tuple[str, str]]:
        """The links: hosts to leaves, leaves to spines."""
        hosts = [(f"h{i}", f"leaf{i // self.hosts}") for i in range(self.hosts * self.leaves)]
        return hosts + [(f"leaf{a}", f"spine{b}") for a in range(self.leaves) for b in range(self.leaves)]

    def _ports(self) -> dict[str, Any]:
        names = [f"h{i}" for i in range(self.hosts * self.leaves)]
        names += [f"{kind}{i}" for kind in ("leaf", "spine") for i in range(self.leaves)]
        ids = {name: i for i, name in enumerate(names)}
        next_port = dict.fromkeys(names, 0)
        rows: list[tuple[int, int, str, str]] = []
        for a, b in self.links():
            for near, far in ((a, b), (b, a)):
                rows.append((ids[near], next_port[near], near, far))
                next_port[near] += 1
        rows.sort()
        n = np.arange(len(rows))
        whole = RATE // 8 * self.samples // 1_000_000
        return {
            "node": [row[2] for row in rows],
            "node_id": [row[0] for row in rows],
            "port": [row[1] for row in rows],
            "peer": [row[3] for row in rows],
            "rate_bps": np.full(len(rows), RATE),
            # From an idle link to one that is always busy.
            "transmitted_bytes": whole * ((n * 37 + 11 * self.seed) % 101) // 100,
            "transmitted_packets": n,
            "dropped_bytes": n * 0,
            "dropped_packets": n * 0,
            "marked_packets": n,
            "peak_queue_bytes": n * 10_000,
            "paused_ps": n * 0,
            "pauses_sent": n * 0,
        }

    def _port_series(self) -> dict[str, Any]:
        n = np.arange(self.samples)
        # A burst at a quarter, then a sawtooth; the link is busy as long as there is a queue.
        burst = np.maximum(0, 400_000 - np.abs(n - self.samples // 4) * 4000)
        queue = burst // self.seed + (n * 7 * self.seed) % 97 * 500
        used = np.where(n * 10 % self.samples < self.samples // 2, 100, 60 + 5 * self.seed)
        return {
            "time_ps": n * US,
            "node": ["leaf1"] * self.samples,
            "node_id": np.full(self.samples, self.hosts * self.leaves + 1),
            "port": np.zeros(self.samples, np.int64),
            "queue_bytes": queue,
            "transmitted_bytes": np.cumsum(12_500 * used // 100),
            "dropped_bytes": n * 0,
            "marked_packets": n * 0,
            "paused": np.zeros(self.samples, bool),
            "samples": n * 0 + 1,
        }

    def _flow_series(self) -> dict[str, Any]:
        n = np.repeat(np.arange(self.samples), 2)
        flow = np.tile([0, 1], self.samples)
        window = 20_000 + (n * (3 + flow) * self.seed) % 1999 * 40
        rtt: list[int | None] = [
            8 * US + int(w) * 80 if i > 10 else None for i, w in zip(n, window, strict=True)
        ]
        return {
            "time_ps": n * US,
            "flow": flow,
            "window_bytes": window,
            "rate_bps": window * 8 * 100_000,
            "rtt_ps": rtt,
            "inflight_bytes": window // 2,
            "acked_bytes": n * 5000,
            "samples": n * 0 + 1,
        }
