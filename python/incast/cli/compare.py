"""``incast compare``: one scenario, several algorithms, one table."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import incast
from incast import _core
from incast._terminal import WIDTH, cells
from incast.cli.common import check_free, folder_name, load, place
from incast.cli.estimate import estimate
from incast.cli.outcome import ending
from incast.cli.run import run_one, warn
from incast.cli.tables import jobs_table, queue_table, slowdown_table, title
from incast.result import Result
from incast.scenario import Interrupted, Scenario

ENOUGH_FLOWS = 10
"""Fewer finished flows make no picture of a distribution."""


def act(options: argparse.Namespace) -> int:
    """Runs the scenario with each algorithm, and prints the tables and where the results are."""
    scenarios = variants(load(options, needs_algorithm=False), options.cc)
    if options.estimate:
        return estimate(scenarios)
    results: dict[str, Result] = {}
    if not options.quiet:
        # The warnings are about the traffic and the network, which are the same for all.
        warn(next(iter(scenarios.values())))
    try:
        run_all(scenarios, options, results)
    except Interrupted:
        finish(scenarios, results, options)
        raise
    finish(scenarios, results, options)
    return 0 if all(result.sound for result in results.values()) else 1


def variants(scenario: Scenario, algorithms: str) -> dict[str, Scenario]:
    """The scenario with each algorithm of a list like ``oscar,swift:oscar``.

    Raises:
        ScenarioError: With the problems of all of them.
    """
    labels = [label.strip() for label in algorithms.split(",")]
    scenarios: dict[str, Scenario] = {}
    problems: dict[_core.Problem, None] = {}
    for label in labels:
        if not label or label in scenarios:
            wrong = f"{label!r} is given twice" if label else "the name of an algorithm is missing"
            problems[_core.Problem(wrong, file=f"--cc {algorithms}")] = None
            continue
        try:
            scenarios[label] = scenario.with_algorithm(label)
            scenarios[label].size()
        except incast.ScenarioError as error:
            problems.update(dict.fromkeys(error.problems))
    if problems:
        raise _core.scenario_error(list(problems))
    return scenarios


def run_all(
    scenarios: Mapping[str, Scenario], options: argparse.Namespace, results: dict[str, Result]
) -> None:
    """Runs each scenario in turn, and adds its result when it is finished."""
    folders = {label: _folder(label, scenario, options) for label, scenario in scenarios.items()}
    check_free({folders[label]: scenario for label, scenario in scenarios.items()}, options)
    for label, scenario in scenarios.items():
        results[label] = run_one(scenario, label, folders[label], options)


def _folder(label: str, scenario: Scenario, options: argparse.Namespace) -> Path:
    if options.out is None:
        return place(scenario, options)
    parent: Path = options.out
    return parent / folder_name(label)


def finish(
    scenarios: Mapping[str, Scenario], results: Mapping[str, Result], options: argparse.Namespace
) -> None:
    """Prints the tables of finished runs, draws the picture if requested, prints where they are."""
    if not results:
        return
    first = next(iter(scenarios.values()))
    print(f"{first.name}, seed {first.seed}: {len(results)} of {len(scenarios)} algorithms ran")
    for label, result in results.items():
        if not result.sound:
            print(ending(title(label), result))
    for text in (queue_table(results), slowdown_table(results), jobs_table(results)):
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
