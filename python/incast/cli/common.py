"""Functions that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path

from incast.errors import ResultError
from incast.results.result import Result
from incast.runs import store
from incast.runs.store import folder_name
from incast.scenario import Scenario, template

__all__ = ["check_free", "folder_name", "load", "place"]


def load(options: argparse.Namespace, needs_algorithm: bool = True) -> Scenario:
    """Reads the scenario that the options name, with their overrides and their seed.

    Args:
        options: The options of the command.
        needs_algorithm: Whether the scenario must name an algorithm.
    """
    read = Scenario.load if needs_algorithm else template
    scenario = read(options.file, options.overrides)
    return scenario if options.seed is None else scenario.with_seed(options.seed)


def place(scenario: Scenario, options: argparse.Namespace) -> Path:
    """The default folder of a scenario's result: in the store, under its key."""
    return store.place(store.DEFAULT, scenario, depends(scenario, options))


def depends(scenario: Scenario, options: argparse.Namespace) -> list[Path]:
    """The files, besides the scenario, that determine a result."""
    return store.named_files(scenario)


def check_free(folders: Mapping[Path, Scenario], options: argparse.Namespace) -> None:
    """Raises if folders named by the user contain complete results of something else.

    Args:
        folders: The folders, each with the scenario whose result it is for.
        options: The options of the command.

    Raises:
        ResultError: When one of them does, and `--fresh` was not given.
    """
    if options.out is None or options.fresh:
        return
    for folder in taken(folders):
        raise ResultError(
            f"{folder} already contains a complete result of another run\n"
            "    help: --fresh replaces it, --out names another folder"
        )


def taken(folders: Mapping[Path, Scenario]) -> Iterable[Path]:
    """Those of the folders that contain complete results of something else."""
    return (f for f, scenario in folders.items() if is_complete(f) and store.find(f, scenario) is None)


def is_complete(folder: Path) -> bool:
    """Whether a folder contains a complete result."""
    try:
        return Result.open(folder).state == "complete"
    except ResultError:
        return False
