"""Results of the cases' runs beside the other simulators' results: the tables of docs/validation.md.

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
    "timely-256-imitated": "ns3-websearch256-timely-fct.csv",
}
"""The tables of completion times, by case."""

SEEDS = range(1, 9)
"""Seeds of the runs of a case. They choose among equal paths, or shift starts by less than 1 ns."""

T_999 = 5.408
"""Student's t with 7 degrees of freedom, one less than the seeds: within ± this are 99.9 %."""


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


def between_runs(case: str) -> Array:
    """Returns the quantiles between runs of Incast: for each seed the mean over the others."""
    runs = [completions(case, seed) for seed in SEEDS]
    return np.array([np.mean([quantiles(a / b - 1) for b in runs if b is not a], axis=0) for a in runs])


def against_reference(case: str) -> Array:
    """Returns the quantiles of Incast against the other simulator, as the mean over the runs."""
    runs = [quantiles(completions(case, seed) / reference(case) - 1) for seed in SEEDS]
    return np.array(np.mean(runs, axis=0))


def room(runs: Array) -> Array:
    """By how much numbers of one more run differ from their mean over the runs at most, 99.9 times of 100.

    Args:
        runs: Numbers, a row for each of the seeds.
    """
    return np.array(T_999 * runs.std(axis=0, ddof=1) * np.sqrt(1 + 1 / len(runs)))


def errors_table(case: str, plain: str) -> list[str]:
    """Per-flow errors of a case as a table of the page; `plain` is the case without the other's traits."""
    signed = np.mean([np.mean(completions(case, seed) / reference(case) - 1) for seed in SEEDS])
    error = completions(plain, 1) / reference(plain) - 1
    between = between_runs(case)
    return [
        "| Completion times, flow by flow | median | 90 % | 99 % | mean, signed |",
        "| --- | --- | --- | --- | --- |",
        _percents("Incast as it is, seed 1, against ns-3", quantiles(error), error.mean()),
        _percents("Incast with its traits against ns-3, mean of 8 runs", against_reference(case), signed),
        _percents("two runs of Incast with its traits, mean", between.mean(axis=0), None),
        _percents(
            "two runs of Incast with its traits, standard deviation", between.std(axis=0, ddof=1), None
        ),
    ]


def _percents(label: str, numbers: Array, signed: float | None) -> str:
    mean = "" if signed is None else f"{100 * signed:+.2f} %"
    return "| " + " | ".join([label, *(f"{100 * number:.2f} %" for number in numbers), mean]) + " |"


def slowdowns(case: str, completion: Array) -> Array:
    """Completion times over those that the other simulator gives for each flow alone."""
    alone = np.array([int(row["ideal_fct_ns"]) * 1000 for row in cases.rows(FLOWS[case])], dtype=float)
    slowdown: Array = completion / alone
    return slowdown


def slowdown_statistics(slowdown: Array) -> Array:
    """Mean, median, 90 %, 95 % and 99 %."""
    return np.array([slowdown.mean(), *(np.quantile(slowdown, p) for p in (0.5, 0.9, 0.95, 0.99))])


def slowdown_runs(case: str) -> Array:
    """Returns the slowdowns of the runs of a case, a row for each of the seeds."""
    return np.array([slowdown_statistics(slowdowns(case, completions(case, seed))) for seed in SEEDS])


def slowdown_reference(case: str) -> Array:
    """Returns the slowdowns of the other simulator."""
    return slowdown_statistics(slowdowns(case, reference(case)))


def slowdown_table(case: str, plain: str) -> list[str]:
    """Slowdowns of a case as a table of the page; `plain` is the case without the other's traits."""
    table = ["| Slowdown | mean | median | 90 % | 95 % | 99 % |", "| --- | --- | --- | --- | --- | --- |"]
    table.append(_numbers("ns-3", slowdown_reference(case), 2))
    for one, what in ((case, "with its traits"), (plain, "as it is")):
        runs = slowdown_runs(one)
        table.append(_numbers(f"Incast {what}, mean of 8 seeds", runs.mean(axis=0), 2))
        table.append(_numbers(f"Incast {what}, standard deviation", runs.std(axis=0, ddof=1), 2))
    return table


def _numbers(label: str, numbers: Array, digits: int) -> str:
    return "| " + " | ".join([label, *(f"{number:.{digits}f}" for number in numbers)]) + " |"


def swift_statistics(case: str, seed: int) -> Array:
    """Least, mean, median, 90 %, 99 % and largest completion time in us."""
    fct = np.asarray(run(case, seed).flows.column("fct_ps"), dtype=float) / 1e6
    return np.array([fct.min(), fct.mean(), *(np.quantile(fct, p) for p in (0.5, 0.9, 0.99)), fct.max()])


def swift_runs(case: str) -> Array:
    """Returns the completion times of the runs of a case, a row for each of the seeds."""
    return np.array([swift_statistics(case, seed) for seed in SEEDS])


def swift_reference(case: str) -> Array:
    """Returns the completion times of csg-htsim."""
    workload = {"swift-permutation": "permutation 128", "swift-incast": "incast"}[case]
    row = next(
        r for r in cases.rows("htsim-swift.csv") if r["workload"].startswith(workload) and r["side"] == "csg"
    )
    return np.array([float(row[name]) for name in ("min", "mean", "p50", "p90", "p99", "max")])


def swift_table() -> list[str]:
    """Completion times under Swift as a table of the page."""
    table = [
        "| us | least | mean | median | 90 % | 99 % | largest |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for case, what in (("swift-permutation", "permutation"), ("swift-incast", "32 to 1")):
        runs = swift_runs(case)
        table.append(_numbers(f"{what}, csg-htsim", swift_reference(case), 1))
        table.append(_numbers(f"{what}, Incast, mean of 8 seeds", runs.mean(axis=0), 1))
        table.append(_numbers(f"{what}, Incast, standard deviation", runs.std(axis=0, ddof=1), 1))
    return table


NSCC = tuple(name for name in cases.CASES if name.startswith("nscc-"))
"""The cases under NSCC."""

POLICIES = {"ops": "OPS", "reps": "REPS", "adaptive": "adaptive"}
"""The load balancers of these cases as the page has them."""


def nscc_statistics(case: str, seed: int) -> Array:
    """Mean and 99 % of the completion times in us, packets trimmed, and packet-hops in thousands."""
    result = run(case, seed)
    fct = np.asarray(result.flows.column("fct_ps"), dtype=float) / 1e6
    trims = int(result.ports.column("trimmed_packets").sum())
    return np.array([fct.mean(), np.quantile(fct, 0.99), trims, int(result.info["outcome"]["hops"]) / 1000])


def nscc_runs(case: str) -> Array:
    """Returns these of the runs of a case, a row for each of the seeds."""
    return np.array([nscc_statistics(case, seed) for seed in SEEDS])


def nscc_reference(case: str) -> dict[str, float]:
    """Returns the results of uet-htsim."""
    row = next(row for row in cases.rows("uet-htsim-nscc.csv") if row["case"] == case)
    return {name: float(value) for name, value in row.items() if name != "case"}


def nscc_table() -> list[str]:
    """Runs under NSCC as a table of the page."""
    table = [
        "| | mean (us) | 99 % (us) | packets trimmed | packet-hops |",
        "| --- | --- | --- | --- | --- |",
    ]
    for case in NSCC:
        theirs, ours = nscc_reference(case), nscc_runs(case)
        _, flows, policy = case.split("-")
        what = ("32 to 1" if flows == "incast" else flows) + f", {POLICIES[policy]}"
        row = [
            f"{theirs[f'seeds8_{name}']:.1f} ± {theirs[f'seeds8_{name}_sd']:.1f}" for name in ("mean", "p99")
        ]
        row += [f"{theirs['seeds8_trims_low']:.0f} to {theirs['seeds8_trims_high']:.0f}"]
        table.append(f"| {what}: uet-htsim | {' | '.join(row)} | {theirs['seed13_khops']:,.0f},000 |")
        row = [
            f"{mean:.1f} ± {sd:.1f}"
            for mean, sd in zip(ours.mean(0)[:2], ours.std(0, ddof=1)[:2], strict=True)
        ]
        row += [f"{ours[:, 2].min():.0f} to {ours[:, 2].max():.0f}"]
        table.append(f"| {what}: Incast | {' | '.join(row)} | {ours[:, 3].mean():,.0f},000 |")
    return table


TABLES: dict[str, Callable[[], list[str]]] = {
    "hpcc-320": lambda: errors_table("hpcc-320-imitated", "hpcc-320"),
    "timely-256": lambda: slowdown_table("timely-256-imitated", "timely-256"),
    "timely-256-flows": lambda: errors_table("timely-256-imitated", "timely-256"),
    "swift": swift_table,
    "nscc": nscc_table,
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
