"""Quantities with units: integers that are printed with their unit.

```python
from incast.units import KB, gbps, us

incast.Scenario.build(topology={"kind": "star", "hosts": 4, "rate": gbps(100), "delay": us(3)}, ...)
```

A :class:`Time` is a whole number of picoseconds, :class:`Bytes` of bytes, a :class:`Rate` of bit/s, so they
can be used like numbers; as strings they have the format of scenario files. A plain number has no unit and
is refused in a scenario.
"""

from __future__ import annotations

from typing import ClassVar, TypeVar

from incast.catalogue import read_quantity, write_quantity

_Q = TypeVar("_Q", bound="Quantity")


class Quantity(int):
    """A whole number of the smallest unit. Sums and differences of two of a kind have the same kind."""

    _kind: ClassVar[str] = ""

    def __new__(cls: type[_Q], value: int | str) -> _Q:
        """From a whole number of the smallest unit, or from a string with its unit.

        Args:
            value: Like ``"12us"``, ``"32MB"``, ``"100Gbps"``, or a number of ps, bytes, bit/s.

        Raises:
            ValueError: When a string is not such a quantity, or the number is negative or exceeds 64 bits.
        """
        number = read_quantity(cls._kind, value) if isinstance(value, str) else int(value)
        if not 0 <= number < 1 << 64:
            raise ValueError(f"{number} is out of range: allowed is 0 to 2^64 - 1")
        return super().__new__(cls, number)

    @classmethod
    def _of(cls: type[_Q], number: float, unit: int) -> _Q:
        value = number * unit
        if value != round(value):
            raise ValueError(f"{number} is not a whole number of the smallest unit")
        return cls(round(value))

    def __add__(self: _Q, other: int) -> _Q:
        return type(self)(int(self) + int(other))

    def __sub__(self: _Q, other: int) -> _Q:
        return type(self)(int(self) - int(other))

    def __str__(self) -> str:
        return write_quantity(self._kind, int(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __format__(self, spec: str) -> str:
        return format(int(self), spec) if spec else str(self)


class Time(Quantity):
    """A time in picoseconds: ``Time("12us")``."""

    _kind = "time"

    @property
    def us(self) -> float:
        """In microseconds."""
        return self / 10**6


class Bytes(Quantity):
    """An amount of data in bytes: ``Bytes("32MB")``."""

    _kind = "bytes"

    @property
    def kb(self) -> float:
        """In kilobytes (1000 B)."""
        return self / 10**3


class Rate(Quantity):
    """A rate in bit/s: ``Rate("100Gbps")``."""

    _kind = "rate"

    @property
    def gbps(self) -> float:
        """In Gbit/s."""
        return self / 10**9


def ns(number: float) -> Time:
    """Returns a time in nanoseconds."""
    return Time._of(number, 10**3)


def us(number: float) -> Time:
    """Returns a time in microseconds."""
    return Time._of(number, 10**6)


def ms(number: float) -> Time:
    """Returns a time in milliseconds."""
    return Time._of(number, 10**9)


def s(number: float) -> Time:
    """Returns a time in seconds."""
    return Time._of(number, 10**12)


def B(number: float) -> Bytes:  # noqa: N802 - written like the unit
    """Returns an amount in bytes."""
    return Bytes._of(number, 1)


def KB(number: float) -> Bytes:  # noqa: N802 - written like the unit
    """Returns an amount in kilobytes (1000 B)."""
    return Bytes._of(number, 10**3)


def MB(number: float) -> Bytes:  # noqa: N802 - written like the unit
    """Returns an amount in megabytes (10⁶ B)."""
    return Bytes._of(number, 10**6)


def GB(number: float) -> Bytes:  # noqa: N802 - written like the unit
    """Returns an amount in gigabytes (10⁹ B)."""
    return Bytes._of(number, 10**9)


def mbps(number: float) -> Rate:
    """Returns a rate in Mbit/s."""
    return Rate._of(number, 10**6)


def gbps(number: float) -> Rate:
    """Returns a rate in Gbit/s."""
    return Rate._of(number, 10**9)
