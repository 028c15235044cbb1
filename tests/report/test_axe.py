"""Reports, and what results show in notebooks, keep the rules of axe-core in every state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import incast
from axe import NARROW_AND_DARK, STATES, offences
from helpers import SMALL
from incast import report
from report.made import Made
from report.test_changes import DOWN, made

pytestmark = pytest.mark.xdist_group("browser")
"""With several processes (pytest-xdist), one runs all tests with a browser, and builds the site once."""

NOTEBOOK = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Notebook</title>
<meta name="viewport" content="width=device-width"><style>
:root {{ color-scheme: light dark; }} body {{ background: Canvas; color: CanvasText; }}
</style></head><body><main><h1>Notebook</h1>{shown}</main></body></html>"""


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Page]:
    page = chromium.new_page(bypass_csp=True)
    page.set_default_timeout(0)
    yield page
    page.close()


def broken(page: Page, file: Path, ready: str = "html[data-ready]") -> list[str]:
    return offences(page, file.as_uri(), (*STATES, NARROW_AND_DARK), ready=ready)


def test_a_report_with_all_sections_breaks_no_rule(tab: Page, tmp_path: Path) -> None:
    """One run failed, one has changes of links; all that is folded is unfolded."""
    waiting = [{"flow": n, "waits_for": "port 1 of leaf0, which is paused"} for n in range(40)]
    outcome = {"end": "stalled", "why": "no progress since 2ms", "waiting": waiting}
    failed = Made(algorithm="hpcc", outcome=outcome, flows=300, samples=50).write(tmp_path / "failed")
    results = [made(tmp_path, "oscar", DOWN, samples=50), incast.Result.open(failed)]
    file = report.write(results, tmp_path / "report.html")
    text = file.read_text()
    assert text.count("<details>") == 2
    file.write_text(text.replace("<details>", "<details open>"))
    assert broken(tab, file) == []
    assert tab.locator("figure").count() == 9


def test_a_report_with_a_heat_map_and_jobs_breaks_no_rule(tab: Page, tmp_path: Path) -> None:
    result = incast.Result.open(Made(leaves=30, hosts=2, flows=100, samples=50).write(tmp_path / "wide"))
    assert broken(tab, report.write(result, tmp_path / "report.html")) == []
    assert tab.locator("#network .cell").count() > 100


def test_what_notebooks_show_breaks_no_rule(tab: Page, tmp_path: Path) -> None:
    scenario = incast.Scenario.from_toml(SMALL)
    result = scenario.run()
    compared = incast.compare(scenario, ["oscar", "hpcc"])
    repeated = incast.replicate(scenario, seeds=[1, 2])
    shown = [result._repr_html_(), scenario._repr_html_(), compared._repr_html_(), repeated._repr_html_()]
    file = tmp_path / "notebook.html"
    file.write_text(NOTEBOOK.format(shown="".join(shown)))
    assert broken(tab, file, ready="html") == []
    assert tab.locator("table").count() >= 4
