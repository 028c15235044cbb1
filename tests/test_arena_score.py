"""The method of the arena, on values that are worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import pytest

from incast.arena.score import MOST, SAMPLES, Column, Judged, Observed, judge, sample


def column(
    scenario: str,
    metric: str,
    better: Literal["higher", "lower"],
    **values: Sequence[float | None],
) -> Column:
    seen = {name: [None if one is None else Observed(one) for one in some] for name, some in values.items()}
    replicates = len(next(iter(values.values())))
    return Column(scenario, metric, better, replicates, seen, frozenset(values))


def example() -> list[Column]:
    """The example of the page about the method: three contestants, two scenarios, three metrics."""
    return [
        column("s1", "C", "higher", a=[0.9] * 3, b=[0.6] * 3, c=[0.3] * 3),
        column("s1", "I", "lower", a=[2.0] * 3, b=[1.0] * 3, c=[1.0] * 3),
        column("s2", "L", "lower", a=[1.0] * 3, b=[1.2] * 3, c=[1.5, 1.5, None]),
    ]


def standings(judged: Judged) -> dict[str, tuple[object, ...]]:
    return {one.contestant: (one.worst, one.scenario, one.mean) for one in judged.standings}


def test_the_worked_example() -> None:
    judged = judge(example(), ["a", "b", "c"], "digest")

    # Ratios of C are 1, 1.5, 3, of I 2, 1, 1: their geometric means are √2, √1.5, √3.
    assert judged.ratios["s1"] == pytest.approx({"a": 1.4142, "b": 1.2247, "c": 1.7321}, abs=1e-4)
    assert judged.ratios["s2"] == pytest.approx({"a": 1.0, "b": 1.2, "c": 100.0})
    found = standings(judged)
    assert found["a"] == (pytest.approx(1.4142, abs=1e-4), "s1", pytest.approx(1.1892, abs=1e-4))
    assert found["b"] == (pytest.approx(1.2247, abs=1e-4), "s1", pytest.approx(1.2123, abs=1e-4))
    assert found["c"] == (pytest.approx(100.0), "s2", pytest.approx(13.16, abs=0.01))
    # By the largest ratio, b comes before a; by the mean it would come after.
    assert list(found) == ["b", "a", "c"]
    assert judged.front("s1") == ["a", "b"]
    assert [one.failed for one in judged.standings] == [0, 0, 1]


def test_the_interval_of_a_ratio() -> None:
    # d = ln 2, ln 4, ln 4: mean 1.15525, s = 0.40019; t(2) = 4.3027: half 0.99415, so 1.1748 to 8.5794.
    judged = judge([column("s", "L", "lower", a=[2.0, 4.0, 8.0], b=[1.0, 1.0, 2.0])], ["a", "b"], "digest")
    of = {score.contestant: score for score in judged.scores}
    assert of["a"].ratio == pytest.approx(3.1748, abs=1e-4)
    assert [of["a"].low, of["a"].high] == pytest.approx([1.1748, 8.5794], abs=1e-4)
    assert of["a"].word == "worse"
    assert (of["b"].ratio, of["b"].word, of["b"].low) == (1.0, "best", None)
    pairs = {(pair.contestant, pair.other): pair for pair in judged.pairs}
    assert (pairs["a", "b"].worse, pairs["a", "b"].better) == (1, 0)
    assert (pairs["b", "a"].worse, pairs["b", "a"].better) == (0, 1)


def test_a_constant_factor_changes_no_ratio() -> None:
    plain = judge(example(), ["a", "b", "c"], "digest")
    scaled = [
        column("s1", "C", "higher", a=[0.9] * 3, b=[0.6] * 3, c=[0.3] * 3),
        column("s1", "I", "lower", a=[14.0] * 3, b=[7.0] * 3, c=[7.0] * 3),
        column("s2", "L", "lower", a=[1.0] * 3, b=[1.2] * 3, c=[1.5, 1.5, None]),
    ]
    assert judge(scaled, ["a", "b", "c"], "digest").ratios["s1"] == pytest.approx(plain.ratios["s1"])


def test_one_that_is_worst_everywhere_changes_nobody_else() -> None:
    with_it = [
        Column(
            one.scenario,
            one.metric,
            one.better,
            one.replicates,
            {**one.values, "z": [Observed(0.1 if one.better == "higher" else 9.0)] * 3},
            one.drawn,
        )
        for one in example()
    ]
    before, after = (standings(judge(each, ["a", "b", "c", "z"], "digest")) for each in (example(), with_it))
    assert {name: after[name] for name in before} == before
    # C: 0.9/0.1 = 9; I: 9: the geometric mean of both is 9.
    assert after["z"][0] == pytest.approx(9.0)


def test_references_set_no_best_and_dominate_nobody() -> None:
    one = column("s", "L", "lower", a=[2.0] * 3, b=[3.0] * 3, oracle=[1.0] * 3)
    judged = judge([one], ["a", "b"], "digest")
    assert judged.ratios["s"] == pytest.approx({"a": 1.0, "b": 1.5, "oracle": 0.5})
    assert judged.front("s") == ["a"]
    assert [(each.contestant, each.ranked) for each in judged.standings] == [
        ("a", True),
        ("b", True),
        ("oracle", False),
    ]


def test_a_refused_contestant_has_one_scenario_less() -> None:
    columns = [
        column("s1", "L", "lower", a=[1.0] * 3, b=[2.0] * 3),
        column("s2", "L", "lower", a=[1.0] * 3),
    ]
    of = {one.contestant: one for one in judge(columns, ["a", "b"], "digest").standings}
    assert (of["a"].scenarios, of["b"].scenarios) == (2, 1)
    assert of["b"].worst == pytest.approx(2.0)


def test_ratios_end_at_a_hundred_and_goods_at_a_hundredth() -> None:
    judged = judge([column("s", "C", "higher", a=[0.9] * 3, b=[0.0] * 3)], ["a", "b"], "digest")
    # A good of 0 counts as 0.01: 0.9 / 0.01 = 90.
    assert judged.ratios["s"]["b"] == pytest.approx(90.0)
    worse = judge([column("s", "L", "lower", a=[1.0] * 3, b=[500.0] * 3)], ["a", "b"], "digest")
    assert worse.ratios["s"]["b"] == pytest.approx(MOST)


def test_a_lower_bound_says_so_and_has_no_upper_end() -> None:
    seen = {
        "a": [Observed(1.0), Observed(1.1), Observed(0.9)],
        "b": [Observed(4.0), Observed(4.4, True), Observed(5.0)],
    }
    judged = judge([Column("s", "L", "lower", 3, seen, frozenset("ab"))], ["a", "b"], "digest")
    of = {score.contestant: score for score in judged.scores}
    assert (of["a"].censored, of["b"].censored) == (False, True)
    assert of["b"].high == math.inf
    assert {one.contestant: one.censored for one in judged.standings} == {"a": False, "b": True}


def test_bootstrap_samples_follow_from_hashes() -> None:
    rows = sample("digest", "many", 5)
    assert rows.shape == (SAMPLES, 5)
    assert (rows == sample("digest", "many", 5)).all()
    assert not (rows == sample("digest", "few", 5)).all()
    # Each replicate is as likely as the others: 10,000 draws of a fifth are 2,000, with a deviation of 40.
    counts = [int((rows == number).sum()) for number in range(5)]
    assert sum(counts) == 5 * SAMPLES
    assert all(abs(count - SAMPLES) < 200 for count in counts)


def test_intervals_of_the_largest_ratio_contain_it() -> None:
    noisy = column("s", "L", "lower", a=[1.0, 1.0, 1.0], b=[1.5, 2.0, 3.0])
    (of,) = [one for one in judge([noisy], ["a", "b"], "digest").standings if one.contestant == "b"]
    # (1.5 · 2 · 3)^(1/3) = 2.0801; samples lie between 1.5 and 3.
    assert of.worst == pytest.approx(2.0801, abs=1e-4)
    assert of.worst_low is not None
    assert of.worst_high is not None
    assert 1.5 - 1e-9 <= of.worst_low < of.worst < of.worst_high <= 3.0 + 1e-9


def test_a_narrow_win_is_seen_as_one() -> None:
    # Whoever is best differs from replicate to replicate, so neither is never worse than the other.
    close = column("s", "L", "lower", a=[1.0, 1.2, 1.0, 1.2], b=[1.2, 1.0, 1.2, 1.0])
    of = {one.contestant: one for one in judge([close], ["a", "b"], "digest").standings}
    assert of["b"].worst == pytest.approx(1.0)
    assert of["b"].worst_high is not None
    assert of["b"].worst_high > 1.05
