"""``incast new``: a scenario or an algorithm to start from."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from incast.cli.options import Commands, add_command, choice_option, flag_option
from incast.cli.table import paragraph, section
from incast.scenario import Start, start, starts
from incast.scenario.starts import OWN_ALGORITHM, own_algorithm

BAD_INPUT = 2

ALGORITHM = "algorithm"
"""The kind that is no scenario."""

_BRIEF = "A congestion control algorithm of your own, in Python: complete, to be changed"


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(
        commands,
        act,
        "new",
        "write a commented scenario, or an algorithm of your own, to start from",
        "Writes a commented scenario, or an algorithm of your own in Python, to start from. Without KIND it "
        "lists the kinds.",
    )
    kinds = [*(one.name for one in starts()), ALGORITHM]
    choice_option(sub, "kind", kinds, f"{', '.join(kinds)}", metavar="KIND", optional=True)
    sub.add_argument(
        "file",
        nargs="?",
        type=Path,
        metavar="FILE",
        help=f"the file to write (default: KIND.toml; of an algorithm {OWN_ALGORITHM})",
    )
    flag_option(sub, "--force", "replace a file that is there")


def act(options: argparse.Namespace) -> int:
    """Writes the file, and prints the commands to give next; or lists the kinds."""
    if options.kind is None:
        print(section("scenarios to start from", [[one.name, one.brief] for one in starts()]))
        print(f"\n{section('algorithms to start from', [[ALGORITHM, _BRIEF]])}")
        print("\nWrite one of them: incast new training, incast new storage mine.toml")
        return 0
    if options.kind == ALGORITHM:
        path: Path = options.file or Path(OWN_ALGORITHM)
        if path.suffix != ".py":
            print(f"incast: {path}: the file of an algorithm ends in .py", file=sys.stderr)
            return BAD_INPUT
        text, brief, what = own_algorithm(str(path)), _BRIEF, "algorithm"
        word = shlex.quote(str(path))
        after = [
            f"incast list {word}",
            "incast new microburst",
            f"incast compare microburst.toml --cc {word},swift,oscar",
        ]
    else:
        path = options.file or Path(f"{options.kind}.toml")
        one = start(options.kind).for_file(str(path))
        text, brief, what, after = one.text, one.brief, "scenario", _next(one, path)
    try:
        with path.open("w" if options.force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        print(f"incast: {path} is there; name another file, or --force", file=sys.stderr)
        return BAD_INPUT
    except OSError as error:
        print(f"incast: {path} cannot be written: {error.strerror}", file=sys.stderr)
        return BAD_INPUT
    print(f"{what} {path}\n{paragraph(brief, '  ')}\n\nnext")
    for command in after:
        print(f"  {command}")
    return 0


def _next(one: Start, path: Path) -> list[str]:
    """Returns three commands: check, run, and the last one that the file names, which compares."""
    word = shlex.quote(str(path))
    return [f"incast validate {word}", f"incast run {word}", one.commands[-1]]
