"""Entries compared with a baseline, with pairs and intervals worked out by hand."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from helpers import Incast
from incast.results.decide import Word
from incast.results.grid import Axis, Grid, Run, made_of
from incast.results.listing import forms, of_grid
from incast.results.measures.named import find
from incast.results.paired import Baseline, baseline_of, compared
from test_grid import info

MEAN = find("mean.all")
CC = Axis("cc", ("oscar", "hpcc", "swift"))
LOAD, DELAY = Axis("traffic.0.load", ("0.3", "0.6")), Axis("topology.delay", ("1us", "3us"))


def grid(axes: Sequence[Axis], its: Mapping[tuple[str, ...], Sequence[float]], drawn: bool = True) -> Grid:
    """A grid whose runs have these means, by seed from 1."""
    runs = {
        values: [Run(n, info(n if drawn else 1, mean)) for n, mean in enumerate(of, 1)]
        for values, of in its.items()
    }
    return made_of("made", axes, runs)


A, B = [2.0, 4.0, 8.0], [1.0, 1.0, 2.0]
"""At 95 % A / B is 3.1748 (1.1748 – 8.5794), and B / A 0.31498 (0.11656 – 0.85119): see `test_decide`."""


def crossed(*axes: Axis) -> Grid:
    """A grid with one run of each combination."""
    combinations: list[tuple[str, ...]] = [()]
    for axis in axes:
        combinations = [(*one, value) for one in combinations for value in axis.values]
    return grid(axes, {one: [1.0] for one in combinations})


def test_differences_are_paired_by_seed() -> None:
    two = grid([CC], {("oscar",): A, ("hpcc",): B})
    (one,) = compared(two, baseline_of(two, "HPCC"), [MEAN])
    assert (one.of, one.to) == (("oscar",), ("hpcc",))
    found = one.differences["mean.all"]
    assert (found.value, found.low, found.high) == pytest.approx((3.1748, 1.1748, 8.5794), abs=5e-5)
    assert (found.word, found.seeds, found.confidence) == (Word.WORSE, 3, 0.95)
    # Three entries are two comparisons, each at 97.5 %, where nothing is shown any more.
    three = grid([CC], {("oscar",): A, ("hpcc",): B, ("swift",): B})
    both = compared(three, baseline_of(three, "hpcc"), [MEAN])
    assert [one.differences["mean.all"].word for one in both] == [Word.NOT_SHOWN, Word.EQUAL]
    assert {one.differences["mean.all"].confidence for one in both} == {0.975}


def test_a_value_is_compared_within_all_else() -> None:
    made = crossed(CC, LOAD, DELAY)
    pairs = baseline_of(made, "hpcc").comparisons(made)
    assert len(pairs) == 8
    assert (("swift", "0.6", "3us"), ("hpcc", "0.6", "3us")) in pairs
    assert all(of[1:] == to[1:] and of[0] != "hpcc" == to[0] for of, to in pairs)
    assert baseline_of(made, "delay=1us") == baseline_of(made, "1us") == Baseline(2, "1us")


def test_an_entry_is_a_baseline_of_all_with_its_traffic() -> None:
    made = crossed(CC, DELAY)
    one = baseline_of(made, "HPCC, delay 3us")
    assert one == baseline_of(made, "hpcc 3us") == Baseline(0, "hpcc", ((1, "3us"),))
    assert (one.shown(made), one.titled(made)) == ("hpcc delay=3us", "HPCC, delay 3us")
    pairs = one.comparisons(made)
    assert len(pairs) == 5
    assert {to for _, to in pairs} == {("hpcc", "3us")}
    # With other traffic nothing is compared.
    made = crossed(CC, LOAD)
    pairs = baseline_of(made, "hpcc 0.6").comparisons(made)
    assert pairs == [(("oscar", "0.6"), ("hpcc", "0.6")), (("swift", "0.6"), ("hpcc", "0.6"))]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("hpc", 'no value of cc and topology.delay is "hpc"; did you mean "hpcc"?'),
        ("cc=hpc", 'no value of cc is "hpc"; did you mean "hpcc"?'),
        ("0.3", "load is part of the traffic; runs with other traffic are not compared"),
    ],
)
def test_what_is_no_baseline_is_explained(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        baseline_of(crossed(CC, LOAD, DELAY), text)


def test_a_run_that_failed_is_a_missing_value() -> None:
    made = grid([CC], {("oscar",): A, ("hpcc",): B})
    made = replace(made, failed={"cc=oscar seed=4": "it stalled"})
    (one,) = compared(made, Baseline(0, "hpcc"), [MEAN])
    # The fourth seed was not run with HPCC: it is in no pair.
    assert (one.differences["mean.all"].word, one.differences["mean.all"].final) == (Word.WORSE, False)
    made = replace(made, failed={"cc=oscar seed=4": "it stalled", "cc=hpcc seed=4": "it stalled"})
    (one,) = compared(made, Baseline(0, "hpcc"), [MEAN])
    assert one.differences["mean.all"].seeds == 3
    made = grid([CC], {("oscar",): A[:2], ("hpcc",): B})
    made = replace(made, failed={"cc=oscar seed=3": "it stalled"})
    (one,) = compared(made, Baseline(0, "hpcc"), [MEAN])
    assert (one.differences["mean.all"].word, one.differences["mean.all"].why) == (
        Word.TOO_FEW,
        "no value in 1 of 3 seeds",
    )


def test_where_a_rule_chose_the_seeds_its_looks_give_the_confidence() -> None:
    made = replace(grid([CC], {("oscar",): A, ("hpcc",): B}), looks={3: 0.01, 6: 0.04})
    (one,) = compared(made, Baseline(0, "hpcc"), [MEAN])
    # t(2) = √2 · c / √(1 − c²) at 99 % is 9.9248: h = 9.9248 · 0.400189 / √3 = 2.2931, more than 1.155.
    assert one.differences["mean.all"].confidence == 0.99
    assert one.differences["mean.all"].word is Word.NOT_SHOWN


def test_a_cell_is_a_difference_to_the_baseline() -> None:
    two = grid([CC], {("oscar",): A, ("hpcc",): B})
    listing = of_grid.means(two, ["mean.all"], baseline=Baseline(0, "hpcc"))
    # B: 4/3 ± 4.302653 · (1/√3) / √3.
    assert listing.rows == [["OSCAR", "3", "×3.2 (1.1 – 8.6)"], ["HPCC", "3", "1.33 ± 1.43"]]
    assert listing.title == "differences to HPCC, made"
    turned = of_grid.means(two, ["mean.all"], baseline=Baseline(0, "oscar"))
    assert [row[2] for row in turned.rows] == ["4.67 ± 7.59", "−69 % (14 – 89)"]
    three = grid([CC], {("oscar",): A, ("hpcc",): B, ("swift",): [1.0, 2.0]})
    listing = of_grid.means(three, ["mean.all"], baseline=Baseline(0, "hpcc"))
    assert [row[2] for row in listing.rows] == ["·", "1.33 ± 1.43", "…"]
    assert "·: no difference shown. …: too few (2 seeds; at least 3)." in listing.notes
    assert "all 2 of a column hold together with 95 %" in listing.notes


def test_one_measure_over_two_keys_has_differences_beside_the_baseline() -> None:
    its: dict[tuple[str, ...], list[float]]
    its = {("oscar", "0.3"): A, ("hpcc", "0.3"): B, ("oscar", "0.6"): B, ("hpcc", "0.6"): B}
    (listing,) = of_grid.crossed(grid([CC, LOAD], its), "mean.all", baseline=Baseline(0, "hpcc"))
    assert listing.title == "mean slowdown of flows, differences to HPCC"
    assert listing.rows == [["0.3", "·", "1.33 ± 1.43"], ["0.6", "equal", "1.33 ± 1.43"]]
    assert r"0.3 & $\cdot$ & 1.33 $\pm$ 1.43 \\" in forms.latex(listing)
    assert "| 0.3 | · | 1.33 ± 1.43 |" in forms.markdown(listing)
    exact = grid([CC], {("oscar",): [3.0, 3.0], ("hpcc",): [4.0, 4.0]}, drawn=False)
    assert of_grid.means(exact, ["mean.all"], baseline=Baseline(0, "hpcc")).rows[0][2] == "−25 %"


def test_the_command_begins_with_sentences(incast: Incast, scenario: Path) -> None:
    words = ("--vary", "cc=hpcc,oscar", "--seeds", "2", "--out", "out")
    assert incast.here("sweep", scenario, *words).returncode == 0
    done = incast.here("table", "out", "--baseline", "hpcc", "--measure", "queue.mean")
    assert (done.returncode, done.stderr) == (0, "")
    first, _, rest = done.stdout.partition("\n\n")
    # Nothing is drawn, so two seeds decide.
    assert " the lowest mean queue: " in " ".join(first.split())
    assert "Nothing is drawn: the differences are exact." in first
    head = rest.splitlines()
    assert head[0] == "differences to HPCC, small"
    oscar = next(line for line in head if line.startswith("OSCAR"))
    # The sentence and the cell are of the same two numbers.
    rows = csv.DictReader((incast.folder / "out/table.csv").read_text().splitlines())
    queue = {row["cc"]: float(row["queue_mean_bytes"]) for row in rows}
    more = 100 * (queue["oscar"] / queue["hpcc"] - 1)
    assert 10 < more < 100
    assert oscar.endswith(f"  +{more:.0f} %")
    assert f"HPCC has the lowest mean queue: {100 - 1e4 / (100 + more):.0f} % below OSCAR." in first
    page = incast.here("table", "out", "--baseline", "hpcc", "--measure", "queue.mean", "--as", "markdown")
    assert page.stdout.startswith("**differences to HPCC, small**")
    assert "Nothing is drawn" in page.stderr
    # Results that are no sweep, by their names.
    folders = sorted((incast.folder / "out/runs/small").iterdir())
    done = incast.here("table", *folders, "--baseline", "HPCC", "--measure", "queue.mean")
    assert (
        oscar.split()[-2:]
        == next(line for line in done.stdout.splitlines() if line.startswith("OSCAR")).split()[-2:]
    )
    wrong = incast.here("table", "out", "--baseline", "hpc")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert '--baseline hpc: no value of cc is "hpc"; did you mean "hpcc"?' in wrong.stderr
