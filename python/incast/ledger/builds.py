"""The builds of the algorithms that figures judge: preset and parameters, beside the default."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from incast import catalogue
from incast.ledger.figure import Figure, RunSpec

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Build:
    """An algorithm with a preset and the parameters that differ from it.

    Attributes:
        algorithm: Its name.
        preset: Its preset.
        changed: Values of the parameters that are set away from the preset.
    """

    algorithm: str
    preset: str
    changed: tuple[tuple[str, str], ...] = ()

    @property
    def default(self) -> bool:
        """Whether a scenario that names only the algorithm has it."""
        return not self.changed and self.preset == default(self.algorithm)


def default(algorithm: str) -> str:
    """Returns the name of an algorithm's default preset.

    Args:
        algorithm: Its name.
    """
    known = catalogue.algorithm(algorithm)
    if known is None:
        raise ValueError(f"there is no algorithm {algorithm}")
    return known.presets[0][0]


@dataclass(frozen=True)
class Judged:
    """The builds of a figure.

    Attributes:
        figure: Its id.
        claims: The builds in the runs that its claims measure.
        beside: Those that are only in other runs: evidence for reasons, earlier rules, and pictures.
    """

    figure: str
    claims: tuple[Build, ...]
    beside: tuple[Build, ...]


def judged(figure: Figure) -> Judged:
    """Returns the builds of a figure.

    A function of its own (``analysis``) that names no run may measure all of them,
    unless the claim lists some.

    Args:
        figure: The figure.
    """
    measured = {spec.name for claim in figure.claims for spec in figure.behind(claim)}
    claims: dict[Build, None] = {}
    others: dict[Build, None] = {}
    for spec in figure.runs:
        for build in builds(spec):
            (claims if spec.name in measured else others)[build] = None
    return Judged(figure.id, tuple(claims), tuple(build for build in others if build not in claims))


def unjudged(algorithms: Iterable[str], figures: Sequence[Judged]) -> list[str]:
    """Returns the algorithms that are in no run that a claim measures.

    Args:
        algorithms: Names, in the order of the result.
        figures: The builds of all figures.
    """
    in_claims = {build.algorithm for one in figures for build in one.claims}
    return [name for name in algorithms if name not in in_claims]


def builds(spec: RunSpec) -> list[Build]:
    """Returns the builds of the algorithms in a run.

    Args:
        spec: The run.
    """
    scenario = tomllib.loads(spec.load(spec.seeds[0] if spec.seeds else None).to_toml())
    sections = [scenario.get("cc"), *(block.get("cc") for block in scenario["traffic"])]
    return list(dict.fromkeys(_build(section) for section in sections if section))


def _build(section: Mapping[str, Any]) -> Build:
    name = section["algorithm"]
    preset = section.get("preset", default(name))
    known = catalogue.algorithm(name, preset)
    assert known is not None, name
    values = {parameter.name: parameter.value for parameter in known.parameters}
    changed = [
        (key, value) for key, value in section.items() if key in values and not same_value(value, values[key])
    ]
    return Build(name, preset, tuple((key, as_text(value)) for key, value in changed))


def as_text(value: object) -> str:
    """A value as scenario files write it, without quotes."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def same_value(one: object, other: str) -> bool:
    """Whether a value in a file and one of the catalogue agree; decimals of the latter are rounded."""
    try:
        return math.isclose(float(str(one)), float(other), rel_tol=1e-6)
    except ValueError:
        return as_text(one) == other


def told(found: Sequence[Build]) -> list[str]:
    """Returns the builds as text, one for each preset and set of changed parameters.

    Values of a parameter that varies are listed up to four; the default is in bold.

    Args:
        found: The builds.
    """
    groups: dict[tuple[str, str, tuple[str, ...]], list[Build]] = {}
    for build in found:
        key = (build.algorithm, build.preset, tuple(name for name, _ in build.changed))
        groups.setdefault(key, []).append(build)
    texts = []
    for (algorithm, preset, names), members in groups.items():
        text = f"`{algorithm}:{preset}`"
        if members[0].default:
            text = f"**{text}**"
        values: dict[str, dict[str, None]] = {name: {} for name in names}
        for member in members:
            for name, value in member.changed:
                values[name][value] = None
        parts = [
            f"`{name}` {', '.join(some) if len(some) <= 4 else f'{len(some)} values'}"
            for name, some in values.items()
        ]
        texts.append(f"{text} with {'; '.join(parts)}" if parts else text)
    return texts
