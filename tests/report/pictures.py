"""Pictures of the page, held against stored ones."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image
from playwright.sync_api import Page

SHOTS = Path(__file__).parent / "shots"
"""Folder of the pictures. ``INCAST_STORE_SHOTS=1 pytest tests/report`` stores new ones; look at them then."""

BLOCK = 8
DIFFERENT = 20.0
ALLOWED = 0.01
"""Pictures are compared block by block, on the mean colour of 8 × 8 pixels, so that another smoothing of
letters does not matter. A block differs when one of its colours differs by more than 20 of 255; one block
in a hundred may."""


def stored(name: str) -> Path:
    """The file of a stored picture."""
    return SHOTS / f"{name}.png"


def picture(shot: bytes) -> Image.Image:
    """A screenshot as a picture."""
    return Image.open(io.BytesIO(shot)).convert("RGB")


def difference(one: Image.Image, other: Image.Image) -> float:
    """The share of blocks in which two pictures differ; 1 when they are of different size."""
    if one.size != other.size:
        return 1.0
    far = np.abs(_blocks(one) - _blocks(other)).max(axis=2) > DIFFERENT
    return float(far.mean())


def check(page: Page, name: str) -> None:
    """Holds the page against a stored picture.

    Raises:
        AssertionError: When they differ; the page's picture is beside the stored one then.
    """
    taken = picture(page.screenshot(full_page=True))
    if os.environ.get("INCAST_STORE_SHOTS"):
        # 128 colours are plenty and make the file small.
        taken.quantize(128, dither=Image.Dither.NONE).save(stored(name), optimize=True)
        return
    differs = difference(taken, Image.open(stored(name)).convert("RGB"))
    if differs > ALLOWED:
        failed = SHOTS / f"{name}.failed.png"
        taken.save(failed)
        raise AssertionError(f"{differs:.1%} of the page differ from {stored(name)}; see {failed}")


def _blocks(picture: Image.Image) -> npt.NDArray[np.float64]:
    pixels = np.asarray(picture, dtype=np.float64)
    down, across = (n // BLOCK for n in pixels.shape[:2])
    cut = pixels[: down * BLOCK, : across * BLOCK]
    means: npt.NDArray[np.float64] = cut.reshape(down, BLOCK, across, BLOCK, 3).mean(axis=(1, 3))
    return means
