"""Parts of Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def cell(text: str) -> str:
    """A text that may stand in a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def code(items: Sequence[str]) -> str:
    """Returns a list as code."""
    return ", ".join(f"`{item}`" for item in items)


def table_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table."""
    lines = [head, ["---"] * len(head), *([cell(text) for text in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
