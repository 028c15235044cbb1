"""The cases in which divided times agree have every limit that their transport can have."""

from __future__ import annotations

from collections import Counter
from types import ModuleType

import pytest

from models import limits, limits_homa, limits_ndp
from models.agreement import simulated

SEEDS = 25

ALWAYS = {"sending", "answer", "card", "repair", "answer_queued"}


@pytest.mark.parametrize(
    ("module", "others"),
    [
        (limits, {"window", "pacing", "paused", "window_queued"}),
        (limits_ndp, {"credit"}),
        (limits_homa, {"credit"}),
    ],
)
def test_every_limit_occurs_in_a_tenth_of_the_cases_of_some_kind(
    module: ModuleType, others: set[str]
) -> None:
    most: Counter[str] = Counter()
    for draw in module.KINDS.values():
        found: Counter[str] = Counter()
        for seed in range(SEEDS):
            outcomes, _ = simulated(draw(seed))
            known = {limit for o in outcomes if isinstance(o, limits.Divided) for limit, _ in o.times}
            found.update(known)
        most |= found
    often = {limit for limit, count in most.items() if count * 10 >= SEEDS}
    assert often == ALWAYS | others
