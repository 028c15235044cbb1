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
    content, piece = hashlib.sha256(), bytearray(1 << 18)
    # Piece by piece: memory for all of it takes as long as the hash.
    with Path(core).open("rb", buffering=0) as file:
        while read := file.readinto(piece):
            content.update(memoryview(piece)[:read])
    return f"{__version__}+{content.hexdigest()[:16]}"
