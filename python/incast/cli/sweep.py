"""``incast sweep``: many runs of one scenario, in parallel, with one table."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from incast._terminal import WIDTH, cells
from incast.cli.estimate import estimate
from incast.cli.options import (
    Commands,
    add_command,
    batch_options,
    count,
    executor,
    flag_option,
    number_option,
    path_option,
    scenario_options,
)
from incast.cli.outcome import BatchLine
from incast.cli.run import say
from incast.cli.table import Column, number, paragraph, section, table
from incast.errors import Problem, unsaid
from incast.results import stats
from incast.results.measures.named import find
from incast.runs import store
from incast.runs.runner import Local
from incast.runs.sweep import Plan, Run, Sheet, Sweep, headings, plan, ranking, run

MOST_ROWS = 20
"""Of more runs than this only the means are printed."""

MOST_FAILURES = 10
"""Of more failures than this only the first are printed; the manifest has all."""

MOST_WARNINGS = 10
"""Of more warnings than this only the first are printed."""

# Measures that are printed, as far as there is room.
_SHOWN = (
    "jobs.mean",
    "jobs.slowest",
    "jobs.bound",
    "busbw",
    "unfinished.jobs",
    "unfinished.flows",
    "mean.all",
    "p99.all",
    "queue.mean",
    "queue.peak",
    "p99.small",
    "resent",
    "dropped",
)


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(
        commands,
        act,
        "sweep",
        "run many variants and seeds in parallel and write one table",
        "Runs every combination of the values of some keys, each with several seeds, in "
        "parallel. Existing results are reused, so that a sweep that was stopped or killed continues "
        "where it was. The output is one table, as Parquet and CSV, and one of the means over the seeds.",
    )
    scenario_options(sub)
    sub.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="KEY=A,B,…",
        help="a key and its values: cc=oscar,hpcc (cc=all: every algorithm that the scenario permits) or "
        "traffic.0.load=0.5,0.8; may be repeated",
    )
    number_option(
        sub,
        "--seeds",
        count,
        "seeds of each combination: the scenario's (or --seed) and those after it (default: 1)",
        default=1,
    )
    path_option(sub, "--out", "DIR", "where to save tables and results (default: under incast-results/)")
    batch_options(sub)
    flag_option(
        sub, "--estimate", "only run a trial of each combination and estimate what all runs would need"
    )


def act(options: argparse.Namespace) -> int:
    """Makes the sweep, and prints its tables and where they are."""
    what = plan(
        options.file,
        options.vary,
        seeds=options.seeds,
        seed=options.seed,
        overrides=options.overrides,
        results=store.DEFAULT if options.out is None else options.out / "runs",
    )
    if what.left_out and not options.quiet:
        print(section("left out", list(what.left_out.items())), file=sys.stderr)
    if options.estimate:
        firsts = {
            one.label.rpartition("seed=")[0].strip() or what.name: one.scenario for one in _firsts(what)
        }
        return estimate(firsts, what.seeds, options.jobs or Local().jobs)
    said = Counter(problem for one in what.runs for problem in dict.fromkeys(one.scenario.warnings))
    if not options.quiet:
        _warn(said, len(what.runs))
    with BatchLine(quiet=options.quiet) as line:
        try:
            done = run(what, folder=options.out, executor=executor(options), fresh=options.fresh, watch=line)
        except KeyboardInterrupt:
            line.stopped(len(what.runs))
            return 130
    if not options.quiet:
        _warn({problem: done.warnings[problem] for problem in unsaid(done.warnings, said)}, len(what.runs))
    _show(done)
    return 1 if done.state.failures else 0


def _warn(warnings: Mapping[Problem, int], runs: int) -> None:
    """Prints warnings, each with the number of runs that have it, where these are not all."""
    for problem, some in list(warnings.items())[:MOST_WARNINGS]:
        say(f"warning: {problem}")
        if some < runs:
            print(f"    {some:,} of {runs:,} runs", file=sys.stderr)
    if len(warnings) > MOST_WARNINGS:
        say(f"{len(warnings) - MOST_WARNINGS:,} more warnings: the tables have all")


def _firsts(what: Plan) -> Sequence[Run]:
    return what.runs[:: what.seeds]


def _show(done: Sweep) -> None:
    what, state = done.plan, done.state
    seeds = "1 seed" if what.seeds == 1 else f"{what.seeds} seeds"
    parts = [f"{state.made:,} made", f"{state.reused:,} reused"]
    parts += [f"{len(state.failures):,} failed"] if state.failures else []
    print(f"{what.name}: {len(_firsts(what)):,} × {seeds}: {', '.join(parts)}")
    if 0 < len(done.table) <= MOST_ROWS and what.seeds > 1:
        print(f"\n{_each(what, done.table)}")
    if len(done.table):
        order, by = ranking(what, done.summary)
        print(f"\n{_means(what, done.summary, order)}")
        print(paragraph(f"{_ranked(what, by)}{_notes(what, done.summary)}"))
    print(f"\nsaved in {done.folder}\n  {', '.join(path.name for path in done.files)}")
    print(f"results in {what.runs[0].folder.parent}")
    if state.failures:
        print(f"\n{len(state.failures):,} of {len(what.runs):,} runs failed", file=sys.stderr)
        for failure in state.failures[:MOST_FAILURES]:
            print(f"  {failure.label}: " + failure.why.replace("\n", "\n    "), file=sys.stderr)
        if len(state.failures) > MOST_FAILURES:
            print("  …: manifest.json has all of them", file=sys.stderr)


_JOBS = "Job times: completion times; / bound: that over the least possible time with empty queues. "
_SLOWDOWN = (
    "Slowdown: completion time divided by that on the idle path. Queue: of the probed ports, as sampled."
)


def _ranked(what: Plan, by: str) -> str:
    return f"Ranked by {by}. " if len(_firsts(what)) > 1 else ""


def _notes(what: Plan, means: Sheet) -> str:
    """The explanation below the table."""
    jobs = _JOBS if any(value is not None for value in means.column("jobs_unfinished")) else ""
    if what.seeds == 1:
        return f"{jobs}{_SLOWDOWN} --seeds adds confidence intervals."
    draws = means.column("draws")
    interval = "Mean over the seeds ± half of its 95 % confidence interval (Student's t). "
    some = [] if all(draws) else [interval]
    some += [f"{stats.NO_DRAWS} "] if any(draws) else []
    return f"{''.join(some)}{jobs}{_SLOWDOWN}"


def _each(what: Plan, sheet: Sheet) -> str:
    seeds = [f"{seed:,}" for seed in sheet.column("seed")]
    rows = range(len(sheet))
    return _fitting(
        what, sheet, rows, ("seed", seeds), lambda name, n, one: _cell(sheet.column(name)[n], None, one)
    )


def _means(what: Plan, sheet: Sheet, order: Sequence[int]) -> str:
    def cell(name: str, n: int, one: float) -> str:
        return _cell(sheet.column(name)[n], sheet.column(f"{name}_ci95")[n], one)

    both = zip(sheet.column("runs"), sheet.column("draws"), strict=True)
    runs = [f"{runs:,}, {draws}" if draws else f"{runs:,}" for runs, draws in both]
    return _fitting(what, sheet, order, ("runs", runs), cell)


def _cell(value: float | None, half: float | None, one: float) -> str:
    """A number and its uncertainty, with the same digits."""
    if value is None:
        return "–"
    text = number(value / one)
    return text if half is None else f"{text} ± {half / one:,.{len(text.partition('.')[2])}f}"


def _fitting(
    what: Plan,
    sheet: Sheet,
    order: Sequence[int],
    last: tuple[str, Sequence[str]],
    cell: Callable[[str, int, float], str],
) -> str:
    """A table of the axes, a last column of them, warnings, and as many numbers as fit."""
    left = [Column(text, left=True) for text in headings(what.axes)]
    rows = [[*(sheet.column(a.key)[n] for a in what.axes), last[1][n]] for n in order]
    left.append(Column(last[0]))
    if any(sheet.column("warnings")):
        left.append(Column("warned"))
        rows = [
            [*row, "yes" if sheet.column("warnings")[n] else ""] for row, n in zip(rows, order, strict=True)
        ]
    least = len(left)
    for measure in map(find, _SHOWN):
        (name,), one = measure.metrics, measure.scale
        if all(value is None or value == 0 for value in sheet.column(name)):
            continue
        column = Column(*measure.heading)
        wider = [[*row, cell(name, n, one)] for row, n in zip(rows, order, strict=True)]
        text = table([*left, column], wider)
        if len(left) > least and any(cells(line) > WIDTH for line in text.splitlines()):
            continue
        left, rows = [*left, column], wider
    return table(left, rows)
