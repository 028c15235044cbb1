"""The set-up of each paper: every run behind a verdict has it, or a text says why not."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from helpers import ROOT, written
from incast.ledger import figure, setup
from incast.ledger.judge import judge
from incast.ledger.reader import LedgerError
from incast.ledger.runs import run_figure

PAPERS = ("ccc", "median", "oscar", "powertcp", "sqcc")

OPEN = {"ccc": 0, "median": 0, "oscar": 0, "powertcp": 0, "sqcc": 0}
"""Differences that are open: a run behind a verdict, and a key. They may only become fewer."""


each_paper = pytest.mark.parametrize(
    "paper", [pytest.param(paper, marks=pytest.mark.xdist_group(f"setup of {paper}")) for paper in PAPERS]
)
"""The tests of one paper go to one process, which computes the differences once."""


@functools.cache
def figures(paper: str) -> list[figure.Figure]:
    return figure.find(ROOT / "papers", [paper])


@functools.cache
def differences(paper: str) -> list[setup.Difference]:
    read = setup.read(ROOT / "papers", paper)
    return [each for one in figures(paper) for each in read.differences(one)]


@each_paper
def test_runs_behind_verdicts_have_the_set_up(paper: str) -> None:
    """Deviations have the paper's words; the rest is open, and an entry for nothing is an error."""
    assert not setup.faults(setup.read(ROOT / "papers", paper), differences(paper))


@each_paper
def test_open_differences_become_fewer(paper: str) -> None:
    read = setup.read(ROOT / "papers", paper)
    found = [each for each in differences(paper) if any(entry.covers(each) for entry in read.open)]
    assert len(found) == OPEN[paper], "fewer: write the number into OPEN; more: give the runs the set-up"


SETUP = """\
[[environment]]
name = "bench"
what = "A bench of its own."
figures = ["bench*"]

[[entry]]
key = "seeds"
value = "two"
source = "section 1"
holds = { seeds = "2" }

[[entry]]
key = "switch.buffer"
value = "4 MB"
source = "section 1"
holds = { "switch.buffer" = "4MB" }

[[entry]]
key = "switch.buffer"
environment = "bench"
value = "1 MB"
source = "section 2"
holds = { "switch.buffer" = "1MB" }

[[baseline]]
cc = "hpcc:paper"
parameters = ["w_ai=0.002"]
varies = ["eta"]
source = "section 1"

[[baseline]]
cc = "hpcc:star"
environment = "bench"
source = "section 2"
"""

CLAIMS = """\
[figure]
title = "A figure"
place = "Section 1"
setup = "Two hosts."
shows = "A line."

[[runs]]
name = "main"
cc = "hpcc:paper"
parameters = ["w_ai=0.002", "eta=0.9"]
scenario = "run.toml"
seeds = 2

[[runs]]
name = "other"
cc = "hpcc:paper"
scenario = "run.toml"
set = ["switch.buffer=2MB"]
seeds = 2

[[claim]]
id = "use"
says = "It uses the link."
place = "Section 1"
paper = "much"
unit = "%"
measure = { do = "utilisation", run = "main", port = "s0->h1", from = "0us", to = "100us" }
reproduced = "at least 50%"
rule = "Half."
reason = "None."

[[claim.evidence]]
says = "The other reading"
measure = { do = "utilisation", run = "other", port = "s0->h1", from = "0us", to = "100us" }
unit = "%"
holds = "at least 50%"
"""

SCENARIO = """\
seed = 1
[topology]
kind = "star"
hosts = 2
rate = "100Gbps"
delay = "1us"
[switch]
buffer = "4MB"
[[traffic]]
kind = "flows"
name = "one"
from = "h0"
to = "h1"
size = "100KB"
"""


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """A paper `some` with the figures `fig1` and `bench1`, the same runs in both."""
    for name in ("fig1", "bench1"):
        written(tmp_path / "some" / name, {"claims.toml": CLAIMS, "run.toml": SCENARIO})
    return written(tmp_path, {"some/setup.toml": SETUP})


def differing(papers: Path, name: str) -> dict[str, tuple[str, str]]:
    found = setup.read(papers, "some").differences(figure.read(papers / "some" / name, f"some/{name}"))
    return {f"{each.run}: {each.key}": (each.here, each.setup) for each in found}


def test_evidence_is_free_and_what_varies_is_no_difference(papers: Path) -> None:
    assert differing(papers, "fig1") == {}


def test_a_verdict_on_another_reading_is_found(papers: Path) -> None:
    claims = papers / "some" / "fig1" / "claims.toml"
    claims.write_text(CLAIMS.replace('run = "main"', 'run = "other"', 1))
    assert differing(papers, "fig1") == {
        "other: hpcc.w_ai": ("0.0005", "0.002"),
        "other: switch.buffer": ("2MB", "4MB"),
    }
    file = papers / "some" / "setup.toml"
    read = setup.read(papers, "some")
    wrong = setup.faults(read, read.differences(figure.read(claims.parent, "some/fig1")))
    assert wrong == [
        f"{file}: fig1: run 'other': hpcc.w_ai is 0.0005, and the set-up has 0.002",
        f"{file}: fig1: run 'other': switch.buffer is 2MB, and the set-up has 4MB",
    ]


def test_another_number_of_seeds_is_found(papers: Path) -> None:
    claims = papers / "some" / "fig1" / "claims.toml"
    claims.write_text(CLAIMS.replace("seeds = 2", "seeds = 3"))
    assert differing(papers, "fig1") == {"main: seeds": ("3", "2")}


def test_an_environment_has_its_own(papers: Path) -> None:
    """hpcc:star has target 1.5 and the step 0.0005; the run has 0.9 and 0.002."""
    assert differing(papers, "bench1") == {
        "main: hpcc.eta": ("0.9", "1.5"),
        "main: hpcc.w_ai": ("0.002", "0.0005"),
        "main: switch.buffer": ("4MB", "1MB"),
    }


def test_an_algorithm_without_a_baseline_is_found(papers: Path) -> None:
    claims = papers / "some" / "fig1" / "claims.toml"
    claims.write_text(
        CLAIMS.replace('cc = "hpcc:paper"\nparameters = ["w_ai=0.002", "eta=0.9"]', 'cc = "swift:paper"')
    )
    assert differing(papers, "fig1") == {"main: swift": ("swift:paper", "no baseline")}


def test_an_entry_that_is_no_longer_needed_must_go(papers: Path) -> None:
    file = papers / "some" / "setup.toml"
    left = (
        '\n[[open]]\nfigure = "bench1"\ndiffers = ["hpcc", "seeds"]\nwhat = "w"\nsince = "s"\nneeds = "n"\n'
    )
    file.write_text(SETUP + left)
    read = setup.read(papers, "some")
    wrong = setup.faults(read, read.differences(figure.read(papers / "some" / "bench1", "some/bench1")))
    assert wrong == [
        f"{file}: bench1: run 'main': switch.buffer is 4MB, and the set-up has 1MB",
        f"{file}: open, number 1 (bench1): no run of a verdict differs in 'seeds': take it out",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'cc = "hpcc:star"',
            'cc = "hpcc:stars"',
            "number 2: cc = 'hpcc:stars' is no ALGORITHM:PRESET",
        ),
        (
            "w_ai=0.002",
            "w_aj=0.002",
            "baseline, number 1: 'w_aj=0.002' is no parameter of hpcc, as NAME=VALUE",
        ),
        ("w_ai=0.002", "w_ai", "baseline, number 1: 'w_ai' is no parameter of hpcc, as NAME=VALUE"),
        (
            'environment = "bench"\nsource',
            'environment = "desk"\nsource',
            "no environment 'desk': bench",
        ),
        ('cc = "hpcc:star"\nenvironment = "bench"', 'cc = "hpcc:star"', "there are two baselines for 'hpcc'"),
        ('source = "section 2"\nholds', "holds", "entry, number 3: source is missing"),
        ('seeds = "2"', "seeds = 2", 'entry, number 1: holds.seeds must be a string, like "4MB" or "5"'),
        ('figures = ["bench*"]', "figures = []", "environment, number 1: figures is missing"),
    ],
)
def test_what_is_wrong_in_the_file_is_said(papers: Path, old: str, new: str, message: str) -> None:
    file = papers / "some" / "setup.toml"
    assert old in SETUP
    file.write_text(SETUP.replace(old, new, 1))
    with pytest.raises(LedgerError) as error:
        setup.read(papers, "some")
    assert str(error.value).startswith(str(file))
    assert message in str(error.value)


def test_a_paper_without_a_set_up_is_refused(papers: Path) -> None:
    (papers / "some" / "setup.toml").unlink()
    with pytest.raises(LedgerError, match="each paper has one set-up"):
        setup.read(papers, "some")


def looking_at(papers: Path, run: str) -> Path:
    """The figure `fig1`, whose claim lists the run `main` and calls a function that looks at ``run``."""
    claims = papers / "some" / "fig1" / "claims.toml"
    old = 'measure = { do = "utilisation", run = "main", port = "s0->h1", from = "0us", to = "100us" }'
    new = 'measure = { do = "analysis", call = "one" }\nruns = ["main"]\neffect = "none"'
    claims.write_text(CLAIMS.replace(old, new, 1))
    (claims.parent / "analysis.py").write_text(
        f"def one(results):\n    return results.view({run!r}).line_bps('one') / 1e11\n"
    )
    return claims


def test_a_claim_can_list_the_runs_of_its_function(papers: Path) -> None:
    looking_at(papers, "main")
    assert differing(papers, "fig1") == {}


def test_a_function_that_looks_at_another_run_is_refused(papers: Path) -> None:
    read = figure.read(looking_at(papers, "main").parent, "some/fig1")
    assert len(judge(read, run_figure(read))) == 1
    read = figure.read(looking_at(papers, "other").parent, "some/fig1")
    with pytest.raises(LedgerError, match="it looks at the run 'other', which the claim does not list"):
        judge(read, run_figure(read))


def test_a_claim_can_only_list_runs_that_there_are(papers: Path) -> None:
    claims = looking_at(papers, "main")
    claims.write_text(claims.read_text().replace('runs = ["main"]', 'runs = ["mine/*"]'))
    with pytest.raises(LedgerError, match=r"runs: no run is called mine/\*"):
        figure.read(claims.parent, "some/fig1")


@pytest.mark.parametrize(
    ("given", "found"), [("", set()), ("results", {"other: hpcc.w_ai", "other: switch.buffer"})]
)
def test_a_function_without_results_looks_at_no_run(papers: Path, given: str, found: set[str]) -> None:
    claims = papers / "some" / "fig1" / "claims.toml"
    old = 'measure = { do = "utilisation", run = "main", port = "s0->h1", from = "0us", to = "100us" }'
    claims.write_text(CLAIMS.replace(old, 'measure = { do = "analysis", call = "one" }\neffect = "none"', 1))
    (claims.parent / "analysis.py").write_text(f"def one({given}):\n    return 1.0\n")
    assert set(differing(papers, "fig1")) == found
