"""Flow completion times: their slowdown by size, and their distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from incast.plot import style
from incast.plot.place import labelled, legend, place
from incast.results import stats
from incast.results.arrays import Floats
from incast.results.pooled import pooled_by_size, together
from incast.results.result import Result
from incast.results.stats import FlowTimes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def slowdown_by_size(
    results: Mapping[str, Result | Mapping[int, Result]] | Result,
    rank: float = 99.0,
    edges: Sequence[int] | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draws a percentile of the slowdown over the flow's size, one line for each algorithm.

    Each point is a bin of sizes, drawn at the largest size that occurs in it. Of several seeds it is the
    percentile of all their flows together, and a band is its 95 % interval.

    Args:
        results: A result, or by the label of their algorithm several of them, or several seeds of each: their
            results by seed, like ``incast.replicate(…, keep=True).results``.
        rank: The percentile in percent.
        edges: Lower bounds of the bins, in bytes; by default ten bins with about equally many flows of the
            first algorithm.
        axes: Axes to draw into; by default a new picture of one column's width.

    Raises:
        ValueError: When no flow of the first algorithm transferred its whole size.
    """
    known = labelled(results) if isinstance(results, Result) else results
    if not known:
        raise ValueError("there is no result to draw")
    seeds = {label: {0: one} if isinstance(one, Result) else one for label, one in known.items()}
    times = {label: {seed: result.flow_times() for seed, result in of.items()} for label, of in seeds.items()}
    first = together(next(iter(times.values())).values())
    if not len(first.slowdown):
        raise ValueError("no flow transferred all of its size: there is no slowdown to draw")
    bins = list(edges) if edges is not None else stats.equal_bins(first)
    with style.look():
        axes = place(axes)
        for label, each in times.items():
            drawn = stats.drawn(result.info for result in seeds[label].values())
            sizes, values, low, high = points(each, bins, rank, drawn)
            look = style.line(label, list(times))
            axes.plot(sizes, values, **{"marker": "o", "markersize": 2.5, **look, "markevery": None})
            if not np.isnan(low).all():
                axes.fill_between(sizes, low, high, color=look["color"], alpha=0.18, linewidth=0)
        axes.set_xscale("log")
        axes.set_yscale("log")
        name = "median" if rank == 50 else f"p{rank:g}"
        axes.set(xlabel="flow size (bytes)", ylabel=f"{name} FCT slowdown")
        _plain_ticks(axes.xaxis, sizes=True)
        _plain_ticks(axes.yaxis)
        axes.set_ylim(bottom=1.0)
        legend(axes, len(times))
    return axes


def points(
    times: Mapping[int, FlowTimes], edges: Sequence[int], rank: float, drawn: bool = True
) -> tuple[list[int], Floats, Floats, Floats]:
    """A percentile of the slowdown in each bin of sizes that has flows.

    Args:
        times: The flows of each seed.
        edges: Lower bounds of the bins, in bytes.
        rank: The percentile in percent.
        drawn: Whether the seeds made a difference.

    Returns:
        The largest size in each bin, the percentile, and the ends of its interval; NaN where there is none.
    """
    whole = together(times.values())
    sizes, rows = [], []
    for one in pooled_by_size(times, edges, (rank,), drawn=drawn):
        if one.flows:
            inside = whole.within(one.over_bytes, one.upto_bytes)
            sizes.append(int(whole.size_bytes[inside].max()))
            found = one.percentiles[rank]
            rows.append((found.value, found.low, found.high))
    values, low, high = np.array(rows).reshape(-1, 3).T
    return sizes, values, low, high


def fct_cdf(results: Mapping[str, Result] | Result, axes: Axes | None = None) -> Axes:
    """Draws the distribution of flow completion times, one line for each algorithm.

    Args:
        results: As for :func:`slowdown_by_size`.
        axes: As for :func:`slowdown_by_size`.
    """
    known = labelled(results)
    with style.look():
        axes = place(axes)
        for label, result in known.items():
            fct = np.sort(result.flow_times().fct_ps) / 1e6
            share = np.arange(1, len(fct) + 1) / max(len(fct), 1)
            axes.step(fct, 100 * share, where="post", **style.line(label, list(known)))
        axes.set_xscale("log")
        axes.set(xlabel="flow completion time (µs)", ylabel="flows (%)")
        axes.set_ylim(0, 101)
        _plain_ticks(axes.xaxis)
        legend(axes, len(known), loc="lower right")
    return axes


def _plain_ticks(axis: object, sizes: bool = False) -> None:
    """1, 2, 5, 10, … as plain numbers; sizes with KB and MB."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    def text(value: float, _: int) -> str:
        if not sizes:
            return f"{value:g}"
        for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
            if value >= size:
                return f"{value / size:g} {unit}"
        return f"{value:g} B"

    subs = (1.0,) if sizes else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=subs))  # type: ignore[attr-defined]
    axis.set_major_formatter(FuncFormatter(text))  # type: ignore[attr-defined]
    axis.set_minor_formatter(NullFormatter())  # type: ignore[attr-defined]
