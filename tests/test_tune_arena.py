"""Searches over a battery of the arena: their objective, their check, and the setting as a contestant."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

from helpers import Incast
from incast import ScenarioError, arena
from incast.tuning import plan_arena, tune_arena
from incast.tuning.battery import RATIO
from test_arena_run import battery

pytest.importorskip("optuna")

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def pair(tmp_path: Path) -> tuple[Path, Path]:
    """A battery of two scenarios, and another one at half of its rate."""
    here, there = battery(tmp_path / "small", duels=False), battery(tmp_path / "other", duels=False)
    for name in ("once", "jitter"):
        path = there / f"{name}.toml"
        path.write_text(path.read_text().replace("100Gbps", "50Gbps"))
    return here, there


VARY = ["switch.ecn.kmin=0.005 BDP,0.2 BDP", "switch.ecn.kmax=0.2 BDP,2 BDP"]


def test_the_objective_is_that_of_the_arena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search and its check give the chosen setting the numbers that the arena gives its file."""
    monkeypatch.chdir(tmp_path)
    here, there = pair(tmp_path)
    # DCTCP whose marks begin at a packet leaves the link idle: a better setting is not far.
    Path("early.toml").write_text(
        '[contestant.early]\nfrom = "dctcp"\n'
        'switch = { ecn = { kmin = "0.005 BDP", kmax = "0.005 BDP", pmax = 0.9 } }\n'
    )
    done = tune_arena(str(here), "early.toml", VARY, trials=8, held_out=str(there), folder=tmp_path / "out")
    assert done.default.values == (1.0,)
    assert done.chosen is not None
    assert done.chosen.number >= 0, "the default is the best of all"
    (file,) = [path for path in done.files if path.suffix == ".toml"]
    said = tomllib.loads(file.read_text())["contestant"]["early-tuned"]
    # The table is whole, its shares of a BDP are still shares, and the source names the battery.
    assert set(said["switch"]["ecn"]) == {"kmin", "kmax", "pmax"}
    assert said["switch"]["ecn"]["pmax"] == 0.9
    assert all(said["switch"]["ecn"][key].endswith(" BDP") for key in ("kmin", "kmax"))
    assert said["sources"]["switch.ecn.kmin"] == f"tuned: {done.plan.command}, battery small 1"
    (check,) = done.checks
    assert check.name == "battery other 1"
    for folder, difference in ((here, done.gains[RATIO.name]), (there, check.differences[RATIO.name])):
        ran = arena.run(
            str(folder), [], cc=["early.toml", str(file)], folder=tmp_path / f"arena-{folder.name}"
        )
        of = arena.beside(ran, "early", "early-tuned").whole
        assert of is not None
        # The arena takes geometric means over replicates, and the difference of trials does too.
        assert difference.value == pytest.approx(of.mean, rel=1e-9)
        assert difference.seeds == 3
    trial = next(one for one in done.trials if one.number == done.chosen.number)
    logs = [math.log(run[RATIO.name]) for run in trial.runs.values()]
    assert math.exp(math.fsum(logs) / 3) == pytest.approx(done.gains[RATIO.name].value, rel=1e-9)


def test_nothing_of_the_last_battery_runs_in_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    here, there = pair(tmp_path)
    what = plan_arena(str(here), "dctcp", VARY, held_out=str(there))
    assert what.default == ("0.2 BDP", "0.2 BDP")
    assert {entry.file.parent for entry in what.battery.entries} == {here}
    assert {entry.file.parent for entry in what.last.entries} == {there}
    # A longer search is the same one, another contestant or battery is not.
    assert plan_arena(str(here), "dctcp", VARY, held_out=str(there), trials=9).key == what.key
    assert plan_arena(str(there), "dctcp", VARY, held_out=str(here)).key != what.key
    assert plan_arena("quick", "dctcp", VARY).last.name == "held-out"


def test_the_command_continues_and_writes_the_same(incast: Incast, tmp_path: Path) -> None:
    here, there = pair(tmp_path)
    words = (
        "tune",
        "--arena",
        here,
        "--contestant",
        "dctcp",
        "--held-out",
        there,
        "--out",
        "out",
        "--jobs",
        "2",
    )
    more = ("--vary", VARY[0], "--trials", "8")
    some = incast(*words, *more)
    assert some.returncode == 0, some.stderr
    assert "tune battery small 1: dctcp, 8 trials of 3 replicates" in some.stdout
    assert max(map(len, some.stdout.splitlines())) <= 80
    files = {path.name: path.read_bytes() for path in (incast.folder / "out").glob("*.csv")}
    again = incast(*words, *more)
    assert "0 runs made" in again.stdout
    assert files == {path.name: path.read_bytes() for path in (incast.folder / "out").glob("*.csv")}


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ((), "a scenario, or --arena"),
        (("--arena", "quick"), "--contestant NAME says what is tuned"),
        (("--arena", "quick", "--contestant", "nscc", "--objective", "p99.small"), "does not go with it"),
        (("--arena", "held-out", "--contestant", "nscc"), "for a last check, not for search"),
        (("--arena", "quick", "--contestant", "nscc", "--vary", "traffic.x=1:2"), "traffic.x"),
    ],
)
def test_wrong_commands_are_refused(incast: Incast, words: tuple[str, ...], wrong: str) -> None:
    done = incast("tune", *words)
    assert done.returncode == 2
    assert wrong in done.stderr
    assert "Traceback" not in done.stderr


def test_the_battery_of_the_search_is_no_check(tmp_path: Path) -> None:
    here, _ = pair(tmp_path)
    with pytest.raises(ScenarioError, match="this is the battery of the search"):
        plan_arena(str(here), "dctcp", VARY, held_out=str(here))
