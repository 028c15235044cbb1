"""The two lines of CCC's Figure 5."""

from __future__ import annotations

from incast.results.arrays import Floats
from incast.theory import ccc

GOODPUT = 40.0 * 1000 / 1054
"""What a link of 40 Gbps carries of payload, in Gbps, with packets of 1000 B and 54 B of headers."""


def fairness() -> tuple[Floats, Floats]:
    """Equal rates."""
    return ccc.fairness_line(GOODPUT)


def efficiency() -> tuple[Floats, Floats]:
    """Rates that fill the link."""
    return ccc.efficiency_line(GOODPUT)
