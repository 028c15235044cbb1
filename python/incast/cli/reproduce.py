"""``incast reproduce``: re-runs figures of papers and judges their claims."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from incast import store
from incast.cli.common import folder_name
from incast.cli.options import batch_options, executor
from incast.cli.outcome import BatchLine
from incast.cli.table import Column, table

if TYPE_CHECKING:
    from incast import ledger
    from incast.ledger.report import Page


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    sub = commands.add_parser(
        "reproduce",
        help="re-run figures of papers and judge their claims",
        description="Re-runs figures of papers, and shows for each claim the paper's value, the value "
        "measured here, and the verdict. Existing results are reused, so that a "
        "command that was stopped or killed continues where it was.",
    )
    sub.add_argument(
        "what", nargs="*", metavar="FIGURE", help="figures like oscar/fig9, a paper like oscar, or all"
    )
    sub.add_argument("--list", action="store_true", help="list the available figures")
    sub.add_argument(
        "--write", type=Path, metavar="FILE", help="write everything to a Markdown file, pictures next to it"
    )
    sub.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="where to save pictures (default: results/reproduce, or next to the file of --write)",
    )
    sub.add_argument("--no-picture", action="store_true", help="draw nothing")
    sub.add_argument(
        "--results",
        type=Path,
        default=store.DEFAULT,
        metavar="DIR",
        help="the folder of results, from which existing ones are reused (default: incast-results)",
    )
    batch_options(sub)
    sub.add_argument(
        "--papers",
        type=Path,
        metavar="DIR",
        help="where the figures are (default: papers, or the checkout's)",
    )
    sub.set_defaults(act=act)


def act(options: argparse.Namespace) -> int:
    """Lists figures, or runs and judges them."""
    # Only this command needs the ledger; the others start without it.
    from incast import ledger

    try:
        papers = ledger.papers_folder(options.papers)
        if options.list:
            print(_list(papers, options.what))
            return 0
        if not options.what:
            raise ledger.LedgerError(
                "which figure? name one, a paper, or all\n    help: `incast reproduce --list` shows them"
            )
        return _reproduce(ledger.find(papers, options.what), options)
    except ledger.LedgerError as error:
        print(f"incast: {error}", file=sys.stderr)
        return 2


def _list(papers: Path, wanted: list[str]) -> str:
    from incast import ledger

    figures = ledger.find(papers, wanted or ["all"])
    rows = [[figure.id, str(len(figure.runs)), str(len(figure.claims)), figure.title] for figure in figures]
    return table([Column("figure", left=True), Column("runs"), Column("claims"), Column("", left=True)], rows)


def _reproduce(figures: list[ledger.Figure], options: argparse.Namespace) -> int:
    from incast import ledger
    from incast.ledger import report

    commit = report.commit_of(figures[0].folder)
    where = executor(options)
    pages: list[Page] = []
    for figure in figures:
        with BatchLine(figure.id, options.quiet) as line:
            try:
                results = ledger.run_figure(
                    figure, folder=options.results, executor=where, fresh=options.fresh, watch=line
                )
            except KeyboardInterrupt:
                line.stopped(len(figure.runs))
                return 130
        judgements = ledger.judge(figure, results)
        picture = None if options.no_picture else _draw(figure, results, options)
        pages.append(report.Page(figure, judgements, results.wall_s, picture))
        print(("\n" if len(pages) > 1 else "") + report.text(pages[-1]), flush=True)
    if len(pages) > 1:
        every = [judgement for page in pages for judgement in page.judgements]
        print(f"\n{len(pages)} figures, {len(every)} claims: {report.tally(every)}")
    if options.write:
        words = " ".join(["incast reproduce", *options.what, "--write", options.write.as_posix()])
        options.write.parent.mkdir(parents=True, exist_ok=True)
        options.write.write_text(
            report.markdown(pages, words, commit, options.write.parent), encoding="utf-8"
        )
        print(f"written to {options.write}")
    return 0


def _draw(figure: ledger.Figure, results: ledger.Results, options: argparse.Namespace) -> Path | None:
    try:
        from incast.ledger import picture

        drawing = picture.draw(figure, results)
    except ImportError:
        print("incast: no picture without matplotlib: pip install 'incast[plot]'", file=sys.stderr)
        return None
    beside = options.write.with_suffix("") if options.write else Path("results/reproduce")
    folder: Path = options.out or beside
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{folder_name(figure.id)}.png"
    # Without the date inside, the same picture is the same file.
    drawing.savefig(path, dpi=200, metadata={"Software": None})
    return path
