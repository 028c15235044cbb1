"""``incast sweep``: many runs of one scenario, in parallel, with one table."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from incast._terminal import WIDTH, cells
from incast.cli.differences import (
    asked,
    calls_of,
    differences_options,
    margin_of,
    missing,
    note,
    seeds_of,
    shown,
)
from incast.cli.estimate import estimate
from incast.cli.options import (
    Commands,
    add_command,
    batch_options,
    count,
    executor,
    flag_option,
    limit_option,
    number_option,
    path_option,
    scenario_options,
)
from incast.cli.outcome import MOST_RUNS, BatchLine, answers, dropped
from incast.cli.required import Required, require_option
from incast.cli.run import say
from incast.cli.table import Column, number, paragraph, section, table
from incast.errors import Problem, ScenarioError, unsaid
from incast.results import stats
from incast.results.grid import Grid, headline, made_of
from incast.results.listing.marks import Marked
from incast.results.listing.of_grid import FLOWS, SHOWN
from incast.results.measures.named import Measure, find
from incast.runs import store
from incast.runs.runner import Executor, Local
from incast.runs.sweep import Plan, Run, Sheet, Sweep, baseline_of, headings, plan, ranking, rule_of, run
from incast.scenario import Scenario
from incast.scenario.cautions import cautions
from incast.scenario.measured import refuse_missing

MOST_ROWS = 20
"""Of more runs than this only the means are printed."""

MOST_FAILURES = 10
"""Of more failures than this only the first are printed; the manifest has all."""

MOST_WARNINGS = 10
"""Of more warnings than this only the first are printed."""


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
        "traffic.0.load=0.5,0.8; contestant=nscc,ndp: algorithms with the switches and transport for them "
        "(see `incast list contestants`); may be repeated",
    )
    number_option(
        sub,
        "--seeds",
        count,
        "seeds of each combination: the scenario's (or --seed) and those after it (default: 1; with "
        "--until-decided the most, 40)",
    )
    differences_options(sub)
    require_option(sub)
    path_option(sub, "--out", "DIR", "where to save tables and results (default: under incast-results/)")
    batch_options(sub)
    limit_option(sub)
    flag_option(
        sub, "--estimate", "only run a trial of each combination and estimate what all runs would need"
    )


def act(options: argparse.Namespace) -> int:
    """Makes the sweep, and prints its tables and where they are."""
    what = plan(
        options.file,
        options.vary,
        seeds=seeds_of(options),
        seed=options.seed,
        overrides=options.overrides,
        results=store.DEFAULT if options.out is None else options.out / "runs",
    )
    required = Required(options, lambda: planned(what), (run.first for run in _firsts(what)))
    done = carry_out(what, options, executor(options), options.limit, required=required)
    return done if isinstance(done, int) else required.code(1 if done.state.failures else 0)


def planned(what: Plan) -> Grid:
    """Returns the grid of a sweep before it is run: its entries without runs."""
    return made_of(what.name, what.axes, {run.values: [] for run in what.runs})


def carry_out(
    what: Plan,
    options: argparse.Namespace,
    where: Executor,
    limit_s: float | None = None,
    *,
    required: Required,
) -> Sweep | int:
    """Makes the runs of a sweep, and prints its tables and where they are.

    Args:
        what: The sweep.
        options: The options of the command, also of the differences.
        where: The executor of the runs.
        limit_s: Wall time after which a run is ended, in seconds; None: no limit.
        required: The requirements.

    Returns:
        The sweep; or the exit code, if it was stopped or only estimated.

    Raises:
        ScenarioError: When an option of the differences has no effect or no meaning.
        ResultError: When its folder holds something else, or cannot be written.
    """
    calls = calls_of(options)
    refuse_missing("--measure", calls, (run.first for run in _firsts(what)))
    by = asked(options, calls)
    margin = margin_of(options)
    baseline = baseline_of(what, options.baseline)
    rule = None if margin is None else rule_of(what, baseline, margin, by)
    if by is not None and baseline is None:
        raise ScenarioError(f"--by {options.by}: has no effect without a baseline\n    help: --baseline NAME")
    if what.left_out and not options.quiet:
        print(section("left out", list(what.left_out.items())), file=sys.stderr)
    if not options.quiet:
        for note in what.notes:
            say(note)
    if options.estimate:
        firsts = {
            one.label.rpartition("seed=")[0].strip() or what.name: one.scenario for one in _firsts(what)
        }
        return estimate(firsts, what.seeds, options.jobs or Local().jobs)
    said = Counter(problem for one in what.runs for problem in dict.fromkeys(one.scenario.warnings))
    _warn(said, len(what.runs))
    if rule is not None:
        print(f"{paragraph(rule.text(what))}\n", flush=True)
    with BatchLine(quiet=options.quiet) as line:
        try:
            done = run(
                what,
                folder=options.out,
                executor=where,
                fresh=options.fresh,
                limit_s=limit_s,
                watch=line,
                command=options.command,
                baseline=baseline,
                rule=rule,
                calls=calls,
            )
        except KeyboardInterrupt:
            line.stopped(len(what.runs), most=rule is not None)
            return 130
    _warn({problem: done.warnings[problem] for problem in unsaid(done.warnings, said)}, done.state.runs)
    _show(done, by, required)
    return done


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


def _by_choice(what: Plan) -> dict[str, Scenario]:
    """The scenarios that differ only in their algorithm or contestant, by its label; none if one is swept."""
    place = next((n for n, axis in enumerate(what.axes) if axis.key in ("cc", "contestant")), None)
    if place is None:
        return {}
    others = {n: value for n, value in enumerate(what.runs[0].values) if n != place}
    firsts = (run for run in _firsts(what) if all(run.values[n] == value for n, value in others.items()))
    return {run.values[place]: run.scenario for run in firsts}


def _show(done: Sweep, by: Measure | None, required: Required) -> None:
    what, state = done.plan, done.state
    seeds = "1 seed" if what.seeds == 1 else f"{what.seeds} seeds"
    seeds = seeds if done.rule is None else f"up to {seeds}"
    parts = [f"{state.made:,} made", f"{state.reused:,} reused"]
    parts += [f"{len(state.failures):,} failed"] if state.failures else []
    if unneeded := len(what.runs) - state.runs:
        parts.append(f"{unneeded:,} not needed")
    print(f"{what.name}: {len(_firsts(what)):,} × {seeds}: {', '.join(parts)}")
    if len(done.table) <= MOST_RUNS:
        grid = done.numbers
        measures = [] if by is None else [by, *(one for one in headline(grid) if one != by)]
        if said := answers(grid, done.decisions, measures, ranked=done.rule is None):
            print(f"\n{said}")
    if cautious := cautions(_by_choice(what)):
        print("\n" + "\n".join(map(paragraph, cautious)))
    if judged := required.text(done.grid) if required else "":
        print(f"\n{judged}")
    if 0 < len(done.table) <= MOST_ROWS and what.seeds > 1:
        print(f"\n{_each(done, done.table)}")
    if len(done.table):
        order, ranked = ranking(what, done.summary)
        text, used = _means(done, done.summary, order)
        print(f"\n{text}")
        notes = f"{_ranked(what, ranked)}{_notes(what, done.summary, used)}{note(what, done.differences)}"
        print(paragraph(notes))
    if text := shown(done, by):
        print(f"\n{text}")
    if text := missing(done):
        print(f"\n{text}")
    firsts = {one.label.rpartition("seed=")[0].strip(): one.scenario for one in _firsts(what)}
    if without := dropped(firsts):
        print(f"\n{without}")
    print(f"\nsaved in {done.folder}\n{paragraph(', '.join(path.name for path in done.files), '  ')}")
    print(f"results in {what.runs[0].folder.parent}")
    if state.failures:
        print(f"\n{len(state.failures):,} of {state.runs:,} runs failed", file=sys.stderr)
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


def _notes(what: Plan, means: Sheet, used: Sequence[str]) -> str:
    """The explanation below the table of these numbers."""
    jobs = _JOBS if any(value is not None for value in means.column("jobs_unfinished")) else ""
    bounds = " ≥: a lower bound, since flows did not finish." if any(means.column("at_least")) else ""
    if what.seeds == 1:
        return f"{jobs}{_SLOWDOWN}{bounds} --seeds adds confidence intervals."
    return f"{''.join(f'{note} ' for note in _intervals(means, used))}{jobs}{_SLOWDOWN}{bounds}"


def _intervals(means: Sheet, used: Sequence[str]) -> list[str]:
    """Explanations of the intervals of these numbers, and of their absence."""
    draws = means.column("draws")
    several = [runs > 1 and not none for runs, none in zip(means.column("runs"), draws, strict=True)]
    both = [
        (value, half)
        for name in used
        for value, half, is_drawn in zip(
            means.column(name), means.column(f"{name}_ci95"), several, strict=True
        )
        if is_drawn and value is not None
    ]
    parts = [
        (stats.INTERVAL, any(half is not None for _, half in both)),
        (stats.NO_DRAWS, any(draws)),
        (stats.SAME, any(half is None for _, half in both)),
    ]
    return [text for text, is_said in parts if is_said]


Cell: TypeAlias = Callable[[Measure, int, Marked], str]
"""Gives the cell of a measure in a row, and marks it."""


def _each(done: Sweep, sheet: Sheet) -> str:
    seeds = [f"{seed:,}" for seed in sheet.column("seed")]
    rows = range(len(sheet))

    def cell(measure: Measure, n: int, marked: Marked) -> str:
        (name,) = measure.metrics
        text = _cell(sheet.column(name)[n], None, measure.scale, _is_bound(sheet, name, n))
        return _marked(text, done, measure, _values(done, sheet, n), sheet.column("seed")[n], marked)

    return _fitting(done, sheet, rows, ("seed", seeds), cell)[0]


def _means(done: Sweep, sheet: Sheet, order: Sequence[int]) -> tuple[str, list[str]]:
    def cell(measure: Measure, n: int, marked: Marked) -> str:
        (name,) = measure.metrics
        half = sheet.column(f"{name}_ci95")[n]
        text = _cell(sheet.column(name)[n], half, measure.scale, _is_bound(sheet, name, n))
        return _marked(text, done, measure, _values(done, sheet, n), None, marked)

    both = zip(sheet.column("runs"), sheet.column("draws"), strict=True)
    runs = [f"{runs:,}, {draws}" if draws else f"{runs:,}" for runs, draws in both]
    return _fitting(done, sheet, order, ("runs", runs), cell)


def _values(done: Sweep, sheet: Sheet, n: int) -> tuple[str, ...]:
    return tuple(sheet.column(a.key)[n] for a in done.plan.axes)


def _marked(
    text: str, done: Sweep, measure: Measure, values: tuple[str, ...], seed: int | None, marked: Marked
) -> str:
    """Marks a percentile that is the largest value of a run, of one seed or of any."""
    if measure.rank is None or measure.slowdown_of is None:
        return text
    return marked.percentile(text, measure.rank, done.behind(values, measure.slowdown_of, seed))


def _is_bound(sheet: Sheet, name: str, n: int) -> bool:
    """Whether a number is only a lower bound, since flows did not finish."""
    return name in sheet.column("at_least")[n].split(", ")


def _cell(value: float | None, half: float | None, one: float, at_least: bool) -> str:
    """A number and its uncertainty, with the same digits; a lower bound has none."""
    if value is None:
        return "–"
    text = number(value / one)
    if at_least:
        return f"≥ {text}"
    return text if half is None else f"{text} ± {half / one:,.{len(text.partition('.')[2])}f}"


def _fitting(
    done: Sweep,
    sheet: Sheet,
    order: Sequence[int],
    last: tuple[str, Sequence[str]],
    cell: Cell,
) -> tuple[str, list[str]]:
    """A table of the axes, a last column of them, warnings, and as many numbers as fit, with their names."""
    what = done.plan
    left = [Column(text, left=True) for text in headings(what.axes)]
    rows = [[*(sheet.column(a.key)[n] for a in what.axes), last[1][n]] for n in order]
    left.append(Column(last[0]))
    if any(sheet.column("warnings")):
        left.append(Column("warned"))
        rows = [
            [*row, "yes" if sheet.column("warnings")[n] else ""] for row, n in zip(rows, order, strict=True)
        ]
    least = len(left)
    marked = Marked(FLOWS)
    own = [call.measure for call in done.calls]
    used: list[str] = []
    for measure in (*own, *map(find, SHOWN)):
        (name,) = measure.metrics
        if measure not in own and all(value is None or value == 0 for value in sheet.column(name)):
            continue
        column = Column(*measure.heading)
        its = Marked(FLOWS)
        wider = [[*row, cell(measure, n, its)] for row, n in zip(rows, order, strict=True)]
        text = table([*left, column], wider)
        if len(left) > least and any(cells(line) > WIDTH for line in text.splitlines()):
            continue
        left, rows, used = [*left, column], wider, [*used, name]
        marked.few = marked.few or its.few
    return "\n".join([table(left, rows), *map(paragraph, marked.notes())]), used
