"""Names of what stands in the place of an algorithm in results, and numbers of things."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incast import catalogue

if TYPE_CHECKING:
    from incast.results.result import Result


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
