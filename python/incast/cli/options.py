"""Options that several commands have, and how their values are read."""

from __future__ import annotations

import argparse
import math
import os
import sys
import textwrap
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from incast.algorithm import load_plugin
from incast.errors import nearest

if TYPE_CHECKING:
    from incast.runs.runner import Executor


def columns() -> int:
    """Returns the width of the terminal; as ``shutil`` does, of which the import takes longer."""
    try:
        told = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        told = 0
    if told > 0:
        return told
    try:
        return os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1).columns or USUAL_COLUMNS
    except (OSError, ValueError):
        return USUAL_COLUMNS


USUAL_COLUMNS = 80
"""The width where there is no terminal."""


class Formatter(argparse.HelpFormatter):
    """The form of a command's help. A parser makes several, long before anybody asks for help."""

    def __init__(self, prog: str, **others: Any) -> None:  # noqa: ANN401
        super().__init__(prog, **{"width": columns() - 2, **others})


class RawFormatter(Formatter, argparse.RawDescriptionHelpFormatter):
    """The form of help with lines as they are."""


class Parser(argparse.ArgumentParser):
    """A parser that helps where an argument is missing.

    Attributes:
        helps: The line of help for each argument, by its name in the usage.
    """

    helps: dict[str, str]

    def error(self, message: str) -> NoReturn:
        """Prints what is wrong and ends the process, with help where an argument is missing."""
        _, _, missing = message.partition("required: ")
        known = getattr(self, "helps", {})
        lines = [f"\n    help: {known[name]}" for name in missing.split(", ") if name in known]
        super().error(message + "".join(lines))


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
"""The commands of a parser, to which one can be added."""


def add_command(
    commands: Commands,
    act: Callable[[argparse.Namespace], int],
    name: str,
    brief: str,
    about: str,
    epilog: str | None = None,
) -> Parser:
    """Adds a command.

    Args:
        commands: Where to add it.
        act: Runs it with its options, and returns the exit code.
        name: Its name.
        brief: Its line in the list of commands.
        about: The first paragraph of its own help.
        epilog: The end of its help, with lines as they are.

    Returns:
        Its parser, for its arguments.
    """
    formatter = Formatter if epilog is None else RawFormatter
    if epilog is not None:  # Lines as they are, also of this paragraph.
        about = textwrap.fill(about, columns() - 2)
    sub = commands.add_parser(name, help=brief, description=about, epilog=epilog, formatter_class=formatter)
    sub.set_defaults(act=act)
    return sub


def path_option(
    sub: argparse.ArgumentParser,
    name: str,
    metavar: str,
    about: str,
    *,
    default: Path | None = None,
    required: bool = False,
) -> None:
    """Adds an option that names a file or a folder."""
    sub.add_argument(name, type=Path, metavar=metavar, help=about, default=default, required=required)


def flag_option(sub: argparse._ActionsContainer, name: str, about: str) -> None:
    """Adds an option without a value."""
    sub.add_argument(name, action="store_true", help=about)


def choice_option(
    sub: argparse.ArgumentParser,
    name: str,
    words: Sequence[str],
    about: str,
    *,
    metavar: str | None = None,
    default: str | None = None,
    optional: bool = False,
) -> None:
    """Adds an option, or an argument, that takes one of some words; a wrong one gets a suggestion.

    Args:
        sub: Where to add it.
        name: Its name, with dashes for an option.
        words: The words.
        about: Its help.
        metavar: Its name in the usage.
        default: Its value where it is not given.
        optional: Whether an argument may be left out.
    """

    def read(text: str) -> str:
        if text in words:
            return text
        near = nearest(text, words)
        more = f" (choose from {', '.join(words)})" if near is None else f"; did you mean {near!r}?"
        raise argparse.ArgumentTypeError(f"there is no {text!r}{more}")

    # The words are given to argparse too: completion reads them there.
    sub.add_argument(
        name,
        type=read,
        choices=tuple(words),
        metavar=metavar,
        default=default,
        help=about,
        **({"nargs": "?"} if optional else {}),  # type: ignore[arg-type]
    )


def number_option(
    sub: argparse.ArgumentParser,
    name: str,
    read: Callable[[str], int],
    about: str,
    default: int | None = None,
) -> None:
    """Adds an option that takes a whole number."""
    sub.add_argument(name, type=read, metavar="N", help=about, default=default)


def quiet_option(sub: argparse.ArgumentParser) -> None:
    """Adds the option that turns the progress line off."""
    flag_option(sub, "--quiet", "no progress line and no notes; warnings stay")


def scenario_options(
    sub: Parser,
    metavar: str = "FILE",
    about: str = "the scenario, a TOML file",
    *,
    optional: bool = False,
) -> None:
    """Adds the arguments that name and change a scenario, which may be optional."""
    sub.helps = {metavar: "`incast new` writes a scenario to start from"}
    sub.add_argument("file", type=Path, metavar=metavar, help=about, nargs="?" if optional else None)
    sub.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set a key of the scenario, like topology.rate=400Gbps; may be repeated",
    )
    plugin_option(sub)
    number_option(sub, "--seed", seed, "seed of every random draw (default: the scenario's)")


def plugin_option(sub: argparse.ArgumentParser) -> None:
    """Adds the option that names files with algorithms."""
    sub.add_argument(
        "--plugin",
        type=plugin,
        action="append",
        metavar="FILE",
        help="a file with an algorithm of your own, in Python (.py) or a shared library (.so), "
        "which can then be named; may be repeated",
    )


def results_argument(sub: argparse.ArgumentParser) -> None:
    """Adds the argument that names results."""
    sub.add_argument(
        "results",
        nargs="+",
        type=Path,
        metavar="RESULT",
        help="the folder of a result or of a sweep, or a folder of results, as `incast compare` writes it",
    )


def parameters_option(sub: argparse.ArgumentParser) -> None:
    """Adds the option that sets parameters of an algorithm."""
    sub.add_argument(
        "--set",
        dest="parameters",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a parameter of the algorithm; may be repeated",
    )


def plugin(text: str) -> list[str]:
    """Loads a file with algorithms, and returns their names."""
    try:
        return load_plugin(text)
    except (FileNotFoundError, ValueError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    except Exception:
        import traceback

        raise argparse.ArgumentTypeError(f"{text} cannot be loaded\n{traceback.format_exc()}") from None


def run_options(sub: argparse.ArgumentParser) -> None:
    """Adds the options of a run, none of which changes its results."""
    number_option(
        sub,
        "--threads",
        threads,
        "number of threads (default: 1; more help on large networks); the result is the same",
        default=1,
    )
    path_option(sub, "--out", "DIR", "where to save the result (default: under incast-results/)")
    flag_option(
        sub,
        "--fresh",
        "run again and replace an existing result (otherwise one of the same scenario, version and "
        "seed is reused)",
    )
    flag_option(
        sub, "--estimate", "only run a trial of some seconds and estimate what the whole run would need"
    )
    quiet_option(sub)


def batch_options(sub: argparse.ArgumentParser) -> None:
    """Adds the options of a batch of runs."""
    number_option(sub, "--jobs", count, "runs at the same time (default: one per core)")
    sub.add_argument(
        "--on",
        type=_where,
        default="local",
        metavar="WHERE",
        help="local (default), ray (the cluster of RAY_ADDRESS, or one on this machine), or ray://HOST:PORT",
    )
    flag_option(sub, "--fresh", "make every run again")
    quiet_option(sub)


def limit_option(sub: argparse.ArgumentParser, default: float | None = None) -> None:
    """Adds the option that ends runs which take too long."""
    sub.add_argument(
        "--limit",
        type=_seconds,
        metavar="SECONDS",
        default=default,
        help="end a run that takes longer: it has failed, and the same command tries it again (default: "
        + ("none)" if default is None else f"{default:g})"),
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < threading.TIMEOUT_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, like 300")
    return seconds


def _where(text: str) -> str:
    if text in ("local", "ray") or text.startswith("ray://"):
        return text
    raise argparse.ArgumentTypeError(f"{text!r} is not local, ray or an address like ray://head:10001")


def executor(options: argparse.Namespace) -> Executor:
    """The executor that the options of :func:`batch_options` name."""
    # A single run needs none of this.
    if options.on == "local":
        from incast.runs.runner.local import Local

        return Local(options.jobs)
    from incast.runs.runner.on_ray import Ray

    return Ray(options.on, options.jobs)


def count(text: str) -> int:
    """Reads a count."""
    return whole(text, 1, 100_000)


def seed(text: str) -> int:
    """Reads a seed."""
    return whole(text, 0, 2**64 - 1)


def threads(text: str) -> int:
    """Reads a number of threads."""
    return whole(text, 1, 1024)


def whole(text: str, low: int, high: int) -> int:
    """Reads a whole number of a range."""
    if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {low} to {high}")
    return int(text)
