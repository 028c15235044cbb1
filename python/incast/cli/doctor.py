"""``incast doctor``: checks the machine and the installation."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from incast._build import __version__, core, profile
from incast._terminal import cells
from incast.cli.options import Commands, add_command
from incast.cli.table import number, pad, paragraph
from incast.real import kernel
from incast.runs import store
from incast.runs.runner import cores
from incast.scenario import Scenario

FULL_BYTES = 1e9
"""Less free disk space than this is reported."""


@dataclass(frozen=True)
class Finding:
    """The outcome of a check.

    Attributes:
        what: What was checked.
        found: What was found.
        state: ``ok``; ``missing`` if something optional is missing; ``wrong`` if Incast does not work
            properly.
        help: What to do about it.
    """

    what: str
    found: str
    state: str = "ok"
    help: str = ""


def add(commands: Commands) -> None:
    """Adds the command."""
    add_command(
        commands,
        act,
        "doctor",
        "check this machine and the installation",
        "Checks the machine and the installation, and says what to do about problems.",
    )


def act(options: argparse.Namespace) -> int:
    """Prints the findings; fails if something is wrong."""
    del options
    findings = examine()
    width = max(cells(f.what) for f in findings)
    for f in findings:
        mark = {"ok": "ok     ", "missing": "missing", "wrong": "WRONG  "}[f.state]
        wrapped = paragraph(f.found, " " * (width + 11))
        print(f"{mark}  {pad(f.what, width, True)}{wrapped[width + 9 :]}")
        if f.help:
            print(paragraph(f"→ {f.help}", " " * (width + 11)))
    wrong = [f.what for f in findings if f.state == "wrong"]
    print(f"\nwrong: {', '.join(wrong)}" if wrong else "\nIncast works here.")
    return 1 if wrong else 0


def examine() -> list[Finding]:
    """Makes all checks."""
    return [
        Finding("incast", f"{__version__} in {Path(core).parent}"),
        speed(),
        Finding("Python", f"{platform.python_version()} at {sys.executable}"),
        machine(),
        disk(Path()),
        locks(Path()),
        linux(),
        *(package(name, why, extra) for name, why, extra in _PACKAGES),
        *(program(names, why, how) for names, why, how in _PROGRAMS),
    ]


def speed() -> Finding:
    """Returns how the compiled core was built, and how fast it is."""
    result = Scenario.from_toml(_TRIAL, "trial.toml").run()
    text = f"{number(float(result.info['outcome']['hops_per_s']) / 1e6)} M packet-hops/s on one core"
    text = f"{text}, a {profile} build"
    if profile == "debug":
        help_ = "runs take many times as long; rebuild it: make build"
        return Finding("compiled core", text, "wrong", help_)
    if profile == "development":
        help_ = "made for the tests, with more checks; a faster one: make build"
        return Finding("compiled core", text, "ok", help_)
    return Finding("compiled core", text)


_TRIAL = """\
topology = { kind = "star", hosts = 4, rate = "100Gbps", delay = "1us" }
switch = { buffer = "unlimited" }
cc = { algorithm = "oscar" }
run = { until = "10ms" }
[[traffic]]
kind = "flows"
from = ["h0", "h1"]
to = "h3"
size = "20MB"
"""


def machine() -> Finding:
    """Cores and memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    load = os.getloadavg()[0]
    many = "1 core" if cores() == 1 else f"{cores()} cores"
    text = f"{many}, {memory:.0f} GB memory, {platform.system()} {platform.machine()}, load {load:.1f}"
    if load > cores():
        return Finding("machine", text, "ok", "busy: runs take longer than on an idle machine")
    return Finding("machine", text)


def disk(folder: Path) -> Finding:
    """Space for results."""
    where = folder.resolve()
    free = shutil.disk_usage(where).free
    text = f"{free / 1e9:.1f} GB free in {where}"
    if not os.access(where, os.W_OK):
        return Finding("disk", f"{where} is not writable", "missing", "name a folder with --out")
    if free < FULL_BYTES:
        return Finding("disk", text, "missing", "large results will not fit; name a folder with --out")
    return Finding("disk", text)


def locks(folder: Path) -> Finding:
    """Whether the file system supports the locks by which processes coordinate."""
    try:
        with tempfile.TemporaryDirectory(dir=folder) as name, store.claim(Path(name) / "result") as held:
            if held:
                return Finding("file locks", "no two processes will make the same result")
    except OSError:
        pass
    help_ = "use another folder, or do not let two processes write the same result"
    return Finding("file locks", "not supported in this folder", "missing", help_)


def linux() -> Finding:
    """Whether algorithms can be loaded into this machine's kernel."""
    try:
        now = kernel.loaded()
    except kernel.KernelError as error:
        return Finding("Linux kernel", "algorithms cannot be loaded into it", "missing", str(error))
    missing = [known.algorithm for known in kernel.CONTROLS if not (kernel.OBJECTS / known.object).exists()]
    if missing:
        text = f"could load algorithms, but these are not built: {', '.join(missing)}"
        return Finding("Linux kernel", text, "missing", "build them in a checkout: make bpf")
    names = ", ".join(sorted({one.name for one in now})) or "none"
    return Finding("Linux kernel", f"can load algorithms; loaded: {names}")


_PACKAGES = (
    ("matplotlib", "pictures: incast plot, compare --plot", "pip install 'incast[plot]'"),
    ("ray", "sweeps on a cluster: incast sweep --on ray", "pip install 'incast[ray]'"),
    ("polars", "tables as data frames", "pip install polars"),
    ("pandas", "tables as data frames", "pip install pandas"),
    ("pyarrow", "tables as Arrow", "pip install pyarrow"),
)

_PROGRAMS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("tshark",), "reads pcapng files of captured ports", "apt install tshark"),
    (("chromium", "chromium-browser", "google-chrome"), "tests of reports", "apt install chromium"),
    (("cargo",), "builds Incast and algorithms in Rust", "https://rustup.rs"),
)


def package(name: str, why: str, how: str) -> Finding:
    """An optional Python package."""
    if importlib.util.find_spec(name) is None:
        return Finding(name, f"not installed; {why}", "missing", how)
    try:
        return Finding(name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, "installed")


def program(names: tuple[str, ...], why: str, how: str) -> Finding:
    """An optional program."""
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return Finding(names[0], _version(path) or path)
    return Finding(names[0], f"not installed; {why}", "missing", how)


def _version(path: str) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = done.stdout.strip().splitlines()
    return lines[0].strip() if lines and done.returncode == 0 else ""
