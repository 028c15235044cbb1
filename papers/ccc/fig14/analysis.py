"""The span of q_B over which CCC's Figure 14 is compared."""

from __future__ import annotations

from incast.results.measures.quantity import Quantity


def step() -> Quantity:
    """From 5 us to 30 us."""
    return Quantity(25e-6, "time")
