"""The recorded verdicts and values, against which later ones are held."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from incast.ledger.figure import Claim, Figure
from incast.ledger.found import RECORDED, Found
from incast.ledger.judge import Judgement, Verdict, conclude
from incast.ledger.reader import LedgerError
from incast.ledger.report import Page

FILE = "verdicts.json"
"""The file with the recorded verdicts and values, in the folder of the papers."""

FULL = "full.json"
"""The file with the values of runs at the paper's own length, in the same folder."""


@dataclass(frozen=True)
class Entry:
    """Record of a claim.

    Attributes:
        verdict: Its verdict.
        ours: The value of its measure, as text in the claim's unit.
        earlier: The values of its earlier rules, likewise, the oldest first.
        evidence: The values of the evidence for its reason; empty where the reason was not needed.
    """

    verdict: Verdict
    ours: str
    earlier: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recorded:
    """Record of a figure.

    Attributes:
        claims: The record of each claim.
        wall_s: Seconds of wall time of its runs.
        hops: Packet-hops of its runs.
        made: Version, commit, date and machine of its runs.
    """

    claims: Mapping[str, Entry]
    wall_s: float
    hops: int
    made: str = ""

    @cached_property
    def verdicts(self) -> Mapping[str, Verdict]:
        """The verdict of each claim."""
        return {claim: entry.verdict for claim, entry in self.claims.items()}


Record = dict[str, Recorded]
"""Records by figure."""


@dataclass(frozen=True)
class Change:
    """A verdict, or a value, that is not the recorded one.

    Attributes:
        figure: The figure.
        claim: The claim.
        before: As recorded; None for a claim that is not.
        now: Now; None for a recorded claim that is no more.
        moved: The recorded value and the one that lies outside of its interval; empty if it lies inside.
    """

    figure: str
    claim: str
    before: Verdict | None
    now: Verdict | None
    moved: str = ""

    @property
    def is_worse(self) -> bool:
        """Whether the verdict is worse than the recorded one, or there is none any more."""
        if self.before is None:
            return False
        return self.now is None or self.now.worse_than(self.before)

    def __str__(self) -> str:
        before = "new" if self.before is None else self.before.value
        now = "gone" if self.now is None else self.now.value
        verdicts = f"{before} -> {now}" if before != now else now
        return f"{self.figure} {self.claim}: {verdicts}" + (f" ({self.moved})" if self.moved else "")


def read(papers: Path, name: str = FILE) -> Record:
    """Reads the record; empty if there is no file.

    Args:
        papers: The folder of the papers.
        name: The file in it.

    Raises:
        LedgerError: When the file cannot be read.
    """
    file = papers / name
    if not file.exists():
        return {}
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
        return {figure: _recorded(entry) for figure, entry in table.items()}
    except KeyError as error:
        raise LedgerError(f"{file}: a figure has no {error}") from None
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise LedgerError(f"{file}: {error}") from None


def _recorded(entry: Mapping[str, Any]) -> Recorded:
    claims = {
        claim: Entry(
            Verdict(each["verdict"]),
            str(each["ours"]),
            tuple(each.get("earlier", ())),
            tuple(each.get("evidence", ())),
        )
        for claim, each in entry["claims"].items()
    }
    return Recorded(claims, float(entry["wall_s"]), int(entry["hops"]), str(entry["made"]))


def of(pages: Sequence[Page]) -> Record:
    """The record of some figures as they are now."""
    return {
        page.figure.id: Recorded(
            {judgement.claim.id: _entry(judgement) for judgement in page.judgements},
            page.wall_s,
            page.hops,
            page.made,
        )
        for page in pages
    }


def _entry(judgement: Judgement) -> Entry:
    claim = judgement.claim
    return Entry(
        judgement.verdict,
        judgement.ours.shown(claim.unit, RECORDED),
        tuple(
            found.shown(rule.unit, RECORDED)
            for rule, (found, _) in zip(claim.earlier, judgement.earlier, strict=True)
        ),
        tuple(
            found.shown(item.unit, RECORDED)
            for item, (found, _) in zip(claim.evidence, judgement.evidence, strict=False)
        ),
    )


def page_of(figure: Figure, recorded: Recorded) -> Page:
    """A figure judged by its rules of today and the recorded values, without runs and without a new picture.

    Raises:
        LedgerError: When a claim, or a value that a rule needs, is not recorded.
    """
    judgements = []
    for claim in figure.claims:
        entry = recorded.claims.get(claim.id)
        where = f"{figure.id}: claim {claim.id!r}"
        if entry is not None:
            entry = replace(entry, earlier=entry.earlier + _only_other_bands(claim, entry))
        if entry is None or len(entry.earlier) != len(claim.earlier):
            raise LedgerError(
                f"{where}: {FILE} does not have its values\n"
                f"    help: record the figure: `incast reproduce {figure.id} --record`"
            )
        try:
            ours = Found.read(entry.ours, claim.unit)
            earlier = [
                Found.read(text, rule.unit) for rule, text in zip(claim.earlier, entry.earlier, strict=True)
            ]
            evidence = [
                Found.read(text, item.unit)
                for item, text in zip(claim.evidence, entry.evidence, strict=False)
            ]
            judgements.append(conclude(claim, ours, earlier, evidence))
        except ValueError as error:
            raise LedgerError(f"{where}: {FILE}: {error}") from None
    return Page(figure, judgements, recorded.wall_s, recorded.hops, None, None, recorded.made)


def _only_other_bands(claim: Claim, entry: Entry) -> tuple[str, ...]:
    """The values of rules that were replaced since, where only bands changed: the recorded one."""
    since = claim.earlier[len(entry.earlier) :]
    rule = (claim.measure, claim.unit, claim.seeds)
    if any((each.measure, each.unit, each.seeds or claim.seeds) != rule for each in since):
        return ()
    return (entry.ours,) * len(since)


def earlier_values(figure: Figure, record: Record) -> dict[str, list[Found]]:
    """The recorded values of the earlier rules of a figure's claims, by claim.

    Args:
        figure: The figure.
        record: What is recorded. A value in a unit that the rule does not have is of another rule.
    """
    found: dict[str, list[Found]] = {}
    for claim in figure.claims:
        entry = record[figure.id].claims.get(claim.id) if figure.id in record else None
        # A rule that has just been replaced was the last one that was recorded.
        texts = (*entry.earlier, entry.ours) if entry else ()
        values = found.setdefault(claim.id, [])
        try:
            for rule, text in zip(claim.earlier, texts, strict=False):
                values.append(Found.read(text, rule.unit))
        except ValueError:
            continue
    return found


def write(papers: Path, pages: Sequence[Page], known: Sequence[str], name: str = FILE) -> None:
    """Records the verdicts, values and times of some figures; what is recorded of others stays.

    Args:
        papers: The folder of the papers.
        pages: The figures.
        known: The ids of all figures in their order: what is recorded of others is dropped.
        name: The file in it.
    """
    record = read(papers, name) | of(pages)
    lines = list(_lines({figure: record[figure] for figure in known if figure in record}))
    (papers / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _lines(record: Record) -> Iterator[str]:
    """JSON with a line for each claim."""

    def text(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    yield "{"
    for i, (figure, entry) in enumerate(record.items()):
        yield f"  {text(figure)}: {{"
        yield f'    "made": {text(entry.made)},'
        yield f'    "wall_s": {round(entry.wall_s, 1)},'
        yield f'    "hops": {entry.hops},'
        yield '    "claims": {'
        claims = list(entry.claims.items())
        for j, (claim, each) in enumerate(claims):
            fields: dict[str, object] = {"verdict": each.verdict.value, "ours": each.ours}
            if each.earlier:
                fields["earlier"] = each.earlier
            if each.evidence:
                fields["evidence"] = each.evidence
            yield f"      {text(claim)}: {text(fields)}" + ("," if j + 1 < len(claims) else "")
        yield "    }"
        yield "  }" + ("," if i + 1 < len(record) else "")
    yield "}"


def changes(recorded: Record, pages: Sequence[Page]) -> list[Change]:
    """Returns the differences from the recorded verdicts and values, for the figures at hand.

    Values of a figure with runs on a testbed are not compared: the kernel's timers move them from run to run.
    """
    found = []
    for page in pages:
        figure = page.figure.id
        before = recorded[figure].claims if figure in recorded else {}
        for judgement in page.judgements:
            claim = judgement.claim
            entry = before.get(claim.id)
            moved = "" if entry is None or page.figure.testbed else _moved(judgement, entry)
            if entry is None or entry.verdict is not judgement.verdict or moved:
                was = None if entry is None else entry.verdict
                found.append(Change(figure, claim.id, was, judgement.verdict, moved))
        now = {judgement.claim.id for judgement in page.judgements}
        found += [
            Change(figure, claim, entry.verdict, None) for claim, entry in before.items() if claim not in now
        ]
    return found


def _moved(judgement: Judgement, entry: Entry) -> str:
    """The recorded value and today's, if that lies outside the recorded interval."""
    unit = judgement.claim.unit
    try:
        if judgement.ours.agrees(Found.read(entry.ours, unit), unit):
            return ""
    except ValueError:
        pass  # Recorded in another unit: the claim has changed since.
    return f"{entry.ours} recorded, {judgement.ours.shown(unit)} now"
