"""The measured loads of traffic blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from incast.results.arrays import Floats, Ints, np
from incast.results.tables import Tables


@dataclass(frozen=True)
class Load:
    """The load of a traffic block in its measured window, and whether it is steady.

    Loads are shares of the capacity to which the block is relative. The guide to loads has the rule for
    *steady*.

    Attributes:
        group: Name of the traffic block.
        from_ps: Begin of the window in picoseconds.
        until_ps: End of the window.
        flows: Number of its flows that start in the window, and so count.
        uncounted: Number of its flows that started before or after it.
        tail: Whether flows arrive after the window.
        load: The load for which the block asks.
        offered: The load of the flows that start in the window.
        carried: The load that is acknowledged in the window; None if the run ended in it or on a testbed.
        backlog_begin_bytes: Bytes that have started and are not acknowledged at the begin of the window.
        backlog_end_bytes: These bytes at the end of the window.
        growth: Growth of the backlog over the window, as a share of the bytes offered in it.
        growth_error: Half the width of its 95 % interval.
        steady: Whether it is steady.
        because: The reasons if it is not.
    """

    group: str
    from_ps: int
    until_ps: int
    flows: int
    uncounted: int
    tail: bool
    load: float
    offered: float
    carried: float | None
    backlog_begin_bytes: int | None
    backlog_end_bytes: int | None
    growth: float | None
    growth_error: float | None
    steady: bool
    because: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """``steady``, or ``not steady because`` with the reasons."""
        return "steady" if self.steady else f"not steady because {'; '.join(self.because)}"


@dataclass(frozen=True)
class LoadSeries:
    """The load of a traffic block over time: one entry for each interval of ``probe.load_interval``.

    The last interval ends with the run. It can be shorter than the others, or longer where the run ends
    after the arrivals.

    Attributes:
        group: Name of the traffic block.
        time_ps: When each interval ends, in picoseconds; the first begins at 0.
        offered_bps: Size of the flows that started in it, whether they count or not, over its time, in bit/s.
        carried_bps: Payload of the block that was acknowledged in it, over its time.
        backlog_bytes: Bytes that have started and are not acknowledged at its end.
    """

    group: str
    time_ps: Ints
    offered_bps: Floats
    carried_bps: Floats
    backlog_bytes: Ints


def series_of(result: Tables, group: str) -> LoadSeries:
    """Returns the load of a traffic block over time.

    Args:
        result: The result.
        group: Name of the traffic block.

    Raises:
        KeyError: When the block has no series.
    """
    table = result.load_series
    groups = table.column("group")
    mine = groups == group
    if not mine.any():
        known = ", ".join(dict.fromkeys(groups.tolist()))
        wanted = f"there are those of {known}" if known else 'probe.load_interval = "100us" asks for it'
        raise KeyError(f"no load over time of {group!r}; {wanted}")
    time, started, acked = (table.column(name)[mine] for name in ("time_ps", "started_bytes", "acked_bytes"))
    seconds = np.diff(time, prepend=0) * 1e-12
    offered, carried = (np.diff(sums, prepend=0) * 8 / seconds for sums in (started, acked))
    return LoadSeries(group, time, offered, carried, started - acked)


def loads_of(info: Mapping[str, Any]) -> list[Load]:
    """Returns the loads of a run from its ``result.json``."""
    loads = (info.get("summary") or {}).get("loads", [])
    return [Load(**{**load, "because": tuple(load.get("because", ()))}) for load in loads]
