"""Things that are made when they are asked for: items of sequences, and modules."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import TypeVar, overload

T = TypeVar("T")

AT_ONCE = 256
"""Items that are in memory at the same time where several are made together."""


class Lazy(Sequence[T]):
    """A sequence whose items are made each time, so that ten thousand of them take no memory.

    Args:
        count: Number of items.
        make: Makes the item at a place, from 0 to ``count`` − 1.
        several: Makes the items at places that follow each other, where that is faster than one by one.
    """

    def __init__(
        self, count: int, make: Callable[[int], T], several: Callable[[range], list[T]] | None = None
    ) -> None:
        self._places = range(count)
        self._make = make
        self._several = several

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> T: ...

    @overload
    def __getitem__(self, place: slice) -> list[T]: ...

    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice):
            places = self._places[place]
            if self._several is not None and places.step == 1:
                return self._several(places)
            return [self._make(n) for n in places]
        return self._make(self._places[place])

    def __iter__(self) -> Iterator[T]:
        if self._several is None:
            yield from map(self._make, self._places)
            return
        for n in range(0, len(self), AT_ONCE):
            yield from self[n : n + AT_ONCE]


class LazyModule(ModuleType):
    """A module that is imported when one of its names is first used; from then on it has all of them.

    Args:
        name: The name of the module.
    """

    def __getattr__(self, name: str) -> object:
        module = importlib.import_module(self.__name__)
        vars(self).update(vars(module))
        found: object = getattr(module, name)
        return found
