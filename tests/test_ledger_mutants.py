"""The mutation report of the ledger: a constant that is changed by a quarter is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from incast.ledger import find
from ledger_mutants import PAPERS, control, mutants, mutated, scaled


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


def test_a_run_of_another_algorithm_stays_as_it_is() -> None:
    (figure,) = find(PAPERS, ["oscar/fig9"])
    changed = {control(spec)[0]: mutated(spec, "oscar", "target") for spec in figure.runs}
    assert [name for name, each in changed.items() if each] == ["oscar"]
    assert "hpcc" in changed


def test_a_wrong_target_is_noticed(tmp_path: Path) -> None:
    (figure,) = find(PAPERS, ["oscar/fig9"])
    found = {each.parameter: each for each in mutants([figure], "oscar", tmp_path, ["target"])}
    assert (found["target"].before, found["target"].after) == ("1.5", "1.875")
    assert "oscar/fig9:oscar-queue" in found["target"].noticed
