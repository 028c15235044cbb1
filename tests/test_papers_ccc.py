"""The version of CCC that reasons in papers/ccc refer to, against the core; counted steps, against theory."""

from __future__ import annotations

import runpy

import numpy as np
import pytest

import incast
from blocks import block, joined, star
from helpers import ROOT
from incast.theory import ccc

NAMES = ("ccc-readings", "ccc:headroom")

ARRIVALS = joined(
    star(4, "25Gbps", "4us", switch={"buffer": "unlimited"}, cc={"algorithm": "ccc"}, run={"until": "2ms"}),
    block(
        "[[traffic]]",
        **{"name": "flow", "kind": "staggered", "from": "h0-h2", "to": "h3"},
        interval="203us",
        duration="1ms",
    ),
    block("[probe]", flows=["flow"], flow_interval="10us"),
)


@pytest.fixture(autouse=True)
def plugins_of_one_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empties the list of plugins for the test, so that processes of other tests do not load them."""
    monkeypatch.setenv(incast.algorithm.PLUGINS, "")
    incast.load_plugin(ROOT / "papers" / "ccc" / "readings.py")


@pytest.mark.parametrize("window", ["headroom", "letter", "none"])
@pytest.mark.parametrize("q_b", ["5us", "20us"])
def test_it_has_the_rates_of_the_core(window: str, q_b: str) -> None:
    scenario = incast.Scenario.from_toml(ARRIVALS)
    ours, theirs = (scenario.with_algorithm(name, window=window, q_b=q_b).run() for name in NAMES)
    for flow in range(3):
        mine, other = ours.flow(flow).filled(), theirs.flow(flow).filled()
        assert len(mine.rate_bps) > 100
        # A thousandth of the line, and a packet.
        assert mine.rate_bps == pytest.approx(other.rate_bps, abs=25e6)
        assert np.abs(mine.acked_bytes - other.acked_bytes).max() <= 1000


def test_every_reading_changes_something() -> None:
    scenario = incast.Scenario.from_toml(ARRIVALS)
    readings: list[dict[str, object]] = [
        {},
        {"window": "letter"},
        {"window": "letter", "window_in_payload": True},
        {"window": "letter", "window_beyond": 1.0},
        {"window": "constant"},
        {"negligible": 0.0},
        {"noise": "100ns"},
        {"whole_nanoseconds": True},
        {"step_of_share": 2},
    ]
    seen = {scenario.with_algorithm("ccc-readings", **reading).run().fingerprint for reading in readings}
    assert len(seen) == len(readings)
    with pytest.raises(incast.ScenarioError, match="window is one of headroom, letter, constant, none"):
        scenario.with_algorithm("ccc-readings", window="wide")


COSTS = runpy.run_path(str(ROOT / "papers" / "ccc" / "costs" / "analysis.py"))


@pytest.mark.parametrize(
    ("region", "q", "q_v", "tolerance"),
    [
        # Straight lines between powers of two are up to 0.0861 below log2: half of it, times M/RTT_min.
        ("Ai", 6e-6, -0.4, 0.5 * 0.0861 * 400e6),
        ("Ad", 8e-6, -0.1, 1.0),
        ("H1i", 1e-6, -0.2, 1.0),
        ("H2i", 1e-6, 0.1, 1.0),
        ("H1d", 7e-6, 0.5, 1.0),
        ("H2d", 30e-6, -0.2, 1.0),
    ],
)
def test_steps_that_are_counted_are_those_of_the_theory(
    region: str, q: float, q_v: float, tolerance: float
) -> None:
    found = COSTS["step"](region)
    expected = ccc.step(q, q_v, 5e9, 1e-6, 5e9, acceleration=2)
    assert found.region == ccc.region(q, q_v) == region
    assert expected != 0
    assert found.change * 1e9 == pytest.approx(expected, abs=tolerance)


def test_operations_of_one_acknowledgement_by_hand() -> None:
    """H2d, line by line.

    Sums: q, Itv, RTT - RTT', EWMA, q - 2^i, i, log2 q_B less it, q_v, Irr (9), Irr - r, two of the recorded
    rates, q - q_B, r + u. Products: slope, two of the EWMA, 0.5, Irr; delta (Irr - r); the mean of five;
    1/q_B, 0.25; four of u.
    """
    assert COSTS["step"]("H2d").counts == {"quotients": 1, "products": 13, "sums": 14}
