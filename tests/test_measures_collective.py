"""Measures of collective completion, and the pictures that show them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from blocks import block, claim, joined, traffic
from helpers import written
from incast import Scenario
from incast.ledger import find, run_figure
from incast.ledger.picture import draw
from incast.results import measures as m
from incast.results.measures.view import View

STAR = joined(
    block("[topology]", kind="star", hosts=5, rate="100Gbps", delay="3us"),
    block("[switch]", buffer="unlimited"),
    block("[cc]", algorithm="constant", rate="100Gbps", window="unlimited"),
    traffic("pair", "h0", "h4", size="1MB"),
    traffic("incast", ["h1", "h2"], "h3", size="500KB"),
    block("[run]", until="{until}"),
)


def made(until: str) -> View:
    return View("run", Scenario.from_toml(STAR.format(until=until)).run(threads=1))


def test_the_bound_of_one_flow_is_its_time_alone() -> None:
    # 1000 packets of 1054 B at 100 Gbps and one round trip.
    view = made("1ms")
    assert m.cct_bound(view, "pair").value == pytest.approx(1000 * 1054 * 8 / 100e9 + 12e-6, rel=0.01)
    assert m.cct_increase(view, "pair").value == pytest.approx(0, abs=1e-9)
    assert m.cct(view, "pair").dimension == "time"


def test_flows_to_one_host_need_its_link_one_after_the_other() -> None:
    view = made("1ms")
    bound = m.cct_bound(view, "incast").value
    assert bound == pytest.approx(1000 * 1054 * 8 / 100e9 + 12e-6, rel=0.01)
    # They share the link without a pause, so that the later one ends when it has carried all.
    assert 0 <= m.cct_increase(view, "incast").value < 0.01
    assert m.cct(view, "incast").value == m.completion(view, "incast", "max").value
    assert m.completion(view, "incast", "min").value <= m.completion(view, "incast", "mean").value


def test_a_flow_that_did_not_finish_has_no_end() -> None:
    view = made("50us")
    assert m.cct(view, "pair").value == math.inf
    assert m.cct_increase(view, "pair").value == math.inf
    assert len(m.completion_times(view, "pair")) == 0
    assert m.resent(view, "pair").value == 0
    with pytest.raises(ValueError, match="there is no flow 'other'"):
        m.cct(view, "other")


FIGURE = joined(
    block("[figure]", title="A title", place="Paper, Figure 1", setup="A star.", shows="Bars."),
    block(
        "[[runs]]",
        name="constant/{n}",
        cc="constant",
        parameters=["rate=100Gbps", "window=unlimited"],
        scenario="star.toml",
        set=["traffic.pair.size={n}KB"],
        vary={"n": [100, 200]},
        seeds=2,
    ),
    claim(
        "increase",
        "No increase",
        measure={"do": "cct_increase", "run": "constant/100", "group": "pair"},
        reproduced="at most 0.1",
    ),
    block("[[panel]]", x="size (KB)", y="increase"),
    block(
        "[[panel.lines]]",
        show="bars",
        each="constant/*",
        against="n",
        unit="%",
        label="constant",
        of={"do": "cct_increase", "group": "pair"},
    ),
    block(
        "[[panel.lines]]",
        show="bars",
        each="constant/*",
        against="n",
        label="again",
        dashes=1,
        of={"do": "cct_increase", "group": "pair"},
    ),
    block(
        "[[panel]]",
        x="time (us)",
        y="share of flows",
        lines=[{"show": "cdf", "run": "constant/100", "group": "incast"}],
    ),
)


def test_bars_and_distributions_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    written(tmp_path / "some/fig1", {"claims.toml": FIGURE, "star.toml": STAR.format(until="1ms")})
    (figure,) = find(tmp_path, ["some/fig1"])
    bars, distribution = draw(figure, run_figure(figure)).axes
    assert [label.get_text() for label in bars.get_xticklabels()] == ["100", "200"]
    first, second, third, _ = (patch.get_extents().x0 for patch in bars.patches)
    assert first < third < second
    # Two flows and two seeds.
    assert np.size(distribution.lines[0].get_ydata()) == 4
