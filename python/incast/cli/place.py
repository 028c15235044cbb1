"""Where a result goes, so that nothing is lost and nothing is in the way."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterable
from pathlib import Path

from incast._core import ResultError
from incast.cli.common import folder_name
from incast.result import Result
from incast.scenario import Scenario


def place(parent: Path, label: str, scenario: Scenario) -> Path:
    """The folder for a result when the user named none: ``PARENT/LABEL``.

    A result of the very same scenario is replaced, as the same comes out again. Anything else stays:
    the new result goes to ``PARENT/LABEL-2``, ``-3``, ….

    Args:
        parent: Folder of all results of a scenario of this name.
        label: What tells this result from its neighbours: the algorithm.
        scenario: What is about to run.
    """
    first = parent / folder_name(label)
    for n in itertools.count(2):
        if free(first, scenario):
            return first
        first = parent / f"{folder_name(label)}-{n}"
    raise AssertionError


def free(folder: Path, scenario: Scenario) -> bool:
    """Whether a result of the scenario may go into a folder without losing anything."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return True
    return is_of(folder, scenario)


def is_of(folder: Path, scenario: Scenario) -> bool:
    """Whether a folder holds a result of the very same scenario that no run is writing now."""
    try:
        result = Result.open(folder)
        return result.state != "running" and (folder / "scenario.toml").read_text() == scenario.to_toml()
    except (ResultError, OSError, UnicodeDecodeError):
        return False


def check_free(folders: Iterable[Path], options: argparse.Namespace) -> None:
    """Refuses folders that the user named and that hold complete results, unless they are to go.

    Raises:
        ResultError: When one of them does.
    """
    taken = [f for f in folders if options.out is not None and not options.fresh and is_complete(f)]
    if taken:
        raise ResultError(
            f"{taken[0]} already holds a complete result\n"
            "    help: --fresh replaces it, --out names another folder"
        )


def is_complete(folder: Path) -> bool:
    """Whether a folder holds a complete result."""
    try:
        return Result.open(folder).state == "complete"
    except ResultError:
        return False
