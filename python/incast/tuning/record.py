"""The files of a search: its tables, its manifest, and the setting as a file that other commands read."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incast._build import build
from incast.errors import ResultError
from incast.results.decide import Difference
from incast.runs import store
from incast.runs.sweep.tables import Column, Sheet, write_whole
from incast.scenario import _toml
from incast.tuning.plan import Plan
from incast.tuning.search import GENERATION
from incast.tuning.space import Value, text, values_of

if sys.version_info >= (3, 11):
    pass
else:
    pass

if TYPE_CHECKING:
    from incast.tuning.run import Tuning

FORMAT = "incast-tune"
MANIFEST = "tune.json"


def claim(
    folder: Path, read: Callable[[Path], Mapping[str, Any] | None], key: str, kind: str, *, fresh: bool
) -> bool:
    """Makes a folder for a search, and refuses one that holds anything else.

    Args:
        folder: The folder.
        read: Returns the manifest of a folder; None where it has none of this kind.
        key: The key of the search.
        kind: Its kind, with an article, for messages.
        fresh: Whether another search of this kind may be replaced.

    Returns:
        Whether the folder was empty.

    Raises:
        ResultError: When it holds something else, or cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise ResultError(f"cannot create {folder}: {error.strerror}") from None
    if names:
        said = read(folder)
        if said is None:
            raise ResultError(
                f'{folder} holds "{names[0]}", which is not part of {kind}\n'
                "    help: name a new or empty folder"
            )
        if said.get("key") != key and not fresh:
            raise ResultError(
                f"{folder} already holds another {kind.split()[-1]}\n"
                "    help: --fresh forgets it, --out names another folder"
            )
    return not names


def prepare(folder: Path, what: Plan, fresh: bool, study: str) -> None:
    """Makes the folder of a search, and refuses one that holds anything else.

    Args:
        folder: The folder.
        what: The search.
        fresh: Whether an earlier search in it is forgotten.
        study: The name of the file of the study.

    Raises:
        ResultError: When it holds something else, or cannot be written.
    """
    empty = claim(folder, _manifest, what.key, "a search", fresh=fresh)
    if fresh:
        for name in (study, f"{study}-journal"):
            (folder / name).unlink(missing_ok=True)
    if empty or fresh:
        _write(folder / MANIFEST, {"format": FORMAT, "key": what.key, "state": "running"})


def _manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of a search; none where the folder has none."""
    try:
        said: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return said if said["format"] == FORMAT else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def save(done: Tuning) -> Tuning:
    """Writes the files of a search; the same search gives the same files.

    Returns:
        The search with the names of its files.

    Raises:
        ResultError: When one of them cannot be written.
    """
    folder = done.folder
    files = [*trials(done).save(folder / "trials"), *runs(done).save(folder / "runs")]
    if done.chosen is not None and done.chosen.number >= 0:
        path = folder / f"{name(done)}.toml"
        write_whole(path, contestant(done))
        files.append(path)
    _write(folder / MANIFEST, manifest(done))
    return replace(done, files=(*files, folder / MANIFEST))


def trials(done: Tuning) -> Sheet:
    """One row for each trial, the default setting first, with the number -1."""
    rows = [done.default, *done.trials]
    front = {trial.number for trial in done.front}
    parameters, aim = done.plan.parameters, done.plan.aim
    return Sheet(
        [
            Column("trial", "number", [trial.number for trial in rows]),
            Column("generation", "number", [trial.number // GENERATION for trial in rows]),
            *(
                Column(p.label, "text", [text(trial.setting[n]) for trial in rows])
                for n, p in enumerate(parameters)
            ),
            Column("state", "text", [trial.state for trial in rows]),
            Column("front", "text", ["yes" if trial.number in front else "" for trial in rows]),
            Column("seeds", "unsigned", [len(trial.runs) for trial in rows]),
            *(
                Column(o.name, "number", [trial.values[n] if trial.values else None for trial in rows])
                for n, o in enumerate(aim.objectives)
            ),
            *(
                Column(f"violation of {c.text}", "number", [trial.violations.get(c.text) for trial in rows])
                for c in aim.conditions
            ),
            Column("why", "text", [trial.why for trial in rows]),
        ]
    )


def runs(done: Tuning) -> Sheet:
    """One row for each run of a trial, with its numbers."""
    rows = [
        (trial.number, seed, numbers)
        for trial in (done.default, *done.trials)
        for seed, numbers in trial.runs.items()
    ]
    return Sheet(
        [
            Column("trial", "number", [trial for trial, _, _ in rows]),
            Column("seed", "unsigned", [seed for _, seed, _ in rows]),
            *(
                Column(measure, "number", [numbers.get(measure) for _, _, numbers in rows])
                for measure in done.plan.aim.measures
            ),
        ]
    )


def name(done: Tuning) -> str:
    """The name of the tuned setting: ``swift-tuned``."""
    return f"{store.folder_name(done.plan.title).replace('.', '-')}-tuned"


def contestant(done: Tuning) -> str:
    """The tuned setting as a file that defines a contestant, with the source of each tuned value."""
    what = done.plan
    lines = [f"# Made by Incast {build()}:", f"#   {what.command}", f"# In its search: {_gains(done)}.", ""]
    lines.append(f"[contestant.{_toml.key(name(done))}]")
    objectives = " and ".join(o.name for o in what.aim.objectives)
    lines.append(f"what = {_toml.value(f'{what.title}, tuned for {objectives} in {what.subject}', 'what')}")
    lines += [f"{key} = {_toml.value(it, key)}" for key, it in what.definition_of(done.setting).items()]
    sources = {
        **what.definition.get("sources", {}),
        **dict.fromkeys(done.setting, what.source),
    }
    lines.append(f"sources = {_toml.value(sources, 'sources')}")
    return "\n".join(lines) + "\n"


def _gains(done: Tuning) -> str:
    return "; ".join(f"{measure}: {difference.shown()}" for measure, difference in done.gains.items())


def manifest(done: Tuning) -> dict[str, Any]:
    """All of a search but its runs, as JSON."""
    what = done.plan
    return {
        "format": FORMAT,
        "key": what.key,
        "state": "complete",
        "incast": build(),
        "command": what.command,
        "scenario": what.subject,
        "tuned": what.title,
        "vary": [str(parameter) for parameter in what.parameters],
        "objectives": [
            {"measure": o.name, "better": o.better, "words": o.words} for o in what.aim.objectives
        ],
        "conditions": [condition.text for condition in what.aim.conditions],
        "trials": len(done.trials),
        "seeds": list(done.default.runs),
        "search_seed": what.search_seed,
        "default": {"setting": _setting(what, done.default.setting), "values": list(done.default.values)},
        "front": [
            {"trial": trial.number, "setting": _setting(what, trial.setting), "values": list(trial.values)}
            for trial in done.front
        ],
        "chosen": None if done.chosen is None else done.chosen.number,
        "gains": _differences(done.gains),
        "importances": {name: dict(shares) for name, shares in done.importances.items()},
        "hypervolume": list(done.hypervolume),
        "robust": [
            {
                "key": region.parameter.label,
                "value": region.value,
                "low": region.low,
                "high": region.high,
                "low_open": region.low_open,
                "high_open": region.high_open,
                "others": list(region.others),
            }
            for region in done.robust
        ],
        "checks": [
            {
                "scenario": one.name,
                "seeds": list(one.seeds),
                "differences": _differences(one.differences),
                "losses": {name: _number(loss) for name, loss in one.losses.items()},
                "broken": list(one.broken),
                "broken_default": list(one.broken_default),
            }
            for one in done.checks
        ],
    }


def _setting(what: Plan, setting: tuple[Value, ...]) -> dict[str, Value]:
    return values_of(what.parameters, setting)


def _differences(of: Mapping[str, Difference]) -> dict[str, Any]:
    return {
        name: {
            "scale": d.scale,
            "value": _number(d.value),
            "low": _number(d.low),
            "high": _number(d.high),
            "seeds": d.seeds,
            "word": d.word.value,
            "why": d.why,
        }
        for name, d in of.items()
    }


def _number(value: float) -> float | None:
    """A number as JSON has it: what is unknown or without end is null."""
    return value if math.isfinite(value) else None


def _write(path: Path, said: Mapping[str, Any]) -> None:
    write_whole(path, json.dumps(said, indent=2, ensure_ascii=False) + "\n")
