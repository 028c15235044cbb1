"""Holds the simulator against the plain models, case by case.

By hand, over as many cases as one likes (ten thousand of a kind take a few minutes):

    PYTHONPATH=tests python -m models.agreement "lossy star" 0 10000
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from models import bfc, cases, circuits, homa, ndp, plain, samples, trimming
from models.cases import Case
from models.plain import Outcome

KINDS: dict[str, Callable[[int], Case]] = (
    cases.KINDS | bfc.KINDS | circuits.KINDS | homa.KINDS | trimming.KINDS | ndp.KINDS | samples.KINDS
)
"""Functions that draw a case of each kind from a seed."""

MODELS: dict[type[Case], Callable[[Any, list[int]], list[Outcome]]] = {
    Case: plain.run,
    bfc.BfcCase: bfc.run,
    circuits.RotorCase: circuits.run,
    homa.HomaCase: homa.run,
    trimming.TrimmingCase: trimming.run,
    ndp.NdpCase: ndp.run,
    samples.SampledCase: samples.run,
}
"""The model of each class of cases."""


def simulated(case: Case) -> tuple[list[Outcome], list[int]]:
    """Runs a case in Incast: the outcome of every flow, and the flows in the order of their numbers."""
    result = case.scenario().run()
    flows = result.flows
    column = {name: flows.column(name).tolist() for name in ("flow", "group", "finished", *_COLUMNS)}
    outcomes = [Outcome(None, None, 0, 0, 0)] * len(case.flows)
    order = [0] * len(case.flows)
    for row, group in enumerate(column["group"]):
        number = int(group.removeprefix("f"))
        order[column["flow"][row]] = number
        if column["finished"][row]:
            outcomes[number] = Outcome(*(int(column[name][row]) for name in _COLUMNS))
    if isinstance(case, samples.SampledCase):
        outcomes = samples.sampled(case, result, outcomes, order)
    return outcomes, order


_COLUMNS = ("finish_ps", "delivered_ps", "packets", "resent_packets", "timeouts")


def differences(case: Case) -> list[str]:
    """Describes, for every flow of a case with a difference, the outcomes of the model and of Incast."""
    outcomes, order = simulated(case)
    return [
        f"f{number}: the model has {model}, Incast {incast}"
        for number, (model, incast) in enumerate(zip(MODELS[type(case)](case, order), outcomes, strict=True))
        if model != incast
    ]


def report(kind: str, seed: int) -> str | None:
    """None when model and simulator agree on a case; else the differences, and the case to run again."""
    case = KINDS[kind](seed)
    found = differences(case)
    if not found:
        return None
    return "\n".join([f"{kind}, seed {seed}:", *found, "The scenario:", case.scenario().to_toml()])


def main(kind: str, first: str, last: str) -> int:
    """Runs the cases of a kind from seed `first` up to `last`; names the seeds that differ."""
    different = [seed for seed in range(int(first), int(last)) if report(kind, seed) is not None]
    print(f"{kind}, seeds {first} to {int(last) - 1}: {len(different)} differ", different or "")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
