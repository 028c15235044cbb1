"""The congestion that a switch sees at one of its ports, to be held against what an algorithm deduces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incast.results.arrays import Floats, Ints
from incast.results.result import Result
from incast.units import Time


@dataclass(frozen=True)
class Congestion:
    """Arrival rate and inflight of a port, by the rows of its samples.

    Attributes:
        time_ps: When the sample of each row was taken, in picoseconds.
        arrival_bps: Rate in bit/s at which bytes came to the port since the row before: what it began to
            send, what its queues grew by, and what it dropped.
        inflight_bytes: Bytes in its queues, and those that it began to send within the last base RTT, whose
            acknowledgements cannot have come back to their senders yet.
    """

    time_ps: Ints
    arrival_bps: Floats
    inflight_bytes: Ints


def congestion_at(result: Result, port: str | tuple[str, int], base_rtt: str | Time) -> Congestion:
    """Arrival rate and inflight at a probed port, from its samples.

    The arrival rate is exact between two rows. The inflight is exact but for what left around one base RTT
    ago, which is known to one interval of the probe. The first row has no arrival rate and is left out, and
    so are those within the first base RTT of samples that begin during the run (``probe.from``).

    Args:
        result: A result with samples of the port (``probe.ports``).
        port: The port as for :meth:`Result.find_port`, like ``"s0->h15"``.
        base_rtt: Round-trip time without queues, like ``"12us"``.

    Raises:
        KeyError: When the port has no samples.
        ValueError: When the base RTT is no time above zero.
    """
    tau = int(Time(base_rtt))
    if tau == 0:
        raise ValueError("a base RTT is above zero")
    series = result.port(result.find_port(port))
    time, queue, sent = series.time_ps, series.queue_bytes, series.transmitted_bytes
    arrival = np.diff(sent + queue + series.dropped_bytes) * 8e12 / np.diff(time)
    # A row holds until just before the next one. Before the run nothing was sent.
    row = np.searchsorted(time, time - tau, side="right") - 1
    before = np.where(row >= 0, sent[np.maximum(row, 0)], 0)
    known = np.flatnonzero((row >= 0) | (time[0] == 0))
    known = known[known > 0]
    return Congestion(time[known], arrival[known - 1], (queue + sent - before)[known])
