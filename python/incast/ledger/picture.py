"""The picture of a figure, drawn from its runs as ``claims.toml`` describes its panels.

A panel has ``title``, ``x``, ``y`` (labels), optionally ``x_range`` and ``y_range``, ``log`` (``"x"``,
``"y"`` or ``"xy"``), ``time`` (``us`` or ``ms``), ``zero`` (the instant that is 0 on the axis), ``marks``
(horizontal lines at values, dotted), ``legend`` (its place, ``outside`` for beside the panel, or ``none``),
and ``lines``; panels with bars are described in :mod:`incast.ledger.bars`.

A line has ``show``, what that needs, and optionally ``label``, ``colour`` (an algorithm, to take its
colour), ``dashes`` (0 for solid, 1, 2, …), ``scale`` (a factor) and ``marker`` (matplotlib's name of a
marker: points in place of a line). For ``analysis`` that is ``call`` and its arguments: a function of the
figure's ``analysis.py`` that returns arrays x and y, with NaN between separate curves. ``cdf`` is the
distribution of the completion times of the traffic block ``group``, over all seeds; ``buffer`` is the
distribution of the bytes held by the switches of the kinds ``switches``, ``from`` an instant ``to`` another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from incast.ledger import bars, compared
from incast.ledger.figure import Figure
from incast.ledger.judge import Judgement, call, points
from incast.ledger.reader import LedgerError
from incast.ledger.runs import Results
from incast.plot import style
from incast.results import measures, stats
from incast.results.arrays import Floats
from incast.results.measures.quantity import picoseconds, quantity, unit_of
from incast.results.measures.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing
    from matplotlib.figure import FigureBase, SubFigure

_PANEL_KEYS = {
    *("title", "x", "y", "x_range", "y_range", "log", "time", "zero", "marks", "legend"),
    *("lines", "bars", "groups", "unit"),
}
_LINE_KEYS = {"show", "run", "label", "colour", "dashes", "scale", "marker"}

_SCALES = {"us": 1e6, "ms": 1e9}


def draw(figure: Figure, results: Results, judgements: Sequence[Judgement] = ()) -> Drawing:
    """Draws the picture of a figure.

    Args:
        figure: The figure.
        results: Its runs.
        judgements: Its claims as judged; the last panel has those for which the paper has a number.

    Raises:
        LedgerError: When there is no panel, or one is not described properly.
        ImportError: Without matplotlib.
    """
    if not figure.panels:
        raise LedgerError(f"{figure.id}: a picture needs at least one [[panel]] in claims.toml")
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    across = min(figure.across, len(figure.panels))
    down = -(-len(figure.panels) // across)
    shown = compared.parts(judgements)
    with style.look():
        width, height = style.PAGE if across > 1 else style.COLUMN, (1.75 if across < 3 else 1.5) * down + 0.1
        drawing, here, last = _sheet(width, height, compared.height(shown, wide=across > 1))
        for i, panel in enumerate(figure.panels):
            axes = here.add_subplot(down, across, i + 1)
            try:
                _panel(axes, panel, results)
            except LedgerError as error:
                raise LedgerError(f"{figure.id}: panel {i + 1}: {error}") from None
            except (KeyError, ValueError, TypeError) as error:
                raise LedgerError(f"{figure.id}: panel {i + 1}: {error!r}") from error
        if last is not None:
            try:
                compared.draw(last, shown, wide=across > 1)
            except (KeyError, ValueError, TypeError, ArithmeticError) as error:
                raise LedgerError(f"{figure.id}: panel of the paper's numbers: {error!r}") from error
        plt.close(drawing)
    return drawing


def _sheet(width: float, height: float, more: float) -> tuple[Drawing, FigureBase, SubFigure | None]:
    """Returns a new drawing, its place for the panels, and the one for the paper's numbers, if there are any.

    That is below panels that fill a page, as wide as they are, and beside panels that fill a column.

    Args:
        width: Of the panels, in inches.
        height: Of the panels, in inches.
        more: The height that the paper's numbers need, in inches; 0 for none.
    """
    import matplotlib.pyplot as plt
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(h_pad=0.03, w_pad=0.03, hspace=0.04, wspace=0.03)
    if not more:
        drawing = plt.figure(figsize=(width, height), layout=layout)
        return drawing, drawing, None
    if width > style.COLUMN:
        drawing = plt.figure(figsize=(width, height + more), layout=layout)
        grid = drawing.add_gridspec(2, 1, height_ratios=[height, more])
        return drawing, drawing.add_subfigure(grid[0, 0]), drawing.add_subfigure(grid[1, 0])
    drawing = plt.figure(figsize=(style.PAGE, max(height, more)), layout=layout)
    # The rest of a column of tall panels stays empty: rows have the same height everywhere.
    heights = [more, height - more] if height > more else [more]
    grid = drawing.add_gridspec(
        len(heights), 2, width_ratios=[width, style.PAGE - width], height_ratios=heights
    )
    return drawing, drawing.add_subfigure(grid[:, 0]), drawing.add_subfigure(grid[0, 1])


def _panel(axes: Axes, panel: Mapping[str, Any], results: Results) -> None:
    unknown = set(panel) - _PANEL_KEYS
    if unknown:
        raise LedgerError(f"unknown: {', '.join(sorted(unknown))}")
    if "bars" in panel or "groups" in panel:
        (bars.single if "bars" in panel else bars.groups)(axes, panel, results)
        _draw_axes(axes, panel, "")
        return
    lines = panel["lines"]
    labels = [str(line.get("colour", line.get("run", line.get("each", "")))) for line in lines]
    log = panel.get("log", "")
    barred = [line for line in lines if line["show"] == "bars"]
    for name, line in zip(labels, lines, strict=True):
        if line["show"] == "bars":
            place_of_bar = (barred.index(line), len(barred))
            bars.of_line(axes, line, place_of_bar, style.colour(_plain(name), labels), results)
            continue
        x, y, marker = _line(line, panel, results)
        variants = [label for label in labels if style.base(_plain(label)) == style.base(_plain(name))]
        place = int(line.get("dashes", variants.index(name)))
        if line["show"] == "sweep" and len(set(x)) < len(x):
            x, y = _ranges(axes, x, y, style.colour(_plain(name), labels))
        axes.plot(
            x,
            np.asarray(y) * line.get("scale", 1),
            color=style.colour(_plain(name), [_plain(label) for label in labels]),
            linestyle="none" if "marker" in line else style.variant_dashes(_plain(name), place),
            marker=line.get("marker", marker),
            markersize=3,
            label=line.get("label", name),
            drawstyle="steps-pre" if line["show"] in ("utilisation", "goodput", "cdf") else "default",
        )
    if "x" in log:
        axes.set_xscale("log")
        sweep = [x for line in lines if line["show"] == "sweep" for x in points(_arguments(line), results)[0]]
        if sweep:
            # The points themselves, in place of powers of ten.
            axes.set_xticks(sorted(set(sweep)), [f"{x:g}" for x in sorted(set(sweep))], minor=False)
            axes.set_xticks([], minor=True)
    if "x_range" in panel:
        axes.set_xlim(*panel["x_range"])
    elif "x" not in log and not any(line["show"] in ("sweep", "bars") for line in lines):
        axes.margins(x=0)
    _draw_axes(axes, panel, "time (µs)")


def _draw_axes(axes: Axes, panel: Mapping[str, Any], x: str) -> None:
    """Draws marks, scales, ranges and labels of a panel.

    Args:
        axes: The panel.
        panel: Its description.
        x: The label of the horizontal axis, if it gives none.
    """
    for mark in panel.get("marks", []):
        axes.axhline(mark, color="#777777", linewidth=0.6, linestyle=(0, (1.0, 2.0)), zorder=1.5)
    if "y" in panel.get("log", ""):
        axes.set_yscale("log")
    if "y_range" in panel:
        axes.set_ylim(*panel["y_range"])
    elif "y" not in panel.get("log", ""):
        axes.set_ylim(bottom=0)
    axes.set_title(panel.get("title", ""))
    axes.set_xlabel(panel.get("x", x))
    axes.set_ylabel(panel["y"])
    if len(panel.get("lines", [])) > 1 and panel.get("legend") != "none":
        if panel.get("legend") == "outside":
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        else:
            axes.legend(loc=panel.get("legend", "best"))


def _ranges(axes: Axes, x: Floats, y: Floats, colour: str) -> tuple[Floats, Floats]:
    """Draws a bar from smallest to largest where several runs share a point; returns the medians."""
    places = np.unique(x)
    for place in places:
        here = y[x == place]
        here = here[np.isfinite(here)]
        if len(here):
            axes.vlines(place, here.min(), here.max(), color=colour, linewidth=0.8, alpha=0.6)
    return places, np.array([stats.median(y[x == place]) for place in places])


def _plain(name: str) -> str:
    """The algorithm in the name of a run: ``oscar`` of ``oscar/25Gbps/9`` and of ``oscar/*``."""
    return name.partition("/")[0]


def _line(line: Mapping[str, Any], panel: Mapping[str, Any], results: Results) -> tuple[Any, Any, str]:
    """The points of a line, and how to mark them."""
    show = line["show"]
    arguments = _arguments(line)
    if show == "sweep":
        unit = unit_of(str(arguments.pop("unit", "")))[1]
        found = [points(arguments, replica) for replica in results.replicas()]
        return np.concatenate([x for x, _ in found]), np.concatenate([y for _, y in found]) / unit, "o"
    if show == "analysis":
        x, y = call(arguments, results)
        return np.asarray(x), np.asarray(y), ""
    (name,) = results.matching(line["run"])
    if show == "cdf":
        each = [measures.completion_times(replica.view(name), **arguments) for replica in results.replicas()]
        times = np.sort(np.concatenate(each))
        return times * 1e6, np.arange(1, len(times) + 1) / len(times), ""
    view = results.view(name)
    if show == "buffer":
        span = arguments["switches"], arguments["from"], arguments["to"]
        held = np.sort(measures.buffer_samples(view, *span))
        return held / 1e3, np.arange(1, len(held) + 1) / len(held), ""
    if show == "slowdown":
        return *_by_size(view, **arguments), "o"
    if show == "trajectory":
        return *_trajectory(view, **arguments), ""
    time, values = _SERIES[show](view, **arguments)
    zero = view.instant(str(panel.get("zero", "0us")))
    return (time - zero) / _SCALES[str(panel.get("time", "us"))], values, ""


def _arguments(line: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in line.items() if key not in _LINE_KEYS}


def _by_size(view: View, stat: str, edges: list[str], group: str | list[str] = "") -> tuple[Floats, Floats]:
    """A statistic of the slowdown by classes of size, each drawn at its upper edge in KB."""
    ends = [quantity(edge).value for edge in edges]
    found = []
    for low, high in zip([0.0, *ends], ends, strict=False):
        try:
            cell = measures.slowdown(view, stat, above=f"{low:.0f}B", up_to=f"{high:.0f}B", group=group)
            found.append(cell.value)
        except ValueError:
            found.append(np.nan)
    return np.array(ends) / 1e3, np.array(found)


def _queue(view: View, port: str) -> tuple[Any, Floats]:
    series = view.port(port)
    return series.time_ps, series.queue_bytes / 1e3


def _utilisation(view: View, port: str, step: str) -> tuple[Any, Floats]:
    edges, used = measures.steps_of_use(view, port, "", "", step)
    return edges, 100 * used


def _window(view: View, flow: str) -> tuple[Any, Floats]:
    return view.allowance(flow, "window")


def _rate(view: View, flow: str) -> tuple[Any, Floats]:
    return view.allowance(flow, "rate")


def _goodput(view: View, flow: str, step: str) -> tuple[Any, Floats]:
    time, acked = view.acked(flow)
    edges = np.arange(time[0], time[-1] + 1, picoseconds(step))
    at = np.interp(edges, time, acked)
    return edges[1:], np.diff(at) * 8e12 / np.diff(edges) / 1e9


def _trajectory(view: View, flows: list[str], step: str, start: str, end: str) -> tuple[Floats, Floats]:
    """The goodputs of two flows against each other, in Gbps, in steps."""
    edges = np.arange(view.instant(start), view.instant(end) + 1, picoseconds(step))
    x, y = (np.diff(np.interp(edges, *view.acked(flow))) * 8e12 / np.diff(edges) / 1e9 for flow in flows)
    return x, y


def _internal(view: View, flow: str, name: str) -> tuple[Any, Floats]:
    return measures.internal_series(view, flow, name)


def _congestion(view: View, port: str, flow: str) -> tuple[Any, Floats]:
    return measures.congestion_series(view, port, flow, "", "")


_SERIES: dict[str, Callable[..., tuple[Any, Floats]]] = {
    "queue": _queue,
    "utilisation": _utilisation,
    "window": _window,
    "rate": _rate,
    "goodput": _goodput,
    "congestion": _congestion,
    "internal": _internal,
}
