"""Checks of measures before anything runs: traffic and ports that a scenario does not have."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from incast.errors import nearest

Ports: TypeAlias = Sequence[tuple[str, int, str]]
"""The ports of a network: the node of each, its number there, and the node at the far end."""

_FLOWS = ("flow", "flows", "group", "block")
_INSTANTS = ("start", "end", "from", "to")
_INSTANT = re.compile(r"\w+%?\(([^)]*)\).*")
_NO_PORTS = ("all", "busiest")
"""Texts in the place of a port: see the measures ``queue`` and ``unused``."""


def refuse_missing(
    arguments: Mapping[str, Any], traffic: Sequence[str] | None, ports: Callable[[], Ports] | None
) -> None:
    """Refuses arguments of a measure that name traffic or ports that there are not.

    Args:
        arguments: The arguments by their names; tables among them have arguments too.
        traffic: The names of the traffic blocks; None where they are not known.
        ports: Gives the ports of the network; None where they are not known.

    Raises:
        ValueError: With the argument, and the nearest name or all of them.
    """
    for key, value in arguments.items():
        for one in value if isinstance(value, list | tuple) else [value]:
            if isinstance(one, Mapping):
                refuse_missing(one, traffic, ports)
            elif not isinstance(one, str):
                continue
            elif traffic is not None and (block := _block(key, one, isinstance(value, list))):
                _refuse(key, "traffic", block, traffic)
            elif ports is not None and key == "port" and one not in _NO_PORTS:
                _refuse_port(key, one, ports())
            elif ports is not None and one and key in ("ports", "switches", "node"):
                _refuse_nodes(key, one, ports())


def _block(key: str, text: str, several: bool) -> str:
    """Returns the traffic block that an argument names; empty if it names none."""
    # The flows of which some have a share; elsewhere `of` is a word.
    if key in _FLOWS or (key == "of" and several):
        name, dot, number = text.rpartition(".")
        return name if dot and number.isdigit() else text
    found = _INSTANT.fullmatch(text.strip()) if key in _INSTANTS else None
    return found[1] if found else ""


def _refuse(key: str, what: str, name: str, known: Sequence[str]) -> None:
    """Refuses a name that is not known."""
    if name not in known:
        near = nearest(name, known)
        every = ", ".join(known) or "none"
        hint = f"did you mean {near!r}?" if near else f"there are {every}"
        raise ValueError(f"{key}: there is no {what} {name!r}; {hint}")


def _refuse_port(key: str, text: str, ports: Ports) -> None:
    """Refuses a port that there is not, in each form that a measure takes."""
    node, colon, number = text.rpartition(":")
    if colon and number.strip().isdecimal():
        names = [f"{its}:{place}" for its, place, _ in ports]
        text = f"{node.strip()}:{int(number)}"
    elif text.startswith("to "):
        names = [f"to {far}" for _, _, far in ports]
        text = f"to {text[3:].strip()}"
    else:
        names = [f"{its}->{far}" for its, _, far in ports]
        text = "->".join(part.strip() for part in text.partition("->")[::2])
    if text in names:
        return
    near = nearest(text, names)
    hint = f"did you mean {near!r}?" if near else f"write one like {names[0]}" if names else "there is none"
    raise ValueError(f"{key}: there is no port {text!r}; {hint}")


def _refuse_nodes(key: str, text: str, ports: Ports) -> None:
    """Refuses beginnings of the names of nodes that none has."""
    nodes = list(dict.fromkeys(node for node, _, _ in ports))
    kinds = list(dict.fromkeys(node.rstrip("0123456789") for node in nodes))
    if key == "switches":
        for one in text.split():
            _refuse(key, "node called", one, kinds)
    elif key == "ports" and text in ("switches", "hosts"):
        return
    elif not any(node.startswith(text) for node in nodes):
        _refuse(key, "node called", text, kinds)
