"""Figures 6 and 15 of OSCAR on a testbed: how long a link takes to be used again."""

from __future__ import annotations

import numpy as np

from incast.ledger.runs import Results
from incast.results.measures import steps_of_use
from incast.results.measures.quantity import Quantity, quantity


def refilled(results: Results, run: str, port: str, start: str, end: str, level: float) -> Quantity:
    """The time from an instant until a link is used to a level: in most of the next five steps of 20 ms.

    Not in all that follow, as in a simulation: on real machines single steps fall below, when other work has
    the processor.
    """
    view = results.view(run)
    edges, used = steps_of_use(view, port, start, end, "20ms")
    usual = np.median(np.lib.stride_tricks.sliding_window_view(used, 5), axis=1)
    there = np.flatnonzero(usual >= level)
    if not len(there):
        return Quantity(float("inf"), "time")
    return Quantity((float(edges[there[0]]) - quantity(start).value * 1e12) / 1e12, "time")


def faster(results: Results, run: str, than: str, port: str, start: str, end: str, level: float) -> Quantity:
    """How many times sooner one run is there than another."""
    ours = refilled(results, run, port, start, end, level)
    theirs = refilled(results, than, port, start, end, level)
    # One that is not there until the end has taken at least so long; a step is the shortest time.
    longest = quantity(end).value - quantity(start).value
    return Quantity(min(theirs.value, longest) / max(min(ours.value, longest), 0.02))
