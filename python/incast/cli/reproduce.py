"""``incast reproduce``: re-runs figures of papers and judges their claims."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from incast.cli.common import folder_name
from incast.cli.options import Commands, add_command, batch_options, executor, flag_option, path_option
from incast.cli.outcome import BatchLine
from incast.cli.table import columns, table
from incast.runs import store

if TYPE_CHECKING:
    from incast import ledger
    from incast.ledger import record
    from incast.ledger.report import Page


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(
        commands,
        act,
        "reproduce",
        "re-run figures of papers and judge their claims",
        "Re-runs figures of papers, and shows for each claim the paper's value, the value "
        "measured here, and the verdict. Existing results are reused, so that a "
        "command that was stopped or killed continues where it was.",
    )
    sub.add_argument(
        "what", nargs="*", metavar="FIGURE", help="figures like oscar/fig9, a paper like oscar, or all"
    )
    flag_option(sub, "--list", "list the available figures")
    flag_option(
        sub,
        "--quick",
        "only figures of the quick set, which has every algorithm (about ten minutes on two cores)",
    )
    path_option(
        sub,
        "--write",
        "FILE",
        "write an overview to a Markdown file, and a page for each figure into a folder next to it; "
        "figures that were not run stand in the overview as they are recorded",
    )
    flag_option(
        sub,
        "--check",
        "exit with 1 if a verdict is worse than the one recorded in verdicts.json of the papers, or a value "
        "lies outside of the interval that is recorded there",
    )
    flag_option(sub, "--record", "record the verdicts, values and times there, and the rules in rules.lock")
    flag_option(sub, "--recorded", "make no runs: judge the recorded values by the rules of today")
    flag_option(
        sub,
        "--earlier",
        "also make the runs at which only earlier rules look; else what is recorded of these rules stays",
    )
    flag_option(
        sub,
        "--full",
        "only runs that are shorter here than in the paper, at the paper's own length and with one seed; "
        "recorded apart, in full.json (hours)",
    )
    path_option(
        sub,
        "--out",
        "DIR",
        "where to save pictures (default: results/reproduce; next to the file of --write in a pass over "
        "all figures with --record, and where there is none yet)",
    )
    flag_option(sub, "--no-picture", "draw nothing")
    path_option(
        sub,
        "--results",
        "DIR",
        "the folder of results, from which existing ones are reused (default: incast-results)",
        default=store.DEFAULT,
    )
    batch_options(sub)
    path_option(sub, "--papers", "DIR", "where the figures are (default: papers, or the checkout's)")


def act(options: argparse.Namespace) -> int:
    """Lists figures, or runs and judges them."""
    # Only this command needs the ledger; the others start without it.
    from incast import ledger

    try:
        papers = ledger.papers_folder(options.papers)
        if options.list:
            print(_list(papers, options.what))
            return 0
        if not options.what and options.quick:
            options.what = ["all"]
        if not options.what:
            raise ledger.LedgerError(
                "which figure? name one, a paper, or all\n    help: `incast reproduce --list` shows them"
            )
        if options.full:
            refused = ("check", "recorded", "quick", "write")
            other = next((name for name in refused if getattr(options, name)), None)
            if other:
                raise ledger.LedgerError(
                    f"--full cannot be combined with --{other}: its values are recorded apart\n"
                    "    help: a page shows what --full recorded when --write makes it the next time"
                )
        figures = ledger.find(papers, options.what)
        if not options.earlier:
            figures = [figure.of_today() for figure in figures]
        if options.full:
            longer = [figure.at_full_length() for figure in figures]
            figures = [figure for figure in longer if figure is not None]
            if not figures:
                raise ledger.LedgerError("the runs of none of these figures are shorter than the paper's")
        if options.quick:
            figures = [figure for figure in figures if figure.quick]
            if not figures:
                raise ledger.LedgerError("none of these figures is in the quick set")
        if options.recorded and options.check:
            raise ledger.LedgerError("--check compares new runs with what is recorded: leave out --recorded")
        return _reproduce(figures, papers, options)
    except ledger.LedgerError as error:
        print(f"incast: {error}", file=sys.stderr)
        return 2


def _list(papers: Path, wanted: list[str]) -> str:
    from incast import ledger
    from incast.ledger import record

    figures = ledger.find(papers, wanted or ["all"])
    recorded = record.read(papers)
    rows = [
        [
            figure.id,
            str(sum(len(spec.seeds) or 1 for spec in figure.runs)),
            f"{recorded[figure.id].hops / 1e6:,.0f} M" if figure.id in recorded and figure.runs else "",
            str(len(figure.claims)),
            "quick" if figure.quick else "",
            figure.title,
        ]
        for figure in figures
    ]
    numbers = (("runs", ""), ("packet-hops", ""), ("claims", ""))
    return table(columns("figure", *numbers, "", ""), rows)


def _reproduce(figures: list[ledger.Figure], papers: Path, options: argparse.Namespace) -> int:
    from incast import ledger
    from incast.ledger import lock, record, report, site

    if not options.full:
        lock.check(papers, figures)
    recorded = record.read(papers)
    made = site.made_now(site.commit_of(papers))
    pages: list[Page] = []
    wrong: list[str] = []
    not_here: list[str] = []
    runs = sum(len(spec.seeds) or 1 for figure in figures for spec in figure.runs)
    with BatchLine(figures[0].id if len(figures) == 1 else "", options.quiet) as line:

        def done(figure: ledger.Figure, results: ledger.Results) -> None:
            try:
                judgements = ledger.judge(figure, results, record.earlier_values(figure, recorded))
                picture = (
                    None
                    if options.no_picture or options.full
                    else _draw(figure, results, judgements, options)
                )
            except ledger.LedgerError as error:
                # One figure whose claims cannot be measured does not stop the others.
                wrong.append(str(error))
                line.wipe()
                print(f"incast: {error}", file=sys.stderr)
                return
            beside = None if options.out else _picture_beside(figure, options)
            shown = beside if beside and beside.exists() else picture
            show(report.Page(figure, judgements, results.wall_s, results.hops, picture, shown, made))

        def show(page: Page) -> None:
            pages.append(page)
            line.wipe()
            print(("\n" if len(pages) > 1 else "") + report.text(page), flush=True)

        def absent(figure: ledger.Figure, reason: str) -> None:
            not_here.append(figure.id)
            line.wipe()
            print(f"\n{figure.id}: {figure.title}\n\n  not run here: {reason}", flush=True)

        try:
            if options.recorded:
                for page in _recorded(figures, recorded, options):
                    show(page)
            ledger.run_figures(
                [] if options.recorded else figures,
                done,
                folder=options.results,
                executor=executor(options),
                fresh=options.fresh,
                watch=line,
                absent=absent,
            )
        except ledger.LedgerError as error:
            # Runs that failed: what the others gave is written all the same.
            wrong.append(str(error))
            line.wipe()
            print(f"incast: {error}", file=sys.stderr)
        except KeyboardInterrupt:
            line.stopped(runs)
            return 130
    if len(pages) > 1:
        every = [judgement for page in pages for judgement in page.judgements]
        print(f"\n{len(pages)} figures, {len(every)} claims: {report.tally(every)}")
    if not_here:
        print(f"not run here: {', '.join(not_here)}; what is recorded of them stays")
    order = ledger.ids(papers)
    pages.sort(key=lambda page: order.index(page.figure.id))
    wrong_now = [change for change in record.changes(recorded, pages) if change.is_worse or change.moved]
    if options.record:
        name = record.FULL if options.full else record.FILE
        record.write(papers, pages, order, name)
        if not options.full:
            lock.write(papers, pages, order)
        print(f"recorded in {papers / name}")
    if options.write:
        words = ["incast reproduce", *options.what, "--quick" if options.quick else ""]
        words.append("--recorded" if options.recorded else "")
        command = " ".join([*filter(None, words), "--write", options.write.as_posix()])
        _write(papers, pages, recorded, options.write, command)
        print(f"written to {options.write}")
    if options.check:
        for change in wrong_now:
            what = "worse than recorded" if change.is_worse else "outside of the recorded interval"
            print(f"incast: {what}: {change}", file=sys.stderr)
        worse = sum(change.is_worse for change in wrong_now)
        moved = len(wrong_now) - worse
        print(
            f"{worse or 'no'} verdict{' is' if worse <= 1 else 's are'} worse than recorded, "
            f"{moved or 'no'} value{' is' if moved <= 1 else 's are'} outside of the recorded interval"
        )
    if wrong:
        # Again, since what was said of each is far above the end of a long output.
        judged = {page.figure.id for page in pages}
        judged.update(not_here)
        names = ", ".join(figure.id for figure in figures if figure.id not in judged)
        print(f"incast: not judged, for the errors above: {names}", file=sys.stderr)
        return 2
    return 1 if options.check and wrong_now else 0


def _recorded(
    figures: list[ledger.Figure], recorded: record.Record, options: argparse.Namespace
) -> Iterator[Page]:
    """Judges what is recorded of some figures, with the pictures that they have."""
    from incast import ledger
    from incast.ledger import record

    for figure in figures:
        if figure.id not in recorded:
            raise ledger.LedgerError(f"{figure.id}: nothing is recorded of it")
        page = record.page_of(figure, recorded[figure.id])
        beside = _picture_beside(figure, options)
        yield dataclasses.replace(page, shown=beside if beside and beside.exists() else None)


def _write(papers: Path, pages: list[Page], recorded: record.Record, file: Path, command: str) -> None:
    """Writes the overview and the pages of the figures."""
    from incast import ledger
    from incast.ledger import headlines, lock, record, site

    figures = ledger.find(papers, ["all"])
    every = site.Ledger(
        figures,
        recorded,
        lock.read(papers),
        headlines.read(papers, figures),
        record.read(papers, record.FULL),
    )
    site.write(file, pages, every, command)


def _draw(
    figure: ledger.Figure,
    results: ledger.Results,
    judgements: list[ledger.Judgement],
    options: argparse.Namespace,
) -> Path | None:
    try:
        from incast.ledger import palette, picture

        drawing = picture.draw(figure, results, judgements)
    except ImportError:
        print("incast: no picture without matplotlib: pip install 'incast[plot]'", file=sys.stderr)
        return None
    path = _place_of_picture(figure, options)
    path.parent.mkdir(parents=True, exist_ok=True)
    palette.save(drawing, path)
    return path


def _place_of_picture(figure: ledger.Figure, options: argparse.Namespace) -> Path:
    """Returns where a figure's new picture goes.

    Pictures beside the file of ``--write`` are kept in git, where every version stays: only a recorded pass
    over all figures replaces them. A figure without a picture there gets its first one.
    """
    if options.out:
        return Path(options.out) / _name_of_picture(figure)
    beside = _picture_beside(figure, options)
    full_pass = options.record and "all" in options.what and not options.quick
    if beside and (full_pass or not beside.exists()):
        return beside
    return Path("results/reproduce") / _name_of_picture(figure)


def _picture_beside(figure: ledger.Figure, options: argparse.Namespace) -> Path | None:
    """Returns the place of a figure's picture beside the file of ``--write``; None without that option."""
    if not options.write:
        return None
    return Path(options.write.with_suffix("")) / _name_of_picture(figure)


def _name_of_picture(figure: ledger.Figure) -> str:
    return f"{folder_name(figure.id)}.png"
