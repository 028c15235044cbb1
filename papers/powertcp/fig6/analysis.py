"""Slowdowns by size over the flows of all seeds, for the picture of Figure 6."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incast.ledger.runs import Results
from incast.results.measures.quantity import quantity
from incast.results.stats import percentile


def by_size(
    results: Results, name: str, stat: str, edges: list[str]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """A percentile of the slowdown in classes of size, over the flows of all seeds together.

    Args:
        results: The runs.
        name: The run.
        stat: Like ``p99``.
        edges: Upper edges of the classes.
    """
    sizes, values = [], []
    for replica in results.replicas():
        flows = replica.view(name).result.flows
        chosen = ~np.isnan(flows.column("slowdown")) & flows.column("counted")
        sizes.append(flows.column("size_bytes")[chosen])
        values.append(flows.column("slowdown")[chosen])
    size, value = np.concatenate(sizes), np.concatenate(values)
    ends = np.array([quantity(edge).value for edge in edges])
    inside = [(size > low) & (size <= high) for low, high in zip([0.0, *ends[:-1]], ends, strict=True)]
    rank = float(stat.removeprefix("p"))
    return ends / 1e3, np.array([percentile(value[here], rank) for here in inside])
