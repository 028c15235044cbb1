"""Figures of the papers: verdicts, the builds that claims judge, set-ups."""

from __future__ import annotations

import functools
import re
from collections import Counter
from pathlib import Path

from generating.markdown import cell, code, table_of
from incast import _core
from incast.ledger import Verdict, builds, figure, find, record, setup
from incast.ledger import headlines as headline_file
from incast.ledger.site import PAPERS, SYMBOLS, page_name


def learned(root: Path) -> str:
    """The page about the papers, with verdicts as they are recorded now.

    These are the symbols of its links to claims, which look like
    ``[● oscar/fig9](reproduction/oscar-fig9.md#oscar-queue)``, and the list of what is not reproduced.
    """
    recorded = record.read(root / "papers")

    def symbol(found: re.Match[str]) -> str:
        figure, claim = found["figure"], found["claim"]
        verdict = recorded[figure].verdicts.get(claim) if figure in recorded else None
        if verdict is None:
            raise SystemExit(f"docs/learned.md: {figure} has no recorded claim {claim}")
        return f"[{SYMBOLS[verdict]} {figure}]({found['page']}#{claim})"

    link = r"\[\S (?P<figure>[a-z]+/[\w-]+)\]\((?P<page>reproduction/[\w-]+\.md)#(?P<claim>[\w.-]+)\)"
    text = (root / "docs/learned.md").read_text()
    # The lists come first: as they stand, they may have claims that are judged no more.
    for part, make in (("headlines", headlines), ("not reproduced", not_reproduced)):
        before, begin, rest = text.partition(f"<!-- made: {part} -->")
        _, end, after = rest.partition("<!-- end -->")
        text = f"{before}{begin}{make(root, recorded)}{end}{after}"
    return re.sub(link, symbol, text)


def headlines(root: Path, recorded: record.Record) -> str:
    """Lists the statements that readers of the papers remember, by paper, with the recorded verdicts."""
    found = headline_file.read(root / "papers", list(figures()))
    texts = []
    for paper, title in PAPERS.items():
        of_paper = [each for each in found if each.paper == paper]
        counts = Counter(each.verdict(recorded) for each in of_paper)
        items = [
            f"- {SYMBOLS[verdict]} {cell(each.claim.says)} ({each.place}): "
            f"[{SYMBOLS[verdict]} {each.figure.id}](reproduction/{page_name(each.figure.id)}#{each.claim.id})"
            for verdict in Verdict
            for each in of_paper
            if each.verdict(recorded) is verdict
        ]
        told = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict])
        texts += [f"### {title}: {len(of_paper)} statements", f"{told}.", "\n".join(items)]
    return "\n\n" + "\n\n".join(texts) + "\n\n"


def not_reproduced(root: Path, recorded: record.Record) -> str:
    """Lists the claims that are recorded as not reproduced, by paper."""
    texts = []
    for paper, title in PAPERS.items():
        symbol = SYMBOLS[Verdict.NOT_REPRODUCED]
        items = [
            f"- {cell(claim.says)}: [{symbol} {one.id}](reproduction/{page_name(one.id)}#{claim.id})"
            for one in figures()
            if one.id.partition("/")[0] == paper and one.id in recorded
            for claim in one.claims
            if recorded[one.id].verdicts.get(claim.id) is Verdict.NOT_REPRODUCED
        ]
        if items:
            texts += [f"### {title}", "\n".join(items)]
    return "\n\n" + "\n\n".join(texts) + "\n\n"


@functools.cache
def figures() -> list[figure.Figure]:
    """All figures."""
    return find(Path(__file__).parents[2] / "papers", ["all"])


@functools.cache
def judged() -> list[builds.Judged]:
    """The builds of all figures."""
    return [builds.judged(one) for one in figures()]


def judged_by_algorithm() -> str:
    """Returns a table of the algorithms: their default, and the builds that figures judge."""
    rows = []
    for algorithm in _core.algorithms():
        counts: Counter[str] = Counter()
        figures = 0
        for one in judged():
            found = {build for build in one.claims if build.algorithm == algorithm.name}
            figures += bool(found)
            kinds = {f"`{b.preset}`{' with set parameters' if b.changed else ''}" for b in found}
            # Of the same count, those that come first are shown first: the order must not be that of a set.
            counts.update(sorted(kinds))
        if figures:
            default = f"`{builds.default(algorithm.name)}`"
            others = ", ".join(f"{name} {count}" for name, count in counts.most_common() if name != default)
            rows.append(
                f"| [{algorithm.title}](algorithms/{algorithm.name}.md) | {default} | {figures} | "
                f"{counts[default]} | {others} |"
            )
    head = ["| algorithm | default | figures | with the default | with other builds |"]
    return "\n\n" + "\n".join([*head, "| --- | --- | ---: | ---: | --- |", *rows]) + "\n\n"


def judged_by_figure() -> str:
    """Returns a table of the figures of each paper with the builds that they judge."""
    texts = []
    for paper, title in PAPERS.items():
        rows = [
            f"| [{one.figure}](reproduction/{page_name(one.figure)}) | "
            f"{'<br>'.join(builds.told(one.claims))} | {'<br>'.join(builds.told(one.beside))} |"
            for one in judged()
            if one.figure.partition("/")[0] == paper and (one.claims or one.beside)
        ]
        texts += [f"## {title}", "\n".join(["| figure | judged | beside |", "| --- | --- | --- |", *rows])]
    return "\n\n" + "\n\n".join(texts) + "\n\n"


def in_no_figure() -> str:
    """Lists the algorithms that are in no run that a claim measures."""
    names = builds.unjudged([one.name for one in _core.algorithms()], judged())
    rows = [
        f"- [{one.title}](../algorithms/{one.name}.md)" for one in _core.algorithms() if one.name in names
    ]
    return "\n\n" + ("\n".join(rows) or "None: figures run every algorithm.") + "\n\n"


def set_ups() -> str:
    """Returns the set-up of each paper: its entries, baselines, deviations, and what is open."""
    papers = Path(__file__).parents[2] / "papers"
    texts = []
    for paper, title in PAPERS.items():
        found = setup.read(papers, paper)
        texts.append(f"## {title}")
        if found.environments:
            texts.append("\n".join(f"- *{e.name}*: {e.what}: {code(e.figures)}" for e in found.environments))
        entries = [(e.key, e.environment or "everywhere", e.value, e.source) for e in found.entries]
        texts.append(table_of(("key", "where", "value", "source"), entries))
        builds_of_paper = [
            (f"`{b.cc}`", b.environment or "everywhere", code(b.parameters), code(b.varies), b.source)
            for b in found.baselines
        ]
        texts.append(table_of(("build", "where", "parameters", "varies", "source"), builds_of_paper))
        for head, last, ones in (
            ("Figures that differ, with the paper's words:", "the paper's words", found.deviations),
            ("Open, without such words:", "what would end it", found.open),
        ):
            rows = [
                (
                    f"[{one.figure}](reproduction/{page_name(f'{paper}/{one.figure}')})",
                    code(one.runs),
                    one.what,
                    one.caption or one.needs,
                )
                for one in ones
            ]
            if rows:
                texts += [head, table_of(("figure", "runs", "what differs", last), rows)]
    return "\n\n" + "\n\n".join(texts) + "\n\n"
