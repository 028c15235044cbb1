"""Sweeps that decide: baselines, tables of differences."""

from __future__ import annotations

import csv
import json
import math
import statistics
from pathlib import Path

import polars
import pytest

from helpers import ROOT, Incast
from incast import ScenarioError, sweep
from incast.results.decide import Word
from incast.runs.sweep.decisions import Numbers, decide
from incast.runs.sweep.records import Records

RANDOM = "traffic=[{kind='poisson', sizes='20KB', load=0.4, duration='300us'}]"
"""Random flows in place of the small scenario's."""

T975 = {3: 4.17653}
"""Student's t for 97.5 % inside, from a printed table, by degrees of freedom."""


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def plan(scenario: Path, *vary: str, seeds: int = 3) -> sweep.Plan:
    return sweep.plan(scenario, vary, seeds=seeds, results=scenario.parent / "runs")


def test_words_are_those_of_an_independent_computation(incast: Incast, scenario: Path) -> None:
    loads = ("--vary", "load=0.3,0.6")
    words = ("sweep", scenario, "--vary", "cc=hpcc,oscar", *loads, "--seeds", "4", "--set", RANDOM)
    done = incast.here(*words, "--out", "out")
    assert done.returncode == 0
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert "differences to hpcc: 2 comparisons; the words of a column are right with 95 %" in done.stdout
    assert "Ratios of geometric means over 4 pairs of runs with the same seed" in done.stdout
    each = rows(incast.folder / "out/table.csv")
    found = rows(incast.folder / "out/differences.csv")
    keys = {(row["cc"], row["traffic.0.load"], row["measure"]) for row in found}
    assert len(keys) == len(found)
    assert {key[:2] for key in keys} == {("oscar", "0.3"), ("oscar", "0.6")}
    compared = 0
    for row in found:
        if row["measure"] not in ("mean.all", "p50.all", "mean.small", "queue.mean", "resent"):
            continue
        load, name = row["traffic.0.load"], row["metric"]
        a, b = (
            [float(r[name]) for r in each if r["cc"] == cc and r["traffic.0.load"] == load]
            for cc in ("oscar", "hpcc")
        )
        ratio = row["measure"] != "resent"
        d = [math.log(x / y) if ratio else x - y for x, y in zip(a, b, strict=True)]
        mean = statistics.fmean(d)
        half = T975[3] * statistics.stdev(d) / 2
        ends = (mean - half, mean + half)
        if ratio:
            ends = (math.exp(ends[0]), math.exp(ends[1]))
        assert (float(row["low"]), float(row["high"])) == pytest.approx(ends, rel=1e-5)
        none = 1 if ratio else 0
        same = "equal" if len(set(d)) == 1 and d[0] == 0 else "no difference shown"
        word = "better" if ends[1] < none else "worse" if ends[0] > none else same
        assert (row["word"], row["seeds"], row["baseline"]) == (word, "4", "hpcc")
        assert float(row["confidence"]) == 0.975
        compared += 1
    assert compared == 10
    frame = polars.read_parquet(incast.folder / "out/differences.parquet")
    assert frame["word"].to_list() == [row["word"] for row in found]
    assert json.loads((incast.folder / "out/manifest.json").read_text())["baseline"] == {"cc": "hpcc"}


def test_the_order_of_algorithms_chooses_the_baseline_and_changes_no_number(
    incast: Incast, scenario: Path
) -> None:
    def made(*words: str) -> list[dict[str, str]]:
        done = incast.here(
            "sweep", scenario, "--seeds", "3", "--set", RANDOM, *words[:-1], "--out", words[-1]
        )
        assert done.returncode == 0, done.stderr
        return rows(incast.folder / words[-1] / "differences.csv")

    one = made("--vary", "cc=hpcc,oscar,swift", "--jobs", "1", "a")
    other = made("--vary", "cc=swift,oscar,hpcc", "--baseline", "HPCC", "--jobs", "2", "b")
    assert sorted(one, key=str) == sorted(other, key=str)
    turned = made("--vary", "cc=oscar,hpcc,swift", "c")
    assert {row["baseline"] for row in turned} == {"oscar"}
    back = {row["measure"]: row for row in turned if row["cc"] == "hpcc"}
    for row in one:
        if row["cc"] == "oscar" and row["scale"] == "ratio":
            assert float(row["value"]) == pytest.approx(1 / float(back[row["measure"]]["value"]), rel=1e-12)
            assert float(row["low"]) == pytest.approx(1 / float(back[row["measure"]]["high"]), rel=1e-12)


def test_one_process_and_four_give_the_same_bytes(scenario: Path, tmp_path: Path) -> None:
    what = plan(scenario, "cc=hpcc,oscar")
    baseline = sweep.baseline_of(what)
    for jobs in (1, 4):
        sweep.run(
            what, folder=tmp_path / f"{jobs}", executor=sweep.Local(jobs), fresh=True, baseline=baseline
        )
    for name in ("differences.csv", "differences.parquet"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "4" / name).read_bytes()


def test_without_draws_two_seeds_are_exact(incast: Incast, scenario: Path) -> None:
    done = incast.here("sweep", scenario, "--vary", "cc=hpcc,oscar", "--seeds", "2", "--out", "out")
    found = {row["measure"]: row for row in rows(incast.folder / "out/differences.csv")}
    table = rows(incast.folder / "out/table.csv")
    hpcc, oscar = (float(next(row for row in table if row["cc"] == cc)["queue_mean_bytes"])
                   for cc in ("hpcc", "oscar"))  # fmt: skip
    queue = found["queue.mean"]
    assert float(queue["value"]) == pytest.approx(oscar / hpcc, rel=1e-12)
    assert queue["low"] == queue["high"] == queue["value"]
    assert (queue["word"], queue["why"]) == ("better" if oscar < hpcc else "worse", "exact")
    assert "Without an interval it is exact" in " ".join(done.stdout.split())


def test_a_plugin_that_does_the_same_is_equal(incast: Incast, scenario: Path) -> None:
    mine = ROOT / "examples/oscar_in_python.py"
    words = ("--plugin", mine, "--vary", "cc=oscar,oscar-in-python", "--set", RANDOM, "--seeds", "3")
    done = incast.here("sweep", scenario, *words, "--out", "out")
    assert done.returncode == 0, done.stderr
    found = rows(incast.folder / "out/differences.csv")
    assert {(row["word"], row["why"]) for row in found} == {("equal", "exact")}
    assert "equal" in done.stdout


def test_a_seed_without_a_result_makes_its_comparisons_too_few(incast: Incast, scenario: Path) -> None:
    # One large flow or so in all of this time: with some seeds there is none, and that is an error.
    rare = "traffic=[{kind='poisson', sizes='websearch', load=0.2, duration='300us'}]"
    words = ("sweep", scenario, "--vary", "cc=oscar,hpcc", "--seeds", "6", "--set", rare, "--out", "out")
    done = incast.here(*words)
    assert done.returncode == 1
    found = rows(incast.folder / "out/differences.csv")
    # Both sides fail with the same seeds: these are in no pair, and the others decide.
    sound = {row["seed"] for row in rows(incast.folder / "out/table.csv")}
    assert 3 <= len(sound) < 6
    assert [row["seeds"] for row in found if row["measure"] == "mean.all"] == [str(len(sound))]


def test_a_run_that_stalls_makes_its_comparisons_too_few_and_no_others(
    scenario: Path, tmp_path: Path
) -> None:
    what = plan(scenario, "cc=hpcc,oscar,swift")
    done = sweep.run(what, folder=tmp_path / "out", baseline=sweep.baseline_of(what))
    infos = {n: json.loads((run.folder / "result.json").read_text()) for n, run in enumerate(what.runs)}
    pairs = [(("oscar",), ("hpcc",)), (("swift",), ("hpcc",))]
    records = Records(what)
    for n, info in infos.items():
        records.take(n, info)
    before = decide(Numbers(what, records), pairs, 3)
    assert before == list(done.decisions)
    # The second run of OSCAR.
    infos[4]["outcome"]["end"] = "stalled"
    records.take(4, infos[4])
    oscar, swift = decide(Numbers(what, records), pairs, 3)
    assert {(d.word, d.why) for d in oscar.differences.values()} == {
        (Word.TOO_FEW, "no value in 1 of 3 seeds")
    }
    assert swift == before[1]


def test_differences_of_an_earlier_command_do_not_stay(scenario: Path, tmp_path: Path) -> None:
    what = plan(scenario, "topology.delay=1us,3us", seeds=2)
    baseline = sweep.baseline_of(what, "3us")
    done = sweep.run(what, folder=tmp_path / "out", baseline=baseline)
    assert (tmp_path / "out/differences.csv") in done.files
    assert [one.of for one in done.decisions] == [("1us",)]
    again = sweep.run(what, folder=tmp_path / "out")
    assert again.differences is None
    assert not list((tmp_path / "out").glob("differences.*"))


def test_the_first_algorithm_is_the_baseline_if_it_was_named(
    scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("incast.scenario.choice.registered", dict)
    assert sweep.baseline_of(plan(scenario, "topology.delay=1us,3us", "cc=hpcc,oscar")) == sweep.Baseline(
        1, "hpcc"
    )
    assert sweep.baseline_of(plan(scenario, "cc=all")) is None
    assert sweep.baseline_of(plan(scenario, "cc=hpcc,all")) == sweep.Baseline(0, "hpcc")
    assert sweep.baseline_of(plan(scenario, "cc=hpcc")) is None
    assert sweep.baseline_of(plan(scenario, "topology.delay=1us,3us")) is None
    # One seed decides nothing.
    assert sweep.baseline_of(plan(scenario, "cc=hpcc,oscar", seeds=1)) is None
    assert sweep.baseline_of(plan(scenario, "cc=all"), "Oscar") == sweep.Baseline(0, "oscar")


def test_partners_differ_in_nothing_else(scenario: Path) -> None:
    what = plan(scenario, "topology.delay=1us,3us", "cc=hpcc,oscar,swift", seeds=2)
    compared = sweep.Baseline(1, "oscar").comparisons(what)
    assert compared == [
        (("1us", "hpcc"), ("1us", "oscar")),
        (("1us", "swift"), ("1us", "oscar")),
        (("3us", "hpcc"), ("3us", "oscar")),
        (("3us", "swift"), ("3us", "oscar")),
    ]


def test_parameters_of_another_algorithm_make_no_difference_to_the_baseline(scenario: Path) -> None:
    what = plan(scenario, "cc=hpcc,swift", "cc.beta=0.4,0.8")
    hpcc = ("hpcc", "–")
    assert sweep.Baseline(0, "hpcc").comparisons(what) == [(("swift", beta), hpcc) for beta in ("0.4", "0.8")]
    # Of two settings of the baseline none is the partner.
    assert sweep.baseline_of(plan(scenario, "cc=swift,hpcc", "cc.beta=0.4,0.8")) is None
    assert sweep.baseline_of(what, "cc.beta=0.4") == sweep.Baseline(1, "0.4")
    assert sweep.Baseline(1, "0.4").comparisons(what) == [(("swift", "0.8"), ("swift", "0.4"))]


def test_a_contestant_is_a_baseline(scenario: Path) -> None:
    what = plan(scenario, "contestant=hpcc,oscar")
    assert sweep.baseline_of(what) == sweep.Baseline(0, "hpcc")
    assert sweep.baseline_of(what, "Oscar") == sweep.Baseline(0, "oscar")


@pytest.mark.parametrize(
    ("vary", "text", "message"),
    [
        (["cc=hpcc,oscar"], "hpc", '--baseline hpc: no value of cc is "hpc"; did you mean "hpcc"?'),
        (["cc=hpcc,oscar"], "7", '--baseline 7: no value of cc is "7"; its values are hpcc, oscar'),
        (["cc=hpcc,oscar"], "cc=oscr", '--baseline cc=oscr: no value of cc is "oscr"; did you mean "oscar"?'),
        (["cc=hpcc"], "hpcc", "--baseline hpcc: cc has no other value"),
        (
            ["traffic.long.size=1MB,2MB", "cc=hpcc,oscar"],
            "size=1MB",
            "--baseline size=1MB: size is part of the traffic; runs with other traffic are not compared",
        ),
        (
            ["traffic.long.size=1MB,2MB", "cc=hpcc,oscar"],
            "1MB",
            "--baseline 1MB: size is part of the traffic; runs with other traffic are not compared",
        ),
        (
            ["topology.delay=1us,3us", "probe.interval=1us,2us"],
            "1us",
            "--baseline 1us: topology.delay and probe.interval both have this value; write topology.delay=",
        ),
        (
            ["topology.delay=1us,3us", "probe.interval=1us,2us"],
            "5us",
            '--baseline 5us: no value of topology.delay and probe.interval is "5us"',
        ),
        ([], "hpcc", "--baseline hpcc: no key is varied whose runs can be compared"),
    ],
)
def test_a_baseline_that_means_nothing_is_explained(
    scenario: Path, vary: list[str], text: str, message: str
) -> None:
    with pytest.raises(ScenarioError) as wrong:
        sweep.baseline_of(plan(scenario, *vary), text)
    assert str(wrong.value).startswith(message)
    assert sweep.baseline_of(plan(scenario, "topology.delay=1us,3us", "probe.interval=1us,2us"),
                             "delay=1us") == sweep.Baseline(0, "1us")  # fmt: skip


def test_a_measure_without_a_better_side_is_refused(incast: Incast, scenario: Path) -> None:
    words = ("sweep", scenario, "--vary", "cc=hpcc,oscar", "--seeds", "2")
    refused = incast.here(*words, "--by", "finished")
    assert refused.returncode == 2
    assert "--by finished: this measure has no better and worse" in refused.stderr
    refused = incast.here(*words, "--by", "p99.smal")
    assert refused.returncode == 2
    assert '--by p99.smal: there is no measure "p99.smal"; did you mean "p99.small"?' in refused.stderr
    refused = incast.here("sweep", scenario, "--vary", "topology.delay=1us,3us", "--by", "p99.small")
    assert "--by p99.small: has no effect without a baseline" in refused.stderr


def test_the_note_says_how_to_get_differences(incast: Incast, scenario: Path) -> None:
    done = incast.here("sweep", scenario, "--vary", "topology.delay=1us,3us", "--seeds", "2")
    assert "--baseline NAME adds differences and words." in " ".join(done.stdout.split())
