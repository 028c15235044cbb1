"""Attacks: the search, the shrinking, and the replay of what is written."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from incast.attacking import record
from incast.attacking.document import Document
from incast.attacking.judge import Fault, Judge, Verdict
from incast.attacking.question import BUDGET, SEEDS, Question, ask
from incast.attacking.search import Candidate, best, search
from incast.attacking.shrink import Shrinker
from incast.progress import State
from incast.runs import store
from incast.runs.runner import Executor, Local
from incast.tuning.runs import Meter

LEFT = 0.8
"""The part of what a ratio exceeds 1 by that a smaller scenario has to keep."""

LEAST = 1.01
"""A ratio below this is no attack."""

LIMIT_S = 60.0
"""Wall time after which a run has failed."""


@dataclass(frozen=True)
class Attack:
    """An attack that is over.

    Attributes:
        question: The search.
        folder: Where its files are.
        candidates: Everything that was tried.
        found: The worst of them for the contestant; None if it is worse in none.
        scenario: The shrunk scenario, without the contestant.
        verdict: The verdict on it.
        steps: The steps of shrinking that held.
        faults: Runs that do not count, one of each contestant and kind, shrunk.
        sentence: What the scenario shows.
        text: The scenario as a file, with the contestant's keys.
        state: Runs that were made and reused.
        files: The files that were written.
    """

    question: Question
    folder: Path
    candidates: tuple[Candidate, ...]
    found: Candidate | None
    scenario: Document = field(repr=False)
    verdict: Verdict
    steps: tuple[str, ...]
    faults: tuple[Fault, ...]
    sentence: str
    text: str = field(repr=False)
    state: State
    files: tuple[Path, ...] = ()

    @property
    def ratio(self) -> float:
        """By how much the contestant is worse in the shrunk scenario; 1 without an attack."""
        return self.verdict.ratio if self.found is not None else 1.0

    def __repr__(self) -> str:
        return f"<Attack on {self.question.contestant.name}: {self.ratio:.3g} × {self.question.other}>"


def attack(
    file: str | os.PathLike[str],
    contestant: str,
    vary: Sequence[str],
    score: str,
    *,
    against: str | None = None,
    budget: int = BUDGET,
    seeds: int = SEEDS,
    seed: int | None = None,
    search_seed: int = 1,
    folder: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    limit_s: float | None = LIMIT_S,
    fresh: bool = False,
    watch: Callable[[State], None] | None = None,
) -> Attack:
    """Searches for the traffic in which a contestant is worst, and shrinks it.

    ```python
    attack = incast.attack(
        "burst.toml",
        "swift",
        ["traffic.burst.size=10KB:1MB:log", "topology.delay=1us:10us"],
        "last_over_bound(burst)",
        against="oscar",
    )
    attack.sentence, attack.ratio
    ```

    Killed at any time and begun again, it continues and ends with the same numbers.

    Args:
        file: The file of the scenario.
        contestant: The contestant that is attacked.
        vary: Keys with their ranges or values: ``traffic.burst.start=0us:1ms``.
        score: The number that is compared, like ``p99.small`` or ``last_over_bound(burst)``.
        against: Another contestant in the same scenario; None compares with the bound, 1.
        budget: How many candidates are tried.
        seeds: Seeds of each candidate; the least ratio counts.
        seed: The first of them; None takes the scenario's.
        search_seed: The seed of the search.
        folder: Where to put the files and results; None takes a folder under ``incast-results``.
        executor: Where runs are made; None takes processes of this machine, one for each core.
        limit_s: Wall time in seconds after which a run has failed; None for no limit.
        fresh: Make all runs again.
        watch: Called when something has changed, from any thread.

    Raises:
        ScenarioError: When something is wrong.
        ResultError: When files cannot be written.
        KeyboardInterrupt: After Ctrl-C; what is done stays.
    """
    question = ask(
        file,
        contestant,
        vary,
        score,
        against=against,
        budget=budget,
        seeds=seeds,
        seed=seed,
        search_seed=search_seed,
    )
    place = None if folder is None else Path(folder)
    return run(question, folder=place, executor=executor, limit_s=limit_s, fresh=fresh, watch=watch)


def run(
    question: Question,
    *,
    folder: Path | None = None,
    executor: Executor | None = None,
    limit_s: float | None = LIMIT_S,
    fresh: bool = False,
    watch: Callable[[State], None] | None = None,
) -> Attack:
    """Makes an attack that was read before; see :func:`incast.attack`."""
    where = question.folder if folder is None else folder
    record.prepare(where, question, fresh=fresh)
    results = store.DEFAULT if folder is None else where / "runs"
    executor = executor or Local()
    meter = Meter(0, watch)
    # A search makes many small batches.
    with executor if isinstance(executor, Local) else nullcontext():
        judge = Judge(question, results, executor, meter, limit_s, fresh)
        return record.save(_made(question, where, judge, meter))


def _made(question: Question, where: Path, judge: Judge, meter: Meter) -> Attack:
    """Searches and shrinks."""
    meter.expect(question.budget * len(question.seeds) * len(judge.sides))
    candidates = search(judge)
    faults = _faults(judge, meter)
    worst = next((one for one in best(candidates) if one.verdict.ratio >= LEAST), None)
    nothing = Verdict(1.0)
    done = Attack(question, where, tuple(candidates), None, {}, nothing, (), faults, "", "", meter.state)
    if worst is None:
        return done
    enough = 1 + LEFT * (worst.verdict.ratio - 1)
    steps: list[str] = []

    def holds(document: Document) -> bool:
        meter.expect(len(question.seeds) * len(judge.sides))
        (verdict,) = judge.judge([document], enough)
        # A run that ends earlier must not turn a number into a lower bound of it.
        cut = verdict.at_least and not worst.verdict.at_least
        return verdict.ratio >= enough and not cut

    small = Shrinker(holds, steps.append).shrink(question.candidate(worst.setting))
    meter.expect(len(question.seeds) * len(judge.sides))
    (verdict,) = judge.judge([small], enough)
    shown = replace(done, found=worst, scenario=small, verdict=verdict, steps=tuple(steps))
    sentence = record.sentence(shown)
    return replace(shown, sentence=sentence, text=record.written(replace(shown, sentence=sentence)))


def _faults(judge: Judge, meter: Meter) -> tuple[Fault, ...]:
    """The first fault of each contestant and kind, in the smallest scenario that still has it."""
    first: dict[tuple[str, str], Fault] = {}
    for fault in judge.faults:
        first.setdefault((fault.contestant.name, fault.kind), fault)
    small = []
    for fault in first.values():

        def holds(document: Document, fault: Fault = fault) -> bool:
            meter.expect(1)
            again = judge.fault(document, fault.contestant, fault.seed)
            return again is not None and again.kind == fault.kind

        candidate = Shrinker(holds).shrink(fault.candidate)
        again = judge.fault(candidate, fault.contestant, fault.seed)
        small.append(fault if again is None else again)
    return tuple(small)
