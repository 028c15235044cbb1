"""A switch's view of congestion, against what must be there, and against an algorithm's estimate."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

import incast
from incast import plot

mpl.use("Agg")

STAR = """
topology = {{ kind = "star", hosts = 11, rate = "100Gbps", delay = "3us" }}
switch = {{ buffer = "unlimited" }}
cc = {cc}
probe = {{ ports = ["to h10"], interval = "{interval}", flows = ["all"], internals = true }}
run = {{ until = "200us" }}
{traffic}
"""
INCAST = """
[[traffic]]
kind = "incast"
fan_in = {senders}
to = "h10"
size = "100MB"
"""


def run(cc: str, traffic: str, interval: str = "100ns") -> incast.Result:
    return incast.Scenario.from_toml(STAR.format(cc=cc, traffic=traffic, interval=interval)).run()


def mean_arrival(seen: incast.Congestion, from_ps: int) -> float:
    """The mean over time; each row tells the rate since the one before."""
    late = seen.time_ps[1:] > from_ps
    return float(np.average(seen.arrival_bps[1:][late], weights=np.diff(seen.time_ps)[late]))


def test_senders_at_a_fixed_rate_arrive_at_it() -> None:
    # Two senders at 30 Gbit/s each: the port carries 60, and holds what it sends in 12.17 us.
    result = run('{ algorithm = "constant", rate = "30Gbps" }', INCAST.format(senders=2))
    seen = incast.congestion_at(result, "to h10", "12us")
    late = seen.time_ps > 30_000_000
    assert mean_arrival(seen, 30_000_000) == pytest.approx(60e9, rel=1e-3)
    # 60 Gbit/s times 12 us are 90 KB, to two packets and the queue of at most one.
    assert np.all(np.abs(seen.inflight_bytes[late] - 90_000) <= 3 * 1054)


def test_windows_are_in_flight() -> None:
    # Ten senders with windows of 100 KB.
    result = run('{ algorithm = "constant", window = "100KB" }', INCAST.format(senders=10))
    base = result.flows.column("base_rtt_ps")[0]
    seen = incast.congestion_at(result, "to h10", incast.units.Time(int(base)))
    late = seen.time_ps > 50_000_000
    # Once the queue is steady, what left in the last base RTT and what waits are all windows together.
    assert np.all(np.abs(seen.inflight_bytes[late] - 1_000_000) <= 3 * 1054)
    assert mean_arrival(seen, 50_000_000) == pytest.approx(100e9, rel=1e-3)


def test_an_idle_link_cannot_be_told_from_a_full_one() -> None:
    # DAC 1 of CCC (Section 2.2): at a tenth of the rate RTT and its gradient say that the link is just full.
    traffic = '[[traffic]]\nkind = "flows"\nfrom = "h0"\nto = "h10"\nsize = "100MB"\n'
    cc = '{ algorithm = "theta-powertcp", window_cap = 0.1 }'
    with pytest.warns(incast.IncastWarning, match="uses 10 % of the link"):
        result = run(cc, traffic)
    seen = incast.congestion_at(result, "to h10", "12us")
    internals = result.internals_of(0)
    deduced = internals["deduced_inflight_bytes"]
    late = deduced.time_ps > 50_000_000
    bdp = 100e9 / 8 * result.flows.column("base_rtt_ps")[0] / 1e12
    assert np.all(np.abs(deduced.value[late] - bdp) < 0.01 * bdp)
    assert np.all(np.abs(internals["deduced_arrival"].value[late] - 1) < 0.1)
    assert mean_arrival(seen, 50_000_000) == pytest.approx(10e9, rel=0.05)
    figure, (top, low) = plot.deduced(result, "to h10", 0, "12us")
    assert [line.get_label() for line in top.lines] == ["seen by the switch", "deduced by flow 0"]
    x, y = low.lines[0].get_data()
    assert np.array_equal(np.asarray(x), (seen.time_ps + 12_000_000) / 1e6)
    assert np.array_equal(np.asarray(y), seen.arrival_bps / 1e9)
    assert figure is top.figure


def test_what_has_no_samples_is_told() -> None:
    result = run('{ algorithm = "swift" }', INCAST.format(senders=2))
    with pytest.raises(KeyError, match="no samples of port"):
        incast.congestion_at(result, "to h1", "12us")
    with pytest.raises(ValueError, match="above zero"):
        incast.congestion_at(result, "to h10", "0us")
    with pytest.raises(KeyError, match="deduced_inflight_bytes"):
        plot.deduced(result, "to h10", 0, "12us")


def test_samples_that_begin_late_tell_nothing_of_what_was_sent_before() -> None:
    text = STAR.format(
        cc='{ algorithm = "constant", window = "100KB" }', interval="1us", traffic=INCAST.format(senders=4)
    )
    whole = incast.congestion_at(incast.Scenario.from_toml(text).run(), "to h10", "12us")
    part = incast.congestion_at(
        incast.Scenario.from_toml(text, overrides=["probe.from=60us"]).run(), "to h10", "12us"
    )
    assert part.time_ps[0] == 72_000_000
    same = np.isin(whole.time_ps, part.time_ps)
    assert np.array_equal(whole.inflight_bytes[same], part.inflight_bytes)
