"""The arena from end to end: killed and continued, with plugins that hang and crash, and its duels."""

from __future__ import annotations

import json
import math
import subprocess
from functools import partial
from pathlib import Path

import pytest

from blocks import block, joined, traffic
from helpers import ROOT, Incast, wait_until

NAMES = "oscar,swift,dctcp"

SCENARIO = joined(
    block("[topology]", kind="star", hosts=4, rate="100Gbps", delay="3us"),
    block("[transport]", rto="1218us"),
    traffic("burst", ["h0", "h1", "h2"], "h3", size="600KB"),
    block("[run]", until="20ms"),
)

DUEL = joined(
    block("[topology]", kind="star", hosts=5, rate="100Gbps", delay="3us"),
    block("[switch]", buffer={"per_port": "4 BDP"}, ecn={"kmin": "0.2 BDP", "kmax": "0.8 BDP", "pmax": 1.0}),
    block("[transport]", recovery="selective", rto="1218us"),
    *(traffic(name, f"h{n}", "h4", start=f"{n}0us") for n, name in enumerate(("a0", "b0", "b1", "a1"))),
    block("[probe]", ports=["s0->h4"], interval="2436ns", flows=["all"], flow_interval="121800ns"),
    block("[run]", until="7308us", clock="100ppm"),
)


def battery(folder: Path, seeds: int = 3, duels: bool = True) -> Path:
    """A battery of two scenarios: three senders at once, and the same with a jitter by the seed."""
    folder.mkdir()
    (folder / "once.toml").write_text(SCENARIO)
    jitter = SCENARIO.replace('kind = "flows"', 'kind = "incast"').replace("from =", 'jitter = "9us"\nfrom =')
    (folder / "jitter.toml").write_text(jitter)
    (folder / "duel.toml").write_text(DUEL)
    entries = "".join(
        f'[[scenario]]\nname = "{name}"\nquestion = "When is the last one done?"\nfile = "{name}.toml"\n'
        f"seeds = {seeds}\n"
        '[[scenario.metric]]\nname = "last over bound"\nmeasure = "last_over_bound"\nbetter = "lower"\n'
        'arguments = { group = "burst" }\n'
        for name in ("once", "jitter")
    )
    duel = 'duel = "duel.toml"\n' if duels else ""
    (folder / "battery.toml").write_text(f"version = 1\n{duel}{entries}")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """The files of an arena."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def results(folder: Path) -> int:
    """Number of results that are complete."""
    infos = (json.loads(path.read_text()) for path in folder.glob("runs/*/*/result.json"))
    return sum(info.get("state") == "complete" for info in infos)


def reached(folder: Path, wanted: int, process: subprocess.Popen[str]) -> bool:
    """Whether there are more results than this, or the process has ended."""
    return results(folder) > wanted or process.poll() is not None


def test_killed_at_twenty_moments_it_ends_with_the_same_bytes(incast: Incast, tmp_path: Path) -> None:
    words = (
        "arena",
        "--battery",
        battery(tmp_path / "small", seeds=8),
        "--contestants",
        NAMES,
        "--jobs",
        "2",
    )
    whole = incast(*words, "--out", "whole")
    assert whole.returncode == 0, whole.stderr
    # 2 scenarios × 3 contestants × 8 replicates, of which `once` has one in common, and 6 duels.
    total = results(incast.folder / "whole")
    folder, kills = incast.folder / "killed", 0
    for moment in range(20):
        process = incast.start(*words, "--out", "killed")
        wanted = moment * (total - 1) // 20
        wait_until(partial(reached, folder, wanted, process))
        kills += process.poll() is None
        process.kill()
        process.communicate()
    assert kills >= 15
    again = incast(*words, "--out", "killed")
    assert again.returncode == 0, again.stderr
    assert contents(folder) == contents(incast.folder / "whole")


def test_one_job_or_four_give_the_same_bytes(incast: Incast, tmp_path: Path) -> None:
    words = ("arena", "--battery", battery(tmp_path / "small"), "--contestants", NAMES)
    for jobs in ("1", "4"):
        assert incast(*words, "--jobs", jobs, "--out", f"jobs-{jobs}").returncode == 0
    assert contents(incast.folder / "jobs-1") == contents(incast.folder / "jobs-4")


PLUGIN = """\
import os
import signal

import incast


class Mine(incast.CongestionControl):
    def start(self, path, now):
        return State()


class State(incast.Flow):
    def allowance(self):
        return 100_000.0, None

    def on_ack(self, ack, hops):
        {does}
"""


@pytest.mark.parametrize(
    ("does", "why"),
    [("while True: signal.pause()", "took longer than 10 s"), ("os.abort()", "was ended by SIGABRT")],
)
def test_a_plugin_that_hangs_or_crashes_loses_its_own_rows(
    incast: Incast, tmp_path: Path, does: str, why: str
) -> None:
    folder = battery(tmp_path / "small", seeds=1, duels=False)
    words = ("arena", "--battery", folder, "--contestants", NAMES, "--limit", "10", "--jobs", "2")
    (incast.folder / "mine.py").write_text(PLUGIN.format(does=does))
    plain = incast(*words, "--out", "plain")
    assert plain.returncode == 0, plain.stderr
    beside = incast(*words, "--cc", "mine.py", "--out", "beside")
    assert beside.returncode == 1
    assert why in beside.stderr
    without, with_it = (
        json.loads((incast.folder / name / "arena.json").read_text()) for name in ("plain", "beside")
    )
    mine = next(one["name"] for one in with_it["contestants"] if one["name"] not in NAMES)
    assert [one for one in with_it["ranking"] if one["contestant"] != mine] == without["ranking"]
    assert [one for one in with_it["scores"] if one["contestant"] != mine] == without["scores"]
    last = next(one for one in with_it["ranking"] if one["contestant"] == mine)
    assert (last["failed"], last["worst"]) == (2, 100.0)


def test_shares_of_a_duel_add_up_and_equals_are_equal(incast: Incast, tmp_path: Path) -> None:
    folder = battery(tmp_path / "small", seeds=1)
    done = incast("arena", "--battery", folder, "--contestants", "swift,dctcp,ndp", "--out", "out")
    assert done.returncode == 0, done.stderr
    said = json.loads((incast.folder / "out/arena.json").read_text())
    share = {(one["contestant"], one["other"]): one["share"] for one in said["duels"]}
    assert share["swift", "dctcp"] + share["dctcp", "swift"] == pytest.approx(1.0, abs=1e-5)
    assert share["swift", "swift"] == pytest.approx(0.5, abs=0.02)
    assert said["no_duels"] == {"ndp": "it has a transport of its own, and a run has one"}
    assert len(done.stdout) > 0
    assert max(map(len, done.stdout.split("saved in")[0].splitlines())) <= 80


def test_the_held_out_battery_is_no_place_to_search() -> None:
    from incast import ScenarioError, arena

    with pytest.raises(ScenarioError, match="for a last check, not for search"):
        arena.battery("held-out")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--contestants", "oscr"), "did you mean 'oscar'?"),
        (("--contestants", "oscar", "--cc", "oscar"), 'the contestant "oscar" is there twice'),
        (("--scenarios", "meny"), "did you mean 'many'?"),
        (("--battery", "quik"), "did you mean 'quick'?"),
        (("--cc", "none.py"), "none.py"),
    ],
)
def test_wrong_names_get_a_suggestion(incast: Incast, words: tuple[str, ...], text: str) -> None:
    done = incast("arena", *words)
    assert done.returncode == 2
    assert text in done.stderr
    assert "Traceback" not in done.stderr


def test_the_published_numbers_come_again(tmp_path: Path) -> None:
    """Two contestants in three scenarios give the means of the record in the documentation."""
    from incast import arena

    said = json.loads((ROOT / "docs/arena/quick.json").read_text())
    names, scenarios = ["oscar", "swift"], ["microburst", "arrivals", "slow-net"]
    plan = arena.plan("quick", names, scenarios=scenarios, duels=False, results=tmp_path)
    assert plan.battery.digest == said["battery"]["digest"]
    done = arena.make(plan)
    means = {(one.scenario, one.metric, one.contestant): one.mean for one in done.scores}
    published = {
        (one["scenario"], one["metric"], one["contestant"]): one["mean"]
        for one in said["scores"]
        if one["contestant"] in names and one["scenario"] in scenarios
    }
    assert len(published) == 2 * (2 + 2 + 3)
    assert means == pytest.approx(published, rel=1e-5)


def test_a_tuned_setting_stands_beside_the_default_one(incast: Incast, tmp_path: Path) -> None:
    folder = battery(tmp_path / "small", duels=False)
    # The default marks from a fifth of a BDP on; this one only where a queue is far longer than it.
    (incast.folder / "mine.toml").write_text(
        '[contestant.mine]\nfrom = "dctcp"\n'
        'switch = { ecn = { kmin = "20 BDP", kmax = "20 BDP", pmax = 1.0 } }\n'
    )
    done = incast("arena", "--battery", folder, "--tuned", "mine.toml", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "mine beside dctcp" in done.stdout
    assert max(map(len, done.stdout.split("saved in")[0].splitlines())) <= 80
    said = json.loads((incast.folder / "out/arena.json").read_text())
    mean = {(one["scenario"], one["contestant"]): one["mean"] for one in said["scores"]}
    assert {name for _, name in mean} == {"dctcp", "mine"}
    ratios = [mean[scenario, "mine"] / mean[scenario, "dctcp"] for scenario in ("once", "jitter")]
    whole = math.sqrt(ratios[0] * ratios[1])
    assert whole != pytest.approx(1.0, abs=1e-4)
    assert f"ratios of 2 scenarios: {whole:.3f}" in " ".join(done.stdout.split())


def test_a_setting_that_is_made_from_nothing_has_no_default(incast: Incast, tmp_path: Path) -> None:
    (incast.folder / "mine.toml").write_text('[contestant.mine]\ncc = { algorithm = "swift" }\n')
    done = incast("arena", "--battery", battery(tmp_path / "small"), "--tuned", "mine.toml")
    assert done.returncode == 2
    assert "mine has no `from`" in done.stderr
