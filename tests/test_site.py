"""The documentation site: built strictly, complete, and silent towards every network."""

from __future__ import annotations

import importlib.util
import inspect
import re
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest

import incast
from helpers import ROOT
from report.browser import browser

pytestmark = pytest.mark.xdist_group("browser")
"""With several processes (pytest-xdist), one runs all tests with a browser, and builds the site once."""

HOOKS = ROOT / "docs/site_hooks.py"

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


def test_every_page_is_there(site: Path) -> None:
    """Plans are not published: they describe what is not built yet."""
    pages = {p.relative_to(ROOT / "docs").with_suffix(".html") for p in (ROOT / "docs").rglob("*.md")}
    assert len(pages) > 25
    missing = {page.as_posix() for page in pages if not (site / page).exists()}
    assert {page for page in missing if not page.startswith("dev/plans/")} == set()
    assert not (site / "dev/plans").exists()


def test_every_public_name_is_on_a_page_of_the_api(site: Path) -> None:
    texts = [path.read_text() for path in (site / "api").glob("*.html")]
    found = [name for text in texts for name in Page(text).names if name.startswith("incast.")]
    assert sorted({name for name in found if found.count(name) > 1}) == []
    modules = {name for name in incast.__all__ if inspect.ismodule(getattr(incast, name))}
    names = {f"incast.{name}" for name in set(incast.__all__) - modules - {"__version__"}}
    names |= {f"incast.sections.{name}" for name, one in vars(incast.sections).items() if is_section(one)}
    assert len(names) > 20
    assert sorted(names - set(found)) == []
    assert not any(":class:" in text for text in texts)
    # Each is in the list.
    listed = Page((site / "api.html").read_text()).links
    assert {f"api/{path.name}" for path in (site / "api").glob("*.html")} <= set(listed)


def is_section(one: object) -> bool:
    """Whether it is a class of a section, and not one that they are made of."""
    return inspect.isclass(one) and one.__module__ == "incast.sections"


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
        for name in ("index.html", "api.html", "api/results.html", "models.html", "reference/scenario.html"):
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
        # Pages about a subject come before lists of names that contain it.
        # The theme reads what is typed at the end of a key: twice here, once nothing and once the whole word.
        box.fill("")
        box.press("Backspace")
        page.wait_for_function(ready)
        box.fill("pf")
        box.press("c")
        first = page.locator(".md-search-result__link").first
        first.wait_for()
        assert "/network/" in (first.get_attribute("href") or "")
    assert len(asked) > 10
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
    assert said == []


def test_a_block_of_commands_is_copied_without_prompts_and_outputs(address: str) -> None:
    """The button of `incast sweep` in the tutorial copies its two lines, the first with its backslash."""
    wanted = (
        "incast sweep examples/load.toml --out sweep \\\n"
        "    --vary cc=oscar,dcqcn --vary load=0.2,0.4 --seeds 3"
    )
    with browser() as chromium:
        context = chromium.new_context()
        context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address.rstrip("/"))
        page = context.new_page()
        page.set_default_timeout(0)
        page.goto(address + "tutorial/many-runs.html")
        page.wait_for_selector("html.js")
        page.locator(".md-code__button").first.click()
        page.locator(".md-dialog--active").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == wanted
        # A block of Python is copied as it is.
        page.goto(address + "tutorial/results.html")
        block = page.locator("div.highlight:not([data-copy])", has=page.locator(".md-code__button")).first
        block.locator(".md-code__button").click()
        page.locator(".md-dialog--active").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == block.locator("code").inner_text().rstrip()
        assert copied.startswith("import incast")


def test_titles_of_the_table_of_figures_stay_in_sight_on_a_phone(address: str) -> None:
    """Scrolled to its end, the first cell of a row is where the box begins; the claims have wrapped."""
    with browser() as chromium:
        page = chromium.new_page(viewport={"width": 400, "height": 800})
        page.set_default_timeout(0)
        page.goto(address + "reproduction.html")
        box = page.locator(".md-typeset__scrollwrap", has=page.locator("text=oscar/fig9")).last
        box.wait_for()
        left, width, scrolled, wide = box.evaluate(
            """(box) => {
              box.scrollLeft = 10000;
              const first = box.querySelector("tbody td").getBoundingClientRect();
              const { left, width } = box.getBoundingClientRect();
              return [first.left - left, width, box.scrollLeft, box.scrollWidth];
            }"""
        )
    assert scrolled > 0
    assert 0 <= left < 20
    assert wide < 2 * width


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("$ one\noutput\n$ two\n", "one\ntwo"),
        ("$ one \\\n    --more\n$ no\n", "one \\\n    --more\nno"),
        ("no command\n", ""),
    ],
)
def test_commands_of_a_console_block(text: str, commands: str) -> None:
    assert hooks().console_commands(text) == commands


def test_the_page_for_contributors_has_links_of_its_place() -> None:
    text = (
        "[a](docs/dev/extend/index.md) [b](docs/dependencies.md) [c](CHANGELOG.md) [d](https://x.org) [e](#f)"
    )
    assert hooks().contributing(text) == (
        "[a](extend/index.md) [b](../dependencies.md) c [d](https://x.org) [e](#f)"
    )


def test_the_repository_is_linked_where_the_project_names_one(site: Path) -> None:
    """While ``pyproject.toml`` has no address, none is shown."""
    assert hooks().repository('[project]\nname = "x"') is None
    assert hooks().repository('[project.urls]\nRepository = "https://x.org/y"') == "https://x.org/y"
    named = hooks().repository((ROOT / "pyproject.toml").read_text())
    index = (site / "index.html").read_text()
    assert ("md-source" in index) == (named is not None)


def hooks() -> ModuleType:
    """Returns the module of what is added to MkDocs."""
    spec = importlib.util.spec_from_file_location("site_hooks", HOOKS)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
