"""Short runs: their tables are printed without arrays, and their time is divided into parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers import PLUGIN, ROOT, Incast
from incast import Result, Scenario
from incast.cli.timed import NOT_MADE
from incast.results import censored
from incast.results.listing import of_results
from incast.results.pooled import tail_index

PARTS = ("reading", "building", "hosts", "switches", "events", "recording", "writing")

NETWORK = '[topology]\nkind="star"\nhosts=16\nrate="100Gbps"\ndelay="1us"\n[cc]\nalgorithm="swift"\n'


@pytest.fixture(scope="module")
def microburst() -> Result:
    return Scenario.load(ROOT / "examples/microburst.toml").run()


def test_lists_have_the_values_of_columns(microburst: Result) -> None:
    compared = 0
    for table in (microburst.flows, microburst.ports, microburst.port_series, microburst.flow_series):
        for name in table.columns:
            values, column = table.to_list(name), table.column(name)
            assert [type(value) for value in values] == [type(value) for value in column.tolist()], name
            np.testing.assert_array_equal(np.array(values, dtype=column.dtype), column)
            compared += len(values)
    # Numbers, flags, texts, and numbers that are missing.
    assert compared > 5_000
    assert np.isnan(microburst.flows.to_list("size_bytes")).sum() == 1
    with pytest.raises(KeyError, match='no column "fct"; did you mean "fct_ps"'):
        microburst.flows.to_list("fct")


def test_a_burst_is_found_without_arrays_as_with_them(microburst: Result) -> None:
    node, port = microburst.probed_ports()[0]
    flows, series, totals = microburst.flows, microburst.port_series, microburst.ports
    start, end = microburst.all_flows_active()
    assert start == flows.column("start_ps").max() == 52_000_000
    sent = (flows.column("delivered_ps") - flows.column("base_rtt_ps"))[flows.column("finished")]
    assert end == sent.min()
    for interval in ((start, end), (0, 10**9), (start + 1, start + 999_999), (end, start), (10**9, 10**12)):
        counted = microburst.count_samples(node, port, *interval)
        assert counted == microburst.port(node, port).between(*interval), interval
    assert microburst.count_samples(node, port, start, end) > 100
    assert microburst.count_samples(node, port + 1, start, end) == 0
    here = (totals.column("node") == node) & (totals.column("port") == port)
    for name in ("rate_bps", "peak_queue_bytes"):
        assert microburst.port_total(name, node, port) == totals.column(name)[here][0]
    assert microburst.port_total("rate_bps", "to h15") == 100 * 10**9
    with pytest.raises(KeyError, match="there is no port 99 of s0"):
        microburst.port_total("rate_bps", "s0", 99)
    # The mean of the summary, which the table has, is the one of the samples.
    mean = np.average(series.column("queue_bytes"), weights=series.column("samples"))
    assert microburst.info["summary"]["ports"][0]["queue"]["mean_bytes"] == pytest.approx(mean, rel=1e-12)


def test_flows_that_do_not_end_leave_a_burst_open(microburst: Result) -> None:
    endless = Scenario.load(ROOT / "examples/microburst.toml", ["run.until=60us"]).run()
    assert endless.all_flows_active() == (52_000_000, 60_000_000)
    flow = '[[traffic]]\nname="a"\nkind="flows"\nfrom="h0"\nto="h1"\nsize="1KB"\nstart="2us"\n'
    alone = Scenario.from_toml(NETWORK + flow).run()
    start, end = alone.all_flows_active()
    assert start == 2_000_000
    assert end >= start
    assert microburst.all_flows_active()[1] < microburst.info["outcome"]["now_ps"]


@pytest.mark.parametrize("flows", [3, 120])
def test_few_flows_are_counted_from_the_summary(flows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = "".join(
        f'[[traffic]]\nname="a{n}"\nkind="flows"\nfrom="h{1 + n % 15}"\nto="h0"\nsize="{10 + 5 * n}KB"\n'
        for n in range(flows)
    )
    result = Scenario.from_toml(NETWORK + blocks).run()
    wanted = {}
    for name in ("small", "large", "all"):
        values, _ = censored.of_class(result, name)
        wanted[name] = (len(values), tail_index(values))
    assert wanted["all"][0] == flows
    assert (wanted["all"][1] is None) == (flows < 100)
    looked: list[str] = []
    inner = censored.of_class

    def look(of: Result, name: str) -> object:
        looked.append(name)
        return inner(of, name)

    monkeypatch.setattr(censored, "of_class", look)
    assert {name: of_results._behind(result, name) for name in wanted} == wanted
    assert ("all" in looked) == (flows >= 100)


def shown(text: str) -> dict[str, list[str]]:
    """Returns the cells of the table of parts."""
    lines = text.partition("where the time went\n")[2].splitlines()[3:]
    return {words[0]: words[1:] for line in lines if (words := line.split()) and words[0] in PARTS}


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_profile_says_where_the_time_went(incast: Incast, scenario: Path, threads: str) -> None:
    plain = incast("run", scenario, "--out", "plain")
    timed = incast("run", scenario, "--out", "timed", "--profile", "--threads", threads)
    assert timed.returncode == 0
    assert "where the time went" not in plain.stdout
    assert (
        Result.open(incast.folder / "timed").fingerprint == Result.open(incast.folder / "plain").fingerprint
    )
    parts = shown(timed.stdout)
    assert tuple(parts) == PARTS
    # Each with its time and its share; nodes with their visits and the time of one.
    assert {name for name, cells in parts.items() if len(cells) == 4} == {"hosts", "switches"}
    shares = [float(cells[1]) for cells in parts.values()]
    assert sum(shares) == pytest.approx(100, abs=0.5)
    for name in ("hosts", "switches"):
        milliseconds, _, visits, nanoseconds = (float(cell.replace(",", "")) for cell in parts[name])
        assert visits > 100
        whole = visits * nanoseconds * 1e-6 / int(threads)
        assert milliseconds == pytest.approx(whole, rel=0.02, abs=0.001)
    assert ("waiting for the slowest" in " ".join(timed.stdout.split())) == (threads == "2")
    assert all(len(line) <= 80 for line in timed.stdout.splitlines())


def test_a_result_that_was_there_has_no_times(incast: Incast, scenario: Path) -> None:
    incast("run", scenario, "--quiet")
    again = incast("run", scenario, "--profile")
    assert again.stdout.rstrip().endswith(NOT_MADE)
    fresh = incast("run", scenario, "--profile", "--fresh")
    assert tuple(shown(fresh.stdout)) == PARTS


def test_times_of_a_run_from_python() -> None:
    scenario = Scenario.load(ROOT / "examples/microburst.toml", ["run.until=200us"])
    assert scenario.run().times is None
    result = scenario.run(profile=True)
    times = result.times
    assert times is not None
    assert times.threads == 1
    assert min(times.prepare_s, times.engine_s, times.write_s, times.hosts_s, times.switches_s) > 0
    assert times.records_s >= 0
    # Of the engine, which the outcome has with preparation and records.
    assert times.engine_s < result.info["outcome"]["wall_s"]
    assert times.host_visits + times.switch_visits < result.info["outcome"]["hops"]


def test_an_algorithm_in_python_is_a_part_of_the_hosts(incast: Incast, scenario: Path) -> None:
    slow = PLUGIN.replace("        pass\n", "        sum(range(2000))\n")
    assert slow != PLUGIN
    (incast.folder / "slow.py").write_text(slow)
    done = incast("run", scenario, "--plugin", "slow.py", "--set", "cc.algorithm=fixed-rate", "--profile")
    parts = shown(done.stdout)
    hosts, switches = (float(parts[of][0].replace(",", "")) for of in ("hosts", "switches"))
    assert hosts > 5 * switches
