"""Duels: two contestants on one port, each with two long flows; who gets how much."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from incast.results.arrays import Floats
from incast.results.measures.call import Call
from incast.results.measures.view import View
from incast.results.result import Result
from incast.scenario import Scenario

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

BLOCKS = ("a0", "b0", "b1", "a1")
"""The traffic blocks of a duel, in the order of their starts: a's and b's are equally early on average."""

START, END, PORT = "4872us", "7308us", "s0->h4"
"""The window that is judged, 400 to 600 base RTTs, and the port that they share."""

POINTS = 60
"""Points of the shares over time."""

STARVES = 0.1
"""A contestant that leaves another one less than this starves it."""


@dataclass(frozen=True)
class Duel:
    """One cell of the matrix of duels.

    Attributes:
        contestant: The one whose share it is.
        other: The one beside it.
        share: Its part of what both carry; beside itself the larger part.
        use: What both carry, as a share of the port.
        queue_mean_bytes: The mean queue.
        over_time: Its part in each of :data:`POINTS` equal spans from the begin of the run; None where
            nothing was carried.
        fingerprint: The fingerprint of the run.
        result: The folder of its result.
    """

    contestant: str
    other: str
    share: float
    use: float
    queue_mean_bytes: float
    over_time: tuple[float | None, ...]
    fingerprint: str
    result: str

    def mirrored(self) -> Duel:
        """Returns the same duel from the side of the other contestant."""
        other = tuple(None if one is None else 1 - one for one in self.over_time)
        return Duel(
            self.other,
            self.contestant,
            1 - self.share,
            self.use,
            self.queue_mean_bytes,
            other,
            self.fingerprint,
            self.result,
        )


def own_network(scenario: Scenario) -> str:
    """Returns the reason for which a contestant has no duels; empty if it has.

    Args:
        scenario: Any scenario with the contestant.
    """
    said = tomllib.loads(scenario.to_toml())
    if said["transport"]["kind"] != "window":
        return "it has a transport of its own, and a run has one"
    return "it has switches of its own, and a run has one kind" if "bfc" in said["switch"] else ""


def algorithm(scenario: Scenario) -> Mapping[str, Any]:
    """Returns the algorithm of a scenario with a contestant, with all parameters."""
    found: Mapping[str, Any] = tomllib.loads(scenario.to_toml())["cc"]
    return found


def scenario(file: Path, one: Mapping[str, Any], other: Mapping[str, Any]) -> Scenario:
    """Returns the scenario of a duel.

    Args:
        file: The battery's scenario of duels.
        one: The algorithm of the blocks ``a0`` and ``a1``.
        other: The one of ``b0`` and ``b1``.
    """
    said = tomllib.loads(file.read_text(encoding="utf-8"))
    for block in said["traffic"]:
        block["cc"] = dict(one if block["name"].startswith("a") else other)
    return Scenario.from_dict(said, str(file))


def judged(names: Sequence[str], result: Result) -> Duel:
    """Returns the outcome of a duel.

    Args:
        names: Both contestants, in the order of the blocks a and b.
        result: The result of its run.

    Raises:
        ValueError: When nothing was carried.
    """
    view = View(str(result.info["name"]), result)
    keyed: dict[str, Any] = {"port": PORT, "start": START, "end": END}
    mine, theirs = (
        Call.made("carried", keyed={**keyed, "flows": [f"{side}0", f"{side}1"]}).of(view).value
        for side in "ab"
    )
    if mine + theirs == 0:
        raise ValueError("nothing was carried")
    share = mine / (mine + theirs)
    own, other = names
    series = view.port(PORT)
    cut = view.span(series.time_ps, START, END)
    folder = "" if result.folder is None else result.folder.name
    return Duel(
        own,
        other,
        max(share, 1 - share) if own == other else share,
        mine + theirs,
        float(series.queue_bytes[cut].mean()),
        _over_time(view),
        result.fingerprint,
        folder,
    )


def _over_time(view: View) -> tuple[float | None, ...]:
    """Returns the part of a's flows in each of equal spans of the run."""
    until = float(view.instant(END))
    edges = np.linspace(0, until, POINTS + 1)
    a, b = (_gained(view, side, edges) for side in "ab")
    return tuple(
        round(float(mine) / float(mine + theirs), 4) if mine + theirs > 0 else None
        for mine, theirs in zip(a, b, strict=True)
    )


def _gained(view: View, side: str, edges: Floats) -> Floats:
    """Returns what the flows of one side have acknowledged from each instant to the next."""
    flows = [np.diff(np.interp(edges, *view.acked(f"{side}{n}"), left=0.0)) for n in (0, 1)]
    return flows[0] + flows[1]
