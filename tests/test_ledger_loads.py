"""Figures whose traffic has a load say whether it is steady."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers import ROOT
from incast.ledger.site import page_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PAPERS = ROOT / "papers"


def has_load(file: Path) -> bool:
    """Whether flows of a scenario arrive at a rate: Poisson traffic, or requests at a load or an interval."""
    blocks: Any = tomllib.loads(file.read_text(encoding="utf-8")).get("traffic", [])
    return any(
        block["kind"] == "poisson" or (block["kind"] == "incast" and {"load", "interval"} & block.keys())
        for block in blocks
    )


def loaded() -> dict[str, Path]:
    """The figures that name a scenario with a load, with their files."""
    found = {}
    for claims in sorted(PAPERS.glob("*/*/claims.toml")):
        named = re.findall(r'"([\w./-]+\.toml)"', claims.read_text(encoding="utf-8"))
        scenarios = [claims.parent / name for name in named]
        if any(file.is_file() and has_load(file) for file in scenarios):
            found[claims.parent.relative_to(PAPERS).as_posix()] = claims
    return found


LOADED = loaded()


def test_the_figures_with_a_load_are_found() -> None:
    """Two that have one, and two whose flows arrive at fixed times."""
    assert {"oscar/nonempty", "powertcp/fig7-peers"} <= LOADED.keys()
    assert not {"ccc/fig9", "powertcp/fig5"} & LOADED.keys()


@pytest.mark.parametrize("figure", LOADED)
def test_a_figure_with_a_load_says_whether_it_is_steady(figure: str) -> None:
    """In its choices, and so on its page."""
    page = ROOT / "docs" / "reproduction" / page_name(figure)
    for text in (LOADED[figure], page):
        words = text.read_text(encoding="utf-8")
        assert re.search(r"\bsteady\b|\btransient\b", words), f"{text}: is the load steady?"
