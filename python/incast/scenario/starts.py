"""Scenarios to start from: commented files that the package has, one for each kind of question."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from incast.errors import nearest

_FOLDER = Path(__file__).parent / "starts"
_KINDS = ("training", "storage", "websearch", "incast", "microburst")
"""The kinds, in the order of the list."""


@dataclass(frozen=True)
class Start:
    """A scenario to start from.

    Attributes:
        name: Its kind, like ``training``.
        text: The commented scenario file. Its commands name the file ``examples/KIND.toml``.
    """

    name: str
    text: str

    @property
    def brief(self) -> str:
        """The first sentence of the file."""
        lead = " ".join(line.lstrip("# ") for line in self._lead())
        return re.split(r"(?<=[.?]) (?=[A-Z])", lead, maxsplit=1)[0].removesuffix(".")

    @property
    def commands(self) -> list[str]:
        """The commands at the top of the file."""
        return [line.lstrip("# ") for line in self._lead() if line.startswith("#   incast ")]

    def for_file(self, path: str) -> Start:
        """Returns the start with another file in its commands.

        Args:
            path: The file that the text will be in.
        """
        return Start(self.name, self.text.replace(f"examples/{self.name}.toml", shlex.quote(path)))

    def _lead(self) -> list[str]:
        return self.text.partition("\n\n")[0].splitlines()


def starts() -> list[Start]:
    """Returns all scenarios to start from."""
    return [start(kind) for kind in _KINDS]


def start(kind: str) -> Start:
    """Returns the scenario to start from for a kind.

    Args:
        kind: Its kind, like ``training``.

    Raises:
        ValueError: When there is none of this kind.
    """
    if kind not in _KINDS:
        near = nearest(kind, _KINDS)
        hint = f"there are {', '.join(_KINDS)}" if near is None else f'did you mean "{near}"?'
        raise ValueError(f'there is no scenario "{kind}" to start from; {hint}')
    return Start(kind, (_FOLDER / f"{kind}.toml").read_text(encoding="utf-8"))
