"""``incast explain`` of a sweep: what kept the flows of each of its runs back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from incast.cli.table import Column, number, paragraph, table
from incast.errors import ResultError
from incast.results import stats
from incast.results.grid import Entry, Run
from incast.results.listing import of_grid
from incast.results.titles import number_of
from incast.runs.sweep import grid_of, results_of

MOST_RUNS = 50
"""Of more runs than this the seeds of a combination are one row."""

MOST_COMMANDS = 5
"""Number of runs whose own command is shown."""


def text(folder: Path) -> str:
    """Describes the divided times of the flows of each run of a sweep.

    Args:
        folder: The folder of its tables.

    Returns:
        The table with its notes.

    Raises:
        ResultError: When the sweep has no result, one of them cannot be read, or none divides the time.
    """
    grid = grid_of(folder)
    if grid is None:
        raise ResultError(f"{folder} is not a sweep")
    heads, lefts = of_grid.left(grid)
    each = len(grid.runs) <= MOST_RUNS
    several = each and len({run.seed for run in grid.runs}) > 1
    rows = [
        (cells, runs) for cells, entry in zip(lefts, grid.entries, strict=True) for runs in _runs(entry, each)
    ]
    times = [stats.limit_times_of(run.info for run in runs if run.info.get("outcome")) for _, runs in rows]
    if not any(of.time_ps for of in times):
        raise ResultError(f"{folder} has no limits: in none of its runs is the time of flows divided")
    shown = [name for name in stats.LIMITS if any(of.by_limit[name] for of in times)]
    own = Column("seed") if several else Column("seeds")
    columns = [
        *heads,
        *([own] if several or not each else []),
        Column("flows"),
        Column("time", "us"),
        *(Column(name, "%") for name in shown),
        Column("kept back by", left=True),
    ]
    lines = []
    for (cells, runs), of in zip(rows, times, strict=True):
        seed = [f"{runs[0].seed:,}"] if several else [f"{len(runs):,}"] if not each else []
        lines.append([*cells, *seed, *_shares(of, shown)])
    together = "" if each else f", all seeds of a row together since there are {len(grid.runs):,} runs"
    heading = paragraph(
        f"{grid.name}: time of flows that count, by what kept their next packet back{together}"
    )
    notes = [
        *_unsound(grid.runs),
        *([f"Without a result: {number_of(len(grid.failed), 'run')}."] if grid.failed else []),
    ]
    return "\n".join([heading, table(columns, lines), *map(paragraph, notes), "", _commands(folder)])


def _runs(entry: Entry, each: bool) -> list[tuple[Run, ...]]:
    """Returns the runs of each row of an entry."""
    if each:
        return [(run,) for run in entry.runs]
    return [entry.runs] if entry.runs else []


def _shares(of: stats.LimitTimes, shown: Sequence[str]) -> list[str]:
    """Returns the cells of a row: flows, mean time, shares, and the largest limit but sending itself."""
    if not of.time_ps:
        return [f"{of.flows:,}", *("–" for _ in range(len(shown) + 2))]
    others = [name for name in shown if name != "sending" and of.by_limit[name]]
    most = max(others, key=lambda name: of.by_limit[name], default="–")
    shares = (number(100 * of.by_limit[name] / of.time_ps) for name in shown)
    return [f"{of.flows:,}", number(of.time_ps / of.flows / 1e6), *shares, most]


def _unsound(runs: Sequence[Run]) -> list[str]:
    """Says how many runs did not end as they should, whose flows are in the table up to their end."""
    count = sum(not run.sound for run in runs)
    return (
        [f"{number_of(count, 'run')} did not end as planned; flows are counted up to there."] if count else []
    )


def _commands(folder: Path) -> str:
    """Names the commands that explain single runs."""
    results: Mapping[str, Any] = results_of(folder)
    lines = [f"  incast explain {path}  # {name}" for name, path in list(results.items())[:MOST_COMMANDS]]
    more = len(results) - len(lines)
    lines += [f"  …: {more:,} more, named in manifest.json"] if more else []
    return "\n".join(["the flows of one run", *lines])
