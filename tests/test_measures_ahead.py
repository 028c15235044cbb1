"""Measures of traffic and ports that there are not are explained before anything runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import incast
from blocks import block, joined, traffic
from helpers import Incast
from incast import Scenario, ScenarioError, sweep
from incast.attacking.question import ask
from incast.results.measures import MEASURES, Call
from incast.results.measures.ahead import refuse_missing
from incast.scenario.measured import refuse_missing as refused_in
from incast.tuning import plan

TWO = joined(
    block("[topology]", kind="star", hosts=3, rate="100Gbps", delay="1us"),
    block("[cc]", algorithm="swift"),
    traffic("long", "h0", "h2", size="20KB"),
    traffic("burst", "h1", "h2", size="10KB"),
)
PORTS = [("h0", 0, "s0"), ("h1", 0, "s0"), ("s0", 0, "h0"), ("s0", 1, "h1")]

WRONG = [
    ("fairness(lnog)", "flows: there is no traffic 'lnog'; did you mean 'long'?"),
    ("fairness([long, brust])", "flows: there is no traffic 'brust'; did you mean 'burst'?"),
    ("share(long, of=[long, brst])", "of: there is no traffic 'brst'; did you mean 'burst'?"),
    ("p99.small(web)", "block: there is no traffic 'web'; there are long, burst"),
    ("goodput(long.0, start=start(brst)+5us)", "start: there is no traffic 'brst'; did you mean 'burst'?"),
    ("goodput(long.0, end=40%(lnog))", "end: there is no traffic 'lnog'; did you mean 'long'?"),
    ("queue(s0->h4)", "port: there is no port 's0->h4'; did you mean 's0->h0'?"),
    ("queue(s0:7)", "port: there is no port 's0:7'; did you mean 's0:0'?"),
    ("queue(to h9)", "port: there is no port 'to h9'; did you mean 'to h0'?"),
    ("buffer(leaf)", "switches: there is no node called 'leaf'; there are h, s"),
    ("peak_queues(ports=spine)", "ports: there is no node called 'spine'; there are h, s"),
]

RIGHT = [
    "p99.small",
    "fairness([long, burst.0], start=1us, end=end(long)-1us)",
    "slowdown(p99, of=fct)",
    "slowdown(mean, group=burst)",
    "queue(all)",
    "queue(s0 -> h1)",
    "queue(s0:1)",
    "queue(to h0)",
    "unused()",
    "peak_queues(max, hosts)",
    "peak_queues(max, s0)",
    "buffer(s)",
    "pauses(s)",
]


@pytest.mark.parametrize(("text", "says"), WRONG)
def test_an_argument_that_names_nothing_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)) as raised:
        refuse_missing(Call.read(text).arguments, ["long", "burst"], lambda: PORTS)
    assert str(raised.value) == says
    # Where neither traffic nor ports are known, nothing is refused.
    refuse_missing(Call.read(text).arguments, None, None)


@pytest.mark.parametrize("text", RIGHT)
def test_arguments_that_name_something_are_taken(text: str) -> None:
    refuse_missing(Call.read(text).arguments, ["long", "burst"], lambda: PORTS)


def test_every_argument_that_names_something_is_known() -> None:
    # A parameter with another name would not be checked: add it here once it is, or is about nothing named.
    checked = {"flow", "flows", "group", "of", "start", "end", "port", "ports", "switches", "node"}
    free = {"what", "stat", "level", "per", "header", "payload", "step", "parts", "name", "values", "above"}
    free |= {"up_to", "censored", "finished", "by", "below", "fair"}
    assert {name for known in MEASURES.values() for name in known.parameters} == checked | free


def test_ports_are_those_of_a_run() -> None:
    scenario = Scenario.from_toml(TWO)
    ports = scenario.run().ports
    columns = (ports.column(name).tolist() for name in ("node", "port", "peer"))
    assert sorted(scenario.ports()) == sorted(zip(*columns, strict=True))


def test_one_scenario_that_has_it_is_enough() -> None:
    small = Scenario.from_toml(TWO, "small.toml")
    large = small.with_({"topology.hosts": 6})
    call = Call.read("queue(s0->h5)")
    refused_in("--measure", [call], [small, large])
    with pytest.raises(
        ScenarioError, match=r"^--measure queue.*: small.toml: port: there is no port 's0->h5'"
    ):
        refused_in("--measure", [call], [small])


@pytest.mark.parametrize(
    "words",
    [
        ("sweep", "two.toml", "--vary", "cc=swift,hpcc", "--measure", "fairness(lnog)"),
        ("sweep", "two.toml", "--vary", "cc=swift,hpcc", "--seeds", "2", "--by", "fairness(lnog)"),
        ("sweep", "two.toml", "--vary", "cc=swift,hpcc", "--require", "fairness(lnog) > 0.5"),
        ("compare", "two.toml", "--cc", "swift,hpcc", "--measure", "fairness(lnog)"),
        ("compare", "two.toml", "--cc", "swift,hpcc", "--seeds", "2", "--measure", "fairness(lnog)"),
        ("compare", "two.toml", "--cc", "swift,hpcc", "--require", "fairness(lnog) > 0.5"),
        ("run", "two.toml", "--require", "fairness(lnog) > 0.5"),
    ],
)
def test_commands_refuse_before_they_run(incast: Incast, words: tuple[str, ...]) -> None:
    (incast.folder / "two.toml").write_text(TWO)
    done = incast.here(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "two.toml: flows: there is no traffic 'lnog'; did you mean 'long'?" in done.stderr
    assert [path.name for path in incast.folder.iterdir()] == ["two.toml"]


def test_searches_refuse_before_they_run(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text(TWO)
    says = "there is no traffic 'lnog'; did you mean 'long'"
    vary = ["cc.fs_range=1us:5us"]
    with pytest.raises(ScenarioError, match=f"^--objective .*{says}"):
        plan(file, vary, ["fairness(lnog)"])
    with pytest.raises(ScenarioError, match=f"^--subject-to .*{says}"):
        plan(file, vary, ["mean.all"], subject_to=["fairness(lnog) >= 0.5"])
    with pytest.raises(ScenarioError, match=f"^--score .*{says}"):
        ask(file, "swift", ["traffic.long.size=1KB:2KB"], "fairness(lnog)", against="hpcc")


def test_the_sweep_of_python_refuses_too(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text(TWO)
    what = sweep.plan(file, ["cc=swift,hpcc"], results=tmp_path / "runs")
    with pytest.raises(incast.ScenarioError, match="there is no traffic 'lnog'"):
        sweep.run(what, folder=tmp_path / "out", calls=[Call.read("fairness(lnog)")])
    assert [path.name for path in tmp_path.iterdir()] == ["two.toml"]
