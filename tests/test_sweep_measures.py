"""Measures that sweeps and comparisons are asked for, and lower bounds in their tables."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import incast
from blocks import block, joined, star, traffic
from helpers import Incast
from incast.results.censored import bounds
from incast.results.grid import Grid
from incast.results.measures import Call
from incast.runs import sweep

TEXT = joined(
    star(4, "100Gbps", "1us", run={"until": "{until}"}),
    block("[cc]", algorithm="hpcc"),
    block("[[traffic]]", name="web", kind="poisson", sizes="20KB", load=0.3, warmup="20us", duration="100us"),
    traffic("long", ["h0", "h1"], "h2", size="400KB"),
    block("[probe]", flows=["long"], ports=["s0->h2"], interval="2us"),
)
CALLS = (
    "fair = fairness(long, start=10us, end=40us)",
    "queue(all, p99)",
    "none = fairness(web.0, start=1ns, end=2ns)",
)


def made(folder: Path, until: str, seeds: int = 2, calls: tuple[str, ...] = ()) -> sweep.Sweep:
    file = folder / "scenario.toml"
    file.write_text(TEXT.replace("{until}", until))
    what = sweep.plan(file, ["cc=hpcc,swift"], seeds=seeds, results=folder / "runs")
    baseline = sweep.baseline_of(what)
    return sweep.run(what, folder=folder / "out", baseline=baseline, calls=[Call.read(one) for one in calls])


def test_calls_are_columns(tmp_path: Path) -> None:
    done = made(tmp_path, "2ms", calls=CALLS)
    queue = "queue(all,p99)_bytes"
    with (tmp_path / "out/table.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4
    for row in rows:
        result = incast.Result.open(tmp_path / "runs/scenario" / row["result"])
        assert float(row["fair"]) == incast.measure(result, "fairness", ["long"], "10us", "40us").value
        assert float(row[queue]) == incast.measure(result, "queue(all, p99)").value
        assert row["none"] == ""
    means = dict(zip(done.summary.column("cc"), done.summary.column("fair"), strict=True))
    for cc, mean in means.items():
        assert mean == pytest.approx(np.mean([float(row["fair"]) for row in rows if row["cc"] == cc]))
    [one] = done.decisions
    assert one.differences["fair"].measure.better == "higher"
    assert done.differences is not None
    assert queue in done.differences.column("metric")
    assert "none" not in one.differences
    assert set(done.missing["none"]) == {"nothing of web.0 is acknowledged in the window"}
    assert (len(done.missing["none"]), done.missing["fair"]) == (4, [])
    # Later readers of the sweep know them too.
    said = json.loads((tmp_path / "out/manifest.json").read_text())
    assert said["measures"] == [Call.read(one).written for one in CALLS]
    [entry, _] = Grid.of(done).entries
    assert sorted(entry.values_of(Call.read(CALLS[0]).measure).by_seed.values()) == sorted(
        float(row["fair"]) for row in rows if row["cc"] == "hpcc"
    )
    # Without them the same runs make the same other columns.
    again = made(tmp_path, "2ms")
    assert (again.state.made, again.state.reused) == (0, 4)
    assert again.table.column("slowdown_all_p99") == done.table.column("slowdown_all_p99")


def test_unfinished_flows_are_bounds_in_tables(tmp_path: Path) -> None:
    done = made(tmp_path, "60us", seeds=1)
    for n, name in enumerate(done.table.column("result")):
        result = incast.Result.open(tmp_path / "runs/scenario" / name)
        values, bound = bounds(result)
        assert bound.any()
        assert done.table.column("slowdown_all_mean")[n] == pytest.approx(values.mean())
        assert "slowdown_all_mean" in done.table.column("at_least")[n].split(", ")
    (tmp_path / "whole").mkdir()
    whole = made(tmp_path / "whole", "2ms", seeds=1)
    assert set(whole.table.column("at_least")) == {""}
    info = incast.Result.open(tmp_path / "whole/runs/scenario" / whole.table.column("result")[0]).info
    assert whole.table.column("slowdown_all_mean")[0] == incast.stats.metrics(info)["slowdown_all_mean"]


def test_on_the_command_line(tmp_path: Path, incast: Incast) -> None:
    file = "scenario.toml"
    (tmp_path / file).write_text(TEXT.replace("{until}", "60us"))
    options = [str(word) for one in CALLS for word in ("--measure", one)]
    text = incast.here(
        "sweep", file, "--vary", "cc=hpcc,swift", "--out", tmp_path / "out", *options, "--quiet"
    ).stdout
    assert "fair" in text
    assert "queue(all,p99)" in text
    assert "none: no value in 2 of 2 runs: " in text
    assert "≥ " in text
    assert "≥: a lower bound, since flows did not finish." in " ".join(text.split())
    assert all(len(line) <= 80 for line in text.splitlines() if "/" not in line or "/ bound" in line)
    one = incast.here("compare", "scenario.toml", "--cc", "hpcc", "--out", "one", *options, "--quiet").stdout
    assert "queue(all,p99)" in one
    assert "nothing of web.0 is acknowledged in the window" in one


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            ["--measure", "quue(all)"],
            '--measure quue(all): there is no measure "quue"; did you mean "queue"?',
        ),
        (["--measure", "p99.small"], '--measure: there are two numbers called "p99.small"'),
        (
            ["--measure", "fair = cct(long)", "--measure", "fair = cct(web)"],
            '--measure: there are two numbers called "fair"',
        ),
        (["--seeds", "3", "--by", "cct(a, b)"], "--by cct(a, b): cct(group) takes 1 arguments, not 2"),
        (["--seeds", "3", "--by", "flows()"], "--by flows(): this measure has no better and worse"),
    ],
)
def test_errors(tmp_path: Path, incast: Incast, words: list[str], problem: str) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(TEXT.replace("{until}", "60us"))
    done = incast.here("sweep", file, "--vary", "cc=hpcc,swift", *words)
    assert done.returncode == 2
    assert problem in done.stderr
