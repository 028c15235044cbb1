"""Fixed points and limits of patched TIMELY and SQCC, by hand from the paper's equations."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from incast.theory import sqcc
from incast.units import us


def packets(rtt_seconds: float) -> float:
    return sqcc.queue(rtt_seconds) / 1e3


@pytest.mark.parametrize(
    ("flows", "found"),
    {
        # x = N/8. RTTs in us by T_low(1 + x) and T_low·T_high(1 + x)/(x·T_low + T_high); then in packets,
        # by the form of the equations.
        2: (62.50, 70.31, 60.98, 68.75),
        10: (112.50, 126.56, 100.00, 113.65),
        20: (175.00, 196.88, 140.00, 160.42),
        40: (300.00, 337.50, 200.00, 232.03),
        60: (425.00, 478.13, 242.86, 284.29),
        72: (500.00, 562.50, 263.16, 309.38),
        80: (550.00, 618.75, 275.00, 324.11),
    }.items(),
)
def test_fixed_points_by_hand(flows: int, found: tuple[float, float, float, float]) -> None:
    patched, patched_q, error, error_q = found
    assert sqcc.load(flows) == pytest.approx(flows / 8)
    for law, rtt, queue in (("patched", patched, patched_q), ("error", error, error_q)):
        assert sqcc.fixed_point(law, flows) * 1e6 == pytest.approx(rtt, abs=0.005)
        assert sqcc.fixed_point_queue(law, flows, form="queue") / 1e3 == pytest.approx(queue, abs=0.005)


def test_the_error_at_rest_is_x() -> None:
    for law in sqcc.LAWS:
        for flows in (2, 20, 60):
            rtt = us(round(sqcc.fixed_point(law, flows) * 1e12) / 1e6)
            assert sqcc.error(law, rtt) == pytest.approx(sqcc.load(flows), rel=1e-6)


def test_errors_by_hand() -> None:
    assert [sqcc.error("patched", f"{t}us") for t in (75, 250, 450)] == pytest.approx([0.5, 4, 8])
    assert sqcc.error("error", "75us") == pytest.approx(0.58824, abs=1e-5)
    assert [sqcc.error("error", f"{t}us") for t in (250, 450, 499)] == pytest.approx([8, 80, 4490])
    assert math.isinf(sqcc.error("error", "500us"))
    for rtt in ("49us", "501us"):
        with pytest.raises(ValueError, match="between"):
            sqcc.error("error", rtt)


def test_equation_8() -> None:
    assert sqcc.unstable_from(form="queue") == pytest.approx(80)
    assert sqcc.unstable_from() == pytest.approx(72)
    # Half the step, twice the flows.
    assert sqcc.unstable_from(replace(sqcc.PAPER, delta="5Mbps"), "queue") == pytest.approx(160)


def test_limits_of_equation_18() -> None:
    assert sqcc.fixed_point_queue("error", 0, form="queue") == pytest.approx(56_250)
    assert sqcc.fixed_point_queue("error", math.inf, form="queue") == pytest.approx(618_750)
    assert math.isinf(sqcc.fixed_point("patched", math.inf))


def test_the_saving_is_the_difference_of_the_fixed_points() -> None:
    # 60 flows: 478.125 less 284.29 packets.
    assert sqcc.saving(60) == pytest.approx(193.84e3, abs=10)
    for flows in (1, 60, 1000):
        difference = sqcc.fixed_point_queue("patched", flows, form="queue") - sqcc.fixed_point_queue(
            "error", flows, form="queue"
        )
        assert sqcc.saving(flows) == pytest.approx(difference)


def test_adapted_parameters_by_hand() -> None:
    assert [sqcc.scale(n) for n in (1, 2, 10, 11, 60, 100, 101, 500, 1000, 1001)] == [
        1, 1, 1, 1, 1, 1, 2, 2, 2, 3,
    ]  # fmt: skip
    # Table II: δ 0.04 and 0.08 Mbps, T_low 100 us; Figure 2: 6.25 and 2.78 Mbps.
    assert sqcc.adapted("delta", 500).delta == 40_000
    full = sqcc.adapted("full", 500)
    assert (full.delta, full.t_low) == (80_000, us(100))
    assert [sqcc.adapted("delta", n).delta for n in (2, 40, 60)] == [10_000_000, 6_250_000, 2_777_778]
    assert sqcc.adapted("error", 500) == sqcc.PAPER
    for stage, flows, rtt in (
        ("delta", 40, 157.14), ("delta", 60, 127.59), ("full", 100, 100.0), ("full", 500, 136.36),
        ("full", 1000, 119.05),
    ):  # fmt: skip
        found = sqcc.fixed_point("error", flows, sqcc.adapted(stage, flows)) * 1e6
        assert found == pytest.approx(rtt, abs=0.01), (stage, flows)


def test_bounds_of_the_step() -> None:
    # Equation 21: the product of the roots is C²/N³, their sum C/N.
    low, high = sqcc.step_bounds(60)
    assert low + high == pytest.approx(1e10 / 60)
    assert low * high == pytest.approx(1e20 / 60**3)
    # Equation 22: about C/N² for large N.
    assert sqcc.step_bounds(10_000)[0] == pytest.approx(1e10 / 1e8, rel=1e-3)
    with pytest.raises(ValueError, match="at least 8"):
        sqcc.step_bounds(7, k=2)


def test_weight() -> None:
    assert [sqcc.weight(g) for g in (-1.0, -0.25, 0.0, 0.0875, 0.25, 2.0)] == pytest.approx(
        [0, 0, 0.5, 0.675, 1, 1]
    )


def test_the_fluid_model_rests_at_its_fixed_point_and_leaves_it_with_many_flows() -> None:
    rest = sqcc.fixed_point_queue("patched", 2)
    calm = sqcc.trajectory("patched", 2, "100ms", start_queue_bytes=rest * 1.1, step="5us")
    assert calm.queue_bytes[-1] == pytest.approx(rest, rel=0.01)
    assert calm.rate_bps[-1] == pytest.approx(5e9, rel=0.01)
    rest = sqcc.fixed_point_queue("patched", 60)
    wild = sqcc.trajectory("patched", 60, "200ms", start_queue_bytes=rest * 1.05, step="5us")
    assert wild.queue_bytes.max() > sqcc.queue(500e-6)
    assert np.all(wild.queue_bytes >= 0)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="not a law"):
        sqcc.fixed_point("timely", 2)
    with pytest.raises(ValueError, match="not a form"):
        sqcc.fixed_point("error", 2, form="packets")
    with pytest.raises(ValueError, match="not a stage"):
        sqcc.adapted("all", 2)
    with pytest.raises(ValueError, match="must not be negative"):
        sqcc.load(-1)
    with pytest.raises(TypeError, match="no unit"):
        sqcc.load(2, replace(sqcc.PAPER, delta=10_000_000))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not shorter"):
        sqcc.trajectory("error", 2, "1ms", step="1ms")
    with pytest.raises(ValueError, match="at least one"):
        sqcc.scale(0)
