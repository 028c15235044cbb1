"""``incast explain``: what kept the packets of flows back."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from incast import catalogue
from incast.cli import explained, hops
from incast.cli.options import Commands, add_command, count, flag_option
from incast.cli.show import head, not_complete, open_result
from incast.cli.table import columns, number, paragraph, table
from incast.errors import ResultError
from incast.progress import ProgressLine
from incast.results import Table, limits
from incast.results.result import Result
from incast.results.titles import number_of
from incast.runs.hops import hops_of, started_flow
from incast.runs.sweep.manifest import read
from incast.scenario.cautions import knowing

WORST = 10
"""Number of the slowest flows that are shown."""

_BAD_INPUT = 2

_MOST_NAMED = 3
_LEAST_NAMED = 0.05
"""Largest number of limits that the line of a flow names, and the least share of each in its time."""


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(
        commands,
        act,
        "explain",
        "say what kept flows back: windows, rates, their cards, pauses, losses",
        "Says what kept flows back. The time of each flow is divided by what kept its next packet back: its "
        "window, its rate, other packets at its card, pauses, repairs of losses, or answers of "
        "its receiver.",
    )
    sub.add_argument(
        "result",
        type=Path,
        metavar="RESULT",
        help="the folder of a result; or of a sweep, for the shares of each of its runs",
    )
    one = sub.add_mutually_exclusive_group()
    one.add_argument(
        "--worst",
        type=count,
        metavar="N",
        help=f"how many of the slowest flows are shown (default: {WORST})",
    )
    one.add_argument("--flow", metavar="FLOW", help="one flow: its number, or its name like burst.3")
    flag_option(
        sub,
        "--hops",
        "with --flow: run the scenario again, and say how long packets of the flow waited at each port, and "
        "behind whose",
    )


def act(options: argparse.Namespace) -> int:
    """Prints the divided times of all flows and of the slowest, or of one; of a sweep a row for each run."""
    if read(options.result) is not None:
        return _of_sweep(options)
    result = open_result(options.result)
    check(options.result, result)
    if options.hops and options.flow is None:
        print("incast: --hops are those of one flow: add --flow FLOW", file=sys.stderr)
        return _BAD_INPUT
    if options.flow is None:
        print("\n\n".join([_above(options.result, result), *_overview(result, options.worst or WORST)]))
        return 0
    try:
        text = one_flow(result, options.flow)
        if options.hops:
            text = f"{text}\n\n{_hops(result, options.flow)}"
    except KeyError as error:
        print(f"incast: {error.args[0]}", file=sys.stderr)
        return _BAD_INPUT
    print(f"{_above(options.result, result)}\n\n{text}")
    return 0


def _of_sweep(options: argparse.Namespace) -> int:
    """Prints the divided times of the runs of a sweep."""
    given = {"--flow": options.flow, "--worst": options.worst, "--hops": options.hops}
    if wrong := next((name for name, value in given.items() if value), None):
        print(
            f"incast: {wrong} is about the flows of one run, and {options.result} is a sweep: name one of "
            f"its results\n    help: `incast explain {options.result}` lists them",
            file=sys.stderr,
        )
        return _BAD_INPUT
    print(explained.text(options.result))
    return 0


def _hops(result: Result, flow: str) -> str:
    """Describes the waits of a flow at each port."""
    number = started_flow(result, int(flow) if flow.isdecimal() else flow)
    with ProgressLine(f"{result.info['name']}, again") as progress:
        found = hops_of(result, number, progress=progress)
    fct = float(result.flows.column("fct_ps")[result.flows.column("flow") == number][0])
    return hops.describe(found, None if np.isnan(fct) else int(fct))


def check(folder: Path, result: Result) -> None:
    """Raises if the time of a result's flows is not divided.

    Args:
        folder: Where it is.
        result: The result.

    Raises:
        ResultError: With the reason.
    """
    if limits.has_limits(result):
        return
    if result.info.get("testbed"):
        raise ResultError(f"{folder} was measured on a testbed, where nothing divides the time of flows")
    version = result.info["incast_version"]
    raise ResultError(
        f"{folder} has no limits: Incast {version}, which made it, did not divide the time of flows\n"
        f"    help: incast run {folder}/scenario.toml runs it again"
    )


def _above(folder: Path, result: Result) -> str:
    """The title of a result and its warnings; for a killed run first that it was killed."""
    lines = [] if result.info.get("outcome") else [not_complete(result)]
    notes = (paragraph(said, "  ") for said in knowing(result.info["algorithms"]))
    return "\n".join([*lines, *head(folder, result), *notes])


def _overview(result: Result, worst: int) -> list[str]:
    summed = [row for row in limits.summed(result, result.info.get("summary") or {}) if row["flows"]]
    if not summed:
        return ["no flow that counts has started"]
    shown = [name for name in limits.names(result) if any(row["limits_ps"][name] for row in summed)]
    with_groups = any(row["group"] is not None for row in summed)
    heads = [("flows", ""), ("time", "us"), *((name, "%") for name in shown)]
    titles = columns(*(["traffic"] if with_groups else []), "class", *heads)
    rows = [[*([row["group"] or "all"] if with_groups else []), *_sums(row, shown)] for row in summed]
    text = table(titles, rows)
    found = [f"time of flows that count, by what kept their next packet back\n{text}"]
    return [*found, *_slowest(result, worst), *_jobs(result, worst)]


def _sums(row: Mapping[str, Any], shown: Sequence[str]) -> list[str]:
    time = row["time_ps"]
    parts = (100 * row["limits_ps"][name] / time if time else 0.0 for name in shown)
    return [row["class"], f"{row['flows']:,}", number(time / row["flows"] / 1e6), *map(number, parts)]


def _slowest(result: Result, worst: int) -> list[str]:
    flows = result.flows
    mask = limits.chosen_by_default(result)
    rows = np.flatnonzero(mask)
    time = limits.times(result, "time_ps")
    slowdown = flows.column("slowdown")
    # Those that did not finish come first, by their time, then the others by their slowdown.
    key = [(bool(flows.column("finished")[row]), *_place(slowdown[row], time[row])) for row in rows]
    order = sorted(range(len(rows)), key=lambda place: (key[place], rows[place]))[:worst]
    by_limit = {name: limits.times(result, f"{name}_ps") for name in limits.names(result)}
    names = flow_names(result)
    lines = []
    for row in rows[order]:
        of = {name: int(times[row]) for name, times in by_limit.items()}
        size = flows.column("size_bytes")[row]
        reasons = kept_back_by(of, int(time[row]))
        lines.append(
            [
                names[row],
                str(flows.column("source")[row]),
                str(flows.column("destination")[row]),
                number(float(size) / 1e3),
                number(int(time[row]) / 1e6),
                number(float(slowdown[row])) if flows.column("finished")[row] else "open",
                "; ".join(filter(None, (reasons, repaired(flows, row)))),
            ]
        )
    heads = (("size", "KB"), ("time", "us"), ("slowdown", ""))
    heading = f"the {len(lines):,} slowest of {len(rows):,} flows, by slowdown"
    text = f"{heading}\n{table(columns('flow', 'from', 'to', *heads, 'kept back by'), lines)}"
    return [text, *_queues(result, [int(row) for row in rows[order]])]


def repaired(flows: Table, row: int) -> str:
    """Counts the timers of a flow that expired and the packets that it sent again; empty if there were none.

    Args:
        flows: The table of flows.
        row: The row of the flow.
    """
    timeouts, again = (int(flows.column(name)[row]) for name in ("timeouts", "resent_packets"))
    parts = [number_of(timeouts, "timeout")] if timeouts else []
    return ", ".join([*parts, f"{again:,} resent"] if again else parts)


def _queues(result: Result, rows: Sequence[int]) -> list[str]:
    """Names the longest queue of switches, and the longest one before the receivers of some flows."""
    # A run that was killed has no totals of ports, and not every result says which nodes are hosts.
    hosts = result.info.get("hosts")
    if hosts is None or not len(result.ports):
        return []
    peaks = result.ports.column("peak_queue_bytes")
    switches = np.flatnonzero(result.ports.column("node_id") >= hosts)
    if not len(switches) or not peaks[switches].max():
        return []
    most = int(switches[np.argmax(peaks[switches])])
    text = f"The longest queue of the run: {_queue(result, most)}."
    last = [place for row in rows if (place := _last_port(result, row)) is not None]
    if last and most not in last:
        text += f" Of the last queues of these flows: {_queue(result, max(last, key=lambda n: peaks[n]))}."
    return [paragraph(text)]


def _last_port(result: Result, row: int) -> int | None:
    """Returns the row of the port before the receiver of a flow; None if its packets may take several."""
    flows, ports = result.flows, result.ports
    card = float(flows.column("destination_card")[row])
    if np.isnan(card) or not len(ports):
        return None
    here = ports.column("peer") == flows.column("destination")[row]
    found = np.flatnonzero(here & (ports.column("peer_port").astype(np.float64) == card))
    return int(found[0]) if len(found) == 1 else None


def _queue(result: Result, row: int) -> str:
    """Describes the longest queue of a port, and the packets that it dropped."""
    ports = result.ports
    name = f"{ports.column('node')[row]} port {ports.column('port')[row]}, to {ports.column('peer')[row]}"
    dropped = int(ports.column("dropped_packets")[row])
    lost = f", which dropped {number_of(dropped, 'packet')}" if dropped else ""
    return f"{number(int(ports.column('peak_queue_bytes')[row]) / 1e3)} KB at {name}{lost}"


def _jobs(result: Result, worst: int) -> list[str]:
    """The divided times of the slowest jobs that ended."""
    jobs = result.job_limits
    time = jobs.column("time_ps").astype(np.float64)
    ended = np.flatnonzero(~np.isnan(time))
    order = ended[np.argsort(-time[ended], kind="stable")][:worst]
    if not len(order):
        return []
    names = [name.removesuffix("_ps") for name in jobs.columns if name.endswith("_ps") and name != "time_ps"]
    parts = {name: jobs.column(f"{name}_ps").astype(np.float64) for name in names}
    shown = [name for name in names if parts[name][order].any()]
    rows = [
        [
            str(jobs.column("job")[row]),
            number(time[row] / 1e6),
            *(number(100 * parts[name][row] / time[row] if time[row] else 0.0) for name in shown),
        ]
        for row in order
    ]
    heads = columns("job", ("time", "us"), *((name, "%") for name in shown))
    heading = (
        f"the {len(order):,} slowest of {len(jobs):,} jobs, along the operations that decided their ends"
    )
    return [f"{heading}\n{table(heads, rows)}"]


def _place(slowdown: float, time: int) -> tuple[float, int]:
    """Returns the order of a flow among others: the slowest first, and by time where there is no slowdown."""
    return (0.0 if np.isnan(slowdown) else -float(slowdown), -int(time))


def kept_back_by(of: Mapping[str, int], time: int) -> str:
    """Names the limits that took the largest parts of a flow's time.

    Args:
        of: Its time by limit.
        time: The sum.
    """
    order = sorted((name for name in of if name != "sending"), key=lambda name: -of[name])
    parts = [(name, of[name] / time) for name in order[:_MOST_NAMED] if time]
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in parts if share >= _LEAST_NAMED) or "–"


def flow_names(result: Result) -> list[str]:
    """Returns the name of each flow by its traffic block and its place there, as ``find_flows`` reads it."""
    groups, numbers = result.flows.column("group"), result.flows.column("flow")
    names = [""] * len(groups)
    seen: dict[str, int] = {}
    for row in np.argsort(numbers, kind="stable"):
        place = seen.get(groups[row], 0)
        seen[groups[row]] = place + 1
        names[row] = f"{groups[row]}.{place}"
    return names


def one_flow(result: Result, flow: str) -> str:
    """Describes the divided time of one flow.

    Args:
        result: The result.
        flow: Its number or its name.

    Raises:
        KeyError: When there is no such flow, or it has not started.
    """
    which = started_flow(result, int(flow) if flow.isdecimal() else flow)
    flows = result.flows
    row = int(np.flatnonzero(flows.column("flow") == which)[0])
    of = result.limits_of(which)
    time = sum(of.values())
    name = f"{flow_names(result)[row]} (flow {which})"
    ends = f"{flows.column('source')[row]} to {flows.column('destination')[row]}"
    size = flows.column("size_bytes")[row]
    bytes_ = "until it is stopped" if np.isnan(float(size)) else f"{number(float(size) / 1e3)} KB"
    slowdown = float(flows.column("slowdown")[row])
    end = "" if np.isnan(slowdown) else f", {number(slowdown)} times its ideal time"
    end = end if flows.column("finished")[row] else ", not finished"
    lines = [paragraph(f"{name}, {ends}, {bytes_}: {number(time / 1e6)} us{end}")]
    last = _last_port(result, row)
    queue = "" if last is None else f"the longest queue before its receiver: {_queue(result, last)}"
    if notes := "; ".join(filter(None, (repaired(flows, row), queue))):
        lines.append(paragraph(f"{notes[0].upper()}{notes[1:]}."))
    meanings = catalogue.columns("limits")
    shown = sorted((name for name in of if of[name]), key=lambda name: -of[name])
    queued = limits.queued(result, which)
    meaning = {name: meanings[f"{name}_ps"] for name in shown}
    meaning |= {
        name: f"{meaning[name]}; queues added {number(queued[name] / 1e6)} us of it"
        for name in shown
        if queued.get(name)
    }
    parts = [
        [name, f"{number(of[name] / 1e6)}", f"{100 * of[name] / time:.1f}", meaning[name]] for name in shown
    ]
    return "\n".join([*lines, table(columns("", ("", "us"), ("", "%"), ""), parts)]) if parts else lines[0]
