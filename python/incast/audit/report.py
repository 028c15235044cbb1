"""Findings of an audit, and the report with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

MOST_SHOWN = 20
"""Findings that a report shows in full; of the others it has the number."""


@dataclass(frozen=True)
class Finding:
    """Something in a result that contradicts the rest of it.

    Attributes:
        kind: The rule that is broken, in a word or two: ``mark``, ``order``.
        place: The port, flow or node.
        time_ps: When, in picoseconds; None: it is of the whole run.
        subject: The packet, the total or the value.
        expected: What follows from the rest of the result.
        found: What the result has.
    """

    kind: str
    place: str
    time_ps: int | None
    subject: str
    expected: str
    found: str

    def __str__(self) -> str:
        when = "whole run" if self.time_ps is None else f"{self.time_ps} ps"
        where = f"{self.kind}: {self.place}, {when}, {self.subject}"
        return f"{where}: expected {self.expected}; found {self.found}"


@dataclass
class Report:
    """The outcome of an audit.

    Attributes:
        checked: How many things of each kind were checked.
        unchecked: What could not be checked, each with its reason.
        findings: What is wrong.
        complete: Whether the result has the packets that most checks need.
    """

    checked: Counter[str] = field(default_factory=Counter)
    unchecked: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    complete: bool = True

    def find(
        self, kind: str, place: str, time_ps: int | None, subject: object, expected: object, found: object
    ) -> None:
        """Adds a finding."""
        self.findings.append(Finding(kind, place, time_ps, str(subject), str(expected), str(found)))

    def same(self, kind: str, place: str, expected: Mapping[str, object], row: Mapping[str, object]) -> None:
        """Checks that a row of a table has the expected values, and counts the checks."""
        for name, value in expected.items():
            self.checked[kind] += 1
            if value != row[name]:
                self.find(kind, place, None, name, value, row[name])

    def skip(self, what: str) -> None:
        """Notes, once, what could not be checked and why."""
        if what not in self.unchecked:
            self.unchecked.append(what)

    def text(self) -> str:
        """Returns the report as lines of text."""
        lines = ["Checked:"]
        lines += [f"  {number:,} {what}" for what, number in sorted(self.checked.items()) if number]
        if len(lines) == 1:
            lines.append("  nothing")
        if self.unchecked:
            lines += ["Not checked:", *(f"  {what}" for what in self.unchecked)]
        ordered = sorted(self.findings, key=lambda f: (f.time_ps is None, f.time_ps or 0))
        if not ordered:
            return "\n".join([*lines, "No findings."])
        count = len(ordered)
        lines.append(f"{count:,} {'finding' if count == 1 else 'findings'}, the earliest first:")
        lines += [f"  {finding}" for finding in ordered[:MOST_SHOWN]]
        if count > MOST_SHOWN:
            lines.append(f"  and {count - MOST_SHOWN:,} more; later ones can follow from earlier ones")
        return "\n".join(lines)
