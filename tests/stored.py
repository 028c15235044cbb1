"""Folder in which the command `incast` keeps the results of tests."""

from __future__ import annotations

from pathlib import Path

from incast import Scenario, store


def stored(file: Path, label: str, *overrides: str) -> Path:
    """The folder of a result, relative to the one that the command runs in.

    Args:
        file: The scenario.
        label: The algorithm, by which the command calls the result.
        overrides: As after ``--set``, one after the other, the ``--set`` themselves left in or out.
    """
    scenario = Scenario.load(file, [text for text in overrides if text != "--set"])
    return store.place(store.DEFAULT, scenario.with_algorithm(label))
