"""Pages of the site keep the rules of axe-core, on a desk and on a phone, light and dark.

With ``INCAST_EVERY_PAGE=1``, as by ``make axe``, all are checked (ten minutes); else `KINDS` and one page
of each folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from axe import NARROW_AND_DARK, STATES, offences
from report.browser import browser

pytestmark = pytest.mark.xdist_group("browser")

KINDS = (
    "404.html",
    "index.html",
    "gallery.html",
    "reproduction.html",
    "guide/sweeps.html",
    "api/results.html",
)
"""Pages that have all that a page can have: checked in every state, and with the style sheets."""

BAD = """<!doctype html><html lang="en"><title>bad</title><main><h1>Bad</h1>
<p style="color: #777; background: #888">unreadable</p><button></button></main></html>"""


@pytest.fixture
def tab() -> Iterator[Page]:
    """A page of a browser, which loads no index for the search."""
    with browser() as chromium:
        page = chromium.new_page()
        page.set_default_timeout(0)
        page.route("**/search_index.json", lambda route: route.abort())
        yield page


def test_no_page_breaks_a_rule(tab: Page, site: Path, address: str) -> None:
    """The rule about the screen's orientation reads the style sheets, which all pages share: see `KINDS`."""
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    assert len(pages) > 150
    if not os.environ.get("INCAST_EVERY_PAGE"):
        first = {page.rpartition("/")[0]: page for page in reversed(pages)}
        pages = sorted({*KINDS, *first.values()})
    found = {}
    for page in pages:
        every = page in KINDS
        found[page] = offences(tab, address + page, (*STATES, *[NARROW_AND_DARK] * every), preload=every)
    assert {page: broken for page, broken in found.items() if broken} == {}
    assert set(KINDS) <= set(found)


def test_what_is_wrong_is_found(tab: Page, tmp_path: Path) -> None:
    """#777 on #888 has a contrast of 1.26, at least 4.5 is asked for; the button has no name."""
    path = tmp_path / "bad.html"
    path.write_text(BAD)
    states = [*STATES, NARROW_AND_DARK]
    found = offences(tab, path.as_uri(), states)
    rules = [(where, rule) for where, rule, *_ in (each.split(": ") for each in found)]
    assert [where for where, rule in rules if rule == "color-contrast"] == [
        f"{state.width} px, {state.scheme}" for state in states
    ]
    assert [where for where, rule in rules if rule == "button-name"] == ["1280 px, light", "400 px, light"]
    assert {rule for _, rule in rules} == {"color-contrast", "button-name"}
