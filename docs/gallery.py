"""Makes the pictures of the gallery: ``python docs/gallery.py`` runs its examples and writes docs/pictures.

``python docs/gallery.py FOLDER`` writes them elsewhere.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
from PIL import Image

import incast
from incast import plot
from incast.plot import style

mpl.use("Agg")
import matplotlib.pyplot as plt

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples"

FAILURE_US = (300, 600)
"""Time at which the link of examples/training.toml is down."""


def main() -> None:
    """Writes all pictures."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "pictures"
    out.mkdir(parents=True, exist_ok=True)
    for name, draw in (("training", training), ("homa", homa), ("goal", goal)):
        figure = draw()
        path = out / f"gallery-{name}.png"
        figure.savefig(path, dpi=200)
        # 64 colours are enough for these pictures, and a third of the size.
        Image.open(path).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)
        plt.close(figure)


def run(example: str, **changes: object) -> incast.Result:
    """Runs an example, with some keys changed (``__`` is a dot)."""
    scenario = incast.Scenario.load(EXAMPLES / example)
    return scenario.with_({key.replace("__", "."): value for key, value in changes.items()}).run()


def training() -> Figure:
    """The operations of a training step, servers in the order of the ring, and when a link is down."""
    result = run("training.toml")
    after = dict(zip(result.flows.column("source"), result.flows.column("destination"), strict=True))
    ring = ["h0"]
    while (following := after[ring[-1]]) != ring[0]:
        ring.append(following)
    axes = plot.operations(result, hosts=ring)
    with style.look():
        axes.axvspan(*FAILURE_US, color="#d55e00", alpha=0.15, linewidth=0, zorder=0.5, label="link down")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, borderaxespad=0.2, handlelength=1.2)
    return figure_of(axes)


def homa() -> Figure:
    """Slowdown over the size of flows, under Homa and under DCTCP: median and 99th percentile."""
    results = {
        "homa": run("homa.toml"),
        "dctcp": run("homa.toml", transport__kind="window", cc={"algorithm": "dctcp"}),
    }
    with style.look():
        figure, panels = plt.subplots(1, 2, sharey=True, figsize=(style.PAGE, 2.2), layout="constrained")
    for rank, axes in zip((50, 99), panels, strict=True):
        plot.slowdown_by_size(results, rank=rank, axes=axes)
    highest = max(line.get_ydata().max() for axes in panels for line in axes.lines)
    panels[0].set_ylim(1, 1.1 * highest)
    with style.look():
        panels[0].legend(loc="upper left")
    panels[1].tick_params(labelleft=True)
    panels[1].get_legend().remove()
    return figure


def goal() -> Figure:
    """The operations of the eight ranks of a GOAL schedule."""
    return figure_of(plot.operations(run("goal.toml")))


def figure_of(axes: mpl.axes.Axes) -> Figure:
    """The figure of axes that are not part of another one."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return figure


if __name__ == "__main__":
    main()
