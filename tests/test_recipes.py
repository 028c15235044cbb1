"""The recipes in ``docs/dev/extend``: the code that a page shows is code of the repository.

A fenced block with ``title="path"`` shows lines of that file, in a row and unchanged. When the file has
changed, ``UPDATE_DOCS=1 pytest tests/test_recipes.py`` puts its present lines into the page, from the first
line of the block to the last.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from helpers import ROOT
from snippets import Block, blocks

FOLDER = ROOT / "docs/dev/extend"
PAGES = sorted(FOLDER.glob("*.md"))
UPDATE = bool(os.environ.get("UPDATE_DOCS"))


def find(lines: list[str], part: list[str]) -> int | None:
    """Returns the index at which `part` occurs in `lines`, in a row and with its indentation."""
    starts = range(len(lines) - len(part) + 1)
    return next((start for start in starts if lines[start : start + len(part)] == part), None)


def between(lines: list[str], first: str, last: str) -> list[str] | None:
    """Returns the lines from `first` to the next `last`, if there is exactly one `first`."""
    if lines.count(first) != 1:
        return None
    start = lines.index(first)
    if last not in lines[start:]:
        return None
    return lines[start : lines.index(last, start) + 1]


def shown(page: Path) -> list[Block]:
    """Returns the blocks of a page that show a file."""
    return [block for block in blocks(page) if block.title]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_is_that_of_the_file(page: Path) -> None:
    # From the last block to the first, so that a longer one moves none that is still to be looked at.
    for block in reversed(shown(page)):
        path = ROOT / block.title
        assert path.is_file(), f"{block.place}: no file {block.title}"
        lines = path.read_text().splitlines()
        assert block.lines, f"{block.place}: an empty block"
        if find(lines, block.lines) is not None:
            continue
        now = between(lines, block.lines[0], block.lines[-1])
        wrong = f"{block.place}: {block.title} has no such lines in a row:\n{block.text}"
        assert UPDATE, wrong
        assert now is not None, wrong
        text = page.read_text().splitlines()
        text[block.line - 1 : block.line - 1 + len(block.lines)] = [" " * block.indent + line for line in now]
        page.write_text("\n".join(text) + "\n")


def test_recipes_show_code() -> None:
    """A page without code of the repository can be right, but not most of them."""
    assert sum(bool(shown(page)) for page in PAGES) > len(PAGES) / 2


def test_every_recipe_is_in_the_table() -> None:
    index = (FOLDER / "index.md").read_text()
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", index))
    assert {page.name for page in PAGES} - {"index.md"} <= linked


def test_lines_are_found_only_in_a_row_and_unchanged() -> None:
    file = ["struct A {", "    x: u8,", "}", "", "struct B {", "    y: u8,", "}"]
    assert find(file, ["struct B {", "    y: u8,", "}"]) == 4
    assert find(file, ["struct A {", "    x: u8,", "    y: u8,"]) is None
    assert find(file, ["struct A {", "x: u8,"]) is None
    assert find(file, ["}", "struct B {"]) is None


def test_the_lines_between_are_those_to_the_next_end() -> None:
    file = ["fn a() {", "    1", "}", "fn b() {", "    2", "}"]
    assert between(file, "fn b() {", "}") == ["fn b() {", "    2", "}"]
    assert between(file, "fn a() {", "}") == ["fn a() {", "    1", "}"]
    assert between(file, "}", "fn b() {") is None
    assert between(file, "fn c() {", "}") is None
