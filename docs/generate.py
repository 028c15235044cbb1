"""Writes what is made from the code: scenario keys, distributions, lists of algorithms and commands.

``python docs/generate.py`` writes the pages beside this file and the lists into other pages (``PARTS``);
``python docs/generate.py FOLDER`` writes only the pages, and elsewhere. Tests compare both with what is
there. The pictures are written by hand as SVG, line by line, so that they are the same bytes with every
version of every library.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from generating import MADE, algorithms, crates, distributions, figures, listings, scenario
from incast import _core
from incast.arena import page as page_of_arena


def main() -> None:
    """Writes all pages."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    pages = {
        "reference/scenario.md": scenario.scenario(),
        "distributions/index.md": distributions.distributions(),
    }
    for entry in _core.distributions():
        stem = f"distributions/{entry.name.lower()}"
        pages[f"{stem}.md"] = distributions.distribution(entry)
        pages[f"{stem}.svg"] = distributions.picture(entry)
    pages["dev/rooms/layers.svg"] = crates.layers()
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
    return filled | {root / "docs/learned.md": figures.learned(root)}


PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "README.md": {"titles": algorithms.titles, "groups": lambda: algorithms.by_group("docs/")},
    "docs/guide/commands.md": {"commands": listings.commands},
    "docs/guide/measures.md": {"numbers": listings.numbers, "measures": listings.measures},
    "docs/guide/contestants.md": {"contestants": algorithms.contestants},
    "docs/models.md": {"algorithms": algorithms.with_needs, "evidence": algorithms.evidence},
    "docs/compare.md": {"groups": lambda: algorithms.by_group("")},
    "docs/network/probes-and-results.md": {"columns": listings.columns},
    "docs/judged.md": {"algorithms": figures.judged_by_algorithm, "figures": figures.judged_by_figure},
    "docs/setups.md": {"setups": figures.set_ups},
    "docs/dev/mutants.md": {"in no figure": figures.in_no_figure},
}
"""By page: its lists, each with the function that makes it."""


if __name__ == "__main__":
    main()
