"""The recorded verdicts, against which later ones are held."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from incast.ledger.figure import LedgerError
from incast.ledger.judge import Verdict
from incast.ledger.report import Page

FILE = "verdicts.json"
"""The file with the recorded verdicts, in the folder of the papers."""


@dataclass(frozen=True)
class Recorded:
    """Record of a figure's verdicts.

    Attributes:
        verdicts: The verdict of each claim.
        wall_s: Seconds of wall time of its runs.
        hops: Packet-hops of its runs.
    """

    verdicts: Mapping[str, Verdict]
    wall_s: float
    hops: int


Record = dict[str, Recorded]
"""Records by figure."""


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


def read(papers: Path) -> Record:
    """Reads the record; empty if there is no file.

    Raises:
        LedgerError: When the file cannot be read.
    """
    file = papers / FILE
    if not file.exists():
        return {}
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
        return {
            figure: Recorded(
                {claim: Verdict(verdict) for claim, verdict in entry["claims"].items()},
                float(entry["wall_s"]),
                int(entry["hops"]),
            )
            for figure, entry in table.items()
        }
    except KeyError as error:
        raise LedgerError(f"{file}: a figure has no {error}") from None
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise LedgerError(f"{file}: {error}") from None


def of(pages: Sequence[Page]) -> Record:
    """The record of some figures as they are now."""
    return {
        page.figure.id: Recorded({j.claim.id: j.verdict for j in page.judgements}, page.wall_s, page.hops)
        for page in pages
    }


def write(papers: Path, pages: Sequence[Page], known: Sequence[str]) -> None:
    """Records the verdicts and times of some figures; what is recorded of others stays.

    Args:
        papers: The folder of the papers.
        pages: The figures.
        known: The ids of all figures in their order: what is recorded of others is dropped.
    """
    record = read(papers) | of(pages)
    table = {
        figure: {
            "wall_s": round(record[figure].wall_s, 1),
            "hops": record[figure].hops,
            "claims": {claim: verdict.value for claim, verdict in record[figure].verdicts.items()},
        }
        for figure in known
        if figure in record
    }
    (papers / FILE).write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")


def changes(recorded: Record, pages: Sequence[Page]) -> list[Change]:
    """Returns the differences from the recorded verdicts, for the figures at hand."""
    found = []
    for figure, entry in of(pages).items():
        before = recorded[figure].verdicts if figure in recorded else {}
        now = entry.verdicts
        for claim in [*now, *(claim for claim in before if claim not in now)]:
            if before.get(claim) is not now.get(claim):
                found.append(Change(figure, claim, before.get(claim), now.get(claim)))
    return found
