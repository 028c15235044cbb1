"""The command ``incast``.

Exit codes: 0 for success; 1 if a run stalled or violated an invariant, or its result could not be saved; 2
for invalid input; 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from incast._build import __version__
from incast.cli import (
    compare,
    completion,
    convert,
    doctor,
    kernel,
    lists,
    plot,
    report,
    reproduce,
    run,
    schema,
    show,
    sweep,
    testbed,
    validate,
    wire,
)
from incast.cli.options import run_options, scenario_options
from incast.errors import PluginError, ResultError, ScenarioError
from incast.real.kernel import KernelError
from incast.scenario import Interrupted

OK = 0
FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130

_EPILOG = """\
exit codes:
  0    success
  1    a run stalled or failed, or its result could not be saved
  2    invalid input
  130  stopped by Ctrl-C
"""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the command and ends the process with its exit code."""
    # A batch system stops a job with SIGTERM: results so far are kept, as with Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = command(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe (`incast list | head`): write nothing more, now or at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = OK
    sys.exit(code)


def command(arguments: Sequence[str] | None = None) -> int:
    """Runs the command.

    Args:
        arguments: The words after ``incast``; by default this process's.

    Returns:
        The exit code.
    """
    options = parser().parse_args(arguments)
    try:
        return int(options.act(options))
    except Interrupted as stop:
        print(f"\nincast: {stop}", file=sys.stderr)
        return INTERRUPTED
    except KeyboardInterrupt:
        print("\nincast: stopped", file=sys.stderr)
        return INTERRUPTED
    except ScenarioError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except (ResultError, PluginError, KernelError) as error:
        print(f"incast: {error}", file=sys.stderr)
        return FAILED


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    top = argparse.ArgumentParser(
        prog="incast",
        description="A laboratory for datacenter congestion control.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"incast {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    sub = commands.add_parser(
        "run", help="run a scenario", description="Runs a scenario and saves the result."
    )
    scenario_options(sub)
    run_options(sub)
    sub.set_defaults(act=run.act)

    sub = commands.add_parser(
        "compare",
        help="run a scenario with several algorithms and print one table",
        description="Runs one scenario with several algorithms: same flows, same seed, one table.",
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
    sub.add_argument("--plot", action="store_true", help="also save a picture, as PNG and PDF")
    sub.add_argument(
        "--testbed",
        action="store_true",
        help="run with real kernels, as `incast testbed` does; no result is reused",
    )
    sub.set_defaults(act=compare.act)

    sweep.add(commands)

    sub = commands.add_parser(
        "validate",
        help="check a scenario, or a file of another simulator, without running it",
        description="Checks a scenario, a topology.txt, a flow.txt or a distribution; reports its contents.",
    )
    scenario_options(sub)
    sub.add_argument("--effective", action="store_true", help="print the whole scenario with all defaults")
    sub.set_defaults(act=validate.act)

    sub = commands.add_parser(
        "list",
        help="list algorithms, topologies, traffic, distributions",
        description="Lists what is available, or explains one entry.",
    )
    sub.add_argument(
        "what", nargs="?", metavar="WHAT", help=f"{', '.join(lists.KINDS)}, or the name of one entry"
    )
    sub.set_defaults(act=lists.act)

    show.add(commands)
    plot.add(commands)
    convert.add(commands)
    report.add(commands)
    reproduce.add(commands)
    schema.add(commands)
    kernel.add(commands)
    testbed.add(commands)
    wire.add(commands)
    doctor.add(commands)
    completion.add(commands)
    return top
