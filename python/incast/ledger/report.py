"""A judged figure as text for a terminal."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from incast.ledger.figure import Claim, Earlier, Figure
from incast.ledger.judge import Judgement, Verdict

WIDTH = 80

DEFAULT_REASON = "No reason found yet."


@dataclass(frozen=True)
class Page:
    """A figure as it goes into a report.

    Attributes:
        figure: The figure.
        judgements: Its claims with their verdicts.
        wall_s: Seconds of wall time of its runs.
        hops: Packet-hops of its runs.
        picture: Its new picture; None if none was drawn.
        shown: The picture on its page: the new one, or an older one that stays; None if there is neither.
        made: Version, commit, date and machine of its runs.
    """

    figure: Figure
    judgements: Sequence[Judgement]
    wall_s: float
    hops: int
    picture: Path | None
    shown: Path | None
    made: str = ""


def rule_of(rule: Claim | Earlier) -> str:
    """A rule in one line: ``reproduced: 65KB to 85KB; trend: at most 150KB``."""
    text = f"reproduced: {rule.reproduced.text}"
    return f"{text}; trend: {rule.trend.text}" if rule.trend else text


def reason(judgement: Judgement) -> str:
    """Returns why a claim is not reproduced, with the evidence; None if it is."""
    if judgement.verdict is Verdict.REPRODUCED:
        return ""
    claim = judgement.claim
    parts = [claim.reason or DEFAULT_REASON]
    # Recorded without evidence: the reason was not needed by the rule of that time.
    for item, (found, holds) in zip(claim.evidence, judgement.evidence, strict=False):
        shown = f"{item.says}: {found.shown(item.unit)}"
        parts.append(f"{shown}." if holds else f"{shown}, which is not {item.band.text}: this reason fails.")
    return " ".join(parts)


def earlier(judgement: Judgement) -> str:
    """The verdicts by the rules that a claim's rule replaced, and why they were; empty if there are none.

    Of the bands, those that have changed since; of the values, those that another measure gave.
    """
    parts = []
    now = judgement.claim
    for replaced, (found, verdict) in zip(now.earlier, judgement.earlier, strict=True):
        same = replaced.reproduced == now.reproduced and replaced.trend is not None
        bands = f"trend: {replaced.trend.text}" if same and replaced.trend else rule_of(replaced)
        value = "" if found == judgement.ours else f"{found.shown(replaced.unit)}, "
        parts.append(f"Before ({bands}): {value}{verdict.value}. {replaced.why}")
    return " ".join(parts)


def tally(judgements: Sequence[Judgement]) -> str:
    """Returns the numbers of claims by verdict: ``5 reproduced, 1 trend``."""
    return told(Counter(judgement.verdict for judgement in judgements))


def told(counts: Mapping[Verdict, int]) -> str:
    """Counts of verdicts in words."""
    return ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts.get(verdict))


def told_hops(hops: int) -> str:
    """A number of packet-hops in words: ``12.3 million packet-hops``."""
    return (
        f"{hops / 1e9:,.2f} billion packet-hops" if hops >= 1e9 else f"{hops / 1e6:,.1f} million packet-hops"
    )


def text(page: Page) -> str:
    """A figure for a terminal."""
    figure = page.figure
    lines = [*textwrap.wrap(f"{figure.id}: {figure.title}", WIDTH), f"  {figure.place}"]
    for judgement in page.judgements:
        claim = judgement.claim
        head = f"{judgement.verdict.value:<14}  {claim.id}"
        lines += ["", f"  {head}"]
        lines += _block(f"{claim.says} ({claim.place})")
        ours = judgement.ours.shown(claim.unit)
        lines += _block(f"paper: {claim.paper}   ours: {ours}   {rule_of(claim)}")
        for label, words in (("why", reason(judgement)), ("earlier", earlier(judgement))):
            if words:
                lines += _block(f"{label}: {words}")
    cost = f"{told_hops(page.hops)}, runs took {page.wall_s:.1f} s"
    took = cost if figure.runs else "no runs: analysis only"
    lines += ["", f"  {tally(page.judgements)}; {took}"]
    if page.picture:
        lines.append(f"  picture {page.picture}")
    if page.shown and page.shown != page.picture:
        lines.append(f"  {page.shown} stays: `incast reproduce all` with --write and --record replaces it")
    return "\n".join(lines)


def _block(words: str) -> list[str]:
    return textwrap.wrap(words, WIDTH, initial_indent=" " * 18, subsequent_indent=" " * 18)
