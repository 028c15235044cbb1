"""The fixed points of SQCC's error function, Equations 17 and 18, as its claims and panels use them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from incast.ledger.runs import Results
from incast.results import measures
from incast.results.measures.quantity import Quantity
from incast.theory import sqcc

Floats = npt.NDArray[np.float64]


def fixed_point(flows: int, form: str = "rtt", law: str = "error") -> Quantity:
    """The queue at rest."""
    return Quantity(sqcc.fixed_point_queue(law, flows, form=form), "bytes")


def limit(end: str) -> Quantity:
    """The queue at rest with no flow, or with infinitely many, as Equation 17 has it."""
    flows = {"none": 0.0, "infinitely many": math.inf}[end]
    return Quantity(sqcc.fixed_point_queue("error", flows, form="queue"), "bytes")


def largest_below_high() -> float:
    """The largest of the fixed points of 1 to 10⁶ flows, over q_high."""
    queues = [sqcc.fixed_point_queue("error", n, form="queue") for n in np.geomspace(1, 1e6, 200)]
    return max(queues) / sqcc.queue(500e-6)


def growth_of_saving() -> float:
    """The exponent of the printed saving in N, from 10⁴ to 10⁵ flows."""
    return math.log10(sqcc.saving(1e5) / sqcc.saving(1e4))


def saving_is_the_difference() -> float:
    """The largest relative error of the printed saving, over 1 to 1000 flows."""
    found = []
    for flows in range(1, 1001):
        both = [sqcc.fixed_point_queue(law, flows, form="queue") for law in ("patched", "error")]
        found.append(abs(sqcc.saving(flows) / (both[0] - both[1]) - 1))
    return max(found)


def _saved(results: Results, flows: int) -> float:
    means = [
        measures.queue(results.view(f"{law}/{flows}"), "s0->h0", "mean", "240ms", "400ms").value
        for law in ("patched-timely", "error")
    ]
    return means[0] - means[1]


def widening(results: Results) -> float:
    """The saving in packets with 60 flows over that with 20."""
    return _saved(results, 60) / _saved(results, 20)


def always_shorter(results: Results) -> float:
    """The smallest saving in packets of 2 to 60 flows, as a share of patched TIMELY's mean queue."""
    shares = []
    for flows in (2, 10, 20, 40, 60):
        view = results.view(f"patched-timely/{flows}")
        shares.append(_saved(results, flows) / measures.queue(view, "s0->h0", "mean", "240ms", "400ms").value)
    return min(shares)


def line(law: str, form: str = "rtt") -> tuple[Floats, Floats]:
    """Fixed points in KB over the number of flows."""
    flows = np.linspace(1, 100, 100)
    return flows, np.array([sqcc.fixed_point_queue(law, n, form=form) for n in flows]) / 1e3
