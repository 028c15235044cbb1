"""The mutation report of the ledger: a constant that is a quarter larger is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from incast.ledger import find
from ledger_mutants import PAPERS, control, larger, mutants, mutated


@pytest.mark.parametrize(
    ("value", "after"),
    [
        ("12us", "15us"),
        ("0.5", "0.625"),
        ("100KB", "125KB"),
        ("4", "5"),
        ("1", "2"),
        ("0.1Gbps", "0.125Gbps"),
        ("true", None),
        ("0ps", None),
    ],
)
def test_a_constant_is_a_quarter_larger(value: str, after: str | None) -> None:
    assert larger(value) == after


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
