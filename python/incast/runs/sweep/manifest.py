"""The manifest of a sweep: what it ran, and where the results are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from incast.errors import ResultError
from incast.results.grid import Axis, Grid, Run, headings, made_of, opened
from incast.results.measures.call import Call

FORMAT = "incast-sweep"
MANIFEST = "manifest.json"


def grid_of(folder: Path) -> Grid | None:
    """Returns the grid of a sweep; None for a folder of something else.

    Args:
        folder: The folder of its tables.

    Raises:
        ResultError: When the sweep has no result yet, or one of them cannot be read.
    """
    said = read(folder)
    if said is None:
        return None
    grid = grid_of_all(folder, said)
    if not grid.runs:
        raise _nothing(folder)
    return grid


def grid_of_all(folder: Path, said: Mapping[str, Any], known: Mapping[int, Run] | None = None) -> Grid:
    """Returns the grid of a sweep, also of one of which no run is done.

    Args:
        folder: The folder of its tables.
        said: Its manifest.
        known: Runs that need not be read, by their places in the manifest.

    Raises:
        ResultError: When a result cannot be read.
    """
    axes = [Axis(key, tuple(values)) for key, values in said["vary"].items()]
    heads = headings(axes)
    runs: dict[tuple[str, ...], list[Run]] = {}
    failed: dict[str, str] = {}
    calls = tuple(map(Call.read, said.get("measures", ())))
    for n, run in enumerate(said["runs"]):
        values = tuple(str(run[a.key]) for a in axes)
        its = runs.setdefault(values, [])
        if run["state"] == "done":
            found = None if known is None else known.get(n)
            if found is None:
                found = replace(opened(folder / run["result"], int(run["seed"])), calls=calls)
            its.append(found)
        elif run["state"] == "failed":
            words = [f"{head}={value}" for head, value in zip(heads, values, strict=True)]
            failed[" ".join([*words, f"seed={run['seed']}"])] = str(run["error"])
    grid = made_of(said["scenario"], axes, runs, command=said.get("command"), failed=failed)
    rule = said.get("rule", {"looks": [], "alphas": []})
    base = [f"{key}={value}" for key, value in said.get("baseline", {}).items()]
    return replace(
        grid,
        looks=dict(zip(rule["looks"], rule["alphas"], strict=True)),
        baseline=" ".join(base) or None,
    )


def results_of(folder: Path) -> dict[str, Path]:
    """The folders of the results of a sweep, by the values of the run; none for a folder of something else.

    Args:
        folder: The folder of its tables.

    Raises:
        ResultError: When the sweep has no result yet.
    """
    said = read(folder)
    if said is None:
        return {}
    several = said["seeds"] > 1
    done = [run for run in said["runs"] if run["state"] == "done"]
    if not done:
        raise _nothing(folder)

    def name(run: Mapping[str, Any]) -> str:
        values = [str(run[key]) for key in said["vary"]]
        return ", ".join([*values, f"seed {run['seed']}"] if several or not values else values)

    return {name(run): folder / run["result"] for run in done}


def read(folder: Path) -> dict[str, Any] | None:
    """Returns the manifest of a sweep; None where the folder has none.

    Args:
        folder: The folder of its tables.
    """
    try:
        said: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return said if said["format"] == FORMAT else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _nothing(folder: Path) -> ResultError:
    return ResultError(f"{folder} is a sweep of which no run is done\n    help: give its command again")
