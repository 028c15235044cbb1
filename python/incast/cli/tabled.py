"""``incast table``: saved results or a sweep as a table, for a terminal, a page or a paper."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from incast._terminal import WIDTH
from incast.cli.differences import baseline_in, baseline_option
from incast.cli.options import Commands, add_command, choice_option, results_argument
from incast.cli.outcome import answers
from incast.cli.plot import labelled
from incast.cli.report import folders
from incast.cli.required import Required, require_option
from incast.cli.show import open_result
from incast.errors import ScenarioError
from incast.results.grid import Grid, asked, headline
from incast.results.listing import forms, of_grid
from incast.results.listing.of_results import listings
from incast.results.listing.sheet import Listing
from incast.results.paired import compared, declared_of
from incast.runs.sweep import grid_of


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(
        commands,
        act,
        "table",
        "print results or a sweep as a table, also in Markdown and LaTeX",
        "Prints the tables of saved results, or the means of a sweep over its seeds. One measure of a sweep "
        "over two keys becomes a table of rows and columns, and one for each combination of the values of "
        "other keys.",
    )
    results_argument(sub)
    choice_option(
        sub,
        "--as",
        tuple(forms.FORMS),
        "text (default), markdown, or latex (needs booktabs)",
        metavar="FORM",
        default="text",
    )
    sub.add_argument(
        "--measure",
        action="append",
        default=[],
        metavar="MEASURE",
        help="a number, like p99.small or queue(all, p99) (see `incast list measures`); may be repeated",
    )
    baseline_option(sub)
    require_option(sub)
    sub.add_argument("--rows", metavar="KEY", help="the key of the rows (default: the one with most numbers)")
    sub.add_argument("--columns", metavar="KEY", help="the key of the columns (default: the algorithm)")


def act(options: argparse.Namespace) -> int:
    """Prints the tables."""
    form = getattr(options, "as")
    try:
        found, grid, said = _listings(options, form)
    except (KeyError, ValueError) as error:
        raise ScenarioError(f"incast table: {error.args[0]}") from None
    required = Required(options, lambda: grid)
    for text in filter(None, (said, required.text(grid))):
        # A page or a paper takes the tables only.
        print(text, end="\n\n", file=sys.stdout if form == "text" else sys.stderr)
    parts = [forms.NEEDS] if form == "latex" else []
    print("\n\n".join([*parts, *map(forms.FORMS[form], found)]))
    return required.code(0)


def _listings(options: argparse.Namespace, form: str) -> tuple[list[Listing], Grid, str]:
    """Returns the tables that the options ask for, the grid that they are of, and the sentences on it."""
    grid = _sweep(options.results)
    if grid is None:
        results = [open_result(folder) for folder in folders(options.results)]
        grid = Grid.of(results)
        if not options.measure and options.baseline is None:
            _refuse(options, "results that are not a sweep have no keys")
            return listings(labelled(results)), grid, ""
    baseline = baseline_in(options, grid)
    measures = [asked(text) for text in options.measure]
    said = ""
    if baseline is not None:
        first = [declared_of(measure) for measure in measures] or headline(grid)
        said = answers(grid, compared(grid, baseline, measures or first), first, ranked=not grid.looks)
    if len(measures) == 1 and (len(grid.varying) == 2 or options.rows or options.columns):
        return of_grid.crossed(grid, measures[0], options.rows, options.columns, baseline), grid, said
    _refuse(options, "rows and columns are those of one --measure")
    width = WIDTH if form == "text" and not measures else None
    return [of_grid.means(grid, measures, width, baseline)], grid, said


def _refuse(options: argparse.Namespace, why: str) -> None:
    """Refuses the choice of axes where there are none."""
    for name in ("rows", "columns"):
        if getattr(options, name) is not None:
            raise ValueError(f"--{name} has no effect: {why}")


def _sweep(named: list[Path]) -> Grid | None:
    """Returns the grid of a sweep; None for results."""
    return grid_of(named[0]) if len(named) == 1 else None
