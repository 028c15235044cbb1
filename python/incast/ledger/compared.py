"""The panel *Paper and here* in the picture of a figure: the paper's numbers beside ours.

It has a row for each claim for which the paper has a number, but for claims about what a text says. Units
differ from row to row, so that a row has our effect as a multiple of the paper's, as the page of the figure
has it (:mod:`incast.ledger.beside`): the paper is at 1, no effect at 0, and from a third to three times the
effect is a shade. Where the paper says that there is no effect, a second part has our effect as a multiple of
what the rule allows: the shade is the band for ``reproduced``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from incast.ledger import beside
from incast.ledger.beside import Multiple
from incast.ledger.judge import Judgement, Verdict
from incast.ledger.rule import DIFFERENCE, LEEWAY, signed
from incast.results.measures.quantity import Quantity, digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure
    from matplotlib.lines import Line2D

COLOURS = {
    Verdict.REPRODUCED: "#1b7f4b",
    Verdict.TREND: "#b26a00",
    Verdict.UNDECIDED: "#6b6f76",
    Verdict.NOT_REPRODUCED: "#c0392b",
}
"""The colour of each verdict, as on the pages."""

_LOOK: dict[Verdict, dict[str, object]] = {
    Verdict.REPRODUCED: {"marker": "o"},
    Verdict.TREND: {"marker": "o", "fillstyle": "left", "markerfacecoloralt": "white"},
    Verdict.UNDECIDED: {"marker": "o", "markerfacecolor": "white"},
    Verdict.NOT_REPRODUCED: {"marker": "x", "markeredgewidth": 1.2},
}
"""The shape of each verdict, close to its symbol on the pages."""

_PAPER: dict[str, object] = {
    "marker": "D",
    "color": "#000000",
    "markerfacecolor": "none",
    "markersize": 4.5,
    "markeredgewidth": 0.8,
}

_ROW = 0.135
"""Height of a row in inches."""

_AXIS, _TITLE, _LEGEND = 0.46, 0.34, 0.14
"""Heights of an axis with its labels, of the title, and of a line of the legend, in inches."""

_EFFECT = "our effect, as a multiple of the paper's"
_NONE = "no effect in the paper: ours, with the end of the band at 1"

_SHADE, _LINE = "#e3e3e3", "#777777"


@dataclass(frozen=True)
class Row:
    """A claim in the panel.

    Attributes:
        claim: Its id.
        paper: The paper's number, as text.
        ours: Our value, as text.
        at: The place of the paper's number on the axis.
        place: The place of our value, and of its interval; infinite or NaN, if it is.
        shade: The ends of what is shaded; infinite, where the rule has none.
        verdict: The verdict.
    """

    claim: str
    paper: str
    ours: str
    at: float
    place: Multiple
    shade: tuple[float, float]
    verdict: Verdict


@dataclass(frozen=True)
class Part:
    """Rows with one axis.

    Attributes:
        is_effect: Whether the paper has an effect in them, and not none.
        ends: The ends of the axis.
        rows: The rows from top to bottom.
    """

    is_effect: bool
    ends: tuple[float, float]
    rows: tuple[Row, ...]


def parts(judgements: Sequence[Judgement]) -> list[Part]:
    """Returns the rows of some claims: those of an effect first, then the others; empty without numbers."""
    shown = [each for each in judgements if each.claim.value is not None and not each.claim.text_only]
    effects = [_effect(each, place) for each in shown if (place := beside.share(each)) is not None]
    none = [_none(each, place) for each in shown if (place := beside.deviation(each)) is not None]
    found = [
        Part(True, (-1.0, 4.0), tuple(effects)),
        Part(False, (-2.0, 2.0), tuple(none)),
    ]
    return [part for part in found if part.rows]


def _effect(judgement: Judgement, place: Multiple) -> Row:
    return _row(judgement, 1.0, place, (1 / LEEWAY, LEEWAY))


def _none(judgement: Judgement, place: Multiple) -> Row:
    bands, unit = judgement.claim.bands, beside.allowed(judgement.claim)
    effect = (bands.scale or DIFFERENCE).effect
    low, high = (effect(end) / unit for end in (bands.reproduced.low, bands.reproduced.high))
    return _row(judgement, effect(_number(judgement)) / unit, place, (low, high))


def _row(judgement: Judgement, at: float, place: Multiple, shade: tuple[float, float]) -> Row:
    claim, ours = judgement.claim, judgement.ours.value
    paper = Quantity(_number(judgement), ours.dimension)
    shown = [each.shown(claim.unit).replace("-", "−") for each in (paper, ours)]
    return Row(claim.id, shown[0], shown[1], at, place, shade, judgement.verdict)


def _number(judgement: Judgement) -> float:
    claim = judgement.claim
    return signed(claim.reproduced, 0.0 if claim.value is None else claim.value)


def height(shown: Sequence[Part], *, wide: bool) -> float:
    """Returns the height that the panel needs, in inches; 0 without rows.

    Args:
        shown: Its rows.
        wide: Whether it has the width of a page; else of a column.
    """
    if not shown:
        return 0.0
    entries = 1 + len(_verdicts(shown))
    lines = -(-entries // _across(entries, wide))
    return _TITLE + _LEGEND * lines + sum(_AXIS + _ROW * len(part.rows) for part in shown)


def _verdicts(shown: Sequence[Part]) -> list[Verdict]:
    found = {row.verdict for part in shown for row in part.rows}
    return [verdict for verdict in Verdict if verdict in found]


def _across(entries: int, wide: bool) -> int:
    """The number of entries of the legend side by side."""
    return entries if wide or entries < 4 else 2


def draw(place: SubFigure, shown: Sequence[Part], *, wide: bool) -> None:
    """Draws the panel.

    Args:
        place: Where.
        shown: Its rows; at least one.
        wide: Whether it has the width of a page; else of a column.
    """
    grid = place.add_gridspec(len(shown), 1, height_ratios=[len(part.rows) for part in shown])
    for i, part in enumerate(shown):
        axes = place.add_subplot(grid[i, 0])
        if i == 0:
            axes.set_title("Paper and here", pad=11.0)
        _part(axes, part)
    entries = [_entry("paper", _PAPER)]
    entries += [_entry(each.value, _look(each)) for each in _verdicts(shown)]
    place.legend(
        handles=entries,
        loc="outside lower center",
        ncols=_across(len(entries), wide),
        columnspacing=1.2,
        handletextpad=0.2,
    )


def _entry(label: str, look: dict[str, object]) -> Line2D:
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="none", label=label, **look)  # type: ignore[arg-type]


def _look(verdict: Verdict) -> dict[str, object]:
    return {"color": COLOURS[verdict], "markersize": 3.5, **_LOOK[verdict]}


def _part(axes: Axes, part: Part) -> None:
    start, end = part.ends
    axes.grid(visible=False)
    for y, row in enumerate(part.rows):
        low, high = np.clip(row.shade, start, end)
        axes.barh(y, high - low, height=1.0, left=low, color=_SHADE, linewidth=0, zorder=0.5)
    for value, dashes in ((0.0, (0, (1.0, 2.0))), (1.0, "-")):
        if value == 0 or part.is_effect:
            axes.axvline(value, color=_LINE, linewidth=0.6, linestyle=dashes, zorder=1.0)
    for y, row in enumerate(part.rows):
        _draw_row(axes, y, row, part.ends)
    axes.set_xlim(start, end)
    axes.set_xticks(range(math.ceil(start), math.floor(end) + 1))
    axes.set_ylim(len(part.rows) - 0.5, -0.5)
    axes.set_yticks(range(len(part.rows)), [row.claim for row in part.rows])
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(_EFFECT if part.is_effect else _NONE)
    _numbers(axes, part.rows)


def _draw_row(axes: Axes, y: int, row: Row, ends: tuple[float, float]) -> None:
    """The paper's mark and ours; ours beside an arrow with its number, if it lies outside of the axis."""
    from matplotlib.transforms import ScaledTranslation

    start, end = ends
    look = _look(row.verdict)
    if start <= row.at <= end:
        axes.plot([row.at], [y], linestyle="none", clip_on=False, zorder=3.0, **_PAPER)  # type: ignore[arg-type]
    low, value, high = row.place.low, row.place.value, row.place.high
    if math.isnan(value):
        return
    if low < high:
        inside = np.clip([low, high], start, end)
        axes.plot(inside, [y, y], color=COLOURS[row.verdict], linewidth=1.2, zorder=2.0)
    if start <= value <= end:
        axes.plot([value], [y], linestyle="none", clip_on=False, zorder=4.0, **look)  # type: ignore[arg-type]
        return
    side = 1 if value > end else -1
    at = end if side > 0 else start
    shape = ">" if side > 0 else "<"
    axes.plot([at], [y], shape, color=COLOURS[row.verdict], markersize=3.5, clip_on=False, zorder=4.0)
    beside_arrow = axes.transData + ScaledTranslation(-6.0 * side / 72, 0.0, axes.figure.dpi_scale_trans)
    axes.plot([at], [y], linestyle="none", transform=beside_arrow, zorder=4.0, **look)  # type: ignore[arg-type]
    number = digits(value, 2) if math.isfinite(value) else "∞" if side > 0 else "−∞"
    axes.annotate(
        number.replace("-", "−"),
        (at, y),
        (-10.0 * side, 0.0),
        textcoords="offset points",
        ha="right" if side > 0 else "left",
        va="center_baseline",
        fontsize=6.0,
    )


def _numbers(axes: Axes, rows: Sequence[Row]) -> None:
    """The numbers of the paper and ours, as two columns beside the axis."""
    columns = [["paper", *(row.paper for row in rows)], ["here", *(row.ours for row in rows)]]
    right = 2.0
    for texts in columns:
        right += 8.0 + max(_width(text) for text in texts)
        for y, text in enumerate(texts, start=-1):
            # The head is above the axis, whatever the height of a row.
            axes.annotate(
                text,
                (1.0, max(y, -0.5)),
                (right, 6.0 if y < 0 else 0.0),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                ha="right",
                va="center_baseline",
                fontsize=6.5,
                annotation_clip=False,
                color="#000000",
            )


def _width(text: str) -> float:
    """The width of a number, in points."""
    from matplotlib.textpath import TextPath

    return float(TextPath((0, 0), text, size=6.5).get_extents().width) if text else 0.0
