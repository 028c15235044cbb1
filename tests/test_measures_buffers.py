"""Measures of what switches hold, and of flows by their blocks."""

from __future__ import annotations

import numpy as np
import pytest

from blocks import block, joined, traffic
from incast import Scenario
from incast.results import measures as m
from incast.results.measures.view import View

TWO_LEAVES = joined(
    block("[topology]", kind="leaf-spine", leaves=2, spines=1, hosts=3, rate="10Gbps", delay="1us"),
    block("[switch]", buffer="unlimited"),
    block("[cc]", algorithm="constant", window="unlimited"),
    traffic("near", ["h0", "h1"], "h2", size="100KB"),
    traffic("far", ["h3", "h4"], "h2", size="50KB"),
    traffic("other", "h5", "h0", size="1KB"),
    block("[probe]", ports=["all switch ports"], interval="5us", until="200us"),
)


@pytest.fixture(scope="module")
def view() -> View:
    return View("two", Scenario.from_toml(TWO_LEAVES).run(threads=1))


def test_a_buffer_holds_the_queues_of_all_ports_of_a_switch(view: View) -> None:
    result = view.result
    ports = [port for port in result.probed_ports() if port[0] == "leaf1"]
    held = np.sum([result.port(*port).filled().queue_bytes.astype(float) for port in ports], axis=0)
    # Two senders of line rate share one uplink: half of 100 KB waits when they have sent all.
    assert 45e3 < np.max(held) < 60e3
    leaves = [m.buffer(view, "leaf", stat).value for stat in ("max", "mean")]
    both = m.buffer(view, "leaf spine", "max", "0us", "200us")
    assert leaves[0] == both.value > 100e3
    assert leaves[1] > np.mean(held) / 2
    assert m.buffer(view, "spine", "max").value == 0
    assert m.buffer(view, "leaf", "p99", "10us", "110us").samples == 2 * 21
    with pytest.raises(ValueError, match="no port of the switches 'core'"):
        m.buffer(view, "core", "max")


def test_slowdowns_of_some_blocks(view: View) -> None:
    near, far = (m.slowdown(view, "p100", group=block).value for block in ("near", "far"))
    assert near != far
    assert m.slowdown(view, "p100", group=["near", "far"]).value == max(near, far)
    assert m.slowdown(view, "p50", group=["near", "other"]).samples == 3
    assert m.slowdown(view, "p50").samples == 5
