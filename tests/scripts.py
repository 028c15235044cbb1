"""The scripts beside the pages of the documentation, for tests of what they make."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from helpers import ROOT


def script(name: str) -> ModuleType:
    """Returns a script of ``docs``, which finds what lies beside it as if it were started from there.

    Args:
        name: Its name without ``.py``.
    """
    # Only while it is imported: one of the scripts is called `coverage`, as a package that others look for.
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(ROOT / "docs"))
