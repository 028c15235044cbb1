"""A scenario that a testbed can run."""

from __future__ import annotations

import incast
from blocks import block, graph, joined, link, star, traffic

SWITCH = {"buffer": {"per_port": "300KB"}, "ecn": {"kmin": "30KB", "kmax": "30KB", "pmax": 1}}
STAR = joined(
    star(3, "100Mbps", "5us", switch=SWITCH, cc={"algorithm": "dctcp"}),
    traffic("two", ["h0", "h1"], "h2", size="1MB"),
    block("[probe]", ports=["to h2"], flows=["two"], interval="1ms"),
)
"""Two flows onto one port."""

RING = joined(
    star(2, "100Mbps", "5us", cc={"algorithm": "newreno"}),
    block("[[traffic]]", name="ring", kind="ring-allreduce", size="100KB", compute="4ms", passes=2),
)
"""Two hosts that send each other a flow, compute, and send again."""


def three_paths(hosts: str, slow: str, left: str, right: str, delay: str, rate: str) -> str:
    """Returns a topology with paths of three kinds to the host `r`.

    Args:
        hosts: The other hosts, from `h0` on.
        slow: The ones at the right switch, with links of another rate.
        left: The left switch, with `h0` and `h1`.
        right: The right one.
        delay: The delay of the link of `h1`.
        rate: The rate of the slow links.
    """
    return graph(
        [hosts, "r"],
        [left, right],
        link("h0", left),
        link("h1", left, delay=delay),
        link(slow, right, rate=rate),
        link(left, right, delay="2ms"),
        link("r", right),
        rate="100Mbps",
        delay="1ms",
    )


def scenario(*overrides: str, text: str = STAR) -> incast.Scenario:
    """Returns the scenario of a text with these overrides."""
    return incast.Scenario.from_toml(text, "star.toml", overrides)
