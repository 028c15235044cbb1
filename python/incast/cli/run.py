"""``incast run``: one scenario, once."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from incast.cli.common import check_free, is_complete, load, place
from incast.cli.options import Commands, add_command, flag_option, run_options, scenario_options
from incast.cli.outcome import dropped, ending, notes, totals
from incast.cli.required import Required, require_option
from incast.cli.table import paragraph
from incast.cli.tables import texts
from incast.errors import unsaid
from incast.progress import ProgressLine, Series
from incast.results.result import Result
from incast.results.titles import title
from incast.runs import store
from incast.scenario import Interrupted, Scenario

if TYPE_CHECKING:
    from incast.results.grid import Grid


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(commands, act, "run", "run a scenario", "Runs a scenario and saves the result.")
    scenario_options(sub)
    require_option(sub)
    run_options(sub)
    flag_option(
        sub,
        "--profile",
        "say where the wall time went: hosts, switches, events, recording, writing; a few percent more of it",
    )


def act(options: argparse.Namespace) -> int:
    """Runs the scenario, and prints its result and where it is saved."""
    begin = time.monotonic()
    scenario = load(options)
    label = store.label(scenario)
    required = Required(options, lambda: _planned(scenario), [scenario])
    if options.estimate:
        from incast.cli.estimate import estimate

        return estimate({label: scenario})
    warn(scenario)
    read_s = time.monotonic() - begin
    folder = options.out or place(scenario, options)
    check_free({folder: scenario}, options)
    result = run_and_show(
        label,
        lambda: run_one(scenario, label, folder, options, profile=options.profile),
        (lambda done: _judged(required, label, done)) if required else None,
    )
    if without := dropped({label: scenario}):
        print(f"\n{without}")
    if options.profile:
        from incast.cli.timed import timed

        print(f"\n{timed(result, read_s)}")
    return required.code(0 if result.sound else 1)


def _planned(scenario: Scenario) -> Grid:
    """Returns the grid of one run before it is made."""
    from incast.results.grid import Entry, Grid

    label = store.label(scenario)
    return Grid(scenario.name, (), (Entry((), title(label), label, ()),))


def _judged(required: Required, label: str, result: Result) -> str:
    """Returns the requirements of a run with whether each is met."""
    from incast.results.grid import Grid

    return required.text(Grid.of({label: result}))


def run_and_show(
    label: str, make: Callable[[], Result], judge: Callable[[Result], str] | None = None
) -> Result:
    """Makes a run, and prints its result and where it is saved; stopped by Ctrl-C, the result so far.

    Args:
        label: The label of the run.
        make: Makes it.
        judge: Returns more text on a whole result, for the place before the tables.
    """
    try:
        result = make()
    except Interrupted as stop:
        show(label, stop.result)
        raise
    show(label, result, "" if judge is None else judge(result))
    print(f"\nsaved in {result.folder}")
    return result


def run_one(
    scenario: Scenario,
    label: str,
    folder: Path,
    options: argparse.Namespace,
    series: Series | None = None,
    profile: bool = False,
) -> Result:
    """Returns the existing result of a scenario, or runs it with a progress line.

    Args:
        scenario: What to run.
        label: Its label.
        folder: Where its result is or will be.
        options: The options of the command.
        series: The runs of which this is one; it is counted there.
        profile: Whether to measure the time of its parts.
    """
    # A folder that the user did not name contains a result of the same scenario, or none. Replacing a
    # complete result was requested or changes nothing; only an incomplete one is worth a message.
    silent = options.quiet or is_complete(folder)
    began, reused = time.monotonic(), False
    try:
        with ProgressLine(label, options.quiet, series=series) as progress:
            obtained = store.obtain(
                scenario,
                folder,
                fresh=options.fresh,
                replace=options.out is None,
                threads=options.threads,
                progress=progress,
                waiting=lambda: say(f"another process is computing {folder}; waiting for it"),
                profile=profile,
            )
            reused = obtained.reused
    except Interrupted as stop:
        announce(stop.result, silent)
        raise
    finally:
        if series is not None:
            series.ended(None if reused else time.monotonic() - began)
    if obtained.reused:
        if not options.quiet:
            say(f"reused {folder}: same scenario, version and seed (--fresh runs it again)")
    else:
        announce(obtained.result, silent)
    warn_late(scenario, obtained.result, label if series is not None and series.runs > 1 else None)
    return obtained.result


def say(text: str) -> None:
    """Prints a message to standard error."""
    print(f"incast: {text}", file=sys.stderr, flush=True)


def warn(*scenarios: Scenario) -> None:
    """Prints the warnings of scenarios before they run, each once."""
    for problem in dict.fromkeys(problem for each in scenarios for problem in each.warnings):
        say(f"warning: {problem}")


def warn_late(scenario: Scenario, result: Result, label: str | None) -> None:
    """Prints the verdicts on a run; the warnings about its scenario were printed before it.

    Args:
        scenario: The scenario of the run.
        result: Its result.
        label: The label of the run, where it is one of several.
    """
    of = "" if label is None else f"{label}: "
    for problem in unsaid(result.warnings, scenario.warnings):
        say(f"warning: {of}{problem}")


def announce(result: Result, silent: bool) -> None:
    """Prints what a run had to remove from its folder."""
    # Warnings are printed apart.
    for notice in [] if silent else result.notices:
        if not notice.startswith("warning: "):
            say(notice)


def show(label: str, result: Result, more: str = "") -> None:
    """Prints the result of a run.

    Args:
        label: Its label.
        result: The result.
        more: Text before the tables.
    """
    print(ending(label, result))
    print(totals(result))
    for note in notes(result):
        print(paragraph(note, "  "))
    if more:
        print(f"\n{more}")
    for text in texts({label: result}):
        print(f"\n{text}")
