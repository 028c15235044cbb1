"""Statistics of the flows of several seeds together, with values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from incast import stats
from incast.results.pooled import above, pooled, pooled_by_size, tail_index, together
from incast.results.stats import FlowTimes

SEEDS = {1: np.array([1.0, 2, 3, 4]), 2: np.array([2.0, 4, 6, 8]), 3: np.array([4.0, 8, 12, 16])}


def test_a_mean_by_hand() -> None:
    # 70/12 = 5.8333; l = ln 2.5, ln 5, ln 10, L = 1.763589, Σ = 0.717935 + 0.023759 + 0.290500 = 1.032193,
    # h = 4.302653 · √(1.032193 / 6) = 1.784601.
    found = pooled(SEEDS, "mean")
    assert (found.value, found.low, found.high) == pytest.approx((70 / 12, 0.97921, 34.7504), rel=1e-5)
    assert (found.seeds, found.samples, found.above, found.tail_index) == (3, 12, None, None)
    assert not found.few


def test_a_median_by_hand() -> None:
    # The sixth of 1 2 2 3 4 4 4 6 8 8 12 16 is 4; of the seeds 2, 4, 8: Σ = 2 ln² 2,
    # h = 4.302653 · ln 2 / √3 = 1.721873.
    found = pooled(SEEDS, 50)
    assert (found.value, found.low, found.high) == pytest.approx((4, 0.71492, 22.380), rel=1e-4)
    assert (found.samples, found.above) == (12, 6)


def test_without_logarithms_at_zero() -> None:
    # Means 0 and 2 about 1: Σ = 2, t(1) = 12.706205, h = 12.706205 · √(2 / 2).
    found = pooled({1: np.zeros(3), 2: np.full(3, 2.0)}, "mean")
    assert (found.value, found.low, found.high) == pytest.approx((1, -11.706205, 13.706205))


def test_no_interval() -> None:
    largest = pooled(SEEDS, 99)
    assert (largest.value, largest.above) == (16, 0)
    assert largest.few
    one = pooled({1: SEEDS[1], 2: np.empty(0)}, "mean")
    assert (one.value, one.seeds) == (2.5, 1)
    fixed = pooled(SEEDS, "mean", drawn=False)
    none = pooled({1: np.empty(0)}, 50)
    for found in (largest, one, fixed, none):
        assert math.isnan(found.low)
        assert math.isnan(found.high)
    assert math.isnan(none.value)
    assert (none.seeds, none.samples, none.above, none.few) == (0, 0, None, False)
    with pytest.raises(ValueError, match="between 0 and 1"):
        pooled(SEEDS, "mean", confidence=1)


def test_values_beyond_a_percentile() -> None:
    assert [above(n, 99) for n in (61, 100, 250, 2_723)] == [0, 1, 2, 27]
    # In floating point 99.9 % of 1000 is a little more than 999.
    assert above(1_000, 99.9) == 1


def test_tail_index_of_a_geometric_row() -> None:
    # 100 values 1, r, r², …: of the ten largest, ln(x_i / x_11) = 10, 9, …, 1 times ln r: mean 5.5 · ln r.
    row = np.array([1.1**n for n in range(100)])
    found = tail_index(row)
    assert found == pytest.approx(1 / (5.5 * math.log(1.1)))
    assert tail_index(np.random.default_rng(1).permutation(row)) == pytest.approx(found)
    assert tail_index(row[:99]) is None
    assert tail_index(-row) is None
    assert tail_index(np.ones(100)) == math.inf
    assert pooled({1: row[:50], 2: row[50:]}, "mean").tail_index == pytest.approx(found)


def test_tails_are_told_apart() -> None:
    draw = np.random.default_rng(3)
    heavy = [tail_index(draw.pareto(1.5, 3_000) + 1) for _ in range(100)]
    light = [tail_index(draw.exponential(1.0, 3_000)) for _ in range(100)]
    assert sum(one is not None and one < 2 for one in heavy) >= 90
    assert all(one is not None and one >= 2 for one in light)


def sets(shape: tuple[int, ...], exponent: float | None = None) -> npt.NDArray[np.float64]:
    """Draws repetitions × seeds × flows: exponential, or Pareto with an exponent."""
    draw = np.random.default_rng(5)
    return draw.exponential(1.0, shape) if exponent is None else draw.pareto(exponent, shape) + 1


def test_intervals_hold_for_percentiles_of_light_tails() -> None:
    """Of 1,000 intervals at most one in fourteen misses the true 99th percentile, ln 100."""
    repetitions = sets((1_000, 5, 1_000))
    held = 0
    for one in repetitions:
        found = pooled(dict(enumerate(one)), 99)
        held += found.low <= math.log(100) <= found.high
    assert 0.93 <= held / 1_000 <= 0.98


def test_intervals_do_not_hold_for_means_without_variance() -> None:
    """The mean of Pareto's distribution with the exponent 1.5 is 3; its intervals are too narrow."""
    repetitions = sets((1_000, 5, 1_000), 1.5)
    held = 0
    for one in repetitions:
        found = pooled(dict(enumerate(one)), "mean")
        held += found.low <= 3 <= found.high
        assert found.tail_index is not None
    assert held / 1_000 < 0.93


def test_the_value_is_the_percentile_of_all() -> None:
    values = np.concatenate(list(SEEDS.values()))
    for rank in (10, 25, 50, 75, 90):
        assert pooled(SEEDS, rank).value == stats.percentile(values, rank)


def times(sizes: list[int], slowdowns: list[float]) -> FlowTimes:
    size = np.array(sizes, dtype=np.int64)
    return FlowTimes(size, size, np.array(slowdowns))


def test_bins_of_sizes_have_the_flows_of_all_seeds() -> None:
    seeds = {1: times([10, 20, 10], [1, 5, 2]), 2: times([10, 20], [4, 7]), 3: times([10], [8])}
    small, large, none = pooled_by_size(seeds, [0, 10, 20], [50])
    assert [(one.over_bytes, one.upto_bytes, one.flows) for one in (small, large, none)] == [
        (0, 10, 4),
        (10, 20, 2),
        (20, None, 0),
    ]
    # The flows of one bin, by seed: 1 and 2, 4, 8. The second of four is 2, their mean 3.75.
    assert small.percentiles[50] == pooled({1: [1, 2], 2: [4], 3: [8]}, 50)
    assert (small.percentiles[50].value, small.mean.value) == (2, 3.75)
    # The third seed has no large flow: two sections.
    assert (large.mean.value, large.mean.seeds) == (6, 2)
    assert math.isnan(none.mean.value)
    assert math.isnan(none.percentiles[50].low)
    with pytest.raises(ValueError, match="must rise"):
        pooled_by_size(seeds, [10, 0])
    same = pooled_by_size(seeds, [0], [50], drawn=False)[0]
    assert math.isnan(same.mean.low)


def test_flows_of_several_runs_together() -> None:
    whole = together([times([10, 20], [1, 5]), times([30], [7])])
    assert (whole.size_bytes.tolist(), whole.slowdown.tolist()) == ([10, 20, 30], [1, 5, 7])
    [one] = stats.slowdown_by_size(whole, [0], [50])
    assert (one.flows, one.percentiles[50]) == (3, 5)
