"""``--estimate``: time, memory and disk of a long run, extrapolated from a few seconds of it."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from incast._terminal import wipe
from incast.cli.outcome import seconds
from incast.cli.table import columns, number, paragraph, table
from incast.results.result import Result
from incast.results.titles import title
from incast.scenario import Interrupted, Progress, Scenario, Size

TRIAL_S = 3.0
"""Wall time of a trial, in seconds, after which it is stopped."""


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
    are known, the smaller. Wall time and samples are scaled in proportion. Traffic that changes after the
    trial (a later burst, retransmissions) is not predicted.

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
        disk = {table_.name: table_.stat().st_size for table_ in (Path(name) / "trial").iterdir()}
        # Building the network takes time only once.
        start_s, per_hop_s = first[1] - began, (last[1] - first[1]) / max(last[2] - first[2], 1)
        if whole:
            start_s, per_hop_s = time.process_time() - began, 0.0
        return _extrapolate(scenario, size, result, disk, (start_s, per_hop_s), whole)


def _extrapolate(
    scenario: Scenario,
    size: Size,
    result: Result,
    disk: Mapping[str, int],
    cost: tuple[float, float],
    whole: bool,
) -> Estimate:
    outcome = result.info["outcome"]
    hops, now_ps = outcome["hops"], outcome["now_ps"]
    start_s, per_hop_s = cost
    # Bytes, not kilobytes as Linux gives it. The trial's own memory is in it.
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if whole or not hops:
        return Estimate(hops, start_s, memory, sum(disk.values()), 1.0)
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
    # Tables of samples grow with the run; those of flows and ports have all their rows already. None of them
    # stays in memory.
    growing = {"port_series", "flow_series", "internals"}
    disk_bytes = sum(s * (more if Path(n).stem in growing else 1) for n, s in disk.items())
    return Estimate(total, start_s + per_hop_s * total, memory, disk_bytes, hops / total)


NOTE = (
    "Extrapolated from a trial of {trial:g} s each; the share is the part of the run that it covered. Time: "
    "of an otherwise idle core. Expect the packet-hops within 5 %, time and memory within a factor of 1.5, "
    "disk within 2; larger errors if traffic changes later or packets are lost."
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
