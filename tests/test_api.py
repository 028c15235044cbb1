"""The Python package: scenarios, runs, results, tables."""

from __future__ import annotations

import pickle
import sys
import threading
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import incast
from helpers import SMALL
from incast import catalogue, sections


@pytest.fixture(scope="module")
def result() -> incast.Result:
    return incast.Scenario.from_toml(SMALL, "small.toml").run()


def test_a_run_in_memory_leaves_nothing_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = incast.Scenario.from_toml(SMALL).run()
    assert result.folder is None
    assert result.end == "finished"
    assert list(tmp_path.iterdir()) == []


def test_every_data_frame_library_reads_the_tables(result: incast.Result) -> None:
    for table in (result.flows, result.ports, result.port_series, result.flow_series):
        arrow = pa.table(table)
        polars = pl.DataFrame(table)
        pandas = pd.DataFrame.from_arrow(table)
        assert arrow.column_names == polars.columns == list(pandas.columns) == table.columns
        assert arrow.num_rows == polars.height == len(pandas) == len(table)
    finish = pa.table(result.flows)["finish_ps"].to_pylist()
    assert finish == result.flows.column("finish_ps").tolist()
    assert finish == pl.DataFrame(result.flows)["finish_ps"].to_list()


def test_a_table_is_indexed_by_the_names_of_its_columns(result: incast.Result) -> None:
    table = result.flows
    assert table.keys() == table.columns
    assert table["size_bytes"].tolist() == table.column("size_bytes").tolist()
    assert list(dict(table)) == table.columns
    with pytest.raises(KeyError) as unknown:
        table["slodown"]
    said = f'no column "slodown"; did you mean "slowdown"? there are {", ".join(table.columns)}'
    assert unknown.value.args == (said,)
    with pytest.raises(KeyError, match='no column "zzz"; there are flow, '):
        table.column("zzz")
    with pytest.raises(TypeError, match=r'^a table is indexed by .*, like table\["fct_ps"\]$'):
        table[0]  # type: ignore[index]
    assert "fct_ps" in table
    assert "zzz" not in table
    assert 0 not in table


def test_a_table_is_a_sequence_of_rows(result: incast.Result) -> None:
    # The constructor of pandas asks for no Arrow: it takes rows.
    table = result.flows
    rows = list(table)
    assert len(rows) == len(table)
    assert [list(row) for row in rows] == len(rows) * [table.columns]
    pd.testing.assert_frame_equal(pd.DataFrame(table), table.to_pandas(), check_dtype=False)
    assert pd.DataFrame(result.port_series).shape == (
        len(result.port_series),
        len(result.port_series.columns),
    )
    stopped = incast.Scenario.from_toml(SMALL).with_({"run.until": "60us"}).run().flows
    frame = pd.DataFrame(stopped)
    assert frame["fct_ps"].isna().all()
    assert frame["fct_ps"].dtype == np.float64
    assert frame["source"].tolist() == stopped["source"].tolist()


def test_a_table_becomes_a_frame_with_missing_values() -> None:
    # No flow is over 60 us after its start: the times of their ends are missing.
    result = incast.Scenario.from_toml(SMALL).with_({"run.until": "60us"}).run()
    pandas, polars = result.flows.to_pandas(), result.flows.to_polars()
    assert list(pandas.columns) == polars.columns == result.flows.columns
    assert pandas["fct_ps"].isna().all()
    assert pandas["fct_ps"].dtype == np.float64
    assert polars["fct_ps"].to_list() == [None, None, None]
    for name in ("size_bytes", "source", "finished"):
        assert pandas[name].tolist() == polars[name].to_list() == result.flows.column(name).tolist()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_needs_its_library(
    result: incast.Result, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=f"^to_{library} needs {library}: pip install {library}$"):
        getattr(result.flows, f"to_{library}")()


def test_entries_of_the_catalogue_have_short_representations() -> None:
    swift = catalogue.algorithm("swift")
    assert swift is not None
    # The first 60 letters of the summary. Some are longer; that of HPCC has 59.
    shown = [repr(each) for each in incast.algorithms()]
    for each, text in zip(incast.algorithms(), shown, strict=True):
        short, more = each.summary[:60].rstrip(), "…" if len(each.summary) > 60 else ""
        assert text == f"<Algorithm {each.name}: {short}{more}>"
    assert "<Algorithm hpcc: steps to a target utilisation measured by in-band telemetry>" in shown
    assert repr(swift.parameters[0]).startswith(f"<Parameter {swift.parameters[0].name}: ")
    top, topology = catalogue.sections()[:2]
    assert repr(top) == "<Kind: A scenario: everything that determines the result of a run>"
    assert repr(topology) == "<Kind topology: The network: its shape, its rates and its delays.>"
    lists = (
        topology.keys,
        catalogue.distributions(),
        catalogue.named_topologies(),
        catalogue.families(),
        catalogue.evidence(),
        catalogue.own_controls(),
    )
    for entry in (entries[0] for entries in lists):
        assert repr(entry).startswith(f"<{type(entry).__name__} {entry.name}: ")


def test_columns_say_their_units(result: incast.Result) -> None:
    field = pa.table(result.flows).schema.field("fct_ps")
    assert field.metadata[b"unit"] == b"ps"


def test_a_column_is_a_read_only_array(result: incast.Result) -> None:
    size = result.flows.column("size_bytes")
    assert size.dtype == np.int64
    assert not size.flags.writeable
    assert sorted(size.tolist()) == [200_000, 200_000, 2_000_000]
    assert result.flows.column("source").tolist() == [f"h{i}" for i in result.flows.column("source_id")]
    assert result.flows.column("finished").dtype == np.bool_
    with pytest.raises(KeyError, match=r'no column "size".*size_bytes'):
        result.flows.column("size")


def test_missing_values_become_nan() -> None:
    cut = incast.Scenario.from_toml(SMALL, overrides=["run.until=60us"]).run()
    finish = cut.flows.column("finish_ps")
    assert finish.dtype == np.float64
    assert np.isnan(finish).all()
    assert pa.table(cut.flows)["finish_ps"].null_count == 3


def test_what_is_saved_is_what_was_returned(tmp_path: Path) -> None:
    result = incast.Scenario.from_toml(SMALL).run(tmp_path / "saved")
    opened = incast.Result.open(tmp_path / "saved")
    assert opened.fingerprint == result.fingerprint
    assert opened.info == result.info
    for name in ("flows", "ports", "port_series", "flow_series"):
        saved = pa.table(getattr(opened, name))
        assert saved.equals(pa.table(getattr(result, name)))
        assert saved.equals(pq.read_table(tmp_path / "saved" / f"{name}.parquet"))


def test_a_port_in_numbers(result: incast.Result) -> None:
    (port,) = result.probed_ports()
    assert port == ("s0", 3)
    series = result.port(*port)
    assert series.rate_bps == 100_000_000_000
    assert series.queue_bytes.max() <= result.peak_queue_bytes(*port)
    # What the samples say of use is what the totals say.
    sent = (series.utilisation[1:] * np.diff(series.time_ps)).sum() * series.rate_bps / 8e12
    totals = result.port_series.column("transmitted_bytes")
    assert sent == pytest.approx(totals[-1] - totals[0])
    # A packet (1000 B and 60 B of headers) counts when its last bit left: an interval of 1 us holds
    # what the link carries in it, and at most one packet that had begun before.
    assert series.utilisation.max() <= 1 + 1060 * 8 / (100e9 * 1e-6)
    with pytest.raises(KeyError, match="no samples of port 1 of s0; there are s0:3"):
        result.port("s0", 1)


def test_slowdowns_are_at_least_one(result: incast.Result) -> None:
    times = result.flow_times()
    assert len(times.slowdown) == 3
    assert (times.slowdown >= 1).all()


def test_errors_pickle_with_their_problems() -> None:
    with pytest.raises(incast.ScenarioError) as raised:
        incast.Scenario.from_toml("topology = 3", "s.toml")
    copy = pickle.loads(pickle.dumps(raised.value))
    assert str(copy) == str(raised.value)
    assert copy.problems == raised.value.problems


def test_scenarios_do_not_change_and_pickle() -> None:
    scenario = incast.Scenario.from_toml(SMALL, "small.toml")
    other = scenario.with_algorithm("hpcc").with_seed(3)
    assert (scenario.seed, scenario.algorithm) == (7, "oscar:fair")
    assert (other.seed, other.algorithm) == (3, "hpcc:paper")
    copy = pickle.loads(pickle.dumps(other))
    assert copy.to_toml() == other.to_toml()
    assert (copy.name, copy.seed) == ("small", 3)


def test_bad_scenarios_name_file_line_and_key() -> None:
    with pytest.raises(incast.ScenarioError, match=r"my\.toml:6.*topology\.rate"):
        incast.Scenario.from_toml(SMALL.replace('"100Gbps"', '"100"'), "my.toml")


def test_runs_in_threads_do_not_touch() -> None:
    scenario = incast.Scenario.from_toml(SMALL)
    alone = {seed: scenario.with_seed(seed).run().fingerprint for seed in range(4)}
    together: dict[int, str] = {}

    def work(seed: int) -> None:
        together[seed] = scenario.with_seed(seed).run(threads=1 + seed % 2).fingerprint

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone


def test_other_python_threads_go_on_during_a_run() -> None:
    scenario = incast.Scenario.from_toml(SMALL, overrides=["traffic.long.size=100MB", "run.until=1s"])
    running = threading.Thread(target=scenario.run)
    running.start()
    turns = 0
    while running.is_alive():
        turns += 1
    running.join()
    # Were the lock held for the whole run, this thread would have had a turn before and one after.
    assert turns > 1000


def test_progress_counts_up_and_its_errors_stop_the_run() -> None:
    scenario = incast.Scenario.from_toml(SMALL, overrides=["traffic.long.size=900GB", "run.until=1000s"])
    seen: list[incast.Progress] = []

    class EnoughError(Exception):
        pass

    def report(progress: incast.Progress) -> None:
        seen.append(progress)
        if len(seen) == 3:
            raise EnoughError

    with pytest.raises(EnoughError):
        scenario.run(progress=report)
    assert [p.now_ps for p in seen] == sorted({p.now_ps for p in seen})
    assert [p.hops for p in seen] == sorted({p.hops for p in seen})
    assert seen[-1].flows == 3
    assert seen[-1].until_ps == 10**15


def test_a_result_can_be_opened_only_where_there_is_one(tmp_path: Path) -> None:
    with pytest.raises(incast.ResultError, match="holds no result"):
        incast.Result.open(tmp_path)


class Breaks(incast.CongestionControl):
    """Fails in its first run."""

    def start(self, path: incast.FlowPath, now: int) -> incast.Flow:
        raise RuntimeError("it broke")


class Demands(incast.CongestionControl):
    """Has a parameter without a default."""

    def __init__(self, window: int) -> None: ...

    def start(self, path: incast.FlowPath, now: int) -> incast.Flow:
        raise AssertionError


def test_defaults_have_a_class_of_evidence() -> None:
    classes = {one.name: one.meaning for one in incast.evidence()}
    assert list(classes) == ["printed", "artifact", "measured", "derived", "ours"]
    assert all(classes.values())
    found = {(a.name, p.name): p.evidence for a in incast.algorithms() for p in a.parameters}
    assert set(found.values()) == set(classes)
    # DCTCP prints g = 1/16. The median paper prints a target of about 1us for Swift, csg-htsim has 20us.
    assert found["dctcp", "g"] == found["lswift", "base_target"] == "printed"
    assert found["swift", "base_target"] == "artifact"


def test_an_algorithm_says_which_signals_a_preset_reads() -> None:
    """DCQCN answers notifications in its paper, and marks on acknowledgements in HPCC's artifact."""
    cases = {("dcqcn", "paper"): ["ecn", "cnp"], ("dcqcn", "mellanox"): ["ecn"], ("hpcc", None): ["int"]}
    for (name, preset), signals in cases.items():
        known = incast.catalogue.algorithm(name, preset)
        assert known is not None
        assert known.signals == signals, name
    assert next(one for one in incast.algorithms() if one.name == "constant").signals == []


def test_algorithms_have_a_family_and_needs() -> None:
    known = {algorithm.name: algorithm for algorithm in incast.algorithms()}
    families = [family.name for family in incast.families()]
    assert families[:6] == ["delay", "ECN", "telemetry", "spraying", "loss", "fixed"]
    assert all(algorithm.family in families and algorithm.needs for algorithm in known.values())
    assert {name: known[name].family for name in ("constant", "retcp", "oscar", "dctcp", "hpcc")} == {
        "constant": "fixed",
        "retcp": "loss",
        "oscar": "delay",
        "dctcp": "ECN",
        "hpcc": "telemetry",
    }
    others = {control.name: (control.title, control.family, control.key) for control in incast.own_controls()}
    assert others["ndp"] == ("NDP", "receiver-driven", "transport.kind")
    assert others["bfc"] == ("BFC", "in-network", "switch.bfc")
    # The transports among them are all those whose scenarios take no algorithm.
    kinds = get_args(get_args(get_type_hints(sections.Transport)["kind"])[0])
    transports = {name for name, (_, _, key) in others.items() if key == "transport.kind"}
    assert transports == set(kinds) - {"window"}
    assert {family for _, family, _ in others.values()} == set(families) - {a.family for a in known.values()}


def test_compare_takes_all_that_is_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    incast.register("breaks", Breaks)
    incast.register("demands", Demands)
    monkeypatch.setattr("incast.scenario.choice.registered", lambda: {"breaks": "", "demands": ""})
    scenario = incast.Scenario.from_toml(SMALL, "small.toml")
    with pytest.warns(RuntimeWarning, match="breaks failed: it broke"):
        made = incast.compare(scenario, cc="all")
    names = {algorithm.name for algorithm in incast.algorithms()} | {"breaks", "demands"}
    assert set(made) | set(made.left_out) | set(made.failed) == names
    assert len(made) + len(made.left_out) + len(made.failed) == len(names)
    assert list(made.failed) == ["breaks"]
    assert repr(made) == f"<Comparison of 'small': {', '.join(made)}; failed: breaks>"
    assert {"constant", "retcp", "dctcp", "dcqcn", "demands"} <= set(made.left_out)
    assert "window" in made.left_out["demands"]
    assert made["hpcc"].fingerprint == scenario.with_algorithm("hpcc").run().fingerprint
    with pytest.raises(RuntimeError, match="it broke"):
        made["breaks"]
    with pytest.raises(KeyError, match="dctcp was left out: needs ECN marks"):
        made["dctcp"]
    with pytest.raises(KeyError, match="nothing"):
        made["nothing"]
    # In the order of the groups.
    families = [family.name for family in incast.families()]
    of = {algorithm.name: families.index(algorithm.family) for algorithm in incast.algorithms()}
    places = [of[name] for name in made]
    assert places == sorted(places)


def test_compare_takes_one_text_and_raises_where_nothing_runs() -> None:
    incast.register("breaks", Breaks)
    scenario = incast.Scenario.from_toml(SMALL, "small.toml")
    made = incast.compare(scenario, "oscar, swift:oscar")
    assert list(made) == ["oscar", "swift:oscar"]
    assert repr(made) == "<Comparison of 'small': oscar, swift:oscar>"
    with pytest.raises(RuntimeError, match="it broke"):
        incast.compare(scenario, ["breaks"])
    with pytest.raises(incast.ScenarioError, match="dctcp needs ECN marks"):
        incast.compare(scenario, ["all", "dctcp"])
    with pytest.raises(incast.ScenarioError, match="'oscar' is given twice"):
        incast.compare(scenario, ["oscar", "oscar"])
