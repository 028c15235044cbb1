"""The table of a report that compares all entries: means with intervals, and differences to a baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from incast.results import stats
from incast.results.decide import Difference, Word
from incast.results.grid import Entry, Grid, headline
from incast.results.listing.marks import Marked
from incast.results.listing.of_grid import FLOWS, MOST_REASONS, SHOWN, estimate, shown_mean
from incast.results.measures.named import UNITS, Measure, find
from incast.results.paired import Baseline, Decision, compared, kinds

MOST_COLUMNS = 12
"""More entries than this are rows of the table, not columns."""

MOST_MEASURES = 8
"""Most measures in the table."""

MOST_MEASURES_OF_ROWS = 6
"""Most measures in the table if entries are rows."""


@dataclass(frozen=True)
class Cell:
    """A cell.

    Attributes:
        text: Its text.
        value: The number that rows are sorted by; NaN for none.
        word: The outcome of a difference: ``better``, ``worse``, ``lower``, ``higher`` or empty.
    """

    text: str
    value: float = math.nan
    word: str = ""


@dataclass(frozen=True)
class Row:
    """A number of all entries.

    Attributes:
        title: What it is.
        unit: Its unit; empty for none.
        cells: Its values, in the order of the entries.
        part: Whether it belongs to the row before it.
    """

    title: str
    unit: str
    cells: Sequence[Cell]
    part: bool = False


def measures(grid: Grid) -> list[Measure]:
    """Returns the measures of the table: first the ones of the first screen, then others that say something.

    Args:
        grid: The entries with their runs.
    """
    first = headline(grid)
    others = [find(name) for name in SHOWN]
    found = [
        *first,
        *(
            one
            for one in others
            if one not in first and any(one.of(run.numbers) for run in grid.runs if run.sound)
        ),
    ]
    most = MOST_MEASURES if len(grid.entries) <= MOST_COLUMNS else MOST_MEASURES_OF_ROWS
    return found[:most]


def rows(grid: Grid, decisions: Sequence[Decision], baseline: Baseline | None) -> tuple[list[Row], list[str]]:
    """Returns the rows of the table, or its columns if entries are rows, and what their marks mean.

    Args:
        grid: The entries with their runs.
        decisions: Their comparisons with the baseline.
        baseline: The baseline, if there is one.
    """
    found: list[Row] = []
    marked = Marked(FLOWS)
    known = {one.of: one.differences for one in decisions}
    for measure in measures(grid):
        values = [_value(entry, measure, marked) for entry in grid.entries]
        if all(math.isnan(value.value) for value in values):
            continue
        found.append(Row(measure.words, UNITS.get(measure.kind, ""), values))
        if baseline is not None and known:
            cells = [_difference(entry, known, measure, baseline) for entry in grid.entries]
            found.append(Row(f"to {baseline.titled(grid)}", "", cells, part=True))
    runs = [[run for run in entry.runs if run.sound] for entry in grid.entries]
    found.append(Row("seeds", "", [Cell(f"{len(its):,}", len(its)) for its in runs]))
    flows = [sum(run.flows("all") for run in its) for its in runs]
    found.append(Row("flows", "", [Cell(f"{count:,}", count) for count in flows]))
    return found, marked.notes()


def _value(entry: Entry, measure: Measure, marked: Marked) -> Cell:
    of = estimate(entry, measure)
    text = shown_mean(entry, of, measure, marked)
    return Cell(text, math.nan if of is None else of.mean / measure.scale)


def _difference(
    entry: Entry,
    known: Mapping[tuple[str, ...], Mapping[str, Difference]],
    measure: Measure,
    baseline: Baseline,
) -> Cell:
    """Returns the cell of a difference."""
    if baseline.has(entry.values):
        return Cell("baseline")
    found = known.get(entry.values, {}).get(measure.name)
    if found is None:
        return Cell("–")
    if found.word is Word.TOO_FEW:
        return Cell("too few")
    if found.word is Word.NOT_SHOWN:
        return Cell("no difference shown", found.value)
    word = "" if found.word is Word.EQUAL else found.word.value
    return Cell(f"{found.cell()} {word}".rstrip(), found.value, word)


def notes(decisions: Sequence[Decision], baseline: Baseline | None, grid: Grid) -> list[str]:
    """Returns the explanations of the table.

    Args:
        decisions: The comparisons.
        baseline: The baseline, if there is one.
        grid: The entries with their runs.
    """
    said = []
    found = [estimate(entry, measure) for entry in grid.entries for measure in measures(grid)]
    if any(one and one.half_width is not None for one in found):
        said.append("Means over the seeds ± half of their 95 % intervals (Student's t).")
    if any(one and one.drawn and one.same for one in found):
        said.append(stats.SAME)
    if any(run.at_least for run in grid.runs):
        said.append("≥: a lower bound, since flows did not finish.")
    if unsound := sum(not run.sound for run in grid.runs):
        said.append(f"Not counted: {unsound:,} of {len(grid.runs):,} runs, which are not sound.")
    if baseline is None or not decisions:
        return said
    every = [found for one in decisions for found in one.differences.values()]
    number = len(decisions)
    hold = "it holds" if number == 1 else f"all {number:,} of a measure hold together"
    said.append(
        f"Differences to {baseline.titled(grid)}: {kinds(every)} over pairs of runs with the same seed, with "
        f"the interval without its sign; {hold} with 95 %."
    )
    few = sorted({found.why for found in every if found.word is Word.TOO_FEW})
    if few:
        more = "; …" if len(few) > MOST_REASONS else ""
        said.append(f"Too few: {'; '.join(few[:MOST_REASONS])}{more}.")
    return said


def decided(grid: Grid, baseline: Baseline | None) -> list[Decision]:
    """Compares all entries with the baseline in the measures of the table.

    Args:
        grid: The entries with their runs.
        baseline: The baseline; None for none.
    """
    return [] if baseline is None else compared(grid, baseline, measures(grid))
