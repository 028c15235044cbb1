"""The divided times of flows: `incast explain`, and what results say of them."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

from blocks import block, joined, traffic
from helpers import ROOT, SMALL, Incast, wait_until
from incast import IncastWarning, Result, Scenario, _core
from incast.cli import explained
from incast.results import limits

WINDOW = joined(
    block("[topology]", kind="star", hosts=2, rate="100Gbps", delay="1us"),
    block("[cc]", algorithm="constant", window="2108B"),
    traffic("f0", "h0", "h1", size="4KB"),
)
"""A flow of four packets with a window of two: the second case of `crates/sim/tests/limits.rs`."""

PARTS = {"sending": 337_280, "answer": 4_094_560, "window": 4_010_240}
"""Its divided time: 4 packets of 84,320 ps, and so on; the case has the arithmetic."""

OVERVIEW = """\
time of flows that count, by what kept their next packet back
class  flows  time  sending  answer  window
                us        %       %       %
-----  -----  ----  -------  ------  ------
small      1  8.44     4.00    48.5    47.5
all        1  8.44     4.00    48.5    47.5

the 1 slowest of 1 flows, by slowdown
flow  from  to  size  time  slowdown  kept back by
                  KB    us
----  ----  --  ----  ----  --------  -------------------------
f0.0  h0    h1  4.00  8.44      1.90  answer 49 %, window 48 %

The longest queue of the run: 1.05 KB at s0 port 1, to h1.
"""

ONE = "f0.0 (flow 0), h0 to h1, 4.00 KB: 8.44 us, 1.90 times its ideal time\n"


def run(incast: Incast, text: str, out: str) -> Path:
    (incast.folder / f"{out}.toml").write_text(text)
    done = incast.here("run", f"{out}.toml", "--out", out, "--quiet")
    assert done.returncode == 0, done.stderr
    return incast.folder / out


def fits(text: str) -> bool:
    return all(len(line) <= 80 for line in text.splitlines())


def test_a_window_of_two_packets_is_explained(incast: Incast) -> None:
    folder = run(incast, WINDOW, "two")
    result = Result.open(folder)
    of = result.limits_of("f0.0")
    assert {name: time for name, time in of.items() if time} == PARTS
    parts = [name.removesuffix("_ps") for name in result.limits.columns[2:]]
    assert [*of, "window_queued", "answer_queued"] == parts
    shares = result.limit_shares()
    assert shares["window"] == pytest.approx(4_010_240 / 8_442_080)
    assert sum(shares.values()) == pytest.approx(1)
    assert sum(result.limit_shares(np.array([False])).values()) == 0
    # Under no algorithm that could hold it back.
    assert result.held_back == 0

    done = incast.here("explain", "two")
    assert done.returncode == 0
    assert [line.rstrip("-") for line in done.stdout.partition("\n\n")[2].splitlines()] == [
        line.rstrip("-") for line in OVERVIEW.splitlines()
    ]
    one = incast.here("explain", "two", "--flow", "f0.0").stdout
    assert ONE in one
    (window,) = (line for line in one.splitlines() if line.startswith("window"))
    assert window.split(maxsplit=3)[:3] == ["window", "4.01", "47.5"]
    assert "as many bytes in flight" in " ".join(one.split())
    assert incast.here("explain", "two", "--flow", "0").stdout == one
    summary = result.info["summary"]["limits"]
    assert [(row["class"], row["flows"], row["time_ps"]) for row in summary] == [
        ("small", 1, 8_442_080),
        ("large", 0, 0),
        ("all", 1, 8_442_080),
    ]
    assert {name: time for name, time in summary[2]["limits_ps"].items() if time} == PARTS


def test_what_queues_add_is_told(incast: Incast) -> None:
    # Two packets meet at the switch, and the second one waits for the first: 84,320 ps.
    text = joined(
        block("[topology]", kind="star", hosts=3, rate="100Gbps", delay="1us"),
        block("[cc]", algorithm="constant"),
        traffic("f", ["h1", "h2"], "h0", size="1KB"),
    )
    result = Result.open(run(incast, text, "two"))
    assert result.limits.column("answer_queued_ps").tolist() == [0, 84_320]
    assert result.limits.column("window_queued_ps").tolist() == [0, 0]
    answers = [result.limits_of(flow)["answer"] for flow in (0, 1)]
    assert answers == [4_094_560, 4_178_880]
    first, second = (" ".join(incast.here("explain", "two", "--flow", flow).stdout.split()) for flow in "01")
    assert "waits for acknowledgements; queues added 0.0843 us of it" in second
    assert "queues added" not in first


def test_rows_are_those_of_flows(incast: Incast) -> None:
    # One flow does not start before the end, another one is open then.
    late = traffic("late", "h1", "h3", size="200KB", start="250us")
    text = SMALL.replace('until = "1ms"', 'until = "60us"')
    result = Result.open(run(incast, joined(text, late), "small"))
    flows, divided = result.flows, result.limits
    assert divided.column("flow").tolist() == flows.column("flow").tolist()
    parts = [divided.column(f"{name}_ps") for name in limits.names(result)]
    total = np.asarray(np.sum(parts, axis=0))
    assert total.tolist() == divided.column("time_ps").tolist()
    # The long flow, the two of the burst from 50 us on, the late one.
    assert divided.column("time_ps").tolist() == [60_000_000, 10_000_000, 10_000_000, 0]
    shown = incast.here("explain", "small")
    assert shown.returncode == 0
    assert fits(shown.stdout)


def test_a_killed_run_is_explained_as_far_as_it_was_saved(incast: Incast) -> None:
    # Two flows of the burst end soon and are saved; the long one would take as long as anyone waits.
    (incast.folder / "long.toml").write_text(SMALL)
    endless = ("--set", "run.until=1000s", "--set", "traffic.long.size=900GB")
    process = incast.start("run", "long.toml", "--out", "out", "--quiet", *endless)
    wait_until(lambda: bool(list(incast.folder.glob("out/limits/part-*.parquet"))), process)
    process.kill()
    process.communicate()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IncastWarning)
        result = Result.open(incast.folder / "out")
    divided = result.limits
    assert len(divided) == 2
    parts = [divided.column(f"{name}_ps") for name in limits.names(result)]
    assert np.asarray(np.sum(parts, axis=0)).tolist() == divided.column("time_ps").tolist()
    for options in ([], ["--flow", str(divided.column("flow")[0])]):
        shown = incast.here("explain", "out", *options)
        assert shown.returncode == 0, shown.stderr
        assert "NOT COMPLETE: the run was killed" in shown.stdout
        assert fits(shown.stdout)


def test_timeouts_and_the_longest_queue_are_named(incast: Incast) -> None:
    # Four packets of 1054 B meet at a switch with 4216 B. The first one leaves at once; the second and the
    # third wait: 2108 B. With the fourth the queue would be 3162 B, longer than the 2108 B that are free.
    text = joined(
        block("[topology]", kind="star", hosts=5, rate="100Gbps", delay="1us"),
        block("[switch]", buffer="4216B", pfc=False),
        block("[cc]", algorithm="constant"),
        traffic("burst", ["h1", "h2", "h3", "h4"], "h0", size="1KB"),
    )
    run(incast, text, "four")
    shown = incast.here("explain", "four").stdout
    lines = {line.split()[0]: line.split()[6:] for line in shown.splitlines() if line.startswith("burst.")}
    assert lines["burst.3"] == ["repair", "100", "%;", "1", "timeout,", "1", "resent"]
    assert [lines[f"burst.{place}"] for place in range(3)] == [["answer", "98", "%"]] * 3
    queue = "2.11 KB at s0 port 0, to h0, which dropped 1 packet."
    assert " ".join(shown.split()).endswith(f"The longest queue of the run: {queue}")
    assert fits(shown)
    one = incast.here("explain", "four", "--flow", "burst.3").stdout
    assert f"1 timeout, 1 resent; the longest queue before its receiver: {queue}" in " ".join(one.split())
    other = incast.here("explain", "four", "--flow", "burst.0").stdout
    assert f"The longest queue before its receiver: {queue}" in " ".join(other.split())
    assert "timeout" not in other


def test_the_queue_of_slow_flows_may_be_another_one(incast: Incast) -> None:
    # Two packets meet before h0, and one waits: 1054 B. Three meet before h1, and two wait: 2108 B. Windows
    # of a packet make the first two flows the slowest.
    text = joined(
        block("[topology]", kind="star", hosts=7, rate="100Gbps", delay="1us"),
        block("[cc]", algorithm="constant"),
        traffic("two", ["h2", "h3"], "h0", size="4KB", cc={"algorithm": "constant", "window": "1054B"}),
        traffic("three", ["h4", "h5", "h6"], "h1", size="1KB"),
    )
    run(incast, text, "both")
    shown = " ".join(incast.here("explain", "both", "--worst", "2").stdout.split())
    assert "The longest queue of the run: 2.11 KB at s0 port 1, to h1." in shown
    assert "Of the last queues of these flows: 1.05 KB at s0 port 0, to h0." in shown


def test_mistakes_are_explained(incast: Incast) -> None:
    folder = run(incast, SMALL, "small")
    for flow, says in (
        ("x", "no flow is called 'x'; traffic blocks with flows: long, burst"),
        ("burst", "'burst' means 2 flows; write burst.0 for the first"),
        ("99", "there is no flow 99"),
    ):
        done = incast.here("explain", "small", "--flow", flow)
        assert (done.returncode, done.stdout) == (2, "")
        assert says in done.stderr
    assert incast.here("explain", "small", "--flow", "0", "--worst", "3").returncode == 2
    # A result of a version before the table.
    shutil.copytree(folder, incast.folder / "old")
    old = incast.folder / "old"
    (old / "limits.parquet").unlink()
    info = json.loads((old / "result.json").read_text())
    # Results of that format have no digests.
    del info["files"], info["digest"]
    info["format_version"] = 1
    (old / "result.json").write_text(json.dumps(info))
    done = incast.here("explain", "old")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"Incast {info['incast_version']}, which made it, did not divide" in done.stderr
    assert "help: incast run old/scenario.toml runs it again" in done.stderr
    assert Result.open(old).held_back is None


def test_a_sweep_is_no_result_and_its_results_are_named(incast: Incast) -> None:
    (incast.folder / "s.toml").write_text(WINDOW)
    assert incast.here("sweep", "s.toml", "--vary", "cc.window=2108B,4216B", "--out", "sw").returncode == 0
    for command in ("show", "audit"):
        done = incast.here(command, "sw")
        assert done.returncode != 0
        first, help_, *named = done.stderr.splitlines()
        assert first == "incast: sw is a sweep, not a result"
        assert "`incast table sw`" in help_
        assert [line.split()[1] for line in named] == ["2108B", "4216B"]
    assert incast.here("explain", named[0].split()[0]).returncode == 0


RUNS = """\
joined: time of flows that count, by what kept their next packet back
window  seed  flows  time  sending  answer  window  kept back by
                       us        %       %       %
------  ----  -----  ----  -------  ------  ------  ------------
2108B      1      1  8.44     4.00    48.5    47.5  answer
2108B      2      1  8.44     4.00    48.5    47.5  answer
4216B      1      1  4.43     7.61    92.4       0  answer
4216B      2      1  4.43     7.61    92.4       0  answer

the flows of one run
"""
"""By hand: a window of four packets lets all of them go at once, for 337.28 ns; the last one's answer is
there 4,094.56 ns later, as in the other case. 337.28 of 4,431.84 ns are 7.61 %."""


def test_a_sweep_has_a_row_for_each_of_its_runs(incast: Incast) -> None:
    (incast.folder / "joined.toml").write_text(WINDOW)
    vary = ("--vary", "cc.window=2108B,4216B", "--seeds", "2")
    assert incast.here("sweep", "joined.toml", *vary, "--out", "sw").returncode == 0
    done = incast.here("explain", "sw")
    assert done.returncode == 0
    assert done.stdout.startswith(RUNS)
    commands = done.stdout.removeprefix(RUNS).splitlines()
    assert [line.partition("  # ")[2] for line in commands] == [
        f"{window}, seed {seed}" for window in ("2108B", "4216B") for seed in (1, 2)
    ]
    words = commands[0].partition("  # ")[0].split()
    assert words[:2] == ["incast", "explain"]
    assert "answer 49 %, window 48 %" in incast.here("explain", words[2]).stdout
    for option in (("--flow", "f0.0"), ("--worst", "3"), ("--hops",)):
        refused = incast.here("explain", "sw", *option)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"{option[0]} is about the flows of one run, and sw is a sweep" in refused.stderr


def test_many_runs_of_a_sweep_have_a_row_for_each_combination(
    incast: Incast, monkeypatch: pytest.MonkeyPatch
) -> None:
    (incast.folder / "joined.toml").write_text(WINDOW)
    vary = ("--vary", "cc.window=2108B,4216B", "--seeds", "2")
    assert incast.here("sweep", "joined.toml", *vary, "--out", "sw").returncode == 0
    monkeypatch.setattr(explained, "MOST_RUNS", 3)
    lines = explained.text(incast.folder / "sw").splitlines()
    assert [line.split()[:3] for line in lines if "answer" in line][1:] == [
        ["2108B", "2", "2"],
        ["4216B", "2", "2"],
    ]


def test_the_declared_limits_are_those_of_the_result() -> None:
    (table,) = (table for table in _core.tables() if table.name == "limits")
    assert [column.name for column in table.columns][:3] == ["flow", "time_ps", "sending_ps"]
    assert table.optional


def burst(size: str, algorithm: str = "swift") -> str:
    """255 hosts send one host a flow of this size each, at once."""
    return joined(
        block("[topology]", kind="star", hosts=256, rate="100Gbps", delay="3us"),
        block("[switch]", buffer="unlimited"),
        block("[cc]", algorithm=algorithm),
        traffic("burst", ["h1-h255"], "h0", size=size),
    )


@pytest.mark.parametrize(
    ("size", "algorithm", "warns"),
    [("100KB", "swift", True), ("1MB", "swift", False), ("100KB", "constant", False)],
)
def test_a_run_says_that_its_algorithm_decided_nothing(size: str, algorithm: str, warns: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IncastWarning)
        result = Scenario.from_toml(burst(size, algorithm)).run()
    said = [str(warning) for warning in result.warnings if "held back" in str(warning)]
    assert len(said) == warns
    if warns:
        assert "255 of 255 flows needed more than 1.1 times their ideal time" in said[0]
    assert (result.held_back == 0) == (warns or algorithm == "constant")


def test_a_lone_flow_needs_no_warning() -> None:
    result = Scenario.from_toml(WINDOW.replace("constant", "swift").replace('window = "2108B"\n', "")).run()
    assert not [warning for warning in result.warnings if "held back" in str(warning)]


GOAL = """\
num_ranks 2

rank 0 {
l0: calc 10000
s0: send 1000b to 1 tag 0
s0 requires l0
}

rank 1 {
r0: recv 1000b from 0 tag 0
l1: calc 5000
l1 requires r0
}
"""
"""The first rank computes 10 us and sends a packet; the second one receives it and computes 5 us."""


def test_a_job_is_divided_along_its_chain(incast: Incast) -> None:
    (incast.folder / "job.goal").write_text(GOAL)
    text = joined(
        block("[topology]", kind="star", hosts=2, rate="100Gbps", delay="1us"),
        block("[cc]", algorithm="constant"),
        block("[[traffic]]", name="job", kind="goal-file", file="job.goal"),
    )
    result = Result.open(run(incast, text, "job"))
    jobs = result.job_limits
    of = {name: int(jobs.column(name)[0]) for name in jobs.columns[1:]}
    # The packet takes 84,320 ps at each of two links of 1 us: it arrives 2,168,640 ps after its first bit has
    # left, of which 84,320 ps were sending. The rest of the wait for the answer comes after the receive.
    assert {name: time for name, time in of.items() if time} == {
        "time_ps": 17_168_640,
        "computing_ps": 15_000_000,
        "sending_ps": 84_320,
        "answer_ps": 2_084_320,
    }
    assert of["time_ps"] == result.jobs.column("jct_ps")[0]
    shown = incast.here("explain", "job").stdout
    assert "the 1 slowest of 1 jobs, along the operations that decided their ends" in shown
    (line,) = (line for line in shown.splitlines() if line.startswith("job  ") and "time" not in line)
    assert line.split() == ["job", "17.2", "87.4", "0.491", "12.1"]
    assert fits(shown)


def test_the_chains_of_an_all_reduce_add_up(incast: Incast) -> None:
    (incast.folder / "workloads").mkdir()
    shutil.copy(ROOT / "examples" / "workloads" / "allreduce_8.goal", incast.folder / "workloads")
    result = Result.open(run(incast, (ROOT / "examples" / "goal.toml").read_text(), "ring"))
    jobs = result.job_limits
    parts = sum(int(jobs.column(name)[0]) for name in jobs.columns[2:])
    assert parts == int(jobs.column("time_ps")[0]) == int(result.jobs.column("jct_ps")[0])
    assert jobs.column("computing_ps")[0] >= 20_000_000
    # Fourteen steps of 131 KB at 100 Gbps, on the longest chain of the ring.
    assert jobs.column("sending_ps")[0] > 14 * 131_072 * 80


def test_a_comparison_says_that_it_cannot_tell(incast: Incast) -> None:
    (incast.folder / "burst.toml").write_text(burst("100KB"))
    says = "No flow was held back by any of these algorithms"
    done = incast.here("compare", "burst.toml", "--cc", "swift,timely", "--quiet")
    assert done.returncode == 0
    assert says in done.stdout
    (incast.folder / "long.toml").write_text(burst("1MB").replace("h255", "h20"))
    done = incast.here("compare", "long.toml", "--cc", "swift,timely", "--quiet")
    assert says not in done.stdout


def test_the_picture_has_a_bar_for_each_limit() -> None:
    from matplotlib.patches import Rectangle

    from incast import plot

    result = Scenario.from_toml(WINDOW).run()
    axes = plot.limits(result)
    labels = axes.get_legend_handles_labels()[1]
    assert labels == ["sending", "answer", "window"]
    heights = [float(bar.get_bbox().height) for bar in axes.patches if isinstance(bar, Rectangle)]
    assert heights == pytest.approx([100 * PARTS[name] / 8_442_080 for name in labels])


SWITCHES: dict[str, dict[str, object]] = {"window": {}, "ndp": {"trimming": {}}, "homa": {"queues": 8}}


@pytest.mark.parametrize("kind", list(SWITCHES))
def test_counts_over_time_are_of_the_flows_that_are_open(kind: str) -> None:
    # 600 KB in all onto one link, with a break in which no flow is open.
    text = joined(
        block("[topology]", kind="star", hosts=4, rate="100Gbps", delay="1us"),
        block("[transport]", kind=kind),
        block("[switch]", **SWITCHES[kind]),
        block("[cc]", algorithm="swift") if kind == "window" else "",
        traffic("first", ["h1", "h2", "h3"], "h0", size="100KB"),
        traffic("second", ["h1", "h2", "h3"], "h0", size="100KB", start="100us"),
        block("[probe]", limits="1us", until="300us"),
    )
    result = Scenario.from_toml(text).run()
    flows, counts = result.flows, result.limit_series
    time, number = counts.column("time_ps"), counts.column("flows")
    for at in range(0, 300_000_000, 1_000_000):
        is_open = (flows.column("start_ps") <= at) & (at < flows.column("finish_ps"))
        assert number[time == at].sum() == is_open.sum()
    assert set(counts.column("limit").tolist()) <= set(limits.names(result))
    if kind != "window":
        assert number[counts.column("limit") == "credit"].sum() > 0
    # The picture has one stack of steps, and nothing in the break.
    instants, found = limits.counts(result)
    assert instants[0] == 0
    total = np.sum(list(found.values()), axis=0)
    assert total[50] == 0 < total[105]
    _, second = limits.counts(result, "second")
    assert sum(map(np.sum, second.values())) == number[counts.column("group") == "second"].sum()


def test_counts_of_a_window_of_two_packets() -> None:
    from incast import plot

    result = Scenario.from_toml(joined(WINDOW, block("[probe]", limits="1us"))).run()
    # The window holds from 169 ns to 4,179 ns; two packets follow the first answer until 4,348 ns; the
    # last answer comes at 8,442 ns.
    rows = [(0, "sending", 1)]
    rows += [(at, "window", 1) for at in range(1, 5)] + [(at, "answer", 1) for at in range(5, 9)]
    table = result.limit_series
    columns = (table.column(name).tolist() for name in ("time_ps", "limit", "flows"))
    assert [(time // 1_000_000, limit, flows) for time, limit, flows in zip(*columns, strict=True)] == rows
    axes = plot.limits(result, by="time")
    assert axes.get_legend_handles_labels()[1] == ["sending", "answer", "window"]
    steps = {patch.get_label(): patch.get_data() for patch in axes.patches if hasattr(patch, "get_data")}
    for values, edges, baseline in steps.values():
        assert edges == pytest.approx(np.arange(10.0))
        assert len(values) == len(baseline) == 9
    heights = {name: (values - baseline).tolist() for name, (values, _, baseline) in steps.items()}
    assert heights == {
        "sending": [1, 0, 0, 0, 0, 0, 0, 0, 0],
        "answer": [0, 0, 0, 0, 0, 1, 1, 1, 1],
        "window": [0, 1, 1, 1, 1, 0, 0, 0, 0],
    }
    with pytest.raises(ValueError, match=r"probe\] limits"):
        plot.limits(Scenario.from_toml(WINDOW).run(), by="time")
    with pytest.raises(ValueError, match="there are f0"):
        plot.limits(result, by="time", group="x")
    with pytest.raises(ValueError, match='by must be "size" or "time"'):
        plot.limits(result, by="hop")
