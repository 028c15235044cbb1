"""Kinds of claims, by runs, analysis or text, and the counts of verdicts of each kind."""

from __future__ import annotations

import ast
import enum
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from incast.ledger.figure import Claim, Figure
from incast.ledger.judge import Verdict


class Kind(enum.Enum):
    """The kind of a claim, by what judges it."""

    RUNS = "runs"
    ANALYSIS = "analysis"
    TEXT = "text"

    @property
    def meaning(self) -> str:
        """The kind in words."""
        return {
            Kind.RUNS: "measured in runs, of the simulator or on a testbed",
            Kind.ANALYSIS: "computed from formulas and models, without a run",
            Kind.TEXT: "about what a text or a listing says",
        }[self]


def kind_of(figure: Figure, claim: Claim) -> Kind:
    """Returns what a claim is judged by."""
    if claim.text_only:
        return Kind.TEXT
    return Kind.RUNS if figure.runs and _looks_at_runs(figure, claim.measure) else Kind.ANALYSIS


def _looks_at_runs(figure: Figure, measure: Mapping[str, object]) -> bool:
    for part in _parts(measure):
        if "run" in part or "each" in part:
            return True
        if part.get("do") == "analysis" and _takes_runs(figure.analysis, str(part.get("call"))):
            return True
    return False


def _parts(measure: object) -> Iterator[Mapping[str, object]]:
    """A measure and all measures in it."""
    if isinstance(measure, Mapping):
        yield measure
        for value in measure.values():
            yield from _parts(value)
    elif isinstance(measure, list):
        for value in measure:
            yield from _parts(value)


@cache
def _parameters(file: Path) -> Mapping[str, frozenset[str]]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {
        node.name: frozenset(arg.arg for arg in [*node.args.args, *node.args.kwonlyargs])
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }


def _takes_runs(file: Path, function: str) -> bool:
    # A name that is imported from elsewhere is a formula.
    return "results" in _parameters(file).get(function, frozenset())


@dataclass
class Tally:
    """Verdicts of some claims.

    Attributes:
        today: How many have each verdict by today's rules.
        first: How many have each verdict by the first rule of the claim.
    """

    today: Counter[Verdict] = field(default_factory=Counter)
    first: Counter[Verdict] = field(default_factory=Counter)

    def add(self, today: Verdict, first: Verdict) -> None:
        """Counts a claim."""
        self.today[today] += 1
        self.first[first] += 1

    @property
    def claims(self) -> int:
        """The number of claims."""
        return self.today.total()


def share(
    counts: Mapping[Verdict, int], of: Sequence[Verdict] = (Verdict.REPRODUCED, Verdict.TREND)
) -> float:
    """Returns the share of claims with one of some verdicts; 0 without claims."""
    total = sum(counts.values())
    return sum(counts.get(verdict, 0) for verdict in of) / total if total else 0.0
