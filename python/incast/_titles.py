"""Names of what stands in the place of an algorithm in results."""

from __future__ import annotations

_TRANSPORTS = {"homa": "Homa", "ndp": "NDP"}


def other(label: str) -> str:
    """The name of what is not in the list of algorithms: a transport without one, or the label itself."""
    return _TRANSPORTS.get(label, label)
