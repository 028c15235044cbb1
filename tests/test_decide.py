"""Differences over pairs of seeds and their words, with values worked out by hand."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

import incast
from helpers import SMALL
from incast import stats
from incast.results.decide import Difference, Values, Word, difference, differences
from incast.results.measures.named import Measure, find

P99 = find("p99.small")
MEAN = find("mean.all")
BUSBW = find("busbw")
FINISHED = find("finished")
DROPPED = find("dropped")


def side(values: Mapping[int, float] | list[float], **more: object) -> Values:
    known = values if isinstance(values, Mapping) else dict(enumerate(values))
    runs = frozenset(range(len(known))) if not isinstance(values, Mapping) else frozenset(known)
    return Values(known, runs, **more)  # type: ignore[arg-type]


A, B = [2.0, 4.0, 8.0], [1.0, 1.0, 2.0]


def test_three_seeds_by_hand() -> None:
    # d = ln 2, 2 ln 2, 2 ln 2: m = 5/3 · ln 2 = 1.155245, s = ln 2 / √3 = 0.400189, t(2) = 4.302653,
    # h = 4.302653 · 0.400189 / √3 = 0.994120.
    found = difference(side(A), side(B), MEAN)
    assert (found.value, found.low, found.high) == pytest.approx((3.1748, 1.1748, 8.5794), abs=5e-5)
    assert (found.word, found.seeds, found.scale, found.why) == (Word.WORSE, 3, "ratio", "")
    assert not found.final
    swapped = difference(side(B), side(A), MEAN)
    assert (swapped.value, swapped.low, swapped.high) == pytest.approx((0.31498, 0.11656, 0.85119), abs=5e-6)
    assert swapped.word is Word.BETTER


def test_more_pairs_need_more() -> None:
    # At 98.333 % (three pairs) t(2) = √2 · c / √(1 − c²) = 7.6488 and h = 1.7672, more than m.
    sides = {"a": side(A), "b": side(B), "c": side(B)}
    every = differences(sides, None, MEAN)
    assert list(every) == [("a", "b"), ("a", "c"), ("b", "c")]
    found = every["a", "b"]
    assert found.confidence == pytest.approx(1 - 0.05 / 3)
    assert math.log(found.high / found.value) == pytest.approx(1.7672, abs=5e-5)
    assert found.word is Word.NOT_SHOWN
    assert every["b", "c"].word is Word.EQUAL
    one_by_one = differences(sides, None, MEAN, alpha=0.05 * 3)
    assert one_by_one["a", "b"] == difference(side(A), side(B), MEAN, confidence=1 - 0.05)
    # With a baseline there are two pairs; t(2) at 97.5 % is 6.2053, h = 1.43374: still more than m.
    based = differences(sides, "b", MEAN)
    assert list(based) == [("a", "b"), ("c", "b")]
    assert math.log(based["a", "b"].high / based["a", "b"].value) == pytest.approx(1.43374, abs=5e-5)
    with pytest.raises(KeyError):
        differences(sides, "d", MEAN)


def test_students_quantiles_far_out() -> None:
    for c in (0.5, 0.95, 0.995, 0.9999, 1 - 1e-6):
        assert stats.student(c, 1) == pytest.approx(math.tan(math.pi * c / 2), rel=1e-8)
        assert stats.student(c, 2) == pytest.approx(math.sqrt(2) * c / math.sqrt(1 - c * c), rel=1e-8)
        t = stats.student(c, 4)
        u = t / math.sqrt(4 + t * t)
        assert u * (3 - u * u) / 2 == pytest.approx(c, abs=1e-11)
    assert stats.student(1 - 1e-6, 2) == pytest.approx(999.99925, abs=1e-4)


def test_equal_in_every_seed_is_exact() -> None:
    found = difference(side(A), side(A), MEAN)
    assert (found.word, found.why, found.final) == (Word.EQUAL, "exact", True)
    assert (found.value, found.low, found.high) == (1, 1, 1)
    double = difference(side([2.0, 4.0, 8.0]), side([1.0, 2.0, 4.0]), MEAN)
    assert (double.word, double.value, double.low, double.why) == (Word.WORSE, 2, 2, "exact")


def test_without_draws_one_seed_suffices() -> None:
    fixed = {"drawn": False}
    found = difference(side([3.0], **fixed), side([4.0], **fixed), MEAN)
    assert (found.word, found.why, found.final) == (Word.BETTER, "exact", True)
    assert found.value == pytest.approx(0.75)
    # One side with draws has an uncertainty.
    assert difference(side([3.0]), side([4.0], **fixed), MEAN).word is Word.TOO_FEW


def test_two_seeds_are_too_few() -> None:
    found = difference(side([1.0, 2.0]), side([3.0, 8.0]), MEAN)
    assert (found.word, found.why, found.final) == (Word.TOO_FEW, "2 seeds; at least 3", False)
    # √(1/3 · 2/8) = √(1/12); there is no interval.
    assert found.value == pytest.approx(math.sqrt(1 / 12))
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert str(found) == "−71 %, too few (2 seeds; at least 3), 2 seeds"


def test_a_zero_has_no_ratio() -> None:
    # d = 2, 3, 7: m = 4, s² = (4 + 1 + 9) / 2 = 7, h = 4.302653 · √(7/3) = 6.572411.
    found = difference(side([2.0, 4.0, 8.0]), side([0.0, 1.0, 1.0]), MEAN)
    assert found.scale == "difference"
    assert (found.value, found.low, found.high) == pytest.approx((4, -2.572411, 10.572411), abs=1e-5)
    assert found.word is Word.NOT_SHOWN
    # Counts are compared by their difference also above 0.
    assert difference(side(A), side(B), DROPPED).scale == "difference"


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        (MEAN, (Word.WORSE, Word.BETTER)),
        (BUSBW, (Word.BETTER, Word.WORSE)),
        (FINISHED, (Word.HIGHER, Word.LOWER)),
    ],
)
def test_words_follow_the_direction(measure: Measure, words: tuple[Word, Word]) -> None:
    a, b = side([20.0, 21.0, 22.0]), side([10.0, 10.0, 11.0])
    assert (difference(a, b, measure).word, difference(b, a, measure).word) == words


def test_a_margin_makes_equal() -> None:
    # d = ± 0.01 in turn over ten seeds: m = 0, s = 0.01 · √(10/9), t(9) = 2.262157, h = 0.0075405.
    a = side([math.exp(0.01 * (-1) ** n) for n in range(10)])
    b = side([1.0] * 10)
    assert difference(a, b, MEAN).word is Word.NOT_SHOWN
    assert difference(a, b, MEAN, margin=0.008).word is Word.EQUAL
    # ln 1.0075 = 0.007472 < h.
    assert difference(a, b, MEAN, margin=0.0075).word is Word.NOT_SHOWN
    # A difference that is shown stays one, however small.
    c = side([1.01, 1.011, 1.012])
    assert difference(c, side([1.0] * 3), MEAN, margin=0.5).word is Word.WORSE


def test_a_margin_of_differences_is_a_part_of_the_baseline() -> None:
    # d = 1, −1, 0: m = 0, s = 1, h = 4.302653 / √3 = 2.484138; the baseline's mean is 100.
    a, b = side([101.0, 99.0, 100.0]), side([100.0] * 3)
    assert difference(a, b, DROPPED, margin=0.0249).word is Word.EQUAL
    assert difference(a, b, DROPPED, margin=0.0248).word is Word.NOT_SHOWN


def test_lower_bounds_leave_one_end_open() -> None:
    # d = ln 5, ln 5, ln 2.5: m = 1.378389, h = 0.994120 as above: low = e^0.384269.
    bound = side([5.0, 5.0, 5.0], at_least=frozenset({0, 1, 2}))
    found = difference(bound, side(B), MEAN)
    assert (found.word, found.high) == (Word.WORSE, math.inf)
    assert found.low == pytest.approx(math.exp(0.384269), abs=1e-5)
    swapped = difference(side(B), bound, MEAN)
    assert (swapped.word, swapped.low) == (Word.BETTER, 0)
    both = difference(bound, bound, MEAN)
    assert (both.word, both.why) == (Word.TOO_FEW, "unfinished flows on both sides")
    # A bound that is not below the baseline's value, in each seed: it may be larger, so it is not equal.
    level = difference(bound, side([5.0] * 3), MEAN)
    assert (level.word, level.why, level.low, level.high) == (Word.NOT_SHOWN, "", 1, math.inf)


def test_a_percentile_of_few_flows_is_their_largest() -> None:
    few = difference(side(A, samples=61), side(B, samples=5_000), P99)
    assert (few.word, few.why, few.final) == (Word.TOO_FEW, "p99 of 61 flows is their largest", True)
    assert math.isnan(few.low)
    # ⌈99 · 99 / 100⌉ = 99, ⌈99 · 100 / 100⌉ = 99.
    assert difference(side(A, samples=99), side(B), P99).word is Word.TOO_FEW
    assert difference(side(A), side(B, samples=100), P99).word is Word.WORSE
    # A mean has no rank; the median needs two values, the 99.9th percentile a thousand.
    assert difference(side(A, samples=1), side(B), MEAN).word is Word.WORSE
    for rank, least in ((50.0, 2), (95.0, 20), (99.9, 1_000)):
        measure = Measure("p", ("p",), "p", "ratio", rank=rank)
        assert difference(side(A, samples=least), side(B), measure).word is Word.WORSE
        assert difference(side(A, samples=least - 1), side(B), measure).word is Word.TOO_FEW


def test_runs_without_a_value_are_outcomes() -> None:
    runs = frozenset(range(5))
    whole = Values(dict.fromkeys(runs, 1.0), runs)
    found = difference(Values({0: 1.0, 1: 2.0, 2: 3.0}, runs), whole, MEAN)
    assert (found.word, found.why, found.seeds) == (Word.TOO_FEW, "no value in 2 of 5 seeds", 5)
    assert found.final
    # More seeds of one side are still to come.
    later = difference(Values({0: 1.0, 1: 2.0, 2: 3.0}, frozenset(range(4))), whole, MEAN)
    assert (later.why, later.final) == ("no value in 1 of 4 seeds", False)
    # Seeds that neither side has a value for are left out.
    pair = (Values({0: 2.0, 1: 4.0, 2: 8.0}, runs), Values({0: 1.0, 1: 1.0, 2: 2.0}, runs))
    assert difference(*pair, MEAN) == difference(side(A), side(B), MEAN)
    nothing = difference(Values({}, runs), Values({}, runs), MEAN)
    assert nothing.why == "no value in 5 of 5 seeds"
    apart = difference(side({1: 1.0}), side({2: 1.0}), MEAN)
    assert (apart.word, apart.why, apart.final) == (Word.TOO_FEW, "no seed in common", False)
    assert str(apart) == "–, too few (no seed in common), 0 seeds"


def test_never_is_no_number() -> None:
    found = difference(side([1.0, math.inf, 2.0]), side([1.0, 1.0, math.inf]), MEAN)
    assert (found.word, found.why) == (Word.TOO_FEW, "never in 2 of 3 seeds")


def test_wrong_arguments() -> None:
    for options in ({"confidence": 1.0}, {"confidence": 0.0}, {"margin": 0.0}):
        with pytest.raises(ValueError, match="between 0 and 1"):
            difference(side(A), side(B), MEAN, **options)
    with pytest.raises(ValueError, match="NaN"):
        side([math.nan])
    with pytest.raises(ValueError, match="that were run"):
        Values({1: 1.0}, frozenset({2}))
    with pytest.raises(ValueError, match="lower bounds"):
        Values({1: 1.0}, frozenset({1, 2}), at_least=frozenset({2}))


OPPOSITE = {Word.BETTER: Word.WORSE, Word.WORSE: Word.BETTER}


def test_swapped_sides_say_the_opposite() -> None:
    draw = random.Random(7)
    words = set()
    for _ in range(300):
        seeds = draw.randint(3, 12)
        a = side([draw.lognormvariate(draw.choice((0.0, 0.6)), 0.4) for _ in range(seeds)])
        b = side([draw.lognormvariate(0.0, 0.4) for _ in range(seeds)])
        one, other = difference(a, b, MEAN, margin=0.3), difference(b, a, MEAN, margin=0.3)
        assert (other.value, other.low, other.high) == pytest.approx(
            (1 / one.value, 1 / one.high, 1 / one.low)
        )
        assert other.word is OPPOSITE.get(one.word, one.word)
        words.add(one.word)
    assert words >= {Word.WORSE, Word.NOT_SHOWN}


def test_intervals_of_pairs_hold_where_there_is_no_variance() -> None:
    """Of 2,000 intervals 95 % hold, also for means without variance, if both sides have the same flows."""
    draw = np.random.default_rng(11)
    pairs, raw = 0, 0
    flows = draw.pareto(1.5, (2_000, 5, 300)) + 1
    noise = draw.normal(0.0, 0.4, (2, 2_000, 5, 300))
    a, b = (np.mean(flows * np.exp(one), axis=-1) for one in noise)
    for left, right in zip(a, b, strict=True):
        found = difference(side(list(left)), side(list(right)), MEAN)
        pairs += found.low <= 1 <= found.high
        # The true mean is 3, times that of the noise.
        one = stats.Estimate.of(left)
        raw += one.low <= 3 * math.exp(0.08) <= one.high
    assert 0.93 < pairs / 2_000 < 0.98
    assert raw / 2_000 < 0.93


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((0.88, 0.84, 0.92), "−12 % (−16 – −8)"),
        ((1.18, 1.09, 1.28), "+18 % (+9 – +28)"),
        ((1.12, 1.004, 1.25), "+12.0 % (+0.4 – +25.0)"),
        # Ends outwards.
        ((0.85, 0.763, 0.969), "−15 % (−24 – −3)"),
        ((0.979, 0.9404, 1.0206), "−2.1 % (−6.0 – +2.1)"),
        ((1.0012, 0.99876, 1.00501), "+0.12 % (−0.13 – +0.51)"),
        ((2.4, 2.11, 2.79), "×2.4 (2.1 – 2.8)"),
        ((3.1748, 1.1748, math.inf), "×3.2 (1.1 – ∞)"),
        ((0.5, 0.0, 0.9), "−50 % (−100 – −10)"),
        ((12.34, 10.2, 14.9), "×12 (10 – 15)"),
        ((0.75, 0.75, 0.75), "−25 %"),
        ((1.0, 1.0, 1.0), "0.00 %"),
        ((0.75, math.nan, math.nan), "−25 %"),
        ((math.nan, math.nan, math.nan), "–"),
    ],
)
def test_ratios_are_shown(numbers: tuple[float, float, float], text: str) -> None:
    assert Difference(MEAN, 5, "ratio", *numbers, 0.95, Word.BETTER).shown() == text


@pytest.mark.parametrize(
    ("measure", "numbers", "text"),
    [
        ("queue.mean", (3_456.0, -1_200.0, 5_800.0), "+3.46 KB (−1.2 – +5.8)"),
        ("jobs.mean", (-2.5e6, -math.inf, -1e6), "−2.5 us (−∞ – −1)"),
        ("busbw", (1e9, 1e9, 1e9), "+1 Gbps"),
        ("dropped", (0.0, -4.0, 4.0), "0 (−4 – +4)"),
    ],
)
def test_differences_are_shown(measure: str, numbers: tuple[float, float, float], text: str) -> None:
    assert Difference(find(measure), 5, "difference", *numbers, 0.95, Word.NOT_SHOWN).shown() == text


def test_a_difference_in_a_line() -> None:
    found = Difference(MEAN, 5, "ratio", 0.88, 0.84, 0.92, 0.95, Word.BETTER)
    assert str(found) == "−12 % (−16 – −8), better, 5 seeds"


# From Python.


def test_values_by_seed() -> None:
    a, b = dict(zip((7, 8, 9), A, strict=True)), dict(zip((9, 8, 7), reversed(B), strict=True))
    found = incast.difference(a, b, "p99.small")
    assert found == difference(side(a), side(b), P99)
    assert incast.difference(a, b, "slowdown_small_p99") == found
    assert (
        incast.difference({**a, 10: math.nan}, {**b, 10: 1.0}, "p99.small").why == "no value in 1 of 4 seeds"
    )
    with pytest.raises(KeyError, match="did you mean"):
        incast.difference(a, b, "p99.smal")
    own = incast.difference(a, b, "my number", better="higher")
    assert (own.word, own.measure.name) == (incast.Word.BETTER, "my number")


@pytest.mark.filterwarnings("ignore:.*no flow was held back:incast.IncastWarning")
def test_replications_are_compared() -> None:
    traffic = {"kind": "poisson", "sizes": "20KB", "load": 0.3, "warmup": "200us", "duration": "4ms"}
    scenario = incast.Scenario.from_toml(SMALL).with_(traffic=[traffic], run={})
    a, b = (incast.replicate(scenario.with_algorithm(cc), 3, keep=True) for cc in ("hpcc", "swift"))
    found = incast.difference(a, b, "mean.all")
    values = [made.metrics["slowdown_all_mean"].values for made in (a, b)]
    # The geometric mean of the ratios.
    ratio = math.prod(x / y for x, y in zip(*values, strict=True)) ** (1 / 3)
    assert found.value == pytest.approx(ratio)
    assert (found.scale, found.seeds) == ("ratio", 3)
    assert a.flows["small"] == min(len(one.flow_times().slowdown) for one in a.results.values())
    assert a.flows["large"] == 0
    assert incast.difference(a, b, "p99.small").low > 0
    assert a.unfinished == {seed: frozenset() for seed in a.seeds}
    few = incast.difference(a, replace(b, flows={"small": 61}), "p99.small")
    assert few.why == "p99 of 61 flows is their largest"
    assert incast.difference(a, b, "p99.large").why == "no value in 3 of 3 seeds"
    same = incast.difference(a, a, "mean.all")
    assert (same.word, same.why) == (incast.Word.EQUAL, "exact")
    jobs = incast.difference(a, b, "jobs.mean")
    assert jobs.why == "no value in 3 of 3 seeds"


def test_a_scenario_without_draws_is_exact_with_two_seeds() -> None:
    scenario = incast.Scenario.from_toml(SMALL)
    a, b = (incast.replicate(scenario.with_algorithm(cc), 2) for cc in ("hpcc", "swift"))
    found = incast.difference(a, b, "mean.all")
    assert (found.why, found.seeds) == ("exact", 2)
    assert found.low == found.value == found.high


def test_runs_with_unfinished_flows_have_no_slowdown() -> None:
    # 300 KB need 24 us at 100 Gbps: the second flow, which starts 1 us before the end, cannot finish.
    flow = {"kind": "flows", "from": "h0", "to": "h1", "size": "300KB"}
    traffic = [{**flow, "name": "a"}, {**flow, "name": "b", "start": "999us"}]
    scenario = incast.Scenario.from_toml(SMALL).with_(traffic=traffic, probe={})
    made = incast.replicate(scenario, 2)
    assert made.metrics["flows_unfinished"].mean == 1
    assert made.unfinished == {seed: frozenset({"large", "all"}) for seed in made.seeds}
    assert incast.difference(made, made, "mean.all").why == "no value in 2 of 2 seeds"
    assert incast.difference(made, made, "unfinished.flows").word is Word.EQUAL


def test_pairs_are_of_the_same_seed() -> None:
    """The order of the seeds says nothing: any other pairing gives another interval."""
    a = {1: 1.0, 2: 2.0, 3: 4.0, 4: 9.0}
    b = {seed: 0.9 * value * (1 + 0.01 * (seed % 2)) for seed, value in a.items()}
    right = incast.difference(a, b, "mean.all")
    assert right.word is Word.WORSE
    for order in itertools.permutations(b):
        assert incast.difference(a, {seed: b[seed] for seed in order}, "mean.all") == right
        shuffled = dict(zip(b, (b[seed] for seed in order), strict=True))
        if shuffled != b:
            assert incast.difference(a, shuffled, "mean.all").word is Word.NOT_SHOWN
