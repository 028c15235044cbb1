"""PowerTCP's analysis against numbers worked out by hand: 100 Gbit/s and 20 µs, a BDP of 250 KB."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from incast.theory.fluid import Link
from incast.theory.powertcp import LAWS, Law, Model, reaction

LINK = Link("100Gbps", "20us")
BDP = 250_000


@pytest.mark.parametrize("law", ["queue", "delay"])
def test_voltage_reacts_to_the_queue_alone(law: Law) -> None:
    assert reaction(law, LINK, [0, BDP, 2 * BDP], 3.0).tolist() == [1, 2, 3]
    assert reaction(law, LINK, BDP, [0, 1, 8]).tolist() == [2, 2, 2]


def test_current_reacts_to_growth_alone() -> None:
    assert reaction("gradient", LINK, BDP, [0, 1, 4, 8]).tolist() == [1, 2, 5, 9]
    assert reaction("gradient", LINK, [0, BDP, 2 * BDP], 1.0).tolist() == [2, 2, 2]


def test_power_reacts_to_both() -> None:
    """Twice the BDP on the way, arriving at five times the rate: ten."""
    assert float(reaction("power", LINK, BDP, 4.0)) == 10
    assert float(reaction("theta-power", LINK, BDP, 4.0)) == 10
    # Half of the link used and no queue: half the power; θ-power takes the link for full.
    assert float(reaction("power", LINK, 0, 0.0, 0.5)) == 0.5
    assert float(reaction("theta-power", LINK, 0, 0.0, 0.5)) == 1
    with pytest.raises(ValueError, match="known: queue, delay"):
        reaction(cast(Law, "speed"), LINK, 0, 0)


def test_directions_by_hand() -> None:
    """γ/δt = 45 000 /s, β̂ = 12.5 KB."""

    def by(law: Law, window: float, queue: float) -> list[float]:
        change, growth = Model(law, LINK, "12.5KB").direction(window, queue)
        return [float(change) / 45_000, float(growth) / 12.5e9]

    # Two BDPs of windows and no queue yet: it grows at the link's rate.
    assert by("queue", 2 * BDP, 0) == pytest.approx([12_500, 1])
    assert by("gradient", 2 * BDP, 0) == pytest.approx([-BDP + 12_500, 1])
    assert by("power", 2 * BDP, 0) == pytest.approx([-BDP + 12_500, 1])
    # Two BDPs of windows with a queue of two: it falls by a third of the rate.
    assert by("delay", 2 * BDP, 2 * BDP) == pytest.approx([2 * BDP / 3 - 2 * BDP + 12_500, -1 / 3])
    assert by("gradient", 2 * BDP, 2 * BDP) == pytest.approx([BDP + 12_500, -1 / 3])
    assert by("power", 2 * BDP, 2 * BDP) == pytest.approx([-BDP + 12_500, -1 / 3])
    # Half a BDP and no queue: half the link is used, and only power sees it.
    for law in ("queue", "delay", "gradient", "theta-power"):
        assert by(law, BDP / 2, 0) == pytest.approx([12_500, 0])
    assert by("power", BDP / 2, 0) == pytest.approx([BDP / 2 + 12_500, 0])


def test_equilibrium() -> None:
    for law in ("queue", "delay", "power", "theta-power"):
        model = Model(law, LINK, "12.5KB")
        assert model.equilibrium() == (262_500, 12_500)
        assert [float(rate) for rate in model.direction(262_500, 12_500)] == pytest.approx([0, 0], abs=1e-3)
    with pytest.raises(ValueError, match="no unique equilibrium"):
        Model("gradient", LINK, "0B").equilibrium()
    # Without β each queue is one.
    for queue in (0, 1000, BDP):
        change, growth = Model("gradient", LINK, "0B").direction(BDP + queue, queue)
        assert (float(change), float(growth)) == pytest.approx((0, 0), abs=1e-6)
    with pytest.raises(ValueError, match="below one BDP"):
        Model("theta-power", LINK, "0B").equilibrium()


def test_theorem_1() -> None:
    model = Model("power", LINK, "12.5KB")
    assert np.linalg.eigvals(model.printed_jacobian()).tolist() == pytest.approx([-50_000, -45_000])
    # The queue's is -b/(bτ + β̂), by the same derivatives without leaving out β̂.
    assert model.eigenvalues().real == pytest.approx([-45_000, -12.5e9 / 262_500])
    assert model.eigenvalues().imag.tolist() == [0, 0]
    assert Model("power", LINK, "25B").eigenvalues().real == pytest.approx([-45_000, -50_000], rel=2e-4)
    # The law by queue turns round its equilibrium: trace -b/(bτ + β̂) - γ_r β̂/(bτ + β̂) = -49 761.9,
    # determinant γ_r b/(bτ + β̂) = 2.142 857e9.
    turning = Model("queue", LINK, "12.5KB").eigenvalues()
    assert turning.sum().real == pytest.approx(-49_761.90, rel=1e-6)
    assert turning.prod().real == pytest.approx(45_000 * 12.5e9 / 262_500, rel=1e-6)
    assert abs(turning[0].imag) > 30_000
    with pytest.raises(ValueError, match="kink"):
        Model("power", LINK, "0B").jacobian()


@pytest.mark.parametrize("delayed", [False, True])
def test_theorem_2(delayed: bool) -> None:
    """The window decays with 22.2 µs from any state, with feedback as late as it is in the paper, too."""
    model = Model("power", LINK, "12.5KB", delayed=delayed, forward="5us" if delayed else "0us")
    path = model.path(3 * BDP, 2.0 * BDP, until="150us", step="500ns")
    assert path["window_bytes"] == pytest.approx(model.decay(3 * BDP, path.time_s), abs=1e-6 * BDP)
    # e^-5 = 0.67 %.
    left = (path.at("window_bytes", "111111ns") - 262_500) / (3 * BDP - 262_500)
    assert left == pytest.approx(np.exp(-5), rel=1e-3)
    assert model.decay_time_s(0.5) == pytest.approx(0.693147 * 20e-6 / 0.9, rel=1e-6)
    assert model.decay_time_s(1 - np.exp(-5)) == pytest.approx(111.111e-6, rel=1e-5)
    with pytest.raises(ValueError, match="power alone"):
        Model("queue", LINK, "12.5KB").decay(BDP, 0)
    with pytest.raises(ValueError, match="below 1"):
        model.decay_time_s(1)


def test_theorem_3() -> None:
    """β of 2.5, 5 and 10 KB: 267.5 KB in parts of 1, 2 and 4 sevenths, from any windows."""
    model = Model("power", LINK, ["2.5KB", "5KB", "10KB"])
    assert model.shares_bytes() == pytest.approx([38_214.286, 76_428.571, 152_857.143])
    path = model.path([200_000, 10_000, 10_000], until="6ms", step="2us")
    assert path["flow_window_bytes"][-1] == pytest.approx(model.shares_bytes(), rel=1e-4)
    assert path["queue_bytes"][-1] == pytest.approx(17_500, rel=1e-6)
    with pytest.raises(ValueError, match="keep the shares"):
        Model("power", LINK, ["0B", "0B"]).shares_bytes()


def test_paths() -> None:
    starts = np.array([0.5, 3]) * BDP
    for law in ("queue", "power"):
        path = Model(law, LINK, "12.5KB").path(starts[None], [0, 0], until="1ms", step="1us")
        assert path["window_bytes"].shape == (1001, 2)
        assert path["flow_window_bytes"].shape == (1001, 1, 2)
        assert path["window_bytes"][-1] == pytest.approx([262_500] * 2, rel=1e-4)
        assert path["queue_bytes"][-1] == pytest.approx([12_500] * 2, rel=1e-2)
        # From three BDPs the law by queue falls below one, power does not.
        assert bool(path["window_bytes"][:, 1].min() < 0.9 * BDP) == (law == "queue")
    with pytest.raises(ValueError, match="2 windows for 1 flows"):
        Model("queue", LINK, "12.5KB").path([BDP, BDP])


def test_late_feedback() -> None:
    """A law by queue with feedback of one RTT ago overshoots more than with feedback of now."""
    at_once, late = (
        Model("queue", LINK, "12.5KB", delayed=late).path(3 * BDP, until="200us", step="1us")
        for late in (False, True)
    )
    assert late["queue_bytes"].max() > at_once["queue_bytes"].max()
    assert late["window_bytes"].min() < at_once["window_bytes"].min()
    # Within the first RTT it sees the empty queue of before: w' = γ_r β̂.
    assert late.at("window_bytes", "10us") == pytest.approx(3 * BDP + 45_000 * 12_500 * 10e-6)


def test_arguments() -> None:
    assert Model("power", LINK, "1KB", interval="10us").per_s == pytest.approx(90_000)
    assert Model("power", LINK, ["1KB", "2KB"]).increase_bytes == 3000
    assert len(LAWS) == 5
    for wrong, message in [
        ({"gamma": 0.0}, "γ is above 0"),
        ({"interval": "0us"}, "interval"),
        ({"forward": "20us"}, "shorter than the base RTT"),
    ]:
        with pytest.raises(ValueError, match=message):
            Model("power", LINK, "1KB", **wrong)  # type: ignore[arg-type]  # one of several kinds
    with pytest.raises(ValueError, match="no law 'speed'"):
        Model(cast(Law, "speed"), LINK, "1KB")
