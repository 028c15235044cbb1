"""The beginning of a report: sentences, requirements, verdicts, and how runs ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from incast.report.entries import Entry
from incast.report.summary import Ending, ending
from incast.results.grid import Grid
from incast.results.require import Outcome, require
from incast.results.result import Result
from incast.results.stats import unfinished_classes
from incast.results.titles import number_of

MOST_ENDINGS = 12
"""Of more runs with something to report than this only the first are described, failures before others."""

MOST_NAMED = 3
"""Most entries that a verdict names."""


@dataclass(frozen=True)
class Verdict:
    """An outcome for a whole grid.

    Attributes:
        about: Its subject in a word.
        outcome: The outcome; what is not measured is never met.
        text: The reason.
    """

    about: str
    outcome: Outcome
    text: str


def verdicts(grid: Grid) -> list[Verdict]:
    """Returns whether runs are sound and finished, loads steady, and whether flows were held back at all.

    Args:
        grid: The entries with their runs.
    """
    met = {
        "sound": f"{_all(grid)} ended as it should"
        if len(grid.runs) == 1
        else f"{_all(grid)} ended as they should",
        "finished": "every flow and job finished",
        "steady": "every load is steady",
    }
    return [*(_verdict(grid, state, text) for state, text in met.items()), _limits(grid)]


def _all(grid: Grid) -> str:
    return "the run" if len(grid.runs) == 1 else f"all {len(grid.runs):,} runs"


def _verdict(grid: Grid, state: str, met: str) -> Verdict:
    """Returns the outcome of a state for all entries: the worst of them."""
    checks = require(grid, state)
    for outcome in (Outcome.MISSED, Outcome.OPEN, Outcome.NOT_MEASURED):
        those = [check for check in checks if check.outcome is outcome]
        if not those:
            continue
        why = Counter(check.why for check in those).most_common(1)[0][0]
        names = [check.entry for check in those]
        several = f"{', '.join(names[:MOST_NAMED])}{' …' if len(names) > MOST_NAMED else ''}"
        who = "" if len(grid.entries) == 1 else f"{several}: "
        if len(names) == len(grid.entries) > 1:
            who = "" if len({check.why for check in those}) == 1 else "every entry, as here: "
        return Verdict(state, outcome, f"{who}{why}")
    return Verdict(state, Outcome.MET, met)


def _limits(grid: Grid) -> Verdict:
    """Returns whether congestion control has decided anything."""
    about = "limits"
    held: list[int | None] = []
    for run in grid.runs:
        held.append(None if run.open is None else run.open().held_back)
        if held[-1]:
            return Verdict(about, Outcome.MET, "congestion control held flows back")
    if None in held or not held:
        return Verdict(about, Outcome.NOT_MEASURED, "without its table nothing says what held flows back")
    return Verdict(about, Outcome.MISSED, "no flow was held back: another algorithm would change nothing")


def endings(grid: Grid, detailed: Sequence[Entry]) -> tuple[list[Ending], int]:
    """Describes the ends of runs with something to report, failures first, and counts those left out.

    Args:
        grid: The entries with their runs.
        detailed: The entries that are open.
    """
    said = [
        Ending(f"{label} has no result", True, [why[:1].upper() + why[1:]] if why else [])
        for label, why in grid.failed.items()
    ]
    several = len(grid.runs) > 1
    for title, result in _worth(grid, detailed):
        end = ending(result, title if several else "")
        if end.title is not None:
            said.append(end)
    said.sort(key=lambda end: not end.bad)
    return said[:MOST_ENDINGS], max(len(said) - MOST_ENDINGS, 0)


def _worth(grid: Grid, detailed: Sequence[Entry]) -> Iterator[tuple[str, Result]]:
    """Yields the runs that may have something to report, with their names."""
    known = {entry.of.values: entry.results for entry in detailed}
    for entry in grid.entries:
        runs = [run for run in entry.runs if run.open]
        results = known.get(entry.values)
        for n, run in enumerate(runs):
            name = entry.title if len(entry.runs) == 1 else f"{entry.title}, seed {run.seed}"
            if results:
                yield name, results[n]
            elif run.open and (not run.sound or unfinished_classes(run.info)):
                yield name, run.open()


def origin(grid: Grid, detailed: int) -> list[str]:
    """Says what the details below the first screen are of.

    Args:
        grid: The entries with their runs.
        detailed: The number of entries that have details.
    """
    said = []
    if left := len(grid.entries) - detailed:
        have = "has" if left == 1 else "have"
        said.append(
            f"What follows is of {number_of(detailed, 'entry', 'entries')}; "
            f"{'the other one' if left == 1 else f'the other {left:,}'} {have} no details here."
        )
    if any(len(entry.runs) > 1 for entry in grid.entries):
        said.append(
            "Completion times are of the flows of all seeds together; jobs, samples and network are of the "
            "first seed."
        )
    return said
