"""Measures against scenarios, before anything runs."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial

from incast.errors import ScenarioError
from incast.results.measures import ahead
from incast.results.measures.call import Call
from incast.scenario.scenario import Scenario

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def refuse_missing(option: str, calls: Iterable[Call], scenarios: Iterable[Scenario]) -> None:
    """Refuses measures of traffic or ports that none of some scenarios has.

    Where only some of them have it, as with networks of several sizes, the others have no value.

    Args:
        option: The option that names the measures, for the error.
        calls: The measures.
        scenarios: The scenarios that they are measured in.

    Raises:
        ScenarioError: With the measure, its argument, and the nearest name.
    """
    asked = [call for call in calls if call.arguments]
    if not asked:
        return
    wrong: dict[str, str] = {}
    for scenario in scenarios:
        blocks = tomllib.loads(scenario.to_toml()).get("traffic", [])
        names = [str(block["name"]) for block in blocks if "name" in block]
        for call in list(asked):
            try:
                ahead.refuse_missing(
                    call.arguments,
                    names if len(names) == len(blocks) else None,
                    partial(_ports, scenario),
                )
                asked.remove(call)
            except ValueError as error:
                wrong.setdefault(call.written, f"{scenario.file}: {error}")
        if not asked:
            return
    for call in asked:
        raise ScenarioError(f"{option} {call.written}: {wrong[call.written]}")


def _ports(scenario: Scenario) -> ahead.Ports:
    return scenario.ports()
