"""In random cases of trimming, switches do what they are drawn for, and as often as in the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from models import ndp, trimming
from models.agreement import ran
from models.trimming import Run

SEEDS = range(1000, 1040)


@pytest.mark.parametrize(
    ("draw", "played"),
    [
        (trimming.trimming_star, trimming.played),
        (trimming.trimming_spines, trimming.played),
        (ndp.ndp_star, ndp.played),
        (ndp.ndp_spines, ndp.played),
    ],
)
def test_switches_trim_mark_and_drop_as_often_as_in_the_model(
    draw: Callable[[int], Any], played: Callable[[Any, list[int]], Run]
) -> None:
    met: Counter[str] = Counter()
    for seed in SEEDS:
        case = draw(seed)
        result, order = ran(case)
        model = played(case, order)
        for total in ("trimmed", "marked", "dropped"):
            count = int(result.ports.column(f"{total}_packets").sum())
            assert count == model.totals[total], f"{total}, seed {seed}"
        met.update(total for total, count in model.totals.items() if count)
    assert met["trimmed"] > len(SEEDS) / 2
    assert min(met["marked"], met["returned"], met["dropped"]) > len(SEEDS) / 10
