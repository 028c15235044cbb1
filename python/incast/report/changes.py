"""Changes of links in the saved scenarios, for the time axis of a report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from incast.report.entries import scenario
from incast.results.result import Result
from incast.units import Time

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def shades(results: Sequence[Result]) -> dict[str, Any]:
    """Returns the stretches of time in which links differ from the topology.

    Blocks with the same times and results are one shade.

    Args:
        results: The results; the number of one is its place.

    Returns:
        The ``shades``, each with ``from`` and ``until`` in ps (None: the end of the run), ``when`` (the same
        in words), ``lines`` (what changes) and ``entries`` (the numbers of the results); ``unread``, the
        numbers of the results whose saved scenario cannot be read.
    """
    users: dict[tuple[int, int | None, str], list[int]] = {}
    unread = []
    for number, result in enumerate(results):
        text = scenario(result)
        # Most scenarios have none and need not be read.
        if "[[change]]" not in text:
            continue
        try:
            blocks = [_block(block) for block in tomllib.loads(text)["change"]]
        except (KeyError, TypeError, ValueError):
            unread.append(number)
            continue
        for block in dict.fromkeys(blocks):
            users.setdefault(block, []).append(number)
    found: dict[tuple[int, int | None, tuple[int, ...]], list[str]] = {}
    for (start, end, words), numbers in users.items():
        found.setdefault((start, end, tuple(numbers)), []).append(words)
    ordered = sorted(found.items(), key=lambda shade: shade[0][0])
    drawn = [
        {"from": start, "until": end, "when": _when(start, end), "lines": lines, "entries": list(numbers)}
        for (start, end, numbers), lines in ordered
    ]
    return {"shades": drawn, "unread": unread}


def _block(block: dict[str, Any]) -> tuple[int, int | None, str]:
    """Returns the begin, the end and the words of a block."""
    until = block.get("until")
    return int(Time(block["at"])), None if until is None else int(Time(until)), _words(block)


def _when(start: int, end: int | None) -> str:
    return f"from {Time(start)} to {'the end' if end is None else Time(end)}"


def _words(block: dict[str, Any]) -> str:
    """Like ``"rail0 – rail1, number 1: 25Gbps, with probability 0.5"``."""
    first, second = block["between"]
    number = f", number {block['number']}" if "number" in block else ""
    what = [str(block[key]) for key in ("state", "rate") if key in block]
    if "delay" in block:
        what.append(f"delay {block['delay']}")
    if "probability" in block:
        what.append(f"with probability {block['probability']}")
    return f"{first} – {second}{number}: {', '.join(what)}"
