"""``--estimate``: time, memory and disk of a long run, extrapolated from a few seconds of it."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incast._terminal import wipe
from incast.cli.outcome import seconds
from incast.cli.table import columns, number, paragraph, table
from incast.results import Table
from incast.results.arrays import np
from incast.results.result import Result
from incast.results.titles import title
from incast.runs.sweep.tables import Column, Sheet
from incast.scenario import Interrupted, Progress, Scenario, Size

if TYPE_CHECKING:
    import numpy.typing as npt

TRIAL_S = 3.0
"""Wall time of a trial, in seconds, after which it is stopped."""

GROWING = (
    *("capture", "flow_series", "internals", "limit_series", "load_series", "packets", "pauses"),
    "port_series",
)
"""The files of a result that grow with the run, without their endings."""


MOST_IDLE = 10_000
"""Most rows of flows that have not started which are written to see their size."""


@dataclass(frozen=True)
class Estimate:
    """The estimated cost of a run.

    Attributes:
        hops: Packet-hops; one hop is one packet that leaves one port.
        cpu_s: CPU time on this machine in seconds: the wall time if a core is idle.
        memory_bytes: Peak memory of the process.
        disk_bytes: Size of the result on disk.
        share: Share of the packet-hops that the trial made; 1 when it reached the end of the run.
    """

    hops: float
    cpu_s: float
    memory_bytes: float
    disk_bytes: float
    share: float


def try_out(scenario: Scenario, trial_s: float = TRIAL_S) -> Estimate:
    """Runs the beginning of a scenario, and extrapolates.

    The packet-hops of the run are estimated as the trial's hops per data packet times the packets of all
    flows that have a size, or as the trial's hops per unit of simulated time times the time limit; if both
    are known, the smaller. Flows count here that may arrive until the others are done, of which the run may
    need fewer. Wall time and samples are scaled in proportion. Traffic that changes after the trial (a later
    burst, retransmissions) is not predicted.

    Args:
        scenario: What to estimate.
        trial_s: Wall time after which the trial is stopped, in seconds.

    Raises:
        ScenarioError: When it cannot be built.
        ResultError: When the trial's own result cannot be saved.
    """
    size = scenario.size()
    began = time.process_time()
    # Of the first and of the latest call: wall time, time of a core, packet-hops.
    first = last = (0.0, 0.0, 0)

    def enough(progress: Progress) -> None:
        nonlocal first, last
        last = (time.monotonic(), time.process_time(), progress.hops)
        first = first if first[0] else last
        if last[0] - first[0] > trial_s:
            raise KeyboardInterrupt

    with tempfile.TemporaryDirectory(prefix="incast-estimate-") as name:
        whole = True
        try:
            result = scenario.run_quietly(Path(name) / "trial", progress=enough)
        except Interrupted as stop:
            if last[0] - first[0] <= trial_s:
                raise
            result, whole = stop.result, False
        # Building the network takes time only once.
        start_s, per_hop_s = first[1] - began, (last[1] - first[1]) / max(last[2] - first[2], 1)
        if whole:
            start_s, per_hop_s = time.process_time() - began, 0.0
        return _extrapolate(scenario, size, result, Path(name) / "trial", (start_s, per_hop_s), whole)


def _extrapolate(
    scenario: Scenario,
    size: Size,
    result: Result,
    folder: Path,
    cost: tuple[float, float],
    whole: bool,
) -> Estimate:
    outcome = result.info["outcome"]
    hops, now_ps = outcome["hops"], outcome["now_ps"]
    start_s, per_hop_s = cost
    # Bytes, not kilobytes as Linux gives it. The trial's own memory is in it.
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if whole or not hops:
        return Estimate(hops, start_s, memory, sum(file.stat().st_size for file in folder.iterdir()), 1.0)
    bounds = []
    if not np.isnan(result.flows.column("size_bytes").astype(np.float64)).any():
        packets = size.bytes / scenario.payload_bytes + size.flows / 2
        bounds.append(packets * hops / outcome["packets_sent"])
    if size.until_ps is not None:
        bounds.append(hops * size.until_ps / now_ps)
    if not bounds:
        return Estimate(np.nan, np.nan, np.nan, np.nan, np.nan)
    total = max(min(bounds), float(hops))
    more = total / hops
    # Samples and packets grow with the run. Flows have their rows already, but those of flows that have not
    # started take little. Nothing of them stays in memory.
    started = int(result.flows.column("started").sum())
    of_flows = min(more, len(result.flows) / max(started, 1))
    growth = {**dict.fromkeys(GROWING, more), "flows": of_flows, "limits": of_flows}
    waiting = result.flows.column("flow")[~result.flows.column("started")]
    idle = {"flows": _idle_bytes(result.flows, waiting), "limits": _idle_bytes(result.limits, waiting)}
    disk_bytes = sum(
        _grown(file, growth.get(file.stem, 1.0), idle.get(file.stem, 0.0)) for file in folder.iterdir()
    )
    return Estimate(total, start_s + per_hop_s * total, memory, disk_bytes, hops / total)


def _grown(file: Path, growth: float, idle: float) -> float:
    """Returns the size of a file whose rows grow by a factor, except some bytes and the footer of a table."""
    size = file.stat().st_size
    constant = min(_footer(file) + idle, size)
    return constant + (size - constant) * growth


def _footer(file: Path) -> int:
    """Returns the size of what describes a table at the end of its file; 0 for another file."""
    return int.from_bytes(file.read_bytes()[-8:-4], "little") if file.suffix == ".parquet" else 0


def _idle_bytes(rows_of: Table, waiting: npt.NDArray[Any]) -> float:
    """Returns the size of the rows of flows that have not started: a few are written to see it.

    Args:
        rows_of: The table.
        waiting: The numbers of these flows.
    """
    rows = np.flatnonzero(np.isin(rows_of.column("flow"), waiting))
    few = rows[:MOST_IDLE]
    if not len(few):
        return 0.0
    with tempfile.TemporaryDirectory(prefix="incast-estimate-") as name:
        sheet = Sheet([_column(key, rows_of.column(key)[few]) for key in rows_of.columns])
        file, _ = sheet.save(Path(name) / "idle")
        return (file.stat().st_size - _footer(file)) * len(rows) / len(few)


def _column(name: str, values: npt.NDArray[Any]) -> Column:
    """Returns a column of a table to be written. Whole numbers with gaps come as others with NaN."""
    cells = [None if value != value else value for value in values.tolist()]
    if values.dtype.kind == "f" and all(value is None or value.is_integer() for value in cells):
        return Column(name, "integer", [None if value is None else int(value) for value in cells])
    return Column(name, {"f": "number", "b": "flag", "O": "text"}.get(values.dtype.kind, "integer"), cells)


NOTE = (
    "Extrapolated from a trial of {trial:g} s each; the share is the part of the run that it covered. Time: "
    "of an otherwise idle core. Expect all within a factor of 2, the packet-hops within 5 % where all flows "
    "count; larger errors if traffic changes later or packets are lost."
)


def estimate(scenarios: Mapping[str, Scenario], runs: int = 1, jobs: int = 1) -> int:
    """Prints the estimated cost of runs.

    Args:
        scenarios: What to run, by label.
        runs: Number of runs of each, with different seeds.
        jobs: Number of concurrent runs.

    Returns:
        The exit code.
    """
    found: dict[str, Estimate] = {}
    for label, scenario in scenarios.items():
        if sys.stderr.isatty():
            wipe(sys.stderr)
            print(f"trying {label}", end="", file=sys.stderr, flush=True)
        found[label] = try_out(scenario)
    if sys.stderr.isatty():
        wipe(sys.stderr)
        sys.stderr.flush()
    costs = (("packet-hops", "M"), ("time", "one core"), ("memory", "MB"), ("disk", "MB"), ("share", "%"))
    rows = [[title(label), *_row(e, 1)] for label, e in found.items()]
    total = Estimate(
        sum(e.hops for e in found.values()) * runs,
        sum(e.cpu_s for e in found.values()) * runs / jobs,
        max(e.memory_bytes for e in found.values()) * min(jobs, runs * len(found)),
        sum(e.disk_bytes for e in found.values()) * runs,
        np.nan,
    )
    if len(found) * runs > 1:
        rows.append([f"all {len(found) * runs:,} runs", *_row(total, 1)])
    print(table(columns("run", *costs), rows))
    if all(e.share == 1 for e in found.values()):
        print(paragraph("Measured: the trial reached the end of each run."))
    else:
        print(paragraph(NOTE.format(trial=TRIAL_S)))
    if np.isnan(total.hops):
        print(paragraph("A run without a time limit that has flows without a size runs until it is stopped."))
    return 0


def _row(e: Estimate, runs: int) -> list[str]:
    if np.isnan(e.hops):
        return ["–"] * 5
    share = "–" if np.isnan(e.share) else number(100 * e.share)
    return [
        number(e.hops * runs / 1e6),
        seconds(e.cpu_s * runs),
        number(e.memory_bytes / 1e6),
        number(e.disk_bytes / 1e6),
        share,
    ]
