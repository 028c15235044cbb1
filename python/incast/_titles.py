"""Names of what stands in the place of an algorithm in results."""

from __future__ import annotations

from incast import _core


def other(label: str) -> str:
    """The name of what is not in the list of algorithms: a transport without one, or the label itself."""
    return next((control.title for control in _core.own_controls() if control.name == label), label)
