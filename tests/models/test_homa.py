"""In random cases of Homa, receivers grant, choose and request, and as much is dropped as in the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from models import homa
from models.agreement import differences, ran, simulated
from models.cases import GBPS, US, Flow, Link
from models.homa import HomaCase, Settings

SEEDS = range(1000, 1080)


@pytest.mark.parametrize("draw", [homa.homa_star, homa.homa_spines])
def test_messages_wait_for_grants_and_as_much_is_lost_as_in_the_model(
    draw: Callable[[int], HomaCase],
) -> None:
    met: Counter[str] = Counter()
    for seed in SEEDS:
        case = draw(seed)
        result, order = ran(case)
        names = ("group", "packets", "resent_packets", "timeouts")
        rows = zip(*(result.flows.column(name).tolist() for name in names), strict=True)
        model = homa.played(case, order)
        # Of flows that never finish too.
        for group, *counted in rows:
            number = int(group.removeprefix("f"))
            outcome = model.outcomes[number]
            assert counted == [outcome.packets, outcome.resent, outcome.timeouts], f"f{number}, seed {seed}"
        assert int(result.ports.column("dropped_packets").sum()) == model.counts["drops"], f"seed {seed}"
        met.update(name for name, count in model.counts.items() if count)
    assert met["grant"] > 0.8 * len(SEEDS)
    assert met["waiting"] > 0.5 * len(SEEDS), "a message that needs grants has no place among the active ones"
    assert met["request"] > 0.3 * len(SEEDS)
    assert min(met["drops"], met["timeouts"]) > 0.2 * len(SEEDS)
    assert min(met["given up"], met["capped"]) > 0.05 * len(SEEDS)
    assert met["oldest"] > 0.2 * len(SEEDS)
    assert met["told to wait"] > 0.2 * len(SEEDS)
    assert met["excused"] > 0.05 * len(SEEDS)


def test_timers_of_senders_come_before_those_of_receivers() -> None:
    # The first packet of f0 arrives at h0 after 10,516,320 ps, and the timer expires 6 us later, before the
    # second arrives. At that instant h0 has waited 12 us for an answer about f1, and sends its packet again.
    # So the request of f0's second packet is at h2 after 19,117,760 ps, when f2 is being sent; it would have
    # been there after 19,033,440. The acknowledgement overtakes what would be sent again.
    case = HomaCase(
        (
            Link("h0", "s0", 100 * GBPS, US),
            Link("h1", "s0", 100 * GBPS, 100 * US),
            Link("h2", "s0", GBPS, US),
        ),
        (
            Flow("h2", "h0", 2000, 0),
            Flow("h0", "h1", 1000, 4_516_320),
            Flow("h2", "h0", 1000, 19_070_000),
        ),
        quanta=(1518,) * 4,
        homa=Settings(rtt_bytes=10_000, resend_timeout=6 * US),
    )
    assert not differences(case)
    first, _, last = simulated(case)[0]
    assert first.packets == 2
    assert last.finish == 19_070_000 + 13_033_440
