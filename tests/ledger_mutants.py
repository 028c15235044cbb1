"""Wrong constants and the claims that notice them: each constant changed by a quarter, one at a time.

    python -m ledger_mutants                # the algorithms of the papers, in quick figures of their paper
    python -m ledger_mutants ccc --full     # one of them, in all figures of its paper
    python -m ledger_mutants dcqcn          # another one, in the quick figures of all papers

A claim notices if its value leaves the interval that `papers/verdicts.json` has for it. It is the work of
`make ledger-mutants`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from helpers import ROOT
from incast import ScenarioError, catalogue
from incast.ledger import Figure, LedgerError, find, judge, record, run_figure
from incast.ledger.figure import RunSpec
from incast.ledger.found import Found
from incast.runs.runner import Local

PAPERS = ROOT / "papers"
OWN = {
    "oscar": "oscar",
    "mswift": "median",
    "mnscc": "median",
    "lswift": "median",
    "powertcp": "powertcp",
    "theta-powertcp": "powertcp",
    "ccc": "ccc",
    "sqcc": "sqcc",
    "patched-timely": "sqcc",
}
"""The paper of each algorithm that a paper proposes."""

CHANGE = 0.25


@dataclass(frozen=True)
class Mutant:
    """An algorithm with one constant that is wrong.

    Attributes:
        algorithm: The algorithm.
        parameter: The constant.
        before: Its value in the first run that has it.
        after: The value in its place.
        looked: The claims that look at a run with it.
        noticed: Those whose value it moves out of the recorded interval.
    """

    algorithm: str
    parameter: str
    before: str
    after: str
    looked: tuple[str, ...]
    noticed: tuple[str, ...]


def control(spec: RunSpec) -> tuple[str, str | None]:
    """The algorithm and the preset that a run names; two empty texts for none."""
    for override in spec.overrides:
        found = re.fullmatch(r'cc=\{ algorithm = "([^"]+)"(?:, preset = "([^"]+)")? \}', override)
        if found:
            return found[1], found[2]
    return "", None


def scaled(value: str, factor: float) -> str | None:
    """A value times a factor, or the next whole number; None for one that is no number, or zero."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([A-Za-z]*)", value)
    if found is None or float(found[1]) == 0:
        return None
    number = float(found[1]) * factor
    if "." not in found[1] and not found[2]:
        whole = int(found[1])
        return str(max(whole + 1, int(number)) if factor > 1 else min(whole - 1, int(number)))
    return f"{number:.9g}{found[2]}"


def mutated(spec: RunSpec, algorithm: str, parameter: str) -> tuple[RunSpec, str, str] | None:
    """A run with the wrong constant, with both values; None for a run that does not have it.

    The constant is a quarter larger, or smaller where the algorithm refuses that.
    """
    name, preset = control(spec)
    known = catalogue.algorithm(name, preset) if name == algorithm else None
    if known is None:
        return None
    values = {each.name: str(each.value) for each in known.parameters}
    for override in spec.overrides:
        key, _, text = override.partition("=")
        if key.startswith("cc.") and key[3:] in values:
            values[key[3:]] = text.strip('"')
    before = values[parameter]
    kind = next(each.kind for each in known.parameters if each.name == parameter)
    for factor in (1 + CHANGE, 1 - CHANGE):
        after = scaled(before, factor)
        if after is None:
            continue
        quoted = after if kind in ("ratio", "count") else f'"{after}"'
        wrong = replace(spec, overrides=(*spec.overrides, f"cc.{parameter}={quoted}"))
        try:
            wrong.load(spec.seeds[0] if spec.seeds else None)
        except ScenarioError:
            continue
        return wrong, before, after
    return None


def mutants(
    figures: Sequence[Figure], algorithm: str, results: Path, only: Sequence[str] = ()
) -> Iterator[Mutant]:
    """Runs figures once for each constant of an algorithm, or for some."""
    recorded = record.read(PAPERS)
    known = catalogue.algorithm(algorithm)
    assert known is not None, algorithm
    for parameter in known.parameters:
        if only and parameter.name not in only:
            continue
        looked, noticed, values = [], [], None
        for figure in figures:
            changed = {spec.name: mutated(spec, algorithm, parameter.name) for spec in figure.runs}
            wrong = {name: each for name, each in changed.items() if each is not None}
            claims = [
                claim for claim in figure.claims if any(spec.name in wrong for spec in figure.measured(claim))
            ]
            if not claims:
                continue
            values = values or next(iter(wrong.values()))[1:]
            specs = tuple(wrong[spec.name][0] if spec.name in wrong else spec for spec in figure.runs)
            other = replace(figure, runs=specs, claims=tuple(replace(each, evidence=()) for each in claims))
            names = [f"{figure.id}:{claim.id}" for claim in claims]
            try:
                judgements = judge(other, run_figure(other, folder=results, executor=Local()))
            except LedgerError as error:
                # That is no value outside of an interval: these claims do not count.
                print(f"{algorithm}.{parameter.name}: {str(error).splitlines()[0]}", flush=True)
                continue
            looked += names
            for name, judgement in zip(names, judgements, strict=True):
                entry, unit = recorded[figure.id].claims[judgement.claim.id], judgement.claim.unit
                if not judgement.ours.agrees(Found.read(entry.ours, unit), unit):
                    noticed.append(name)
        if values is not None and looked:
            yield Mutant(algorithm, parameter.name, *values, tuple(looked), tuple(noticed))


def main() -> None:
    """Prints a table, and the constants that no claim notices."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("algorithms", nargs="*", help=f"{', '.join(OWN)} if none is named")
    parser.add_argument("--full", action="store_true", help="all figures, not only the quick ones")
    parser.add_argument("--results", type=Path, default=Path("incast-results"), help="folder of the runs")
    options = parser.parse_args()
    unseen = []
    print("| Constant | Value | Instead | Claims that look | Claims that notice |")
    print("| --- | --- | --- | ---: | ---: |")
    for algorithm in options.algorithms or OWN:
        figures = [
            figure
            for figure in find(PAPERS, [OWN.get(algorithm, "all")])
            if (figure.quick or options.full) and not figure.testbed
        ]
        for each in mutants(figures, algorithm, options.results):
            share = len(each.noticed) / len(each.looked)
            print(
                f"| `{algorithm}` {each.parameter} | {each.before} | {each.after} | {len(each.looked)} | "
                f"{len(each.noticed)} ({share:.0%}) |",
                flush=True,
            )
            if not each.noticed:
                unseen.append(f"{algorithm}.{each.parameter}")
    print(f"\nnoticed by no claim of their own paper: {', '.join(unseen) or 'none'}")


if __name__ == "__main__":
    main()
