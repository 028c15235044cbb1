"""The option ``--require`` and its lines on the screen."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from incast._terminal import WIDTH, cells
from incast.cli.table import pad, paragraph
from incast.errors import ScenarioError
from incast.scenario import Scenario

if TYPE_CHECKING:
    from incast.results.grid import Grid
    from incast.results.require import Check, Requirement

NOT_MET = 3
"""The exit code if a requirement is not met and nothing worse has happened."""


def require_option(sub: argparse.ArgumentParser) -> None:
    """Adds the option."""
    sub.add_argument(
        "--require",
        action="append",
        default=[],
        metavar="TEXT",
        help='a requirement, like "p99.small < 3", "oscar: jobs.slowest <= 500us" or finished; exit code 3 '
        "if one is not met; may be repeated",
    )


class Required:
    """The requirements of a command.

    Args:
        options: The options of the command.
        ahead: Returns the entries that there will be, without runs; called where there are requirements.
        scenarios: What will run, of which one must have what the requirements are about.

    Raises:
        ScenarioError: When a text is no requirement, or would have no effect.
    """

    def __init__(
        self, options: argparse.Namespace, ahead: Callable[[], Grid], scenarios: Iterable[Scenario] = ()
    ) -> None:
        self._not_met = False
        self._requirements: list[Requirement] = []
        if not options.require:
            return
        # They have many modules, which take as long as a short run.
        from incast.results.measures.call import Call
        from incast.results.require import Requirement
        from incast.scenario.measured import refuse_missing

        entries = ahead() if not getattr(options, "estimate", False) else None
        for text in options.require:
            if entries is None:
                raise ScenarioError(f"--require {text}: has no effect with --estimate")
            try:
                self._requirements.append(Requirement.read(text, entries))
                self._requirements[-1].checks(entries)
            except ValueError as error:
                raise ScenarioError(f"--require {error.args[0]}") from None
        calls = [one.measure for one in self._requirements if isinstance(one.measure, Call)]
        refuse_missing("--require", calls, scenarios)

    def __bool__(self) -> bool:
        return bool(self._requirements)

    def text(self, grid: Grid) -> str:
        """Judges a grid, and returns the lines; empty without requirements.

        Args:
            grid: The entries with their runs.
        """
        if not self._requirements:
            return ""
        from incast.results.require import judged

        checks = judged(grid, self._requirements)
        self._not_met = self._not_met or not all(check.met for check in checks)
        return lines(checks, named=len(grid.entries) > 1)

    def code(self, code: int) -> int:
        """Returns the exit code of the command.

        Args:
            code: Its code without requirements.
        """
        return code or (NOT_MET if self._not_met else 0)


def lines(checks: Sequence[Check], *, named: bool) -> str:
    """Returns checks as text: their counts, and a line for each.

    Args:
        checks: The checks.
        named: Whether lines have the titles of entries.
    """
    from incast.results.require import counted

    rows = [
        (check.requirement.text, *((check.entry,) if named else ()), check.shown, check.why)
        for check in checks
    ]
    widths = [max(map(cells, column)) for column in zip(*(row[:-1] for row in rows), strict=True)]
    found = [f"requirements: {counted(checks)}"]
    for check, row in zip(checks, rows, strict=True):
        parts = [pad(text, width, True) for text, width in zip(row[:-1], widths, strict=True) if width]
        line = f"  {check.outcome.sign} {'  '.join(parts)}"
        whole = f"{line}  {check.why}".rstrip()
        if cells(whole) <= WIDTH:
            found.append(whole)
        else:
            found += [line.rstrip(), *([paragraph(check.why, "      ")] if check.why else [])]
    return "\n".join(found)
