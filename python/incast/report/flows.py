"""Flow completion times for the report: slowdown by size, and distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from incast.report.columns import Column, Columns
from incast.results import stats
from incast.results.result import Result

SMALL_BYTES = 150_000
"""The largest size of a small flow, as in the summary of a result."""

STATISTICS = {"mean": None, "p50": 50.0, "p99": 99.0, "p99.9": 99.9}
"""Statistics of the flows of a size; the numbers are percentiles."""

_BINS = 20
_PER_BIN = 50
"""Largest number of bins of sizes, and least number of flows in each where there are enough."""

_POINTS = 600
_TAIL = 200
"""Number of ranks through which a distribution is drawn, and number of ranks at its upper end that are all
drawn."""


@dataclass(frozen=True)
class Flows:
    """The flows of a result.

    Attributes:
        size_bytes: Payload of each; NaN for a flow that ends when it is stopped.
        fct_ps: Completion times; NaN for a flow that did not finish.
        slowdown: Slowdowns; NaN for a flow that did not transfer all of its size.
        group: Name of the traffic block of each.
    """

    size_bytes: npt.NDArray[np.float64]
    fct_ps: npt.NDArray[np.float64]
    slowdown: npt.NDArray[np.float64]
    group: npt.NDArray[np.object_]

    @classmethod
    def of(cls, result: Result) -> Flows:
        """Returns the flows of a result that count, as far as they were written."""
        table = result.flows
        size, fct, slowdown = (
            table.column(c).astype(np.float64) for c in ("size_bytes", "fct_ps", "slowdown")
        )
        return cls(size, fct, slowdown, table.column("group")).select(table.column("counted"))

    @classmethod
    def pooled(cls, parts: Sequence[Flows]) -> Flows:
        """Returns the flows of several results together."""
        first, *others = parts
        if not others:
            return first
        return cls(
            np.concatenate([part.size_bytes for part in parts]),
            np.concatenate([part.fct_ps for part in parts]),
            np.concatenate([part.slowdown for part in parts]),
            np.concatenate([part.group for part in parts]),
        )

    def select(self, chosen: npt.NDArray[np.bool_]) -> Flows:
        """Some of them."""
        return Flows(self.size_bytes[chosen], self.fct_ps[chosen], self.slowdown[chosen], self.group[chosen])


def distribution(values: npt.NDArray[np.float64]) -> dict[str, float] | None:
    """The statistics of some values; None without values."""
    if not len(values):
        return None
    return {
        name: float(values.mean() if percent is None else stats.percentile(values, percent))
        for name, percent in STATISTICS.items()
    }


def of_class(flows: Flows, name: str) -> npt.NDArray[np.float64]:
    """Returns the slowdowns of the finished flows of a class of sizes: ``small``, ``large`` or ``all``."""
    done = flows.select(~np.isnan(flows.slowdown))
    small = done.size_bytes <= SMALL_BYTES
    return done.slowdown[{"small": small, "large": ~small}.get(name, np.ones(len(small), dtype=bool))]


def edges(sizes: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Upper limits of bins: one for each size where there are few, else with equally many flows each."""
    if not len(sizes):
        return np.empty(0)
    distinct = np.unique(sizes)
    if len(distinct) <= _BINS:
        return distinct
    bins = int(np.clip(len(sizes) // _PER_BIN, 1, _BINS))
    ranks = np.ceil(np.arange(1, bins + 1) * len(sizes) / bins).astype(int) - 1
    return np.unique(np.sort(sizes)[ranks])


def pictures(all_flows: Sequence[Flows], columns: Columns) -> list[dict[str, Any]]:
    """Returns the pictures of flows: for all flows, and for each traffic block where there are several.

    The bins of sizes are common to all results, so that their points are above each other.
    """
    groups = list(dict.fromkeys(name for flows in all_flows for name in flows.group.tolist()))
    drawn = [_picture(None, all_flows, columns)]
    if len(groups) > 1:
        drawn += [_picture(g, [f.select(f.group == g) for f in all_flows], columns) for g in groups]
    return [picture for picture in drawn if picture is not None]


def _picture(group: str | None, all_flows: Sequence[Flows], columns: Columns) -> dict[str, Any] | None:
    done = [flows.select(~np.isnan(flows.slowdown)) for flows in all_flows]
    upper = edges(np.concatenate([flows.size_bytes for flows in done]))
    if not len(upper):
        return None
    return {
        "group": group,
        "edges": upper.tolist(),
        "results": [
            {
                "flows": len(flows.size_bytes),
                "bins": _by_size(flows, upper),
                "slowdown": _ranks(flows.slowdown, columns),
                "fct": _ranks(flows.fct_ps, columns),
            }
            for flows in done
        ],
    }


def _by_size(flows: Flows, upper: npt.NDArray[np.float64]) -> list[dict[str, Any] | None]:
    """For each bin how many flows it has, their mean size, and their slowdown."""
    place = np.searchsorted(upper, flows.size_bytes)
    bins: list[dict[str, Any] | None] = []
    for number in range(len(upper)):
        here = place == number
        slowdown = distribution(flows.slowdown[here])
        if slowdown is None:
            bins.append(None)
        else:
            bins.append({"n": int(here.sum()), "size": float(flows.size_bytes[here].mean()), **slowdown})
    return bins


def _ranks(values: npt.NDArray[np.float64], columns: Columns) -> dict[str, Column]:
    """Values at chosen ranks, and the share of flows up to each."""
    ordered = np.sort(values)
    n = len(ordered)
    spread = np.linspace(0, max(n - 1, 0), min(n, _POINTS)).astype(np.int64)
    ranks = np.union1d(spread, np.arange(max(n - _TAIL, 0), n))
    return {"value": columns.add(ordered[ranks]), "share": columns.add((ranks + 1) / max(n, 1))}
