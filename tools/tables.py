"""Writes python/incast/results/tables.py from the declarations of tables: ``python tools/tables.py``.

A test compares the file with the declarations.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from incast import _core

FILE = Path(__file__).parent.parent / "python" / "incast" / "results" / "tables.py"

HEAD = '''"""The tables of a result as properties. Made from their declarations by ``tools/tables.py``."""

from __future__ import annotations

from incast import _core


class Tables:
    """The tables of a result."""

    def __init__(self, core: _core.Result) -> None:
        self._core = core
'''


def text() -> str:
    """Returns the file as it should be now."""
    return HEAD + "".join(prop(table) for table in _core.tables())


def prop(table: _core.TableInfo) -> str:
    """Returns the property of a table."""
    meaning = re.sub("`([^`]+)`", r"``\1``", table.meaning)
    first, stop, rest = meaning.partition(". ")
    doc = textwrap.fill(first + stop.strip(), 100, subsequent_indent=" " * 8)
    if rest:
        doc += (
            "\n\n"
            + textwrap.fill(rest, 100, initial_indent=" " * 8, subsequent_indent=" " * 8)
            + "\n        "
        )
    return f'''
    @property
    def {table.name}(self) -> _core.Table:
        """{doc}"""
        return self._core.table("{table.name}")
'''


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
