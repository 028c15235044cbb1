"""``incast validate``: checks a scenario without running it."""

from __future__ import annotations

import argparse

from incast.cli import convert
from incast.cli.common import load
from incast.cli.options import scenario_options
from incast.progress import simulated


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    sub = commands.add_parser(
        "validate",
        help="check a scenario, or a file of another simulator, without running it",
        description="Checks a scenario, a topology.txt, a flow.txt or a distribution; reports its contents.",
    )
    scenario_options(sub)
    sub.add_argument("--effective", action="store_true", help="print the whole scenario with all defaults")
    sub.set_defaults(act=act)


def act(options: argparse.Namespace) -> int:
    """Prints the size of a scenario, or the effective scenario."""
    if convert.is_foreign(options.file) and not options.overrides:
        return convert.describe(options.file)
    scenario = load(options)
    size = scenario.size()
    if options.effective:
        print(scenario.to_toml(), end="")
        return 0
    limit = "" if size.until_ps is None else f", at {simulated(size.until_ps)} at the latest"
    ends = f"when every flow has finished{limit}"
    rows = [
        ("network", size.network),
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
    return 0
