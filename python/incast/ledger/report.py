"""A judged figure as text for a terminal, and all figures as a page."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from incast import __version__
from incast.ledger.figure import Figure
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
        picture: Its picture; None if none was drawn.
    """

    figure: Figure
    judgements: Sequence[Judgement]
    wall_s: float
    picture: Path | None


def rule(judgement: Judgement) -> str:
    """The rule of a claim in one line: ``reproduced: 65KB to 85KB; trend: at most 150KB``."""
    claim = judgement.claim
    text = f"reproduced: {claim.reproduced.text}"
    return f"{text}; trend: {claim.trend.text}" if claim.trend else text


def reason(judgement: Judgement) -> str:
    """Why a claim is not reproduced, with the evidence; None if it is."""
    if judgement.verdict is Verdict.REPRODUCED:
        return ""
    claim = judgement.claim
    parts = [claim.reason or DEFAULT_REASON]
    for item, (found, holds) in zip(claim.evidence, judgement.evidence, strict=True):
        shown = f"{item.says}: {found.shown(item.unit)}"
        parts.append(f"{shown}." if holds else f"{shown}, which is not {item.band.text}: this reason fails.")
    return " ".join(parts)


def tally(judgements: Sequence[Judgement]) -> str:
    """How many claims have which verdict: ``5 reproduced, 1 trend``."""
    counts = Counter(judgement.verdict for judgement in judgements)
    return ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict])


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
        lines += _block(f"paper: {claim.paper}   ours: {ours}   {rule(judgement)}")
        why = reason(judgement)
        if why:
            lines += _block(f"why: {why}")
    lines += ["", f"  {tally(page.judgements)}; runs took {page.wall_s:.1f} s"]
    if page.picture:
        lines.append(f"  picture {page.picture}")
    return "\n".join(lines)


def _block(words: str) -> list[str]:
    return textwrap.wrap(words, WIDTH, initial_indent=" " * 18, subsequent_indent=" " * 18)


def markdown(pages: Sequence[Page], command: str, commit: str, beside: Path) -> str:
    """All figures as one page.

    Args:
        pages: The figures.
        command: The command that generated the page.
        commit: Of the checkout, when the runs began.
        beside: The folder of the page, to which links to pictures are relative.
    """
    every = [judgement for page in pages for judgement in page.judgements]
    lines = [
        "# Reproduction",
        "",
        *_fill(
            f"Made by `{command}`; do not edit. Every value was measured by the runs that the figure's "
            "`claims.toml` names, every verdict follows from the rule in that file, and "
            "`papers/README.md` says how to read one."
        ),
        "",
        "| | |",
        "| --- | --- |",
        f"| Incast | {__version__}, commit {commit} |",
        f"| Date | {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d} |",
        f"| Machine | {_machine()} |",
        f"| Runs | {sum(page.wall_s for page in pages):.0f} s of wall time in all |",
        f"| Claims | {len(every)}: {tally(every)} |",
        "",
        "| Figure | | Reproduced | Trend | Not reproduced | Time |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for page in pages:
        counts = Counter(judgement.verdict for judgement in page.judgements)
        cells = " | ".join(str(counts[verdict] or "–") for verdict in Verdict)
        figure = page.figure
        lines.append(
            f"| [{figure.id}](#{_anchor(figure.id)}) | {figure.title} | {cells} | {page.wall_s:.1f} s |"
        )
    for page in pages:
        lines += ["", *_section(page, beside)]
    return "\n".join(lines) + "\n"


def _section(page: Page, beside: Path) -> list[str]:
    figure = page.figure
    lines = [f"## {figure.id}", "", f"**{figure.title}.** {figure.place}.", ""]
    lines += _fill(f"*Set-up.* {figure.setup}")
    if figure.choices:
        lines += ["", "*Chosen here:*", ""]
        for choice in figure.choices:
            lines += _fill(f"- {choice}", "  ")
    lines += ["", *_fill(f"*The paper's picture.* {figure.shows}")]
    if page.picture:
        link = os.path.relpath(page.picture, beside)
        lines += ["", f"![{figure.id}: {figure.title}]({Path(link).as_posix()})"]
    lines += ["", "| Claim | Paper | Ours | Verdict | Rule |", "| --- | --- | --- | --- | --- |"]
    for judgement in page.judgements:
        claim = judgement.claim
        verdict = judgement.verdict.value
        shown = verdict if judgement.verdict is Verdict.REPRODUCED else f"**{verdict}**"
        cells = [
            f"{claim.says} ({claim.place})",
            claim.paper,
            judgement.ours.shown(claim.unit),
            shown,
            f"{rule(judgement)}. {claim.rule}",
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    for judgement in page.judgements:
        why = reason(judgement)
        if why:
            lines += ["", *_fill(f"**Why {judgement.verdict.value}: {judgement.claim.id}.** {why}")]
    return lines


def _fill(words: str, hang: str = "") -> list[str]:
    return textwrap.wrap(words, 110, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False)


def _anchor(name: str) -> str:
    """The anchor that Markdown gives a heading."""
    return "".join(c for c in name.lower().replace(" ", "-") if c.isalnum() or c in "-_")


def commit_of(folder: Path) -> str:
    """The commit of the checkout, marked as changed if code or papers differ from it."""
    try:
        words = ["git", "-C", str(folder)]
        found = subprocess.run([*words, "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True)
        watched = [":/crates", ":/python", ":/papers"]
        changed = subprocess.run(
            [*words, "status", "--porcelain", "--", *watched], capture_output=True, text=True
        )
    except OSError:
        return "unknown"
    if found.returncode:
        return "unknown"
    return found.stdout.strip() + (" with changes" if changed.stdout.strip() else "")


def _machine() -> str:
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} cores, {platform.system()}"
