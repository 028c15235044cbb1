"""Running a sweep: its runs, its tables, its manifest."""

from __future__ import annotations

import json
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incast._build import build
from incast.errors import Problem, ResultError
from incast.progress import State
from incast.results.result import warnings_of
from incast.results.titles import number_of
from incast.runs import store
from incast.runs.runner import Batch, Executor, Job
from incast.runs.sweep.plan import Plan
from incast.runs.sweep.tables import Sheet, summary, table, write_whole

FORMAT = "incast-sweep"
MANIFEST = "manifest.json"

MANIFEST_EVERY_S = 2.0
"""Seconds of wall time between two versions of the manifest."""


@dataclass(frozen=True)
class Sweep:
    """A sweep that is over.

    Attributes:
        plan: What it ran.
        folder: Where its tables are.
        table: One row for each run that has a result.
        summary: One row for each combination, over its seeds.
        state: What was reused and made, and what failed.
        warnings: The warnings in the results, each with the number of runs that have it.
        files: The files that were written.
    """

    plan: Plan
    folder: Path
    table: Sheet
    summary: Sheet
    state: State
    warnings: Mapping[Problem, int]
    files: list[Path]

    def __repr__(self) -> str:
        entries = len({run.values for run in self.plan.runs})
        seeds = number_of(self.plan.seeds, "seed")
        return f"<Sweep of {self.plan.name!r}: {number_of(entries, 'entry', 'entries')} × {seeds}>"


def default_folder(plan: Plan) -> Path:
    """Returns the default folder of a sweep's tables."""
    return store.DEFAULT / store.folder_name(plan.name) / f"sweep-{plan.key}"


def run(
    plan: Plan,
    *,
    folder: Path | None = None,
    executor: Executor | None = None,
    fresh: bool = False,
    watch: Callable[[State], None] | None = None,
) -> Sweep:
    """Makes the runs of a sweep and its tables.

    Killed at any time and begun again, it makes only the runs that are missing, and ends with the same
    tables. A run that fails does not stop the others.

    Args:
        plan: What to run.
        folder: Where to put the tables and the manifest; None takes :func:`default_folder`.
        executor: Where the runs are made; None takes processes of this machine, one for each core.
        fresh: Make all runs again.
        watch: Called when something has changed, from any thread.

    Raises:
        ResultError: When the folder holds something else, or cannot be written.
        KeyboardInterrupt: After Ctrl-C; what is done stays.
    """
    where = default_folder(plan) if folder is None else folder
    _prepare(where, plan, fresh)
    batch = Batch([Job(run.label, run.scenario, run.folder) for run in plan.runs])
    written = -math.inf

    def progressed(batch: Batch) -> None:
        nonlocal written
        if time.monotonic() - written > MANIFEST_EVERY_S:
            _write_manifest(where, plan, batch)
            written = time.monotonic()

    try:
        batch.run(executor, fresh=fresh, watch=watch, progressed=progressed)
    finally:
        _write_manifest(where, plan, batch)
    rows, means = table(plan, batch.infos), summary(plan, batch.infos)
    files = [*rows.save(where / "table"), *means.save(where / "summary"), where / MANIFEST]
    warnings = Counter(problem for n in sorted(batch.infos) for problem in warnings_of(batch.infos[n]))
    return Sweep(plan, where, rows, means, batch.state, warnings, files)


def results_of(folder: Path) -> dict[str, Path]:
    """The folders of the results of a sweep, by the values of the run; none for a folder of something else.

    Args:
        folder: The folder of its tables.

    Raises:
        ResultError: When the sweep has no result yet.
    """
    said = _manifest(folder)
    if said is None:
        return {}
    several = said["seeds"] > 1
    done = [run for run in said["runs"] if run["state"] == "done"]
    if not done:
        raise ResultError(f"{folder} is a sweep of which no run is done\n    help: give its command again")

    def name(run: Mapping[str, Any]) -> str:
        values = [str(run[key]) for key in said["vary"]]
        return ", ".join([*values, f"seed {run['seed']}"] if several or not values else values)

    return {name(run): folder / run["result"] for run in done}


def _manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of a sweep; none where the folder has none."""
    try:
        said: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return said if said["format"] == FORMAT else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _prepare(folder: Path, plan: Plan, fresh: bool) -> None:
    """Makes the folder of a sweep, and refuses one that holds anything else."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise ResultError(f"cannot create {folder}: {error.strerror}") from None
    if not names:
        return
    said = _manifest(folder)
    if said is None:
        # Left by a sweep that was killed before it wrote anything else.
        others = [name for name in names if not (name.startswith(".") and name.endswith(".tmp"))]
        if others:
            raise ResultError(
                f'{folder} holds "{others[0]}", which is not part of a sweep\n'
                "    help: name a new or empty folder"
            )
    elif said.get("key") != plan.key and not fresh:
        raise ResultError(
            f"{folder} already holds another sweep\n"
            "    help: --fresh replaces its tables, --out names another folder"
        )


def _write_manifest(folder: Path, plan: Plan, batch: Batch) -> None:
    def state(n: int) -> dict[str, Any]:
        if n in batch.infos:
            warnings = [str(problem) for problem in warnings_of(batch.infos[n])]
            return {"state": "done", **({"warnings": warnings} if warnings else {})}
        return {"state": "failed", "error": batch.errors[n]} if n in batch.errors else {"state": "missing"}

    said = {
        "format": FORMAT,
        "key": plan.key,
        "incast": build(),
        "scenario": plan.name,
        "vary": {a.key: list(a.values) for a in plan.axes},
        "seeds": plan.seeds,
        **({"left_out": dict(plan.left_out)} if plan.left_out else {}),
        "runs": [
            {
                **dict(zip((a.key for a in plan.axes), run.values, strict=True)),
                "seed": run.scenario.seed,
                "result": os.path.relpath(run.folder, folder),
                **state(n),
            }
            for n, run in enumerate(plan.runs)
        ],
    }
    write_whole(folder / MANIFEST, json.dumps(said, indent=2, ensure_ascii=False) + "\n")
