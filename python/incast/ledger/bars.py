"""Panels with bars, in the picture of a figure.

There are three kinds, for three shapes of results:

- ``groups`` of a panel: a list of ``label`` and ``of`` (a measure that names no run). Each line is then a
  ``run`` with ``label`` and ``colour``, and has a bar in every group.
- a line with ``show = "bars"``: ``of`` for each run that fits ``each``, named by what varies under
  ``against``.
- ``bars`` of a panel, in place of lines: a list of ``label``, ``colour`` and ``of`` (a measure), one bar
  each.

``unit`` is the unit of all values. A bar is the mean over the seeds, with its 95 % confidence interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from incast.ledger.judge import evaluate
from incast.ledger.runs import Results
from incast.plot import style
from incast.results import stats
from incast.results.measures.quantity import unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HATCHES = ("", "////", "....", "xxxx", "----")
"""Variants of an algorithm share its colour and differ in these."""


def groups(axes: Axes, panel: Mapping[str, Any], results: Results) -> None:
    """Bars side by side for each line, in as many groups as there are measures."""
    lines, measured = panel["lines"], panel["groups"]
    unit = unit_of(str(panel.get("unit", "")))[1]
    names = [str(line.get("colour", line["run"])) for line in lines]
    labels = [name.partition("/")[0] for name in names]
    for i, (line, label) in enumerate(zip(lines, labels, strict=True)):
        estimates = [_estimate(group["of"], results, line["run"], unit) for group in measured]
        first = [style.base(other) for other in labels].index(style.base(label))
        variant = int(line.get("dashes", i - first))
        _draw(
            axes,
            estimates,
            (i, len(lines)),
            style.colour(label, labels),
            variant,
            line.get("label", names[i]),
        )
    axes.set_xticks(range(len(measured)), [str(group["label"]) for group in measured])
    axes.grid(visible=False, axis="x")


def of_line(
    axes: Axes, line: Mapping[str, Any], place: tuple[int, int], colour: str, results: Results
) -> None:
    """Draws a bar for each run that fits ``each``, beside the bars of the panel's other lines.

    Args:
        axes: Where to draw.
        line: The line.
        place: Its place among the lines with bars, and their number.
        colour: Of its bars.
        results: The runs.
    """
    names = results.matching(line["each"])
    unit = unit_of(str(line.get("unit", "")))[1]
    estimates = [_estimate(line["of"], results, name, unit) for name in names]
    _draw(axes, estimates, place, colour, int(line.get("dashes", 0)), line.get("label", ""))
    axes.set_xticks(range(len(names)), [results.spec(name).values[line["against"]] for name in names])


def single(axes: Axes, panel: Mapping[str, Any], results: Results) -> None:
    """One bar for each entry of ``bars``, with its label below."""
    bars = panel["bars"]
    unit = unit_of(str(panel.get("unit", "")))[1]
    names = [str(bar["colour"]) for bar in bars]
    for i, (bar, name) in enumerate(zip(bars, names, strict=True)):
        estimate = _estimate(bar["of"], results, None, unit)
        _draw(axes, [estimate], (0, 1), style.colour(name, names), 0, "", [i])
    axes.set_xticks(range(len(bars)), [str(bar["label"]) for bar in bars], rotation=40, ha="right")
    axes.grid(visible=False, axis="x")


def _estimate(spec: Mapping[str, Any], results: Results, run: str | None, unit: float) -> stats.Estimate:
    return stats.Estimate.of(evaluate(spec, replica, run).value / unit for replica in results.replicas())


def _draw(
    axes: Axes,
    estimates: Sequence[stats.Estimate],
    place: tuple[int, int],
    colour: str,
    variant: int,
    label: str,
    at: Iterable[int] | None = None,
) -> None:
    """Bars of one line, one in each group; what is not finite has none."""
    index, lines = place
    width = 0.84 / lines
    means = [estimate.mean if np.isfinite(estimate.mean) else 0.0 for estimate in estimates]
    errors = [np.nan_to_num(estimate.high - estimate.mean) for estimate in estimates]
    centres = np.array(list(range(len(estimates)) if at is None else at), dtype=float)
    axes.bar(
        centres + (index - (lines - 1) / 2) * width,
        means,
        width,
        color=colour,
        hatch=_HATCHES[variant % len(_HATCHES)],
        edgecolor="white",
        linewidth=0,
        label=label,
        yerr=errors if any(error > 0 for error in errors) else None,
        error_kw={"elinewidth": 0.5, "ecolor": "#333333"},
    )
