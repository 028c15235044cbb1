"""The first screen of a report as HTML: answers, requirements, verdicts, the table that compares entries."""

from __future__ import annotations

from collections.abc import Sequence

from incast.report.answers import Verdict
from incast.report.compared import MOST_COLUMNS, Cell, Row
from incast.report.summary import Ending
from incast.results.listing.forms import escaped
from incast.results.require import Check, Outcome, counted

MOST_CHECKS = 24
"""Of more checks than this only those that are not met are open; the others are folded."""


def ends(said: Sequence[Ending], more: int) -> str:
    """Returns the blocks about the ends of runs.

    Args:
        said: The ends.
        more: The number of those that are left out.
    """
    blocks = []
    for end in said:
        kind, role = ("bad", ' role="alert"') if end.bad else ("note", "")
        lines = "".join(f"<p>{escaped(line)}</p>" for line in end.lines)
        points = "".join(f"<li>{escaped(point)}</li>" for point in end.points)
        name = escaped(f"{end.title}: flows, scrolls")
        box = f'<div class="points" tabindex="0" role="group" aria-label="{name}">'
        listed = f"{box}<ul>{points}</ul></div>" if points else ""
        title = f"<p><strong>{escaped(end.title or '')}</strong></p>"
        blocks.append(f'<div class="{kind}"{role}>{title}{lines}{listed}</div>')
    if more:
        blocks.append(f'<div class="note"><p>{more:,} more runs have something to report.</p></div>')
    return "".join(blocks)


def notes(lines: Sequence[str]) -> str:
    """Returns each line as a note."""
    return "".join(f'<div class="note"><p>{escaped(line)}</p></div>' for line in lines)


def answers(
    sentences: Sequence[str], checks: Sequence[Check], verdicts: Sequence[Verdict], picture: str, named: bool
) -> str:
    """Returns the section with the answers.

    Args:
        sentences: The sentences, the most important first.
        checks: The checks of the requirements.
        verdicts: The verdicts on the whole.
        picture: The picture as SVG; empty for none.
        named: Whether checks have the names of their entries.
    """
    said = "".join(f"<p>{escaped(sentence)}</p>" for sentence in sentences)
    parts = [f'<div class="sentences">{said}</div>'] if said else []
    if checks:
        parts.append(f"<h3>Requirements: {escaped(counted(checks))}</h3>{_checks(checks, named)}")
    parts.append(f"<h3>Verdicts</h3>{_items([_verdict(one) for one in verdicts])}")
    parts.append(picture)
    return (
        '<section id="answers" aria-labelledby="answers-title"><h2 id="answers-title">Answers</h2>'
        f"{''.join(parts)}</section>"
    )


def _checks(checks: Sequence[Check], named: bool) -> str:
    items = [_check(check, named) for check in checks]
    if len(checks) <= MOST_CHECKS:
        return _items(items)
    wanting = [item for item, check in zip(items, checks, strict=True) if not check.met]
    first = _items(wanting[:MOST_CHECKS]) if wanting else ""
    return f"{first}<details><summary>All {len(checks):,} checks</summary>{_items(items)}</details>"


def _items(items: Sequence[str]) -> str:
    return f'<ul class="checks">{"".join(items)}</ul>'


def _check(check: Check, named: bool) -> str:
    who = f", {check.entry}" if named else ""
    said = ", ".join(part for part in (check.outcome.value, check.shown, check.why) if part)
    text = f"{check.requirement.text}{who}: {said}"
    return _item(check.outcome, text)


def _verdict(verdict: Verdict) -> str:
    word = "" if verdict.outcome in (Outcome.MET, Outcome.MISSED) else f"{verdict.outcome.value}; "
    return _item(verdict.outcome, f"{verdict.about}: {word}{verdict.text}")


def _item(outcome: Outcome, text: str) -> str:
    kind = outcome.value.replace(" ", "-")
    return f'<li class="{kind}"><span aria-hidden="true">{outcome.sign}</span> {escaped(text)}</li>'


def table(rows: Sequence[Row], titles: Sequence[str], notes: Sequence[str]) -> str:
    """Returns the section with the table that compares entries; empty for one entry.

    Args:
        rows: The numbers.
        titles: The names of the entries.
        notes: The explanations.
    """
    if len(titles) < 2:
        return ""
    across = len(titles) <= MOST_COLUMNS
    body = _columns(rows, titles) if across else _rows(rows, titles)
    kind = "wide" if across else "wide long"
    said = f'<p class="small">{escaped(" ".join(notes))}</p>' if notes else ""
    return (
        '<section aria-labelledby="differences-title"><h2 id="differences-title">Comparison</h2>'
        f'<div class="{kind}" id="differences" tabindex="0" role="group" '
        f'aria-label="Comparison, scrolls">{body}</div>{said}</section>'
    )


def _columns(rows: Sequence[Row], titles: Sequence[str]) -> str:
    """Returns a table with a column for each entry."""
    heads = "".join(f'<th scope="col">{escaped(title)}</th>' for title in titles)
    lines = []
    for row in rows:
        kind = ' class="to"' if row.part else ""
        lines.append(
            f'<tr{kind}><th scope="row">{escaped(row.title)}</th><td class="unit">{escaped(row.unit)}</td>'
            f"{''.join(_td(one) for one in row.cells)}</tr>"
        )
    return (
        f'<table><thead><tr><td></td><td class="unit">unit</td>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def _rows(rows: Sequence[Row], titles: Sequence[str]) -> str:
    """Returns a table with a row for each entry, which a script sorts by the values in it."""
    names = ["entry", *(f"{row.title} ({row.unit})" if row.unit else row.title for row in rows)]
    heads = "".join(f'<th scope="col" data-sort="">{escaped(name)}</th>' for name in names)
    lines = []
    for n, title in enumerate(titles):
        cells = "".join(_td(row.cells[n], sorted_by=True) for row in rows)
        lines.append(f'<tr><th scope="row">{escaped(title)}</th>{cells}</tr>')
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _td(cell: Cell, sorted_by: bool = False) -> str:
    value = f' data-value="{cell.value:.6g}"' if sorted_by and cell.value == cell.value else ""
    kind = f' class="{cell.word}"' if cell.word else ""
    return f"<td{kind}{value}>{escaped(cell.text)}</td>"


def made_by(command: str | None, runs: str | None) -> str:
    """Returns the commands that made a report and its runs, for the foot; empty where there were none.

    Args:
        command: The command of the report.
        runs: The command of the runs.
    """
    said = []
    if command:
        said.append(f"Made by <code>{escaped(command)}</code>")
    if runs and runs != command:
        said.append(f"{'its runs' if said else 'Runs made'} by <code>{escaped(runs)}</code>")
    return f"<p>{', '.join(said)}.</p>" if said else ""
