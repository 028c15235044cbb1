"""``incast show``: the summary of a saved result."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from incast.cli import tables
from incast.cli.options import Commands, add_command
from incast.cli.outcome import ending, notes, totals
from incast.cli.table import columns, number, paragraph, table
from incast.errors import ResultError
from incast.progress import simulated
from incast.results.result import Result
from incast.results.titles import short
from incast.runs.sweep.manifest import results_of


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(
        commands,
        act,
        "show",
        "summarise a saved result",
        "Summarises saved results: their origin, how they ended, queues, completion times, "
        "ports. Of a killed run, what was written is shown.",
    )
    sub.add_argument("results", nargs="+", type=Path, metavar="RESULT", help="the folder of a result")


def act(options: argparse.Namespace) -> int:
    """Prints a summary of each."""
    results = [open_result(folder) for folder in options.results]
    print("\n\n".join(text(folder, result) for folder, result in zip(options.results, results, strict=True)))
    return 0


def open_result(folder: Path) -> Result:
    """Reads a result; for a folder that only contains results, the error lists them.

    Raises:
        ResultError: When there is no result in the folder.
    """
    if folder.is_file():
        raise ResultError(
            f"{folder} is a file\n    help: name the folder of a result, as printed by `incast run`"
        )
    if of_sweep := results_of(folder):
        shown = "".join(f"\n      {path}  {name}" for name, path in list(of_sweep.items())[:5])
        more = "\n      …" if len(of_sweep) > 5 else ""
        raise ResultError(
            f"{folder} is a sweep, not a result\n"
            f"    help: `incast table {folder}`, `incast report {folder}` and `incast explain {folder}` "
            f"take it; else name one of its {len(of_sweep):,} results:{shown}{more}"
        )
    inside = sorted(path.parent.name for path in folder.glob("*/result.json"))
    if inside and not (folder / "result.json").exists():
        shown = ", ".join(inside[:5]) + (", …" if len(inside) > 5 else "")
        raise ResultError(
            f"{folder} is not a result, but contains {len(inside)}\n    help: name one: {shown}"
        )
    return Result.open(folder)


def text(folder: Path, result: Result) -> str:
    """The summary of a result.

    Args:
        folder: Where it is.
        result: The result.
    """
    info = result.info
    label = short(info["algorithms"][0]) if len(info["algorithms"]) == 1 else info["name"]
    lines = head(folder, result)
    if info.get("outcome"):
        lines += [ending(label, result), totals(result)]
    else:
        lines.append(not_complete(result))
    parts = ["\n".join(lines)]
    if info.get("outcome"):
        parts += [*tables.texts({label: result}), ports_table(result)]
    return "\n\n".join(part for part in parts if part)


def head(folder: Path, result: Result) -> list[str]:
    """The lines that every summary begins with: the result's origin and its warnings.

    Args:
        folder: Where it is.
        result: The result.
    """
    info = result.info
    made = time.strftime("%Y-%m-%d %H:%M", time.gmtime(info["started_unix_s"]))
    return [
        paragraph(f"{info['name']}: {', '.join(info['algorithms'])}, seed {info['seed']}"),
        paragraph(f"{folder}: Incast {info['incast_version']}, {made} UTC, {_threads(info['threads'])}"),
        *(paragraph(note, "  ") for note in notes(result)),
        *(_warning(str(warning)) for warning in result.warnings),
    ]


def _warning(text: str) -> str:
    """Returns a warning with its help on lines of its own."""
    problem, *hints = text.split("\n")
    lines = [paragraph(f"warning: {problem}", "  "), *(paragraph(line.strip(), "    ") for line in hints)]
    return "\n".join(lines)


def not_complete(result: Result) -> str:
    """Describes how much there is of a run that has not ended or was killed.

    Args:
        result: The result.
    """
    now = "is in progress" if result.state == "running" else "was killed"
    ports, flows = (int(t.column("samples").sum()) for t in (result.port_series, result.flow_series))
    rows = f"{len(result.flows):,} flows, {ports:,} samples of ports, {flows:,} of flows"
    return paragraph(f"NOT COMPLETE: the run {now}; written so far: {rows}")


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


MOST_PORTS = 5
"""Number of the busiest ports that are shown."""


def ports_table(result: Result) -> str:
    """The busiest ports; empty if none carried anything."""
    ports, end = result.ports, int(result.info["outcome"]["now_ps"])
    sent = ports.column("transmitted_bytes").astype(np.float64)
    rate = np.asarray(ports.column("rate_bps"), dtype=np.float64)
    if not end or not len(ports) or not sent.any():
        return ""
    used = np.nan_to_num(sent * 8e12 / (rate * end))
    busiest = np.argsort(-used, kind="stable")[:MOST_PORTS]
    load = (("used", "%"), ("peak queue", "KB"))
    packets = (("marked", "packets"), ("dropped", "packets"), ("paused", ""))
    trimmed = ports.column("trimmed_packets")
    more = (("trimmed", "packets"),) if trimmed.any() else ()
    rows = [
        [
            f"{ports.column('node')[n]} port {ports.column('port')[n]}",
            str(ports.column("peer")[n] or "–"),
            number(100 * float(used[n])),
            number(int(ports.column("peak_queue_bytes")[n]) / 1e3),
            f"{int(ports.column('marked_packets')[n]):,}",
            f"{int(ports.column('dropped_packets')[n]):,}",
            simulated(int(ports.column("paused_ps")[n])) if ports.column("paused_ps")[n] else "–",
            *([f"{int(trimmed[n]):,}"] if trimmed.any() else []),
        ]
        for n in busiest
    ]
    count = f"the {len(rows)} busiest of {len(ports):,} ports, over the whole run"
    return f"{count}\n{table(columns('port', 'to', *load, *packets, *more), rows)}"
