"""The style of pictures: sizes of a two-column paper, the same colour for an algorithm everywhere."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incast.results.titles import title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMN = 3.4
"""Width of one column of a paper in inches."""

PAGE = 7.0
"""Width of both columns in inches."""

# Dashes tell apart what has similar colours.
_DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = (
    "-",
    (0, (4.0, 1.5)),
    (0, (1.0, 1.2)),
    (0, (5.0, 1.2, 1.0, 1.2)),
)

# Colour, number of the dashes, marker. The first eight are the palette of Okabe and Ito without its yellow,
# which is too faint for lines on white. Those with the same dashes are told apart with every common form of
# colour blindness, and all of them by dashes and marker where there is no colour.
_STYLES = {
    "oscar": ("#d55e00", 0, "o"),
    "powertcp": ("#0072b2", 0, "s"),
    "theta-powertcp": ("#56b4e9", 0, "^"),
    "hpcc": ("#009e73", 0, "D"),
    "swift": ("#cc79a7", 0, "v"),
    "timely": ("#e69f00", 0, "P"),
    "dcqcn": ("#000000", 0, "X"),
    "dctcp": ("#6b6b6b", 0, "*"),
    "constant": ("#c8c8c8", 0, "."),
    "homa": ("#882255", 0, "p"),
    "ccc": ("#7a3b00", 1, "o"),
    "sqcc": ("#7b3fb5", 1, "s"),
    "mswift": ("#c2185b", 1, "v"),
    "mnscc": ("#2000ff", 1, "^"),
    "poseidon": ("#002040", 1, "D"),
    "patched-timely": ("#b8860b", 1, "P"),
    "lswift": ("#583068", 2, "v"),
    "nscc": ("#c008f0", 2, "^"),
    "smartt": ("#5c8a00", 2, "h"),
    "newreno": ("#8c8c8c", 2, "X"),
    "oracle": ("#600010", 2, "*"),
    "retcp": ("#332288", 3, "<"),
    "ndp": ("#117733", 3, ">"),
    "bfc": ("#c94f7c", 3, "p"),
}

# For algorithms without a style of their own, by the order of their first appearance.
SPARE = ("#999933", "#44aa99", "#aa4499", "#88ccee", "#ddcc77", "#661100")
_SPARE_MARKERS = ("d", "H", "8", "1", "2", "3")

MARKED_ABOVE = 6
"""Pictures with more lines than this have markers on them."""

_RC = {
    "font.family": "sans-serif",
    "font.size": 7.0,
    "axes.labelsize": 7.0,
    "axes.titlesize": 7.5,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.5,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "lines.linewidth": 1.0,
    "figure.dpi": 150,
    "savefig.dpi": 300,
    # Text in a PDF stays text (Type 42), as publishers ask.
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
}


@contextmanager
def look() -> Iterator[None]:
    """A context with the style of all pictures; nothing is changed outside it.

    Only the style's own keys are restored, and only those that nobody set within: a backend that is loaded
    within keeps its settings, such as the interactive mode of notebooks.
    """
    import matplotlib as mpl

    settings: MutableMapping[Any, Any] = mpl.rcParams  # matplotlib lists every key as a literal
    before = {key: settings[key] for key in _RC}
    settings.update(_RC)
    ours = {key: settings[key] for key in _RC}
    try:
        yield
    finally:
        settings.update({key: value for key, value in before.items() if settings[key] == ours[key]})


def base(label: str) -> str:
    """The algorithm of a label: ``swift`` of ``swift:oscar``."""
    return label.partition(":")[0]


def colour(label: str, labels: Sequence[str] = ()) -> str:
    """The colour of an algorithm or of a variant of it.

    Args:
        label: The algorithm, with or without a preset.
        labels: All labels of the picture; they determine the colour of an algorithm without a fixed one.
    """
    return _style(label, labels)[0]


def dashes(label: str, labels: Sequence[str]) -> str | tuple[int, tuple[float, ...]]:
    """Returns the dashes of a label: its algorithm's, for the first variant of it in the picture."""
    variants = [other for other in labels if base(other) == base(label)]
    return variant_dashes(label, variants.index(label) if label in variants else 0)


def variant_dashes(label: str, place: int) -> str | tuple[int, tuple[float, ...]]:
    """Returns the dashes of an algorithm's variant by its place, from 0, among those in the picture."""
    return _DASHES[(_style(label, ())[1] + place) % len(_DASHES)]


def marker(label: str, labels: Sequence[str] = ()) -> str:
    """The marker of an algorithm: variants of it share it."""
    return _style(label, labels)[2]


def _style(label: str, labels: Sequence[str]) -> tuple[str, int, str]:
    name = base(label)
    if name in _STYLES:
        return _STYLES[name]
    unknown = list(dict.fromkeys(base(other) for other in labels if base(other) not in _STYLES))
    place = unknown.index(name) if name in unknown else 0
    return SPARE[place % len(SPARE)], 0, _SPARE_MARKERS[place % len(_SPARE_MARKERS)]


def save(figure: Figure, path: Path) -> list[Path]:
    """Saves a picture as PNG and as PDF.

    Args:
        figure: The picture.
        path: Path without extension.

    Returns:
        The files written.
    """
    paths = [path.with_name(f"{path.name}.{kind}") for kind in ("png", "pdf")]
    for file in paths:
        figure.savefig(file)
    return paths


def line(label: str, labels: Sequence[str]) -> dict[str, Any]:
    """The style of an algorithm's line: colour, dashes, width and label; in pictures of many lines, markers.

    Args:
        label: The algorithm, with or without a preset.
        labels: All labels of the picture.
    """
    look = {"color": colour(label, labels), "linestyle": dashes(label, labels), "label": title(label)}
    return {**look, **markers(label, labels)}


def markers(label: str, labels: Sequence[str]) -> dict[str, Any]:
    """Returns the markers of an algorithm's line: some along it in pictures of many lines, none in others.

    Args:
        label: The algorithm, with or without a preset.
        labels: All labels of the picture.
    """
    if len(labels) <= MARKED_ABOVE:
        return {}
    # Apart along the line, in length of the axes, and from line to line at other places.
    begin = 0.02 + 0.1 * (labels.index(label) if label in labels else 0) / len(labels)
    return {"marker": marker(label, labels), "markersize": 3.0, "markevery": (begin, 0.1)}


def patch(label: str, labels: Sequence[str]) -> dict[str, Any]:
    """The style for matplotlib patches, like steps, which have no markers."""
    look = line(label, labels)
    return {**{key: look[key] for key in ("color", "linestyle", "label")}, "linewidth": 1.0}


def shades(of: str, number: int) -> list[str]:
    """The given number of shades of a colour, from itself to one still visible on white."""
    from matplotlib.colors import to_hex, to_rgb

    red, green, blue = to_rgb(of)
    faint = 0.55
    steps = [faint * i / max(number - 1, 1) for i in range(number)]
    return [to_hex((red + (1 - red) * s, green + (1 - green) * s, blue + (1 - blue) * s)) for s in steps]
