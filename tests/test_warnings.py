"""Warnings belong to the result: every way to run and to read has them."""

from __future__ import annotations

import csv
import json
import warnings
from pathlib import Path

import pytest

import incast
from blocks import block, joined, star
from helpers import Incast

SPRAYED = """\
name = "sprayed"
[topology]
kind = "leaf-spine"
leaves = 2
hosts = 2
spines = 2
rate = "100Gbps"
delay = "1us"
[balancing]
policy = "reps"
[transport]
recovery = "go-back-n"
[cc]
algorithm = "swift"
[[traffic]]
name = "pairs"
kind = "permutation"
size = "5KB"
"""

WARNED = 'is "go-back-n", which treats every overtaken packet as lost, and the policy "reps" spreads packets'
HINT = 'transport.recovery = "selective" keeps packets that arrive out of order'

CAPTURED = joined(
    star(2, "100Gbps", "1us", cc={"algorithm": "swift"}, probe={"captures": ["to h1"]}),
    block("[[traffic]]", kind="incast", to="h1", fan_in=1, size="20KB"),
)


def sprayed() -> incast.Scenario:
    return incast.Scenario.from_toml(SPRAYED, "sprayed.toml")


def texts(result: incast.Result) -> list[tuple[str | None, str, str | None]]:
    return [(problem.key, problem.problem, problem.hint) for problem in result.warnings]


def test_a_run_warns_and_its_result_has_the_warnings(tmp_path: Path) -> None:
    with pytest.warns(incast.IncastWarning, match="sprayed.toml:.*go-back-n") as caught:
        result = sprayed().run(tmp_path / "out")
    # The place is the line that called.
    assert [Path(warning.filename).name for warning in caught] == ["test_warnings.py"]
    ((key, problem, hint),) = texts(result)
    assert (key, hint) == ("transport.recovery", HINT)
    assert problem.startswith(WARNED)
    assert texts(incast.Result.open(tmp_path / "out")) == texts(result)
    assert result.notices == [f"warning: transport.recovery: {problem}\n    help: {hint}"]
    (said,) = json.loads((tmp_path / "out/result.json").read_text())["warnings"]
    assert said == {"key": key, "problem": problem, "hint": hint}
    implied = SPRAYED.replace('[transport]\nrecovery = "go-back-n"\n', "")
    assert incast.Scenario.from_toml(implied).run().warnings == []


def test_a_verdict_on_the_run_follows_at_its_end(tmp_path: Path) -> None:
    scenario = incast.Scenario.from_toml(CAPTURED, "captured.toml")
    assert scenario.warnings == []
    with pytest.warns(incast.IncastWarning, match="captured packets are not kept") as caught:
        result = scenario.run()
    assert [Path(warning.filename).name for warning in caught] == ["test_warnings.py"]
    assert [key for key, _, _ in texts(result)] == ["probe.captures"]
    assert scenario.run(tmp_path / "out").warnings == []
    with pytest.warns(incast.IncastWarning, match="captured packets are not kept"):
        found = incast.compare(scenario, "swift")
    assert texts(found["swift"]) == texts(result)
    with pytest.warns(incast.IncastWarning, match="captured packets are not kept"):
        seeds = incast.replicate(scenario, 2)
    assert [problem.key for problem in seeds.warnings] == ["probe.captures"]


def test_comparisons_and_replications_warn_once() -> None:
    with pytest.warns(incast.IncastWarning, match="go-back-n") as caught:
        found = incast.compare(sprayed(), "swift,oscar")
    assert len(caught) == 1
    assert texts(found["swift"]) == texts(found["oscar"]) != []
    with pytest.warns(incast.IncastWarning, match="go-back-n") as caught:
        seeds = incast.replicate(sprayed(), 2)
    assert len(caught) == 1
    assert [problem.key for problem in seeds.warnings] == ["transport.recovery"]
    assert f"warning: {seeds.warnings[0]}" in str(seeds)


def test_runs_of_a_program_that_prints_its_own_warnings_are_quiet() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert texts(sprayed().run_quietly()) != []


def test_a_sweep_prints_its_warnings_and_writes_them_everywhere(incast: Incast) -> None:
    (incast.folder / "sprayed.toml").write_text(SPRAYED)
    words = ("sweep", "sprayed.toml", "--vary", "balancing.policy=ecmp,reps", "--seeds", "2", "--out", "out")
    done = incast.here(*words)
    assert done.returncode == 0
    assert done.stderr.count("warning: ") == 1
    assert WARNED in done.stderr
    assert "2 of 4 runs" in done.stderr
    folder = incast.folder / "out"
    manifest = json.loads((folder / "manifest.json").read_text())
    sprayed = [run["balancing.policy"] == "reps" for run in manifest["runs"]]
    assert [WARNED in " ".join(run.get("warnings", [])) for run in manifest["runs"]] == sprayed
    for name, count in (("table", 2), ("summary", 1)):
        rows = list(csv.DictReader((folder / f"{name}.csv").read_text().splitlines()))
        cells = [row["warnings"] for row in rows if row["balancing.policy"] == "reps"]
        assert len(cells) == count
        assert all(cell.startswith(f"transport.recovery: {WARNED}") for cell in cells)
        assert [row["warnings"] for row in rows if row["balancing.policy"] == "ecmp"] == count * [""]
    # They are no decoration: --quiet leaves out progress and notes.
    assert incast.here(*words, "--quiet").stderr.count("warning: ") == 1


def test_show_and_report_have_the_warnings(incast: Incast, tmp_path: Path) -> None:
    (incast.folder / "sprayed.toml").write_text(SPRAYED)
    ran = incast.here("run", "sprayed.toml", "--out", "out")
    assert ran.stderr.count("warning: ") == 1
    said = incast.here("show", "out").stdout
    # The help has lines of its own.
    assert "\n    help: " in said
    shown = " ".join(said.split())
    assert f"warning: transport.recovery: {WARNED}" in shown
    assert HINT in shown
    assert incast.here("report", "out", "--out", "page.html").returncode == 0
    page = (incast.folder / "page.html").read_text()
    assert "Warning: transport.recovery: is &quot;go-back-n&quot;" in page


def test_a_result_of_a_later_format_is_refused(incast: Incast) -> None:
    (incast.folder / "sprayed.toml").write_text(SPRAYED)
    assert incast.here("run", "sprayed.toml", "--out", "out").returncode == 0
    path = incast.folder / "out/result.json"
    path.write_text(path.read_text().replace('"format_version": 6', '"format_version": 7'))
    shown = incast.here("show", "out")
    assert shown.returncode == 1
    assert "in a later format of results than this version" in shown.stderr
    assert "help: update Incast, or run its scenario.toml again" in shown.stderr
