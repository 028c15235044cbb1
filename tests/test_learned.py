"""The page *Findings about the papers*: claims with the verdicts that it shows back each sentence."""

from __future__ import annotations

import re

from helpers import ROOT
from incast.ledger import ids, record
from incast.ledger.site import SYMBOLS

PAGE = ROOT / "docs" / "learned.md"
CELL = re.compile(r"\[(\S) ([a-z]+/[\w-]+)\]\(reproduction/([\w-]+)\.md#([\w.-]+)\)")
"""A claim in the page: its symbol, its figure, the figure's page, and the claim."""


def test_every_symbol_is_the_recorded_verdict() -> None:
    recorded = record.read(ROOT / "papers")
    found = CELL.findall(PAGE.read_text())
    assert len(found) > 20
    for symbol, figure, page, claim in found:
        assert figure.replace("/", "-") == page
        assert claim in recorded[figure].verdicts, f"{figure} has no claim {claim}"
        assert symbol == SYMBOLS[recorded[figure].verdicts[claim]], f"{figure} {claim}"


def test_every_statement_has_a_claim_of_every_paper_behind_it() -> None:
    text = PAGE.read_text()
    statements = [item for item in re.split(r"\n(?=- )", text) if item.startswith("- ")]
    assert statements
    for statement in statements:
        assert CELL.search(statement), statement[:100]
    papers = {name.partition("/")[0] for name in ids(ROOT / "papers")}
    assert {figure.partition("/")[0] for _, figure, _, _ in CELL.findall(text)} == papers
