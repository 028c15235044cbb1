"""Names and colours of the results in a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from incast.plot import style
from incast.results.result import Result
from incast.results.titles import made, title

_DARK = "#16191e"
"""The background of the dark theme; the style sheet has the same."""


@dataclass(frozen=True)
class Entry:
    """A result in a report.

    Attributes:
        result: The result.
        title: Its name.
        colour: Its colour on white.
        dark: Its colour on the dark background.
        dashes: Lengths of its dashes and gaps in line widths; none for a solid line.
    """

    result: Result
    title: str
    colour: str
    dark: str
    dashes: tuple[float, ...]


def entries(results: Sequence[Result] | Mapping[str, Result]) -> list[Entry]:
    """Names and colours for results: one colour for each algorithm, dashes for its variants."""
    if isinstance(results, Mapping):
        named, results = list(results), list(results.values())
    else:
        named = titles(results)
    # The part before the colon decides the colour, so a variant keeps that of its algorithm.
    keys = [f"{algorithm(result)}:{number}" for number, result in enumerate(results)]
    found = []
    for key, name, result in zip(keys, named, results, strict=True):
        colour, dashes = style.colour(key, keys), style.dashes(key, keys)
        lengths = () if isinstance(dashes, str) else dashes[1]
        found.append(Entry(result, name, colour, on_dark(colour), lengths))
    return found


def algorithm(result: Result) -> str:
    """The algorithms of a result, joined."""
    return "+".join(result.info["algorithms"]) or "no flows"


def titles(results: Sequence[Result]) -> list[str]:
    """Names of results: their algorithms, and what else distinguishes them."""
    names = ["+".join(map(title, result.info["algorithms"])) or "no flows" for result in results]
    for further in (made, _seed, _folder):
        twice = Counter(names)
        more = [further(result) for result in results]
        for name in (name for name, count in twice.items() if count > 1):
            same = [i for i, other in enumerate(names) if other == name]
            if len({more[i] for i in same}) > 1:
                for i in same:
                    names[i] = f"{name} ({more[i]})"
    seen: Counter[str] = Counter()
    total = Counter(names)
    for i, name in enumerate(names):
        seen[name] += 1
        if total[name] > 1:
            names[i] = f"{name} #{seen[name]}"
    return names


def _seed(result: Result) -> str:
    return f"seed {result.info['seed']}"


def _folder(result: Result) -> str:
    return "in memory" if result.folder is None else result.folder.name


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
