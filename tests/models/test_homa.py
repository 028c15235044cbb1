"""In random cases of Homa, receivers grant, choose and request, and as much is dropped as in the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from models import homa
from models.homa import HomaCase

SEEDS = range(1000, 1080)


@pytest.mark.parametrize("draw", [homa.homa_star, homa.homa_spines])
def test_messages_wait_for_grants_and_as_much_is_lost_as_in_the_model(
    draw: Callable[[int], HomaCase],
) -> None:
    met: Counter[str] = Counter()
    for seed in SEEDS:
        case = draw(seed)
        result = case.scenario().run()
        names = ("flow", "group", "packets", "resent_packets", "timeouts")
        rows = sorted(zip(*(result.flows.column(name).tolist() for name in names), strict=True))
        order = [int(row[1].removeprefix("f")) for row in rows]
        model = homa.played(case, order)
        # Of flows that never finish too.
        for number, (_, _, *counted) in zip(order, rows, strict=True):
            outcome = model.outcomes[number]
            assert counted == [outcome.packets, outcome.resent, outcome.timeouts], f"f{number}, seed {seed}"
        assert int(result.ports.column("dropped_packets").sum()) == model.counts["drops"], f"seed {seed}"
        met.update(name for name, count in model.counts.items() if count)
    assert met["grant"] > 0.8 * len(SEEDS)
    assert met["waiting"] > 0.5 * len(SEEDS), "a message that needs grants has no place among the active ones"
    assert met["request"] > 0.3 * len(SEEDS)
    assert min(met["drops"], met["timeouts"]) > 0.2 * len(SEEDS)
    assert min(met["given up"], met["capped"]) > 0.05 * len(SEEDS)
