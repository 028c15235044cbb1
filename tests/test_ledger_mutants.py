"""The mutation report of the ledger: a constant that is changed by a quarter is noticed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from helpers import ROOT, Incast
from incast import algorithms, catalogue
from incast.ledger import builds, find
from ledger_mutants import (
    MAIN,
    MATTER,
    OWN,
    PAPERS,
    SET,
    Bench,
    constants,
    control,
    faults,
    mutants,
    mutated,
    own_preset,
    scaled,
)

PAGE = ROOT / "docs" / "dev" / "mutants.md"
TWINS = ROOT / "crates" / "cc" / "tests"

CHEAP = {
    "oscar.steepest_fall": "oscar/letter",
    "theta-powertcp.gamma": "powertcp/letter",
    "patched-timely.t_high": "sqcc/letter",
    "sqcc.capacity": "sqcc/letter",
    "lswift.trigger": "median/letter",
    "mswift.history": "median/letter",
    "mnscc.history": "median/letter",
    "ccc.gamma": "ccc/fig7",
}
"""A constant that a cheap figure of its paper notices."""


@pytest.mark.parametrize(
    ("value", "larger", "smaller"),
    [
        ("12us", "15us", "9us"),
        ("0.5", "0.625", "0.375"),
        ("100KB", "125KB", "75KB"),
        ("4", "5", "3"),
        ("1", "2", "0"),
        ("0.1Gbps", "0.125Gbps", "0.075Gbps"),
        ("true", None, None),
        ("0ps", None, None),
    ],
)
def test_a_constant_is_changed_by_a_quarter(value: str, larger: str | None, smaller: str | None) -> None:
    assert (scaled(value, 1.25), scaled(value, 0.75)) == (larger, smaller)


def test_a_constant_that_is_refused_when_larger_is_made_smaller() -> None:
    """Power may be smoothed with a weight of 1 at most: 0.9 times 1.25 is 1.125."""
    (figure,) = find(PAPERS, ["powertcp/fig8"])
    (spec,) = [spec for spec in figure.runs if spec.name == "ack/powertcp"]
    found = mutated(spec, "powertcp", "gamma")
    assert found is not None
    assert found[1:] == ("0.9", "0.675")


def test_a_ratio_of_one_is_no_count() -> None:
    (figure,) = find(PAPERS, ["powertcp/fig8"])
    (spec,) = [spec for spec in figure.runs if spec.name == "ack/powertcp"]
    found = mutated(spec, "powertcp", "target")
    assert found is not None
    assert found[1:] == ("1", "1.25")


def test_a_run_of_another_algorithm_stays_as_it_is() -> None:
    (figure,) = find(PAPERS, ["oscar/fig9"])
    changed = {control(spec)[0]: mutated(spec, "oscar", "target") for spec in figure.runs}
    assert [name for name, each in changed.items() if each] == ["oscar"]
    assert "hpcc" in changed


def test_every_value_that_a_papers_preset_sets_has_a_class() -> None:
    """And what is set for another preset, or for no constant, is an error."""
    builds = {f"{algorithm}:{own_preset(algorithm)}" for algorithm in OWN}
    assert set(SET) <= builds
    classes = {each.name for each in catalogue.evidence()} | {"elsewhere"}
    for algorithm in OWN:
        found = constants(algorithm)
        given = SET.get(f"{algorithm}:{own_preset(algorithm)}", {})
        assert set(given) <= set(found), algorithm
        assert set(found.values()) <= classes, algorithm
        assert set(found.values()) & set(MAIN), algorithm


def test_constants_without_effect_are_left_out() -> None:
    """SQCC's thresholds are times in its paper's preset, so that shares of the base RTT mean nothing."""
    assert "t_low" in constants("sqcc")
    assert "queue_low" not in constants("sqcc")
    assert "median_percentile" not in constants("lswift")
    assert constants("sqcc")["min_factor"] == "ours"
    assert constants("sqcc")["beta"] == "printed"


def test_a_wrong_target_is_noticed(tmp_path: Path) -> None:
    (figure,) = find(PAPERS, ["oscar/fig9"])
    found = {each.parameter: each for each in mutants([figure], "oscar", tmp_path, ["target"])}
    assert (found["target"].before, found["target"].after) == ("1.5", "1.875")
    assert "oscar/fig9:oscar-queue" in found["target"].noticed


@pytest.mark.parametrize("constant", CHEAP)
def test_constants_that_only_one_claim_notices(constant: str, tmp_path: Path) -> None:
    algorithm, _, name = constant.partition(".")
    found = Bench(find(PAPERS, [CHEAP[constant]]), tmp_path).mutant(algorithm, name)
    assert found is not None
    assert found.noticed


def test_a_run_with_a_value_of_its_figure_says_nothing_of_the_papers_value(tmp_path: Path) -> None:
    """Every run of this one sets the rate at which a flow starts, its share of the link."""
    (figure,) = find(PAPERS, ["sqcc/fig2"])
    assert Bench([figure], tmp_path).mutant("sqcc", "start") is None


def test_a_wrong_constant_fails_the_check(incast: Incast, tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    shutil.copytree(PAPERS / "powertcp" / "letter", papers / "powertcp" / "letter")
    words = ("reproduce", "powertcp/letter", "--papers", papers, "--no-picture")
    assert incast.here(*words, "--record").returncode == 0
    assert incast.here(*words, "--check").returncode == 0
    claims = papers / "powertcp" / "letter" / "claims.toml"
    right = 'name = "two"\ncc = "theta-powertcp:paper"\nparameters = ['
    assert right in claims.read_text()
    claims.write_text(claims.read_text().replace(right, right + '"gamma=0.675", '))
    wrong = incast.here(*words, "--check")
    assert wrong.returncode == 1
    assert "worse than recorded: powertcp/letter gamma: reproduced -> not reproduced" in wrong.stderr


def test_the_page_has_todays_constants() -> None:
    """Each constant of a paper's algorithm with its class; main ones are noticed, and one of each."""
    rows = re.findall(
        r"^\| `([a-z-]+)` (\*\*)?(\w+)(?:\*\*)? \| (\w*) *\| \S+ \| \S+ \| \d+ \| \d+ \| (\d+) \|$",
        PAGE.read_text(),
        re.M,
    )
    of_papers = {(algorithm, name): evidence for algorithm, _, name, evidence, _ in rows if algorithm in OWN}
    known = {(algorithm, name): each for algorithm in OWN for name, each in constants(algorithm).items()}
    assert of_papers == {key: known[key] for key in of_papers}
    assert {key for key, each in known.items() if each in MAIN} <= set(of_papers)
    for algorithm, bold, name, _, noticed in rows:
        assert not bold or int(noticed) > 0, (algorithm, name)
    assert len(rows) >= 100
    assert faults(PAGE.read_text(), [each.name for each in algorithms()], TWINS) == []


def test_an_algorithm_that_no_figure_runs_needs_a_twin_and_no_claim(tmp_path: Path) -> None:
    """A made-up algorithm, stork, in and out of the list of the page."""
    page, names = PAGE.read_text(), [*(each.name for each in algorithms()), "stork"]
    [fault] = faults(page, names, TWINS)
    assert fault.startswith("stork: a figure runs it, or docs/generate.py was not run")
    listed = page.replace(
        "<!-- made: in no figure -->",
        "<!-- made: in no figure -->\n\n- [Stork](../algorithms/stork.md)\n\n",
    )
    assert listed != page
    shutil.copytree(TWINS, tmp_path / "tests", ignore=shutil.ignore_patterns("[!t]*"))
    [fault] = faults(listed, names, tmp_path / "tests")
    assert fault == "stork: no figure runs it, so that its constants need twin_stork.rs"
    (tmp_path / "tests" / "twin_stork.rs").touch()
    assert faults(listed, names, tmp_path / "tests") == []
    # Without the algorithm the list names one that there is not.
    assert faults(listed, names[:-1], TWINS) == ["stork: there is no such algorithm"]


def test_an_algorithm_that_a_figure_runs_needs_a_row_in_which_a_claim_notices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page, names = PAGE.read_text(), [*(each.name for each in algorithms()), "stork"]
    monkeypatch.setitem(MATTER, "stork", ("wings",))
    lacks = "stork: a figure runs it, and no row of the page has a claim that notices"
    assert faults(page, names, TWINS) == [lacks]
    row = "| `stork` wings | | 2 | 2.5 | 3 | 1 | 0 |\n"
    assert faults(page + row, names, TWINS) == [lacks]
    assert faults(page + row.replace("| 0 |", "| 1 |"), names, TWINS) == []
    listed = page.replace("<!-- made: in no figure -->", "<!-- made: in no figure -->](algorithms/stork.md)")
    [fault] = faults(listed, names, TWINS)
    assert fault.startswith("stork: no figure runs it: take it out")


def test_the_algorithms_in_no_figure_follow_from_the_claims() -> None:
    """Stork is only beside the claims of one figure, and measured in another."""
    stork, oscar = builds.Build("stork", "paper"), builds.Build("oscar", "fair")
    beside = builds.Judged("oscar/one", (oscar,), (stork,))
    measured = builds.Judged("oscar/two", (oscar, stork), ())
    assert builds.unjudged(["stork", "oscar", "swift"], [beside]) == ["stork", "swift"]
    assert builds.unjudged(["stork", "oscar", "swift"], [beside, measured]) == ["swift"]
