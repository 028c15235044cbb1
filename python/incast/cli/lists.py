"""``incast list``: what is available."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence

from incast import catalogue
from incast._terminal import WIDTH, cells
from incast.algorithm import PLUGIN_SUFFIXES, own_parameters, registered
from incast.catalogue import folded
from incast.cli.options import Commands, add_command, plugin, plugin_option
from incast.cli.table import Column, paragraph, section, table
from incast.errors import nearest
from incast.results.measures import MEASURES, Known
from incast.results.measures.named import NAMED

BAD_INPUT = 2


def algorithms() -> str:
    """Lists algorithms, and transports and networks with control of their own, by group, with needs.

    Those that are registered, by a plugin for instance, come last.
    """
    known, own = _listed(), registered()
    width = max(len(name) for name in [*(one.name for one in known), *own])
    parts = []
    for family in catalogue.families():
        rows = [[one.name, one.summary, _needs(one)] for one in known if one.family == family.name]
        if rows:
            parts.append(section(f"{family.name}: {family.meaning}", rows, width))
    if own:
        parts.append(section("your own", [[name, summary] for name, summary in own.items()], width))
    return "\n".join(["algorithms", *(f"\n{part}" for part in parts)])


def _listed() -> list[catalogue.Algorithm | catalogue.OwnControl]:
    return [*catalogue.algorithms(), *catalogue.own_controls()]


def _needs(one: catalogue.Algorithm | catalogue.OwnControl) -> str:
    return f"needs {one.needs}"


ROLES = {
    "ranked": "algorithms with the switches, transport and balancing that they are made for",
    "reference": "references, shown beside the others",
    "base": "bases, which contestants have in common",
}
"""The headings of the list of contestants."""


def contestants() -> str:
    """Lists contestants by role, each with the keys of the base from which it takes its settings."""
    known = catalogue.contestants()
    width = max(len(one.name) for one in known)
    parts = []
    for role, heading in ROLES.items():
        rows = [[one.name, _of_contestant(one)] for one in known if one.role == role]
        parts.append(section(heading, rows, width))
    return "\n".join(["contestants", *(f"\n{part}" for part in parts)])


def _of_contestant(one: catalogue.Contestant) -> str:
    """A contestant in one line: its base, and what it sets itself."""
    if one.role == "base":
        return one.what
    base = next((it for it in catalogue.contestants() if it.name == one.base), None)
    of_base = [] if base is None else [(key, value) for key, value, _ in base.settings]
    own = (
        key
        for key, value, _ in one.settings
        if (key, value) not in of_base and value != "false" and not key.startswith("cc.")
    )
    return ", ".join([*([one.base] if one.base else []), *own])


def topologies() -> str:
    """One line for each kind of topology."""
    return section("topologies", [[k.name, k.brief] for k in catalogue.topologies()])


def traffic() -> str:
    """One line for each kind of traffic."""
    return section("traffic", [[k.name, k.brief] for k in catalogue.traffic()])


def distributions() -> str:
    """One line for each distribution of flow sizes."""
    return section("distributions", [[d.name, d.meaning] for d in catalogue.distributions()])


def sections() -> str:
    """Lists the sections of scenario files, and those within them."""
    return section("sections", [[s.name, s.brief] for s in _sections()])


def measures() -> str:
    """Lists everything that can be measured of a run: numbers that every run has, and calls."""
    numbers = [[one.name, one.words] for one in NAMED.values()]
    calls = [line for one in MEASURES.values() for line in _described(one)]
    return "\n".join(
        [
            "measures",
            "",
            section("of every run; of one traffic block with its name: p99.small(web)", numbers),
            "",
            "from tables, with arguments in this order or by name (… may be left out)",
            *calls,
        ]
    )


def _described(one: Known) -> list[str]:
    """Returns the lines about a measure: its name with its parameters, and its summary."""
    return [paragraph(one.signature, "  "), paragraph(one.summary, "      ")]


def _sections() -> list[catalogue.Kind]:
    return [one for one in catalogue.sections() if one.name]


KINDS: dict[str, Callable[[], str]] = {
    "algorithms": algorithms,
    "contestants": contestants,
    "topologies": topologies,
    "traffic": traffic,
    "distributions": distributions,
    "sections": sections,
    "measures": measures,
}


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(
        commands,
        act,
        "list",
        "list algorithms, contestants, topologies, traffic, distributions, sections, measures",
        "Lists what is available, or explains one entry.",
    )
    sub.add_argument(
        "what",
        nargs="?",
        metavar="WHAT",
        help=f"{', '.join(KINDS)}, the name of one entry or key, or a file with algorithms of your own "
        "(mine.py, mine.so), whose parameters are then listed",
    )
    plugin_option(sub)


def act(options: argparse.Namespace) -> int:
    """Prints a list, all lists, or the description of one entry."""
    what: str | None = options.what
    if what is None:
        print("\n\n".join(text() for text in KINDS.values()))
        print("\nMore on one of them: incast list oscar, incast list ecn")
        return 0
    if what in KINDS:
        print(KINDS[what]())
        return 0
    if what.endswith(PLUGIN_SUFFIXES):
        return _of_file(what)
    kind, _, name = what.partition(".")
    if kind == "contestant" and (found := _contestant(name)) is not None:
        print(found)
        return 0
    text = entry(what)
    if text is not None:
        print(text)
        return 0
    # A key is suggested only where no entry is near: `rail` is the topology, not its key `rails`.
    near = nearest(what, [*KINDS, *_entries()]) or nearest(what, _keyed())
    print(f"incast: there is nothing called {what!r}", file=sys.stderr)
    if near:
        print(f"    help: did you mean {near!r}?", file=sys.stderr)
    print("    help: `incast list` shows all names", file=sys.stderr)
    return BAD_INPUT


def _of_file(path: str) -> int:
    """Prints the algorithms of a file, each with its parameters."""
    try:
        found = plugin(path)
    except argparse.ArgumentTypeError as error:
        print(f"incast: {error}", file=sys.stderr)
        return BAD_INPUT
    print("\n\n".join(_own_algorithm(name) for name in found))
    return 0


def names() -> list[str]:
    """Every name that ``incast list NAME`` accepts."""
    return list(dict.fromkeys([*_entries(), *_keyed()]))


def _entries() -> list[str]:
    found = [*(one.name for one in _listed()), *registered()]
    found += [kind.name for kind in [*catalogue.topologies(), *catalogue.traffic()]]
    found += [d.name for d in catalogue.distributions()]
    return found + [one.name for one in _sections()]


def _keyed() -> dict[str, list[tuple[str, catalogue.Key]]]:
    """Returns every key by its name, each with the places that have it."""
    found: dict[str, list[tuple[str, catalogue.Key]]] = {}
    for place, kind in _places():
        for key in kind.keys:
            found.setdefault(key.name, []).append((place, key))
    return found


def _places() -> Iterator[tuple[str, catalogue.Kind]]:
    """Yields all that has keys, each with its name in a text."""
    for one in catalogue.sections():
        yield f"[{one.name}]" if one.name else "the top of the file", one
    named = {topology.name for topology in catalogue.named_topologies()}
    for word, of in (("topology", catalogue.topologies()), ("traffic", catalogue.traffic())):
        for kind in of:
            if kind.name not in named:
                yield f"{word} {kind.name}", kind


def entry(name: str) -> str | None:
    """The description of one entry, section or key, or None if there is none of this name."""
    if name in registered():
        return _own_algorithm(name)
    plain, _, preset = catalogue.canonical(name).partition(":")
    algorithm = catalogue.algorithm(plain, preset or None)
    if algorithm is not None:
        return _algorithm(algorithm, preset)
    for control in catalogue.own_controls():
        if folded(control.name) == folded(name):
            return _own_control(control)
    for named in catalogue.named_topologies():
        if folded(named.name) == folded(name):
            return _named(named)
    # A kind of topology and one of traffic may share their name, as the two files of one format do.
    kinds = [("topology", catalogue.topologies()), ("traffic", catalogue.traffic())]
    texts = [_kind(kind, word) for word, of in kinds for kind in of if folded(kind.name) == folded(name)]
    if texts:
        return "\n\n".join(texts)
    for distribution in catalogue.distributions():
        if folded(distribution.name) == folded(name):
            return _distribution(distribution)
    return _section(name) or _key(name)


def _section(name: str) -> str | None:
    """The keys of a section, which may be named by its end where only one ends so."""
    word = folded(name)
    found = [one for one in _sections() if folded(one.name) == word]
    found = found or [one for one in _sections() if folded(one.name).endswith(f".{word}")]
    if len(found) != 1:
        return None
    return "\n".join([f"[{found[0].name}]", paragraph(found[0].summary), "", "keys", *_keys(found[0].keys)])


def _key(name: str) -> str | None:
    """A key with its section; or one line for each section that has it."""
    keyed = _keyed()
    word = next((key for key in keyed if folded(key) == folded(name)), None)
    if word is None:
        return None
    places = keyed[word]
    if len(places) > 1:
        return section(f"{word}, a key of", [[place, key.meaning] for place, key in places])
    place, key = places[0]
    return "\n".join([f"{word}, a key of {place}", "", *_keys([key])])


def _algorithm(algorithm: catalogue.Algorithm, preset: str) -> str:
    chosen = preset or algorithm.presets[0][0]
    parts = [
        algorithm.title,
        paragraph(algorithm.summary),
        paragraph(_needs(algorithm)),
        f"group: {algorithm.family}",
        f"state of one flow: {algorithm.state_bytes} B",
        "",
        section("presets (the first is the default)", [list(p) for p in algorithm.presets]),
        "",
        section("evidence for a default", [[c.name, c.meaning] for c in catalogue.evidence()]),
        "",
        f"parameters of preset {chosen!r}, with the evidence for their defaults",
    ]
    first = catalogue.algorithm(algorithm.name)
    defaults = {p.name: p.value for p in first.parameters} if first else {}
    lines = [f"  {p.name} = {_toml(p)}" for p in algorithm.parameters]
    width = max(map(len, lines), default=0)
    for p, line in zip(algorithm.parameters, lines, strict=True):
        changed = p.value != defaults.get(p.name)
        parts.append(f"{line:<{width}}  {'set by the preset' if changed else p.evidence}")
        parts.append(paragraph(f"{p.meaning}; {p.range}. {p.source}", "      "))
    return "\n".join(parts)


def _own_algorithm(name: str) -> str:
    """Describes a registered algorithm with its parameters."""
    parts = [name, paragraph(registered()[name]), "group: your own", ""]
    parameters = own_parameters(name)
    if not parameters:
        how = (
            "no parameters" if parameters is not None else "parameters: any; the algorithm reads them itself"
        )
        return "\n".join([*parts, how])
    parts.append("parameters")
    for one in parameters:
        parts.append(f"  {one.name} = {one.default}" if one.default else f"  {one.name} (required)")
        if text := "; ".join(filter(None, (one.meaning.rstrip("."), one.range))):
            parts.append(paragraph(text, "      "))
    return "\n".join(parts)


def _contestant(name: str) -> str | None:
    """The settings of a contestant, each with its source."""
    one = next((it for it in catalogue.contestants() if folded(it.name) == folded(name)), None)
    if one is None:
        return None
    parts = [f"contestant {one.name}", paragraph(one.what)]
    parts += [paragraph(f"needs {one.needs}")] if one.needs else []
    parts += [f"from {one.base}"] if one.base else []
    parts += ["", "settings"]
    for key, value, source in one.settings:
        parts += [paragraph(f"{key} = {value}", "  "), paragraph(source, "      ")]
    return "\n".join(parts)


def _own_control(control: catalogue.OwnControl) -> str:
    is_value = control.key.endswith(".kind")
    written = f'{control.key} = "{control.name}"' if is_value else f"[{control.key}]"
    section_ = f"{control.key.removesuffix('.kind')}.{control.name}" if is_value else control.key
    keys = next(kind.keys for kind in catalogue.sections() if kind.name == section_)
    parts = [
        control.title,
        paragraph(control.summary),
        paragraph(_needs(control)),
        f"group: {control.family}",
        "",
        f"selected by {written}; keys of [{section_}]",
        *_keys(keys),
    ]
    return "\n".join(parts)


def _toml(parameter: catalogue.Parameter) -> str:
    quoted = parameter.kind in ("time", "bytes", "rate", "choice")
    return f'"{parameter.value}"' if quoted else parameter.value


def _named(topology: catalogue.NamedTopology) -> str:
    keys = [f"  {key} = {value}" for key, value in topology.keys]
    more = (
        f"Other keys are those of the kind: incast list {topology.kind}. A key that is written beside the "
        "name replaces the one here."
    )
    lead = paragraph(f"{topology.meaning}. Source: {topology.source}.")
    return "\n".join(
        [f"topology {topology.name}", lead, "", f"kind {topology.kind} with", *keys, "", paragraph(more)]
    )


def _kind(kind: catalogue.Kind, of: str) -> str:
    return "\n".join([f"{of} {kind.name}", paragraph(kind.summary), "", "keys", *_keys(kind.keys)])


def _keys(keys: Sequence[catalogue.Key]) -> list[str]:
    """The keys of a section, each with its meaning."""
    parts = []
    for key in keys:
        line = f"  {key.name} {key.default}"
        # The default of a section within a section is a whole table.
        parts.append(line if cells(line) <= WIDTH else paragraph(line.strip(), " " * 6)[4:])
        parts.append(paragraph(f"{key.meaning} Write {key.values}.", "      "))
    return parts


def _distribution(distribution: catalogue.Distribution) -> str:
    rows = [[f"{size:,}", f"{share * 100:g}"] for size, share in distribution.points]
    return "\n".join(
        [
            paragraph(f"{distribution.name}: {distribution.meaning}"),
            paragraph(f"Source: {distribution.source}"),
            f"mean: {distribution.mean_bytes:,.0f} B; between two points sizes are uniform",
            "",
            table([Column("size", "B"), Column("flows up to it", "%")], rows),
        ]
    )
