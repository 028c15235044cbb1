"""Command lines that are wrong, and their messages; kept in `snapshots/commands.txt`.

`UPDATE_SNAPSHOTS=1` writes the file again; read the difference before you keep it.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from helpers import SMALL, Incast

SNAPSHOT = Path(__file__).parent / "snapshots/commands.txt"

BAD = """\
rum small.toml
run
run missing.toml
run .
run small.toml --set topology.rate
run small.toml --set topology.rate=100
run small.toml --set topology.hostz=3
run small.toml --seed -1
run small.toml --seed 18446744073709551616
run small.toml --threads 0
run small.toml --out small.toml
run small.toml --out done --seed 8
run small.toml --out mine
compare small.toml --cc oscar,ocsar,
compare small.toml --cc oscar:papr
compare small.toml --cc hpcc,hpcc
list ocsar
sweep missing.toml --vary cc=oscar
sweep small.toml --vary cc
sweep small.toml --vary =oscar
sweep small.toml --vary cc=oscar,,hpcc
sweep small.toml --vary cc=oscar,oscar
sweep small.toml --vary cc=oscar,ocsar --vary topology.rate=100,200Gbps
sweep small.toml --vary seed=1,2
sweep small.toml --vary topology.delay=1us --vary topology.delay=2us
sweep small.toml --vary topology.delay=3us,3000ns
sweep small.toml --vary traffic.9.size=1MB
sweep small.toml --seeds 0
sweep small.toml --seeds 2 --seed 18446744073709551615
sweep small.toml --jobs all
sweep small.toml --on mars
sweep small.toml --out mine
show missing
show mine
show .
show broken
plot missing
plot small.toml
plot done --kind pie
plot done --port s0
plot done --port s0:1
plot done --out queue.gif
plot done --kind slowdown --out nowhere/slowdown.pdf
report missing
completion tcsh
doctor aspirin
"""


def said(text: str) -> str:
    """Returns the output without the lines on a command's usage, and without lists that grow."""
    text = re.sub(r"usage: .*?(?=^incast)", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"\(choose from .*\)", "(choose from …)", text)


@pytest.fixture
def laid_out(incast: Incast) -> Incast:
    """A folder with a scenario, a result, a damaged result, and somebody's own files."""
    folder = incast.folder
    (folder / "small.toml").write_text(SMALL)
    assert incast("run", "small.toml", "--out", "done").returncode == 0
    (folder / "mine").mkdir()
    (folder / "mine/thesis.tex").write_text("years of work")
    (folder / "broken").mkdir()
    (folder / "broken/result.json").write_text('{"format": "incast-result", "state": 3}')
    return incast


def test_what_wrong_command_lines_are_told(laid_out: Incast) -> None:
    before = sorted(laid_out.folder.rglob("*"))
    texts = []
    for number, line in enumerate(BAD.splitlines()):
        done = laid_out.here(*shlex.split(line))
        if number % 9 == 0:
            # A process of its own says the same.
            own = laid_out(*shlex.split(line))
            assert (done.returncode, done.stdout, done.stderr) == (own.returncode, own.stdout, own.stderr)
        assert done.returncode in (1, 2), line
        assert done.stdout == "", line
        assert "Traceback" not in done.stderr, line
        assert "panicked" not in done.stderr, line
        texts.append(f"$ incast {line}\n{said(done.stderr).rstrip()}\n[exit code {done.returncode}]\n")
    assert sorted(laid_out.folder.rglob("*")) == before
    text = "\n".join(texts)
    assert str(laid_out.folder) not in text
    if os.environ.get("UPDATE_SNAPSHOTS"):
        SNAPSHOT.write_text(text)
    assert text == SNAPSHOT.read_text()
