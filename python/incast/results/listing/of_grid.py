"""The listings of grids: means over seeds, and one measure over two axes."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from incast._terminal import WIDTH, cells
from incast.results import stats
from incast.results.decide import Word
from incast.results.grid import Asked, Entry, Grid, asked, headings
from incast.results.listing import forms
from incast.results.listing.marks import FEW, Marked
from incast.results.listing.sheet import Column, Listing, number
from incast.results.measures.named import DECLARED, UNITS, Measure
from incast.results.paired import Baseline, Decision, compared, declared_of, kinds
from incast.results.stats import Estimate
from incast.results.titles import number_of, title

SHOWN = (
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
"""Measures that are shown, as far as there is room."""

MOST_REASONS = 2
"""Of more reasons for too few than this only the first are given."""


def estimate(entry: Entry, measure: Asked) -> Estimate | None:
    """Returns the mean of a measure over the sound runs of an entry; None without a value."""
    sound = [run for run in entry.runs if run.sound]
    values = [value for run in sound if (value := run.value(measure)) is not None]
    return Estimate.of(values, drawn=stats.drawn(run.info for run in sound)) if values else None


def at_least(entry: Entry, measure: Measure) -> bool:
    """Whether the mean of a measure is only a lower bound, since flows did not finish in some run."""
    return any(not run.at_least.isdisjoint(measure.metrics) for run in entry.runs if run.sound)


def shown_mean(entry: Entry, of: Estimate | None, measure: Measure, marked: Marked) -> str:
    """Returns the mean of an entry, marked if a percentile is the largest value of a run.

    Args:
        entry: The entry.
        of: The mean; None is a dash.
        measure: Its measure.
        marked: The marks of the table.
    """
    text = cell(of, measure.scale, at_least(entry, measure))
    size = measure.slowdown_of
    if of is None or size is None or measure.rank is None:
        return text
    return marked.percentile(text, measure.rank, (run.behind(size) for run in entry.runs if run.sound))


def cell(of: Estimate | None, scale: float, at_least: bool = False) -> str:
    """Returns a mean and half of its interval, with the same digits: ``2.58 ± 0.31``.

    Args:
        of: The mean; None is a dash.
        scale: What it is divided by.
        at_least: Whether it is only a lower bound, which has no interval.
    """
    if of is None:
        return "–"
    text = number(of.mean / scale)
    if at_least:
        return f"≥ {text}"
    if of.half_width is None:
        return text
    return f"{text} ± {of.half_width / scale:,.{len(text.partition('.')[2])}f}"


def means(
    grid: Grid,
    measures: Sequence[str | Asked] = (),
    width: int | None = None,
    baseline: Baseline | None = None,
) -> Listing:
    """Returns the means over the seeds, a row for each entry, in the order in which they were asked for.

    With a baseline its entries have their means, and all others their differences to it.

    Args:
        grid: The grid.
        measures: What to show, or its names; by default all of :data:`SHOWN` that are somewhere not 0.
        width: Widest line of a terminal; measures that do not fit are left out. None for all.
        baseline: What the others are compared with; None for means only.
    """
    columns, rows = left(grid)
    its = [_asked(measure) for measure in measures or SHOWN]
    differences = Differences.of(grid, baseline, its)
    used: list[Measure] = []
    said = Marked(FLOWS)
    runs = [[*row, _runs(entry)] for row, entry in zip(rows, grid.entries, strict=True)]
    columns, rows = [*columns, Column("runs")], runs
    least = len(columns)
    for measure in its:
        declared = declared_of(measure)
        found = [estimate(entry, measure) for entry in grid.entries]
        if not measures and not any(one and one.mean for one in found):
            continue
        wider = [*columns, Column(*declared.heading)]
        texts = [
            differences.cell(entry, declared, shown_mean(entry, one, declared, Marked(FLOWS)))
            for entry, one in zip(grid.entries, found, strict=True)
        ]
        more = [[*row, text] for row, text in zip(rows, texts, strict=True)]
        lines = forms.table(wider, more).splitlines() if width else []
        if len(columns) > least and any(cells(line) > (width or 0) for line in lines):
            continue
        columns, rows, used = wider, more, [*used, declared]
        said.few = said.few or any(text.endswith(FEW) for text in texts)
    notes = filter(None, [*differences.notes(used), *said.notes()])
    return Listing(f"{differences.title}, {grid.name}", columns, rows, " ".join(notes))


FLOWS = "flows of a run"
"""The values behind the percentiles of a grid."""


@dataclass(frozen=True)
class Differences:
    """The differences of the entries of a grid to a baseline, for the cells of a table.

    Attributes:
        grid: The grid.
        baseline: The baseline; None where there is none, and cells are means.
        decisions: The comparisons.
    """

    grid: Grid
    baseline: Baseline | None
    decisions: Sequence[Decision]

    @classmethod
    def of(cls, grid: Grid, baseline: Baseline | None, measures: Sequence[Asked]) -> Differences:
        """Makes the comparisons.

        Args:
            grid: The grid.
            baseline: The baseline; None for none.
            measures: What is compared.
        """
        return cls(grid, baseline, compared(grid, baseline, measures) if baseline else [])

    @cached_property
    def _found(self) -> dict[tuple[str, ...], Decision]:
        return {one.of: one for one in self.decisions}

    @property
    def title(self) -> str:
        """The beginning of the title of the table."""
        return "means" if self.baseline is None else f"differences to {self.baseline.titled(self.grid)}"

    def cell(self, entry: Entry, measure: Measure, mean: str) -> str:
        """Returns the cell of an entry: its difference, or its mean if it is a baseline.

        Args:
            entry: The entry.
            measure: The measure.
            mean: The text of its mean.
        """
        if self.baseline is None or self.baseline.has(entry.values):
            return mean
        found = self._found.get(entry.values)
        one = found.differences.get(measure.name) if found else None
        return "–" if one is None else one.cell()

    def notes(self, measures: Sequence[Measure]) -> list[str]:
        """Returns the explanations below the table.

        Args:
            measures: The measures that are in it.
        """
        if self.baseline is None:
            return [_notes(self.grid, measures, self.grid.entries)]
        every = [
            found
            for one in self.decisions
            for measure in measures
            if (found := one.differences.get(measure.name))
        ]
        words = {(found.word, found.why) for found in every}
        count = len(self.decisions)
        hold = "it holds" if count == 1 else f"all {count:,} of a column hold together"
        start = (
            f"{self.baseline.titled(self.grid)}: means. Others: {kinds(every)} to it over pairs of runs with "
            f"the same seed, with the interval without its sign; {hold} with 95 %."
        )
        parts = [start]
        if any(word is Word.NOT_SHOWN for word, _ in words):
            parts.append("·: no difference shown.")
        if few := sorted({why for word, why in words if word is Word.TOO_FEW}):
            more = "; …" if len(few) > MOST_REASONS else ""
            parts.append(f"…: too few ({'; '.join(few[:MOST_REASONS])}{more}).")
        shown = [entry for entry in self.grid.entries if self.baseline.has(entry.values)]
        return [*parts, _notes(self.grid, measures, shown)]


def crossed(
    grid: Grid,
    measure: str | Asked,
    rows: str | None = None,
    columns: str | None = None,
    baseline: Baseline | None = None,
) -> list[Listing]:
    """Returns one measure over two axes, a table for each combination of the values of the others.

    Args:
        grid: The grid, of which two axes vary.
        measure: The number, or its name.
        rows: The axis of the rows; by default the one with most numbers.
        columns: The axis of the columns; by default the algorithms.
        baseline: As for :func:`means`.

    Raises:
        KeyError: When an axis does not vary or there is none.
        ValueError: When there are not two of them.
    """
    of = _asked(measure)
    declared = declared_of(of)
    differences = Differences.of(grid, baseline, [of])
    down, across = _two(grid, rows, columns)
    rest = [n for n in grid.varying if n not in (down, across)]
    heads = headings(grid.axes)
    parts: dict[tuple[str, ...], dict[tuple[str, str], Entry]] = {}
    for entry in grid.entries:
        part = parts.setdefault(tuple(shown(grid, entry, n) for n in rest), {})
        name = shown(grid, entry, across)
        part[shown(grid, entry, down), name if across == grid.choice else f"{heads[across]} {name}"] = entry
    unit = UNITS.get(declared.kind, "")
    marked = Marked(FLOWS)
    listings = []
    for values, part in parts.items():
        where = ", ".join(f"{heads[n]} {value}" for n, value in zip(rest, values, strict=True))
        names = list(dict.fromkeys(column for _, column in part))
        cells_ = [
            [row, *(_of(part.get((row, name)), of, declared, differences, marked) for name in names)]
            for row in dict.fromkeys(row for row, _ in part)
        ]
        to = differences.title if baseline else ""
        heading = ", ".join(filter(None, (declared.words, to, where)))
        head = [Column(heads[down], left=True), *(Column(name, unit) for name in names)]
        listings.append(Listing(heading, head, cells_))
    notes = " ".join(filter(None, [*differences.notes([declared]), *marked.notes()]))
    return [*listings[:-1], replace(listings[-1], notes=notes, apart=len(listings) > 1)]


def _of(
    entry: Entry | None, measure: Asked, declared: Measure, differences: Differences, marked: Marked
) -> str:
    if entry is None:
        return ""
    mean = shown_mean(entry, estimate(entry, measure), declared, marked)
    return differences.cell(entry, declared, mean)


def _two(grid: Grid, rows: str | None, columns: str | None) -> tuple[int, int]:
    """Returns the axes of the rows and of the columns."""
    free = list(grid.varying)
    chosen = [None if text is None else grid.axis(text) for text in (rows, columns)]
    down, across = chosen
    if down is not None and down == across:
        raise ValueError(f"{rows} cannot be both rows and columns")
    free = [n for n in free if n not in chosen]
    if len(grid.varying) < 2:
        raise ValueError("a table of rows and columns needs two keys that vary")
    if across is None:
        across = grid.choice if grid.choice in free else free[-1]
        free.remove(across)
    if down is None:
        numeric = [n for n in free if grid.axes[n].numbers]
        down = max(numeric, key=lambda n: len(grid.axes[n].values)) if numeric else free[0]
    return down, across


def left(grid: Grid) -> tuple[list[Column], list[list[str]]]:
    """Returns the columns and the cells that say which entry a row is about: the axes that vary."""
    varies = grid.varying or list(range(len(grid.axes)))
    if not varies:
        return [Column("scenario", left=True)], [[entry.title] for entry in grid.entries]
    heads = headings(grid.axes)
    columns = [Column(heads[n], left=True) for n in varies]
    return columns, [[shown(grid, entry, n) for n in varies] for entry in grid.entries]


def shown(grid: Grid, entry: Entry, axis: int) -> str:
    """Returns the value of an entry on an axis, an algorithm by its title."""
    value = entry.values[axis]
    beside = [other.values[axis] for other in grid.entries]
    return title(value, beside) if axis == grid.choice else value


def _asked(of: str | Asked) -> Asked:
    return asked(of) if isinstance(of, str) else of


def _runs(entry: Entry) -> str:
    sound = [run for run in entry.runs if run.sound]
    return f"{len(sound):,}" if stats.drawn(run.info for run in sound) else f"{len(sound):,}, no draws"


def _notes(grid: Grid, measures: Sequence[Measure], shown: Sequence[Entry]) -> str:
    """The explanations of the means of these measures and entries."""
    several = [entry for entry in grid.entries if sum(run.sound for run in entry.runs) > 1]
    found = [estimate(entry, measure) for entry in several if entry in shown for measure in measures]
    parts = []
    if any(one and one.half_width is not None for one in found):
        parts.append(stats.INTERVAL)
    if not all(stats.drawn(run.info for run in entry.runs if run.sound) for entry in several):
        parts.append(stats.NO_DRAWS)
    if any(one and one.drawn and one.same for one in found):
        parts.append(stats.SAME)
    unsound = sum(not run.sound for run in grid.runs)
    if unsound:
        parts.append(f"Not counted: {number_of(unsound, 'run that is', 'runs that are')} not sound.")
    if any(run.at_least for run in grid.runs):
        parts.append("≥: a lower bound, since flows did not finish.")
    if grid.failed:
        parts.append(f"Without a result: {number_of(len(grid.failed), 'run')}.")
    return " ".join(parts)


def estimates(
    heading: str,
    metrics: Mapping[str, Estimate],
    at_least: Container[str] = (),
    flows: Mapping[str, int] | None = None,
) -> Listing:
    """Returns the means of replications, a row for each number.

    Args:
        heading: The title.
        metrics: Means by the names of numbers, some of which may be declared.
        at_least: Names of the numbers that are only lower bounds.
        flows: Fewest flows of a run, by the class of their sizes; none where they are not known.
    """
    marked = Marked(FLOWS)
    rows = []
    for name, of in metrics.items():
        declared = DECLARED.get(name)
        if declared and declared.kind == "share" and not of.mean:
            continue
        scale = declared.scale if declared else 1.0
        mean, _, half = cell(of, scale).partition(" ± ")
        bound = name in at_least
        mean = marked.at_least(mean, bound)
        size = declared.slowdown_of if declared else None
        if declared and declared.rank is not None and size in (flows or {}):
            mean = marked.percentile(mean, declared.rank, [(flows or {})[size or ""]])
        rows.append(
            [
                declared.words if declared else name,
                UNITS.get(declared.kind, "") if declared else "",
                mean,
                half if half and not bound else "–",
            ]
        )
    columns = [Column("number", left=True), Column("unit", left=True), Column("mean"), Column("±")]
    drawn = all(of.drawn for of in metrics.values())
    some = any(of.half_width is not None for of in metrics.values())
    notes = ["±: half of the confidence interval (Student's t)."] if some else []
    if any(of.same for of in metrics.values()):
        notes.append(stats.SAME)
    said = [*(notes if drawn else [stats.NO_DRAWS]), *marked.notes()]
    return Listing(heading, columns, rows, " ".join(said))


def fitted(grid: Grid, form: str) -> Listing:
    """Returns the means with as many measures as a form has room for."""
    return means(grid, width=WIDTH if form == "text" else None)
