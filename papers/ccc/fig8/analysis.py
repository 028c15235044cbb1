"""The two lines of CCC's Figure 8."""

from __future__ import annotations

from incast.results.arrays import Floats
from incast.theory import ccc

GOODPUT = 25.0 * 1000 / 1054
"""What a link of 25 Gbps carries of payload, in Gbps, with packets of 1000 B and 54 B of headers."""


def fairness() -> tuple[Floats, Floats]:
    """Equal rates."""
    return ccc.fairness_line(GOODPUT)


def efficiency() -> tuple[Floats, Floats]:
    """Rates that fill the link."""
    return ccc.efficiency_line(GOODPUT)
