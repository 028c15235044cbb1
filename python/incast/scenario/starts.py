"""Files to start from: commented scenarios, one for each kind of question, and an algorithm in Python."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from incast.algorithm import algorithms
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


OWN_ALGORITHM = "mine.py"
"""The name of the file of an algorithm to start from, where no other is given."""

_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_]+")


def own_algorithm(path: str = OWN_ALGORITHM) -> str:
    """Returns an algorithm of one's own to start from, as the text of a Python file.

    It is complete: it runs as it is, and its comments say what is to be replaced. It is registered under the
    name of the file; a name that Incast has gets ``my-`` in front.

    Args:
        path: The file that the text will be in.
    """
    text = (_FOLDER / "algorithm.py.txt").read_text(encoding="utf-8")
    name = _NOT_PLAIN.sub("-", Path(path).stem).strip("-") or "mine"
    if any(name == known.name for known in algorithms()):
        name = f"my-{name}"
    text = text.replace('register("mine"', f'register("{name}"')
    return text.replace(OWN_ALGORITHM, shlex.quote(path))


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
