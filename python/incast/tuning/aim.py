"""The aim of a search: numbers of a run that are to improve, and conditions that have to hold."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from incast.errors import ScenarioError
from incast.results import stats
from incast.results.measures.call import Call, in_column
from incast.results.measures.named import NAMED, Measure
from incast.results.measures.view import View
from incast.results.result import Result
from incast.units import Bytes, Rate, Time

FINISHED = "finished = all"
"""The condition that holds unless another one about unfinished flows or jobs is given."""

_UNITS = {"time": Time, "bytes": Bytes, "rate": Rate}
_OF_DEFAULT = re.compile(r"(\d+(?:\.\d+)?) ?% of default")
_HELP = (
    '    help: write it like "p99.small <= 3", "queue.peak <= 100KB", "finished = all" or '
    '"busbw >= 95% of default"'
)

Numbers = Mapping[str, float]
"""The numbers of a run that a search asks for, by their names."""


@dataclass(frozen=True)
class Condition:
    """A condition that every run of a setting has to meet.

    Attributes:
        text: The condition as it was given.
        call: The number.
        sign: ``<=``, ``>=`` or ``=``.
        bound: The bound, in the unit of the number's column, or as a share of the default setting's number.
        of_default: Whether the bound is a share of the default setting's number with the same seed.
    """

    text: str
    call: Call
    sign: Literal["<=", ">=", "="]
    bound: float
    of_default: bool = False

    @property
    def measure(self) -> Measure:
        """The number with its direction and its unit."""
        return self.call.measure

    def violation(self, numbers: Numbers, default: Numbers | None) -> float:
        """The relative amount by which a run misses the bound: 0 where it meets it, 1 where it has no number.

        Args:
            numbers: The numbers of the run.
            default: The numbers of the default setting with the same seed; None if it has none.
        """
        value = numbers.get(self.measure.name)
        bound = self.bound
        if self.of_default:
            reference = None if default is None else default.get(self.measure.name)
            if reference is None:
                return 0.0
            bound *= reference
        if value is None:
            return 1.0
        over = {"<=": value - bound, ">=": bound - value, "=": abs(value - bound)}[self.sign]
        return max(over, 0.0) / (abs(bound) or 1.0) if math.isfinite(over) else 1.0


@dataclass(frozen=True)
class Aim:
    """Objectives and conditions.

    Attributes:
        calls: The numbers that are to improve, at least one.
        conditions: What has to hold.
    """

    calls: tuple[Call, ...]
    conditions: tuple[Condition, ...]

    @cached_property
    def objectives(self) -> tuple[Measure, ...]:
        """The objectives with their directions and units."""
        return tuple(call.measure for call in self.calls)

    @cached_property
    def measures(self) -> dict[str, Call]:
        """All numbers that are asked for, by name."""
        return {call.measure.name: call for call in (*self.calls, *(c.call for c in self.conditions))}

    def numbers(self, info: Mapping[str, Any], open_: Callable[[], Result]) -> dict[str, float]:
        """The numbers of a run that it has.

        Args:
            info: What its ``result.json`` says.
            open_: Opens its tables, if a number needs them.

        Raises:
            ValueError: When it lacks an objective.
        """
        found: dict[str, float] = {}
        known = stats.metrics(info)
        view: View | None = None
        needed = {objective.name for objective in self.objectives}
        for name, call in self.measures.items():
            # A number that every run has is in result.json.
            if call.name in NAMED and not call.arguments:
                value = NAMED[call.name].of(known)
                if value is not None:
                    found[name] = value
                elif name in needed:
                    raise ValueError(f"the run has no {name}")
                continue
            view = view or View(str(info["name"]), open_())
            try:
                found[name] = in_column(call.of(view))
            except ValueError:
                if name in needed:
                    raise
        return found


def read(objectives: Sequence[str], conditions: Sequence[str]) -> Aim:
    """Reads objectives and conditions.

    Args:
        objectives: Names of measures.
        conditions: Texts like ``p99.small <= 3``. Unless one of them is about finished or unfinished flows or
            jobs, :data:`FINISHED` is added: a setting that leaves flows unfinished has too good a mean.

    Raises:
        ScenarioError: When one of them is wrong.
    """
    if not objectives:
        raise ScenarioError("tuning needs an objective\n    help: --objective p99.small")
    found = [_call("--objective", text, text) for text in objectives]
    names = [call.measure.name for call in found]
    for n, measure in enumerate(call.measure for call in found):
        if measure.better == "neither":
            raise ScenarioError(f"--objective {names[n]}: this measure has no better and worse")
        if measure.name in names[:n]:
            raise ScenarioError(f"--objective {names[n]} is given twice")
    read = [_condition(text) for text in conditions]
    if not any(one.measure.name.startswith(("unfinished", "finished")) for one in read):
        read.append(_condition(FINISHED))
    return Aim(tuple(found), tuple(read))


def _call(option: str, name: str, text: str) -> Call:
    try:
        return Call.read(name)
    except ValueError as error:
        raise ScenarioError(f"{option} {text}: {error}") from None


def _condition(text: str) -> Condition:
    option = "--subject-to"
    name, sign, bound = _parted(text)
    if not name or not bound:
        raise ScenarioError(f"{option} {text}: expected a measure, one of <= >= = and a bound\n{_HELP}")
    if bound == "all":
        if name != "finished" or sign != "=":
            raise ScenarioError(f"{option} {text}: only `finished = all` has this bound")
        return Condition(text, Call.read("unfinished"), "<=", 0.0)
    call = _call(option, name, text)
    of_default = _OF_DEFAULT.fullmatch(bound)
    if of_default is not None:
        return Condition(text, call, sign, float(of_default[1]) / 100, True)  # type: ignore[arg-type]
    return Condition(text, call, sign, _bound(call.measure, bound, text))  # type: ignore[arg-type]


def _parted(text: str) -> tuple[str, str, str]:
    """Parts a condition at its last sign outside of brackets; measures may have a sign in them."""
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        letter = text[place]
        depth += (letter in ")]") - (letter in "([")
        if letter == "=" and not depth:
            begin = place - (text[place - 1 : place] in ("<", ">"))
            return text[:begin].strip(), text[begin : place + 1], text[place + 1 :].strip()
    return "", "", ""


def _bound(measure: Measure, bound: str, text: str) -> float:
    unit = _UNITS.get(measure.kind)
    try:
        if unit is not None:
            return float(unit(bound))
        share = bound.removesuffix("%")
        value = float(share) / (1 if share == bound else 100)
        if math.isfinite(value):
            return value
    except ValueError:
        pass
    kind = "a number" if unit is None else f"an amount with its unit, like {unit(10**6)}"
    raise ScenarioError(f"--subject-to {text}: the bound of {measure.name} is {kind}\n{_HELP}")
