"""Numpy, imported when it is first used, and types of the arrays in which results have their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from incast._lazy import LazyModule

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
else:
    # It takes longer to import than a short run, and much of what is said about one needs no array.
    np = LazyModule("numpy")

__all__ = ["BoolArray", "Floats", "Ints", "np"]

Ints: TypeAlias = "npt.NDArray[np.int64]"
"""Whole numbers, like times in picoseconds."""

Floats: TypeAlias = "npt.NDArray[np.float64]"
"""Numbers of which each can be NaN."""

BoolArray: TypeAlias = "npt.NDArray[np.bool_]"
"""Numbers of which each is true or false."""
