"""Every command and every snippet in the README and in the documentation does what it says.

``UPDATE_DOCS=1`` writes the output that commands have now into the pages.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import incast
from helpers import ROOT, Incast
from scripts import script
from snippets import LANGUAGES, Block, Runner, blocks, check, shims

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
UPDATE = bool(os.environ.get("UPDATE_DOCS"))

# Blocks that cannot run here, by page. Each says its reason in the page; a new one is counted here.
NOT_RUN = {
    "README.md": 1,
    "docs/algorithms/ccc.md": 1,
    "docs/c.md": 6,
    "docs/dev/ci.md": 1,
    "docs/dev/documentation.md": 2,
    "docs/dev/mutants.md": 1,
    "docs/dev/threads.md": 1,
    "docs/guide/arena.md": 3,
    "docs/guide/from-simulator-to-kernel.md": 7,
    "docs/guide/kernel.md": 3,
    "docs/guide/one-behaviour.md": 3,
    "docs/guide/own-algorithm.md": 1,
    "docs/guide/measures.md": 1,
    "docs/guide/presets.md": 1,
    "docs/guide/recovery.md": 1,
    "docs/guide/reproduce.md": 2,
    "docs/guide/testbed.md": 1,
    "docs/guide/tune.md": 2,
    "docs/guide/wire.md": 2,
    "docs/index.md": 1,
    "docs/tutorial/install.md": 2,
    "docs/performance.md": 6,
}


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def runnable(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.language in LANGUAGES]


@pytest.mark.parametrize("page", [p for p in PAGES if runnable(p)], ids=name)
def test_snippets(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    # Plugins that other tests of this process have registered, which are among all algorithms.
    monkeypatch.setattr("incast.scenario.choice.registered", dict)
    monkeypatch.setattr("sys.path", [str(tmp_path), *sys.path])
    folder = tmp_path / "checkout"
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("target"))
    runner = Runner(folder, shims(tmp_path / "bin"))
    stuck = check(page, runner, UPDATE)
    if stuck:
        lines = "\n".join(f"  {place}" for place in stuck)
        pytest.fail(
            f"blocks with … that no longer match, and that UPDATE_DOCS=1 cannot bring up to date:\n{lines}\n"
            "change these by hand",
            pytrace=False,
        )


def test_what_is_not_run_is_counted_and_says_why() -> None:
    counted = {}
    for page in PAGES:
        reasons = [block.say["skip"] for block in runnable(page) if "skip" in block.say]
        assert all(len(reason.split()) >= 3 for reason in reasons), f"{name(page)}: give a reason"
        if reasons:
            counted[name(page)] = len(reasons)
    assert counted == NOT_RUN


def test_generated_pages_are_those_of_this_version(tmp_path: Path) -> None:
    made = tmp_path / "docs"
    subprocess.run([sys.executable, ROOT / "docs/generate.py", made], check=True)
    files = [path.relative_to(made) for path in sorted(made.rglob("*")) if path.is_file()]
    assert len(files) > 8
    stale = [
        file.as_posix()
        for file in files
        if not (ROOT / "docs" / file).exists()
        or (ROOT / "docs" / file).read_bytes() != (made / file).read_bytes()
    ]
    assert stale == [], "run: .venv/bin/python docs/generate.py"
    # The root has pages of both kinds.
    for folder in {file.parent for file in files} - {Path()}:
        there = {p.name for p in (ROOT / "docs" / folder).iterdir() if p.is_file()}
        assert there == {f.name for f in files if f.parent == folder}, f"docs/{folder} is generated"


def test_lists_of_algorithms_are_those_of_this_version() -> None:
    """The text between marks in pages that are written by hand lists the algorithms of this version."""
    generate = script("generate")
    parts = generate.parts()
    assert {path.relative_to(ROOT).as_posix() for path in parts} == {*generate.PARTS, "docs/learned.md"}
    stale = [path.name for path, text in parts.items() if path.read_text() != text]
    assert stale == [], "run: .venv/bin/python docs/generate.py"
    models = (ROOT / "docs/models.md").read_text()
    for algorithm in incast.algorithms():
        assert f"[{algorithm.title}](algorithms/{algorithm.name}.md)" in models
        assert algorithm.needs in models


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benches/README.md"])
def test_links_to_files_lead_somewhere(page: str) -> None:
    path = ROOT / page
    links = re.findall(r"\]\(([^)#\s]+)", path.read_text())
    files = [link for link in links if "://" not in link]
    assert [link for link in files if not (path.parent / link).exists()] == []


def test_files_that_pages_name_are_there() -> None:
    """Every path in code on a page that begins with a folder of the checkout exists; made files apart.

    Plans name files that are not there yet.
    """
    rooms = "crates|tests|python|docs|benches|examples|papers|tools"
    made = {"docs/reproduction.md"}
    wrong, named = [], 0
    for page in (page for page in PAGES if page.parent.name != "plans"):
        text = re.sub(r"(?ms)^ *```.*?^ *```$", "", page.read_text())
        for path in re.findall(rf"`((?:{rooms})/[\w./*-]*)`", text):
            named += 1
            # `NAME.rs` is a file that a reader will write beside others.
            known = re.sub(r"\b(NAME|PAPER|FIGURE)\b", "*", path.rstrip("/"))
            if path not in made and not list(ROOT.glob(known)):
                wrong.append(f"{name(page)}: {path}")
    assert named > 30
    assert wrong == []


def test_the_picture_is_what_its_command_draws(incast: Incast) -> None:
    """The picture of the README is drawn by the README's first command, in fewer colours."""
    command = re.search(r"^\$ incast (compare .*--plot)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert command
    shutil.copytree(ROOT / "examples", incast.folder / "examples", ignore=shutil.ignore_patterns("target"))
    run = incast(*command[1].split(), "--out", "drawn")
    assert run.returncode == 0, run.stderr
    kept = ROOT / "docs/pictures/microburst.png"
    with Image.open(incast.folder / "drawn/queue.png") as new, Image.open(kept) as old:
        assert new.size == old.size
        pixels = [np.asarray(image.convert("RGB"), dtype=float) for image in (new, old)]
    # Fewer colours make a difference of 0.0003; a burst that is 2 % shorter one of 0.003.
    assert np.abs(pixels[0] - pixels[1]).mean() / 255 < 0.002
    assert kept.stat().st_size < 50_000
