"""The algorithms of a testbed in the kernel: loaded before it, unloaded after it, whatever happens.

What is loaded is known to the whole machine by its name, and stays when its process ends. So each name has a
file with a lock: a testbed holds it while it uses the name, others wait, and one that finds a file without a
holder unloads what is written there.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from incast.real import kernel
from incast.real.kernel import KernelError, Link, machine
from incast.runs.store import lock_file

__all__ = ["FOLDER", "Wanted", "clear", "loaded"]

FOLDER = Path("/run/incast-testbed")
"""Folder of the files."""

_PATIENCE_S = 5.0
"""Longest time to wait for the last connection of an algorithm to end."""


@dataclass(frozen=True)
class Wanted:
    """An algorithm to load.

    Attributes:
        algorithm: ``name:preset``.
        parameters: Its parameters, like ``u_ai=0.002``.
        link: The path of its connections.
    """

    algorithm: str
    parameters: tuple[str, ...]
    link: Link


@contextlib.contextmanager
def loaded(wanted: Mapping[str, Wanted], waiting: Callable[[str], None]) -> Iterator[None]:
    """Keeps these algorithms loaded for the duration of the block.

    Args:
        wanted: By their names in the kernel.
        waiting: Called with a sentence when another testbed uses one of them.

    Raises:
        KernelError: When one cannot be loaded.
    """
    with contextlib.ExitStack() as stack:
        # In one order everywhere: two testbeds that want the same two do not wait for each other.
        for name in sorted(wanted):
            stack.enter_context(_one(name, wanted[name], waiting))
        yield


@contextlib.contextmanager
def _one(name: str, wanted: Wanted, waiting: Callable[[str], None]) -> Iterator[None]:
    path = FOLDER / f"{name}.lock"
    try:
        FOLDER.mkdir(mode=0o700, exist_ok=True)
        lock = lock_file(path, lambda: waiting(f"another testbed uses {name}; waiting until it ends"))
    except OSError as error:
        raise KernelError(f"{path} cannot be made: {error.strerror}") from None
    if lock is None:
        raise KernelError(f"{path} cannot be locked")
    try:
        _clear(lock, name)
        before = [one.id for one in kernel.loaded()]
        _write(lock, {"before": before})
        # bpftool may go on for a moment after this process was killed: the lock is its own too.
        machine.INHERITED.append(lock)
        try:
            kernel.load(wanted.algorithm, wanted.parameters, wanted.link, name=name)
        finally:
            machine.INHERITED.remove(lock)
        _write(lock, {"id": max(one.id for one in kernel.loaded() if one.name == name and one.selectable)})
        yield
    finally:
        try:
            _clear(lock, name)
        finally:
            path.unlink(missing_ok=True)
            os.close(lock)


def clear() -> list[str]:
    """Unloads what testbeds have left that were killed.

    Returns:
        The names.
    """
    names = []
    for path in sorted(FOLDER.glob("*.lock")) if FOLDER.is_dir() else ():
        # Its holder may be dead, and a bpftool of its still at work, which has the lock for that moment.
        lock = lock_file(path, None, wait=_is_orphaned(path))
        if lock is None:
            continue
        try:
            if _clear(lock, path.stem):
                names.append(path.stem)
        finally:
            path.unlink(missing_ok=True)
            os.close(lock)
    return names


def _is_orphaned(path: Path) -> bool:
    """Whether the process that has written a file is dead."""
    try:
        said = json.loads(path.read_text() or "{}")
        return "owner" in said and said["owner"] != _identity(int(said["owner"][0]))
    except (OSError, ValueError):
        return False


def _identity(process: int) -> list[int] | None:
    """Number and start of a process, which no other one has; None where there is none."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return None
    state, *rest = text.rpartition(")")[2].split()
    return None if state in "ZX" else [process, int(rest[18])]


def _write(lock: int, what: dict[str, object]) -> None:
    text = json.dumps({"owner": _identity(os.getpid()), **what}).encode()
    os.pwrite(lock, text, 0)
    os.ftruncate(lock, len(text))


def _clear(lock: int, name: str) -> bool:
    """Unloads what the file says that its holder has loaded."""
    try:
        said = json.loads(os.pread(lock, 1 << 16, 0) or b"{}")
    except ValueError:
        said = {}
    if not said:
        return False
    found = [one for one in kernel.loaded() if one.name == name and one.selectable]
    mine = [one.id for one in found if one.id == said.get("id") or one.id not in said.get("before", [one.id])]
    if mine:
        kernel.unload(name)
    until = time.monotonic() + _PATIENCE_S
    while mine and time.monotonic() < until:
        if not set(mine) & {number for _, number in machine.registered()}:
            break
        time.sleep(0.02)
    # One that was killed while it unloaded may have left the program for an option, and so does the unloading
    # of what connections still use.
    kernel.clear()
    os.ftruncate(lock, 0)
    return bool(mine)
