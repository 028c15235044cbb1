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
from incast.report import changes, flows, network, series
from incast.report.columns import Columns
from incast.report.entries import Entry, scenario
from incast.report.flows import Flows
from incast.report.jobs import HEAD, LISTED, jobs
from incast.report.summary import alike, differences, ending, headline, summary, warned

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


def page(entries: Sequence[Entry]) -> str:
    """The whole page.

    Args:
        entries: The results, with their names.
    """
    columns = Columns()
    results = [entry.result for entry in entries]
    all_flows = [Flows.of(result) for result in results]
    content = {
        "entries": [
            {"title": e.title, "colour": e.colour, "dark": e.dark, "dashes": e.dashes} for e in entries
        ],
        "flows": flows.pictures(all_flows, columns),
        "series": {**series.pictures(results, columns), "changes": changes.shades(results)},
        "network": network.pictures(results, columns),
    }
    name = " · ".join(dict.fromkeys(str(result.info["name"]) for result in results))
    style = _asset("report.css")
    script = "(() => {\n'use strict';\n" + "".join(map(_asset, _SCRIPTS)) + "})();\n"
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    values = {
        "policy": policy,
        "name": text(name),
        "style": style,
        "headline": _headline(entries),
        "endings": _endings(entries),
        "summary": _summary(entries, all_flows),
        "jobs": _jobs(entries),
        "scenarios": _scenarios(entries),
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


def _headline(entries: Sequence[Entry]) -> str:
    return "".join(f"<span>{text(part)}</span>" for part in headline(entries))


def _endings(entries: Sequence[Entry]) -> str:
    """Describes the end of each run, failures first, and the reasons for which results are not comparable."""
    said = sorted((ending(entry, len(entries) > 1) for entry in entries), key=lambda e: not e.bad)
    blocks = []
    for end in said:
        if end.title is None:
            continue
        kind, role = ("bad", ' role="alert"') if end.bad else ("note", "")
        lines = "".join(f"<p>{text(line)}</p>" for line in end.lines)
        points = "".join(f"<li>{text(point)}</li>" for point in end.points)
        box = f'<div class="points" tabindex="0" role="group" aria-label="{text(end.title)}: flows, scrolls">'
        listed = f"{box}<ul>{points}</ul></div>" if points else ""
        blocks.append(
            f'<div class="{kind}"{role}><p><strong>{text(end.title)}</strong></p>{lines}{listed}</div>'
        )
    notes = [*warned(entries), *differences(entries), *alike(entries)]
    blocks += [f'<div class="note"><p>{text(line)}</p></div>' for line in notes]
    return "".join(blocks)


def _summary(entries: Sequence[Entry], all_flows: Sequence[Flows]) -> str:
    head = "".join(
        f'<th scope="col" data-entry="{i}"><span class="swatch" data-entry="{i}"></span>{text(e.title)}</th>'
        for i, e in enumerate(entries)
    )
    rows = [f'<thead><tr><td></td><td class="unit">unit</td>{head}</tr></thead>']
    for part in summary([e.result for e in entries], all_flows):
        rows.append(f'<tbody><tr class="part"><th colspan="{len(entries) + 2}">{text(part.title)}</th></tr>')
        for row in part.rows:
            cells = "".join(f'<td data-entry="{i}">{text(cell)}</td>' for i, cell in enumerate(row.cells))
            kind = ' class="words"' if row.words else ""
            rows.append(
                f'<tr{kind}><th scope="row">{text(row.title)}</th>'
                f'<td class="unit">{text(row.unit)}</td>{cells}</tr>'
            )
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
