"""The contestants of an arena: Incast's, and one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from incast import catalogue
from incast.algorithm import registered
from incast.errors import ScenarioError, nearest
from incast.scenario._toml import value
from incast.scenario.contestants import gathered, named, texts

ALL = "all"
"""All contestants of Incast, its references included."""


@dataclass(frozen=True)
class Contender:
    """A contestant of an arena.

    Attributes:
        name: Its name in the arena: a contestant's, or one with a preset like ``swift:oscar``.
        title: Its name in tables.
        what: What it is, in a line.
        needs: What it needs of network cards and switches.
        ranked: Whether it is ranked; references are not.
        settings: Its settings, each with its source, by their keys.
        definitions: Overrides that define contestants of a file.
    """

    name: str
    title: str
    what: str = ""
    needs: str = ""
    ranked: bool = True
    settings: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    definitions: tuple[str, ...] = ()

    def override(self, extra: Mapping[str, Any]) -> str:
        """Returns the override that chooses it.

        Args:
            extra: Sections that are added to its own.
        """
        if not extra:
            return f"contestant={value(self.name, 'contestant')}"
        base, _, preset = self.name.partition(":")
        cc = {"cc": {"algorithm": base, "preset": preset}} if preset else {}
        return f"contestant={value({'name': f'{base}-here', 'from': base, **cc, **extra}, 'contestant')}"


def chosen(contestants: str | Sequence[str], cc: Sequence[str] = ()) -> list[Contender]:
    """Returns contestants by their names.

    Args:
        contestants: Names, in a list or with commas; ``all`` means all of Incast.
        cc: One's own beside these: files with algorithms (``.py``, ``.so``), files of contestants
            (``.toml``), or a contestant with another preset (``swift:oscar``).

    Raises:
        ScenarioError: When a name is unknown, a file cannot be read, or a contestant is there twice.
    """
    known = {
        one.name: Contender(
            one.name,
            one.title,
            one.what,
            one.needs,
            one.role == "ranked",
            {key: (written, source) for key, written, source in one.settings},
        )
        for one in catalogue.contestants()
        if one.role != "base"
    }
    given = [contestants] if isinstance(contestants, str) else list(contestants)
    names = [name.strip() for part in given for name in part.split(",")]
    found: list[Contender] = []
    for label in names:
        found += known.values() if label == ALL else _made([label], known)
    found += _made(cc, known)
    seen: set[str] = set()
    for contender in found:
        if contender.name in seen:
            raise ScenarioError(f'the contestant "{contender.name}" is there twice')
        seen.add(contender.name)
    return found


def candidates() -> frozenset[str]:
    """The names of all contestants of Incast."""
    return frozenset(one.name for one in catalogue.contestants() if one.role != "base")


def _made(labels: Sequence[str], known: Mapping[str, Contender]) -> list[Contender]:
    """Returns the contestants of names and files."""
    names, defined = gathered(labels)
    definitions = tuple(texts(defined))
    found = []
    for label in (named(one, defined) for one in names):
        if label in defined:
            what = str(defined[label].get("what", ""))
            found.append(Contender(label, label, what, definitions=definitions))
            continue
        base, _, preset = label.partition(":")
        if base in known:
            of = known[base]
            found.append(replace(of, name=label, title=f"{of.title} ({preset})") if preset else of)
        elif base in registered():
            found.append(Contender(label, label, "an algorithm of one's own"))
        else:
            near = nearest(base, known)
            help_ = f"did you mean {near!r}?" if near else "`incast list contestants` has all"
            raise ScenarioError(f'there is no contestant "{label}"\n    help: {help_}')
    return found
