"""Pictures: what their axes say, and that what they show is what the tables hold."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

import incast
from blocks import block, joined, star
from helpers import SMALL
from incast import plot, stats
from incast.plot import over_time, style
from incast.results.result import every_sample
from sights import SIGHTS, linear

mpl.use("Agg")
import matplotlib.pyplot as plt

Array = npt.NDArray[np.float64]

PORT = ("s0", 3)


@pytest.fixture(scope="module")
def results() -> dict[str, incast.Result]:
    scenario = incast.Scenario.from_toml(SMALL).with_({"probe.flows": ["all"]})
    return incast.compare(scenario, ["oscar", "hpcc", "oscar:artifact"])


def shown(axes: Axes) -> list[tuple[Any, Any]]:
    return [(np.asarray(line.get_xdata()), np.asarray(line.get_ydata())) for line in axes.lines]


def names(axes: Axes) -> list[str]:
    legend = axes.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def test_queue(results: dict[str, incast.Result]) -> None:
    axes = plot.queue(results)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time (µs)", "queue (KB)")
    assert names(axes) == ["OSCAR", "HPCC", "OSCAR (artifact)"]
    for (x, y), result in zip(shown(axes), results.values(), strict=True):
        assert np.array_equal(x, result.port_series.column("time_ps") / 1e6)
        assert np.array_equal(y, result.port_series.column("queue_bytes") / 1e3)
    with pytest.raises(KeyError, match="no samples of port 0"):
        plot.queue(results, ("s0", 0))
    bare = incast.Scenario.from_toml(SMALL, overrides=["probe={}"]).run()
    with pytest.raises(KeyError, match=r"no port has samples.*\[probe\]"):
        plot.queue(bare)


def test_throughput(results: dict[str, incast.Result]) -> None:
    axes = plot.throughput(results, PORT)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time (µs)", "throughput (Gbit/s)")
    for patch, result in zip(axes.patches, results.values(), strict=True):
        rate, edges, _ = patch.get_data()  # type: ignore[attr-defined]
        table = {name: result.port_series.column(name) for name in result.port_series.columns}
        each = every_sample({name: table[name] for name in ("time_ps", "transmitted_bytes", "samples")})
        sent, time = each["transmitted_bytes"], each["time_ps"]
        ends = np.searchsorted(time, np.round(edges * 1e6))
        assert np.array_equal(time[ends], np.round(edges * 1e6))
        assert (rate * np.diff(edges)).sum() * 125 == pytest.approx(sent[ends[-1]] - sent[ends[0]])
    series = results["oscar"].port(*PORT)
    edges, rate = over_time.throughput_steps(series, 1)
    assert np.array_equal(edges, series.filled().time_ps)
    assert rate == pytest.approx(series.filled().utilisation[1:] * 100)


@pytest.mark.parametrize(
    ("draw", "column", "unit", "label"),
    [
        (plot.window, "window_bytes", 1e3, "window (KB)"),
        (plot.rate, "rate_bps", 1e9, "rate (Gbit/s)"),
    ],
)
def test_windows_and_rates(
    results: dict[str, incast.Result], draw: Callable[..., Axes], column: str, unit: float, label: str
) -> None:
    axes = draw(results)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time (µs)", label)
    assert names(axes) == ["OSCAR", "HPCC", "OSCAR (artifact)"]
    drawn = iter(shown(axes))
    for result in results.values():
        series = result.flow_series
        for flow in (0, 1, 2):
            mine = series.column("flow") == flow
            x, y = next(drawn)
            assert np.array_equal(x, series.column("time_ps")[mine] / 1e6)
            assert np.array_equal(y, series.column(column)[mine] / unit, equal_nan=True)
    one = draw(results["oscar"])
    assert names(one) == ["long, flow 0", "burst, flow 1", "burst, flow 2"]


def test_goodput(results: dict[str, incast.Result]) -> None:
    axes = plot.goodput(results["oscar"], every=10)
    assert axes.get_ylabel() == "goodput (Gbit/s)"
    series = results["oscar"].flow(0).filled()
    y = shown(axes)[0][1]
    assert np.isnan(y[:10]).all()
    gone, took = series.acked_bytes[50] - series.acked_bytes[40], series.time_ps[50] - series.time_ps[40]
    assert y[50] == pytest.approx(gone * 8e3 / took)


def test_fairness(results: dict[str, incast.Result]) -> None:
    axes = plot.fairness(results, every=10)
    assert (axes.get_xlabel(), axes.get_ylabel()) == (
        "time (µs)",
        "Jain's fairness index\nof goodputs over 10 µs",
    )
    x, y = shown(axes)[0]
    assert ((y > 0) & (y <= 1 + 1e-12)).all()
    at = 80_000_000  # all three flows are there
    shares = []
    for flow in (0, 1, 2):
        series = results["oscar"].flow(flow).filled()
        (i,) = np.nonzero(series.time_ps == at)[0]
        shares.append(series.acked_bytes[i] - series.acked_bytes[i - 10])
    assert y[np.searchsorted(x, at / 1e6)] == pytest.approx(stats.jain(shares))
    bare = incast.Scenario.from_toml(SMALL).run()
    with pytest.raises(KeyError, match=r"no flow has samples.*\[probe\]"):
        plot.fairness(bare)


def test_phase_plane(results: dict[str, incast.Result]) -> None:
    axes = plot.phase_plane(results["oscar"], PORT)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("queue (KB)", "growth of the queue (Gbit/s)")
    x, y = shown(axes)[0]
    port = results["oscar"].port(*PORT).filled()
    queue = port.queue_bytes
    assert np.array_equal(x, queue / 1e3)
    # Central differences over 2 us, in bytes per us = 8e-3 Gbit/s.
    assert y[1:-1] == pytest.approx((queue[2:] - queue[:-2]) / 2 * 8e-3)
    axes = plot.phase_plane(results["oscar"], PORT, against="window")
    assert axes.get_ylabel() == "windows (KB)"
    at = 80_000_000
    flows = [results["oscar"].flow(flow).filled() for flow in (0, 1, 2)]
    total = sum(flow.window_bytes[flow.time_ps == at].sum() for flow in flows) / 1e3
    x, y = shown(axes)[0]
    first = np.nonzero(port.time_ps == at)[0][0] - (len(queue) - len(x))
    assert y[first] == pytest.approx(total)
    with pytest.raises(ValueError, match='"growth" or "window"'):
        plot.phase_plane(results, against="rate")


CACHE = joined(
    star(4, "100Gbps", "1us"),
    block("[cc]", algorithm="oscar"),
    block("[[traffic]]", name="cache", kind="poisson", sizes="CacheFollower", load=0.4, flows=60),
)


def test_slowdown_by_size(results: dict[str, incast.Result]) -> None:
    axes = plot.slowdown_by_size(results, rank=50, edges=[0, 1_000_000])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("flow size (bytes)", "median FCT slowdown")
    for (x, y), result in zip(shown(axes), results.values(), strict=True):
        times = result.flow_times()
        assert x.tolist() == [200_000, 2_000_000]
        small = np.sort(times.slowdown[times.size_bytes == 200_000])
        assert y.tolist() == [small[0], times.slowdown[times.size_bytes == 2_000_000][0]]
    assert plot.slowdown_by_size(results).get_ylabel() == "p99 FCT slowdown"
    cut = incast.Scenario.from_toml(SMALL, overrides=["run.until=60us"]).run()
    with pytest.raises(ValueError, match="no flow transferred all"):
        plot.slowdown_by_size(cut)


def test_slowdowns_of_several_seeds_have_a_band() -> None:
    scenario = incast.Scenario.from_toml(CACHE)
    with pytest.warns(incast.IncastWarning, match="the load of cache is not steady"):
        seeds = incast.replicate(scenario, seeds=3, keep=True)
    axes = plot.slowdown_by_size({"oscar": seeds.results}, rank=50, edges=[0, 20_000])
    [(x, y)] = shown(axes)
    times = {seed: result.flow_times() for seed, result in seeds.results.items()}
    small, large = incast.pooled_by_size(times, [0, 20_000], [50])
    assert y.tolist() == [small.percentiles[50].value, large.percentiles[50].value]
    assert x[0] <= 20_000 < x[1]
    [band] = axes.collections
    corners = np.array(band.get_paths()[0].vertices)
    for place, one in zip(x, (small, large), strict=True):
        ends = corners[corners[:, 0] == place][:, 1]
        assert (ends.min(), ends.max()) == (one.percentiles[50].low, one.percentiles[50].high)
    # One seed, or one that is run again, has no interval.
    first = next(iter(seeds.results.values()))
    for alone in (first, {1: first}, {1: first, 2: first}):
        assert not plot.slowdown_by_size({"oscar": alone}, rank=50, edges=[0]).collections


def test_fct_cdf(results: dict[str, incast.Result]) -> None:
    axes = plot.fct_cdf(results)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("flow completion time (µs)", "flows (%)")
    x, y = shown(axes)[0]
    assert np.array_equal(x, np.sort(results["oscar"].flow_times().fct_ps) / 1e6)
    assert y == pytest.approx([100 / 3, 200 / 3, 100])


def test_they_draw_where_they_are_told_and_leave_the_rest_alone(results: dict[str, incast.Result]) -> None:
    before = dict(mpl.rcParams)
    figure, (left, right) = plt.subplots(1, 2)
    assert plot.queue(results, axes=left) is left
    assert plot.fct_cdf(results, axes=right) is right
    assert left.figure is figure
    assert dict(mpl.rcParams) == before


# A backend like that of notebooks: it turns the interactive mode on when it is first loaded.
BACKEND = """
import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvas

matplotlib.interactive(True)
"""

DRAWN = """
import matplotlib as mpl

import incast
from helpers import SMALL
from incast import plot

result = incast.Scenario.from_toml(SMALL).with_({"probe.flows": ["all"]}).run()
mpl.rcParams["font.size"] = 9.0
before = dict(mpl.rcParams)
plot.queue(result)
plot.fairness(result)
after = dict(mpl.rcParams)
print({key: after[key] for key in sorted(after) if after[key] != before[key]})
"""


def test_what_a_backend_sets_when_it_is_loaded_by_a_picture_stays(tmp_path: Path) -> None:
    (tmp_path / "made_backend.py").write_text(BACKEND)
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    environment = {**os.environ, "MPLBACKEND": "module://made_backend", "PYTHONPATH": paths}
    command = [sys.executable, "-c", DRAWN]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "{'interactive': True}"


def test_the_look_restores_its_own_keys_only() -> None:
    # A user's font and a title size set within: the first comes back, the second stays.
    with mpl.rc_context({"font.size": 9.0, "axes.titlesize": 11.0, "lines.markersize": 5.0}):
        with style.look():
            assert mpl.rcParams["font.size"] == 7.0
            mpl.rcParams["axes.titlesize"] = 12.0
            mpl.rcParams["lines.markersize"] = 6.0
        now = [mpl.rcParams[key] for key in ("font.size", "axes.titlesize", "lines.markersize")]
        assert now == [9.0, 12.0, 6.0]
        with pytest.raises(ZeroDivisionError), style.look():
            _ = 1 / 0
        assert mpl.rcParams["font.size"] == 9.0


def test_the_look_has_no_key_of_a_backend() -> None:
    own = {key.partition(".")[0] for key in style._RC}
    assert not own & {"backend", "backend_fallback", "interactive", "macosx", "tk", "toolbar", "webagg"}


def test_a_picture_is_as_wide_as_a_column(results: dict[str, incast.Result]) -> None:
    for draw in (plot.queue, plot.fairness, plot.phase_plane, plot.fct_cdf, plot.window):
        axes: Axes = draw(results)
        assert axes.figure.get_figwidth() == style.COLUMN  # type: ignore[union-attr]


def test_one_colour_for_an_algorithm_everywhere(results: dict[str, incast.Result]) -> None:
    queue, cdf = plot.queue(results), plot.fct_cdf(results)
    throughput = plot.throughput(results)
    colours = [[line.get_color() for line in axes.lines] for axes in (queue, cdf)]
    assert colours[0] == colours[1] == [style.colour(label) for label in results]
    assert [patch.get_edgecolor()[:3] for patch in throughput.patches] == [to_rgb(c) for c in colours[0]]
    assert colours[0][0] == colours[0][2]
    assert queue.lines[0].get_linestyle() != queue.lines[2].get_linestyle()


def lab(rgb: Array) -> Array:
    """CIE L*a*b* of linear RGB (sRGB primaries, D65)."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


STYLED = [
    *(algorithm.name for algorithm in incast.algorithms()),
    *(control.name for control in incast.own_controls()),
]
"""Labels with a style of their own."""


def seen(name: str, sight: str) -> Array:
    return lab(linear(style.colour(name), sight))


@pytest.mark.parametrize("sight", SIGHTS)
def test_colours_are_told_apart_by_everybody(sight: str) -> None:
    # A difference of 2.3 is just noticed side by side; thin lines want several times that.
    for one, other in itertools.combinations(STYLED, 2):
        if style.dashes(one, [one]) == style.dashes(other, [other]):
            assert np.linalg.norm(seen(one, sight) - seen(other, sight)) > 10, (sight, one, other)


def test_no_two_algorithms_share_a_colour() -> None:
    # Also where dashes differ: bars and dots have none.
    sight = next(iter(SIGHTS))
    assert sight == "as it is"
    for one, other in itertools.combinations(STYLED, 2):
        assert np.linalg.norm(seen(one, sight) - seen(other, sight)) > 10, (one, other)


def test_every_algorithm_has_a_style_that_is_told_apart_without_colour() -> None:
    assert {"oscar", "oracle", "ndp", "bfc"} <= set(STYLED)
    spare = {style.colour("something-else")}
    assert [name for name in STYLED if style.colour(name) in spare] == []
    plain = {(str(style.dashes(name, [name])), style.marker(name)) for name in STYLED}
    assert len(plain) == len(STYLED) > 20


def test_pictures_of_many_lines_have_markers(results: dict[str, incast.Result]) -> None:
    few = plot.queue(results)
    assert {line.get_marker() for line in few.lines} == {"None"}
    names = ["oscar", "hpcc", "swift", "timely", "powertcp", "mswift", "something-else"]
    many = plot.queue(dict.fromkeys(names, results["oscar"]))
    assert [line.get_marker() for line in many.lines] == [style.marker(name, names) for name in names]
    assert len({(line.get_marker(), line.get_linestyle()) for line in many.lines}) == 7
    for draw in (plot.fct_cdf, plot.fairness, plot.phase_plane, plot.window, plot.slowdown_by_size):
        axes: Axes = draw(dict.fromkeys(names, results["oscar"]))
        axes.figure.canvas.draw()
        assert any(line.get_marker() == "v" for line in axes.lines)
    figure, (_, _, distribution) = plot.slowdown(dict.fromkeys(STYLED, results["oscar"]))
    figure.canvas.draw()
    # The legend lies beside the curves, and on the page.
    legend = distribution.get_legend()
    assert legend is not None
    box = legend.get_window_extent()
    assert box.x0 >= distribution.bbox.x1
    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
    assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
    plot.throughput(dict.fromkeys(names, results["oscar"])).figure.canvas.draw()


def test_the_pictures_of_compare_take_results(results: dict[str, incast.Result]) -> None:
    figure, axes = plot.queue_and_utilisation(results)
    assert len(axes) == 2 * len(results)
    for top, result in zip(axes[::2], results.values(), strict=True):
        assert np.array_equal(shown(top)[0][1], result.port(*PORT).queue_bytes / 1e3)
    one, (top, low) = plot.queue_and_utilisation(results["oscar"], "s0->h3")
    assert (top.get_title(), low.get_xlabel()) == ("oscar:fair", "time (µs)")
    drawn, (small, large, whole) = plot.slowdown(results)
    assert whole.get_xlabel() == "FCT slowdown"
    assert len(whole.lines) == len(results)
    assert plot.slowdown(results["oscar"])[1][2].get_ylabel() == "flows (%)"
    assert {figure, one, drawn} <= {plt.figure(n) for n in plt.get_fignums()}
    del small, large


def test_ports_and_flows_go_by_name(results: dict[str, incast.Result]) -> None:
    of = results["oscar"]
    for name in ("s0:3", "s0->h3", "to h3"):
        assert of.find_port(name) == PORT
        assert np.array_equal(of.port(name).queue_bytes, of.port(*PORT).queue_bytes)
        assert of.peak_queue_bytes(name) == of.peak_queue_bytes(*PORT)
        assert np.array_equal(shown(plot.queue(results, port=name))[0][1], of.port(*PORT).queue_bytes / 1e3)
        plot.throughput(results, name)
        plot.phase_plane(results, name)
    assert (of.find_flows("long"), of.find_flows("burst"), of.find_flows("burst.1")) == ([0], [1, 2], [2])
    assert of.flow("burst.1").flow == 2
    for draw in (plot.window, plot.rate, plot.goodput):
        assert len(draw(of, "burst").lines) == 2
        assert len(draw(of, ["long", "burst.0"]).lines) == 2
        assert len(draw(of, [0]).lines) == 1
    with pytest.raises(KeyError, match="no port is called 's0->h9'; write one like s0:15 or s0->h15"):
        of.port("s0->h9")
    with pytest.raises(KeyError, match="no flow is called 'bursts'; traffic blocks with flows: "):
        plot.window(of, "bursts")
    with pytest.raises(KeyError, match=r"'burst' means 2 flows; write burst\.0 for the first"):
        of.flow("burst")


def test_internals() -> None:
    scenario = incast.Scenario.from_toml(SMALL).with_({"probe.flows": ["all"]})
    bare = scenario.with_algorithm("hpcc").run()
    assert bare.internals_of("long") == {}
    with pytest.raises(KeyError, match=r"no flow has samples of internal quantities; .* internals = true"):
        plot.internals(bare)
    result = scenario.with_({"probe.internals": True}).with_algorithm("hpcc").run()
    # U, W_c and the stage, whenever a flow is sampled; nothing else changes.
    assert result.internals.column("samples").sum() == 3 * result.flow_series.column("samples").sum()
    assert np.array_equal(
        result.flow_series.column("rtt_ps"), bare.flow_series.column("rtt_ps"), equal_nan=True
    )
    figure, axes = plot.internals(result)
    assert [panel.get_ylabel() for panel in axes] == ["u", "reference_window (KB)", "stage"]
    assert axes[-1].get_xlabel() == "time (µs)"
    assert len(figure.axes) == 3
    assert len(names(axes[0])) == 3
    kept = result.internals_of("burst.0")
    assert list(kept) == ["u", "reference_window_bytes", "stage"]
    flow = result.flow("burst.0").filled()
    assert all(np.array_equal(one.filled().time_ps, flow.time_ps) for one in kept.values())
    _, axes = plot.internals(result, "burst.0")
    for panel, (name, one) in zip(axes, kept.items(), strict=True):
        ((x, y),) = shown(panel)
        assert np.array_equal(x, one.time_ps / 1e6)
        assert np.array_equal(y, one.value / (1e3 if name.endswith("_bytes") else 1.0))
    with pytest.raises(KeyError, match="no flow is called"):
        plot.internals(result, "bursts")


def test_a_transport_without_a_window_is_drawn_beside_one_that_has_it(tmp_path: Path) -> None:
    """NDP has neither window nor rate, so its line has no points; matplotlib cannot mark these."""
    scenario = incast.Scenario.from_toml(SMALL, overrides=["probe.flows=['long']"])
    results = {name: scenario.with_contestant(name).run_quietly() for name in ("ndp", "dctcp")}
    for draw in (plot.window, plot.rate):
        axes = draw(results)
        axes.figure.canvas.print_figure(tmp_path / "picture.pdf")
        assert len(axes.lines) == 2
