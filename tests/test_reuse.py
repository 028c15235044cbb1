"""Tests of the reuse of what repeats itself, as users meet it."""

from __future__ import annotations

from pathlib import Path

import pytest

import incast
from incast import Scenario, ScenarioError
from incast.cli.outcome import ending

TEXT = """
seed = 1

[topology]
kind = "star"
hosts = 4
rate = "100Gbps"
delay = "1us"

[cc]
algorithm = "{algorithm}"

[[traffic]]
name = "step"
kind = "collective"
operation = "all-reduce"
size = "400KB"
passes = 40
compute = "200us"
"""


def scenario(changes: dict[str, object] | None = None) -> Scenario:
    """Forty passes of a ring with computations between them."""
    changed = {"run.reuse": "exact", **(changes or {})}
    return Scenario.from_toml(TEXT.format(algorithm="constant")).with_(changed)


def test_results_are_the_same_with_and_without_reuse() -> None:
    both = [scenario({"run.reuse": reuse}).run() for reuse in ("off", "exact")]
    fingerprints = {result.info["outcome"]["fingerprint"] for result in both}
    assert len(fingerprints) == 1
    everything, reused = (result.info["outcome"] for result in both)
    assert "reuse" not in everything
    found = reused["reuse"]
    assert found["copies"] >= 30
    assert found["simulated_hops"] <= 6 * reused["hops"] // 40
    assert both[0].flows.column("finish_ps").tolist() == both[1].flows.column("finish_ps").tolist()


def test_a_result_says_what_was_reused_and_why_not() -> None:
    text = ending("constant", scenario().run())
    assert "on the state repeats itself every" in text
    sampled = scenario({"probe.ports": ["to h0"]})
    text = ending("constant", sampled.run())
    assert "nothing was reused: samples are taken" in " ".join(text.split())


def test_captures_do_not_go_with_draws_that_come_again() -> None:
    with pytest.raises(ScenarioError, match="per-packet"):
        scenario({"run.draws": "per-pass", "probe.captures": ["to h0"]}).run()
    with pytest.raises(ScenarioError, match="has no effect"):
        scenario({"run.draws": "per-pass", "transport.kind": "ndp"})


def test_the_page_has_the_table_of_its_command() -> None:
    page = Path(__file__).parents[1] / "docs/network/reuse.md"
    rows = [line for line in page.read_text().splitlines() if line.startswith("| ")]
    named = {row.split("|")[1].strip() for row in rows}
    assert {about.name for about in incast.algorithms()} <= named
