"""Sentences that stand above the tables: which entry is best, by how much, and what weakens that answer.

Each word comes from :func:`incast.results.decide.difference`; nothing here computes an interval. An entry is
called best only if it is better than each other one at the confidence 1 − α / n, for n such comparisons of a
measure. A wrong entry is then called best with a probability of at most α.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from incast.results.decide import ALPHA, LEAST_SEEDS, Difference, Values, Word, difference
from incast.results.grid import Entry, Grid, Run, headings, headline, made_of
from incast.results.listing.sheet import number
from incast.results.load import loads_of
from incast.results.measures.named import UNITS, Measure
from incast.results.titles import number_of

Kind = Literal["limits", "steady", "best", "baseline", "caution"]
"""Kinds of sentences, in their order."""

MOST_NAMED = 3
"""Of more names than this two are written, with the number of the others."""

MOST_SENTENCES = 6
"""Of more entries or workloads than this only the first have a sentence, and a line counts the others."""

MOST_GROUPS = 4
"""Of more workloads than this only those are named whose best entry is not the most frequent one."""

MOST_UNFINISHED = 0.01
"""Share of its flows that an entry may leave unfinished beyond the others and still be ranked."""


@dataclass(frozen=True)
class Sentence:
    """A sentence on a grid.

    Attributes:
        text: The sentence.
        kind: Its subject.
    """

    text: str
    kind: Kind


class Compared(Protocol):
    """An entry compared with its baseline, both by their values."""

    @property
    def of(self) -> tuple[str, ...]:
        """The values of the entry."""

    @property
    def to(self) -> tuple[str, ...]:
        """The values of its baseline."""

    @property
    def differences(self) -> Mapping[str, Difference]:
        """The differences by the names of the measures."""


def sentences(
    grid: Grid, compared: Sequence[Compared] = (), measures: Sequence[Measure] = (), *, ranked: bool = True
) -> list[Sentence]:
    """Returns the sentences on a grid, the most important first.

    Args:
        grid: The entries with their runs.
        compared: The comparisons with a baseline, if there is one.
        measures: The measures, by default the ones on the first screen.
        ranked: Whether the best entries are named. They cannot be where a rule has chosen the seeds.
    """
    if not grid.runs:
        return []
    asked = list(measures or headline(grid))
    fit, reasons = _candidates(grid)
    found = [*_limits(grid), *_steady(grid), *(reasons if len(grid.entries) > 1 else [])]
    told: set[tuple[frozenset[tuple[str, ...]], str]] = set()
    if ranked:
        for n, measure in enumerate(asked):
            said, pairs = _best(grid, _groups(grid, fit, measure), measure, brief=n > 0)
            found += said
            told |= {(pair, measure.name) for pair in pairs}
    found += _baseline(grid, compared, asked, told, few=any(one.kind == "best" for one in found))
    return [*found, *_cautions(grid)]


def _limits(grid: Grid) -> list[Sentence]:
    """Says that congestion control has decided nothing, if that is so."""
    if len(grid.entries) < 2 or not all(_held_back(run) == 0 for run in grid.runs):
        return []
    text = (
        "No flow was held back by any of these algorithms: this scenario cannot tell them apart."
        if grid.choice is not None
        else "No flow was held back by its algorithm: another one would change nothing."
    )
    return [Sentence(text, "limits")]


def _held_back(run: Run) -> int | None:
    return None if run.open is None else run.open().held_back


def _steady(grid: Grid) -> list[Sentence]:
    """Names the entries with loads that are not steady."""
    wrong: dict[str, tuple[int, int, str]] = {}
    for entry in grid.entries:
        loads = [loads_of(run.info) for run in entry.runs]
        bad = [one for its in loads for one in its if not one.steady]
        runs = sum(any(not one.steady for one in its) for its in loads)
        if bad:
            why = Counter(reason for one in bad for reason in one.because).most_common(1)
            wrong[entry.title] = (runs, len(entry.runs), why[0][0] if why else "")
    if len(wrong) == len(grid.entries) > 1:
        text = "No entry has a steady load: their numbers depend on the length of the run."
        return [Sentence(text, "steady")]
    if len(wrong) > MOST_SENTENCES:
        text = f"The load is not steady with {_names(list(wrong))}."
        return [Sentence(text, "steady")]
    return [
        Sentence(
            f"{title}: the load is not steady in {some} of {number_of(all_runs, 'run')}"
            + (f" ({why})." if why else "."),
            "steady",
        )
        for title, (some, all_runs, why) in wrong.items()
    ]


def _candidates(grid: Grid) -> tuple[list[Entry], list[Sentence]]:
    """Returns the entries that can be ranked, and why others cannot."""
    said = []
    sound = []
    for entry in grid.entries:
        if entry.sound:
            sound.append(entry)
        elif entry.runs:
            bad = sum(not run.sound for run in entry.runs)
            text = f"{entry.title} is not ranked: {_of_runs(bad, len(entry.runs))} did not end as it should."
            said.append(Sentence(text, "steady"))
    left = {entry.label: _unfinished(entry) for entry in sound}
    jobs = min((jobs for jobs, _, _ in left.values()), default=0)
    flows = min((share for _, _, share in left.values()), default=0.0)
    fit = []
    for entry in sound:
        its_jobs, its_flows, its_share = left[entry.label]
        if its_jobs > jobs or its_share > flows + MOST_UNFINISHED:
            what = [number_of(its_jobs, "job")] if its_jobs else []
            what += [number_of(its_flows, "flow")] if its_flows else []
            text = f"{entry.title} left {' and '.join(what)} unfinished and is not ranked."
            said.append(Sentence(text, "steady"))
        else:
            fit.append(entry)
    return fit, _at_most(said, "entries that are not ranked")


def _at_most(said: Sequence[Sentence], what: str) -> list[Sentence]:
    """Returns the first sentences of many, and one with the number of the others."""
    if len(said) <= MOST_SENTENCES:
        return list(said)
    text = f"And {len(said) - MOST_SENTENCES:,} more {what}, in the table below."
    return [*said[:MOST_SENTENCES], Sentence(text, said[0].kind)]


def _unfinished(entry: Entry) -> tuple[int, int, float]:
    """Returns the unfinished jobs and flows of an entry, and the share of these flows."""
    numbers = [run.numbers for run in entry.runs]
    jobs = int(sum(one.get("jobs_unfinished", 0) for one in numbers))
    flows = int(sum(one.get("flows_unfinished", 0) for one in numbers))
    finished = sum(one.get("flows_finished", 0) for one in numbers)
    return jobs, flows, flows / (flows + finished) if flows else 0.0


def _of_runs(some: int, runs: int) -> str:
    return "its run" if runs == 1 else f"{some} of {runs} runs"


@dataclass(frozen=True)
class _Group:
    """The entries of one workload.

    Attributes:
        where: The workload, like ``load 0.6``; empty if there is only one.
        entries: The entries with their values in the grid; their titles are without the workload.
    """

    where: str
    entries: Sequence[tuple[tuple[str, ...], Entry]]


def _groups(grid: Grid, fit: Sequence[Entry], measure: Measure) -> list[_Group]:
    """Returns the entries that can be compared with each other, by workload.

    Slowdowns and other ratios to an ideal are not compared between topologies, which have other ideals.
    """
    sections = ("traffic", "topology") if measure.kind == "ratio" else ("traffic",)
    fixed = [n for n, axis in enumerate(grid.axes) if axis.key.partition(".")[0] in sections]
    if not fixed:
        return [_Group("", [(entry.values, entry) for entry in fit])]
    heads = headings(grid.axes)
    by_workload: dict[tuple[str, ...], list[Entry]] = {}
    for entry in fit:
        by_workload.setdefault(tuple(entry.values[n] for n in fixed), []).append(entry)
    rest = [n for n in range(len(grid.axes)) if n not in fixed]
    axes = [grid.axes[n] for n in rest]
    groups = []
    for workload, entries in by_workload.items():
        where = ", ".join(f"{heads[n]} {value}" for n, value in zip(fixed, workload, strict=True))
        inside = made_of(
            grid.name, axes, {tuple(entry.values[n] for n in rest): entry.runs for entry in entries}
        ).entries
        groups.append(_Group(where, [(a.values, b) for a, b in zip(entries, inside, strict=True)]))
    return groups


@dataclass(frozen=True)
class _Outcome:
    """The sentence on a workload.

    Attributes:
        text: The sentence, as it stands after a colon.
        first: Whether it begins with a name, which keeps its letters.
        best: The name of the best entry; None if none is shown to be best.
    """

    text: str
    first: bool
    best: str | None = None


def _best(
    grid: Grid, groups: Sequence[_Group], measure: Measure, *, brief: bool
) -> tuple[list[Sentence], list[frozenset[tuple[str, ...]]]]:
    """Returns the sentences on the best entries of one measure, and the pairs of entries that have one.

    Of many workloads there is a sentence on all, and unless it has to be brief some on those that differ.
    """
    whole = {entry.values: entry for entry in grid.entries}
    sides = []
    for group in groups:
        # A run without a result is a missing value, as in the table of differences.
        known = {inside.title: grid.values_of(whole[values], measure) for values, inside in group.entries}
        sides.append({name: values for name, values in known.items() if values.by_seed})
    comparisons = sum(max(len(known) - 1, 0) for known in sides)
    confidence = 1 - ALPHA / max(comparisons, 1)
    outcomes = []
    pairs = []
    for group, known in zip(groups, sides, strict=True):
        outcome = outcome_of(known, measure, confidence) if len(known) > 1 else None
        if outcome is not None:
            outcomes.append((group.where, outcome))
            pairs += [frozenset(values for values, _ in group.entries)] if len(group.entries) == 2 else []
    if len(outcomes) <= MOST_GROUPS:
        return [_placed(where, outcome) for where, outcome in outcomes], pairs
    winner, times = Counter(outcome.best for _, outcome in outcomes).most_common(1)[0]
    if winner is None:
        start = f"no entry is shown to have the {_lowest(measure)} {measure.words}"
    else:
        start = f"{winner} has the {_lowest(measure)} {measure.words}"
    text = f"{start} in {times} of {len(outcomes)} workloads."
    others = [(where, outcome) for where, outcome in outcomes if outcome.best != winner]
    first = _Outcome(text, winner is not None)
    if brief:
        return [_placed("", first)], []
    return [_placed("", first), *_at_most([_placed(*one) for one in others], "workloads that differ")], []


def _placed(where: str, outcome: _Outcome) -> Sentence:
    if where:
        return Sentence(f"At {where}: {outcome.text}", "best")
    return Sentence(outcome.text if outcome.first else _capital(outcome.text), "best")


def outcome_of(known: Mapping[str, Values], measure: Measure, confidence: float) -> _Outcome | None:
    """Returns the sentence on the best of several entries.

    Args:
        known: Their values by name, at least two.
        measure: The measure.
        confidence: The confidence of each comparison.
    """
    if measure.better == "neither":
        return None
    if any(values.drawn and len(values.runs) < LEAST_SEEDS for values in known.values()):
        return _Outcome(_by_value(known, measure), first=False)
    best = _leader(known, measure, confidence)
    found = {
        name: difference(known[best], values, measure, confidence=confidence)
        for name, values in known.items()
        if name != best
    }
    return verdict(best, found, measure, worse=lambda name: difference(
        known[name], known[best], measure, confidence=confidence
    ))  # fmt: skip


class _Turned(Protocol):
    """Compares another entry with the leading one."""

    def __call__(self, name: str, /) -> Difference:
        """Returns the difference of an entry to the leading one."""


def verdict(best: str, found: Mapping[str, Difference], measure: Measure, worse: _Turned) -> _Outcome | None:
    """Returns the sentence that differences give.

    Args:
        best: The entry with the best mean.
        found: Its differences to all others.
        measure: The measure.
        worse: Returns the difference of another entry to this one.
    """
    words = measure.words
    few = {name: one for name, one in found.items() if one.word is Word.TOO_FEW}
    equal = [name for name, one in found.items() if one.word is Word.EQUAL]
    untold = [name for name, one in found.items() if one.word is Word.NOT_SHOWN]
    better = {name: one for name, one in found.items() if one.word is Word.BETTER}
    if len(few) + len(equal) + len(untold) + len(better) < len(found):
        return None
    if few:
        whys = list(dict.fromkeys(one.why for one in few.values()))
        between = "" if len(few) == len(found) else f" between {best} and {_names(list(few))}"
        return _Outcome(f"{words}: too few{between} ({'; '.join(whys)}).", first=False)
    lowest = _lowest(measure)
    if not untold and not equal:
        nearest = min(better, key=lambda name: abs(_distance(better[name])))
        last = ", the next." if len(better) > 1 else "."
        text = f"{best} has the {lowest} {words}: {better[nearest].beside()} {nearest}{last}"
        return _Outcome(text, first=True, best=best)
    far = ""
    if better:
        nearest = min(better, key=lambda name: abs(_distance(better[name])))
        others = f"{nearest} is" if len(better) == 1 else "the others are"
        amount = worse(nearest).beside()
        words_of, side, rest = amount.partition(" below" if amount.endswith("below") else " above")
        more = " or more" if len(better) > 1 else ""
        far = f"; {others} {words_of}{more}{side}{rest} {best}"
    if not untold:
        if not better:
            same = _names([best, *equal])
            return _Outcome(f"{words}: equal with {same}.", first=False)
        return _Outcome(
            f"{words}: {lowest} with {_names([best, *equal])}, which are equal{far}.", first=False
        )
    if len(found) == 1:
        return _Outcome(f"no difference shown in {words}.", first=False)
    untold = [name for name in found if name in untold or name in equal]
    to = "any other" if not better and len(untold) > 1 else _names(untold)
    return _Outcome(f"{words}: {lowest} with {best}, but no difference shown to {to}{far}.", first=False)


def _distance(found: Difference) -> float:
    """Returns how far apart two sides are; 0 if not at all."""
    return math.log(found.value) if found.scale == "ratio" else found.value


def _leader(known: Mapping[str, Values], measure: Measure, confidence: float) -> str:
    """Returns the entry with the best mean; the geometric one where ratios are compared."""
    ratio = measure.kind != "count" and all(v > 0 for one in known.values() for v in one.by_seed.values())

    def mean(name: str) -> float:
        values = [math.log(v) if ratio else v for v in known[name].by_seed.values()]
        found = math.fsum(values) / len(values)
        return found if measure.better == "lower" else -found

    best = min(known, key=mean)
    for _ in known:
        above = [
            name
            for name, values in known.items()
            if name != best
            and difference(known[best], values, measure, confidence=confidence).word is Word.WORSE
        ]
        if not above:
            break
        best = min(above, key=mean)
    return best


def _by_value(known: Mapping[str, Values], measure: Measure) -> str:
    """Returns the entries in the order of their means, without a verdict."""
    means = {name: math.fsum(one.by_seed.values()) / len(one.by_seed) for name, one in known.items()}
    order = sorted(means, key=lambda name: means[name] if measure.better == "lower" else -means[name])
    unit = UNITS.get(measure.kind, "")

    def shown(name: str) -> str:
        bound = "≥ " if known[name].at_least else ""
        return f"{name} {bound}{number(means[name] / measure.scale)} {unit}".strip()

    several = order[:MOST_SENTENCES]
    more = f" and {len(order) - len(several)} more" if len(order) > len(several) else ""
    return f"{measure.words}, by value: {', '.join(map(shown, several))}{more}."


def _baseline(
    grid: Grid,
    compared: Sequence[Compared],
    measures: Sequence[Measure],
    told: set[tuple[frozenset[tuple[str, ...]], str]],
    *,
    few: bool,
) -> list[Sentence]:
    """Returns a sentence for each comparison with the baseline, without what is said already.

    Of many comparisons there are the first with the first measure, and none where only few are wanted.
    """
    many = len(compared) > MOST_SENTENCES
    if many and few:
        return []
    titles = {entry.values: entry.title for entry in grid.entries}
    found = []
    for one in compared:
        if one.of not in titles or one.to not in titles:
            continue
        to = _without(titles[one.to], titles[one.of])
        parts = [
            _part(difference, to)
            for measure in measures[: 1 if many else None]
            if (difference := one.differences.get(measure.name)) is not None
            and (frozenset({one.of, one.to}), measure.name) not in told
        ]
        if parts:
            found.append(Sentence(f"{titles[one.of]}: {'; '.join(parts)}.", "baseline"))
    return _at_most(found, "comparisons")


def _without(title: str, other: str) -> str:
    """Returns the parts of a title that another one does not have."""
    known = other.split(", ")
    return ", ".join(part for part in title.split(", ") if part not in known) or title


def _part(found: Difference, to: str) -> str:
    words = found.measure.words
    if found.word is Word.TOO_FEW:
        return f"{words}: too few ({found.why})"
    if found.word in (Word.NOT_SHOWN, Word.EQUAL):
        return f"{words}: {found.word.value}{f' to {to}' if found.word is Word.EQUAL else ''}"
    return f"{words} {found.beside()} {to}"


def _cautions(grid: Grid) -> list[Sentence]:
    """Returns what weakens the answers."""
    if len(grid.entries) < 2:
        return []
    seeds = max(len(entry.runs) for entry in grid.entries)
    if seeds == 1:
        text = "One seed: differences may be luck. --seeds 5 gives intervals and words."
        return [Sentence(text, "caution")]
    drawn = [entry.values_of("finished").drawn for entry in grid.entries if entry.runs]
    if not any(drawn):
        return [Sentence("Nothing is drawn: the differences are exact.", "caution")]
    if seeds < LEAST_SEEDS:
        text = f"{seeds} seeds: at least {LEAST_SEEDS} are needed for intervals and words."
        return [Sentence(text, "caution")]
    return []


def _lowest(measure: Measure) -> str:
    return "lowest" if measure.better == "lower" else "highest"


def _names(names: Sequence[str]) -> str:
    """Returns names in a sentence; of many two, and the number of the others."""
    if len(names) > MOST_NAMED:
        return f"{', '.join(names[:2])} and {len(names) - 2} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _capital(text: str) -> str:
    """Returns a sentence with its first letter large; ``p99`` stays."""
    return text if text[1:2].isdigit() else f"{text[0].upper()}{text[1:]}"
