"""What Figure 7 shows of buffers: the largest of each 100 samples, as in the authors' public artifact."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incast.ledger.runs import Results
from incast.results.measures.quantity import Quantity
from incast.results.stats import percentile

Floats = npt.NDArray[np.float64]

GROUP = 100
"""Samples of which the artifact keeps the largest: 0.7 ms."""

TIMES = ("10ms", "90ms")
"""The measured window."""


def _maxima(results: Results, run: str, switch: str) -> Floats:
    view = results.view(run)
    time, held = view.buffers[switch]
    held = held[view.span(time, *TIMES)]
    whole = len(held) // GROUP
    return np.asarray(held[: whole * GROUP].reshape(whole, GROUP).max(axis=1), dtype=np.float64)


def maxima(results: Results, run: str, stat: str, switch: str = "edge0") -> Quantity:
    """A percentile of the largest occupancies of a switch.

    Args:
        results: The runs.
        run: The run.
        stat: Like ``p99``.
        switch: The switch; the artifact shows the ToR of the first rack.
    """
    values = _maxima(results, run, switch)
    return Quantity(float(percentile(values, float(stat.removeprefix("p")))), "bytes", len(values))


def maxima_cdf(results: Results, name: str, switch: str = "edge0") -> tuple[Floats, Floats]:
    """Their distribution over all seeds, in KB, for the picture."""
    values = np.sort(np.concatenate([_maxima(replica, name, switch) for replica in results.replicas()]))
    return values / 1e3, np.arange(1, len(values) + 1) / len(values)
