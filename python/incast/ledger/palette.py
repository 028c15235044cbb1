"""Pictures as small files: PNG with a palette.

A picture of lines and text needs few colours. With 16 of them a pixel takes half a byte, and the eye sees
little difference.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing
    from PIL.Image import Image

COLOURS = 16
"""Size of a picture's palette."""

DOTS = 130
"""Pixels in an inch of a drawing: seven inches fill the width of a page."""


def save(drawing: Drawing, path: Path) -> None:
    """Writes a drawing as a PNG with a palette. The same drawing gives the same bytes."""
    from PIL import Image

    full = BytesIO()
    drawing.savefig(full, format="png", dpi=DOTS)
    reduced(Image.open(full)).save(path, optimize=True, bits=4)


def reduced(picture: Image) -> Image:
    """Returns a picture with at most :data:`COLOURS` colours.

    The palette grows by the colour with the largest error: its number of pixels times the squared distance
    to the nearest colour chosen before. So the colours of lines stay as they are, and the shades at the edges
    of lines and letters share a few. Pillow's own methods average, which changes the colours of lines.
    """
    from PIL import Image

    pixels = np.asarray(picture.convert("RGB")).astype(np.int64)
    packed, place, counts = np.unique(
        pixels[..., 0] << 16 | pixels[..., 1] << 8 | pixels[..., 2], return_inverse=True, return_counts=True
    )
    colours = np.stack([packed >> 16, packed >> 8 & 255, packed & 255], axis=1)
    # Equal distances at first, so that the most frequent colour is chosen first.
    distance = np.full(len(colours), 3 * 255**2)
    nearest = np.zeros(len(colours), dtype=np.uint8)
    palette: list[NDArray[np.int64]] = []
    while len(palette) < COLOURS and distance.any():
        chosen = colours[np.argmax(distance * counts)]
        to_chosen = ((colours - chosen) ** 2).sum(axis=1)
        # The first choice is the nearest colour of all pixels.
        closer = to_chosen < distance if palette else np.full(len(colours), True)
        distance = np.where(closer, to_chosen, distance)
        nearest[closer] = len(palette)
        palette.append(chosen)
    result = Image.fromarray(nearest[place].reshape(pixels.shape[:2]))
    result.putpalette(np.concatenate(palette).astype(np.uint8).tobytes())
    return result
