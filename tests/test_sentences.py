"""Sentences on grids: the best entry, differences to a baseline, and what weakens them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from incast.results.decide import Difference, Word
from incast.results.grid import Axis, Grid, Run, made_of
from incast.results.measures.named import find
from incast.results.sentences import sentences, verdict
from incast.runs.sweep import Decision

SMALL = find("p99.small")
TIME = find("jobs.mean")


def info(seed: int, value: float, *, unfinished: int = 0, same: bool = False, end: str = "finished") -> Any:  # noqa: ANN401
    """The parts of a `result.json` that numbers are read from, with one value for all slowdowns."""
    slowdown = {"mean": value, "p50": value, "p99": value}
    classes = [
        {"class": name, "group": None, "flows": 200, "unfinished": unfinished, "slowdown": slowdown}
        for name in ("small", "large", "all")
    ]
    outcome = {
        "end": end,
        "fingerprint": "same" if same else f"{seed} {value}",
        "flows_finished": 200,
        "packets_dropped": 0,
        "violations": [],
    }
    return {
        "name": "made",
        "seed": seed,
        "algorithms": ["oscar"],
        "outcome": outcome,
        "summary": {"slowdowns": classes, "ports": []},
    }


def runs(*values: float, **more: Any) -> list[Run]:  # noqa: ANN401
    return [Run(seed, info(seed, value, **more)) for seed, value in enumerate(values, 1)]


def grid(**its: Sequence[Run]) -> Grid:
    return made_of("made", [Axis("cc", tuple(its))], {(name,): of for name, of in its.items()})


def texts(of: Grid, **more: Any) -> list[str]:  # noqa: ANN401
    return [one.text for one in sentences(of, measures=[SMALL], **more)]


def made(word: Word, value: float, low: float, high: float, why: str = "") -> Difference:
    return Difference(SMALL, 5, "ratio", value, low, high, 0.95, word, why)


BETTER = made(Word.BETTER, 0.88, 0.84, 0.92)
NONE = made(Word.NOT_SHOWN, 0.99, 0.9, 1.1)
EQUAL = made(Word.EQUAL, 1.0, 1.0, 1.0, "exact")
FEW = made(Word.TOO_FEW, 0.9, float("nan"), float("nan"), "p99 of 61 flows is their largest")
WORSE = made(Word.WORSE, 1.18, 1.09, 1.28)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        ({"HPCC": BETTER}, "OSCAR has the lowest p99 of small flows: 12 % (8 – 16) below HPCC."),
        (
            {"Swift": made(Word.BETTER, 0.5, 0.4, 0.6), "HPCC": BETTER},
            "OSCAR has the lowest p99 of small flows: 12 % (8 – 16) below HPCC, the next.",
        ),
        ({"HPCC": NONE}, "no difference shown in p99 of small flows."),
        (
            {"HPCC": NONE, "Swift": NONE},
            "p99 of small flows: lowest with OSCAR, but no difference shown to any other.",
        ),
        (
            {"HPCC": NONE, "Swift": NONE, "DCQCN": BETTER, "DCTCP": BETTER},
            (
                "p99 of small flows: lowest with OSCAR, but no difference shown to HPCC and Swift; "
                "the others are 18 % (9 – 28) or more above OSCAR."
            ),
        ),
        (
            {"HPCC": NONE, "Swift": BETTER},
            (
                "p99 of small flows: lowest with OSCAR, but no difference shown to HPCC; "
                "Swift is 18 % (9 – 28) above OSCAR."
            ),
        ),
        (
            dict.fromkeys("ABCD", NONE) | {"E": BETTER},
            (
                "p99 of small flows: lowest with OSCAR, but no difference shown to A, B and 2 more; "
                "E is 18 % (9 – 28) above OSCAR."
            ),
        ),
        ({"HPCC": EQUAL}, "p99 of small flows: equal with OSCAR and HPCC."),
        ({"HPCC": FEW}, "p99 of small flows: too few (p99 of 61 flows is their largest)."),
        (
            {"HPCC": FEW, "Swift": BETTER},
            "p99 of small flows: too few between OSCAR and HPCC (p99 of 61 flows is their largest).",
        ),
    ],
)
def test_differences_give_a_sentence(found: Mapping[str, Difference], text: str) -> None:
    outcome = verdict("OSCAR", found, SMALL, worse=lambda _: WORSE)
    assert outcome is not None
    assert outcome.text == text
    assert (outcome.best is not None) == all(one.word is Word.BETTER for one in found.values())


def test_amounts_have_a_side_in_place_of_a_sign() -> None:
    assert BETTER.beside() == "12 % (8 – 16) below"
    assert WORSE.beside() == "18 % (9 – 28) above"
    assert made(Word.WORSE, 2.4, 2.1, 2.8).beside() == "2.4 times (2.1 – 2.8) as high as with"
    assert made(Word.WORSE, 3.0, 3.0, 3.0).beside() == "3.0 times as high as with"
    assert made(Word.BETTER, 0.8, 0.8, 0.8).beside() == "20 % below"
    assert FEW.beside() == "10 % below"
    amount = Difference(find("queue.peak"), 5, "difference", -3500, -5800, -1200, 0.95, Word.BETTER)
    assert amount.beside() == "3.5 KB (1.2 – 5.8) below"


def test_a_constant_ratio_is_exact() -> None:
    # 1 − 1 / 1.25 is 20 %; the other one is twice as high.
    values = (2, 3, 4, 5, 6)
    of = grid(
        oscar=runs(*values), hpcc=runs(*(1.25 * v for v in values)), swift=runs(*(2 * v for v in values))
    )
    assert texts(of) == ["OSCAR has the lowest p99 of small flows: 20 % below HPCC, the next."]


def test_the_best_entry_is_found_wherever_it_stands() -> None:
    values = (2, 3, 4, 5, 6)
    of = grid(hpcc=runs(*(1.25 * v for v in values)), oscar=runs(*values))
    assert texts(of) == ["OSCAR has the lowest p99 of small flows: 20 % below HPCC."]


def test_noise_shows_no_difference() -> None:
    # By seed HPCC is once above and once below OSCAR, by equal factors.
    of = grid(oscar=runs(2, 3, 4, 5), hpcc=runs(2.2, 3 / 1.1, 4.4, 5 / 1.1))
    assert texts(of) == ["No difference shown in p99 of small flows."]


def test_one_seed_gives_an_order_and_a_warning() -> None:
    of = grid(oscar=runs(2.9), hpcc=runs(2.5), swift=runs(3.25))
    assert texts(of) == [
        "p99 of small flows, by value: HPCC 2.50, OSCAR 2.90, Swift 3.25.",
        "One seed: differences may be luck. --seeds 5 gives intervals and words.",
    ]
    two = texts(grid(oscar=runs(2.9, 3.1), hpcc=runs(2.5, 2.6)))
    assert two[-1] == "2 seeds: at least 3 are needed for intervals and words."


def test_without_draws_two_seeds_suffice() -> None:
    of = grid(oscar=runs(2, 2, same=True), hpcc=runs(4, 4, same=True))
    assert texts(of) == [
        "OSCAR has the lowest p99 of small flows: 50 % below HPCC.",
        "Nothing is drawn: the differences are exact.",
    ]


def test_an_entry_that_leaves_more_unfinished_or_did_not_end_is_not_ranked() -> None:
    # 12 of 212 flows in each of three runs.
    good = runs(4, 5, 6)
    left = runs(2, 2, 2, unfinished=12)
    stalled = [*runs(1, 1), Run(3, info(3, 1, end="stalled"))]
    assert texts(grid(oscar=good, hpcc=left, swift=stalled, timely=runs(8, 10, 12))) == [
        "Swift is not ranked: 1 of 3 runs did not end as it should.",
        "HPCC left 36 flows unfinished and is not ranked.",
        "OSCAR has the lowest p99 of small flows: 50 % below TIMELY.",
    ]


def crossed(loads: Sequence[str], factor: Mapping[str, float]) -> Grid:
    """OSCAR and HPCC at several loads; HPCC is this much higher, 2 without a number."""
    axes = [Axis("cc", ("oscar", "hpcc")), Axis("traffic.0.load", tuple(loads))]
    values = (2, 3, 4, 5)
    return made_of(
        "made",
        axes,
        {
            (name, load): runs(*(v * (factor.get(load, 2.0) if name == "hpcc" else 1) for v in values))
            for load in loads
            for name in ("oscar", "hpcc")
        },
    )


def test_workloads_are_not_compared_with_each_other() -> None:
    assert texts(crossed(("0.3", "0.6"), {"0.6": 0.5})) == [
        "At load 0.3: OSCAR has the lowest p99 of small flows: 50 % below HPCC.",
        "At load 0.6: HPCC has the lowest p99 of small flows: 50 % below OSCAR.",
    ]
    assert texts(crossed(("0.1", "0.2", "0.3", "0.4", "0.5"), {"0.4": 0.5})) == [
        "OSCAR has the lowest p99 of small flows in 4 of 5 workloads.",
        "At load 0.4: HPCC has the lowest p99 of small flows: 50 % below OSCAR.",
    ]


def test_of_many_workloads_and_comparisons_only_the_first_have_a_sentence() -> None:
    loads = [f"0.{n:02}" for n in range(1, 21)]
    of = crossed(loads, dict.fromkeys(loads[:9], 0.5))
    found = texts(of)
    assert found[0] == "OSCAR has the lowest p99 of small flows in 11 of 20 workloads."
    assert found[1:7] == [
        f"At load {load}: HPCC has the lowest p99 of small flows: 50 % below OSCAR." for load in loads[:6]
    ]
    assert found[7:] == ["And 3 more workloads that differ, in the table below."]
    # The second measure has one sentence on all, and comparisons with a baseline are in the table.
    both = [SMALL, find("mean.all")]
    pairs = [
        Decision(("hpcc", load), ("oscar", load), dict.fromkeys([SMALL.name, "mean.all"], BETTER))
        for load in loads
    ]
    again = [one.text for one in sentences(of, pairs, both)]
    assert again == [*found, "OSCAR has the lowest mean slowdown of flows in 11 of 20 workloads."]
    # Where a rule has chosen the seeds none is ranked; the first comparisons have the first measure.
    unranked = [one.text for one in sentences(of, pairs, both, ranked=False)]
    assert len(unranked) == 7
    assert unranked[0].startswith("HPCC, load 0.01: p99 of small flows")
    assert "mean" not in unranked[0]
    assert unranked[6] == "And 14 more comparisons, in the table below."


def test_of_many_entries_that_are_not_ranked_only_the_first_have_a_sentence() -> None:
    bad = {f"oscar:w{n}": runs(1, 2, 3, end="stalled") for n in range(8)}
    found = texts(grid(hpcc=runs(1, 2, 3), swift=runs(1, 2, 3), **bad))
    assert sum("is not ranked" in text for text in found) == 6
    assert "And 2 more entries that are not ranked, in the table below." in found


def test_slowdowns_of_other_topologies_have_other_ideals_and_times_have_none() -> None:
    axes = [Axis("topology.rate", ("100Gbps", "400Gbps"))]
    of = made_of("made", axes, {("100Gbps",): runs(2, 3, 4), ("400Gbps",): runs(4, 6, 8)})
    assert texts(of) == []
    queue = find("queue.peak")
    its: dict[tuple[str, ...], list[Run]] = {}
    for rate, factor in (("100Gbps", 1), ("400Gbps", 2)):
        its[(rate,)] = runs(1, 2, 3)
        for run in its[(rate,)]:
            peak = {"mean_bytes": 1.0, "max_bytes": 1000.0 * factor * run.seed}
            run.info["summary"]["ports"].append({"queue": peak})
    both = sentences(made_of("made", axes, its), measures=[queue])
    assert [one.text for one in both] == [
        "rate 100Gbps has the lowest longest queue: 50 % below rate 400Gbps."
    ]


def test_a_baseline_has_a_sentence_for_each_entry_without_repetition() -> None:
    values = (2, 3, 4, 5)
    of = grid(oscar=runs(*values), hpcc=runs(*(2 * v for v in values)), swift=runs(*(3 * v for v in values)))
    mean = find("mean.all")
    its = [
        Decision(("oscar",), ("hpcc",), {SMALL.name: BETTER, mean.name: Difference(
            mean, 4, "ratio", 1.0, 0.9, 1.1, 0.95, Word.NOT_SHOWN)}),
        Decision(("swift",), ("hpcc",), {SMALL.name: made(Word.WORSE, 2.4, 2.1, 2.8), mean.name: FEW}),
    ]  # fmt: skip
    found = [one.text for one in sentences(of, its, [SMALL, mean], ranked=False) if one.kind == "baseline"]
    assert found == [
        "OSCAR: p99 of small flows 12 % (8 – 16) below HPCC; mean slowdown of flows: no difference shown.",
        (
            "Swift: p99 of small flows 2.4 times (2.1 – 2.8) as high as with HPCC; "
            "p99 of small flows: too few (p99 of 61 flows is their largest)."
        ),
    ]
    # Of two entries the first sentence says it all.
    pair = grid(oscar=runs(*values), hpcc=runs(*(2 * v for v in values)))
    assert [one.kind for one in sentences(pair, its[:1], [SMALL])] == ["best"]
    assert [one.kind for one in sentences(pair, its[:1], [SMALL], ranked=False)] == ["baseline"]


def test_a_seed_without_a_result_is_a_missing_value() -> None:
    axes = [Axis("cc", ("oscar", "hpcc"))]
    its: dict[tuple[str, ...], list[Run]] = {("oscar",): runs(2, 3, 4, 5), ("hpcc",): runs(4, 6, 8)}
    of = made_of("made", axes, its, failed={"cc=hpcc seed=4": "it was killed"})
    assert texts(of)[0] == "p99 of small flows: too few (no value in 1 of 4 seeds)."


def test_loads_that_are_not_steady_are_named() -> None:
    load = {
        "group": "web", "from_ps": 0, "until_ps": 1, "flows": 1, "uncounted": 0, "tail": True, "load": 0.6,
        "offered": 0.6, "carried": 0.6, "backlog_begin_bytes": 0, "backlog_end_bytes": 0, "growth": 0.0,
        "growth_error": 0.0, "steady": False, "because": ["the window is short"],
    }  # fmt: skip
    bad = runs(2, 3, 4)
    bad[0].info["summary"]["loads"] = [load]
    of = grid(oscar=bad, hpcc=runs(4, 6, 8))
    assert texts(of)[0] == "OSCAR: the load is not steady in 1 of 3 runs (the window is short)."
    for run in of.runs:
        run.info["summary"]["loads"] = [load]
    assert texts(of)[0] == "No entry has a steady load: their numbers depend on the length of the run."
