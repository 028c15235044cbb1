"""Python objects as TOML, in the form that scenario files have."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping, Sequence

from incast.units import Quantity

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def value(thing: object, path: str) -> str:
    """A value on one line.

    Args:
        thing: A text, number, flag, quantity, list, mapping or dataclass. In mappings and dataclasses,
            what is None is left out.
        path: What it belongs to, for messages.

    Raises:
        TypeError: When it is none of these.
    """
    match thing:
        case Quantity():
            return json.dumps(str(thing))
        case bool():
            return "true" if thing else "false"
        case int():
            return str(thing)
        case float() if math.isfinite(thing):
            return repr(thing)
        case str():
            # JSON does not escape the character 127; TOML requires it.
            return json.dumps(thing, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Mapping() | Sequence():
            pass
        case _ if dataclasses.is_dataclass(thing):
            pass
        case _:
            raise TypeError(f"{path}: {thing!r} is not allowed in a scenario")
    if isinstance(thing, Sequence):
        return "[" + ", ".join(value(item, f"{path}.{i}") for i, item in enumerate(thing)) + "]"
    entries = (f"{key(name)} = {value(item, f'{path}.{name}')}" for name, item in items(thing))
    return "{ " + ", ".join(entries) + " }"


def items(thing: object) -> list[tuple[str, object]]:
    """The keys of a mapping or dataclass that have a value."""
    if isinstance(thing, Mapping):
        return [(str(name), item) for name, item in thing.items() if item is not None]
    table = getattr(thing, "table", None)
    if callable(table):
        return items(table())
    names = [field.name for field in dataclasses.fields(thing)]  # type: ignore[arg-type]
    return [(name, item) for name in names if (item := getattr(thing, name)) is not None]


def key(name: str) -> str:
    """A key, in quotes where it needs them."""
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def document(scenario: object) -> str:
    """A scenario as a file, from a mapping or dataclass of its sections."""
    lines: list[str] = []
    tables: list[str] = []
    for name, thing in items(scenario):
        if isinstance(thing, Mapping) or (dataclasses.is_dataclass(thing) and not isinstance(thing, type)):
            tables += ["", f"[{key(name)}]", *_entries(thing, name)]
        elif name in ("traffic", "change") and isinstance(thing, Sequence) and not isinstance(thing, str):
            for i, block in enumerate(thing):
                tables += ["", f"[[{name}]]", *_entries(block, f"{name}.{i}")]
        else:
            lines.append(f"{key(name)} = {value(thing, name)}")
    return "\n".join([*lines, *tables]).lstrip("\n") + "\n"


def _entries(table: object, path: str) -> list[str]:
    return [f"{key(name)} = {value(thing, f'{path}.{name}')}" for name, thing in items(table)]
