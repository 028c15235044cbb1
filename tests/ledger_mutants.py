"""Wrong constants and the claims that notice them: each constant changed by a quarter, one at a time.

    python -m ledger_mutants              # the algorithms of the papers, in quick figures of their paper
    python -m ledger_mutants ccc --full   # one of them, in all figures of its paper
    python -m ledger_mutants dcqcn        # another one, in the quick figures of all papers
    python -m ledger_mutants oscar.target --figures oscar/fig9   # one constant, in some figures
    python -m ledger_mutants --others     # the constants that matter most of all other algorithms

A claim notices if its value leaves the interval that `papers/verdicts.json` has for it, as for
`incast reproduce --check`. A claim that is not recorded yet is compared with its value as it is. It is the
work of `make ledger-mutants`; docs/dev/mutants.md has what it prints.

Only runs with the algorithm are made again, and only those that a claim needs; all others are made once.
Claims count if their measure looks at a run with the wrong constant.

Main constants
--------------
Which constants must be noticed is decided before anything runs, by where their values come from:

1. A paper's algorithm is looked at with the preset of the paper's own set-up: the first baseline of
   `papers/PAPER/setup.toml` that names it and has no environment.
2. A value that is also the one of the algorithm's default preset has the class of evidence that the
   catalogue has (`incast list ALGORITHM`). A value that the paper's preset sets itself, or that only another
   paper prints, has the class in `SET`.
3. *Main* are constants whose class is `printed` or `derived`: the paper has the number, or it follows from
   one that the paper has. All others are listed with their class: printed elsewhere, values of an artifact,
   guards and floors of ours. They count where a claim notices.
4. What no quarter can change is left out: words, flags, and zero. So is a constant that takes effect only
   where another one is zero that is not, and what belongs to the median of signals where that is off.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache
from math import isnan
from pathlib import Path

from incast import ScenarioError, catalogue
from incast.ledger import Claim, Figure, LedgerError, find, judge, record, run_figure, setup
from incast.ledger.builds import default
from incast.ledger.figure import RunSpec
from incast.ledger.found import RECORDED, Found
from incast.ledger.kinds import Kind, kind_of
from incast.runs.runner import Threads

PAPERS = Path(__file__).parents[1] / "papers"
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

ELSEWHERE = "elsewhere"
"""The class of a value that another paper prints, and the algorithm's own does not."""

SET = {
    "ccc:paper": {"q_b": "printed", "stamp": ELSEWHERE},
    "lswift:paper": {"fs_min": ELSEWHERE},
    "mnscc:median": {"target": "printed", "fast_increase_share": "ours", "initial_cwnd": "derived"},
    "mswift:paper": {"fs_min": ELSEWHERE},
    "oscar:paper": {"target": "printed"},
    "patched-timely:sqcc": {
        "beta": "printed",
        "t_low": "printed",
        "t_high": "printed",
        "min_rtt": "ours",
        "delta": "printed",
        "segment": "derived",
        "start": ELSEWHERE,
    },
    "powertcp:paper": {"target": "printed"},
    "sqcc:paper": {
        "beta": "printed",
        "t_low": "printed",
        "t_high": "printed",
        "min_rtt": "ours",
        "delta": "printed",
        "segment": "derived",
        "start": ELSEWHERE,
    },
    "theta-powertcp:paper": {"gamma": "printed", "margin": "printed"},
}
"""The class of each value that a paper's preset sets itself, or that only another paper prints.

The catalogue has the class of the default, and does not say which paper prints a value. The text of the
source beside it does, and decides here: `printed` where it cites the algorithm's paper for this value,
`derived` where it says how the value follows from the paper, `elsewhere` where it cites only another paper,
and `ours` where it says that the paper does not print it.
"""

MATTER = {
    "constant": ("window", "rate"),
    "dcqcn": ("g", "rate_timer", "r_ai"),
    "dctcp": ("g", "increase"),
    "hpcc": ("eta", "w_ai"),
    "newreno": ("increase",),
    "nscc": ("target", "gamma"),
    "oracle": ("delay", "window_cap"),
    "poseidon": ("m", "k"),
    "retcp": ("up", "down"),
    "smartt": ("fd", "target"),
    "swift": ("base_target", "beta", "max_mdf"),
    "timely": ("beta", "t_low"),
}
"""Of the algorithms that no paper of the ledger proposes, and a figure runs: the constants that matter most.

The gain of the decrease or its smoothing, and the step of the increase or the target.
"""

MAIN = ("printed", "derived")
"""The classes of main constants."""

CHANGE = 0.25


@dataclass(frozen=True)
class Mutant:
    """An algorithm with one constant that is wrong.

    Attributes:
        algorithm: The algorithm.
        parameter: The constant.
        evidence: The class of evidence for its value; empty for an algorithm of no paper of the ledger.
        before: Its value in the first run that has it.
        after: The value in its place.
        looked: The claims that look at a run with it.
        moved: Those whose value it changes in any of the digits that are recorded.
        noticed: Those whose value it moves out of the recorded interval.
    """

    algorithm: str
    parameter: str
    evidence: str
    before: str
    after: str
    looked: tuple[str, ...]
    moved: tuple[str, ...]
    noticed: tuple[str, ...]

    @property
    def main(self) -> bool:
        """Whether the value is printed in the paper, or derived from what is."""
        return self.evidence in MAIN


@cache
def own_preset(algorithm: str) -> str:
    """The preset of an algorithm in the set-up of its own paper."""
    baselines = setup.read(PAPERS, OWN[algorithm]).baselines
    cc = next(each.cc for each in baselines if each.algorithm == algorithm and not each.environment)
    return cc.partition(":")[2] or default(algorithm)


@cache
def constants(algorithm: str) -> Mapping[str, str]:
    """The constants of an algorithm as its paper has it, with the class of evidence for each value."""
    preset = own_preset(algorithm)
    own, standard = catalogue.algorithm(algorithm, preset), catalogue.algorithm(algorithm)
    assert own is not None, algorithm
    assert standard is not None, algorithm
    values = {each.name: each.value for each in own.parameters}
    found = {}
    for each, usual in zip(own.parameters, standard.parameters, strict=True):
        instead = re.search(r"(?:if|where) (\w+) is 0|, without (\w+)$", each.meaning)
        other = values.get(instead[1] or instead[2], "0") if instead else "0"
        if scaled(each.value, 1 + CHANGE) is None or not is_zero(other):
            continue
        if each.name.startswith("median_") and is_zero(values.get("median", "1")):
            continue
        given = SET.get(f"{algorithm}:{preset}", {})
        if each.name in given or each.value != usual.value:
            found[each.name] = given[each.name]
        else:
            found[each.name] = usual.evidence
    return found


def control(spec: RunSpec) -> tuple[str, str | None]:
    """The algorithm and the preset that a run names; two empty texts for none."""
    for override in spec.overrides:
        found = re.fullmatch(r'cc=\{ algorithm = "([^"]+)"(?:, preset = "([^"]+)")? \}', override)
        if found:
            return found[1], found[2]
    return "", None


def sets(spec: RunSpec, parameter: str) -> bool:
    """Whether a run sets a constant itself, beside its preset."""
    return any(override.startswith(f"cc.{parameter}=") for override in spec.overrides)


def is_zero(value: str) -> bool:
    """Whether a value is a number, with a unit or not, and zero."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)[A-Za-z]*", value)
    return found is not None and float(found[1]) == 0


def scaled(value: str, factor: float) -> str | None:
    """A value times a factor, or the next whole number; None for one that is no number, or zero."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([A-Za-z]*)", value)
    if found is None or is_zero(value):
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
            values[key[3:]] = text.strip("\"'")
    before = values[parameter]
    kind = next(each.kind for each in known.parameters if each.name == parameter)
    for factor in (1 + CHANGE, 1 - CHANGE):
        after = scaled(f"{before}.0" if kind == "ratio" and "." not in before else before, factor)
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


@dataclass
class Bench:
    """Figures with the values that their claims have: recorded, or of their runs as they are.

    Attributes:
        figures: The figures.
        results: The folder of the runs.
    """

    figures: Sequence[Figure]
    results: Path
    _recorded: record.Record = field(default_factory=lambda: record.read(PAPERS))
    _usual: dict[tuple[str, str], tuple[Found, Found]] = field(default_factory=dict)
    _together: Mapping[str, Found | None] = field(default_factory=dict)

    def usual(self, figure: Figure, claim: Claim) -> tuple[Found, Found]:
        """The value of a claim in the runs as they are, and the recorded one, or twice the first.

        A record with which the runs as they are do not agree does not count: any mutant would leave it.
        """
        key = (figure.id, claim.id)
        if key not in self._usual:
            now = self.values(figure, [claim], {})[claim.id]
            known = self._recorded.get(figure.id)
            entry = known.claims.get(claim.id) if known is not None else None
            before = Found.read(entry.ours, claim.unit) if entry is not None else now
            if not now.agrees(before, claim.unit):
                print(
                    f"{figure.id}:{claim.id}: {now.shown(claim.unit)} now, not the recorded value", flush=True
                )
                before = now
            self._usual[key] = now, before
        return self._usual[key]

    def values(
        self, figure: Figure, claims: Sequence[Claim], wrong: Mapping[str, RunSpec]
    ) -> dict[str, Found]:
        """The values of some claims of a figure with some wrong runs, by claim.

        Only the runs that they need are made.
        A function of the figure's own may look at more runs than its measure names: then all are made.
        """
        needed = {spec.name for claim in claims for spec in figure.measured(claim)}
        try:
            return self._judged(figure, claims, wrong, needed)
        except LedgerError:
            if len(needed) == len(figure.runs):
                raise
            return self._judged(figure, claims, wrong, {spec.name for spec in figure.runs})

    def _judged(
        self, figure: Figure, claims: Sequence[Claim], wrong: Mapping[str, RunSpec], needed: Set[str]
    ) -> dict[str, Found]:
        part = replace(
            figure,
            runs=tuple(wrong.get(spec.name, spec) for spec in figure.runs if spec.name in needed),
            claims=tuple(replace(each, evidence=(), earlier=()) for each in claims),
        )
        judgements = judge(part, run_figure(part, folder=self.results, executor=Threads(1)))
        return {each.claim.id: each.ours for each in judgements}

    def mutant(self, algorithm: str, parameter: str, evidence: str = "") -> Mutant | None:
        """Runs the figures with a wrong constant; None if no claim looks at a run with it.

        A run in which its figure sets a constant of a paper's algorithm says nothing of the paper's value.
        """
        looked, moved, noticed, before, after = [], [], [], "", ""
        for figure in self.figures:
            changed = {
                spec.name: mutated(spec, algorithm, parameter)
                for spec in figure.runs
                if algorithm not in OWN or not sets(spec, parameter)
            }
            wrong = {name: each[0] for name, each in changed.items() if each is not None}
            claims = [
                claim
                for claim in figure.claims
                if kind_of(figure, claim) is Kind.RUNS
                and any(spec.name in wrong for spec in figure.measured(claim))
            ]
            if not claims:
                continue
            before, after = (before, after) if before else next(each[1:] for each in changed.values() if each)
            for claim in claims:
                found = self._value(figure, claim, claims, wrong)
                name = f"{figure.id}:{claim.id}"
                if isinstance(found, str):
                    # That is no value outside of an interval: the claim does not count.
                    print(f"{algorithm}.{parameter}: {name}: {found}", flush=True)
                    continue
                looked.append(name)
                now, known = self.usual(figure, claim)
                if isnan(found.value.value):
                    continue
                if found.value.shown(claim.unit, RECORDED) != now.value.shown(claim.unit, RECORDED):
                    moved.append(name)
                if not found.agrees(known, claim.unit):
                    noticed.append(name)
            self._together = {}
        if not looked:
            return None
        return Mutant(
            algorithm, parameter, evidence, before, after, tuple(looked), tuple(moved), tuple(noticed)
        )

    def _value(
        self, figure: Figure, claim: Claim, claims: Sequence[Claim], wrong: Mapping[str, RunSpec]
    ) -> Found | str:
        """The value of one of some claims, which are judged at once, or what is wrong with it."""
        if not self._together:
            try:
                self._together = self.values(figure, claims, wrong)
            except (LedgerError, ValueError):
                self._together = {"": None}
        found = self._together.get(claim.id)
        if found is not None:
            return found
        try:
            return self.values(figure, [claim], wrong)[claim.id]
        except (LedgerError, ValueError) as error:
            return str(error).splitlines()[0]


def mutants(
    figures: Sequence[Figure], algorithm: str, results: Path, only: Sequence[str] = ()
) -> Iterator[Mutant]:
    """Runs figures once for each constant of an algorithm, or for some.

    For an algorithm of a paper these are its :func:`constants`, for others all that a quarter can change.
    """
    known = catalogue.algorithm(algorithm)
    assert known is not None, algorithm
    classes = constants(algorithm) if algorithm in OWN else {each.name: "" for each in known.parameters}
    bench = Bench(figures, results)
    for parameter in only or classes:
        found = bench.mutant(algorithm, parameter, classes.get(parameter, ""))
        if found is not None:
            yield found


def on_page(page: str) -> tuple[dict[str, int], list[str]]:
    """Returns for each algorithm on the page of mutants the most claims that notice, and those in no figure.

    Args:
        page: The text of docs/dev/mutants.md.
    """
    noticed: dict[str, int] = {}
    for name, count in re.findall(r"^\| `([a-z0-9-]+)` .* \| (\d+) \|$", page, re.M):
        noticed[name] = max(noticed.get(name, 0), int(count))
    _, _, listed = page.partition("<!-- made: in no figure -->")
    return noticed, re.findall(r"algorithms/([a-z0-9-]+)\.md", listed.partition("<!-- end -->")[0])


def faults(page: str, algorithms: Sequence[str], twins: Path) -> list[str]:
    """Returns a line for each thing that the page of mutants, :data:`MATTER` or the tests of the crate lack.

    A claim notices a constant of each algorithm that a claim looks at. An algorithm that is in no figure has
    a twin, whose tests notice its constants.

    Args:
        page: The text of docs/dev/mutants.md.
        algorithms: All algorithms.
        twins: The folder of the twins, ``crates/cc/tests``.
    """
    noticed, in_no_figure = on_page(page)
    found = []
    for name in algorithms:
        known = name in OWN or name in MATTER
        twin = twins / f"twin_{name.replace('-', '_')}.rs"
        if name in in_no_figure and (known or name in noticed):
            found.append(f"{name}: no figure runs it: take it out of MATTER, and its rows out of the page")
        elif name in in_no_figure and not twin.exists():
            found.append(f"{name}: no figure runs it, so that its constants need {twin.name}")
        elif name not in in_no_figure and not known:
            found.append(
                f"{name}: a figure runs it, or docs/generate.py was not run since it is there: name the "
                f"constants that matter most in MATTER, or run docs/generate.py"
            )
        elif name not in in_no_figure and not noticed.get(name):
            found.append(f"{name}: a figure runs it, and no row of the page has a claim that notices")
    others = {*OWN, *MATTER, *noticed, *in_no_figure} - set(algorithms)
    return found + [f"{name}: there is no such algorithm" for name in sorted(others)]


HEAD = """\
| Constant | Class | Value | Instead | Claims that look | with another value | that notice |
| --- | --- | --- | --- | ---: | ---: | ---: |"""


def row(each: Mutant) -> str:
    """A mutant as a row of the table; main constants are in bold."""
    name = f"**{each.parameter}**" if each.main else each.parameter
    counts = " | ".join(str(len(claims)) for claims in (each.looked, each.moved, each.noticed))
    return f"| `{each.algorithm}` {name} | {each.evidence} | {each.before} | {each.after} | {counts} |"


def main() -> None:
    """Prints a table, and the constants that no claim notices."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("what", nargs="*", help=f"ALGORITHM or ALGORITHM.CONSTANT; if none is named: {', '.join(OWN)}")
    add("--others", action="store_true", help="all other algorithms, by the constants that matter most")
    add("--full", action="store_true", help="all figures, not only the quick ones")
    add("--figures", nargs="+", default=[], help="these figures only")
    add("--results", type=Path, default=Path("incast-results"), help="folder of the runs")
    options = parser.parse_args()
    unseen: dict[bool, list[str]] = {True: [], False: []}
    unlooked = []
    print(HEAD)
    for what in options.what or (MATTER if options.others else OWN):
        algorithm, _, constant = what.partition(".")
        only = [constant] if constant else MATTER[algorithm] if options.others else ()
        figures = [
            figure
            for figure in find(PAPERS, options.figures or [OWN.get(algorithm, "all")])
            if (figure.quick or options.full or options.figures) and not figure.testbed
        ]
        left = dict.fromkeys(only or (constants(algorithm) if algorithm in OWN else ()))
        for each in mutants(figures, algorithm, options.results, only):
            print(row(each), flush=True)
            left.pop(each.parameter, None)
            if not each.noticed:
                unseen[each.main].append(f"{algorithm}.{each.parameter}")
        unlooked += [f"{algorithm}.{name}" for name in left]
    print(f"\nmain, and noticed by no claim: {', '.join(unseen[True]) or 'none'}")
    print(f"not main, and noticed by no claim: {', '.join(unseen[False]) or 'none'}")
    print(f"no claim looks at a run with it: {', '.join(unlooked) or 'none'}")


if __name__ == "__main__":
    main()
