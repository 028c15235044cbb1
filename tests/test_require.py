"""Requirements: their grammar, their outcomes, and the exit code of commands."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import incast
from helpers import SMALL, Incast
from incast import Scenario
from incast.results.grid import Axis, Grid, Run, made_of
from incast.results.require import Check, Outcome, Requirement, require
from test_sentences import info, runs


def grid(failed: dict[str, str] | None = None, **its: Sequence[Run]) -> Grid:
    return made_of("made", [Axis("cc", tuple(its))], {(name,): of for name, of in its.items()}, failed=failed)


def one(of: Grid, text: str) -> Check:
    (found,) = require(of, text)
    return found


def outcome(of: Grid, text: str) -> str:
    return one(of, text).outcome.value


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("p99.small < 3", "open"),
        ("p99.small < 16", "met"),
        ("p99.small > 16", "missed"),
        ("p99.small > -10", "met"),
        ("p99.small < -10", "missed"),
        # By the values alone 3 would be met.
        ("p99.small <= 3", "open"),
    ],
)
def test_the_interval_decides(text: str, found: str) -> None:
    # Mean 3, s = √2, t = tan(0.475 π) = 12.706: 3 ± 12.706, so -9.71 to 15.71.
    of = grid(oscar=runs(2, 4))
    assert outcome(of, text) == found
    check = one(of, text)
    half = math.tan(0.475 * math.pi)
    assert (check.value, check.low, check.high) == pytest.approx((3, 3 - half, 3 + half))
    assert check.seeds == 2
    assert check.shown == "3.00 (−9.71 – 15.7)"
    assert check.why == ("more seeds decide" if found == "open" else "")


def test_without_draws_the_value_decides() -> None:
    of = grid(oscar=runs(2, 2, same=True))
    found = {text: outcome(of, f"p99.small {text}") for text in ("< 3", "= 2", "< 2", "<= 2", ">= 2", "= 3")}
    assert found == {
        "< 3": "met", "= 2": "met", "< 2": "missed", "<= 2": "met", ">= 2": "met", "= 3": "missed",
    }  # fmt: skip
    assert one(of, "p99.small < 3").shown == "2.00"


def test_one_seed_with_draws_says_so() -> None:
    found = one(grid(oscar=runs(2.5)), "p99.small < 3")
    assert (found.met, found.why) == (True, "1 seed")
    assert one(grid(oscar=runs(3.5)), "p99.small < 3").outcome is Outcome.MISSED


def test_equality_is_of_every_run_and_not_of_their_mean() -> None:
    # The mean of 2 and 4 is 3, but no run has 3.
    assert outcome(grid(oscar=runs(2, 4)), "p99.small = 3") == "missed"
    found = one(grid(oscar=runs(2, 2, 4)), "p99.small = 2")
    assert (found.outcome, found.why) == (Outcome.MISSED, "not in 1 of 3 runs")


@pytest.mark.parametrize("text", ["p99.small < 100", "p99.small > 0", "p99.small < 10x hpcc", "steady"])
def test_what_is_not_measured_is_not_met(text: str) -> None:
    hpcc = runs(2, 3, 4)
    for of, why in (
        (grid(oscar=[*runs(2, 3), Run(3, info(3, 2, end="stalled"))], hpcc=hpcc), "1 of 3 runs did not end"),
        (grid({"cc=oscar seed=3": "killed"}, oscar=runs(2, 3), hpcc=hpcc), "1 of 3 runs failed"),
        (grid(oscar=[], hpcc=hpcc), "no run has a result"),
    ):
        found = require(of, f"oscar: {text}")
        assert [(check.outcome, check.met) for check in found] == [(Outcome.NOT_MEASURED, False)]
        assert found[0].why.startswith(why)


def test_a_baseline_that_is_not_measured_is_named() -> None:
    of = grid({"cc=hpcc seed=3": "killed"}, oscar=runs(2, 3, 4), hpcc=runs(2, 3))
    assert one(of, "p99.small < 10x hpcc").why == "HPCC: 1 of 3 runs failed"


def test_numbers_that_no_run_has_are_not_measured() -> None:
    of = grid(oscar=runs(2, 3, 4))
    said = {text: one(of, text).why for text in ("queue.peak < 1MB", "jobs.mean < 1ms", "busbw > 1Gbps")}
    assert said == {
        "queue.peak < 1MB": "no port is probed",
        "jobs.mean < 1ms": "there are no jobs",
        "busbw > 1Gbps": "there are no jobs",
    }
    # A slowdown without the tables that bound what did not finish.
    found = one(grid(oscar=runs(2, 3, unfinished=1)), "p99.small < 100")
    assert (found.outcome, found.why) == (Outcome.NOT_MEASURED, "small flows did not finish")


def test_a_ratio_is_compared_seed_by_seed() -> None:
    # The ratio is 2 in each seed, whatever its seed adds.
    of = grid(oscar=runs(2, 8, 5), hpcc=runs(1, 4, 2.5), swift=runs(1, 4, 2.5))
    found = require(of, "p99.small < 1.5x hpcc", "p99.small <= 1x hpcc")
    assert [(check.entry, check.outcome.value, check.shown) for check in found] == [
        ("OSCAR", "missed", "2.00x"),
        ("Swift", "met", "1.00x"),
        ("OSCAR", "missed", "2.00x"),
        ("Swift", "met", "1.00x"),
    ]
    few = one(grid(oscar=runs(1, 1.1), hpcc=runs(2, 2.5)), "p99.small < 1x hpcc")
    assert (few.outcome, few.why) == (Outcome.OPEN, "2 seeds; at least 3")


def test_a_count_is_compared_by_its_difference() -> None:
    its = {name: runs(1, 2, 3) for name in ("oscar", "hpcc")}
    for name, drops in (("oscar", (4, 5, 6)), ("hpcc", (3, 4, 5))):
        for run, drop in zip(its[name], drops, strict=True):
            run.info["outcome"]["packets_dropped"] = drop
    of = grid(oscar=its["oscar"], hpcc=its["hpcc"])
    # 4 - 3, 5 - 4, 6 - 5 are above 0; 4 - 6, 5 - 8, 6 - 10 have mean -3, ± 4.303 · 1 / √3 = 2.48.
    assert outcome(of, "dropped <= 1x hpcc") == "missed"
    assert outcome(of, "dropped <= 2x hpcc") == "met"


def test_entries_are_paired_within_each_workload() -> None:
    axes = [Axis("cc", ("oscar", "hpcc")), Axis("traffic.0.load", ("0.3", "0.6"))]
    values = (2, 3, 4)
    of = made_of(
        "made",
        axes,
        {
            (cc, load): runs(*(v * factor for v in values))
            for cc, load, factor in (
                ("oscar", "0.3", 1), ("hpcc", "0.3", 2), ("oscar", "0.6", 9), ("hpcc", "0.6", 6),
            )
        },
    )  # fmt: skip
    found = require(of, "p99.small < 1x hpcc", "cc=hpcc load=0.3: p99.small < 50", "load=0.6: sound")
    assert [(check.entry, check.outcome.value) for check in found] == [
        ("OSCAR, load 0.3", "met"),
        ("OSCAR, load 0.6", "missed"),
        ("HPCC, load 0.3", "met"),
        ("OSCAR, load 0.6", "met"),
        ("HPCC, load 0.6", "met"),
    ]


def test_names_with_colons_are_entries() -> None:
    of = grid(None, **{"swift:oscar": runs(2, 2, same=True), "swift": runs(4, 4, same=True)})
    found = require(of, "swift:oscar: p99.small < 3", "swift: finished", "p99.small < 1x swift:oscar")
    assert [(one.requirement.text, one.outcome.value) for one in found] == [
        ("p99.small < 3", "met"),
        ("finished", "met"),
        ("p99.small < 1x swift:oscar", "missed"),
    ]


def test_states() -> None:
    load: dict[str, Any] = {
        "group": "web", "from_ps": 0, "until_ps": 1, "flows": 1, "uncounted": 0, "tail": True, "load": 0.6,
        "offered": 0.6, "carried": 0.6, "backlog_begin_bytes": 0, "backlog_end_bytes": 0, "growth": 0.0,
        "growth_error": 0.0, "steady": True, "because": [],
    }  # fmt: skip
    its = runs(2, 3)
    of = grid(oscar=its)
    assert [outcome(of, state) for state in ("sound", "finished", "steady")] == ["met", "met", "not measured"]
    for run in its:
        run.info["summary"]["loads"] = [dict(load)]
    assert outcome(of, "steady") == "met"
    its[1].info["summary"]["loads"] = [load | {"steady": False, "because": ["the window is short"]}]
    found = one(of, "steady")
    assert (found.outcome, found.why) == (Outcome.MISSED, "not steady because the window is short")
    late = one(grid(oscar=runs(2, 3, unfinished=2)), "finished")
    assert (late.outcome, late.why) == (Outcome.MISSED, "4 flows did not finish")
    assert outcome(grid(oscar=[Run(1, info(1, 2, end="stalled"))]), "sound") == "missed"
    assert outcome(grid({"cc=oscar seed=2": "killed"}, oscar=runs(2)), "sound") == "missed"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("p99.smal < 3", 'there is no measure "p99.smal"; did you mean "p99.small"?'),
        ("jobs.slowest < 3", 'a time needs its unit, like "12us"'),
        ("jobs.slowest < 3KB", '"3KB" is not a time, like "12us"'),
        ("jobs.slowest < 3uss", '"3uss" is not a time, like "12us"'),
        ("p99.small < 3us", "a slowdown has no unit"),
        ("dropped = 0%", "a count has no unit"),
        ("queue < 3KB", '"queue" takes arguments in brackets'),
        ("oscer: p99.small < 3", 'no entry is called "oscer"; did you mean "OSCAR"?'),
        ("p99.small < 2x hpc", 'no entry is called "hpc"; did you mean "HPCC"?'),
        ("p99.small 3", "this is not a requirement; write one like p99.small < 3"),
        ("stedy", "this is not a requirement"),
        ("", "this is not a requirement"),
    ],
)
def test_errors_say_what_would_be_right(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)) as error:
        Requirement.read(text, grid(oscar=[], hpcc=[]))
    assert str(error.value).startswith(f"{text}: {why}")


def test_a_bound_without_another_entry_is_refused() -> None:
    with pytest.raises(ValueError, match='there is no entry but "oscar"'):
        require(grid(oscar=runs(2, 3)), "p99.small < 1x oscar")


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("jobs.slowest <= 1.5us", 1.5e6),
        ("queue.peak < 1MB", 1e6),
        ("queue.peak < 1MiB", 2**20),
        ("busbw >= 80Gbps", 80e9),
        ("queue(to h3, p99) < 100KB", 1e5),
        ("jain(long, start=1us, end=end(burst)+1us) > 90%", 0.9),
    ],
)
def test_bounds_are_in_the_unit_of_the_values(text: str, bound: float) -> None:
    assert Requirement.read(text, grid(oscar=[])).bound == bound


def test_unfinished_flows_make_lower_bounds() -> None:
    # The long flow is stopped long before its end: its slowdown, and so the mean, is at least so much.
    text = SMALL.replace('"1ms"', '"90us"')
    result = Scenario.from_toml(text).run()
    value = incast.require(result, "mean.all < 1000")[0]
    assert (value.outcome, value.at_least, value.high) == (Outcome.OPEN, True, math.inf)
    assert "did not finish" in value.why
    assert value.shown.startswith("≥ ")
    assert outcome(Grid.of(result), f"mean.all < {value.value:.6f}") in ("missed", "open")
    assert outcome(Grid.of(result), "mean.all < 1") == "missed"
    assert outcome(Grid.of(result), "mean.all > 1") == "met"
    # Of a traffic block the number is a call, with the same bound.
    assert outcome(Grid.of(result), "mean.all(long) < 1000") == "open"


def test_commands_end_with_code_3(incast: Incast, scenario: Path) -> None:
    met = incast.here(
        "run", scenario, "--require", "mean.all < 1000", "--require", "finished", "--out", "one"
    )
    assert met.returncode == 0, met.stderr
    assert "requirements: 2 of 2 met\n  ✓ mean.all < 1000  " in met.stdout
    missed = incast.here("run", scenario, "--require", "mean.all > 1000", "--out", "one")
    assert missed.returncode == 3
    assert "  ✗ mean.all > 1000  " in missed.stdout
    both = ("compare", scenario, "--cc", "oscar,hpcc", "--require")
    found = incast.here(*both, "oscar: busbw > 1Gbps", "--require", "mean.all < 1000")
    assert found.returncode == 3
    assert "requirements: 2 of 3 met, 1 not measured" in found.stdout
    assert "  – busbw > 1Gbps    OSCAR        " in found.stdout
    swept = incast.here(
        "sweep", scenario, "--vary", "cc=oscar,hpcc", "--require", "mean.all > 1000", "--out", "s"
    )
    assert swept.returncode == 3
    assert swept.stdout.count("  ✗ mean.all > 1000") == 2
    table = incast.here("table", "s", "--require", "hpcc: mean.all < 1000")
    assert (table.returncode, "  ✓ mean.all < 1000  HPCC" in table.stdout) == (0, True)
    latex = incast.here("table", "s", "--require", "mean.all > 1000", "--as", "latex")
    assert latex.returncode == 3
    assert "requirements" not in latex.stdout
    assert "requirements: 0 of 2 met, 2 missed" in latex.stderr


def test_wrong_requirements_are_refused_before_any_run(incast: Incast, scenario: Path) -> None:
    for words in (
        ("run", scenario, "--require", "p99.smal < 3"),
        ("compare", scenario, "--cc", "oscar,hpcc", "--require", "oscer: sound"),
        ("sweep", scenario, "--vary", "cc=oscar,hpcc", "--seeds", "2", "--require", "mean.all < 1x hpc"),
        ("run", scenario, "--estimate", "--require", "sound"),
    ):
        done = incast.here(*words)
        assert done.returncode == 2
        assert done.stderr.startswith("--require ")
        assert not (incast.folder / "incast-results").exists()
