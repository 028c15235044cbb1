"""The package as installed: its version, its stubs, its entry point."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.metadata
import inspect
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import incast
from incast import _build, _core, cli
from incast._lazy import LazyModule

ROOT = Path(__file__).parent.parent


def test_every_part_has_the_same_version() -> None:
    found = re.search(
        r'^\[workspace.package\]\nversion = "(.+)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE
    )
    assert found
    workspace = found[1]
    citation = (ROOT / "CITATION.cff").read_text()
    assert incast.__version__ == workspace
    assert importlib.metadata.version("incast") == workspace
    assert f"version: {workspace}\n" in citation


def test_the_version_of_rust_is_declared_once() -> None:
    workspace, *crates = [ROOT / "Cargo.toml", *sorted(ROOT.glob("crates/*/Cargo.toml"))]
    found = re.search(r'^rust-version = "(.+)"$', workspace.read_text(), re.MULTILINE)
    assert found
    assert len(crates) > 8
    for manifest in crates:
        assert "rust-version.workspace = true\n" in manifest.read_text(), manifest
    for page in ("README.md", "docs/tutorial/install.md", "docs/dependencies.md"):
        text = (ROOT / page).read_text()
        named = re.findall(r"Rust(?:\]\([^)]*\))? (1\.\d+) or newer", text)
        assert named == [found[1]], page


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(inspect.getfile(incast)).parent / "py.typed").exists()


def test_every_dependency_has_its_reason() -> None:
    reasons = (ROOT / "docs/dependencies.md").read_text()
    manifests = [*ROOT.glob("crates/*/Cargo.toml"), ROOT / "benches/Cargo.toml"]
    rust = {
        name
        for manifest in manifests
        for section in re.findall(
            r"^\[(?:dev-)?dependencies\]\n((?:.+\n)*)", manifest.read_text(), re.MULTILINE
        )
        for name in re.findall(r"^([\w-]+)(?:\.workspace)? *=", section, re.MULTILINE)
        if not name.startswith("incast-")
    }
    project = (ROOT / "pyproject.toml").read_text().partition("[tool.")[0]
    python = set(re.findall(r'"([\w-]+)>=', project))
    assert {"pyo3", "toml"} <= rust
    assert {"numpy", "pytest"} <= python
    assert [name for name in sorted(rust | python) if f"`{name}`" not in reasons] == []


def test_stubs_have_exactly_what_the_module_has() -> None:
    """Names, members and argument names of ``_core.pyi`` against the compiled module."""
    importlib.import_module("incast.results")  # It adds the form that tables have in notebooks.
    stub = ast.parse((Path(inspect.getfile(incast)).parent / "_core.pyi").read_text())
    said = {name: node for node in stub.body if (name := _name(node))}
    found = {name for name in vars(_core) if not name.startswith("__")} | {"__version__"}
    assert set(said) == found
    for name, node in said.items():
        thing = getattr(_core, name)
        if isinstance(node, ast.ClassDef):
            every = {m: n for n in node.body if (m := _name(n))}
            members = {m: n for m, n in every.items() if m not in _EVERYWHERE}
            new = every.get("__new__")
            if isinstance(new, ast.FunctionDef):
                assert _arguments(new) == _parameters(thing), name
            there = {m for m in vars(thing) if m not in _EVERYWHERE}
            assert set(members) == there, name
            for member, definition in members.items():
                if isinstance(definition, ast.FunctionDef) and not _is_property(definition):
                    assert _arguments(definition) == _parameters(getattr(thing, member)), f"{name}.{member}"
        elif isinstance(node, ast.FunctionDef):
            assert _arguments(node) == _parameters(thing), name


# What a class of the compiled module has whether or not a stub says so.
_EVERYWHERE = {"__doc__", "__module__", "__new__", "__weakref__", "__dict__", "__repr__", "__hash__"}
# One that can be compared has all of these, whichever it knows.
_EVERYWHERE |= {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
# A text, and what pickles a value; pickling one stores the last of these in its class.
_EVERYWHERE |= {"__str__", "__getnewargs__", "__slotnames__"}


def _name(node: ast.stmt) -> str | None:
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            return name
        case ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            return None


def _is_property(node: ast.FunctionDef) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list)


def _arguments(node: ast.FunctionDef) -> list[tuple[str, bool]]:
    given = [*node.args.posonlyargs, *node.args.args]
    optional = [False] * (len(given) - len(node.args.defaults)) + [True] * len(node.args.defaults)
    pairs = [(a.arg, o) for a, o in zip(given, optional, strict=True)]
    named = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    pairs += [(a.arg, default is not None) for a, default in named]
    return [pair for pair in pairs if pair[0] not in ("self", "cls")]


def _parameters(function: object) -> list[tuple[str, bool]]:
    parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    pairs = [(p.name, p.default is not inspect.Parameter.empty) for p in parameters]
    return [pair for pair in pairs if pair[0] != "self"]


def test_names_that_are_imported_later_are_those_of_the_types() -> None:
    source = ast.parse((ROOT / "python/incast/__init__.py").read_text())
    (typed,) = (
        node for node in source.body if isinstance(node, ast.If) and "not" not in ast.unparse(node.test)
    )
    imports = [node for node in typed.body if isinstance(node, ast.ImportFrom)]
    declared = {(node.module, name.name) for node in imports for name in node.names}
    later = [*incast._MODULES.items(), *incast._NAMES.items()]
    assert sorted(declared) == sorted((module, name) for module, names in later for name in names)
    assert set(incast.__all__) <= set(dir(incast))
    for name in incast.__all__:
        assert getattr(incast, name) is not None


def test_a_process_that_makes_runs_imports_little() -> None:
    """A sweep starts one for each core, and a module takes a millisecond."""
    code = "import sys, incast.runs.runner.worker; print(*(name for name in sys.modules if 'incast' in name))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    needless = {
        f"incast.{part}" for part in ("arena", "attacking", "plot", "real", "report", "sections", "tuning")
    }
    assert needless & set(done.stdout.split()) == set()


def _library(*notes: tuple[bytes, int, bytes]) -> bytes:
    """Returns an ELF file without code, with these notes (name, type, content) and what is no note."""

    def padded(part: bytes) -> bytes:
        return part + bytes(-len(part) % 4)

    parts = (
        struct.pack("<III", len(name), len(content), kind) + padded(name) + padded(content)
        for name, kind, content in notes
    )
    text = b"".join(parts)
    start = 64 + 2 * 56
    head = (
        b"\x7fELF\x02\x01\x01"
        + bytes(9)
        + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    )
    headers = (struct.pack("<IIQQQQQQ", kind, 4, start, 0, 0, len(text), len(text), 4) for kind in (1, 4))
    return head + b"".join(headers) + text


def test_the_identity_of_a_build_is_the_hash_that_the_linker_wrote(tmp_path: Path) -> None:
    def identity(content: bytes) -> str | None:
        file = tmp_path / "core.so"
        file.write_bytes(content)
        return _build.linked(file)

    other, hashed = (b"Linux\0", 3, b"12345"), (b"GNU\0", 3, bytes(range(20)))
    assert identity(_library(other, hashed)) == "0001020304050607"
    # Another type of note, another owner, and a hash that does not depend on all of the content.
    for notes in ([(b"GNU\0", 1, bytes(20))], [(b"Gnu\0", 3, bytes(20))], [(b"GNU\0", 3, bytes(8))], []):
        assert identity(_library(*notes)) is None
    # No ELF file, one of 32 bits, and one that is cut off.
    whole = _library(hashed)
    for content in (b"", b"MZ" + whole, whole[:4] + b"\x01" + whole[5:], whole[:70], whole[:-10]):
        assert identity(content) is None
    assert _build.linked(tmp_path / "missing") is None


def test_a_core_without_such_a_hash_is_known_by_its_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "core.so"
    found = []
    for content in (b"one", b"two", b"one"):
        file.write_bytes(content)
        monkeypatch.setattr(_build, "core", str(file))
        _build.build.cache_clear()
        found.append(_build.build())
    monkeypatch.undo()
    _build.build.cache_clear()
    assert found[0] == found[2] != found[1]
    assert found[0] == f"{incast.__version__}+{hashlib.sha256(b'one').hexdigest()[:16]}"
    assert re.fullmatch(rf"{re.escape(incast.__version__)}\+[0-9a-f]{{16}}", _build.build())


def test_a_lazy_module_is_imported_when_a_name_of_it_is_used() -> None:
    code = """
import sys
from incast._lazy import LazyModule
colors = LazyModule("colorsys")
print("colorsys" in sys.modules)
print(colors.rgb_to_hsv is sys.modules["colorsys"].rgb_to_hsv, "hls_to_rgb" in vars(colors))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = LazyModule("colorsys").nothing


_RUN = """
import contextlib, os, sys
from incast.cli import main
with contextlib.suppress(SystemExit):
    main(sys.argv[1:])
tasks = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
print("imported", tasks, *sys.modules)
"""
"""Makes a run as `incast run` does, and prints the number of its threads and the modules that it imported."""


def test_a_single_run_imports_only_its_own_modules(tmp_path: Path) -> None:
    """A short run takes a few milliseconds, and each module about one."""
    words = ["run", str(ROOT / "examples/microburst.toml"), "--out", str(tmp_path / "out")]
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    command = [sys.executable, "-c", _RUN, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert f"saved in {tmp_path / 'out'}" in done.stdout
    _, tasks, *modules = done.stdout.splitlines()[-1].split()
    own = (
        *("arena", "attacking", "cli.estimate", "ledger", "plot", "real", "report", "runs.runner"),
        *("results.decide", "results.grid", "results.measures", "results.require", "results.sentences"),
        *("runs.study", "runs.sweep", "scenario.measured", "sections", "theory", "tuning"),
    )
    needless = {
        *("concurrent.futures", "csv", "datetime", "difflib", "html", "logging", "multiprocessing", "numpy"),
        *("queue", "random", "resource", "socket", "subprocess", "tempfile", "tomllib", "traceback"),
        *(f"incast.{part}" for part in own),
    }
    assert needless & set(modules) == set()
    # Commands are modules of their own.
    assert {name for name in modules if name.startswith("incast.cli.")} == {
        f"incast.cli.{part}"
        for part in ("common", "options", "outcome", "required", "run", "table", "tables", "unknown")
    }
    # Those of numpy would be started and ended for nothing.
    assert int(tasks) == 1


def test_a_command_alone_has_the_parser_that_it_has_among_all() -> None:
    every = cli.unknown.commands(cli.parser())
    assert len(every) > 20
    alone = {name: cli.unknown.commands(cli._parser_for([name, "--help"])) for name in every}
    assert {name: found[name].format_help() for name, found in alone.items()} == {
        name: found.format_help() for name, found in every.items()
    }
    # Most have it without the others, and a word that is none has them all, for a suggestion.
    assert sum(len(found) < 4 for found in alone.values()) > 12
    assert set(cli.unknown.commands(cli._parser_for(["lists"]))) == set(every)
