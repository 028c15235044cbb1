"""The tables of a sweep: one row for each run, and one for each combination over its seeds."""

from __future__ import annotations

import csv
import io
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incast._core import write_parquet
from incast._lazy import AT_ONCE, Lazy
from incast.errors import ResultError
from incast.results import stats
from incast.results.measures.call import Call
from incast.results.measures.named import find
from incast.runs.sweep.plan import Plan, Run
from incast.runs.sweep.records import Records

NO_DRAWS = "no draws"
"""Value of the column ``draws`` where every seed gives the same result."""


@dataclass(frozen=True)
class Column:
    """A column with its values.

    Attributes:
        name: Its name; a quantity's ends in its unit.
        kind: ``text``, ``unsigned``, ``integer``, ``number`` or ``flag``.
        values: One for each row, perhaps made when it is asked for; None where there is none.
    """

    name: str
    kind: str
    values: Sequence[Any]


@dataclass(frozen=True)
class Sheet:
    """A table in memory."""

    columns: list[Column]

    def __len__(self) -> int:
        return len(self.columns[0].values)

    def column(self, name: str) -> list[Any]:
        """Returns the values of a column."""
        values = next(column.values for column in self.columns if column.name == name)
        return values if isinstance(values, list) else list(values)

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
        write_whole(text, self._lines())
        return [parquet, text]

    def _lines(self) -> Iterator[str]:
        """Makes the lines of the CSV file, some hundred at a time."""
        yield _written([[column.name for column in self.columns]])
        for n in range(0, len(self), AT_ONCE):
            yield _written(zip(*(c.values[n : n + AT_ONCE] for c in self.columns), strict=True))


def _written(rows: Iterable[Sequence[object]]) -> str:
    """Returns rows as CSV; None is an empty cell."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def write_whole(path: Path, text: str | Iterable[str]) -> None:
    """Writes a text file that appears under its name only once it is whole and on the disk.

    Args:
        path: The file.
        text: Its text, or parts of it.

    Raises:
        ResultError: When it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.writelines([text] if isinstance(text, str) else text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ResultError(f"cannot write {path}: {error.strerror}") from None


def table(plan: Plan, made: Records, calls: Sequence[Call] = ()) -> Sheet:
    """One row for each run that has a result, in the order of the plan.

    What differs between machines, like wall time, is not in it: the same sweep gives the same table.

    Args:
        plan: The sweep.
        made: The runs that have a result.
        calls: Measures beside those that every run has.
    """
    rows = array("Q", made)

    def each(of: Callable[[int], Any]) -> Sequence[Any]:
        return Lazy(len(rows), lambda row: of(rows[row]))

    def numbers(name: str) -> Sequence[float | None]:
        return Lazy(
            len(rows),
            lambda row: made.value(rows[row], name),
            lambda some: made.values_of(rows[some.start : some.stop], name),
        )

    return Sheet(
        [
            *_axes(plan, Lazy(len(rows), lambda row: plan.runs[rows[row]])),
            Column("seed", "unsigned", each(lambda n: plan.runs[n].seed)),
            Column("end", "text", each(lambda n: made.end[n])),
            Column("warnings", "text", each(lambda n: _warnings([n], made))),
            *(Column(name, "number", numbers(name)) for name in _names(calls)),
            Column("at_least", "text", each(lambda n: _at_least([n], made, calls))),
            Column("flows", "unsigned", each(lambda n: made.flows[n])),
            Column("hops", "unsigned", each(lambda n: made.hops[n])),
            Column("fingerprint", "text", each(lambda n: made.fingerprint[n])),
            Column("result", "text", each(lambda n: plan.runs[n].name)),
        ]
    )


def _names(calls: Sequence[Call]) -> list[str]:
    """The columns of all numbers."""
    return [*(call.column for call in calls), *stats.METRICS]


def _at_least(runs: Sequence[int], made: Records, calls: Sequence[Call]) -> str:
    """The numbers of some runs that are only lower bounds, since flows did not finish."""
    bounds = frozenset().union(*map(made.at_least, runs))
    return ", ".join(name for name in _names(calls) if name in bounds)


def summary(plan: Plan, made: Records, calls: Sequence[Call] = ()) -> Sheet:
    """One row for each combination of values.

    It says how many of its runs ended as they should, whether their seeds made a difference, and over these
    runs the mean of each number and half the width of its 95 % confidence interval.

    Args:
        plan: The sweep.
        made: As for :func:`table`.
        calls: As for :func:`table`.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    firsts: dict[tuple[str, ...], Run] = {}
    for n, run in enumerate(plan.runs):
        firsts.setdefault(run.values, run)
        of = groups.setdefault(run.values, [])
        if made.sound(n):
            of.append(n)
    columns = [
        *_axes(plan, list(firsts.values())),
        Column("runs", "unsigned", [len(numbers) for numbers in groups.values()]),
        Column("warnings", "text", [_warnings(numbers, made) for numbers in groups.values()]),
    ]
    drawn = [
        stats.drawn({"outcome": {"fingerprint": made.fingerprint[n]}} for n in numbers)
        for numbers in groups.values()
    ]
    columns.append(Column("draws", "text", ["" if each else NO_DRAWS for each in drawn]))
    for name in _names(calls):
        means: list[float | None] = []
        halves: list[float | None] = []
        for numbers, differs in zip(groups.values(), drawn, strict=True):
            values = [value for n in numbers if (value := made.value(n, name)) is not None]
            estimate = stats.Estimate.of(values, drawn=differs) if values else None
            means.append(estimate.mean if estimate else None)
            halves.append(estimate.half_width if estimate else None)
        columns += [Column(name, "number", means), Column(f"{name}_ci95", "number", halves)]
    bounds = [_at_least(numbers, made, calls) for numbers in groups.values()]
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


def _warnings(runs: Sequence[int], made: Records) -> str:
    """Returns the warnings about some runs, each once, on one line; empty without any."""
    problems = dict.fromkeys(problem for n in runs for problem in made.warnings(n))
    return "; ".join(f"{p.key}: {p.problem}" if p.key else p.problem for p in problems)


def _axes(plan: Plan, runs: Sequence[Run]) -> list[Column]:
    def values(axis: int) -> Sequence[str]:
        if isinstance(runs, list):
            return [run.values[axis] for run in runs]
        return Lazy(len(runs), lambda row: runs[row].values[axis])

    return [Column(a.key, "text", values(n)) for n, a in enumerate(plan.axes)]
