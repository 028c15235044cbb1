"""Every import goes down: ``rooms.toml`` says which room may know which."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from helpers import ROOT, written
from imports import Tree, read, used, without_tests

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOMS: dict[str, dict[str, Any]] = tomllib.loads((ROOT / "rooms.toml").read_text())
CRATES = ROOMS.pop("crates")
REST = "*"
LARGEST = 3
"""Files of the largest circle of imports that is allowed anywhere."""

ADVICE = "Move what both need to a room below, or let the upper room pass it as an argument."


def faults(tree: Tree, floors: list[list[str]]) -> list[str]:
    """Returns the faults in the rooms of a tree, a sentence for each."""
    floor = {room: number for number, rooms in enumerate(floors) for room in rooms}
    named = [room for rooms in floors for room in rooms]
    found = [f"`{room}` is on two floors" for room in sorted(set(named)) if named.count(room) > 1]
    found += [
        f"there is no room `{room}`; take it off its floor"
        for room in sorted(set(named) - tree.rooms() - {REST})
    ]
    homeless = sorted(tree.rooms() - set(named))
    if REST not in floor:
        found += [f"room `{room}` has no floor; give it one in rooms.toml" for room in homeless]
        return found if homeless else found + _upward(tree, floor)
    return found + _upward(tree, {**floor, **dict.fromkeys(homeless, floor[REST])})


def _upward(tree: Tree, floor: dict[str, int]) -> list[str]:
    """The imports of rooms that are not below, each with its file, both rooms and a remedy."""
    return [
        f"{file}: room `{room}` imports `{other}`, which is not on a lower floor. {ADVICE}"
        for file, room, other in tree.between_rooms()
        if floor.get(other, len(floor)) >= floor[room]
    ]


@pytest.fixture(scope="module")
def trees() -> dict[str, Tree]:
    return {name: read(ROOT / spec["root"]) for name, spec in ROOMS.items()}


@pytest.mark.parametrize("name", ROOMS)
def test_every_import_goes_down(name: str, trees: dict[str, Tree]) -> None:
    assert faults(trees[name], ROOMS[name]["floors"]) == []


@pytest.mark.parametrize("name", ROOMS)
def test_circles_of_files_are_small(name: str, trees: dict[str, Tree]) -> None:
    circle = trees[name].largest_circle()
    named = ", ".join(map(str, circle))
    if known := ROOMS[name].get("circle"):
        assert len(circle) == known > LARGEST, (
            f"rooms.toml has a circle of {known} files; now there is: {named}"
        )
    else:
        assert len(circle) <= LARGEST, f"these files all import each other: {named}"


def test_the_lab_builds_on_its_grammar_which_knows_no_section(trees: dict[str, Tree]) -> None:
    above = {room for _, room, other in trees["lab"].between_rooms() if other == "grammar"}
    assert above >= {"scenario", "topology", "traffic", "cc"}
    floors = ROOMS["lab"]["floors"]
    grammar = next(number for number, rooms in enumerate(floors) if "grammar" in rooms)
    sections = {"scenario", "formats", "topology", "traffic", "cc", "sizes", "schema"}
    assert not sections & {room for rooms in floors[:grammar] for room in rooms}


def test_only_adapters_import_the_compiled_core(trees: dict[str, Tree]) -> None:
    root = ROOT / ROOMS["python"]["root"]
    tree = trees["python"]
    found = {
        tree.files[module].relative_to(root).as_posix()
        for module, others in tree.imports.items()
        if ("_core",) in others
    }
    assert found == set(ROOMS["python"]["core"]), (
        "take lists from incast.catalogue, exceptions from incast.errors"
    )


def test_crates_depend_on_crates_below() -> None:
    floor = {crate: number for number, crates in enumerate(CRATES["floors"]) for crate in crates}
    manifests = {path.parent.name: path for path in (ROOT / CRATES["root"]).glob("*/Cargo.toml")}
    assert set(floor) == set(manifests), "every crate has one floor in rooms.toml"
    wrong = []
    for crate, path in sorted(manifests.items()):
        manifest = tomllib.loads(path.read_text())
        for other in manifest.get("dependencies", {}):
            below = floor.get(other.removeprefix("incast-"), -1) if other.startswith("incast-") else -1
            if below >= floor[crate]:
                wrong.append(f"{crate} depends on {other}, which is not on a lower floor of rooms.toml")
    assert wrong == []
    lab = tomllib.loads(manifests["lab"].read_text())["dependencies"]
    assert "incast-sim" in lab


# The check itself, on small trees.


RUST = {
    "lib.rs": """
        mod ground;
        mod first;
        mod top;
        #[cfg(test)]
        mod bench;
        pub use ground::Stone;
        pub struct Own;
    """,
    "ground.rs": """
        //! See [`crate::top`].
        pub struct Stone;
        /* use crate::top::Roof; */
        const S: &str = "crate::top::Roof";
    """,
    "first/mod.rs": """
        mod wall;
        mod door;
        pub(crate) use door::Door;
        pub(crate) use wall::Wall;
        use crate::Stone;
    """,
    "first/wall.rs": """
        use super::Door;
        pub(crate) struct Wall(Door);
        #[cfg(test)]
        mod tests { use crate::top::Roof; }
    """,
    "first/door.rs": "pub(crate) struct Door<'a>(&'a u8);",
    "top.rs": "use crate::{first::{self, Wall as W}, ground};",
    "bench.rs": "use crate::top::Roof;",
}
FLOORS = [["ground"], ["first"], ["top"]]


def test_a_good_tree_has_no_faults(tmp_path: Path) -> None:
    tree = read(written(tmp_path, RUST))
    assert tree.rooms() == {"ground", "first", "top"}
    assert faults(tree, FLOORS) == []
    assert {(room, other) for _, room, other in tree.between_rooms()} == {
        ("first", "ground"),
        ("top", "first"),
        ("top", "ground"),
    }
    # What `first` re-exports is not in its file: wall imports door, and nobody the other way.
    assert tree.imports["first", "wall"] == {("first", "door")}
    assert len(tree.largest_circle()) == 1


@pytest.mark.parametrize(
    "line",
    [
        "use crate::top::Roof;",
        "use crate::{ground, top::{Roof}};",
        "use super::top;",
        "fn f() -> u8 { crate::top::roof() }",
        "macro_rules! m { () => { $crate::top::roof() } }",
        "pub(crate) use crate::top::Roof;",
    ],
)
def test_an_import_of_a_room_above_is_found(tmp_path: Path, line: str) -> None:
    tree = read(written(tmp_path, {**RUST, "ground.rs": f"pub struct Stone;\n{line}"}))
    (fault,) = faults(tree, FLOORS)
    assert fault.startswith(f"{tmp_path / 'ground.rs'}: room `ground` imports `top`, which is not on a lower")
    assert fault.endswith(ADVICE)


def test_rooms_of_one_floor_do_not_know_each_other(tmp_path: Path) -> None:
    assert len(faults(read(written(tmp_path, RUST)), [["ground"], ["first", "top"]])) == 1


def test_the_root_is_above_all_rooms(tmp_path: Path) -> None:
    (fault,) = faults(read(written(tmp_path, {**RUST, "top.rs": "use crate::Own;"})), FLOORS)
    assert "room `top` imports `lib.rs`" in fault


def test_every_room_needs_a_floor_and_every_floor_its_rooms(tmp_path: Path) -> None:
    tree = read(written(tmp_path, RUST))
    assert faults(tree, [["ground"], ["top"]]) == ["room `first` has no floor; give it one in rooms.toml"]
    assert faults(tree, [["ground"], [REST], ["top"]]) == []
    assert faults(tree, [["ground"], ["first"], ["top", "cellar"]]) == [
        "there is no room `cellar`; take it off its floor"
    ]
    assert "`ground` is on two floors" in faults(tree, [["ground"], ["first", "ground"], ["top"]])


def test_a_circle_of_files_is_found(tmp_path: Path) -> None:
    more = {"first/door.rs": "use super::wall::Wall;\npub(crate) struct Door;"}
    circle = read(written(tmp_path, {**RUST, **more})).largest_circle()
    assert [file.name for file in circle] == ["door.rs", "wall.rs"]


PACKAGE = {
    "__init__.py": "from house.top import roof",
    "__main__.py": "import house.top",
    "ground.py": '"""import house.top"""',
    "first/__init__.py": "from house.first.wall import Wall",
    "first/wall.py": "from house import ground",
    "top.py": "from house.first import wall\nfrom house.first import Wall",
}


def test_python_is_read_too(tmp_path: Path) -> None:
    tree = read(written(tmp_path / "house", PACKAGE))
    assert tree.rooms() == {"ground", "first", "top"}
    assert faults(tree, FLOORS) == []
    assert tree.imports["top",] == {("first",), ("first", "wall")}
    for line in (
        "import house.top",
        "from house.top import x",
        "from house import top",
        "def f():\n    import house.top",
    ):
        (fault,) = faults(read(written(tmp_path / "house", {"ground.py": line})), FLOORS)
        assert "ground.py: room `ground` imports `top`" in fault


def test_a_circle_of_python_files_is_found(tmp_path: Path) -> None:
    lazy = "def f():\n    from house import top"
    circle = read(written(tmp_path / "house", {**PACKAGE, "ground.py": lazy})).largest_circle()
    assert [file.name for file in circle] == ["__init__.py", "wall.py", "ground.py", "top.py"]


def test_use_trees_are_taken_apart() -> None:
    assert list(used("crate::{a, b::{self, C as D}, e::*}")) == [
        (("crate", "a"), "a"),
        (("crate", "b"), "b"),
        (("crate", "b", "C"), "D"),
        (("crate", "e", "*"), "*"),
    ]


def test_tests_and_literals_are_left_out() -> None:
    text = """
        a<'x>(b'\\'', "}") // crate::b
        #[cfg(test)]
        use crate::c;
        #[cfg(all(test, unix))]
        fn t() { if d {} }
        fn e() {}
    """
    assert without_tests(text).split() == ['a<\'x>("",', '"")', "fn", "e()", "{}"]
