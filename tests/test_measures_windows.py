"""Measures of a window, over ports, of packets, and with unfinished flows."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from blocks import block, constant, joined, star, traffic
from incast import Result, Scenario
from incast.results import measures as m
from incast.results import stats
from incast.results.censored import bounds, ideal_times, statistic
from incast.results.measures.view import View
from incast.results.result import every_sample

PACED = joined(
    star(4, "100Gbps", "1us", run={"until": "200us"}, switch={"buffer": "unlimited"}),
    traffic("a", "h0", "h3", size="1GB", cc=constant("25Gbps")),
    traffic("b", "h1", "h3", size="1GB", cc=constant("25Gbps")),
    traffic("late", "h2", "h3", size="1GB", start="150us", cc=constant("25Gbps")),
    traffic("short", "h2", "h3", size="5KB", start="20us", cc=constant("25Gbps")),
    block("[probe]", flows=["a", "b", "late"], ports=["s0->h3"], interval="1us"),
)


@pytest.fixture(scope="module")
def view() -> View:
    return View("paced", Scenario.from_toml(PACED).run(threads=1))


def made(flows: list[dict[str, Any]], samples: list[tuple[int, int, int]], now_ps: int) -> View:
    """Returns a view of flows, and of samples (flow, time in ps, bytes acknowledged) of them."""
    none = float("nan")
    defaults = {
        "group": "web",
        "start_ps": 0,
        "delivered_ps": none,
        "finish_ps": none,
        "base_rtt_ps": 1,
        "source": "h0",
        "counted": True,
        "acked_bytes": 0,
        "started": True,
        "size_bytes": 1000.0,
        "ideal_fct_ps": 10e6,
        "destination": "h1",
        "slowdown": none,
    }
    rows = [{**defaults, "flow": number, **flow} for number, flow in enumerate(flows)]

    def table(columns: dict[str, Any]) -> SimpleNamespace:
        return SimpleNamespace(column=lambda name: np.array(columns[name]))

    series = {
        "flow": [one[0] for one in samples],
        "time_ps": [one[1] for one in samples],
        "acked_bytes": [one[2] for one in samples],
    }
    empty = dict.fromkeys(("window_bytes", "rate_bps", "rtt_ps"), [none] * len(samples))
    result: Any = SimpleNamespace(
        flows=table({name: [row[name] for row in rows] for name in rows[0]}),
        ports=table({"node": ["h0", "h1"], "port": [0, 0], "peer": ["s", "s"], "rate_bps": [10**11] * 2}),
        flow_series=table({**series, **empty, "samples": [1] * len(samples)}),
        info={"outcome": {"now_ps": now_ps}, "name": "made"},
        end="finished",
    )
    return View("made", result)


def test_a_paced_flow_carries_its_rate(view: View) -> None:
    # 25 of 100 Gbps twice, payload of 1000 of 1054 bytes: 0.5 * 1000 / 1054 = 0.47438. The window of 120 us
    # has 355.8 packets of each, and one more or less at its ends.
    found = m.carried(view, ["a", "b"], "s0->h3", "25us", "145us").value
    assert found == pytest.approx(0.5 * 1000 / 1054, abs=2 / 355)
    assert m.fairness(view, ["a", "b"], "25us", "145us").value == pytest.approx(1, abs=1e-4)
    assert m.share(view, ["a"], ["a", "b"], "25us", "145us").value == pytest.approx(0.5, abs=0.002)
    # The third begins at 150 us: two of three equal ones are 4 / (3 * 2).
    assert m.fairness(view, ["a", "b", "late"], "25us", "145us").value == pytest.approx(2 / 3, abs=1e-4)


def test_where_samples_lie_on_both_ends_window_and_goodput_agree(view: View) -> None:
    rates = [m.goodput(view, flow, "30us", "130us").value for flow in ("a", "b")]
    bits = 8 * m.window_bytes(view, ["a", "b"], 30_000_000, 130_000_000)
    assert bits / 100e-6 == pytest.approx(rates, rel=1e-12)
    jain = m.jain(view, ["a", "b"], "30us", "130us").value
    assert m.fairness(view, ["a", "b"], "30us", "130us").value == pytest.approx(jain, rel=1e-12)


def test_fairness_over_time_is_of_the_flows_that_are_there(view: View) -> None:
    # In each step two flows have the same rate, in the last ones three; the late one fills its pipe first.
    found = m.fairness_over_time(view, ["a", "b", "late"], "10us", "20us", "190us").value
    by_hand = []
    for begin in range(20, 190, 10):
        flows = ["a", "b", "late"] if begin >= 150 else ["a", "b"]
        by_hand.append(m.fairness(view, flows, f"{begin}us", f"{begin + 10}us").value)
    assert found == pytest.approx(float(np.mean(by_hand)), rel=1e-12)
    assert 0.97 < found < 1
    with pytest.raises(ValueError, match="no step has two flows"):
        m.fairness_over_time(view, ["late"], "10us", "20us", "190us")
    with pytest.raises(ValueError, match="shorter than one step"):
        m.fairness_over_time(view, ["a"], "1ms", "20us", "190us")


def test_a_flow_without_samples_is_known_outside_of_its_life(view: View) -> None:
    assert m.window_bytes(view, ["short"], 10_000_000, 100_000_000).tolist() == [5000]
    assert m.window_bytes(view, ["short"], 50_000_000, 100_000_000).tolist() == [0]
    with pytest.raises(ValueError, match=r"'short\.0' of the run 'paced' is not sampled"):
        m.carried(view, ["short"], "s0->h3", "20.1us", "100us")


def test_a_window_ends_with_the_run(view: View) -> None:
    with pytest.raises(ValueError, match=r"ended at 200\.00 us, before 300us"):
        m.carried(view, ["a"], "s0->h3", "0us", "300us")
    with pytest.raises(ValueError, match="nothing is between 50us and 50us"):
        m.fairness(view, ["a"], "50us", "50us")
    assert m.carried(view, ["a"], "s0->h3").value == m.carried(view, ["a"], "s0->h3", "0us", "200us").value


def test_payload_is_interpolated_between_samples() -> None:
    flow = [{"acked_bytes": 400}]
    # 0 at 0, 100 B at 10 us, 400 B at 20 us: at 5 us 50, at 15 us 250.
    view = made(flow, [(0, 0, 0), (0, 10, 100), (0, 20, 400)], 20)
    assert m.window_bytes(view, ["web"], 5, 15).tolist() == [200]
    # From 20 on there are none: 400 B at the end of the run, 24, and as many after it.
    later = made(flow, [(0, 10, 100), (0, 20, 400)], 24)
    assert m.window_bytes(later, ["web"], 15, 24).tolist() == [150]
    assert m.window_bytes(later, ["web.0", "web"], 0, 30).tolist() == [400]
    # A flow that has finished at 22 has all of its bytes then.
    done = made([{"acked_bytes": 500, "finish_ps": 22.0}], [(0, 10, 100), (0, 20, 400)], 30)
    assert m.window_bytes(done, ["web"], 20, 21).tolist() == [50]
    assert m.window_bytes(done, ["web"], 20, 25).tolist() == [100]
    waiting = made([{"started": False, "start_ps": 2**62}], [], 30)
    assert m.window_bytes(waiting, ["web"], 0, 30).tolist() == [0]


def shares(*acked: int) -> View:
    """Returns a view of flows with these bytes acknowledged, all of them at the end."""
    return made([{"acked_bytes": one, "finish_ps": 10.0} for one in acked], [], 10)


def test_fairness_by_hand() -> None:
    # Rates 1, 2, 0: 3² / (3 · 5) = 0.6. Over the fair ones 1, 2, 1 they are 1, 1, 0: 2² / (3 · 2).
    rates = shares(1, 2, 0)
    assert m.fairness(rates, ["web"]).value == pytest.approx(9 / 15)
    assert m.fairness(rates, ["web"], fair=[1, 2, 1]).value == pytest.approx(4 / 6)
    with pytest.raises(ValueError, match="fair has 2 numbers for 3 flows"):
        m.fairness(rates, ["web"], fair=[1, 2])
    with pytest.raises(ValueError, match="above 0"):
        m.fairness(rates, ["web"], fair=[1, 2, 0])
    with pytest.raises(ValueError, match="nothing of web is acknowledged"):
        m.fairness(shares(0, 0), ["web"])
    with pytest.raises(ValueError, match="nothing of web is acknowledged"):
        m.share(shares(0, 0), ["web.0"], ["web"])


class Ports:
    """A result with nothing but samples of ports."""

    def __init__(self, rows: list[tuple[str, int, int, int, int]]) -> None:
        columns = dict(
            zip(("node", "port", "time_ps", "queue_bytes", "samples"), zip(*rows, strict=True), strict=True)
        )
        self.port_series = SimpleNamespace(column=lambda name: np.array(columns[name]))
        empty = SimpleNamespace(column=lambda _: np.array([]))
        self.flows = self.ports = empty

    def view(self) -> View:
        result: Any = self
        return View("ports", result)


def test_queues_of_all_ports_weight_their_samples() -> None:
    # One port has samples 0, 0 (four of them) and 10, the other one twice 20.
    rows = [("s0", 0, 10, 0, 1), ("s0", 0, 50, 0, 4), ("s0", 0, 60, 10, 1), ("s0", 1, 10, 20, 1)]
    view = Ports([*rows, ("s0", 1, 20, 20, 1)]).view()
    values = {stat: m.queue(view, "all", stat).value for stat in ("p50", "p75", "p99", "mean", "min", "max")}
    # In order: 0 five times, 10, 20, 20. The fourth, the sixth and the eighth of eight; 50 / 8.
    assert values == {"p50": 0, "p75": 10, "p99": 20, "mean": 6.25, "min": 0, "max": 20}
    # From 30 ps on: 0 three times (30, 40, 50) and 10.
    assert m.queue(view, "all", "mean", "30ps").value == 2.5
    with pytest.raises(ValueError, match="no port is sampled from 70ps to the end"):
        m.queue(view, "all", "mean", "70ps")


def test_queues_of_all_ports_are_those_of_every_sample() -> None:
    draws = np.random.default_rng(7)
    for _ in range(100):
        rows, each = [], []
        for port in range(3):
            counts = draws.integers(1, 6, 8)
            # The first row covers one sample, and others follow in steps of 10 ps.
            counts[0] = 1
            time, queue = np.cumsum(counts) * 10, draws.integers(0, 9, 8) * 100
            rows += [
                ("s0", port, *row) for row in zip(time.tolist(), queue.tolist(), counts.tolist(), strict=True)
            ]
            each.append(every_sample({"time_ps": time, "queue_bytes": queue, "samples": counts}))
        view = Ports(rows).view()
        first, last = sorted(draws.integers(10, 80, 2).tolist())
        cut = [one["queue_bytes"][(one["time_ps"] >= first) & (one["time_ps"] <= last)] for one in each]
        values = np.concatenate(cut).astype(float)
        if not len(values):
            continue
        for stat, rank in (("p50", 50), ("p90", 90), ("p99", 99)):
            assert m.queue(view, "all", stat, f"{first}ps", f"{last}ps").value == stats.percentile(
                values, rank
            )
        mean = m.queue(view, "all", "mean", f"{first}ps", f"{last}ps").value
        assert mean == pytest.approx(np.mean(values), rel=1e-12)
        spread = m.queue(view, "all", "std", f"{first}ps", f"{last}ps").value
        assert spread == pytest.approx(np.std(values), rel=1e-9)


def test_peaks_of_ports(view: View) -> None:
    node, peaks = (view.result.ports.column(name) for name in ("node", "peak_queue_bytes"))
    assert m.peak_queues(view).value == peaks[node == "s0"].max() > 0
    assert m.peak_queues(view, "p50").value == stats.median(peaks[node == "s0"])
    assert m.peak_queues(view, "max", "hosts").value == peaks[node != "s0"].max()
    assert m.peak_queues(view, "max", "h1").value == peaks[node == "h1"].max()
    with pytest.raises(ValueError, match="no port of 'leaf'"):
        m.peak_queues(view, "max", "leaf")


BURST = joined(
    star(4, "100Gbps", "1us", run={"until": "{until}"}, switch={"buffer": "{buffer}"}),
    block("[cc]", algorithm="constant", window="unlimited"),
    traffic("burst", ["h0", "h1"], "h3", size="100KB"),
    traffic("last", "h2", "h3", size="1KB", start="58us"),
    block("[probe]", ports=["s0->h3"], interval="1us", until="60us"),
)


def burst(until: str = "1ms", buffer: str = "unlimited") -> View:
    text = BURST.replace("{until}", until).replace("{buffer}", buffer)
    return View("burst", Scenario.from_toml(text).run(threads=1))


def test_settling_is_the_response() -> None:
    view = burst()
    # 200 packets of 84.32 ns begin to arrive after 1.08 us and leave within 16.9 us. The last sample of more
    # than 10 KB is that at 17 us, when 11 of them are left.
    assert m.settling(view, "s0->h3", "0us", "60us").value == 18e-6
    response = view.result.response("s0->h3", None, 0, 60_000_000)
    assert response.settling_ps is not None
    assert m.settling(view, "s0->h3", "0us", "60us").value == response.settling_ps / 1e12
    # A queue that falls until the last quarter of the span is not steady in it.
    assert m.settling(view, "s0->h3", "0us", "17us").value == math.inf


def test_the_last_flow_over_its_bound() -> None:
    view = burst()
    bound = m.cct_bound(view, "burst").value
    assert m.last_over_bound(view, "burst").value == m.cct(view, "burst").value / bound
    cut = burst("15us")
    found = m.last_over_bound(cut, "burst")
    # Both have started at 0 and are not done at 15 us. With half of their bytes acknowledged their bound is
    # known from above: 62 packets have had one base RTT, where 100 have one too.
    assert found.at_least
    assert 0.8 * 15e-6 / bound < found.value <= 15e-6 / bound
    assert found.shown("x").startswith("≥ ")


def test_cost_in_packets() -> None:
    assert m.cost_in_packets(burst(), ["burst"]).value == 1
    view = burst("50ms", buffer="20KB")
    sent, again = (view.result.flows.column(name)[:2].sum() for name in ("packets", "resent_packets"))
    assert again > 0
    # Of 100 KB twice there are 200 packets, each of which is sent once for the first time.
    assert sent - again == 200
    assert m.cost_in_packets(view, ["burst"]).value == pytest.approx(1 + again / 200)


def test_bounds_of_unfinished_flows_by_hand() -> None:
    # Slowdowns 1, 2, 4, and one unfinished at 3.
    values, bound = np.array([1.0, 2.0, 4.0, 3.0]), np.array([False, False, False, True])
    assert statistic(values, bound, "p50") == (2, False)
    assert statistic(values, bound, "p75") == (3, True)
    assert statistic(values, bound, "p99") == (4, True)
    assert statistic(values, bound, "mean") == (2.5, True)
    assert statistic(values, bound, "max") == (4, True)
    assert statistic(values, bound, "min") == (1, False)
    assert statistic(values, ~bound & False, "p99") == (4, False)
    with pytest.raises(ValueError, match="'std' is not a statistic with unfinished flows"):
        statistic(values, bound, "std")


def test_the_bound_of_a_flow() -> None:
    whole = {"acked_bytes": 1000, "finish_ps": 25e6, "slowdown": 2.5, "group": "done"}
    flows: list[dict[str, Any]] = [
        whole,
        {"start_ps": 5_000_000, "acked_bytes": 300},
        {"start_ps": 2**62, "started": False, "ideal_fct_ps": float("nan")},
        {"start_ps": 0, "finish_ps": 20e6, "acked_bytes": 500},
        {"start_ps": 44_000_000, "acked_bytes": 0},
        {"size_bytes": float("nan"), "acked_bytes": 10**6},
        {"counted": False},
    ]
    result: Any = made(flows, [], 45_000_000).result
    values, bound = bounds(result)
    # Ideal 10 us, as that of 1000 bytes in the first: started at 5 and the end at 45 us are 4; one that has
    # not started 1; one that was stopped at 20 us 2; one that started 1 us ago 1.
    assert values.tolist() == [2.5, 4, 1, 2, 1]
    assert bound.tolist() == [False, True, True, True, True]
    times, _ = bounds(result, of="fct")
    assert times.tolist() == [25e6, 40e6, 0, 20e6, 1e6]
    assert bounds(result, groups=["done"])[0].tolist() == [2.5]
    assert bounds(result, above=1000)[0].tolist() == []


def test_ideal_times_of_whole_flows() -> None:
    def of(*flows: dict[str, Any]) -> list[float]:
        result: Any = made([*flows], [], 45_000_000).result
        return [float(one) for one in ideal_times(result)]

    done = {"size_bytes": 2000.0, "acked_bytes": 2000, "finish_ps": 30e6, "ideal_fct_ps": 12e6}
    # 400 of 1000 bytes in 9 us: all are there after three such flows, or as soon as 2000.
    assert of({"acked_bytes": 400, "ideal_fct_ps": 9e6}) == [9e6 * 2.5]
    assert of({"acked_bytes": 400, "ideal_fct_ps": 9e6}, done) == [12e6, 12e6]
    # 900 bytes in 9.5 us say more.
    near = {"acked_bytes": 900, "ideal_fct_ps": 9.5e6}
    assert of({"acked_bytes": 0, "ideal_fct_ps": 8e6}, done, near)[0] == pytest.approx(9.5e6 / 0.9)
    # A flow on another path says nothing, nor does one without a size or one that has not started.
    [unknown, *_] = of({"acked_bytes": 0, "base_rtt_ps": 7}, done)
    assert math.isnan(unknown)
    assert math.isnan(of({"size_bytes": float("nan")}, done)[0])
    assert math.isnan(of({"started": False, "ideal_fct_ps": float("nan")}, done)[0])


def test_ideal_times_are_those_of_the_whole_flow() -> None:
    ideal = burst().result.flows.column("ideal_fct_ps")
    # Whatever is acknowledged by then: nothing, some packets, or 99 of 100.
    for until in ("5us", "8us", "11us", "15us", "20.9us"):
        found = ideal_times(burst(until).result)
        assert (found[:2] == ideal[:2]).all()
        # It has not started.
        assert math.isnan(found[2])


def test_a_slowdown_with_the_unfinished(view: View) -> None:
    # Three of 1 GB do not finish, and have just begun: all that is known is that they are not below 1.
    assert m.slowdown(view, "p99").samples == 1
    plain, found = m.slowdown(view, "mean"), m.slowdown(view, "mean", censored=True)
    assert not plain.at_least
    assert found.at_least
    assert found.value == pytest.approx((3 + plain.value) / 4)
    short = m.slowdown(view, "p99", group="short", censored=True)
    assert (short.value, short.at_least, short.samples) == (m.slowdown(view, "p99").value, False, 1)
    done: Result = burst().result
    both = [m.slowdown(View("x", done), "p99", censored=one) for one in (False, True)]
    assert both[0] == both[1]
