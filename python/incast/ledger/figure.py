"""Reading ``claims.toml``: the runs of a figure, its claims with their earlier rules, its picture."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from incast.errors import nearest
from incast.ledger.band import Band
from incast.ledger.reader import LedgerError, Reader, parse, parse_once
from incast.ledger.rule import SCALES, Bands, effect_of, faults, printed, says_nothing
from incast.results.measures.quantity import quantity, unit_of
from incast.scenario import Scenario

FILE = "claims.toml"
"""The file that makes a folder a figure."""

HISTORY = "history.toml"
"""The file of a paper with the rules that its claims had before, by figure and claim."""

ANALYSIS = "analysis.py"
"""The file beside it with the functions that its claims and panels call, if ``analysis`` names no other."""


@dataclass(frozen=True)
class RunSpec:
    """One run of a figure.

    Attributes:
        name: Its name in the figure, like ``oscar`` or ``oscar/25Gbps/9``.
        scenario: The scenario file.
        overrides: Keys to set in it, as for ``incast run --set``.
        values: The values of the varied keys: the run's point of the sweep.
        seeds: The seeds with which it is made; empty for the one of its scenario, where nothing that a claim
            measures depends on it. A run on a testbed is repeated once for each.
        testbed: Whether it is made on a testbed (:mod:`incast.testbed`), and not in the simulator.
        full: Keys that give it the length of the paper's own run, where this one is shorter.
    """

    name: str
    scenario: Path
    overrides: tuple[str, ...]
    values: Mapping[str, str]
    seeds: tuple[int, ...] = ()
    testbed: bool = False
    full: tuple[str, ...] = ()

    def load(self, seed: int | None) -> Scenario:
        """Its scenario.

        Args:
            seed: One of its seeds; None for the scenario's own.

        Raises:
            ScenarioError: When something in it is wrong.
        """
        return Scenario.load(
            self.scenario, self.overrides if seed is None else (*self.overrides, f"seed={seed}")
        )


@dataclass(frozen=True)
class Evidence:
    """A condition that supports a reason.

    Attributes:
        says: What is measured, as text.
        measure: The measure.
        unit: Unit to show it in.
        band: The band in which it must lie.
    """

    says: str
    measure: Mapping[str, Any]
    unit: str
    band: Band


@dataclass(frozen=True)
class Earlier:
    """A rule that was replaced, kept so that its verdict stays visible.

    Attributes:
        why: Why it was replaced.
        measure: How the value was computed.
        unit: Unit to show it in.
        reproduced: Its band for ``reproduced``.
        trend: Its band for ``trend``; None if there was none.
        seeds: The number of seeds that it had, the first of those that the runs have now; 0 for all of these.
        equal: Whether it said that there is no effect.
        effect: The scale that it named, or the one of its measure.
    """

    why: str
    measure: Mapping[str, Any]
    unit: str
    reproduced: Band
    trend: Band | None
    seeds: int = 0
    equal: bool = False
    effect: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, and the rule by which it counts as reproduced.

    Attributes:
        id: Its name within the figure.
        says: The paper's statement in our words.
        place: Its place in the paper.
        paper: The paper's value, as text.
        measure: How the value is computed here.
        unit: Unit to show it in.
        reproduced: Band in which the value counts as reproduced.
        trend: Band in which only the direction holds; None if there is no such band.
        rule: Where the bands come from.
        reason: Why it is not reproduced; shown only when it is not.
        evidence: Conditions that support the reason.
        earlier: Rules that this one replaced, the oldest first.
        value: The paper's number; None where the paper has words.
        equal: Whether the paper says that there is no effect.
        effect: The name of the scale on which an effect counts; empty for a value that is no comparison.
        seeds: The number of seeds behind its verdict, the first of those that its runs have; 0 for all.
        text_only: Whether it is about what a text says, and nothing is computed.
        runs: Patterns for the runs at which its measure may look, where that names none.
    """

    id: str
    says: str
    place: str
    paper: str
    measure: Mapping[str, Any]
    unit: str
    reproduced: Band
    trend: Band | None
    rule: str
    reason: str
    evidence: tuple[Evidence, ...] = ()
    earlier: tuple[Earlier, ...] = ()
    value: float | None = None
    equal: bool = False
    effect: str = ""
    seeds: int = 0
    text_only: bool = False
    runs: tuple[str, ...] = ()

    @property
    def bands(self) -> Bands:
        """The parts at which the rules for all claims look."""
        return Bands(self.reproduced, self.trend, SCALES.get(self.effect), self.value, self.equal)


@dataclass(frozen=True)
class Figure:
    """A figure of a paper.

    Attributes:
        id: Like ``oscar/fig9``.
        folder: Its folder.
        title: Its subject.
        analysis: The file with the functions that its claims and panels call, if there is one.
        place: The paper and the place in it.
        setup: What the paper states about the experiment.
        choices: Our choices where the paper is silent or cannot be followed, each with its reason.
        shows: What the paper's picture shows, as text.
        runs: The runs to make; none if the figure is analysis only.
        claims: What is checked.
        panels: The panels of the picture.
        across: Number of panels side by side in the picture.
        quick: Whether it belongs to the quick set.
        left_out: Runs that are not made, since only earlier rules look at them.
        left_seeds: The number of seeds of each run that are not made for the same reason.
    """

    id: str
    folder: Path
    analysis: Path
    title: str
    place: str
    setup: str
    choices: tuple[str, ...]
    shows: str
    runs: tuple[RunSpec, ...]
    claims: tuple[Claim, ...]
    panels: tuple[Mapping[str, Any], ...] = field(default=())
    across: int = 2
    quick: bool = False
    left_out: tuple[RunSpec, ...] = ()
    left_seeds: int = 0

    @property
    def testbed(self) -> bool:
        """Whether some of its runs are made on a testbed."""
        return any(spec.testbed for spec in self.runs)

    @property
    def replicas(self) -> int:
        """Number of times that the figure is measured: the largest number of seeds of a run, at least 1."""
        return max([1, *(len(spec.seeds) for spec in self.runs)])

    @property
    def paper(self) -> str:
        """The paper's name, like ``oscar``."""
        return self.id.partition("/")[0]

    def measured(self, claim: Claim) -> Sequence[RunSpec]:
        """The runs that the measure of a claim names.

        A function of the figure's own (``analysis``) that names none may measure all of them.
        """
        return self._named(claim.measure) or self.runs

    def _named(self, measure: object) -> Sequence[RunSpec]:
        texts = list(_texts(measure))
        return [spec for spec in self.runs if any(_names(text, spec.name) for text in texts)]

    def of_today(self) -> Figure:
        """This figure without the runs, and the seeds, at which only earlier rules look.

        It lists them as left out.
        """
        listed = [claim for claim in self.claims if claim.runs]
        needed = {spec.name for claim in listed for spec in self.behind(claim)}
        measures = [claim.measure for claim in self.claims if not claim.runs]
        measures += [item.measure for claim in self.claims for item in claim.evidence]
        for measure in [*measures, *self.panels]:
            named = self._named(measure)
            needed.update(spec.name for spec in named)
            if not named and self.is_given_runs(measure):
                return self
        earlier = [rule.measure for claim in self.claims for rule in claim.earlier]
        only = {spec.name for measure in earlier for spec in self._named(measure)} - needed
        seeds = max([claim.seeds or self.replicas for claim in self.claims], default=self.replicas)
        return replace(
            self,
            runs=tuple(
                replace(spec, seeds=spec.seeds[:seeds]) for spec in self.runs if spec.name not in only
            ),
            left_out=tuple(spec for spec in self.runs if spec.name in only),
            left_seeds=self.replicas - min(seeds, self.replicas),
        )

    def is_left_out(self, rule: Earlier) -> bool:
        """Whether an earlier rule looks at runs, or at seeds, that are left out."""
        if self.left_seeds and not 0 < rule.seeds <= self.replicas:
            return True
        texts = list(_texts(rule.measure))
        return any(_names(text, spec.name) for text in texts for spec in self.left_out)

    def is_given_runs(self, measure: Mapping[str, Any]) -> bool:
        """Whether a measure, or a panel, looks at runs without naming them.

        Functions of ``analysis.py`` with a parameter ``results`` do. Other measures name theirs.
        """
        calls = set(_calls(measure))
        if not calls:
            return "do" in measure
        if not self.analysis.is_file():
            return True
        tree = ast.parse(self.analysis.read_text(encoding="utf-8"))
        found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in calls]
        return len(found) < len(calls) or any(
            argument.arg == "results"
            for node in found
            for argument in (*node.args.args, *node.args.kwonlyargs)
        )

    def at_full_length(self) -> Figure | None:
        """This figure with runs of the length that the paper's have; None if no claim is about such runs.

        It has the claims whose runs all are longer in the paper (``full``), without earlier rules and
        reasons, and only these runs, each with the first of its seeds.
        """
        claims = {
            claim.id: claim
            for claim in self.claims
            if not claim.text_only and all(spec.full for spec in self.behind(claim)) and self.runs
        }
        needed = {spec.name for claim in claims.values() for spec in self.behind(claim)}
        if not needed:
            return None
        return replace(
            self,
            runs=tuple(
                replace(spec, overrides=(*spec.overrides, *spec.full), seeds=spec.seeds[:1])
                for spec in self.runs
                if spec.name in needed
            ),
            claims=tuple(
                replace(claim, reason="", evidence=(), earlier=(), seeds=0) for claim in claims.values()
            ),
            panels=(),
        )

    def behind(self, claim: Claim) -> Sequence[RunSpec]:
        """The runs behind the verdict of a claim: those that it lists under ``runs``, or :meth:`measured`.

        The judge refuses a measure that looks at another run than a claim lists.
        """
        if not claim.runs:
            return self.measured(claim)
        return [spec for spec in self.runs if any(_names(text, spec.name) for text in claim.runs)]


def _names(text: str, run: str) -> bool:
    return text == run or ("*" in text and fnmatchcase(run, text))


def _calls(measure: object) -> Iterator[str]:
    """The name of every function of ``analysis.py`` in a measure or a panel, its parts included."""
    if isinstance(measure, Mapping):
        if isinstance(measure.get("call"), str):
            yield measure["call"]
        for value in measure.values():
            yield from _calls(value)
    elif isinstance(measure, (list, tuple)):
        for value in measure:
            yield from _calls(value)


def _texts(measure: object) -> Iterator[str]:
    """Every text in a measure, its parts included."""
    if isinstance(measure, str):
        yield measure
    elif isinstance(measure, Mapping):
        for value in measure.values():
            yield from _texts(value)
    elif isinstance(measure, list):
        for value in measure:
            yield from _texts(value)


def read(folder: Path, name: str) -> Figure:
    """Reads the figure in a folder.

    Args:
        folder: The folder of its ``claims.toml``.
        name: Its id.

    Raises:
        LedgerError: When something in it is wrong.
    """
    file = folder / FILE
    document, history = parse(file), _history(folder)
    top = Reader(document, str(file))
    head = Reader(top.table("figure"), f"{file}: [figure]")
    runs = [spec for i, table in enumerate(top.tables("runs")) for spec in _runs(table, i, file)]
    names = [spec.name for spec in runs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise LedgerError(f"{file}: two runs are called {twice!r}")
    figure = Figure(
        id=name,
        folder=folder,
        analysis=folder / head.text("analysis", ANALYSIS),
        title=head.text("title"),
        place=head.text("place"),
        setup=head.text("setup"),
        choices=tuple(" ".join(choice.split()) for choice in head.texts("choices")),
        shows=head.text("shows"),
        runs=tuple(runs),
        claims=tuple(_claim(table, i, file, history) for i, table in enumerate(top.tables("claim"))),
        panels=tuple(top.tables("panel")),
        across=head.number("across", 2),
        quick=head.flag("quick"),
    )
    head.finish()
    top.finish()
    history.finish()
    if not figure.claims:
        raise LedgerError(f"{file}: a figure needs claims")
    if figure.analysis != folder / ANALYSIS and not figure.analysis.is_file():
        raise LedgerError(f"{file}: [figure]: analysis: there is no {figure.analysis}")
    if not figure.runs and not figure.analysis.is_file():
        raise LedgerError(f"{file}: a figure needs runs, or an {ANALYSIS} beside this file")
    few = next((spec for spec in figure.runs if spec.seeds and len(spec.seeds) != figure.replicas), None)
    if few is not None:
        raise LedgerError(
            f"{file}: the run {few.name!r} has {len(few.seeds)} seeds, another one {figure.replicas}: claims "
            "compare runs of the same seed, so that all that have seeds need the same number"
        )
    short = next(
        (
            claim
            for claim in figure.claims
            if claim.seeds > max((len(spec.seeds) for spec in figure.measured(claim)), default=0)
        ),
        None,
    )
    if short is not None:
        raise LedgerError(f"{file}: claim {short.id!r}: seeds = {short.seeds}: its runs do not have as many")
    for claim in figure.claims:
        idle = [text for text in claim.runs if not any(_names(text, name) for name in names)]
        if idle:
            raise LedgerError(f"{file}: claim {claim.id!r}: runs: no run is called {', '.join(idle)}")
    claims = [claim.id for claim in figure.claims]
    if len(set(claims)) != len(claims):
        raise LedgerError(f"{file}: two claims have the same id")
    return figure


def _history(folder: Path) -> Reader:
    """Returns the earlier rules of the claims of a figure, from the file of its paper.

    A figure's claims take theirs; what is left is of no claim, and refused at the end.
    """
    file = folder.parent / HISTORY
    document = parse_once(file) if file.exists() else {}
    unknown = [figure for figure in document if not (folder.parent / figure / FILE).is_file()]
    if unknown:
        raise LedgerError(f"{file}: there is no figure {', '.join(unknown)}")
    return Reader(copy.deepcopy(document.get(folder.name, {})), f"{file}: {folder.name}")


def _runs(table: object, index: int, file: Path) -> Iterable[RunSpec]:
    """Yields the runs of one entry: one for every algorithm and every combination of what varies."""
    reader = Reader(table, f"{file}: runs, number {index + 1}")
    name, scenario = reader.text("name"), reader.text("scenario")
    algorithms, overrides = _algorithms(reader, name), reader.texts("set")
    seeds = _seeds(reader)
    testbed = reader.flag("testbed")
    full = reader.texts("full")
    if full and testbed:
        raise reader.fail("full is for runs of the simulator: a testbed's runs have one length")
    vary = reader.table("vary") if "vary" in reader.left else {}
    along = reader.table("along") if "along" in reader.left else {}
    reader.finish()
    for key, values in [*vary.items(), *along.items()]:
        if key == "algorithm":
            raise reader.fail("algorithm cannot vary: list the algorithms under algorithms")
        if not isinstance(values, list) or not values:
            raise reader.fail(f"the values of {key} must be a list")
    first = next(iter(vary.values()), [None])
    for key, values in along.items():
        if len(values) != len(first):
            raise reader.fail(f"along.{key} has {len(values)} values for {len(first)} that vary")
    for algorithm, combination in itertools.product(algorithms, itertools.product(*vary.values())):
        values = {key: str(value) for key, value in zip(vary, combination, strict=True)}
        for key, companions in along.items():
            values[key] = str(companions[first.index(combination[0])])

        def fill(text: str, values: Mapping[str, str] = {**algorithm.filled, **values}) -> str:
            try:
                return text.format_map(values)
            except (KeyError, IndexError, ValueError):
                raise reader.fail(f"{text!r} names a value that is not in vary") from None

        kind, _, preset = fill(algorithm.cc).partition(":")
        table_of_cc = f'algorithm = "{kind}"' + (f', preset = "{preset}"' if preset else "")
        # Transports without congestion control at the sender (NDP, Homa) refuse the section.
        control = [] if kind == "none" else [f"cc={{ {table_of_cc} }}"]
        yield RunSpec(
            name=fill(name),
            scenario=(file.parent / fill(scenario)).resolve(),
            overrides=(
                *control,
                *(f"cc.{fill(parameter)}" for parameter in algorithm.parameters),
                *(fill(override) for override in overrides),
            ),
            values=values,
            seeds=tuple(range(1, seeds + 1)),
            testbed=testbed,
            full=tuple(fill(override) for override in full),
        )


@dataclass(frozen=True)
class _Algorithm:
    """An algorithm of an entry of runs.

    Attributes:
        cc: The algorithm, with its preset after a colon.
        parameters: Its parameters to set.
        filled: The text for ``{algorithm}``; empty in an entry with a single algorithm.
    """

    cc: str
    parameters: tuple[str, ...]
    filled: Mapping[str, str]


def _algorithms(reader: Reader, name_of_runs: str) -> list[_Algorithm]:
    """Returns the algorithms of an entry: the one of ``cc``, or the members of the list ``algorithms``.

    An item of the list is like ``cc``, or a table with ``cc``, ``parameters`` (added to the ones of the
    entry), and ``name``. The name takes the place of ``{algorithm}``; by default it is the algorithm without
    its preset.
    """
    shared = reader.texts("parameters")
    if "algorithms" not in reader.left:
        return [_Algorithm(reader.text("cc"), shared, {})]
    items = reader.left.pop("algorithms")
    if "cc" in reader.left:
        raise reader.fail("cc and algorithms exclude each other")
    if not isinstance(items, list) or not items:
        raise reader.fail("algorithms must be a list of algorithms")
    if "{algorithm}" not in name_of_runs:
        raise reader.fail(f"with algorithms, the name {name_of_runs!r} needs {{algorithm}}")
    found: dict[str, _Algorithm] = {}
    for i, item in enumerate(items):
        table = {"cc": item} if isinstance(item, str) else item
        of_item = Reader(table, f"{reader.where}: algorithms, number {i + 1}")
        cc = of_item.text("cc")
        name = of_item.text("name", cc.partition(":")[0])
        if name in found:
            raise of_item.fail(f"there are two of the name {name!r}: give one a name of its own")
        found[name] = _Algorithm(cc, (*shared, *of_item.texts("parameters")), {"algorithm": name})
        of_item.finish()
    return list(found.values())


def _claim(table: object, index: int, file: Path, history: Reader) -> Claim:
    reader = Reader(table, f"{file}: claim, number {index + 1}")
    name = reader.text("id")
    reader.where = f"{file}: claim {name!r}"
    unit, measure = reader.unit(), reader.table("measure")
    paper = reader.text("paper")
    claim = Claim(
        id=name,
        says=reader.text("says"),
        place=reader.text("place"),
        paper=paper,
        measure=measure,
        unit=unit,
        reproduced=reader.must_band("reproduced", unit),
        trend=reader.band("trend", unit),
        rule=reader.text("rule"),
        reason=reader.text("reason", ""),
        evidence=tuple(
            _evidence(entry, f"{reader.where}: evidence, number {i + 1}")
            for i, entry in enumerate(reader.tables("evidence"))
        ),
        earlier=tuple(
            _earlier(entry, f"{history.where}.{name}: number {i + 1}", measure, unit)
            for i, entry in enumerate(history.tables(name))
        ),
        value=_value(reader, paper, unit),
        equal=reader.flag("equal"),
        effect=_named_effect(reader, measure),
        seeds=_seeds(reader),
        text_only=reader.flag("text_only"),
        runs=reader.texts("runs"),
    )
    reader.finish()
    if claim.seeds and claim.earlier and not claim.earlier[-1].seeds:
        # Without a number it would be measured with all seeds, and locked with those of the claim.
        raise reader.fail(f"has seeds = {claim.seeds}: its last rule in {HISTORY} must name its seeds, too")
    if claim.evidence and not claim.reason:
        raise reader.fail("has evidence but no reason")
    wrong = faults(claim.bands, unit)
    if wrong:
        raise reader.fail("; ".join(wrong))
    return claim


def _seeds(reader: Reader) -> int:
    """The number of seeds that a claim names: none, or enough for an interval."""
    seeds = reader.number("seeds", 0)
    if seeds < 0 or seeds == 1:
        raise reader.fail("seeds must be at least 2, for a confidence interval")
    return seeds


def _value(reader: Reader, paper: str, unit: str) -> float | None:
    """The paper's number: what ``value`` gives, or what the text of ``paper`` is."""
    if "value" not in reader.left:
        number = printed(paper, unit)
        return None if number is None else number.value
    try:
        found = quantity(reader.text("value"))
    except ValueError as error:
        raise reader.fail(f"value: {error}") from None
    if found.dimension != unit_of(unit)[0]:
        raise reader.fail(f"value does not match the unit {unit!r}")
    return found.value


def _named_effect(reader: Reader, measure: Mapping[str, Any]) -> str:
    """The scale of a claim's effect, which the claim has to name where its measure does not tell."""
    if "effect" not in reader.left and says_nothing(measure):
        raise reader.fail(
            f"must say whether its value is an effect: effect = one of {', '.join(SCALES)}, or none; "
            "its measure does not tell"
        )
    return _effect(reader, measure)


def _effect(reader: Reader, measure: Mapping[str, Any]) -> str:
    """The scale of a claim's effect: what ``effect`` names, or what its measure compares with."""
    named = reader.text("effect", effect_of(measure))
    if named and named not in (*SCALES, "none"):
        raise reader.fail(f"effect = {named!r} is not one of {', '.join(SCALES)}, none")
    return "" if named == "none" else named


def _evidence(table: object, where: str) -> Evidence:
    reader = Reader(table, where)
    unit = reader.unit()
    evidence = Evidence(reader.text("says"), reader.table("measure"), unit, reader.must_band("holds", unit))
    reader.finish()
    return evidence


def _earlier(table: object, where: str, measure: Mapping[str, Any], unit: str) -> Earlier:
    """A replaced rule; measure and unit are the claim's where it gives none."""
    reader = Reader(table, where)
    unit = reader.unit() if "unit" in reader.left else unit
    measure = reader.table("measure") if "measure" in reader.left else measure
    earlier = Earlier(
        why=reader.text("why"),
        measure=measure,
        unit=unit,
        reproduced=reader.must_band("reproduced", unit),
        trend=reader.band("trend", unit),
        seeds=reader.number("seeds", 0),
        equal=reader.flag("equal"),
        effect=_effect(reader, measure),
    )
    reader.finish()
    return earlier


def papers_folder(named: Path | None = None) -> Path:
    """Returns the folder of the papers: the given one, ``papers`` here, or the one in the checkout in use.

    Raises:
        LedgerError: When there is none.
    """
    candidates = [named] if named else [Path("papers"), Path(__file__).resolve().parents[3] / "papers"]
    for folder in candidates:
        if any(folder.glob(f"*/*/{FILE}")):
            return folder.resolve()
    if named:
        raise LedgerError(f"{named}: contains no figure: there is no PAPER/FIGURE/{FILE}")
    raise LedgerError(
        "there is no folder `papers` here\n"
        "    help: the figures are in a checkout of Incast; run this there, or give the folder with --papers"
    )


def ids(papers: Path) -> list[str]:
    """Returns the ids of all figures, by paper, with numbers in their order."""
    found = [file.parent.relative_to(papers).as_posix() for file in papers.glob(f"*/*/{FILE}")]

    def order(name: str) -> tuple[str, tuple[tuple[int, str], ...]]:
        paper, _, figure = name.partition("/")
        parts = ("".join(group) for _, group in itertools.groupby(figure, str.isdigit))
        return paper, tuple((int(part), "") if part.isdigit() else (10**9, part) for part in parts)

    return sorted(found, key=order)


def find(papers: Path, wanted: Sequence[str]) -> list[Figure]:
    """The figures that some words name: ids, names of papers, or ``all``.

    Raises:
        LedgerError: When a word names nothing, or a figure cannot be read.
    """
    known = ids(papers)
    chosen: dict[str, None] = {}
    for word in wanted:
        matching = [name for name in known if word in ("all", name, name.partition("/")[0])]
        if not matching:
            words = [*known, *dict.fromkeys(name.partition("/")[0] for name in known), "all"]
            near = nearest(word, words)
            hint = f"; did you mean {near!r}?" if near else ""
            raise LedgerError(
                f"there is no figure {word!r}{hint}\n    help: `incast reproduce --list` shows them"
            )
        chosen.update(dict.fromkeys(matching))
    return [read(papers / name, name) for name in chosen]
