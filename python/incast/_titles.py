"""Names of what stands in the place of an algorithm in results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incast import _core

if TYPE_CHECKING:
    from incast.result import Result


def made(result: Result) -> str:
    """Returns the way in which a result was made, where several are compared."""
    return "testbed" if "testbed" in result.info else "simulation"


def other(label: str) -> str:
    """Returns the name of an entry that is not a listed algorithm: a transport's, or the label."""
    return next((control.title for control in _core.own_controls() if control.name == label), label)
