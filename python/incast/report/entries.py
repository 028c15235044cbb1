"""The entries of a report: their names, colours and results, and which of them have details."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from incast.plot import style
from incast.report.flows import Flows
from incast.results import grid as grids
from incast.results.grid import Grid, primary
from incast.results.listing.of_grid import estimate
from incast.results.paired import Baseline
from incast.results.result import Result

_DARK = "#16191e"
"""The background of the dark theme; the style sheet has the same."""

MOST_DETAILED = 24
"""Of more entries than this only the best have details: distributions, samples, networks."""


@dataclass(frozen=True)
class Entry:
    """An entry in a report.

    Attributes:
        of: The entry of the grid.
        results: The results of its seeds; the first is shown over time.
        title: Its name.
        colour: Its colour on white.
        dark: Its colour on the dark background.
        dashes: Lengths of its dashes and gaps in line widths; none for a solid line.
    """

    of: grids.Entry
    results: tuple[Result, ...]
    title: str
    colour: str
    dark: str
    dashes: tuple[float, ...]

    @property
    def result(self) -> Result:
        """The result of its first seed."""
        return self.results[0]

    def flows(self) -> Flows:
        """The flows of all its seeds."""
        return Flows.pooled([Flows.of(result) for result in self.results])


def detailed(grid: Grid, baseline: Baseline | None = None) -> list[grids.Entry]:
    """Returns the entries that have details: all in their order, or of many the baseline and then the best.

    The best are those with the best mean of the primary measure. Entries without results have no details.

    Args:
        grid: The entries with their runs.
        baseline: The baseline, if there is one.
    """
    there = [entry for entry in grid.entries if any(run.open for run in entry.runs)]
    if len(there) <= MOST_DETAILED:
        return there
    measure = primary(grid)
    sign = 1 if measure.better == "lower" else -1

    def place(entry: grids.Entry) -> tuple[bool, float]:
        of = estimate(entry, measure)
        return not (baseline and baseline.has(entry.values)), sign * of.mean if of else math.inf

    return sorted(there, key=place)[:MOST_DETAILED]


def entries(chosen: Sequence[grids.Entry]) -> list[Entry]:
    """Opens entries, and gives one colour to each algorithm, with dashes for its variants.

    Args:
        chosen: The entries, which have results.

    Raises:
        ResultError: When a result cannot be read.
    """
    opened = [tuple(run.open() for run in entry.runs if run.open) for entry in chosen]
    # The part before the colon decides the colour, so a variant keeps that of its algorithm.
    keys = [f"{algorithm(results[0])}:{number}" for number, results in enumerate(opened)]
    found = []
    for entry, key, results in zip(chosen, keys, opened, strict=True):
        colour, dashes = style.colour(key, keys), style.dashes(key, keys)
        lengths = () if isinstance(dashes, str) else dashes[1]
        found.append(Entry(entry, results, entry.title, colour, on_dark(colour), lengths))
    return found


def algorithm(result: Result) -> str:
    """The algorithms of a result, joined."""
    return "+".join(result.info["algorithms"]) or "no flows"


def scenario(result: Result) -> str:
    """The effective scenario of a result as text; empty if it was not saved."""
    if result.folder is None:
        return ""
    try:
        return (result.folder / "scenario.toml").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def sections(text: str) -> list[tuple[str, list[str]]]:
    """The sections of a scenario: name (empty for what comes before the first) and lines."""
    found: list[tuple[str, list[str]]] = [("", [])]
    for line in text.splitlines():
        if line.startswith("["):
            found.append((line.strip("[] "), []))
        elif line:
            found[-1][1].append(line)
    return found


def on_dark(colour: str) -> str:
    """A colour with enough contrast to the dark background: black becomes white, dark ones lighter."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    if max(red, green, blue) < 0x30:
        return "#ffffff"
    while _contrast((red, green, blue)) < 3.5:
        red, green, blue = (c + (255 - c + 7) // 8 for c in (red, green, blue))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _contrast(colour: tuple[int, int, int]) -> float:
    """Contrast to the dark background (WCAG 2.2, contrast ratio)."""
    dark = tuple(int(_DARK[i : i + 2], 16) for i in (1, 3, 5))
    return (_luminance(colour) + 0.05) / (_luminance(dark) + 0.05)


def _luminance(colour: tuple[int, ...]) -> float:
    """Relative luminance (WCAG 2.2)."""
    linear = [c / 3294.6 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
