"""OSCAR's analysis (appendix D) against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from incast.theory import oscar


def test_theorem_d1() -> None:
    # 10, 5, 2.5, 1.25, 0.625: four updates, and the step that finds it below 1.
    assert oscar.steps_to_converge(10, 0.5) == 5
    assert oscar.steps_by_formula(10, 0.5) == pytest.approx(3.321928)
    # log of 10^6 to the base 10: on an exact power the gap is equal to ε, not below it.
    assert oscar.steps_to_converge(0.5, 0.5) == 1
    assert oscar.steps_to_converge(1, 0.5) == 2
    assert oscar.steps_to_converge(1e6, 1.0) == 2
    # ln 10^6/ln(1/0.7) = 38.73, and 38.73 again with another unit.
    assert oscar.steps_to_converge(1e6, 0.3) == 40
    assert oscar.steps_to_converge(1e3, 0.3, tolerance=1e-3) == 40
    for gap in (10.0, 123.0, 4567.0):
        for portion in (0.3, 0.5, 0.9):
            steps = oscar.steps_to_converge(gap + 0.5, portion)
            assert steps == np.ceil(oscar.steps_by_formula(gap + 0.5, portion)) + 1
    for wrong in ((10, 0.0, 1), (10, 1.5, 1), (10, 0.5, 0)):
        with pytest.raises(ValueError, match="portion"):
            oscar.steps_to_converge(*wrong)
    with pytest.raises(ValueError, match="between 0 and 1"):
        oscar.steps_by_formula(10, 1)


def test_theorem_d2() -> None:
    windows = [30_000, 60_000, 60_000]
    assert oscar.rates_of_windows(windows, 150_000, "100Gbps") == pytest.approx([20e9, 40e9, 40e9])
    # Squares of 0.2, 0.4, 0.4: 36 % of the target in all.
    assert oscar.rates_of_windows(windows, 150_000, "100Gbps", 2).sum() == pytest.approx(36e9)
    assert oscar.rates_of_windows([0, 150_000], 150_000, "100Gbps", 0.5).tolist() == [0, 100e9]
    with pytest.raises(ValueError, match="at least 0"):
        oscar.rates_of_windows([-1], 1, "1Gbps")


def test_figure_26_by_hand() -> None:
    """(0.6, 0.1) to the line of full utilisation, plus 0.01 each, and again."""
    states = oscar.converge([0.6, 0.1], 0.01, 2)
    assert states.shape == (5, 2)
    assert states[1] == pytest.approx([0.857143, 0.142857], abs=1e-6)
    assert states[2] == pytest.approx([0.867143, 0.152857], abs=1e-6)
    assert states[3] == pytest.approx([0.850140, 0.149860], abs=1e-6)
    fairness = oscar.fairness(states)
    # 0.49/(2 · 0.37); 1.0404/(2 · 0.775302).
    assert fairness[:3] == pytest.approx([0.662162, 0.662162, 0.670964], abs=1e-6)
    assert np.all(np.diff(fairness) >= -1e-15)
    with pytest.raises(ValueError, match="one is above"):
        oscar.mimd([0, 0])


def test_theorem_d3() -> None:
    # nΣr² = 2 · 0.755102, then + 2 · 2 · 0.01 · 1 + 4 · 0.0001.
    state = oscar.mimd([0.6, 0.1])
    k = oscar.gap_factor(state, 0.01)
    assert k == pytest.approx(1.510204 / 1.550604, abs=1e-6)
    after = oscar.fairness(oscar.additive(state, 0.01))
    assert 1 - after == pytest.approx(k * (1 - oscar.fairness(state)))
    # As printed, the factor would make the gap larger.
    assert 1 / k > 1
    assert oscar.gap_factor([1, 0], 0.01) == pytest.approx(oscar.gap_factor_limit(2, 0.01))
    assert oscar.gap_factor_limit(2, 0.01) == pytest.approx(1 / 1.0202)
    assert k < oscar.gap_factor_limit(2, 0.01)


@pytest.mark.parametrize(("flows", "cycles"), [(2, 300), (10, 60), (100, 12)])
def test_fairness_goes_to_one(flows: int, cycles: int) -> None:
    """Near its end 1 - F shrinks by 1/(1 + nα)² in a cycle."""
    start = np.zeros(flows)
    start[0] = 1
    gaps = 1 - oscar.fairness(oscar.converge(start, 0.01, cycles))
    assert gaps[0] == pytest.approx(1 - 1 / flows)
    assert gaps[-1] < 1e-4
    assert gaps[-1] / gaps[-3] == pytest.approx(1 / (1 + flows * 0.01) ** 2, rel=1e-3)
