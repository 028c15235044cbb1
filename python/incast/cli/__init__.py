"""The command ``incast``.

Exit codes: 0 for success; 1 if a run stalled or violated an invariant, or its result could not be saved; 2
for invalid input; 3 if a requirement is not met; 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import atexit
import importlib
import os
import pkgutil
import shlex
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NoReturn

from incast._build import __version__
from incast._terminal import guarded
from incast.cli import unknown
from incast.cli.options import Parser, RawFormatter
from incast.errors import KernelError, PluginError, ResultError, ScenarioError, WireError

OK = 0
FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130

_ORDER = (
    *("run", "compare", "sweep", "arena", "tune", "attack", "new", "validate", "lists", "show", "tabled"),
    *("explain", "plot", "convert", "report", "reproduce", "schema", "kernel", "testbed", "wire", "doctor"),
    "completion",
)
"""The order of commands in the help. Any other module that has ``add`` is a command too, and comes later."""

_EPILOG = """\
exit codes:
  0    success
  1    a run stalled or failed, or its result could not be saved
  2    invalid input
  3    a requirement (--require) is not met
  130  stopped by Ctrl-C
"""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the command and ends the process with its exit code."""
    # A batch system stops a job with SIGTERM: results so far are kept, as with Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # Numpy starts a thread for each core when it is imported. No command has use for them, and starting and
    # ending them takes longer than a short run.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        code = command(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe (`incast list | head`): write nothing more, now or at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = OK
    # With words of its own the caller may want to go on.
    if arguments is None and _is_done():
        os._exit(code)
    sys.exit(code)


def _is_done() -> bool:
    """Whether nothing is left to do but to take the interpreter apart, which takes a tenth of a short run."""
    handlers = getattr(atexit, "_ncallbacks", None)
    if handlers is None or handlers() > 0 or threading.active_count() > 1:
        return False
    sys.stderr.flush()
    return True


def command(arguments: Sequence[str] | None = None) -> int:
    """Runs the command.

    Args:
        arguments: The words after ``incast``; by default this process's.

    Returns:
        The exit code.
    """
    # Names and texts of files may hold characters that a terminal obeys.
    with redirect_stdout(guarded(sys.stdout)), redirect_stderr(guarded(sys.stderr)):
        return _command(arguments)


def _command(arguments: Sequence[str] | None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    options = unknown.read(_parser_for(words), words)
    if isinstance(options, int):
        return options
    options.command = shlex.join(["incast", *words])
    try:
        return int(options.act(options))
    except KeyboardInterrupt as stop:
        # A run that was stopped says where, and what of it is kept.
        print(f"\nincast: {stop if stop.args else 'stopped'}", file=sys.stderr)
        return INTERRUPTED
    except ScenarioError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except (ResultError, PluginError, KernelError, WireError) as error:
        print(f"incast: {error}", file=sys.stderr)
        return FAILED


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    return _parser(_names())


def _parser_for(words: Sequence[str]) -> argparse.ArgumentParser:
    """Returns a parser that reads these words. Other commands may be missing: they take long to import."""
    if words and words[0] in _names():
        top = _parser([words[0]])
        # A module may have a command of another name, and `incast lists` is none.
        if words[0] in unknown.commands(top):
            return top
    return parser()


def _parser(names: Sequence[str]) -> argparse.ArgumentParser:
    """Makes a parser with the commands of some modules of this package."""
    top = Parser(
        prog="incast",
        description="A laboratory for datacenter congestion control.",
        epilog=_EPILOG,
        formatter_class=RawFormatter,
    )
    top.add_argument("--version", action="version", version=f"incast {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for name in names:
        module: Any = importlib.import_module(f"{__name__}.{name}")
        if hasattr(module, "add"):
            module.add(commands)
    return top


def _names() -> list[str]:
    """Returns the modules of this package; those that add commands are in the order of the help."""
    return sorted(
        (module.name for module in pkgutil.iter_modules(__path__)),
        key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name),
    )
