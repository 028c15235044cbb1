"""Figure 12 of OSCAR: how long a pass of a collective operation takes."""

from __future__ import annotations

import numpy as np

from incast.ledger.runs import Results
from incast.results.measures.quantity import Quantity

PASSES = {"resnet": 3, "vgg": 2, "a2a": 2, "spray": 2, "one": 1, "resnet-12": 12}
"""Passes of each pattern."""

COMPUTE_S = {"resnet": 93.5e-6, "resnet-12": 93.5e-6, "vgg": 365.7e-6}
"""Computation between two passes."""

PATTERNS = ("resnet", "vgg", "a2a", "spray")

SPRAYED = ("oscar", "oscar:equal", "theta-powertcp", "poseidon")
"""Algorithms that are effective when packets are sprayed."""


def pass_time(results: Results, run: str, transfer: bool = False) -> Quantity:
    """Mean time of a pass.

    In a ring: the time until each host has received its part of the last pass, plus one computation, over the
    passes; the mean over hosts. In an all-to-all with barriers: the same until all hosts of a group are done.

    Args:
        results: The runs.
        run: A run like ``oscar/resnet``.
        transfer: Whether to leave out the computation.
    """
    pattern = run.rpartition("/")[2]
    passes = PASSES[pattern]
    if pattern not in COMPUTE_S:
        jobs = results[run].jobs.column("jct_ps").astype(float)
        return Quantity(float(np.mean(jobs)) / 1e12 / passes, "time")
    flows = results[run].flows
    ends = flows.column("delivered_ps").astype(float)
    hosts = flows.column("destination")
    last = [ends[hosts == host].max() for host in np.unique(hosts)]
    compute = COMPUTE_S[pattern]
    return Quantity(float(np.mean(last)) / 1e12 / passes + compute / passes - transfer * compute, "time")


def faster(results: Results, than: str, pattern: str, ours: str = "oscar", transfer: bool = False) -> float:
    """By how much the time of a pass of an algorithm exceeds ours."""
    theirs = pass_time(results, f"{than}/{pattern}", transfer).value
    return theirs / pass_time(results, f"{ours}/{pattern}", transfer).value - 1


def over_patterns(results: Results, than: list[str], take: str, ours: str = "oscar") -> float:
    """The largest or the least speed-up over these algorithms, where they are effective."""
    found = [
        faster(results, other, pattern, ours)
        for other in than
        for pattern in PATTERNS
        if pattern != "spray" or other in SPRAYED
    ]
    match take:
        case "largest":
            return max(found)
        case "least":
            return min(found)
    raise ValueError(f"{take!r} is neither largest nor least")


def over_all(results: Results, than: list[str], ours: str = "oscar") -> float:
    """The mean speed-up over the patterns in which an algorithm is effective, for that with the least one."""
    found = []
    for other in than:
        patterns = PATTERNS if other in SPRAYED else PATTERNS[:3]
        found.append(float(np.mean([faster(results, other, pattern, ours) for pattern in patterns])))
    return min(found)


def reduction(results: Results, than: list[str], ours: str = "oscar") -> float:
    """The largest reduction of the time of a pass against these algorithms, over the patterns with ECMP."""
    found = [faster(results, other, pattern, ours) for other in than for pattern in PATTERNS[:3]]
    return 1 - 1 / (1 + max(found))


def normalised(results: Results, run: str, pattern: str) -> float:
    """The time of a pass over OSCAR's; sprayed, HPCC's and PowerTCP's are of a single pass."""
    name = run.partition("/")[0]
    if pattern == "spray" and name not in SPRAYED:
        return 1 + faster(results, name, "one", "oscar:equal")
    return 1 + faster(results, name, pattern)


def spraying(results: Results, ours: str = "oscar") -> float:
    """By how much an all-to-all takes longer with ECMP than with spraying."""
    sprayed = pass_time(results, f"{ours}/spray").value
    return pass_time(results, f"{ours}/a2a").value / sprayed - 1
