"""The picture of the crates and their rooms."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from generating import GREY

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


LINE, BOX_WIDTH, GAP = 17, 940, 14


def layers() -> str:
    """Draws the crates in their layers, the lowest at the bottom, each with its rooms, as SVG."""
    rooms = tomllib.loads((Path(__file__).parents[2] / "rooms.toml").read_text())
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
