"""The cases in which divided times agree have every limit of the window transport."""

from __future__ import annotations

from collections import Counter

from models import limits
from models.agreement import simulated

SEEDS = 25


def test_every_limit_occurs_in_a_tenth_of_the_cases_of_some_kind() -> None:
    most: Counter[str] = Counter()
    for draw in limits.KINDS.values():
        found: Counter[str] = Counter()
        for seed in range(SEEDS):
            outcomes, _ = simulated(draw(seed))
            known = {limit for o in outcomes if isinstance(o, limits.Divided) for limit, _ in o.times}
            found.update(known)
        most |= found
    often = {limit for limit, count in most.items() if count * 10 >= SEEDS}
    parts = {"sending", "answer", "window", "pacing", "card", "paused", "repair"}
    assert often == parts | {"answer_queued", "window_queued"}
