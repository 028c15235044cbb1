"""``make demo``: eight algorithms under a microburst, and under a published workload.

Run from the checkout: it reads ``examples/`` and writes ``demo-results/``.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from incast.cli import INTERRUPTED, OK, compare
from incast.cli.outcome import ending
from incast.cli.run import run_one
from incast.cli.table import paragraph
from incast.cli.tables import queue_table, slowdown_table, title
from incast.progress import duration
from incast.result import Result
from incast.scenario import Interrupted, Scenario

# TIMELY's published step of 10 Mbps is meant for 10 Gbps links; its preset `hpcc` scales it.
ALGORITHMS = "oscar,powertcp,theta-powertcp,hpcc,swift,timely:hpcc,dcqcn,dctcp"
PRESETS = (
    "Every algorithm has its default parameters, except TIMELY: its published steps are for links of "
    "10 Gbps, and its preset hpcc scales them to the line rate. `incast list timely` shows both."
)
OUT = Path("demo-results")

MICROBURST = (
    "A long flow has a 100 Gbps link to itself; after 52 us two short flows of four bandwidth-delay "
    "products each arrive at once (OSCAR, NSDI'26, Figure 9). A good algorithm keeps the queue short, "
    "settles quickly, and leaves no capacity unused after the short flows have ended."
)
WEBSEARCH = (
    "1,000 flows with the sizes of a web search cluster, at 60 % load on a fat-tree of 320 hosts (the "
    "large set-up of OSCAR, NSDI'26, Section 6.1). Small flows need short queues, large ones need "
    "capacity."
)


def main() -> int:
    """Runs both comparisons; returns the exit code of the command ``incast``."""
    began = time.monotonic()
    try:
        sound = [
            show("a", "microburst", MICROBURST, Path("examples/microburst.toml")),
            show("b", "WebSearch", WEBSEARCH, Path("examples/websearch.toml")),
        ]
    except Interrupted as stop:
        print(f"\nincast: {stop}", file=sys.stderr)
        return INTERRUPTED
    print(f"\n{paragraph(PRESETS)}")
    print(f"\nThe demo took {duration(time.monotonic() - began)}. Next, try:")
    print("  .venv/bin/incast compare examples/incast.toml --cc oscar,hpcc,dcqcn --plot")
    print("  .venv/bin/incast list oscar")
    return OK if all(sound) else 1


def show(letter: str, name: str, text: str, file: Path) -> bool:
    """Runs one comparison, prints its table, and saves its data and its picture."""
    print(f"\n({letter}) {name}\n{paragraph(text)}\n", flush=True)
    parent = OUT / file.stem
    scenarios = compare.variants(Scenario.load(file), ALGORITHMS)
    results: dict[str, Result] = {}
    options = argparse.Namespace(out=None, fresh=True, quiet=False, threads=1)
    for label, scenario in scenarios.items():
        results[label] = run_one(scenario, label, parent / label, options)
        if not results[label].sound:
            print(ending(title(label), results[label]))
    tables = [queue_table(results)] if next(iter(results.values())).probed_ports() else []
    print("\n\n".join(tables or [slowdown_table(results)]))
    print(f"\ndata in {parent}, one folder for each algorithm")
    for path in compare.pictures(results, parent):
        print(f"picture {path}")
    return all(result.sound for result in results.values())


if __name__ == "__main__":
    sys.exit(main())
