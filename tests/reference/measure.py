"""What the runs of the cases give beside what the other simulators gave: the tables of docs/validation.md.

PYTHONPATH=tests python -m reference.measure            # prints the tables
PYTHONPATH=tests python -m reference.measure --write    # and writes them into the page
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from incast import Result
from reference import cases

PAGE = Path(__file__).parents[2] / "docs" / "validation.md"

Array = npt.NDArray[np.float64]

FLOWS = {
    "hpcc-320": "ns3-hpcc-fat320-fct.csv",
    "hpcc-320-imitated": "ns3-hpcc-fat320-fct.csv",
    "timely-256": "ns3-websearch256-timely-fct.csv",
}
"""The tables of completion times, by case."""

SEEDS = (1, 2, 3)
"""Seeds of the runs that are held against a table of completion times. They choose among equal paths."""

SWIFT_SEEDS = range(1, 9)
"""Seeds of the permutation. Its completion times hang on which flows share a link."""


@cache
def run(case: str, seed: int) -> Result:
    """Runs a case, once."""
    return cases.run(case, seed)


def hops(case: str) -> int:
    """Packets that left a port, less the frames of PFC: each pause has its resume."""
    result = run(case, 1)
    return int(result.info["outcome"]["hops"]) - 2 * int(result.ports.column("pauses_sent").sum())


def completions(case: str, seed: int) -> Array:
    """Completion times in ps in the order of the other simulator's table."""
    here = cases.ours(run(case, seed))
    return np.array([here[key] for key in cases.theirs(FLOWS[case])], dtype=float)


def reference(case: str) -> Array:
    """Completion times in ps of the other simulator."""
    return np.array(list(cases.theirs(FLOWS[case]).values()), dtype=float)


def quantiles(errors: Array) -> Array:
    """Median, 90 % and 99 % of the amounts of relative errors."""
    return np.array([np.quantile(np.abs(errors), share) for share in (0.5, 0.9, 0.99)])


def between_seeds(case: str) -> Array:
    """The largest of these for two runs of Incast that differ in nothing but the paths of their flows."""
    runs = [completions(case, seed) for seed in SEEDS]
    largest: Array = np.max([quantiles(a / b - 1) for a in runs for b in runs if a is not b], axis=0)
    return largest


def against_reference(case: str, seed: int) -> Array:
    """The same for a run of Incast against the other simulator."""
    return quantiles(completions(case, seed) / reference(case) - 1)


def errors_table(case: str, plain: str | None = None) -> list[str]:
    """Per-flow errors of a case as a table of the page; `plain` is the case without the other's traits."""

    def row(label: str, numbers: Array, mean: str) -> str:
        return "| " + " | ".join([label, *(f"{100 * number:.2f} %" for number in numbers), mean]) + " |"

    runs = [(case, seed, "with its traits, against ns-3" if plain else "against ns-3") for seed in SEEDS]
    if plain:
        runs.insert(0, (plain, 1, "as it is, against ns-3"))
    table = ["| Completion times | median | 90 % | 99 % | mean, signed |", "| --- | --- | --- | --- | --- |"]
    for one, seed, what in runs:
        mean = np.mean(completions(one, seed) / reference(one) - 1)
        table.append(
            row(f"Incast, seed {seed}, {what}", against_reference(one, seed), f"{100 * mean:+.2f} %")
        )
    return [*table, row("two seeds of Incast, at most", between_seeds(case), "")]


def swift_statistics(case: str, seed: int) -> Array:
    """Least, mean, median, 90 %, 99 % and largest completion time in us."""
    fct = np.asarray(run(case, seed).flows.column("fct_ps"), dtype=float) / 1e6
    return np.array([fct.min(), fct.mean(), *(np.quantile(fct, p) for p in (0.5, 0.9, 0.99)), fct.max()])


def swift_reference(workload: str) -> Array:
    """The same of csg-htsim."""
    row = next(
        r for r in cases.rows("htsim-swift.csv") if r["workload"].startswith(workload) and r["side"] == "csg"
    )
    return np.array([float(row[name]) for name in ("min", "mean", "p50", "p90", "p99", "max")])


def swift_table() -> list[str]:
    """Completion times under Swift as a table of the page."""

    def row(label: str, numbers: Array) -> str:
        return "| " + " | ".join([label, *(f"{number:.1f}" for number in numbers)]) + " |"

    several = np.array([swift_statistics("swift-permutation", seed) for seed in SWIFT_SEEDS])
    return [
        "| us | least | mean | median | 90 % | 99 % | largest |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        row("permutation, csg-htsim", swift_reference("permutation 128")),
        row("permutation, Incast, mean of 8 seeds", several.mean(axis=0)),
        row("permutation, Incast, standard deviation", several.std(axis=0, ddof=1)),
        row("32 to 1, csg-htsim", swift_reference("incast")),
        row("32 to 1, Incast", swift_statistics("swift-incast", 1)),
    ]


TABLES: dict[str, Callable[[], list[str]]] = {
    "hpcc-320": lambda: errors_table("hpcc-320-imitated", "hpcc-320"),
    "timely-256": lambda: errors_table("timely-256"),
    "swift": swift_table,
}
"""The tables of the page, by the name that its comments give them."""


def written(name: str) -> list[str]:
    """A table as the page has it."""
    return _parts(name)[1].strip().splitlines()


def write(name: str, table: list[str]) -> None:
    """Writes a table into the page."""
    before, _, after = _parts(name)
    PAGE.write_text("\n".join([before, "", *table, "", after]))


def _parts(name: str) -> tuple[str, str, str]:
    """The page up to a table with the comment above it, the table, and the rest."""
    begin, end = f"<!-- {name}: from the runs -->", f"<!-- {name}: end -->"
    above, _, rest = PAGE.read_text().partition(begin)
    table, _, below = rest.partition(end)
    return above + begin, table, end + below


if __name__ == "__main__":
    for name, make in TABLES.items():
        table = make()
        print("\n".join([name, *table, ""]))
        if "--write" in sys.argv[1:]:
            write(name, table)
