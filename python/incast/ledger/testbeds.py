"""Runs of figures on a testbed: real packets under the kernel's congestion control."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from incast import kernel, store, testbed
from incast._core import ResultError, ScenarioError
from incast.kernel import KernelError
from incast.ledger.figure import Figure, LedgerError, RunSpec
from incast.result import Result


class AbsentError(Exception):
    """This machine cannot make runs on a testbed; the text says what it lacks."""


def measure(figure: Figure, folder: Path | None, fresh: bool) -> Mapping[str, Sequence[Result]]:
    """Makes the runs of a figure that are on a testbed, one after the other.

    Args:
        figure: The figure.
        folder: The folder of all results, of which existing ones are reused; None keeps them in memory.
        fresh: Make all runs again.

    Returns:
        The results by the name of the run: one for each repetition.

    Raises:
        AbsentError: When the machine lacks something.
        LedgerError: When a run fails, or a scenario is none for a testbed.
    """
    return {
        spec.name: [_one(figure, spec, seed, folder, fresh) for seed in spec.seeds or (None,)]
        for spec in figure.runs
        if spec.testbed
    }


def _one(figure: Figure, spec: RunSpec, seed: int | None, folder: Path | None, fresh: bool) -> Result:
    name = f"{figure.id}: the run {spec.name!r}" + ("" if seed is None else f", repetition {seed}")
    try:
        scenario = spec.load(seed)
        place = None
        if folder is not None:
            simulated = store.place(folder, scenario, store.named_files(scenario))
            place = simulated.with_name(f"testbed-{simulated.name}-{_code()}")
            if not fresh and (found := _complete(place)):
                return found
        result = testbed.run(scenario, place, fresh=True)
    except ScenarioError as error:
        raise LedgerError(f"{name}: {error}") from None
    except (KernelError, testbed.TestbedError) as error:
        raise AbsentError(str(error)) from None
    if not result.sound:
        raise LedgerError(f"{name} failed: it ended {result.info['outcome']['end']}")
    return result


def _complete(place: Path) -> Result | None:
    try:
        result = Result.open(place)
    except ResultError:
        return None
    return result if result.state == "complete" and result.sound else None


def _code() -> str:
    """Identifies the kernel's algorithms as they are built here: a result of other code is not reused."""
    digest = hashlib.sha256()
    for file in sorted(kernel.OBJECTS.glob("*.o")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:8]
