"""Types of the arrays in which results have their numbers."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]
"""Whole numbers, like times in picoseconds."""

Floats: TypeAlias = npt.NDArray[np.float64]
"""Numbers of which each can be NaN."""

BoolArray: TypeAlias = npt.NDArray[np.bool_]
"""Numbers of which each is true or false."""
