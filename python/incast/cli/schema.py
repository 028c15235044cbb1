"""``incast schema``: the JSON Schema of scenario files."""

from __future__ import annotations

import argparse
import json

from incast import catalogue
from incast.cli.options import Commands, add_command


def add(commands: Commands) -> None:
    """Adds the command."""
    add_command(
        commands,
        act,
        "schema",
        "print the JSON Schema of scenario files",
        "Prints the JSON Schema of scenario files, for editors and other tools.",
    )


def act(options: argparse.Namespace) -> int:
    """Prints the schema."""
    del options
    print(json.dumps(json.loads(catalogue.schema()), indent=2, ensure_ascii=False))
    return 0
