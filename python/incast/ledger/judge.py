"""From results to verdicts."""

from __future__ import annotations

import enum
import inspect
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from incast.ledger.band import Band
from incast.ledger.figure import Claim, Earlier, Figure
from incast.ledger.found import Found
from incast.ledger.reader import LedgerError
from incast.ledger.runs import Results
from incast.results import stats
from incast.results.measures import MEASURES, r_squared
from incast.results.measures.quantity import Quantity


class Verdict(enum.Enum):
    """The outcome of a claim, the best one first."""

    REPRODUCED = "reproduced"
    TREND = "trend"
    UNDECIDED = "undecided"
    NOT_REPRODUCED = "not reproduced"

    def worse_than(self, other: Verdict) -> bool:
        """Whether this verdict comes after another one in the order above."""
        order = list(Verdict)
        return order.index(self) > order.index(other)


@dataclass(frozen=True)
class Judgement:
    """A claim with what was measured.

    Attributes:
        claim: The claim.
        ours: The value measured here.
        verdict: The verdict by the claim's rule.
        evidence: For each evidence of the claim's reason, the measured value and whether it holds, if the
            reason is needed.
        earlier: For each rule that was replaced, the value by it and its verdict.
    """

    claim: Claim
    ours: Found
    verdict: Verdict
    evidence: tuple[tuple[Found, bool], ...] = ()
    earlier: tuple[tuple[Found, Verdict], ...] = ()

    @property
    def reason_holds(self) -> bool:
        """Whether there is a reason, and all of its evidence is as it says."""
        return bool(self.claim.reason) and all(holds for _, holds in self.evidence)

    @property
    def first(self) -> Verdict:
        """The verdict by the first rule of the claim, with the bands as they were written then."""
        if self.earlier:
            return self.earlier[0][1]
        return verdict_of(self.claim, self.ours, bounded=False)


def judge(
    figure: Figure, results: Results, earlier: Mapping[str, Sequence[Found]] | None = None
) -> list[Judgement]:
    """Measures every claim of a figure and applies its rule.

    Args:
        figure: The figure.
        results: The results of its runs.
        earlier: For each claim, the recorded values of its earlier rules: for those that look at runs which
            the figure leaves out.

    Raises:
        LedgerError: When a measure cannot be computed as written.
    """
    return [_judge(figure, claim, results, (earlier or {}).get(claim.id, ())) for claim in figure.claims]


def _judge(figure: Figure, claim: Claim, results: Results, recorded: Sequence[Found]) -> Judgement:
    where = f"{figure.id}: claim {claim.id!r}"
    results.allowed = frozenset(spec.name for spec in figure.behind(claim)) if claim.runs else None
    try:
        ours = _checked(claim.measure, results, where, claim.unit, claim.seeds)
    finally:
        results.allowed = None
    earlier = []
    for i, rule in enumerate(claim.earlier):
        if not figure.is_left_out(rule):
            earlier.append(_checked(rule.measure, results, f"{where}: earlier", rule.unit, rule.seeds))
        elif i < len(recorded):
            earlier.append(recorded[i])
        else:
            raise LedgerError(
                f"{where}: an earlier rule looks at runs that are not made, and nothing is recorded of it\n"
                "    help: --earlier makes these runs"
            )
    evidence = []
    if verdict_of(claim, ours) is not Verdict.REPRODUCED:
        evidence = [
            _checked(item.measure, results, f"{where}: evidence", item.unit, claim.seeds)
            for item in claim.evidence
        ]
    return conclude(claim, ours, earlier, evidence)


def conclude(
    claim: Claim, ours: Found, earlier: Sequence[Found], evidence: Sequence[Found] = ()
) -> Judgement:
    """The judgement of a claim that follows from measured values.

    Args:
        claim: The claim.
        ours: The value of its measure.
        earlier: The values of its earlier rules.
        evidence: The values of the evidence for its reason; empty where there is none.
    """
    found = []
    for item, value in zip(claim.evidence, evidence, strict=False):
        item.band.fits(value.value)
        # A reason that several seeds support on average is not shown by them.
        found.append((value, item.band.holds_all(value.low, value.high)))
    replaced = [
        (value, verdict_of(rule, value, bounded=False))
        for rule, value in zip(claim.earlier, earlier, strict=True)
    ]
    verdict = verdict_of(claim, ours)
    kept = () if verdict is Verdict.REPRODUCED else tuple(found)
    return Judgement(claim, ours, verdict, kept, tuple(replaced))


def verdict_of(rule: Claim | Earlier, ours: Found, *, bounded: bool = True) -> Verdict:
    """The verdict that follows from a value by a rule.

    With several seeds it is the verdict of the whole confidence interval: ``reproduced`` if all of it lies in
    that band, ``trend`` if all of it lies in the two bands together, ``not reproduced`` if none of it lies in
    either, else ``undecided``. What the runs had no room to show, an infinite value, is ``undecided`` where a
    band would hold it.

    Args:
        rule: The rule.
        ours: The value.
        bounded: Whether infinite values are no evidence. For rules of earlier times they were.
    """
    bands = [rule.reproduced] if rule.trend is None else [rule.reproduced, rule.trend]
    for band in bands:
        band.fits(ours.value)
    low, high = ours.low, ours.high
    touched = any(band.touches(low, high) for band in bands)
    if bounded and not ours.bounded:
        return Verdict.UNDECIDED if touched else Verdict.NOT_REPRODUCED
    if rule.reproduced.holds_all(low, high) and not (bounded and _has_no_effect(rule, ours)):
        return Verdict.REPRODUCED
    if rule.trend is not None and _together(rule.reproduced, rule.trend).holds_all(low, high):
        return Verdict.TREND
    return Verdict.UNDECIDED if touched else Verdict.NOT_REPRODUCED


def _has_no_effect(rule: Claim | Earlier, ours: Found) -> bool:
    """Whether a claim of an effect meets none: the end of a band that lies at no effect is not part of it."""
    if not isinstance(rule, Claim) or rule.equal or rule.bands.scale is None:
        return False
    return ours.low <= rule.bands.scale.none <= ours.high


def _together(first: Band, second: Band) -> Band:
    """Two bands as one; the second, if they do not touch."""
    if not first.touches(second.low, second.high):
        return second
    return Band("", min(first.low, second.low), max(first.high, second.high), first.dimension)


def _checked(spec: Mapping[str, Any], results: Results, where: str, unit: str, seeds: int = 0) -> Found:
    try:
        found = _over_seeds(spec, results, seeds)
        found.shown(unit)
    except LedgerError as error:
        raise LedgerError(f"{where}: {error}") from None
    except (ValueError, LookupError, TypeError, ArithmeticError, OSError) as error:
        raise LedgerError(f"{where}: {error}") from error
    return found


def _over_seeds(spec: Mapping[str, Any], results: Results, seeds: int) -> Found:
    """A measure for each seed, and its mean; once, where no run that it looks at has several seeds."""
    results.seeded = False
    found: list[Quantity] = []
    for replica in itertools.islice(results.replicas(), seeds or None):
        found.append(evaluate(spec, replica))
        if not results.seeded:
            return Found.once(found[0])
    return Found.over(found)


def evaluate(spec: Mapping[str, Any], results: Results, run: str | None = None) -> Quantity:
    """Computes a measure.

    A measure is a table: ``do`` names it, ``run`` the run it is taken from, and the other keys are its
    arguments. Measures combine others, given as tables, the inner ones with the runs in place of which
    ``each`` stands:

    - ``ratio`` (``of``, ``to``), ``difference`` (``of``, ``less``), ``improvement`` (1 − ``of``/``over``: by
      how much it is lower), ``better`` (``over``/``of`` − 1: by how much it outperforms), ``distance`` (from
      1, in powers of two: 0 at 1, 1 at a half and at 2)
    - ``mean``, ``median``, ``smallest``, ``largest``, ``sum`` of ``all``, a list of measures, or of ``of``
      over the runs that fit ``each``; ``flatness`` is the largest over the smallest
    - ``fit``: ``of`` over the runs that fit ``each`` against what varies under ``against``; ``take`` is
      ``r2`` or ``slope`` of a straight line, or ``exponent`` of a power law
    - ``analysis`` (``call``, and its arguments): a function of the figure's ``analysis.py``, which returns a
      number or a :class:`Quantity`; one with a parameter ``results`` is given the runs
    - ``share_closer``: of the pairs of runs that fit ``each`` and ``than``, in order, the share in which
      ``of`` is smaller in the first

    Args:
        spec: The measure.
        results: The runs.
        run: The run for measures that name none.

    Raises:
        LedgerError: When it is not written properly.
        ValueError: When there is nothing to measure, or values of different dimensions meet.
    """
    arguments = dict(spec)
    do = arguments.pop("do", None)
    run = arguments.pop("run", run)
    if do == "analysis":
        found = call(arguments, results, run)
        return found if isinstance(found, Quantity) else Quantity(float(found))
    if do in _COMBINE:
        return _COMBINE[do](arguments, results, run)
    if do not in MEASURES:
        known = ", ".join(sorted([*MEASURES, *_COMBINE, "analysis"]))
        raise LedgerError(f"unknown measure {do!r}; known: {known}")
    if run is None:
        raise LedgerError(f"the measure {do!r} names no run")
    measure = MEASURES[do]
    try:
        arguments = measure.checked(arguments)
    except ValueError as error:
        raise LedgerError(str(error)) from None
    (name,) = results.matching(run)
    return measure.function(results.view(name), **_filled(arguments, results.spec(name).values))


def call(arguments: Mapping[str, Any], results: Results, run: str | None = None) -> Any:  # noqa: ANN401  # a number, or points
    """Calls a function of a figure's ``analysis.py`` and returns what it returns.

    Args:
        arguments: ``call`` names it; the others are its arguments.
        results: The runs, for a function with a parameter ``results``.
        run: The run at hand, for one with a parameter ``run``, if the arguments name none.

    Raises:
        LedgerError: When there is no such function, or it does not take these arguments.
    """
    given = dict(arguments)
    name = given.pop("call", None)
    if not isinstance(name, str):
        raise LedgerError("the measure 'analysis': missing: call")
    function = results.analysis(name)
    signature = inspect.signature(function)
    if "results" in signature.parameters:
        given["results"] = results
    if "run" in signature.parameters and run is not None:
        given.setdefault("run", run)
    try:
        signature.bind(**given)
    except TypeError as error:
        raise LedgerError(f"{name}: {error}") from None
    return function(**given)


def _filled(arguments: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
    """The arguments with varied values: ``{us}us`` becomes ``1003us`` where the run has us = 1003."""
    try:
        return {
            key: value.format_map(values) if isinstance(value, str) else value
            for key, value in arguments.items()
        }
    except (KeyError, IndexError):
        raise LedgerError(f"an argument names a value that is not in vary: {dict(arguments)}") from None


def _two(arguments: dict[str, Any], results: Results, run: str | None, *keys: str) -> list[Quantity]:
    if set(arguments) != set(keys):
        raise LedgerError(f"takes {' and '.join(keys)}, not {', '.join(arguments)}")
    values = [evaluate(arguments[key], results, run) for key in keys]
    if len({value.dimension for value in values}) > 1:
        raise ValueError("values of different dimensions are compared")
    return values


def _ratio(arguments: dict[str, Any], results: Results, run: str | None) -> Quantity:
    of, to = _two(arguments, results, run, "of", "to")
    return Quantity(of.value / to.value if to.value else math.inf)


def _difference(arguments: dict[str, Any], results: Results, run: str | None) -> Quantity:
    of, less = _two(arguments, results, run, "of", "less")
    return Quantity(of.value - less.value, of.dimension)


def _improvement(arguments: dict[str, Any], results: Results, run: str | None) -> Quantity:
    of, over = _two(arguments, results, run, "of", "over")
    return Quantity(1 - of.value / over.value)


def _better(arguments: dict[str, Any], results: Results, run: str | None) -> Quantity:
    of, over = _two(arguments, results, run, "of", "over")
    return Quantity(over.value / of.value - 1)


def _distance(arguments: dict[str, Any], results: Results, run: str | None) -> Quantity:
    (of,) = _two(arguments, results, run, "of")
    return Quantity(abs(math.log2(of.value)))


def _several(arguments: dict[str, Any], results: Results, run: str | None) -> tuple[list[float], str]:
    if set(arguments) == {"all"}:
        found = [evaluate(spec, results, run) for spec in arguments["all"]]
    elif set(arguments) == {"each", "of"}:
        found = [evaluate(arguments["of"], results, name) for name in results.matching(arguments["each"])]
    else:
        raise LedgerError(f"takes all, or each and of, not {', '.join(arguments)}")
    if len({value.dimension for value in found}) != 1:
        raise ValueError("values of different dimensions are combined")
    return [value.value for value in found], found[0].dimension


def _mean(arguments: dict[str, Any], results: Results, run: str | None) -> Quantity:
    values, dimension = _several(arguments, results, run)
    return Quantity(float(np.mean(values)), dimension)


def _median(arguments: dict[str, Any], results: Results, run: str | None) -> Quantity:
    values, dimension = _several(arguments, results, run)
    return Quantity(stats.median(values), dimension)


def _sum(arguments: dict[str, Any], results: Results, run: str | None) -> Quantity:
    values, dimension = _several(arguments, results, run)
    return Quantity(float(np.sum(values)), dimension)


def _smallest(arguments: dict[str, Any], results: Results, run: str | None) -> Quantity:
    values, dimension = _several(arguments, results, run)
    return Quantity(min(values), dimension)


def _largest(arguments: dict[str, Any], results: Results, run: str | None) -> Quantity:
    values, dimension = _several(arguments, results, run)
    return Quantity(max(values), dimension)


def _flatness(arguments: dict[str, Any], results: Results, run: str | None) -> Quantity:
    values, _ = _several(arguments, results, run)
    return Quantity(max(values) / min(values) if 0 < min(values) < math.inf else math.inf)


def _fit(arguments: dict[str, Any], results: Results, run: str | None) -> Quantity:
    if set(arguments) != {"each", "of", "against", "take"}:
        raise LedgerError("takes each, of, against and take")
    x, y = points(arguments, results)
    match arguments["take"]:
        case "r2":
            return Quantity(r_squared(x, y))
        case "slope":
            return Quantity(float(np.polyfit(x, y, 1)[0]))
        case "exponent":
            return Quantity(float(np.polyfit(np.log(x), np.log(y), 1)[0]))
    raise LedgerError(f"take = {arguments['take']!r} is not one of r2, slope, exponent")


def points(spec: Mapping[str, Any], results: Results) -> tuple[Any, Any]:
    """The points of a sweep: what varies under ``against``, and ``of``, for the runs that fit ``each``.

    Raises:
        LedgerError: When nothing varies under that name, or not in numbers.
    """
    names = results.matching(spec["each"])
    try:
        x = [_leading(results.spec(name).values[spec["against"]]) for name in names]
    except KeyError:
        raise LedgerError(f"there is no varied value called {spec['against']!r}") from None
    return np.array(x), np.array([evaluate(spec["of"], results, name).value for name in names])


def _leading(text: str) -> float:
    """The number that a text begins with: 25 of ``25Gbps``."""
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ%")
    try:
        return float(digits)
    except ValueError:
        raise LedgerError(f"{text!r} does not begin with a number") from None


def _share_closer(arguments: dict[str, Any], results: Results, run: str | None) -> Quantity:
    if set(arguments) != {"each", "than", "of"}:
        raise LedgerError("takes each, than and of")
    first, second = (results.matching(arguments[key]) for key in ("each", "than"))
    if len(first) != len(second):
        raise LedgerError(f"{len(first)} runs cannot be compared pairwise with {len(second)}")
    wins = [
        evaluate(arguments["of"], results, a).value < evaluate(arguments["of"], results, b).value
        for a, b in zip(first, second, strict=True)
    ]
    return Quantity(float(np.mean(wins)))


_COMBINE = {
    "ratio": _ratio,
    "difference": _difference,
    "improvement": _improvement,
    "better": _better,
    "distance": _distance,
    "mean": _mean,
    "median": _median,
    "sum": _sum,
    "smallest": _smallest,
    "largest": _largest,
    "flatness": _flatness,
    "fit": _fit,
    "share_closer": _share_closer,
}

__all__ = [
    "Band",
    "Found",
    "Judgement",
    "Verdict",
    "call",
    "conclude",
    "evaluate",
    "judge",
    "points",
    "verdict_of",
]
