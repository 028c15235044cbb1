"""The lock on rules: what a claim was judged by since it was first recorded, and its verdict then."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from incast.ledger.figure import HISTORY, Claim, Earlier, Figure
from incast.ledger.judge import Verdict
from incast.ledger.reader import LedgerError
from incast.ledger.report import Page
from incast.ledger.rule import effect_of

FILE = "rules.lock"
"""The file with the digests, in the folder of the papers."""

_HEAD = """\
# The rules of every claim, made by `incast reproduce --record`; do not edit. A line has the figure, the
# claim, the verdict when it was first recorded, and a digest of each rule, the oldest first. A rule that
# changes gets a digest more, and what it was goes to history.toml. A claim that is judged no more keeps its
# line.
"""


@dataclass(frozen=True)
class Locked:
    """The lock on a claim.

    Attributes:
        first: Its verdict when it was first recorded.
        digests: The digests of its rules, the oldest first; the last one is of the present rule.
    """

    first: Verdict
    digests: tuple[str, ...]


Lock = dict[tuple[str, str], Locked]
"""Locked rules and first verdicts, by figure and claim."""


def read(papers: Path) -> Lock:
    """Reads the lock; empty if there is no file.

    Raises:
        LedgerError: When a line of it is none.
    """
    file = papers / FILE
    if not file.exists():
        return {}
    found: Lock = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        try:
            figure, claim, verdict, *digests = line.split()
            found[figure, claim] = Locked(Verdict(verdict.replace("-", " ")), tuple(digests))
        except ValueError as error:
            raise LedgerError(f"{file}:{number}: {error}") from None
    return found


def digests(figure: Figure, claim: Claim) -> tuple[str, ...]:
    """Digests of all rules of a claim, the oldest first.

    A digest covers what is measured, in which unit, the bands, the number of seeds, and ``equal`` and
    ``effect`` where the claim has them.
    """
    rules: list[Claim | Earlier] = [*claim.earlier, claim]
    seeds = max((len(spec.seeds) for spec in figure.measured(claim)), default=0)
    found = []
    for rule in reversed(rules):
        seeds = rule.seeds or seeds
        found.append(_digest(rule, seeds))
    return tuple(reversed(found))


def _digest(rule: Claim | Earlier, seeds: int) -> str:
    trend = rule.trend.text if rule.trend else None
    parts: list[object] = [rule.measure, rule.unit, rule.reproduced.text, trend, seeds]
    if rule.equal or rule.effect != effect_of(rule.measure):
        parts += [rule.equal, rule.effect]
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def check(papers: Path, figures: Iterable[Figure]) -> None:
    """Refuses rules that are not the locked ones and have not been replaced openly.

    Args:
        papers: The folder of the papers.
        figures: The figures to look at.

    Raises:
        LedgerError: When a claim's rules do not begin with those that are locked.
    """
    lock = read(papers)
    wrong = []
    for figure in figures:
        for claim in figure.claims:
            locked = lock.get((figure.id, claim.id))
            if locked is None or digests(figure, claim)[: len(locked.digests)] == locked.digests:
                continue
            wrong.append(f"{figure.folder / 'claims.toml'}: claim {claim.id!r}")
    if wrong:
        shown = "\n  ".join(wrong[:10]) + (f"\n  and {len(wrong) - 10} more" if len(wrong) > 10 else "")
        raise LedgerError(
            f"the rule is not the one in {FILE}, and that one is not in {HISTORY}:\n  {shown}\n"
            f"    help: put the old measure, unit, bands, effect or seeds into the paper's {HISTORY}, with "
            "the reason; papers/README.md says how"
        )


def write(papers: Path, pages: Sequence[Page], known: Sequence[str]) -> None:
    """Locks the rules of some figures as they are now.

    Args:
        papers: The folder of the papers.
        pages: The figures; a claim that is not locked yet gets its first verdict.
        known: The ids of all figures in their order.
    """
    lock = read(papers)
    for page in pages:
        for judgement in page.judgements:
            key = (page.figure.id, judgement.claim.id)
            first = lock[key].first if key in lock else judgement.verdict
            lock[key] = Locked(first, digests(page.figure, judgement.claim))
    (papers / FILE).write_text(_HEAD + "".join(_lines(lock, known)), encoding="utf-8")


def _lines(lock: Lock, known: Sequence[str]) -> Iterator[str]:
    order = {figure: place for place, figure in enumerate(known)}
    for (figure, claim), locked in sorted(
        lock.items(), key=lambda item: (order.get(item[0][0], len(order)), item[0][0])
    ):
        yield " ".join([figure, claim, locked.first.value.replace(" ", "-"), *locked.digests]) + "\n"


def withdrawn(lock: Mapping[tuple[str, str], Locked], figures: Sequence[Figure]) -> list[tuple[str, str]]:
    """Returns the figure and the name of each claim that was recorded once and is judged no more.

    Args:
        lock: What is locked.
        figures: All figures.
    """
    judged = {(figure.id, claim.id) for figure in figures for claim in figure.claims}
    return [key for key in lock if key not in judged]
