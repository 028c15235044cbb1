"""How runs ended, in words."""

from __future__ import annotations

import sys

from incast.cli.table import number, paragraph
from incast.progress import Progress, ProgressLine, duration
from incast.result import Result
from incast.runner import State


class BatchLine(ProgressLine):
    """The progress line of a batch of runs, which knows at any time how many are done."""

    done = 0

    def __call__(self, now: Progress | State) -> None:
        """Shows how far the runs are."""
        if isinstance(now, State):
            self.done = now.done
        super().__call__(now)

    def __enter__(self) -> BatchLine:
        return self

    def stopped(self, runs: int) -> None:
        """Says that the batch was stopped, and how to go on.

        Args:
            runs: Runs in all.
        """
        self.wipe()
        done = f"{self.done:,} of {runs:,} runs are done"
        print(f"\nincast: stopped; {done}, and the same command goes on from there", file=sys.stderr)


def ending(label: str, result: Result) -> str:
    """How a run ended and why; with what waits for what when it stalled."""
    outcome = result.info["outcome"]
    lines = [paragraph(f"{label}: {outcome['why']}")]
    lines += [f"  flow {w['flow']} waits: {w['waits_for']}" for w in outcome.get("waiting", [])]
    for violation in outcome["violations"]:
        lines.append(paragraph(f"invariant violated, please report this: {violation}", "  "))
    return "\n".join(lines)


def totals(result: Result) -> str:
    """What a run did and how fast, on one line, and its fingerprint."""
    outcome = result.info["outcome"]
    speed = f"{outcome['hops']:,} packet-hops in {seconds(outcome['wall_s'])}"
    if outcome["wall_s"] > 0:
        speed += f" ({number(outcome['hops_per_s'] / 1e6)} M/s)"
    dropped = outcome["packets_dropped"]
    loss = f", {dropped:,} packets dropped" if dropped else ""
    if lost := outcome.get("packets_lost", 0):
        loss += f", {lost:,} lost by links that failed"
    return f"{speed}{loss}; fingerprint {outcome['fingerprint']}"


def seconds(wall: float) -> str:
    """A span of wall time, finer than a second where it is short."""
    if wall >= 60:
        return duration(wall)
    return f"{number(wall)} s" if wall >= 1 else f"{number(wall * 1e3)} ms"
