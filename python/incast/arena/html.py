"""The results of an arena as one HTML file, made from its record alone."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from incast.arena.page import Said, number, ratio, spanned, titles
from incast.report.page import data, text
from incast.scenario.cautions import knowing

SHADES = (1.02, 1.1, 1.25, 1.6, 2.5, 6.0)
"""Ratios at which the cells of the heat map get the next shade."""


def page(said: Said) -> str:
    """Returns the file.

    Args:
        said: The record of an arena.
    """
    style, script = _asset("arena.css"), _asset("arena.js")
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'"
    battery = said["battery"]
    title = f"Arena {battery['name']} {battery['version']}"
    sections = [
        ("ranking", "Ranking", ranking(said)),
        ("ratios", "Ratios by scenario", _ratios(said)),
        ("duels", "Duels", _duels(said)),
        ("scenarios", "Scenario by scenario", _scenarios(said)),
        ("left-out", "Left out", _left_out(said)),
    ]
    body = "".join(
        f'<section aria-labelledby="{key}"><h2 id="{key}">{text(name)}</h2>{content}</section>'
        for key, name, content in sections
        if content
    )
    named = titles(said)
    content = {
        "titles": named,
        "duels": [
            [
                one["contestant"],
                one["other"],
                one["share"],
                one["use"],
                one["queue_mean_bytes"],
                one["over_time"],
            ]
            for one in said["duels"]
        ],
    }
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{text(policy)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{style}</style></head><body>"
        f"<header><h1>{text(title)}</h1><p>{text(_verdict(said))}</p></header><main>{body}</main>"
        f"<footer><p>{text(_version(said))}</p></footer>"
        '<dialog id="duel" aria-labelledby="duel-title"><h2 id="duel-title"></h2><p id="duel-text"></p>'
        '<div id="duel-picture"></div><form method="dialog"><button>Close</button></form></dialog>'
        f'<script type="application/json" id="data">{data(content)}</script><script>{script}</script>'
        "</body></html>\n"
    )


def _asset(name: str) -> str:
    return resources.files("incast.arena").joinpath("assets").joinpath(name).read_text(encoding="utf-8")


def _hash(source: str) -> str:
    digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _verdict(said: Said) -> str:
    """Returns the first sentence: who is never far from the best, and in how much it rests."""
    ranked = [one for one in said["ranking"] if one["ranked"]]
    named = titles(said)
    some = f"{len(ranked)} contestants, {len(said['scenarios'])} of {said['battery']['scenarios']} scenarios"
    if not ranked or ranked[0]["failed"]:
        return f"{some}. Everyone failed somewhere."
    first = ranked[0]
    worst = ratio(first["worst"], first["censored"])
    return (
        f"{some}. {named[first['contestant']]} is never worse than {worst} × the best ({first['scenario']})."
    )


def _version(said: Said) -> str:
    battery = said["battery"]
    return (
        f"Battery {battery['name']} {battery['version']}, SHA-256 {battery['digest'][:16]}…; "
        f"{said['runs']:,} runs; Incast {said['incast']}."
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], label: str) -> str:
    """Returns a table whose cells are HTML; the first cell of a row is its heading."""
    heads = "".join(f'<th scope="col">{one}</th>' for one in head)

    def line(row: Sequence[str]) -> str:
        cells = (cell if cell.startswith("<td") else f"<td>{cell}</td>" for cell in row[1:])
        return f'<tr><th scope="row">{row[0]}</th>{"".join(cells)}</tr>'

    lines = "".join(map(line, rows))
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{text(label)}">'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def ranking(said: Said) -> str:
    """Returns the ranking as a table.

    Args:
        said: The record of an arena.
    """
    named = titles(said)
    needs = {one["name"]: one["needs"] for one in said["contestants"]}
    rows, place = [], 0
    for one in said["ranking"]:
        place += one["ranked"]
        worst = spanned(one["worst"], one["worst_low"], one["worst_high"])
        rows.append(
            [
                text(named[one["contestant"]]),
                str(place) if one["ranked"] else "reference",
                text(f"≥ {worst}" if one["censored"] and not one["failed"] else worst),
                f'<a href="#scenario-{text(one["scenario"])}">{text(one["scenario"])}</a>',
                text(spanned(one["mean"], one["mean_low"], one["mean_high"])),
                str(one["scenarios"]),
                str(one["failed"] or "–"),
                text(needs[one["contestant"]]),
            ]
        )
    head = ["contestant", "rank", "never worse than", "in", "mean ratio", "scenarios", "failed", "needs"]
    notes = "".join(f"<p>{text(one)}</p>" for one in knowing(one["contestant"] for one in said["ranking"]))
    return f"{_table(head, rows, 'Ranking')}{notes}"


def _shade(value: float) -> str:
    return f"h{sum(value >= step for step in SHADES)}"


def _flags(said: Said) -> dict[tuple[str, str], tuple[bool, bool, bool]]:
    """Returns for each scenario and contestant whether it is a bound, has failed, and is on the front."""
    found: dict[tuple[str, str], tuple[bool, bool, bool]] = {}
    for one in said["scores"]:
        key = one["scenario"], one["contestant"]
        before = found.get(key, (False, False, False))
        now = (one["censored"], one["failed"], one["front"])
        found[key] = (before[0] or now[0], before[1] or now[1], before[2] or now[2])
    return found


def _ratios(said: Said) -> str:
    named, flags = titles(said), _flags(said)
    names = [one["contestant"] for one in said["ranking"]]
    rows = []
    for scenario, of in said["ratios"].items():
        cells = [f'<a href="#scenario-{text(scenario)}">{text(scenario)}</a>']
        for name in names:
            if name not in of:
                cells.append('<td class="none">–</td>')
                continue
            censored, failed, front = flags[scenario, name]
            shown = ratio(of[name], censored, failed) + (" ●" if front else "")
            cells.append(f'<td class="{_shade(of[name])}">{text(shown)}</td>')
        rows.append(cells)
    note = (
        "<p>Ratio of each scenario to its best contestant, in the order of the ranking; ●: on the front.</p>"
    )
    return note + _table(["scenario", *(text(named[name]) for name in names)], rows, "Ratios by scenario")


def _duels(said: Said) -> str:
    share = {(one["contestant"], one["other"]): one["share"] for one in said["duels"]}
    if not share:
        return ""
    named = titles(said)
    names = [one["contestant"] for one in said["ranking"] if (one["contestant"], one["contestant"]) in share]
    rows = []
    for a in names:
        cells = [text(named[a])]
        for b in names:
            if (a, b) not in share:
                cells.append('<td class="none">–</td>')
                continue
            value = share[a, b]
            # 0 takes nothing, 8 takes all.
            tone = "self" if a == b else f"s{min(int(value * 9), 8)}"
            label = f"{named[a]} beside {named[b]}: {100 * value:.0f} %"
            cells.append(
                f'<td class="{tone}"><button type="button" data-duel="{text(a)} {text(b)}" '
                f'aria-label="{text(label)}">{100 * value:.0f}</button></td>'
            )
        rows.append(cells)
    note = (
        "<p>Percent that the contestant of the row gets beside the one of the column, with two long flows "
        "each on one port. 50 is equal; a cell opens the shares over time.</p>"
    )
    why = "".join(
        f"<li>{text(named[name])}: {text(reason)}</li>" for name, reason in said["no_duels"].items()
    )
    left = f"<p>Without a row:</p><ul>{why}</ul>" if why else ""
    return note + _table(["", *(text(named[name]) for name in names)], rows, "Duels") + left


def _scenarios(said: Said) -> str:
    return "".join(_scenario(said, one) for one in said["scenarios"])


def _scenario(said: Said, scenario: Said) -> str:
    name, named = scenario["name"], titles(said)
    of = said["ratios"].get(name, {})
    scores = {(one["contestant"], one["metric"]): one for one in said["scores"] if one["scenario"] == name}
    metrics = [metric["name"] for metric in scenario["metrics"]]
    rows = []
    for contestant in sorted(of, key=lambda one: float(of[one])):
        mine = [scores[contestant, metric] for metric in metrics]
        cells = [text(named[contestant]), "●" if mine[0]["front"] else "", text(_whole(of[contestant], mine))]
        for one in mine:
            mean = "–" if one["mean"] is None else number(one["mean"])
            shown = "failed" if one["failed"] else spanned(one["ratio"], one["low"], one["high"])
            cells += [text(mean), text(f"{'≥ ' if one['censored'] and one['high'] != 'inf' else ''}{shown}")]
            cells.append(text(one["word"]))
        rows.append([*cells, f"<code>{text(_command(said, name, contestant))}</code>"])
    head = ["contestant", "front", "ratio"]
    for metric in metrics:
        head += [text(metric), "ratio (95 %)", "word"]
    unsteady = scenario["not_steady"]
    load = f" The load of {unsteady} of {scenario['runs']} runs is not steady." if unsteady else ""
    about = f"{scenario['question']} {scenario['replicates']} replicates.{load}"
    return (
        f'<details id="scenario-{text(name)}"><summary>{text(name)}: {text(scenario["question"])}</summary>'
        f"<p>{text(about)}</p>{_picture(scenario, of, scores, named)}"
        f"{_table([*head, 'command'], rows, f'Scenario {name}')}</details>"
    )


def _whole(value: float, scores: Sequence[Said]) -> str:
    return ratio(value, any(one["censored"] for one in scores), any(one["failed"] for one in scores))


def _command(said: Said, scenario: str, contestant: str) -> str:
    battery = said["battery"]["name"]
    return f"incast arena --battery {battery} --scenarios {scenario} --contestants {contestant} --no-duels"


WIDTH, HEIGHT, MARGIN = 560, 300, 44


def _picture(
    scenario: Said, of: Mapping[str, float], scores: Mapping[tuple[str, str], Any], named: Mapping[str, str]
) -> str:
    """Returns the Pareto front of a scenario with two metrics or more: the ratios of its first two."""
    if len(scenario["metrics"]) < 2:
        return ""
    first, second = (metric["name"] for metric in scenario["metrics"][:2])
    points: list[tuple[str, float, float, bool]] = [
        (name, scores[name, first]["ratio"], scores[name, second]["ratio"], scores[name, first]["front"])
        for name in of
        if not scores[name, first]["failed"]
    ]
    if not points:
        return ""
    along = [[x for _, x, _, _ in points], [y for _, _, y, _ in points]]
    most, least = [max(1.5, *axis) for axis in along], [min(1.0, *axis) for axis in along]

    def place(value: float, axis: int, length: float) -> float:
        low, high = math.log(least[axis]), math.log(most[axis])
        return (math.log(value) - low) / (high - low) * length

    marks = []
    for name, x, y, front in sorted(points, key=lambda point: point[3]):
        left = MARGIN + place(x, 0, WIDTH - 2 * MARGIN - 80)
        top = HEIGHT - MARGIN - place(y, 1, HEIGHT - 2 * MARGIN)
        kind = "front" if front else "other"
        marks.append(
            f'<circle class="{kind}" cx="{left:.1f}" cy="{top:.1f}" r="4"><title>{text(named[name])}: '
            f"{ratio(x)}, {ratio(y)}</title></circle>"
        )
        if front:
            marks.append(f'<text x="{left + 7:.1f}" y="{top + 4:.1f}">{text(named[name])}</text>')
    bottom = HEIGHT - MARGIN
    axes = (
        f'<path class="axis" d="M{MARGIN} {MARGIN - 20}V{bottom}H{WIDTH - MARGIN}"/>'
        f'<text x="{MARGIN}" y="{bottom + 16}">{ratio(least[0])}</text>'
        f'<text x="{WIDTH - MARGIN - 80}" y="{bottom + 16}" text-anchor="middle">{ratio(most[0])}</text>'
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">{text(first)}: ratio, log scale</text>'
        f'<text x="{MARGIN - 4}" y="{bottom}" text-anchor="end">{ratio(least[1])}</text>'
        f'<text x="{MARGIN - 4}" y="{MARGIN + 4}" text-anchor="end">{ratio(most[1])}</text>'
        f'<text x="{MARGIN}" y="14">{text(second)}: ratio, log scale</text>'
    )
    label = f"Ratios of {first} and {second}; the front is {', '.join(named[p[0]] for p in points if p[3])}"
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text(label)}"'
    return f"<svg {box}>{axes}{''.join(marks)}</svg>"


def _left_out(said: Said) -> str:
    named = titles(said)
    items = [f"{one['scenario']} refuses {named[one['contestant']]}: {one['why']}" for one in said["refused"]]
    items += [f"{one['run']} failed: {one['why']}" for one in said["failures"]]
    return f"<ul>{''.join(f'<li>{text(item)}</li>' for item in items)}</ul>" if items else ""
