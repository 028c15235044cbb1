"""Every pause under backpressure flow control equals the plain model's, and most cases have some."""

from __future__ import annotations

import pytest

from models import bfc
from models.agreement import KINDS, served

CASES = 25


def pauses_of(case: bfc.BfcCase) -> tuple[list[bfc.Pause], list[bfc.Pause]]:
    """Returns the pauses of the simulator and of the model, up to the end of the last flow."""
    scenario = case.scenario()
    result = scenario.run()
    model = bfc.played(case, served(scenario, result.flows))
    end = max(outcome.finish or 0 for outcome in model.outcomes)
    columns = (result.pauses.column(name).tolist() for name in ("time_ps", "node", "port", "queue", "paused"))
    simulated = sorted(bfc.Pause(*row) for row in zip(*columns, strict=True))
    return [it for it in simulated if it.time < end], [it for it in model.pauses if it.time < end]


@pytest.mark.parametrize("kind", sorted(bfc.KINDS))
def test_every_pause_is_that_of_the_model(kind: str) -> None:
    hosts = switches = 0
    for seed in range(CASES):
        case = KINDS[kind](seed)
        assert isinstance(case, bfc.BfcCase)
        simulated, model = pauses_of(case)
        assert simulated == model, f"seed {seed}"
        hosts += any(pause.node[0] == "h" for pause in model)
        switches += any(pause.node[0] == "s" for pause in model)
    assert hosts > CASES // 2
    assert switches > CASES // 2 or kind != "bfc spines"
