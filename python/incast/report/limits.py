"""The pictures of limits in a report: divided times of flows over their sizes, and open flows over time.

They are SVG without a script, with colours by classes, so that they follow the theme and print. Each limit
has a hatch of its own, so that a stack can be read without colours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from incast.plot.limits import COLOURS, HATCHES, short_size
from incast.report.drawing import LETTER, WIDTH, Picture, segment, themed, words
from incast.report.entries import Entry, on_dark
from incast.results import limits
from incast.results.listing.forms import escaped
from incast.results.listing.sheet import number
from incast.results.pooled import together
from incast.results.stats import equal_bins

_BINS = 10
_ACROSS, _PANEL, _EDGE = 3, 150, 50
_LEGEND = 24
_HEAD, _FOOT = 20.0, 34.0

MOST_INSTANTS = 300
"""Of more counts over time than this only evenly spaced ones are drawn."""


def pictures(entries: Sequence[Entry]) -> Picture:
    """Returns the section with the pictures; empty where nothing divides the time of flows.

    Args:
        entries: The entries with details.
    """
    parts = [part for part in (_over_sizes(entries), _over_time(entries)) if part]
    if not parts:
        return Picture()
    html = (
        '<section id="limits" aria-labelledby="limits-title"><h2 id="limits-title">Limits of flows</h2>'
        f"{''.join(parts)}</section>"
    )
    colours = {f".limits .l-{name}": ("fill", one, on_dark(one)) for name, one in COLOURS.items()}
    colours[".limits pattern path"] = ("stroke", "#ffffff", "#000000")
    return Picture(html, themed(colours))


def _over_sizes(entries: Sequence[Entry]) -> str:
    """Draws for each entry the shares of the time of its flows, of all seeds, over their sizes."""
    divided = [entry for entry in entries if all(map(limits.has_limits, entry.results))]
    times = [result.flow_times() for entry in divided for result in entry.results]
    if not any(len(one.size_bytes) for one in times):
        return ""
    edges = equal_bins(together(times), _BINS)
    panels, used = [], []
    for entry in divided:
        shares = limits.by_size(entry.results, edges)
        names = [name for name in limits.names(entry.result) if any(of[name] for of in shares)]
        heights = {name: np.array([of[name] for of in shares]) for name in names}
        panels.append((entry.title, heights))
        used += names
    said = "Shares of the time of flows by what kept their next packet back, over their sizes, all seeds"
    bins = len(edges)
    marks = {n / bins: short_size(edges[n]) for n in range(0, bins, max(1, bins // 3))}
    return _figure(said, panels, used, np.linspace(0, 1, bins + 1), 1.0, "flows above this size", marks, "%")


def _over_time(entries: Sequence[Entry]) -> str:
    """Draws for each entry with counts the open flows of its first seed over time."""
    counted = [entry for entry in entries if len(entry.result.limit_series)]
    if not counted:
        return ""
    found = [(entry, *limits.counts(entry.result)) for entry in counted]
    end = max(int(time[-1]) for _, time, _ in found)
    begin = min(int(time[0]) for _, time, _ in found)
    panels, used = [], []
    edges = np.linspace(begin, end, min(MOST_INSTANTS, max(len(time) for _, time, _ in found)) + 1)
    for entry, time, counts in found:
        # A count holds up to the next one; after the last there is no open flow.
        place = np.searchsorted(time, edges[:-1], side="right") - 1
        inside = (place >= 0) & (edges[:-1] <= time[-1])
        heights = {name: np.where(inside, of[place], 0) for name, of in counts.items()}
        panels.append((entry.title, heights))
        used += list(counts)
    most = max(float(sum(of.values()).max()) for _, of in panels)  # type: ignore[union-attr]
    said = "Open flows by what keeps their next packet back, over time, of the first seed"
    places = (edges - begin) / max(end - begin, 1)
    span = max(end - begin, 1)
    marks = {at: number((begin + at * span) / 1e6) for at in (0.0, 0.5)}
    return _figure(said, panels, used, places, most, "time (µs)", marks, "")


def _figure(
    said: str,
    panels: Sequence[tuple[str, Mapping[str, npt.NDArray[np.float64]]]],
    used: Sequence[str],
    places: npt.NDArray[np.float64],
    top: float,
    across: str,
    marks: Mapping[float, str],
    unit: str,
) -> str:
    """Returns a figure with a panel for each entry, all with the same axes, and one legend.

    Args:
        said: The caption.
        panels: The titles, and the heights of each limit by bin.
        used: The limits that occur.
        places: The edges of the bins, from 0 to 1.
        top: The height at the upper end.
        across: The name of the horizontal axis.
        marks: The texts at some places of it.
        unit: The unit of the heights, as shares of ``top``; empty for numbers.
    """
    columns = min(len(panels), _ACROSS)
    wide = (WIDTH - _EDGE) / columns
    names = [name for name in COLOURS if name in used]
    # Two figures of a page have patterns with names of their own.
    own = "share" if unit else "count"
    parts = [_patterns(names, own), *_legend(names, own)]
    for n, (title, heights) in enumerate(panels):
        row, column = divmod(n, columns)
        left, above = _EDGE + wide * column, _LEGEND + (_PANEL + 8.0) * row
        low, high = above + _PANEL - _FOOT, above + _HEAD
        right = left + wide - 10
        parts.append(words("head", left, above + 13, title))
        for share in (0.0, 0.5, 1.0):
            y = low + (high - low) * share
            parts.append(segment("grid", (left, y), (right, y)))
            if column == 0:
                text = f"{100 * share:.0f} {unit}" if unit else number(share * top)
                parts.append(words("value", left - 5, y + 4, text))
        bottom = np.zeros(len(places) - 1)
        for name in (name for name in COLOURS if name in heights):
            upper = bottom + heights[name]
            path = _stack(left + (right - left) * places, low, (high - low) / (top or 1), bottom, upper)
            parts.append(f'<path class="l-{name}" d="{path}"><title>{escaped(name)}</title></path>')
            if HATCHES[name]:
                # The name under the pointer is the title of the box below.
                look = f'class="hatch" pointer-events="none" fill="url(#{own}-{name})"'
                parts.append(f'<path {look} d="{path}"/>')
            bottom = upper
        for at, text in marks.items():
            here = left + (right - left) * at
            if here + LETTER * len(text) <= right:
                parts.append(words("mark", here, low + 14, text))
        parts.append(words("tick", (left + right) / 2, low + 29, across))
    height = _LEGEND + (_PANEL + 8) * -(-len(panels) // columns)
    label = f"Picture: {said[:1].lower()}{said[1:]}, scrolls sideways"
    return (
        f'<figure class="picture limits"><figcaption>{escaped(said)}.</figcaption>'
        f'<div class="wide" tabindex="0" role="group" aria-label="{escaped(label)}">'
        f'<svg role="img" aria-label="{escaped(said)}" width="{WIDTH}" height="{height:.0f}" '
        f'viewBox="0 0 {WIDTH} {height:.0f}">{"".join(parts)}</svg></div></figure>'
    )


def _stack(
    x: npt.NDArray[np.float64],
    low: float,
    scale: float,
    bottom: npt.NDArray[np.float64],
    upper: npt.NDArray[np.float64],
) -> str:
    """Returns the path of a limit: a box for each bin in which it occurs; equal neighbours are one box."""
    boxes: list[tuple[float, float, float, float]] = []
    for n in range(len(upper)):
        if upper[n] <= bottom[n]:
            continue
        begin, end = low + scale * bottom[n], low + scale * upper[n]
        if boxes and boxes[-1][1:] == (x[n], begin, end):
            boxes[-1] = (boxes[-1][0], x[n + 1], begin, end)
        else:
            boxes.append((x[n], x[n + 1], begin, end))
    return "".join(f"M{a:.1f} {y:.1f}H{b:.1f}V{z:.1f}H{a:.1f}Z" for a, b, y, z in boxes)


_TILE = 6
"""Width and height of the tile that a hatch repeats, in pixels."""

_STROKES = {
    "/": "M-1 7L7 -1M-1 1L1 -1M5 7L7 5",
    "\\": "M-1 -1L7 7M5 -1L7 1M-1 5L1 7",
    "x": "M-1 7L7 -1M-1 -1L7 7",
    "-": "M0 3H6",
    "|": "M3 0V6",
    "+": "M0 3H6M3 0V6",
    ".": "M2.5 3H3.5",
    "o": "M1.5 3a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0 -3 0",
}
"""The lines of one tile, by matplotlib's letter of the hatch."""


def _patterns(names: Sequence[str], own: str) -> str:
    """Returns the hatches of limits, under names with a beginning of their own."""
    parts = [
        f'<pattern id="{own}-{name}" patternUnits="userSpaceOnUse" width="{_TILE}" height="{_TILE}">'
        f'<path fill="none" d="{_STROKES[HATCHES[name]]}"/></pattern>'
        for name in names
        if HATCHES[name]
    ]
    return f"<defs>{''.join(parts)}</defs>"


def _legend(names: Sequence[str], own: str) -> list[str]:
    parts, x = [], float(_EDGE)
    for name in names:
        place = f'x="{x:.1f}" y="3" width="11" height="11"'
        parts.append(f'<rect class="l-{name}" {place}/>')
        if HATCHES[name]:
            parts.append(f'<rect class="hatch" fill="url(#{own}-{name})" {place}/>')
        parts.append(words("mark", x + 15, 13, name))
        x += 30 + LETTER * len(name)
    return parts
