"""Theorem 6 of the median paper: what this figure's claims and panels call."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incast.ledger.runs import Results
from incast.results import measures
from incast.theory import median

Floats = npt.NDArray[np.float64]

PAYLOAD_BITS = 8000
SHORT_US = 10.0
WINDOW = 60.0


def worst(paths: int, history: int = 0) -> float:
    """The largest share of congested delays in a history, over extra delays up to three rounds of the paths.

    Args:
        paths: n.
        history: How many delays; 0 for all of 3 to 40.
    """
    histories = [history] if history else range(3, 41)
    late = np.linspace(0, 3 * paths, 12 * paths + 1) + 0.01
    return max(median.worst_share(paths, length, float(x)) for length in histories for x in late)


def worst_from(paths: int) -> float:
    """The same over n from this number up to 8."""
    return max(worst(n) for n in range(paths, 9))


def throughput(results: Results, run: str) -> float:
    """Packets per T_s that the sprayed flow delivers, without the first fifth of the run."""
    view = results.view(run)
    time, _ = view.acked("sprayed")
    rate = measures.goodput(view, "sprayed", f"{int(time[-1]) // 5}ps", f"{int(time[-1])}ps").value
    return rate / PAYLOAD_BITS * SHORT_US * 1e-6


def form(paths: float) -> float:
    """The throughput without a collapse."""
    return median.capped(WINDOW, 1 / paths, "19us", "10us")


def against(results: Results, run: str) -> float:
    """The throughput of a run over that without a collapse."""
    return throughput(results, run) / form(float(results.spec(run).values["n"]))


def off(results: Results, run: str) -> float:
    """By how much it differs, as a share."""
    return abs(against(results, run) - 1)


def curve() -> tuple[Floats, Floats]:
    """The throughput without a collapse over the number of paths."""
    paths = np.geomspace(2, 40, 60)
    return paths, np.array([form(n) for n in paths])


def collapse() -> tuple[Floats, Floats]:
    """The closed form of LSwift, Theorem 5, over the number of paths."""
    paths = np.geomspace(2, 40, 60)
    return paths, np.array([median.resilient_swift(1 / n, "19us", "12us") for n in paths])


def gain(results: Results, run: str, over: str) -> float:
    """The throughput of a run over that of another one."""
    return throughput(results, run) / throughput(results, over)


def least_gain(results: Results) -> float:
    """The smaller of MNSCC's throughputs over NSCC's with 4 and 8 paths."""
    return min(gain(results, f"mnscc/{n}", f"nscc/{n}") for n in (4, 8))
