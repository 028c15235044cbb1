"""The style of pictures: sizes of a two-column paper, the same colour for an algorithm everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incast import _core
from incast._titles import other

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMN = 3.4
"""Width of one column of a paper in inches."""

PAGE = 7.0
"""Width of both columns in inches."""

# The palette of Okabe and Ito, told apart with every common form of colour blindness; its yellow is
# too faint for lines on white and is left out.
_COLOURS = {
    "oscar": "#d55e00",
    "powertcp": "#0072b2",
    "theta-powertcp": "#56b4e9",
    "hpcc": "#009e73",
    "swift": "#cc79a7",
    "timely": "#e69f00",
    "dcqcn": "#000000",
    "dctcp": "#6b6b6b",
    "constant": "#c8c8c8",
    "ccc": "#bb5566",
    "retcp": "#332288",
    "oracle": "#44aa99",
    "poseidon": "#999933",
    "nscc": "#4d9221",
    "mnscc": "#c51b7d",
    "smartt": "#8c510a",
    "patched-timely": "#a6761d",
    "sqcc": "#e7298a",
    "ndp": "#117733",
    "homa": "#882255",
}

# For algorithms without a colour of their own, by the order of their first appearance.
_SPARE = ("#aa4499", "#88ccee", "#ddcc77", "#661100")

# Variants of one algorithm share its colour and differ in this.
_DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = (
    "-",
    (0, (4.0, 1.5)),
    (0, (1.0, 1.2)),
    (0, (5.0, 1.2, 1.0, 1.2)),
)

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
    """A context with the style of all pictures; nothing is changed outside it."""
    import matplotlib as mpl

    with mpl.rc_context(_RC):  # type: ignore[arg-type]  # matplotlib lists every key as a literal
        yield


def base(label: str) -> str:
    """The algorithm of a label: ``swift`` of ``swift:oscar``."""
    return label.partition(":")[0]


def colour(label: str, labels: Sequence[str] = ()) -> str:
    """The colour of an algorithm or of a variant of it.

    Args:
        label: The algorithm, with or without a preset.
        labels: All labels of the picture; they determine the colour of an algorithm without a fixed one.
    """
    name = base(label)
    if name in _COLOURS:
        return _COLOURS[name]
    unknown = list(dict.fromkeys(base(other) for other in labels if base(other) not in _COLOURS))
    place = unknown.index(name) if name in unknown else 0
    return _SPARE[place % len(_SPARE)]


def dashes(label: str, labels: Sequence[str]) -> str | tuple[int, tuple[float, ...]]:
    """The dashes of a label: solid for the first variant of an algorithm in the picture."""
    variants = [other for other in labels if base(other) == base(label)]
    return _DASHES[variants.index(label) % len(_DASHES)] if label in variants else "-"


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


def title(label: str) -> str:
    """The name of an algorithm in a picture: ``OSCAR`` for ``oscar`` and for ``oscar:paper``, its default."""
    name, _, preset = label.partition(":")
    known = _core.algorithm(name, preset or None)
    if known is None:
        return other(label)
    return known.title if preset in ("", known.presets[0][0]) else f"{known.title} ({preset})"


def line(label: str, labels: Sequence[str]) -> dict[str, Any]:
    """The style of an algorithm's line: colour, dashes, width and label.

    Args:
        label: The algorithm, with or without a preset.
        labels: All labels of the picture.
    """
    return {"color": colour(label, labels), "linestyle": dashes(label, labels), "label": title(label)}


def patch(label: str, labels: Sequence[str]) -> dict[str, Any]:
    """The same for matplotlib patches, like steps."""
    return {**line(label, labels), "linewidth": 1.0}


def shades(of: str, number: int) -> list[str]:
    """The given number of shades of a colour, from itself to one still visible on white."""
    from matplotlib.colors import to_hex, to_rgb

    red, green, blue = to_rgb(of)
    faint = 0.55
    steps = [faint * i / max(number - 1, 1) for i in range(number)]
    return [to_hex((red + (1 - red) * s, green + (1 - green) * s, blue + (1 - blue) * s)) for s in steps]
