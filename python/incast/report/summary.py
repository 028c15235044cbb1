"""The text and the summary table of a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from incast.real.testbed.distance import distance, pairs
from incast.report.entries import Entry, scenario, sections
from incast.report.flows import Flows, of_class
from incast.results import censored, stats
from incast.results.arrays import BoolArray, Floats
from incast.results.grid import Grid
from incast.results.listing.marks import Marked
from incast.results.listing.sheet import number
from incast.results.load import Load
from incast.results.pooled import tail_index
from incast.results.result import Result, warnings_of


@dataclass(frozen=True)
class Ending:
    """End of a run, for the top of the page.

    Attributes:
        title: Headline; empty if there is nothing to report.
        bad: Whether the run failed.
        lines: The explanation, in sentences.
        points: What each flow waits for, or which invariants were violated.
    """

    title: str | None
    bad: bool = False
    lines: list[str] = field(default_factory=list)
    points: list[str] = field(default_factory=list)


def ending(result: Result, title: str = "") -> Ending:
    """Describes the end of a run.

    Args:
        result: The result.
        title: Its name; empty if there is only one.
    """
    info = result.info
    outcome = info.get("outcome")
    who = f"{title}: this" if title else "This"
    if outcome is None:
        lines = [f"What follows is only what it had written by then: {_written(result)}."]
        if result.state == "running":
            return Ending(f"{who} run had not ended when the report was written", True, lines)
        lines.append(
            "Flows that were still running are missing, so completion times look better than they are."
        )
        return Ending(f"{who} run was killed, or could no longer write, before its end", True, lines)
    why = f"{outcome['why'][:1].upper()}{outcome['why'][1:]}."
    violations = outcome["violations"]
    if violations:
        lines = [why, "Its numbers cannot be trusted. Please report this."]
        return Ending(f"{who} run broke an invariant of the simulator", True, lines, violations)
    if outcome["end"] == "stalled":
        waiting = [f"flow {w['flow']}: {w['waits_for']}" for w in outcome.get("waiting", [])]
        return Ending(f"{who} run failed: it stalled", True, [why], waiting)
    if outcome["end"] == "interrupted":
        return Ending(f"{who} run was stopped before its end", True, [why])
    flows = Flows.of(result)
    sized = ~np.isnan(flows.size_bytes)
    left = int((sized & np.isnan(flows.slowdown)).sum())
    if left:
        lines = [why, _COUNTED]
        return Ending(f"{who} run left {left:,} of {int(sized.sum()):,} flows unfinished", False, lines)
    return Ending(None)


_COUNTED = (
    "The tables count each of these with the least slowdown that it can have (≥); pictures are without them, "
    "and so look better than it was."
)


def _written(result: Result) -> str:
    tables = [t for t in (result.port_series, result.flow_series) if len(t)]
    until = f" up to {time(float(max(t.column('time_ps').max() for t in tables)))}" if tables else ""
    samples = sum(int(t.column("samples").sum()) for t in tables)
    return f"{len(result.flows):,} flows, {samples:,} samples{until}"


def time(ps: float) -> str:
    """A time in a suitable unit."""
    for unit, size in (("s", 1e12), ("ms", 1e9), ("µs", 1e6), ("ns", 1e3)):
        if abs(ps) >= size:
            return f"{number(ps / size)} {unit}"
    return f"{ps:g} ps"


def headline(grid: Grid) -> list[str]:
    """Entries, seeds, versions and, of a single run, how it ended and its fingerprint.

    Args:
        grid: The entries with their runs.
    """
    infos = [run.info for run in grid.runs]
    titles = [entry.title for entry in grid.entries]
    more = f" and {len(titles) - MOST_TITLES} more" if len(titles) > MOST_TITLES else ""
    # Titles of several keys have commas.
    between = "; " if any(", " in title for title in titles) else ", "
    parts = [between.join(titles[:MOST_TITLES]) + more]
    parts.append(seeds_in_words([run.seed for run in grid.runs]))
    parts.append(f"Incast {', '.join(dict.fromkeys(str(info['incast_version']) for info in infos))}")
    if len(infos) == 1:
        result = next(run.open() for run in grid.runs if run.open)
        outcome = infos[0].get("outcome")
        parts.append(result.end if outcome else result.state)
        if outcome:
            parts.append(f"fingerprint {outcome['fingerprint']}")
    return parts


MOST_TITLES = 6
"""Most entries that the headline names."""


def seeds_in_words(seeds: Sequence[int]) -> str:
    """Returns seeds as text: ``seed 1``, ``seeds 1, 4``, ``seeds 1 – 40``.

    Args:
        seeds: The seeds, each once or more.
    """
    known = sorted(set(seeds))
    if len(known) == 1:
        return f"seed {known[0]}"
    if len(known) > 2 and known[-1] - known[0] == len(known) - 1:
        return f"seeds {known[0]} – {known[-1]}"
    return f"seeds {', '.join(map(str, known))}"


def differences(grid: Grid, entries: Sequence[Entry]) -> list[str]:
    """Returns the reasons for which the entries are not comparable.

    Args:
        grid: All entries with their runs.
        entries: Those with details.
    """
    said = [
        f"{entry.title} was measured on a testbed: {'; '.join(entry.result.info['testbed']['notes'])}."
        for entry in entries
        if entry.result.info.get("testbed", {}).get("notes")
    ]
    if len({run.info["incast_version"] for run in grid.runs}) > 1:
        said.append("These results were made by different versions of Incast; compare them with care.")
    settings = [_setting(entry.result) for entry in entries]
    # What a sweep varies is named by its axes.
    if [axis.key for axis in grid.axes] == ["cc"] and any(setting != settings[0] for setting in settings):
        said.append(
            "These results are of different scenarios, not only of different algorithms, parameters or "
            "seeds; compare them with care."
        )
    return said


def alike(grid: Grid) -> list[str]:
    """Says of which entries all runs are the same although their seeds differ.

    Args:
        grid: The entries with their runs.
    """
    same = [
        entry.title
        for entry in grid.entries
        if len(entry.runs) > 1
        and all(run.info.get("outcome") for run in entry.runs)
        and not stats.drawn(run.info for run in entry.runs)
    ]
    if not same:
        return []
    if len(same) == len(grid.entries):
        return [stats.NO_DRAWS]
    return [f"{', '.join(same)}: {stats.NO_DRAWS[:1].lower()}{stats.NO_DRAWS[1:]}"]


def warned(grid: Grid) -> list[str]:
    """Returns the warnings about the scenarios, each once, with the entries that have it.

    Args:
        grid: The entries with their runs.
    """
    of: dict[str, dict[str, None]] = {}
    for entry in grid.entries:
        for problem in dict.fromkeys(problem for run in entry.runs for problem in warnings_of(run.info)):
            text = f"{problem.key}: {problem.problem}" if problem.key else problem.problem
            of.setdefault(f"{text} ({problem.hint})" if problem.hint else text, {})[entry.title] = None
    return [
        f"Warning: {text}" if len(titles) == len(grid.entries) else f"{', '.join(titles)}: warning: {text}"
        for text, titles in of.items()
    ]


def _setting(result: Result) -> list[tuple[str, list[str]]]:
    """The scenario without name, seed and the section [cc]."""
    kept = [(name, lines) for name, lines in sections(scenario(result)) if name.partition(".")[0] != "cc"]
    return [
        (name, [x for x in lines if name or not x.startswith(("name = ", "seed = "))]) for name, lines in kept
    ]


@dataclass(frozen=True)
class Row:
    """A row of the summary.

    Attributes:
        title: What it shows.
        unit: Its unit; empty for none.
        cells: The values of the results, as text.
        words: Whether they are words and not numbers to be aligned.
    """

    title: str
    unit: str
    cells: list[str]
    words: bool = False


@dataclass(frozen=True)
class Part:
    """Rows of the summary that belong together, and what their marks mean."""

    title: str
    rows: list[Row]
    notes: Sequence[str] = ()


def summary(entries: Sequence[Entry], all_flows: Sequence[Flows]) -> list[Part]:
    """The summary: a part for the run, the completion times, the network and the origin.

    Args:
        entries: The entries with details.
        all_flows: Their flows, of all seeds.
    """
    results = [entry.result for entry in entries]
    ends = [
        ", ".join(dict.fromkeys(r.end if r.info.get("outcome") else r.state for r in entry.results))
        for entry in entries
    ]
    outcomes: list[dict[str, Any]] = [result.info.get("outcome") or {} for result in results]
    measured: list[dict[str, Any]] = [result.info.get("testbed") or {} for result in results]

    def of_outcome(key: str, form: Callable[[Any], str]) -> list[str]:
        return [form(outcome[key]) if key in outcome else "–" for outcome in outcomes]

    sized = [~np.isnan(f.size_bytes) for f in all_flows]
    finished = [
        f"{int((~np.isnan(f.slowdown)).sum()):,} of {f'{int(some.sum()):,}' if o else '?'}"
        for f, some, o in zip(all_flows, sized, outcomes, strict=True)
    ]
    endless = [f"{int((~some).sum()):,}" for some in sized]
    uncounted = [f"{outcome.get('flows_uncounted', 0):,}" for outcome in outcomes]
    run = [
        Row("ended", "", ends, words=True),
        Row("flows finished", "", finished),
        *([Row("flows without a size", "", endless)] if any(e != "0" for e in endless) else []),
        *([Row("flows that do not count", "", uncounted)] if any(u != "0" for u in uncounted) else []),
        Row("simulated time", "ms", of_outcome("now_ps", lambda ps: number(ps / 1e9))),
    ]
    parts = [Part("Run", run), *_loads(results)]
    marked = Marked()
    rows = _slowdowns(entries, marked)
    if rows:
        parts.append(Part("FCT slowdown (small flows: up to 150 KB)", rows, marked.notes()))
    if shares := _limits(entries):
        parts.append(Part("Time of flows, by what kept their next packet back", shares))
    network = [Row("longest queue of a port", "KB", [_peak(result) for result in results])]
    network.append(Row("packets dropped", "", of_outcome("packets_dropped", "{:,}".format)))
    network.append(Row("packets marked", "", [_total(result, "marked_packets", 1) for result in results]))
    network.append(
        Row("time paused, all ports", "µs", [_total(result, "paused_ps", 1e6) for result in results])
    )
    parts.append(Part("Network", network))
    parts += _distances(results)
    origin = [
        Row("seed", "", [_seeds(entry) for entry in entries]),
        Row("packet-hops", "million", of_outcome("hops", lambda hops: number(hops / 1e6))),
        Row("wall time", "s", of_outcome("wall_s", number)),
        Row("fingerprint", "", of_outcome("fingerprint", str), words=True),
        Row("Incast", "", [str(result.info["incast_version"]) for result in results], words=True),
    ]
    if any(measured):
        switches = [f"testbed, switch: {of['switch']}" if of else "simulator" for of in measured]
        origin.append(Row("made by", "", switches, words=True))
        origin.append(Row("kernel", "", [of["kernel"] if of else "–" for of in measured], words=True))
    parts.append(Part("Origin", origin))
    return parts


def _seeds(entry: Entry) -> str:
    return seeds_in_words([int(result.info["seed"]) for result in entry.results]).partition(" ")[2]


def _loads(results: Sequence[Result]) -> list[Part]:
    """Returns the measured loads of each traffic block, and whether they are steady."""
    of_results = [{load.group: load for load in result.loads} for result in results]
    parts = []
    for group in dict.fromkeys(group for loads in of_results for group in loads):
        loads = [of.get(group) for of in of_results]

        def of_load(form: Callable[[Load], str | None], loads: Sequence[Load | None] = loads) -> list[str]:
            return [(load and form(load)) or "–" for load in loads]

        rows = [
            Row("load", "%", of_load(lambda load: number(100 * load.load))),
            Row("offered", "%", of_load(lambda load: number(100 * load.offered))),
            Row("carried", "%", of_load(lambda load: share(load.carried))),
            Row("backlog at the begin", "MB", of_load(lambda load: megabytes(load.backlog_begin_bytes))),
            Row("backlog at the end", "MB", of_load(lambda load: megabytes(load.backlog_end_bytes))),
            Row("steady", "", of_load(lambda load: "yes" if load.steady else "no"), words=True),
        ]
        parts.append(Part(f"Load of {group} in its measured window", rows))
    return parts


def share(value: float | None) -> str | None:
    """A share in percent, if it is known."""
    return None if value is None else number(100 * value)


def megabytes(value: int | None) -> str | None:
    """A number of bytes in MB, if it is known."""
    return None if value is None else number(value / 1e6)


def _distances(results: Sequence[Result]) -> list[Part]:
    """Returns the distance of each testbed's result from the simulator's, in the column of the former."""
    made = []
    for simulated, measured in pairs(results, [scenario(result) for result in results]):
        rows = []
        for of in distance(results[simulated], results[measured]):
            cells = ["–"] * len(results)
            cells[simulated], cells[measured] = number(of.simulated), number(of.measured)
            rows.append(Row(of.title, of.unit, cells))
            if of.share is not None:
                cells = ["–"] * len(results)
                cells[measured] = f"{100 * of.share:+.1f}"
                rows.append(Row(f"{of.title}, difference", "%", cells))
        made.append(Part("Distance of the testbed from the simulation", rows))
    return made


def _slowdowns(entries: Sequence[Entry], marked: Marked) -> list[Row]:
    """Returns the rows of slowdowns, with the least one of each unfinished flow."""
    rows = []
    for name, statistics in (("small", _SOME), ("large", _SOME), ("all", ("mean", *_SOME, "p99.9"))):
        every = [_class(entry, name) for entry in entries]
        if all(not len(values) for values, _ in every):
            continue
        tails = [tail_index(values) for values, _ in every]
        for statistic in statistics:
            cells = []
            for (values, bound), tail in zip(every, tails, strict=True):
                if not len(values):
                    cells.append("–")
                    continue
                value, low = censored.statistic(values, bound, statistic)
                text = marked.at_least(number(value), low)
                cells.append(
                    marked.mean(text, tail)
                    if statistic == "mean"
                    else marked.percentile(text, float(statistic[1:]), [len(values)])
                )
            rows.append(Row(f"{name}, {statistic}", "", cells))
    return rows


def _limits(entries: Sequence[Entry]) -> list[Row]:
    """Returns the rows of what kept packets back: shares of the flows of all seeds."""
    known = [
        stats.limit_shares_of([result.info for result in entry.results if result.info.get("outcome")])
        for entry in entries
    ]
    shown = [name for name in stats.LIMITS if any(of.get(name) for of in known)]
    return [Row(name, "%", [number(100 * of[name]) if of else "–" for of in known]) for name in shown]


_SOME = ("p50", "p99")


def _class(entry: Entry, name: str) -> tuple[Floats, BoolArray]:
    """Returns the slowdowns of a class of sizes of all seeds, and whether each is a lower bound.

    A run that was killed has only slowdowns of finished flows.
    """
    parts = []
    for result in entry.results:
        if result.info.get("outcome"):
            parts.append(censored.of_class(result, name))
        else:
            finished = of_class(Flows.of(result), name)
            parts.append((finished, np.zeros(len(finished), dtype=bool)))
    values, bounds = zip(*parts, strict=True)
    return np.concatenate(values), np.concatenate(bounds)


def _peak(result: Result) -> str:
    table = result.ports
    return number(float(table.column("peak_queue_bytes").max()) / 1e3) if len(table) else "–"


def _total(result: Result, column: str, unit: float) -> str:
    table = result.ports
    return number(float(table.column(column).sum()) / unit) if len(table) else "–"
