"""How far a run is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes:
        now_ps: Simulated time reached, in picoseconds.
        until_ps: Simulated time at which the run ends at the latest, in picoseconds; None without a
            limit.
        flows_finished: Flows that are done.
        flows: Flows in all.
        hops: Packet-hops so far; one hop is one packet that left one port.
    """

    now_ps: int
    until_ps: int | None
    flows_finished: int
    flows: int
    hops: int
