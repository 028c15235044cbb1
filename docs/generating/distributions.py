"""Pages and pictures of the distributions of flow sizes."""

from __future__ import annotations

import math

from generating import GREY, MADE
from generating.markdown import cell
from incast import _core


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
FLOWS, BYTES = "#0072b2", "#d55e00"


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
