"""Running a sweep: its runs, its tables, its manifest."""

from __future__ import annotations

import json
import math
import os
import textwrap
import time
from array import array
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

from incast._build import build
from incast._lazy import Lazy
from incast.errors import Problem, ResultError
from incast.progress import State
from incast.results import stats
from incast.results.grid import Grid
from incast.results.listing.of_grid import fitted
from incast.results.listing.shown import Screen, Shown
from incast.results.measures.call import Call
from incast.results.titles import number_of
from incast.runs import store
from incast.runs.runner import Batch, Executor, Job
from incast.runs.sweep.decisions import Baseline, Combination, Decision, Numbers, Pair, decide, sheet
from incast.runs.sweep.manifest import FORMAT, MANIFEST, grid_of_all, read
from incast.runs.sweep.plan import Plan
from incast.runs.sweep.records import Records
from incast.runs.sweep.rule import Rule, follow
from incast.runs.sweep.tables import Sheet, summary, table, write_whole
from incast.scenario.measured import refuse_missing

DIFFERENCES = "differences"

MOST_JOBS = 64
"""Runs whose scenarios are held at the same time."""

MANIFEST_EVERY_S = 2.0
"""Seconds of wall time between two versions of the manifest."""


@dataclass(frozen=True)
class Sweep(Shown):
    """A sweep that is over.

    Attributes:
        plan: What it ran.
        folder: Where its tables are.
        table: One row for each run that has a result.
        summary: One row for each combination, over its seeds.
        state: What was reused and made, and what failed.
        warnings: The warnings in the results, each with the number of runs that have it.
        files: The files that were written.
        baseline: The value that the others are compared with, if any.
        decisions: The comparisons with it.
        differences: One row for each comparison and measure; None without a baseline.
        flows: Fewest finished flows of a sound run, by the class of their sizes.
        rule: The rule that added seeds, if any.
        calls: Measures beside those that every run has.
        missing: For each of them, by its column, why runs have no value.
        made: The runs that have a result, with their numbers, by their numbers in the plan.
    """

    plan: Plan
    folder: Path
    table: Sheet
    summary: Sheet
    state: State
    warnings: Mapping[Problem, int]
    files: list[Path]
    baseline: Baseline | None = None
    decisions: tuple[Decision, ...] = ()
    differences: Sheet | None = None
    flows: Mapping[str, int] = field(default_factory=dict)
    rule: Rule | None = None
    calls: tuple[Call, ...] = ()
    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    made: Records = field(repr=False, kw_only=True)

    @property
    def grid(self) -> Grid:
        """Its entries with their runs, as :mod:`incast.plot` takes them.

        Raises:
            ResultError: When a result, or the sweep's own folder, cannot be read any more.
        """
        return grid_of_all(self.folder, self._manifest())

    @property
    def numbers(self) -> Grid:
        """As :attr:`grid`, for numbers that every run has, flows and loads: mostly nothing is read again.

        Raises:
            ResultError: As for :attr:`grid`.
        """
        if self.made.has_loads:
            return self.grid
        return grid_of_all(self.folder, self._manifest(), self.made)

    def _manifest(self) -> dict[str, Any]:
        said = read(self.folder)
        if said is None:
            raise ResultError(f"{self.folder} holds no sweep any more")
        return said

    def behind(self, values: Combination, size: str, seed: int | None = None) -> list[int]:
        """Returns the numbers of flows behind the slowdowns of sound runs, one for each run.

        Args:
            values: The values of the axes.
            size: The class of the sizes of the flows.
            seed: The only seed; None for all.
        """
        first = self._first_of[values]
        its = (n for n in range(first, first + self.plan.seeds) if self.made.sound(n))
        runs = self.plan.runs
        return [self.made.behind(n, size) for n in its if seed in (None, runs[n].seed)]

    @cached_property
    def _first_of(self) -> dict[Combination, int]:
        """The number of the first run of each combination."""
        return {self.plan.runs[n].values: n for n in range(0, len(self.plan.runs), self.plan.seeds)}

    def _screen(self, form: str) -> Screen:
        lines = [f"{failure.label} failed: {failure.why}" for failure in self.state.failures]
        lines += [f"left out: {name}: {why}" for name, why in self.plan.left_out.items()]
        return Screen(
            repr(self)[1:-1], lines, [str(problem) for problem in self.warnings], [fitted(self.grid, form)]
        )

    def __repr__(self) -> str:
        entries = len({run.values for run in self.plan.runs})
        seeds = number_of(self.plan.seeds, "seed")
        return f"<Sweep of {self.plan.name!r}: {number_of(entries, 'entry', 'entries')} × {seeds}>"


def default_folder(plan: Plan) -> Path:
    """Returns the default folder of a sweep's tables."""
    return store.DEFAULT / store.folder_name(plan.name) / f"sweep-{plan.key}"


def run(
    plan: Plan,
    *,
    folder: Path | None = None,
    executor: Executor | None = None,
    fresh: bool = False,
    limit_s: float | None = None,
    watch: Callable[[State], None] | None = None,
    command: str | None = None,
    baseline: Baseline | None = None,
    rule: Rule | None = None,
    calls: Sequence[Call] = (),
) -> Sweep:
    """Makes the runs of a sweep and its tables.

    Killed at any time and begun again, it makes only the runs that are missing, and ends with the same
    tables. A run that fails does not stop the others.

    Args:
        plan: What to run.
        folder: Where to put the tables and the manifest; None takes :func:`default_folder`.
        executor: Where the runs are made; None takes processes of this machine, one for each core.
        fresh: Make all runs again.
        limit_s: Wall time after which a run is ended and has failed, in seconds; None: no limit.
        watch: Called when something has changed, from any thread.
        command: The command line that asks for it, for the manifest.
        baseline: The value that the others are compared with; None makes no differences.
        rule: The rule that adds seeds until the comparisons with its baseline are decided. The seeds of the
            plan are the most; runs that it does not need are not made.
        calls: Measures that are computed for each run when it arrives, beside those that every run has.

    Raises:
        ScenarioError: When no scenario has the traffic or the port of a measure.
        ValueError: When the last look of the rule has other seeds than the plan.
        ResultError: When the folder holds something else, or cannot be written.
        KeyboardInterrupt: After Ctrl-C; what is done stays.
    """
    refuse_missing("the measure", calls, (one.first for one in plan.runs[:: plan.seeds]))
    where = default_folder(plan) if folder is None else folder
    if rule is not None:
        if rule.looks[-1].seeds != plan.seeds:
            raise ValueError("the last look of a rule has the seeds of the plan")
        baseline = rule.baseline
    _prepare(where, plan, fresh)
    made = _Made(plan, where, _said(plan, command, baseline, rule, calls), calls)
    execute = partial(Batch.run, executor=executor, fresh=fresh, limit_s=limit_s, watch=watch)
    comparisons = baseline.comparisons(plan) if baseline else []
    numbers = made.numbers
    if rule is None:
        made.make(range(len(plan.runs)), execute)
        decisions = decide(numbers, comparisons, plan.seeds)
    else:
        stated = rule

        def make(n: int, of: Container[Combination] | None) -> None:
            made.state.stage = f"look {n + 1} of {len(stated.looks)}"
            made.make(_first(plan, of, stated.looks[n].seeds), execute)

        def judge(n: int, still: Sequence[Pair]) -> list[Decision]:
            look = stated.looks[n]
            return decide(
                numbers,
                still,
                look.seeds,
                alpha=look.alpha,
                margin=stated.margin,
                of=len(comparisons),
                also=stated.by,
                look=n + 1,
            )

        decisions = follow(rule, comparisons, make, judge)
        made.over()
    records = made.records
    rows, means = table(plan, records, calls), summary(plan, records, calls)
    files = [*rows.save(where / "table"), *means.save(where / "summary"), where / MANIFEST]
    differences = None
    if baseline is None:
        # Left by another command with the same runs.
        for ending in (".parquet", ".csv"):
            (where / f"{DIFFERENCES}{ending}").unlink(missing_ok=True)
    else:
        differences = sheet(plan, baseline, decisions)
        files[-1:-1] = differences.save(where / DIFFERENCES)
    warnings = Counter(problem for n in records for problem in records.warnings(n))
    return Sweep(
        plan,
        where,
        rows,
        means,
        made.state,
        warnings,
        files,
        baseline,
        tuple(decisions),
        differences,
        stats.fewest_flows(run.info for run in records.values() if run.sound),
        rule,
        tuple(calls),
        {
            call.column: [why for run in records.values() if (why := run.missing.get(call.column))]
            for call in calls
        },
        made=records,
    )


def _prepare(folder: Path, plan: Plan, fresh: bool) -> None:
    """Makes the folder of a sweep, and refuses one that holds anything else."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise ResultError(f"cannot create {folder}: {error.strerror}") from None
    if not names:
        return
    said = read(folder)
    if said is None:
        # Left by a sweep that was killed before it wrote anything else.
        others = [name for name in names if not (name.startswith(".") and name.endswith(".tmp"))]
        if others:
            raise ResultError(
                f'{folder} holds "{others[0]}", which is not part of a sweep\n'
                "    help: name a new or empty folder"
            )
    elif said.get("key") != plan.key and not fresh:
        raise ResultError(
            f"{folder} already holds another sweep\n"
            "    help: --fresh replaces its tables, --out names another folder"
        )


def _first(plan: Plan, of: Container[Combination] | None, seeds: int) -> list[int]:
    """Returns the runs of some combinations, or of all, with the first seeds."""
    wanted = (n for n, run in enumerate(plan.runs) if of is None or run.values in of)
    return [n for n in wanted if n % plan.seeds < seeds]


def _said(
    plan: Plan,
    command: str | None,
    baseline: Baseline | None,
    rule: Rule | None,
    calls: Sequence[Call],
) -> dict[str, Any]:
    """Returns all of the manifest but the runs."""
    said = {
        "format": FORMAT,
        "key": plan.key,
        "incast": build(),
        **({"command": command} if command else {}),
        "scenario": plan.name,
        "vary": {a.key: list(a.values) for a in plan.axes},
        "seeds": plan.seeds,
        **({"measures": [call.written for call in calls]} if calls else {}),
        **({"left_out": dict(plan.left_out)} if plan.left_out else {}),
    }
    if baseline is not None:
        said["baseline"] = {plan.axes[n].key: value for n, value in baseline.fixed.items()}
    if rule is not None:
        said["rule"] = {
            "by": rule.by.name,
            "margin": rule.margin,
            "looks": [look.seeds for look in rule.looks],
            "alphas": [look.alpha for look in rule.looks],
            "comparisons": len(rule.baseline.comparisons(plan)),
            "text": rule.text(plan),
        }
    return said


class _Made:
    """The runs of a sweep that have been made so far.

    Attributes:
        records: What is kept of the runs that have a result.
        state: Their progress.
        numbers: Their numbers.
    """

    def __init__(self, plan: Plan, folder: Path, said: Mapping[str, Any], calls: Sequence[Call]) -> None:
        self.records = Records(plan, calls)
        self.numbers = Numbers(plan, self.records, calls)
        self.state = State(0)
        self._plan = plan
        self._folder = folder
        self._said = said
        self._errors: dict[int, str] = {}
        self._asked = bytearray(len(plan.runs))
        self._over = False
        self._due = -math.inf

    def make(self, runs: Iterable[int], execute: Callable[..., None]) -> None:
        """Makes the runs among some that have not been asked for.

        Args:
            runs: Their numbers in the plan.
            execute: Runs a batch, as :meth:`Batch.run`.
        """
        new = array("Q", (n for n in runs if not self._asked[n]))
        for n in new:
            self._asked[n] = True
        plan = self._plan

        # One that was made is asked for again soon, with its result.
        @lru_cache(maxsize=MOST_JOBS)
        def job(place: int) -> Job:
            run = plan.runs[new[place]]
            return Job(run.label, run.scenario, run.folder)

        batch = Batch(Lazy(len(new), job), self.state)

        def arrived(place: int, info: dict[str, Any]) -> None:
            # Numbers are read now, while others run; the rest is not kept.
            self.records.take(new[place], info)

        def take(batch: Batch) -> None:
            self._errors.update((new[n], error) for n, error in batch.errors.items())

        def progressed(batch: Batch) -> None:
            begun = time.monotonic()
            if begun > self._due:
                take(batch)
                self._write()
                # One of ten thousand runs takes a while to write: at most a twentieth of all time.
                now = time.monotonic()
                self._due = now + max(MANIFEST_EVERY_S, 20 * (now - begun))

        try:
            execute(batch, progressed=progressed, arrived=arrived)
        finally:
            take(batch)
            self._write()

    def over(self) -> None:
        """Notes that no further run is needed."""
        self._over = True
        self._write()

    def _of(self, n: int) -> dict[str, Any]:
        """The state of a run in the manifest."""
        if n in self.records:
            warnings = [str(problem) for problem in self.records.warnings(n)]
            return {"state": "done", **({"warnings": warnings} if warnings else {})}
        if n in self._errors:
            return {"state": "failed", "error": self._errors[n]}
        return {"state": "not needed" if self._over and not self._asked[n] else "missing"}

    def _write(self) -> None:
        """Writes the manifest."""
        write_whole(self._folder / MANIFEST, self._text())

    def _text(self) -> Iterator[str]:
        """Makes the text of the manifest, run by run: all of them at once take much memory."""
        yield json.dumps({**self._said, "runs": []}, indent=2, ensure_ascii=False).removesuffix("[]\n}")
        parents: dict[Path, str] = {}
        for n, run in enumerate(self._plan.runs):
            if run.parent not in parents:
                relative = os.path.relpath(run.parent, self._folder)
                parents[run.parent] = "" if relative == os.curdir else f"{relative}{os.sep}"
            of = {
                **dict(zip(run.keys, run.values, strict=True)),
                "seed": run.seed,
                "result": f"{parents[run.parent]}{run.name}",
                **self._of(n),
            }
            yield f"{',' if n else '['}\n{_indented(of)}"
        yield "\n  ]\n}\n" if self._plan.runs else "[]\n}\n"


_FLAT = json.JSONEncoder(ensure_ascii=False, separators=(",\n      ", ": "))


def _indented(of: Mapping[str, Any]) -> str:
    """Returns a run of the manifest as JSON on several lines, indented by four."""
    if "warnings" in of:
        return textwrap.indent(json.dumps(of, indent=2, ensure_ascii=False), "    ")
    # Python's own encoder, which knows indentation, takes ten times as long.
    return f"    {{\n      {_FLAT.encode(of)[1:-1]}\n    }}"
