"""Loads over time: the table, the series, the picture."""

from __future__ import annotations

import warnings

import matplotlib as mpl
import numpy as np
import pytest

from blocks import block, joined, star, traffic
from incast import IncastWarning, Result, Scenario, ScenarioError, plot

mpl.use("Agg")

INTERVAL = 20_000_000
"""Time between two rows. (ps)"""


PROBE = block("[probe]", load_interval="20us")


def scenario(*probe: str, tail: str = "false", until: str = "1ms") -> str:
    """A block that asks for more than a link carries, with its headers, in a window of 100 us."""
    return joined(
        block("[topology]", kind="star", hosts=3, rate="100Gbps", delay="1us"),
        block("[cc]", algorithm="constant", window="30KB"),
        block("[[traffic]]", name="web", kind="poisson", sizes="20KB", load=0.98, duration="100us")
        + f'load_of = "receivers"\nfrom = ["h0", "h1"]\nto = "h2"\ntail = {tail}\n',
        "\n".join(["[probe]", *probe]) + "\n",
        block("[run]", until=until),
    )


def run(text: str) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IncastWarning)
        return Scenario.from_toml(text).run()


def test_each_row_is_the_sum_of_what_flows_say() -> None:
    result = run(
        scenario('load_interval = "20us"', 'flows = ["all"]', 'flow_interval = "20us"', 'from = "20us"')
    )
    series, flows = result.load_series, result.flows
    time, started, acked = (series.column(name) for name in ("time_ps", "started_bytes", "acked_bytes"))
    assert set(series.column("group").tolist()) == {"web"}
    assert time[:-1].tolist() == [INTERVAL * n for n in range(1, 6)]
    assert time[-1] == result.info["outcome"]["now_ps"]
    samples = [result.flow(number).filled() for number in result.probed_flows()]
    open_bytes = []
    for row, at in enumerate(time[:-1]):
        assert started[row] == flows.column("size_bytes")[flows.column("start_ps") <= at].sum()
        done = flows.column("finish_ps") <= at
        partly = sum(int(one.acked_bytes[one.time_ps == at].sum()) for one in samples)
        assert acked[row] == flows.column("size_bytes")[done].sum() + partly
        open_bytes.append(partly)
    assert min(open_bytes) > 0
    # All flows are done at the end.
    assert started[-1] == acked[-1] == flows.column("size_bytes").sum()


def test_rates_are_differences_and_what_is_not_carried_is_the_backlog() -> None:
    result = run(scenario('load_interval = "20us"'))
    load = result.load_over_time("web")
    series = result.load_series
    started, acked = series.column("started_bytes"), series.column("acked_bytes")
    # Bytes in 20 us, in bit/s.
    assert load.offered_bps[1] == pytest.approx((started[1] - started[0]) * 8 / 20e-6)
    assert load.carried_bps[0] == pytest.approx(acked[0] * 8 / 20e-6)
    seconds = np.diff(load.time_ps, prepend=0) * 1e-12
    backlog = np.cumsum((load.offered_bps - load.carried_bps) * seconds / 8)
    assert backlog == pytest.approx(load.backlog_bytes, abs=1e-6)
    assert load.backlog_bytes[-1] == 0
    (of_window,) = result.loads
    assert of_window.until_ps == load.time_ps[4]
    assert of_window.backlog_end_bytes == load.backlog_bytes[4] > 0
    # It is measured beside the run.
    assert run(scenario()).fingerprint == result.fingerprint


def test_a_run_that_is_cut_short_has_a_row_at_its_end() -> None:
    result = run(scenario('load_interval = "20us"', tail="true", until="70us"))
    load = result.load_over_time("web")
    assert load.time_ps.tolist() == [20_000_000, 40_000_000, 60_000_000, 70_000_000]
    flows = result.flows
    assert flows.column("started").all()
    open_bytes = flows.column("size_bytes").sum() - flows.column("acked_bytes").sum()
    assert load.backlog_bytes[-1] == open_bytes > 0


def test_mistakes_are_explained() -> None:
    with pytest.raises(ScenarioError, match="no traffic block has a load"):
        Scenario.from_toml(star(2, "1Gbps", "1us") + traffic("f", "h0", "h1", size="1KB") + PROBE)
    # 100 us in steps of 90 ns are 1,111; in steps of 100 ns 1,000.
    with pytest.raises(ScenarioError) as error:
        run(scenario('load_interval = "90ns"'))
    says = (
        "90ns to the end of the arrivals of web (100us) are 1111 instants; at most 1000: write 100ns or more"
    )
    assert says in str(error.value)
    result = run(scenario('load_interval = "100ns"'))
    assert len(result.load_series) == 1001
    with pytest.raises(KeyError, match="no load over time of 'x'; there are those of web"):
        result.load_over_time("x")
    bare = run(scenario())
    with pytest.raises(KeyError, match=r"probe\.load_interval"):
        bare.load_over_time("web")
    with pytest.raises(ValueError, match="there is no load over time"):
        plot.loads(bare)


def test_the_picture_has_both_rates_the_backlog_and_the_window() -> None:
    result = run(scenario('load_interval = "20us"'))
    load = result.load_over_time("web")
    _, (top, low) = plot.loads(result)
    legend = top.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["offered", "carried"]
    rates = [patch.get_data() for patch in top.patches if hasattr(patch, "get_data")]
    for (values, edges, _), rate in zip(rates, (load.offered_bps, load.carried_bps), strict=True):
        assert values == pytest.approx(rate / 1e9)
        assert edges == pytest.approx([0, *(load.time_ps / 1e6)])
    (line,) = low.lines
    assert np.asarray(line.get_ydata()) == pytest.approx([0, *(load.backlog_bytes / 1e3)])
    shaded = [patch.get_extents() for patch in low.patches]
    (left, _), (right, _) = low.transData.inverted().transform(
        [(shaded[0].x0, shaded[0].y0), (shaded[0].x1, shaded[0].y1)]
    )
    assert (left, right) == pytest.approx((0, 100))
