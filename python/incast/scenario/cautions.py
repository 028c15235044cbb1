"""Sentences of caution on scenarios that are compared: differences of more than algorithms, and oracles."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from incast import catalogue
from incast.algorithm import families
from incast.results.titles import number_of, title
from incast.scenario.scenario import Scenario

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SECTIONS = ("balancing", "transport", "switch")
"""The sections that a contestant may set beside its algorithm."""

NAMED = (
    "balancing.policy",
    "transport.kind",
    "transport.recovery",
    "switch.pfc",
    "switch.trimming",
    "switch.bfc",
    "switch.ecn",
)
"""The keys and sections of which the values are named; of others that differ only their number."""

_WHOLE = ("switch.pfc", "switch.trimming", "switch.bfc", "switch.ecn")
"""Names among these that are sections."""

KNOWING = "oracle"
"""The group of algorithms that know what no network tells."""


def cautions(scenarios: Mapping[str, Scenario]) -> list[str]:
    """Returns sentences of caution; none where the algorithms alone differ, and no oracle is there.

    Args:
        scenarios: The compared scenarios by their labels.
    """
    return [*differing(scenarios), *knowing(scenario.algorithm or "" for scenario in scenarios.values())]


def differing(scenarios: Mapping[str, Scenario]) -> list[str]:
    """Returns a sentence if scenarios differ in balancing, transport or switches.

    Args:
        scenarios: The compared scenarios by their labels.
    """
    flat = {label: _flat(tomllib.loads(scenario.to_toml())) for label, scenario in scenarios.items()}
    keys = dict.fromkeys(key for one in flat.values() for key in one)
    unequal = [key for key in keys if len({repr(one.get(key)) for one in flat.values()}) > 1]
    if not unequal:
        return []
    parts = []
    for name in NAMED:
        values = {label: _value(name, one) for label, one in flat.items()}
        if len(set(values.values())) > 1:
            parts.append(f"{name} ({_by_value(values)})")
    others = [key for key in unequal if not any(key == one or key.startswith(f"{one}.") for one in NAMED)]
    if others:
        more = number_of(len(others), "other key" if parts else "key")
        parts.append(f"{more} ({', '.join(others[:2])}{', …' if len(others) > 2 else ''})")
    what = f"Caution: not the algorithms alone differ here, but also {'; '.join(parts)}."
    return [f"{what} Differences in the tables are of all of this together."]


def knowing(labels: Iterable[str]) -> list[str]:
    """Returns a sentence for each algorithm that knows what no network tells.

    Args:
        labels: The algorithms, with or without presets.
    """
    meaning = next(family.meaning for family in families() if family.name == KNOWING)
    names = dict.fromkeys(label.partition(":")[0] for label in labels)
    known = (catalogue.algorithm(name) for name in names)
    return [
        f"{one.title} is no candidate: it decides by {meaning}."
        for one in known
        if one is not None and one.family == KNOWING
    ]


def _flat(document: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of the sections that contestants set, like ``switch.ecn.kmin``, with their values."""
    found: dict[str, Any] = {}

    def add(path: str, value: object) -> None:
        if isinstance(value, Mapping):
            for key, inner in value.items():
                add(f"{path}.{key}", inner)
        else:
            found[path] = value

    for section in SECTIONS:
        add(section, document.get(section, {}))
    return found


def _value(name: str, of: Mapping[str, Any]) -> str:
    """The value of a key, or of a section: its marks, or whether it is there."""
    if name == "switch.ecn" and f"{name}.kmin" in of:
        low, high = (of[f"{name}.{key}"] for key in ("kmin", "kmax"))
        return f"{low}" if low == high else f"{low} to {high}"
    if name in of:
        value = of[name]
        return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
    if name not in _WHOLE:
        return "none"
    return "yes" if any(key.startswith(f"{name}.") for key in of) else "no"


def _by_value(values: Mapping[str, str]) -> str:
    """Names the labels of each value; the most common one has the others."""
    by: dict[str, list[str]] = {}
    for label, value in values.items():
        by.setdefault(value, []).append(title(label))
    common = max(by, key=lambda value: len(by[value]))
    parts = [f"{', '.join(labels)}: {value}" for value, labels in by.items() if value != common]
    return "; ".join([*parts, f"{', '.join(by[common]) if len(by[common]) == 1 else 'the others'}: {common}"])
