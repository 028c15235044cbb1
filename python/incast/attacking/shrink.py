"""Shrinking: the smallest scenario that still shows what was found, by delta debugging."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from incast.attacking.document import Document, Path, found, replaced, text, walk, without

KEPT = ("name", "kind", "until")
"""Keys that are not dropped: they name things, or end the run."""

LISTS = ("traffic", "change")
"""Lists of blocks that are made shorter first."""

_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)( ?)([A-Za-z]+)")
_HOSTS = re.compile(r"([A-Za-z_.]*)(\d+)-([A-Za-z_.]*)(\d+)")

_T = TypeVar("_T")
Holds = Callable[[Document], bool]
"""Whether a scenario still shows it."""


class Shrinker:
    """Makes a scenario smaller while it still shows something.

    Args:
        holds: Whether a scenario shows it.
        step: Called with the words of each step that was kept.
    """

    def __init__(self, holds: Holds, step: Callable[[str], None] = lambda words: None) -> None:
        self._asked: dict[str, bool] = {}
        self._holds = holds
        self._step = step

    def shrink(self, document: Document) -> Document:
        """Returns the smallest scenario that is found; steps are repeated until none holds."""
        small = copy.deepcopy(document)
        passes = (self._blocks, self._fewer, self._dropped, self._shorter, self._rounder)
        while True:
            before = text(small)
            for one in passes:
                small = one(small)
            if text(small) == before:
                return small

    def _keeps(self, document: Document, words: str) -> bool:
        key = text(document)
        if key not in self._asked:
            self._asked[key] = self._holds(document)
            if self._asked[key]:
                self._step(words)
        return self._asked[key]

    def _blocks(self, document: Document) -> Document:
        """Deletes blocks of traffic and changes of links, and members of other lists."""
        paths: list[Path] = [(name,) for name in LISTS if isinstance(document.get(name), list)]
        paths += [p for p, thing in walk(document) if isinstance(thing, list) and p not in paths]
        for path in paths:
            members = found(document, path)
            if not isinstance(members, list):
                continue

            whole = document

            def holds(some: list[Any], path: Path = path, whole: Document = whole) -> bool:
                words = f"{len(some)} of {len(found(whole, path) or ())} in {_named(path)}"
                return self._keeps(replaced(whole, path, some), words)

            # A list of one block or none is a matter of dropping the key.
            if len(members) > 1:
                document = replaced(document, path, ddmin(members, holds))
        return document

    def _fewer(self, document: Document) -> Document:
        """Makes numbers of things and ranges of hosts smaller."""
        for path, _ in list(walk(document)):
            value = found(document, path)
            if isinstance(value, int) and not isinstance(value, bool) and value > 1:
                document = self._smaller(document, path, value, lambda n: n)
            elif isinstance(value, str) and (hosts := _HOSTS.fullmatch(value)) and hosts[3] in ("", hosts[1]):
                first, last = int(hosts[2]), int(hosts[4])

                def named(n: int, hosts: re.Match[str] = hosts, first: int = first) -> str:
                    # One host alone is written without a range.
                    end = f"-{hosts[3]}{first + n - 1}" if n > 1 else ""
                    return f"{hosts[1]}{first}{end}"

                document = self._smaller(document, path, last - first + 1, named)
        return document

    def _smaller(self, document: Document, path: Path, value: int, made: Callable[[int], _T]) -> Document:
        """Finds by bisection a number at which it holds, and does not at one less."""
        low, high = 0, value
        while high - low > 1:
            middle = (low + high) // 2
            if self._keeps(replaced(document, path, made(middle)), f"{_named(path)} = {made(middle)}"):
                high = middle
            else:
                low = middle
        return document if high == value else replaced(document, path, made(high))

    def _dropped(self, document: Document) -> Document:
        """Drops sections and keys, which have their defaults then."""
        for path, _ in list(walk(document)):
            last = path[-1]
            gone = len(path) == 1 and last in ("traffic", "topology", "run")
            if gone or last in KEPT or isinstance(last, int) or found(document, path) is None:
                continue
            if path[0] == "contestant":
                continue
            smaller = without(document, path)
            if self._keeps(smaller, f"without {_named(path)}"):
                document = smaller
        return document

    def _shorter(self, document: Document) -> Document:
        """Halves the time of the run while it holds."""
        while (until := found(document, ("run", "until"))) is not None:
            parts = _QUANTITY.fullmatch(str(until))
            if parts is None:
                break
            half = f"{_plain(float(parts[1]) / 2)}{parts[2]}{parts[3]}"
            smaller = replaced(document, ("run", "until"), half)
            if half == until or not self._keeps(smaller, f"run.until = {half}"):
                break
            document = smaller
        return document

    def _rounder(self, document: Document) -> Document:
        """Rounds quantities and fractions to one digit, else to two."""
        for path, _ in list(walk(document)):
            value = found(document, path)
            for digits in (1, 2):
                short = rounded(value, digits)
                if short is None or short == value:
                    break
                smaller = replaced(document, path, short)
                if self._keeps(smaller, f"{_named(path)} = {short}"):
                    document = smaller
                    break
        return document


def ddmin(members: Sequence[_T], holds: Callable[[list[_T]], bool]) -> list[_T]:
    """Returns a part of a list that still holds, and of which no member can be left out.

    The algorithm of Zeller and Hildebrandt, *Simplifying and Isolating Failure-Inducing Input*, IEEE TSE
    2002, Figure 5, without the empty list.

    Args:
        members: The list, which holds.
        holds: Whether a part of it does.
    """
    kept = list(members)
    parts = 2
    while len(kept) > 1:
        bounds = [len(kept) * n // parts for n in range(parts + 1)]
        pieces = [kept[a:b] for a, b in itertools.pairwise(bounds)]
        for piece in pieces:
            if holds(piece):
                kept, parts = piece, 2
                break
        else:
            for n in range(parts if parts > 2 else 0):
                rest = [one for m, piece in enumerate(pieces) if m != n for one in piece]
                if holds(rest):
                    kept, parts = rest, max(parts - 1, 2)
                    break
            else:
                if parts >= len(kept):
                    break
                parts = min(2 * parts, len(kept))
    return kept


def rounded(value: object, digits: int) -> object | None:
    """Returns a quantity or a fraction with few digits; None of anything else.

    Args:
        value: The value, like ``"304.5us"``.
        digits: Significant digits.
    """
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    parts = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if parts is None:
        return None
    return f"{_plain(float(f'{float(parts[1]):.{digits}g}'))}{parts[2]}{parts[3]}"


def _plain(number: float) -> str:
    """A number as quantities are written, without an exponent."""
    return f"{number:.6f}".rstrip("0").rstrip(".")


def _named(path: Path) -> str:
    return ".".join(map(str, path))
