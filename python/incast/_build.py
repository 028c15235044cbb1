"""Build of Incast: its version and how it was made."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from incast._core import __file__ as core
from incast._core import __version__, profile

__all__ = ["__version__", "build", "core", "profile"]


@functools.cache
def build() -> str:
    """The version of Incast and a hash of its compiled core.

    Two builds of one version may differ, as they do while somebody works on the simulator.
    """
    content = hashlib.sha256(Path(core).read_bytes()).hexdigest()
    return f"{__version__}+{content[:16]}"
