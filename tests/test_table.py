"""Tables of sweeps and results by ``incast table``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from helpers import Incast
from incast.results.grid import Axis, Grid, Run, made_of
from incast.results.listing import of_grid
from test_grid import info


def means(axes: Iterable[Axis], its: dict[tuple[str, ...], list[float]]) -> Grid:
    """A grid whose runs have these means."""
    runs = {values: [Run(n, info(n, mean)) for n, mean in enumerate(of, 1)] for values, of in its.items()}
    return made_of("made", tuple(axes), runs)


CC, LOAD = Axis("cc", ("swift", "hpcc")), Axis("traffic.0.load", ("0.3", "0.6"))


def test_one_measure_over_two_keys_has_rows_and_columns() -> None:
    grid = means(
        [CC, LOAD],
        {("swift", "0.3"): [1.0, 3.0], ("swift", "0.6"): [4.0], ("hpcc", "0.3"): [5.0], ("hpcc", "0.6"): []},
    )
    (listing,) = of_grid.crossed(grid, "mean.all")
    assert listing.title == "mean slowdown of flows"
    assert [column.title for column in listing.columns] == ["load", "Swift", "HPCC"]
    # 1 and 3: 2 ± 12.706, Student's t for one degree of freedom times √2 / √2.
    assert listing.rows == [["0.3", "2.00 ± 12.71", "5.00"], ["0.6", "4.00", "–"]]
    (turned,) = of_grid.crossed(grid, "mean.all", rows="cc", columns="traffic.0.load")
    assert [column.title for column in turned.columns] == ["cc", "load 0.3", "load 0.6"]
    assert turned.rows == [["Swift", "2.00 ± 12.71", "4.00"], ["HPCC", "5.00", "–"]]
    with pytest.raises(KeyError, match='"loda" does not vary; did you mean "load"'):
        of_grid.crossed(grid, "mean.all", rows="loda")
    with pytest.raises(ValueError, match="load cannot be both rows and columns"):
        of_grid.crossed(grid, "mean.all", rows="load", columns="load")


def test_a_third_key_makes_a_table_for_each_of_its_values() -> None:
    delay = Axis("topology.delay", ("1us", "3us", "9us"))
    its: dict[tuple[str, ...], list[float]] = {
        (cc, load, d): [float(n)]
        for n, (cc, load, d) in enumerate(
            (cc, load, d) for cc in CC.values for load in LOAD.values for d in delay.values
        )
    }
    grid = means([CC, LOAD, delay], its)
    first, second = of_grid.crossed(grid, "mean.all")
    # The rows are the key with most numbers, and the rest is the load.
    assert [column.title for column in first.columns] == ["delay", "Swift", "HPCC"]
    assert (first.title, second.title) == (
        "mean slowdown of flows, load 0.3",
        "mean slowdown of flows, load 0.6",
    )
    assert first.rows == [["1us", "0", "6.00"], ["3us", "1.00", "7.00"], ["9us", "2.00", "8.00"]]
    assert second.rows[0] == ["1us", "3.00", "9.00"]
    assert first.notes == ""
    assert second.notes.startswith("No draws") or second.notes == ""
    one = means([CC], {("swift",): [1.0], ("hpcc",): [2.0]})
    with pytest.raises(ValueError, match="needs two keys that vary"):
        of_grid.crossed(one, "mean.all")


def test_a_sweep_is_printed_in_every_form(incast: Incast, scenario: Path) -> None:
    vary = ("--vary", "cc=hpcc,oscar", "--vary", "topology.delay=1us,3us")
    assert incast.here("sweep", scenario, *vary, "--out", "out").returncode == 0
    plain = incast.here("table", "out")
    assert (plain.returncode, plain.stderr) == (0, "")
    assert plain.stdout.startswith("means, small\ncc     delay  runs")
    assert all(len(line) <= 80 for line in plain.stdout.splitlines())
    crossed = incast.here("table", "out", "--measure", "queue.peak", "--as", "markdown").stdout
    assert "| delay | HPCC (KB) | OSCAR (KB) |" in crossed
    latex = incast.here(
        "table", "out", "--measure", "queue.peak", "--measure", "p99.all", "--as", "latex"
    ).stdout
    assert r"cc & delay & runs & queue & slowdown \\" in latex
    one = incast.here("table", "out", "--measure", "top = peak_queues(max)", "--rows", "cc")
    assert one.stdout.startswith("top\ncc")
    # One result: its own tables.
    result = next((incast.folder / "out/runs/small").glob("hpcc*"))
    of_one = incast.here("table", result, "--as", "markdown")
    assert "**FCT slowdown**" in of_one.stdout
    assert "| HPCC |" in of_one.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--measure", "p99.smal"),
            'incast table: there is no measure "p99.smal"; did you mean "p99.small"?',
        ),
        (
            ("--measure", "p99.all", "--rows", "dely"),
            'incast table: "dely" does not vary; did you mean "delay"?',
        ),
        (
            ("--rows", "delay"),
            "incast table: --rows has no effect: rows and columns are those of one --measure",
        ),
        (("--as", "latx"), "argument --as: there is no 'latx'; did you mean 'latex'?"),
    ],
)
def test_what_is_wrong_is_said(incast: Incast, scenario: Path, words: tuple[str, ...], said: str) -> None:
    vary = ("--vary", "cc=hpcc,oscar", "--vary", "topology.delay=1us,3us")
    assert incast.here("sweep", scenario, *vary, "--out", "out").returncode == 0
    done = incast.here("table", "out", *words)
    assert done.returncode == 2
    assert said in done.stderr
