"""Names, words and directions of the numbers that every run has."""

from __future__ import annotations

import pytest

from incast import stats
from incast.results.measures.named import NAMED, find


def test_every_metric_is_in_one_measure() -> None:
    single = [measure.metrics[0] for measure in NAMED.values() if len(measure.metrics) == 1]
    assert sorted(single) == sorted(stats.METRICS)
    (total,) = (measure for measure in NAMED.values() if len(measure.metrics) > 1)
    assert total.name == "unfinished"
    assert set(total.metrics) <= set(stats.METRICS)
    heads = [measure.heading for measure in NAMED.values()]
    assert len(set(heads)) == len(heads)


def test_measures_are_found_by_both_names() -> None:
    for name, measure in NAMED.items():
        assert find(name) is measure
        if len(measure.metrics) == 1:
            assert find(measure.metrics[0]) is measure
    p99 = find("p99.small")
    assert (p99.words, p99.rank, p99.metrics) == ("p99 of small flows", 99, ("slowdown_small_p99",))
    with pytest.raises(KeyError, match=r'there is no measure "p99.smal"; did you mean "p99.small"\?'):
        find("p99.smal")
    with pytest.raises(KeyError, match=r'there is no measure "xyz".$'):
        find("xyz")


def test_unfinished_is_a_sum_of_what_a_run_has() -> None:
    total = find("unfinished")
    assert total.of({"jobs_unfinished": 2.0, "flows_unfinished": 3.0}) == 5
    assert total.of({"flows_unfinished": 3.0}) == 3
    assert total.of({"packets_dropped": 3.0}) is None


def test_the_criterion_of_a_ranking_is_a_measure() -> None:
    assert [find(stats.criterion(jobs)).metrics for jobs in (True, False)] == [
        ("job_time_mean_ps",),
        ("slowdown_all_mean",),
    ]
