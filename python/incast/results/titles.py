"""Names of entries in text and pictures, and numbers of things."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from incast import catalogue

if TYPE_CHECKING:
    from incast.results.result import Result


def title(label: str, beside: Iterable[str] = ()) -> str:
    """Returns the name of an algorithm: ``OSCAR`` for ``oscar`` and for ``oscar:paper``, its default.

    Args:
        label: The algorithm, with or without a preset, or what else tells it apart, after a colon.
        beside: Other labels in the same place. If one of them is another preset of the algorithm, the default
            is named too.
    """
    name, _, preset = label.partition(":")
    known = catalogue.algorithm(name)
    if known is None:
        return other(label)
    default = known.presets[0][0]
    chosen = preset or default
    presets = {its or default for it, _, its in (one.partition(":") for one in beside) if it == name}
    return known.title if chosen == default and not presets - {chosen} else f"{known.title} ({chosen})"


def short(label: str) -> str:
    """The name of an algorithm, without the preset where that is the default."""
    name, _, preset = label.partition(":")
    known = catalogue.algorithm(name)
    return name if known is not None and known.presets[0][0] == preset else label


def made(result: Result) -> str:
    """Returns the way in which a result was made, where several are compared."""
    return "testbed" if "testbed" in result.info else "simulation"


def other(label: str) -> str:
    """Returns the name of an entry that is not a listed algorithm: a transport's, or the label."""
    return next((control.title for control in catalogue.own_controls() if control.name == label), label)


def number_of(number: int, one: str, several: str | None = None) -> str:
    """Returns a number of things in words: ``1 seed``, ``3 seeds``.

    Args:
        number: The number.
        one: The word for one of them.
        several: The word for several; none is ``one`` with an s.
    """
    return f"{number} {one if number == 1 else several or f'{one}s'}"
