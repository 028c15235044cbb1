"""Figure 11: slowdown by 20 classes of size with equal numbers of flows."""

import numpy as np
import numpy.typing as npt

from incast.ledger.runs import Results

CLASSES = 20

Floats = npt.NDArray[np.float64]


def _means(sizes: Floats, slowdowns: Floats) -> tuple[Floats, Floats]:
    """Largest size of each class, and its mean slowdown."""
    order = np.argsort(sizes, kind="stable")
    pieces = np.array_split(order, CLASSES)
    ends = np.array([sizes[piece].max() for piece in pieces])
    return ends, np.array([slowdowns[piece].mean() for piece in pieces])


def _flows(results: Results, run: str) -> tuple[Floats, Floats]:
    table = results[run].flows
    return table.column("size_bytes").astype(float), table.column("slowdown").astype(float)


def over_sizes(results: Results, of: str, over: str, take: str) -> float:
    """By how much one run outperforms another: least or most over the classes, or in which share of them."""
    gains = _means(*_flows(results, over))[1] / _means(*_flows(results, of))[1] - 1
    match take:
        case "smallest":
            return float(gains.min())
        case "largest":
            return float(gains.max())
        case "share":
            return float(np.mean(gains > 0))
    raise ValueError(f"{take!r} is not one of smallest, largest, share")


def by_size(results: Results, of: str) -> tuple[Floats, Floats]:
    """Size in KB and mean slowdown of each class, over the flows of all seeds."""
    found = [_flows(replica, of) for replica in results.replicas()]
    sizes, slowdowns = (np.concatenate([pair[i] for pair in found]) for i in (0, 1))
    ends, means = _means(sizes, slowdowns)
    return ends / 1e3, means
