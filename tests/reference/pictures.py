"""Draws the pictures of docs/validation.md.

PYTHONPATH=tests python -m reference.pictures
"""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

mpl.use("Agg")
import matplotlib.pyplot as plt

from reference import measure

FOLDER = measure.PAGE.parent / "pictures"

NAMES = {"hpcc-320-imitated": "HPCC, 320 hosts", "timely-256-imitated": "TIMELY, 256 hosts"}


def scatter(case: str) -> None:
    """Draws completion times of Incast over ns-3's, flow by flow, and their ratio."""
    peer, here = measure.reference(case) / 1e6, measure.completions(case, 1) / 1e6
    figure, (times, ratio) = plt.subplots(
        2, 1, figsize=(5, 5.6), sharex=True, height_ratios=[2, 1], layout="constrained"
    )
    ends = [peer.min() / 1.3, peer.max() * 1.3]
    times.plot(ends, ends, color="0.6", linewidth=0.8)
    times.scatter(peer, here, s=6, linewidths=0, alpha=0.6)
    times.set(xscale="log", yscale="log", ylabel="Incast (us)", title=f"Completion times: {NAMES[case]}")
    ratio.axhline(1, color="0.6", linewidth=0.8)
    ratio.scatter(peer, here / peer, s=6, linewidths=0, alpha=0.6)
    ratio.set(xlabel="ns-3 (us)", ylabel="Incast / ns-3", xlim=ends, yscale="log")
    _save(figure, case)


def slowdowns() -> None:
    """The distribution of slowdowns under TIMELY, as it is and with the traits of PowerTCP's tree."""
    figure, axes = plt.subplots(figsize=(5, 3.4), layout="constrained")
    for case, color, what in (
        ("timely-256", "0.6", "as it is"),
        ("timely-256-imitated", "C0", "with traits"),
    ):
        for seed in measure.SEEDS:
            label = f"Incast {what}, 8 seeds" if seed == 1 else None
            _step(axes, measure.slowdowns(case, measure.completions(case, seed)), color, label)
    case = "timely-256-imitated"
    _step(axes, measure.slowdowns(case, measure.reference(case)), "C1", "ns-3", width=1.6)
    axes.set(
        xscale="log",
        yscale="logit",
        ylim=(0.1, 0.999),
        xlabel="slowdown",
        ylabel="share of flows",
        title="TIMELY: slowdowns on 256 hosts",
    )
    shares = (0.1, 0.5, 0.9, 0.95, 0.99, 0.999)
    axes.set_yticks(shares, [f"{100 * share:g} %" for share in shares])
    axes.yaxis.set_minor_locator(NullLocator())
    axes.legend(loc="lower right")
    _save(figure, "timely-256-slowdowns")


def _step(axes: Axes, values: measure.Array, color: str, label: str | None, width: float = 0.8) -> None:
    share = np.arange(1, len(values) + 1) / len(values)
    axes.step(np.sort(values), share, color=color, linewidth=width, alpha=0.6, label=label)


def permutation() -> None:
    """The distribution of completion times under Swift, seed by seed, and what is known of csg-htsim's."""
    figure, axes = plt.subplots(figsize=(5, 3.4), layout="constrained")
    for seed in measure.SEEDS:
        fct = np.asarray(measure.run("swift-permutation", seed).flows.column("fct_ps")) / 1e6
        _step(axes, fct, "C0", "Incast, 8 seeds" if seed == 1 else None)
    least, _, median, p90, p99, largest = measure.swift_reference("swift-permutation")
    axes.plot([least, median, p90, p99, largest], [0, 0.5, 0.9, 0.99, 1], "o", color="C1", label="csg-htsim")
    axes.set(xlabel="completion time (us)", ylabel="share of flows", title="Swift: permutation of 128 hosts")
    axes.legend(loc="lower right")
    _save(figure, "swift")


def _save(figure: Figure, name: str) -> None:
    # Without a date the same runs give the same file.
    figure.savefig(FOLDER / f"validation-{name}.png", dpi=110, metadata={"Software": None})
    plt.close(figure)


if __name__ == "__main__":
    for case in NAMES:
        scatter(case)
    slowdowns()
    permutation()
