"""Whether this machine lets the tests load programs into its kernel."""

from __future__ import annotations

import shutil

from incast import kernel
from incast.real.kernel import CONTROLS, KernelError, machine

__all__ = ["lacking"]


def lacking() -> str:
    """Returns what this machine lacks to load an algorithm; empty if nothing."""
    try:
        machine.ready()
    except KernelError as error:
        return str(error)
    if not all((kernel.OBJECTS / known.object).exists() for known in CONTROLS):
        return "the objects are not built: make bpf"
    tools = [tool for tool in ("ip", "tc", "nsenter", "mount", "unshare") if shutil.which(tool) is None]
    return f"{', '.join(tools)} missing" if tools else ""
