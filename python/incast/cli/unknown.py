"""Words of a command line that no parser knows, and commands without any word."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from incast.errors import nearest

OK = 0
BAD_INPUT = 2


def read(top: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace | int:
    """Reads a command line, and suggests the command or the option that may be meant.

    Args:
        top: The parser of all commands.
        words: The words of the command line.

    Returns:
        The options of the command; or an exit code, if it is bare, which prints its help, or has a word that
        is unknown.
    """
    at, rest = top, list(words)
    while found := commands(at):
        if not rest:
            at.print_help()
            return OK
        word = rest.pop(0)
        if word.startswith("-"):
            break
        if word not in found:
            return _refuse(at, "command", word, nearest(word, found))
        at = found[word]
    options, unread = top.parse_known_args(words)
    for word in unread:
        if word.startswith("-"):
            name = word.partition("=")[0]
            by_letters = {known.lstrip("-"): known for known in at._option_string_actions}
            near = nearest(name.lstrip("-"), by_letters)
            return _refuse(at, "option", name, by_letters.get(near or ""))
    if unread:
        at.error(f"unrecognized arguments: {' '.join(unread)}")
    return options


def commands(parser: argparse.ArgumentParser) -> dict[str, Any]:
    """Returns the commands of a parser by their names."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _refuse(parser: argparse.ArgumentParser, what: str, word: str, near: str | None) -> int:
    written, meant = (word, near) if what == "option" else (f'"{word}"', f'"{near}"')
    hint = "" if near is None else f"; did you mean {meant}?"
    print(f"{parser.prog}: there is no {what} {written}{hint}", file=sys.stderr)
    if near is None:
        print(f"    help: `{parser.prog} --help` shows all", file=sys.stderr)
    return BAD_INPUT
