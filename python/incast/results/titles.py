"""Names of what stands in the place of an algorithm in results."""

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
