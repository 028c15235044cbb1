"""Lists of algorithms and of contestants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from generating.markdown import cell, table_of
from incast import _core

Listed = _core.Algorithm | _core.OwnControl


def grouped() -> list[tuple[_core.Family, list[Listed]]]:
    """Returns the groups of algorithms, and of transports and networks with control of their own."""
    known: list[Listed] = [*_core.algorithms(), *_core.own_controls()]
    groups = [(family, [one for one in known if one.family == family.name]) for family in _core.families()]
    return [(family, members) for family, members in groups if members]


def page(one: Listed) -> str:
    """The page of an algorithm, from the folder of pages."""
    return f"{'algorithms' if isinstance(one, _core.Algorithm) else 'network'}/{one.name}.md"


def titles() -> str:
    """The algorithms in one line."""
    return ", ".join(one.title for _, members in grouped() for one in members if has_state(one))


def has_state(one: Listed) -> bool:
    """Whether it is an algorithm of a sender that controls something."""
    return isinstance(one, _core.Algorithm) and one.family != "fixed"


def by_group(folder: str) -> str:
    """A table of the groups with their members, which are links; ``folder`` leads to the pages."""
    rows = [
        f"| {family.name} | {cell(family.meaning)} | "
        f"{', '.join(f'[{one.title}]({folder}{page(one)})' for one in members)} |"
        for family, members in grouped()
    ]
    return "\n\n" + "\n".join(["| group | decides by | members |", "| --- | --- | --- |", *rows]) + "\n\n"


def with_needs() -> str:
    """For each group a table of its members: what each is, and what it needs."""
    texts = []
    for family, members in grouped():
        rows = [f"| [{m.title}]({page(m)}) | {cell(m.summary)} | {cell(m.needs)} |" for m in members]
        head = ["| page | what it is | needs |", "| --- | --- | --- |"]
        name, meaning = (text[0].upper() + text[1:] for text in (family.name, family.meaning))
        texts += [f"### {name}", f"{meaning}.", "\n".join([*head, *rows])]
    return "\n\n" + "\n\n".join(texts) + "\n\n"


def evidence() -> str:
    """Returns the classes of evidence, and by algorithm the number of defaults in each."""
    classes = _core.evidence()
    meanings = [f"| {one.name} | {cell(one.meaning)} |" for one in classes]
    counts = {a: Counter(p.evidence for p in a.parameters) for a in _core.algorithms()}
    rows = [
        f"| [{a.title}](algorithms/{a.name}.md) | {' | '.join(str(of[one.name]) for one in classes)} | "
        f"{of.total()} |"
        for a, of in counts.items()
    ]
    total = sum(counts.values(), Counter())
    rows.append(f"| all | {' | '.join(str(total[one.name]) for one in classes)} | {total.total()} |")
    names = " | ".join(one.name for one in classes)
    head = [f"| defaults | {names} | all |", f"| --- |{' ---: |' * (len(classes) + 1)}"]
    tables = [["| class | meaning |", "| --- | --- |", *meanings], [*head, *rows]]
    return "\n\n" + "\n\n".join("\n".join(table) for table in tables) + "\n\n"


def contestants() -> str:
    """Returns tables of the contestants and of their bases, with what each sets itself and the sources."""
    known = _core.contestants()
    heads = {
        "ranked": "**Contestants.** What stands here is set beside the base; the algorithm has its default "
        "preset where none is named.",
        "reference": "**References**, which `all` leaves out.",
        "base": "**Bases.** Each says also what it has not, so that the scenario decides amounts and the "
        "contestant the rules. ECN is the scenario's where an algorithm reads no marks.",
    }
    texts = []
    for role, head in heads.items():
        rows = [[f"`{one.name}`", *own(one, known)] for one in known if one.role == role]
        texts += [head, table_of([role if role != "ranked" else "contestant", "sets", "sources"], rows)]
    return "\n\n" + "\n\n".join(texts) + "\n\n"


def own(one: _core.Contestant, known: Sequence[_core.Contestant]) -> list[str]:
    """Returns the settings that a contestant adds to its base, and their sources."""
    base = next((it for it in known if it.name == one.base), None)
    of_base = [] if base is None else [(key, value) for key, value, _ in base.settings]
    rows = [row for row in one.settings if row[:2] not in of_base]
    rows = [row for row in rows if row[0] not in ("cc.algorithm", "cc.preset")]
    sets = [] if base is None else [f"base `{base.name}`"]
    sets += [f"cc `{one.cc}`"] if one.cc else []
    sets += [f"no `{key}`" if value == "false" else f"`{key} = {value}`" for key, value, _ in rows]
    sources = dict.fromkeys(source for *_, source in rows)
    if base is not None:
        reasons = (text.partition("; for it: ")[2] for *_, text in one.settings)
        sources = dict.fromkeys([*(text for text in reasons if text), *sources])
    return [", ".join(sets), "; ".join(sources)]
