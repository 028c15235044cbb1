"""The tool that draws where the instructions of a packet-hop go."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

from helpers import ROOT


@pytest.fixture
def flame(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool, as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "benches"))
    return importlib.import_module("flame")


def test_the_function_whose_callees_are_counted_is_there(flame: ModuleType) -> None:
    module, function = flame.ROOT_FUNCTION.split("::")
    source = (ROOT / f"crates/engine/src/{module}.rs").read_text()
    assert re.search(rf"^fn {function}<", source, re.MULTILINE)


@pytest.mark.parametrize(
    ("function", "part"),
    [
        ("malloc", "memory"),
        ("_int_free", "memory"),
        ("__memcpy_sse2_unaligned_erms", "memory"),
        ("alloc::raw_vec::RawVec<T,A>::grow_one", "memory"),
        ("alloc::vec::Vec<T,A>::push", "events"),
        ("alloc::sync::Arc<T>::deref", "events"),
    ],
)
def test_only_what_finds_or_moves_memory_is_memory(flame: ModuleType, function: str, part: str) -> None:
    ours = ("incast_engine::rings::Ring::take", "/build/crates/engine/src/rings.rs:200")
    assert flame.part((ours, (function, "/rustc/library/alloc/src/vec/mod.rs:1"))) == part


def test_a_bench_without_that_function_is_refused(
    flame: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = tmp_path / "counts"
    counts.write_text("fn=(1) incast_engine::windows::renamed\n0x10 1 5\n")
    monkeypatch.setattr(flame, "BENCH", ROOT / "target/release/incast-bench")
    with pytest.raises(SystemExit, match=r"no function windows::run_share: was it renamed"):
        flame.fold(flame.read(counts))
