"""Pictures of sweeps: right values, keys, panels, baselines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Rectangle

from helpers import Incast
from incast import plot
from incast.results.grid import Axis, Grid, Run, made_of
from test_grid import info

CC = Axis("cc", ("swift", "hpcc"))
LOAD = Axis("traffic.0.load", ("0.3", "0.6"))
DELAY = Axis("topology.delay", ("1us", "2us", "4us"))

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def grid(axes: tuple[Axis, ...], means: Mapping[tuple[str, ...], list[float]], *, drawn: bool = True) -> Grid:
    """A grid whose runs have these means, one for each seed; without draws all fingerprints are equal."""
    runs: dict[tuple[str, ...], list[Run]] = {}
    for values, of in means.items():
        runs[values] = [
            Run(n, info(n if drawn or of[0] != of[-1] else 0, mean)) for n, mean in enumerate(of, 1)
        ]
    return made_of("made", axes, runs)


def crossed(*axes: Axis) -> Grid:
    """A grid with all combinations of values; each has two seeds, with its number, counted from 1."""
    combinations: list[tuple[str, ...]] = [()]
    for axis in axes:
        combinations = [(*before, value) for before in combinations for value in axis.values]
    return grid(axes, {values: [float(n), float(n)] for n, values in enumerate(combinations, 1)})


def lines(axes: Axes) -> dict[str, list[tuple[float, float]]]:
    """The points of the lines of a panel, by their labels."""
    return {str(line.get_label()): list(map(tuple, line.get_xydata())) for line in axes.lines}  # type: ignore[arg-type]


def bands(axes: Axes) -> list[list[list[float]]]:
    """The corners of the bands of a panel."""
    return [
        path.vertices.tolist()  # type: ignore[union-attr]
        for band in axes.collections
        if isinstance(band, PolyCollection)
        for path in band.get_paths()
    ]


def test_a_line_is_the_mean_and_its_band_the_interval() -> None:
    # 1 and 3: 2 ± 12.706 (Student's t for one degree, √2 / √2); two equal fingerprints: no interval.
    made = grid((LOAD,), {("0.3",): [1.0, 3.0], ("0.6",): [2.0, 2.0]}, drawn=False)
    _, (axes,) = plot.sweep(made, "mean.all", x="load")
    (points,) = lines(axes).values()
    assert points == [(0.3, 2.0), (0.6, 2.0)]
    (corners,) = bands(axes)
    at = {x: sorted(y for x_, y in corners if x_ == x) for x in (0.3, 0.6)}
    assert (at[0.3][0], at[0.3][-1]) == pytest.approx((2 - 12.7062, 2 + 12.7062), rel=1e-5)
    assert (at[0.6][0], at[0.6][-1]) == (2.0, 2.0)
    assert axes.get_ylabel() == "mean slowdown of flows"
    assert axes.get_xlabel() == "load"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0.3", "0.6"]


def test_keys_are_chosen_by_numbers_and_by_hand() -> None:
    figure, panels = plot.sweep(crossed(CC, LOAD, DELAY), "mean.all")
    # The delay has three numbers; the algorithms are lines, the loads panels.
    assert [axes.get_title() for axes in panels] == ["load 0.3", "load 0.6"]
    assert lines(panels[0]) == {
        "Swift": [(1e6, 1), (2e6, 2), (4e6, 3)],
        "HPCC": [(1e6, 7), (2e6, 8), (4e6, 9)],
    }
    # The steps are equal factors.
    assert panels[0].get_xscale() == "log"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["Swift", "HPCC"]
    _, panels = plot.sweep(crossed(CC, LOAD, DELAY), "mean.all", x="load", lines="delay")
    assert [axes.get_title() for axes in panels] == ["Swift", "HPCC"]
    assert lines(panels[1])["4us"] == [(0.3, 9), (0.6, 12)]
    assert panels[0].get_xscale() == "linear"


def test_names_are_points_side_by_side() -> None:
    _, (axes,) = plot.sweep(crossed(CC), "mean.all")
    assert np.array_equal(axes.lines[0].get_xydata(), [(0.0, 1.0), (1.0, 2.0)])
    assert axes.lines[0].get_linestyle() == "None"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["Swift", "HPCC"]


def test_a_baseline_makes_ratios_of_pairs() -> None:
    means: dict[tuple[str, ...], list[float]] = {("swift", x): [2.0, 4.0, 6.0] for x in LOAD.values}
    means["hpcc", "0.3"] = [4.0, 8.0, 12.0]
    means["hpcc", "0.6"] = [1.0, 8.0, 3.0]
    made = grid((CC, LOAD), means)
    _, (axes,) = plot.sweep(made, "mean.all", x="load", baseline="swift")
    drawn = lines(axes)["HPCC"]
    # Twice in each seed; and at 0.6 the geometric mean of 1/2, 2 and 1/2: 2^(-1/3).
    assert drawn[0] == pytest.approx((0.3, 2.0))
    assert drawn[1] == pytest.approx((0.6, 2 ** (-1 / 3)))
    assert "Swift" not in lines(axes)
    assert axes.get_ylabel() == "mean slowdown of flows / Swift"
    with pytest.raises(
        ValueError,
        match=re.escape("--baseline 0.3: load is part of the traffic; runs with other traffic"),
    ):
        plot.sweep(made, "mean.all", baseline="0.3")
    with pytest.raises(ValueError, match='--baseline oscar: no value of cc is "oscar"'):
        plot.sweep(made, "mean.all", baseline="oscar")


def test_a_heat_map_has_a_cell_for_each_pair() -> None:
    figure, (axes,) = plot.heat(crossed(LOAD, DELAY), "mean.all")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("delay", "load")
    texts = {(text.get_position()): text.get_text() for text in axes.texts}
    assert texts == {(i, j): f"{3 * j + i + 1:.2f}" for i in range(3) for j in range(2)}
    viridis = mpl.colormaps["viridis"]
    faces = [cast("Rectangle", patch).get_facecolor() for patch in axes.patches]
    # From the first cell, the least of 1 to 6, to the last one.
    assert faces[0] == pytest.approx(viridis(0.0))
    assert faces[-1] == pytest.approx(viridis(1.0))
    assert len(figure.axes) == 2


def test_what_was_not_measured_is_hatched_and_doubt_has_a_dot() -> None:
    means: dict[tuple[str, ...], list[float]]
    means = {("swift", a, b): [2.0, 2.0, 2.0] for a in LOAD.values for b in DELAY.values}
    means |= {("hpcc", a, b): [4.0, 4.0, 4.0] for a in LOAD.values for b in DELAY.values}
    means["hpcc", "0.3", "2us"] = [1.0, 8.0, 2.0]
    del means["swift", "0.6", "4us"]
    _, (axes,) = plot.heat(grid((CC, LOAD, DELAY), means), "mean.all", baseline="swift")
    hatched = [patch for patch in axes.patches if patch.get_hatch()]
    assert [cast("Rectangle", patch).get_xy() for patch in hatched] == [(1.5, 0.5)]
    assert [np.asarray(line.get_xdata()).tolist() for line in axes.lines] == [[1]]
    assert {text.get_text() for text in axes.texts} >= {"2.00"}


def test_panels_are_limited_and_the_foot_counts_what_is_missing() -> None:
    many = Axis("topology.hosts", tuple(map(str, range(2, 15))))
    with pytest.raises(ValueError, match="13 panels: choose with --x, --lines and --panels"):
        plot.sweep(crossed(CC, LOAD, many), "mean.all", x="load")
    with pytest.raises(KeyError, match='"dely" does not vary; did you mean "delay"'):
        plot.sweep(crossed(CC, DELAY), "mean.all", x="dely")
    with pytest.raises(ValueError, match="nothing varies"):
        plot.sweep(crossed(Axis("cc", ("hpcc",))), "mean.all")
    bad = info(2, 9.0)
    bad["outcome"]["end"] = "stalled"
    runs: dict[tuple[str, ...], list[Run]] = {(x,): [Run(1, info(1, 1.0)), Run(2, bad)] for x in LOAD.values}
    figure, (axes,) = plot.sweep(made_of("made", [LOAD], runs), "mean.all", x="load")
    (points,) = lines(axes).values()
    assert points == [(0.3, 1.0), (0.6, 1.0)]
    assert figure.get_supxlabel() == "not counted: 2 runs that are not sound"


def test_the_command_draws_a_sweep(incast: Incast, scenario: Path) -> None:
    vary = ("--vary", "cc=hpcc,oscar", "--vary", "topology.delay=1us,2us,4us")
    assert incast.here("sweep", scenario, *vary, "--out", "out").returncode == 0
    words = ("plot", "out", "--measure", "queue.peak", "--out", "a.svg")
    assert incast.here(*words).stdout == "picture a.svg\n"
    svg = (incast.folder / "a.svg").read_text()
    assert "longest queue (KB)" in svg
    assert "<!-- OSCAR -->" in svg
    assert (
        incast.here("plot", "out", "--kind", "heat", "--measure", "queue.peak", "--out", "b.svg").returncode
        == 0
    )
    assert incast.here("plot", "out", "--kind", "fct-cdf", "--out", "c.svg").returncode == 0
    assert "OSCAR (delay=1us)" in (incast.folder / "c.svg").read_text()
    wrong = incast.here("plot", "out", "--measure", "p99.smal")
    assert (wrong.returncode, wrong.stderr.splitlines()[0]) == (
        1,
        'incast: sweep: there is no measure "p99.smal"; did you mean "p99.small"?',
    )
    assert (
        "--lines has no effect on pictures of the kind heat"
        in incast.here("plot", "out", "--kind", "heat", "--lines", "cc").stderr
    )
