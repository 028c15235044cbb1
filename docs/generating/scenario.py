"""The reference of the scenario file."""

from __future__ import annotations

from generating import MADE
from generating.algorithms import grouped
from generating.markdown import cell
from incast import Scenario, ScenarioError, _core


def scenario() -> str:
    """The reference of the scenario file."""
    parts = [
        "# Reference of the scenario file",
        MADE,
        (
            "A scenario is a TOML file, or the same from Python. Quantities are strings with their unit: "
            'times `"12us"` (`ps` to `s`), amounts `"32MB"` (`B` to `TB` in steps of 1000, `KiB` to `TiB` in '
            'steps of 1024), rates `"100Gbps"` (`bps` to `Tbps`). An unknown key, a missing unit and a '
            "setting without effect are errors, with file, line and key. An amount of `[switch]` can be a "
            'share of the bandwidth-delay product, like `"0.2 BDP"`. Sections `[contestant.NAME]` define '
            "[contestants](../guide/contestants.md): algorithms with the switches, transport and balancing "
            "for them."
        ),
        (
            "This page is generated from the declarations by which scenario files are read. "
            "`incast list fat-tree` shows the same in a terminal; `incast validate FILE --effective` writes "
            "out a scenario with every default; `incast schema` prints a JSON Schema for editors."
        ),
        (
            "*Required* keys must be written; *optional* ones describe something that is absent without "
            "them; `as rate` means that the default is the value of another key; *its own*: see its section."
        ),
    ]
    sections = _core.sections()
    repeated = {key.name for key in sections[0].keys if key.values.startswith("a list")}
    for section in sections:
        if not section.name:
            parts += ["## Top of the file", section.summary, table(section.keys)]
        else:
            title = f"`[[{section.name}]]`" if section.name in repeated else f"`[{section.name}]`"
            parts += [f"## {title} {{ #{section.name.replace('.', '-')} }}", section.summary]
            parts += [table(section.keys)] if section.keys else []
        if section.name == "topology":
            named = {entry.name for entry in _core.named_topologies()}
            parts += kinds([entry for entry in _core.topologies() if entry.name not in named], "topology")
            parts += named_topologies()
        if section.name == "traffic":
            parts += kinds(_core.traffic(), "traffic")
        if section.name == "cc":
            parts += algorithms()
    return "\n\n".join(parts) + "\n"


def kinds(entries: list[_core.Kind], of: str) -> list[str]:
    """The kinds of a section, each with its keys."""
    parts = []
    for entry in entries:
        anchor = f"{of}-{entry.name}"
        parts += [f'### `kind = "{entry.name}"` {{ #{anchor} }}', entry.summary]
        parts += [table(entry.keys)] if entry.keys else []
    return parts


def named_topologies() -> list[str]:
    """The topologies of papers in one table: what they set of the keys of their kinds."""
    rows = [
        f'| <span id="topology-{t.name}">`{t.name}`</span> | {hosts(t)} | [`{t.kind}`](#topology-{t.kind}): '
        f"{', '.join(f'`{key} = {value}`' for key, value in t.keys)} | {cell(t.meaning)} | {cell(t.source)} |"
        for t in _core.named_topologies()
    ]
    lead = (
        "These are kinds with keys that are set. Those that are not set have the kind's defaults, or are "
        "required as there; a key that is written beside the name replaces the one of the table."
    )
    head = ["| kind | hosts | is | what it is | source |", "| --- | --- | --- | --- | --- |"]
    return ["### Topologies of papers { #topology-named }", lead, "\n".join([*head, *rows])]


def hosts(topology: _core.NamedTopology) -> str:
    """The number of hosts of a topology, if it says so."""
    text = f'topology = {{ kind = "{topology.name}" }}\ncc = {{ algorithm = "constant" }}\n'
    text += '[[traffic]]\nkind = "permutation"\nsize = "1KB"\n'
    try:
        return Scenario.from_toml(text).size().network.split()[0]
    except ScenarioError:
        return "any"


def algorithms() -> list[str]:
    """The algorithms in one table; their parameters are on their pages."""
    rows = [
        f"| [`{a.name}`](../algorithms/{a.name}.md) | {family.name} | {cell(a.summary)} | "
        f"{', '.join(f'`{name}`' for name, _ in a.presets)} |"
        for family, members in grouped()
        for a in members
        if isinstance(a, _core.Algorithm)
    ]
    lead = (
        "After `algorithm` and `preset` the section takes the algorithm's parameters; those not written "
        "have the preset's values. Each algorithm's page lists them with range and source."
    )
    head = ["| algorithm | group | what it is | presets |", "| --- | --- | --- | --- |"]
    return [lead, "\n".join([*head, *rows])]


def table(keys: list[_core.Key]) -> str:
    """A table of keys."""
    rows = [f"| `{k.name}` | {default(k.default)} | {cell(k.values)} | {cell(meaning(k))} |" for k in keys]
    return "\n".join(["| key | default | write | meaning |", "| --- | --- | --- | --- |", *rows])


def meaning(key: _core.Key) -> str:
    """Returns the meaning of a key, and the source of its default."""
    return key.meaning if key.source is None else f"{key.meaning} Default: {key.source}."


def default(text: str) -> str:
    """Returns the value of an absent key, as a cell: ``= "1us"`` becomes code."""
    if text.startswith("= {"):
        return "its own"
    if text.startswith("= "):
        return f"`{cell(text[2:])}`"
    words = text.strip("()")
    return f"as `{words.removeprefix('as ')}`" if words.startswith("as ") else words
