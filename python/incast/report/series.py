"""Samples of ports and of flows for the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from incast.report.columns import Columns
from incast.results import Table
from incast.results.result import Result, every_sample

SAMPLES = 2_000_000
"""Largest number of samples in a report. If there are more, only the rows of the tables go in; if there are
more rows than this, they are thinned, and the report says so."""

_PORT = ("queue_bytes", "transmitted_bytes")
_FLOW = ("window_bytes", "rate_bps", "rtt_ps", "inflight_bytes")


def pictures(results: Sequence[Result], columns: Columns, samples: int = SAMPLES) -> dict[str, Any]:
    """Returns the pictures over time.

    Args:
        results: The results.
        columns: Receives the numbers.
        samples: Maximum number of samples.
    """
    tables = [table for r in results for table in (r.port_series, r.flow_series)]
    there = sum(int(table.column("samples").sum()) for table in tables)
    rows = sum(len(table) for table in tables)
    # None: every sample.
    share = None if there <= samples else min(1.0, samples / rows)
    drawn = [{"ports": _ports(r, columns, share), "flows": _flows(r, columns, share)} for r in results]
    return {"samples": there, "thinned": share is not None and share < 1, "results": drawn}


def _ports(result: Result, columns: Columns, share: float | None) -> list[dict[str, Any]]:
    table, totals = result.port_series, result.ports
    node, port = table.column("node"), table.column("port").astype(np.int64)
    rates = {
        (n, p): rate
        for n, p, rate in zip(*(totals.column(c).tolist() for c in ("node", "port", "rate_bps")), strict=True)
    }
    drawn = []
    for rows in _groups(table.column("node_id").astype(np.int64) << 16 | port):
        key = (str(node[rows[0]]), int(port[rows[0]]))
        # Without a rate (the totals come at the end of a run) there is no utilisation to show.
        rate = rates.get(key, float("nan"))
        peak = int(table.column("queue_bytes")[rows].max())
        series = {"node": key[0], "port": key[1], "rate": None if np.isnan(rate) else int(rate), "peak": peak}
        drawn.append(series | _columns(table, rows, _PORT, columns, share))
    return drawn


def _flows(result: Result, columns: Columns, share: float | None) -> list[dict[str, Any]]:
    table, flows = result.flow_series, result.flows
    ends = (flows.column(c).tolist() for c in ("flow", "source", "destination", "group"))
    about = {flow: f"{source} → {target}, {group}" for flow, source, target, group in zip(*ends, strict=True)}
    drawn = []
    for rows in _groups(table.column("flow").astype(np.int64)):
        flow = int(table.column("flow")[rows[0]])
        series = {"flow": flow, "about": about.get(flow, "not finished")}
        drawn.append(series | _columns(table, rows, _FLOW, columns, share))
    return drawn


def _groups(key: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.intp]]:
    """The rows of each key, in their order."""
    if not len(key):
        return
    order = np.argsort(key, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(key[order])) + 1)


def _columns(
    table: Table, rows: npt.NDArray[np.intp], names: Sequence[str], columns: Columns, share: float | None
) -> dict[str, Any]:
    if share is not None and share < 1:
        rows = rows[kept(table.column(names[0])[rows], max(int(len(rows) * share), 4))]
    found = {name: table.column(name)[rows] for name in ("time_ps", "samples", *names)}
    if share is None:
        found = every_sample(found)
    return {name: columns.add(found[name]) for name in ("time_ps", *names)}


def kept(values: npt.NDArray[Any], many: int) -> npt.NDArray[np.intp]:
    """The positions of values to keep so that no peak and no trough is lost.

    Of each interval, the first, a smallest and a largest value are kept.

    Args:
        values: The values.
        many: Maximum number to keep, at least four.

    Returns:
        Their positions, ascending.
    """
    if len(values) <= many:
        return np.arange(len(values))
    width = -(-len(values) // (many // 3))
    whole = len(values) // width
    grid = np.nan_to_num(values[: whole * width].astype(np.float64)).reshape(whole, width)
    begin = np.arange(whole) * width
    chosen = [begin, begin + grid.argmin(axis=1), begin + grid.argmax(axis=1)]
    rest = values[whole * width :]
    if len(rest):
        rest = np.nan_to_num(rest.astype(np.float64))
        chosen.append(whole * width + np.array([0, rest.argmin(), rest.argmax()]))
    return np.unique(np.concatenate(chosen))
