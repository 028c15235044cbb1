"""The TCP option that brings one-way delays and telemetry to an algorithm in the kernel (``bpf/echo.h``).

A program for the sockets of a cgroup writes and reads it. It is attached to the root of the hierarchy, and
shares a map with the congestion control for which it was loaded. It goes when nothing else uses that map.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incast.real.kernel.image import patched
from incast.real.kernel.machine import KernelError, call, ran, reason

__all__ = ["DELAY", "TELEMETRY", "Option", "attach", "complete", "maps", "remove_unused"]

OLDEST = (6, 12)
"""The first kernel in which a congestion control can ask for the calls of such a program
(``TCP_BPF_SOCK_OPS_CB_FLAGS``)."""


@dataclass(frozen=True)
class Option:
    """A use of the option.

    Attributes:
        signal: The signal of the algorithms that it brings.
        kind: Its number in ``bpf/echo.h``.
        request_bytes: What it takes in a segment with payload.
        identifier: That by which receivers know it; None: another at each loading.
    """

    signal: str
    kind: int
    request_bytes: int
    identifier: int | None


DELAY = Option("one_way_delay", 1, 12, None)
"""One-way delays. Only receivers with the sender's clock, on the same machine, know the identifier."""

TELEMETRY = Option("int", 2, 24, 0x1CA57E1E)
"""Telemetry of one switch port."""

_PROGRAM = "incast_options"
_MAP = "incast_echoes"
_USER = "incast_control"


def attach(bpftool: str, source: bytes, option: Option, number: int) -> None:
    """Loads the program and attaches it.

    Args:
        bpftool: Its path.
        source: The object ``options.bpf.o``.
        option: What it is for.
        number: The number of the congestion control, with whose map it works.

    Raises:
        KernelError: When it cannot be; the text says why.
        ImageError: When the object is another one.
    """
    identifier = option.identifier
    if identifier is None:
        identifier = 0x1C << 24 | secrets.randbits(24)
    values = {
        "incast_echo_kind": option.kind.to_bytes(4, "little"),
        "incast_echo_option": identifier.to_bytes(4, "little"),
    }
    image = patched(source, values)
    with tempfile.TemporaryDirectory(prefix="incast-") as folder:
        path = Path(folder) / "options.o"
        path.write_bytes(image)
        words = [bpftool, str(path), str(_map_of(bpftool, number))]
        _apart('"$1" prog load "$2" bpf/options map name incast_echoes id "$3" &&'
               ' "$1" cgroup attach cgroup sock_ops pinned bpf/options multi', words)  # fmt: skip


def complete(bpftool: str, number: int) -> bool:
    """Whether the congestion control of this number has the program that it was loaded for."""
    wants = False
    for one in maps(bpftool, number):
        if str(_ask(bpftool, "map", "show", "id", str(one))[0].get("name", "")).endswith(".rodata"):
            constants = call(bpftool, "--json", "map", "dump", "id", str(one))
            wants = wants or re.search(r'"incast_echoing": ?(true|1)\b', constants) is not None
    if not wants:
        return True
    shared = _map_of(bpftool, number)
    return any(shared in maps for _, maps in _attached(bpftool))


def remove_unused(bpftool: str, controls: Callable[[], Iterable[int]]) -> None:
    """Takes away the programs whose congestion control is gone, whatever process left them.

    Args:
        bpftool: Its path.
        controls: Gives the numbers of the congestion controls that there are, with those that are being
            unloaded.

    Raises:
        KernelError: When it cannot be; the text says why.
    """
    # In this order: what somebody else attaches meanwhile has a congestion control, which came before it.
    attached = _attached(bpftool)
    used = set()
    for number in controls() if attached else ():
        # One may be gone since it was listed, or have none.
        with contextlib.suppress(KernelError):
            used.add(_map_of(bpftool, number))
    for number, maps in attached:
        if not used & set(maps):
            _apart('"$1" cgroup detach cgroup sock_ops id "$2"', [bpftool, str(number)])


def _attached(bpftool: str) -> list[tuple[int, list[int]]]:
    """The numbers of the attached programs, and of their shared maps."""
    if all(program.get("name") != _PROGRAM for program in _ask(bpftool, "prog", "show")):
        return []
    text = _apart('"$1" --json cgroup show cgroup', [bpftool])
    found = []
    for row in _rows(text):
        if row.get("name") == _PROGRAM:
            program = _ask(bpftool, "prog", "show", "id", str(row["id"]))[0]
            maps = [one for one in program.get("map_ids", []) if _is_shared(bpftool, one)]
            found.append((int(row["id"]), maps))
    return found


def _is_shared(bpftool: str, number: int) -> bool:
    return bool(_ask(bpftool, "map", "show", "id", str(number))[0].get("name") == _MAP)


def _map_of(bpftool: str, number: int) -> int:
    """The map that the congestion control of this number shares."""
    for one in maps(bpftool, number):
        if _is_shared(bpftool, one):
            return one
    raise KernelError(f"the congestion control with the number {number} has no map for TCP options")


def maps(bpftool: str, number: int) -> list[int]:
    """Returns the maps of a congestion control that its function for acknowledgements uses."""
    text = call(bpftool, "--json", "struct_ops", "dump", "id", str(number))
    program = text.partition(f"{_USER}/prog_id:")[2].partition('"')[0]
    if not program.isdigit():
        raise KernelError(f"bpftool does not list the functions of the congestion control number {number}")
    return [int(one) for one in _ask(bpftool, "prog", "show", "id", program)[0].get("map_ids", [])]


def _ask(bpftool: str, *words: str) -> list[Mapping[str, Any]]:
    for _ in range(_TRIES - 1):
        try:
            return _rows(call(bpftool, "--json", *words))
        except KernelError as error:
            # Of a list one has gone while it was made.
            if "get by id" not in str(error) or "id" in words:
                raise
    return _rows(call(bpftool, "--json", *words))


_TRIES = 5


def _rows(text: str) -> list[Mapping[str, Any]]:
    try:
        rows = json.loads(text.strip() or "[]")
    except ValueError:
        raise KernelError(f"bpftool gave an answer that Incast does not understand: {text[:200]}") from None
    return rows if isinstance(rows, list) else [rows]


def _apart(command: str, words: Sequence[str]) -> str:
    """Runs a command in a folder with the file systems of BPF (``bpf``) and cgroups (``cgroup``).

    Only the command sees them, and they go with it, however it ends.
    """
    unshare = shutil.which("unshare")
    if unshare is None:
        raise KernelError("unshare is missing: install it (Debian: apt install util-linux)")
    with tempfile.TemporaryDirectory(prefix="incast-") as folder:
        script = "set -e; mkdir bpf cgroup; mount -t bpf bpf bpf; mount -t cgroup2 cgroup cgroup; " + command
        mounted = [unshare, "--mount", "--propagation", "private", "sh", "-c", script, "sh"]
        done = ran([*mounted, *words], folder)
    if done.returncode == 0:
        return done.stdout
    text = done.stderr + done.stdout
    if "unshare:" in text or "mount:" in text:
        raise KernelError(
            "TCP options need the user root with the right to mount (CAP_SYS_ADMIN) and a kernel with"
            " CONFIG_CGROUP_BPF=y;"
            f" the command said: {text.strip().splitlines()[-1]}"
        )
    raise KernelError(reason(text))
