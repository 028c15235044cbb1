"""Draws the pictures of docs/validation.md.

PYTHONPATH=tests python -m reference.pictures
"""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

mpl.use("Agg")
import matplotlib.pyplot as plt

from reference import measure

FOLDER = measure.PAGE.parent / "pictures"

NAMES = {"hpcc-320-imitated": "HPCC, 320 hosts", "timely-256": "TIMELY, 256 hosts"}


def scatter(case: str) -> None:
    """Completion times of Incast over those of ns-3, flow by flow, and their ratio."""
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


def permutation() -> None:
    """The distribution of completion times under Swift, seed by seed, and what is known of csg-htsim's."""
    figure, axes = plt.subplots(figsize=(5, 3.4), layout="constrained")
    for seed in measure.SWIFT_SEEDS:
        fct = np.sort(measure.run("swift-permutation", seed).flows.column("fct_ps")) / 1e6
        label = "Incast, 8 seeds" if seed == 1 else None
        axes.step(
            fct, np.arange(1, len(fct) + 1) / len(fct), color="C0", linewidth=0.8, alpha=0.6, label=label
        )
    least, _, median, p90, p99, largest = measure.swift_reference("permutation 128")
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
    permutation()
