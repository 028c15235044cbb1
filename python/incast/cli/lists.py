"""``incast list``: what is available."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable, Sequence

from incast import catalogue
from incast.cli.options import Commands, add_command
from incast.cli.table import Column, paragraph, section, table

BAD_INPUT = 2


def algorithms() -> str:
    """Lists algorithms, and transports and networks with control of their own, by group, with needs."""
    known = _listed()
    width = max(len(one.name) for one in known)
    parts = []
    for family in catalogue.families():
        rows = [[one.name, one.summary, _needs(one)] for one in known if one.family == family.name]
        if rows:
            parts.append(section(f"{family.name}: {family.meaning}", rows, width))
    return "\n".join(["algorithms", *(f"\n{part}" for part in parts)])


def _listed() -> list[catalogue.Algorithm | catalogue.OwnControl]:
    return [*catalogue.algorithms(), *catalogue.own_controls()]


def _needs(one: catalogue.Algorithm | catalogue.OwnControl) -> str:
    return f"needs {one.needs}"


def topologies() -> str:
    """One line for each kind of topology."""
    return section("topologies", [[k.name, k.brief] for k in catalogue.topologies()])


def traffic() -> str:
    """One line for each kind of traffic."""
    return section("traffic", [[k.name, k.brief] for k in catalogue.traffic()])


def distributions() -> str:
    """One line for each distribution of flow sizes."""
    return section("distributions", [[d.name, d.meaning] for d in catalogue.distributions()])


KINDS: dict[str, Callable[[], str]] = {
    "algorithms": algorithms,
    "topologies": topologies,
    "traffic": traffic,
    "distributions": distributions,
}


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(
        commands,
        act,
        "list",
        "list algorithms, topologies, traffic, distributions",
        "Lists what is available, or explains one entry.",
    )
    sub.add_argument("what", nargs="?", metavar="WHAT", help=f"{', '.join(KINDS)}, or the name of one entry")


def act(options: argparse.Namespace) -> int:
    """Prints a list, all lists, or the description of one entry."""
    what: str | None = options.what
    if what is None:
        print("\n\n".join(text() for text in KINDS.values()))
        print("\nMore on one of them: incast list oscar, incast list fat-tree")
        return 0
    if what in KINDS:
        print(KINDS[what]())
        return 0
    text = entry(what)
    if text is not None:
        print(text)
        return 0
    near = difflib.get_close_matches(what, [*KINDS, *names()], 1)
    print(f"incast: there is nothing called {what!r}", file=sys.stderr)
    if near:
        print(f"    help: did you mean {near[0]!r}?", file=sys.stderr)
    print("    help: `incast list` shows all names", file=sys.stderr)
    return BAD_INPUT


def names() -> list[str]:
    """Every name that ``incast list NAME`` accepts."""
    found = [one.name for one in _listed()]
    found += [kind.name for kind in [*catalogue.topologies(), *catalogue.traffic()]]
    return found + [d.name for d in catalogue.distributions()]


def entry(name: str) -> str | None:
    """The description of one entry, or None if there is none of this name."""
    plain, _, preset = name.partition(":")
    algorithm = catalogue.algorithm(plain, preset or None)
    if algorithm is not None:
        return _algorithm(algorithm, preset)
    for control in catalogue.own_controls():
        if control.name == name:
            return _own_control(control)
    for named in catalogue.named_topologies():
        if named.name == name:
            return _named(named)
    # A kind of topology and one of traffic may share their name, as the two files of one format do.
    kinds = [("topology", catalogue.topologies()), ("traffic", catalogue.traffic())]
    texts = [_kind(kind, word) for word, of in kinds for kind in of if kind.name == name]
    if texts:
        return "\n\n".join(texts)
    for distribution in catalogue.distributions():
        if distribution.name.lower() == name.lower():
            return _distribution(distribution)
    return None


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
        parts.append(f"  {key.name} {key.default}")
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
