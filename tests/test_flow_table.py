"""Tables of flows: what one result holds is the traffic of another run."""

import csv
import datetime
from pathlib import Path
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pytest

import incast
from helpers import Incast
from incast import Result, sections, units


def test_the_flows_of_a_result_are_the_traffic_of_another_run(tmp_path: Path) -> None:
    table = tmp_path / "flows.csv"
    table.write_text("source,destination,size [KB],start [us]\nh0,h1,1.5,0\nh2,h1,30,2.5\nh3,h0,1e3,2.5\n")

    def run() -> incast.Result:
        return incast.Scenario.build(
            topology=sections.Star(hosts=4, rate="100Gbps", delay="1us"),
            cc="constant",
            traffic=sections.FlowTable(file=str(table)),
        ).run()

    first = run()
    columns = ["source", "destination", "size_bytes", "start_ps"]
    with table.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        rows.writerows(zip(*(first.flows.column(name) for name in columns), strict=True))
    again = run()
    assert list(first.flows.column("size_bytes")) == [1500, 30_000, 1_000_000]
    assert list(first.flows.column("start_ps")) == [0, 2_500_000, 2_500_000]
    assert again.fingerprint == first.fingerprint


CSV = "source,destination,size [KB],start,note\nh0,h1,1.5,0us,a\nh2,h1,30,2.5us,b\n1,h0,1e3,2500ns,c\n"


def frames(folder: Path) -> list[Path]:
    """One table as CSV, and as Parquet by two writers."""
    paths = [folder / name for name in ("flows.csv", "pandas.parquet", "polars.parquet")]
    paths[0].write_text(CSV)
    frame = pandas.DataFrame(
        {
            "note": ["a", "b", "c"],
            "source": pandas.Categorical(["h0", "h2", "1"]),
            "destination": ["h1", "h1", "h0"],
            "size [KB]": [1.5, 30.0, 1000.0],
            "start": pandas.to_timedelta([0, 2500, 2500], unit="ns"),
        }
    )
    frame.to_parquet(paths[1])
    columns = {"src": ["h0", "h2", "1"], "dst": ["h1", "h1", "h0"], "size_bytes": [1500, 30_000, 1_000_000]}
    polars.DataFrame(columns | {"start_us": [0.0, 2.5, 2.5], "note": [None, 1, 2]}).write_parquet(
        paths[2], compression="snappy"
    )
    return paths


def test_a_table_is_the_same_as_csv_and_as_parquet(incast: Incast) -> None:
    told, fingerprints = [], []
    for path in frames(incast.folder):
        done = incast.here("validate", path)
        assert done.returncode == 0, done.stderr
        told.append(done.stdout.replace(path.name, "NAME").replace("flows, Parquet", "flows"))
        done = incast.here("convert", path, "--to", f"{path.stem}.toml", "--cc", "constant")
        assert done.returncode == 0, done.stderr
        assert "3 flows on 3 hosts" in done.stdout
        assert "starts     0 us to 2.50 us" in done.stdout
        assert 'column "note": not read' in done.stdout
        # The name of a block is part of its flows' identity; here all three have the same.
        scenario = (incast.folder / f"{path.stem}.toml").read_text()
        assert 'kind = "flow-table"' in scenario
        done = incast.here("run", f"{path.stem}.toml", "--set", "name=x", "--out", path.stem, "--quiet")
        assert done.returncode == 0, done.stderr
        fingerprints.append(Result.open(incast.folder / path.stem).fingerprint)
    assert told[0] == told[1] == told[2]
    # "1" and "h1" are one host.
    assert "hosts      3" in told[0]
    assert "payload    1.0315MB" in told[0]
    assert fingerprints[0] == fingerprints[1] == fingerprints[2]


def test_a_data_frame_is_traffic(tmp_path: Path) -> None:
    """Columns of every kind of frame give the flows of the same CSV."""
    (tmp_path / "flows.csv").write_text(CSV)
    ends = {"source": ["h0", "h2", "1"], "destination": ["h1", "h1", "h0"]}
    kilobytes = ends | {"size [KB]": [1.5, 30, 1e3]}
    ns = numpy.array([0, 2500, 2500], dtype="timedelta64[ns]")
    duration = polars.Series("start", [0, 2500, 2500]).cast(polars.Duration("ns"))
    frames = {
        "dict": ends | {"size": [units.Bytes("1.5KB"), "30KB", "1MB"], "start": ["0s", "2.5us", "2500ns"]},
        "numpy": {name: numpy.array(column) for name, column in kilobytes.items()} | {"start": ns},
        "delta": kilobytes | {"start": [datetime.timedelta(), "2.5us", "2.5us"], "note": [None, True, 1.0]},
        "pandas": pandas.DataFrame(kilobytes | {"start": pandas.to_timedelta(ns)}),
        "polars": polars.DataFrame(kilobytes | {"start": duration}),
        "pyarrow": pyarrow.table({"start_ps": [0, 2_500_000, 2_500_000]} | kilobytes),
    }
    star = sections.Star(hosts=4, rate="100Gbps", delay="1us")

    def run(traffic: sections.FlowTable) -> incast.Result:
        return incast.Scenario.build(topology=star, cc="constant", traffic=traffic).run()

    first = run(sections.FlowTable(file=str(tmp_path / "flows.csv")))
    for name, frame in frames.items():
        traffic = incast.flow_table(frame, tmp_path / f"{name}.csv")
        assert run(traffic).fingerprint == first.fingerprint, name
    # The flows of a result, with all its columns.
    assert run(incast.flow_table(first.flows, tmp_path / "again.csv")).fingerprint == first.fingerprint


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"size [B]": [1]}, "the columns have different lengths (source: 2"),
        ({"size [B]": None}, "there is no column for: size"),
        ({"size [B]": None, "size": [1, 2]}, "flows.csv:2:9: size: a number of bytes needs its unit"),
        ({"size [B]": [1, None]}, "flows.csv:3:7: size"),
        ({"source": ["h0", "a,b"]}, "a text has a comma, a quote or the end of a line"),
        ({"start [us]": [datetime.timedelta(), 1]}, "flows.csv:2:9: start"),
        ({"start [us]": numpy.array([1, "NaT"], dtype="timedelta64[ns]")}, "a duration is missing"),
    ],
)
def test_a_data_frame_may_be_wrong(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    good = {"source": ["h0", "h1"], "destination": ["h2", "h2"], "size [B]": [1, 2], "start [us]": [0, 0]}
    frame = {name: column for name, column in (good | change).items() if column is not None}
    with pytest.raises(incast.ScenarioError) as caught:
        incast.flow_table(frame, tmp_path / "flows.csv")
    assert said in str(caught.value)


def test_what_is_no_data_frame(tmp_path: Path) -> None:
    with pytest.raises(incast.ScenarioError, match="list is no data frame"):
        incast.flow_table([1], tmp_path / "flows.csv")
    with pytest.raises(incast.ScenarioError, match="cannot write"):
        incast.flow_table({"source": ["h0"]}, tmp_path / "no" / "flows.csv")


def test_parquet_of_another_compression_says_what_to_write(incast: Incast) -> None:
    frame = polars.DataFrame({"src": ["h0"], "dst": ["h1"], "size_bytes": [1], "start_us": [0.0]})
    frame.write_parquet(incast.folder / "flows.parquet")
    done = incast.here("validate", "flows.parquet")
    assert done.returncode == 2
    assert 'column "src": compressed with ZSTD' in done.stderr
    assert 'compression="snappy"' in done.stderr


@pytest.mark.parametrize(("name", "host"), [("flows.csv", "leaf0"), ("flows.csv", "h70000")])
def test_a_table_of_named_hosts_needs_its_topology(incast: Incast, name: str, host: str) -> None:
    (incast.folder / name).write_text(CSV.replace("h0", host))
    done = incast.here("convert", name, "--to", "x.toml")
    assert done.returncode == 2
    assert "name the topology that they are in, too" in done.stderr
