"""The plane of CCC: criterion, regions and steps by hand from Equations 1 to 9."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from incast.theory import ccc


@pytest.mark.parametrize(
    ("q_us", "q_v", "delta"),
    [
        (1.25, 0, 1.0), (2.5, 0.5, 0.0), (7, -0.1, -0.142713), (10, -0.6, 0.1), (10, -0.4, -0.1),
        (20, -1, 0.0), (30, -0.5, -0.792481), (80, 0.2, -2.2),
    ],
)  # fmt: skip
def test_criterion_by_hand(q_us: float, q_v: float, delta: float) -> None:
    assert ccc.criterion(q_us * 1e-6, q_v) == pytest.approx(delta, abs=1e-6)


def test_the_layover_curve_by_hand() -> None:
    # ½·log2(5/q): 0 at q_B, 1 at a quarter of it, -1 at four times.
    assert [ccc.layover(q * 1e-6) for q in (1.25, 2.5, 5, 10, 20)] == pytest.approx([1, 0.5, 0, -0.5, -1])
    # On the testbed q_B is 20 us.
    assert ccc.layover(20e-6, replace(ccc.PAPER, q_b="20us")) == pytest.approx(0)


def test_an_empty_queue_counts_as_a_part_of_the_base_rtt() -> None:
    # 20 us/4096 = 4.8828 ns: ½·log2(5000/4.8828) = 5.
    assert ccc.criterion(0, 0) == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("q_us", "q_v", "region"),
    [
        (2, -0.1, "H1i"), (2, 0, "H2i"), (1, 0.5, "H2i"), (2.5, 0.6, "H1d"), (10, 0.1, "H1d"),
        (20.1, 0, "H2d"), (30, -1, "H2d"), (10, -0.4, "Ad"), (10, -0.6, "Ai"), (5, -0.01, "Ai"),
        (5.5, 0, "Ad"), (5, 0, "Ad"),
    ],
)  # fmt: skip
def test_regions_by_hand(q_us: float, q_v: float, region: str) -> None:
    assert ccc.region(q_us / 1e6, q_v) == region


@pytest.mark.parametrize(
    ("q_us", "q_v", "interval_us", "rate", "acceleration", "u"),
    [
        # Ai: (½·log2(5/(8 - 1.6·0.6)) + 0.6) · 400 Mbps; 8000 bit in 20 us are 400 Mbps.
        (8, -0.6, 1.6, 5e9, 1, 141_270_533),
        (10, -0.7, 1.6, 5e9, 1, 114_273_684),
        (6, -0.3, 0.32, 5e9, 1, 72_047_075),
        # Decreases: r · 0.25 · |q - 5|/5, at most 0.25, · Itv/20.
        (8, 0, 1.6, 5e9, 1, -60_000_000),
        (40, 0, 0.32, 25e9, 1, -100_000_000),
        (5.5, 0, 1.6, 5e9, 1, -10_000_000),
        # H1i: 5 G · ½ · 0.6 · (1 - 0.4) · 0.08; above half of the line nothing.
        (2, -0.1, 1.6, 5e9, 1, 72_000_000),
        (0, -0.1, 1.6, 13e9, 4, 0),
        # H2i: 5 G · 0.1 · 0.9 · 4 · 0.08; at an empty queue 5 G · 0.1 · 4 · 0.016.
        (0.5, 0, 1.6, 5e9, 4, 144_000_000),
        (0, 0, 0.32, 13e9, 4, 32_000_000),
        # The dead zone: the reference rate of 2.5 G is below the rate.
        (4.5, 0, 1.6, 5e9, 1, 0),
    ],
)
def test_steps_by_hand(
    q_us: float, q_v: float, interval_us: float, rate: float, acceleration: float, u: float
) -> None:
    found = ccc.step(q_us * 1e-6, q_v, rate, interval_us * 1e-6, 5e9, acceleration)
    assert found == pytest.approx(u, abs=1)


def test_a_step_counts_no_more_than_one_base_rtt() -> None:
    # 12.5 acknowledgements in an RTT, or one after two.
    assert ccc.step(40e-6, 0, 5e9, 20e-6, 5e9) == ccc.step(40e-6, 0, 5e9, 40e-6, 5e9) == -1.25e9


def test_the_dead_zone() -> None:
    assert ccc.dead_zone(2) == pytest.approx((2.5e-6, 5e-6))
    assert ccc.dead_zone(1) == pytest.approx((0, 5e-6))
    low, high = ccc.dead_zone(5)
    for q in (low * 1.001, high * 0.999):
        assert ccc.step(q, 0, 5e9, 1e-6, 5e9) == 0
    assert ccc.step(low * 0.99, 0, 5e9, 1e-6, 5e9) > 0
    assert ccc.step(high * 1.01, 0, 5e9, 1e-6, 5e9) < 0


def test_visits() -> None:
    regions = ["H2i", "H2i", "H1d", "Ad", "Ai", "Ad", "H1i", "Ai"]
    assert ccc.visits(regions) == ["H2i", "H1d", "Ad", "Ai", "Ad", "H1i", "Ai"]
    assert ccc.first_visits(regions) == ["H2i", "H1d", "A", "H1i"]


def test_two_flows_from_the_line_take_the_path_of_figure_7() -> None:
    path = ccc.trajectory(2, "300us")
    assert ccc.first_visits(path.regions)[:4] == ["H2i", "H1d", "H2d", "A"]
    # Two windows of 25 us of the line: 50 us, of which 20 us are on the way.
    assert path.q.max() == pytest.approx(30e-6, rel=0.05)
    # Twice the line rate arrives at first. While 1 us of it is sent the queue grows by 1 us, and the
    # acknowledgements of that take 2 us to come: a sender measures a half.
    assert path.q_v.max() == pytest.approx(0.5, rel=0.05)
    assert np.all(np.diff(path.seconds) > 0)
    assert path.q_v.min() >= -1


def test_the_printed_window_comes_to_rest_in_the_dead_zone() -> None:
    path = ccc.trajectory(2, "1ms", window="letter")
    low, high = ccc.dead_zone(2)
    last = path.q[len(path.q) * 3 // 4 :]
    assert low <= last.min()
    assert last.max() <= high


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        ccc.criterion(-1e-6, 0)
    with pytest.raises(ValueError, match="below -1"):
        ccc.region(1e-6, -1.1)
    with pytest.raises(ValueError, match="not above zero"):
        ccc.layover(0)
    with pytest.raises(ValueError, match="interval"):
        ccc.step(1e-6, 0, 1e9, -1e-6, 1e9)
    with pytest.raises(ValueError, match="at least one"):
        ccc.dead_zone(0)
    with pytest.raises(ValueError, match="not a window"):
        ccc.trajectory(2, "1ms", window="wide")
    with pytest.raises(ValueError, match="nothing is acknowledged"):
        ccc.trajectory(2, "10us")
    with pytest.raises(TypeError, match="no unit"):
        ccc.layover(1e-6, replace(ccc.PAPER, q_b=5e-6))  # type: ignore[arg-type]
