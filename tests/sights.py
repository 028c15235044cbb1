"""Colours as people see them who lack a kind of cone."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

# Machado, Oliveira, Fernandes 2009, Table 1, severity 1.0, on linear RGB.
SIGHTS: dict[str, NDArray[np.float64]] = {
    "as it is": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


def linear(colour: str, sight: str) -> NDArray[np.float64]:
    """Returns the linear RGB of a colour as somebody with this sight sees it."""
    srgb = np.array(to_rgb(colour))
    seen: NDArray[np.float64] = SIGHTS[sight] @ np.where(
        srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4
    )
    return seen
