"""The record of an arena: one JSON text with everything that a page needs, and tables."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incast._build import build
from incast.arena.duels import STARVES, Duel
from incast.arena.score import Judged
from incast.runs.sweep.tables import Column, Sheet, write_whole

if TYPE_CHECKING:
    from incast.arena.making import Arena

FORMAT = "incast-arena"
FORMAT_VERSION = 1

DIGITS = 6
"""Significant digits of numbers in the record."""


def content(arena: Arena) -> dict[str, Any]:
    """Returns the record of an arena. It holds no wall time: the same runs give the same bytes.

    Args:
        arena: The arena.
    """
    plan, judged = arena.plan, arena.judged
    unsteady: dict[str, int] = {}
    for number, made in arena.made.items():
        name = plan.runs[number].entry.name
        unsteady[name] = unsteady.get(name, 0) + (not made.steady)
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "incast": build(),
        "battery": {
            "name": plan.battery.name,
            "version": plan.battery.version,
            "digest": plan.battery.digest,
            "scenarios": plan.scenarios,
            "whole": plan.whole,
        },
        "contestants": [
            {
                "name": one.name,
                "title": one.title,
                "what": one.what,
                "needs": one.needs,
                "ranked": one.ranked,
                "settings": {key: list(written) for key, written in one.settings.items()},
            }
            for one in plan.contestants
        ],
        "scenarios": [
            {
                "name": entry.name,
                "question": entry.question,
                "replicates": entry.seeds,
                "runs": sum(run.entry.name == entry.name for run in plan.runs),
                "not_steady": unsteady.get(entry.name, 0),
                "metrics": [
                    {
                        "name": metric.name,
                        "measure": metric.measure,
                        "arguments": dict(metric.arguments),
                        "better": metric.better,
                    }
                    for metric in entry.metrics
                ],
            }
            for entry in plan.battery.entries
        ],
        "runs": len(plan.runs) + len(plan.matches),
        "ranking": [_rounded(asdict(one)) for one in judged.standings],
        "ratios": {name: _rounded(of) for name, of in judged.ratios.items()},
        "refused": [
            {"scenario": scenario, "contestant": contestant, "why": why}
            for (scenario, contestant), why in plan.refused.items()
        ],
        "dropped": [
            {"scenario": scenario, "contestant": contestant, "keys": list(keys)}
            for (scenario, contestant), keys in plan.dropped.items()
        ],
        "failures": [{"run": label, "why": why} for label, why in arena.failures.items()],
        "no_duels": dict(plan.no_duels),
        "scores": [_rounded(asdict(one)) for one in judged.scores],
        "pairs": [asdict(one) for one in judged.pairs],
        "duels": [_duel(one) for one in arena.duels],
    }


def _duel(duel: Duel) -> dict[str, Any]:
    found = _rounded(asdict(duel))
    found["over_time"] = [None if one is None else round(one, 3) for one in duel.over_time]
    return found


def _rounded(of: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a table with its numbers rounded to the digits of the record; infinity as a text."""
    return {key: _number(value) for key, value in of.items()}


def _number(value: object) -> object:
    if not isinstance(value, float):
        return value
    return "inf" if value == float("inf") else float(f"{value:.{DIGITS}g}")


def text(said: Mapping[str, Any]) -> str:
    """Returns a record as it is saved: one line for each row of its tables, so that changes can be read."""
    lines = []
    for key, value in said.items():
        if isinstance(value, list):
            rows = ",\n    ".join(json.dumps(row, ensure_ascii=False) for row in value)
            lines.append(f"  {json.dumps(key)}: [{f'{chr(10)}    {rows}{chr(10)}  ' if rows else ''}]")
        else:
            lines.append(f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def save(arena: Arena, folder: Path) -> list[Path]:
    """Writes the record and the tables of an arena.

    Args:
        arena: The arena.
        folder: The folder, which is made if it is not there.

    Returns:
        The files.

    Raises:
        ResultError: When one of them cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / "arena.json"
    write_whole(record, text(content(arena)))
    files = [record]
    for name, sheet in sheets(arena).items():
        files += sheet.save(folder / name)
    return files


def sheets(arena: Arena) -> dict[str, Sheet]:
    """The tables of an arena, by name: of runs, values, scores, pairs and duels.

    Args:
        arena: The arena.
    """
    plan, judged = arena.plan, arena.judged
    runs = [(plan.runs[number], made) for number, made in arena.made.items()]
    cells = [
        (run, metric, number)
        for run, made in runs
        if made.values is not None
        for metric, number in zip(run.entry.metrics, made.values, strict=True)
    ]
    found = {
        "runs": Sheet(
            [
                Column("scenario", "text", [run.entry.name for run, _ in runs]),
                Column("contestant", "text", [run.contestant for run, _ in runs]),
                Column("replicate", "unsigned", [run.replicate for run, _ in runs]),
                Column("seed", "unsigned", [run.scenario.seed for run, _ in runs]),
                Column("end", "text", [made.end for _, made in runs]),
                Column("hops", "unsigned", [made.hops for _, made in runs]),
                Column("steady", "text", ["yes" if made.steady else "no" for _, made in runs]),
                Column("warnings", "text", ["; ".join(made.warnings) for _, made in runs]),
                Column("fingerprint", "text", [made.fingerprint for _, made in runs]),
                Column("result", "text", [run.folder.name for run, _ in runs]),
            ]
        ),
        "cells": Sheet(
            [
                Column("scenario", "text", [run.entry.name for run, _, _ in cells]),
                Column("metric", "text", [metric.name for _, metric, _ in cells]),
                Column("contestant", "text", [run.contestant for run, _, _ in cells]),
                Column("replicate", "unsigned", [run.replicate for run, _, _ in cells]),
                Column("value", "number", [one.value for _, _, one in cells]),
                Column("better", "text", [metric.better for _, metric, _ in cells]),
                Column("censored", "text", ["yes" if one.censored else "" for _, _, one in cells]),
            ]
        ),
        "scores": _scores(judged),
        "pairs": Sheet(
            [
                *(
                    Column(key, "text", [getattr(one, key) for one in judged.pairs])
                    for key in ("contestant", "other")
                ),
                *(
                    Column(key, "unsigned", [getattr(one, key) for one in judged.pairs])
                    for key in ("better", "worse", "no_difference", "too_few")
                ),
            ]
        ),
    }
    if arena.duels:
        found["duels"] = _duels(arena.duels)
    return {name: sheet for name, sheet in found.items() if len(sheet)}


def _scores(judged: Judged) -> Sheet:
    scores = judged.scores
    return Sheet(
        [
            *(
                Column(key, "text", [getattr(one, key) for one in scores])
                for key in ("scenario", "metric", "contestant")
            ),
            Column("mean", "number", [one.mean for one in scores]),
            Column("ratio", "number", [one.ratio for one in scores]),
            Column("ratio_low", "number", [one.low for one in scores]),
            Column("ratio_high", "number", [one.high for one in scores]),
            Column("word", "text", [one.word for one in scores]),
            Column("replicates", "unsigned", [one.replicates for one in scores]),
            *(
                Column(key, "text", ["yes" if getattr(one, key) else "" for one in scores])
                for key in ("censored", "failed", "front")
            ),
        ]
    )


def _duels(duels: Sequence[Duel]) -> Sheet:
    least = {name: least_share(duels, name) for name in dict.fromkeys(duel.contestant for duel in duels)}
    return Sheet(
        [
            Column("contestant", "text", [one.contestant for one in duels]),
            Column("other", "text", [one.other for one in duels]),
            Column("share", "number", [one.share for one in duels]),
            Column("use", "number", [one.use for one in duels]),
            Column("queue_mean_bytes", "number", [one.queue_mean_bytes for one in duels]),
            Column("least_share", "number", [least[one.contestant] for one in duels]),
            Column("starves", "text", ["yes" if starves(one) else "" for one in duels]),
            Column("fingerprint", "text", [one.fingerprint for one in duels]),
            Column("result", "text", [one.result for one in duels]),
        ]
    )


def least_share(duels: Sequence[Duel], contestant: str) -> float | None:
    """Returns the least share that a contestant gets beside any other one.

    Args:
        duels: The duels.
        contestant: The contestant.
    """
    mine = [duel.share for duel in duels if duel.contestant == contestant and duel.other != contestant]
    return min(mine, default=None)


def starves(duel: Duel) -> bool:
    """Whether the other contestant of a duel gets next to nothing.

    Args:
        duel: The duel.
    """
    return 1 - duel.share < STARVES


def spread(arena: Arena) -> list[tuple[str, str, float]]:
    """Returns scenario, name and spread of each metric over the ranked contestants, and nobody's value.

    A spread is the largest ratio of means of costs, minus 1. Rule 8 of the method throws out metrics by it.

    Args:
        arena: The arena.
    """
    found = []
    for column in arena.columns:
        means = []
        for name in column.values:
            costs = column.costs(name) if name in arena.plan.ranked else None
            if costs:
                means.append(math.fsum(map(math.log, costs)) / len(costs))
        wide = math.exp(max(means) - min(means)) - 1 if means else 0.0
        found.append((column.scenario, column.metric, wide))
    return found
