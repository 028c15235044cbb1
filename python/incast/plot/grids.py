"""Pictures of sweeps: a measure over a key with its intervals, and heat maps over two keys."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from incast.plot import style
from incast.results import paired
from incast.results.decide import Word, difference
from incast.results.grid import Asked, Axis, Entry, Grid, Gridlike, asked, headings, primary
from incast.results.listing.sheet import number
from incast.results.measures.named import UNITS, Measure
from incast.results.paired import Baseline
from incast.results.stats import Estimate
from incast.results.titles import number_of, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 12
"""Most panels of a picture."""

MOST_NUMBERS = 100
"""A heat map with more cells has no numbers in them."""

LEAST_POINTS = 3
"""A key with fewer numbers is not the horizontal axis of its own accord."""

_ACROSS = 4
"""Most panels beside each other."""

_FOLLOWED = 1.5
"""Values that grow by the same factor, at least this one, are on a logarithmic axis."""


@dataclass(frozen=True)
class _Point:
    """A value of an entry with its interval, and whether it differs from the baseline, if there is one."""

    value: float
    low: float = math.nan
    high: float = math.nan
    differs: bool = True


@dataclass(frozen=True)
class _Plan:
    """The parts of a picture.

    Attributes:
        grid: The grid.
        measure: The number.
        x: The place of the key along the horizontal axis.
        other: The place of the key of the lines, or of the vertical axis; None without one.
        panels: The entries of each panel, by its heading.
        base: What the others are ratios to; None without one.
    """

    grid: Grid
    measure: Asked
    x: int
    other: int | None
    panels: Mapping[str, Sequence[Entry]]
    base: Baseline | None

    @property
    def declared(self) -> Measure:
        """The number with its words and its unit."""
        return self.measure if isinstance(self.measure, Measure) else self.measure.measure

    @property
    def entries(self) -> list[Entry]:
        """The entries of all panels."""
        return [entry for entries in self.panels.values() for entry in entries]

    def values(self, axis: int) -> list[str]:
        """Returns the values of a key that are in the picture: numbers rising, others as asked for."""
        there = {entry.values[axis] for entry in self.entries}
        numbers = self.grid.axes[axis].numbers
        known = [value for value in self.grid.axes[axis].values if value in there]
        return sorted(known, key=lambda value: numbers[value]) if numbers else known

    def named(self, axis: int, value: str) -> str:
        """Returns a value as it is shown."""
        return title(value, self.values(axis)) if axis == self.grid.choice else value.strip("\"'")

    @property
    def label(self) -> str:
        """The label of the axis of the number."""
        unit = UNITS.get(self.declared.kind, "")
        if self.base is not None:
            return f"{self.declared.words} / {self.base.titled(self.grid)}"
        return f"{self.declared.words} ({unit})" if unit else self.declared.words

    def point(self, entry: Entry) -> _Point | None:
        """Returns the value of an entry in the unit of people, or its ratio; None where it has none."""
        values = entry.values_of(self.measure)
        if self.base is None:
            if not values.by_seed:
                return None
            of = Estimate.of(values.by_seed.values(), drawn=values.drawn)
            scale = self.declared.scale
            # A lower bound has no interval.
            if of.half_width is None or values.at_least:
                return _Point(of.mean / scale)
            return _Point(of.mean / scale, of.low / scale, of.high / scale)
        partner = self.base.partner(self.grid, entry.values)
        to = next((one for one in self.grid.entries if one.values == partner), None)
        if to is None:
            return None
        confidence = paired.confidence_of(self.grid, entry, to, len(self.entries))
        of_two = difference(
            self.grid.values_of(entry, self.measure),
            self.grid.values_of(to, self.measure),
            self.declared,
            confidence=confidence,
        )
        if of_two.scale != "ratio" or math.isnan(of_two.value):
            return None
        shown = of_two.word not in (Word.NOT_SHOWN, Word.TOO_FEW)
        return _Point(of_two.value, of_two.low, of_two.high, shown)


def sweep(
    grid: Gridlike,
    measure: str | None = None,
    x: str | None = None,
    lines: str | None = None,
    panels: Sequence[str] = (),
    baseline: str | None = None,
) -> tuple[Figure, list[Axes]]:
    """Draws a measure over a key: the mean over the seeds, with its 95 % interval.

    Args:
        grid: A sweep, or another grid.
        measure: The number, like ``p99.small`` or ``queue(all, p99)``; by default the one that the grid is
            judged by first.
        x: The key along the horizontal axis; by default the first with three numbers or more.
        lines: The key that has a line for each value; by default the algorithm, if it varies.
        panels: The keys that have a panel for each combination of values come in this order; all that is
            neither ``x`` nor ``lines`` is one of them.
        baseline: A value of a key: the entries with its other values are drawn as ratios, paired by seed.

    Returns:
        The figure, and its axes: a panel for each.

    Raises:
        KeyError: When a key does not vary.
        ValueError: When there is no such measure or value, nothing varies, or there are more than 12 panels.
    """
    plan = _plan(grid, measure, x, lines, panels, baseline, "--lines")
    names = [""] if plan.other is None else plan.values(plan.other)
    axis = replace(plan.grid.axes[plan.x], values=tuple(plan.values(plan.x)))
    with style.look():
        figure, axes = _figure(len(plan.panels))
        for place, (heading, entries) in zip(axes, plan.panels.items(), strict=True):
            for n, value in enumerate(names):
                aside = 0.0 if axis.numbers else 0.5 * ((n + 0.5) / len(names) - 0.5)
                mine = {
                    e.values[plan.x]: e
                    for e in entries
                    if plan.other is None or e.values[plan.other] == value
                }
                points = {x_: plan.point(mine[x_]) for x_ in axis.values if x_ in mine}
                known = {x_: point for x_, point in points.items() if point}
                _line(place, axis, known, _look(plan, entries, value, names), aside)
            if plan.base is not None:
                place.axhline(1.0, color="#888888", linewidth=0.6, zorder=0)
            place.set_title(heading)
            _horizontal(place, axis, [plan.named(plan.x, value) for value in axis.values])
            place.set_xlabel(headings(plan.grid.axes)[plan.x])
        for place in axes[::_ACROSS]:
            place.set_ylabel(plan.label)
        shown = {
            text: handle
            for place in axes
            for handle, text in zip(*place.get_legend_handles_labels(), strict=True)
        }
        if len(shown) > (plan.base is None):
            key = (
                None if plan.other in (None, plan.grid.choice) else headings(plan.grid.axes)[plan.other or 0]
            )
            figure.legend(
                shown.values(), shown, loc="outside lower center", ncols=min(len(shown), 5), title=key
            )
        _foot(figure, plan)
    return figure, axes


def heat(
    grid: Gridlike,
    measure: str | None = None,
    x: str | None = None,
    y: str | None = None,
    panels: Sequence[str] = (),
    baseline: str | None = None,
) -> tuple[Figure, list[Axes]]:
    """Draws a measure over two keys as colours.

    With a baseline the colours are ratios to it, blue where it is better, and a dot marks cells without a
    shown difference. Cells that were not measured are hatched.

    Args:
        grid: A sweep, or another grid.
        measure: As for :func:`sweep`.
        x: The key along the horizontal axis; by default the first with three numbers or more.
        y: The key along the vertical axis; by default the next with numbers, or else the next.
        panels: As for :func:`sweep`.
        baseline: As for :func:`sweep`.

    Returns:
        The figure, and its axes: a panel for each.

    Raises:
        KeyError: When a key does not vary.
        ValueError: As for :func:`sweep`, with fewer than two keys that vary, and where nothing was measured.
    """
    import matplotlib as mpl

    plan = _plan(grid, measure, x, y, panels, baseline, "--y")
    if plan.other is None:
        raise ValueError("a heat map needs two keys that vary")
    columns, rows = plan.values(plan.x), plan.values(plan.other)
    found = {
        heading: {(e.values[plan.x], e.values[plan.other]): plan.point(e) for e in entries}
        for heading, entries in plan.panels.items()
    }
    values = [point.value for cells in found.values() for point in cells.values() if point]
    if not values:
        raise ValueError(f"no run has a value of {plan.declared.name}")
    norm, colours = _colours(plan, min(values), max(values))
    with style.look():
        figure, axes = _figure(len(found))
        colour = mpl.colormaps[colours]
        for place, (heading, cells) in zip(axes, found.items(), strict=True):
            for i, column in enumerate(columns):
                for j, row in enumerate(rows):
                    point = cells.get((column, row))
                    many = len(columns) * len(rows) > MOST_NUMBERS
                    _cell(place, (i, j), point, None if point is None else colour(norm(point.value)), many)
            place.set_title(heading)
            place.set_xlim(-0.5, len(columns) - 0.5)
            # Numbers rise; names are read from the top.
            ends = (-0.5, len(rows) - 0.5)
            place.set_ylim(ends if plan.grid.axes[plan.other].numbers else ends[::-1])
            place.set_xticks(range(len(columns)), [plan.named(plan.x, value) for value in columns])
            place.set_yticks(range(len(rows)), [plan.named(plan.other, value) for value in rows])
            place.grid(visible=False)
            place.set_xlabel(headings(plan.grid.axes)[plan.x])
            place.set_ylabel(headings(plan.grid.axes)[plan.other])
        figure.colorbar(mpl.cm.ScalarMappable(norm, colours), ax=axes, fraction=0.05).set_label(plan.label)
        _foot(figure, plan)
    return figure, axes


def _plan(
    of: Gridlike,
    measure: str | None,
    x: str | None,
    other: str | None,
    panels: Sequence[str],
    baseline: str | None,
    option: str,
) -> _Plan:
    """Chooses the keys of a picture and checks them."""
    grid = Grid.of(of)
    of_measure = asked(measure) if measure else primary(grid)
    base = _base(grid, baseline)
    entries = [e for e in grid.entries if base is None or not base.has(e.values)]
    free = [n for n in grid.varying if len({e.values[n] for e in entries}) > 1]
    if not free:
        raise ValueError("nothing varies: there is only one entry")
    given = [None if text is None else grid.axis(text) for text in (x, other)]
    if given[0] is not None and given[0] == given[1]:
        raise ValueError(f"--x and {option} are the same key, {x}")
    reserved = [grid.axis(text) for text in panels]
    free = [n for n in free if n not in given and n not in reserved]
    numeric = [n for n in free if (grid.axes[n].numbers or {}) and len(grid.axes[n].values) >= LEAST_POINTS]
    plain = [n for n in free if n != grid.choice]
    at = given[0] if given[0] is not None else next(iter([*numeric, *plain, *free]), None)
    if at is None:
        raise ValueError(f"no key is left for --x: {', '.join(panels)} have panels")
    free = [n for n in free if n != at]
    second = given[1]
    if second is None and free:
        numbered = [n for n in free if grid.axes[n].numbers] if option == "--y" else []
        chosen = [n for n in free if n == grid.choice]
        second = next(iter([*numbered, *chosen, *free]))
    rest = [n for n in [*reserved, *free] if n not in (at, second)]
    heads = headings(grid.axes)
    parts: dict[str, list[Entry]] = {}
    for entry in entries:
        names = [
            title(entry.values[n]) if n == grid.choice else f"{heads[n]} {entry.values[n]}" for n in rest
        ]
        parts.setdefault(", ".join(names), []).append(entry)
    if len(parts) > MOST_PANELS:
        raise ValueError(f"{len(parts)} panels: choose with --x, {option} and --panels")
    return _Plan(grid, of_measure, at, second, parts, base)


def _base(grid: Grid, text: str | None) -> Baseline | None:
    """Returns the baseline that a text means, if there is one."""
    if text is None:
        return None
    try:
        return paired.baseline_of(grid, text)
    except ValueError as error:
        raise ValueError(f"--baseline {text}: {error}") from None


def _figure(count: int) -> tuple[Figure, list[Axes]]:
    """Makes a figure with panels that share their axes."""
    import matplotlib.pyplot as plt

    across = min(count, _ACROSS)
    down = -(-count // across)
    width = style.COLUMN if across == 1 else style.PAGE
    size = (width, 0.9 + (2.0 if across < 3 else 1.5) * down)
    figure, made = plt.subplots(
        down, across, figsize=size, layout="constrained", sharex=True, sharey=True, squeeze=False
    )
    axes: list[Axes] = list(made.flat)
    for place in axes[count:]:
        place.set_visible(False)
    return figure, axes[:count]


def _positions(axis: Axis) -> list[float]:
    """Returns the horizontal places of values: numbers where they are, others side by side."""
    return [axis.numbers[value] for value in axis.values] if axis.numbers else list(range(len(axis.values)))


def _line(
    place: Axes, axis: Axis, points: Mapping[str, _Point], look: Mapping[str, Any], aside: float
) -> None:
    """Draws the points of one line: a line with a band over numbers, points with bars over categories."""
    if not points:
        return
    at = {value: x_ + aside for value, x_ in zip(axis.values, _positions(axis), strict=True)}
    xs, ys = [at[value] for value in points], [point.value for point in points.values()]
    spans = [(at[v], p.value, p.low, p.high) for v, p in points.items() if not math.isnan(p.low)]
    if axis.numbers:
        place.plot(xs, ys, **{"marker": ".", **look})
        lows = [p.low if not math.isnan(p.low) else p.value for p in points.values()]
        highs = [p.high if not math.isnan(p.high) else p.value for p in points.values()]
        if spans:
            place.fill_between(xs, lows, highs, color=look["color"], alpha=0.15, linewidth=0)
        return
    plain = {"marker": "o", "markersize": 3.5, **look, "linestyle": "none"}
    place.plot(xs, ys, **plain)
    for x_, y, low, high in spans:
        place.errorbar([x_], [y], yerr=[[y - low], [high - y]], color=look["color"], capsize=2, linewidth=0.8)


def _look(plan: _Plan, entries: Sequence[Entry], value: str, names: Sequence[str]) -> dict[str, Any]:
    """Returns the style of a line: an algorithm's own, or by the place of its value."""
    if plan.other is None:
        # Of two algorithms only one is left beside a baseline.
        choice = plan.grid.choice
        look = {"color": style.colour(entries[0].label)}
        if choice is None or choice == plan.x:
            return look
        return {**look, "label": plan.named(choice, entries[0].values[choice])}
    if plan.other == plan.grid.choice:
        look = style.line(value, list(names))
        return {key: look[key] for key in ("color", "linestyle")} | {"label": plan.named(plan.other, value)}
    made = [f"value {name}" for name in names]
    look = style.line(f"value {value}", made)
    dashes = style.variant_dashes("value", names.index(value) // len(style.SPARE))
    return {"color": look["color"], "linestyle": dashes, "label": plan.named(plan.other, value)}


def _horizontal(place: Axes, axis: Axis, texts: Sequence[str]) -> None:
    """Sets the scale and the ticks of the horizontal axis: the values as they were written."""
    at = _positions(axis)
    if axis.numbers and grows_by_factors(at):
        place.set_xscale("log")
        place.minorticks_off()
    place.set_xticks(at, texts)
    if not axis.numbers:
        place.set_xlim(-0.5, len(at) - 0.5)


def grows_by_factors(at: Sequence[float]) -> bool:
    """Whether rising numbers are better placed by their logarithms.

    Args:
        at: The numbers.
    """
    if len(at) < LEAST_POINTS or at[0] <= 0:
        return False
    factors = [b / a for a, b in pairwise(at)]
    steps = [b - a for a, b in pairwise(at)]
    equal = all(math.isclose(f, factors[0], rel_tol=1e-6) for f in factors)
    even = all(math.isclose(s, steps[0], rel_tol=1e-6) for s in steps)
    return equal and factors[0] >= _FOLLOWED and not even


def _colours(plan: _Plan, low: float, high: float) -> tuple[Any, str]:
    """Returns the scale of colours and their name."""
    from matplotlib.colors import LogNorm, Normalize, TwoSlopeNorm

    if plan.base is not None:
        reach = max(high - 1, 1 - low, 0.01)
        return TwoSlopeNorm(
            1.0, 1 - reach, 1 + reach
        ), "RdBu" if plan.declared.better == "higher" else "RdBu_r"
    wide = low > 0 and high > 10 * low
    return (LogNorm(low, high) if wide else Normalize(low, high)), "viridis"


def _cell(place: Axes, at: tuple[int, int], point: _Point | None, fill: Any, many: bool) -> None:  # noqa: ANN401
    """Draws a cell of a heat map."""
    from matplotlib.patches import Rectangle

    i, j = at
    box = (i - 0.5, j - 0.5)
    if point is None:
        place.add_patch(Rectangle(box, 1, 1, fill=False, hatch="////", edgecolor="#b0b0b0", linewidth=0))
        return
    place.add_patch(Rectangle(box, 1, 1, facecolor=fill, edgecolor="white", linewidth=0.4))
    ink = "white" if 0.299 * fill[0] + 0.587 * fill[1] + 0.114 * fill[2] < 0.5 else "black"
    if not many:
        place.text(i, j, number(point.value), ha="center", va="center", color=ink, fontsize=5.5)
    if not point.differs:
        place.plot([i], [j - 0.33], marker=".", markersize=2.5, color=ink)


def _foot(figure: Figure, plan: _Plan) -> None:
    """Says below a picture how many runs are not in it."""
    unsound = sum(not run.sound for entry in plan.entries for run in entry.runs)
    parts = (
        [f"not counted: {number_of(unsound, 'run that is', 'runs that are')} not sound"] if unsound else []
    )
    bounds = sum(bool(entry.values_of(plan.measure).at_least) for entry in plan.entries)
    if bounds:
        parts.append(f"lower bounds, since flows did not finish: {number_of(bounds, 'value')}")
    if plan.grid.failed:
        parts.append(f"without a result: {number_of(len(plan.grid.failed), 'run')}")
    if parts:
        figure.supxlabel("; ".join(parts), fontsize=6)
