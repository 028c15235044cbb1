"""The recorded verdicts, against which later ones are held."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from incast.ledger.figure import LedgerError
from incast.ledger.judge import Verdict
from incast.ledger.report import Page

FILE = "verdicts.json"
"""The file with the recorded verdicts, in the folder of the papers."""

Verdicts = dict[str, dict[str, Verdict]]
"""The verdict of each claim of each figure."""


@dataclass(frozen=True)
class Change:
    """A verdict that is not the recorded one.

    Attributes:
        figure: The figure.
        claim: The claim.
        before: As recorded; None for a claim that is not.
        now: Now; None for a recorded claim that is no more.
    """

    figure: str
    claim: str
    before: Verdict | None
    now: Verdict | None

    @property
    def is_worse(self) -> bool:
        """Whether the verdict is worse than the recorded one, or there is none any more."""
        if self.before is None:
            return False
        return self.now is None or self.now.worse_than(self.before)

    def __str__(self) -> str:
        before = "new" if self.before is None else self.before.value
        now = "gone" if self.now is None else self.now.value
        return f"{self.figure} {self.claim}: {before} -> {now}"


def read(papers: Path) -> Verdicts:
    """The recorded verdicts; none without the file.

    Raises:
        LedgerError: When the file cannot be read.
    """
    file = papers / FILE
    if not file.exists():
        return {}
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
        return {
            figure: {claim: Verdict(verdict) for claim, verdict in claims.items()}
            for figure, claims in table.items()
        }
    except (OSError, ValueError, AttributeError) as error:
        raise LedgerError(f"{file}: {error}") from None


def write(papers: Path, pages: Sequence[Page], known: Sequence[str]) -> None:
    """Records the verdicts of some figures; what is recorded of others stays.

    Args:
        papers: The folder of the papers.
        pages: The figures.
        known: The ids of all figures in their order: what is recorded of others is dropped.
    """
    verdicts = read(papers)
    for page in pages:
        verdicts[page.figure.id] = {j.claim.id: j.verdict for j in page.judgements}
    table = {
        figure: {claim: verdict.value for claim, verdict in verdicts[figure].items()}
        for figure in known
        if figure in verdicts
    }
    (papers / FILE).write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")


def changes(recorded: Verdicts, pages: Sequence[Page]) -> list[Change]:
    """What differs from the recorded verdicts, for the figures at hand."""
    found = []
    for page in pages:
        figure = page.figure.id
        before = recorded.get(figure, {})
        now = {j.claim.id: j.verdict for j in page.judgements}
        for claim in [*now, *(claim for claim in before if claim not in now)]:
            if before.get(claim) is not now.get(claim):
                found.append(Change(figure, claim, before.get(claim), now.get(claim)))
    return found
