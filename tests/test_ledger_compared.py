"""The panel *Paper and here* in pictures of figures: places worked by hand, arrows, room for many rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Drawing

from incast.ledger import Verdict, compared
from incast.ledger.band import Band
from incast.ledger.figure import Claim
from incast.ledger.found import Found
from incast.ledger.judge import Judgement, conclude
from incast.ledger.picture import _sheet
from incast.plot import style
from incast.results.measures.quantity import Quantity, quantity


def judged(
    paper: str,
    ours: str | float,
    reproduced: str,
    effect: str = "",
    *,
    name: str = "claim",
    interval: tuple[float, float] | None = None,
    trend: str | None = None,
    equal: bool = False,
    text_only: bool = False,
) -> Judgement:
    """A claim, without a number if `paper` is empty, and what was measured, a text or a pure number."""
    found = quantity(ours) if isinstance(ours, str) else Quantity(ours)
    number = quantity(paper) if paper else None
    claim = Claim(
        id=name,
        says="",
        place="",
        paper=paper or "words",
        measure={},
        unit=(paper or "x").lstrip("-0123456789."),
        reproduced=Band.parse(reproduced),
        trend=Band.parse(trend) if trend else None,
        rule="",
        reason="",
        value=number.value if number else None,
        equal=equal,
        effect=effect,
        text_only=text_only,
    )
    low, high = interval or (found.value, found.value)
    return conclude(claim, Found(found, low, high, 5 if interval else 0), [])


def drawn(judgements: Sequence[Judgement], *, wide: bool = True) -> tuple[Drawing, list[Axes]]:
    """The panel in a picture with nothing else, laid out."""
    mpl.use("Agg")
    parts = compared.parts(judgements)
    with style.look():
        width = style.PAGE if wide else style.COLUMN
        drawing, _, place = _sheet(width, 1.85, compared.height(parts, wide=wide))
        assert place is not None
        compared.draw(place, parts, wide=wide)
        FigureCanvasAgg(drawing).draw()  # type: ignore[no-untyped-call]
        plt.close(drawing)
    return drawing, place.axes


def marks(axes: Axes) -> list[tuple[str, float, float]]:
    """Shape and place of every mark."""
    return [
        (str(line.get_marker()), float(x), float(y))
        for line in axes.lines
        if line.get_marker() not in ("None", None, "")
        for x, y in np.column_stack([line.get_xdata(), line.get_ydata()])
    ]


@pytest.mark.parametrize(
    ("judgement", "place"),
    [
        # Logarithms: 2 is half of the way to 4, and a half is as far as double, on the other side.
        (judged("4x", "2x", "3x to 5x", "ratio"), 0.5),
        (judged("4x", "0.5x", "3x to 5x", "ratio"), -0.5),
        (judged("0.25x", "0.5x", "0.2x to 0.3x", "ratio"), 0.5),
        # 50 % less is a half of the time, 75 % less a quarter: twice the effect.
        (judged("50%", "75%", "40% to 60%", "improvement"), 2.0),
        # 50 % worse is 1.5 times the time, and 50 % less a half.
        (judged("50%", "-50%", "40% to 60%", "improvement"), -math.log(1.5) / math.log(2)),
        (judged("100%", "300%", "50% to 200%", "better"), 2.0),
        (judged("7.5%", "-15%", "-10% to -5%", "difference"), 2.0),
        (judged("25us", "320us", "15us to 35us"), 12.8),
        # Of an infinite effect there are no parts: values.
        (judged("100%", "50%", "90% to 100%", "improvement"), 0.5),
    ],
)
def test_an_effect_is_a_multiple_of_the_papers(judgement: Judgement, place: float) -> None:
    (part,) = compared.parts([judgement])
    (row,) = part.rows
    assert part.is_effect
    assert row.at == 1.0
    assert list(row.shade) == pytest.approx([1 / 3, 3])
    assert row.place.value == pytest.approx(place)


def test_the_papers_number_has_the_sign_of_ours_better_and_worse() -> None:
    (part,) = compared.parts([judged("7.5%", "-15%", "-10% to -5%", "difference")])
    assert (part.rows[0].paper, part.rows[0].ours) == ("−7.50 %", "−15.0 %")


def test_where_the_paper_has_no_effect_the_end_of_the_band_is_at_1() -> None:
    """0.8 is as far from 1 as 1.25, and 1.1180 is half as far."""
    (part,) = compared.parts(
        [
            judged("1x", "0.8x", "0.8x to 1.25x", "ratio", equal=True),
            judged("1x", 1.25**0.5, "0.8x to 1.25x", "ratio", equal=True),
            judged("0%", "5%", "at most 10%"),
            # The paper's number is near no effect, and so is ours.
            judged("1.25x", "1x", "0.64x to 1.25x", "ratio", equal=True),
        ]
    )
    assert not part.is_effect
    assert [row.place.value for row in part.rows] == pytest.approx([-1.0, 0.5, 0.5, 0.0])
    assert [row.at for row in part.rows] == pytest.approx([0.0, 0.0, 0.0, 0.5])
    lows, highs = zip(*(row.shade for row in part.rows), strict=True)
    assert list(lows) == pytest.approx([-1, -1, -math.inf, -1])
    assert list(highs) == pytest.approx([1, 1, 1, 0.5])


def test_a_row_for_each_number_of_the_paper_and_for_nothing_else() -> None:
    claims = [
        judged("", "2x", "at least 1.5x", "ratio", name="words"),
        judged("2x", "2x", "1.5x to 3x", "ratio", name="ratio"),
        judged("2", "2", "1.5 to 3", name="listing", text_only=True),
        judged("0", "0", "at most 1", name="zero"),
        judged("25us", "20us", "15us to 35us", name="time"),
    ]
    assert [[row.claim for row in part.rows] for part in compared.parts(claims)] == [
        ["ratio", "time"],
        ["zero"],
    ]
    _, axes = drawn(claims)
    labels = [[text.get_text() for text in each.get_yticklabels()] for each in axes]
    assert labels == [["ratio", "time"], ["zero"]]
    texts = [text.get_text() for text in axes[0].texts]
    assert texts == ["paper", "2.00×", "25.0 us", "here", "2.00×", "20.0 us"]
    assert compared.parts(claims[:1]) == []
    assert compared.height([], wide=True) == 0


def test_marks_and_interval_lie_where_the_values_are() -> None:
    _, (axes,) = drawn([judged("4x", "2x", "3x to 5x", "ratio", interval=(1.0, 256.0))])
    assert marks(axes) == [("D", 1.0, 0.0), ("o", pytest.approx(0.5), 0.0)]
    (interval,) = [line for line in axes.lines if line.get_color() == compared.COLOURS[Verdict.UNDECIDED]][:1]
    assert list(interval.get_xdata()) == pytest.approx([0.0, 4.0])  # type: ignore[arg-type]


def test_what_lies_outside_of_the_axis_is_an_arrow_with_its_number() -> None:
    _, (axes,) = drawn(
        [
            judged("25us", "320us", "15us to 35us"),
            judged("2x", "0.25x", "1.5x to 3x", "ratio"),
            judged("2x", math.inf, "at least 1.5x", "ratio"),
            judged("2x", 0.0, "1.5x to 3x", "ratio"),
            judged("2x", math.nan, "1.5x to 3x", "ratio"),
        ]
    )
    ours = [mark for mark in marks(axes) if mark[0] != "D"]
    assert [mark for mark in ours if mark[0] in "<>"] == [
        (">", 4.0, 0.0),
        ("<", -1.0, 1.0),
        (">", 4.0, 2.0),
        ("<", -1.0, 3.0),
    ]
    # Beside each arrow the symbol of the verdict; nothing where nothing was measured.
    assert [mark for mark in ours if mark[0] not in "<>"] == [
        ("x", 4.0, 0.0),
        ("x", -1.0, 1.0),
        ("o", 4.0, 2.0),
        ("x", -1.0, 3.0),
    ]
    numbers = [text.get_text() for text in axes.texts[:4]]
    assert numbers == ["13", "−2.0", "∞", "−∞"]


def test_verdicts_differ_in_shape_and_colour() -> None:
    claims = [
        judged("4x", "4x", "3x to 5x", "ratio"),
        judged("4x", "2.5x", "3x to 5x", "ratio", trend="2x to 10x"),
        judged("4x", math.inf, "at least 3x", "ratio"),
        judged("4x", "0.9x", "3x to 5x", "ratio"),
    ]
    drawing, (axes,) = drawn(claims)
    assert [claim.verdict for claim in claims] == list(Verdict)
    (legend,) = [found for place in drawing.subfigs for found in place.legends]
    assert [text.get_text() for text in legend.get_texts()] == ["paper", *(each.value for each in Verdict)]
    lines = [line for line in axes.lines if line.get_marker() in ("o", "x")]
    looks = {(line.get_marker(), line.get_fillstyle(), line.get_markerfacecolor()) for line in lines}
    assert len(looks) == len({line.get_color() for line in lines}) == 4


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("number", [1, 3, 40])
def test_rows_do_not_overlap_and_none_is_cut(number: int, wide: bool) -> None:
    # As long as the longest there are.
    name = "acquires-faster-theta-powertcp-" if wide else "powertcp-over-closing-"
    claims = [judged("12345.6us", "98765.4us", "at most 1us", name=f"{name}{i}") for i in range(number)]
    claims.append(judged("1x", "1x", "0.8x to 1.25x", "ratio", equal=True, name="same"))
    drawing, every = drawn(claims, wide=wide)
    renderer = FigureCanvasAgg(drawing).get_renderer()  # type: ignore[no-untyped-call]
    sheet = drawing.bbox
    for axes in every:
        texts = [axes.get_yticklabels(), axes.texts]
        boxes = [text.get_window_extent(renderer) for kind in texts for text in kind]
        boxes += [axes.xaxis.label.get_window_extent(renderer), axes.title.get_window_extent(renderer)]
        for box in boxes:
            assert min(box.x0, box.y0) >= -1
            assert box.x1 <= sheet.x1 + 1
            assert box.y1 <= sheet.y1 + 1
        for one, other in itertools.combinations(boxes[: len(axes.get_yticklabels())], 2):
            assert not one.overlaps(other)
        assert axes.get_window_extent(renderer).width > 0.1 * sheet.width
