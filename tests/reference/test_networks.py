"""Whole networks against other simulators: packet-hops to the last one, times within derived bounds.

The seeds of a case choose among equal paths, or shift the starts of flows by less than 1 ns. Were the other
simulator's run one more of these, then 99.9 times of 100 each of its numbers would lie within mean ± t·s·√(1
+ 1/n) of the same numbers of n runs (`measure.room`).
"""

from __future__ import annotations

import numpy as np
import pytest

from incast import Scenario
from reference import cases, measure

HPCC = pytest.mark.xdist_group("reference-hpcc")
TIMELY = pytest.mark.xdist_group("reference-timely")
SWIFT = pytest.mark.xdist_group("reference-swift")
NSCC = pytest.mark.xdist_group("reference-nscc")
"""Tests that have runs in common are done by one process."""

ROUNDING = 0.2 / 87
"""Error of ns-3.17's rounding of the 87.2 ns that a full packet of 1,090 bytes takes at 100 Gbps, as a share.

No flow alone gains more by it. Of each full packet it gains 0.2 of 87 ns on the slowest link; of the last
packet and of its acknowledgement, on every link less than 1 ns of the 1,000 that the link's delay takes, a
smaller share.
"""


@pytest.mark.parametrize(
    ("case", "hops"),
    # As many acknowledgements as data packets, since both sides acknowledge each; README.md has the counts
    # of ns-3.
    [
        pytest.param("hpcc-320", 2 * 11_140_372, marks=HPCC),
        pytest.param("hpcc-320-imitated", 2 * 11_140_372, marks=HPCC),
        pytest.param("timely-256", 2 * 5_560_352, marks=TIMELY),
        pytest.param("timely-256-imitated", 2 * 5_560_352, marks=TIMELY),
        pytest.param("swift-permutation", 2_925_972, marks=SWIFT),
        pytest.param("swift-incast", 754_032, marks=SWIFT),
    ],
)
def test_packet_hops_are_the_same_to_the_last_one(case: str, hops: int) -> None:
    assert measure.hops(case) == hops


@HPCC
def test_hpcc_differs_by_rounding_and_by_what_a_nanosecond_can_change() -> None:
    # Paths, telemetry, windows and sizes are those of HPCC's tree. What is left is its clock of whole
    # nanoseconds. It has two effects. A flow gains up to ROUNDING. And events change places, from where on
    # flows get other rates, as they do in Incast when flows start less than 1 ns later. Errors come to no
    # more than the sum of both, and so do their quantiles, for the first is at most ROUNDING for every flow.
    between = measure.between_runs("hpcc-320-imitated")
    bound = ROUNDING + between.mean(axis=0) + measure.room(between)
    error = measure.against_reference("hpcc-320-imitated")
    assert (error <= bound).all(), (error, bound)


@TIMELY
def test_slowdowns_under_timely_could_be_another_seed_of_ours() -> None:
    # The buffers are those of PowerTCP's tree. What is left is the choice of paths: its ports are random.
    ours = measure.slowdown_runs("timely-256-imitated")
    theirs = measure.slowdown_reference("timely-256-imitated")
    apart = np.abs(theirs - ours.mean(axis=0)) / measure.room(ours)
    assert (apart <= 1).all(), apart


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("hpcc-320", marks=HPCC),
        pytest.param("timely-256", marks=TIMELY),
        pytest.param("timely-256-flows", marks=TIMELY),
        pytest.param("swift", marks=SWIFT),
        pytest.param("nscc", marks=NSCC),
    ],
)
def test_the_tables_of_the_page_are_what_the_runs_give(name: str) -> None:
    assert measure.written(name) == measure.TABLES[name]()


@SWIFT
@pytest.mark.parametrize("case", ["swift-permutation", "swift-incast"])
def test_times_under_swift_could_be_another_seed_of_ours(case: str) -> None:
    # What is left is the choice of paths, which is random on both sides.
    ours, theirs = measure.swift_runs(case), measure.swift_reference(case)
    # Least, mean, median, 90 % and 99 %. The largest is not spread normally.
    apart = (np.abs(theirs - ours.mean(axis=0)) / measure.room(ours))[:5]
    assert (apart <= 1).all(), apart


@NSCC
@pytest.mark.parametrize("case", measure.NSCC)
def test_times_under_nscc_could_be_eight_seeds_of_uet_htsim(case: str) -> None:
    # Eight seeds on both sides: were all sixteen runs of one simulator, the means would differ by no more
    # than t · √((s² + s'²)/8), 99.9 times of 100, with the t of one side alone. With an acknowledgement of
    # each packet, REPS's mean in the permutation is 4.8 us too short: more than three times that.
    ours, theirs = measure.nscc_runs(case), measure.nscc_reference(case)
    means = np.array([theirs["seeds8_mean"], theirs["seeds8_p99"]])
    spread = np.array([theirs["seeds8_mean_sd"], theirs["seeds8_p99_sd"]])
    bound = measure.T_999 * np.sqrt((ours.var(axis=0, ddof=1)[:2] + spread**2) / len(ours))
    apart = np.abs(ours.mean(axis=0)[:2] - means) / bound
    assert (apart <= 1).all(), apart


@pytest.mark.parametrize("policy", ["ops", "ops-rounds", "random", "adaptive", "reps"])
def test_spread_packets_take_as_many_hops_and_less_time(policy: str) -> None:
    # There is no result of another simulator for spread packets and an algorithm that both have. What such a
    # result must agree on is known: equal paths have equally many links, so nothing changes for packet-hops
    # as long as nothing is sent again. And with all paths in use the slowest flow is done before half of the
    # flows that the other simulator gives one path each.
    scenario = Scenario.from_dict(cases.swift_permutation())
    thresholds = ["400KB", "800KB", "1600KB"] if policy == "adaptive" else None
    spread = {"balancing.policy": policy} | ({"balancing.thresholds": thresholds} if thresholds else {})
    result = scenario.with_({**spread, "transport.recovery": "selective", "transport.repair": "never"}).run()
    assert result.info["outcome"]["hops"] == 2_925_972
    median = measure.swift_reference("swift-permutation")[2]
    assert max(result.flows.column("fct_ps")) / 1e6 < median, median
