"""What the end-to-end tests share: the command `incast`, and small scenarios."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers import SMALL, Incast


@pytest.fixture
def incast(tmp_path: Path) -> Iterator[Incast]:
    """Runs the command `incast` in an empty folder, without a terminal."""
    command = Incast(tmp_path)
    yield command
    command.stop()


@pytest.fixture(autouse=True)
def no_pictures_left() -> Iterator[None]:
    """Closes the pictures that a test has drawn: with many open ones a later test fails by a warning."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A small star: a long flow, and two short ones onto it, with a probe at the port they share."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path
