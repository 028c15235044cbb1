"""Figures 6d and 6e of OSCAR: completion times of all-to-all operations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from incast.ledger.runs import Results
from incast.results.measures import slowdown

Floats = npt.NDArray[np.float64]

SIZES = (2, 4, 8, 16)

MESSAGES = "1KB"
"""Above the messages of a barrier, which have a byte."""


def better(
    results: Results,
    other: str,
    stat: str,
    least: bool = False,
    only: int = 0,
    ours: str = "oscar",
    sizes: Sequence[int] = SIZES,
) -> float:
    """By how much the times of an algorithm exceed OSCAR's: the largest over sizes, the least, or of one."""
    found = []
    for size in (only,) if only else sizes:
        their_time, our_time = (
            slowdown(results.view(f"{name}/{size}"), stat, above=MESSAGES, of="fct").value
            for name in (other, ours)
        )
        found.append(their_time / our_time - 1)
    return min(found) if least else max(found)


def distribution(results: Results, name: str) -> tuple[Floats, Floats]:
    """Completion times in ms, and the share of flows in per cent that have at most this."""
    flows = results[name].flows
    large = flows.column("size_bytes").astype(float) > 1e3
    times = np.sort(flows.column("fct_ps")[large].astype(float)) / 1e9
    return np.repeat(times, 2), 100 * np.repeat(np.arange(len(times) + 1), 2)[1:-1] / len(times)
