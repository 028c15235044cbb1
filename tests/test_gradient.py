"""Delay gradients from sampled round-trip times, against what the arrival rates make them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

import incast
from blocks import joined, star, traffic

BURST = joined(
    star(
        11,
        "100Gbps",
        "3us",
        switch={"buffer": "unlimited"},
        cc={"algorithm": "oracle"},
        probe={"flows": ["long"], "flow_interval": "20ns"},
        run={"until": "1800us"},
    ),
    traffic("long", "h0", "h10"),
    traffic("short", "h1-h9", "h10", start="500us", stop="1500us"),
)


def sampled(acked: list[int], rtt_us: list[float]) -> incast.Result:
    """A result whose only flow has these samples, one each microsecond from 100 us on."""
    columns = {
        "time_ps": 1_000_000 * np.arange(100, 100 + len(acked)),
        "acked_bytes": np.array(acked),
        "rtt_ps": 1e6 * np.array(rtt_us),
    }
    series = SimpleNamespace(**columns)
    series.filled = lambda: series
    return cast(incast.Result, SimpleNamespace(flow=lambda _: series))


def test_a_line_through_three_points_by_hand() -> None:
    # Acknowledgements within the microseconds up to 101, 102 and 104, with RTTs of 10, 11 and 16 us: sent at
    # 90.5, 90.5 and 87.5 us, that is in the order 16, 10, 11. Means: x 89.5 and y 37/3; (−2)(11/3) + 1(−7/3)
    # + 1(−4/3) = −11 over 4 + 1 + 1 = 6.
    result = sampled([0, 1000, 2000, 2000, 3000], [np.nan, 10, 11, 11, 16])
    seen = incast.gradient_of(result, 0, "4us")
    assert seen.sent_ps.tolist() == [87_500_000, 90_500_000, 90_500_000]
    assert seen.time_ps.tolist() == [103_500_000, 100_500_000, 101_500_000]
    assert np.isnan(seen.gradient[0])
    # The second has two points: (10 − 16)/(90.5 − 87.5) = −2.
    assert seen.gradient[1:].tolist() == pytest.approx([-2, -11 / 6])
    # In 3 us there is only what was sent later than 87.5 us: two at the same time have no slope.
    assert np.all(np.isnan(incast.gradient_of(result, 0, "3us").gradient))


def test_timely_by_hand() -> None:
    # Every second of six: RTTs 12, 18 and 12 us. 0.5 · 6 = 3; 3 + 0.5 · (−6 − 3) = −1.5; over 12 us.
    acked = [0, 1, 2, 3, 4, 5, 6]
    result = sampled(acked, [np.nan, 99, 12, 99, 18, 99, 12])
    seen = incast.timely_gradient_of(result, 0, "12us", packets=2, weight=0.5)
    assert seen.rtt_ps.tolist() == [12_000_000, 18_000_000, 12_000_000]
    assert np.isnan(seen.gradient[0])
    assert seen.gradient[1:].tolist() == pytest.approx([0.25, -0.125])


def test_what_cannot_be_meant_is_refused() -> None:
    result = sampled([0, 1], [np.nan, 12])
    with pytest.raises(ValueError, match="window"):
        incast.gradient_of(result, 0, "0us")
    # One sample each microsecond says nothing of the slope within one.
    with pytest.raises(
        ValueError, match=r"1us apart, too far for a window of 1us: set probe\.flow_interval to 500ns"
    ):
        incast.gradient_of(result, 0)
    with pytest.raises(ValueError, match="base RTT"):
        incast.timely_gradient_of(result, 0, "0us")
    with pytest.raises(ValueError, match="packet"):
        incast.timely_gradient_of(result, 0, "12us", packets=0)
    with pytest.raises(ValueError, match="weight"):
        incast.timely_gradient_of(result, 0, "12us", weight=1.5)


@pytest.fixture(scope="module")
def burst() -> incast.Result:
    return incast.Scenario.from_toml(BURST).run()


def test_figure_3_of_oscar(burst: incast.Result) -> None:
    # Ten flows at line rate from 500 us on: 10 − 1 = 9 until their windows are full a base RTT later, then
    # 0; a tenth of the line from 1500 us on, 0.1 − 1 = −0.9 until the queue is empty. A flow alone has no
    # queue.
    seen = incast.gradient_of(burst, "long")
    for start, end, slope, points, off in (
        (100, 499, 0.0, 4732, 0.0),
        # Send times are 10 ns off at most. Through 12 points 84.32 ns apart that turns a slope of 9 by up to
        # 9 · 10 ns · Σ|x|/Σx² = 90 ns · 36/(143 · 84.32 ns) = 0.27.
        (501.5, 511, 9.0, 112, 0.27),
        (514, 548, 0.0, 39, 0.0),
        (800, 1499, 0.0, 828, 0.0),
        # Two points 843 ns apart, each 10 ns off: 0.9 · 20/843 = 0.021.
        (1503, 1511, -0.9, 9, 0.022),
    ):
        part = seen.gradient[(seen.sent_ps >= start * 1e6) & (seen.sent_ps < end * 1e6)]
        assert len(part) >= points, f"from {start} us on: {len(part)} acknowledgements"
        assert np.all(np.abs(part - slope) <= off + 1e-9), f"from {start} us on: {part}"
        # Neighbouring lines share all points but one, so that most of their errors cancel in the mean.
        assert abs(part.mean() - slope) <= off / 10 + 1e-9, f"from {start} us on: {part.mean()}"


def test_timelys_gradient_stays_below_and_lags(burst: incast.Result) -> None:
    # 64 packets 84.32 ns apart make a difference of at most 9 · 64 · 84.32 ns = 48.57 us, over 12 us 4.05, of
    # which the average takes 0.875 at once: it never shows the 9.
    seen = incast.timely_gradient_of(burst, "long", "12us")
    during = seen.gradient[(seen.time_ps > 510e6) & (seen.time_ps < 600e6)]
    assert 0.875 * 4.0474 < during.max() < 4.0475
    # The end of the burst is in packets sent from 1500 us, which take two base RTTs, to 1513 us, which take
    # one: they return from 1524 to 1526 us. TIMELY's next update comes after 64 packets and says that the
    # queue shrinks when it has long been empty.
    lines = incast.gradient_of(burst, "long")
    shrinks = lines.time_ps[(lines.gradient < -0.5) & (lines.time_ps > 1510e6)]
    late = seen.time_ps[(seen.gradient < -0.5) & (seen.time_ps > 1495e6)]
    assert 1524e6 < shrinks.min() < shrinks.max() < 1527e6
    assert len(late) == 1
    assert late[0] > 1535e6


def test_lines_are_those_of_numpy(burst: incast.Result) -> None:
    seen = incast.gradient_of(burst, "long", window="2us")
    chosen = np.flatnonzero((seen.sent_ps > 495e6) & (seen.sent_ps < 640e6))[::7]
    compared = 0
    for n in chosen:
        inside = (seen.sent_ps > seen.sent_ps[n] - 2_000_000) & (seen.sent_ps <= seen.sent_ps[n])
        x = (seen.sent_ps[inside] - seen.sent_ps[n]) / 1e6
        if len(set(x)) < 2:
            assert np.isnan(seen.gradient[n])
            continue
        slope = np.polyfit(x, seen.rtt_ps[inside] / 1e6, 1)[0]
        assert seen.gradient[n] == pytest.approx(slope, rel=1e-9, abs=1e-9)
        compared += abs(slope) > 0.1
    assert compared > 10


def test_oscars_own_gradient_is_that_of_disjoint_windows() -> None:
    # OSCAR fits a line through the packets of one batch (Equation 7), from the packet after the one that
    # closed the batch before to the one that closes it: the sliding window that long, at that packet. A
    # dead band larger than any delay makes each step u the smaller of the two loops' (Algorithm 2, lines 7
    # to 10), which is u_r = rate/((1 + gradient) · line) while the rate is what limits the flow. Samples
    # show u.
    text = joined(
        star(
            11,
            "100Gbps",
            "3us",
            switch={"buffer": "unlimited"},
            probe={"flows": ["long"], "flow_interval": "20ns", "internals": True},
            run={"until": "620us"},
        ),
        traffic(
            "long", "h0", "h10", cc={"algorithm": "oscar", "preset": "paper", "dead_band": "10ms", "u_ai": 0}
        ),
        traffic("short", "h1-h9", "h10", start="500us", cc={"algorithm": "constant", "rate": "9.7Gbps"}),
    )
    result = incast.Scenario.from_toml(text).run()
    seen = incast.gradient_of(result, "long")
    u = result.internals_of("long")["u"]
    # Samples in which u is new; the acknowledgement that closed the batch came in the 20 ns before.
    closed = u.time_ps[1:][np.diff(u.value) != 0]
    ratio = u.value[1:][np.diff(u.value) != 0]
    ends = [int(np.flatnonzero(seen.time_ps <= time)[-1]) for time in closed.tolist()]
    alike = []
    for first, last, own in zip(ends, ends[1:], ratio[1:], strict=False):
        span = int(seen.sent_ps[last] - seen.sent_ps[first])
        gradient = incast.gradient_of(result, "long", window=f"{span}ps").gradient[last]
        if seen.sent_ps[first] < 500e6 or gradient < 0.05:
            continue
        rate = (last - first) * 1060 * 8 / (span / 1e12) / 100e9
        # Send times are 10 ns off at most: 0.0033 of a rate over 6 us, and 3/6 us · 10 ns = 0.005 of a slope
        # (Σ|x|/Σx² = 3/span for points evenly spaced), of 1 + slope at most 0.0023 up to a slope of 0.85.
        u_r = rate / (1 + gradient)
        assert own < 1.006 * u_r, f"at {seen.time_ps[last]} ps: {own}, not {u_r}"
        if own > 0.994 * u_r:
            alike.append(gradient)
    assert len(alike) >= 4, f"u_r decided only {len(alike)} times"
    assert 0.2 < min(alike) < 0.5 < max(alike) < 0.9
