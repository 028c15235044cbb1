"""``incast validate``: checks a scenario without running it."""

from __future__ import annotations

import argparse

from incast.cli import convert
from incast.cli.common import load
from incast.cli.options import Commands, add_command, flag_option, scenario_options
from incast.cli.outcome import dropped
from incast.progress import simulated
from incast.scenario import contestants


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(
        commands,
        act,
        "validate",
        "check a scenario, or a file of another simulator, without running it",
        "Checks a scenario, a topology.txt, a flow.txt or a distribution; reports its contents.",
    )
    scenario_options(sub)
    flag_option(sub, "--effective", "print the whole scenario with all defaults")


def act(options: argparse.Namespace) -> int:
    """Prints the size of a scenario, or the effective scenario."""
    if convert.is_foreign(options.file) and not options.overrides:
        return convert.describe(options.file)
    if (names := contestants.alone_in(options.file)) and not options.overrides:
        print(f"{options.file}: fine")
        convert.table([("contestants", ", ".join(names))])
        return 0
    scenario = load(options)
    size = scenario.size()
    if options.effective:
        print(scenario.to_toml(), end="")
        return 0
    limit = "" if size.until_ps is None else f", at {simulated(size.until_ps)} at the latest"
    ends = f"when every flow has finished{limit}"
    rows = [
        ("network", size.network),
        *([("contestant", scenario.contestant)] if scenario.contestant else []),
        ("algorithm", ", ".join(size.algorithms)),
        ("flows", f"{size.flows:,}"),
        *convert.amounts(size),
        ("ends", ends),
        ("seed", f"{scenario.seed}"),
    ]
    print(f"{options.file}: fine")
    convert.table(rows)
    for problem in scenario.warnings:
        print(f"warning: {problem}")
    if without := dropped({scenario.name: scenario}):
        print(without)
    return 0
