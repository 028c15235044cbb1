"""``incast new``: a scenario to start from."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from incast.cli.options import Commands, add_command, choice_option, flag_option
from incast.cli.table import paragraph, section
from incast.scenario import Start, start, starts

BAD_INPUT = 2


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(
        commands,
        act,
        "new",
        "write a commented scenario to start from",
        "Writes a commented scenario to start from. Without KIND it lists the kinds.",
    )
    kinds = [one.name for one in starts()]
    choice_option(sub, "kind", kinds, f"{', '.join(kinds)}", metavar="KIND", optional=True)
    sub.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the file to write (KIND.toml)")
    flag_option(sub, "--force", "replace a file that is there")


def act(options: argparse.Namespace) -> int:
    """Writes the file, and prints the commands to give next; or lists the kinds."""
    if options.kind is None:
        print(section("scenarios to start from", [[one.name, one.brief] for one in starts()]))
        print("\nWrite one of them: incast new training, incast new storage mine.toml")
        return 0
    path: Path = options.file or Path(f"{options.kind}.toml")
    one = start(options.kind).for_file(str(path))
    try:
        with path.open("w" if options.force else "x", encoding="utf-8") as file:
            file.write(one.text)
    except FileExistsError:
        print(f"incast: {path} is there; name another file, or --force", file=sys.stderr)
        return BAD_INPUT
    except OSError as error:
        print(f"incast: {path} cannot be written: {error.strerror}", file=sys.stderr)
        return BAD_INPUT
    print(f"scenario {path}\n{paragraph(one.brief, '  ')}\n\nnext")
    for command in _next(one, path):
        print(f"  {command}")
    return 0


def _next(one: Start, path: Path) -> list[str]:
    """Returns three commands: check, run, and the last one that the file names, which compares."""
    word = shlex.quote(str(path))
    return [f"incast validate {word}", f"incast run {word}", one.commands[-1]]
