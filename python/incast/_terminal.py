"""Texts on a terminal: their widths, short numbers, and what of a text may not reach it."""

from __future__ import annotations

import io
import re
import unicodedata
from typing import TextIO, cast

WIDTH = 80
"""Columns that every table and line fits in."""


def cells(text: str) -> int:
    """Returns the number of columns that a text takes in a terminal."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in printable(text)
    )


def shortened(text: str, width: int) -> str:
    """The beginning of a text, as far as it fits a width."""
    while cells(text) > width:
        text = text[:-1]
    return text


def short(value: float, digits: int = 3) -> str:
    """A number of a few significant digits, never with an exponent: ``0.0123``, ``400``."""
    return in_full(f"{value:.{digits}g}")


def in_full(text: str) -> str:
    """A number that may be written with an exponent, without one."""
    # "inf" and "nan" have no digits.
    if "e" not in text and "n" not in text:
        return text
    from decimal import Decimal

    return format(Decimal(text), "f")


_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that a terminal obeys, except line ends and tabs."""

_WIPE = "\r\x1b[2K"


def printable(text: str) -> str:
    """A text in which each control character is written as its escape.

    A name in a file may hold any character, and a terminal obeys some of them.
    """
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def wipe(stream: TextIO) -> None:
    """Empties the current line of a terminal."""
    (stream.terminal if isinstance(stream, Printable) else stream).write(_WIPE)


def guarded(stream: TextIO) -> TextIO:
    """A stream that passes on what is written to it, each control character as its escape."""
    return cast("TextIO", Printable(stream))


class Printable(io.TextIOBase):
    """The stream of :func:`guarded`.

    Attributes:
        terminal: The stream behind it.
    """

    def __init__(self, stream: TextIO) -> None:
        self.terminal = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream behind it."""
        return self.terminal.encoding

    def write(self, text: str) -> int:
        """Writes a text."""
        self.terminal.write(printable(text))
        return len(text)

    def writable(self) -> bool:
        """Whether it can be written to."""
        return True

    def flush(self) -> None:
        """Passes on what is held."""
        self.terminal.flush()

    def isatty(self) -> bool:
        """Whether the stream behind it is a terminal."""
        return self.terminal.isatty()

    def fileno(self) -> int:
        """The number of the file behind it."""
        return self.terminal.fileno()
