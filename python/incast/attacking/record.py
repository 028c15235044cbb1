"""The files of an attack: the scenario with its sentence and fingerprint, its record, and faults."""

from __future__ import annotations

import json
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incast._build import build
from incast.attacking.document import written_out
from incast.attacking.question import Question, Side
from incast.errors import ResultError
from incast.results.result import Result
from incast.runs.sweep.tables import write_whole
from incast.scenario import Scenario
from incast.tuning.record import claim

if TYPE_CHECKING:
    from incast.attacking.judge import Fault
    from incast.attacking.run import Attack

FORMAT = "incast-attack"
MANIFEST = "attack.json"
SCENARIO = "attack.toml"


def prepare(folder: Path, question: Question, *, fresh: bool) -> None:
    """Makes the folder of an attack, and refuses one that holds anything else.

    Args:
        folder: The folder.
        question: The search.
        fresh: Whether an earlier attack in it is replaced.

    Raises:
        ResultError: When it holds something else, or cannot be written.
    """
    claim(folder, read, question.key, "an attack", fresh=fresh)
    for path in [*folder.glob("fault-*.toml"), folder / SCENARIO]:
        path.unlink(missing_ok=True)
    _write(folder / MANIFEST, {"format": FORMAT, "key": question.key, "state": "running"})


def read(folder: Path) -> dict[str, Any] | None:
    """Returns the record of an attack; None where the folder has none."""
    try:
        said: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return said if said["format"] == FORMAT else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def save(done: Attack) -> Attack:
    """Writes the files of an attack, and runs the scenario once more as it was written.

    Returns:
        The attack with the names of its files.

    Raises:
        ResultError: When one of them cannot be written, or the file does not replay.
    """
    folder = done.folder
    files = []
    if done.found is not None:
        write_whole(folder / SCENARIO, done.text)
        files.append(folder / SCENARIO)
        replay(done)
    for number, fault in enumerate(done.faults, 1):
        path = folder / f"fault-{number}.toml"
        write_whole(path, broken(done.question, fault))
        files.append(path)
    _write(folder / MANIFEST, manifest(done))
    return replace(done, files=(*files, folder / MANIFEST))


def replay(done: Attack) -> None:
    """Runs the scenario as it was written, and compares the fingerprint.

    Raises:
        ResultError: When it is another one.
    """
    # Files that the scenario names are relative to the scenario from which the search began.
    result = Scenario.from_toml(done.text, done.question.file).run_quietly()
    wanted = done.verdict.fingerprints[done.question.contestant.name]
    if fingerprint(result) != wanted:
        raise ResultError(
            f"the scenario as it was written gives {fingerprint(result)}, and the search gave {wanted}"
        )


def fingerprint(result: Result) -> str:
    """Returns the hash of what a run produced."""
    return str(result.info["outcome"]["fingerprint"])


def sentence(done: Attack) -> str:
    """Returns a sentence of what the shrunk scenario shows."""
    question = done.question
    size = question.scenario(done.scenario, question.contestant, question.seeds[done.verdict.least]).size()
    flows = "1 flow" if size.flows == 1 else f"{size.flows:,} flows"
    amount = f", {_bytes(size.bytes)} in all," if size.bytes else ""
    bound = "at least " if done.verdict.at_least else ""
    least = done.verdict.least
    own, other = done.verdict.own[least], done.verdict.other[least]
    scale, unit = question.score.measure.scale, _unit(question)
    factor = scale / 1e12 if question.score.dimension == "time" else scale
    shown = f"{bound}{own / factor:.3g}{unit}"
    beside = (
        "the bound is 1" if question.against is None else f"{question.other} has {other / factor:.3g}{unit}"
    )
    return (
        f"With {flows}{amount} {question.contestant.name} has {question.score.measure.words} of {shown}, "
        f"where {beside}: {bound}{done.verdict.ratio:.3g} times as bad."
    )


def _bytes(amount: int) -> str:
    for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if amount >= scale:
            return f"{amount / scale:.3g} {unit}"
    return f"{amount} B"


def _unit(question: Question) -> str:
    units = {"time": " us", "bytes": " KB", "rate": " Gbps"}
    return units.get(question.score.dimension, "")


def written(done: Attack) -> str:
    """Returns the shrunk scenario as a file, with the sentence and fingerprints as a comment."""
    question = done.question
    lines = textwrap.wrap(done.sentence, 98)
    lines += ["", f"score: {question.score.text}", f"ratio: {done.verdict.ratio:.6g}"]
    lines += [f"fingerprint of {name}: {mark}" for name, mark in done.verdict.fingerprints.items()]
    comment = "".join(f"# {line}".rstrip() + "\n" for line in lines)
    seed = question.seeds[done.verdict.least]
    return f"{comment}\n{_file(question, done.scenario, question.contestant, seed)}"


def broken(question: Question, fault: Fault) -> str:
    """Returns the scenario of a fault as a file, with the message as a comment."""
    lines = textwrap.wrap(f"{fault.contestant.name}: {fault.kind}: {fault.why}", 98)
    comment = "".join(f"# {line}\n" for line in lines)
    return f"{comment}\n{_file(question, fault.candidate, fault.contestant, fault.seed)}"


def _file(question: Question, document: dict[str, Any], side: Side, seed: int) -> str:
    scenario = question.scenario(document, side, seed)
    return written_out(document, scenario, side.name, question.file)


def manifest(done: Attack) -> dict[str, Any]:
    """Returns the record of an attack: no time of day, so that the same attack gives the same bytes."""
    question = done.question
    keys = [parameter.label for parameter in question.parameters]
    return {
        "format": FORMAT,
        "format_version": 1,
        "state": "complete",
        "key": question.key,
        "incast": build(),
        "scenario": question.name,
        "contestant": question.contestant.name,
        "against": None if question.against is None else question.against.name,
        "score": question.score.text,
        "vary": [str(parameter) for parameter in question.parameters],
        "seeds": list(question.seeds),
        "search_seed": question.search_seed,
        "ratio": done.ratio,
        "found_ratio": 1.0 if done.found is None else done.found.verdict.ratio,
        "found": None if done.found is None else dict(zip(keys, done.found.setting, strict=True)),
        "own": list(done.verdict.own),
        "other": list(done.verdict.other),
        "at_least": done.verdict.at_least,
        "fingerprints": dict(done.verdict.fingerprints),
        "sentence": done.sentence,
        "steps": list(done.steps),
        "faults": [
            {"contestant": one.contestant.name, "kind": one.kind, "why": one.why, "seed": one.seed}
            for one in done.faults
        ],
        "candidates": [
            {
                "number": one.number,
                "generation": one.generation,
                "setting": dict(zip(keys, one.setting, strict=True)),
                "ratio": one.verdict.ratio,
                "seeds": len(one.verdict.own),
            }
            for one in done.candidates
        ],
    }


def _write(path: Path, content: dict[str, Any]) -> None:
    write_whole(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
