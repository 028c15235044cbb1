"""Runs of figures on a testbed: real packets under the kernel's congestion control."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from incast.errors import ResultError, ScenarioError
from incast.ledger.figure import Figure, RunSpec
from incast.ledger.reader import LedgerError
from incast.progress import Progress, State, share
from incast.real import kernel, testbed
from incast.real.kernel import KernelError
from incast.real.testbed import machine
from incast.results.result import Result
from incast.runs import store
from incast.scenario import Scenario

STOLEN = 0.01
"""The most that other virtual machines may have of the processors' time while a run lasts."""


class AbsentError(Exception):
    """This machine cannot make runs on a testbed; the text says what it lacks."""


def count(figure: Figure) -> int:
    """Returns the number of a figure's runs that are on a testbed."""
    return sum(len(spec.seeds) or 1 for spec in figure.runs if spec.testbed)


def measure(
    figure: Figure,
    folder: Path | None,
    fresh: bool,
    state: State | None = None,
    watch: Callable[[State], None] | None = None,
) -> Mapping[str, Sequence[Result]]:
    """Makes the runs of a figure that are on a testbed, one after the other.

    Args:
        figure: The figure.
        folder: The folder of all results, of which existing ones are reused; None keeps them in memory.
        fresh: Make all runs again.
        state: The progress of the batch that these runs end.
        watch: Called with it when something has changed.

    Returns:
        The results by the name of the run: one for each repetition.

    Raises:
        AbsentError: When the machine lacks something.
        LedgerError: When a run fails, or a scenario is none for a testbed.
    """
    now = State(count(figure)) if state is None else state

    def report(progress: Progress | None) -> None:
        # One at a time: any number stands for it.
        now.shares = {} if progress is None else {-1: share(progress)}
        if watch is not None:
            watch(now)

    found: dict[str, list[Result]] = {}
    try:
        for spec in figure.runs:
            if not spec.testbed:
                continue
            found[spec.name] = []
            for seed in spec.seeds or (None,):
                report(None)
                result, reused = _one(figure, spec, seed, folder, fresh, report)
                found[spec.name].append(result)
                now.reused += reused
                now.made += not reused
    finally:
        report(None)
    return found


def _one(
    figure: Figure,
    spec: RunSpec,
    seed: int | None,
    folder: Path | None,
    fresh: bool,
    report: Callable[[Progress | None], None],
) -> tuple[Result, bool]:
    """The result of one run, and whether it was there already."""
    name = f"{figure.id}: the run {spec.name!r}" + ("" if seed is None else f", repetition {seed}")
    try:
        scenario = spec.load(seed)
        place = None
        if folder is not None:
            simulated = store.place(folder, scenario, store.named_files(scenario))
            place = simulated.with_name(f"testbed-{simulated.name}-{_code(scenario)}")
            if not fresh and (found := _complete(place)):
                return found, True
        result = _undisturbed(lambda: testbed.run(scenario, place, fresh=True, progress=report), place)
    except ScenarioError as error:
        raise LedgerError(f"{name}: {error}") from None
    except testbed.RunError as error:
        raise LedgerError(f"{name} failed: {error}") from None
    except (KernelError, testbed.TestbedError) as error:
        raise AbsentError(str(error)) from None
    if not result.sound:
        raise LedgerError(f"{name} failed: it ended {result.info['outcome']['end']}")
    return result, False


def _undisturbed(run: Callable[[], Result], place: Path | None) -> Result:
    """The result of a run, which is repeated where the machine's processors were not its own.

    Whether it is repeated does not depend on what was measured. The last one counts, and only that is kept.
    """
    start, stolen = time.monotonic(), machine.stolen_s()
    result = run()
    spent = (time.monotonic() - start) * (os.cpu_count() or 1)
    if machine.stolen_s() - stolen <= STOLEN * spent:
        return result
    if place is not None:
        # Whatever becomes of the second run, the first one is not taken for it.
        shutil.rmtree(place)
    return run()


def _complete(place: Path) -> Result | None:
    try:
        result = Result.open(place)
    except ResultError:
        return None
    return result if result.state == "complete" and result.sound else None


def _code(scenario: Scenario) -> str:
    """Identifies what makes a testbed of a scenario, as it is here: a result of other code is not reused.

    The algorithms as built for the kernel, the programs of switches and options, and the testbed itself.
    """
    used = {label.partition(":")[0] for label in scenario._core.algorithms()}
    files = [kernel.OBJECTS / known.object for known in kernel.CONTROLS if known.algorithm in used]
    files += [kernel.OBJECTS / f"{name}.bpf.o" for name in ("mark", "options", "stamp")]
    for package in (kernel, testbed):
        files += sorted(Path(str(package.__file__)).parent.glob("*.py"))
    digest = hashlib.sha256()
    for file in files:
        if file.exists():
            digest.update(file.read_bytes())
    return digest.hexdigest()[:8]
