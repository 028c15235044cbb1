"""The store of results: each is found by a hash of its inputs and computed by one process at a time.

A result is the same whenever the effective scenario (its seed and every default inside), the version of
Incast, the files that the scenario names and the user's own algorithms are the same. A hash of these is
its key, and the key is part of its folder's name: ``incast-results/microburst/oscar-seed1-3f2a9c1b7d``.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incast._build import build
from incast._hash import sha256
from incast.errors import ResultError
from incast.results.result import Result, parse_info
from incast.results.titles import short
from incast.scenario import Progress, Scenario

DEFAULT = Path("incast-results")
"""Default place of results: a folder under the current one."""

KEY_DIGITS = 10
"""Hexadecimal digits of a key in a folder's name. That a folder is the right one is checked apart."""


@dataclass(frozen=True)
class Obtained:
    """A result, and whether it was reused.

    Attributes:
        result: The result.
        reused: Whether it existed already.
    """

    result: Result
    reused: bool


def key(scenario: Scenario, files: Sequence[Path] = ()) -> str:
    """The key of a result: a hash of everything that determines it.

    Args:
        scenario: The scenario.
        files: Other files that it depends on: the scenario's own imports, sources of plugins.

    Returns:
        64 hexadecimal digits.

    Raises:
        ResultError: When one of the files cannot be read.
    """
    digest = sha256()
    parts = [b"incast result 1", build().encode(), scenario.to_toml().encode()]
    for file in files:
        try:
            parts.append(sha256(file.read_bytes()).digest())
        except OSError as error:
            raise ResultError(f"cannot read {file}: {error.strerror}") from None
    for part in parts:
        # Each part is preceded by its length, so that two parts cannot be confused with one.
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def named_files(scenario: Scenario) -> list[Path]:
    """The files that an effective scenario still names, like a topology or flows in another format."""
    return [Path(name) for name in scenario.files]


def folder_name(text: str) -> str:
    """A string as a folder name: characters special to a file system or a shell become dashes."""
    return re.sub(r"[^\w.+-]+", "-", text).strip(".-") or "scenario"


def label(scenario: Scenario) -> str:
    """The label of a run: its algorithm, or ``mixed`` if every traffic block has its own."""
    return "mixed" if scenario.algorithm is None else short(scenario.algorithm)


def place(store: Path, scenario: Scenario, files: Sequence[Path] = ()) -> Path:
    """The folder of a result in a store.

    Args:
        store: The folder of all results, such as :data:`DEFAULT`.
        scenario: The scenario of the result.
        files: As for :func:`key`.
    """
    name = f"{folder_name(label(scenario))}-seed{scenario.seed}-{key(scenario, files)[:KEY_DIGITS]}"
    return store / folder_name(scenario.name) / name


def find(folder: Path, scenario: Scenario) -> Result | None:
    """The result of a scenario in a folder, if it exists, is complete, of this build, and not interrupted."""
    if read_info(folder, scenario) is None:
        return None
    try:
        return Result.open(folder)
    except ResultError:
        return None


def read_info(folder: Path, scenario: Scenario) -> dict[str, Any] | None:
    """Returns the content of ``result.json`` where :func:`find` finds a result; its tables are not read.

    Args:
        folder: The folder.
        scenario: The scenario that the result must be of.
    """
    try:
        info = parse_info((folder / "result.json").read_text(encoding="utf-8"))
        if not is_reusable(info):
            return None
        same = (folder / "scenario.toml").read_text(encoding="utf-8") == scenario.to_toml()
        # A crash of the machine may leave files of the last runs empty. Reading all takes as long as a run.
        files = [file for name in info["files"] if (file := folder / name).exists()]
        whole = all(file.stat().st_size for file in files)
        return info if same and whole else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_reusable(info: Mapping[str, Any]) -> bool:
    """Whether a result is complete, of this build of the simulator, and not interrupted.

    Args:
        info: The content of its ``result.json``.

    Raises:
        KeyError: When it lacks something that every result has.
    """
    # What was measured on a testbed is no result of the simulator.
    ended = info["state"] == "complete" and info["outcome"]["end"] != "interrupted"
    return ended and "testbed" not in info and info["build"] == build()


@contextmanager
def claim(folder: Path, waiting: Callable[[], None] | None = None) -> Iterator[bool]:
    """Locks a folder, so that no other process puts a result into it; waits until others are done.

    A run needs none, since it has a lock on its ``scenario.toml``: see :func:`wait_for_writer`.

    The lock is on the file ``.NAME.lock`` next to the folder. The operating system releases it however a
    process ends, and a leftover file is harmless. On a file system without locks it does not wait, and the
    context manager yields False.

    Args:
        folder: The folder.
        waiting: Called once when another process holds it.

    Raises:
        ResultError: When the folder cannot be created.
    """
    path = folder.parent / f".{folder.name}.lock"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        held = lock_file(path, waiting)
    except OSError as error:
        raise ResultError(f"cannot create {folder}: {error.strerror}{_help(error)}") from None
    try:
        yield held is not None
    finally:
        if held is not None:
            # Removed while it is held: a process that waits for it notices that the file is gone.
            path.unlink(missing_ok=True)
            os.close(held)


def lock_file(path: Path, waiting: Callable[[], None] | None, wait: bool = True) -> int | None:
    """Opens a file and locks it, so that no other process has it.

    Args:
        path: The file, which its holder may remove before it closes it.
        waiting: Called once when another process holds it.
        wait: Whether to wait for that process.

    Returns:
        The descriptor; none on a file system without locks, and where another process holds it without wait.
    """
    while True:
        file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not wait:
                    raise
                if waiting:
                    waiting()
                waiting = None
                fcntl.flock(file, fcntl.LOCK_EX)
            # The previous holder may have removed the file after it was opened here.
            if os.path.samestat(path.stat(), os.fstat(file)):
                return file
        except FileNotFoundError:
            pass
        except BaseException as error:
            os.close(file)
            if isinstance(error, OSError):
                return None
            raise
        os.close(file)


def _help(error: OSError) -> str:
    import errno

    return "\n    help: free some space, or name another folder" if error.errno == errno.ENOSPC else ""


def obtain(
    scenario: Scenario,
    folder: Path,
    *,
    fresh: bool = False,
    replace: bool = True,
    threads: int = 1,
    progress: Callable[[Progress], None] | None = None,
    waiting: Callable[[], None] | None = None,
    profile: bool = False,
    wait: bool = True,
) -> Obtained:
    """Returns the result of a scenario in a folder: the existing one, or a new run's.

    If several processes need the same result, one computes it and the others wait and use it.

    Args:
        scenario: What to run.
        folder: Where its result is or will be.
        fresh: Run it even if the result exists.
        replace: Whether another complete result in the folder may be replaced.
        threads: Threads to run on.
        progress: Called during the run.
        waiting: Called once when another process is computing it.
        profile: As for :meth:`Scenario.run`; a result that existed has no times.
        wait: As for :meth:`Scenario.run_quietly`.

    Raises:
        ScenarioError: When the scenario cannot be built.
        ResultError: When the result cannot be saved.
        Interrupted: After Ctrl-C.
    """
    while True:
        exists = (folder / "result.json").exists()
        there = find(folder, scenario) if exists and not fresh else None
        if there is not None:
            return Obtained(there, True)
        # A result that appears from here on is not replaced: it may be this one.
        replaces = fresh or (replace and exists and _is_complete(folder))
        try:
            result = scenario.run_quietly(
                folder, threads=threads, fresh=replaces, progress=progress, profile=profile, wait=wait
            )
        except ResultError as error:
            if not error.is_taken:
                raise
            if wait_for_writer(folder, waiting):
                waiting = None
            elif not replace and _is_complete(folder) and find(folder, scenario) is None:
                raise
        else:
            return Obtained(result, False)


def _is_complete(folder: Path) -> bool:
    """Whether there is a complete result in a folder, of whatever."""
    try:
        return bool(parse_info((folder / "result.json").read_text(encoding="utf-8"))["state"] == "complete")
    except (OSError, ValueError, KeyError, TypeError):
        return False


def wait_for_writer(folder: Path, waiting: Callable[[], None] | None = None) -> bool:
    """Waits until the run that writes into a folder has ended, however it ends.

    Such a run has a lock on the folder's ``scenario.toml``. On a file system without locks nobody waits.

    Args:
        folder: The folder.
        waiting: Called once when there is such a run.

    Returns:
        Whether there was one.
    """
    try:
        file = os.open(folder / "scenario.toml", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        if waiting:
            waiting()
        fcntl.flock(file, fcntl.LOCK_SH)
        return True
    except OSError:
        return False
    else:
        return False
    finally:
        os.close(file)
