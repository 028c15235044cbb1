"""Judging candidates: both sides on the same seeds, and the least ratio counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from incast.attacking.document import Document
from incast.attacking.question import Question, Side
from incast.errors import ResultError, ScenarioError
from incast.results.measures.quantity import Quantity
from incast.results.result import is_sound
from incast.runs import store
from incast.runs.runner import Batch, Executor, Job
from incast.scenario import Scenario
from incast.tuning.runs import Meter

MOST = 1000.0
"""The largest ratio: a contestant that carries nothing is as bad as one that carries 0.1 %."""


@dataclass(frozen=True)
class Fault:
    """A run that does not count: a crash, a stall, or a violated invariant.

    Attributes:
        contestant: Whose run it is.
        kind: In one word: ``failed``, ``stalled``, ``violation``, ``deadlock``.
        why: The message.
        seed: Its seed.
        candidate: The scenario, without the contestant.
    """

    contestant: Side
    kind: str
    why: str
    seed: int
    candidate: Document = field(repr=False)


@dataclass(frozen=True)
class Verdict:
    """A candidate that was judged.

    Attributes:
        ratio: By how much the contestant is worse, on the seed on which that is least; 1 if it is no
            worse, 0 without a number.
        own: The score of the contestant, by seed.
        other: The score of the other one; 1 for the bound.
        least: The place of the seed on which it is least.
        fingerprints: Of the runs with that seed, by contestant.
        at_least: Whether the ratio is a lower bound, since flows are unfinished.
    """

    ratio: float
    own: tuple[float, ...] = ()
    other: tuple[float, ...] = ()
    least: int = 0
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    at_least: bool = False


@dataclass
class _Open:
    """A candidate that is being judged."""

    candidate: Document
    ratio: float = MOST
    own: list[float] = field(default_factory=list)
    other: list[float] = field(default_factory=list)
    least: int = 0
    fingerprints: dict[str, str] = field(default_factory=dict)
    at_least: bool = False

    def closed(self) -> Verdict:
        return Verdict(
            self.ratio, tuple(self.own), tuple(self.other), self.least, self.fingerprints, self.at_least
        )


class Judge:
    """Makes the runs of candidates and compares both sides.

    Args:
        question: The search.
        results: The folder of all results.
        executor: Where runs are made.
        meter: Shows the progress.
        limit_s: Wall time after which a run has failed.
        fresh: Make each run again, once.
    """

    def __init__(
        self,
        question: Question,
        results: Path,
        executor: Executor | None = None,
        meter: Meter | None = None,
        limit_s: float | None = None,
        fresh: bool = False,
    ) -> None:
        self.question = question
        self.faults: list[Fault] = []
        self._results = results
        self._executor = executor
        self._meter = meter or Meter(0, None)
        self._limit_s = limit_s
        self._fresh = fresh
        self._again: set[Path] = set()

    @property
    def sides(self) -> list[Side]:
        """The contestants that run."""
        q = self.question
        return [q.contestant, *([] if q.against is None else [q.against])]

    def judge(self, candidates: Sequence[Document], floor: float = 0.0) -> list[Verdict]:
        """Returns the verdict on each candidate.

        Args:
            candidates: The candidates.
            floor: One whose ratio is below this on a seed does not run with the seeds after it: its least
                ratio is not above it.
        """
        judged = [_Open(candidate) for candidate in candidates]
        alive = judged
        for place, seed in enumerate(self.question.seeds):
            self._run(alive, seed)
            left = [one for one in alive if one.ratio > 0 and one.ratio >= floor]
            gone = len(alive) - len(left)
            self._meter.spare(gone * (len(self.question.seeds) - 1 - place) * len(self.sides))
            alive = left
        return [one.closed() for one in judged]

    def fault(self, candidate: Document, side: Side, seed: int) -> Fault | None:
        """Returns the fault of a run; None of one that counts, or of a candidate that is refused."""
        try:
            scenario = self._scenario(candidate, side, seed)
        except ScenarioError:
            return None
        batch, numbers = self._made([scenario])
        return self._fault(batch, numbers[0], side, seed, candidate)

    def _run(self, judged: Sequence[_Open], seed: int) -> None:
        """Runs candidates with a seed, and lowers their ratios to what is found."""
        scenarios: list[Scenario] = []
        running: list[_Open] = []
        for one in judged:
            try:
                scenarios += [self._scenario(one.candidate, side, seed) for side in self.sides]
                running.append(one)
            except ScenarioError:
                # Scenarios of a candidate that is refused for the second side run for nothing.
                del scenarios[len(running) * len(self.sides) :]
                one.ratio = 0.0
        batch, numbers = self._made(scenarios)
        self._meter.spare(len(judged) * len(self.sides) - len(batch.jobs))
        for place, one in enumerate(running):
            start = place * len(self.sides)
            self._take(one, batch, numbers[start : start + len(self.sides)], seed)

    def _scenario(self, candidate: Document, side: Side, seed: int) -> Scenario:
        scenario = self.question.scenario(candidate, side, seed)
        scenario.size()
        return scenario

    def _made(self, scenarios: Sequence[Scenario]) -> tuple[Batch, list[int]]:
        """Makes runs; each gets the number of its job."""
        jobs: dict[Path, Job] = {}
        places = []
        for scenario in scenarios:
            folder = store.place(self._results, scenario, store.named_files(scenario))
            jobs.setdefault(folder, Job(f"{store.label(scenario)}, seed {scenario.seed}", scenario, folder))
            places.append(folder)
        batch = Batch(list(jobs.values()))
        again = self._fresh and not self._again.issuperset(jobs)
        batch.run(self._executor, fresh=again, limit_s=self._limit_s, watch=self._meter.now)
        self._again.update(jobs)
        self._meter.over(batch.state)
        number = {folder: n for n, folder in enumerate(jobs)}
        return batch, [number[folder] for folder in places]

    def _take(self, one: _Open, batch: Batch, numbers: Sequence[int], seed: int) -> None:
        """Takes the runs of a candidate with a seed."""
        faults = [
            self._fault(batch, n, side, seed, one.candidate)
            for n, side in zip(numbers, self.sides, strict=True)
        ]
        self.faults += [fault for fault in faults if fault is not None]
        if any(faults):
            one.ratio = 0.0
            return
        try:
            found = [self.question.score.of(batch.result(n)) for n in numbers]
        except (ValueError, ResultError):
            one.ratio = 0.0
            return
        own, other = found[0], found[1] if len(found) > 1 else Quantity(1.0)
        one.own.append(own.value)
        one.other.append(other.value)
        higher = self.question.higher
        # The number of an unfinished flow is a lower bound; so must be the ratio.
        if other.at_least if not higher else own.at_least:
            one.ratio = 0.0
            return
        ratio = worse(own.value, other.value, higher=higher)
        if len(one.own) > 1 and ratio >= one.ratio:
            return
        one.ratio, one.at_least, one.least = ratio, own.at_least, len(one.own) - 1
        one.fingerprints = {
            side.name: batch.infos[n]["outcome"]["fingerprint"]
            for n, side in zip(numbers, self.sides, strict=True)
        }

    def _fault(self, batch: Batch, n: int, side: Side, seed: int, candidate: Document) -> Fault | None:
        info = batch.infos.get(n)
        if info is None:
            return Fault(side, "failed", batch.errors[n].splitlines()[0], seed, candidate)
        if is_sound(info):
            return None
        return Fault(side, *_unsound(info["outcome"]), seed, candidate)


def _unsound(outcome: Mapping[str, Any]) -> tuple[str, str]:
    """The kind of what is wrong with a run, and the message."""
    if outcome.get("violations"):
        return "violation", str(outcome["violations"][0])
    if outcome.get("deadlock"):
        return "deadlock", str(outcome["why"])
    return str(outcome["end"]), str(outcome["why"])


def worse(own: float, other: float, *, higher: bool) -> float:
    """Returns by how much a score is worse than another one, as a ratio of at least 1.

    Args:
        own: The score.
        other: The other one.
        higher: Whether more is better.
    """
    bad, good = (other, own) if higher else (own, other)
    if bad <= good:
        return 1.0
    return min(bad / good, MOST) if good > 0 else MOST
