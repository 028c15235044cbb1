"""The results of an arena as a page in Markdown, made from its record alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from incast.arena.duels import STARVES
from incast.scenario.cautions import knowing

PAPERS = ("oscar", "powertcp", "theta-powertcp", "ccc", "sqcc", "mswift", "mnscc")
"""The algorithms of the five papers: OSCAR, PowerTCP, CCC, SQCC, and median-based spraying."""

Said = Mapping[str, Any]
"""A record, or a row of it."""

_HEAD_TO_HEAD = (
    "OSCAR, PowerTCP with θ-PowerTCP, CCC, SQCC, and the two algorithms of the paper about medians, each "
    "with the network that its paper runs it on. The order is the ranking's; ratios are to the best of all "
    "ranked contestants."
)
_RANKING = (
    "*Never worse than* is the largest ratio of a scenario to the best contestant there, with that scenario. "
    "[The method](guide/arena.md) has the formulas; in brackets are intervals over the replicates."
)
_DUELS = (
    "Percent of what is carried that the contestant of the row gets beside the one of the column, with two "
    "long flows each on one port. 50 is equal; bold starves the other; in italics, the larger part of two "
    "pairs of its own flows. The last columns are the least that it gets and the least that it leaves."
)


def markdown(said: Said) -> str:
    """Returns the page.

    Args:
        said: The record of an arena.
    """
    parts = [head_to_head(said), ranking(said), by_scenario(said), scenarios(said)]
    parts += [duels(said), left_out(said), version(said)]
    return "\n\n".join(part for part in parts if part) + "\n"


def ratio(value: float, censored: bool = False, failed: bool = False) -> str:
    """Returns a ratio as tables have it: two digits after the point below 10, ``≥`` where it is a bound.

    Args:
        value: The ratio.
        censored: Whether it is a lower bound.
        failed: Whether a run failed.
    """
    if failed:
        return "failed"
    text = f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"
    return f"≥ {text}" if censored else text


def spanned(value: float, low: object, high: object) -> str:
    """Returns a ratio with its interval, where there is one and it is wider than the digits shown."""
    text = ratio(value)
    if not isinstance(low, int | float) or not isinstance(high, int | float):
        return f"{text} ({ratio(low)}–)" if isinstance(low, int | float) and high == "inf" else text
    ends = ratio(low), ratio(high)
    return text if ends == (text, text) else f"{text} ({ends[0]}–{ends[1]})"


def titles(said: Said) -> dict[str, str]:
    """The titles of the contestants by name.

    Args:
        said: The record.
    """
    return {one["name"]: one["title"] for one in said["contestants"]}


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """Returns a table in Markdown.

    Args:
        head: The titles of its columns.
        rows: Its cells.
        numbers: Number of columns at its end that are aligned to the right.
    """
    rule = ["---"] * (len(head) - numbers) + ["--:"] * numbers
    lines = [head, rule, *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)


def head_to_head(said: Said) -> str:
    """The part about the algorithms of the five papers.

    Args:
        said: The record.
    """
    named = titles(said)
    standings = [one for one in said["ranking"] if one["contestant"] in PAPERS]
    if len(standings) < 2:
        return ""
    names = [one["contestant"] for one in standings]
    counts = {(one["contestant"], one["other"]): one for one in said["pairs"]}

    def cell(a: str, b: str) -> str:
        if a == b or (a, b) not in counts:
            return "–"
        return f"{counts[a, b]['better']} : {counts[a, b]['worse']}"

    pairs = table(
        ["better : worse than", *(named[name] for name in names)],
        [[named[a], *(cell(a, b) for b in names)] for a in names],
        len(names),
    )
    metrics = sum(len(one["metrics"]) for one in said["scenarios"])
    asked = (
        f"Of {metrics} metrics, the number in which the row is better and in which it is worse than the "
        "column, at 95 % each; in the others no difference is shown:"
    )
    return "\n\n".join(
        [
            "## The five papers head to head",
            _HEAD_TO_HEAD,
            _standings(said, standings),
            asked,
            pairs,
            "Ratio of each scenario to its best contestant:",
            _matrix(said, names),
        ]
    )


def ranking(said: Said) -> str:
    """The ranking of all contestants, with what each needs.

    Args:
        said: The record.
    """
    needs = {one["name"]: one["needs"] for one in said["contestants"]}
    ranked = [one for one in said["ranking"] if one["ranked"]]
    references = [one for one in said["ranking"] if not one["ranked"]]
    named = titles(said)
    rows = [[named[one["contestant"]], needs[one["contestant"]]] for one in ranked]
    parts = [
        "## Ranking",
        _RANKING,
        _standings(said, ranked),
    ]
    if references:
        parts += [
            "References, which have no rank and set no best:",
            _standings(said, references, places=False),
            *knowing(one["contestant"] for one in references),
        ]
    return "\n\n".join([*parts, "Needs of network cards and switches:", table(["contestant", "needs"], rows)])


def _standings(said: Said, standings: Sequence[Said], places: bool = True) -> str:
    named = titles(said)
    rows = [
        [
            *([str(place)] if places else []),
            named[one["contestant"]],
            ("≥ " if one["censored"] and not one["failed"] else "")
            + spanned(one["worst"], one["worst_low"], one["worst_high"]),
            f"`{one['scenario']}`",
            spanned(one["mean"], one["mean_low"], one["mean_high"]),
            str(one["scenarios"]),
            str(one["failed"] or "–"),
        ]
        for place, one in enumerate(standings, 1)
    ]
    head = [
        *([""] if places else []),
        "contestant",
        "never worse than",
        "in",
        "mean ratio",
        "scenarios",
        "failed",
    ]
    return table(head, rows)


def by_scenario(said: Said) -> str:
    """The ratios of all contestants in all scenarios.

    Args:
        said: The record.
    """
    names = [one["contestant"] for one in said["ranking"]]
    return "\n\n".join(
        [
            "## All ratios",
            "Ratio of each scenario to its best contestant, in the order of the ranking. Bold: on the front.",
            _matrix(said, names),
        ]
    )


def _matrix(said: Said, names: Sequence[str]) -> str:
    named = titles(said)
    fronts = {
        name: {one["contestant"] for one in said["scores"] if one["scenario"] == name and one["front"]}
        for name in said["ratios"]
    }
    flags: dict[tuple[str, str], tuple[bool, bool]] = {}
    for one in said["scores"]:
        censored, failed = flags.get((one["scenario"], one["contestant"]), (False, False))
        flags[one["scenario"], one["contestant"]] = (censored or one["censored"], failed or one["failed"])

    def cell(scenario: str, name: str) -> str:
        of = said["ratios"][scenario]
        if name not in of:
            return "–"
        text = ratio(of[name], *flags[scenario, name])
        return f"**{text}**" if name in fronts[scenario] else text

    rows = [[f"`{scenario}`", *(cell(scenario, name) for name in names)] for scenario in said["ratios"]]
    return table(["scenario", *(named[name] for name in names)], rows, len(names))


def scenarios(said: Said) -> str:
    """A table for each scenario.

    Args:
        said: The record.
    """
    return "\n\n".join(["## Scenario by scenario", *(one_scenario(said, one) for one in said["scenarios"])])


def one_scenario(said: Said, scenario: Said) -> str:
    """The table of a scenario, its front first.

    Args:
        said: The record.
        scenario: The scenario.
    """
    named, name = titles(said), scenario["name"]
    scores = {(one["contestant"], one["metric"]): one for one in said["scores"] if one["scenario"] == name}
    of = said["ratios"].get(name, {})
    metrics = [metric["name"] for metric in scenario["metrics"]]

    def row(contestant: str) -> list[str]:
        mine = [scores[contestant, metric] for metric in metrics]
        front = "●" if any(one["front"] for one in mine) else ""
        flags = any(one["censored"] for one in mine), any(one["failed"] for one in mine)
        cells = []
        for one in mine:
            mean = "–" if one["mean"] is None else number(one["mean"])
            word = one["word"] if one["word"] in ("best", "failed", "too few", "no difference shown") else ""
            cells += [mean, _scored(one) + (f", {word}" if word not in ("", "failed") else "")]
        return [named[contestant], front, ratio(of[contestant], *flags), *cells]

    order = sorted(of, key=lambda one: of[one])
    head = ["contestant", "front", "ratio"]
    for metric in scenario["metrics"]:
        head += [metric["name"], "ratio (95 %)"]
    unsteady = scenario["not_steady"]
    said_of_load = f" The load of {unsteady} of {scenario['runs']} runs is not steady." if unsteady else ""
    command = f"incast arena --battery {said['battery']['name']} --scenarios {name}"
    return "\n\n".join(
        [
            f"### {name}",
            f"{scenario['question']} {scenario['replicates']} replicates.{said_of_load} `{command}`",
            table(head, [row(one) for one in order], len(head) - 2),
        ]
    )


def _scored(one: Said) -> str:
    """Returns the ratio of a score with its interval."""
    if one["failed"]:
        return "failed"
    text = spanned(one["ratio"], one["low"], one["high"])
    return f"≥ {text}" if one["censored"] and one["high"] != "inf" else text


def number(value: float) -> str:
    """Returns a value with three significant digits.

    Args:
        value: The value.
    """
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def duels(said: Said) -> str:
    """The matrix of duels.

    Args:
        said: The record.
    """
    if not said["duels"]:
        return ""
    named = titles(said)
    share = {(one["contestant"], one["other"]): one["share"] for one in said["duels"]}
    names = [one["contestant"] for one in said["ranking"] if (one["contestant"], one["contestant"]) in share]

    def cell(a: str, b: str) -> str:
        if (a, b) not in share:
            return "–"
        text = f"{100 * share[a, b]:.0f}"
        return f"*{text}*" if a == b else f"**{text}**" if share[a, b] > 1 - STARVES else text

    rows = []
    for a in names:
        others = [share[a, b] for b in names if b != a and (a, b) in share]
        gets, leaves = (
            (f"{100 * min(others):.0f}", f"{100 * (1 - max(others)):.0f}") if others else ("–", "–")
        )
        rows.append([named[a], *(cell(a, b) for b in names), gets, leaves])
    reasons = [f"{named[name]} ({why})" for name, why in said["no_duels"].items()]
    return "\n\n".join(
        [
            "## Duels",
            _DUELS,
            table(["", *(named[name] for name in names), "gets", "leaves"], rows, len(names) + 2),
            *([f"Without duels: {'; '.join(reasons)}."] if reasons else []),
        ]
    )


def left_out(said: Said) -> str:
    """Refusals, failures, and keys without effect.

    Args:
        said: The record.
    """
    named = titles(said)
    parts = []
    if said["refused"]:
        rows = [[f"`{one['scenario']}`", named[one["contestant"]], one["why"]] for one in said["refused"]]
        parts += ["Refused by a scenario:", table(["scenario", "contestant", "reason"], rows)]
    if said["failures"]:
        rows = [[one["run"], one["why"]] for one in said["failures"]]
        parts += ["Failed:", table(["run", "reason"], rows)]
    if said["dropped"]:
        keys: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for one in said["dropped"]:
            keys.setdefault((one["contestant"], tuple(one["keys"])), []).append(one["scenario"])
        rows = [
            [named[name], ", ".join(f"`{key}`" for key in of), ", ".join(f"`{one}`" for one in some)]
            for (name, of), some in keys.items()
        ]
        parts += [
            "Keys of a scenario that have no effect with a contestant's own settings:",
            table(["contestant", "keys", "scenarios"], rows),
        ]
    return "\n\n".join(["## Left out", *parts]) if parts else ""


def version(said: Said) -> str:
    """The versions of the battery and of Incast.

    Args:
        said: The record.
    """
    battery = said["battery"]
    of = f"Battery {battery['name']} {battery['version']}, SHA-256 `{battery['digest'][:16]}…`"
    return f"## Version\n\n{of}; {said['runs']:,} runs; Incast {said['incast']}."
