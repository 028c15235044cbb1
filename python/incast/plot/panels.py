"""The queue of a port over time, above the utilisation of its link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from incast.plot import style
from incast.plot.over_time import throughput_steps
from incast.plot.place import ports
from incast.results.result import PortSeries, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ACROSS = 4
"""Most panels beside each other."""


def queue_and_utilisation(
    results: Mapping[str, Result] | Result,
    port: str | tuple[str, int] | None = None,
    titles: Mapping[str, str] | None = None,
) -> tuple[Figure, Sequence[Axes]]:
    """Draws queue over utilisation, one pair of panels for each algorithm, on common axes.

    Args:
        results: A result, or several by the label of their algorithm (``"oscar"``, ``"swift:oscar"``).
        port: The port, like ``"s0:15"`` or ``"s0->h15"``, or name of the node and number of the port; by
            default the one with the longest queue.
        titles: Names of the results in the picture; by default their labels.

    Returns:
        The figure, and its axes: queue and utilisation of the first algorithm, of the second, ….

    Raises:
        KeyError: When a result has no samples of the port.
    """
    import matplotlib.pyplot as plt
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    series = {label: result.port(*at) for label, result, at in ports(results, port)}
    labels = list(series)
    across = min(len(labels), _ACROSS)
    down = -(-len(labels) // across)
    with style.look():
        size = (style.PAGE if across > 2 else style.COLUMN, 0.35 + 1.75 * down)
        layout = ConstrainedLayoutEngine(h_pad=0.02, w_pad=0.02, hspace=0.02, wspace=0.02)
        figure = plt.figure(figsize=size, layout=layout)
        grid = figure.add_gridspec(2 * down, across, height_ratios=[2.2, 1.0] * down)
        axes: list[Axes] = []
        for i, label in enumerate(labels):
            row, column = divmod(i, across)
            first = axes[0] if axes else None
            top = figure.add_subplot(grid[2 * row, column], sharex=first, sharey=first)
            low = figure.add_subplot(grid[2 * row + 1, column], sharex=top, sharey=axes[1] if axes else None)
            axes += [top, low]
            _panels(top, low, series[label], style.colour(label, labels))
            top.set_title((titles or {}).get(label, label))
            top.tick_params(labelbottom=False, labelleft=column == 0)
            lowest = i + across >= len(labels)
            low.tick_params(labelbottom=lowest, labelleft=column == 0)
            if column == 0:
                top.set_ylabel("queue (KB)")
                low.set_ylabel("link use (%)")
            if lowest:
                low.set_xlabel("time (µs)")
        highest = max((int(s.queue_bytes.max(initial=0)) for s in series.values()), default=0)
        axes[0].set_ylim(0, max(1.05 * highest / 1e3, 1.0))
        figure.align_ylabels()
    return figure, axes


def _panels(top: Axes, low: Axes, series: PortSeries, colour: str) -> None:
    top.plot(series.time_ps / 1e6, series.queue_bytes / 1e3, color=colour)
    top.margins(x=0)
    # A step of the curve lasts for 50 packets at least, of which one more or less is 2 %.
    edges, rate = throughput_steps(series)
    low.stairs(100 * rate * 1e9 / series.rate_bps, edges / 1e6, color=colour, linewidth=0.8, baseline=None)
    low.set_ylim(0, 105)
    low.set_yticks([0, 50, 100])
