"""Requirements: conditions that each entry of a grid meets, misses, or leaves open.

```text
requirement = [entry ":"] measure op bound  |  [entry ":"] ("steady" | "sound" | "finished")
op = "<" | "<=" | ">" | ">=" | "="          bound = number [unit] | number "x" entry
```

The value of an entry is its mean over the seeds, with the interval of :class:`incast.Estimate`. A requirement
is met if the whole interval satisfies it. What is not measured is never met.
"""

from __future__ import annotations

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from incast import catalogue
from incast.results import stats
from incast.results.decide import Values, Word, difference
from incast.results.grid import Asked, Entry, Grid, Gridlike, Run, asked
from incast.results.listing.sheet import number
from incast.results.load import loads_of
from incast.results.measures.call import Call, in_column
from incast.results.measures.named import UNITS, Measure
from incast.results.measures.quantity import quantity
from incast.results.stats import Estimate
from incast.results.titles import number_of

STATES = ("steady", "sound", "finished")
"""Requirements without a number: each load is steady, each run is sound, each flow and job has finished."""


class Outcome(Enum):
    """The outcome of a requirement."""

    MET = "met"
    MISSED = "missed"
    OPEN = "open"
    NOT_MEASURED = "not measured"

    @property
    def sign(self) -> str:
        """Its sign at the start of a line."""
        return {"met": "✓", "missed": "✗", "open": "?", "not measured": "–"}[self.value]


@dataclass(frozen=True)
class Requirement:
    """A condition on a number of each entry, or on a state of its runs.

    Attributes:
        text: The condition as it is written, without its entry.
        of: The entries that it is about, as they are written; empty for all.
        measure: The number; None for a state.
        op: The operator, or the name of the state.
        bound: The bound, in picoseconds, bytes, bit/s or without a unit; with ``to`` a factor.
        to: The entry whose number times ``bound`` is the bound, as it is written; empty for none.
    """

    text: str
    of: str
    measure: Asked | None
    op: str
    bound: float = math.nan
    to: str = ""

    @classmethod
    def read(cls, text: str, grid: Grid) -> Requirement:
        """Reads a requirement.

        Args:
            text: Like ``p99.small < 3``, ``OSCAR: jobs.slowest <= 500us``, ``p99.small < 1.1x hpcc``.
            grid: The entries that it may name; they need no runs.

        Raises:
            ValueError: When it is none, or there is no such measure, unit or entry.
        """
        try:
            found = cls._read(" ".join(text.split()))
            for name in filter(None, (found.of, found.to)):
                grid.matching(name)
        except (KeyError, ValueError) as error:
            raise ValueError(f"{text}: {error.args[0]}") from None
        return found

    @classmethod
    def _read(cls, text: str) -> Requirement:
        """Reads a text, which may begin with the name of an entry; names have colons too."""
        starts = [0, *(found.end() for found in re.finditer(":", text))]
        for start in starts:
            entry, rest = text[: max(start - 1, 0)].strip(), text[start:].strip()
            if start and not entry:
                continue
            if rest in STATES:
                return cls(rest, entry, None, rest)
            if found := _CONDITION.fullmatch(rest):
                measure = asked(found["measure"].strip())
                if found["to"]:
                    return cls(rest, entry, measure, found["op"], float(found["number"]), found["to"].strip())
                return cls(rest, entry, measure, found["op"], _bound(found["number"], found["unit"], measure))
        raise ValueError(
            "this is not a requirement; write one like p99.small < 3, jobs.slowest <= 500us, "
            "oscar: p99.small < 1.1x hpcc, or steady, sound, finished"
        )

    def checks(self, grid: Grid) -> list[Check]:
        """Judges the entries that it is about.

        Args:
            grid: The entries with their runs.

        Raises:
            ValueError: When it names an entry that is not there, or several as one bound.
        """
        try:
            entries = grid.matching(self.of) if self.of else list(grid.entries)
            if not self.to:
                return [self._check(grid, entry) for entry in entries]
            bases = grid.matching(self.to)
        except KeyError as error:
            raise ValueError(f"{self.text}: {error.args[0]}") from None
        pairs = [(entry, _base(entry, bases, self.to)) for entry in entries]
        if all(base is entry for entry, base in pairs):
            raise ValueError(f'{self.text}: there is no entry but "{self.to}"')
        return [self._compared(grid, entry, base) for entry, base in pairs if base is not entry]

    def _check(self, grid: Grid, entry: Entry) -> Check:
        """Judges an entry by itself."""
        if self.measure is None:
            return self._state(grid, entry)
        values, why = _values(grid, entry, self.measure)
        if values is None:
            return Check(self, entry.title, Outcome.NOT_MEASURED, why=why)
        known = list(values.by_seed.values())
        estimate = Estimate.of(known, drawn=values.drawn)
        low, high = estimate.low, estimate.high
        if math.isinf(estimate.mean):
            low, high = min(known), math.inf
        if values.at_least:
            high = math.inf
        outcome = self._outcome(low, high)
        if self.op == "=":
            # An average is no answer to whether a number is this one: each run must have it.
            others = sum(value != self.bound for value in known)
            beyond = any(value > self.bound for value in known)
            outcome = Outcome.MISSED if others else Outcome.MET
            if values.at_least and not beyond:
                outcome = Outcome.OPEN
            elif 0 < others < len(known):
                why = f"not in {others} of {len(known)} runs"
        if values.at_least and outcome is not Outcome.MET:
            why = _unfinished(entry)
        elif outcome is Outcome.OPEN:
            why = "never in some runs" if math.isinf(high) else "more seeds decide"
        elif len(known) == 1 and values.drawn:
            why = "1 seed"
        bound = bool(values.at_least)
        return Check(self, entry.title, outcome, estimate.mean, low, high, len(known), why, bound)

    def _compared(self, grid: Grid, entry: Entry, base: Entry) -> Check:
        """Judges an entry by another one, seed by seed."""
        assert self.measure is not None
        sides = []
        for one in (entry, base):
            values, why = _values(grid, one, self.measure)
            if values is None:
                about = why if one is entry else f"{base.title}: {why}"
                return Check(self, entry.title, Outcome.NOT_MEASURED, why=about)
            sides.append(values)
        measure = self.measure if isinstance(self.measure, Measure) else self.measure.measure
        found = difference(sides[0], sides[1], measure)
        if found.scale == "difference":
            # Without a ratio the entry is compared with the bound itself.
            scaled = {seed: value * self.bound for seed, value in sides[1].by_seed.items()}
            found = difference(sides[0], replace(sides[1], by_seed=scaled), measure)
        level = self.bound if found.scale == "ratio" else 0.0
        if math.isnan(found.value):
            return Check(self, entry.title, Outcome.NOT_MEASURED, seeds=found.seeds, why=found.why)
        said = "" if found.scale == "ratio" else found.shown()
        if found.word is Word.TOO_FEW:
            low = high = math.nan
            outcome, why = Outcome.OPEN, found.why
        else:
            low, high = found.low, found.high
            outcome = self._outcome(low, high, level)
            if self.op == "=" and low < high:
                outcome = Outcome.OPEN if low <= level <= high else Outcome.MISSED
            why = "more seeds decide" if outcome is Outcome.OPEN else ""
            if outcome is Outcome.OPEN and any(side.at_least for side in sides):
                why = "flows did not finish"
        return Check(self, entry.title, outcome, found.value, low, high, found.seeds, why, shown_as=said)

    def _outcome(self, low: float, high: float, bound: float | None = None) -> Outcome:
        """Returns the outcome of an interval."""
        level = self.bound if bound is None else bound
        best, worst = (low, high) if self.op.startswith("<") else (high, low)
        if self.op == "=":
            return Outcome.MET if low == high == level else Outcome.MISSED
        holds = _OPERATORS[self.op]
        if holds(worst, level):
            return Outcome.MET
        return Outcome.OPEN if holds(best, level) else Outcome.MISSED

    def _state(self, grid: Grid, entry: Entry) -> Check:
        """Judges a state of the runs of an entry."""
        wrong = _without_result(grid, entry) or _not_sound(entry)
        seeds = len(entry.runs)
        none = not entry.runs and not len(grid.failed_of(entry))
        if none or (wrong and self.op == "steady"):
            return Check(self, entry.title, Outcome.NOT_MEASURED, seeds=seeds, why=wrong)
        if self.op == "steady":
            loads = [one for run in entry.runs for one in loads_of(run.info)]
            if any(not loads_of(run.info) for run in entry.runs):
                why = "no traffic block has a load"
                return Check(self, entry.title, Outcome.NOT_MEASURED, seeds=seeds, why=why)
            reasons = Counter(one.verdict for one in loads if not one.steady).most_common(1)
            wrong = reasons[0][0] if reasons else ""
        elif self.op == "finished" and not wrong:
            wrong = _unfinished(entry)
        outcome = Outcome.MISSED if wrong else Outcome.MET
        return Check(self, entry.title, outcome, seeds=seeds, why=wrong)


@dataclass(frozen=True)
class Check:
    """The outcome of a requirement for an entry.

    Attributes:
        requirement: The requirement.
        entry: The title of the entry.
        outcome: Its outcome.
        value: The mean over the seeds, or with a bound of another entry the ratio to it; NaN if unknown.
        low: Lower end of its interval.
        high: Upper end.
        seeds: The number of seeds.
        why: What the outcome rests on, if there is more to say.
        at_least: Whether the value is only a lower bound.
        shown_as: The value in words where it is no ratio but a difference; else empty.
    """

    requirement: Requirement
    entry: str
    outcome: Outcome
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    seeds: int = 0
    why: str = ""
    at_least: bool = False
    shown_as: str = ""

    @property
    def met(self) -> bool:
        """Whether it is met; not if it is open or not measured."""
        return self.outcome is Outcome.MET

    @property
    def shown(self) -> str:
        """The value with its interval; empty if it is unknown."""
        if self.shown_as or math.isnan(self.value) or self.requirement.measure is None:
            return self.shown_as
        of = self.requirement.measure
        measure = of if isinstance(of, Measure) else of.measure
        ratio = bool(self.requirement.to)
        scale, unit = (1.0, "") if ratio else (measure.scale, UNITS.get(measure.kind, ""))
        text = f"{'≥ ' if self.at_least else ''}{number(self.value / scale)}{'x' if ratio else ''}"
        text = f"{text} {unit}".rstrip()
        if math.isnan(self.low) or self.low == self.high or self.at_least:
            return text
        return f"{text} ({_signed(self.low / scale)} – {_signed(self.high / scale)})"

    def __str__(self) -> str:
        parts = [f"{self.outcome.sign} {self.requirement.text}", self.entry, self.shown, self.why]
        return "  ".join(part for part in parts if part)


def require(results: Gridlike, *texts: str) -> list[Check]:
    """Judges results by requirements.

    Args:
        results: A result, several of them, several by name; or a comparison, replications or a sweep.
        texts: Requirements, like ``p99.small < 3``, ``OSCAR: jobs.slowest <= 500us``, ``finished``.

    Returns:
        For each requirement a check of each entry that it is about. ``all(check.met for check in …)`` says
        whether all are met.

    Raises:
        ValueError: When a text is no requirement, or there is no such measure, unit or entry.
    """
    grid = Grid.of(results)
    return judged(grid, [Requirement.read(text, grid) for text in texts])


def judged(grid: Grid, requirements: Sequence[Requirement]) -> list[Check]:
    """Returns the checks of several requirements, in their order.

    Args:
        grid: The entries with their runs.
        requirements: The requirements.

    Raises:
        ValueError: When one names an entry that is not there.
    """
    # Calls have no hash.
    each = [one for n, one in enumerate(requirements) if one not in requirements[:n]]
    return [check for one in each for check in one.checks(grid)]


def counted(checks: Sequence[Check]) -> str:
    """Returns how many checks have which outcome: ``2 of 3 met, 1 not measured``.

    Args:
        checks: The checks.
    """
    counts = Counter(check.outcome for check in checks)
    said = [f"{counts[Outcome.MET]} of {len(checks)} met"]
    said += [f"{counts[one]} {one.value}" for one in Outcome if one is not Outcome.MET and counts[one]]
    return ", ".join(said)


def _signed(value: float) -> str:
    """Returns a number as intervals have it."""
    return number(value).replace("-", "−")


_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_CONDITION = re.compile(
    r"(?P<measure>[A-Za-z_][\w.]*\s*(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?)\s*(?P<op><=|>=|<|>|=)\s*"
    r"(?P<number>[+-]?\d+(?:\.\d+)?)\s*(?:x\s+(?P<to>\S.*)|(?P<unit>[A-Za-z%]*))"
)


def _bound(digits: str, unit: str, measure: Asked) -> float:
    """Returns a bound in the unit in which values of a measure are compared."""
    of = measure if isinstance(measure, Measure) else measure.measure
    if of.kind in ("time", "bytes", "rate"):
        name, example = _NAMES[of.kind]
        if not unit:
            raise ValueError(f'{name} needs its unit, like "{example}"')
        try:
            found = quantity(f"{digits}{unit}")
        except ValueError:
            # Units that only scenario files have, like MiB and Tbps.
            try:
                return float(catalogue.read_quantity(of.kind, f"{digits}{unit}"))
            except ValueError:
                raise ValueError(f'"{digits}{unit}" is not {name}, like "{example}"') from None
        if found.dimension != of.kind:
            raise ValueError(f'"{digits}{unit}" is not {name}, like "{example}"')
        return in_column(found)
    plain = ("", "%", "x", "RTT", "BDP") if isinstance(measure, Call) else ("", "x")
    if unit not in plain and not (unit == "%" and of.kind != "count"):
        what = "a slowdown" if of.slowdown_of else "a count" if of.kind == "count" else "this number"
        raise ValueError(f"{what} has no unit")
    return quantity(f"{digits}{unit}").value


_NAMES = {"time": ("a time", "12us"), "bytes": ("an amount", "75KB"), "rate": ("a rate", "100Gbps")}


def _base(entry: Entry, bases: Sequence[Entry], text: str) -> Entry:
    """Returns the bounding entry, which has the values of another entry in all keys that are not named."""
    named = [n for n, _ in enumerate(entry.values) if len({base.values[n] for base in bases}) == 1]
    if len(bases) == 1:
        return bases[0]
    found = [
        base
        for base in bases
        if all(
            a == b for n, (a, b) in enumerate(zip(entry.values, base.values, strict=True)) if n not in named
        )
    ]
    if len(found) != 1:
        raise ValueError(f'no entry "{text}" is like "{entry.title}" in all else')
    return found[0]


def _values(grid: Grid, entry: Entry, measure: Asked) -> tuple[Values | None, str]:
    """Returns the values of an entry; None where it is not measured in each run, with the reason."""
    if why := _without_result(grid, entry) or _not_sound(entry):
        return None, why
    values = entry.values_of(measure)
    without = [run for run in entry.runs if run.seed not in values.by_seed]
    if without:
        of = "" if len(without) == len(entry.runs) else f" in {len(without)} of {len(entry.runs)} runs"
        return None, f"{_why(without[0], measure)}{of}"
    return values, ""


def _why(run: Run, measure: Asked) -> str:
    """Returns why a run does not have a number."""
    if isinstance(measure, Call):
        if run.open is None:
            return "its tables are not there"
        try:
            measure.of(run.open())
        except ValueError as error:
            return str(error)
        return "jobs did not finish"
    metric = measure.metrics[0]
    if size := measure.slowdown_of:
        flows = "flow" if size == "all" else f"{size} flow"
        return f"{flows}s did not finish" if run.unfinished(size) else f"no {flows} finished"
    if metric.startswith("job"):
        if left := run.numbers.get("jobs_unfinished"):
            return f"{number_of(int(left), 'job')} did not finish"
        return "no job is a collective" if "jobs_unfinished" in run.numbers else "there are no jobs"
    return "no port is probed" if metric.startswith("queue_") else f"there is no {measure.words}"


def _without_result(grid: Grid, entry: Entry) -> str:
    """Says that runs of an entry have no result; empty if all have one."""
    if failures := len(grid.failed_of(entry)):
        return f"{failures} of {number_of(failures + len(entry.runs), 'run')} failed"
    return "" if entry.runs else "no run has a result"


def _not_sound(entry: Entry) -> str:
    """Says that runs of an entry did not end as they should; empty if all did."""
    bad = [run for run in entry.runs if not run.sound]
    return f"{len(bad)} of {number_of(len(entry.runs), 'run')} did not end as it should" if bad else ""


def _unfinished(entry: Entry) -> str:
    """Says what did not finish in the runs of an entry; empty if all did."""
    for one in ("job", "flow"):
        known = (stats.metrics(run.info).get(f"{one}s_unfinished", 0.0) for run in entry.runs)
        if left := int(sum(known)):
            return f"{number_of(left, one)} did not finish"
    return ""
