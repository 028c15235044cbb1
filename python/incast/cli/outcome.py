"""How a run ended, in words."""

from __future__ import annotations

from incast.cli.progress import duration
from incast.cli.table import number, paragraph
from incast.result import Result


def is_sound(result: Result) -> bool:
    """Whether a run came to a proper end with every invariant holding."""
    outcome = result.info.get("outcome") or {}
    return outcome.get("end") in ("finished", "time limit") and not outcome.get("violations")


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
    return f"{speed}{loss}; fingerprint {outcome['fingerprint']}"


def seconds(wall: float) -> str:
    """A span of wall time, finer than a second where it is short."""
    if wall >= 60:
        return duration(wall)
    return f"{number(wall)} s" if wall >= 1 else f"{number(wall * 1e3)} ms"
