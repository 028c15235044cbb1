"""Homa's runs of Figure 6, and slowdowns by size over all seeds.

Homa has no congestion control at the sender, and ``[[runs]]`` of ``claims.toml`` always sets one. So its runs
are made here: one for each run of PowerTCP, with its seed and its flows, and kept beside the others.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from incast import Scenario, store
from incast.ledger.measures import slowdown
from incast.ledger.quantity import Quantity, quantity
from incast.ledger.runs import Results
from incast.ledger.view import View
from incast.runner import Batch, Job, Threads, cores
from incast.stats import percentile

SCENARIO = Path(__file__).parent / "homa.toml"

MEASURED = ["websearch", "medium", "short"]
"""The traffic blocks whose flows count: not those that are under way at the start."""


def homa(
    results: Results,
    load: str,
    stat: str,
    above: str = "0B",
    up_to: str = "",
    group: list[str] | None = None,
    alpha: str = "1",
) -> Quantity:
    """A statistic of the slowdown of Homa's flows, as the measure ``slowdown``.

    Args:
        results: The other runs.
        load: Like ``0.6``.
        stat: The statistic.
        above: Exclusive lower bound of their sizes.
        up_to: Inclusive upper bound of their sizes.
        group: Their traffic blocks.
        alpha: Of the dynamic thresholds of the switches' queues.
    """
    return slowdown(_homa(results, load, alpha), stat, above, up_to, group or MEASURED)


def by_size(
    results: Results, name: str, stat: str, edges: list[str]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """A percentile of the slowdown in classes of size, over the flows of all seeds together.

    Args:
        results: The runs.
        name: The run, or ``homa/0.6``.
        stat: Like ``p99``.
        edges: Upper edges of the classes.
    """
    sizes, values = [], []
    for replica in results.replicas():
        algorithm, _, load = name.partition("/")
        flows = (_homa(replica, load) if algorithm == "homa" else replica.view(name)).result.flows
        chosen = np.isin(flows.column("group"), MEASURED) & ~np.isnan(flows.column("slowdown"))
        sizes.append(flows.column("size_bytes")[chosen])
        values.append(flows.column("slowdown")[chosen])
    size, value = np.concatenate(sizes), np.concatenate(values)
    ends = np.array([quantity(edge).value for edge in edges])
    inside = [(size > low) & (size <= high) for low, high in zip([0.0, *ends[:-1]], ends, strict=True)]
    rank = float(stat.removeprefix("p"))
    return ends / 1e3, np.array([percentile(value[here], rank) for here in inside])


def _homa(results: Results, load: str, alpha: str = "1") -> View:
    """Homa's run with the seed and the flows of the run of PowerTCP that is at hand."""
    beside = results[f"powertcp/{load}"]
    spec = results.spec(f"powertcp/{load}")
    folder = None if beside.folder is None else beside.folder.parent.parent
    overrides = (
        *(text for text in spec.overrides if not text.startswith("cc")),
        f"switch.egress_alpha={alpha}",
    )
    return _runs(load, overrides, spec.seeds, folder)[beside.info["seed"]]


@cache
def _runs(
    load: str, overrides: tuple[str, ...], seeds: tuple[int, ...], folder: Path | None
) -> dict[int, View]:
    """Homa's runs by seed; existing ones are reused."""
    jobs = []
    for seed in seeds:
        scenario = Scenario.load(SCENARIO, (*overrides, f"seed={seed}"))
        place = None if folder is None else store.place(folder, scenario, store.named_files(scenario))
        jobs.append(Job(f"Homa at a load of {load} with seed {seed}", scenario, place))
    batch = Batch(jobs)
    batch.run(Threads(cores()) if folder is None else None)
    return {seed: View(f"homa/{load}", batch.result(place)) for place, seed in enumerate(seeds)}
