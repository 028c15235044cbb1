"""Common parts of the end-to-end tests."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import incast
from blocks import block, joined, traffic

ROOT = Path(__file__).parent.parent
"""The checkout."""

SMALL = joined(
    "seed = 7\n",
    block("[topology]", kind="star", hosts=4, rate="100Gbps", delay="3us"),
    block("[switch]", buffer="unlimited"),
    block("[cc]", algorithm="oscar"),
    traffic("long", "h0", "h3", size="2MB"),
    traffic("burst", ["h1", "h2"], "h3", size="200KB", start="50us"),
    block("[probe]", ports=["to h3"], interval="1us"),
    block("[run]", until="1ms"),
)
"""A star of four hosts: a long flow, two short ones onto it, and a probe at the port they share."""

RING = """\
cc = { algorithm = "constant" }
run = { stall_after = "10ms" }

[topology]
kind = "graph"
hosts = ["h0-h4"]
switches = ["s0-s4"]
rate = "100Gbps"
delay = "1us"
links = [
    { between = ["h0", "s0"] },
    { between = ["s0", "s1"] },
    { between = ["h1", "s1"] },
    { between = ["s1", "s2"] },
    { between = ["h2", "s2"] },
    { between = ["s2", "s3"] },
    { between = ["h3", "s3"] },
    { between = ["s3", "s4"] },
    { between = ["h4", "s4"] },
    { between = ["s4", "s0"] },
]

[switch]
buffer = "1MB"
pfc = {}

[[traffic]]
kind = "permutation"
shift = 2
size = "10MB"
"""
"""Five switches in a ring, a host on each, and pauses: every link comes to wait for the next."""

PLUGIN = """\
import incast

class FixedRate(incast.CongestionControl):
    def start(self, path, now):
        return FixedRateFlow()

class FixedRateFlow(incast.Flow):
    def on_ack(self, ack, hops):
        pass

    def allowance(self):
        return None, 5e10
"""
"""An algorithm in Python that always sends at 50 Gbps: ``fixed-rate``."""


SLOW = "import pathlib, time\n" + PLUGIN.replace(
    "return FixedRateFlow()",
    """pathlib.Path("waiting").touch()
        while not pathlib.Path("stopped").exists():
            time.sleep(0.01)
        return FixedRateFlow()""",
)
"""A plugin whose first flow makes the file ``waiting`` and starts once there is a file ``stopped``."""


def wait_until(ready: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    """Waits until something is the case, however long it takes; not if a process ends before.

    Args:
        ready: Whether it is.
        process: The process that is to bring it about.
    """
    while not ready():
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.02)


def written(folder: Path, files: dict[str, str]) -> Path:
    """Writes files into a folder, by their places in it. Returns the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


Wrong = tuple[str, str, str]
"""A part of a text, a wrong one in its place, and what is said of that."""


def written_wrongly(said: dict[str, str]) -> pytest.MarkDecorator:
    """Runs a test with each change of a text as its argument `wrong`.

    Args:
        said: Of each change, like `one → another`, what is said of it.
    """
    each = [(*change.split(" → "), message) for change, message in said.items()]
    return pytest.mark.parametrize("wrong", each, ids=list(said.values()))


def refusal(file: Path, wrong: Wrong, read: Callable[[], object]) -> str:
    """Writes something wrong into a file, and returns the message with which it is refused as it should be.

    Args:
        file: The file.
        wrong: The part and what is said of it.
        read: Reads the file.
    """
    from incast.ledger import LedgerError

    old, new, said = wrong
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(LedgerError) as refused:
        read()
    assert said in str(refused.value)
    return str(refused.value)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Incast:
    """The command `incast`, run in a folder, without a terminal."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: list[subprocess.Popen[str]] = []

    def words(self, *arguments: str | Path) -> list[str]:
        """The command line of a call."""
        return [sys.executable, "-m", "incast", *map(str, arguments)]

    def __call__(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Runs it to its end."""
        return subprocess.run(
            self.words(*arguments), cwd=self.folder, capture_output=True, text=True, check=False
        )

    def here(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Runs it in this process: the same output, without the second that a process takes to start."""
        from incast.cli import command

        words, before = [*map(str, arguments)], Path.cwd()
        out, err = io.StringIO(), io.StringIO()
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = command(words)
        except SystemExit as stop:
            # argparse ends the process where words are wrong, or ask for help.
            code = stop.code if isinstance(stop.code, int) else 1
        finally:
            os.chdir(before)
            if "matplotlib.pyplot" in sys.modules:
                sys.modules["matplotlib.pyplot"].close("all")
        # Lists of algorithms have what other tests of this process registered; a new process has none of it.
        printed = [out.getvalue(), err.getvalue()]
        if incast.registered():
            own = "|".join(map(re.escape, incast.registered()))
            built_in = "|".join(re.escape(one.name) for one in incast.algorithms())
            printed = [re.sub(rf"\b({built_in})(?:, (?:{own}))+(?![\w-])", r"\1", text) for text in printed]
            printed = [re.sub(rf"(?<![\w-])(?:(?:{own}), )+({built_in})\b", r"\1", text) for text in printed]
        return subprocess.CompletedProcess(words, code, *printed)

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        """Starts it and lets it run."""
        process = subprocess.Popen(
            self.words(*arguments),
            cwd=self.folder,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def stop(self) -> None:
        """Ends what was started and still runs, as after a test that failed."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.communicate()


def run(*words: str, given: str | None = None) -> None:
    """Runs a command that succeeds, within a minute, with a text as its input."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, input=given)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"


def lacking_for_namespaces(*tools: str) -> str:
    """Returns what this machine lacks for network namespaces with these tools; empty if nothing."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        return f"{', '.join(missing)} missing"
    name = f"incast-try-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return f"no network namespace can be made: {made.stderr.strip()}"
    subprocess.run(["ip", "netns", "delete", name], check=True)
    return ""
