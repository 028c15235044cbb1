"""Texts about the ends of runs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from incast._terminal import WIDTH, cells
from incast.cli.table import number, paragraph
from incast.progress import Progress, ProgressLine, State, duration
from incast.results.result import Result
from incast.scenario import Scenario

if TYPE_CHECKING:
    from incast.results.grid import Grid
    from incast.results.measures.named import Measure
    from incast.results.sentences import Compared


class BatchLine(ProgressLine):
    """The progress line of a batch of runs, which counts the finished ones."""

    done = 0

    def __call__(self, now: Progress | State) -> None:
        """Shows the progress of the runs."""
        if isinstance(now, State):
            self.done = now.done
        super().__call__(now)

    def __enter__(self) -> BatchLine:
        return self

    def stopped(self, runs: int, most: bool = False) -> None:
        """Prints that the batch was stopped, and how to continue.

        Args:
            runs: Total number of runs.
            most: Whether fewer runs may be enough.
        """
        self.wipe()
        done = f"{self.done:,} of {'at most ' if most else ''}{runs:,} runs are done"
        print(f"\nincast: stopped; {done}; the same command continues from there", file=sys.stderr)


def ending(label: str, result: Result) -> str:
    """Describes the end of a run; for a stalled run, with the reason for which each flow waits."""
    outcome = result.info["outcome"]
    lines = [paragraph(f"{label}: {outcome['why']}")]
    lines += [f"  flow {w['flow']}: {w['waits_for']}" for w in outcome.get("waiting", [])]
    if reuse := outcome.get("reuse"):
        lines.append(paragraph(reuse["said"], "  "))
        if unwritten := reuse.get("unwritten"):
            lines.append(paragraph(unwritten["said"], "  "))
    for violation in outcome["violations"]:
        lines.append(paragraph(f"invariant violated, please report this: {violation}", "  "))
    return "\n".join(lines)


def totals(result: Result) -> str:
    """Packet-hops, speed, losses and fingerprint of a run; on two lines where one is too short."""
    outcome = result.info["outcome"]
    speed = f"{outcome['hops']:,} packet-hops in {seconds(outcome['wall_s'])}"
    if outcome["wall_s"] > 0:
        speed += f" ({number(outcome['hops_per_s'] / 1e6)} M/s)"
    dropped = outcome["packets_dropped"]
    loss = f", {dropped:,} packets dropped" if dropped else ""
    if trimmed := outcome.get("packets_trimmed", 0):
        loss += f", {trimmed:,} trimmed"
    if lost := outcome.get("packets_lost", 0):
        corrupted = outcome.get("packets_corrupted", 0)
        loss += f", {lost - corrupted:,} lost by links that failed" if lost > corrupted else ""
        loss += f", {corrupted:,} lost by bit errors" if corrupted else ""
    line, last = f"{speed}{loss};", f"fingerprint {outcome['fingerprint']}"
    return f"{line} {last}" if cells(f"{line} {last}") <= WIDTH else f"{line}\n{last}"


def notes(result: Result) -> list[str]:
    """Returns a measurement's equipment and deviations from the scenario; nothing for a simulation."""
    of = result.info.get("testbed")
    if of is None:
        return []
    switch = "the kernel forwards" if of["switch"] == "kernel" else "a switch in user space forwards"
    names = ", ".join(f"{label} is {name}" for label, name in of["controls"].items())
    return [f"measured on a testbed: Linux {of['kernel']}, {switch}; {names}", *of["notes"]]


MOST_RUNS = 2_000
"""Of more runs than this nothing is said in sentences: each of their files would be read once more."""


def answers(
    grid: Grid, compared: Sequence[Compared] = (), measures: Sequence[Measure] = (), *, ranked: bool = True
) -> str:
    """Returns the sentences on a grid, each on lines of its own.

    Args:
        grid: As for :func:`incast.results.sentences.sentences`.
        compared: Likewise.
        measures: Likewise.
        ranked: Likewise.
    """
    # Only of several runs is there something to say.
    from incast.results.sentences import sentences

    found = sentences(grid, compared, measures, ranked=ranked)
    return "\n".join(paragraph(one.text) for one in found)


def dropped(scenarios: Mapping[str, Scenario]) -> str:
    """Lists the keys that were written and have no effect, each with the reason and the contestants.

    Args:
        scenarios: The scenarios by their labels.
    """
    found: dict[str, list[str]] = {}
    for label, scenario in scenarios.items():
        for problem in scenario.dropped:
            why = problem.problem.removeprefix("has no effect: ").removeprefix("has no effect ")
            found.setdefault(f"{problem.key}: {why}", []).append(label)
    if not found:
        return ""
    alone = len(scenarios) == 1
    lines = (text if alone else f"{text} ({', '.join(labels)})" for text, labels in found.items())
    return "\n".join(["keys without effect, which were dropped", *(paragraph(line, "  ") for line in lines)])


def seconds(wall: float) -> str:
    """A span of wall time; short ones with fractions of a second."""
    if wall >= 60:
        return duration(wall)
    return f"{number(wall)} s" if wall >= 1 else f"{number(wall * 1e3)} ms"
