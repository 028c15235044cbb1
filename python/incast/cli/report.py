"""``incast report``: results as one HTML file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from incast import report
from incast.cli.options import Commands, add_command, results_argument
from incast.results.result import Result
from incast.runs.sweep import results_of


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(
        commands,
        act,
        "report",
        "write results as one HTML file",
        "Writes one HTML file that holds everything it shows: summary, scenario, completion "
        "times, samples over time, network. Several results are compared.",
    )
    results_argument(sub)
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
    """Writes the report, and prints its path and size."""
    results = [Result.open(folder) for folder in folders(options.results)]
    names = _names(options.results)
    path = report.write(dict(zip(names, results, strict=True)) if names else results, options.out)
    many = "1 result" if len(results) == 1 else f"{len(results)} results"
    print(f"report {path} ({many}, {path.stat().st_size / 1e6:.1f} MB)")
    return 0


def _names(named: Sequence[Path]) -> list[str]:
    """The names of the runs of a sweep; none for other results, whose names are their algorithms."""
    return list(results_of(named[0])) if len(named) == 1 else []


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
