"""Making a sweep: what is there is reused, the rest is made, and one table comes of it."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from incast import store
from incast._core import ResultError
from incast.sweep.executor import Executor, Task
from incast.sweep.local import Local
from incast.sweep.plan import Plan
from incast.sweep.tables import Sheet, is_sound, summary, table, write_whole

FORMAT = "incast-sweep"
MANIFEST = "manifest.json"

MANIFEST_EVERY_S = 2.0
"""Seconds of wall time between two versions of the manifest."""


@dataclass(frozen=True)
class Failure:
    """A run that gave no result, or one that proves nothing.

    Attributes:
        label: The run.
        why: What went wrong.
    """

    label: str
    why: str


@dataclass
class State:
    """How far a sweep is.

    Attributes:
        runs: Runs in all.
        reused: Runs whose results were there already.
        made: Runs that were made.
        failures: Runs that failed.
        shares: How much is done of each run that is under way, from 0 to 1.
    """

    runs: int
    reused: int = 0
    made: int = 0
    failures: list[Failure] = field(default_factory=list)
    shares: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Sweep:
    """A sweep that is over.

    Attributes:
        plan: What it ran.
        folder: Where its tables are.
        table: One row for each run that has a result.
        summary: One row for each combination, over its seeds.
        state: What was reused and made, and what failed.
        files: The files that were written.
    """

    plan: Plan
    folder: Path
    table: Sheet
    summary: Sheet
    state: State
    files: list[Path]


def default_folder(plan: Plan) -> Path:
    """Where the tables of a sweep go when nobody says."""
    return store.DEFAULT / store.folder_name(plan.name) / f"sweep-{plan.key}"


def conduct(
    plan: Plan,
    *,
    folder: Path | None = None,
    executor: Executor | None = None,
    fresh: bool = False,
    watch: Callable[[State], None] | None = None,
) -> Sweep:
    """Makes a sweep.

    Killed at any time and begun again, it makes only the runs that are missing, and ends with the same
    tables. A run that fails stops no other.

    Args:
        plan: What to run.
        folder: Where to put the tables and the manifest; none takes :func:`default_folder`.
        executor: Where the runs are made; none takes processes of this machine, one for each core.
        fresh: Make all runs anew.
        watch: Called when something has changed, from any thread.

    Raises:
        ResultError: When the folder holds something else, or cannot be written.
        KeyboardInterrupt: After Ctrl-C; what is done stays.
    """
    where = default_folder(plan) if folder is None else folder
    _prepare(where, plan, fresh)
    state = State(len(plan.runs))
    infos: dict[int, dict[str, Any]] = {}
    tasks: list[Task] = []
    for n, run in enumerate(plan.runs):
        info = None if fresh else store.read_info(run.folder, run.scenario)
        if info is None:
            file = plan.file.with_suffix(".toml")
            tasks.append(Task(n, run.scenario.to_toml(), os.fspath(file), os.fspath(run.folder), fresh))
        else:
            infos[n] = info
            state.reused += 1
    errors: dict[int, str] = {}
    try:
        _make(plan, tasks, executor or Local(), state, infos, errors, where, watch)
    finally:
        _write_manifest(where, plan, infos, errors)
    state.failures = _failures(plan, infos, errors)
    rows, means = table(plan, infos), summary(plan, infos)
    files = [*rows.save(where / "table"), *means.save(where / "summary"), where / MANIFEST]
    return Sweep(plan, where, rows, means, state, files)


def _make(
    plan: Plan,
    tasks: list[Task],
    executor: Executor,
    state: State,
    infos: dict[int, dict[str, Any]],
    errors: dict[int, str],
    where: Path,
    watch: Callable[[State], None] | None,
) -> None:
    lock = threading.Lock()

    def changed(index: int | None = None, share: float = 0.0) -> None:
        with lock:
            if index is not None:
                state.shares[index] = share
            if watch:
                watch(state)

    _write_manifest(where, plan, infos, errors)
    if not tasks:
        return
    written = time.monotonic()
    overs = executor.run(tasks, changed)
    try:
        for over in overs:
            run = plan.runs[over.index]
            info = store.read_info(run.folder, run.scenario) if over.error is None else None
            with lock:
                state.shares.pop(over.index, None)
                if info is not None:
                    infos[over.index] = info
                    state.reused += over.reused
                    state.made += not over.reused
                else:
                    errors[over.index] = over.error or f"its result is not in {run.folder}"
                state.failures = _failures(plan, infos, errors)
            changed()
            if time.monotonic() - written > MANIFEST_EVERY_S:
                _write_manifest(where, plan, infos, errors)
                written = time.monotonic()
    finally:
        # Stops what is under way when something went wrong here, like Ctrl-C.
        close = getattr(overs, "close", None)
        if close:
            close()


def _failures(plan: Plan, infos: dict[int, dict[str, Any]], errors: dict[int, str]) -> list[Failure]:
    found = dict(errors)
    for n, info in infos.items():
        if not is_sound(info):
            outcome = info["outcome"]
            found[n] = "; ".join([outcome["why"], *outcome["violations"]])
    return [Failure(plan.runs[n].label, found[n]) for n in sorted(found)]


def _prepare(folder: Path, plan: Plan, fresh: bool) -> None:
    """Makes the folder of a sweep, and refuses one that holds anything else."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise ResultError(f"cannot create {folder}: {error.strerror}") from None
    if not names:
        return
    try:
        said = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        of = said["key"] if said["format"] == FORMAT else None
    except (OSError, ValueError, KeyError, TypeError):
        of = None
    if of is None:
        # Left by a sweep that was killed before it wrote anything but this.
        strangers = [name for name in names if not (name.startswith(".") and name.endswith(".tmp"))]
        if strangers:
            raise ResultError(
                f'{folder} holds "{strangers[0]}", which is not part of a sweep\n'
                "    help: name a new or empty folder"
            )
    elif of != plan.key and not fresh:
        raise ResultError(
            f"{folder} already holds another sweep\n"
            "    help: --fresh replaces its tables, --out names another folder"
        )


def _write_manifest(
    folder: Path, plan: Plan, infos: dict[int, dict[str, Any]], errors: dict[int, str]
) -> None:
    def state(n: int) -> dict[str, str]:
        if n in infos:
            return {"state": "done"}
        return {"state": "failed", "error": errors[n]} if n in errors else {"state": "missing"}

    said = {
        "format": FORMAT,
        "key": plan.key,
        "incast": store.build(),
        "scenario": plan.name,
        "vary": {a.key: list(a.values) for a in plan.axes},
        "seeds": plan.seeds,
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
