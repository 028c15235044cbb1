"""The report in a browser: it zooms, its cursors are linked, its toggles act everywhere, it is silent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import incast
from helpers import SMALL
from incast import report
from report.browser import settle
from report.made import Made
from report.test_content import NASTY

pytestmark = pytest.mark.xdist_group("browser")
"""With several processes (pytest-xdist), one runs all tests with a browser, and builds the site once."""

Opener = Callable[..., Page]

RANGE = "#series .controls .small"


def figure(page: Page, title: str) -> Locator:
    """The figure whose title begins like this."""
    return page.locator("figure", has=page.locator(f"h3:text-matches('^{title}')"))


def plot(page: Page, title: str) -> tuple[Locator, float, float, float]:
    """The part of a figure in which lines are drawn, in view: left end, width, and a height in it."""
    found = figure(page, title).locator(".plot")
    found.scroll_into_view_if_needed()
    box = found.bounding_box()
    assert box is not None
    # 46 px at the left are for the labels, 10 at the right.
    return found, box["x"] + 46, box["width"] - 56, box["y"] + 60


def values(page: Page, title: str) -> list[str]:
    """Returns the legend of a figure: label and value of each series, and where the cursor is."""
    labels = figure(page, title).locator(".values > span").all_inner_texts()
    return [*(" ".join(text.split()) for text in labels), figure(page, title).locator(".where").inner_text()]


# Reads the pixels of a copy: what the page draws on stays as it is.
_PIXELS = """const copy = new OffscreenCanvas(c.width, c.height);
const pen = copy.getContext('2d', { willReadFrequently: true });
pen.drawImage(c, 0, 0);
const d = pen.getImageData(0, 0, c.width, c.height).data;"""


def drawn(page: Page, title: str, layer: int = 0) -> int:
    """Returns the number of pixels of a figure that are drawn on."""
    count: int = (
        figure(page, title)
        .locator("canvas")
        .nth(layer)
        .evaluate(
            f"c => {{ {_PIXELS} let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; }}"
        )
    )
    return count


def coloured(page: Page, title: str, colour: str) -> int:
    """Returns the number of pixels of a figure that have nearly this colour."""
    rgb = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    count: int = (
        figure(page, title)
        .locator("canvas")
        .first.evaluate(
            f"(c, rgb) => {{ {_PIXELS} let n = 0; for (let i = 0; i < d.length; i += 4)"
            " n += d[i + 3] > 200 && rgb.every((v, k) => Math.abs(d[i + k] - v) < 12); return n; }",
            rgb,
        )
    )
    return count


def test_every_figure_is_drawn(shown: Opener, compared: Path) -> None:
    page = shown(compared)
    titles = page.locator("figure:visible h3").all_inner_texts()
    assert titles == [
        "FCT slowdown by flow size, p99",
        "Flows up to a FCT slowdown (%)",
        "Queue (KB)",
        "Throughput (Gbps)",
        "Utilisation (%)",
        "Window (KB)",
        "Rate (Gbps)",
        "RTT (µs)",
    ]
    for title in titles:
        for colour in ("#d55e00", "#009e73", "#000000"):
            assert coloured(page, title.split(" (")[0], colour) > 50, (title, colour)
    # 8 hosts with a link each, and 2 × 2 links above; two lines a link.
    assert page.locator("#network .link").count() == 24
    assert page.locator("#network .node").count() == 12


def test_the_cursor_is_that_of_all_charts_over_time_and_shows_the_samples(
    shown: Opener, compared: Path
) -> None:
    page = shown(compared)
    _, left, width, y = plot(page, "Queue")
    # Samples are from 0 to 1999 µs.
    page.mouse.move(left + 700 / 1999 * width, y)
    settle(page)
    said = values(page, "Queue")
    where = said[3]
    # The mouse stands on a whole pixel, two samples wide, and the text is rounded to one sample.
    at = round(float(where.removeprefix("at ").removesuffix(" ms")) * 1000)
    assert 698 <= at <= 702
    assert said[:3] in [_queues(sample) for sample in (at - 1, at)]
    for title in ("Throughput", "Utilisation", "Window", "Rate", "RTT"):
        assert values(page, title)[-1] == where
        assert drawn(page, title, layer=1) > 100
    # OSCAR: 65 % of 100 Gbps in the second half of each tenth; the first tenth ends at 200 µs.
    assert values(page, "Throughput")[0] == "OSCAR 65.0 Gbps"
    assert values(page, "Utilisation")[0] == "OSCAR 65.0 %"
    page.mouse.move(5, 5)
    settle(page)
    assert values(page, "RTT")[-1] == ""


def _queues(sample: int) -> list[str]:
    """Returns the queues of the three results at a sample outside the burst, as they were made up."""
    queues = [sample * 7 * seed % 97 * 0.5 for seed in (1, 2, 3)]
    words = [f"{q:.1f}" if q >= 10 else f"{q:.2f}" for q in queues]
    return [f"{title} {w} KB" for title, w in zip(("OSCAR", "HPCC", "DCQCN"), words, strict=True)]


def test_a_drag_zooms_all_charts_over_time_and_a_double_click_shows_all(
    shown: Opener, compared: Path
) -> None:
    page = shown(compared)
    _, left, width, y = plot(page, "Queue")
    whole = page.locator(RANGE).inner_text()
    assert whole == "0 – 1.999 ms"
    before = drawn(page, "RTT")
    page.mouse.move(left + width * 0.25, y)
    page.mouse.down()
    page.mouse.move(left + width * 0.40, y)
    page.mouse.move(left + width * 0.50, y)
    page.mouse.up()
    settle(page)
    assert page.locator(RANGE).inner_text() == "499.8 – 999.5 µs"
    assert drawn(page, "RTT") != before
    # Shift and drag pans: half the width of what is shown to the left.
    page.keyboard.down("Shift")
    page.mouse.move(left + width * 0.25, y)
    page.mouse.down()
    page.mouse.move(left + width * 0.75, y)
    page.mouse.up()
    page.keyboard.up("Shift")
    settle(page)
    assert page.locator(RANGE).inner_text() == "249.9 – 749.6 µs"
    page.mouse.dblclick(left + width * 0.5, y)
    settle(page)
    assert page.locator(RANGE).inner_text() == whole
    assert drawn(page, "RTT") == before


def test_the_wheel_zooms_only_with_ctrl(shown: Opener, compared: Path) -> None:
    page = shown(compared)
    _, left, width, y = plot(page, "Queue")
    page.mouse.move(left + width / 2, y)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -60)
    page.keyboard.up("Control")
    expect(page.locator(RANGE)).not_to_have_text("0 – 1.999 ms")
    zoomed = page.locator(RANGE).inner_text()
    page.evaluate("addEventListener('scroll', () => { document.title = 'scrolled'; })")
    page.mouse.wheel(0, 120)
    expect(page).to_have_title("scrolled")
    assert page.locator(RANGE).inner_text() == zoomed


def test_a_toggle_acts_on_all_figures_and_on_the_summary(shown: Opener, compared: Path) -> None:
    page = shown(compared)
    assert page.locator("#summary thead th:visible").all_inner_texts() == ["OSCAR", "HPCC", "DCQCN"]
    toggle = page.locator("#entries button", has_text="HPCC")
    expect(toggle).to_have_attribute("aria-pressed", "true")
    toggle.click()
    settle(page)
    expect(toggle).to_have_attribute("aria-pressed", "false")
    assert page.locator("#summary thead th:visible").all_inner_texts() == ["OSCAR", "DCQCN"]
    for title in (
        "FCT slowdown by",
        "Flows up to",
        "Queue",
        "Throughput",
        "Utilisation",
        "Window",
        "Rate",
        "RTT",
    ):
        assert coloured(page, title, "#009e73") == 0, title
        assert coloured(page, title, "#d55e00") > 50, title
        assert not [v for v in values(page, title) if "HPCC" in v]
    # Shift and click: only this one. The network, which showed OSCAR, follows.
    page.locator("#entries button", has_text="DCQCN").click(modifiers=["Shift"])
    settle(page)
    assert coloured(page, "Queue", "#d55e00") == 0
    assert page.locator("#network select").input_value() == "2"
    page.locator("#entries button", has_text="all").click()
    settle(page)
    assert coloured(page, "Queue", "#009e73") > 50


def test_every_statistic_and_distribution_can_be_chosen(shown: Opener, compared: Path) -> None:
    page = shown(compared)
    seen = set()
    for statistic in ("mean", "p50", "p99", "p99.9"):
        page.get_by_role("radio", name=statistic, exact=True).click()
        settle(page)
        assert page.locator("#flows h3").first.inner_text() == f"FCT slowdown by flow size, {statistic}"
        page.locator("#flows summary").click()
        seen.add(page.locator("#flows tbody tr").last.inner_text())
        page.locator("#flows summary").click()
        # 100 flows a size: enough for p99, too few for p99.9.
        assert ("Hollow marks" in page.locator("#flows .hint").inner_text()) == (statistic == "p99.9")
    assert len(seen) == 4
    page.get_by_role("radio", name="FCT", exact=True).click()
    page.get_by_role("radio", name="tail", exact=True).click()
    settle(page)
    assert page.locator("#flows h3").last.inner_text() == "Flows beyond a FCT (%)"
    assert coloured(page, "Flows beyond", "#d55e00") > 50
    page.locator("#flows select").select_option(label="burst")
    settle(page)
    assert "of 500 finished flows" in page.locator("#flows .hint").inner_text()


def test_everything_can_be_done_with_the_keyboard(shown: Opener, compared: Path) -> None:
    page = shown(compared)

    def reach(selector: str) -> None:
        for _ in range(80):
            page.keyboard.press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"Tab never comes to {selector}")

    reach("#entries button")
    page.keyboard.press("Space")
    settle(page)
    assert coloured(page, "Queue", "#d55e00") == 0
    page.keyboard.press("Space")
    reach("#flows [role=radio][aria-checked=true]")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert page.locator("#flows h3").first.inner_text().endswith("p99.9")
    reach("#series .plot")
    page.keyboard.press("+")
    settle(page)
    assert page.locator(RANGE).inner_text() == "0.4998 – 1.4993 ms"
    page.keyboard.press("Shift+ArrowRight")
    settle(page)
    assert page.locator(RANGE).inner_text() == "0.7496 – 1.7491 ms"
    page.keyboard.press("Home")
    settle(page)
    assert values(page, "RTT")[-1].startswith("at 0.7496")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#spoken")).to_contain_text("Queue at 0.7596")
    page.keyboard.press("Escape")
    page.keyboard.press("0")
    settle(page)
    assert page.locator(RANGE).inner_text() == "0 – 1.999 ms"
    assert values(page, "RTT")[-1] == ""
    reach("#network svg")
    page.keyboard.press("ArrowRight")
    assert page.locator("#network .readout").inner_text() == "Ports of leaf0"
    page.keyboard.press("ArrowUp")
    assert page.locator("#network .readout").inner_text() == "Ports of spine0"
    assert page.locator("#network tbody tr").count() == 2
    page.keyboard.press("Escape")
    assert "12 links. The 10 busiest ports" in page.locator("#network .readout").inner_text()


def test_the_network_shows_its_numbers(shown: Opener, compared: Path) -> None:
    page = shown(compared)
    # OSCAR is seed 1. The third row of the ports, h2, sends (2 · 37 + 11) % 101 = 85 % of 25 MB (2 ms
    # at 100 Gbps); its way back is port 2 of leaf0, row 8 + 2: (370 + 11) % 101 = 78 %.
    page.locator("#network .near").nth(2).dispatch_event("pointerover")
    there, back = page.locator("#network .readout div").all_inner_texts()
    assert there.startswith("h2 → leaf0 (port 0, 100 Gbps): 85.0 % used, 21.3 MB sent, longest queue 20.0 KB")
    assert back.startswith("leaf0 → h2 (port 2, 100 Gbps): 78.0 % used, 19.5 MB sent")
    # leaf0 has rows 8 to 13: (8 · 37 + 11) % 101 = 4, then 37 more each, modulo 101.
    page.locator("#network rect").first.click()
    assert page.locator("#network .readout").inner_text() == "Ports of leaf0"
    used = page.locator("#network tbody td:nth-child(4)").all_inner_texts()
    assert used == ["4.0 %", "41.0 %", "78.0 %", "14.0 %", "51.0 %", "88.0 %"]
    # The links of other nodes step back: those of the other four hosts, and of the other leaf upward.
    assert page.locator("#network .link.other").count() == 2 * (4 + 2)


def test_hosts_of_a_large_network_are_drawn_together(shown: Opener, tmp_path: Path) -> None:
    result = incast.Result.open(Made(leaves=11, hosts=16).write(tmp_path / "large"))
    page = shown(report.write(result, tmp_path / "report.html"))
    # 11 boxes of 16 hosts, 22 switches; 11 bundles and 121 links, two lines each.
    assert page.locator("#network .node").count() == 33
    assert page.locator("#network .link").count() == 264
    assert page.locator("#network text").all_text_contents().count("16 hosts") == 11
    # Row n of the ports, which is host n, sends (37 n + 11) % 101 %.
    used = [(37 * n + 11) % 101 for n in range(16)]
    page.locator("#network .near").first.dispatch_event("pointerover")
    there = page.locator("#network .readout div").first.inner_text()
    assert there == f"h0 to h15 → leaf0: {sum(used) / 16:.1f} % used on average"
    page.locator("#network rect", has_text="h0 to h15").click()
    assert page.locator("#network .readout").inner_text() == "Ports of h0 to h15"
    assert page.locator("#network tbody tr").count() == 16


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_has_no_horizontal_scroll(shown: Opener, compared: Path, scheme: str) -> None:
    page = shown(compared, width=360, height=700, scheme=scheme, phone=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    wide = page.evaluate(
        "[...document.querySelectorAll('figure, .plot, section, h1, .controls, select')]"
        ".filter(e => e.getBoundingClientRect().right > 360.5).map(e => e.outerHTML.slice(0, 80))"
    )
    assert wide == []
    _, left, width, y = plot(page, "Queue")
    page.touchscreen.tap(left + width / 2, y)
    settle(page)
    assert values(page, "RTT")[-1].startswith("at 1.00")


def test_two_fingers_zoom(shown: Opener, compared: Path) -> None:
    page = shown(compared, width=400, height=700, phone=True)
    _, left, _, y = plot(page, "Queue")
    touch = page.context.new_cdp_session(page)

    def fingers(kind: str, *places: float) -> None:
        points = [{"x": left + x, "y": y, "id": i} for i, x in enumerate(places)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    fingers("touchStart", 150)
    fingers("touchStart", 150, 250)
    for step in range(1, 6):
        fingers("touchMove", 150 - 10 * step, 250 + 10 * step)
    fingers("touchEnd")
    settle(page)
    # What was between the fingers, 100 px, is now on 200 px: half of the time is shown.
    low, high = (float(part.split()[0]) for part in page.locator(RANGE).inner_text().split(" – "))
    unit = page.locator(RANGE).inner_text().split()[-1]
    assert (high - low) * (1000 if unit == "ms" else 1) == pytest.approx(1000, rel=0.02)


def test_dark_follows_the_system_and_the_switch(shown: Opener, compared: Path) -> None:
    page = shown(compared, scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(22, 25, 30)"
    # DCQCN is black on white, white on dark.
    assert coloured(page, "Queue", "#ffffff") > 50
    page.locator("#theme").click()
    settle(page)
    assert page.locator("#theme").inner_text() == "Theme: light"
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    assert coloured(page, "Queue", "#000000") > 50
    page.locator("#theme").click()
    page.locator("#theme").click()
    page.emulate_media(color_scheme="light")
    settle(page)
    assert page.locator("#theme").inner_text() == "Theme: auto"
    assert page.evaluate(background) == "rgb(255, 255, 255)"


def test_text_of_users_does_nothing(shown: Opener, tmp_path: Path) -> None:
    folder = tmp_path / "a 'b' \"c\" <d>"
    made = [
        Made(name=NASTY, group=NASTY, algorithm=NASTY, preset="", seed=s, flows=300, samples=100)
        for s in (1, 2)
    ]
    results = [incast.Result.open(m.write(folder / str(m.seed))) for m in made]
    file = report.write({NASTY: results[0], f"{NASTY}2": results[1]}, folder / "r 'x' & <y>.html")
    page = shown(file)
    assert page.locator("h1").text_content() == NASTY
    assert page.locator("img").count() == 0
    assert page.locator("#entries button").first.text_content() == NASTY
    page.locator("#flows select").select_option(label=NASTY)
    page.locator("#entries button").first.click()
    page.locator("#network rect").first.dispatch_event("click")
    page.locator("#flows summary").click()
    settle(page)
    assert page.locator("script").count() == 2  # the blob is taken out once it is unpacked
    assert page.locator("#flows thead th").last.text_content() == f"{NASTY}2, p99"


def test_a_killed_run_shows_what_there_is(shown: Opener, tmp_path: Path) -> None:
    result = incast.Result.open(Made(killed=True, samples=300).write(tmp_path / "killed"))
    page = shown(report.write(result, tmp_path / "report.html"))
    expect(page.get_by_role("alert")).to_contain_text("This run was killed")
    top = page.get_by_role("alert").bounding_box()
    first = page.locator("figure").first.bounding_box()
    assert top is not None
    assert first is not None
    assert top["y"] < first["y"]
    assert coloured(page, "Queue", "#d55e00") > 50
    # The rates of links come with the totals, which there are not.
    assert values(page, "Utilisation") == [""]
    assert "so the network cannot be shown" in page.locator("#network").inner_text()


def test_a_run_without_flows_and_samples_says_so(shown: Opener, tmp_path: Path) -> None:
    result = incast.Result.open(Made(flows=0, samples=0).write(tmp_path / "empty"))
    page = shown(report.write(result, tmp_path / "report.html"))
    assert "No flow with a size finished" in page.locator("#flows").inner_text()
    assert "Nothing was sampled. Name ports or flows under [probe]" in page.locator("#series").inner_text()
    assert page.locator("#network .link").count() == 24


def test_without_scripts_the_words_are_there(shown: Opener, compared: Path, chromium: Browser) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(compared.as_uri())
    assert "scripts are switched off here" in page.locator("main").inner_text()
    assert page.locator("#summary tbody tr").count() > 10
    context.close()


def test_a_real_run_is_shown(shown: Opener, tmp_path: Path) -> None:
    toml = SMALL.replace('ports = ["to h3"]', 'ports = ["to h3"]\nflows = ["long", "burst"]')
    result = incast.Scenario.from_toml(toml).run(tmp_path / "run")
    page = shown(report.write(result, tmp_path / "report.html"))
    for title in ("FCT slowdown", "Flows up to", "Queue", "Throughput", "Window", "Rate", "RTT"):
        assert coloured(page, title, "#d55e00") > 30, title
    assert page.locator("#network .node").count() == 5
    page.locator("#scenario-title ~ details summary").click()
    assert page.locator("pre").inner_text() == result.folder.joinpath("scenario.toml").read_text()  # type: ignore[union-attr]


def test_a_million_samples_lose_no_peak(shown: Opener, tmp_path: Path) -> None:
    result = incast.Result.open(Made(samples=400_000).write(tmp_path / "long"))
    page = shown(report.write(result, tmp_path / "report.html"))
    # Of 1.2 million samples the burst at 100 ms takes 200, less than a pixel. It is drawn to its top,
    # which is a few pixels below that of the canvas, a quarter from the left.
    assert page.locator(RANGE).inner_text() == "0 – 400.0 ms"
    canvas = figure(page, "Queue").locator("canvas").first
    across, down = canvas.evaluate(
        f"c => {{ {_PIXELS} for (let y = 0; y < c.height; y++) for (let x = 46; x < c.width; x++) {{"
        " const i = 4 * (y * c.width + x); if (d[i + 3] > 30 && d[i] - d[i + 2] > 60)"
        " return [(x - 46) / (c.width - 56), y]; } }"
    )
    assert across == pytest.approx(0.25, abs=0.005)
    assert down < 25
    # Zoomed to some 4 ms around it, it is a triangle in lines.
    _, left, width, y = plot(page, "Queue")
    page.mouse.move(left + width * 0.25, y)
    page.mouse.down()
    page.mouse.move(left + width * 0.252, y - 5)
    page.mouse.move(left + width * 0.26, y)
    page.mouse.up()
    settle(page)
    low, high = (float(part.split()[0]) for part in page.locator(RANGE).inner_text().split(" – "))
    assert low == pytest.approx(100, abs=1)
    assert high == pytest.approx(104, abs=1)
    assert coloured(page, "Queue", "#d55e00") > 500
