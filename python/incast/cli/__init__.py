"""The command ``incast``.

Exit codes: 0 when all went well; 1 when a run did not come to a proper end (it stalled, or an
invariant did not hold) or its result could not be saved; 2 when the input was bad; 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from incast import Interrupted, ResultError, ScenarioError, __version__
from incast.cli import (
    compare,
    completion,
    convert,
    doctor,
    lists,
    plot,
    report,
    reproduce,
    run,
    schema,
    show,
    sweep,
    validate,
)
from incast.cli.options import run_options, scenario_options

OK = 0
FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130

_EPILOG = """\
exit codes:
  0    all went well
  1    a run did not come to a proper end, or its result could not be saved
  2    the input was bad
  130  stopped by Ctrl-C
"""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the command and ends the process with its exit code."""
    # A batch system stops a job with SIGTERM: that keeps what is there, like Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = command(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader left (`incast list | head`): nothing more to say to it, now or at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = OK
    sys.exit(code)


def command(arguments: Sequence[str] | None = None) -> int:
    """Runs the command.

    Args:
        arguments: The words after ``incast``; by default those of this process.

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
    except ResultError as error:
        print(f"incast: {error}", file=sys.stderr)
        return FAILED


def parser() -> argparse.ArgumentParser:
    """What the command understands."""
    top = argparse.ArgumentParser(
        prog="incast",
        description="A laboratory for datacenter congestion control.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"incast {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    sub = commands.add_parser(
        "run", help="run a scenario", description="Runs a scenario and saves what happened."
    )
    scenario_options(sub)
    run_options(sub)
    sub.set_defaults(act=run.act)

    sub = commands.add_parser(
        "compare",
        help="run a scenario with several algorithms, into one table",
        description="Runs one scenario with several algorithms: same flows, same seed, one table.",
    )
    scenario_options(sub)
    sub.add_argument(
        "--cc",
        required=True,
        metavar="NAME[:PRESET],…",
        help="the algorithms, separated by commas: oscar,hpcc,swift:oscar (see `incast list`)",
    )
    run_options(sub)
    sub.add_argument("--plot", action="store_true", help="save a picture too, as PNG and PDF")
    sub.set_defaults(act=compare.act)

    sweep.add(commands)

    sub = commands.add_parser(
        "validate",
        help="check a scenario, or a file of another simulator, without running it",
        description="Checks a scenario, a topology.txt, a flow.txt or a distribution; says what it comes to.",
    )
    scenario_options(sub)
    sub.add_argument(
        "--effective", action="store_true", help="print the whole scenario, every default written out"
    )
    sub.set_defaults(act=validate.act)

    sub = commands.add_parser(
        "list",
        help="what there is: algorithms, topologies, traffic, distributions",
        description="Lists what there is, or explains one thing of it.",
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
    doctor.add(commands)
    completion.add(commands)
    return top
