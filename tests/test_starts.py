"""``incast new`` and ``Scenario.new``: scenarios to start from."""

from __future__ import annotations

import inspect
import shlex
import sys
import zipfile
from pathlib import Path

import pytest

import incast as package
from helpers import ROOT, Incast
from incast import Scenario, contestants
from incast.scenario import Start, starts
from incast.units import Bytes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

STARTS = starts()


def name(one: Start) -> str:
    return one.name


@pytest.mark.parametrize("one", STARTS, ids=name)
def test_every_start_is_valid_complete_and_commented(one: Start) -> None:
    scenario = Scenario.new(one.name)
    assert scenario.name == one.name
    assert scenario.warnings == []
    assert Scenario.from_toml(scenario.to_toml(), f"{one.name}.toml") == scenario
    sections = tomllib.loads(one.text)
    # What decides a result stands in the file, with a comment above each section.
    assert {"seed", "topology", "switch", "cc", "traffic"} <= set(sections)
    assert {"buffer", "ecn"} <= set(sections["switch"])
    assert one.text.count("\n# ") > len(sections)
    assert all(len(line) <= 120 for line in one.text.splitlines())
    # No command is left that names another file.
    assert "examples/" not in one.for_file("mine.toml").text.replace("examples/presets", "")
    assert [command.split()[2] for command in one.for_file("mine.toml").commands] == ["mine.toml"] * len(
        one.commands
    )


def test_marks_follow_one_rule_that_each_file_states() -> None:
    """As of the contestant `dcqcn`: 400 KB and 1600 KB for each 100 Gbps, 32 and 128 us at any rate."""
    (source,) = (one for one in contestants() if one.name == "dcqcn")
    ecn = tomllib.loads(f"it = {next(value for key, value, _ in source.settings if key == 'switch.ecn')}")[
        "it"
    ]
    assert [8 * Bytes(ecn[key]) / 100e9 for key in ("kmin", "kmax")] == pytest.approx([32e-6, 128e-6])
    texts = {one.name: one.text for one in STARTS}
    texts |= {
        file: (ROOT / file).read_text() for file in ("examples/training.toml", "examples/collective.toml")
    }
    for where, text in texts.items():
        own = tomllib.loads(text)["switch"]["ecn"]
        reference = own.pop("reference", None)
        assert own == {key: value for key, value in ecn.items() if key != "reference"}, where
        says = " ".join(text.replace("#", "").split())
        assert "for each 100 Gbps of a port's rate: 32 and 128 us of queue" in says, where
        # A file without it says why: its links have one rate, or OSCAR's artifact does not scale.
        one_rate = where in ("microburst", "websearch") or where.startswith("examples/")
        assert (reference == ecn["reference"]) == (not one_rate), where


def test_training_sends_what_its_comment_says() -> None:
    """Each server sends the others, by each rail, what its 8 GPUs have for one GPU there: 8 · 125 KB.

    Of the pairs of 16 servers, on 8 rails: 16 · 15 · 8 = 1,920 flows of 1 MB.
    """
    size = Scenario.new("training").size()
    assert size.flows == 16 * 15 * 8
    assert size.bytes == size.flows * 8 * 125_000


def test_training_is_oversubscribed_and_larger_by_two_keys() -> None:
    scenario = Scenario.new("training")
    assert "(2:1)" in scenario.size().network
    larger = scenario.with_(topology__servers=32, topology__spines=16)
    assert larger.size().network.startswith("64 hosts, 32 switches")


def test_examples_of_the_same_name_are_the_starts() -> None:
    for kind in ("websearch", "incast", "microburst"):
        example = ROOT / f"examples/{kind}.toml"
        assert example.resolve() == ROOT / f"python/incast/scenario/starts/{kind}.toml"


def test_starts_are_part_of_the_package() -> None:
    """In the newest wheel where one was built, else in the folder of the package."""
    wheels = sorted((ROOT / "target/wheels").glob("incast-*.whl"), key=lambda path: path.stat().st_mtime)
    folder = Path(inspect.getfile(package)).parent
    if wheels:
        files = set(zipfile.ZipFile(wheels[-1]).namelist())
    else:
        files = {path.relative_to(folder.parent).as_posix() for path in folder.rglob("*.toml")}
    assert {f"incast/scenario/starts/{one.name}.toml" for one in STARTS} <= files


def test_new_lists_the_kinds(incast: Incast) -> None:
    done = incast.here("new")
    assert (done.returncode, done.stderr) == (0, "")
    names = [line.split()[0] for line in done.stdout.splitlines() if line[:2] == "  " and line[2] != " "]
    assert names == ["training", "storage", "websearch", "incast", "microburst", "algorithm"]
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_an_example_that_is_not_here_can_be_written(incast: Incast) -> None:
    """Pages name the examples of the checkout, which a wheel does not have."""
    done = incast.here("run", "examples/microburst.toml")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "examples/microburst.toml: there is no such file",
        "    help: `incast new microburst` writes microburst.toml here",
    ]


def test_new_writes_a_file_whose_commands_run(incast: Incast) -> None:
    done = incast.here("new", "microburst", "my file.toml")
    assert (done.returncode, done.stderr) == (0, "")
    written = (incast.folder / "my file.toml").read_text()
    assert "#   incast run 'my file.toml'" in written
    commands = [line.strip() for line in done.stdout.splitlines() if line.startswith("  incast ")]
    assert [command.split()[1] for command in commands] == ["validate", "run", "compare"]
    for command in commands:
        after = incast.here(*shlex.split(command)[1:])
        assert after.returncode == 0, after.stderr


def test_new_keeps_a_file_that_is_there(incast: Incast) -> None:
    (incast.folder / "training.toml").write_text("mine")
    done = incast.here("new", "training")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "incast: training.toml is there; name another file, or --force\n"
    assert (incast.folder / "training.toml").read_text() == "mine"
    assert incast.here("new", "training", "--force").returncode == 0
    assert Scenario.load(incast.folder / "training.toml") == Scenario.new("training")


def test_new_says_why_it_cannot_write(incast: Incast) -> None:
    done = incast.here("new", "training", "nowhere/training.toml")
    assert done.returncode == 2
    assert done.stderr == "incast: nowhere/training.toml cannot be written: No such file or directory\n"


def test_a_wrong_kind_gets_a_suggestion(incast: Incast) -> None:
    done = incast.here("new", "trainin")
    assert done.returncode == 2
    assert "there is no 'trainin'; did you mean 'training'?" in done.stderr
    with pytest.raises(ValueError, match='no scenario "trainin" to start from; did you mean "training"'):
        Scenario.new("trainin")
    with pytest.raises(ValueError, match="there are training, storage, websearch, incast, microburst"):
        Scenario.new("zzz")


@pytest.mark.parametrize("command", ["run", "compare", "sweep", "validate"])
def test_a_command_without_a_scenario_names_the_way_to_one(incast: Incast, command: str) -> None:
    done = incast(command)
    assert done.returncode == 2
    assert "\n    help: `incast new` writes a scenario to start from\n" in done.stderr
    # With a file it is not said, whatever else is wrong.
    assert "incast new" not in incast(command, "nothing.toml").stderr
