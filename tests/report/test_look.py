"""Appearance of the report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

import incast
from incast import report
from report.browser import settle
from report.made import Made
from report.pictures import ALLOWED, check, difference, picture

pytestmark = pytest.mark.xdist_group("browser")
"""With several processes (pytest-xdist), one runs all tests with a browser, and builds the site once."""

Opener = Callable[..., Page]


@pytest.mark.parametrize(
    ("name", "width", "scheme"), [("wide", 1000, "light"), ("dark", 1000, "dark"), ("phone", 360, "light")]
)
def test_a_comparison_looks_as_it_did(
    shown: Opener, compared: Path, name: str, width: int, scheme: str
) -> None:
    check(shown(compared, width=width, scheme=scheme), name)


def test_a_killed_run_looks_as_it_did(shown: Opener, tmp_path: Path) -> None:
    result = incast.Result.open(Made(name="a run that was killed", killed=True).write(tmp_path / "killed"))
    check(shown(report.write(result, tmp_path / "report.html"), width=800), "killed")


def test_one_line_less_is_a_difference(shown: Opener, compared: Path) -> None:
    page = shown(compared)
    window = page.locator("#series .plot").nth(3)
    before = picture(window.screenshot())
    page.locator("#entries button", has_text="HPCC").click()
    settle(page)
    after = picture(window.screenshot())
    assert difference(before, before) == 0
    assert before.size == after.size
    assert difference(before, after) > ALLOWED
    assert difference(before, before.crop((0, 0, 50, 50))) == 1
