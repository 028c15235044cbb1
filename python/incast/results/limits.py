"""The divided times of flows: what kept their next packets back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from incast.results.arrays import BoolArray, Ints, np
from incast.results.tables import Tables

CONTROL = ("window", "pacing")
"""The limits that an algorithm sets."""

QUEUED = ("window", "answer")
"""The limits of which a part is due to queues."""

LEAST_SHARE = 0.01
"""Share of a flow's time up to which its algorithm has not held it back: a rate that rounds to just below the
line's paces by a picosecond."""

_OTHERS = ("time_ps",)


def names(result: Tables) -> list[str]:
    """Returns the names of the limits, in the order of the table.

    Args:
        result: The result.
    """
    columns = (name for name in result.limits.columns if name.endswith("_ps"))
    return [name.removesuffix("_ps") for name in columns if name not in _OTHERS and "_queued_" not in name]


def queued(result: Tables, flow: int) -> dict[str, int]:
    """Returns the parts of a flow's limits that queues added, in picoseconds, by the limit.

    Args:
        result: The result.
        flow: The number of the flow.

    Returns:
        The times of ``window`` and ``answer``; empty in results of earlier versions.
    """
    mine = result.limits.column("flow") == flow
    columns = ((name, result.limits.column(f"{name}_queued_ps")[mine]) for name in QUEUED)
    return {name: int(times[0]) for name, times in columns if len(times) and not np.isnan(times[0])}


def has_limits(result: Tables) -> bool:
    """Whether the time of a result's flows is divided; earlier versions and testbeds do not divide it."""
    return len(result.limits) > 0 or len(result.flows) == 0


def times(result: Tables, column: str) -> Ints:
    """Returns a column of the table ``limits`` for each row of ``flows``, 0 where that has none.

    Args:
        result: The result.
        column: The name of the column.
    """
    flows, limits = result.flows.column("flow"), result.limits
    found = np.zeros(len(flows), dtype=np.int64)
    if len(flows):
        order = np.argsort(flows, kind="stable")
        place = np.minimum(np.searchsorted(flows, limits.column("flow"), sorter=order), len(flows) - 1)
        rows = order[place]
        # A killed run may have rows of flows that are not in the other table yet.
        known = flows[rows] == limits.column("flow")
        found[rows[known]] = limits.column(column)[known]
    return found


def chosen_by_default(result: Tables) -> BoolArray:
    """Returns the mask of the flows that count and have started."""
    mask: BoolArray = result.flows.column("counted") & result.flows.column("started")
    return mask


def shares(result: Tables, chosen: BoolArray | None) -> dict[str, float]:
    """Returns the shares of limits in the summed time of flows; all are 0 without any time.

    Args:
        result: The result.
        chosen: The mask of the flows, by default those that count.
    """
    mask = chosen_by_default(result) if chosen is None else chosen
    total = int(times(result, "time_ps")[mask].sum())
    return {
        name: int(times(result, f"{name}_ps")[mask].sum()) / total if total else 0.0 for name in names(result)
    }


def by_size(results: Sequence[Tables], edges: Sequence[int]) -> list[dict[str, float]]:
    """Returns the shares of limits in the summed time of the flows of some sizes that count.

    Args:
        results: Results whose flows are taken together.
        edges: Lower bounds of sizes in bytes, rising; each bin has the sizes above its own, up to the next.

    Returns:
        The shares by limit of each bin; all are 0 in one without any time.
    """
    known = names(results[0])
    sums = {name: np.zeros(len(edges)) for name in ("time", *known)}
    for result in results:
        size = result.flows.column("size_bytes").astype(np.float64)
        chosen = chosen_by_default(result) & ~np.isnan(size)
        place = np.searchsorted(edges, size[chosen], side="left") - 1
        for name, total in sums.items():
            np.add.at(total, place, times(result, f"{name}_ps")[chosen])
    total = sums["time"]
    return [
        {name: float(sums[name][n] / total[n]) if total[n] else 0.0 for name in known}
        for n in range(len(edges))
    ]


def held_back(result: Tables) -> int | None:
    """Returns the number of flows that their algorithm has held back for more than 1 % of their time.

    Flows under ``constant`` do not count.

    Args:
        result: The result.

    Returns:
        The number; None if the time of flows is not divided.
    """
    if not has_limits(result):
        return None
    control = sum(times(result, f"{name}_ps") for name in CONTROL)
    algorithms = result.flows.column("algorithm")
    controlled = np.array([not name.startswith("constant") for name in algorithms], dtype=bool)
    return int((controlled & (control > LEAST_SHARE * times(result, "time_ps"))).sum())


def counts(result: Tables, group: str | None = None) -> tuple[Ints, dict[str, Ints]]:
    """Returns the numbers of open flows by what kept their next packets back, over time.

    Args:
        result: The result, of a scenario with ``probe.limits``.
        group: Name of a traffic block; by default the sums over all.

    Returns:
        The instants in picoseconds, evenly spaced from the first to the last with an open flow, and for each
        limit that occurs the numbers at these.

    Raises:
        ValueError: When there are no counts, or none of the block.
    """
    table = result.limit_series
    if not len(table):
        raise ValueError('open flows were not counted; [probe] limits = "10us" asks for it')
    groups = table.column("group")
    mine = np.ones(len(groups), dtype=bool) if group is None else groups == group
    if not mine.any():
        known = ", ".join(dict.fromkeys(groups.tolist()))
        raise ValueError(f"no flow of {group!r} was counted; there are {known}")
    # Instants without open flows have no rows.
    every = np.unique(table.column("time_ps"))
    step = int(np.gcd.reduce(np.diff(every))) if len(every) > 1 else 1
    time, limit, flows = (table.column(name)[mine] for name in ("time_ps", "limit", "flows"))
    instants = np.arange(time.min(), time.max() + 1, step)
    found = {}
    for name in names(result):
        rows = limit == name
        if rows.any():
            found[name] = np.zeros(len(instants), dtype=np.int64)
            np.add.at(found[name], (time[rows] - instants[0]) // step, flows[rows])
    return instants, found


def summed(result: Tables, summary: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Returns the divided times by class of size and traffic block, as the summary has them.

    Of a run that was killed, which has no summary, all flows are one class.

    Args:
        result: The result.
        summary: Its summary; empty if it has none.
    """
    if summary.get("limits") or not has_limits(result):
        return list(summary.get("limits", []))
    mask = chosen_by_default(result)
    total = {name: int(times(result, f"{name}_ps")[mask].sum()) for name in names(result)}
    time = int(times(result, "time_ps")[mask].sum())
    return [{"class": "all", "group": None, "flows": int(mask.sum()), "time_ps": time, "limits_ps": total}]
