"""``incast schema``: the JSON Schema of scenario files."""

from __future__ import annotations

import argparse
import json

from incast import catalogue


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    sub = commands.add_parser(
        "schema",
        help="print the JSON Schema of scenario files",
        description="Prints the JSON Schema of scenario files, for editors and other tools.",
    )
    sub.set_defaults(act=act)


def act(options: argparse.Namespace) -> int:
    """Prints the schema."""
    del options
    print(json.dumps(json.loads(catalogue.schema()), indent=2, ensure_ascii=False))
    return 0
