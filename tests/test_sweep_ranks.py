"""Reading a sweep: job times and ranks, the place of an interval without draws, its report."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from typing import Any

import pytest

import incast
from blocks import block, joined, star, traffic
from helpers import SMALL, Incast
from incast import Scenario, replicate, stats, sweep

TRAINING = """\
name = "training"
[topology]
kind = "leaf-spine"
leaves = 2
hosts = 4
spines = 2
rate = "100Gbps"
delay = "1us"
[cc]
algorithm = "swift"
[[traffic]]
kind = "all-to-all"
size = "64KB"
"""

ALONE = joined(
    star(2, "100Gbps", "1us", name="alone", cc={"algorithm": "constant"}),
    traffic("one", "h0", "h1", size="1000B"),
)

FAN = joined(
    star(4, "100Gbps", "1us", name="fan", cc={"algorithm": "swift"}),
    block("[[traffic]]", kind="flows", **{"from": "h0"}, to=["h1-h3"], size="20KB"),
)


def info(jobs: list[dict[str, Any]], slowdown: float = 1.0) -> Mapping[str, Any]:
    """The content of ``result.json`` of a run with these groups of jobs and this mean slowdown."""
    spread = {"mean": slowdown, "p50": slowdown, "p99": slowdown}
    every = {"class": "all", "group": None, "flows": 3, "unfinished": 2, "slowdown": spread}
    return {
        "summary": {"slowdowns": [every, {**every, "group": "a"}], "ports": [], "jobs": jobs},
        "outcome": {"flows_finished": 3, "packets_dropped": 0, "packets_resent": 7, "fingerprint": "f"},
    }


def group(
    jobs: int, time: tuple[float, float], ratio: tuple[float, float], unfinished: int = 0
) -> dict[str, Any]:
    both = ({"mean": mean, "max": most} for mean, most in (time, ratio))
    return {"jobs": jobs, "unfinished": unfinished, **dict(zip(("jct_ps", "bound_ratio"), both, strict=True))}


def test_the_numbers_of_jobs_are_those_of_all_jobs() -> None:
    groups = [group(3, (10.0, 12.0), (1.0, 1.1)), group(1, (20.0, 20.0), (2.0, 2.0))]
    numbers = stats.metrics(info(groups))
    # (3 · 10 + 20)/4 and (3 · 1 + 2)/4; the flows of all groups count once.
    assert numbers["job_time_mean_ps"] == 12.5
    assert numbers["job_bound_ratio_mean"] == 1.25
    assert (numbers["job_time_max_ps"], numbers["job_bound_ratio_max"]) == (20, 2)
    assert (numbers["jobs_unfinished"], numbers["flows_unfinished"], numbers["packets_resent"]) == (0, 2, 7)
    # The slowest job is not known before it has ended.
    numbers = stats.metrics(info([group(3, (10.0, 12.0), (1.0, 1.1), 1)]))
    assert numbers["jobs_unfinished"] == 1
    assert numbers["job_time_mean_ps"] == 10
    assert "job_time_max_ps" not in numbers
    assert not [name for name in stats.metrics(info([])) if name.startswith("job")]


def test_jobs_rank_by_their_time_and_flows_by_their_slowdown() -> None:
    # The numbers of 512 cards with rails: flows of the sprayed run are slower on average, as none of them is
    # lucky, and its job ends 28 % earlier.
    ecmp = stats.metrics(info([group(1, (520.0, 520.0), (1.52, 1.52))], 40.6))
    reps = stats.metrics(info([group(1, (375.0, 375.0), (1.1, 1.1))], 41.2))
    assert stats.place(reps, jobs=True) < stats.place(ecmp, jobs=True)
    assert stats.place(ecmp, jobs=False) < stats.place(reps, jobs=False)
    # Less was finished: that comes last, however quick the rest was.
    cut = stats.metrics(info([group(1, (5.0, 5.0), (1.1, 1.1), 1)], 1.0))
    assert stats.place(cut, jobs=True) > stats.place(ecmp, jobs=True)


def test_a_sweep_has_job_times_and_is_ranked_by_them(incast: Incast) -> None:
    (incast.folder / "training.toml").write_text(TRAINING)
    words = (
        "--vary",
        "balancing.policy=ecmp,reps",
        "--vary",
        "cc=swift,oscar",
        "--seeds",
        "2",
        "--out",
        "out",
    )
    done = incast.here("sweep", "training.toml", *words)
    assert done.returncode == 0
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    found = list(csv.DictReader((incast.folder / "out/table.csv").read_text().splitlines()))
    for row in found:
        result = incast_result(incast, row["result"])
        jobs, flows = result.jobs, result.flows
        assert float(row["job_time_max_ps"]) == jobs.column("jct_ps").max()
        assert float(row["job_bound_ratio_max"]) == pytest.approx(jobs.column("bound_ratio").max())
        rates = [float(row[f"job_{name}_mean_bps"]) for name in ("algbw", "busbw")]
        assert rates == pytest.approx([jobs.column(name).mean() for name in ("algbw_bps", "busbw_bps")])
        assert float(row["packets_resent"]) == flows.column("resent_packets").sum()
        assert (float(row["jobs_unfinished"]), float(row["flows_unfinished"])) == (0, 0)
    means = list(csv.DictReader((incast.folder / "out/summary.csv").read_text().splitlines()))
    ranked = sorted(means, key=lambda row: float(row["job_time_mean_ps"]))
    text = done.stdout.partition("\n\ndifferences to")[0].split("\n\n")[-1]
    printed = [line.split()[:2] for line in text.splitlines()[3:7]]
    assert printed == [[row["balancing.policy"], row["cc"]] for row in ranked]
    # Of two paths, one of the two hashes is the unlucky one: with two seeds ECMP is slower.
    assert printed[0][0] == "reps"
    assert "Ranked by the mean time of jobs." in " ".join(done.stdout.split())


def incast_result(command: Incast, name: str) -> incast.Result:
    return incast.Result.open(command.folder / "out/runs/training" / name)


def test_workloads_are_not_ranked_against_each_other(incast: Incast) -> None:
    (incast.folder / "training.toml").write_text(TRAINING)
    plan = sweep.plan(
        incast.folder / "training.toml", ["balancing.policy=ecmp,reps", "traffic.0.size=64KB,16KB"]
    )
    done = sweep.run(plan, folder=incast.folder / "out", executor=sweep.Local(1))
    order, _ = sweep.ranking(plan, done.summary)
    sizes = done.summary.column("traffic.0.size")
    assert [sizes[n] for n in order] == ["64KB", "64KB", "16KB", "16KB"]
    times = done.summary.column("job_time_mean_ps")
    assert times[order[0]] <= times[order[1]]
    assert times[order[2]] <= times[order[3]]


def test_without_draws_there_is_no_interval(incast: Incast) -> None:
    (incast.folder / "alone.toml").write_text(ALONE)
    done = incast.here("sweep", "alone.toml", "--seeds", "3", "--out", "out")
    assert done.returncode == 0
    assert "±" not in done.stdout
    # A flow alone takes the time that it takes on the idle path.
    assert "\n3, no draws" in done.stdout
    assert stats.NO_DRAWS in " ".join(done.stdout.split())
    (row,) = csv.DictReader((incast.folder / "out/summary.csv").read_text().splitlines())
    assert (row["draws"], row["slowdown_all_mean"], row["slowdown_all_mean_ci95"]) == ("no draws", "1.0", "")
    # One measure without spread is no proof: here the order of the flows' packets is drawn.
    (incast.folder / "small.toml").write_text(TRAINING)
    assert incast.here("sweep", "small.toml", "--seeds", "3", "--out", "drawn").returncode == 0
    (row,) = csv.DictReader((incast.folder / "drawn/summary.csv").read_text().splitlines())
    assert (row["draws"], row["packets_dropped"], row["packets_dropped_ci95"]) == ("", "0.0", "")


def test_a_number_that_every_seed_has_gets_no_interval(incast: Incast) -> None:
    # Only the order in which the flows of one card begin is drawn: they change places, and no mean changes.
    (incast.folder / "fan.toml").write_text(FAN)
    done = incast.here("sweep", "fan.toml", "--vary", "cc=swift,constant", "--seeds", "3", "--out", "out")
    assert done.returncode == 0
    assert "±" not in done.stdout.replace(stats.SAME.partition(":")[0], "")
    assert stats.SAME in " ".join(done.stdout.split())
    assert stats.NO_DRAWS not in " ".join(done.stdout.split())
    for row in csv.DictReader((incast.folder / "out/summary.csv").read_text().splitlines()):
        assert (row["draws"], row["slowdown_all_mean_ci95"]) == ("", "")
    # In the tables and the report, too.
    for words in (("table", "out"), ("report", "out", "--out", "page.html")):
        made = incast.here(*words)
        assert made.returncode == 0, made.stderr
    text = " ".join(incast.here("table", "out").stdout.split())
    assert stats.SAME in text
    assert "±" not in text.replace(stats.SAME, "")
    made_by_seed = replicate(Scenario.from_toml(FAN, "fan.toml"), 3)
    assert str(made_by_seed.metrics["slowdown_all_mean"]).endswith(" (every seed)")
    page = (incast.folder / "page.html").read_text()
    assert stats.SAME in page
    assert "± half of their" not in page


def test_replications_without_draws_say_so() -> None:
    made = incast.replicate(incast.Scenario.from_toml(ALONE, "alone.toml"), 3)
    assert str(made.metrics["slowdown_all_mean"]) == "1 (no draws)"
    assert made.metrics["slowdown_all_mean"].half_width is None
    assert stats.NO_DRAWS in str(made)
    # A measure of another kind, like wall time, has its spread.
    numbers = iter([1.0, 2.0, 3.0])
    made = incast.replicate(
        incast.Scenario.from_toml(ALONE, "alone.toml"), 3, measure=lambda _: {"own": next(numbers)}
    )
    assert made.metrics["own"].half_width == pytest.approx(2.484, abs=1e-3)
    assert stats.drawn([info([]), info([])]) is False
    assert stats.drawn([info([])]) is True


def test_the_report_of_a_sweep_has_its_runs(incast: Incast) -> None:
    (incast.folder / "small.toml").write_text(SMALL)
    vary = ("--vary", "cc=oscar,constant", "--vary", "topology.delay=1us,3us")
    assert incast.here("sweep", "small.toml", *vary, "--seeds", "2").returncode == 0
    (folder,) = incast.folder.glob("incast-results/small/sweep-*")
    done = incast.here("report", folder, "--out", "page.html")
    assert (done.returncode, done.stderr) == (0, "")
    assert "(8 results" in done.stdout
    page = (incast.folder / "page.html").read_text()
    # An entry for each combination, and its seeds.
    titles = [f"{cc}, delay {delay}" for cc in ("OSCAR", "constant") for delay in ("1us", "3us")]
    heads = re.findall(r'<th scope="col" data-entry="\d">.*?</span>(.*?)</th>', page)
    assert heads[: len(titles)] == titles
    assert page.count(">7, 8</td>") == len(titles)
