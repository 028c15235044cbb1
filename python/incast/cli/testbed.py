"""``incast testbed``: a scenario on real kernels."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from incast.cli.common import is_complete, load
from incast.cli.options import (
    Commands,
    add_command,
    choice_option,
    flag_option,
    path_option,
    quiet_option,
    scenario_options,
)
from incast.cli.run import run_and_show, run_one, say, warn, warn_late
from incast.cli.table import columns, number, table
from incast.errors import ResultError
from incast.progress import ProgressLine, Series
from incast.results.result import Result
from incast.runs import store
from incast.runs.store import folder_name
from incast.scenario import Scenario


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(
        commands,
        act,
        "testbed",
        "run a scenario with real kernels and links on this machine",
        "Runs a scenario on a testbed: network namespaces with TCP connections of the Linux "
        "kernel, and links between them. Needs root. A scenario that a testbed cannot run is refused "
        "before anything is created.",
    )
    scenario_options(sub)
    choice_option(
        sub,
        "--switch",
        ("auto", "kernel", "user"),
        "what forwards packets: the kernel (tbf and clsact), a switch in user space, which can delay "
        "packets, or whichever the delays of the links need (default)",
        default="auto",
    )
    path_option(sub, "--out", "DIR", "where to save the result (default: under incast-results/)")
    flag_option(sub, "--fresh", "replace another complete result in the folder of --out")
    path_option(
        sub, "--against", "RESULT", "compare with this result of the simulator, and print the distances"
    )
    flag_option(
        sub, "--simulate", "run the simulator too, or take its existing result, and print the distances"
    )
    quiet_option(sub)


def act(options: argparse.Namespace) -> int:
    """Runs the scenario, and prints its result, the distances and where they are saved."""
    scenario = load(options)
    label = f"{store.label(scenario)} on the testbed"
    warn(scenario)
    other = None if options.against is None else simulated(options.against, scenario)
    folder = options.out or place(scenario)
    if options.out is not None and is_complete(folder) and not options.fresh:
        raise ResultError(
            f"{folder} already contains a complete result\n"
            "    help: --fresh replaces it, --out names another folder"
        )
    result = run_and_show(label, lambda: run(scenario, label, folder, options))
    if options.simulate:
        other = simulate(scenario, options)
        print(f"simulation saved in {other.folder}")
    if other is not None:
        print(f"\n{distances(other, result)}")
    return 0 if result.sound else 1


def run(
    scenario: Scenario, label: str, folder: Path, options: argparse.Namespace, series: Series | None = None
) -> Result:
    """Runs a scenario on a testbed, with a progress line.

    Args:
        scenario: What to run.
        label: Its label.
        folder: Where to save its result; what is there is replaced.
        options: The options of the command.
        series: The runs of which this is one; it is counted there.
    """
    from incast.real import testbed

    began = time.monotonic()
    try:
        with ProgressLine(label, options.quiet, series=series) as progress:
            switch = getattr(options, "switch", "auto")
            result = testbed.run(scenario, folder, switch=switch, fresh=True, progress=progress, waiting=say)
    finally:
        if series is not None:
            series.ended(time.monotonic() - began)
    warn_late(scenario, result, label if series is not None and series.runs > 1 else None)
    return result


def place(scenario: Scenario) -> Path:
    """The default folder of a testbed's result; the next one of the same scenario replaces it."""
    simulated = store.place(store.DEFAULT, scenario, store.named_files(scenario))
    return simulated.with_name(f"testbed-{simulated.name}")


def simulated(folder: Path, scenario: Scenario) -> Result:
    """A result of the simulator to compare with.

    Raises:
        ResultError: When it is none, or one of another scenario.
    """
    result = Result.open(folder)
    if "testbed" in result.info:
        raise ResultError(f"{folder} was measured on a testbed: name a result of the simulator")
    if (folder / "scenario.toml").read_text(encoding="utf-8") != scenario.to_toml():
        raise ResultError(f"{folder} is the result of another scenario: compare the two scenario.toml")
    return result


def simulate(scenario: Scenario, options: argparse.Namespace) -> Result:
    """The simulator's result of the scenario."""
    folder = store.place(store.DEFAULT, scenario, store.named_files(scenario))
    plain = argparse.Namespace(quiet=options.quiet, out=None, fresh=False, threads=1)
    return run_one(scenario, folder_name(store.label(scenario)), folder, plain)


def distances(simulated: Result, measured: Result) -> str:
    """The table of distances."""
    from incast.real.testbed.distance import distance

    numbers = (("simulated", ""), ("measured", ""), ("difference", ""), ("relative", "%"))
    rows = [
        [
            row.title,
            row.unit,
            number(row.simulated),
            number(row.measured),
            number(row.difference),
            "" if row.share is None else number(100 * row.share),
        ]
        for row in distance(simulated, measured)
    ]
    return table(columns("distance from the simulation", "unit", *numbers), rows)
