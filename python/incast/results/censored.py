"""Slowdowns with flows that did not finish: each of these counts with the least slowdown that it can have.

Leaving them out makes a run better than it is, since the slow ones are those that do not finish. For the same
reason nothing is assumed about how long they would have taken (as Kaplan and Meier do, for whom a flow is cut
off at random).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

from incast.results import Table, copies, stats
from incast.results.arrays import BoolArray, Floats, np
from incast.results.stats import percentile

SMALL_BYTES = 150_000
"""The largest size of a small flow, in bytes."""

WHOLE_SINCE = 6
"""The first format of results in which the ideal time of an unfinished flow is of its whole size."""

_CLASSES = {
    "small": (0.0, float(SMALL_BYTES)),
    "large": (float(SMALL_BYTES), math.inf),
    "all": (0.0, math.inf),
}
"""Sizes of the flows of each class: above the first number of bytes, up to the second."""


class Recorded(Protocol):
    """A result, as far as its flows are concerned."""

    @property
    def info(self) -> dict[str, Any]:
        """The content of its ``result.json``."""

    @property
    def flows(self) -> Table:
        """Its table of flows."""

    @property
    def ports(self) -> Table:
        """Its table of ports."""

    def rows(self, name: str) -> Table:
        """Returns the rows of a table that were written."""


def metrics(result: Recorded, block: str | None = None) -> tuple[dict[str, float], frozenset[str]]:
    """The numbers of a run, as :func:`incast.stats.metrics` gives them, with bounds for unfinished flows.

    Args:
        result: The run. Its table of flows is read only if a flow is unfinished.
        block: A traffic block, for its numbers only.

    Returns:
        The numbers, and the names of those that are only lower bounds.
    """
    info = result.info
    numbers, at_least = stats.metrics(info, block), set()
    for of in stats.unfinished_classes(info, block):
        values, bound = of_class(result, of, [] if block is None else [block])
        for name in ("mean", "p50", "p99") if len(values) else ():
            metric = f"slowdown_{of}_{name}"
            numbers[metric], low = statistic(values, bound, name)
            if low:
                at_least.add(metric)
    return numbers, frozenset(at_least)


def of_class(result: Recorded, of: str, groups: Sequence[str] = ()) -> tuple[Floats, BoolArray]:
    """Slowdowns of the flows of a class of sizes, or lower bounds of them: see :func:`bounds`.

    Args:
        result: The run.
        of: ``small``, ``large`` or ``all``.
        groups: Only flows of these traffic blocks; all if there are none.
    """
    above, up_to = _CLASSES[of]
    return bounds(result, above, up_to, groups)


def bounds(
    result: Recorded,
    above: float = 0.0,
    up_to: float = math.inf,
    groups: Sequence[str] = (),
    of: str = "slowdown",
) -> tuple[Floats, BoolArray]:
    """Slowdowns of the flows that count and have a size, or lower bounds of them.

    The bound of a flow whose whole size was not transferred is the time from its start to its end, or to the
    end of the run, over its ideal completion time (:func:`ideal_times`); at least 1, and 1 if it has not
    started or nothing is known of its ideal time.

    Args:
        result: The run.
        above: Only flows of more bytes.
        up_to: Only flows of this many bytes or fewer.
        groups: Only flows of these traffic blocks; all if there are none.
        of: ``slowdown``; or ``fct`` for completion times in picoseconds.

    Returns:
        The values, and whether each of them is a bound; of copies that were not written, too.
    """
    table = _written(result)
    size = table.column("size_bytes").astype(np.float64)
    chosen = table.column("counted") & (size > above) & (size <= up_to)
    if groups:
        chosen = chosen & np.isin(table.column("group"), list(groups))

    def column(name: str) -> Floats:
        return table.column(name)[chosen].astype(np.float64)

    finish, started = column("finish_ps"), table.column("started")[chosen]
    whole = ~np.isnan(finish) & (column("acked_bytes") >= size[chosen])
    end = np.where(np.isnan(finish), float(result.info["outcome"]["now_ps"]), finish)
    so_far = np.where(started, np.maximum(end - column("start_ps"), 0.0), 0.0)
    ideal, slowdown = ideal_times(result)[chosen], column("slowdown")
    # Nothing is less than 1, also NaN of an unknown ideal time.
    least = np.fmax(so_far / ideal, 1.0)
    values = so_far if of == "fct" else np.where(whole, slowdown, least)
    # A flow without an ideal time has no slowdown.
    has = ~(whole & np.isnan(slowdown))
    times = copies.counts(result.info, finish)[has]
    return np.repeat(values[has], times), np.repeat(~whole[has], times)


def _written(result: Recorded) -> Table:
    """Returns the rows of the table of flows, which lacks copies that were not written."""
    return result.rows("flows") if copies.are_unwritten(result.info) else result.flows


def ideal_times(result: Recorded) -> Floats:
    """Ideal completion times of the whole size of all flows, in picoseconds.

    Of a flow that was stopped before its whole size was transferred, the table has the ideal time of
    the bytes that were acknowledged; in results of an earlier format (below :data:`WHOLE_SINCE`) also
    of an unfinished flow. The ideal time of all bytes is then deduced from flows with the same base RTT
    and the same rates at both ends, itself among them: the next larger transfer takes at least as long,
    and so does the next smaller one if it is repeated until all bytes are there. The lesser of both is
    taken. For flows on such paths it is never too short, and a slowdown of which it is the denominator
    never too large.

    Args:
        result: The run.

    Returns:
        A time for each row of the table of flows; NaN where nothing is known of it: the flow has no size or
        has not started, or no such flow has any byte acknowledged.
    """
    table, ports = _written(result), result.ports
    size, acked, ideal = (
        table.column(name).astype(np.float64) for name in ("size_bytes", "acked_bytes", "ideal_fct_ps")
    )
    finish, started = table.column("finish_ps").astype(np.float64), table.column("started")
    is_whole = ~np.isnan(finish) & (acked >= size)
    if result.info.get("format_version", 0) >= WHOLE_SINCE:
        is_whole |= np.isnan(finish) & ~np.isnan(size)
    # The payload that each ideal time in the table is of.
    payload = np.where(is_whole, size, acked)
    found = np.where(is_whole, ideal, np.nan)
    missing = np.isnan(found) & started & ~np.isnan(size)
    if not missing.any():
        return found
    names, rates = ports.column("node").tolist(), ports.column("rate_bps").tolist()
    fastest: dict[str, int] = {}
    for name, rate in zip(names, rates, strict=True):
        fastest[name] = max(rate, fastest.get(name, 0))
    ends = (table.column(name).tolist() for name in ("source", "destination"))
    rates_at = ([fastest.get(name) for name in end] for end in ends)
    kinds = list(zip(*rates_at, table.column("base_rtt_ps").tolist(), strict=True))
    numbers = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
    number = np.array([numbers[kind] for kind in kinds])
    for one in np.unique(number[missing]):
        alike = np.flatnonzero((number == one) & started & (payload > 0) & (ideal > 0))
        alike = alike[np.argsort(payload[alike], kind="stable")]
        own = np.flatnonzero(missing & (number == one))
        place = np.searchsorted(payload[alike], size[own])
        for row, at in zip(own, place, strict=True):
            guesses = [ideal[alike[at]]] if at < len(alike) else []
            if at:
                before = alike[at - 1]
                guesses.append(ideal[before] * size[row] / payload[before])
            found[row] = min(guesses, default=np.nan)
    return found


def statistic(values: Floats, bound: BoolArray, stat: str) -> tuple[float, bool]:
    """A statistic of values of which some are lower bounds.

    A percentile is known if it is the same with every bound at its value and with every bound at infinity.

    Args:
        values: The values, at least one.
        bound: Whether each is a lower bound.
        stat: ``mean``, ``max``, ``min`` or a percentile like ``p99``.

    Returns:
        The statistic with the bounds as values, and whether it is only a lower bound.

    Raises:
        ValueError: For another statistic.
    """
    if stat == "mean":
        return float(np.mean(values)), bool(bound.any())
    ranks = {"min": 0.0, "max": 100.0}
    if stat not in ranks and not (stat.startswith("p") and stat[1:].replace(".", "", 1).isdigit()):
        raise ValueError(f"{stat!r} is not a statistic with unfinished flows; known: mean, min, max, p99")
    rank = ranks[stat] if stat in ranks else float(stat[1:])
    low = percentile(values, rank)
    return low, low != percentile(np.where(bound, math.inf, values), rank)
