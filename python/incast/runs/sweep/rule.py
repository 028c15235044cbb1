"""The rule by which seeds are added until the comparisons of a sweep are decided.

Look k of K, from 0, may miss with the probability α·2ᵏ/(2ᴷ − 1): later looks, which rest on more seeds, with
more. So whichever look ends a comparison, all intervals of a measure hold together with 1 − α.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

from incast.errors import ScenarioError
from incast.results import stats
from incast.results.decide import ALPHA, Difference, Word
from incast.results.measures.named import Measure, find
from incast.runs.sweep.decisions import Baseline, Combination, Decision, Pair
from incast.runs.sweep.plan import Plan

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FIRST_SEEDS = 5
"""Number of seeds of the first look; each later one has twice as many."""

MOST_SEEDS = 40
"""Number of seeds of the last look, if none is given."""

_WORK = frozenset(
    {
        "all-to-all",
        "chakra-trace",
        "collective",
        "file-requests",
        "goal-file",
        "hsdp",
        "parameter-server",
        "ring-allreduce",
        "simai-file",
    }
)
"""Kinds of traffic with operations, whose times are the times of jobs."""


@dataclass(frozen=True)
class Look:
    """A time at which open comparisons are decided, if they can be.

    Attributes:
        seeds: The number of seeds that it uses, counted from the first one.
        alpha: The probability that any of its intervals of a measure misses the true value.
    """

    seeds: int
    alpha: float


def schedule(most: int, alpha: float = ALPHA) -> tuple[Look, ...]:
    """Returns the looks: with 5, 10, 20, … seeds, and with the largest number.

    Args:
        most: The largest number of seeds.
        alpha: The probability that any interval of any look misses the true value.

    Raises:
        ValueError: With fewer seeds than the first look needs.
    """
    if most < FIRST_SEEDS:
        raise ValueError(f"the first look is at {FIRST_SEEDS} seeds")
    seeds = [FIRST_SEEDS]
    while seeds[-1] < most:
        seeds.append(min(2 * seeds[-1], most))
    parts = 2 ** len(seeds) - 1
    return tuple(Look(n, alpha * 2**k / parts) for k, n in enumerate(seeds))


@dataclass(frozen=True)
class Rule:
    """A rule that adds seeds.

    Attributes:
        baseline: The value that the others are compared with.
        by: The measure whose word ends a comparison.
        margin: The part within which two sides are equal: 0.05 is 5 %.
        looks: The times at which comparisons are decided.
    """

    baseline: Baseline
    by: Measure
    margin: float
    looks: tuple[Look, ...]

    def ends(self, found: Difference) -> bool:
        """Whether a comparison is over: it has a word, or more seeds change nothing."""
        return found.final or found.word in (Word.BETTER, Word.WORSE, Word.EQUAL)

    def text(self, plan: Plan) -> str:
        """The rule in words."""
        count = len(self.baseline.comparisons(plan))
        seeds = ", ".join(f"{look.seeds:,}" for look in self.looks)
        words = "the word" if count == 1 else f"all {count:,} words"
        looks = "its only look" if len(self.looks) == 1 else f"{len(self.looks)} looks"
        return (
            f"rule: {seeds} seeds; a comparison ends when {self.by.name} is better, worse, or equal within "
            f"{100 * self.margin:g} %; {words} and {looks} together are right with {100 * (1 - ALPHA):g} %"
        )


def follow(
    rule: Rule,
    comparisons: Sequence[Pair],
    make: Callable[[int, Container[Combination] | None], None],
    judge: Callable[[int, Sequence[Pair]], Sequence[Decision]],
) -> list[Decision]:
    """Makes runs and decides, look after look, until no comparison is open or the last look is over.

    Args:
        rule: The rule.
        comparisons: All comparisons.
        make: Makes the runs that a look needs, by its number from 0: of these combinations, or of all.
        judge: Makes the comparisons that are open at a look.

    Returns:
        Each comparison as it was decided at its last look.
    """
    decided: dict[Pair, Decision] = {}
    still: Sequence[Pair] = comparisons
    needed: Container[Combination] | None = None
    for n in range(len(rule.looks)):
        make(n, needed)
        found = judge(n, still)
        decided |= {(one.of, one.to): one for one in found}
        still = [(one.of, one.to) for one in found if not rule.ends(one.differences[rule.by.name])]
        needed = {values for pair in still for values in pair}
        if not still:
            break
    return [decided[pair] for pair in comparisons]


def rule_of(plan: Plan, baseline: Baseline | None, margin: float, by: Measure | None = None) -> Rule:
    """Makes the rule of a sweep; the number of its seeds is the largest one.

    Args:
        plan: The sweep.
        baseline: The value that the others are compared with.
        margin: The part within which two sides are equal.
        by: The measure whose word ends a comparison. None takes the mean time of jobs if the traffic has
            operations, and the mean slowdown of flows if it has none.

    Raises:
        ScenarioError: Without a baseline or with too few seeds.
    """
    if plan.seeds < FIRST_SEEDS:
        raise ScenarioError(f"--until-decided --seeds {plan.seeds}: the first look is at {FIRST_SEEDS} seeds")
    if baseline is None:
        raise ScenarioError("--until-decided needs a baseline: name one with --baseline")
    measure = find(stats.criterion(_has_work(plan))) if by is None else by
    return Rule(baseline, measure, margin, schedule(plan.seeds))


def _has_work(plan: Plan) -> bool:
    """Whether the traffic of any run has operations."""
    firsts = plan.runs[:: plan.seeds]
    blocks = (tomllib.loads(run.scenario.to_toml()).get("traffic", []) for run in firsts)
    return any(block.get("kind") in _WORK for each in blocks for block in each)
