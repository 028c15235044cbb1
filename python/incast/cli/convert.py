"""``incast convert``: converts files of other programs to scenarios, and results to such files."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from incast import _core
from incast.catalogue import canonical
from incast.cli.options import Commands, add_command, flag_option, path_option
from incast.cli.table import number, paragraph
from incast.results.result import Result
from incast.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable

_EPILOG = """\
`incast validate FILE` checks a file of another program and prints its contents.

conversions:
  WORK [TOPOLOGY] --to scenario.toml   a scenario that names the files
{results}

WORK describes what hosts send:
  flow.txt          HPCC, ns3-datacenter, SimAI; needs its topology.txt
  schedule.goal     GOAL, as text or binary (.bin): Schedgen, ATLAHS, LogGOPSim
  matrix.cm         connections of htsim, with triggers
  workload.txt      layers of a training job for SimAI, as AICB writes them
  trace.*.et        Chakra traces, one file of each rank; as JSON: .json
  flows.csv         a table of flows, also as Parquet
TOPOLOGY is a topology.txt of HPCC or a .topo of htsim; without one, ranks are
hosts at one switch.

Captured packets need no conversion: with captures in the scenario's [probe], a
run writes capture.pcapng into its result.
"""


def add(commands: Commands) -> None:
    """Adds the command to the others."""
    results = (
        f"  {'RESULT --to ' + format_.example:<37}{format_.summary}" for format_ in _core.export_formats()
    )
    sub = add_command(
        commands,
        act,
        "convert",
        "convert files of other programs to scenarios, results to such files",
        "Converts other programs' files to a scenario, or a result to such files.",
        epilog=_EPILOG.format(results="\n".join(results)),
    )
    sub.add_argument(
        "inputs", nargs="+", type=Path, metavar="INPUT", help="files of a scenario, or the folder of a result"
    )
    path_option(sub, "--to", "FILE", "the file to write; its extension gives the format", required=True)
    sub.add_argument(
        "--cc",
        default="hpcc",
        type=canonical,
        metavar="NAME[:PRESET]",
        help="the algorithm of the converted scenario, which the files do not name (default: hpcc)",
    )
    sub.add_argument(
        "--start-unit",
        metavar="UNIT",
        help="the unit of the start times of a .cm, which the file does not say: ps, ns, us, ...",
    )
    flag_option(sub, "--force", "replace an existing file")


def act(options: argparse.Namespace) -> int:
    """Converts."""
    inputs: list[Path] = options.inputs
    target: Path = options.to
    if target.suffix == ".toml":
        return scenario(inputs, target, options.cc, options.start_unit, replace=options.force)
    extensions = [extension for format_ in _core.export_formats() for extension in format_.extensions]
    if options.start_unit is not None:
        raise _core.ScenarioError("--start-unit has no effect without --to scenario.toml")
    if target.suffix not in extensions:
        raise _core.ScenarioError(
            f"--to {target}: the extension gives the format; one of {', '.join(('.toml', *extensions))}"
        )
    if len(inputs) != 1:
        raise _core.ScenarioError(f"--to {target} is made from one result; {len(inputs)} inputs are given")
    if not inputs[0].is_dir():
        raise _core.ScenarioError(f"{inputs[0]}: expected the folder of a result")
    result = Result.open(inputs[0])
    if result.state != "complete":
        print(f"{inputs[0]}: the result is {result.state}; its content so far is converted")
    counts, notes = _core.export(os.fspath(inputs[0]), os.fspath(target), options.force)
    print(f"{target}: {', '.join(counts)}")
    for note in notes:
        print(f"  {note}")
    return 0


def scenario(inputs: list[Path], target: Path, cc: str, start_unit: str | None, *, replace: bool) -> int:
    """Writes a scenario that names files of other programs."""
    if target.exists() and not replace:
        raise _core.ResultError(f"{target}: the file already exists\n    help: --force replaces it")
    named = [
        (os.fspath(path), Path(os.path.relpath(path, target.parent)).as_posix()) for path in traces(inputs)
    ]
    text, notes = _core.scenario_of_files(named, cc, start_unit)
    # Refused before it is written, if it is not a scenario that runs.
    size = Scenario.from_toml(text, os.fspath(target)).size()
    try:
        target.write_text(text)
    except OSError as error:
        raise _core.ResultError(f"cannot write {target}: {error.strerror}") from None
    print(f"{target}: {size.flows:,} flows on {size.network}")
    table(amounts(size))
    tell("dropped or different", notes)
    return 0


def traces(inputs: list[Path]) -> list[Path]:
    """The inputs, with one pattern in place of the Chakra traces of all ranks.

    The shell makes all their names of ``trace.*.et``; one of them, or the pattern in quotes, means all.

    Raises:
        ScenarioError: When the name of a trace has no number.
    """
    found: list[Path] = []
    for path in inputs:
        if path.suffix in _TRACES and "*" not in path.name:
            before, rank, after = re.fullmatch(r"(.*?)(\d*)(\D*)", path.name).groups()  # type: ignore[union-attr]
            if not rank:
                raise _core.ScenarioError(
                    f"{path}: the name has no number to take as the rank\n"
                    "    help: traces are named like trace.0.et, trace.1.et, …"
                )
            pattern = path.with_name(f"{before}*{after}")
            if pattern in found:
                continue
            path = pattern
        found.append(path)
    return found


_TRACES = (".et", ".json")
"""Ends of the names of Chakra traces."""
_FOREIGN = (".goal", ".cm", ".topo", *_TRACES)
"""Ends of the names of schedules, htsim's connections and topologies, and Chakra traces."""
_BINARY = ((4223).to_bytes(8, "little"), (2342).to_bytes(8, "little"), b"PAR1")
"""Beginnings of files that are no text: GOAL schedules, also used up ones, and Parquet."""
_HEAD = 1 << 16
"""Number of characters in which the first line of a file is looked for."""


def is_foreign(path: Path) -> bool:
    """Whether a file belongs to another program: scenarios begin with a key or the name of a section."""
    if path.suffix == ".toml" or not path.is_file():
        return False
    if path.suffix in _FOREIGN:
        return True
    with path.open("rb") as begin:
        if begin.read(8).startswith(_BINARY):
            return True
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for line in file.read(_HEAD).splitlines():
            text = line.strip()
            if text and not text.startswith("#"):
                return not text.startswith("[") and "=" not in text
    return False


def describe(path: Path) -> int:
    """Checks a file of another program and prints its contents."""
    format_, rows, notes = _core.describe_file(os.fspath(path))
    print(f"{path}: fine, {format_}")
    table(rows)
    tell("dropped or different", notes)
    return 0


def amounts(size: _core.Size) -> list[tuple[str, str]]:
    """Rows that say how much a scenario sends, and when."""
    first, last = (f"{number(start / 1e6)} us" for start in size.starts_ps)
    load = None if size.load is None else size.load * 100
    return [
        ("traffic", f"{number(size.bytes / 1e6)} MB"),
        ("starts", first if first == last else f"{first} to {last}"),
        *([] if load is None else [("load", f"{number(load)} % of the hosts' links between these")]),
    ]


def table(rows: Iterable[tuple[str, str]]) -> None:
    """Prints rows, each a name and a text."""
    for name, text in rows:
        print(f"  {name:<9}  {paragraph(text, ' ' * 13).lstrip()}")


def tell(heading: str, notes: list[str]) -> None:
    """Prints notes under a heading, if there are any."""
    if notes:
        print(f"  {heading}:")
    for note in notes:
        print(f"    {paragraph(note, ' ' * 4).lstrip()}")
