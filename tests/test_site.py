"""The documentation site: built strictly, complete, and silent towards every network."""

from __future__ import annotations

import functools
import inspect
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import incast
from helpers import ROOT
from report.browser import browser

pytestmark = pytest.mark.xdist_group("browser")
"""With several processes (pytest-xdist), one runs all tests with a browser, and builds the site once."""

# What a browser loads by itself, by tag; a link that a person may follow is not among it.
_LOADED = {
    "audio": ("src",),
    "embed": ("src",),
    "iframe": ("src",),
    "img": ("src", "srcset"),
    "input": ("src",),
    "link": ("href",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
}
# Links in a page's head that are addresses and not loaded.
_ADDRESSES = {"canonical", "next", "prev", "alternate"}
_CSS = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


class Page(HTMLParser):
    """Parts of a page: what it loads, where it links to, and the names in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.names |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        address = tag == "link" and set(given.get("rel", "").split()) & _ADDRESSES
        if not address:
            self.loads += [given[name] for name in _LOADED.get(tag, ()) if name in given]
        self.loads += [a or b for a, b in _CSS.findall(given.get("style", ""))]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: a broken link or a page out of the navigation is an error."""
    out = tmp_path_factory.mktemp("docs") / "site"
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", out],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return out


def test_every_page_is_there(site: Path) -> None:
    """Plans are not published: they describe what is not built yet."""
    pages = {p.relative_to(ROOT / "docs").with_suffix(".html") for p in (ROOT / "docs").rglob("*.md")}
    assert len(pages) > 25
    missing = {page.as_posix() for page in pages if not (site / page).exists()}
    assert {page for page in missing if not page.startswith("dev/plans/")} == set()
    assert not (site / "dev/plans").exists()


def test_every_public_name_is_on_the_page_of_the_api(site: Path) -> None:
    page = Page((site / "api.html").read_text())
    modules = {name for name in incast.__all__ if inspect.ismodule(getattr(incast, name))}
    names = {f"incast.{name}" for name in set(incast.__all__) - modules - {"__version__"}}
    assert len(names) > 20
    assert sorted(names - page.names) == []
    assert ":class:" not in (site / "api.html").read_text()


def test_what_pages_load_and_link_to_is_in_the_site(site: Path) -> None:
    pages = {path: Page(path.read_text()) for path in site.rglob("*.html")}
    wrong = []
    for path, page in pages.items():
        if path.name == "404.html":
            continue  # its links are absolute: it may be shown anywhere
        for link in [*page.loads, *page.links]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loads and parts.scheme != "data":
                    wrong.append(f"{path.relative_to(site)} loads {link}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                wrong.append(f"{path.relative_to(site)}: {link} leads nowhere")
            elif parts.fragment and target in pages:
                anchor = unquote(parts.fragment)
                if anchor not in pages[target].names and not anchor.startswith("__"):
                    wrong.append(f"{path.relative_to(site)}: {link} has no such place")
    assert wrong == []


def test_styles_load_nothing_from_elsewhere(site: Path) -> None:
    styles = list(site.rglob("*.css"))
    assert styles
    found = [a or b for path in styles for a, b in _CSS.findall(path.read_text())]
    assert [url for url in found if re.match(r"(https?:)?//", url)] == []


def test_scripts_know_no_address_to_load_from(site: Path) -> None:
    scripts = "".join(path.read_text() for path in site.rglob("*.js"))
    hosts = r"unpkg|jsdelivr|cdnjs|googleapis|gstatic|api\.github|google-analytics"
    assert re.findall(rf"https?://[\w.-]*(?:{hosts})[^\"'`\s]*", scripts) == []


class Quiet(SimpleHTTPRequestHandler):
    """A server that does not print."""

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  # its name in the library
        del format, arguments


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Serves the site and yields its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()
    thread.join()


def test_in_a_browser_nothing_else_is_asked_for(address: str) -> None:
    """Pages are opened and searched; requests leave for the own server only, and the console is silent."""
    asked: list[str] = []
    said: list[str] = []
    with browser() as chromium:
        page = chromium.new_page()
        page.set_default_timeout(0)
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        for name in ("index.html", "api.html", "models.html", "reference/scenario.html"):
            page.goto(address + name)
            page.wait_for_load_state("networkidle")
        page.wait_for_selector("html.js")
        box = page.locator("input.md-search__input").first
        box.click()
        # What is typed before the index has been read is not searched for.
        ready = "document.querySelector('.md-search-result__meta').textContent.includes('Type to start')"
        page.wait_for_function(ready)
        box.press_sequentially("headroom", delay=20)
        page.locator(".md-search-result__item").first.wait_for()
    assert len(asked) > 10
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
    assert said == []
