"""``incast run``: one scenario, once."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from incast.cli.common import default_parent, load
from incast.cli.outcome import ending, is_sound, totals
from incast.cli.place import place
from incast.cli.progress import ProgressLine
from incast.cli.tables import queue_table, slowdown_table
from incast.result import Result
from incast.scenario import Interrupted, Scenario


def act(options: argparse.Namespace) -> int:
    """Runs the scenario, prints what came of it, and says where it is saved."""
    scenario = load(options)
    label = "+".join(scenario.algorithms)
    folder = options.out or place(default_parent(scenario), label, scenario)
    try:
        result = run_one(scenario, label, folder, options)
    except Interrupted as stop:
        show(label, stop.result)
        raise
    show(label, result)
    print(f"\nsaved in {result.folder}")
    return 0 if is_sound(result) else 1


def run_one(scenario: Scenario, label: str, folder: Path, options: argparse.Namespace) -> Result:
    """Runs a scenario with a progress line.

    Args:
        scenario: What to run.
        label: What to call it.
        folder: Where to save the result.
        options: The options of the command.
    """
    fresh = options.fresh or options.out is None
    with ProgressLine(label, options.quiet) as progress:
        result = scenario.run(folder, threads=options.threads, fresh=fresh, progress=progress)
    if not options.quiet:
        for notice in result.notices:
            print(f"incast: {notice}", file=sys.stderr)
    return result


def show(label: str, result: Result) -> None:
    """Prints what came of a run."""
    print(ending(label, result))
    print(totals(result))
    results = {label: result}
    for text in (queue_table(results), slowdown_table(results)):
        if text:
            print(f"\n{text}")
