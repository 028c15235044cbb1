"""Closed forms of the median paper, by hand from its Table I, Theorem 6 and Appendix A."""

from __future__ import annotations

import math

import pytest

from incast.theory import median


@pytest.mark.parametrize(
    ("paths", "reno", "lswift"),
    [(32, 6.928, 9.62), (64, 9.798, 13.61), (128, 13.856, 19.24), (256, 19.596, 27.21)],
)
def test_table_1_by_hand(paths: int, reno: float, lswift: float) -> None:
    q = 1 / paths
    # √1.5 · √n; Swift with mm = ½ and ai = 1 is √(2 − ½) · √n, the same.
    assert median.newreno(q) == pytest.approx(reno, abs=5e-4)
    assert median.swift(q) == pytest.approx(reno, abs=5e-4)
    # The cut is 0.8 · 7/19.
    assert median.resilient_swift(q, "19us", "12us") == pytest.approx(lswift, abs=5e-3)


def test_theorem_3_has_mm_and_ai() -> None:
    # √((4 − ½) · 2/q) with q = 1/8.
    assert median.swift(1 / 8, max_mdf=0.25, ai=2) == pytest.approx(math.sqrt(3.5 * 2 * 8))


def test_the_largest_window_of_theorem_3() -> None:
    # √(n/(¾ · ½)).
    assert median.largest_window(1 / 64, 0.5) == pytest.approx(13.0639, abs=1e-4)
    assert median.largest_window(1 / 256, 0.5) == pytest.approx(26.1279, abs=1e-4)


def test_a_cycle_delivers_what_lies_between_two_congested_packets() -> None:
    # The area under the sawtooth, W²·cut·(1 − cut/2), is 1/q; its duration W·cut round trips.
    for cut in (0.2, 0.5, 0.8):
        window = median.largest_window(1 / 100, cut)
        assert window**2 * cut * (1 - cut / 2) == pytest.approx(100)
        assert median.sawtooth(1 / 100, cut) == pytest.approx(100 / (window * cut))


def test_the_cut_of_a_delay() -> None:
    assert median.delay_cut("19us", "12us") == pytest.approx(0.294737, abs=1e-6)
    assert median.delay_cut("60us", "12us") == 0.5  # 0.64 is more than max_mdf
    with pytest.raises(ValueError, match="nothing is cut"):
        median.delay_cut("12us", "12us")


def test_flow_scaling_raises_the_target_and_the_throughput() -> None:
    plain = median.resilient_swift(1 / 64, "19us", "12us")
    scaled = median.resilient_swift(1 / 64, "19us", "12us", fs_range="5us")
    assert scaled > plain
    # The solution satisfies both equations: a = 1.632772 us, W from the throughput's cut.
    cut = 1 / (scaled**2 / 64 + 0.5)
    window = median.largest_window(1 / 64, cut)
    target = 12 + 1.632772 / math.sqrt(window) - 0.1632772
    assert cut == pytest.approx(0.8 * (19 - target) / 19, rel=1e-5)


@pytest.mark.parametrize(
    ("bdp", "paths", "packets"),
    [
        (156, 8, 5.0804), (156, 32, 18.9940), (156, 128, 62.9731), (156, 256, 107.3864),
        (10, 8, 4.0205), (10, 32, 11.0626), (10, 128, 26.3664), (10, 256, 39.3040),
    ],
)  # fmt: skip
def test_theorem_4_by_hand(bdp: float, paths: int, packets: float) -> None:
    assert median.smartt(1 / paths, 1.25, bdp) == pytest.approx(packets, abs=1e-4)


def test_theorem_4_tends_to_one_half() -> None:
    ends = [median.smartt(1 / n, 1.25, 10) for n in (1e8, 1e9)]
    assert math.log10(ends[1] / ends[0]) == pytest.approx(0.5, abs=0.01)


def test_throughput_without_a_collapse() -> None:
    # 60/(1 + 0.9/n).
    for paths, packets in ((4, 48.98), (8, 53.93), (16, 56.80)):
        assert median.capped(60, 1 / paths, "19us", "10us") == pytest.approx(packets, abs=0.005)


def test_the_majority_of_theorem_6() -> None:
    # Late by half a packet: c u u u c of five with four paths, c u c of three with two.
    assert median.worst_share(4, 5, 0.5) == pytest.approx(2 / 5)
    assert median.worst_share(2, 3, 0.5) == pytest.approx(2 / 3)
    # c u u c of four with three paths: no majority.
    assert median.worst_share(3, 4, 0.5) == pytest.approx(1 / 2)
    for paths in (4, 5, 7):
        for history in (3, 4, 9):
            assert all(median.worst_share(paths, history, late) < 0.5 for late in (0.0, 1.0, 3.7, 12.2))


def test_spacing_of_congested_packets() -> None:
    assert median.spacing_factor(0.5, "rotation", cuts=1000) == pytest.approx(1)
    # Mathis et al. give 1.31 in place of 1.22 for random losses.
    assert median.spacing_factor(0.5, "random") == pytest.approx(1.31 / 1.2247, abs=0.01)
    assert 1 < median.spacing_factor(0.5, "rounds") < 1.02


def test_exponents() -> None:
    assert median.exponents([4, 16, 64], [2, 4, 16]) == pytest.approx([0.5, 1])


def test_what_is_refused() -> None:
    for q in (0.0, -0.1, 1.1):
        with pytest.raises(ValueError, match="share"):
            median.newreno(q)
    with pytest.raises(ValueError, match="between 0 and 1"):
        median.sawtooth(0.1, 1.0)
    with pytest.raises(ValueError, match=r"between 1 and 1\.5"):
        median.smartt(0.1, 1.6, 10)
    with pytest.raises(ValueError, match="too small"):
        median.smartt(0.1, 1.25, 0.5)
    with pytest.raises(ValueError, match="nothing is cut"):
        median.resilient_swift(0.1, "10us", "12us")
    with pytest.raises(ValueError, match="not a spacing"):
        median.spacing_factor(0.5, "burst")
    with pytest.raises(ValueError, match="at least 2"):
        median.worst_share(1, 3, 0)
    with pytest.raises(ValueError, match="two points"):
        median.exponents([1], [1])
