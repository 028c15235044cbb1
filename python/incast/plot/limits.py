"""Pictures of limits: divided times of flows over their sizes, and counts of flows over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from incast.plot import style
from incast.results import limits as divided
from incast.results.result import Result
from incast.results.stats import equal_bins

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOOKS = {
    "sending": ("#009e73", ""),
    "answer": ("#c8c8c8", "."),
    "window": ("#d55e00", "/"),
    "pacing": ("#e69f00", "\\"),
    "credit": ("#56b4e9", "-"),
    "card": ("#0072b2", "|"),
    "paused": ("#000000", "+"),
    "repair": ("#cc79a7", "x"),
    "connection": ("#6b6b6b", "o"),
}
"""The colour and the hatch of each limit, in matplotlib's letters. No two have the same hatch, so that a
stack can be read without colours."""

HATCHES = {name: hatch for name, (_, hatch) in _LOOKS.items()}
"""The hatch of each limit; empty for none."""

_DENSITY = 3
"""Number of times that matplotlib is given a hatch, which makes its lines as dense."""

COLOURS = {name: colour for name, (colour, _) in _LOOKS.items()}
"""The colour of each limit, from the bottom of a stack to its top."""

_UNITS = ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB"))


def limits(
    result: Result,
    bins: int = 10,
    axes: Axes | None = None,
    by: str = "size",
    group: str | None = None,
) -> Axes:
    """Draws what kept the packets of flows back: shares of their time over their sizes, or counts over time.

    Over sizes, flows that count are divided into bins with about equally many. Over time, all open flows are
    counted, those that do not count in the statistics too.

    Args:
        result: The result.
        bins: The largest number of bins.
        axes: Axes to draw into; by default new ones.
        by: ``"size"``, or ``"time"`` for a scenario with ``probe.limits``.
        group: Of counts over time, the traffic block; by default all.

    Raises:
        ValueError: When there is nothing to draw, or ``by`` is neither.
    """
    if by not in ("size", "time"):
        raise ValueError(f'by must be "size" or "time", not {by!r}')
    with style.look():
        if by == "time":
            return _over_time(result, group, axes)
        return _over_sizes(result, bins, axes)


def _over_sizes(result: Result, bins: int, given: Axes | None) -> Axes:
    if not divided.has_limits(result):
        raise ValueError("the time of flows is not divided")
    times = result.flow_times()
    if not len(times.size_bytes):
        raise ValueError("no flow with a size finished")
    edges = equal_bins(times, bins)
    shares = divided.by_size([result], edges)
    names = [name for name in divided.names(result) if any(of[name] for of in shares)]
    axes = _axes(given)
    bottom = np.zeros(len(edges))
    for name in names:
        height = np.array([100 * of[name] for of in shares])
        axes.bar(range(len(edges)), height, bottom=bottom, width=0.9, **_look(name))
        bottom += height
    axes.set_xticks(range(len(edges)), [short_size(edge) for edge in edges], rotation=45)
    axes.set_xlabel("flows above this size")
    axes.set_ylabel("share of their time (%)")
    axes.set_ylim(0, 100)
    axes.grid(axis="x", visible=False)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), labelspacing=0.25)
    return axes


def _over_time(result: Result, group: str | None, given: Axes | None) -> Axes:
    time, counts = divided.counts(result, group)
    step = time[1] - time[0] if len(time) > 1 else 1
    edges = np.append(time, time[-1] + step) / 1e6
    axes = _axes(given)
    bottom = np.zeros(len(time))
    for name, flows in counts.items():
        # A count holds up to the next one.
        axes.stairs(bottom + flows, edges, baseline=bottom, fill=True, **_look(name))
        bottom = bottom + flows
    axes.set(xlabel="time (µs)", ylabel="open flows")
    axes.margins(x=0)
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), labelspacing=0.25)
    return axes


def _axes(given: Axes | None) -> Axes:
    import matplotlib.pyplot as plt

    if given is not None:
        return given
    return plt.figure(figsize=(style.COLUMN, 2.2), layout="constrained").add_subplot()


def _look(name: str) -> dict[str, Any]:
    """Returns the colours of a limit, and its name for the legend."""
    colour, hatch = _LOOKS.get(name, ("#ffffff", "*"))
    return {"color": colour, "hatch": hatch * _DENSITY, "edgecolor": "white", "linewidth": 0.3, "label": name}


def short_size(edge: int) -> str:
    """Returns a size in short form.

    Args:
        edge: The size in bytes.
    """
    for size, unit in _UNITS:
        if edge >= size:
            return f"{edge / size:.3g} {unit}"
    return f"{edge} B" if edge else "0"
