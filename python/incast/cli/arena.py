"""``incast arena``: all contestants through a battery of scenarios, judged by a fixed method."""

from __future__ import annotations

import argparse
import sys

from incast import arena
from incast.arena import Arena, Beside
from incast.arena.making import LIMIT_S
from incast.arena.page import spanned
from incast.cli.options import (
    Commands,
    add_command,
    batch_options,
    executor,
    flag_option,
    limit_option,
    path_option,
)
from incast.cli.outcome import BatchLine
from incast.cli.table import Column, number, paragraph, section, table
from incast.results.decide import Word
from incast.results.titles import number_of
from incast.runs import store
from incast.runs.sweep.tables import write_whole
from incast.scenario.cautions import knowing

MOST_FAILURES = 10
"""Of more failures than this only the first are printed; arena.json has all."""


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(
        commands,
        act,
        "arena",
        "rank contestants over a battery of scenarios",
        "Runs every contestant (an algorithm with the network that it is made for) through every scenario "
        "of a battery, and says who is how far from the best, where, and how surely. Existing results are "
        "reused, so that an arena that was stopped or killed continues where it was.",
    )
    sub.add_argument(
        "--battery",
        default="quick",
        metavar="NAME",
        help="quick (default: some minutes), full (half an hour of one core), or the folder of one",
    )
    flag_option(sub, "--quick", "the battery quick: some minutes")
    flag_option(sub, "--held-out", "the held-out battery: a last check, after which nothing is changed")
    sub.add_argument(
        "--contestants",
        metavar="NAMES",
        help="some contestants, separated by commas (default: all; with --tuned none)",
    )
    sub.add_argument(
        "--cc",
        action="append",
        default=[],
        metavar="WHAT",
        help="a contestant of your own beside the others: mine.py, mine.so, a file of contestants (.toml) or "
        "NAME:PRESET; may be repeated",
    )
    sub.add_argument(
        "--scenarios", metavar="NAMES", help="some scenarios, separated by commas (default: all)"
    )
    path_option(
        sub,
        "--tuned",
        "FILE",
        "the settings of a file that `incast tune` wrote, each beside the default one",
    )
    flag_option(sub, "--no-duels", "no matrix of duels")
    flag_option(
        sub, "--spread", "print the spread of each metric over the contestants, and no contestant's value"
    )
    limit_option(sub, LIMIT_S)
    path_option(sub, "--out", "DIR", "where to save the tables (default: under incast-results/)")
    path_option(sub, "--html", "FILE", "where to write the page too (default: index.html in that folder)")
    batch_options(sub)


def act(options: argparse.Namespace) -> int:
    """Runs the arena, and prints its ranking and where the rest is."""
    tuned = options.tuned
    some = options.contestants or ("all" if tuned is None else [])
    plan = arena.plan(
        "held-out" if options.held_out else options.battery,
        some,
        cc=options.cc,
        scenarios=None if options.scenarios is None else options.scenarios.split(","),
        duels=not (options.no_duels or options.spread),
        for_check=options.held_out,
        tuned=tuned,
        results=store.DEFAULT if options.out is None else options.out / "runs",
    )
    with BatchLine(quiet=options.quiet) as line:
        try:
            done = arena.make(
                plan, executor=executor(options), fresh=options.fresh, limit_s=options.limit, watch=line
            )
        except KeyboardInterrupt:
            line.stopped(len(plan.runs) + len(plan.matches))
            return 130
    if options.spread:
        rows = [[scenario, metric, f"{100 * wide:,.1f}"] for scenario, metric, wide in arena.spread(done)]
        columns = [Column("scenario", left=True), Column("metric", left=True), Column("spread", "%")]
        print(table(columns, rows))
        _say_left_out(done)
        return 1 if done.failures else 0
    folder = arena.default_folder(plan) if options.out is None else options.out
    files = [path.name for path in done.save(folder)]
    page = options.html or folder / "index.html"
    write_whole(page, done.html())
    print(headline(done))
    for default, name in [] if tuned is None else arena.pairs(tuned):
        print(f"\n{side_by_side(arena.beside(done, default, name))}")
    if options.contestants or tuned is None:
        print(f"\n{standings(done)}")
        print(paragraph(_NOTE))
    _say_left_out(done)
    print(f"\nsaved in {folder}\n  {', '.join(files)}\npage {page}")
    return 1 if done.failures else 0


_NOTE = (
    "Never worse than: the largest ratio of a scenario to its best contestant, with that scenario. "
    "In brackets: 95 % over the replicates. docs/guide/arena.md has the method."
)


def headline(done: Arena) -> str:
    """Returns the first line: what was run, and of how much.

    Args:
        done: The arena.
    """
    plan, state = done.plan, done.state
    some = f"{len(plan.battery.entries)} scenarios"
    if len(plan.battery.entries) < plan.scenarios:
        some = f"{len(plan.battery.entries)} of {plan.scenarios} scenarios"
    names = f"{len(plan.contestants)} contestants"
    if plan.missing:
        names = f"{names}, {plan.missing} of Incast's left out"
    parts = [f"{state.made:,} made", f"{state.reused:,} reused"]
    parts += [f"{len(done.failures):,} failed"] if done.failures else []
    runs = len(plan.runs) + len(plan.matches)
    return paragraph(f"arena {done.title}: {names}, {some}, {runs:,} runs: {', '.join(parts)}")


def standings(done: Arena) -> str:
    """Returns the ranking as a table, and a sentence on who knows what no network tells.

    Args:
        done: The arena.
    """
    whole = done.plan.whole
    columns = [Column("", left=False)] if whole else []
    columns += [
        Column("contestant", left=True),
        Column("never worse than", left=True),
        Column("in", left=True),
    ]
    columns += [Column("mean ratio", left=True), Column("failed")]
    rows, place = [], 0
    for one in done.judged.standings:
        place += one.ranked
        worst = spanned(one.worst, one.worst_low, one.worst_high)
        rows.append(
            [
                *([str(place) if one.ranked else "–"] if whole else []),
                one.contestant,
                f"≥ {worst}" if one.censored and not one.failed else worst,
                one.scenario,
                spanned(one.mean, one.mean_low, one.mean_high),
                str(one.failed or "–"),
            ]
        )
    notes = knowing(one.contestant for one in done.judged.standings)
    return "\n".join([table(columns, rows), *map(paragraph, notes)])


def side_by_side(of: Beside) -> str:
    """Returns a tuned setting beside the default one as a table, and the mean ratio of both.

    Args:
        of: Both.
    """
    columns = [Column("scenario", left=True), Column("metric", left=True), Column("default"), Column("tuned")]
    columns.append(Column("difference", left=True))
    rows, before = [], ""
    for one in of.sides:
        values = ["failed" if value is None else number(value) for value in (one.default, one.tuned)]
        word = f"{one.difference.shown()} {_WORDS.get(one.difference.word, one.difference.word.value)}"
        rows.append([one.scenario if one.scenario != before else "", one.metric, *values, word])
        before = one.scenario
    lines = [f"{of.tuned} beside {of.default}", table(columns, rows)]
    if of.whole is not None:
        whole = f"{of.whole.mean:.3f}"
        if of.whole.mean_low is not None and of.whole.mean_high is not None:
            whole = f"{whole} ({of.whole.mean_low:.3f}–{of.whole.mean_high:.3f})"
        failed = f", with {of.whole.failed} of them failed" if of.whole.failed else ""
        lines.append(
            paragraph(
                f"Geometric mean of the ratios of {number_of(of.whole.scenarios, 'scenario')}{failed}: "
                f"{whole}; below 1 the tuned setting is better. Signs: + better, − worse, ≈ no difference "
                "shown, = equal."
            )
        )
    return "\n".join(lines)


_WORDS = {Word.BETTER: "+", Word.WORSE: "−", Word.NOT_SHOWN: "≈", Word.EQUAL: "="}
"""Signs for words, so that a row has room for its numbers."""


def _say_left_out(done: Arena) -> None:
    """Prints what was refused, dropped, or failed."""
    plan = done.plan
    by: dict[tuple[str, str], list[str]] = {}
    for (scenario, name), why in plan.refused.items():
        by.setdefault((name, why), []).append(scenario)
    if by:
        rows = [(name, f"{', '.join(some)}: {why}") for (name, why), some in by.items()]
        print(f"\n{section('refused', rows)}")
    for label, why in list(done.failures.items())[:MOST_FAILURES]:
        print(f"  {label} failed: " + why.replace("\n", "\n    "), file=sys.stderr)
    if len(done.failures) > MOST_FAILURES:
        print("  …: arena.json has all of them", file=sys.stderr)
