"""Flow completion times as slowdowns: relative to the time on the idle path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from incast.plot import style
from incast.plot.place import labelled
from incast.results.result import Result
from incast.results.stats import percentile

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def slowdown(
    results: Mapping[str, Result] | Result,
    titles: Mapping[str, str] | None = None,
    small_bytes: int = 150_000,
) -> tuple[Figure, Sequence[Axes]]:
    """Draws the slowdown of small and large flows, and the distribution over all of them.

    Args:
        results: A result, or several by the label of their algorithm (``"oscar"``, ``"swift:oscar"``).
        titles: Names of the results in the picture; by default their labels.
        small_bytes: The largest size of a small flow.

    Returns:
        The figure, and its axes: small flows, large flows, the distribution.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    flows = {label: result.flow_times() for label, result in labelled(results).items()}
    labels = list(flows)
    names = [(titles or {}).get(label, label) for label in labels]
    with style.look():
        figure = plt.figure(figsize=(style.PAGE, 0.9 + 0.17 * max(len(labels), 6)), layout="constrained")
        grid = figure.add_gridspec(1, 3, width_ratios=[1.0, 1.0, 1.25])
        small = figure.add_subplot(grid[0])
        large = figure.add_subplot(grid[1], sharey=small)
        whole = figure.add_subplot(grid[2])
        kb = f"{small_bytes / 1e3:g} KB"
        is_small = [f.size_bytes <= small_bytes for f in flows.values()]
        _ranges(small, [f.slowdown[s] for f, s in zip(flows.values(), is_small, strict=True)], labels)
        _ranges(large, [f.slowdown[~s] for f, s in zip(flows.values(), is_small, strict=True)], labels)
        small.set_title(f"flows up to {kb}")
        large.set_title(f"flows above {kb}")
        small.set_yticks(range(len(labels)), names)
        small.invert_yaxis()
        large.tick_params(labelleft=False)

        for label, name in zip(labels, names, strict=True):
            values = np.sort(flows[label].slowdown)
            if len(values):
                share = np.arange(1, len(values) + 1) / len(values)
                whole.step(
                    values,
                    100 * share,
                    where="post",
                    color=style.colour(label, labels),
                    linestyle=style.dashes(label, labels),
                    label=name,
                    **style.markers(label, labels),
                )
        whole.set_title("all flows")
        whole.set_ylabel("flows (%)")
        whole.set_ylim(0, 101)
        # Beside the panel: curves take all of it.
        whole.legend(
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            borderaxespad=0.2,
            handletextpad=0.5,
            labelspacing=0.25,
        )
        for axes in (small, large, whole):
            axes.set_xscale("log")
            axes.set_xlabel("FCT slowdown" if axes is whole else "FCT slowdown\nbar: p50 to p99, dot: mean")
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
            axes.xaxis.set_minor_formatter(NullFormatter())
    return figure, (small, large, whole)


def _ranges(axes: Axes, classes: Sequence[np.ndarray], labels: Sequence[str]) -> None:
    """For each algorithm a line from the median to the 99th percentile, and the mean as a point."""
    for place, (label, values) in enumerate(zip(labels, classes, strict=True)):
        if not len(values):
            continue
        colour = style.colour(label, labels)
        middle, tail = percentile(values, 50), percentile(values, 99)
        axes.plot([middle, tail], [place, place], color=colour, linewidth=1.6)
        axes.plot(middle, place, marker="|", markersize=6, markeredgewidth=1.2, color=colour)
        axes.plot(tail, place, marker="|", markersize=6, markeredgewidth=1.2, color=colour)
        axes.plot(float(np.mean(values)), place, marker="o", markersize=3.5, color=colour)
    axes.grid(axis="y", visible=False)
