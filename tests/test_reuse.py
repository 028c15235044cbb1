"""Tests of the reuse of what repeats itself, as users meet it."""

from __future__ import annotations

from pathlib import Path

import pytest

import incast
from incast import Scenario, ScenarioError
from incast.cli.outcome import ending
from incast.results import censored

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
    assert sum(part["copies"] for part in found["repetitions"]) == found["copies"]
    assert found["simulated_hops"] <= 6 * reused["hops"] // 40
    assert both[0].flows.column("finish_ps").tolist() == both[1].flows.column("finish_ps").tolist()


def test_a_result_says_what_was_reused_and_why_not() -> None:
    text = ending("constant", scenario().run())
    assert "on the state repeats itself every" in text
    sampled = scenario({"probe.ports": ["to h0"]})
    text = ending("constant", sampled.run())
    assert "nothing was reused: samples are taken" in " ".join(text.split())


def test_copies_are_counted_and_not_written() -> None:
    exact, counted = (scenario({"run.reuse": reuse}).run() for reuse in ("exact", "summary"))
    # Everything but what it took to make it is the same, to the last bit.
    assert counted.info["summary"] == exact.info["summary"]
    mine = {"reuse", "wall_s", "hops_per_s"}
    both = [
        {key: value for key, value in result.info["outcome"].items() if key not in mine}
        for result in (exact, counted)
    ]
    assert both[0] == both[1]
    for name in ("jobs", "job_limits", "ports"):
        tables = [getattr(result, name) for result in (exact, counted)]
        for column in tables[0].columns:
            assert [str(it) for it in tables[0].column(column)] == [
                str(it) for it in tables[1].column(column)
            ]
    unwritten = counted.info["outcome"]["reuse"]["unwritten"]
    assert len(counted.rows("flows")) + unwritten["flows"] == len(exact.flows)
    assert len(counted.rows("operations")) + unwritten["operations"] == len(exact.operations)
    assert len(counted.rows("limits")) == len(counted.rows("flows"))
    assert exact.rows("flows") is exact.flows
    assert repr(counted) == repr(exact)


def test_what_needs_the_copies_one_by_one_says_that_they_are_missing(tmp_path: Path) -> None:
    result = scenario({"run.reuse": "summary"}).run(out=tmp_path / "result")
    for opened in (result, incast.Result.open(tmp_path / "result"), result.in_memory()):
        for name in ("flows", "limits", "operations"):
            with pytest.raises(incast.ResultError, match="were not written"):
                getattr(opened, name)
        # Completion times are those of all flows.
        assert len(opened.flow_times().fct_ps) == opened.info["outcome"]["flows"]
    with pytest.raises(KeyError, match="no table"):
        result.rows("flow")
    text = " ".join(ending("constant", result).split())
    assert "copies of earlier ones and were not written" in text


def test_flows_that_are_open_at_the_end_count_beside_copies() -> None:
    # The limit is in the middle of a pass.
    changes = {"run.until": "9.03ms", "traffic.step.compute": "200us"}
    exact, counted = (scenario({"run.reuse": reuse, **changes}).run() for reuse in ("exact", "summary"))
    assert counted.info["outcome"]["reuse"]["unwritten"]
    assert counted.info["summary"] == exact.info["summary"]
    for of in ("slowdown", "fct"):
        values = [sorted(zip(*map(list, censored.bounds(it, of=of)), strict=True)) for it in (exact, counted)]
        assert values[0] == values[1]
    assert any(bound for _, bound in values[0])


def test_a_run_whose_parts_are_timed_says_that_all_of_it_was_simulated() -> None:
    for reuse in ("exact", "summary"):
        result = scenario({"run.reuse": reuse}).run(profile=True)
        text = " ".join(ending("constant", result).split())
        assert (
            "nothing was reused: the times of its parts were asked for, and all of it was simulated" in text
        )
        assert len(result.flows) == result.info["outcome"]["flows"]


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
