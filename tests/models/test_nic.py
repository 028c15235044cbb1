"""A host serves its flows in turn: what a flow at line rate leaves to one that is paced beside it."""

from __future__ import annotations

import pytest

from incast import Scenario

PACKETS = 2000
"""Packets that the link carries while both flows send."""

FULL = 84_320
"""Picoseconds of a packet of 1054 bytes at 100 Gbps."""


@pytest.mark.parametrize(
    ("rate", "slots"),
    # A paced flow's next packet may leave 100/rate packet times after the last one began: 2.5, 1.96, 1.33,
    # 1.01. It then joins the ring ahead of the line-rate flow's packet that is leaving, and begins when
    # that has left: at the next whole packet time. So it gets one of 3, 2, 2 and 2 packets; but alone one
    # of 2.5, 1.96, 1.33 and 1.01.
    [("40Gbps", 3), ("51Gbps", 2), ("75Gbps", 2), ("99Gbps", 2)],
)
@pytest.mark.parametrize("first", ["paced", "line"])
def test_a_paced_flow_gets_its_share_beside_one_at_line_rate(rate: str, slots: int, first: str) -> None:
    starts = {"paced": "0ps", "line": "0ps"} | {"line" if first == "paced" else "paced": "1ns"}
    block = {"kind": "flows", "from": "h0", "size": "10MB"}
    result = Scenario.from_dict(
        {
            "topology": {"kind": "star", "hosts": 3, "rate": "100Gbps", "delay": "1us"},
            "switch": {"buffer": "unlimited"},
            "cc": {"algorithm": "constant"},
            "traffic": [
                block
                | {
                    "name": "paced",
                    "to": "h1",
                    "start": starts["paced"],
                    "cc": {"algorithm": "constant", "rate": rate},
                },
                block | {"name": "line", "to": "h2", "start": starts["line"]},
            ],
            # Just after the last of these packets has arrived at the switch, which then begins to send it.
            "run": {"until": f"{PACKETS * FULL + 1_000_001}ps"},
        }
    ).run()
    sent = dict(zip(result.ports.column("peer"), result.ports.column("transmitted_packets"), strict=True))
    paced = int(sent["h1"])
    assert abs(paced - PACKETS / slots) <= 1
    assert abs(int(sent["h2"]) - (PACKETS - PACKETS / slots)) <= 1
