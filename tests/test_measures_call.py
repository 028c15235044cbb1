"""Calls of measures, as the command line and files have them."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

import incast
from blocks import block, joined, star, traffic
from incast import Result, Scenario
from incast.results.decide import Values, difference
from incast.results.measures import MEASURES, Call, call
from incast.results.measures.named import NAMED

TWO = joined(
    star(4, "100Gbps", "1us", run={"until": "1ms"}),
    block("[cc]", algorithm="hpcc"),
    traffic("near", ["h0", "h1"], "h3", size="100KB"),
    traffic("far", "h2", "h3", size="300KB", start="5us"),
    block("[probe]", flows=["all"], ports=["s0->h3"], interval="1us"),
)


@pytest.fixture(scope="module")
def result() -> Result:
    return Scenario.from_toml(TWO).run(threads=1)


@pytest.mark.parametrize(
    ("text", "name", "arguments", "column"),
    [
        ("p99.small", "p99.small", {}, "p99.small"),
        ("p99.small(near)", "p99.small", {"block": "near"}, "p99.small(near)"),
        ("jobs.mean", "jobs.mean", {}, "jobs.mean_ps"),
        ("queue(all, p99)", "queue", {"port": "all", "stat": "p99"}, "queue(all,p99)_bytes"),
        (
            "fair = fairness(near, start=1us, end=5us)",
            "fairness",
            {"flows": ["near"], "start": "1us", "end": "5us"},
            "fair",
        ),
        (
            "share([near.0, far], of=[near, far], from=end(near)-5us)",
            "share",
            {"flows": ["near.0", "far"], "of": ["near", "far"], "start": "end(near)-5us"},
            "share([near.0,far],[near,far],end(near)-5us)",
        ),
        (
            "queue(s0 -> h3, to=9us)",
            "queue",
            {"port": "s0 -> h3", "end": "9us"},
            "queue(s0->h3,end=9us)_bytes",
        ),
        ("resent", "resent", {}, "resent"),
        ("resent(near)", "resent", {"group": "near"}, "resent(near)"),
        ("slowdown(p50, of=fct)", "slowdown", {"stat": "p50", "of": "fct"}, "slowdown(p50,of=fct)_ps"),
        ("flows(finished=false)", "flows", {"finished": False}, "flows(finished=false)"),
        (
            "fairness(near, fair=[1, 2])",
            "fairness",
            {"flows": ["near"], "fair": [1, 2]},
            "fairness([near],fair=[1,2])",
        ),
        ("job_time()", "job_time", {}, "job_time()_ps"),
    ],
)
def test_calls_are_read(text: str, name: str, arguments: dict[str, object], column: str) -> None:
    read = Call.read(text)
    assert (read.name, dict(read.arguments), read.column) == (name, arguments, column)
    # What is written again is the same call.
    again = Call.read(read.text)
    assert (again.name, again.text) == (read.name, read.text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("p99.smal", 'there is no measure "p99.smal"; did you mean "p99.small"?'),
        ("quue(all)", 'there is no measure "quue"; did you mean "queue"?'),
        ("queue", '"queue" takes arguments in brackets: queue(port, stat=mean, start=…, end=…)'),
        ("queue(", "'queue(' is not a measure; write one like p99.small or fair = fairness(long, end=5ms)"),
        ("queue()", "the measure 'queue': missing: port"),
        ("queue(all, colour=1)", "the measure 'queue': unknown: colour"),
        ("queue(all, p99,)", "'queue(all, p99,)' has an empty argument"),
        ("queue(all, port=x)", "the measure 'queue': port is given twice"),
        ("queue(all, start=1us, from=2us)", "'queue(all, start=1us, from=2us)' has from twice"),
        (
            "queue(stat=p99, all)",
            "'queue(stat=p99, all)': 'all' has no name, but stands after arguments with names",
        ),
        ("queue([a, b])", "the measure 'queue': port takes one value, not a list"),
        ("fairness([a, b)", "'fairness([a, b)': its brackets do not match"),
        ("fairness(a, end=)", "'fairness(a, end=)': end has no value"),
        ("fairness(a, fair=[x])", "the measure 'fairness': fair takes numbers, not ['x']"),
        ("slowdown(p99, censored=1)", "the measure 'slowdown': censored is true or false, not '1'"),
        ("dropped(a)", "dropped is not known by traffic block"),
        ("p99.small()", "p99.small takes one traffic block at most: p99.small(web)"),
        ("p99.small(a, b)", "p99.small takes one traffic block at most: p99.small(web)"),
        ("p99.small([a])", "p99.small takes one traffic block, not a list"),
        ("cct(a, b)", "cct(group) takes 1 arguments, not 2"),
    ],
)
def test_what_is_no_call(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # its whole text is compared
        Call.read(text)
    assert str(caught.value) == problem


def test_numbers_of_a_block_are_of_its_flows(result: Result) -> None:
    flows = result.flows
    for name in ("near", "far"):
        slowdowns = flows.column("slowdown")[flows.column("group") == name]
        assert incast.measure(result, f"mean.all({name})").value == pytest.approx(slowdowns.mean(), rel=1e-12)
        assert incast.measure(result, "p99.all", name).value == max(slowdowns)
    # Both flows of near are small, that of far is large.
    assert incast.measure(result, "mean.small", "near") == incast.measure(result, "mean.small")
    with pytest.raises(ValueError, match=r"the run 'scenario' has no mean\.small\(far\)"):
        incast.measure(result, "mean.small", "far")
    with pytest.raises(ValueError, match="no traffic block 'web' in the run 'scenario'; there are near, far"):
        incast.measure(result, "mean.small", "web")
    assert incast.measure(result, "unfinished.flows(near)").value == 0


def test_a_single_block_is_all_of_the_run() -> None:
    scenario = joined(
        star(3, "100Gbps", "1us"),
        block("[cc]", algorithm="hpcc"),
        traffic("one", ["h0", "h1"], "h2", size="400KB"),
    )
    result = Scenario.from_toml(scenario).run(threads=1)
    assert incast.measure(result, "p99.all(one)") == incast.measure(result, "p99.all")
    with pytest.raises(ValueError, match="no traffic block 'two'"):
        incast.measure(result, "p99.all(two)")


def test_texts_and_python_say_the_same(result: Result) -> None:
    found = incast.measure(result, "fairness", ["near", "far"], "1us", "20us")
    assert found == incast.measure(result, "fairness([near, far], start=1us, end=20us)")
    assert found == incast.measure(result, "fairness", ["near", "far"], start="1us", end="20us")
    assert incast.measure(result, "queue", "s0->h3", stat="max").value > 0
    with pytest.raises(ValueError, match="the run has no jobs"):
        incast.measure(result, "job_time")
    with pytest.raises(ValueError, match=r"no port is called 's0->h9'; write one like s0:15 or s0->h15"):
        incast.measure(result, "queue(s0->h9)")


def test_a_time_in_a_column_is_in_picoseconds(result: Result) -> None:
    slowest = float(result.flows.column("fct_ps").max())
    found = Call.read("slowdown(p100, of=fct)").of(result)
    assert found.dimension == "time"
    assert call.in_column(found) == slowest
    assert (
        call.in_column(incast.measure(result, "queue(s0->h3, max)"))
        == result.port("s0->h3").queue_bytes.max()
    )
    never = Call.read("recovery(s0->h3, 0us, 20us, level=200%, step=1us)").of(result)
    assert call.in_column(never) == math.inf


EXAMPLES = {
    "allowance": "allowance(far, window)",
    "reaches": "reaches(far, window, 0.1, 6us)",
    "largest_step": "largest_step(far, window)",
    "straightness": "straightness(near.0, rate, 1us, 9us)",
    "goodput": "goodput(far)",
    "wire_rate": "wire_rate(far, 54B, 1000B)",
    "goodput_in_steps": "goodput_in_steps(far, mean, 5us, 6us, 26us)",
    "share_of_line": "share_of_line(far, parts=3)",
    "mean_share": "mean_share([near], 1us, 15us, 2)",
    "jain": "jain([near.0, near.1], 1us, 15us)",
    "fair_after": "fair_after([near.0, near.1], 90%, 5us, 1us, 16us)",
    "rtt": "rtt(far, p99)",
    "rtt_below": "rtt_below(far, 1ms, 6us)",
    "rtt_last_above": "rtt_last_above(far, 1us, 6us)",
    "slowdown": "slowdown(p99, up_to=150KB)",
    "flows": "flows(up_to=150KB)",
    "cct": "cct(near)",
    "cct_bound": "cct_bound(near)",
    "cct_increase": "cct_increase(near)",
    "last_over_bound": "last_over_bound(near)",
    "cost_in_packets": "cost_in_packets(near)",
    "completion": "completion(near, mean)",
    "resent": "resent(near)",
    "queue": "queue(all, p99)",
    "peak_queues": "peak_queues()",
    "settling": "settling(s0->h3)",
    "direction_changes": "direction_changes(s0->h3, 1B, 100KB, 1us, 30us)",
    "peak_queue": "peak_queue(s0->h3)",
    "nonempty": "nonempty(s0->h3)",
    "queue_below": "queue_below(s0->h3, 1KB, 0us)",
    "utilisation": "utilisation(s0->h3)",
    "unused": "unused(s0->h3, 1us, 20us)",
    "lowest_utilisation": "lowest_utilisation(s0->h3, 5us)",
    "lost_time": "lost_time(s0->h3, 1us, 20us)",
    "recovery": "recovery(s0->h3, 1us, 20us, 10%, 5us)",
    "regained": "regained(s0->h3, 1us, 20us, 10%, 5us)",
    "congestion": "congestion(s0->h3, far)",
    "buffer": "buffer(s)",
    "lost_packets": "lost_packets()",
    "pauses": "pauses()",
    "carried": "carried([near, far], s0->h3, 5us, 20us)",
    "share": "share(far, [near, far])",
    "fairness": "fairness([near, far])",
    "fairness_over_time": "fairness_over_time([near, far], 2us, 5us, 15us)",
}
ELSEWHERE = {"internal", "internal_share", "job_time"}
"""Measures of what this run does not record; their own tests have them."""


def test_every_measure_has_the_dimension_that_it_declares(result: Result) -> None:
    assert EXAMPLES.keys() | ELSEWHERE == MEASURES.keys()
    for text in EXAMPLES.values():
        read = Call.read(text)
        found = read.of(result)
        declared = "number" if read.dimension == "count" else read.dimension
        assert found.dimension == declared, text


def test_directions_for_comparisons(result: Result) -> None:
    fair = Call.read("fair = fairness([near, far])").measure
    assert (fair.name, fair.better, fair.kind, fair.metrics) == ("fair", "higher", "ratio", ("fair",))
    queue = Call.read("queue(all, p99)").measure
    assert (queue.better, queue.kind, queue.rank, queue.heading[1]) == ("lower", "bytes", None, "KB")
    assert Call.read("slowdown(p99.9, above=1MB)").measure.rank == 99.9
    assert Call.read("resent(near)").measure.kind == "count"
    assert Call.read("p99.small").measure is NAMED["p99.small"]
    labelled = Call.read("web = p99.small(near)").measure
    assert (labelled.name, labelled.rank, labelled.better) == ("web", 99, "lower")
    less, more = (
        Values(dict(enumerate(of)), frozenset(range(3))) for of in ([0.7, 0.8, 0.6], [0.9, 1.0, 0.8])
    )
    assert difference(less, more, fair).word is incast.Word.WORSE


def test_the_list_has_all_of_them() -> None:
    known = {getattr(one, "name") for one in incast.measures()}  # noqa: B009  # both kinds have it
    assert known == NAMED.keys() | MEASURES.keys()
    done = subprocess.run(
        [sys.executable, "-m", "incast", "list", "measures"], capture_output=True, text=True, check=True
    )
    for name in known:
        assert name in done.stdout
    assert "fairness(flows, start=…, end=…, fair=[])" in " ".join(done.stdout.split())
    assert max(map(len, done.stdout.splitlines())) <= 80
