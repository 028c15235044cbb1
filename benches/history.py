"""The history of the bench as a picture.

`python benches/history.py` reads `benches/history.csv` (`make bench-record` adds to it) and writes
`docs/pictures/performance-history.svg`: CPU time a packet-hop with one thread, by workload and commit. Times
are of the machine and the hour; instructions decide (`engine-log.md`). Needs matplotlib.
"""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "incast"})

from matplotlib import pyplot  # noqa: E402

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs/pictures/performance-history.svg"


def main() -> None:
    """Draws the picture."""
    with (ROOT / "benches/history.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["threads"] == "1"]
    commits = list(dict.fromkeys((row["date"], row["commit"]) for row in rows))
    places = {commit: place for place, commit in enumerate(commits)}
    figure, axes = pyplot.subplots(figsize=(9, 3.6))
    for workload in dict.fromkeys(row["workload"] for row in rows):
        mine = [row for row in rows if row["workload"] == workload]
        at = [places[row["date"], row["commit"]] for row in mine]
        axes.plot(at, [int(row["cpu_ns"]) / int(row["hops"]) for row in mine], marker="o", label=workload)
    axes.set_xticks(
        range(len(commits)), [f"{date[:10]}\n{commit[:7]}" for date, commit in commits], fontsize=8
    )
    axes.set_ylabel("CPU time a packet-hop (ns)")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, metadata={"Date": None}, bbox_inches="tight")
    print(PICTURE.relative_to(ROOT))


if __name__ == "__main__":
    main()
