"""Additions to MkDocs for the site: folders in the navigation, and no network.

MkDocs calls these functions by their names.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

Nav = list[Any]


def on_config(config: Any) -> Any:  # noqa: ANN401  # MkDocs has no types that mypy could know
    """Puts the pages of a folder where the navigation says ``folder/*``."""
    docs = Path(config["docs_dir"])
    named = set(_pages(config["nav"]))
    config["nav"] = _filled(config["nav"], docs, named)
    return config


def on_page_content(html: str, **_: object) -> str:
    """Takes the marks for other tools (``:class:``) out of the docstrings."""
    return re.sub(r":(?:attr|class|data|exc|func|meth|mod):(?=<code>)", "", html)


def on_post_build(config: Any) -> None:  # noqa: ANN401
    """Takes out of the theme's scripts what they would load from elsewhere.

    The theme loads Mermaid when a page has such a diagram, and a help for the search when the site is
    opened from a disk, both from unpkg.com, and the stars of a repository from api.github.com. No page
    has such a diagram, and no repository is named; without the help the search needs a server, and
    everything else works.
    """
    for script in Path(config["site_dir"]).rglob("*.js"):
        text = script.read_text()
        cleaned = re.sub(r"https://(?:unpkg|api\.github)\.com/[^\"'`\s]*", "data:,", text)
        if cleaned != text:
            script.write_text(cleaned)


def _pages(nav: Nav) -> list[str]:
    """Every page that the navigation names."""
    found: list[str] = []
    for item in nav:
        value = next(iter(item.values())) if isinstance(item, dict) else item
        found += _pages(value) if isinstance(value, list) else [value]
    return found


def _filled(nav: Nav, docs: Path, named: set[str]) -> Nav:
    filled: Nav = []
    for item in nav:
        if isinstance(item, dict):
            title, value = next(iter(item.items()))
            if isinstance(value, str) and value.endswith("/*"):
                value = [value]
            if isinstance(value, list):
                value = _filled(value, docs, named)
            if value:
                filled.append({title: value})
        elif item.endswith("/*"):
            folder = docs / item.removesuffix("/*")
            pages = sorted(folder.glob("*.md"), key=_title) if folder.is_dir() else []
            names = [page.relative_to(docs).as_posix() for page in pages]
            filled += [name for name in names if name not in named]
        elif (docs / item).exists():
            filled.append(item)
        elif item not in MADE_LATER:
            raise SystemExit(f"mkdocs.yml: the navigation names {item}, which is not there")
    return filled


# Pages that other commands write; the site does without them where they are not there.
MADE_LATER = {"reproduction.md", "report.md"}


def _title(page: Path) -> list[tuple[str, int]]:
    """The first heading of a page, for its place among others: `fig9` is before `fig10`."""
    heading = re.search(r"^# (.+)$", page.read_text(), re.MULTILINE)
    title = (heading[1] if heading else page.stem).lower()
    return [(words, int(number or 0)) for words, number in re.findall(r"(\D*)(\d*)", title)]
