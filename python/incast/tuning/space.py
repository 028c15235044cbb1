"""The space that is searched: keys of a scenario, each with a range or some values; some move together."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from incast.errors import ScenarioError, nearest
from incast.units import Bytes, Quantity, Rate, Time

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SECTIONS = ("cc", "switch", "transport", "balancing")
"""Sections whose keys may be searched: a contestant is made of them. The others are the question."""

DIGITS = 4
"""Significant digits of the values that are tried, so that a setting can be read and written by people."""

Kind = Literal["number", "count", "time", "bytes", "rate", "bdp", "choice"]
Value: TypeAlias = "float | int | bool | str"
"""A value of a key, as :meth:`incast.Scenario.with_` takes it."""

_QUANTITIES: Mapping[str, type[Quantity]] = {"time": Time, "bytes": Bytes, "rate": Rate}
_BDP = re.compile(r"(\d+(?:\.\d+)?) BDP")
MIXED = " and "
"""Between the present values of keys that move together, where they differ."""

_HELP = "    help: write it like cc.beta=0.2:1, cc.base_target=5us:50us:log or cc.unit=packet,bdp"


@dataclass(frozen=True)
class Parameter:
    """A key that is searched.

    Attributes:
        key: The whole path of the key, like ``cc.beta``; of keys that move together, the first one.
        kind: What its values are; ``choice`` for values that were listed.
        low: The least value; quantities in their smallest unit.
        high: The largest value.
        log: Whether it is searched on a logarithmic scale.
        choices: The values of a choice.
        also: The other keys that have the same value.
    """

    key: str
    kind: Kind
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    choices: tuple[Value, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys that have its value."""
        return (self.key, *self.also)

    @property
    def label(self) -> str:
        """All keys in one text: ``switch.ecn.kmin+switch.ecn.kmax``."""
        return "+".join(self.keys)

    @property
    def name(self) -> str:
        """The ends of the keys, which say most."""
        return "+".join(key.rpartition(".")[2] for key in self.keys)

    def value(self, number: float) -> Value:
        """The value of a number of the range, as it is written: with few digits, and within the range."""
        low, high = self.low, self.high
        near = min(max(_short(number), low), high)
        if self.kind == "count":
            return round(min(max(number, low), high))
        if self.kind in _QUANTITIES:
            return str(_QUANTITIES[self.kind](round(near)))
        if self.kind == "bdp":
            return f"{_decimal(near)} BDP"
        return near

    def number(self, value: Value) -> float:
        """The number of a value of this key.

        Raises:
            ValueError: When it is none of this kind.
        """
        if self.kind in _QUANTITIES:
            return float(_QUANTITIES[self.kind](str(value)))
        if self.kind == "bdp":
            match = _BDP.fullmatch(str(value))
            if match is None:
                raise ValueError(f"{value} is no share of the BDP")
            return float(match[1])
        if isinstance(value, (bool, str)):
            raise ValueError(f"{value} is no number")
        return float(value)

    def at(self, place: float) -> float:
        """The number at a place of the range, from 0 (low) to 1 (high)."""
        if self.log:
            return math.exp(math.log(self.low) + place * math.log(self.high / self.low))
        return self.low + place * (self.high - self.low)

    def place(self, number: float) -> float:
        """The place of a number in the range, from 0 to 1."""
        if self.log:
            return math.log(number / self.low) / math.log(self.high / self.low)
        return (number - self.low) / (self.high - self.low)

    def has(self, value: Value) -> bool:
        """Whether a value is one of this key's choices, or within its range."""
        if self.kind == "choice":
            return value in self.choices
        try:
            return self.low <= self.number(value) <= self.high
        except ValueError:
            return False

    def __str__(self) -> str:
        if self.kind == "choice":
            return f"{self.label}={','.join(map(text, self.choices))}"
        low, high = text(self.value(self.low)), text(self.value(self.high))
        return f"{self.label}={low}:{high}{':log' if self.log else ''}"


Setting: TypeAlias = "tuple[Value, ...]"
"""A value for each parameter, in their order."""


def values_of(parameters: Sequence[Parameter], setting: Setting) -> dict[str, Value]:
    """Returns the values of a setting by key, as :meth:`incast.Scenario.with_` takes them.

    Keys that move together and differ in the default setting are left out of that one.

    Args:
        parameters: The parameters.
        setting: Their values.
    """
    return {
        key: value
        for parameter, value in zip(parameters, setting, strict=True)
        if not (parameter.also and MIXED in str(value))
        for key in parameter.keys
    }


def together(values: Sequence[Value]) -> Value:
    """Returns the value of keys that move together: the one that all have, or a text with all of them.

    Args:
        values: Their values.
    """
    return values[0] if all(value == values[0] for value in values) else MIXED.join(map(text, values))


def text(value: Value) -> str:
    """A value as people write it."""
    return (
        str(value).lower()
        if isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )


def read(spec: str, effective: Mapping[str, Any], sections: Sequence[str] = SECTIONS) -> Parameter:
    """Reads ``KEY=LOW:HIGH``, ``KEY=LOW:HIGH:log`` or ``KEY=A,B,…``.

    ``KEY+KEY=…`` are keys that move together; a further key without a point is in the section of the first.

    Args:
        spec: The text.
        effective: The effective scenario, whose values say what the key is.
        sections: The sections whose keys may be searched.

    Raises:
        ScenarioError: When it is none, or the key cannot be searched.
    """
    written, equals, rest = (part.strip() for part in spec.partition("="))
    first, *others = (part.strip() for part in written.split("+"))
    if not equals or not first or not rest or not all(others):
        raise _wrong(spec, f"expected a key and its range, separated by =\n{_HELP}")
    inside = f"{first.rpartition('.')[0]}."
    keys = [first, *(other if "." in other else f"{inside}{other}" for other in others)]
    if len(set(keys)) < len(keys):
        raise _wrong(spec, "this key is given twice")
    found = [_read(spec, key, rest, effective, sections) for key in keys]
    if any((one.kind, one.low, one.high) != (found[0].kind, found[0].low, found[0].high) for one in found):
        raise _wrong(spec, "keys that move together take values of the same kind")
    return replace(found[0], also=tuple(keys[1:]))


def _read(spec: str, key: str, rest: str, effective: Mapping[str, Any], sections: Sequence[str]) -> Parameter:
    """Reads the range of one key."""
    section = key.partition(".")[0]
    if key in ("cc", "cc.algorithm", "cc.preset", "contestant"):
        raise _wrong(spec, "one algorithm is tuned at a time\n    help: choose it with --cc NAME")
    if section not in sections:
        given = "network and traffic are the question" if sections == SECTIONS else "this is given"
        words = ", ".join(sections[:-1])
        raise _wrong(spec, f"{given}; keys of {words} and {sections[-1]} are searched")
    known = _known(key, effective, spec)
    # A range has a colon; so has a text in quotes, which is a choice.
    if ":" in rest and not rest.startswith(("'", '"', "{", "[")):
        return _range(spec, key, rest, known)
    choices = tuple(_choice(part.strip()) for part in rest.split(","))
    if len(choices) < 2 or "" in choices or len(set(choices)) < len(choices):
        raise _wrong(spec, f"expected at least two values, each once\n{_HELP}")
    return Parameter(key, "choice", choices=choices)


def _known(key: str, effective: Mapping[str, Any], spec: str) -> Value | None:
    """The present value of a key; None where the scenario does not have it."""
    at: Any = effective
    for step in key.split("."):
        if isinstance(at, list):
            at = block(at, step)
            if at is None:
                raise _wrong(spec, f"there is no block {step!r}")
            continue
        if not isinstance(at, Mapping) or step not in at:
            if isinstance(at, Mapping) and key.startswith("cc."):
                near = nearest(step, list(at))
                hint = "" if near is None else f'; did you mean "cc.{near}"?'
                raise _wrong(spec, f"{at.get('algorithm')} has no parameter {step!r}{hint}")
            return None
        at = at[step]
    return at if isinstance(at, (bool, int, float, str)) else None


def block(blocks: Sequence[Any], step: str) -> Any | None:  # noqa: ANN401  # of any file
    """Returns the block of a list that a step of a path means, by its name or its number; None without it."""
    for number, one in enumerate(blocks):
        if step == str(number) or (isinstance(one, Mapping) and one.get("name") == step):
            return one
    return None


def _range(spec: str, key: str, rest: str, known: Value | None) -> Parameter:
    parts = [part.strip() for part in rest.split(":")]
    log = len(parts) == 3 and parts[2] == "log"
    if len(parts) != 2 + log:
        raise _wrong(spec, f"a range has two ends, and perhaps the word log\n{_HELP}")
    ends = [_end(part, spec) for part in parts[:2]]
    kinds = {kind for kind, _ in ends}
    low, high = (number for _, number in ends)
    if kinds == {"count"} and (known is None or not isinstance(known, int) or isinstance(known, bool)):
        # Numbers without a point are counts only where the key counts.
        kinds = {"number"} if known is not None else kinds
    elif kinds == {"count", "number"}:
        kinds = {"number"}
    if len(kinds) > 1:
        raise _wrong(spec, "both ends of a range are in units of the same kind")
    kind = kinds.pop()
    if not low < high:
        raise _wrong(spec, "the first end of a range is below the second")
    if log and low <= 0:
        raise _wrong(spec, "a logarithmic range begins above 0")
    return Parameter(key, kind, low, high, log)


def _end(part: str, spec: str) -> tuple[Kind, float]:
    """The kind and the number of an end of a range."""
    part = part.strip("\"'")
    if re.fullmatch(r"-?\d+", part):
        return "count", float(part)
    try:
        number = float(part)
        if math.isfinite(number):
            return "number", number
    except ValueError:
        pass
    if match := _BDP.fullmatch(part):
        return "bdp", float(match[1])
    for kind, of in _QUANTITIES.items():
        try:
            return kind, float(of(part))  # type: ignore[return-value]
        except ValueError:
            continue
    raise _wrong(spec, f"{part!r} is neither a number nor a quantity with its unit\n{_HELP}")


def _choice(part: str) -> Value:
    """A listed value, as TOML reads it; what TOML does not know is a text."""
    try:
        value = tomllib.loads(f"x = {part}")["x"]
    except tomllib.TOMLDecodeError:
        return part
    return value if isinstance(value, (bool, int, float, str)) else part


def _short(number: float) -> float:
    return float(f"{number:.{DIGITS}g}")


def _decimal(number: float) -> str:
    """A number without an exponent, as amounts in BDPs are written."""
    return f"{number:.9f}".rstrip("0").rstrip(".")


def _wrong(spec: str, why: str) -> ScenarioError:
    return ScenarioError(f"--vary {spec}: {why}")


def checked(parameters: Sequence[Parameter], what: str = "tuning") -> tuple[Parameter, ...]:
    """Returns parameters, each of another key.

    Args:
        parameters: The parameters.
        what: The search, for messages.

    Raises:
        ScenarioError: Without any, or when a key is given twice.
    """
    keys = [key for parameter in parameters for key in parameter.keys]
    twice = [key for n, key in enumerate(keys) if key in keys[:n]]
    if twice:
        raise ScenarioError(f"--vary {twice[0]}: this key is varied twice")
    if not parameters:
        raise ScenarioError(f"{what} needs at least one key to vary\n{_HELP.replace('it like', '--vary')}")
    return tuple(parameters)
