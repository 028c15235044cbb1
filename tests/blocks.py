"""Blocks of the files that the tests write: traffic of a scenario, claims of a figure."""

from __future__ import annotations

import json


def value(of: object) -> str:
    """Returns a value as TOML has it, in one line: a text, a number, a list or a table."""
    if isinstance(of, dict):
        return f"{{ {', '.join(f'{key} = {value(one)}' for key, one in of.items())} }}"
    if isinstance(of, list):
        return f"[{', '.join(map(value, of))}]"
    return json.dumps(of)


def lines(**keys: object) -> str:
    """Returns a line for each key."""
    return "".join(f"{key} = {value(of)}\n" for key, of in keys.items())


def block(heading: str, **keys: object) -> str:
    """Returns a heading with its brackets, and a line for each key."""
    return f"{heading}\n{lines(**keys)}"


def joined(*blocks: str) -> str:
    """Returns blocks with an empty line between any two."""
    return "\n".join(blocks)


def star(hosts: int, rate: str, delay: str, **others: object) -> str:
    """Returns a topology in which all hosts are at one switch, and other sections, each in a line."""
    return lines(topology={"kind": "star", "hosts": hosts, "rate": rate, "delay": delay}, **others)


def graph(hosts: list[str], switches: list[str], *links: dict[str, object], **keys: object) -> str:
    """Returns a topology of nodes with names and links between them."""
    return block("[topology]", kind="graph", hosts=hosts, switches=switches, **keys, links=[*links])


def link(a: str, b: str, **keys: object) -> dict[str, object]:
    """Returns a link of a :func:`graph`."""
    return {"between": [a, b], **keys}


def traffic(name: str, source: str | list[str], to: str, **keys: object) -> str:
    """Returns a block of traffic with a flow from each source."""
    return block("[[traffic]]", name=name, kind="flows", **{"from": source}, to=to, **keys)


def constant(rate: str) -> dict[str, str]:
    """Returns the congestion control of a flow that sends at one rate, whatever happens."""
    return {"algorithm": "constant", "rate": rate, "window": "unlimited"}


def claim(
    id_: str,
    says: str,
    *,
    place: str = "here",
    paper: str = "it",
    rule: str = "As it says.",
    **keys: object,
) -> str:
    """Returns a block with a claim of a figure."""
    return block("[[claim]]", id=id_, says=says, place=place, paper=paper, rule=rule, **keys)
