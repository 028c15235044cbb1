"""Pictures of workloads with dependencies: they show what the tables hold, and say what is missing."""

from __future__ import annotations

import itertools
from typing import cast

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pytest
from matplotlib.axes import Axes

import incast
from helpers import SMALL
from incast import plot
from incast.plot import style
from incast.plot.operations import COLOURS
from sights import SIGHTS, linear

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.collections import PolyCollection

RINGS = """\
[topology]
kind = "star"
hosts = {hosts}
rate = "100Gbps"
delay = "1us"

[cc]
algorithm = "hpcc"

[[traffic]]
name = "ring"
kind = "ring-allreduce"
groups = "consecutive"
group_size = 4
size = "200KB"
compute = "10us"
passes = 3
"""
"""Rings of four hosts on a switch: three passes with computations between them."""

Bar = tuple[float, float, int]


def rings(hosts: int = 8, **changes: object) -> incast.Result:
    keys = {key.replace("__", "."): value for key, value in changes.items()}
    return incast.Scenario.from_toml(RINGS.format(hosts=hosts)).with_(keys).run()


@pytest.fixture(scope="module")
def result() -> incast.Result:
    return rings()


def collections(axes: Axes) -> dict[str, PolyCollection]:
    return {str(made.get_label()): cast(PolyCollection, made) for made in axes.collections}


def bars(axes: Axes, label: str) -> list[Bar]:
    """Start and end of the bars with a label, in microseconds, and their rows."""
    corners = [cast(npt.NDArray[np.float64], path.vertices) for path in collections(axes)[label].get_paths()]
    found = [
        (c[:, 0].min(), c[:, 0].max(), round(float((c[:, 1].min() + c[:, 1].max()) / 2))) for c in corners
    ]
    return sorted(found)


def rows(result: incast.Result, kind: str, names: list[str], job: str | None = None) -> list[Bar]:
    """Computes the rows from the tables, operation by operation."""
    of = {name: result.operations.column(name) for name in result.operations.columns}
    flows = dict(zip(result.flows.column("flow"), result.flows.column("start_ps"), strict=True))
    found = []
    for i, host in enumerate(of["host"]):
        if of["kind"][i] != kind or host not in names or (job is not None and of["job"][i] != job):
            continue
        start = max(of["start_ps"][i], flows[of["flow"][i]]) if kind == "receive" else of["start_ps"][i]
        found.append((start / 1e6, of["end_ps"][i] / 1e6, names.index(host)))
    return sorted(found)


def test_the_bars_are_the_operations(result: incast.Result) -> None:
    axes = plot.operations(result)
    hosts = [f"h{i}" for i in range(8)]
    assert [label.get_text() for label in axes.get_yticklabels()] == hosts
    assert axes.get_xlabel() == "time (µs)"
    assert list(collections(axes)) == ["send", "receive", "compute"]
    # Eight hosts: three sends and receives each, and a computation between each two passes.
    for kind, number in (("send", 24), ("receive", 24), ("compute", 16)):
        found = bars(axes, kind)
        assert len(found) == number
        assert np.allclose(found, rows(result, kind, hosts), rtol=1e-12, atol=1e-9)
    assert {round(end - start, 6) for start, end, _ in bars(axes, "compute")} == {10.0}
    # The first row is at the top, and nothing is cut off.
    bottom, top = axes.get_ylim()
    assert (bottom, top) == (7.5, -0.5)
    assert axes.get_xlim()[1] >= result.operations.column("end_ps").max() / 1e6
    assert axes.figure.get_figwidth() == style.PAGE  # type: ignore[union-attr]


def test_lanes_of_a_host_do_not_overlap(result: incast.Result) -> None:
    axes = plot.operations(result, hosts=["h3"])
    heights = []
    for kind in COLOURS:
        corners = np.concatenate([np.asarray(path.vertices) for path in collections(axes)[kind].get_paths()])
        heights.append((corners[:, 1].min(), corners[:, 1].max()))
    for (_, high), (low, _) in itertools.pairwise(heights):
        assert high <= low + 1e-12
    assert heights[0][0] > -0.5
    assert heights[-1][1] < 0.5


def test_a_job_and_hosts_are_chosen(result: incast.Result) -> None:
    job = result.jobs.column("job")[1]
    axes = plot.operations(result, job)
    hosts = ["h4", "h5", "h6", "h7"]
    assert [label.get_text() for label in axes.get_yticklabels()] == hosts
    assert np.allclose(bars(axes, "send"), rows(result, "send", hosts, job))
    order = ["h6", "h1"]
    axes = plot.operations(result, hosts=order)
    assert [label.get_text() for label in axes.get_yticklabels()] == order
    assert np.allclose(bars(axes, "receive"), rows(result, "receive", order))
    _, mine = plt.subplots()
    assert plot.operations(result, axes=mine) is mine


def test_what_has_not_ended_is_hatched_and_what_has_not_started_is_left_out() -> None:
    # A pass is 300 KB, which take at least 24 us at 100 Gbps: at 20 us the first one is still going on. Its
    # flows have started, so that four sends and four receives wait for their end in each of two rings.
    cut = rings(run__until="20us")
    axes = plot.operations(cut)
    assert list(collections(axes)) == ["send, not ended", "receive, not ended"]
    assert all(made.get_hatch() for made in collections(axes).values())
    for kind in ("send", "receive"):
        assert [bar[:2] for bar in bars(axes, f"{kind}, not ended")] == [(0, 20.0)] * 8
    # A workload that starts later than the run ends.
    with pytest.raises(KeyError, match="none of these operations has started"):
        plot.operations(rings(run__until="20us", traffic__ring__start="30us"))


def test_what_is_missing_is_told(result: incast.Result) -> None:
    bare = incast.Scenario.from_toml(SMALL).run()
    with pytest.raises(KeyError, match=r"no operations; .* \"ring-allreduce\""):
        plot.operations(bare)
    with pytest.raises(KeyError, match=r"oscar.* has no jobs; .* \"ring-allreduce\""):
        plot.jobs(bare)
    first, second = result.jobs.column("job")
    with pytest.raises(KeyError, match=rf"no job is called 'rings'; jobs: {first}, {second}"):
        plot.operations(result, "rings")
    with pytest.raises(KeyError, match=r"host 'h4' has no operations here; .*: h0, h1, h2, h3"):
        plot.operations(result, first, hosts=["h4"])
    with pytest.raises(ValueError, match="no result to draw"):
        plot.jobs({})


def test_too_many_hosts_are_refused_with_what_to_do() -> None:
    many = rings(44)
    first = many.jobs.column("job")[0]
    with pytest.raises(
        ValueError, match=rf"44 hosts .* 40 at most: choose a job, like '{first}' .* 5 more\), or some of"
    ):
        plot.operations(many)
    assert len(plot.operations(many, first).get_yticks()) == 4
    assert len(plot.operations(many, hosts=[f"h{i}" for i in range(40)]).get_yticks()) == 40
    one = rings(44, traffic__ring__group_size=44)
    with pytest.raises(ValueError, match=r"44 hosts .* at most: choose some of them"):
        plot.operations(one, one.jobs.column("job")[0])


def steps(axes: Axes) -> list[tuple[list[float], list[float]]]:
    return [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines]  # type: ignore[arg-type]


def test_job_completion_times(result: incast.Result) -> None:
    swift = rings(cc={"algorithm": "swift"})
    known = {"hpcc": result, "swift": swift}
    axes = plot.jobs(known)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("job completion time (µs)", "jobs (%)")
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["HPCC", "Swift"]
    for (x, y), line, (label, one) in zip(steps(axes), axes.lines, known.items(), strict=True):
        times = sorted(one.jobs.column("jct_ps") / 1e6)
        # Two jobs: from 0 to 50 % at the first, to 100 % at the second.
        assert x == [times[0], *times]
        assert y == [0, 50, 100]
        assert line.get_color() == style.colour(label)
    assert plot.jobs(result).figure.get_figwidth() == style.COLUMN  # type: ignore[union-attr]


def test_ratios_are_completion_times_by_bounds() -> None:
    talk = rings()
    axes = plot.jobs(talk, ratio=True)
    assert axes.get_xlabel() == "completion time / lower bound"
    ratios = sorted(talk.jobs.column("bound_ratio"))
    assert ratios[0] >= 1
    assert ratios == pytest.approx(sorted(talk.jobs.column("jct_ps") / talk.jobs.column("bound_ps")))
    assert steps(axes) == [([ratios[0], *ratios], [0, 50, 100])]


def test_jobs_that_have_not_ended_count() -> None:
    # One ring of 200 KB, and one of 20 MB that is cut off: half of the jobs ended.
    other = RINGS.partition("[[traffic]]")[2]
    text = RINGS.replace('groups = "consecutive"\ngroup_size = 4\n', 'hosts = ["h0-h3"]\n')
    text += "\n[[traffic]]" + other.replace('"ring"', '"large"').replace("200KB", "20MB").replace(
        'groups = "consecutive"\ngroup_size = 4\n', 'hosts = ["h4-h7"]\n'
    )
    cut = incast.Scenario.from_toml(text.format(hosts=8)).with_({"run.until": "500us"}).run()
    ended = cut.jobs.column("jct_ps")
    assert np.isnan(ended).sum() == 1
    (x, y) = steps(plot.jobs(cut))[0]
    assert x == [np.nanmin(ended) / 1e6] * 2
    assert y == [0, 50]


@pytest.mark.parametrize("sight", SIGHTS)
def test_colours_differ_in_lightness_for_everybody(sight: str) -> None:
    """Lightness alone (CIE L*, 0 to 100) tells the kinds apart, on paper without colours too."""
    light = []
    for colour in (*COLOURS.values(), "#ffffff"):
        y = float(np.array([0.2126, 0.7152, 0.0722]) @ np.clip(linear(colour, sight), 0, 1))
        light.append(116 * np.cbrt(y) - 16 if y > 0.008856 else 903.3 * y)
    assert min(abs(a - b) for a, b in itertools.combinations(light, 2)) > 15
