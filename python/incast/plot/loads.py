"""The loads of traffic blocks over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from incast.plot import style
from incast.plot.place import legend
from incast.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_OFFERED = (0, (4.0, 1.5))
"""The dashes of what is offered."""


def loads(result: Result, groups: Sequence[str] | None = None) -> tuple[Figure, Sequence[Axes]]:
    """Draws what traffic blocks offer and what is carried of it over time, and their backlogs below.

    The measured windows are shaded.

    Args:
        result: The result, of a scenario with ``probe.load_interval``.
        groups: Names of traffic blocks; by default all that have a load over time.

    Returns:
        The figure, and its axes: rates, backlogs.

    Raises:
        KeyError: When a block has no load over time.
        ValueError: When there is nothing to draw.
    """
    import matplotlib.pyplot as plt

    named = dict.fromkeys(result.load_series.column("group").tolist()) if groups is None else groups
    chosen = [result.load_over_time(name) for name in named]
    if not chosen:
        raise ValueError('there is no load over time; [probe] load_interval = "100us" asks for it')
    windows = {load.group: (load.from_ps / 1e6, load.until_ps / 1e6) for load in result.loads}
    with style.look():
        figure = plt.figure(figsize=(style.COLUMN, 2.6), layout="constrained")
        top, low = figure.subplots(2, 1, sharex=True, height_ratios=[1.6, 1.0])
        for place, one in enumerate(chosen):
            colour = style.SPARE[place % len(style.SPARE)]
            # Each value is of the interval before its time.
            time = [0.0, *(one.time_ps / 1e6)]
            rates = (("offered", one.offered_bps, _OFFERED), ("carried", one.carried_bps, "-"))
            for what, rate, dashes in rates:
                label = what if len(chosen) == 1 else f"{one.group}, {what}"
                look = {"color": colour, "linestyle": dashes, "linewidth": 1.0, "label": label}
                top.stairs(rate / 1e9, time, baseline=None, **look)
            low.plot(time, [0.0, *(one.backlog_bytes / 1e3)], color=colour)
            for axes in (top, low):
                if one.group in windows:
                    axes.axvspan(*windows[one.group], color=colour, alpha=0.12, linewidth=0)
        top.set_ylabel("load (Gbit/s)")
        low.set(xlabel="time (µs)", ylabel="backlog (KB)")
        for axes in (top, low):
            axes.margins(x=0)
            axes.set_ylim(bottom=0)
        legend(top, 2 * len(chosen))
        figure.align_ylabels()
    return figure, (top, low)
