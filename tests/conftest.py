"""Common parts of the end-to-end tests: the command `incast`, small scenarios, rights to the kernel."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridged import Start
from helpers import SMALL, Incast, wait_until
from incast import kernel
from incast.algorithm import PLUGINS
from loading import lacking
from published import build, served

_LOADS = "loads programs into the kernel"
"""The property of a test that does, or would where the machine lets it."""


def pytest_xdist_auto_num_workers() -> int:
    """Half as many processes again as there are processors: many tests wait for a network or a kill."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return processors + (processors + 1) // 2


@pytest.fixture
def incast(tmp_path: Path) -> Iterator[Incast]:
    """Runs the command `incast` in an empty folder, without a terminal."""
    command = Incast(tmp_path)
    yield command
    command.stop()


@pytest.fixture
def start(incast: Incast, tmp_path: Path) -> Iterator[Start]:
    """Starts `incast` in a namespace; a receiver has begun to wait when this returns."""
    started: list[subprocess.Popen[str]] = []

    def run(enter: list[str], *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*enter, *incast.words(*words)],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        if words[0] == "receive":
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line.startswith("waiting at "), line + process.stderr.read()
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the documentation site, once for all tests of it."""
    return build(tmp_path_factory.mktemp("docs") / "site")


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Serves the site and yields its address."""
    with served(site) as found:
        yield found


@pytest.fixture(autouse=True)
def no_plugins_left() -> Iterator[None]:
    """Takes the plugins of a test out of the environment: a command of a later test would load them too."""
    before = os.environ.get(PLUGINS)
    yield
    if before is None:
        os.environ.pop(PLUGINS, None)
    else:
        os.environ[PLUGINS] = before


@pytest.fixture(autouse=True)
def no_pictures_left() -> Iterator[None]:
    """Closes the pictures that a test has drawn: with many open ones a later test fails by a warning."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A small star: a long flow, and two short ones onto it, with a probe at the port they share."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def root(request: pytest.FixtureRequest) -> Iterator[None]:
    """The right to load algorithms into the kernel; none stays loaded."""
    request.node.user_properties.append((_LOADS, True))
    missing = lacking()
    if missing:
        pytest.skip(missing)
    if kernel.loaded():
        pytest.skip("something is loaded already, which may be in use: incast kernel unload all")
    yield
    for one in kernel.loaded():
        if one.selectable:
            kernel.unload(one.name)
    wait_until(lambda: not kernel.loaded())
    kernel.clear()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says which of the tests that load programs into the kernel ran, which depends on the machine."""
    ran: list[str] = []
    skipped = 0
    for outcome in ("passed", "failed", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            if (_LOADS, True) not in map(tuple, getattr(report, "user_properties", ())):
                continue
            if outcome == "skipped":
                skipped += 1
            else:
                ran.append(f"{report.nodeid.rpartition('::')[2].partition('@')[0]} {outcome}")
    if ran or skipped:
        terminalreporter.section("tests in the Linux kernel")
        terminalreporter.line(f"{len(ran)} ran, {skipped} were skipped, for the reasons above")
        for name in ran:
            terminalreporter.line(f"  {name}")
