"""The picture of the first screen of a report, with places worked out by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import incast
from incast import report
from incast.report.drawing import WIDTH, picture
from incast.report.entries import detailed, entries
from incast.results.grid import Axis, Grid, made_of, run_of
from incast.results.paired import Baseline
from report.test_answers import A, B, results, slowdown, written

pytestmark = pytest.mark.xdist_group("browser")
"""With several processes (pytest-xdist), one runs all tests with a browser, and builds the site once."""


def grid(folder: Path, axes: Sequence[Axis], its: Mapping[tuple[str, ...], Sequence[float]]) -> Grid:
    """A grid whose runs have these slowdowns, by seed from 1."""
    one = run_of(incast.Result.open(written(folder, "oscar", [1.0])[0]))
    runs = {
        values: [
            replace(
                one,
                seed=seed,
                info=slowdown(
                    {**one.info, "outcome": {**one.info["outcome"], "fingerprint": f"{seed} {value}"}}, value
                ),
            )
            for seed, value in enumerate(of, 1)
        ]
        for values, of in its.items()
    }
    return made_of("made", axes, runs)


def drawn(of: Grid, baseline: Baseline | None = None) -> str:
    return picture(of, entries(detailed(of, baseline)), baseline).html


def numbers(kind: str, element: str, html: str, *names: str) -> list[tuple[float, ...]]:
    """The numbers of elements of a class."""
    found = re.findall(rf'<{element} class="{kind}" ([^>]*)/>', html)
    return [tuple(float(re.findall(rf'{n}="([^"]*)"', one)[0]) for n in names) for one in found]


CC = Axis("cc", ("oscar", "hpcc"))
LOAD = Axis("traffic.0.load", ("0.2", "0.4", "0.8"))


def test_an_entry_is_a_row_with_its_mean_and_its_interval(tmp_path: Path) -> None:
    html = drawn(grid(tmp_path, [CC], {("oscar",): A, ("hpcc",): B}), Baseline(0, "hpcc"))
    (oscar, oscar_y), (hpcc, hpcc_y) = numbers("dot", "circle", html, "cx", "cy")
    (a1, a2, ay), (b1, b2, by) = numbers("bar", "line", html, "x1", "x2", "y1")
    assert (ay, by) == (oscar_y, hpcc_y)
    assert hpcc_y - oscar_y == 22
    # 14/3 ± 7.589 and 4/3 ± 1.434: the dots are in the middle of their bars, 10/3 apart.
    assert (oscar, hpcc) == pytest.approx(((a1 + a2) / 2, (b1 + b2) / 2), abs=0.1)
    assert (a2 - a1) / (b2 - b1) == pytest.approx(7.589 / 1.434, rel=3e-3)
    assert (oscar - hpcc) / (a2 - a1) == pytest.approx(10 / 3 / (2 * 7.589), rel=3e-3)
    # The line of the baseline goes through both rows.
    lines = numbers("base", "line", html, "x1", "x2", "y1", "y2")
    assert lines == [(hpcc, hpcc, 6, 28), (hpcc, hpcc, 28, 50)]
    assert "4.67 ± 7.59</text>" in html
    # Ticks lie where their values do.
    ticks = dict(re.findall(r'<text class="tick" x="([\d.]+)"[^>]*>(-?\d+)</text>', html))
    places = {int(text): float(x) for x, text in ticks.items()}
    per_unit = (oscar - hpcc) / (10 / 3)
    assert {0, 5, 10} <= places.keys()
    assert places[5] == pytest.approx(oscar + (5 - 14 / 3) * per_unit, abs=0.2)
    assert 'class="base"' not in drawn(grid(tmp_path / "b", [CC], {("oscar",): A, ("hpcc",): B}))


def test_all_colours_are_in_the_style_sheet(tmp_path: Path) -> None:
    file = report.write(results(tmp_path), tmp_path / "a.html", baseline="hpcc")
    page = file.read_text()
    (svg,) = re.findall(r"<svg role.*?</svg>", page, re.DOTALL)
    assert not re.findall(r'#[0-9a-f]{3}|style=|fill=|stroke=|"rgb', svg)
    assert re.findall(r'<g class="(e\d)">', svg) == ["e0", "e1"]
    assert ".picture .e0 { --own: #d55e00; }" in page
    # Each text is one: nothing is a path.
    assert svg.count("<text") == svg.count("</text>") > 6
    assert "<path" not in svg


def test_means_far_apart_are_on_a_logarithmic_scale(tmp_path: Path) -> None:
    axis = Axis("cc", ("oscar", "hpcc", "swift"))
    its: dict[tuple[str, ...], list[float]]
    its = {("oscar",): [1.0], ("hpcc",): [10.0], ("swift",): [100.0]}
    html = drawn(grid(tmp_path, [axis], its))
    first, second, third = (x for (x,) in numbers("dot", "circle", html, "cx"))
    assert second - first == pytest.approx(third - second, abs=0.2)
    # Up to 20 times as much the scale is linear.
    html = drawn(grid(tmp_path / "b", [axis], {**its, ("swift",): [19.0]}))
    first, second, third = (x for (x,) in numbers("dot", "circle", html, "cx"))
    assert second - first == pytest.approx(third - second, abs=0.2)


def test_a_sweep_over_numbers_has_a_panel_for_each_line(tmp_path: Path) -> None:
    its: dict[tuple[str, ...], list[float]]
    its = {("oscar", x): [v] for x, v in zip(LOAD.values, (1.0, 2.0, 4.0), strict=True)}
    its |= {("hpcc", x): [v] for x, v in zip(LOAD.values, (2.0, 3.0, 5.0), strict=True)}
    html = drawn(grid(tmp_path, [CC, LOAD], its), Baseline(0, "hpcc"))
    assert re.findall(r'class="head e\d"[^>]*>(.*?)</text>', html) == ["OSCAR", "HPCC"]
    dots = numbers("dot", "circle", html, "cx", "cy")
    assert len(dots) == 6
    oscar, hpcc = dots[:3], dots[3:]
    # 0.2, 0.4, 0.8 double, so they are equally far apart on a logarithmic axis.
    assert oscar[1][0] - oscar[0][0] == pytest.approx(oscar[2][0] - oscar[1][0], abs=0.15)
    # Both panels have one scale: 1 to 2 is as far as 2 to 3, and the larger is higher.
    step = oscar[0][1] - oscar[1][1]
    assert step > 0
    assert oscar[1][1] - oscar[2][1] == pytest.approx(2 * step, abs=0.3)
    assert hpcc[0][1] == pytest.approx(oscar[1][1], abs=0.15)
    # OSCAR's panel has the baseline dashed behind it, HPCC's has OSCAR in grey.
    kinds = re.findall(r'<polyline class="(\w+)"', html)
    assert kinds == ["base", "own", "other", "own"]
    assert "dashed: HPCC" in html
    places = re.findall(r'<polyline class="base" points="(.*?)"', html)[0]
    behind = [tuple(map(float, place.split(","))) for place in places.split()]
    assert [y for _, y in behind] == [y for _, y in hpcc]
    # As many panels as fit have their places; of more lines there are rows.
    axis = Axis("cc", tuple(f"a{n}" for n in range(13)))
    its = {(cc, x): [1.0 + n] for n, cc in enumerate(axis.values) for x in LOAD.values}
    assert "<polyline" not in drawn(grid(tmp_path / "b", [axis, LOAD], its))
    few = {key: of for key, of in its.items() if key[0] != "a12"}
    html = drawn(grid(tmp_path / "c", [axis, LOAD], few))
    assert len(re.findall(r'class="head', html)) == 12
    assert all(0 <= x <= WIDTH for (x,) in numbers("dot", "circle", html, "cx"))


def test_a_lower_bound_is_hollow_and_has_no_interval(tmp_path: Path) -> None:
    made = grid(tmp_path, [CC], {("oscar",): A, ("hpcc",): B})
    first = made.entries[0]
    runs = []
    for run in first.runs:
        # All numbers are only bounds, as where flows did not finish.
        bounded = replace(run, known=replace(run.read, at_least=frozenset(run.numbers)))
        runs.append(bounded)
    made = replace(made, entries=(replace(first, runs=tuple(runs)), *made.entries[1:]))
    html = drawn(made)
    assert len(numbers("dot bound", "circle", html, "cx")) == 1
    assert len(numbers("dot", "circle", html, "cx")) == 1
    assert len(numbers("bar", "line", html, "x1")) == 1
    assert "≥ 4.67" in html


def test_one_entry_has_no_picture(tmp_path: Path) -> None:
    assert not drawn(grid(tmp_path, [CC], {("oscar",): A}))


def test_the_picture_follows_the_theme_and_prints_light(
    tmp_path: Path, shown: Callable[..., Page], chromium: Browser
) -> None:
    file = report.write(results(tmp_path), tmp_path / "a.html", baseline="hpcc")
    colour = "() => getComputedStyle(document.querySelector('.picture .e0 .dot')).fill"
    axis = "() => getComputedStyle(document.querySelector('.picture .base')).stroke"
    light = shown(file)
    assert light.evaluate(colour) == "rgb(213, 94, 0)"
    dark = shown(file, scheme="dark")
    assert light.evaluate(axis) != dark.evaluate(axis)
    # Without scripts it is there, and a narrow page does not scroll sideways.
    context = chromium.new_context(java_script_enabled=False, viewport={"width": 360, "height": 700})
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator(".picture svg").bounding_box()
    assert page.locator(".picture text", has_text="OSCAR").count() == 1
    assert page.locator("html").evaluate("e => e.scrollWidth") == 360
    context.close()


def test_dark_colours_are_light_and_print_is_on_white(tmp_path: Path, shown: Callable[..., Page]) -> None:
    made = [incast.Result.open(f) for name in ("dcqcn", "hpcc") for f in written(tmp_path, name, A)]
    file = report.write(made, tmp_path / "a.html")
    colour = "() => getComputedStyle(document.querySelector('.picture .e0 .dot')).fill"
    assert shown(file).evaluate(colour) == "rgb(0, 0, 0)"
    page = shown(file, scheme="dark")
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    page.emulate_media(media="print")
    assert page.evaluate(colour) == "rgb(0, 0, 0)"
