"""Writes what is made from the code: scenario keys, distributions, lists of algorithms and commands.

``python docs/generate.py`` writes the pages beside this file and the lists into other pages (``PARTS``);
``python docs/generate.py FOLDER`` writes only the pages, and elsewhere. Tests compare both with what is
there. The pictures are written by hand as SVG, line by line, so that they are the same bytes with every
version of every library.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from incast import Scenario, ScenarioError, _core, cli
from incast.arena import page as page_of_arena
from incast.ledger import Verdict, builds, figure, find, record, setup
from incast.ledger import headlines as headline_file
from incast.ledger.site import PAPERS, SYMBOLS, page_name
from incast.results.measures import MEASURES
from incast.results.measures.named import NAMED

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MADE = "<!-- Made from the code by docs/generate.py: change it there. -->"


def main() -> None:
    """Writes all pages."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    pages = {"reference/scenario.md": scenario(), "distributions/index.md": distributions()}
    for entry in _core.distributions():
        stem = f"distributions/{entry.name.lower()}"
        pages[f"{stem}.md"] = distribution(entry)
        pages[f"{stem}.svg"] = picture(entry)
    pages["dev/rooms/layers.svg"] = layers()
    pages["arena.md"] = arena_page("quick", "The arena")
    pages["arena-full.md"] = arena_page("full", "The arena, full battery")
    for name, text in pages.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if len(sys.argv) == 1:
        for path, text in parts().items():
            path.write_text(text)


def arena_page(name: str, title: str) -> str:
    """Returns the page with the results of the arena over a battery, from the record beside it."""
    said = json.loads((Path(__file__).parent / "arena" / f"{name}.json").read_text())
    battery = said["battery"]
    intro = (
        f"All contestants of Incast in the {len(said['scenarios'])} scenarios of the battery "
        f"`{battery['name']}`, version {battery['version']}: {said['runs']:,} runs. "
        "[The method](guide/arena.md) was fixed before, "
        "and has the scenarios, the formulas and the known weak points; "
        "[Contestants](guide/contestants.md) has the settings. Everything here is made from "
        f"[one record](arena/{name}.json), which `incast arena --battery {name}` writes again, "
        "with the same page as one HTML file in which a cell of the matrix opens its duel."
    )
    return f"# {title}\n\n{MADE}\n\n{intro}\n\n{page_of_arena.markdown(said)}"


# Lists of algorithms inside of other pages.


def parts() -> dict[Path, str]:
    """The pages that have lists of algorithms, with these lists as they are now.

    A list is what stands between ``<!-- made: NAME -->`` and ``<!-- end -->``.
    """
    root = Path(__file__).parent.parent
    filled = {}
    for name, makers in PARTS.items():
        text = (root / name).read_text()
        for part, make in makers.items():
            begin, end = f"<!-- made: {part} -->", "<!-- end -->"
            before, found, rest = text.partition(begin)
            _, closed, after = rest.partition(end)
            if not found or not closed:
                raise SystemExit(f"{name} has no part {begin} … {end}")
            text = f"{before}{begin}{make()}{end}{after}"
        filled[root / name] = text
    return filled | {root / "docs/learned.md": learned(root)}


def learned(root: Path) -> str:
    """The page about the papers, with verdicts as they are recorded now.

    These are the symbols of its links to claims, which look like
    ``[● oscar/fig9](reproduction/oscar-fig9.md#oscar-queue)``, and the list of what is not reproduced.
    """
    recorded = record.read(root / "papers")

    def symbol(found: re.Match[str]) -> str:
        figure, claim = found["figure"], found["claim"]
        verdict = recorded[figure].verdicts.get(claim) if figure in recorded else None
        if verdict is None:
            raise SystemExit(f"docs/learned.md: {figure} has no recorded claim {claim}")
        return f"[{SYMBOLS[verdict]} {figure}]({found['page']}#{claim})"

    link = r"\[\S (?P<figure>[a-z]+/[\w-]+)\]\((?P<page>reproduction/[\w-]+\.md)#(?P<claim>[\w.-]+)\)"
    text = (root / "docs/learned.md").read_text()
    # The lists come first: as they stand, they may have claims that are judged no more.
    for part, make in (("headlines", headlines), ("not reproduced", not_reproduced)):
        before, begin, rest = text.partition(f"<!-- made: {part} -->")
        _, end, after = rest.partition("<!-- end -->")
        text = f"{before}{begin}{make(root, recorded)}{end}{after}"
    return re.sub(link, symbol, text)


def headlines(root: Path, recorded: record.Record) -> str:
    """Lists the statements that readers of the papers remember, by paper, with the recorded verdicts."""
    found = headline_file.read(root / "papers", list(figures()))
    texts = []
    for paper, title in PAPERS.items():
        of_paper = [each for each in found if each.paper == paper]
        counts = Counter(each.verdict(recorded) for each in of_paper)
        items = [
            f"- {SYMBOLS[verdict]} {cell(each.claim.says)} ({each.place}): "
            f"[{SYMBOLS[verdict]} {each.figure.id}](reproduction/{page_name(each.figure.id)}#{each.claim.id})"
            for verdict in Verdict
            for each in of_paper
            if each.verdict(recorded) is verdict
        ]
        told = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict])
        texts += [f"### {title}: {len(of_paper)} statements", f"{told}.", "\n".join(items)]
    return "\n\n" + "\n\n".join(texts) + "\n\n"


def not_reproduced(root: Path, recorded: record.Record) -> str:
    """Lists the claims that are recorded as not reproduced, by paper."""
    texts = []
    for paper, title in PAPERS.items():
        symbol = SYMBOLS[Verdict.NOT_REPRODUCED]
        items = [
            f"- {cell(claim.says)}: [{symbol} {one.id}](reproduction/{page_name(one.id)}#{claim.id})"
            for one in figures()
            if one.id.partition("/")[0] == paper and one.id in recorded
            for claim in one.claims
            if recorded[one.id].verdicts.get(claim.id) is Verdict.NOT_REPRODUCED
        ]
        if items:
            texts += [f"### {title}", "\n".join(items)]
    return "\n\n" + "\n\n".join(texts) + "\n\n"


Listed = _core.Algorithm | _core.OwnControl


def grouped() -> list[tuple[_core.Family, list[Listed]]]:
    """Returns the groups of algorithms, and of transports and networks with control of their own."""
    known: list[Listed] = [*_core.algorithms(), *_core.own_controls()]
    groups = [(family, [one for one in known if one.family == family.name]) for family in _core.families()]
    return [(family, members) for family, members in groups if members]


def page(one: Listed) -> str:
    """The page of an algorithm, from the folder of pages."""
    return f"{'algorithms' if isinstance(one, _core.Algorithm) else 'network'}/{one.name}.md"


def titles() -> str:
    """The algorithms in one line."""
    return ", ".join(one.title for _, members in grouped() for one in members if has_state(one))


def has_state(one: Listed) -> bool:
    """Whether it is an algorithm of a sender that controls something."""
    return isinstance(one, _core.Algorithm) and one.family != "fixed"


def by_group(folder: str) -> str:
    """A table of the groups with their members, which are links; ``folder`` leads to the pages."""
    rows = [
        f"| {family.name} | {cell(family.meaning)} | "
        f"{', '.join(f'[{one.title}]({folder}{page(one)})' for one in members)} |"
        for family, members in grouped()
    ]
    return "\n\n" + "\n".join(["| group | decides by | members |", "| --- | --- | --- |", *rows]) + "\n\n"


def with_needs() -> str:
    """For each group a table of its members: what each is, and what it needs."""
    texts = []
    for family, members in grouped():
        rows = [f"| [{m.title}]({page(m)}) | {cell(m.summary)} | {cell(m.needs)} |" for m in members]
        head = ["| page | what it is | needs |", "| --- | --- | --- |"]
        name, meaning = (text[0].upper() + text[1:] for text in (family.name, family.meaning))
        texts += [f"### {name}", f"{meaning}.", "\n".join([*head, *rows])]
    return "\n\n" + "\n\n".join(texts) + "\n\n"


def evidence() -> str:
    """Returns the classes of evidence, and by algorithm the number of defaults in each."""
    classes = _core.evidence()
    meanings = [f"| {one.name} | {cell(one.meaning)} |" for one in classes]
    counts = {a: Counter(p.evidence for p in a.parameters) for a in _core.algorithms()}
    rows = [
        f"| [{a.title}](algorithms/{a.name}.md) | {' | '.join(str(of[one.name]) for one in classes)} | "
        f"{of.total()} |"
        for a, of in counts.items()
    ]
    total = sum(counts.values(), Counter())
    rows.append(f"| all | {' | '.join(str(total[one.name]) for one in classes)} | {total.total()} |")
    names = " | ".join(one.name for one in classes)
    head = [f"| defaults | {names} | all |", f"| --- |{' ---: |' * (len(classes) + 1)}"]
    tables = [["| class | meaning |", "| --- | --- |", *meanings], [*head, *rows]]
    return "\n\n" + "\n\n".join("\n".join(table) for table in tables) + "\n\n"


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


def contestants() -> str:
    """Returns tables of the contestants and of their bases, with what each sets itself and the sources."""
    known = _core.contestants()
    heads = {
        "ranked": "**Contestants.** What stands here is set beside the base; the algorithm has its default "
        "preset where none is named.",
        "reference": "**References**, which `all` leaves out.",
        "base": "**Bases.** Each says also what it has not, so that the scenario decides amounts and the "
        "contestant the rules. ECN is the scenario's where an algorithm reads no marks.",
    }
    texts = []
    for role, head in heads.items():
        rows = [[f"`{one.name}`", *own(one, known)] for one in known if one.role == role]
        texts += [head, table_of([role if role != "ranked" else "contestant", "sets", "sources"], rows)]
    return "\n\n" + "\n\n".join(texts) + "\n\n"


def own(one: _core.Contestant, known: Sequence[_core.Contestant]) -> list[str]:
    """Returns the settings that a contestant adds to its base, and their sources."""
    base = next((it for it in known if it.name == one.base), None)
    of_base = [] if base is None else [(key, value) for key, value, _ in base.settings]
    rows = [row for row in one.settings if row[:2] not in of_base]
    rows = [row for row in rows if row[0] not in ("cc.algorithm", "cc.preset")]
    sets = [] if base is None else [f"base `{base.name}`"]
    sets += [f"cc `{one.cc}`"] if one.cc else []
    sets += [f"no `{key}`" if value == "false" else f"`{key} = {value}`" for key, value, _ in rows]
    sources = dict.fromkeys(source for *_, source in rows)
    if base is not None:
        reasons = (text.partition("; for it: ")[2] for *_, text in one.settings)
        sources = dict.fromkeys([*(text for text in reasons if text), *sources])
    return [", ".join(sets), "; ".join(sources)]


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


# Measures.


def numbers() -> str:
    """Returns a table of the numbers that every run has."""
    rows = [(f"`{one.name}`", one.words, one.better) for one in NAMED.values()]
    return f"\n\n{table_of(('measure', 'number', 'better'), rows)}\n\n"


def measures() -> str:
    """Returns a table of the measures that are computed from tables."""
    rows = [(f"`{one.signature}`", one.summary, one.better) for one in MEASURES.values()]
    return f"\n\n{table_of(('measure', 'value', 'better'), rows)}\n\n"


# The builds that figures judge.


@functools.cache
def figures() -> list[figure.Figure]:
    """All figures."""
    return find(Path(__file__).parent.parent / "papers", ["all"])


@functools.cache
def judged() -> list[builds.Judged]:
    """The builds of all figures."""
    return [builds.judged(one) for one in figures()]


def judged_by_algorithm() -> str:
    """Returns a table of the algorithms: their default, and the builds that figures judge."""
    rows = []
    for algorithm in _core.algorithms():
        counts: Counter[str] = Counter()
        figures = 0
        for one in judged():
            found = {build for build in one.claims if build.algorithm == algorithm.name}
            figures += bool(found)
            kinds = {f"`{b.preset}`{' with set parameters' if b.changed else ''}" for b in found}
            # Of the same count, those that come first are shown first: the order must not be that of a set.
            counts.update(sorted(kinds))
        if figures:
            default = f"`{builds.default(algorithm.name)}`"
            others = ", ".join(f"{name} {count}" for name, count in counts.most_common() if name != default)
            rows.append(
                f"| [{algorithm.title}](algorithms/{algorithm.name}.md) | {default} | {figures} | "
                f"{counts[default]} | {others} |"
            )
    head = ["| algorithm | default | figures | with the default | with other builds |"]
    return "\n\n" + "\n".join([*head, "| --- | --- | ---: | ---: | --- |", *rows]) + "\n\n"


def judged_by_figure() -> str:
    """Returns a table of the figures of each paper with the builds that they judge."""
    texts = []
    for paper, title in PAPERS.items():
        rows = [
            f"| [{one.figure}](reproduction/{page_name(one.figure)}) | "
            f"{'<br>'.join(builds.told(one.claims))} | {'<br>'.join(builds.told(one.beside))} |"
            for one in judged()
            if one.figure.partition("/")[0] == paper and (one.claims or one.beside)
        ]
        texts += [f"## {title}", "\n".join(["| figure | judged | beside |", "| --- | --- | --- |", *rows])]
    return "\n\n" + "\n\n".join(texts) + "\n\n"


def in_no_figure() -> str:
    """Lists the algorithms that are in no run that a claim measures."""
    names = builds.unjudged([one.name for one in _core.algorithms()], judged())
    rows = [
        f"- [{one.title}](../algorithms/{one.name}.md)" for one in _core.algorithms() if one.name in names
    ]
    return "\n\n" + ("\n".join(rows) or "None: figures run every algorithm.") + "\n\n"


def set_ups() -> str:
    """Returns the set-up of each paper: its entries, baselines, deviations, and what is open."""
    papers = Path(__file__).parent.parent / "papers"
    texts = []
    for paper, title in PAPERS.items():
        found = setup.read(papers, paper)
        texts.append(f"## {title}")
        if found.environments:
            texts.append("\n".join(f"- *{e.name}*: {e.what}: {code(e.figures)}" for e in found.environments))
        entries = [(e.key, e.environment or "everywhere", e.value, e.source) for e in found.entries]
        texts.append(table_of(("key", "where", "value", "source"), entries))
        builds_of_paper = [
            (f"`{b.cc}`", b.environment or "everywhere", code(b.parameters), code(b.varies), b.source)
            for b in found.baselines
        ]
        texts.append(table_of(("build", "where", "parameters", "varies", "source"), builds_of_paper))
        for head, last, ones in (
            ("Figures that differ, with the paper's words:", "the paper's words", found.deviations),
            ("Open, without such words:", "what would end it", found.open),
        ):
            rows = [
                (
                    f"[{one.figure}](reproduction/{page_name(f'{paper}/{one.figure}')})",
                    code(one.runs),
                    one.what,
                    one.caption or one.needs,
                )
                for one in ones
            ]
            if rows:
                texts += [head, table_of(("figure", "runs", "what differs", last), rows)]
    return "\n\n" + "\n\n".join(texts) + "\n\n"


def table_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table."""
    lines = [head, ["---"] * len(head), *([cell(text) for text in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(items: Sequence[str]) -> str:
    """Returns a list as code."""
    return ", ".join(f"`{item}`" for item in items)


PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "README.md": {"titles": titles, "groups": lambda: by_group("docs/")},
    "docs/guide/commands.md": {"commands": commands},
    "docs/guide/measures.md": {"numbers": numbers, "measures": measures},
    "docs/guide/contestants.md": {"contestants": contestants},
    "docs/models.md": {"algorithms": with_needs, "evidence": evidence},
    "docs/compare.md": {"groups": lambda: by_group("")},
    "docs/network/probes-and-results.md": {"columns": columns},
    "docs/judged.md": {"algorithms": judged_by_algorithm, "figures": judged_by_figure},
    "docs/setups.md": {"setups": set_ups},
    "docs/dev/mutants.md": {"in no figure": in_no_figure},
}
"""By page: its lists, each with the function that makes it."""


# The scenario file.


def scenario() -> str:
    """The reference of the scenario file."""
    parts = [
        "# Reference of the scenario file",
        MADE,
        (
            "A scenario is a TOML file, or the same from Python. Quantities are strings with their unit: "
            'times `"12us"` (`ps` to `s`), amounts `"32MB"` (`B` to `TB` in steps of 1000, `KiB` to `TiB` in '
            'steps of 1024), rates `"100Gbps"` (`bps` to `Tbps`). An unknown key, a missing unit and a '
            "setting without effect are errors, with file, line and key. An amount of `[switch]` can be a "
            'share of the bandwidth-delay product, like `"0.2 BDP"`. Sections `[contestant.NAME]` define '
            "[contestants](../guide/contestants.md): algorithms with the switches, transport and balancing "
            "for them."
        ),
        (
            "This page is generated from the declarations by which scenario files are read. "
            "`incast list fat-tree` shows the same in a terminal; `incast validate FILE --effective` writes "
            "out a scenario with every default; `incast schema` prints a JSON Schema for editors."
        ),
        (
            "*Required* keys must be written; *optional* ones describe something that is absent without "
            "them; `as rate` means that the default is the value of another key; *its own*: see its section."
        ),
    ]
    sections = _core.sections()
    repeated = {key.name for key in sections[0].keys if key.values.startswith("a list")}
    for section in sections:
        if not section.name:
            parts += ["## Top of the file", section.summary, table(section.keys)]
        else:
            title = f"`[[{section.name}]]`" if section.name in repeated else f"`[{section.name}]`"
            parts += [f"## {title} {{ #{section.name.replace('.', '-')} }}", section.summary]
            parts += [table(section.keys)] if section.keys else []
        if section.name == "topology":
            named = {entry.name for entry in _core.named_topologies()}
            parts += kinds([entry for entry in _core.topologies() if entry.name not in named], "topology")
            parts += named_topologies()
        if section.name == "traffic":
            parts += kinds(_core.traffic(), "traffic")
        if section.name == "cc":
            parts += algorithms()
    return "\n\n".join(parts) + "\n"


def kinds(entries: list[_core.Kind], of: str) -> list[str]:
    """The kinds of a section, each with its keys."""
    parts = []
    for entry in entries:
        anchor = f"{of}-{entry.name}"
        parts += [f'### `kind = "{entry.name}"` {{ #{anchor} }}', entry.summary]
        parts += [table(entry.keys)] if entry.keys else []
    return parts


def named_topologies() -> list[str]:
    """The topologies of papers in one table: what they set of the keys of their kinds."""
    rows = [
        f'| <span id="topology-{t.name}">`{t.name}`</span> | {hosts(t)} | [`{t.kind}`](#topology-{t.kind}): '
        f"{', '.join(f'`{key} = {value}`' for key, value in t.keys)} | {cell(t.meaning)} | {cell(t.source)} |"
        for t in _core.named_topologies()
    ]
    lead = (
        "These are kinds with keys that are set. Those that are not set have the kind's defaults, or are "
        "required as there; a key that is written beside the name replaces the one of the table."
    )
    head = ["| kind | hosts | is | what it is | source |", "| --- | --- | --- | --- | --- |"]
    return ["### Topologies of papers { #topology-named }", lead, "\n".join([*head, *rows])]


def hosts(topology: _core.NamedTopology) -> str:
    """The number of hosts of a topology, if it says so."""
    text = f'topology = {{ kind = "{topology.name}" }}\ncc = {{ algorithm = "constant" }}\n'
    text += '[[traffic]]\nkind = "permutation"\nsize = "1KB"\n'
    try:
        return Scenario.from_toml(text).size().network.split()[0]
    except ScenarioError:
        return "any"


def algorithms() -> list[str]:
    """The algorithms in one table; their parameters are on their pages."""
    rows = [
        f"| [`{a.name}`](../algorithms/{a.name}.md) | {family.name} | {cell(a.summary)} | "
        f"{', '.join(f'`{name}`' for name, _ in a.presets)} |"
        for family, members in grouped()
        for a in members
        if isinstance(a, _core.Algorithm)
    ]
    lead = (
        "After `algorithm` and `preset` the section takes the algorithm's parameters; those not written "
        "have the preset's values. Each algorithm's page lists them with range and source."
    )
    head = ["| algorithm | group | what it is | presets |", "| --- | --- | --- | --- |"]
    return [lead, "\n".join([*head, *rows])]


def table(keys: list[_core.Key]) -> str:
    """A table of keys."""
    rows = [f"| `{k.name}` | {default(k.default)} | {cell(k.values)} | {cell(meaning(k))} |" for k in keys]
    return "\n".join(["| key | default | write | meaning |", "| --- | --- | --- | --- |", *rows])


def meaning(key: _core.Key) -> str:
    """Returns the meaning of a key, and the source of its default."""
    return key.meaning if key.source is None else f"{key.meaning} Default: {key.source}."


def default(text: str) -> str:
    """Returns the value of an absent key, as a cell: ``= "1us"`` becomes code."""
    if text.startswith("= {"):
        return "its own"
    if text.startswith("= "):
        return f"`{cell(text[2:])}`"
    words = text.strip("()")
    return f"as `{words.removeprefix('as ')}`" if words.startswith("as ") else words


def cell(text: str) -> str:
    """A text that may stand in a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


# Distributions of flow sizes.


def distributions() -> str:
    """The overview of distributions."""
    rows = [
        f"| [{d.name}]({d.name.lower()}.md) | {cell(d.meaning)} | {size(d.mean_bytes)} | "
        f"{percent(flows_up_to(d, 1e5))} | {percent(bytes_up_to(d, 1e5))} |"
        for d in _core.distributions()
    ]
    head = [
        "| name | what it is | mean | flows up to 100 KB | their bytes |",
        "| --- | --- | --- | --- | --- |",
    ]
    own = """\
A distribution of your own is a file with a size in bytes and a cumulative share on each line; shares
from 0 to 1 or from 0 to 100, depending on the last one. `sizes = "mine.txt"` reads it, relative to the
scenario's folder; errors are reported with their line. It can also be written into the scenario:

<!-- test: part examples/websearch.toml -->
```toml
[[traffic]]
kind = "poisson"
load = 0.5
flows = 100

[traffic.sizes]
name = "two sizes"
cdf = \"\"\"
1000     0
1000     0.9
1000000  0.9
1000000  1
\"\"\"
```

Between two points sizes are uniform. Two points with the same size are a step: that share of the flows
has exactly this size, as 90 % have 1,000 bytes here. Two points with the same share are a gap: no flow
is between the two. All arithmetic is on integers, so a draw is the same on every machine."""
    return (
        "\n\n".join(
            [
                "# Distributions of flow sizes",
                MADE,
                (
                    "Traffic of kind `poisson` draws the sizes of its flows from one of these: "
                    '`sizes = "WebSearch"`. '
                    "Most flows are small, and most bytes are in large flows; the distributions differ in "
                    "how much."
                ),
                "\n".join([*head, *rows]),
                "## Your own",
                own,
            ]
        )
        + "\n"
    )


def distribution(d: _core.Distribution) -> str:
    """The page of a distribution."""
    steps = [1e3, 1e4, 1e5, 1e6, 1e7]
    low, high = d.points[0][0], d.points[-1][0]
    shares = [
        f"| {size(s)} | {percent(flows_up_to(d, s))} | {percent(bytes_up_to(d, s))} |"
        for s in steps
        if low < s < high
    ]
    points = [f"| {s:,} | {100 * share:g} |" for s, share in d.points]
    return (
        "\n\n".join(
            [
                f"# {d.name}",
                MADE,
                f"{d.meaning[0].upper()}{d.meaning[1:]}.",
                f"Source: {d.source}.",
                f"![Cumulative shares of flows and of bytes by size]({d.name.lower()}.svg)",
                (
                    f"Mean {size(d.mean_bytes)}, exactly {d.mean_bytes:,.0f} bytes; "
                    f"smallest {max(low, 1):,} B, largest {high:,} B."
                ),
                "\n".join(
                    ["| flows up to | share of flows | share of bytes |", "| --- | --- | --- |", *shares]
                ),
                "## Use",
                (
                    f'<!-- test: part examples/websearch.toml -->\n```toml\n[[traffic]]\nkind = "poisson"\n'
                    f'sizes = "{d.name}"\nload = 0.6\nflows = 1000\n```'
                ),
                "## Scope and limits",
                (
                    "Sizes are payload and independent of each other, of the hosts and of time. "
                    "Between two points they are uniform, as in the public simulators; that was not "
                    "measured. The tail ends at the last point."
                ),
                "## Points",
                "\n".join(["| size (B) | flows up to it (%) |", "| --- | --- |", *points]),
                "## Validation",
                (
                    "In `crates/lab/src/sizes/tests.rs`: `means_are_the_published_ones`, "
                    "`draws_have_the_mean_and_the_shares_of_the_distribution`, "
                    "`quantiles_worked_by_hand`. The points were not compared with the traces that "
                    "the papers measured, which are not public."
                ),
            ]
        )
        + "\n"
    )


def flows_up_to(d: _core.Distribution, limit: float) -> float:
    """The share of flows that are no larger."""
    for (a, p), (b, q) in zip(d.points, d.points[1:], strict=False):
        if limit < a:
            return p
        if a <= limit < b:
            return p + (q - p) * (limit - a) / (b - a)
    return 1.0


def bytes_up_to(d: _core.Distribution, limit: float) -> float:
    """The share of all bytes that is in flows no larger; exact for uniform pieces."""
    total = 0.0
    for (a, p), (b, q) in zip(d.points, d.points[1:], strict=False):
        if a > limit or q == p:
            continue
        end = min(b, limit)
        share = q - p if b == a else (q - p) * (end - a) / (b - a)
        total += share * (a + end) / 2
    return total / d.mean_bytes


def size(count: float) -> str:
    """An amount with its unit, three digits at most."""
    for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count:.0f} B"


def percent(share: float) -> str:
    """A share in per cent, three digits at most."""
    return f"{100 * share:.3g} %" if share < 0.9995 else f"{100 * share:.5g} %"


# The picture: two curves over a logarithmic axis. It takes the colour of the page's text where it is
# shown inside a page, and a grey that can be read on white and on black where it is an image.

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 32, 14, 44
GREY, FLOWS, BYTES = "#808080", "#0072b2", "#d55e00"


def picture(d: _core.Distribution) -> str:
    """Cumulative shares of flows and of bytes by flow size, as SVG."""
    low = 10.0 ** math.floor(math.log10(max(d.points[0][0], 1) if d.points[0][0] else d.points[1][0] / 10))
    high = 10.0 ** math.ceil(math.log10(d.points[-1][0]))
    decades = round(math.log10(high / low))

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log10(max(value, low) / low) / decades

    def y(share: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share

    grid = []
    for i in range(decades + 1):
        at = x(low * 10**i)
        grid.append(f'<path d="M{at:.1f} {y(0):.1f}V{y(1):.1f}"/>')
    for i in range(5):
        grid.append(f'<path d="M{LEFT} {y(i / 4):.1f}H{WIDTH - RIGHT}"/>')
    labels = [
        f'<text x="{x(low * 10**i):.1f}" y="{y(0) + 16:.1f}" text-anchor="middle">{size(low * 10**i)}</text>'
        for i in range(decades + 1)
    ]
    labels += [
        f'<text x="{LEFT - 6}" y="{y(i / 4) + 4:.1f}" text-anchor="end">{25 * i} %</text>' for i in range(5)
    ]
    labels.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.1f}" y="{HEIGHT - 8}" text-anchor="middle">flow size</text>'
    )
    key = "".join(
        f'<path d="M{LEFT + 10} {TOP + 12 + 16 * i}h18" stroke="{colour}" stroke-width="2"/>'
        f'<text x="{LEFT + 34}" y="{TOP + 16 + 16 * i}">{name}</text>'
        for i, (name, colour) in enumerate((("flows no larger", FLOWS), ("bytes in them", BYTES)))
    )
    # Enough points that the curves of uniform pieces look right on the logarithmic axis.
    steps = [low * 10 ** (i / 60) for i in range(60 * decades + 1)]
    grid_of_sizes = sorted({*steps, *(float(s) for s, _ in d.points if s >= low)})
    flows = " ".join(f"{x(s):.1f},{y(flows_up_to(d, s)):.1f}" for s in grid_of_sizes)
    share = " ".join(f"{x(s):.1f},{y(bytes_up_to(d, s)):.1f}" for s in grid_of_sizes)
    curve = '<polyline fill="none" stroke-width="2" stroke="{}" points="{}"/>'
    return "\n".join(
        [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
                f'font-family="sans-serif" font-size="12" fill="{GREY}">'
            ),
            f"<title>{d.name}: cumulative shares of flows and of bytes by flow size</title>",
            f'<g stroke="{GREY}" stroke-opacity="0.35" stroke-width="0.6">{"".join(grid)}</g>',
            f"<g>{''.join(labels)}</g>",
            curve.format(BYTES, share),
            curve.format(FLOWS, flows),
            f"<g>{key}</g>",
            "</svg>\n",
        ]
    )


# The crates and their rooms.

LINE, BOX_WIDTH, GAP = 17, 940, 14


def layers() -> str:
    """Draws the crates in their layers, the lowest at the bottom, each with its rooms, as SVG."""
    rooms = tomllib.loads((Path(__file__).parent.parent / "rooms.toml").read_text())
    crates = rooms.pop("crates")["floors"]
    trees = {spec["root"]: spec["floors"] for spec in rooms.values()}
    rows = [[("python/incast", trees["python/incast"])]]
    rows += [[(name, trees.get(f"crates/{name}/src", [])) for name in row] for row in reversed(crates)]
    drawn, y = [], GAP
    for row in rows:
        width = (BOX_WIDTH - GAP * (len(row) - 1)) / len(row)
        texts = [(name, described(floors, int(width / 6.6))) for name, floors in row]
        height = LINE * (max(len(lines) for _, lines in texts) + 1) + 14
        for i, (name, lines) in enumerate(texts):
            x = GAP + i * (width + GAP)
            drawn.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" rx="4"/>')
            drawn.append(f'<text x="{x + 10:.1f}" y="{y + 20}" font-weight="bold">{name}</text>')
            drawn += [
                f'<text x="{x + 10:.1f}" y="{y + 20 + LINE * (k + 1)}">{line}</text>'
                for k, line in enumerate(lines)
            ]
        y += height + GAP
    return "\n".join(
        [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {BOX_WIDTH + 2 * GAP} {y}" role="img" '
                f'font-family="sans-serif" font-size="12" fill="{GREY}">'
            ),
            "<title>The crates in their layers, each with its rooms</title>",
            "<style>rect{fill:none;stroke:#808080;stroke-opacity:.5}</style>",
            *drawn,
            "</svg>\n",
        ]
    )


def described(floors: list[list[str]], width: int) -> list[str]:
    """Returns the rooms of a tree as lines of text, the highest floor first."""
    lines = []
    for rooms in reversed(floors):
        names = ["all others" if room == "*" else room for room in rooms if room != "_core"]
        lines += textwrap.wrap(" · ".join(names), max(width, 20))
    return lines


if __name__ == "__main__":
    main()
