"""The statements that readers of the papers remember, and the claims that judge them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from incast.ledger.figure import Claim, Figure
from incast.ledger.judge import Verdict
from incast.ledger.reader import LedgerError, parse
from incast.ledger.record import Record

FILE = "headlines.toml"
"""The file with the headlines, in the folder of the papers."""


@dataclass(frozen=True)
class Headline:
    """A statement of a paper's abstract, introduction, or first conclusion of a section.

    Attributes:
        paper: The paper, like ``oscar``.
        place: Where the paper has it: ``abstract``, ``section 1``.
        figure: The figure of the claim that judges it.
        claim: That claim.
    """

    paper: str
    place: str
    figure: Figure
    claim: Claim

    def verdict(self, recorded: Record) -> Verdict | None:
        """Returns the recorded verdict; None if there is none."""
        entry = recorded.get(self.figure.id)
        return entry.verdicts.get(self.claim.id) if entry else None


def read(papers: Path, figures: Sequence[Figure]) -> list[Headline]:
    """Reads the headlines in their order; empty if there is no file.

    Args:
        papers: The folder of the papers.
        figures: All figures.

    Raises:
        LedgerError: When one is written wrongly, or its claim does not exist.
    """
    file = papers / FILE
    if not file.exists():
        return []
    known = {figure.id: figure for figure in figures}
    found = []
    for number, entry in enumerate(parse(file).get("headline", []), 1):
        where = f"{file}: headline, number {number}"
        if not isinstance(entry, dict) or set(entry) != {"place", "claim"}:
            raise LedgerError(f"{where}: takes place and claim")
        name, _, claim_name = str(entry["claim"]).partition(":")
        figure = known.get(name)
        claim = next((each for each in figure.claims if each.id == claim_name), None) if figure else None
        if figure is None or claim is None:
            raise LedgerError(f"{where}: there is no claim {entry['claim']!r}")
        found.append(Headline(figure.paper, str(entry["place"]), figure, claim))
    return found
