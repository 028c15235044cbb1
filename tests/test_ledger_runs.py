"""Entries of ``[[runs]]``: the runs that they expand to, and the entries that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import Wrong, refusal, written_wrongly
from incast.ledger import LedgerError
from incast.ledger.figure import read

HEAD = """\
[figure]
title = "A title"
place = "Nowhere"
setup = "Set-up."
shows = "A line."
"""

CLAIM = """
[[claim]]
id = "full"
says = "The link is full"
place = "here"
paper = "full"
measure = { do = "flows", run = "a" }
reproduced = "at least 1"
rule = "Full."
"""

LIST = """
[[runs]]
name = "far/{algorithm}/{rate}"
algorithms = [
    "oscar",
    "hpcc:star",
    { name = "hpcc:slow", cc = "hpcc:paper", parameters = ["w_ai={step}"] },
    { cc = "none", parameters = [] },
]
parameters = ["window=bdp"]
scenario = "{algorithm}/small.toml"
set = ["topology.rate={rate}Gbps"]
vary = { rate = [25, 100] }
along = { step = ["0.1", "0.2"] }
seeds = 3
"""


def expanded(folder: Path, runs: str) -> list[tuple[str, str, tuple[str, ...], dict[str, str], int]]:
    """The runs of a figure: name, scenario, overrides, values, number of seeds."""
    (folder / "claims.toml").write_text(HEAD + runs + CLAIM)
    return [
        (
            run.name,
            run.scenario.relative_to(folder.resolve()).as_posix(),
            run.overrides,
            dict(run.values),
            len(run.seeds),
        )
        for run in read(folder, "some/fig1").runs
    ]


def test_a_list_of_algorithms_gives_the_runs_of_an_entry_for_each(tmp_path: Path) -> None:
    """Four entries written out: each with its own name, algorithm, parameters and scenario."""
    rest = """
set = ["topology.rate={rate}Gbps"]
vary = { rate = [25, 100] }
along = { step = ["0.1", "0.2"] }
seeds = 3
"""
    written_out = ""
    for name, cc, parameters in (
        ("oscar", "oscar", '"window=bdp"'),
        ("hpcc", "hpcc:star", '"window=bdp"'),
        ("hpcc:slow", "hpcc:paper", '"window=bdp", "w_ai={step}"'),
        ("none", "none", '"window=bdp"'),
    ):
        written_out += f'[[runs]]\nname = "far/{name}/{{rate}}"\ncc = "{cc}"\nparameters = [{parameters}]\n'
        written_out += f'scenario = "{name}/small.toml"{rest}'
    runs = expanded(tmp_path, LIST)
    assert runs == expanded(tmp_path, written_out)
    assert [run[0] for run in runs][:3] == ["far/oscar/25", "far/oscar/100", "far/hpcc/25"]
    # The name in the list is no value of the sweep.
    assert runs[5] == (
        "far/hpcc:slow/100",
        "hpcc:slow/small.toml",
        (
            'cc={ algorithm = "hpcc", preset = "paper" }',
            "cc.window=bdp",
            "cc.w_ai=0.2",
            "topology.rate=100Gbps",
        ),
        {"rate": "100", "step": "0.2"},
        3,
    )


@written_wrongly(
    {
        'parameters = ["window=bdp"] → cc = "oscar"': "runs, number 1: cc and algorithms exclude each other",
        '"hpcc:star" → "oscar:paper"': "algorithms, number 2: there are two of the name 'oscar'",
        'name = "hpcc:slow" → name = "hpcc"': "algorithms, number 3: there are two of the name 'hpcc'",
        "/{algorithm}/{rate} → /{rate}": "the name 'far/{rate}' needs {algorithm}",
        'cc = "none",  → ': "algorithms, number 4: cc is missing",
        'cc = "none",  → cc = "none", seeds = 2, ': "algorithms, number 4: unknown: seeds",
        '"hpcc:star" → 3': "algorithms, number 2: must be a table",
        "vary = { rate → vary = { algorithm = [1], rate": "algorithm cannot vary",
        "w_ai={step} → w_ai={steps}": "'w_ai={steps}' names a value that is not in vary",
    }
)
def test_entries_that_are_written_wrongly_are_explained(tmp_path: Path, wrong: Wrong) -> None:
    file = tmp_path / "list.toml"
    file.write_text(LIST)
    refusal(file, wrong, lambda: expanded(tmp_path, file.read_text()))


@pytest.mark.parametrize(
    ("algorithms", "message"),
    [
        ("algorithms = []", "must be a list of"),
        ('algorithms = "oscar"', "must be a list of"),
        ("", "cc is missing"),
    ],
)
def test_an_entry_needs_an_algorithm(tmp_path: Path, algorithms: str, message: str) -> None:
    with pytest.raises(LedgerError) as wrong:
        expanded(tmp_path, f'[[runs]]\nname = "{{algorithm}}"\nscenario = "small.toml"\n{algorithms}\n')
    assert message in str(wrong.value)
