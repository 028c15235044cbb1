"""Quantities of the analysis: the text of a scenario file, as a float in its base unit."""

from __future__ import annotations

from typing import TypeVar

from incast.units import Quantity, Rate, Time

_Q = TypeVar("_Q", bound=Quantity)


def _checked(kind: type[_Q], value: _Q | str) -> _Q:
    """Returns a quantity, which may be given as text.

    Raises:
        TypeError: When it is a number without a unit.
        ValueError: When it is text, but no such quantity.
    """
    if isinstance(value, str):
        return kind(value)
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} has no unit; write a {kind.__name__.lower()} as text")
    return value


def seconds(value: Time | str) -> float:
    """A time in seconds, from one like ``"12us"`` or ``us(12)``."""
    return _checked(Time, value) / 1e12


def bits_per_second(value: Rate | str) -> float:
    """A rate in bit/s, from one like ``"100Gbps"`` or ``gbps(100)``."""
    return float(_checked(Rate, value))
