"""Holds the simulator against the plain models, case by case.

By hand, over as many cases of a kind, or of `all`, as one likes (ten thousand of a kind take a few minutes):

    PYTHONPATH=tests python -m models.agreement "lossy star" 0 10000
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import models
from incast import Result, Scenario, Table
from incast.errors import IncastWarning
from models import plain
from models.cases import Case
from models.plain import Outcome


def _modules() -> list[ModuleType]:
    """Every module of this folder that draws cases: it has `KINDS`."""
    names = [module.name for module in pkgutil.iter_modules(models.__path__)]
    others = [name for name in names if name != "agreement" and not name.startswith("test_")]
    modules = [importlib.import_module(f"models.{name}") for name in others]
    return [module for module in modules if hasattr(module, "KINDS")]


KINDS: dict[str, Callable[[int], Case]] = {
    kind: draw for module in _modules() for kind, draw in module.KINDS.items()
}
"""Functions that draw a case of each kind from a seed."""

assert len(KINDS) == sum(len(module.KINDS) for module in _modules()), "two kinds have the same name"


def model(kind: type[Case]) -> Callable[[Any, list[int]], list[Outcome]]:
    """The model of a class of cases: `run` of the module that defines the class."""
    run: Callable[[Any, list[int]], list[Outcome]]
    run = plain.run if kind is Case else sys.modules[kind.__module__].run
    return run


def named(flows: Table) -> list[int]:
    """The flows of a case in the order of their numbers in Incast."""
    rows = sorted(zip(flows.column("flow").tolist(), flows.column("group").tolist(), strict=True))
    return [int(group.removeprefix("f")) for _, group in rows]


def served(scenario: Scenario, flows: Table) -> list[int]:
    """The flows of a case in the order of service, as the models take them."""
    numbers = named(flows)
    return [numbers[flow] for flow in scenario._core.service_order()]


def ran(case: Case) -> tuple[Result, list[int]]:
    """Runs a case in Incast: its result, and the flows in the order of service."""
    scenario = case.scenario()
    result = scenario.run()
    return result, served(scenario, result.flows)


def simulated(case: Case) -> tuple[list[Outcome], list[int]]:
    """Runs a case in Incast: the outcome of every flow, and the flows in the order of service."""
    with warnings.catch_warnings():
        # Cases have what one is warned of, like repair by threshold where packets are spread.
        warnings.simplefilter("ignore", IncastWarning)
        result, order = ran(case)
    flows = result.flows
    column = {name: flows.column(name).tolist() for name in ("group", "finished", *_COLUMNS)}
    outcomes = [Outcome(None, None, 0, 0, 0)] * len(case.flows)
    for row, group in enumerate(column["group"]):
        number = int(group.removeprefix("f"))
        if column["finished"][row]:
            outcomes[number] = Outcome(*(int(column[name][row]) for name in _COLUMNS))
    return case.observed(result, outcomes, named(flows)), order


_COLUMNS = ("finish_ps", "delivered_ps", "packets", "resent_packets", "timeouts")


def differences(case: Case) -> list[str]:
    """Describes, for every flow of a case with a difference, the outcomes of the model and of Incast."""
    outcomes, order = simulated(case)
    return [
        f"f{number}: the model has {model}, Incast {incast}"
        for number, (model, incast) in enumerate(zip(model(type(case))(case, order), outcomes, strict=True))
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
    """Runs the cases of a kind, or of all, from seed `first` up to `last`; names the seeds that differ."""
    worst = 0
    for name in KINDS if kind == "all" else [kind]:
        different = [seed for seed in range(int(first), int(last)) if report(name, seed) is not None]
        print(
            f"{name}, seeds {first} to {int(last) - 1}: {len(different)} differ", different or "", flush=True
        )
        worst |= bool(different)
    return worst


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
