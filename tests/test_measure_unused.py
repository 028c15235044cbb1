"""The measure ``unused``: the share of a link that stayed idle while flows were open."""

from __future__ import annotations

import pytest

from blocks import block, joined, traffic
from incast import Result, Scenario, measure

# Four packets of 1054 B, two of which may be in flight, take 84,320 ps each of a link of 100 Gbps; the flow
# is open for 8,442,080 ps: `tests/test_explain.py` and `crates/sim/tests/limits.rs` have the arithmetic.
USED, OPEN = 4 * 84_320, 8_442_080


def run(*blocks: str, hosts: int = 2, **probe: object) -> Result:
    text = joined(
        block("[topology]", kind="star", hosts=hosts, rate="100Gbps", delay="1us"),
        block("[cc]", algorithm="constant", window="2108B"),
        *blocks,
        block("[probe]", **probe) if probe else "",
    )
    return Scenario.from_toml(text).run_quietly()


def test_a_flow_alone_leaves_what_it_does_not_send() -> None:
    result = run(traffic("f0", "h0", "h1", size="4KB"))
    expected = pytest.approx(1 - USED / OPEN)
    assert measure(result, "unused()").value == expected
    assert measure(result, "unused(to h1)").value == expected
    assert measure(result, "unused(s0->h1)").value == expected
    # The way back has four acknowledgements of 64 B.
    assert measure(result, "unused(s0->h0)").value == pytest.approx(1 - 4 * 5_120 / OPEN)


def test_pauses_between_flows_do_not_count() -> None:
    late = traffic("f1", "h0", "h1", size="4KB", start="1ms")
    result = run(traffic("f0", "h0", "h1", size="4KB"), late)
    assert measure(result, "unused()").value == pytest.approx(1 - 2 * USED / (2 * OPEN))
    # Flows that overlap are one time: the second one begins when half of the first one is over.
    half = OPEN // 2
    both = run(
        traffic("f0", "h0", "h1", size="4KB"),
        traffic("f1", "h2", "h3", size="4KB", start=f"{half}ps"),
        hosts=4,
    )
    assert measure(both, "unused(to h1)").value == pytest.approx(1 - USED / (half + OPEN))


def test_an_interval_takes_samples() -> None:
    """A flow that is open from the first instant to the last, with a window below its path."""
    long = traffic("f0", "h0", "h1", stop="1ms")
    full = block("[transport]", payload="1000B")
    result = run(long, full, ports=["to h1"], interval="1us")
    # Two packets of 84,320 ps in each round trip, of 2 · (84,320 + 5,120) ps and four delays of 1 us. At both
    # ends up to two packets more or less: 2 · 2 · 84,320 ps of 800 us.
    expected = 1 - 2 * 84_320 / (2 * (84_320 + 5_120) + 4_000_000)
    assert measure(result, "unused(busiest, start=100us, end=900us)").value == pytest.approx(
        expected, abs=0.0005
    )
    with pytest.raises(ValueError, match="there are no samples from 2ms"):
        measure(result, "unused(busiest, start=2ms)")
    with pytest.raises(ValueError, match="port"):
        measure(result, "unused(s0->h7)")
