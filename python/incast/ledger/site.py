"""All figures as pages: an overview with one cell for each claim, and a page for each figure."""

from __future__ import annotations

import datetime
import os
import platform
import re
import subprocess
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from incast._build import __version__
from incast.ledger import beside
from incast.ledger.figure import Claim, Figure
from incast.ledger.found import Found
from incast.ledger.headlines import Headline
from incast.ledger.judge import Judgement, Verdict
from incast.ledger.kinds import Kind, Tally, kind_of, share
from incast.ledger.lock import Lock, withdrawn
from incast.ledger.record import Entry, Record, Recorded, of, page_of
from incast.ledger.report import Page, earlier, reason, rule_of, tally, told, told_hops

SYMBOLS = {
    Verdict.REPRODUCED: "●",
    Verdict.TREND: "◐",
    Verdict.UNDECIDED: "◌",
    Verdict.NOT_REPRODUCED: "✕",
}
"""A shape for each verdict, for readers who do not see its colour."""

PAPERS = {
    "oscar": "OSCAR, NSDI'26",
    "median": "Median-based spraying (MSwift, MNSCC), arXiv 2509.07907",
    "powertcp": "PowerTCP, NSDI'22",
    "ccc": "CCC, NSDI'26",
    "sqcc": "SQCC",
}
"""The papers in the order in which they are shown; others follow by name."""

BUILDS = "judged.md"
"""The page with the presets that figures judge, beside the overview of the checkout's documentation."""


@dataclass(frozen=True)
class Ledger:
    """All that the overview shows.

    Attributes:
        figures: All figures, in the order of the overview.
        recorded: What is recorded of them.
        lock: What is locked of their rules.
        headlines: The headlines of the papers.
        full: What is recorded of runs at the paper's own length.
    """

    figures: Sequence[Figure]
    recorded: Record
    lock: Lock
    headlines: Sequence[Headline]
    full: Record


def write(file: Path, pages: Sequence[Page], ledger: Ledger, command: str) -> None:
    """Writes the overview to a file, and the page of each figure into the folder beside it of the same name.

    Figures that were not judged now keep their page, and stand in the overview as they are recorded.

    Args:
        file: The overview, like ``docs/reproduction.md``.
        pages: The figures that were judged now.
        ledger: What the overview shows.
        command: The command that generates the pages.
    """
    folder = file.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    for page in pages:
        text = _figure(page, folder, file.name, ledger.lock, ledger.full.get(page.figure.id))
        (folder / page_name(page.figure.id)).write_text(text, encoding="utf-8")
    shown = ledger.recorded | of(pages)
    known = [figure for figure in ledger.figures if figure.id in shown]
    text = _overview(
        replace(ledger, figures=known, recorded=shown), command, folder.name, (file.parent / BUILDS).exists()
    )
    file.write_text(text, encoding="utf-8")


def made_now(commit: str) -> str:
    """Version, commit, date and machine, as a page shows them.

    Args:
        commit: The commit of the checkout, when the runs began.
    """
    return f"Incast {__version__}, commit {commit}, {_today()}, {_machine()}"


def page_name(figure: str) -> str:
    """The name of a figure's page: ``oscar-fig9.md`` of ``oscar/fig9``."""
    return figure.replace("/", "-") + ".md"


def _overview(ledger: Ledger, command: str, folder: str, has_builds: bool) -> str:
    figures, recorded = ledger.figures, ledger.recorded
    wall_s = sum(recorded[figure.id].wall_s for figure in figures)
    hops = sum(recorded[figure.id].hops for figure in figures)
    builds = _fill(
        f"Each verdict is about one preset of an algorithm and some parameters: "
        f"[Presets that figures judge]({BUILDS}) lists them."
    )
    lines = [
        "# Reproduction",
        "",
        *_fill(
            f"Made by `incast reproduce`, the last time by `{command}`; do not edit. Every value was "
            "measured by the runs that the figure's `claims.toml` names, every verdict follows from the "
            "rule in that file, and `papers/README.md` says how to read one. Each symbol below is a "
            "claim of a paper; it leads to the paper's statement, our picture, our numbers, the rule, "
            "and, where it is not reproduced, the reason; and to the version, the commit and the "
            "machine with which the figure was made."
        ),
        "",
        *([*builds, ""] if has_builds else []),
        " ".join(f"{_cell(verdict)} {verdict.value}" for verdict in Verdict),
        "",
        *_headlines(ledger, folder),
        "## All claims",
        "",
        *_counts(ledger),
        "",
        *_fill(
            f"{len(figures)} figures; {told_hops(hops)}; {wall_s:,.0f} s of wall time, "
            "each run on one thread."
        ),
        *_at_full_length(ledger),
    ]
    known = [*PAPERS, *sorted({figure.paper for figure in figures} - set(PAPERS))]
    for paper in known:
        of_paper = [figure for figure in figures if figure.paper == paper]
        if of_paper:
            lines += ["", *_matrix(PAPERS.get(paper, paper), of_paper, recorded, folder)]
    return "\n".join(lines) + "\n"


def _headlines(ledger: Ledger, folder: str) -> Iterable[str]:
    """The statements that readers remember: a table of the counts, and all of them by paper."""
    shown = [(each, each.verdict(ledger.recorded)) for each in ledger.headlines]
    judged = [(each, verdict) for each, verdict in shown if verdict is not None]
    if not judged:
        return
    yield "## Headlines"
    yield ""
    yield from _fill(
        f"The {len(judged)} statements of abstracts, introductions and first conclusions of sections "
        "(`papers/headlines.toml`), each with the verdict of the claim that judges it."
    )
    yield ""
    counts = Counter(verdict for _, verdict in judged)
    yield ", ".join(f"{counts[verdict] / len(judged):.0%} {verdict.value}" for verdict in Verdict) + "."
    yield ""
    for paper in dict.fromkeys(each.paper for each, _ in judged):
        of_paper = [(each, verdict) for each, verdict in judged if each.paper == paper]
        cells = "".join(
            _cell(
                verdict,
                f"{folder}/{page_name(each.figure.id)}#{each.claim.id}",
                f"{each.claim.says} ({each.place})",
            )
            for each, verdict in of_paper
        )
        counts = Counter(verdict for _, verdict in of_paper)
        yield f"- **{PAPERS.get(paper, paper)}**: {told(counts)}. {cells}"
    yield ""


def _counts(ledger: Ledger) -> Iterable[str]:
    """The counts of claims by kind: by the first rule of each, and by today's."""
    tallies = {kind: Tally() for kind in Kind}
    every = Tally()
    for figure in ledger.figures:
        for judgement in page_of(figure, ledger.recorded[figure.id]).judgements:
            for tally_of in (tallies[kind_of(figure, judgement.claim)], every):
                tally_of.add(judgement.verdict, judgement.first)
    yield from _fill(
        "Three counts, since a run can contradict a claim in more ways than a formula or a text can. The "
        "share by *first rule* judges each claim by the bands that it had when it was first recorded; "
        "*today's* by the rules for all claims, which `papers/README.md` gives and the program enforces."
    )
    yield ""
    yield "| | Claims | By first rule: reproduced + trend | Today: reproduced + trend | Today |"
    yield "| --- | ---: | ---: | ---: | --- |"
    judged = [(kind.meaning, tallies[kind]) for kind in Kind if tallies[kind].claims]
    for name, found in [*judged, ("all", every)]:
        shares = f"{_two_shares(found.first)} | {_two_shares(found.today)}"
        numbers = " ".join(f"{_cell(verdict)} {found.today[verdict]}" for verdict in Verdict)
        yield f"| {name} | {found.claims} | {shares} | {numbers} |"
    gone = withdrawn(ledger.lock, ledger.figures)
    if gone:
        counts = Counter(ledger.lock[key].first for key in gone)
        yield ""
        yield from _fill(
            f"{len(gone)} claims that were recorded once have another name or are judged no more "
            f"(`papers/rules.lock`): {told(counts)} then."
        )


def _at_full_length(ledger: Ledger) -> Iterable[str]:
    """Yields what runs at the paper's own length say: how many verdicts stay."""
    pairs = [
        (of_full.verdict, ledger.recorded[figure.id].claims[claim].verdict)
        for figure in ledger.figures
        if figure.id in ledger.full
        for claim, of_full in ledger.full[figure.id].claims.items()
        if claim in ledger.recorded[figure.id].claims
    ]
    if not pairs:
        return
    entries = list(ledger.full.values())
    kinds = Counter(
        "same" if now is before else "worse" if now.worse_than(before) else "better" for now, before in pairs
    )
    yield ""
    hops, wall_s = sum(entry.hops for entry in entries), sum(entry.wall_s for entry in entries)
    yield from _fill(
        f"{len(pairs)} claims of {len(entries)} figure{'' if len(entries) == 1 else 's'}, whose runs are "
        "shorter here than in the paper, were also measured once at the paper's own length, with one seed "
        f"(`incast reproduce all --full --record`; {told_hops(hops)}, {wall_s:,.0f} s): "
        f"{kinds['same']} have the same verdict, {kinds['better']} a better one, {kinds['worse']} a worse "
        "one. One seed has no interval, so that none of these is undecided for the spread of seeds. "
        "The pages of the figures have both values; the verdicts above are those of the shorter runs."
    )


def _two_shares(counts: Counter[Verdict]) -> str:
    reproduced = share(counts, [Verdict.REPRODUCED])
    return f"{reproduced:.1%} + {share(counts, [Verdict.TREND]):.1%} = {share(counts):.1%}"


def _matrix(title: str, figures: Sequence[Figure], recorded: Record, folder: str) -> list[str]:
    counts = Counter(verdict for figure in figures for verdict in recorded[figure.id].verdicts.values())
    lines = [f"## {title}", "", f"{told(counts)}.", "", "| Figure | Claims | | Packet-hops |"]
    lines.append("| --- | --- | --- | ---: |")
    for figure in figures:
        link = f"{folder}/{page_name(figure.id)}"
        says = {claim.id: claim.says for claim in figure.claims}
        entry = recorded[figure.id]
        cells = "".join(
            _cell(verdict, f"{link}#{claim}", says.get(claim, ""))
            for claim, verdict in entry.verdicts.items()
        )
        cost = f"{entry.hops / 1e6:,.1f} M" if figure.runs else "–"
        lines.append(f"| [{figure.id}]({link}) | {cells} | {_plain(figure.title)} | {cost} |")
    return lines


def _cell(verdict: Verdict, link: str = "", says: str = "") -> str:
    """The symbol of a verdict, with a class for its colour, as a link if it has one."""
    text = SYMBOLS[verdict]
    if link:
        title = f"{verdict.value}: {says}".replace('"', "'").replace("|", "/")
        text = f'[{text}]({link} "{title}")'
    return f'<span class="verdict {verdict.value.replace(" ", "-")}">{text}</span>'


def _figure(page: Page, folder: Path, overview: str, lock: Lock, full: Recorded | None) -> str:
    figure = page.figure
    lines = [f"# {figure.id}", "", *_fill(f"**{_plain(figure.title)}.** {figure.place}."), ""]
    lines += [*_fill(f"{tally(page.judgements)}. [All figures](../{overview}).")]
    if page.shown:
        link = os.path.relpath(page.shown, folder)
        lines += ["", f"![{figure.id}: {figure.title}]({Path(link).as_posix()})"]
    lines += ["", *_fill(f"*The paper's picture.* {_plain(figure.shows)}")]
    shares = [beside.multiple(judgement) for judgement in page.judgements]
    # How much of the paper's effect there is, if the paper has numbers.
    numbers = ["Of the paper's"] if any(shares) else []
    longer = full.claims if full else {}
    lengths = ["At the paper's length"] if longer else []
    head = ["", "Claim", "Paper", "Ours", *numbers, *lengths, "Verdict"]
    lines += ["", f"| {' | '.join(head)} |", f"| {' | '.join(['---'] * len(head))} |"]
    for judgement, share_of in zip(page.judgements, shares, strict=True):
        claim = judgement.claim
        cells = [
            _cell(judgement.verdict),
            f'<a id="{claim.id}"></a>{_plain(claim.says)} ({_plain(claim.place)})',
            _plain(claim.paper),
            judgement.ours.shown(claim.unit),
            *([share_of.cell() if share_of else ""] if numbers else []),
            *([_longer(claim, longer.get(claim.id))] if lengths else []),
            judgement.verdict.value,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "## Set-up", "", *_fill(_plain(figure.setup))]
    if figure.choices:
        lines += ["", "*Chosen here:*", ""]
        for choice in figure.choices:
            lines += _fill(f"- {_plain(choice)}", "  ")
    wall = f"{told_hops(page.hops)}; {page.wall_s:,.1f} s of wall time, each run on one thread"
    time = wall if figure.runs else "no runs: it is analysis only"
    lines += [
        "",
        *_fill(f"Run it again with `incast reproduce {figure.id}` ({time}). Made with {page.made}."),
    ]
    if full:
        lines += [
            "",
            *_fill(
                f"At the paper's length: `incast reproduce {figure.id} --full`, one seed "
                f"({told_hops(full.hops)}; {full.wall_s:,.1f} s). Made with {full.made}."
            ),
        ]
    lines += ["", "## Rules and reasons"]
    for judgement in page.judgements:
        locked = lock.get((figure.id, judgement.claim.id))
        first = locked.first if locked else judgement.verdict
        lines += ["", *_fill(f"- **{judgement.claim.id}**: {_words(judgement, first)}", "  ")]
    return "\n".join(lines) + "\n"


def _longer(claim: Claim, entry: Entry | None) -> str:
    """The value of a claim at the paper's length, with the symbol of its verdict."""
    if entry is None:
        return ""
    return f"{Found.read(entry.ours, claim.unit).shown(claim.unit)} {_cell(entry.verdict)}"


def _words(judgement: Judgement, first: Verdict) -> str:
    claim = judgement.claim
    parts = [_plain(f"{rule_of(claim)}. {claim.rule}")]
    why = reason(judgement)
    if why:
        parts.append(f"*Why {judgement.verdict.value}:* {_plain(why)}")
    replaced = earlier(judgement)
    if replaced:
        parts.append(f"*Earlier:* {_plain(replaced)}")
    if first is not judgement.verdict:
        parts.append(f"*First recorded as:* {first.value}.")
    return " ".join(parts)


def _plain(words: str) -> str:
    """Text in which no character means anything to Markdown but the marks of code."""
    parts = words.replace("|", "\\|").split("`")
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([*_<])", r"\\\1", parts[i])
    return "`".join(parts)


def _fill(words: str, hang: str = "") -> Iterable[str]:
    return textwrap.wrap(words, 110, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False)


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


def _today() -> str:
    return f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}"


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
