"""The record of an arena, and the pages that are made from it alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from incast.arena import page, record
from incast.arena.contenders import Contender
from incast.arena.duels import POINTS, Duel
from incast.arena.entries import Battery, Entry, Metric
from incast.arena.making import Arena
from incast.arena.planning import Plan
from incast.arena.score import Column, Observed, judge
from incast.cli.arena import headline, standings
from incast.progress import State
from report.browser import browser

# One process runs all tests with a browser.
pytestmark = pytest.mark.xdist_group("browser")

NAMES = ("oscar", "swift", "ndp", "oracle")


def arena() -> Arena:
    """An arena of two scenarios: the example of the page about the method, and a failure."""
    metrics = {
        "s1": [Metric("carried", "carried", {}, "higher"), Metric("inflation", "rtt_inflation", {}, "lower")],
        "s2": [Metric("last over bound", "last_over_bound", {}, "lower")],
    }
    entries = tuple(
        Entry(name, f"The question of {name}?", Path(f"{name}.toml"), 3, tuple(of))
        for name, of in metrics.items()
    )
    battery = Battery("quick", 1, "d1" * 32, entries, None)
    columns = [
        column("s1", "carried", oscar=(0.9, 0.9, 0.9), swift=(0.6, 0.6, 0.6), oracle=(0.94, 0.94, 0.94)),
        column("s1", "inflation", oscar=(2.0, 2.1, 2.0), swift=(1.0, 1.0, 1.0), oracle=(1.0, 1.0, 1.0)),
        column(
            "s2",
            "last over bound",
            oscar=(1.0, 1.1, 1.0),
            swift=(1.2, 1.4, 1.2),
            ndp=(1.5, None, 1.5),
            oracle=(1.0, 1.0, 1.0),
        ),
    ]
    contenders = tuple(
        Contender(name, name.upper(), "", f"needs of {name}", name != "oracle") for name in NAMES
    )
    plan = Plan(
        battery,
        3,
        contenders,
        (),
        (),
        {("s1", "ndp"): "it <measures> no delays"},
        {("s2", "ndp"): ("switch.buffer", "transport.rto")},
        {"ndp": "its transport is of its own"},
    )
    halves = tuple(0.75 for _ in range(POINTS))
    mixed = Duel("oscar", "swift", 0.95, 0.94, 50_000.0, (None, *halves[1:]), "f", "r")
    duels = (
        Duel("oscar", "oscar", 0.51, 0.94, 1000.0, halves, "f", "r"),
        Duel("swift", "swift", 0.52, 0.94, 1000.0, halves, "f", "r"),
        mixed,
        mixed.mirrored(),
    )
    judged = judge(columns, [one.name for one in contenders if one.ranked], battery.digest)
    failures = {"ndp in s2, seed 2": "took longer than 300 s"}
    return Arena(plan, {}, failures, tuple(columns), judged, duels, State(24, 4, 20))


def column(scenario: str, metric: str, **values: Sequence[float | None]) -> Column:
    seen: Mapping[str, Sequence[Observed | None]] = {
        name: [None if one is None else Observed(one) for one in some] for name, some in values.items()
    }
    return Column(scenario, metric, "higher" if metric == "carried" else "lower", 3, seen, frozenset(seen))


def said() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(record.text(record.content(arena())))
    return found


def test_a_record_is_read_back_and_is_the_same_each_time() -> None:
    text = record.text(record.content(arena()))
    assert text == record.text(record.content(arena()))
    back = json.loads(text)
    assert back["battery"] == {
        "name": "quick",
        "version": 1,
        "digest": "d1" * 32,
        "scenarios": 3,
        "whole": False,
    }
    assert [one["contestant"] for one in back["ranking"]] == ["swift", "oscar", "ndp", "oracle"]
    assert back["ratios"]["s1"]["swift"] == pytest.approx(1.5**0.5, abs=1e-5)
    assert {one["contestant"] for one in back["scores"] if one["failed"]} == {"ndp"}


def test_tables_have_a_row_for_each_score_pair_and_duel(tmp_path: Path) -> None:
    done = arena()
    files = {path.name for path in done.save(tmp_path)}
    assert {"arena.json", "scores.csv", "scores.parquet", "pairs.csv", "duels.csv"} <= files
    scores = (tmp_path / "scores.csv").read_text().splitlines()
    assert scores[0].startswith("scenario,metric,contestant,mean,ratio,ratio_low,ratio_high,word")
    assert len(scores) == 1 + 3 + 3 + 4
    duels = (tmp_path / "duels.csv").read_text().splitlines()
    assert duels[3].split(",")[:3] == ["oscar", "swift", "0.95"]
    # OSCAR leaves Swift a twentieth, which is less than a tenth.
    assert duels[3].split(",")[6] == "yes"


def test_the_page_says_who_is_where() -> None:
    made = page.markdown(said())
    lines = made.splitlines()
    assert lines[0] == "## Ranking", "one algorithm of the papers is no head to head"
    first = next(line for line in lines if line.startswith("| 1 |"))
    # √1.5 in s1, and 1.2 · 1.4 · 1.2 over 1.1, to the third root, in s2: 1.2236.
    assert first.startswith("| 1 | SWIFT | 1.22 (")
    assert "| 3 | NDP | 100 | `s2` |" in made
    assert "| NDP | needs of ndp |" in made
    assert "| `s1` | NDP | it <measures> no delays |" in made
    assert "| ndp in s2, seed 2 | took longer than 300 s |" in made
    assert "| NDP | `switch.buffer`, `transport.rto` | `s2` |" in made
    assert "| OSCAR | 95 | *51* |" in made or "| OSCAR | **95** | *51* |" in made


def test_every_ranking_says_who_knows_too_much() -> None:
    text = (
        "Oracle is no candidate: it decides by what no network tells; for comparison, in the simulator only."
    )
    assert text in page.markdown(said())
    assert f"<p>{text}</p>" in arena().html()
    assert text in " ".join(standings(arena()).split())


def test_the_terminal_has_room() -> None:
    text = f"{headline(arena())}\n{standings(arena())}"
    assert max(map(len, text.splitlines())) <= 80
    assert "2 of 3 scenarios" in text
    # Of a part of the battery no rank is printed.
    assert not any(line.lstrip().startswith("1 ") for line in text.splitlines())


def test_the_html_page_escapes_and_opens_duels(tmp_path: Path) -> None:
    file = tmp_path / "index.html"
    file.write_text(arena().html())
    assert "it <measures>" not in file.read_text()
    assert file.stat().st_size < 20_000_000
    with browser() as chromium:
        tab = chromium.new_page()
        said: list[str] = []
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.goto(file.as_uri())
        assert tab.locator("h1").inner_text() == "Arena quick 1"
        tab.get_by_role("button", name="OSCAR beside SWIFT: 95 %").click()
        assert tab.locator("#duel-title").inner_text() == "OSCAR beside SWIFT"
        assert tab.locator("#duel-text").inner_text().startswith("Share 95.0 %, use of the link 94.0 %")
        # The first of sixty points carried nothing: the line begins at the second.
        path = tab.locator("#duel-picture path.share").get_attribute("d")
        assert path is not None
        assert (path.count("M"), path.count("L")) == (1, POINTS - 2)
        tab.keyboard.press("Escape")
        tab.locator("#ratios ~ .wide a", has_text="s2").click()
        assert tab.locator("#scenario-s2").evaluate("node => node.open") is True
        assert not said
