"""Measures of round trips, internal quantities, losses, pauses and jobs, and what pictures draw of them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from blocks import block, claim, constant, joined, traffic
from helpers import written
from incast import Scenario
from incast.ledger import find, run_figure
from incast.ledger.picture import draw
from incast.results import measures as m
from incast.results.measures.view import View


def two(buffer: str, **probe: object) -> str:
    """Returns half the line, one and a half from 100 us to 200 us: a queue of 12.5 Gbps · 100 us grows."""
    return joined(
        block("[topology]", kind="star", hosts=3, rate="25Gbps", delay="4821ns"),
        block("[switch]", buffer=buffer),
        traffic("half", "h0", "h2", stop="400us", cc=constant("12500Mbps")),
        traffic("late", "h1", "h2", start="100us", stop="200us", cc=constant("25Gbps")),
        block("[probe]", **probe, ports=["s0->h2"], flows=["half", "late"], interval="1us"),
        block("[run]", until="400us"),
    )


PORT = "s0->h2"


@pytest.fixture(scope="module")
def view() -> View:
    return View("two", Scenario.from_toml(two("4MB")).run(threads=1))


def controlled() -> str:
    """Returns the scenario with CCC for both flows, and with its internal quantities."""
    text = two("4MB", internals=True)
    kept = [line for line in text.splitlines() if not line.startswith("cc = ")]
    return '[cc]\nalgorithm = "ccc"\n\n' + "\n".join(kept) + "\n"


@pytest.fixture(scope="module")
def ccc() -> View:
    return View("ccc", Scenario.from_toml(controlled()).run(threads=1))


def test_round_trips(view: View) -> None:
    assert m.rtt(view, "half", "p50", "50us", "100us").value == pytest.approx(20e-6, rel=0.01)
    # 12.5 Gbps too much for 100 us: 156 KB, 50 us at 25 Gbps.
    assert m.rtt(view, "half", "max").value == pytest.approx(70e-6, rel=0.03)
    assert m.rtt_last_above(view, "half", "60us", "100us").value == pytest.approx(180e-6, rel=0.1)
    # 40 us of queue are there for packets sent from 180 us to 220 us, acknowledged 60 us later.
    back = m.rtt_below(view, "half", "60us", "100us", "mean", "20us")
    assert 180e-6 <= back.value <= 220e-6
    assert m.rtt_below(view, "half", "1ms", "100us").value == 0
    assert m.rtt_below(view, "half", "10us", "0us").value == math.inf
    with pytest.raises(ValueError, match="no round-trip time"):
        m.rtt(view, "late", "mean", "50us", "60us")


def test_queue_below(view: View) -> None:
    # 50 KB are reached 32 us after the second flow's packets come, and are left 68 us after they end.
    assert m.queue_below(view, PORT, "50KB", "100us").value == pytest.approx(178e-6, rel=0.05)
    assert m.queue_below(view, PORT, "1MB", "100us").value == 0
    assert m.queue_below(view, PORT, "50KB", "100us", "160us").value == math.inf


def test_regained(view: View) -> None:
    # Used to a half, then fully from 105 us on.
    assert m.regained(view, PORT, "20us", "150us", "95%", "10us").value == pytest.approx(95e-6, abs=11e-6)
    assert m.regained(view, PORT, "130us", "190us", "95%", "10us").value == 0
    assert m.regained(view, PORT, "20us", "90us", "95%", "10us").value == math.inf


def test_fair_after(view: View) -> None:
    both = ["half", "late"]
    # 12.5 Gbps against 25 Gbps through one link: 1 to 2, an index of 0.9.
    assert m.fair_after(view, both, "0.85", "10us", "160us", "200us").value == 0
    assert m.fair_after(view, both, "0.95", "10us", "160us", "200us").value == math.inf
    # Nothing of the second is acknowledged before 120 us.
    assert m.fair_after(view, both, "0.8", "10us", "100us", "200us").value >= 20e-6


def test_losses(view: View) -> None:
    assert m.lost_packets(view).value == m.lost_packets(view, "number").value == 0
    small = View("small", Scenario.from_toml(two("60KB")).run(threads=1))
    number = m.lost_packets(small, "number").value
    assert number > 0
    packets = small.result.flows.column("packets").sum()
    assert m.lost_packets(small).value == pytest.approx(number / packets)
    with pytest.raises(ValueError, match="neither"):
        m.lost_packets(small, "bytes")


def test_pauses(view: View) -> None:
    assert m.pauses(view).value == 0
    text = two("200KB") + "\n[switch.pfc]\n"
    unseen = View("pfc", Scenario.from_toml(text).run(threads=1))
    assert m.pauses(unseen).value == m.pauses(unseen, "s0").value > 0
    assert m.pauses(unseen, "h").value == 0
    with pytest.raises(ValueError, match="not recorded"):
        m.pauses(unseen, start="0us")
    seen = View("seen", Scenario.from_toml(text.replace("[probe]", "[probe]\npauses = true")).run(threads=1))
    assert m.pauses(seen, start="0us").value == m.pauses(seen).value
    assert (
        m.pauses(seen, "h", "0us").value + m.pauses(seen, "s0", "0us").value
        == m.pauses(seen, start="0us").value
    )
    assert m.pauses(seen, start="399us").value == 0


def test_job_time(view: View) -> None:
    with pytest.raises(ValueError, match="no jobs"):
        m.job_time(view)
    text = """\
[topology]
kind = "star"
hosts = 3
rate = "25Gbps"
delay = "1us"

[[traffic]]
kind = "parameter-server"
servers = "h0"
layers = ["1MB"]

[cc]
algorithm = "ccc"
"""
    job = View("job", Scenario.from_toml(text).run(threads=1))
    # 2 MB of payload through one link: 675 us with headers.
    assert m.job_time(job).value == pytest.approx(680e-6, rel=0.15)


def test_internal_quantities(ccc: View) -> None:
    assert m.internal(ccc, "half", "q_ps", "p50", "60us", "100us").value == pytest.approx(0, abs=1e-7)
    assert m.internal(ccc, "half", "rate_bps", "max").value == pytest.approx(25e9, rel=0.01)
    assert m.internal(ccc, "half", "v_ai", "max").dimension == "number"
    idle = m.internal_share(ccc, "half", "region", [1.0], "60us", "100us")
    assert idle.value == pytest.approx(1)
    with pytest.raises(ValueError, match="has no samples of 'power'"):
        m.internal(ccc, "half", "power")


USED = {"do": "utilisation", "run": "run", "port": "s0->h2"}
TRAJECTORY = {
    "show": "trajectory",
    "run": "run",
    "flows": ["half", "late"],
    "step": "5us",
    "start": "110us",
    "end": "180us",
}

FIGURE = joined(
    block("[figure]", title="A title", place="Nowhere", setup="Set-up.", shows="Lines."),
    block("[[runs]]", name="run", cc="ccc", scenario="two.toml"),
    claim("full", "The link is used", unit="%", measure=USED, reproduced="at least 10%"),
    block("[[panel]]", y="Gbps", lines=[TRAJECTORY]),
    block(
        "[[panel]]",
        y="us",
        lines=[{"show": "internal", "run": "run", "flow": "half", "name": "q_ps", "scale": 1e6}],
    ),
    block(
        "[[panel]]",
        y="use (%)",
        unit="%",
        bars=[{"of": USED, "label": "CCC", "colour": "ccc"}],
    ),
)


def test_trajectories_internals_and_bars_are_drawn(tmp_path: Path) -> None:
    written(tmp_path / "some/fig1", {"two.toml": controlled(), "claims.toml": FIGURE})
    (figure,) = find(tmp_path, ["some/fig1"])
    axes = draw(figure, run_figure(figure)).axes
    x, y = axes[0].lines[0].get_data()
    assert np.size(x) == np.size(y) == 14
    assert np.nanmax(x) <= 25
    assert np.size(axes[1].lines[0].get_xdata()) > 300
    (bar,) = axes[2].containers[0]
    assert 10 < bar.get_height() <= 100
