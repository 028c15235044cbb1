"""Seeds that are added by a rule until comparisons are decided."""

from __future__ import annotations

import json
import math
import random
import statistics
from collections.abc import Container, Mapping, Sequence
from pathlib import Path

import polars
import pytest

from helpers import Incast, wait_until
from incast import ScenarioError, sweep
from incast.results.decide import Values, Word, difference
from incast.results.measures.named import find
from incast.runs.sweep.rule import follow
from test_sweep import complete
from test_sweep_decisions import plan, rows
from test_sweep_ranks import TRAINING

MEAN = find("mean.all")
RANDOM = "traffic=[{kind='poisson', sizes='20KB', load=0.4, duration='300us'}]"
"""Random flows in place of the small scenario's."""


def test_later_looks_may_miss_more() -> None:
    # 0.05/15 · (1, 2, 4, 8).
    assert [look.seeds for look in sweep.schedule(40)] == [5, 10, 20, 40]
    alphas = [look.alpha for look in sweep.schedule(40)]
    assert alphas == pytest.approx([0.0033333, 0.0066667, 0.0133333, 0.0266667], abs=1e-7)
    assert [look.seeds for look in sweep.schedule(6)] == [5, 6]
    assert [look.seeds for look in sweep.schedule(41)] == [5, 10, 20, 40, 41]
    for most in (5, 6, 20, 40, 41):
        assert math.fsum(look.alpha for look in sweep.schedule(most)) == pytest.approx(0.05, rel=1e-12)
    with pytest.raises(ValueError, match="the first look is at 5 seeds"):
        sweep.schedule(4)


def pursue(
    series: Mapping[str, Sequence[float]], most: int = 40, margin: float = 0.05
) -> list[sweep.Decision]:
    """Follows a rule over values by seed of some names, the baseline being 1 with each seed."""
    rule = sweep.Rule(sweep.Baseline(0, "base"), MEAN, margin, sweep.schedule(most))
    pairs = [((name,), ("base",)) for name in series]

    def make(_: int, needed: Container[tuple[str, ...]] | None) -> None:
        assert needed is None or ("base",) in needed

    def judge(n: int, still: Sequence[tuple[tuple[str, ...], tuple[str, ...]]]) -> list[sweep.Decision]:
        look = rule.looks[n]
        runs = frozenset(range(look.seeds))
        one = Values(dict.fromkeys(runs, 1.0), runs)
        found = []
        for of, to in still:
            known = Values({seed: series[of[0]][seed] for seed in runs}, runs)
            each = difference(known, one, MEAN, confidence=1 - look.alpha / len(pairs), margin=margin)
            found.append(sweep.Decision(of, to, {MEAN.name: each}, n + 1))
        return found

    return follow(rule, pairs, make, judge)


def test_words_at_their_looks_by_hand() -> None:
    # d = 0.11, 0.09, 0.11, 0.09, 0.11: mean 0.102, s = 0.0109545, t(4) at 0.996667 = 6.25407, h = 0.0306386.
    clear = [math.exp(0.11 if n % 2 == 0 else 0.09) for n in range(40)]
    (found,) = pursue({"clear": clear})
    one = found.differences[MEAN.name]
    assert (found.look, one.word, one.seeds) == (1, Word.WORSE, 5)
    assert math.log(one.value) == pytest.approx(0.102, abs=1e-12)
    assert math.log(one.high / one.value) == pytest.approx(0.0306386, abs=5e-8)
    # d = ± 0.06 in turn: h = 0.070108 with 10 seeds, 0.037562 with 20, which is below ln 1.05 = 0.048790.
    even = [math.exp(0.06 * (-1) ** n) for n in range(40)]
    (found,) = pursue({"even": even})
    one = found.differences[MEAN.name]
    assert (found.look, one.word, one.seeds) == (3, Word.EQUAL, 20)
    assert math.log(one.high) == pytest.approx(0.037562, abs=5e-7)
    # Each keeps the numbers of its own look; two comparisons share alpha.
    both = pursue({"even": even, "clear": clear})
    assert [one.look for one in both] == [3, 1]
    assert [one.differences[MEAN.name].confidence for one in both] == pytest.approx(
        [1 - 0.05 * 4 / 15 / 2, 1 - 0.05 / 15 / 2]
    )


def test_what_is_open_at_the_last_look_has_no_word() -> None:
    # d = ± 0.5 in turn: the interval of 10 seeds contains both 0 and the margin.
    (found,) = pursue({"wide": [math.exp(0.5 * (-1) ** n) for n in range(10)]}, most=10)
    assert (found.look, found.differences[MEAN.name].word) == (2, Word.NOT_SHOWN)


def test_few_equal_sides_get_a_false_word() -> None:
    draw = random.Random(1)
    series = 2_000
    false = 0
    for _ in range(series):
        (found,) = pursue({"equal": [math.exp(draw.gauss(0, 0.1)) for _ in range(40)]})
        false += found.differences[MEAN.name].word in (Word.BETTER, Word.WORSE)
    # At most 5 %, and four standard deviations of the count.
    assert 0 < false <= 0.05 * series + 4 * math.sqrt(series * 0.05 * 0.95)


def decided(
    plan_: sweep.Plan, folder: Path, measure: str = "queue.peak", margin: float = 0.02
) -> sweep.Sweep:
    rule = sweep.rule_of(plan_, sweep.baseline_of(plan_), margin, find(measure))
    return sweep.run(plan_, folder=folder, rule=rule)


def test_only_what_is_open_gets_more_seeds(scenario: Path, tmp_path: Path) -> None:
    what = sweep.plan(
        scenario,
        ["cc=oscar,swift,hpcc"],
        seeds=20,
        overrides=[RANDOM],
        results=tmp_path / "runs",
    )
    done = decided(what, tmp_path / "out")
    assert {one.of[0]: one.look for one in done.decisions} == {"swift": 3, "hpcc": 2}
    table = rows(tmp_path / "out/table.csv")
    made = {cc: sum(row["cc"] == cc for row in table) for cc in ("oscar", "swift", "hpcc")}
    assert made == {"oscar": 20, "swift": 20, "hpcc": 10}
    said = json.loads((tmp_path / "out/manifest.json").read_text())
    states = [run["state"] for run in said["runs"] if run["cc"] == "hpcc"]
    assert states == ["done"] * 10 + ["not needed"] * 10
    assert said["rule"]["by"] == "queue.peak"
    assert (said["rule"]["margin"], said["rule"]["looks"], said["rule"]["comparisons"]) == (
        0.02,
        [5, 10, 20],
        2,
    )
    frame = polars.read_parquet(tmp_path / "out/differences.parquet")
    by_look = {row["cc"]: (row["look"], row["seeds"]) for row in frame.rows(named=True)}
    assert by_look == {"swift": (3, 20), "hpcc": (2, 10)}
    # HPCC's words are of the first ten seeds: d by hand from the table, t(9) at 1 − 2/7 · 0.05/2.
    peaks = {(row["cc"], row["seed"]): float(row["queue_peak_bytes"]) for row in table}
    d = [math.log(peaks["hpcc", f"{seed}"] / peaks["oscar", f"{seed}"]) for seed in range(7, 17)]
    found = next(one for one in done.decisions if one.of == ("hpcc",)).differences["queue.peak"]
    assert math.log(found.value) == pytest.approx(statistics.fmean(d), rel=1e-12)
    assert found.confidence == pytest.approx(1 - 0.05 * 2 / 7 / 2)
    assert sweep.results_of(tmp_path / "out").keys() >= {"swift, seed 26", "hpcc, seed 16"}
    assert "hpcc, seed 17" not in sweep.results_of(tmp_path / "out")


def test_results_that_happen_to_be_there_change_nothing(scenario: Path, tmp_path: Path) -> None:
    for name in ("alone", "beside"):
        what = sweep.plan(
            scenario, ["cc=oscar,hpcc"], seeds=20, overrides=[RANDOM], results=tmp_path / f"runs-{name}"
        )
        if name == "beside":
            sweep.run(what, folder=tmp_path / "all")
        decided(what, tmp_path / name)
    for file in ("table.csv", "summary.csv", "differences.csv", "differences.parquet"):
        assert (tmp_path / "alone" / file).read_bytes() == (tmp_path / "beside" / file).read_bytes()
    assert len(rows(tmp_path / "beside/table.csv")) == 20


def test_killed_at_any_moment_it_makes_the_same_looks_again(incast: Incast, scenario: Path) -> None:
    until = ("--until-decided", "2%", "--by", "queue.peak", "--seeds", "20", "--jobs", "2")
    words = ("sweep", scenario, "--vary", "cc=oscar,swift,hpcc", "--set", RANDOM, *until)
    whole = incast.here(*words, "--out", "whole")
    assert whole.returncode == 0
    assert whole.stdout.startswith(
        "rule: 5, 10, 20 seeds; a comparison ends when queue.peak is better, worse, or\nequal within 2 %; "
        "all 2 words and 3 looks together are right with 95 %\n"
    )
    assert all(len(line) <= 80 for line in whole.stdout.splitlines())
    runs = len(rows(incast.folder / "whole/table.csv"))
    assert 15 < runs < 60
    folder = incast.folder / "killed"
    for least in (2, 9, 17):
        process = incast.start(*words, "--out", "killed")
        wait_until(lambda least=least: len(complete(folder)) > least, process)  # type: ignore[misc]
        process.kill()
        process.communicate()
        assert not (folder / "table.csv").exists()
    again = incast.here(*words, "--out", "killed")
    assert again.returncode == 0
    for name in ("table", "summary", "differences"):
        for ending in ("csv", "parquet"):
            file = f"{name}.{ending}"
            assert (folder / file).read_bytes() == (incast.folder / "whole" / file).read_bytes()
    manifests = [
        json.loads((incast.folder / name / "manifest.json").read_text()) for name in ("whole", "killed")
    ]
    # The command names another folder.
    assert all(said.pop("command") for said in manifests)
    assert manifests[0] == manifests[1]


def test_the_measure_is_that_of_the_workload(scenario: Path, tmp_path: Path) -> None:
    small = plan(scenario, "cc=hpcc,oscar", seeds=5)
    assert sweep.rule_of(small, sweep.baseline_of(small), 0.05).by.name == "mean.all"
    (tmp_path / "training.toml").write_text(TRAINING)
    training = sweep.plan(tmp_path / "training.toml", ["cc=swift,oscar"], seeds=5)
    assert sweep.rule_of(training, sweep.baseline_of(training), 0.05).by.name == "jobs.mean"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--until-decided", "5"), "--until-decided 5: write a share from 0.1% to 100%, like 5%"),
        (("--until-decided", "0.05%"), "write a share from 0.1% to 100%, like 5%"),
        (
            ("--until-decided", "5%", "--seeds", "4"),
            "--until-decided --seeds 4: the first look is at 5 seeds",
        ),
        (
            ("--until-decided", "5%", "--seeds", "1"),
            "--until-decided --seeds 1: the first look is at 5 seeds",
        ),
    ],
)
def test_rules_that_cannot_be_are_explained(
    incast: Incast, scenario: Path, words: tuple[str, ...], message: str
) -> None:
    for command, option, chosen in (("compare", "--cc", "hpcc,oscar"), ("sweep", "--vary", "cc=hpcc,oscar")):
        refused = incast.here(command, scenario, option, chosen, *words)
        assert refused.returncode == 2
        assert message in refused.stderr


def test_a_rule_needs_a_baseline(incast: Incast, scenario: Path) -> None:
    refused = incast.here("sweep", scenario, "--vary", "topology.delay=1us,3us", "--until-decided", "5%")
    assert refused.returncode == 2
    assert "--until-decided needs a baseline: name one with --baseline" in refused.stderr
    with pytest.raises(ScenarioError, match="needs a baseline"):
        sweep.rule_of(plan(scenario, "topology.delay=1us,3us", seeds=5), None, 0.05)
