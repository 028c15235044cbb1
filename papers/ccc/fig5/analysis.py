"""The two lines of CCC's Figure 5."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

GOODPUT = 40.0 * 1000 / 1054
"""What a link of 40 Gbps carries of payload, in Gbps, with packets of 1000 B and 54 B of headers."""

Points = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


def fairness() -> Points:
    """Equal rates."""
    return np.array([0.0, GOODPUT]), np.array([0.0, GOODPUT])


def efficiency() -> Points:
    """Rates that fill the link."""
    return np.array([0.0, GOODPUT]), np.array([GOODPUT, 0.0])
