"""Statistics of results, replications, results in other processes and other libraries."""

from __future__ import annotations

import math
import pickle
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import incast
from helpers import RING, SMALL
from incast import stats
from incast.results.result import every_sample
from incast.runs.runner import Local

RANDOM = SMALL.replace(
    '[[traffic]]\nname = "long"',
    '[[traffic]]\nname = "web"\nkind = "poisson"\nsizes = "WebSearch"\nload = 0.3\nflows = 60\n\n'
    '[[traffic]]\nname = "long"',
).replace('[run]\nuntil = "1ms"\n', "")

GAP = """
topology = {{ kind = "star", hosts = 2, rate = "100Gbps", delay = "1us" }}
cc = {{ algorithm = "constant" }}
probe = {{ ports = ["to h1"], interval = "{interval}" }}

[[traffic]]
name = "first"
kind = "flows"
from = "h0"
to = "h1"
size = "1000B"

[[traffic]]
name = "second"
kind = "flows"
from = "h0"
to = "h1"
size = "1000B"
start = "1s"
"""


pytestmark = pytest.mark.filterwarnings("ignore:.*the load of web is not steady:incast.IncastWarning")


@pytest.fixture(scope="module")
def result() -> incast.Result:
    return incast.Scenario.from_toml(RANDOM, "random.toml").run()


def test_a_load_that_is_not_steady_is_a_warning() -> None:
    scenario = incast.Scenario.from_toml(RANDOM, "random.toml")
    with pytest.warns(incast.IncastWarning, match="the load of web is not steady because"):
        made = scenario.run()
    (load,) = made.loads
    assert (load.group, load.flows, load.uncounted) == ("web", 60, 0)
    assert load.load == pytest.approx(0.3)
    assert not load.steady
    assert load.verdict.startswith("not steady because its ")
    assert "arrivals end" in load.verdict
    assert [problem.key for problem in made.warnings] == ["traffic.web.load"]


def test_flows_outside_the_window_do_not_count() -> None:
    text = RANDOM.replace('"WebSearch"', '"20KB"').replace("flows = 60", 'warmup = "200us"\nduration = "2ms"')
    made = incast.Scenario.from_toml(text, "random.toml").run()
    (load,) = made.loads
    assert load.steady
    assert load.verdict == "steady"
    frame = pl.DataFrame(made.flows).filter(pl.col("group") == "web")
    inside = (pl.col("start_ps") >= load.from_ps) & (pl.col("start_ps") < load.until_ps)
    assert (load.from_ps, load.until_ps) == (200_000_000, 2_200_000_000)
    assert frame.filter(inside).equals(frame.filter("counted"))
    assert frame.filter("counted").height == load.flows
    assert frame.height == load.flows + load.uncounted
    assert made.info["outcome"]["flows_uncounted"] == load.uncounted > 0
    size = int(frame.filter("counted")["size_bytes"].sum())
    # Four hosts of 100 Gbps for 2 ms.
    assert load.offered == pytest.approx(size / 100e6)
    counted = pl.DataFrame(made.flows).filter(pl.col("counted") & pl.col("slowdown").is_not_null())
    assert len(made.flow_times().slowdown) == counted.height


def test_tables_are_handed_over_without_a_copy(result: incast.Result) -> None:
    first, second = pa.table(result.flows), pa.table(result.flows)
    for name in ("fct_ps", "size_bytes", "slowdown"):
        addresses = [table[name].chunk(0).buffers()[1].address for table in (first, second)]
        assert addresses[0] == addresses[1], name
    frame = pl.DataFrame(result.flows)
    assert frame["size_bytes"].sum() == first["size_bytes"].to_pandas().sum()


def test_every_library_computes_the_same(result: incast.Result) -> None:
    flows = pa.table(result.flows)
    assert flows.num_rows > 0
    query = "select max(slowdown), sum(size_bytes) from flows where slowdown is not null"
    found = duckdb.sql(query)
    assert found is not None
    (by_duckdb,) = found.fetchall()
    by_pandas = pd.DataFrame.from_arrow(result.flows).dropna(subset=["slowdown"])
    by_polars = pl.DataFrame(result.flows).drop_nulls("slowdown")
    ours = result.flow_times()
    assert by_duckdb[0] == by_pandas["slowdown"].max() == by_polars["slowdown"].max() == ours.slowdown.max()
    assert (
        by_duckdb[1]
        == by_pandas["size_bytes"].sum()
        == by_polars["size_bytes"].sum()
        == ours.size_bytes.sum()
    )


def test_results_pickle_with_all_they_have(result: incast.Result, tmp_path: Path) -> None:
    copy = pickle.loads(pickle.dumps(result))
    assert (copy.info, copy.state, copy.folder) == (result.info, "complete", None)
    for name in ("flows", "ports", "port_series", "flow_series"):
        assert pa.table(getattr(copy, name)).equals(pa.table(getattr(result, name)))
    saved = incast.Scenario.from_toml(SMALL).run(tmp_path / "saved")
    assert pickle.loads(pickle.dumps(saved)).folder == tmp_path / "saved"
    assert copy.response("s0", 3, 0) is not None


def test_a_response_is_of_a_port_by_any_of_its_names(result: incast.Result) -> None:
    asked = result.response("s0", 3, 50_000_000, 200_000_000)
    assert asked.lost_bytes != result.response("s0", 3).lost_bytes
    for port in ("to h3", "s0->h3", "s0:3", ("s0", 3)):
        found = result.response(port, from_ps=50_000_000, until_ps=200_000_000)
        for quantity in ("steady_bytes", "peak_bytes", "settling_ps", "lost_bytes"):
            assert getattr(found, quantity) == getattr(asked, quantity)
    with pytest.raises(KeyError, match="no port is called 'to h9'"):
        result.response("to h9")
    with pytest.raises(TypeError, match="named once"):
        result.response(("s0", 3), 3)


def test_percentiles_are_values_that_occurred(result: incast.Result) -> None:
    assert stats.percentile([4, 1, 3, 2], 50) == 2
    assert stats.percentile([4, 1, 3, 2], 51) == 3
    assert stats.percentile(range(1, 1001), 99.9) == 999
    assert math.isnan(stats.percentile([], 50))
    slowdown = result.flow_times().slowdown
    assert result.percentile(99) in slowdown
    assert result.percentile(100, "fct_ps") == result.flow_times().fct_ps.max()
    with pytest.raises(KeyError, match="no column"):
        result.percentile(50, "fct")


def test_bins_hold_every_flow_once(result: incast.Result) -> None:
    times = result.flow_times()
    bins = result.slowdown_by_size()
    assert sum(one.flows for one in bins) == len(times.slowdown)
    assert bins[-1].upto_bytes is None
    for one in bins:
        high = one.upto_bytes or 10**18
        inside = times.slowdown[(times.size_bytes > one.over_bytes) & (times.size_bytes <= high)]
        assert one.flows == len(inside)
        if one.flows:
            assert one.mean == pytest.approx(inside.mean())
            assert one.percentiles[50.0] == np.sort(inside)[math.ceil(len(inside) / 2) - 1]
    with pytest.raises(ValueError, match="must rise"):
        result.slowdown_by_size([10, 0])
    edges = stats.equal_bins(times, 4)
    counts = [one.flows for one in result.slowdown_by_size(edges)]
    assert max(counts) - min(counts) <= 2


def test_jain() -> None:
    assert stats.jain([3, 3, 3]) == 1
    assert stats.jain([1, 0, 0, 0]) == 0.25
    assert stats.jain([1, 2]) == pytest.approx(0.9)
    assert math.isnan(stats.jain([0, 0]))


def test_intervals_are_those_of_the_books() -> None:
    # n = 5, mean 3, s = sqrt(2.5), t(4, 97.5 %) = 2.776445 (Student's table).
    estimate = incast.Estimate.of([1, 2, 3, 4, 5])
    assert estimate.mean == 3
    assert estimate.half_width == pytest.approx(2.776445 * math.sqrt(2.5 / 5), rel=1e-6)
    assert (estimate.low + estimate.high) / 2 == pytest.approx(3)
    # t(4, 95 %) = 2.131847 for 90 %.
    ninety = incast.Estimate.of([1, 2, 3, 4, 5], 0.9)
    assert ninety.half_width == pytest.approx(2.131847 * math.sqrt(0.5), rel=1e-6)
    assert incast.Estimate.of([7]).half_width is None
    # Equal values have no interval: two runs of 7 do not show that all others have 7.
    seven = incast.Estimate.of([7, 7])
    assert (seven.half_width, seven.low, seven.high, str(seven)) == (None, 7, 7, "7 (every seed)")
    assert str(incast.Estimate.of([7])) == "7"
    # Four digits of the mean and two of the half width, without exponents: 12.706 · 1414.2 / √2 = 12,706.
    assert str(incast.Estimate.of([1_234_567, 1_236_567])) == "1236000 ± 13000"
    assert str(incast.Estimate.of([1.25e-7])) == "0.000000125"
    assert str(incast.Estimate.of([float("inf")])) == "inf"
    with pytest.raises(ValueError, match="at least one"):
        incast.Estimate.of([])


def test_the_interval_holds_the_true_mean_as_often_as_it_says() -> None:
    draws = np.random.default_rng(1).normal(10, 3, size=(2000, 4))
    held = sum((e := incast.Estimate.of(row)).low <= 10 <= e.high for row in draws.tolist())
    # 95 % of 2000, four standard deviations of the count to either side.
    assert abs(held - 1900) < 4 * math.sqrt(2000 * 0.95 * 0.05)


def test_replications_are_the_runs_of_their_seeds() -> None:
    scenario = incast.Scenario.from_toml(RANDOM, "random.toml")
    made = incast.replicate(scenario, 3, keep=True)
    assert made.seeds == (7, 8, 9)
    for i, seed in enumerate(made.seeds):
        alone = scenario.with_seed(seed).run()
        assert made.results[seed].fingerprint == alone.fingerprint
        numbers = stats.metrics(alone)
        assert all(made.metrics[name].values[i] == numbers[name] for name in made.metrics)
    assert set(made.metrics) == {name for name in stats.METRICS if not name.startswith("job")}
    assert made.metrics["slowdown_all_mean"].half_width
    parallel = incast.replicate(scenario, [7, 8, 9], jobs=2)
    assert parallel.metrics == made.metrics
    assert parallel.results == {}
    assert "3 seeds" in str(made)
    assert repr(made) == f"<Replications of 'random': 3 seeds, {len(made.metrics)} numbers>"
    only = incast.replicate(scenario, [1], measure=lambda r: {"flows": len(r.flows)})
    assert only.metrics["flows"].values == (62.0 + 1,)
    assert repr(only) == "<Replications of 'random': 1 seed, 1 number>"
    with pytest.raises(ValueError, match="each once"):
        incast.replicate(scenario, [1, 1])


def test_replications_in_a_folder_go_on_where_they_were(tmp_path: Path) -> None:
    scenario = incast.Scenario.from_toml(RANDOM, "random.toml")
    whole = incast.replicate(scenario, 3)
    first = incast.replicate(scenario, 2, folder=tmp_path / "results")
    made = sorted((tmp_path / "results").glob("*/*/result.json"))
    times = [path.stat().st_mtime_ns for path in made]
    assert len(made) == 2
    again = incast.replicate(scenario, 3, folder=tmp_path / "results", executor=Local(2), keep=True)
    assert again.metrics == whole.metrics
    assert first.metrics["flows_finished"].values == whole.metrics["flows_finished"].values[:2]
    assert [path.stat().st_mtime_ns for path in made] == times
    assert all(again.results[seed].folder for seed in again.seeds)


def test_other_processes_make_replications_without_a_folder(tmp_path: Path) -> None:
    scenario = incast.Scenario.from_toml(RANDOM, "random.toml")
    here = incast.replicate(scenario, 2)
    there = incast.replicate(scenario, 2, executor=Local(2), keep=True)
    assert there.metrics == here.metrics
    # Their folder is gone; the results are not.
    assert [len(result.flows) for result in there.results.values()] == [62 + 1, 62 + 1]
    assert all(result.folder is None for result in there.results.values())


def test_a_replication_that_stalls_is_in_no_mean() -> None:
    with pytest.raises(incast.ResultError, match=r"^seed 1: .*PFC deadlock"):
        incast.replicate(incast.Scenario.from_toml(RING, "ring.toml"), 2)


@pytest.mark.parametrize(
    ("rank", "value"), [(0, 1), (20, 1), (20.1, 2), (50, 4), (60, 4), (60.1, 8), (80, 8), (99, 16), (100, 16)]
)
def test_percentiles_of_the_worked_example(rank: float, value: float) -> None:
    # Rank ⌈p·5/100⌉ of 1, 2, 4, 8, 16.
    assert stats.percentile([16, 8, 1, 2, 4], rank) == value


def test_every_table_has_the_same_percentiles(result: incast.Result) -> None:
    """The ledger, the report and the pictures use the percentiles of `stats`."""
    from incast.report.flows import Flows, distribution, of_class
    from incast.results import measures
    from incast.results.measures.view import View

    slowdown = result.flow_times().slowdown
    p99 = sorted(slowdown)[math.ceil(0.99 * len(slowdown)) - 1]
    assert stats.percentile(slowdown, 99) == p99
    assert measures.slowdown(View("x", result), "p99").value == p99
    of_all = distribution(of_class(Flows.of(result), "all"))
    assert of_all is not None
    assert of_all["p99"] == p99
    # An even number of values: the lower of the two in the middle.
    assert stats.median([1, 2, 4, 8]) == 2


def test_flow_series(result: incast.Result) -> None:
    probed = incast.Scenario.from_toml(SMALL).with_({"probe.flows": ["all"]}).run()
    assert probed.probed_flows() == [0, 1, 2]
    series = probed.flow(0)
    assert series.group == "long"
    took = np.diff(series.time_ps)
    assert (series.goodput_bps[1:] * took).sum() / 8e12 == pytest.approx(
        series.acked_bytes[-1] - series.acked_bytes[0]
    )
    with pytest.raises(KeyError, match="no samples of flow 9; there are 0, 1, 2"):
        probed.flow(9)
    with pytest.raises(KeyError, match="there are none"):
        result.flow(0)


def test_rows_stand_for_samples() -> None:
    us = 1_000_000
    rows = {
        "time_ps": np.array([3, 4, 8, 9, 10, 16]) * us,
        "queue_bytes": np.array([7, 0, 0, 5, 0, 0]),
        "samples": np.array([1, 1, 4, 1, 1, 6]),
    }
    each = every_sample(rows)
    assert each["time_ps"].tolist() == [us * t for t in range(3, 17)]
    assert each["queue_bytes"].tolist() == [7, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]
    assert each["samples"].tolist() == [1] * 14
    sent = np.arange(6)
    series = incast.PortSeries(
        "s0", 1, 10**11, rows["time_ps"], rows["queue_bytes"], np.arange(6) / 8, sent, sent, rows["samples"]
    )
    assert series.interval_ps == series.filled().interval_ps == us
    assert series.filled().utilisation.tolist() == np.repeat(np.arange(6) / 8, rows["samples"]).tolist()
    time = each["time_ps"]
    for low in range(0, 19 * us, us // 2):
        for high in range(low, 19 * us, us // 2):
            assert series.between(low, high) == ((time >= low) & (time <= high)).sum()
    # One row, and none.
    one = {name: column[:1] for name, column in rows.items()}
    assert every_sample(one)["time_ps"].tolist() == [3 * us]
    assert every_sample({name: column[:0] for name, column in rows.items()})["time_ps"].tolist() == []


def test_percentiles_of_counted_values() -> None:
    draw = np.random.default_rng(5)
    for _ in range(100):
        values = draw.integers(0, 9, draw.integers(1, 12))
        counts = draw.integers(1, 30, len(values))
        for rank in (0, 1, 37.5, 50, 99, 99.9, 100):
            expected = stats.percentile(np.repeat(values, counts), rank)
            assert stats.percentile(values, rank, counts) == expected


def test_a_gap_costs_one_row_however_fine_the_interval() -> None:
    # Two flows of one packet, a second apart, sampled every nanosecond and every picosecond.
    result = incast.Scenario.from_toml(GAP.format(interval="1ns")).run()
    series = result.port("to h1")
    # Nothing until the first packet, nothing more until the second, and then until the end.
    assert series.samples.tolist()[:3] == [1, 1084, 1]
    assert len(series.samples) == 6
    assert series.samples.sum() == 1_000_004_179
    assert series.between(0, 10**12) == 10**9 + 1
    with pytest.raises(ValueError, match="6 rows cover 1,000,004,179 samples; at most 50,000,000"):
        series.filled()
    finer = incast.Scenario.from_toml(GAP.format(interval="1ps")).run().port("to h1")
    assert (len(finer.samples), finer.samples.sum()) == (6, 1_000_004_178_881)
