"""Abilities of the machine: rights, tools, and the kernel's own answers, each refusal with what to do."""

from __future__ import annotations

import enum
import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from incast.errors import KernelError

__all__ = ["Act", "KernelError", "available", "call", "ready", "registered"]

BTF = Path("/sys/kernel/btf/vmlinux")
"""The kernel's description of its own types."""

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
"""The congestion controls that connections can select."""

STATUS = Path("/proc/self/status")
"""Among other things, the rights of this process."""

OLDEST = (6, 10)
"""The first kernel with the function of the objects: since then `cong_control` has four arguments."""

INHERITED: list[int] = []
"""Open files that bpftool inherits, like a lock that is to last as long as it runs."""

_SYS_ADMIN, _PERFMON, _BPF = 21, 38, 39
"""Numbers of capabilities."""


class Act(enum.Enum):
    """An act with programs of the kernel, by its name in messages."""

    LOAD = "loading"
    ASK = "management of loaded algorithms and of TCP options"

    def needs(self) -> dict[str, int]:
        """Names and numbers of the capabilities that it needs where CAP_SYS_ADMIN is missing."""
        return (
            {"CAP_BPF": _BPF, "CAP_PERFMON": _PERFMON} if self is Act.LOAD else {"CAP_SYS_ADMIN": _SYS_ADMIN}
        )

    def lacks(self) -> list[str]:
        """The names of the capabilities that this process lacks for it."""
        rights = capabilities()
        if rights >> _SYS_ADMIN & 1:
            return []
        return [name for name, number in self.needs().items() if not rights >> number & 1]


def ready(oldest: tuple[int, int] | None = None, act: Act = Act.ASK) -> str:
    """Checks kernel, rights and tools.

    Args:
        oldest: The version of the kernel that is needed; None: the version that every congestion control here
            needs.
        act: The act for which the rights are needed.

    Returns:
        The path of bpftool.

    Raises:
        KernelError: When one lacks something.
    """
    if platform.system() != "Linux":
        raise KernelError(f"this is {platform.system()}: only the Linux kernel can load congestion controls")
    found = re.match(r"(\d+)\.(\d+)", platform.release())
    if found and (int(found[1]), int(found[2])) < (oldest or OLDEST):
        needed = ".".join(map(str, oldest or OLDEST))
        raise KernelError(f"Linux {platform.release()} is too old: {needed} or newer is needed")
    if missing := act.lacks():
        be = "is" if len(missing) == 1 else "are"
        names, absent = " and ".join(act.needs()), " and ".join(missing)
        raise KernelError(f"{act.value} needs root, or {names}: {absent} {be} missing; run it with sudo")
    if not BTF.exists():
        raise KernelError(
            f"the kernel has no type information at {BTF}: it must be built with CONFIG_DEBUG_INFO_BTF=y"
        )
    path = shutil.which("bpftool", path=os.pathsep.join([os.environ.get("PATH", ""), *_PLACES]))
    if path is None:
        raise KernelError("bpftool is missing: install it (Debian: apt install bpftool)")
    return path


_PLACES = ("/usr/sbin", "/usr/local/sbin", "/sbin")
"""Folders of tools for administrators, which a user's PATH can lack."""


def capabilities() -> int:
    """The effective capabilities of this process, one bit each."""
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", STATUS.read_text(), re.MULTILINE)
    return int(found[1], 16) if found else 0


def available() -> list[str]:
    """The congestion controls that connections can select."""
    try:
        return AVAILABLE.read_text().split()
    except OSError as error:
        raise KernelError(f"the kernel does not list its congestion controls: {error}") from None


def registered() -> list[tuple[str, int]]:
    """Names and numbers of the programs of this kind that the kernel holds, also while it removes them."""
    text = call(ready(), "--json", "struct_ops", "show")
    try:
        return [(str(row["name"]), int(row["id"])) for row in json.loads(text or "[]")]
    except (ValueError, KeyError, TypeError):
        raise KernelError(f"bpftool gave an answer that Incast does not understand: {text[:200]}") from None


def call(bpftool: str, *words: str) -> str:
    """Runs bpftool and returns its answer.

    Raises:
        KernelError: When it fails.
    """
    done = ran([bpftool, *words])
    if done.returncode == 0:
        return done.stdout
    raise KernelError(reason(done.stderr + done.stdout))


def ran(words: Sequence[str], folder: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end, in a folder.

    Raises:
        KernelError: When it does not run, or does not end within two minutes.
    """
    try:
        return subprocess.run(
            words,
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
            check=False,
            pass_fds=INHERITED,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise KernelError(f"{Path(words[0]).name} does not run: {error}") from None


def reason(text: str) -> str:
    """Explains a refusal of the kernel."""
    for pattern, meaning in _REASONS:
        if re.search(pattern, text, re.IGNORECASE):
            return meaning
    lines = [line for line in text.strip().splitlines() if line.strip()]
    last = "\n    ".join(lines[-12:])
    return f"the kernel refused it; what bpftool said last:\n    {last}"


_NO_STRUCT_OPS = (
    "this kernel cannot load congestion controls: it must be built with CONFIG_BPF_JIT=y and"
    " CONFIG_DEBUG_INFO_BTF=y"
)
_FORBIDDEN = (
    "the system call bpf() is not permitted here, although the rights are: a container's seccomp profile or"
    " the kernel's lockdown forbids it; run it on the host, or in a container with --privileged"
)
_REASONS = (
    (r"tcp_congestion_ops is not found in kernel BTF|struct_ops is not supported", _NO_STRUCT_OPS),
    (r"File exists|-EEXIST|\(-17\)", "one of this name is loaded already: see `incast kernel list`"),
    (r"Operation not permitted|-EPERM|\(-1\)", _FORBIDDEN),
    (r"in progress|-EINPROGRESS", "it is being unloaded and waits for the connections that use it"),
)
"""Words in what bpftool says, and what they mean."""
