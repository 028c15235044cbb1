"""Axes of sweeps: ranges, and parameters that only some algorithms have."""

from __future__ import annotations

from pathlib import Path

import pytest

import incast as package
from helpers import SMALL, Incast
from incast import Scenario, ScenarioError, sweep
from incast.runs.sweep.plan import axis


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("load=0.3:0.9:0.1", "0.3 0.4 0.5 0.6 0.7 0.8 0.9"),
        ("load=0.5:1.6:0.5", "0.5 1.0 1.5"),
        ("rate=100Gbps:400Gbps:150Gbps", "100Gbps 250Gbps 400Gbps"),
        ("size=10KB:1MB:x10", "10KB 100KB 1MB"),
        ("size=1KB:4KB:x2,7KB", "1KB 2KB 4KB 7KB"),
        ("hosts=1:10:4", "1 5 9"),
        ("hosts=2:20:x3", "2 6 18"),
        ("delay=1us:2us:500ns", "1us 1.5us 2us"),
        # No ranges: a value with one colon, with words, or with three.
        ("balancing=a:b:c", "a:b:c"),
        ("x=1:2", "1:2"),
        ("x=1:2:3:4", "1:2:3:4"),
    ],
)
def test_a_range_stands_for_its_values(text: str, values: str) -> None:
    assert list(axis(text).values) == values.split()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("load=0.9:0.3:0.1", "the range ends below its begin"),
        ("load=0.3:0.9:0", "the step must be more than zero"),
        ("load=1:9:x1", "the factor must be more than one"),
        ("load=0:1:0.0001", "10,001 values; at most 1,000"),
        ("size=1KB:1us:1KB", "1us is a time, 1KB a number of bytes"),
        ("size=1KB:9KB:1us", "1us is a time, 1KB a number of bytes"),
        ("size=1B:9B:x1.5", r"1B times 1.5\^1 is no whole number"),
        ("load=0:1:x2", "a range by factors begins above zero"),
    ],
)
def test_what_ranges_can_get_wrong(text: str, why: str) -> None:
    with pytest.raises(ScenarioError, match=f"^--vary {text}: {why}"):
        axis(text)


def plan_of(tmp_path: Path, *vary: str, overrides: tuple[str, ...] = ()) -> sweep.Plan:
    file = tmp_path / "s.toml"
    file.write_text(SMALL)
    return sweep.plan(file, vary, overrides=overrides, results=tmp_path / "runs")


def test_a_parameter_applies_to_the_algorithms_that_have_it(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "cc=swift,oscar", "cc.beta=0.25,0.5")
    assert [run.values for run in plan.runs] == [("swift", "0.25"), ("swift", "0.5"), ("oscar", "–")]
    assert ["beta = 0.25" in run.scenario.to_toml() for run in plan.runs] == [True, False, False]
    assert plan.runs[2].label == "cc=oscar seed=7"
    assert plan.runs[2].scenario == Scenario.from_toml(SMALL, "s.toml").with_algorithm("oscar")
    # In a contestant too; NDP has no algorithm at the sender.
    plan = plan_of(tmp_path, "cc.beta=0.25,0.5", "contestant=swift,ndp")
    assert [run.values for run in plan.runs] == [("0.25", "swift"), ("–", "ndp"), ("0.5", "swift")]
    with pytest.raises(ScenarioError, match=r"--vary cc\.bta=1: .*bta.*unknown key"):
        plan_of(tmp_path, "cc=swift,oscar", "cc.bta=1")


def test_an_override_chooses_the_algorithm_of_varied_parameters(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "cc.beta=0.25,0.5", overrides=("cc=swift:oscar",))
    assert [run.values for run in plan.runs] == [("swift:oscar", "0.25"), ("swift:oscar", "0.5")]
    assert [run.scenario.algorithm for run in plan.runs] == ["swift:oscar"] * 2


def test_a_parameter_that_is_set_is_given_to_those_that_have_it(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "cc=swift,hpcc", overrides=("cc.beta=0.25",))
    swift, hpcc = (run.scenario for run in plan.runs)
    assert "beta = 0.25" in swift.to_toml()
    assert hpcc == Scenario.from_toml(SMALL, "s.toml").with_algorithm("hpcc")
    with pytest.raises(
        ScenarioError, match=r"none of swift, hpcc has the parameter bta\n.*did you mean .beta."
    ):
        plan_of(tmp_path, "cc=swift,hpcc", overrides=("cc.bta=0.25",))
    results = package.compare(tmp_path / "s.toml", "swift,hpcc", parameters={"beta": 0.25})
    alone = Scenario.from_toml(SMALL, "s.toml")
    assert results["swift"].fingerprint == alone.with_algorithm("swift", beta=0.25).run_quietly().fingerprint
    assert results["swift"].fingerprint != alone.with_algorithm("swift").run_quietly().fingerprint
    assert results["hpcc"].fingerprint == alone.with_algorithm("hpcc").run_quietly().fingerprint


def test_the_scenario_s_own_section_is_an_entry(incast: Incast) -> None:
    file = incast.folder / "s.toml"
    file.write_text(SMALL.replace('algorithm = "oscar"', 'algorithm = "swift"\nbeta = 0.25'))
    assert "beta = 0.25" in file.read_text()
    done = incast.here("compare", file, "--cc", "swift,scenario", "--out", "o")
    assert done.returncode == 0, done.stderr
    note = "swift has its defaults here; [cc] of the file sets beta = 0.25 (--cc scenario takes it as it is)"
    assert note in done.stderr
    own = package.Result.open(incast.folder / "o" / "swift-paper").fingerprint
    assert own == Scenario.load(file).run_quietly().fingerprint
    assert own != package.Result.open(incast.folder / "o/swift").fingerprint
    # Without parameters in the file there is nothing to say.
    file.write_text(SMALL)
    assert incast.here("compare", file, "--cc", "oscar", "--out", "p").stderr == ""
    results = package.compare(file, "hpcc,scenario")
    assert list(results) == ["hpcc", "oscar:fair"]


def test_compare_says_to_whom_a_parameter_applies(incast: Incast) -> None:
    (incast.folder / "s.toml").write_text(SMALL)
    done = incast.here("compare", "s.toml", "--cc", "swift,hpcc", "--set", "cc.beta=0.25", "--out", "o")
    assert done.returncode == 0, done.stderr
    assert "cc.beta=0.25 applies to swift only" in done.stderr
    assert "beta = 0.25" in (incast.folder / "o/swift/scenario.toml").read_text()
    done = incast.here("compare", "s.toml", "--cc", "swift,hpcc", "--set", "cc.bta=0.25")
    assert done.returncode == 2
    assert "--set cc.bta=0.25: none of swift, hpcc has the parameter bta" in done.stderr
    done = incast.here(
        "compare", "s.toml", "--contestants", "ndp,swift", "--set", "cc.beta=0.25", "--out", "c"
    )
    assert "cc.beta=0.25 applies to swift only" in done.stderr
    done = incast.here(
        "sweep", "s.toml", "--vary", "cc=swift,hpcc", "--set", "cc.beta=0.25", "--out", "swept"
    )
    assert done.returncode == 0, done.stderr
    assert "cc.beta=0.25 applies to swift only" in done.stderr
