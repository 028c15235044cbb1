"""The tables of a sweep: one row for each run, and one for each combination over its seeds."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incast._core import write_parquet
from incast.errors import ResultError
from incast.results import grid, stats
from incast.results.measures.call import Call
from incast.results.measures.named import find
from incast.results.result import warnings_of
from incast.runs.sweep.plan import Plan, Run

NO_DRAWS = "no draws"
"""Value of the column ``draws`` where every seed gives the same result."""


@dataclass(frozen=True)
class Column:
    """A column with its values.

    Attributes:
        name: Its name; a quantity's ends in its unit.
        kind: ``text``, ``unsigned`` or ``number``.
        values: One for each row; None where there is none.
    """

    name: str
    kind: str
    values: list[Any]


@dataclass(frozen=True)
class Sheet:
    """A table in memory."""

    columns: list[Column]

    def __len__(self) -> int:
        return len(self.columns[0].values)

    def column(self, name: str) -> list[Any]:
        """Returns the values of a column."""
        return next(column.values for column in self.columns if column.name == name)

    def save(self, path: Path) -> list[Path]:
        """Writes it as Parquet and as CSV; each file appears only once it is whole.

        Args:
            path: Where, without an ending.

        Returns:
            The files.

        Raises:
            ResultError: When one of them cannot be written.
        """
        parquet, text = path.with_suffix(".parquet"), path.with_suffix(".csv")
        write_parquet(os.fspath(parquet), [(c.name, c.kind, c.values) for c in self.columns])
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([column.name for column in self.columns])
        for n in range(len(self)):
            writer.writerow(["" if c.values[n] is None else c.values[n] for c in self.columns])
        write_whole(text, out.getvalue())
        return [parquet, text]


def write_whole(path: Path, text: str) -> None:
    """Writes a text file that appears under its name only once it is whole and on the disk.

    Raises:
        ResultError: When it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ResultError(f"cannot write {path}: {error.strerror}") from None


def table(plan: Plan, made: Mapping[int, grid.Run], calls: Sequence[Call] = ()) -> Sheet:
    """One row for each run that has a result, in the order of the plan.

    What differs between machines, like wall time, is not in it: the same sweep gives the same table.

    Args:
        plan: The sweep.
        made: The runs that have a result, by their numbers in the plan.
        calls: Measures beside those that every run has.
    """
    rows = [(plan.runs[n], made[n]) for n in range(len(plan.runs)) if n in made]
    numbers = [run.numbers for _, run in rows]
    outcomes = [run.info["outcome"] for _, run in rows]
    return Sheet(
        [
            *_axes(plan, [run for run, _ in rows]),
            Column("seed", "unsigned", [run.scenario.seed for run, _ in rows]),
            Column("end", "text", [o["end"] for o in outcomes]),
            Column("warnings", "text", [_warnings([run.info]) for _, run in rows]),
            *(Column(name, "number", [n.get(name) for n in numbers]) for name in _names(calls)),
            Column("at_least", "text", [_at_least([run], calls) for _, run in rows]),
            Column("flows", "unsigned", [o["flows"] for o in outcomes]),
            Column("hops", "unsigned", [o["hops"] for o in outcomes]),
            Column("fingerprint", "text", [o["fingerprint"] for o in outcomes]),
            Column("result", "text", [run.folder.name for run, _ in rows]),
        ]
    )


def _names(calls: Sequence[Call]) -> list[str]:
    """The columns of all numbers."""
    return [*(call.column for call in calls), *stats.METRICS]


def _at_least(runs: Sequence[grid.Run], calls: Sequence[Call]) -> str:
    """The numbers of some runs that are only lower bounds, since flows did not finish."""
    bounds = frozenset().union(*(run.at_least for run in runs))
    return ", ".join(name for name in _names(calls) if name in bounds)


def summary(plan: Plan, made: Mapping[int, grid.Run], calls: Sequence[Call] = ()) -> Sheet:
    """One row for each combination of values.

    It says how many of its runs ended as they should, whether their seeds made a difference, and over these
    runs the mean of each number and half the width of its 95 % confidence interval.

    Args:
        plan: The sweep.
        made: As for :func:`table`.
        calls: As for :func:`table`.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    for n, run in enumerate(plan.runs):
        groups.setdefault(run.values, [])
        if n in made and made[n].sound:
            groups[run.values].append(n)
    firsts = [next(run for run in plan.runs if run.values == values) for values in groups]
    columns = [
        *_axes(plan, firsts),
        Column("runs", "unsigned", [len(numbers) for numbers in groups.values()]),
        Column(
            "warnings", "text", [_warnings([made[n].info for n in numbers]) for numbers in groups.values()]
        ),
    ]
    drawn = [stats.drawn(made[n].info for n in numbers) for numbers in groups.values()]
    columns.append(Column("draws", "text", ["" if each else NO_DRAWS for each in drawn]))
    known = {n: run.numbers for n, run in made.items()}
    for name in _names(calls):
        means: list[float | None] = []
        halves: list[float | None] = []
        for numbers, differs in zip(groups.values(), drawn, strict=True):
            values = [known[n][name] for n in numbers if name in known[n]]
            estimate = stats.Estimate.of(values, drawn=differs) if values else None
            means.append(estimate.mean if estimate else None)
            halves.append(estimate.half_width if estimate else None)
        columns += [Column(name, "number", means), Column(f"{name}_ci95", "number", halves)]
    bounds = [_at_least([made[n] for n in numbers], calls) for numbers in groups.values()]
    return Sheet([*columns, Column("at_least", "text", bounds)])


def ranking(plan: Plan, sheet: Sheet) -> tuple[list[int], str]:
    """The rows of a summary, best first, and what they are ranked by.

    Combinations with other traffic are other workloads: they stay in the order of the plan, and within each
    the rows are ranked.

    Args:
        plan: The sweep.
        sheet: Its summary.
    """
    workload = [a.key for a in plan.axes if a.key.partition(".")[0] == "traffic"]
    of = [tuple(sheet.column(key)[n] for key in workload) for n in range(len(sheet))]
    jobs = any(value is not None for value in sheet.column("jobs_unfinished"))

    def key(n: int) -> tuple[float, ...]:
        numbers = {name: sheet.column(name)[n] for name in stats.METRICS}
        return (of.index(of[n]), *stats.place(numbers, jobs))

    return sorted(range(len(sheet)), key=key), f"the {find(stats.criterion(jobs)).words}"


def _warnings(infos: Sequence[Mapping[str, Any]]) -> str:
    """Returns the warnings about some runs, each once, on one line; empty without any."""
    problems = dict.fromkeys(problem for info in infos for problem in warnings_of(info))
    return "; ".join(f"{p.key}: {p.problem}" if p.key else p.problem for p in problems)


def _axes(plan: Plan, runs: Sequence[Run]) -> list[Column]:
    return [Column(a.key, "text", [run.values[n] for run in runs]) for n, a in enumerate(plan.axes)]
