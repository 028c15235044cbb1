"""``make demo``: the algorithms of five papers and their baselines, in two settings and one table.

Run from the checkout: it reads ``examples/`` and writes ``demo-results/``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from incast import catalogue
from incast.cli import INTERRUPTED, OK, compare
from incast.cli.outcome import ending
from incast.cli.table import columns, number, paragraph, section, table
from incast.cli.tables import ranked
from incast.progress import duration
from incast.results import censored
from incast.results.result import Result
from incast.results.titles import title
from incast.scenario import Interrupted, Scenario
from incast.scenario.choice import Choice, Refusal, everything, permitted

PAPERS = {
    "OSCAR, NSDI'26": ("oscar",),
    "CCC, NSDI'26": ("ccc",),
    "PowerTCP, NSDI'22": ("powertcp", "theta-powertcp"),
    "Congestion Control for Spraying with Congested Paths, arXiv 2509.07907": ("mswift", "mnscc"),
    "SQCC: Stable Queue Congestion Control": ("sqcc",),
}
"""The five papers, and the algorithms that each proposes; all others are baselines."""

SPRAYED = {
    "balancing.policy": "reps",
    "transport.recovery": "selective",
    "transport.repair": "lazy",
}
"""Settings that algorithms for spraying are made for; the others keep each flow on one path."""

OUT = Path("demo-results")

DOORS = (
    ("Choose an algorithm", "docs/stories/choose.md", "new training"),
    ("Try your own", "docs/stories/own.md", "new algorithm mine.py"),
    ("Reproduce a paper", "docs/stories/paper.md", "reproduce oscar/fig9"),
)
"""The stories of the first page of the documentation, and the first command of each."""

MICROBURST = (
    "Microburst: a long flow has a 100 Gbps link to itself; after 52 us two short flows of four "
    "bandwidth-delay products each arrive at once (OSCAR, NSDI'26, Figure 9). A good algorithm keeps the "
    "queue short, settles quickly, and leaves no capacity unused after the short flows have ended."
)
LOAD = (
    "CacheFollower: flows with the sizes of a cache cluster, at 60 % load in a steady state on a fat-tree of "
    "32 hosts (the large set-up of OSCAR, NSDI'26, Section 6.1, with a tenth of its hosts). Those count that "
    "start in the {duration} after a warm-up. Small flows need short queues, large ones need capacity."
)
COLUMNS_NOTE = (
    "Sorted by the last column. Paper: its number above; a dash for a baseline. Path: one for each flow, or "
    "REPS, which spreads the packets of a flow over all paths (with selective repeat); algorithms for "
    "spraying are made for it. Only CacheFollower has several paths: there, these rows differ from others "
    "in their paths too, not in the algorithm alone."
)
MICROBURST_NOTE = (
    "Microburst: the queue's peak, and its mean near the end of the burst (steady); settled: how long it "
    "takes to come within 10 % (or 10 KB) of it to stay; unused: what the link could have carried and did "
    "not, in time at full rate."
)
LOAD_NOTE = (
    "CacheFollower: slowdown, which is completion time divided by that on the idle path (no unit): of flows "
    "up to 150 KB, of larger ones, and of all; ≥: a lower bound, since flows did not finish. {loads}"
)
STAR_NOTE = "A star: this load is not steady, and the numbers are of a transient."
PRESETS_NOTE = (
    "Parameters are the defaults. TIMELY, patched TIMELY and SQCC were published with values for 10 Gbps, "
    "which make them slow at 100 Gbps. Their default here, scaled, derives thresholds, steps and windows "
    "from the rate and the RTT of each path; the preset paper has the published values."
)


def main(window: str = "10ms", warmup: str = "4ms") -> int:
    """Runs both comparisons.

    Args:
        window: The measured window of the second one.
        warmup: Its warm-up.

    Returns:
        The exit code of the command ``incast``.
    """
    began = time.monotonic()
    microburst = Scenario.load("examples/microburst.toml")
    load = Scenario.load(
        "examples/load.toml", [f"traffic.cache.duration={window}", f"traffic.cache.warmup={warmup}"]
    )
    print(section("The five papers, and their algorithms:", _papers()))
    for text in (MICROBURST, LOAD.format(duration=window)):
        print(f"\n{paragraph(text)}", flush=True)
    try:
        bursts, flowing = run(microburst), run(load)
    except Interrupted as stop:
        print(f"\nincast: {stop}", file=sys.stderr)
        return INTERRUPTED
    order = {label: n for n, label in enumerate(ranked(flowing.results)[0])}
    for outcome in (bursts, flowing):
        results = sorted(outcome.results.items(), key=lambda item: order.get(item[0], len(order)))
        outcome.results = dict(results)
    print(f"\n{one_table(bursts.results, flowing.results)}\n")
    load_note = LOAD_NOTE.format(loads=carried(flowing.results))
    if not all(is_steady(result) for result in flowing.results.values()):
        load_note = f"{load_note} {STAR_NOTE}"
    for note in (COLUMNS_NOTE, MICROBURST_NOTE, load_note, PRESETS_NOTE):
        print(paragraph(note))
    left_out = {**bursts.chosen.left_out, **flowing.chosen.left_out}
    if left_out:
        print(f"\n{section('left out', list(left_out.items()))}")
    print(f"\ndata in {OUT}, one folder for each run")
    for outcome in (bursts, flowing):
        for path in compare.pictures(outcome.results, OUT / _name(outcome)):
            print(f"picture {path}")
    print(f"\nThe demo took {duration(time.monotonic() - began)}. Next, through one of three doors:")
    for door, page, command in DOORS:
        print(f"  {door} ({page})\n    .venv/bin/incast {command}")
    sound = all(result.sound for outcome in (bursts, flowing) for result in outcome.results.values())
    return OK if sound and not (bursts.failed or flowing.failed) else 1


def _papers() -> list[list[str]]:
    """The algorithms of each paper; says which of them this version does not have."""
    known = {algorithm.name: algorithm.title for algorithm in catalogue.algorithms()}
    rows = []
    for n, (paper, names) in enumerate(PAPERS.items(), 1):
        absent = [name for name in names if name not in known]
        note = f" (not in this version: {', '.join(absent)})" if absent else ""
        rows.append([str(n), f"{paper}: {', '.join(known.get(name, name) for name in names)}{note}"])
    return rows


def choice(scenario: Scenario) -> Choice:
    """Returns all algorithms that the scenario permits, those for spraying with their settings.

    Args:
        scenario: The scenario.
    """
    scenarios: dict[str, Scenario] = {}
    left_out: dict[str, str] = {}
    for name in everything():
        of = scenario.with_(SPRAYED) if is_sprayed(name) else scenario
        made = permitted(name, partial(of.with_algorithm, name))
        if isinstance(made, Refusal):
            left_out[name] = made.why
        else:
            scenarios[name] = made
    return Choice(scenarios, left_out)


def is_sprayed(label: str) -> bool:
    """Whether the packets of an algorithm's flows are spread over paths."""
    known = catalogue.algorithm(label.partition(":")[0])
    return known is not None and known.family == "spraying"


def run(scenario: Scenario) -> compare.Outcome:
    """Runs one comparison and saves its data."""
    outcome = compare.Outcome(choice(scenario))
    parent = OUT / scenario.name
    compare.run_all(
        outcome, argparse.Namespace(out=parent, fresh=True, quiet=False, threads=1, testbed=False)
    )
    for label, result in outcome.results.items():
        if not result.sound:
            print(f"{scenario.name}: {ending(title(label), result)}")
    return outcome


def _name(outcome: compare.Outcome) -> str:
    return next(iter(outcome.chosen.scenarios.values())).name


def one_table(microburst: Mapping[str, Result], loaded: Mapping[str, Result]) -> str:
    """Both comparisons in one table.

    Args:
        microburst: A result for each algorithm.
        loaded: A result for each algorithm, in the order of the table.
    """
    papers = {name: str(n) for n, names in enumerate(PAPERS.values(), 1) for name in names}
    rows = []
    for label in dict.fromkeys([*loaded, *microburst]):
        burst = _burst(microburst[label]) if label in microburst else ["–"] * 4
        slowdown = _slowdown(loaded[label]) if label in loaded else ["–"] * 3
        paper = papers.get(label.partition(":")[0], "–")
        star = "" if label not in loaded or is_steady(loaded[label]) else "*"
        rows.append([title(label) + star, paper, "REPS" if is_sprayed(label) else "one", *burst, *slowdown])
    bursts = [("peak", "KB"), ("steady", "KB"), ("settled", "us"), ("unused", "us")]
    slowdowns = [("small", "p99"), ("large", "mean"), ("all", "mean")]
    headings = [(*one, "microburst") for one in bursts] + [(*one, "CacheFollower") for one in slowdowns]
    return table(columns("algorithm", ("paper", ""), "path", *headings), rows)


def is_steady(result: Result) -> bool:
    """Whether every load of the result is in a steady state."""
    return all(load.steady for load in result.loads)


def carried(results: Mapping[str, Result]) -> str:
    """The load that is offered, and the least and the largest that is carried, in a sentence.

    Args:
        results: A result for each algorithm, with the same flows.
    """
    loads = [load for result in results.values() for load in result.loads]
    shares = [load.carried for load in loads if load.carried is not None]
    if not shares:
        return ""
    offered, least, most = (number(100 * share) for share in (loads[0].offered, min(shares), max(shares)))
    return f"Of the hosts' links {offered} % are offered and {least} to {most} % carried."


def _burst(result: Result) -> list[str]:
    """Peak, steady queue, settling time and unused time of the microburst."""
    node, port = result.probed_ports()[0]
    start, end = result.all_flows_active()
    burst = result.response(node, port, start, end)
    lost = result.response(node, port, start).lost_bytes
    rate = result.port(node, port).rate_bps
    return [
        number(result.peak_queue_bytes(node, port) / 1e3),
        number(burst.steady_bytes / 1e3),
        "no" if burst.settling_ps is None else number(burst.settling_ps / 1e6),
        "–" if lost is None else number(lost * 8e6 / rate),
    ]


def _slowdown(result: Result) -> list[str]:
    """Slowdowns of the flows that count: small, large and all; lower bounds where some did not finish."""
    numbers, at_least = censored.metrics(result)
    cells = []
    for name in ("slowdown_small_p99", "slowdown_large_mean", "slowdown_all_mean"):
        bound = "≥ " if name in at_least else ""
        cells.append(f"{bound}{number(numbers[name])}" if name in numbers else "–")
    return cells


if __name__ == "__main__":
    sys.exit(main())
