"""Pictures of limits in a report, with places worked out by hand."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import incast
from helpers import SMALL
from incast import report
from incast.report.entries import detailed, entries
from incast.report.limits import pictures
from incast.results import limits
from incast.results.grid import Grid
from report.made import Made


@pytest.fixture(scope="module")
def compared() -> incast.Comparison:
    scenario = incast.Scenario.from_toml(SMALL, "small.toml").with_({"probe.limits": "20us"})
    return incast.compare(scenario, "oscar,hpcc")


def drawn(of: object) -> str:
    grid = Grid.of(of)  # type: ignore[arg-type]
    return pictures(entries(detailed(grid))).html


def paths(html: str, name: str) -> list[list[tuple[float, float, float, float]]]:
    """The boxes of each path of a limit: left, right, bottom, top."""
    found = re.findall(rf'<path class="l-{name}" d="([^"]*)">', html)
    box = r"M([\d.]+) ([\d.]+)H([\d.]+)V([\d.]+)H[\d.]+Z"
    return [[(float(a), float(b), float(y), float(z)) for a, y, b, z in re.findall(box, d)] for d in found]


def test_shares_over_sizes_are_of_the_summed_time_of_all_results(compared: incast.Comparison) -> None:
    oscar, hpcc = compared["oscar"], compared["hpcc"]
    # Two flows of 200 KB, one of 2 MB: by hand from the times of each flow.
    small, large = limits.by_size([oscar, hpcc], [0, 200_000])
    both = [of.limits_of(flow) for of in (oscar, hpcc) for flow in of.find_flows("burst")]
    assert small["window"] == sum(of["window"] for of in both) / sum(sum(of.values()) for of in both)
    long = [of.limits_of(of.find_flows("long")[0]) for of in (oscar, hpcc)]
    assert large["sending"] == sum(of["sending"] for of in long) / sum(sum(of.values()) for of in long)
    assert sum(small.values()) == pytest.approx(1)
    assert limits.by_size([oscar], [0, 10**9])[1] == dict.fromkeys(limits.names(oscar), 0.0)


def test_boxes_are_as_high_as_their_shares(compared: incast.Comparison) -> None:
    html = drawn(compared)
    over_sizes, over_time = html.split("<figure")[1:]
    sending = paths(over_sizes, "sending")
    assert len(sending) == 2
    # All flows of one size are in one bin; the axis from 0 to 100 % is 96 pixels: 150 - 20 - 34.
    for of, boxes in zip(compared.values(), sending, strict=True):
        sizes = limits.by_size([of], [0, 200_000])
        heights = [low - high for _, _, low, high in boxes]
        assert heights == pytest.approx([96 * share["sending"] for share in sizes], abs=0.11)
    # Of counts over time the largest sum of an entry is as high as the axis.
    tops = [z for name in limits.names(compared["oscar"]) for p in paths(over_time, name) for *_, z in p]
    assert min(tops) == pytest.approx(24 + 20, abs=0.1)
    most = max(int(sum(limits.counts(of)[1].values()).max()) for of in compared.values())  # type: ignore[union-attr]
    assert most == 3
    assert ">3.00</text>" in over_time
    assert len(re.findall('class="head"', over_time)) == 2


def test_limits_differ_without_colours(compared: incast.Comparison) -> None:
    """Each limit of a stack has a hatch of its own over it, and one at most has none; so has the legend."""
    for figure in drawn(compared).split("<figure")[1:]:
        names = re.findall(r'<rect class="l-(\w+)"', figure)
        assert len(names) > 2
        defined = re.findall(r'<pattern id="(\w+)-(\w+)" [^>]*><path fill="none" d="([^"]*)"/>', figure)
        own = {of for of, _, _ in defined}
        assert len(own) == 1
        lines = {name: path for _, name, path in defined}
        assert len(set(lines.values())) == len(lines)
        assert set(names) - set(lines) <= {"sending"}
        (start,) = own
        for name in lines:
            # Above every box of the limit lies its hatch, of the same outline, and once more in the legend.
            boxes = re.findall(rf'<path class="l-{name}" d="([^"]*)">', figure)
            hatched = re.findall(rf'<path [^>]*fill="url\(#{start}-{name}\)" d="([^"]*)"/>', figure)
            assert hatched == boxes
            assert figure.count(f'<rect class="hatch" fill="url(#{start}-{name})"') == 1
    ids = re.findall(r' id="([^"]*)"', drawn(compared))
    assert len(ids) == len(set(ids))


def test_every_limit_has_a_hatch_of_its_own() -> None:
    from incast.plot.limits import COLOURS, HATCHES

    assert list(HATCHES) == list(COLOURS)
    assert len(set(HATCHES.values())) == len(HATCHES)


def test_without_divided_times_there_is_no_section(tmp_path: Path, compared: incast.Comparison) -> None:
    assert drawn(incast.Result.open(Made(samples=100).write(tmp_path / "made"))) == ""
    plain = compared["oscar"]
    page = report.write([plain], tmp_path / "a.html").read_text()
    assert '<h2 id="limits-title">Limits of flows</h2>' in page
    # The shares are in the summary too.
    share = 100 * plain.limit_shares()["sending"]
    row = re.search(r'<th scope="row">sending</th><td class="unit">%</td><td[^>]*>([\d.]+)</td>', page)
    assert row is not None
    assert float(row[1]) == pytest.approx(share, abs=0.05)


def test_many_instants_are_thinned() -> None:
    scenario = incast.Scenario.from_toml(SMALL, "small.toml").with_({"probe.limits": "100ns"})
    html = drawn(scenario.run())
    boxes = [box for name in ("sending", "answer", "window") for path in paths(html, name) for box in path]
    assert 10 < len(boxes) < 3 * 300
    assert np.isfinite(boxes).all()
