"""``incast audit``: whether a result follows from its captured packets by the rules of links and switches."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

from incast.audit import Columns, Evidence, audit
from incast.cli.common import load
from incast.cli.options import Commands, add_command, flag_option, scenario_options
from incast.cli.show import open_result
from incast.errors import IncastWarning, ResultError, ScenarioError
from incast.progress import ProgressLine
from incast.results import Table
from incast.results.result import Result
from incast.runs import store
from incast.scenario import Scenario

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EVERY_PORT = ["all host ports", "all switch ports"]
"""The ports that an audit needs captured."""

CAPTURING = {"probe.captures": EVERY_PORT, "probe.packets": True, "probe.from": "0ps"}
"""The keys of a scenario by which its result has everything that an audit needs."""

CLEAN, FOUND, UNABLE = 0, 1, 2


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(
        commands,
        act,
        "audit",
        "check a result packet by packet",
        "Checks a result, or a run of a scenario, against its captured packets: times and order of "
        "transmissions, admission, marks, pauses, losses, delivery, times of flows, totals. Exit code 1: "
        "something is wrong; 2: it cannot be audited.",
    )
    scenario_options(sub, "RESULT|SCENARIO", "the folder of a result, or a scenario, which is run")
    flag_option(sub, "--quiet", "print findings only")


def act(options: argparse.Namespace) -> int:
    """Audits a result or a scenario, and prints the report."""
    if options.file.is_dir():
        try:
            if options.overrides or options.seed is not None:
                raise ResultError(f"{options.file} is a result: --set and --seed change scenarios only")
            evidence = of_result(open_result(options.file), options.file)
        except ResultError as error:
            print(f"incast: {error}", file=sys.stderr)
            return UNABLE
    else:
        scenario = load(options)
        with ProgressLine(store.label(scenario), options.quiet) as progress:
            evidence = of_scenario(scenario, progress)
    report = audit(evidence)
    if report.findings or not report.complete or not options.quiet:
        print(report.text())
    if report.findings:
        return FOUND
    return CLEAN if report.complete else UNABLE


def of_scenario(scenario: Scenario, progress: Any = None) -> Evidence:  # noqa: ANN401
    """Runs a scenario with every port captured: the evidence of the run."""
    scenario = capturing(scenario)
    with warnings.catch_warnings():
        # The audit is of what happened, whether or not that is sensible.
        warnings.simplefilter("ignore", IncastWarning)
        result = scenario.run_quietly(progress=progress)
    return evidence_of(result, settings_of(scenario))


def capturing(scenario: Scenario) -> Scenario:
    """The scenario with every port captured."""
    return scenario.with_(CAPTURING)


def of_result(result: Result, folder: Path) -> Evidence:
    """The evidence of a saved result.

    Raises:
        ResultError: When the run was killed.
    """
    if not result.info.get("outcome"):
        raise ResultError(f"{folder} is no complete result: totals exist at the end of a run only")
    file = folder / "scenario.toml"
    try:
        settings = settings_of(Scenario.load(file))
    except ScenarioError:
        # An algorithm or a file that it names is not here: the text has all but the clocks.
        settings = tomllib.loads(file.read_text(encoding="utf-8"))
    return evidence_of(result, settings)


def settings_of(scenario: Scenario) -> dict[str, Any]:
    """The settings of a scenario, also the clocks that it has by default, which its file leaves open."""
    settings = tomllib.loads(scenario.to_toml())
    if scenario.has_own_clocks:
        settings.setdefault("run", {})["clock"] = "100ppm"
    return settings


def evidence_of(result: Result, settings: dict[str, Any]) -> Evidence:
    """The tables of a result as evidence, with the settings of its effective scenario."""
    outcome = result.info["outcome"] | {"hosts": result.info["hosts"]}
    packets = result.packets
    return Evidence(
        settings,
        outcome,
        _columns(result.flows),
        _columns(result.ports),
        _columns(packets) if len(packets) else None,
    )


def _columns(table: Table) -> Columns:
    """The columns of a table, with whole numbers where values are missing, and None for those."""
    columns = {}
    for name in table.columns:
        values = table.column(name).tolist()
        if name not in ("slowdown", "own_slowdown") and any(isinstance(v, float) for v in values):
            values = [None if v != v else int(v) for v in values]
        elif name in ("slowdown", "own_slowdown"):
            values = [None if v is None or v != v else v for v in values]
        columns[name] = values
    return columns
