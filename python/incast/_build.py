"""Build of Incast: its version and how it was made."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from incast import _core


@functools.cache
def build() -> str:
    """The version of Incast and a hash of its compiled core.

    Two builds of one version may differ, as they do while somebody works on the simulator.
    """
    core = hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()
    return f"{_core.__version__}+{core[:16]}"
