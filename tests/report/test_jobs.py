"""The jobs of a report: what the table says is what the results hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

import incast
from helpers import SMALL
from incast import report
from incast.report.jobs import LISTED, jobs
from incast.results.listing.sheet import number

pytestmark = pytest.mark.xdist_group("browser")
"""With several processes (pytest-xdist), one runs all tests with a browser, and builds the site once."""

Opener = Callable[..., Page]

TWO = """\
[topology]
kind = "star"
hosts = 8
rate = "100Gbps"
delay = "1us"

[cc]
algorithm = "hpcc"

[[traffic]]
name = "talk"
kind = "ring-allreduce"
hosts = ["h0-h3"]
size = "200KB"

[[traffic]]
name = "train"
kind = "ring-allreduce"
hosts = ["h4-h7"]
size = "200KB"
compute = "10us"
passes = 2
"""
"""Two jobs: one that only communicates, and one that also computes."""


def rows(page: str) -> list[list[str]]:
    """The cells of the rows of the table of jobs, its head first; none without the section."""
    found = re.search(r'id="jobs">(.*?)</table>', page)
    if found is None:
        return []
    lines = re.findall(r"<tr.*?</tr>", found[1])
    return [re.findall(r"<t[hd][^>]*>(?:<span[^>]*></span>)?(.*?)</t[hd]>", line) for line in lines]


def test_jobs_are_listed_with_bound_and_straggler(tmp_path: Path) -> None:
    result = incast.Scenario.from_toml(TWO).run()
    head, talk, train = rows(report.write(result, tmp_path / "a.html").read_text())
    assert head[:5] == ["job", "flows", "completion time (µs)", "lower bound (µs)", "ratio"]
    assert head[5:] == ["bus bandwidth (Gbit/s)", "straggler"]
    of = {name: result.jobs.column(name).tolist() for name in result.jobs.columns}
    time, bound = of["jct_ps"][0] / 1e6, of["bound_ps"][0] / 1e6
    ratio = f"{of['bound_ratio'][0]:.3f}"
    # 200 KB of four ranks, times 2 · 3/4; without the computation.
    assert of["busbw_bps"][0] == pytest.approx(300_000 * 8 / (time * 1e-6))
    assert of["busbw_bps"][1] == pytest.approx(600_000 * 8 / (of["jct_ps"][1] * 1e-12 - 10e-6))
    rates = [number(rate / 1e9) for rate in of["busbw_bps"]]
    assert talk == ["talk", "4", number(time), number(bound), ratio, rates[0], of["straggler_host"][0]]
    assert float(ratio) == pytest.approx(time / bound, abs=5e-4)
    # The second pass begins after the computation.
    time, bound = of["jct_ps"][1] / 1e6, of["bound_ps"][1] / 1e6
    assert bound > 10 + of["bound_ps"][0] / 1e6
    ratio = f"{of['bound_ratio'][1]:.3f}"
    assert train == ["train", "8", number(time), number(bound), ratio, rates[1], of["straggler_host"][1]]


def test_a_job_that_did_not_end_says_so(tmp_path: Path) -> None:
    # The flow of a pass is 300 KB, which take 24 us at least.
    cut = incast.Scenario.from_toml(TWO).with_({"run.until": "20us"}).run()
    _, talk, _ = rows(report.write(cut, tmp_path / "a.html").read_text())
    assert (talk[2], talk[4:]) == ("not ended", ["–", "–", "–"])


def test_results_without_jobs_have_no_such_section(tmp_path: Path) -> None:
    page = report.write(incast.Scenario.from_toml(SMALL).run(), tmp_path / "a.html").read_text()
    assert 'id="jobs' not in page


def test_of_many_jobs_the_slowest_are_listed() -> None:
    many = f"""\
[topology]
kind = "star"
hosts = {2 * (LISTED + 10)}
rate = "100Gbps"
delay = "1us"

[cc]
algorithm = "hpcc"

[[traffic]]
kind = "ring-allreduce"
groups = "consecutive"
group_size = 2
size = "10KB"

[[traffic]]
name = "large"
kind = "ring-allreduce"
hosts = ["h2-h3"]
size = "200KB"
"""
    result = incast.Scenario.from_toml(many).run()
    listed, number_of_all = jobs([result])
    assert (len(listed), number_of_all) == (LISTED, LISTED + 11)
    slowest = sorted(result.jobs.column("jct_ps"), reverse=True)[:LISTED]
    assert [row.slow for row in listed] == slowest
    assert listed[0].job == "large"


def test_jobs_of_several_results_are_beside_each_other_and_hidden_with_them(
    tmp_path: Path, shown: Opener
) -> None:
    scenario = incast.Scenario.from_toml(TWO)
    results = {"first": scenario.run(), "second": scenario.with_algorithm("swift").run()}
    file = report.write(results, tmp_path / "a.html")
    head, *body = rows(file.read_text())
    assert head[:2] == ["job", "result"]
    named = [(row[0], row[1]) for row in body]
    assert named == [(job, result) for job in ("talk", "train") for result in ("first", "second")]
    page = shown(file)
    page.locator("#entries button", has_text="first").click()
    left = page.locator("#jobs tbody tr:visible")
    assert [line.split("\t")[1].strip() for line in left.all_inner_texts()] == ["second", "second"]
