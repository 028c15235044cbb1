"""Lists of commands, of columns and of measures."""

from __future__ import annotations

import argparse

from generating.markdown import cell, table_of
from incast import _core, cli
from incast.results.measures import MEASURES
from incast.results.measures.named import NAMED

GUIDES = {
    "sweep": "sweeps.md",
    "arena": "arena.md",
    "tune": "tune.md",
    "attack": "attack.md",
    "convert": "../formats/workloads.md",
    "report": "../report.md",
    "reproduce": "reproduce.md",
    "kernel": "kernel.md",
    "testbed": "testbed.md",
    "send": "wire.md",
    "receive": "wire.md",
}
"""Commands that have a page of their own, seen from the page of all commands."""


def commands() -> str:
    """Returns a table of all commands, with their own help."""
    [subparsers] = [a for a in cli.parser()._actions if isinstance(a, argparse._SubParsersAction)]
    rows = []
    for command in subparsers._choices_actions:
        page = GUIDES.get(command.dest)
        more = f" ([guide]({page}))" if page else ""
        rows.append(f"| `incast {command.dest}` | {cell(command.help or '')}{more} |")
    return "\n\n" + "\n".join(["| Command | Purpose |", "| --- | --- |", *rows]) + "\n\n"


def columns() -> str:
    """Returns a table of columns for each table of a result."""
    texts = []
    for made in _core.tables():
        rows = [
            f"| `{c.name}` | {c.kind}{', or null' if c.nullable else ''} | {c.unit} | {cell(c.meaning)} |"
            for c in made.columns
        ]
        head = ["| column | type | unit | meaning |", "| --- | --- | --- | --- |"]
        texts += [f"**{made.name}**: {made.meaning}", "\n".join([*head, *rows])]
    return "\n\n" + "\n\n".join(texts) + "\n\n"


def numbers() -> str:
    """Returns a table of the numbers that every run has."""
    rows = [(f"`{one.name}`", one.words, one.better) for one in NAMED.values()]
    return f"\n\n{table_of(('measure', 'number', 'better'), rows)}\n\n"


def measures() -> str:
    """Returns a table of the measures that are computed from tables."""
    rows = [(f"`{one.signature}`", one.summary, one.better) for one in MEASURES.values()]
    return f"\n\n{table_of(('measure', 'value', 'better'), rows)}\n\n"
