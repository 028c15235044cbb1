"""Limits of the paths of real networks."""

from __future__ import annotations

LONGEST_PS = 60 * 10**12
"""The longest base RTT, in picoseconds."""

FASTEST_BPS = 10 * 10**12
"""The fastest line, in bit/s."""


def check(base_rtt_ps: int, line_rate_bps: int, error: type[Exception]) -> None:
    """Checks the base RTT and the line rate of a path.

    Raises:
        error: When one is impossible.
    """
    if not 0 < base_rtt_ps <= LONGEST_PS:
        raise error("the base RTT must be more than zero and at most 60s")
    if not 0 < line_rate_bps <= FASTEST_BPS:
        raise error("the line rate must be more than zero and at most 10Tbps")
