"""The files that are made from others are what the scripts make."""

from __future__ import annotations

from pathlib import Path

import pytest

from incast import Scenario
from reference.cases import CASES, DATA
from reference.convert import MADE


@pytest.mark.parametrize("name", MADE)
def test_converted_files_are_what_the_script_writes(name: str) -> None:
    source, how = MADE[name]
    assert (DATA / name).read_text() == how((DATA / source).read_text())


@pytest.mark.parametrize(("case", "flows"), [("hpcc-320", 1099), ("timely-256", 689), ("swift-incast", 32)])
def test_cases_have_the_flows_of_their_files(case: str, flows: int) -> None:
    assert Scenario.from_dict(CASES[case]()).size().flows == flows


def test_the_readme_names_every_file() -> None:
    text = (Path(__file__).parent / "README.md").read_text()
    shown = text.replace("`-fct.csv`", "`ns3-hpcc-fat320-fct.csv`")
    assert [file.name for file in sorted(DATA.iterdir()) if f"`{file.name}`" not in shown] == []
