"""Ranges of values: ``0.3:0.9:0.1`` in steps, ``10KB:1MB:x10`` by factors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from incast import catalogue
from incast.errors import ScenarioError

MOST = 1_000
"""The most values of a range."""

_NUMBER = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))\s*([A-Za-z]*)")

KINDS = {"bytes": "number of bytes", "rate": "rate", "time": "time"}
"""Kinds of quantities, as messages name them."""


@dataclass(frozen=True)
class _Number:
    """A number or a quantity of a range.

    Attributes:
        text: The text.
        kind: Its kind of quantity; None for a number without a unit.
        value: The number, or the quantity in its integer unit.
        digits: Digits behind the point of a number without a unit.
    """

    text: str
    kind: str | None
    value: Decimal
    digits: int = 0

    @property
    def noun(self) -> str:
        """Its kind in messages."""
        return "a number" if self.kind is None else f"a {KINDS[self.kind]}"


def expanded(text: str, source: str) -> list[str] | None:
    """The values of a range, both ends included if they are met; None for a text that is no range.

    Args:
        text: A text, a range if it has two colons and its first two parts are numbers, with a unit or none.
        source: What to name in messages, like ``--vary load=0.3:0.9:0.1``.

    Raises:
        ScenarioError: When its parts do not belong together, or it has too many values.
    """
    parts = [part.strip() for part in text.split(":")]
    if len(parts) != 3 or not all(_NUMBER.fullmatch(part) for part in parts[:2]):
        return None
    by_factor = parts[2].startswith("x")
    kind = _kind(parts[:2] if by_factor else parts)
    begin, end = (_read(part, kind, source) for part in parts[:2])
    if begin.kind != end.kind:
        raise ScenarioError(f"{source}: {end.text} is {end.noun}, {begin.text} {begin.noun}")
    if end.value < begin.value:
        raise ScenarioError(f"{source}: the range ends below its begin")
    if by_factor:
        return [_written(value, begin, 0) for value in _by_factor(begin, end, parts[2], source)]
    step = _read(parts[2], kind, source)
    if step.kind != begin.kind:
        raise ScenarioError(f"{source}: {step.text} is {step.noun}, {begin.text} {begin.noun}")
    if step.value <= 0:
        raise ScenarioError(f"{source}: the step must be more than zero")
    count = int((end.value - begin.value) // step.value) + 1
    if count > MOST:
        raise ScenarioError(f"{source}: {count:,} values; at most {MOST:,}")
    digits = max(begin.digits, step.digits)
    return [_written(begin.value + n * step.value, begin, digits) for n in range(count)]


def _kind(texts: list[str]) -> str | None:
    """Returns the first kind of quantity that all texts with a unit have; None if there is none."""
    for kind in KINDS:
        try:
            for text in texts:
                catalogue.read_quantity(kind, text)
        except ValueError:
            continue
        return kind
    return None


def _read(text: str, kind: str | None, source: str) -> _Number:
    for one in KINDS if kind is None else (kind,):
        try:
            return _Number(text, one, Decimal(catalogue.read_quantity(one, text)))
        except ValueError:
            continue
    found = _NUMBER.fullmatch(text)
    if found is None or found[2]:
        raise ScenarioError(f"{source}: {text} is no number, and no time, rate or number of bytes")
    return _Number(text, None, Decimal(found[1]), len(found[1].partition(".")[2]))


def _by_factor(begin: _Number, end: _Number, text: str, source: str) -> Iterator[Decimal]:
    found = _NUMBER.fullmatch(text[1:])
    if found is None or found[2]:
        raise ScenarioError(f"{source}: {text} is no factor, like x2")
    factor = Decimal(found[1])
    if factor <= 1:
        raise ScenarioError(f"{source}: the factor must be more than one")
    if begin.value <= 0:
        raise ScenarioError(f"{source}: a range by factors begins above zero")
    value, count = begin.value, 0
    while value <= end.value:
        count += 1
        if count > MOST:
            raise ScenarioError(f"{source}: more than {MOST:,} values")
        if begin.kind is not None and value != value.to_integral_value():
            raise ScenarioError(f"{source}: {begin.text} times {factor}^{count - 1} is no whole number")
        yield value
        value *= factor


def _written(value: Decimal, like: _Number, digits: int) -> str:
    """Writes a value as the begin of its range is written."""
    if like.kind is None:
        text = f"{value:f}"
        whole, point, part = text.partition(".")
        part = part.rstrip("0").ljust(digits, "0") if point or digits else ""
        return f"{whole}.{part}" if part else whole
    return catalogue.write_quantity(like.kind, int(value))
