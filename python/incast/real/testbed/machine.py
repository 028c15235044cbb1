"""Requirements of a testbed on the machine, and the commands that it runs."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from incast.real.kernel import machine

__all__ = ["RunError", "TestbedError", "check", "run", "tool"]

TOOLS = {
    "ip": "iproute2",
    "tc": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "mount": "mount",
}
"""The commands that are run, and the packages of Debian that have them."""

_NET_ADMIN, _NET_RAW, _SYS_ADMIN = 12, 13, 21
"""Numbers of capabilities."""

_PLACES = ("/usr/sbin", "/usr/local/sbin", "/sbin")
"""Folders of tools for administrators, which a user's PATH can lack."""


class TestbedError(machine.KernelError):
    """A testbed cannot be made, or a run on it failed. The text says why, and what helps."""

    __test__ = False  # no test of pytest's, though it is called one


class RunError(TestbedError):
    """A run on a testbed failed that had begun: the machine lacks nothing. The text says why."""


def check(marks: bool) -> None:
    """Checks kernel, rights and tools.

    Args:
        marks: Whether packets are marked by a program in the kernel, which takes more.

    Raises:
        TestbedError: When something is missing.
    """
    if platform.system() != "Linux":
        raise TestbedError(f"this is {platform.system()}: a testbed needs the namespaces of the Linux kernel")
    rights = machine.capabilities()
    if any(not rights >> right & 1 for right in (_NET_ADMIN, _NET_RAW, _SYS_ADMIN)):
        raise TestbedError(
            "a testbed needs root (the capabilities CAP_NET_ADMIN, CAP_NET_RAW and CAP_SYS_ADMIN): "
            "run it with sudo, in a container with --privileged"
        )
    for name in TOOLS:
        tool(name)
    if marks:
        machine.ready()


def tool(name: str) -> str:
    """The path of a command.

    Raises:
        TestbedError: When it is not installed.
    """
    path = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *_PLACES]))
    if path is None:
        package = TOOLS.get(name, name)
        raise TestbedError(f"{name} is missing: install it (Debian: apt install {package})")
    return path


def run(words: Sequence[str], lines: Sequence[str] = (), data: bytes = b"") -> str:
    """Runs a command in the namespace of this thread.

    Args:
        words: The command and its arguments.
        lines: What it reads, one command of its own each.
        data: What it reads instead.

    Returns:
        What it wrote.

    Raises:
        TestbedError: When it failed, with what it said.
    """
    path = tool(words[0])
    given = data or "".join(f"{line}\n" for line in lines).encode()
    try:
        done = subprocess.run([path, *words[1:]], input=given, capture_output=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TestbedError(f"{words[0]} does not run: {error}") from None
    answer = done.stdout.decode(errors="replace")
    if done.returncode:
        said = done.stderr.decode(errors="replace") or answer
        raise TestbedError(reason(words[0], said.strip()))
    return answer


def reason(name: str, said: str) -> str:
    """Explains the refusal of a command."""
    lower = said.lower()
    if "operation not permitted" in lower or "permission denied" in lower:
        return (
            f"{name} may not change the network, although the rights are there: a container's seccomp "
            "profile or the kernel's lockdown forbids it; run it on the host, or with --privileged"
        )
    if "specified qdisc kind is unknown" in lower or "unknown qdisc" in lower:
        return "this kernel has no tbf or no clsact: CONFIG_NET_SCH_TBF and CONFIG_NET_SCH_INGRESS are needed"
    if "unknown device type" in lower or "operation not supported" in lower:
        return f"this kernel has no veth devices (CONFIG_VETH): {name} said {said.splitlines()[0]!r}"
    last = said.splitlines()[-1] if said else "nothing"
    return f"{name} failed; it said last: {last}"


def allow_files(number: int) -> None:
    """Raises the limit of open files to at least this number.

    Raises:
        TestbedError: When the hard limit is lower.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < number:
        if hard != resource.RLIM_INFINITY and hard < number:
            raise TestbedError(f"{number} open files are needed, and at most {hard} allowed: ulimit -Hn")
        resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))


def stolen_s() -> float:
    """Returns the seconds for which other virtual machines have had this one's processors (steal)."""
    fields = read("/proc/stat").partition("\n")[0].split()
    # cpu, user, nice, system, idle, iowait, irq, softirq, steal.
    return int(fields[8]) / os.sysconf("SC_CLK_TCK") if len(fields) > 8 else 0.0


def release() -> str:
    """The release of the kernel."""
    return platform.release()


def read(path: str) -> str:
    """A file of the kernel's; empty where there is none."""
    try:
        return Path(path).read_text()
    except OSError:
        return ""
