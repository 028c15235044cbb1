"""The heat map of a network: its rows, its colours, the ports of a cell, and that it is never too wide."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import incast
from incast import report
from incast.report import network
from report.browser import settle
from report.made import Made

pytestmark = pytest.mark.xdist_group("browser")
"""With several processes (pytest-xdist), one runs all tests with a browser, and builds the site once."""

Opener = Callable[..., Page]


def used(row: int) -> int:
    """Returns the use of the port of a row, in percent, as `Made` with seed 1 makes it up."""
    return (37 * row + 11) % 101


def written(folder: Path, leaves: int, hosts: int) -> Path:
    result = incast.Result.open(Made(flows=100, samples=50, leaves=leaves, hosts=hosts).write(folder / "run"))
    return report.write(result, folder / "report.html")


def cell(page: Page, row: int, number: int) -> Locator:
    return page.locator(f'#network [data-row="{row}"][data-cell="{number}"]')


def percent(found: Locator) -> int:
    """Returns the share of the colour of use in a cell."""
    return int(re.findall(r"--used\) (\d+)%", found.get_attribute("style") or "")[0])


def ports(page: Page) -> list[str]:
    """Returns the listed ports, with how much they were used."""
    rows = page.locator("#network tbody tr")
    return [" ".join(row.locator("th, td:nth-child(4)").all_inner_texts()) for row in rows.all()]


def test_a_network_wider_than_its_box_is_a_heat_map(shown: Opener, tmp_path: Path) -> None:
    # 30 leaves of two hosts need 1772 px of the box's 952; 60 links of hosts, 900 between switches.
    page = shown(written(tmp_path, leaves=30, hosts=2))
    svg = page.locator("#network svg")
    assert page.locator("#network .link").count() == 0
    assert svg.evaluate("e => e.getBoundingClientRect().width <= e.parentElement.clientWidth")
    # The 60 links of hosts are used by 50.4 % on average, and the most by 100 %: h57.
    assert round(sum(used(n) for n in range(60)) / 60, 1) == 50.4
    assert max(used(n) for n in range(60)) == 100
    titles = page.locator("#network .heat text").all_text_contents()
    assert titles[0] == "host → leaf: 60 links; mean use 50.4 %, largest 100 %"
    assert titles[2].startswith("leaf → spine: 900 links, up to 3 a cell; mean use ")
    assert [title.split(":")[0] for title in titles] == [
        "host → leaf",
        "leaf → host",
        "leaf → spine",
        "spine → leaf",
    ]
    # The rows of hosts have a cell for each link: host n is row n, its way back port n % 2 of its leaf,
    # whose 32 ports begin at row 60 + 32 n // 2.
    assert page.locator('#network [data-row="0"]').count() == 60
    assert [percent(cell(page, 0, n)) for n in range(60)] == [used(n) for n in range(60)]
    back = [60 + 32 * (n // 2) + n % 2 for n in range(60)]
    assert [percent(cell(page, 1, n)) for n in range(60)] == [used(row) for row in back]
    # Of 900 links two or three share each of the 308 cells that are 3 px wide, by their largest.
    assert page.locator('#network [data-row="2"]').count() == 308
    up = [60 + 32 * leaf + 2 + spine for leaf in range(30) for spine in range(30)]
    ends = [c * 900 // 308 for c in range(309)]
    largest_of = [max(used(row) for row in up[a:b]) for a, b in itertools.pairwise(ends)]
    assert [percent(cell(page, 2, c)) for c in range(308)] == largest_of


def test_a_chosen_cell_lists_its_ports(shown: Opener, tmp_path: Path) -> None:
    page = shown(written(tmp_path, leaves=30, hosts=2))
    readout = page.locator("#network .readout")
    assert "The 10 busiest ports; choose a cell" in readout.inner_text()
    cell(page, 0, 5).dispatch_event("pointerover")
    assert readout.inner_text().startswith(f"h5 → leaf2 (port 0, 100 Gbps): {used(5):.1f} % used")
    cell(page, 0, 5).click()
    assert readout.inner_text() == "Ports of host → leaf, h5 → leaf2"
    assert ports(page) == [f"h5, port 0 {used(5):.1f} %"]
    # The first shared cell: port 2 and 3 of leaf0, in rows 62 and 63: 83 % and 19 %.
    cell(page, 2, 0).dispatch_event("pointerover")
    assert readout.inner_text() == (
        "leaf → spine, leaf0 → spine0 to leaf0 → spine1: 2 links, 19.0 to 83.0 % used"
    )
    cell(page, 2, 0).dispatch_event("click")
    assert ports(page) == ["leaf0, port 2 83.0 %", "leaf0, port 3 19.0 %"]
    # Escape leaves, the arrows go on from the first cell; down leads to the same share of the next row.
    page.locator("#network svg").focus()
    page.keyboard.press("Escape")
    assert "busiest ports" in readout.inner_text()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    assert ports(page) == [f"leaf1, port 0 {used(60 + 32):.1f} %"]
    frame, chosen = page.locator("#network .frame"), cell(page, 1, 2)
    assert [frame.get_attribute(at) for at in "xy"] == [chosen.get_attribute(at) for at in "xy"]


def test_a_network_with_too_many_links_is_a_heat_map_only(
    shown: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "MOST_LINKS", 3)
    page = shown(written(tmp_path, leaves=2, hosts=4))
    assert [page.locator(f'#network [data-row="{row}"]').count() for row in range(4)] == [8, 8, 4, 4]
    expect(page.get_by_role("button", name="Heat map")).to_be_hidden()
    assert page.locator("#network tbody tr").count() == 10


def test_a_button_shows_the_heat_map_or_the_nodes(shown: Opener, tmp_path: Path) -> None:
    page = shown(written(tmp_path, leaves=2, hosts=4))
    button = page.get_by_role("button", name="Heat map")
    expect(button).to_have_attribute("aria-pressed", "false")
    assert page.locator("#network .link").count() == 24
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    assert page.locator("#network .link").count() == 0
    assert page.locator("#network .cell").count() == 24
    # What is shown follows the theme and the window, and keeps the chosen cell.
    cell(page, 2, 3).click()
    page.locator("#theme").click()
    page.set_viewport_size({"width": 360, "height": 700})
    settle(page)
    assert page.locator("#network .readout").inner_text() == "Ports of leaf → spine, leaf1 → spine1"
    assert page.locator("#network .frame").get_attribute("x") == cell(page, 2, 3).get_attribute("x")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    wide = page.locator("#network text").evaluate_all(
        "all => all.filter(e => e.getBoundingClientRect().right > 345).map(e => e.textContent)"
    )
    assert wide == []
    button.click()
    assert page.locator("#network .link").count() == 24


def test_a_narrow_box_turns_the_nodes_into_a_heat_map(shown: Opener, tmp_path: Path) -> None:
    # 11 boxes of 60 px fit on a desk, not on a phone.
    page = shown(written(tmp_path, leaves=11, hosts=16))
    assert page.locator("#network .node").count() == 33
    page.set_viewport_size({"width": 400, "height": 700})
    settle(page)
    assert page.locator("#network .node").count() == 0
    assert page.locator('#network [data-row="0"]').count() < 176
    assert page.evaluate("document.documentElement.scrollWidth") == 400
