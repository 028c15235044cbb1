"""The page itself: text and tables, then the data that its script draws.

Everything that must be visible without scripts (how a run ended, the summary, the scenario) is plain
HTML. User text is escaped by `text` for HTML and by `data` for the script, where it is only ever set as
text.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from importlib import resources

from incast._build import __version__
from incast.report import changes, first, flows, limits, network, series
from incast.report.answers import endings, origin, verdicts
from incast.report.columns import Columns
from incast.report.compared import decided, rows
from incast.report.compared import notes as explained
from incast.report.drawing import picture
from incast.report.entries import MOST_DETAILED, Entry, detailed, entries, scenario
from incast.report.flows import Flows
from incast.report.jobs import HEAD, LISTED, jobs
from incast.report.summary import alike, differences, headline, summary, warned
from incast.results.grid import Grid
from incast.results.paired import Baseline
from incast.results.require import Check
from incast.results.sentences import sentences

_SCRIPTS = (
    "units.js",
    "data.js",
    "pyramid.js",
    "save.js",
    "chart.js",
    "series.js",
    "flows.js",
    "heat.js",
    "network.js",
    "link.js",
    "page.js",
)


def page(
    grid: Grid, baseline: Baseline | None = None, checks: Sequence[Check] = (), command: str | None = None
) -> str:
    """The whole page.

    Args:
        grid: The entries with their runs.
        baseline: The baseline, if there is one.
        checks: The checks of the requirements.
        command: The command that makes it, if there is one.
    """
    columns = Columns()
    shown = entries(detailed(grid, baseline))
    results = [entry.result for entry in shown]
    all_flows = [entry.flows() for entry in shown]
    content = {
        "entries": [
            {"title": e.title, "colour": e.colour, "dark": e.dark, "dashes": e.dashes} for e in shown
        ],
        "flows": flows.pictures(all_flows, columns),
        "series": {
            **series.pictures(
                results, columns, series.SAMPLES if len(grid.runs) <= MOST_DETAILED else series.SAMPLES // 2
            ),
            "changes": changes.shades(results),
        },
        "network": network.pictures(results, columns),
    }
    drawn = picture(grid, shown, baseline)
    divided = limits.pictures(shown)
    style = _asset("report.css") + drawn.style + divided.style
    script = "(() => {\n'use strict';\n" + "".join(map(_asset, _SCRIPTS)) + "})();\n"
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    values = {
        "policy": policy,
        "name": text(" · ".join(dict.fromkeys(str(run.info["name"]) for run in grid.runs))),
        "style": style,
        "headline": "".join(f"<span>{text(part)}</span>" for part in headline(grid)),
        **_first(grid, baseline, checks, shown, drawn.html),
        "summary": _summary(shown, all_flows),
        "jobs": _jobs(shown),
        "limits": divided.html,
        "scenarios": _scenarios(shown),
        "made": first.made_by(command, grid.command),
        "version": text(__version__),
        "data": data(content),
        "blob": columns.to_base64(),
        "script": script,
    }
    parts = _asset("page.html").split("{{")
    filled = [parts[0]]
    for part in parts[1:]:
        key, _, rest = part.partition("}}")
        filled += [values[key], rest]
    return "".join(filled)


def _first(
    grid: Grid, baseline: Baseline | None, checks: Sequence[Check], shown: Sequence[Entry], drawn: str
) -> dict[str, str]:
    """Returns the parts of the first screen."""
    decisions = decided(grid, baseline)
    said, more = endings(grid, shown)
    compared, marks = rows(grid, decisions, baseline)
    told = sentences(grid, decisions, ranked=not grid.looks)
    several = len(grid.entries) > 1
    bad = [end for end in said if end.bad]
    return {
        "alarms": first.ends(bad, 0),
        "answers": first.answers([one.text for one in told], checks, verdicts(grid), drawn, several),
        "endings": first.ends(said[len(bad) :], more),
        "notes": first.notes([*warned(grid), *differences(grid, shown), *alike(grid)]),
        "compared": first.table(
            compared,
            [entry.title for entry in grid.entries],
            [*explained(decisions, baseline, grid), *marks],
        ),
        "origin": "".join(f"<p>{text(line)}</p>" for line in origin(grid, len(shown))),
    }


def text(words: object) -> str:
    """Escapes any text for HTML and for attributes in double quotes."""
    return html.escape(str(words))


def data(content: object) -> str:
    """JSON that cannot terminate the enclosing script element."""
    written = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return resources.files("incast.report").joinpath("assets").joinpath(name).read_text(encoding="utf-8")


def _hash(source: str) -> str:
    digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _summary(entries: Sequence[Entry], all_flows: Sequence[Flows]) -> str:
    head = "".join(
        f'<th scope="col" data-entry="{i}"><span class="swatch" data-entry="{i}"></span>{text(e.title)}</th>'
        for i, e in enumerate(entries)
    )
    rows = [f'<thead><tr><td></td><td class="unit">unit</td>{head}</tr></thead>']
    for part in summary(entries, all_flows):
        rows.append(f'<tbody><tr class="part"><th colspan="{len(entries) + 2}">{text(part.title)}</th></tr>')
        for row in part.rows:
            cells = "".join(f'<td data-entry="{i}">{text(cell)}</td>' for i, cell in enumerate(row.cells))
            kind = ' class="words"' if row.words else ""
            rows.append(
                f'<tr{kind}><th scope="row">{text(row.title)}</th>'
                f'<td class="unit">{text(row.unit)}</td>{cells}</tr>'
            )
        if part.notes:
            said = text(" ".join(part.notes))
            rows.append(f'<tr class="notes"><td colspan="{len(entries) + 2}">{said}</td></tr>')
        rows.append("</tbody>")
    return f"<table>{''.join(rows)}</table>"


def _jobs(entries: Sequence[Entry]) -> str:
    """The section with the jobs; empty where there are none."""
    listed, number = jobs([entry.result for entry in entries])
    if not listed:
        return ""
    several = len(entries) > 1
    titles = ("job", *(("result",) if several else ()), *HEAD)
    head = "".join(f'<th scope="col">{text(title)}</th>' for title in titles)
    rows = []
    for row in listed:
        title = text(entries[row.entry].title)
        who = f'<td data-entry="{row.entry}"><span class="swatch"></span>{title}</td>' if several else ""
        cells = "".join(f"<td>{text(cell)}</td>" for cell in row.cells)
        rows.append(f'<tr data-entry="{row.entry}"><th scope="row">{text(row.job)}</th>{who}{cells}</tr>')
    note = f"<p>The {LISTED} slowest of {number:,} jobs.</p>" if number > LISTED else ""
    return (
        '<section aria-labelledby="jobs-title"><h2 id="jobs-title">Jobs</h2>'
        f'{note}<div class="wide" tabindex="0" role="group" aria-label="Jobs, scrolls sideways" id="jobs">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def _scenarios(entries: Sequence[Entry]) -> str:
    """Each different scenario once."""
    users: dict[str, list[str]] = {}
    for entry in entries:
        users.setdefault(scenario(entry.result), []).append(entry.title)
    blocks = []
    for toml, titles in users.items():
        named = f" of {', '.join(titles)}" if len(users) > 1 else ""
        if toml:
            label = f'aria-label="Scenario{text(named)}, scrolls"'
            blocks.append(
                f"<details><summary>The scenario{text(named)}, every default written out</summary>"
                f'<pre tabindex="0" role="group" {label}>{text(toml)}</pre></details>'
            )
        else:
            blocks.append(f"<p>The scenario{text(named)} was not saved: the run had no folder.</p>")
    return "".join(blocks)
