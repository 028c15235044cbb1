"""Names of what stands in the place of an algorithm in results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incast import catalogue

if TYPE_CHECKING:
    from incast.results.result import Result


def made(result: Result) -> str:
    """How a result came about, where several are told apart."""
    return "testbed" if "testbed" in result.info else "simulation"


def other(label: str) -> str:
    """The name of what is not in the list of algorithms: a transport without one, or the label itself."""
    return next((control.title for control in catalogue.own_controls() if control.name == label), label)
