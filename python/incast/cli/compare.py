"""``incast compare``: one scenario, several algorithms, one table."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from incast._terminal import WIDTH, cells
from incast.cli import testbed
from incast.cli.common import check_free, folder_name, load, place
from incast.cli.estimate import estimate
from incast.cli.options import Commands, add_command, flag_option, run_options, scenario_options
from incast.cli.outcome import ending
from incast.cli.run import run_one, say, warn
from incast.cli.table import section
from incast.cli.tables import TABLES, ranked, title
from incast.errors import ResultError, ScenarioError
from incast.progress import Series
from incast.real.kernel import KernelError
from incast.results.result import Result
from incast.scenario import Interrupted, Scenario
from incast.scenario.choice import Choice, choose, refuse_overrides


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(
        commands,
        act,
        "compare",
        "run a scenario with several algorithms and print one table",
        "Runs one scenario with several algorithms: same flows, same seed, one table.",
    )
    scenario_options(sub)
    sub.add_argument(
        "--cc",
        required=True,
        metavar="NAME[:PRESET],…",
        help="the algorithms, separated by commas: oscar,hpcc,swift:oscar (see `incast list`); all: every "
        "one that the scenario permits, and why each other one is left out",
    )
    run_options(sub)
    flag_option(sub, "--plot", "save a picture too, as PNG and PDF")
    flag_option(sub, "--testbed", "with real kernels, as `incast testbed`; each run is made anew")


def act(options: argparse.Namespace) -> int:
    """Runs the scenario with each algorithm, and prints the tables and where the results are."""
    refuse_overrides(options.overrides, "--cc")
    chosen = variants(load(options, needs_algorithm=False), options.cc)
    if options.estimate:
        code = estimate(chosen.scenarios)
        if chosen.left_out:
            print(f"\n{left_out(chosen)}")
        return code
    outcome = Outcome(chosen)
    if not options.quiet:
        warn(*chosen.scenarios.values())
    try:
        run_all(outcome, options)
    except Interrupted:
        finish(outcome, options)
        raise
    finish(outcome, options)
    sound = all(result.sound for result in outcome.results.values())
    return 0 if sound and not outcome.failed else 1


@dataclass
class Outcome:
    """The runs of a comparison.

    Attributes:
        chosen: What is run.
        results: The results of those that are over, by the label of their algorithm.
        failed: Those that ended without a result.
    """

    chosen: Choice
    results: dict[str, Result] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)


def variants(scenario: Scenario, algorithms: str) -> Choice:
    """The scenario with each algorithm of a list like ``oscar,swift:oscar`` or ``all``.

    Raises:
        ScenarioError: With the problems of all of them.
    """
    labels = [label.strip() for label in algorithms.split(",")]
    return choose(scenario, labels, f"--cc {algorithms}")


def run_all(outcome: Outcome, options: argparse.Namespace) -> None:
    """Runs each scenario in turn, and adds its result when it is finished.

    A run that fails is reported and stops no other; if it is the only one, its exception is raised.
    """
    scenarios = outcome.chosen.scenarios
    folders = {label: _folder(label, scenario, options) for label, scenario in scenarios.items()}
    check_free({folders[label]: scenario for label, scenario in scenarios.items()}, options)
    run = testbed.run if options.testbed else run_one
    series = Series(len(scenarios))
    for label, scenario in scenarios.items():
        try:
            outcome.results[label] = run(scenario, label, folders[label], options, series)
        except Exception as error:
            if len(scenarios) == 1:
                raise
            outcome.failed.append(label)
            if not isinstance(error, ResultError | ScenarioError | KernelError):
                traceback.print_exception(error)
            say(f"{label} failed: {error}")


def _folder(label: str, scenario: Scenario, options: argparse.Namespace) -> Path:
    if options.out is None:
        return testbed.place(scenario) if options.testbed else place(scenario, options)
    parent: Path = options.out
    return parent / folder_name(label)


def finish(outcome: Outcome, options: argparse.Namespace) -> None:
    """Prints the tables of finished runs, draws the picture if requested, prints where they are."""
    scenarios = outcome.chosen.scenarios
    results, by = ranked(outcome.results) if outcome.chosen.all else (outcome.results, "")
    if not results:
        return
    first = next(iter(scenarios.values()))
    ran = f"{first.name}, seed {first.seed}: {len(results)} of {len(scenarios)} algorithms ran"
    print(f"{ran}, sorted by {by}" if by else ran)
    if outcome.chosen.left_out:
        print(left_out(outcome.chosen))
    for label, result in results.items():
        if not result.sound:
            print(ending(title(label), result))
    for text in (table_(results) for table_ in TABLES):
        if text:
            print(f"\n{text}")
    folders = [result.folder for result in results.values() if result.folder]
    parent = Path(os.path.commonpath([folder.parent for folder in folders]))
    names = [str(folder.relative_to(parent)) for folder in folders]
    line = f"saved in {parent}: {', '.join(names)}"
    print("\n" + (line if cells(line) <= WIDTH else "\n  ".join([f"saved in {parent}", *names])))
    if options.plot:
        for path in pictures(results, parent):
            print(f"picture {path}")


def left_out(chosen: Choice) -> str:
    """The algorithms that are left out, each with the reason."""
    return section("left out", list(chosen.left_out.items()))


ENOUGH_FLOWS = 10
"""Fewer finished flows make no picture of a distribution."""


def pictures(results: Mapping[str, Result], parent: Path) -> list[Path]:
    """Draws what the results contain: the queue of the first probed port, the slowdown of their flows.

    Args:
        results: A result for each algorithm, all of one scenario.
        parent: Where to save them.

    Returns:
        The files.
    """
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        from incast import plot
    except ImportError:
        print("incast: no picture without matplotlib: pip install 'incast[plot]'", file=sys.stderr)
        return []
    titles = {label: title(label) for label in results}
    files: list[Path] = []
    ports = next(iter(results.values())).probed_ports()
    if ports:
        busiest = max(ports, key=lambda port: max(r.peak_queue_bytes(*port) for r in results.values()))
        figure, _ = plot.queue_and_utilisation(results, busiest, titles)
        if len(ports) > 1:
            figure.suptitle(f"{busiest[0]}, port {busiest[1]}", fontsize=8)
        files += plot.save(figure, parent / "queue")
    if any(len(result.flow_times().slowdown) >= ENOUGH_FLOWS for result in results.values()):
        figure, _ = plot.slowdown(results, titles)
        files += plot.save(figure, parent / "slowdown")
    return files
