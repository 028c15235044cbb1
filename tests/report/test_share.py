"""Charts of a report as CSV and PNG, a link to the view, and the page on paper."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

import incast
from incast import report
from report.browser import settle
from report.made import US, Made
from report.test_page import RANGE, coloured, figure, plot

pytestmark = pytest.mark.xdist_group("browser")
"""With several processes (pytest-xdist), one runs all tests with a browser, and builds the site once."""

Opener = Callable[..., Page]

HASH = "location.hash"


def saved(page: Page, title: str, kind: str) -> tuple[str, bytes]:
    """Returns the name and the content of the file that a chart's button gives."""
    with page.expect_download(timeout=20_000) as given:
        figure(page, title).get_by_role("button", name=f"as {kind}").click()
    return given.value.suggested_filename, Path(given.value.path()).read_bytes()


def table(content: bytes) -> tuple[list[str], list[list[str]]]:
    """Returns the head and the rows of a CSV file."""
    head, *rows = csv.reader(io.StringIO(content.decode(), newline=""))
    return head, rows


def zoom(page: Page, low: float, high: float) -> None:
    """Zooms the charts over time to these shares of what they show."""
    _, left, width, y = plot(page, "Queue")
    page.mouse.move(left + low * width, y)
    page.mouse.down()
    page.mouse.move(left + (low + high) / 2 * width, y)
    page.mouse.move(left + high * width, y)
    page.mouse.up()
    settle(page)


@pytest.fixture(scope="session")
def uneven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of two results of which one ends earlier; the title of the other has a comma and quotes."""
    folder = tmp_path_factory.mktemp("uneven")
    long = incast.Result.open(Made(name="Two runs!", samples=40).write(folder / "long"))
    short = incast.Result.open(
        Made(name="Two runs!", algorithm="hpcc", samples=30, seed=2).write(folder / "short")
    )
    return report.write({'a, "b"': long, "c": short}, folder / "report.html")


def test_a_chart_over_time_is_saved_as_the_tables_have_it(shown: Opener, uneven: Path) -> None:
    page = shown(uneven)
    name, content = saved(page, "Queue", "CSV")
    assert name == "two-runs-queue-leaf1-port-0.csv"
    head, rows = table(content)
    assert head == ["time_ps", 'queue_bytes (a, "b")', "queue_bytes (c)"]
    assert [int(row[0]) for row in rows] == [n * US for n in range(40)]
    # Both saved their queues as `Made` makes them up: a burst at a quarter, and a sawtooth.
    n = np.arange(40)
    long = np.maximum(0, 400_000 - np.abs(n - 10) * 4000) + n * 7 % 97 * 500
    short = np.maximum(0, 400_000 - np.abs(n - 7) * 4000) // 2 + n * 14 % 97 * 500
    assert [int(row[1]) for row in rows] == long.tolist()
    assert [row[2] for row in rows] == [*map(str, short[:30].tolist()), *[""] * 10]
    # The first RTTs are missing, and stay so. A result that is hidden is not saved.
    page.locator("#entries button", has_text="c").last.click()
    head, rows = table(saved(page, "RTT", "CSV")[1])
    assert head == ["time_ps", 'rtt_ps (a, "b" flow 0)', 'rtt_ps (a, "b" flow 1)']
    assert [row[1] for row in rows[:11]] == [""] * 11
    assert int(rows[11][1]) == 8 * US + (20_000 + 11 * 3 % 1999 * 40) * 80


def test_only_what_is_in_view_is_saved(shown: Opener, compared: Path) -> None:
    page = shown(compared)
    zoom(page, 0.25, 0.5)
    low, high = page.evaluate(
        "(({ low, high }) => [low, high])(document.querySelector('#series figure').chart.group)"
    )
    head, rows = table(saved(page, "Throughput", "CSV")[1])
    assert head == ["time_ps", *(f"throughput_bps ({name})" for name in ("OSCAR", "HPCC", "DCQCN"))]
    times = [n * US for n in range(2000) if low <= n * US <= high]
    assert [int(row[0]) for row in rows] == times
    assert len(times) == 500
    # In the second half of each tenth the link of OSCAR is used by 65 %.
    values = {int(row[0]) // US: float(row[1]) for row in rows}
    assert values[700] == 65e9
    assert values[601] == 100e9


def test_distributions_are_saved_in_their_units(shown: Opener, compared: Path) -> None:
    page = shown(compared)
    result = incast.Result.open(compared.parent / "oscar")
    head, rows = table(saved(page, "FCT slowdown by", "CSV")[1])
    assert head[:2] == ["size_bytes", "slowdown_p99 (OSCAR)"]
    assert len(rows) == 20
    page.get_by_role("radio", name="FCT", exact=True).click()
    head, rows = table(saved(page, "Flows up to", "CSV")[1])
    assert head[:2] == ["fct_ps", "flows_up_to_percent (OSCAR)"]
    mine = [(float(row[0]), float(row[1])) for row in rows if row[1]]
    assert mine[-1] == (result.flows.column("fct_ps").max(), 100)
    assert mine[0] == (result.flows.column("fct_ps").min(), 100 / 2000)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_chart_is_saved_as_a_picture(shown: Opener, compared: Path, scheme: str) -> None:
    page = shown(compared, scheme=scheme)
    name, content = saved(page, "Queue", "PNG")
    assert name == "three-algorithms-queue-leaf1-port-0.png"
    picture = Image.open(io.BytesIO(content)).convert("RGB")
    box = figure(page, "Queue").locator(".plot").bounding_box()
    assert box is not None
    # The plot with margins of 12 px, below a title and one line of names.
    assert picture.size == (round(box["width"]) + 24, round(box["height"]) + 70)
    pixels = np.asarray(picture).reshape(-1, 3).tolist()
    paper = [255, 255, 255] if scheme == "light" else [22, 25, 30]
    assert picture.getpixel((1, 1)) == tuple(paper)
    orange = sum(abs(r - 0xD5) + abs(g - 0x5E) + abs(b) < 30 for r, g, b in pixels)
    assert orange > 50


def test_the_address_keeps_what_is_shown(shown: Opener, compared: Path, chromium: Browser) -> None:
    page = shown(compared)
    assert page.evaluate(HASH) == ""
    zoom(page, 0.25, 0.5)
    page.locator("#entries button", has_text="HPCC").click()
    page.get_by_role("radio", name="p99.9", exact=True).click()
    expect(page).to_have_url(re.compile("stat"), timeout=5000)
    words = page.evaluate(HASH)
    parts = dict(part.split("=") for part in words[1:].split("&"))
    assert list(parts) == ["from", "to", "hide", "stat"]
    assert (parts["hide"], parts["stat"]) == ("1", "p99.9")
    assert int(parts["from"]) == pytest.approx(499.8 * US, rel=1e-3)
    # Whoever opens that address sees the same.
    page = chromium.new_page()
    page.goto(compared.as_uri() + words)
    page.wait_for_selector("html[data-ready]", state="attached", timeout=20_000)
    settle(page)
    assert page.locator(RANGE).inner_text() == "499.8 – 999.5 µs"
    assert page.get_by_role("radio", name="p99.9").get_attribute("aria-checked") == "true"
    assert page.locator("#entries button[aria-pressed=false]").all_inner_texts() == ["HPCC"]
    assert coloured(page, "Queue", "#009e73") == 0
    expect(page.locator("[role=status]")).to_be_hidden()
    # All as at first: the address is empty again.
    page.locator("#entries button", has_text="all").click()
    page.get_by_role("radio", name="p99", exact=True).click()
    page.get_by_role("button", name="Show all of the time").click()
    expect(page).to_have_url(compared.as_uri(), timeout=5000)
    page.close()


def test_a_port_in_the_address_is_chosen(shown: Opener, tmp_path: Path) -> None:
    toml = """
[topology]
kind = "star"
hosts = 3
rate = "100Gbps"
delay = "1us"

[cc]
algorithm = "swift"

[probe]
ports = ["s0:0", "s0:1", "s0:2"]

[[traffic]]
kind = "permutation"
size = "100KB"
"""
    result = incast.Scenario.from_toml(toml).run(tmp_path / "run")
    page = shown(report.write(result, tmp_path / "report.html"))
    first = page.locator("#series select").input_value()
    other = next(port for port in ("s0:1", "s0:2") if port != first)
    page.evaluate(f"location.hash = '#port={other}&from=0&to=2e6'")
    expect(page.locator("#series select")).to_have_value(other, timeout=5000)
    settle(page)
    assert page.locator(RANGE).inner_text() == "0 – 2.000 µs"
    # Back to the first one by the page: the address follows.
    page.locator("#series select").select_option(first)
    expect(page).to_have_url(re.compile("#from=0&to=2000000$"), timeout=5000)
    page.evaluate("location.hash = ''")
    expect(page.locator(RANGE)).not_to_have_text("0 – 2.000 µs", timeout=5000)


def test_a_wrong_address_is_named_and_does_nothing(shown: Opener, compared: Path) -> None:
    page = shown(compared)
    page.evaluate("location.hash = '#port=x:1&from=9&to=3&hide=0,7&stat=p42&zoom=2'")
    note = page.locator("[role=status]")
    expect(note).to_be_visible(timeout=5000)
    assert note.locator("p").all_inner_texts()[1:] == [
        "zoom=2: a link has port, from, to, hide, stat",
        "port=x:1: this port was not sampled",
        "from=9: the times are 0 to 1999000000 ps, and from is before to",
        "to=3: the times are 0 to 1999000000 ps, and from is before to",
        "hide=0,7: the numbers of results are 0 to 2",
        "stat=p42: there are mean, p50, p99, p99.9",
    ]
    assert page.locator(RANGE).inner_text() == "0 – 1.999 ms"
    assert page.locator("#entries button[aria-pressed=false]").count() == 0
    # An ordinary anchor is no link to a view.
    page.evaluate("location.hash = '#summary'")
    settle(page)
    assert page.locator(RANGE).inner_text() == "0 – 1.999 ms"


def test_paper_is_light_unfolded_and_cuts_no_table(shown: Opener, compared: Path) -> None:
    # A4 with margins of 1 cm is 718 px wide.
    page = shown(compared, width=718, scheme="dark")
    assert coloured(page, "Queue", "#000000") < 50
    page.emulate_media(media="print", color_scheme="dark")
    settle(page)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    # DCQCN is black on white.
    assert coloured(page, "Queue", "#000000") > 50
    for controls in ("#entries", "#theme", "#series .controls", ".save", "#series details.control"):
        expect(page.locator(controls).first).to_be_hidden()
    expect(page.locator("#flows details table")).to_be_visible()
    expect(page.locator("pre").first).to_be_visible()
    cut = page.evaluate(
        "[...document.querySelectorAll('.wide, pre, .map svg')].filter(e => e.checkVisibility())"
        ".filter(e => e.getBoundingClientRect().right > 718.5 || e.scrollWidth > e.clientWidth + 1)"
        ".map(e => e.outerHTML.slice(0, 80))"
    )
    assert cut == []
    assert page.evaluate(
        "document.querySelector('pre').scrollHeight <= document.querySelector('pre').clientHeight + 2"
    )
    # Afterwards all is as before.
    page.emulate_media(media="screen", color_scheme="dark")
    settle(page)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 25, 30)"
    assert page.locator("details[open]").count() == 0


def test_scrolling_boxes_are_named_groups_and_landmarks_differ(shown: Opener, compared: Path) -> None:
    page = shown(compared)
    # Whatever can be reached by keys only to be scrolled has a name of its own.
    boxes = page.locator("div[tabindex='0']:not(.plot), pre[tabindex='0']")
    assert set(boxes.evaluate_all("all => all.map(e => e.role)")) == {"group"}
    names = boxes.evaluate_all("all => all.map(e => e.ariaLabel)")
    assert len(set(names)) == len(names)
    assert {
        "Summary, scrolls sideways",
        "Slowdown by size, scrolls sideways",
        "Ports, scrolls sideways",
        *(f"Scenario of {name}, scrolls" for name in ("OSCAR", "HPCC", "DCQCN")),
    } <= set(names)
    regions = page.locator("section:visible").evaluate_all(
        "all => all.map(e => document.getElementById(e.getAttribute('aria-labelledby')).textContent)"
    )
    assert {"Summary", "Flow completion", "Over time", "Network", "Scenario"} <= set(regions)
    assert len(set(regions)) == len(regions)
    assert page.locator("[role=region]").count() == 0


def test_a_view_without_scripts_is_unfolded_on_paper(
    shown: Opener, compared: Path, chromium: Browser
) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(compared.as_uri())
    page.emulate_media(media="print", color_scheme="dark")
    box = page.locator("pre").first.bounding_box()
    assert box is not None
    assert box["height"] > 50
    context.close()
