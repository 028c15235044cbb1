"""Columns of numbers in a format that is small in a file and fast to read in a browser.

All columns go into one compressed blob in base64. Integers are stored as differences from one to the next,
with the sign in the lowest bit and the bytes of equal significance together, so that slowly changing values
compress well. Evenly spaced values take almost no space.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

Column = dict[str, Any]
"""Place of a column in the blob, and its type; goes into the page as JSON."""


class Columns:
    """A blob under construction."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._bytes = 0

    def add(self, values: npt.ArrayLike) -> Column:
        """Adds a column.

        Args:
            values: Numbers; NaN where there is none.
        """
        array = np.asarray(values)
        if array.dtype.kind == "f":
            missing = np.isnan(array)
            if missing.any():
                return {**self.add(_filled(array, missing)), "missing": self.add(missing.astype(np.int64))}
            if len(array) and (np.abs(array).max() >= 2**53 or (array != np.floor(array)).any()):
                return self._floats(array)
        return self._integers(array.astype(np.int64))

    def _integers(self, array: npt.NDArray[np.int64]) -> Column:
        if len(array) == 0:
            return {"kind": "even", "n": 0, "first": 0, "step": 0}
        difference = np.diff(array)
        if len(difference) == 0 or (difference == difference[0]).all():
            step = int(difference[0]) if len(difference) else 0
            return {"kind": "even", "n": len(array), "first": int(array[0]), "step": step}
        folded = (difference << 1) ^ (difference >> 63)
        largest = int(folded.max())
        if folded.min() < 0 or largest >= 2**32:
            return self._floats(array.astype(np.float64))
        width = max(1, (largest.bit_length() + 7) // 8)
        planes = folded.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :width].T
        at = self._append(np.ascontiguousarray(planes).tobytes())
        return {"kind": "integers", "n": len(array), "first": int(array[0]), "at": at, "width": width}

    def _floats(self, array: npt.NDArray[np.float64]) -> Column:
        planes = array.astype("<f8").view(np.uint8).reshape(-1, 8).T
        at = self._append(np.ascontiguousarray(planes).tobytes())
        return {"kind": "floats", "n": len(array), "at": at}

    def _append(self, part: bytes) -> int:
        at = self._bytes
        self._parts.append(part)
        self._bytes += len(part)
        return at

    def to_base64(self) -> str:
        """The blob: zlib, then base64."""
        return base64.b64encode(zlib.compress(b"".join(self._parts), 6)).decode("ascii")


def _filled(array: npt.NDArray[np.float64], missing: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """The values with each gap filled by the value before it, which costs least space."""
    last = np.maximum.accumulate(np.where(missing, -1, np.arange(len(array))))
    return np.where(last < 0, 0.0, array[np.maximum(last, 0)])
