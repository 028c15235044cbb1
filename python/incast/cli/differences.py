"""The differences of a sweep or a comparison to a baseline, and the options that ask for them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial

from incast._terminal import WIDTH, cells
from incast.cli.table import Column, number, paragraph, table
from incast.errors import ScenarioError
from incast.results import stats
from incast.results.decide import Difference, Word
from incast.results.grid import Grid, Run, headings
from incast.results.listing.of_grid import SHOWN
from incast.results.measures.call import Call
from incast.results.measures.named import NAMED, Measure, find
from incast.results.paired import Baseline, baseline_of, kinds
from incast.results.result import Result
from incast.results.titles import title
from incast.runs.sweep import Decision, Plan, Sweep
from incast.runs.sweep.rule import MOST_SEEDS
from incast.runs.sweep.tables import Sheet

MOST_NAMED = 3
"""Of more comparisons with one reason than this only the first are named."""


def differences_options(sub: argparse.ArgumentParser) -> None:
    """Adds the options of differences to a baseline."""
    sub.add_argument(
        "--baseline",
        metavar="[KEY=]VALUE",
        help="the value with which all others are compared (default: the first algorithm, if it is named)",
    )
    sub.add_argument(
        "--by",
        metavar="MEASURE",
        help="the measure that is compared first and that decides, like p99.small",
    )
    sub.add_argument(
        "--measure",
        action="append",
        default=[],
        metavar="CALL",
        help="one more measure, like 'fair = fairness(long, start=1ms, end=5ms)' or 'queue(all, p99)' (see "
        "`incast list measures`); may be repeated",
    )
    sub.add_argument(
        "--until-decided",
        metavar="SHARE",
        help="add seeds until each comparison is better, worse, or equal within this share, like 5%%",
    )


def baseline_option(sub: argparse.ArgumentParser) -> None:
    """Adds the option that names a baseline among saved results."""
    sub.add_argument(
        "--baseline",
        metavar="[KEY=]VALUE",
        help="the value or the entry with which the others are compared seed by seed, like hpcc or delay=1us",
    )


def baseline_in(options: argparse.Namespace, grid: Grid) -> Baseline | None:
    """Returns the baseline of :func:`baseline_option`, if it is given.

    Args:
        options: The options.
        grid: The entries.

    Raises:
        ScenarioError: When it means nothing.
    """
    if options.baseline is None:
        return None
    try:
        return baseline_of(grid, options.baseline)
    except ValueError as error:
        raise ScenarioError(f"--baseline {options.baseline}: {error}") from None


def calls_of(options: argparse.Namespace) -> list[Call]:
    """Returns the measures of ``--measure``, and of ``--by`` if that is a call.

    Raises:
        ScenarioError: When one of them is no measure, or two have one name.
    """
    calls = [_read("--measure", text) for text in options.measure]
    by = options.by
    if by is not None and "(" in by and by not in (call.measure.name for call in calls):
        calls.append(_read("--by", by))
    taken = set(stats.METRICS) | NAMED.keys()
    for call in calls:
        if call.column in taken or call.measure.name in taken:
            name = call.label or call.text
            raise ScenarioError(
                f'--measure: there are two numbers called "{name}"\n    help: a label: other = {call.text}'
            )
        taken |= {call.column, call.measure.name}
    return calls


def _read(option: str, text: str) -> Call:
    try:
        return Call.read(text)
    except ValueError as error:
        raise ScenarioError(f"{option} {text}: {error}") from None


def measured(results: Mapping[str, Result], calls: Sequence[Call]) -> str:
    """The values of some measures, a row for each result; with the reasons for which there is none.

    Args:
        results: The results by their labels.
        calls: The measures.
    """
    runs = {
        label: Run(0, result.info, partial(_same, result), tuple(calls)) for label, result in results.items()
    }
    columns = [Column("algorithm", left=True)]
    rows = [[title(label, list(runs))] for label in runs]
    for call in calls:
        columns.append(Column(*call.measure.heading))
        for row, run in zip(rows, runs.values(), strict=True):
            value = run.numbers.get(call.column)
            text = "–" if value is None else number(value / call.measure.scale)
            row.append(f"≥ {text}" if call.column in run.at_least else text)
    notes = dict.fromkeys(why for run in runs.values() for why in run.missing.values())
    return "\n".join([table(columns, rows), *map(paragraph, notes)])


def _same(result: Result) -> Result:
    return result


def missing(done: Sweep) -> str:
    """Says of which measures some runs have no value, and why the first of them has none."""
    lines = []
    for call in done.calls:
        if why := done.missing[call.column]:
            name = call.label or call.text
            runs = f"{len(why):,} of {len(done.table):,} runs"
            lines.append(f"{name}: no value in {runs}: {why[0]}")
    return "\n".join(map(paragraph, lines))


def asked(options: argparse.Namespace, calls: Sequence[Call] = ()) -> Measure | None:
    """Returns the measure of the option ``--by``, if it is given.

    Args:
        options: The options.
        calls: The measures of :func:`calls_of`.

    Raises:
        ScenarioError: When there is no such measure, or it has no better side.
    """
    if options.by is None:
        return None
    own = {call.measure.name: call.measure for call in calls}
    measure = own.get(options.by)
    if measure is None and "(" in options.by:
        measure = own[_read("--by", options.by).measure.name]
    try:
        measure = measure or find(options.by)
    except KeyError as error:
        raise ScenarioError(f"--by {options.by}: {error.args[0]}") from None
    if measure.better == "neither":
        raise ScenarioError(f"--by {options.by}: this measure has no better and worse")
    return measure


def seeds_of(options: argparse.Namespace) -> int:
    """Returns the number of seeds: as given, or the most of a rule that adds them, or 1."""
    if options.seeds is not None:
        return int(options.seeds)
    return 1 if options.until_decided is None else MOST_SEEDS


def margin_of(options: argparse.Namespace) -> float | None:
    """Returns the margin of ``--until-decided``, if it is given.

    Raises:
        ScenarioError: When it is no share from 0.1% to 100%.
    """
    text = options.until_decided
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", text.strip(), re.ASCII)
    if found is None or not 0.1 <= float(found[1]) <= 100:
        raise ScenarioError(f"--until-decided {text}: write a share from 0.1% to 100%, like 5%")
    return float(Fraction(found[1]) / 100)


def shown(done: Sweep, by: Measure | None) -> str:
    """The differences of a sweep: as many measures as fit, with the reasons for which there is no word.

    Args:
        done: The sweep.
        by: The measure that comes first, if any.
    """
    plan, baseline = done.plan, done.baseline
    if baseline is None or not done.decisions:
        return ""
    known = {**NAMED, **{call.measure.name: call.measure for call in done.calls}}
    own = (call.measure.name for call in done.calls)
    names = dict.fromkeys([*([] if by is None else [by.name]), *own, *SHOWN])
    axes = [Column(text, left=True) for text in headings(plan.axes)]
    rows = [[*one.of] for one in done.decisions]
    if done.rule is not None:
        axes.append(Column("seeds"))
        looks = done.rule.looks
        rows = [
            [*row, f"{looks[one.look - 1].seeds:,}"] for row, one in zip(rows, done.decisions, strict=True)
        ]
    used: list[Measure] = []
    columns = list(axes)
    for measure in (known[name] for name in names):
        found = [one.differences.get(measure.name) for one in done.decisions]
        if all(map(_says_nothing, found)) and measure != by:
            continue
        column = Column(" ".join(part for part in measure.heading if part), left=True)
        wider = [[*row, _cell(one)] for row, one in zip(rows, found, strict=True)]
        # The width is that of the whole text, before the last column is wrapped.
        text = table([*columns, column], wider, width=10**6)
        if used and any(cells(line) > WIDTH for line in text.splitlines()):
            continue
        columns, rows, used = [*columns, column], wider, [*used, measure]
    if not used:
        return ""
    count = len(done.decisions)
    head = f"differences to {baseline.shown(plan)}: " + (
        "1 comparison; each word is right with 95 %"
        if count == 1
        else f"{count:,} comparisons; the words of a column are right with 95 %"
    )
    return f"{paragraph(head)}\n\n{table(columns, rows)}\n{paragraph(_notes(done, used))}"


def _says_nothing(found: Difference | None) -> bool:
    """Whether a difference is of something that neither side has, or of a count that is equal."""
    return found is None or (found.word is Word.EQUAL and found.measure.kind == "count")


def _cell(found: Difference | None) -> str:
    if found is None:
        return "–"
    if found.word is Word.EQUAL and found.low == found.high:
        return "equal"
    word = "" if found.word is Word.NOT_SHOWN else found.word.value
    return f"{found.shown()} {word}".rstrip()


def _notes(done: Sweep, used: Sequence[Measure]) -> str:
    """The explanation below the table."""
    by_measure = {m.name: [d for one in done.decisions if (d := one.differences.get(m.name))] for m in used}
    every = [found for each in by_measure.values() for found in each]
    pairs = sorted({found.seeds for found in every if found.word is not Word.TOO_FEW})
    notes = []
    rule = done.rule
    if rule is not None:
        still = [
            _name(done.plan, one) for one in done.decisions if not rule.ends(one.differences[rule.by.name])
        ]
        end = f"after {rule.looks[-1].seeds:,} seeds, by {rule.by.name}: {_some(still)}"
        notes.append(
            f"No word {end}." if still else f"The rule has ended every comparison by {rule.by.name}."
        )
    if pairs:
        number = f"{pairs[0]:,}" if len(pairs) == 1 else f"{pairs[0]:,} to {pairs[-1]:,}"
        first = kinds(every)
        notes.append(
            f"{first[0].upper()}{first[1:]} over {number} pairs of runs with the same seed; without a word "
            "no difference is shown."
        )
        if any(found.why == "exact" and found.word is not Word.EQUAL for found in every):
            notes.append("Without an interval it is exact: the same with every seed.")
    few: dict[str, dict[str, None]] = {}
    for one in done.decisions:
        for measure in used:
            found = one.differences.get(measure.name)
            if found is not None and found.word is Word.TOO_FEW:
                few.setdefault(found.why, {})[_name(done.plan, one)] = None
    for why, of in few.items():
        notes.append(f"Too few: {why}{'' if len(of) == len(done.decisions) else f' ({_some(list(of))})'}.")
    notes += _behind(done, used)
    return " ".join(notes)


def _some(names: Sequence[str]) -> str:
    """Names the first few."""
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"


def _name(plan: Plan, one: Decision) -> str:
    return " ".join(one.of) if len(plan.axes) > 1 else one.of[0]


def _behind(done: Sweep, used: Sequence[Measure]) -> list[str]:
    """The fewest flows behind the percentiles."""
    fewest = [f"{of} {n:,}" for of, n in done.flows.items() if any(_ranks(m, of) for m in used)]
    ranks = sorted({f"p{m.rank:g}" for m in used if m.rank is not None})
    return [f"Flows behind {' and '.join(ranks)}, fewest of a run: {', '.join(fewest)}."] if fewest else []


def _ranks(measure: Measure, of: str) -> bool:
    return measure.rank is not None and measure.slowdown_of == of


def note(plan: Plan, sheet: Sheet | None) -> str:
    """The way to differences, where there are none for want of a baseline."""
    if sheet is not None or plan.seeds == 1 or len({run.values for run in plan.runs}) < 2:
        return ""
    return " --baseline NAME adds differences and words."
