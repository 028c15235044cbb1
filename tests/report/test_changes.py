"""Changes of links in a report: shades on the time axes, their names, and one legend for all charts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import incast
from incast import report
from incast.report.changes import shades
from report.browser import settle
from report.made import US, Made
from report.test_page import _PIXELS, figure, plot, values

pytestmark = pytest.mark.xdist_group("browser")
"""With several processes (pytest-xdist), one runs all tests with a browser, and builds the site once."""

Opener = Callable[..., Page]

DOWN = """
[[change]]
at = "500us"
between = ["leaf0", "spine1"]
state = "down"
until = "1ms"
"""

SLOW = """
[[change]]
at = "1.5ms"
between = ["h0-h3", "leaf0"]
number = 1
rate = "25Gbps"
delay = "2us"
probability = 0.5
"""

BOTH = """
[[change]]
at = "500us"
between = ["leaf1", "spine1"]
state = "down"
until = "1000us"
"""


def made(folder: Path, algorithm: str, changes: str, samples: int = 2000) -> incast.Result:
    """Returns a result whose saved scenario has changes of links."""
    made = Made(algorithm=algorithm, flows=300, samples=samples).write(folder / algorithm)
    with (made / "scenario.toml").open("a") as file:
        file.write(changes)
    return incast.Result.open(made)


def test_blocks_with_the_same_times_and_results_are_one_shade(tmp_path: Path) -> None:
    results = [made(tmp_path, "oscar", SLOW + DOWN + BOTH), made(tmp_path, "hpcc", DOWN + BOTH)]
    down = {
        "from": 500 * US,
        "until": 1000 * US,
        "when": "from 500us to 1ms",
        "lines": ["leaf0 – spine1: down", "leaf1 – spine1: down"],
        "entries": [0, 1],
    }
    slow = {
        "from": 1500 * US,
        "until": None,
        "when": "from 1.5ms to the end",
        "lines": ["h0-h3 – leaf0, number 1: 25Gbps, delay 2us, with probability 0.5"],
        "entries": [0],
    }
    assert shades(results) == {"shades": [down, slow], "unread": []}
    assert shades([made(tmp_path / "none", "oscar", "")]) == {"shades": [], "unread": []}


@pytest.mark.parametrize(
    "wrong", ["\n[[change]]\nat = ", '\n[[change]]\nat = "soon"\nbetween = ["a", "b"]\n', "\n[[change]]\n"]
)
def test_a_scenario_that_cannot_be_read_is_named(tmp_path: Path, wrong: str) -> None:
    results = [made(tmp_path, "oscar", DOWN), made(tmp_path, "hpcc", wrong)]
    found = shades(results)
    assert found["unread"] == [1]
    assert [shade["entries"] for shade in found["shades"]] == [[0]]


def test_a_real_scenario_has_its_shades(tmp_path: Path) -> None:
    toml = """
[topology]
kind = "star"
hosts = 3
rate = "100Gbps"
delay = "1us"

[[change]]
at = "20us"
between = ["h1", "s0"]
rate = "50Gbps"
until = "60us"

[cc]
algorithm = "swift"

[[traffic]]
kind = "permutation"
size = "100KB"
"""
    result = incast.Scenario.from_toml(toml).run(tmp_path / "run")
    (shade,) = shades([result])["shades"]
    assert (shade["from"], shade["until"], shade["lines"]) == (20 * US, 60 * US, ["h1 – s0: 50Gbps"])


def _dark(page: Page, title: str, share: float) -> bool:
    """Whether a figure is shaded from top to bottom at a share of its axis."""
    return bool(
        figure(page, title)
        .locator("canvas")
        .first.evaluate(
            f"(c, share) => {{ {_PIXELS} const x = Math.round(46 + share * (c.width - 56));"
            " let n = 0; for (let y = 9; y < c.height - 22; y++) n += d[4 * (y * c.width + x) + 3] > 0;"
            " return n > 0.95 * (c.height - 31); }",
            share,
        )
    )


def test_changes_are_shaded_in_every_chart_over_time(shown: Opener, tmp_path: Path) -> None:
    results = [made(tmp_path, "oscar", DOWN + SLOW), made(tmp_path, "hpcc", DOWN)]
    page = shown(report.write(results, tmp_path / "report.html"))
    # The axis ends at 1999 µs; what lasts from 500 to 1000 µs is from 0.2501 to 0.5003 of it.
    for title in ("Queue", "Throughput", "Window", "RTT"):
        shaded = [_dark(page, title, share) for share in (0.1, 0.24, 0.26, 0.49, 0.51, 0.7, 0.76, 0.99)]
        assert shaded == [False, False, True, True, False, False, True, True], title
    assert not _dark(page, "Flows up to", 0.4)
    said = page.locator("#series .changes li").all_inner_texts()
    assert said == [
        "leaf0 – spine1: down, from 500us to 1ms",
        "h0-h3 – leaf0, number 1: 25Gbps, delay 2us, with probability 0.5, from 1.5ms to the end (OSCAR)",
    ]
    assert page.locator("#series .changes").is_visible()
    # Without OSCAR only what HPCC has is left.
    page.locator("#entries button", has_text="OSCAR").click()
    settle(page)
    assert page.locator("#series .changes li").all_inner_texts() == said[:1]
    assert not _dark(page, "Queue", 0.9)
    assert _dark(page, "Queue", 0.4)
    # Zoomed into the shade all is shaded.
    _, left, width, y = plot(page, "Queue")
    page.mouse.move(left + width * 0.3, y)
    page.mouse.down()
    page.mouse.move(left + width * 0.4, y)
    page.mouse.move(left + width * 0.45, y)
    page.mouse.up()
    settle(page)
    assert [_dark(page, "Queue", share) for share in (0.02, 0.5, 0.98)] == [True, True, True]


def test_a_report_without_changes_has_no_shade(shown: Opener, tmp_path: Path) -> None:
    page = shown(report.write(made(tmp_path, "oscar", ""), tmp_path / "report.html"))
    assert not any(_dark(page, "Queue", share) for share in (0.1, 0.4, 0.9))
    expect(page.locator("#series details:has(.changes)")).to_be_hidden()


def test_one_legend_names_the_lines_of_all_charts_over_time(shown: Opener, tmp_path: Path) -> None:
    results = [made(tmp_path, "oscar", ""), made(tmp_path, "hpcc", "")]
    page = shown(report.write(results, tmp_path / "report.html"))
    ports = ["OSCAR", "HPCC"]
    flows = ["OSCAR flow 0", "OSCAR flow 1", "HPCC flow 0", "HPCC flow 1"]
    legend = page.locator("#series .legend > span")
    assert legend.all_inner_texts() == [*ports, *flows]
    expect(page.locator("#series .values").first).to_be_hidden()
    _, left, width, y = plot(page, "Queue")
    page.mouse.move(left + width / 2, y)
    settle(page)
    # The values stay in their chart, with the name for who hears the page.
    assert [value.rsplit(" ", 2)[0] for value in values(page, "Queue")[:-1]] == ports
    assert [value.rsplit(" ", 2)[0] for value in values(page, "Window")[:-1]] == flows
    # A chart that is hidden names nothing, and neither does a result.
    for name in ("Window", "Rate", "RTT"):
        page.locator("#series button", has_text=name).click()
    assert legend.all_inner_texts() == ports
    page.locator("#entries button", has_text="OSCAR").click()
    assert legend.all_inner_texts() == ["HPCC"]
