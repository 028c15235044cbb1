"""Writes python/incast/sections.py from the JSON Schema: ``python tools/sections.py``.

The schema is made from the declarations that scenarios are read with; a test holds the file against them.
"""

from __future__ import annotations

import keyword
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import incast

Schema = dict[str, Any]

FILE = Path(__file__).parent.parent / "python" / "incast" / "sections.py"

HEAD = '''"""The sections of a scenario as typed Python objects, for :meth:`incast.Scenario.build`.

Made from the declarations that scenarios are read with, by ``tools/sections.py``. A quantity is a string with
its unit (``"100Gbps"``) or a value of :mod:`incast.units`; a key that is None is not written, and has its
default. What is wrong with a value is said when the scenario is read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from incast.section import Cc, Section
from incast.units import Bytes, Rate, Time
'''


def text() -> str:
    """Returns the text that the file should hold."""
    schema = incast.schema()
    sections = schema["properties"]
    classes = [HEAD]
    names = ["Cc", "Section"]
    kinds = {what: _kinds(sections[what]) for what in ("topology", "traffic")}
    both = {k for k in kinds["topology"] if k in kinds["traffic"]}
    for what, tables in kinds.items():
        for kind, table in tables.items():
            name = _camel(kind) + (what.capitalize() if kind in both else "")
            names.append(name)
            classes.append(_class(name, table, kind))
    for key, section in sections.items():
        if key not in (*kinds, "cc"):
            for name, table in _tables(key, section):
                names.append(name)
                classes.append(_class(name, table, None))
    listing = "\n".join(f'    "{name}",' for name in sorted(names))
    made = "\n\n".join(classes) + f"\n\n__all__ = [\n{listing}\n]\n"
    formatted = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--line-length", "110", "--stdin-filename", str(FILE), "-"],
        input=made,
        capture_output=True,
        text=True,
        check=True,
    )
    return formatted.stdout


def _kinds(schema: Schema) -> dict[str, Schema]:
    """The tables of a section by their kind."""
    rules = (schema.get("items") or schema)["allOf"]
    return {rule["if"]["properties"]["kind"]["const"]: rule["then"] for rule in rules}


def _tables(key: str, schema: Schema) -> Iterator[tuple[str, Schema]]:
    """The tables of a section with the names of their classes: those that a key of it can be, then itself."""
    table = _table(schema)
    for inner, one in table.get("properties", {}).items():
        if _is_section(one):
            yield from _tables(inner, one)
    if "properties" in table:
        yield _camel(key), table


def _is_section(schema: Schema) -> bool:
    """Whether a key is a table with keys of its own, or a flag that is short for its defaults."""
    types = [one.get("type") for one in schema.get("anyOf", ())]
    return types[:1] == ["object"] and "properties" in schema["anyOf"][0]


def _table(schema: Schema) -> Schema:
    inner = schema["anyOf"][0] if "anyOf" in schema else schema.get("items", schema)
    return {**inner, "description": schema["description"]}


def _class(name: str, table: Schema, kind: str | None) -> str:
    keys = {key: schema for key, schema in table["properties"].items() if kind is None or key != "kind"}
    needed = [key for key in keys if key in table["required"]]
    rest = [key for key in keys if key not in needed]
    lines = ["", "@dataclasses.dataclass(frozen=True, kw_only=True)", f"class {name}(Section):"]
    doc = [_sentence(table["description"]), "", "Attributes:"]
    doc += [f"    {_field(key)}: {_meaning(keys[key])}" for key in [*needed, *rest]]
    lines += [f'    """{doc[0]}', ""]
    for line in doc[2:]:
        lines += textwrap.wrap(line, 104, initial_indent="    ", subsequent_indent="            ")
    lines += ['    """', ""]
    if kind is not None:
        lines.append(f'    _kind: ClassVar[str | None] = "{kind}"')
    lines += [f"    {_field(key)}: {_type(keys[key], key)}" for key in needed]
    lines += [f"    {_field(key)}: {_type(keys[key], key)} | None = None" for key in rest]
    return "\n".join(lines) + "\n"


def _sentence(text: str) -> str:
    text = text.replace("\\", "\\\\").replace("`", "``")
    first = text.partition(". ")[0].rstrip(".")
    for cut in (": ", ", "):
        if len(first) > 95:
            first = first.partition(cut)[0]
    return f"{first[:1].upper()}{first[1:]}."


def _meaning(schema: Schema) -> str:
    meaning = schema["description"].replace("`", "``").rstrip(".")
    if "default" in schema:
        return f"{meaning}. Default: {schema['default']}."
    if "$comment" in schema:
        return f"{meaning}. Default: {schema['$comment'].removeprefix('default: ')}."
    return f"{meaning}."


def _type(schema: Schema, key: str) -> str:
    """The Python type of a key."""
    if _is_section(schema):
        return f"{_camel(key)} | bool | Mapping[str, object]"
    if "$ref" in schema or any("$ref" in one for one in schema.get("anyOf", ())):
        return "Cc | Mapping[str, object]"
    if "anyOf" in schema:
        return " | ".join(
            dict.fromkeys(part for one in schema["anyOf"] for part in _type(one, key).split(" | "))
        )
    if "enum" in schema:
        return f"Literal[{', '.join(repr(word) for word in schema['enum'])}]"
    if "const" in schema:
        return "bool"
    match schema.get("type"):
        case "boolean":
            return "bool"
        case "integer":
            return "int"
        case "number":
            return "float"
        case "array":
            return f"Sequence[{_type(schema['items'], key)}]"
        case "string":
            units = {"12us": "Time", "32MB": "Bytes", "100Gbps": "Rate"}
            example = schema.get("examples", [None])[0]
            return f"str | {units[example]}" if example in units else "str"
        case _:
            return "Mapping[str, object]"


def _field(key: str) -> str:
    return f"{key}_" if keyword.iskeyword(key) else key


def _camel(kind: str) -> str:
    return "".join(word.capitalize() for word in kind.replace("_", "-").split("-"))


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
