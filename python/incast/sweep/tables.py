"""The tables of a sweep: one row for each run, and one for each combination over its seeds."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incast import _core
from incast.sweep.interval import mean_interval
from incast.sweep.plan import Plan, Run

CLASSES = ("small", "large", "all")
STATISTICS = ("mean", "p50", "p99")

METRICS = (
    *(f"slowdown_{c}_{s}" for c in CLASSES for s in STATISTICS),
    "queue_mean_bytes",
    "queue_peak_bytes",
    "flows_finished",
    "packets_dropped",
)
"""The numbers of a run that are averaged over seeds. Slowdowns have no unit; queues are those of the
probed ports, as sampled: the mean over all of them, and the longest."""


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
        """The values of a column."""
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
        _core.write_parquet(os.fspath(parquet), [(c.name, c.kind, c.values) for c in self.columns])
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
        raise _core.ResultError(f"cannot write {path}: {error.strerror}") from None


def measures(info: Mapping[str, Any]) -> dict[str, float | None]:
    """The numbers of a run.

    Args:
        info: What ``result.json`` says.
    """
    of_all = {s["class"]: s["slowdown"] for s in info["summary"]["slowdowns"] if s["group"] is None}
    found: dict[str, float | None] = {}
    for name in CLASSES:
        slowdown = of_all.get(name)
        for statistic in STATISTICS:
            found[f"slowdown_{name}_{statistic}"] = slowdown[statistic] if slowdown else None
    queues = [port["queue"] for port in info["summary"]["ports"] if port["queue"]]
    found["queue_mean_bytes"] = (
        math.fsum(queue["mean_bytes"] for queue in queues) / len(queues) if queues else None
    )
    found["queue_peak_bytes"] = max((float(queue["max_bytes"]) for queue in queues), default=None)
    found["flows_finished"] = float(info["outcome"]["flows_finished"])
    found["packets_dropped"] = float(info["outcome"]["packets_dropped"])
    return found


def table(plan: Plan, infos: Mapping[int, Mapping[str, Any]]) -> Sheet:
    """One row for each run that has a result, in the order of the plan.

    What depends on the machine and its mood, like wall time, is not in it: the same sweep gives the
    same table.

    Args:
        plan: The sweep.
        infos: What ``result.json`` says, by the number of the run.
    """
    rows = [(plan.runs[n], infos[n]) for n in range(len(plan.runs)) if n in infos]
    numbers = [measures(info) for _, info in rows]
    outcomes = [info["outcome"] for _, info in rows]
    return Sheet(
        [
            *_axes(plan, [run for run, _ in rows]),
            Column("seed", "unsigned", [run.scenario.seed for run, _ in rows]),
            Column("end", "text", [o["end"] for o in outcomes]),
            *(Column(name, "number", [n[name] for n in numbers]) for name in METRICS),
            Column("flows", "unsigned", [o["flows"] for o in outcomes]),
            Column("hops", "unsigned", [o["hops"] for o in outcomes]),
            Column("fingerprint", "text", [o["fingerprint"] for o in outcomes]),
            Column("result", "text", [run.folder.name for run, _ in rows]),
        ]
    )


def summary(plan: Plan, infos: Mapping[int, Mapping[str, Any]]) -> Sheet:
    """One row for each combination of values.

    It says how many of its runs came to a proper end, and over these the mean of each number and half
    the width of its 95 % confidence interval.

    Args:
        plan: The sweep.
        infos: As for :func:`table`.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    for n, run in enumerate(plan.runs):
        groups.setdefault(run.values, [])
        if n in infos and is_sound(infos[n]):
            groups[run.values].append(n)
    firsts = [next(run for run in plan.runs if run.values == values) for values in groups]
    columns = [
        *_axes(plan, firsts),
        Column("runs", "unsigned", [len(numbers) for numbers in groups.values()]),
    ]
    known = {n: measures(info) for n, info in infos.items()}
    for name in METRICS:
        means: list[float | None] = []
        halves: list[float | None] = []
        for numbers in groups.values():
            values = [value for n in numbers if (value := known[n][name]) is not None]
            mean, half = mean_interval(values) if values else (None, None)
            means.append(mean)
            halves.append(half)
        columns += [Column(name, "number", means), Column(f"{name}_ci95", "number", halves)]
    return Sheet(columns)


def is_sound(info: Mapping[str, Any]) -> bool:
    """Whether a run came to a proper end with every invariant holding."""
    outcome = info["outcome"]
    return outcome["end"] in ("finished", "time limit") and not outcome["violations"]


def _axes(plan: Plan, runs: Sequence[Run]) -> list[Column]:
    return [Column(a.key, "text", [run.values[n] for run in runs]) for n, a in enumerate(plan.axes)]
