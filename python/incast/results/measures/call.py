"""Measures by name, and calls of them written as text: ``fair = fairness(long, start=1ms, end=5ms)``.

A call is ``name(argument, …)``, an argument ``value`` or ``key=value``, a value a text or a list
``[a, b]``. Numbers that every run has, like ``p99.small``, need no arguments; in brackets they take a traffic
block: ``p99.small(web)``.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from incast.errors import nearest
from incast.results import censored, stats
from incast.results.measures import named
from incast.results.measures.named import NAMED, Better
from incast.results.measures.quantity import Quantity
from incast.results.measures.view import View
from incast.results.result import Result

Dimension = Literal["number", "count", "time", "bytes", "rate"]
"""Dimensions of measures. A count is a number whose values are compared by their difference."""

Function = Callable[..., Quantity]
_F = TypeVar("_F", bound=Function)


@dataclass(frozen=True)
class Known:
    """A measure that is computed from the tables of a run.

    Attributes:
        function: Computes it from a :class:`View` and its arguments.
        better: Whether less or more of it is better, or neither.
        dimension: Its dimension; where that depends on the arguments, a function of them.
        ranked: Whether its percentiles are percentiles over flows.
    """

    function: Function
    better: Better = "neither"
    dimension: Dimension | Callable[[Mapping[str, Any]], Dimension] = "number"
    ranked: bool = False

    @property
    def name(self) -> str:
        """Its name."""
        return self.function.__name__

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Its parameters, without the run."""
        known = inspect.signature(self.function).parameters
        return {name: parameter for name, parameter in known.items() if name != "view"}

    @property
    def signature(self) -> str:
        """Its name with its parameters and their default values: ``cct(group)``."""
        parts = []
        for name, parameter in self.parameters.items():
            if parameter.default is inspect.Parameter.empty:
                parts.append(name)
            elif parameter.default == "":
                parts.append(f"{name}=…")
            else:
                parts.append(f"{name}={_text(parameter.default)}")
        return f"{self.name}({', '.join(parts)})"

    @property
    def summary(self) -> str:
        """The first sentences of its description."""
        return _plain(inspect.getdoc(self.function) or "")

    def checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Returns arguments as the function takes them.

        Args:
            arguments: Values by name; ``from`` and ``to`` mean ``start`` and ``end``.

        Raises:
            ValueError: When some are unknown, missing, or not of the kind that they should be.
        """
        given = {_RENAMED.get(key, key): value for key, value in arguments.items()}
        parameters = self.parameters
        unknown = [key for key in given if key not in parameters]
        missing = [
            key
            for key, parameter in parameters.items()
            if parameter.default is inspect.Parameter.empty and key not in given
        ]
        if unknown or missing:
            what = f"unknown: {', '.join(unknown)}" if unknown else f"missing: {', '.join(missing)}"
            raise ValueError(f"the measure {self.name!r}: {what}")
        return {key: self._converted(key, parameters[key], value) for key, value in given.items()}

    def _converted(self, key: str, parameter: inspect.Parameter, value: Any) -> Any:  # noqa: ANN401  # as written
        """Returns the value of a parameter as the function takes it."""
        kind = str(parameter.annotation)
        several = not isinstance(value, str) and isinstance(value, Sequence)
        if several and "list" not in kind:
            raise ValueError(f"the measure {self.name!r}: {key} takes one value, not a list")
        if kind == "list[str]" and isinstance(value, str):
            return [value]
        if kind == "list[float]":
            try:
                return [float(one) for one in (value if several else [value])]
            except (TypeError, ValueError):
                raise ValueError(f"the measure {self.name!r}: {key} takes numbers, not {value}") from None
        if kind == "bool" and isinstance(value, str):
            if value not in ("true", "false"):
                raise ValueError(f"the measure {self.name!r}: {key} is true or false, not {value!r}")
            return value == "true"
        return value

    def positional(self, values: Sequence[Any]) -> dict[str, Any]:
        """Returns values by the names of the parameters, in their order.

        Raises:
            ValueError: When there are more values than parameters.
        """
        names = list(self.parameters)
        if len(values) > len(names):
            raise ValueError(f"{self.signature} takes {len(names)} arguments, not {len(values)}")
        return dict(zip(names, values, strict=False))


MEASURES: dict[str, Known] = {}
"""All measures that are computed from tables, by name."""

# `from` is a word of Python's own.
_RENAMED = {"from": "start", "to": "end"}


def declare(
    dimension: Dimension | Callable[[Mapping[str, Any]], Dimension] = "number",
    *,
    better: Better = "neither",
    ranked: bool = False,
) -> Callable[[_F], _F]:
    """Makes a function known as a measure under its own name.

    Args:
        dimension: The dimension of its values, or a function that returns it for arguments.
        better: Whether less or more of it is better.
        ranked: Whether its percentiles are percentiles over flows.
    """

    def known(function: _F) -> _F:
        MEASURES[function.__name__] = Known(function, better, dimension, ranked)
        return function

    return known


@dataclass(frozen=True)
class Call:
    """A measure with its arguments.

    Attributes:
        name: The name of the measure.
        arguments: Its arguments; of a number that every run has only ``block``.
        label: Its name in tables; empty for the call itself.
    """

    name: str
    arguments: Mapping[str, Any]
    label: str = ""

    @classmethod
    def read(cls, text: str) -> Call:
        """Reads a call.

        Args:
            text: Like ``p99.small``, ``p99.small(web)``, ``queue(all, p99)`` or
                ``fair = fairness(long, start=1ms, end=5ms)``.

        Raises:
            ValueError: When it is none, the measure is unknown, or its arguments are not what it takes.
        """
        found = _CALL.fullmatch(text.strip())
        if not found:
            raise ValueError(
                f"{text!r} is not a measure; write one like p99.small or fair = fairness(long, end=5ms)"
            )
        label, name, inner = found["label"] or "", found["name"], found["inner"]
        if inner is None:
            if name in MEASURES and name not in NAMED:
                known = MEASURES[name]
                raise ValueError(f'"{name}" takes arguments in brackets: {known.signature}')
            return cls.made(name, label=label)
        values: list[Any] = []
        keyed: dict[str, Any] = {}
        for part in _split(inner, text):
            key, value = _argument(part, text)
            if key:
                if _RENAMED.get(key, key) in keyed:
                    raise ValueError(f"{text!r} has {key} twice")
                keyed[_RENAMED.get(key, key)] = value
            elif keyed:
                raise ValueError(f"{text!r}: {part!r} has no name, but stands after arguments with names")
            else:
                values.append(value)
        return cls.made(name, values, keyed, label, brackets=True)

    @classmethod
    def made(
        cls,
        name: str,
        values: Sequence[Any] = (),
        keyed: Mapping[str, Any] | None = None,
        label: str = "",
        *,
        brackets: bool = False,
    ) -> Call:
        """Makes a call.

        Args:
            name: The name of the measure.
            values: Its first arguments, in their order.
            keyed: The others, by name.
            label: Its name in tables.
            brackets: Whether a measure of the tables is meant where both kinds have the name.

        Raises:
            ValueError: When the measure is unknown, or its arguments are not what it takes.
        """
        keyed = dict(keyed or {})
        if name in MEASURES and (name not in NAMED or values or keyed or brackets):
            known = MEASURES[name]
            first = known.positional(values)
            if twice := [key for key in keyed if _RENAMED.get(key, key) in first]:
                raise ValueError(f"the measure {name!r}: {', '.join(twice)} is given twice")
            return cls(name, known.checked({**first, **keyed}), label)
        if name not in NAMED:
            near = nearest(name, [*NAMED, *MEASURES])
            hint = f'; did you mean "{near}"?' if near else ""
            raise ValueError(f'there is no measure "{name}"{hint}')
        if len(values) > 1 or keyed or (brackets and not values):
            raise ValueError(f"{name} takes one traffic block at most: {name}(web)")
        if not values:
            return cls(name, {}, label)
        if not isinstance(values[0], str):
            raise ValueError(f"{name} takes one traffic block, not a list")
        if not name.startswith(_BY_BLOCK):
            raise ValueError(f"{name} is not known by traffic block")
        return cls(name, {"block": values[0]}, label)

    @property
    def text(self) -> str:
        """The call as it is written, without its label: ``queue(all,p99)`` without spaces."""
        if self.name in NAMED and (not self.arguments or "block" in self.arguments):
            block = self.arguments.get("block")
            return self.name if block is None else f"{self.name}({block})"
        parts = []
        names = list(MEASURES[self.name].parameters)
        row = True
        for place, (key, value) in enumerate(self.arguments.items()):
            row = row and names[place] == key
            parts.append(_text(value) if row else f"{key}={_text(value)}")
        return f"{self.name}({','.join(parts)})"

    @property
    def written(self) -> str:
        """The call with its label, as :meth:`read` takes it."""
        return f"{self.label} = {self.text}" if self.label else self.text

    @property
    def needs_tables(self) -> bool:
        """Whether it always reads tables; if not, ``result.json`` is enough where all flows finished."""
        return not self._is_number or bool(self.arguments)

    @property
    def dimension(self) -> Dimension:
        """The dimension of its values."""
        if self._is_number:
            kind = NAMED[self.name].kind
            return "number" if kind in ("ratio", "share") else kind  # type: ignore[return-value]
        dimension = MEASURES[self.name].dimension
        return dimension if isinstance(dimension, str) else dimension(self.arguments)

    @property
    def _is_number(self) -> bool:
        """Whether it is a number that every run has."""
        return self.name in NAMED and (not self.arguments or "block" in self.arguments)

    @property
    def column(self) -> str:
        """The name of its column, with the unit at its end: ``queue(all,p99)_bytes``."""
        return (self.label or self.text) + _UNITS.get(self.dimension, "")

    @property
    def measure(self) -> named.Measure:
        """The number with its direction, by which two sides are compared."""
        if self._is_number and not self.label and not self.arguments:
            return NAMED[self.name]
        dimension = self.dimension
        rank: float | None = None
        if self._is_number:
            plain = NAMED[self.name]
            kind, better, rank = plain.kind, plain.better, plain.rank
        else:
            known = MEASURES[self.name]
            kind, better = "ratio" if dimension == "number" else dimension, known.better
            found = re.fullmatch(r"p(\d+(?:\.\d+)?)", str(self.arguments.get("stat", "")))
            rank = float(found[1]) if known.ranked and found else None
        shown = self.label or self.text
        unit, scale = _SHOWN.get(dimension, ("", 1.0))
        return named.Measure(shown, (self.column,), shown, kind, better, rank, (shown, unit), scale)

    def of(self, run: Result | View) -> Quantity:
        """Computes the value of a run.

        Args:
            run: Its result, or a view of it, which several calls share.

        Raises:
            ValueError: When the run does not have it.
        """
        view = run if isinstance(run, View) else View(str(run.info["name"]), run)
        try:
            if self._is_number:
                return self._number(view)
            found = MEASURES[self.name].function(view, **self.arguments)
        except KeyError as error:
            raise ValueError(str(error.args[0])) from None
        if math.isnan(found.value):
            raise ValueError(f"the run {view.name!r} has no {self.text}")
        return found

    def number(self, info: Mapping[str, Any]) -> float | None:
        """Returns the value of a number without a traffic block, from ``result.json``, in the column's unit.

        A slowdown leaves out unfinished flows; :meth:`of` counts them.

        Args:
            info: The contents of ``result.json``.
        """
        return NAMED[self.name].of(stats.metrics(info))

    def _number(self, view: View) -> Quantity:
        """Computes a number that every run has, for all of it or for a block."""
        block = self.arguments.get("block")
        if block is not None:
            _known_block(view, block)
        measure = NAMED[self.name]
        numbers, at_least = censored.metrics(view.result, block)
        value = measure.of(numbers)
        if value is None:
            raise ValueError(f"the run {view.name!r} has no {self.text}")
        dimension = self.dimension
        value = value / 1e12 if dimension == "time" else value
        bound = not at_least.isdisjoint(measure.metrics)
        return Quantity(value, "number" if dimension == "count" else dimension, at_least=bound)


def in_column(found: Quantity) -> float:
    """Returns a value in the unit of its column: a time in picoseconds."""
    if found.dimension != "time" or math.isinf(found.value):
        return found.value
    # A time in picoseconds is read from a table; in seconds it is the nearest number to it.
    return round(found.value * 1e12, 3)


_UNITS = {"time": "_ps", "bytes": "_bytes", "rate": "_bps"}
_SHOWN = {"time": ("us", 1e6), "bytes": ("KB", 1e3), "rate": ("Gbps", 1e9)}

_BY_BLOCK = ("mean.", "p50.", "p99.", "jobs.", "busbw", "algbw", "unfinished")
"""Beginnings of the names of numbers that ``result.json`` has for each traffic block."""

_CALL = re.compile(
    r"(?:(?P<label>[A-Za-z_][\w.\-]*)\s*=\s*)?(?P<name>[A-Za-z_][\w.]*)\s*(?:\((?P<inner>.*)\))?", re.DOTALL
)
_KEYED = re.compile(r"([A-Za-z_]\w*)\s*=\s*(.*)", re.DOTALL)


def _known_block(view: View, block: str) -> None:
    """Refuses a traffic block that the run does not have."""
    groups = list(dict.fromkeys(view.result.flows.column("group").tolist()))
    if block not in groups:
        known = ", ".join(map(str, groups)) or "none"
        raise ValueError(f"there is no traffic block {block!r} in the run {view.name!r}; there are {known}")


def _split(text: str, whole: str) -> list[str]:
    """Splits a text at its commas outside of brackets."""
    if not text.strip():
        return []
    parts, depth, begin = [], 0, 0
    for place, letter in enumerate(text):
        depth += letter in "([" and 1
        depth -= letter in ")]" and 1
        if depth < 0:
            break
        if letter == "," and not depth:
            parts.append(text[begin:place])
            begin = place + 1
    if depth:
        raise ValueError(f"{whole!r}: its brackets do not match")
    parts.append(text[begin:])
    if any(not part.strip() for part in parts):
        raise ValueError(f"{whole!r} has an empty argument")
    return [part.strip() for part in parts]


def _argument(text: str, whole: str) -> tuple[str, Any]:
    """Returns name and value of an argument; an empty name if it has none."""
    found = _KEYED.fullmatch(text)
    key, value = (found[1], found[2].strip()) if found else ("", text)
    if value.startswith("["):
        if not value.endswith("]"):
            raise ValueError(f"{whole!r}: its brackets do not match")
        return key, _split(value[1:-1], whole)
    if not value:
        raise ValueError(f"{whole!r}: {key} has no value")
    return key, value


def _text(value: Any) -> str:  # noqa: ANN401  # as it was given
    """Returns a value as calls have it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str):
        return value.replace(" ", "") if "->" in value or "(" in value else value
    if isinstance(value, Sequence):
        return f"[{','.join(map(_text, value))}]"
    return str(value)


def _plain(text: str) -> str:
    """Returns the first paragraph of a description without marks."""
    first = " ".join(text.partition("\n\n")[0].split())
    return re.sub(r":\w+:`~?([^`]+)`", r"\1", first).replace("``", "")
