"""Contestants: algorithms with the switches, transport and balancing that they are made for."""

from __future__ import annotations

import csv
import json
import pickle
from pathlib import Path

import pytest

import incast as package
from helpers import PLUGIN, ROOT, SMALL, Incast
from incast import Scenario, ScenarioError, contestants, sweep
from incast.scenario.contestants import choose_contestants, everyone, named

MICROBURST = ROOT / "examples/microburst.toml"

RANKED = [one.name for one in contestants() if one.role == "ranked"]

HALF = """
[contestant.half]
from = "nscc"
cc = { target_share = 0.5 }

[contestant.steep]
from = "half"
switch = { ecn = { kmin = "0.1 BDP", kmax = "0.1 BDP", pmax = 1.0 } }
"""


def test_every_contestant_runs_on_the_example_and_its_result_is_that_of_its_keys() -> None:
    scenario = Scenario.load(MICROBURST)
    chosen = choose_contestants(scenario, ["all"])
    # Three references are left out, and Homa, whose messages need a size: the long flow has none.
    # Other tests of this process may have registered algorithms, which are contestants, too.
    others = set(package.registered())
    assert [name for name in chosen.scenarios if name not in others] == [n for n in RANKED if n != "homa"]
    assert [n for n in chosen.left_out if n not in others] == ["homa", "constant", "oracle", "retcp"]
    assert "size" in chosen.left_out["homa"]
    apart = {"homa", *others}
    assert all("it is no candidate: " in why for name, why in chosen.left_out.items() if name not in apart)
    fingerprints = set()
    scenarios = {name: one for name, one in chosen.scenarios.items() if name not in others}
    for name, one in scenarios.items():
        assert one.contestant == name
        again = Scenario.from_toml(one.to_toml(), scenario.file)
        assert again == one
        assert again.contestant is None
        fingerprints.add(one.run_quietly().fingerprint)
    # Not one setting for all.
    assert len(fingerprints) == len(scenarios)


def test_a_contestant_is_the_same_wherever_it_is_chosen(tmp_path: Path) -> None:
    by_override = Scenario.load(MICROBURST, ["contestant=dctcp"])
    scenario = Scenario.load(MICROBURST)
    assert scenario.with_contestant("dctcp") == by_override
    # An algorithm that was chosen before gives way, keys that were set before do not.
    assert scenario.with_algorithm("swift").with_contestant("dctcp") == by_override
    changed = scenario.with_({"switch.ecn.kmin": "1KB"}).with_contestant("dctcp")
    assert changed == by_override.with_({"switch.ecn.kmin": "1KB"})
    # Also in another process, and with another seed.
    assert pickle.loads(pickle.dumps(changed.with_seed(9))) == changed.with_seed(9)
    of = {"name": "mine", "from": "dctcp", "cc": {"g": 0.25}}
    assert scenario.with_contestant(of) == by_override.with_({"cc.g": 0.25})
    # 100 Gbps and 12178.88 ns, which `relative.rs` works out; a fifth of 152236 B.
    assert 'kmin = "30.447KB"' in by_override.to_toml()


def test_definitions_are_a_mapping_of_a_scenario_that_is_built() -> None:
    built = Scenario.build(
        topology={"kind": "star", "hosts": 3, "rate": "100Gbps", "delay": "3us"},
        traffic={"kind": "incast", "to": "h2", "size": "1MB"},
        cc="swift",
        contestant={
            "mine": {"from": "nscc", "cc": {"target_share": 0.5}, "switch": {"trimming": {"data": "2 BDP"}}}
        },
    )
    assert built.own_contestants == ["mine"]
    mine = built.with_contestant("mine")
    assert "target_share = 0.5" in mine.to_toml()
    assert built.with_contestant("nscc").to_toml() != mine.to_toml()


def test_dropped_keys_say_where_they_are_and_why() -> None:
    scenario = Scenario.load(MICROBURST, ["contestant=ndp", "transport.rto=5ms"])
    dropped = {problem.key: problem for problem in scenario.dropped}
    assert set(dropped) == {"switch.buffer", "transport.rto", "cc"}
    assert dropped["switch.buffer"].file == str(MICROBURST)
    assert dropped["switch.buffer"].line == 1 + MICROBURST.read_text().splitlines().index(
        'buffer = "unlimited"'
    )
    assert dropped["transport.rto"].file == "--set transport.rto=5ms"
    with pytest.raises(ScenarioError, match=r"transport\.rto: has no effect"):
        Scenario.load(MICROBURST, ["contestant={name='x', from='ndp', transport={rto='5ms'}}"])


def test_a_file_of_contestants_is_compared_and_swept(incast: Incast) -> None:
    (incast.folder / "mine.toml").write_text(HALF)
    (incast.folder / "s.toml").write_text(SMALL)
    # Alone: an algorithm of another test may be called `half` too.
    done = incast("compare", "s.toml", "--contestants", "NSCC,mine.toml,ndp", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert "4 of 4 contestants ran" in done.stdout
    assert sorted(path.name for path in (incast.folder / "out").iterdir()) == ["half", "ndp", "nscc", "steep"]
    # Each key is named once, with those for whom it has no effect.
    _, _, without = done.stdout.partition("keys without effect, which were dropped\n")
    said = " ".join(without.split())
    assert said.count("switch.buffer: ") == 1
    assert "switch.buffer: switch.trimming sets the limits of queues (nscc, half, steep, ndp)" in said
    made = (incast.folder / "out/steep/scenario.toml").read_text()
    assert "target_share = 0.5" in made
    assert 'preset = "trimming"' in made
    done = incast.here("sweep", "s.toml", "--vary", "contestant=mine.toml,dctcp", "--out", "swept")
    assert done.returncode == 0, done.stderr
    table = list(csv.DictReader((incast.folder / "swept/table.csv").read_text().splitlines()))
    assert [row["contestant"] for row in table] == ["half", "steep", "dctcp"]
    fingerprint = package.Result.open(incast.folder / "out/half").fingerprint
    assert table[0]["fingerprint"] == fingerprint


def test_a_sweep_takes_contestants_beside_other_keys(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    # Without a section of an algorithm.
    file.write_text(SMALL.replace('[cc]\nalgorithm = "oscar"\n', ""))
    assert "[cc]" not in file.read_text()
    plan = sweep.plan(file, ["cc.beta=0.25,0.5", "contestant=swift"], results=tmp_path / "runs")
    assert [run.values for run in plan.runs] == [("0.25", "swift"), ("0.5", "swift")]
    assert ["beta = 0.25" in run.scenario.to_toml() for run in plan.runs] == [True, False]
    everything = sweep.plan(file, ["contestant=all"], results=tmp_path / "runs")
    made = [run.values[0] for run in everything.runs]
    assert [name for name in made if name not in package.registered()] == RANKED
    out = {f"contestant={name}" for name in ("constant", "oracle", "retcp")}
    assert out <= set(everything.left_out) <= out | {f"contestant={name}" for name in package.registered()}
    with pytest.raises(ScenarioError, match="both choose the algorithm"):
        sweep.plan(file, ["contestant=swift", "cc=swift"])
    with pytest.raises(
        ScenarioError,
        match=r'--vary contestant=nsc: .*is no contestant of this file.*\n.*did you mean "nscc"',
    ):
        sweep.plan(file, ["contestant=nsc"])
    with pytest.raises(ScenarioError, match="--set cc=hpcc: has no effect"):
        sweep.plan(file, ["contestant=swift"], overrides=["cc=hpcc"])


def test_compare_in_python_takes_either(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(SMALL)
    results = package.compare(file, contestants="homa,bfc")
    assert list(results) == ["homa", "bfc"]
    assert results["bfc"].info["outcome"]["flows_finished"] == 3
    assert results.grid.axes[0].key == "contestant"
    with pytest.raises(TypeError, match="either cc or contestants"):
        package.compare(file, cc="oscar", contestants="oscar")
    with pytest.raises(TypeError, match="either cc or contestants"):
        package.compare(file)


def test_errors_name_what_was_written(incast: Incast) -> None:
    scenario = Scenario.from_toml(SMALL)
    with pytest.raises(
        ScenarioError, match=r'^with_contestant\("nsc"\): "nsc" is no contestant of this file'
    ):
        scenario.with_contestant("nsc")
    (incast.folder / "s.toml").write_text(SMALL)
    done = incast.here("compare", "s.toml", "--contestants", "hpcc,nsc")
    assert done.returncode == 2
    assert '--contestants hpcc,nsc: "nsc" is no contestant of this file' in done.stderr
    assert 'did you mean "nscc"? `incast list contestants` has all' in done.stderr
    (incast.folder / "mine.toml").write_text("[contestant.mine]\nfrom = 'nscc'\ntopology = {}\n")
    done = incast.here("compare", "s.toml", "--contestants", "mine.toml")
    assert done.returncode == 2
    assert "contestant.mine: contestant.mine.topology: a contestant sets cc, switch, transport" in done.stderr
    for wrong, why in (("none.toml", "none.toml"), ("s.toml", "s.toml: defines no contestant")):
        done = incast.here("compare", "s.toml", "--contestants", wrong)
        assert done.returncode == 2
        assert why in done.stderr


def test_a_file_of_contestants_is_checked_by_itself(incast: Incast) -> None:
    (incast.folder / "mine.toml").write_text(HALF)
    done = incast.here("validate", "mine.toml")
    assert (done.returncode, done.stdout) == (0, "mine.toml: fine\n  contestants  half, steep\n")
    (incast.folder / "mine.toml").write_text(HALF.replace("target_share", "target_shar"))
    done = incast.here("validate", "mine.toml")
    assert done.returncode == 2
    assert "target_shar: unknown key" in done.stderr
    (incast.folder / "s.toml").write_text(SMALL)
    done = incast.here("validate", "s.toml", "--set", "contestant=ndp")
    assert "contestant  ndp\n" in done.stdout
    assert "switch.buffer: switch.trimming sets the limits of queues\n" in done.stdout


def test_names_are_those_that_people_write() -> None:
    assert [named(it) for it in ("NSCC", "θ-PowerTCP", "Homa", "bfc", "Swift:Oscar")] == [
        "nscc",
        "theta-powertcp",
        "homa",
        "bfc",
        "swift:oscar",
    ]
    assert named("Mine", ["Mine"]) == "Mine"
    assert "mine" in everyone(["mine"])
    assert "lossless" not in everyone()


def test_an_algorithm_of_ones_own_is_a_contestant(incast: Incast) -> None:
    (incast.folder / "s.toml").write_text(SMALL)
    (incast.folder / "mine.py").write_text(PLUGIN)
    done = incast.here(
        "compare", "s.toml", "--contestants", "mine.py,dctcp", "--out", "out", "--set", "switch.buffer=4MB"
    )
    assert done.returncode == 0, done.stderr
    own = next(path for path in (incast.folder / "out").iterdir() if path.name != "dctcp")
    text = (own / "scenario.toml").read_text()
    assert "[switch.pfc]" in text
    assert 'recovery = "go-back-n"' in text


def test_algorithms_of_a_file_are_compared_without_their_networks(incast: Incast) -> None:
    (incast.folder / "s.toml").write_text(SMALL)
    (incast.folder / "mine.toml").write_text(HALF + "[contestant.pulls]\nfrom = 'ndp'\n")
    marks = ("--set", "switch.ecn={kmin='40KB', kmax='40KB', pmax=1.0}")
    done = incast.here("compare", "s.toml", "--cc", "mine.toml", *marks)
    assert done.returncode == 2
    assert "pulls has no algorithm at the sender" in done.stderr
    (incast.folder / "mine.toml").write_text(HALF)
    done = incast.here("compare", "s.toml", "--cc", "swift,mine.toml", *marks, "--out", "out")
    assert done.returncode == 0, done.stderr
    run = incast.here(
        *(
            "run",
            "s.toml",
            "--set",
            "cc={algorithm='nscc', preset='trimming', target_share=0.5, forget_base_rtt=true}",
        ),
        *(*marks, "--out", "one"),
    )
    assert run.returncode == 0, run.stderr
    fingerprint = package.Result.open(incast.folder / "one").fingerprint
    # The two differ in their marks only, which are the scenario's here.
    for name in ("half", "steep"):
        assert package.Result.open(incast.folder / "out" / name).fingerprint == fingerprint
    assert package.Result.open(incast.folder / "out/swift").fingerprint != fingerprint


def test_lists_have_every_contestant(incast: Incast) -> None:
    text = incast("list", "contestants").stdout
    for one in contestants():
        assert f"\n  {one.name} " in text, one.name
    entry = incast("list", "contestant.nscc").stdout
    assert 'balancing.policy = "reps"' in entry
    assert "uet-htsim" in entry
    assert all(len(line) <= 80 for line in (text + entry).splitlines())


def test_the_schema_knows_contestants_and_shares() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = package.schema()
    good = {
        "topology": {"kind": "star", "hosts": 3, "rate": "100Gbps", "delay": "3us"},
        "traffic": [{"kind": "incast", "to": "h2", "size": "1MB"}],
        "switch": {"buffer": "1 BDP", "ecn": {"kmin": "0.2 BDP", "kmax": "4KB", "pmax": 1.0}},
        "contestant": {"mine": {"from": "nscc", "switch": {"pfc": False, "ecn": False}, "cc": {"x": 1}}},
    }
    jsonschema.validate(json.loads(json.dumps(good)), schema)
    refused: list[dict[str, object]] = [{"mine": {"topology": {}}}, {"mine": {"switch": {"ecm": {}}}}]
    for wrong in refused:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**good, "contestant": wrong}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**good, "switch": {"buffer": "1 bdp"}}, schema)


@pytest.mark.parametrize(
    "before",
    [
        ["cc.algorithm=swift"],
        ["cc.algorithm=swift", "cc.preset=oscar"],
        ["cc = { algorithm = 'swift' }"],
    ],
)
def test_a_contestant_replaces_an_algorithm_that_was_chosen_before(before: list[str]) -> None:
    """A name that was set earlier once won: rows named DCTCP and HPCC were both Swift."""
    chosen = package.Scenario.from_toml(SMALL, overrides=[*before, "switch.buffer=4MB"])
    made = package.compare(chosen, contestants=["dctcp", "hpcc"])
    assert {name: one.info["algorithms"] for name, one in made.items()} == {
        "dctcp": ["dctcp:paper"],
        "hpcc": ["hpcc:paper"],
    }


def test_a_file_with_an_algorithm_is_compared_over_seeds_too(incast: Incast) -> None:
    (incast.folder / "s.toml").write_text(SMALL)
    (incast.folder / "mine.py").write_text(PLUGIN)
    (incast.folder / "mine.toml").write_text(HALF)
    done = incast.here("compare", "s.toml", "--cc", "mine.py,swift", "--seeds", "2", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "fixed-rate" in (incast.folder / "out/table.csv").read_text()
    marks = ("--set", "switch.ecn={kmin='40KB', kmax='40KB', pmax=1.0}")
    refused = incast.here("compare", "s.toml", "--cc", "mine.toml,swift", "--seeds", "2", *marks)
    assert refused.returncode == 2
    assert "--contestants FILE" in refused.stderr
