"""Single flows and pairs as csg-htsim sends them."""

from __future__ import annotations

from incast import Scenario


def htsim(flows: list[tuple[str, str]]) -> list[int]:
    """Finish times in ps of flows of 513 packets to h0, as csg-htsim sends them: by source and start."""
    result = Scenario.from_dict(
        {
            "topology": {"kind": "fat-tree", "k": 4, "rate": "100Gbps", "delay": "1us"},
            "switch": {"buffer": "unlimited"},
            "transport": {"payload": "4160B", "header": "0B", "ack_extra": "40B", "smallest": "40B"},
            "cc": {"algorithm": "swift", "preset": "htsim"},
            "traffic": [
                {
                    "kind": "flows",
                    "name": f"f{i}",
                    "from": source,
                    "to": "h0",
                    "size": f"{513 * 4160}B",
                    "start": start,
                }
                for i, (source, start) in enumerate(flows)
            ],
        }
    ).run()
    order = result.flows.column("group").tolist()
    return [int(result.flows.column("finish_ps")[order.index(f"f{i}")]) for i in range(len(flows))]
