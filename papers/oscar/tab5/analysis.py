"""Table 5 of OSCAR: the parameters that it counts, and those that the models here declare."""

from __future__ import annotations

import incast
from incast.ledger.runs import Results

TABLE = {
    "oscar": ("target", "tau", "u_ai", "u_hai"),
    "dcqcn": (
        "switch.ecn.kmin",
        "switch.ecn.kmax",
        "switch.ecn.pmax",
        "byte_counter",
        "rate_timer",
        "alpha_timer",
        "r_ai",
        "g",
        "recovery",
    ),
    "swift": ("base_target", "hop", "fs_max", "fs_min", "fs_range", "ai", "beta", "max_mdf"),
    "poseidon": ("max_cwnd", "r_min", "k", "m", "min_md", "max_md"),
    "hpcc": ("eta", "w_ai", "max_stage"),
    "powertcp": ("flows", "gamma"),
}
"""The parameters that the table names, as they are called here.

Poseidon's smallest window is r_min, PowerTCP's additive step β is the BDP over ``flows``, DCQCN's B, T, τ'
and F are byte counter, rate timer, alpha timer and recovery.
"""


def _declared(algorithm: str) -> set[str]:
    (found,) = (one for one in incast.algorithms() if one.name == algorithm)
    return {parameter.name for parameter in found.parameters}


def named(algorithm: str) -> int:
    """How many of the parameters that the table names the model here has."""
    known = _declared(algorithm)
    return sum(key.startswith("switch.") or key in known for key in TABLE[algorithm])


def further(algorithm: str) -> int:
    """How many parameters the model here has that the table does not name."""
    return len(_declared(algorithm) - set(TABLE[algorithm]))


def effective(results: Results, algorithm: str) -> int:
    """How many of them change the run when they alone are changed."""
    plain = results[algorithm].fingerprint
    keys = {name.partition("/")[2] for name in results.matching(f"{algorithm}/*")}
    if keys != {key.rpartition(".")[2] for key in TABLE[algorithm]}:
        raise ValueError(f"the runs of {algorithm} change {sorted(keys)}")
    return sum(results[f"{algorithm}/{key}"].fingerprint != plain for key in keys)


def fewer_than_others(results: Results) -> int:
    """How many of the algorithms that need no telemetry have more effective parameters than OSCAR."""
    return sum(effective(results, other) > effective(results, "oscar") for other in ("dcqcn", "swift"))


def counts(what: str) -> tuple[list[float], list[float]]:
    """For each algorithm, in the order of the table, a column as high as the number of its parameters.

    ``table``: those that the table names; ``all``: those of the model here.
    """
    x: list[float] = []
    y: list[float] = []
    for place, (algorithm, keys) in enumerate(TABLE.items(), start=1):
        number = len(keys) if what == "table" else len(keys) + further(algorithm)
        left = place - 0.3 if what == "table" else place
        x += [left, left, left + 0.3, left + 0.3, float("nan")]
        y += [0.0, number, number, 0.0, float("nan")]
    return x, y
