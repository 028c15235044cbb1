"""Additions to MkDocs for the site: folders in the navigation, what is copied, and no network.

MkDocs calls these functions by their names.
"""

from __future__ import annotations

import html
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CONTRIBUTING = "dev/contributing.md"
"""The page that is made of the repository's ``CONTRIBUTING.md``."""

Nav = list[Any]


def on_config(config: Any) -> Any:  # noqa: ANN401  # MkDocs has no types that mypy could know
    """Puts the pages of a folder where the navigation says ``folder/*``, and names the repository."""
    docs = Path(config["docs_dir"])
    named = set(_pages(config["nav"]))
    config["nav"] = _filled(config["nav"], docs, named)
    root = docs.parent
    config["repo_url"] = repository((root / "pyproject.toml").read_text()) or config["repo_url"]
    return config


def repository(project: str) -> str | None:
    """Returns the address of the repository in the text of ``pyproject.toml``, the only place that has it."""
    urls: dict[str, str] = tomllib.loads(project)["project"].get("urls", {})
    return urls.get("Repository")


def on_files(files: Any, config: Any) -> Any:  # noqa: ANN401
    """Adds the page for contributors, which is the repository's own."""
    source = Path(config["docs_dir"]).parent / "CONTRIBUTING.md"
    page = File.generated(config, CONTRIBUTING, content=contributing(source.read_text()))
    files.append(page)
    return files


def contributing(text: str) -> str:
    """Returns the page for contributors, with links as they are from its place on the site.

    What is not on the site is named without a link.
    """

    def moved(match: re.Match[str]) -> str:
        label, target = match.groups()
        if re.match(r"https?:|#", target):
            return match[0]
        if not target.startswith("docs/"):
            return str(label)
        return f"[{label}]({posixpath.relpath(target, 'docs/dev')})"

    return re.sub(r"\[([^\]]+)\]\(([^)]+)\)", moved, text)


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:  # noqa: ANN401
    """Says how much a page counts in the search: guides more, lists of the interface less."""
    for folder, boost in _BOOSTS.items():
        if page.file.src_uri.startswith(folder):
            page.meta.setdefault("search", {"boost": boost})
    return markdown


_BOOSTS = {"guide/": 2, "network/": 2, "api/": 0.5}


def on_page_content(content: str, **_: object) -> str:
    """Corrects the content of a page, for readers and for their tools.

    Marks for other tools (``:class:``) leave the docstrings. Commands are copied without prompts and
    outputs. Code can be reached with the keyboard. Empty heads of tables are cells.
    """
    content = re.sub(r":(?:attr|class|data|exc|func|meth|mod):(?=<code>)", "", content)
    content = re.sub(r"<th([^>]*)></th>", r"<td\1></td>", content)
    content = _BLOCK.sub(_copied, content)
    return content.replace("</span><code>", '</span><code tabindex="0">')


def on_post_page(output: str, **_: object) -> str:
    """Corrects the theme's frame around a page: names of parts, each of which has one of its own."""
    output = output.replace(_SEARCH, f'{_SEARCH} aria-label="Search"')
    return _without_inner_landmarks(output)


def on_post_template(output_content: str, **_: object) -> str:
    """Corrects the frame of the page that is shown for an address that is not there."""
    return on_post_page(output_content)


def _without_inner_landmarks(output: str) -> str:
    """The list of contents is one landmark: lists within it are boxes, since their names are not unique."""
    inner: list[bool] = []

    def plain(match: re.Match[str]) -> str:
        if match[0] == "</nav>":
            return "</div>" if inner.pop() else match[0]
        inner.append(match[0].startswith('<nav class="md-nav" aria-label='))
        return '<div class="md-nav">' if inner[-1] else match[0]

    return re.sub(r"<nav\b[^>]*>|</nav>", plain, output)


_SEARCH = 'data-md-component="search" role="dialog"'
_BLOCK = re.compile(r'<div class="([^"]*\bhighlight\b[^"]*)"><pre>(.*?)</pre>', re.DOTALL)


def _copied(match: re.Match[str]) -> str:
    """A block of code, with what its button copies where it has commands."""
    commands = console_commands(html.unescape(re.sub(r"<[^>]+>", "", match[2])))
    if 'class="gp"' not in match[2] or not commands:
        return match[0]
    return f'<div class="{match[1]}" data-copy="{html.escape(commands)}"><pre>{match[2]}</pre>'


def console_commands(text: str) -> str:
    """Returns the commands of a console block, without prompts and outputs."""
    found: list[str] = []
    continued = False
    for line in text.splitlines():
        if continued or line.startswith("$ "):
            found.append(line if continued else line[2:])
            continued = line.endswith("\\")
    return "\n".join(found)


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
        elif (docs / item).exists() or item == CONTRIBUTING:
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
