"""The batteries of the arena: their lock, and the rules by which their scenarios are composed."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import incast
from incast.arena.contenders import chosen
from incast.arena.entries import LOCK, digest, read
from incast.arena.measure import jobs_over_bound
from incast.arena.planning import plan, scenario_of
from incast.results.measures.view import View

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(incast.__file__).parent / "arena" / "batteries"
QUICK = FOLDER / "quick"


def copied(tmp_path: Path) -> tuple[Path, Path]:
    """A copy of the battery quick, and a lock that has it."""
    folder, lock = tmp_path / "quick", tmp_path / LOCK
    shutil.copytree(QUICK, folder)
    lock.write_text(f"quick 2 {digest(folder)}\n")
    return folder, lock


def test_a_battery_that_is_published_is_read(tmp_path: Path) -> None:
    folder, lock = copied(tmp_path)
    quick = read(folder, lock)
    assert (quick.name, quick.version, quick.digest) == ("quick", 2, digest(folder))
    assert len(quick.entries) == 18
    assert sum(entry.seeds for entry in quick.entries) == 70


@pytest.mark.parametrize("change", ["byte", "name", "more", "version"])
def test_a_changed_battery_is_refused(tmp_path: Path, change: str) -> None:
    folder, lock = copied(tmp_path)
    if change == "byte":
        text = (folder / "many.toml").read_text()
        (folder / "many.toml").write_text(text.replace("hosts = 65", "hosts = 66"))
    elif change == "name":
        (folder / "many.toml").rename(folder / "more.toml")
    elif change == "more":
        (folder / "another.toml").write_text("")
    else:
        lock.write_text(lock.read_text() + f"quick 3 {digest(folder)}\n")
    with pytest.raises(incast.ScenarioError, match="is not version 2 of the battery quick"):
        read(folder, lock)


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ('measure = "fairness"', 'measure = "fairnes"', 'did you mean "fairness"'),
        ('flows = "long"', 'flows = "lnog"', "there is no traffic 'lnog'; did you mean 'long'"),
        ('port = "s0->h8", start', 'prot = "s0->h8", start', "unknown: prot"),
        ('port = "s0->h8", start', 'port = "s0->h88", start', "there is no port 's0->h88'; did you mean"),
        ("start(burst)", "start(brst)", "there is no traffic 'brst'; did you mean 'burst'"),
    ],
)
def test_metrics_that_no_run_can_have_are_refused_before_anything_runs(
    tmp_path: Path, right: str, wrong: str, says: str
) -> None:
    folder, _ = copied(tmp_path)
    text = (folder / "battery.toml").read_text()
    assert right in text
    (folder / "battery.toml").write_text(text.replace(right, wrong, 1))
    with pytest.raises(incast.ScenarioError, match=re.escape(says)) as raised:
        plan(read(folder), chosen("dctcp"), results=tmp_path)
    assert 'scenario "' in str(raised.value)
    assert 'metric "' in str(raised.value)


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ('better = "higher"', 'better = "hgher"', 'better is \'hgher\'; it is "higher" or "lower"'),
        ('better = "higher"', "", "better is missing"),
        ("measure = ", "mesure = ", "has the unknown key 'mesure'; did you mean 'measure'?"),
        ("seeds = 5", "seeds = 0", "microburst: seeds is 0; it is a number of replicates, 1 or more"),
        ("seeds = 5", 'seeds = "5"', "microburst: seeds is '5'; it is a number of replicates, 1 or more"),
        ('file = "microburst.toml"', 'file = "none.toml"', "there is no file 'none.toml'"),
        ("question = ", "qestion = ", "has the unknown key 'qestion'; did you mean 'question'?"),
    ],
)
def test_a_battery_with_mistakes_is_refused_with_the_place(
    tmp_path: Path, right: str, wrong: str, says: str
) -> None:
    folder, _ = copied(tmp_path)
    text = (folder / "battery.toml").read_text()
    assert right in text
    (folder / "battery.toml").write_text(text.replace(right, wrong, 1))
    with pytest.raises(incast.ScenarioError, match=re.escape(says)) as raised:
        read(folder)
    assert str(raised.value).startswith("quick: ")


def test_replicates_are_paired(tmp_path: Path) -> None:
    quick = read(*copied(tmp_path))
    burst = next(entry for entry in quick.entries if entry.name == "microburst")
    assert burst.overrides(1, "oscar") == burst.overrides(1, "swift")
    assert burst.overrides(1, "oscar") == {"traffic.burst.start": "502400ns", "seed": 2}
    lossy = next(entry for entry in quick.entries if entry.name == "lossy")
    assert lossy.overrides(0, "swift") == {"transport.recovery": "selective", "seed": 1}


def scenarios() -> list[tuple[str, dict[str, Any]]]:
    """The scenarios of all batteries, with the folder of each."""
    return [
        (f"{path.parent.name}/{path.stem}", tomllib.loads(path.read_text()))
        for path in sorted(FOLDER.glob("*/*.toml"))
        if path.name != "battery.toml"
    ]


@pytest.mark.parametrize(("name", "said"), scenarios())
def test_scenarios_leave_the_contestants_part_open(name: str, said: dict[str, Any]) -> None:
    assert "cc" not in said, name
    assert not any("cc" in block for block in said["traffic"]), name
    # A contestant closes the fabric and the transport; marks are for REPS alone.
    assert not {"pfc", "bfc", "trimming"} & set(said.get("switch", {})), name
    assert not {"kind", "recovery", "repair"} & set(said.get("transport", {})) or name.endswith("/duel"), name


def network(topology: dict[str, Any]) -> tuple[float, float]:
    """Rate in bit/s and base RTT in seconds of a star, without transmissions."""
    rate = float(re.fullmatch(r"(\d+)Gbps", topology["rate"])[1]) * 1e9  # type: ignore[index]
    return rate, 4 * seconds(topology["delay"])


def seconds(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)([a-z]+)", text).groups()  # type: ignore[union-attr]
    return float(number) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}[unit]


def amount(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)([KMG]?B)", text).groups()  # type: ignore[union-attr]
    return float(number) * {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9}[unit]


@pytest.mark.parametrize(("name", "said"), scenarios())
def test_flows_outlive_their_first_window_or_the_run(name: str, said: dict[str, Any]) -> None:
    if said["topology"]["kind"] != "star":
        return
    rate, rtt = network(said["topology"])
    until = seconds(said["run"]["until"])
    for block in said["traffic"]:
        size = amount(block["size"]) if "size" in block else float("inf")
        if block["kind"] == "incast" or block["name"] == "burst":
            # Rule 2, with a base RTT without transmissions: those of the networks here add a percent or two.
            assert size >= 3.9 * rate * rtt / 8, name
        else:
            # Rule 6: it cannot end before the run, though it had the link to itself.
            assert size * 8 / rate > until, name


@pytest.mark.parametrize("name", ["quick", "full"])
def test_judged_windows_are_at_fixed_times(name: str) -> None:
    # The start of a block is what the scenario says; its end is a contestant's doing.
    allowed = re.compile(r"[\d.]+(ns|us|ms)|start\(burst\)(\+\d+us)?")
    for entry in read(FOLDER / name).entries:
        for metric in entry.metrics:
            for key in ("start", "end"):
                if key in metric.arguments:
                    assert allowed.fullmatch(metric.arguments[key]), (entry.name, metric.name)


@pytest.mark.parametrize(
    ("name", "names"),
    [("quick", "all"), ("full", "oscar,swift,nscc,bfc"), ("held-out", "oscar,swift,nscc,ndp")],
)
def test_every_scenario_builds_with_contestants(name: str, names: str) -> None:
    for entry in read(FOLDER / name).entries:
        for contender in chosen(names):
            if entry.name == "circuits" and contender.name in ("nscc", "bfc"):
                # Racks with circuits have queues by destination, which neither trim nor pause.
                with pytest.raises(incast.ScenarioError, match="is not possible with circuits"):
                    scenario_of(entry, contender, 0)
                continue
            made = scenario_of(entry, contender, entry.seeds - 1)
            assert made.seed == entry.first_seed + entry.seeds - 1
            # The effective scenario has the contestant's settings, and reads back as itself.
            if entry.name.startswith("lossy"):
                assert "pfc" not in tomllib.loads(made.to_toml())["switch"], contender.name


def test_batteries_are_as_they_were_published() -> None:
    for folder in sorted(path for path in FOLDER.iterdir() if path.is_dir()):
        assert read(folder, FOLDER / LOCK).digest == digest(folder)


def test_a_job_that_did_not_end_counts_with_its_time_so_far() -> None:
    said = tomllib.loads((FOLDER / "full" / "ring.toml").read_text())
    whole = incast.Scenario.from_dict({**said, "cc": {"algorithm": "swift"}, "balancing": {"policy": "reps"}})
    found = jobs_over_bound(View("ring", whole.run_quietly()))
    # 30 steps of 250 packets of 4,054 B over four links at 100 Gbps, of 1 us each: 253 transmissions and
    # 4 us, 86.053 us in all; the acknowledgement of the last one needs 4.020 us.
    assert 1 < found.value < 1.2
    assert not found.censored
    cut = jobs_over_bound(View("ring", whole.with_({"run.until": "1ms"}).run_quietly()))
    assert cut.value == pytest.approx(1000 / (30 * 86.053 + 4.020), rel=1e-4)
    assert cut.censored
