"""The jobs of workloads with dependencies, for a table of a report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from incast.results.listing.sheet import number
from incast.results.result import Result

LISTED = 50
"""Most jobs that a report lists."""

HEAD = ("flows", "completion time (µs)", "lower bound (µs)", "ratio", "bus bandwidth (Gbit/s)", "straggler")
"""Columns of a job's row."""


@dataclass(frozen=True)
class Row:
    """A job of a result.

    Attributes:
        job: Its name.
        entry: Number of the result.
        cells: What `HEAD` names, as text.
        slow: Its completion time in picoseconds; infinite if it did not end.
    """

    job: str
    entry: int
    cells: tuple[str, ...]
    slow: float


def jobs(results: Sequence[Result]) -> tuple[list[Row], int]:
    """Returns the jobs of some results, equal names next to each other, and the number of names.

    Where there are more than `LISTED` names, those that were slowest in any result.

    Args:
        results: The results.
    """
    of_job: dict[str, list[Row]] = {}
    for entry, result in enumerate(results):
        for row in _rows(result, entry):
            of_job.setdefault(row.job, []).append(row)
    names = list(of_job)
    if len(names) > LISTED:
        names.sort(key=lambda name: max(row.slow for row in of_job[name]), reverse=True)
        names = names[:LISTED]
    return [row for name in names for row in of_job[name]], len(of_job)


def _rows(result: Result, entry: int) -> list[Row]:
    table = result.jobs
    if not len(table):
        return []
    columns = ("job", "flows", "jct_ps", "bound_ps", "bound_ratio", "no_bound", "busbw_bps", "straggler_host")
    made = []
    for values in zip(*(table.column(name).tolist() for name in columns), strict=True):
        name, flows, time_ps, bound_ps, ratio, why, busbw_bps, host = values
        ended = not math.isnan(time_ps)
        bounded = not math.isnan(bound_ps)
        cells = (
            f"{int(flows):,}",
            number(time_ps / 1e6) if ended else "not ended",
            number(bound_ps / 1e6) if bounded else f"none: {why}",
            f"{ratio:.3f}" if ended and bounded else "–",
            "–" if math.isnan(busbw_bps) else number(busbw_bps / 1e9),
            host if ended else "–",
        )
        made.append(Row(name, entry, cells, time_ps if ended else math.inf))
    return made
