"""Figure 19 of OSCAR: steps over the target delay, and what flows do between two samples."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incast.ledger.runs import Results
from incast.results.measures import slowdown
from incast.results.result import every_sample

Floats = npt.NDArray[np.float64]

TARGETS = ("13.2", "15", "18", "24", "36")
"""The target delays in us, for a base RTT of 12 us."""

QUEUE_S = 6e-6
"""What the target queue of 75 KB adds to a round trip."""

EMPTY_S = 1e-6
"""Up to which delay OSCAR takes a queue for empty."""


def _mean(results: Results, target: str, size: str) -> float:
    view = results.view(f"target/{target}")
    sizes = {"up_to": "150KB"} if size == "small" else {"above": "150KB"}
    return slowdown(view, "mean", **sizes).value


def least_step(results: Results, size: str, rises: bool) -> float:
    """The least change of a mean from one target delay to the next, positive where it goes as it should."""
    means = np.array([_mean(results, target, size) for target in TARGETS])
    steps = means[1:] / means[:-1] if rises else means[:-1] / means[1:]
    return float(steps.min() - 1)


def excess(results: Results, at: str) -> float:
    """By how much the product of both means at a target delay exceeds the least over all."""
    products = {
        target: _mean(results, target, "small") * _mean(results, target, "larger") for target in TARGETS
    }
    return products[at] / min(products.values()) - 1


def _samples(results: Results, run: str, until_us: float = np.inf) -> tuple[Floats, Floats, Floats]:
    """Flow, rate as a share of the line, and queueing delay in seconds of all samples, by flow."""
    result = results[run]
    names = ("time_ps", "flow", "rate_bps", "rtt_ps", "samples")
    rows = {name: result.flow_series.column(name) for name in names}
    order = np.lexsort((rows["time_ps"], rows["flow"]))
    rows = every_sample({name: column[order] for name, column in rows.items()})
    rows = {name: column[rows["time_ps"] <= until_us * 1e6] for name, column in rows.items()}
    base = result.flows.column("base_rtt_ps").astype(float)[np.argsort(result.flows.column("flow"))]
    flow = rows["flow"].astype(np.int64)
    line = float(result.ports.column("rate_bps").min())
    delay = (rows["rtt_ps"].astype(float) - base[flow]) / 1e12
    return flow.astype(float), rows["rate_bps"].astype(float) / line, delay


def hyper_share(results: Results, run: str, step: float = 0.01, until_us: float = np.inf) -> float:
    """The share of the changes of rates that are a hyper increase, over the samples until an instant.

    That is one upwards by ``step``, as a share of the line, or by less to full rate while there is no queue.
    """
    flow, rate, delay = _samples(results, run, until_us)
    change, full, same = np.diff(rate), rate[1:] > 1 - 1e-6, np.diff(flow) == 0
    changed = same & np.isfinite(change) & (change != 0)
    last = full & (change > 0) & (change < step) & (delay[1:] < EMPTY_S)
    return float(np.mean((last | (np.abs(change - step) < 2e-4))[changed]))


def near_target(results: Results, run: str) -> float:
    """The share of samples of flows below full rate that met a queue within a half of the target."""
    _, rate, delay = _samples(results, run)
    slowed = (rate < 0.99) & np.isfinite(delay)
    return float(np.mean(np.abs(delay[slowed] / QUEUE_S - 1) <= 0.5))
