"""The first screen of a report: sentences, requirements, verdicts, the table that compares entries."""

from __future__ import annotations

import html.parser
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

import incast
from helpers import Incast
from incast import report
from incast.report.compared import MOST_COLUMNS
from incast.report.entries import MOST_DETAILED, detailed
from incast.results.grid import Axis, Grid, Run, made_of, run_of
from incast.results.paired import Baseline
from report.made import Made

pytestmark = pytest.mark.xdist_group("browser")
"""With several processes (pytest-xdist), one runs all tests with a browser, and builds the site once."""

A, B = [2.0, 4.0, 8.0], [1.0, 1.0, 2.0]
"""By seed. At 95 % A / B is 3.1748 (1.1748 – 8.5794), and B / A 0.31498 (0.11656 – 0.85119)."""


def slowdown(info: dict[str, Any], value: float) -> dict[str, Any]:
    """A `result.json` with one value for all slowdowns, of 200 flows of each class."""
    classes = [
        {
            "class": name,
            "group": None,
            "flows": 200,
            "unfinished": 0,
            "slowdown": dict.fromkeys(("mean", "p50", "p95", "p99", "p999", "max"), value),
        }
        for name in ("small", "large", "all")
    ]
    return {**info, "summary": {"slowdowns": classes, "ports": []}}


def written(folder: Path, name: str, values: Sequence[float], **more: Any) -> list[Path]:  # noqa: ANN401
    """Results of an algorithm, one for each value, with the seeds from 1."""
    folders = []
    for seed, value in enumerate(values, 1):
        made = Made(algorithm=name, seed=seed, flows=40, samples=20, **more)
        folders.append(made.write(folder / f"{name}-{seed}"))
        file = folders[-1] / "result.json"
        file.write_text(json.dumps(slowdown(json.loads(file.read_text()), value)))
    return folders


def results(folder: Path) -> list[incast.Result]:
    return [
        incast.Result.open(one)
        for name, values in (("oscar", A), ("hpcc", B))
        for one in written(folder, name, values)
    ]


class Lines(html.parser.HTMLParser):
    """The texts of the leaves of a page, by their section; the number of nodes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.nodes = 0
        self.texts: list[str] = []
        self._raw = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.nodes += 1
        self._raw = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        del tag
        self._raw = False

    def handle_data(self, data: str) -> None:
        self.nodes += 1
        if not self._raw and data.strip():
            self.texts.append(data.strip())


def table(page: str) -> list[list[str]]:
    """The cells of the table that compares entries."""
    found = re.search(r'id="differences".*?</table>', page, re.DOTALL)
    assert found
    return [
        [re.sub("<.*?>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in re.findall(r"<tr.*?</tr>", found[0])
    ]


def test_the_page_begins_with_its_answers(tmp_path: Path) -> None:
    file = report.write(results(tmp_path), tmp_path / "a.html", baseline="hpcc")
    page = file.read_text()
    texts = Lines(page).texts
    assert texts[texts.index("OSCAR, HPCC") + 1] == "seeds 1 – 3"
    at = texts.index("Answers")
    assert texts[at + 1] == "HPCC has the lowest p99 of small flows: 69 % (14 – 89) below OSCAR."
    assert texts[at + 2] == "HPCC has the lowest mean slowdown of flows: 69 % (14 – 89) below OSCAR."
    assert at < texts.index("Comparison") < texts.index("Summary")
    head, *body = table(page)
    assert head == ["", "unit", "OSCAR", "HPCC"]
    # B: 4/3 ± 4.302653 · (1/√3) / √3; A: 14/3 ± 4.302653 · √(28/3) / √3.
    assert body[:2] == [
        ["p99 of small flows", "", "4.67 ± 7.59", "1.33 ± 1.43"],
        ["to HPCC", "", "×3.2 (1.1 – 8.6) worse", "baseline"],
    ]
    assert body[-2:] == [["seeds", "", "3", "3"], ["flows", "", "600", "600"]]
    assert "first seed" in page


def test_without_a_baseline_there_are_no_differences(tmp_path: Path) -> None:
    page = report.write(results(tmp_path), tmp_path / "a.html").read_text()
    assert [row[0] for row in table(page)[1:]][:2] == ["p99 of small flows", "mean slowdown of flows"]
    assert "Differences to" not in page
    with pytest.raises(ValueError, match='baseline hpc: no value of cc is "hpc"; did you mean "hpcc"'):
        report.write(results(tmp_path / "b"), tmp_path / "a.html", baseline="hpc")


def test_requirements_have_signs_and_what_is_not_measured_is_not_met(tmp_path: Path) -> None:
    texts = ["hpcc: p99.small < 3", "oscar: mean.all < 1", "queue.mean < 75KB", "p99.small < 1.1x hpcc"]
    made = results(tmp_path)
    page = report.write(made, tmp_path / "a.html", require=texts).read_text()
    items = re.findall(r'<li class="([a-z-]+)"><span aria-hidden="true">(.)</span> (.*?)</li>', page)
    assert [item for item in items if "p99.small &lt; 3" in item[2]] == [
        ("met", "✓", "p99.small &lt; 3, HPCC: met, 1.33 (−0.101 – 2.77)")
    ]
    # 4.67 ± 7.59 holds 1: more seeds decide.
    assert ("open", "?", "mean.all &lt; 1, OSCAR: open, 4.67 (−2.92 – 12.3), more seeds decide") in items
    unmeasured = [item for item in items if "queue.mean" in item[2]]
    assert [item[:2] for item in unmeasured] == [("not-measured", "–")] * 2
    assert "no port is probed" in unmeasured[0][2]
    assert [item[:2] for item in items if "1.1x hpcc" in item[2]] == [("missed", "✗")]
    assert "Requirements: 1 of 5 met, 1 missed, 1 open, 2 not measured" in page


def test_verdicts_are_on_the_whole(tmp_path: Path) -> None:
    def said(*made: incast.Result) -> dict[str, tuple[str, str]]:
        page = report.write(list(made), tmp_path / "a.html").read_text()
        items = re.findall(
            r'<li class="([a-z-]+)"><span.*?</span> (sound|finished|steady|limits): (.*?)</li>', page
        )
        return {about: (kind, text) for kind, about, text in items}

    both = results(tmp_path)
    found = said(*both)
    assert found["sound"] == ("met", "all 6 runs ended as they should")
    assert found["finished"] == ("met", "every flow and job finished")
    # No traffic has a load, and no table says what held flows back: neither is passed.
    assert found["steady"] == ("not-measured", "not measured; no traffic block has a load")
    assert found["limits"][0] == "not-measured"
    (stalled,) = written(tmp_path / "b", "swift", [3.0], outcome={"end": "stalled", "why": "it stalled"})
    found = said(*both, incast.Result.open(stalled))
    assert found["sound"] == ("missed", "Swift: 1 of 1 run did not end as it should")


def test_the_command_gives_code_3_for_what_is_missed(incast: Incast, tmp_path: Path) -> None:
    results(tmp_path / "both")
    done = incast("report", "both", "--baseline", "hpcc", "--require", "oscar: p99.small < 0.5x hpcc")
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.startswith("requirements: 0 of 1 met, 1 missed\n  ✗ p99.small < 0.5x hpcc  OSCAR")
    assert done.stdout.endswith("MB)\n")
    page = (tmp_path / "report.html").read_text()
    command = "incast report both --baseline hpcc --require &#x27;oscar: p99.small &lt; 0.5x hpcc&#x27;"
    assert f"Made by <code>{command}</code>" in page
    assert page.index("Made by") > page.index("<footer>")
    done = incast("report", "both", "--require", "hpcc: p99.small < 3")
    assert done.returncode == 0
    done = incast("report", "both", "--require", "queue.mean < 75KB")
    assert (done.returncode, "2 not measured" in done.stdout) == (3, True)
    done = incast("report", "both", "--baseline", "hpc", "--out", "b.html")
    assert (done.returncode, (tmp_path / "b.html").exists()) == (2, False)


def test_a_sweep_keeps_its_baseline(incast: Incast, scenario: Path) -> None:
    words = ("--vary", "cc=hpcc,oscar", "--vary", "topology.delay=1us,3us", "--seeds", "2", "--out", "out")
    assert incast("sweep", scenario, *words).returncode == 0
    done = incast("report", "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("report report.html (8 results, ")
    page = (incast.folder / "report.html").read_text()
    head, *body = table(page)
    assert head == ["", "unit", "HPCC, delay 1us", "HPCC, delay 3us", "OSCAR, delay 1us", "OSCAR, delay 3us"]
    differences = [row for row in body if row[0] == "to HPCC"]
    assert differences
    assert all(row[2:4] == ["baseline", "baseline"] for row in differences)
    assert "its runs by <code>incast sweep" in page
    # Nothing is drawn, so two seeds decide, and what the cell says is exact.
    assert "Nothing is drawn: the differences are exact." in page
    assert incast("report", "out", "--baseline", "delay=1us").returncode == 0
    body = table((incast.folder / "report.html").read_text())
    assert next(row[2:5:2] for row in body if row[0] == "to delay 1us") == ["baseline", "baseline"]


def many(folder: Path, entries: int, seeds: int = 1) -> Grid:
    """A grid of entries whose means rise with their number, from the one with the number 1."""
    one = incast.Result.open(written(folder, "oscar", [1.0])[0])
    axis = Axis("topology.delay", tuple(f"{n}us" for n in range(1, entries + 1)))
    outcome = one.info["outcome"]

    def run(number: int, seed: int) -> Run:
        ended = {**outcome, "fingerprint": f"{seed}"}
        info = slowdown({**one.info, "seed": seed, "outcome": ended}, number + seed / 10)
        return replace(run_of(one), seed=seed, info=info)

    runs: dict[tuple[str, ...], list[Run]] = {
        (value,): [run(n, seed) for seed in range(1, seeds + 1)] for n, value in enumerate(axis.values, 1)
    }
    return made_of("many", [axis], runs)


@pytest.mark.parametrize(("entries", "said"), [(24, ""), (25, "the other one has"), (30, "the other 6 have")])
def test_of_many_entries_only_some_have_details(tmp_path: Path, entries: int, said: str) -> None:
    grid = many(tmp_path, entries)
    page = report.write(grid, tmp_path / "a.html").read_text()
    content = json.loads(re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)[0])
    assert len(content["entries"]) == MOST_DETAILED
    if not said:
        assert "no details here" not in page
    else:
        assert f"What follows is of 24 entries; {said} no details here." in page
    # All are in the table that compares them.
    assert len(table(page)) == 1 + entries


def test_the_baseline_has_details_and_then_the_best(tmp_path: Path) -> None:
    grid = many(tmp_path, 40)
    chosen = [entry.values[0] for entry in detailed(grid, Baseline(0, "33us"))]
    assert chosen == ["33us", *(f"{n}us" for n in range(1, 24))]
    # All of few entries, as they were asked for.
    few = many(tmp_path / "b", 3)
    assert [entry.values[0] for entry in detailed(few, Baseline(0, "3us"))] == ["1us", "2us", "3us"]


def test_more_than_twelve_entries_are_rows(tmp_path: Path) -> None:
    page = report.write(
        many(tmp_path, MOST_COLUMNS + 1, seeds=3), tmp_path / "a.html", baseline="1us"
    ).read_text()
    head, *body = table(page)
    assert head == [
        "entry", "p99 of small flows", "to delay 1us", "mean slowdown of flows", "to delay 1us",
        "p99 of all flows", "to delay 1us", "seeds", "flows",
    ]  # fmt: skip
    assert [row[0] for row in body] == [f"delay {n}us" for n in range(1, 14)]
    # 1.2 ± 4.302653 · 0.1 / √3.
    assert body[0][1:3] == ["1.20 ± 0.25", "baseline"]
    # ln(13.1 / 1.1), ln(13.2 / 1.2), ln(13.3 / 1.3): m = 2.4002, s = 0.0760. Of 12 comparisons each has
    # 1 − 0.05 / 12, t(2) = √2 · c / √(1 − c²) = 15.443, h = 0.678: 11.03 from 5.60 to 21.7.
    assert body[12][2] == "×11 (5 – 22) worse"


def test_a_click_on_a_head_sorts_the_rows(tmp_path: Path, shown: Callable[..., Page]) -> None:
    page = shown(report.write(many(tmp_path, 13, seeds=3), tmp_path / "a.html", baseline="1us"))
    heads = page.locator("#differences thead th")

    def first(column: int) -> list[str]:
        return [
            row.split("\t")[column] for row in page.locator("#differences tbody tr").all_inner_texts()[:2]
        ]

    heads.nth(1).get_by_role("button").click()
    assert (heads.nth(1).get_attribute("aria-sort"), first(1)) == (
        "ascending",
        ["1.20 ± 0.25", "2.20 ± 0.25"],
    )
    heads.nth(1).get_by_role("button").click()
    assert heads.nth(1).get_attribute("aria-sort") == "descending"
    assert first(0) == ["delay 13us", "delay 12us"]
    # The baseline has no difference to itself, and stays at the end.
    for order in ("ascending", "descending"):
        heads.nth(2).get_by_role("button").click()
        assert heads.nth(2).get_attribute("aria-sort") == order
        assert page.locator("#differences tbody tr th").last.inner_text() == "delay 1us"
    assert heads.nth(1).get_attribute("aria-sort") is None
    # The head stays in view while the rows move.
    top = page.locator("#differences").bounding_box()
    page.locator("#differences").evaluate("box => { box.style.maxHeight = '150px'; box.scrollTop = 200; }")
    stays = heads.nth(1).bounding_box()
    assert top
    assert stays
    assert abs(stays["y"] - top["y"]) < 3


@pytest.mark.parametrize(("entries", "seeds"), [(200, 5), (1000, 1)])
def test_a_thousand_results_make_a_page_of_some_size(tmp_path: Path, entries: int, seeds: int) -> None:
    grid = many(tmp_path, entries, seeds)
    file = report.write(grid, tmp_path / "a.html", baseline="1us", require=["p99.small < 100"])
    assert file.stat().st_size <= 20e6
    assert Lines(file.read_text()).nodes <= 40_000


TINY = """
seed = 1
topology = { kind = "star", hosts = 3, rate = "100Gbps", delay = "1us" }
cc = { algorithm = "oscar" }
traffic = [{ name = "f", kind = "flows", from = ["h0", "h1"], to = "h2", size = "20KB" }]
probe = { ports = ["to h2"], interval = "1us", limits = "1us" }
"""


def test_two_hundred_real_results_make_a_page_of_some_size(tmp_path: Path) -> None:
    """Runs of tiny stars, with all that a real result has: samples, network, limits, the scenario."""
    scenario = incast.Scenario.from_toml(TINY, "tiny.toml")
    delays = [f"{1000 + 10 * n}ns" for n in range(100)]
    its: dict[tuple[str, ...], list[Run]] = {
        (cc, delay): [run_of(scenario.with_algorithm(cc).with_({"topology.delay": delay}).run())]
        for cc in ("oscar", "hpcc")
        for delay in delays
    }
    axes = [Axis("cc", ("oscar", "hpcc")), Axis("topology.delay", tuple(delays))]
    grid = made_of("tiny", axes, its)
    file = report.write(grid, tmp_path / "a.html", baseline="oscar", require=["p99.small < 100"])
    page = file.read_text()
    lines = Lines(page)
    few = Grid(grid.name, grid.axes, grid.entries[: MOST_DETAILED // 2] + grid.entries[100:112])
    start = report.write(few, tmp_path / "b.html", baseline="oscar", require=["p99.small < 100"])
    # 1,000 results may have 20 MB and 40,000 nodes. Both pages have details of 24 entries; each further entry
    # has its share of them.
    further = 200 - MOST_DETAILED
    assert file.stat().st_size - start.stat().st_size <= further * 20e3
    assert lines.nodes - Lines(start.read_text()).nodes <= further * 40
    assert (file.stat().st_size <= 20e6, lines.nodes <= 40_000) == (True, True)
    assert len(table(page)) == 1 + 200
    assert "Requirements: 200 of 200 met" in lines.texts
    assert page.count('<path class="l-sending"') == 2 * MOST_DETAILED


def test_a_run_without_a_result_is_named(tmp_path: Path) -> None:
    grid = Grid.of(results(tmp_path))
    grid = replace(grid, failed={"cc=oscar seed=4": "the disk is full"}, command="incast sweep x.toml")
    page = report.write(grid, tmp_path / "a.html").read_text()
    texts = Lines(page).texts
    said = texts.index("cc=oscar seed=4 has no result")
    assert texts[said + 1] == "The disk is full"
    assert said < texts.index("Answers")
    assert "sound: OSCAR: 1 of 4 runs failed" in texts
    assert "Runs made by <code>incast sweep x.toml</code>." in page


def test_one_result_has_no_table_of_differences(tmp_path: Path) -> None:
    (one,) = written(tmp_path, "oscar", [2.0])
    page = report.write(incast.Result.open(one), tmp_path / "a.html", require=["p99.small < 3"]).read_text()
    assert 'id="differences"' not in page
    assert "p99.small &lt; 3: met, 2.00, 1 seed" in page
    with pytest.raises(ValueError, match="baseline oscar: cc has no other value"):
        report.write(incast.Result.open(one), tmp_path / "a.html", baseline="oscar")


def test_runs_without_tables_make_no_report(tmp_path: Path) -> None:
    (one,) = written(tmp_path, "oscar", [2.0])
    info = incast.Result.open(one).info
    with pytest.raises(ValueError, match="at least one result"):
        report.write(made_of("x", [], {(): [Run(1, info)]}), tmp_path / "a.html")
