"""Errors name their places as they were written in Python."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial

import pytest

from helpers import SMALL
from incast import Scenario, ScenarioError, compare

STAR = {"kind": "star", "hosts": 4, "rate": "100Gbps", "delay": "1us"}
FLOWS = {"kind": "flows", "from": "h0", "to": "h3", "size": "1MB"}


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return Scenario.from_toml(SMALL, "small.toml")


def refusal(make: Callable[[], object]) -> list[str]:
    """The lines of an error."""
    with pytest.raises(ScenarioError) as caught:
        make()
    return str(caught.value).splitlines()


def test_a_changed_key_is_named_as_it_was_changed(scenario: Scenario) -> None:
    lines = refusal(lambda: scenario.with_({"topology.rte": 3}))
    assert lines[0].startswith('with_({"topology.rte": 3}): topology.rte: unknown key; ')
    assert lines[1] == '    help: did you mean "rate"?'
    unit = ': topology.rate: "3": a rate needs its unit, like "100Gbps"'
    assert refusal(lambda: scenario.with_({"topology.rate": "3"})) == ['with_({"topology.rate": "3"})' + unit]
    assert refusal(lambda: scenario.with_(topology__rate="3")) == ['with_({"topology.rate": "3"})' + unit]
    assert refusal(lambda: scenario.with_(run={"until": "1" * 80}))[0].startswith(
        "with_({\"run\": {'until': '" + "1" * 48 + "…}): "
    )


def test_a_parameter_is_named_as_it_was_given(scenario: Scenario) -> None:
    assert refusal(lambda: scenario.with_algorithm("oscar", etta=3))[0].startswith(
        "with_algorithm(etta=3): cc.etta: unknown key; "
    )
    # One of several problems.
    lines = refusal(lambda: scenario.with_algorithm("oscar", tau=2, target="x"))
    assert [line.partition(":")[0] for line in lines if not line.startswith(" ")] == [
        'with_algorithm(target="x")'
    ]


def test_a_scenario_that_nobody_wrote_has_no_lines() -> None:
    slow = {**STAR, "rate": "100"}
    text = ': topology.rate: "100": a rate needs its unit, like "100Gbps"'
    assert refusal(lambda: Scenario.build(topology=slow, traffic=FLOWS, cc="oscar")) == [
        f"Scenario.build{text}"
    ]
    sections = {"topology": slow, "traffic": [FLOWS], "cc": {"algorithm": "oscar"}}
    assert refusal(lambda: Scenario.from_dict(sections)) == [f"Scenario.from_dict{text}"]


def test_what_becomes_wrong_later_is_named_too() -> None:
    built = Scenario.build(topology=STAR, traffic=FLOWS, cc="oscar")
    wanted = ['Scenario.build: traffic.flows.to: there is no host "h3"; the hosts are h0 to h1']
    for one in (built, built.with_seed(3), pickle.loads(pickle.dumps(built))):
        assert refusal(partial(one.with_, {"topology.hosts": 2})) == wanted
    changed = built.with_({"traffic.0.to": "h3"})
    assert refusal(lambda: changed.with_({"topology.hosts": 2})) == [
        'with_({"traffic.0.to": "h3"}): traffic.flows.to: there is no host "h3"; the hosts are h0 to h1'
    ]


def test_files_and_overrides_keep_their_names(scenario: Scenario) -> None:
    lines = refusal(lambda: Scenario.from_toml(SMALL, "small.toml", ["topology.rte=3"]))
    assert lines[0].startswith("--set topology.rte=3: ")
    assert refusal(lambda: Scenario.from_toml(SMALL.replace("rate =", "rte ="), "x.toml"))[0].startswith(
        "x.toml:"
    )
    assert refusal(lambda: compare(scenario, "oscr"))[0].startswith("oscr: ")
