"""``incast report``: results as one HTML file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from incast import report
from incast.cli.differences import baseline_in, baseline_option
from incast.cli.options import Commands, add_command, results_argument
from incast.cli.required import Required, require_option
from incast.results.grid import Grid
from incast.results.result import Result
from incast.results.titles import number_of
from incast.runs.sweep import grid_of, results_of


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(
        commands,
        act,
        "report",
        "write results as one HTML file",
        "Writes one HTML file that holds everything it shows: answers in sentences, requirements, a table of "
        "differences, completion times, samples over time, network, scenario. Results that differ only in "
        "their seed are one entry; of a sweep, all of its entries are compared.",
    )
    results_argument(sub)
    baseline_option(sub)
    require_option(sub)
    sub.add_argument(
        "--out",
        type=_page,
        default=Path("report.html"),
        metavar="FILE",
        help="the file (default: report.html)",
    )


def _page(text: str) -> Path:
    if reason := report.refused(Path(text)):
        raise argparse.ArgumentTypeError(reason)
    return Path(text)


def act(options: argparse.Namespace) -> int:
    """Writes the report, and prints its requirements, its path and its size."""
    grid = grid_of(options.results[0]) if len(options.results) == 1 else None
    if grid is None:
        grid = Grid.of([Result.open(folder) for folder in folders(options.results)])
    required = Required(options, lambda: grid)
    baseline_in(options, grid)
    if judged := required.text(grid):
        print(judged, end="\n\n")
    path = report.write(
        grid, options.out, baseline=options.baseline, require=options.require, command=options.command
    )
    many = number_of(len(grid.runs), "result")
    print(f"report {path} ({many}, {path.stat().st_size / 1e6:.1f} MB)")
    return required.code(0)


def folders(named: Sequence[Path]) -> list[Path]:
    """The folders of results for each path: the path itself, a sweep's runs, or the results directly inside.

    Of several paths, those that are not results are skipped with a message: a shell's ``*`` also matches
    the pictures and pages next to results.
    """
    found: list[Path] = []
    others: list[Path] = []
    for path in named:
        if of_sweep := results_of(path):
            found += of_sweep.values()
            continue
        inside = sorted(path.glob("*/result.json")) if not (path / "result.json").exists() else []
        if (path / "result.json").exists() or inside or not path.exists():
            found += [file.parent for file in inside] or [path]
        else:
            others.append(path)
    if not found:
        return list(dict.fromkeys(others))
    for path in others:
        print(f"incast: skipped {path}, which is not a result", file=sys.stderr)
    return list(dict.fromkeys(found))
