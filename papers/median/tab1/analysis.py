"""Table I of the median paper against packets: what this figure's claims and panels call."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from incast.ledger.runs import Results
from incast.results import measures
from incast.theory import median

Floats = npt.NDArray[np.float64]

PAYLOAD_BITS = 8000

# Of smartt.toml: T_s is 1.25 base round trips of 10 us, T_l 30 us.
SMARTT = {"alpha": 1.25, "bdp_packets": 156.25}


def throughput(results: Results, run: str, short_us: float = 10.0) -> float:
    """Packets per T_s that the sprayed flow delivers, without the first fifth of the run."""
    view = results.view(run)
    time, _ = view.acked("sprayed")
    rate = measures.goodput(view, "sprayed", f"{int(time[-1]) // 5}ps", f"{int(time[-1])}ps").value
    return rate / PAYLOAD_BITS * short_us * 1e-6


def form(law: str, paths: float) -> float:
    """The closed form, in packets per T_s."""
    q = 1 / paths
    if law == "newreno":
        return median.newreno(q)
    if law == "swift":
        return median.swift(q)
    if law == "lswift":
        return median.resilient_swift(q, "19us", "12us")
    # Theorem 4 is in packets per T_avg.
    return median.smartt(q, **SMARTT) / (1 + q * (30 / 12.5 - 1))


def against(results: Results, run: str, law: str) -> float:
    """The throughput of a run over the closed form."""
    paths = float(results.spec(run).values["n"])
    return throughput(results, run, 12.5 if law == "smartt" else 10.0) / form(law, paths)


def off(results: Results, run: str, law: str) -> float:
    """By how much the throughput of a run differs from the closed form, as a share of it."""
    return abs(against(results, run, law) - 1)


def theory_exponent(law: str, first: float, last: float) -> float:
    """The exponent in n of a closed form between two numbers of paths."""
    return math.log(form(law, last) / form(law, first)) / math.log(last / first)


def scaled_exponent(first: float, last: float) -> float:
    """The same of resilient Swift with a target that grows by up to 5 us as the window shrinks."""
    ends = [median.resilient_swift(1 / n, "19us", "12us", fs_range="5us") for n in (first, last)]
    return math.log(ends[1] / ends[0]) / math.log(last / first)


def two_percent() -> float:
    """The closed form at 1 % of congested paths over that at 2 %."""
    return form("newreno", 100) / form("newreno", 50)


def constant(law: str) -> float:
    """The throughput times √q."""
    return form(law, 1.0)


def gain(results: Results, run: str, over: str) -> float:
    """The throughput of a run over that of another algorithm's with the same number of paths."""
    other = f"{over}/{results.spec(run).values['n']}"
    return throughput(results, run) / throughput(results, other)


def curve(law: str) -> tuple[Floats, Floats]:
    """The closed form over the number of paths."""
    paths = np.geomspace(8, 1024, 60)
    return paths, np.array([form(law, n) for n in paths])


def marked(results: Results) -> float:
    """DCTCP's throughput over New Reno's, with marks on the congested path."""
    return throughput(results, "marked/dctcp") / throughput(results, "marked/newreno:avoidance")
