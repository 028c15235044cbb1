"""The picture of a report's first screen, as SVG with text that stays text and colours by classes.

Of a sweep over a key with numbers it is a small picture for each line, with all other lines in grey behind
it; else a row for each entry. The style sheet of the page has the colours, so that it follows the theme and
prints.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from incast._terminal import cells
from incast.plot import style
from incast.plot.grids import LEAST_POINTS, MOST_PANELS, grows_by_factors
from incast.report.entries import Entry, on_dark
from incast.results import grid as grids
from incast.results.grid import Grid, headings, primary
from incast.results.listing.forms import escaped
from incast.results.listing.of_grid import at_least, cell, estimate, shown
from incast.results.listing.sheet import number
from incast.results.measures.named import UNITS, Measure
from incast.results.paired import Baseline

WIDTH = 720
"""Width of the picture in pixels; a narrower page scrolls it."""

LETTER = 6.6
"""Width of a letter, about."""

_MOST_LETTERS = 40
"""Longer names are cut, and whole in the title of their row."""

_ROW, _TOP, _FOOT = 22.0, 6.0, 34.0
_ACROSS, _PANEL, _EDGE = 3, 176, 46
_WIDE = 20.0
"""Rows whose largest mean is more than this many times the smallest are on a logarithmic scale."""


@dataclass(frozen=True)
class Picture:
    """A picture with its colours.

    Attributes:
        html: The picture; empty if there is nothing to draw.
        style: The rules of its colours, for the style sheet.
    """

    html: str = ""
    style: str = ""


@dataclass(frozen=True)
class _Point:
    """The mean of an entry in the unit of people, with its interval if it has one.

    Attributes:
        value: The mean.
        low: Lower end; NaN without an interval.
        high: Upper end, likewise.
        bound: Whether the mean is only a lower bound.
        text: All of it as text.
    """

    value: float
    low: float
    high: float
    bound: bool
    text: str


def picture(grid: Grid, entries: Sequence[Entry], baseline: Baseline | None = None) -> Picture:
    """Draws the primary measure of a grid.

    Args:
        grid: The entries with their runs.
        entries: Those with details, which have rows.
        baseline: The baseline, if there is one.
    """
    measure = primary(grid)
    if len(grid.entries) < 2:
        return Picture()
    return _panels(grid, measure, baseline) or _rows(grid, entries, measure, baseline) or Picture()


def _point(entry: grids.Entry, measure: Measure) -> _Point | None:
    of = estimate(entry, measure)
    if of is None or not math.isfinite(of.mean):
        return None
    bound = at_least(entry, measure)
    scale = measure.scale
    low, high = (math.nan, math.nan) if bound or of.half_width is None else (of.low / scale, of.high / scale)
    return _Point(of.mean / scale, low, high, bound, cell(of, scale, bound))


@dataclass(frozen=True)
class _Scale:
    """An axis: values from ``low`` to ``high`` lie between the pixels ``begin`` and ``end``."""

    low: float
    high: float
    begin: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """The place of a value; what is beyond an end is at the end."""
        inside = min(max(value, self.low), self.high)
        low, high, here = (math.log(one) if self.log else one for one in (self.low, self.high, inside))
        return self.begin + (self.end - self.begin) * ((here - low) / (high - low) if high > low else 0.5)

    def ticks(self, most: int) -> list[float]:
        """Round values on it, at least two if there are any, about as many as asked for."""
        if self.log:
            decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            found = [f * 10.0**n for n in decades for f in (1, 2, 5) if self.low <= f * 10.0**n <= self.high]
            return found[:: -(-len(found) // most)] if len(found) > most else found
        rough = (self.high - self.low) / max(most, 1)
        power = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
        step = next(f * power for f in (1, 2, 5, 10) if f * power >= rough * (1 - 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        return [n * step for n in range(first, math.floor(self.high / step + 1e-9) + 1)]


def _scale(points: Sequence[_Point], begin: float, end: float) -> _Scale:
    """Returns the axis of some values, with a little room at both ends."""
    known = [one for p in points for one in (p.value, p.low, p.high) if math.isfinite(one)]
    means = [p.value for p in points]
    if min(means) > 0 and max(means) > _WIDE * min(means):
        # An interval that reaches 0 is cut at the edge.
        low = min(one for one in known if one > 0.5 * min(means))
        return _Scale(low / 1.15, max(known) * 1.15, begin, end, log=True)
    room = 0.04 * (max(known) - min(known)) or 0.1 * abs(means[0]) or 1.0
    return _Scale(min(known) - room, max(known) + room, begin, end)


def _tick(value: float) -> str:
    return number(value).rstrip("0").rstrip(".") if "." in number(value) else number(value)


def words(kind: str, x: float, y: float, text: str) -> str:
    """Returns a text; a long one is cut, and whole in its title.

    Args:
        kind: Its class.
        x: Its place.
        y: Its base line.
        text: The text.
    """
    if cells(text) > _MOST_LETTERS:
        text = f"{escaped(text[: _MOST_LETTERS - 1])}…<title>{escaped(text)}</title>"
    else:
        text = escaped(text)
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{text}</text>'


def segment(kind: str, begin: tuple[float, float], end: tuple[float, float]) -> str:
    """Returns a straight line.

    Args:
        kind: Its class.
        begin: One of its ends.
        end: The other one.
    """
    (x1, y1), (x2, y2) = begin, end
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _dot(point: _Point, x: float, y: float, radius: int) -> str:
    kind = "dot bound" if point.bound else "dot"
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'


def _rows(
    grid: Grid, entries: Sequence[Entry], measure: Measure, baseline: Baseline | None
) -> Picture | None:
    """Draws a row for each entry: the mean as a dot, its interval as a bar, its baseline as a line."""
    points = {entry.of.values: _point(entry.of, measure) for entry in entries}
    known = [point for point in points.values() if point]
    if len(known) < 2:
        return None
    left = min(max(cells(entry.title) for entry in entries), _MOST_LETTERS) * LETTER + 14
    right = WIDTH - max(cells(point.text) for point in known) * LETTER - 10
    scale = _scale(known, left, right)
    bottom = _TOP + _ROW * len(entries)
    parts = []
    for tick in scale.ticks(6):
        x = scale.at(tick)
        parts += [segment("grid", (x, _TOP), (x, bottom)), words("tick", x, bottom + 14, _tick(tick))]
    unit = UNITS.get(measure.kind, "")
    name = f"{measure.words} ({unit})" if unit else measure.words
    parts.append(words("tick", (left + right) / 2, bottom + 30, name))
    for n, entry in enumerate(entries):
        top, y = _TOP + _ROW * n, _TOP + _ROW * (n + 0.5)
        row = [words("name", 0, y + 4, entry.title)]
        if baseline is not None:
            values = entry.of.values
            to = values if baseline.has(values) else baseline.partner(grid, values)
            if base := points.get(to) if to else None:
                x = scale.at(base.value)
                row.append(segment("base", (x, top), (x, top + _ROW)))
        point = points[entry.of.values]
        if point and math.isfinite(point.low):
            row.append(segment("bar", (scale.at(point.low), y), (scale.at(point.high), y)))
        if point:
            row.append(_dot(point, scale.at(point.value), y, 4))
        row.append(words("value", WIDTH, y + 4, point.text if point else "–"))
        parts.append(f'<g class="e{n}">{"".join(row)}</g>')
    said = f"{measure.words}: the mean of each entry over its seeds, with its 95 % interval"
    if baseline is not None:
        said += f"; the line is {baseline.titled(grid)}"
    colours = [(entry.colour, entry.dark) for entry in entries]
    return Picture(_svg(said, parts, bottom + _FOOT), _style(colours))


@dataclass(frozen=True)
class _Lines:
    """The lines of a sweep over a key with numbers.

    Attributes:
        grid: The grid.
        across: The place of the key.
        rest: The places of the other keys that vary.
        points: The points of each line by the number of the key, by the values of the other keys.
        firsts: An entry of each line.
    """

    grid: Grid
    across: int
    rest: Sequence[int]
    points: Mapping[tuple[str, ...], Mapping[float, _Point]]
    firsts: Mapping[tuple[str, ...], grids.Entry]

    @classmethod
    def of(cls, grid: Grid, measure: Measure) -> _Lines | None:
        """Finds the first key with numbers; None where there is none."""
        axes = grid.axes
        numeric = [n for n in grid.varying if axes[n].numbers and len(axes[n].values) >= LEAST_POINTS]
        if not numeric:
            return None
        across = numeric[0]
        rest = [n for n in grid.varying if n != across]
        points: dict[tuple[str, ...], dict[float, _Point]] = {}
        firsts: dict[tuple[str, ...], grids.Entry] = {}
        for entry in grid.entries:
            point = _point(entry, measure)
            value = (axes[across].numbers or {}).get(entry.values[across])
            if point is not None and value is not None:
                key = tuple(entry.values[n] for n in rest)
                points.setdefault(key, {})[value] = point
                firsts.setdefault(key, entry)
        return cls(grid, across, rest, points, firsts)

    def title(self, key: tuple[str, ...]) -> str:
        """The name of a line."""
        heads = headings(self.grid.axes)
        parts = [
            shown(self.grid, self.firsts[key], n) if n == self.grid.choice else f"{heads[n]} {value}"
            for n, value in zip(self.rest, key, strict=True)
        ]
        return ", ".join(parts) or self.grid.name

    def base_of(self, key: tuple[str, ...], baseline: Baseline | None) -> tuple[str, ...] | None:
        """The line that a line is compared with."""
        if baseline is None or self.across in baseline.fixed:
            return None
        to = baseline.partner(self.grid, self.firsts[key].values)
        return tuple(to[n] for n in self.rest) if to else None


def _panels(grid: Grid, measure: Measure, baseline: Baseline | None) -> Picture | None:
    """Draws a small picture for each line over a key with numbers; None where that does not fit."""
    lines = _Lines.of(grid, measure)
    if lines is None or not 1 <= len(lines.points) <= MOST_PANELS:
        return None
    every = [point for line in lines.points.values() for point in line.values()]
    at = sorted({value for line in lines.points.values() for value in line})
    if len(at) < LEAST_POINTS:
        return None
    columns = min(len(lines.points), _ACROSS)
    wide = (WIDTH - _EDGE) / columns
    name = headings(grid.axes)[lines.across]
    log = grows_by_factors(at)
    parts: list[str] = []
    for n, key in enumerate(lines.points):
        row, column = divmod(n, columns)
        left, top = _EDGE + wide * column, (_PANEL + 8.0) * row
        x = _Scale(at[0], at[-1], left + 18, left + wide - 26, log)
        y = _scale(every, top + _PANEL - 34, top + 22)
        parts.append(words(f"head e{n}", left + 4, top + 13, lines.title(key)))
        for tick in y.ticks(4):
            here = y.at(tick)
            parts.append(segment("grid", (left, here), (left + wide - 8, here)))
            if column == 0:
                parts.append(words("value", left - 5, here + 4, _tick(tick)))
        parts += _marks(grid.axes[lines.across], x, top + _PANEL - 18)
        parts.append(words("tick", left + wide / 2, top + _PANEL - 3, name))
        base = lines.base_of(key, baseline)
        for other, points in lines.points.items():
            if other != key:
                parts.append(_polyline(points, x, y, "base" if other == base else "other"))
        parts.append(f'<g class="e{n}">{_line(lines.points[key], x, y)}</g>')
    unit = UNITS.get(measure.kind, "")
    said = f"{measure.words}{f' ({unit})' if unit else ''} over {name}: means with their 95 % intervals"
    if len(lines.points) > 1:
        said += "; grey: all others"
    if any(lines.base_of(key, baseline) for key in lines.points):
        said += f"; dashed: {baseline.titled(grid) if baseline else ''}"
    labels = [entry.label for entry in lines.firsts.values()]
    colours = [style.colour(label, labels) for label in labels]
    height = (_PANEL + 8) * -(-len(lines.points) // columns)
    return Picture(_svg(said, parts, height), _style([(one, on_dark(one)) for one in colours]))


def _marks(axis: grids.Axis, x: _Scale, y: float) -> list[str]:
    """Returns the values under a panel, as they were written, as far as there is room."""
    parts, free = [], -math.inf
    for text, value in sorted((axis.numbers or {}).items(), key=lambda one: one[1]):
        name = text.strip("\"'")
        half = cells(name) * LETTER / 2
        if x.low <= value <= x.high and x.at(value) - half >= free:
            parts.append(words("tick", x.at(value), y, name))
            free = x.at(value) + half + 4
    return parts


def _polyline(points: Mapping[float, _Point], x: _Scale, y: _Scale, kind: str) -> str:
    places = " ".join(f"{x.at(at):.1f},{y.at(points[at].value):.1f}" for at in sorted(points))
    return f'<polyline class="{kind}" points="{places}"/>'


def _line(points: Mapping[float, _Point], x: _Scale, y: _Scale) -> str:
    """Returns a line with the bars of its intervals."""
    marks = [_polyline(points, x, y, "own")]
    for at, point in sorted(points.items(), key=lambda one: one[0]):
        here = x.at(at)
        if math.isfinite(point.low):
            marks.append(segment("bar", (here, y.at(point.low)), (here, y.at(point.high))))
        marks.append(_dot(point, here, y.at(point.value), 3))
    return "".join(marks)


def _svg(said: str, parts: Sequence[str], height: float) -> str:
    """Returns a picture with its caption, in a box that scrolls where the page is narrow."""
    return (
        f'<figure class="picture"><figcaption>{escaped(said)}.</figcaption>'
        '<div class="wide" tabindex="0" role="group" aria-label="Picture of the answers, scrolls sideways">'
        f'<svg role="img" aria-label="{escaped(said)}" width="{WIDTH}" height="{height:.0f}" '
        f'viewBox="0 0 {WIDTH} {height:.0f}">{"".join(parts)}</svg></div></figure>'
    )


def _style(colours: Sequence[tuple[str, str]]) -> str:
    """Returns the rules of the colours of entries on white and on dark."""
    return themed({f".picture .e{n}": ("--own", *both) for n, both in enumerate(colours)})


def themed(colours: Mapping[str, tuple[str, str, str]]) -> str:
    """Returns rules for a style sheet.

    Args:
        colours: The property and its colours on white and on dark, by selector.
    """
    light = [f"{selector} {{ {name}: {one}; }}" for selector, (name, one, _) in colours.items()]
    dark = [f"{selector} {{ {name}: {one}; }}" for selector, (name, _, one) in colours.items()]
    return "\n".join(
        [
            *light,
            "@media screen {",
            *(f'  :root[data-theme="dark"] {rule}' for rule in dark),
            "}",
            "@media screen and (prefers-color-scheme: dark) {",
            *(f"  :root:not([data-theme]) {rule}" for rule in dark),
            "}\n",
        ]
    )
