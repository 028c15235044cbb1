"""Content of a report, without a browser."""

from __future__ import annotations

import base64
import html.parser
import json
import os
import re
import signal
import subprocess
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incast
from helpers import SMALL, Incast, wait_until
from incast import report
from incast.report.columns import Column, Columns
from incast.report.entries import detailed, entries, on_dark
from incast.report.flows import Flows, distribution, edges, of_class
from incast.report.network import Network
from incast.report.series import kept, pictures
from incast.results.grid import Grid
from report.made import Made

pytestmark = pytest.mark.xdist_group("browser")
"""With several processes (pytest-xdist), one runs all tests with a browser, and builds the site once."""


def column(blob: bytes, c: Column) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Reads a column as the page does."""
    n = int(c["n"])
    values: np.ndarray[Any, np.dtype[np.float64]]
    if c["kind"] == "even":
        values = c["first"] + np.arange(n, dtype=np.float64) * c["step"]
    elif c["kind"] == "integers":
        planes = np.frombuffer(blob, np.uint8, c["width"] * (n - 1), c["at"]).reshape(c["width"], n - 1)
        folded = np.zeros(n - 1, np.int64)
        for i, plane in enumerate(planes):
            folded |= plane.astype(np.int64) << 8 * i
        steps = (folded >> 1) ^ -(folded & 1)
        values = c["first"] + np.concatenate([[0], np.cumsum(steps)]).astype(np.float64)
    else:
        planes = np.frombuffer(blob, np.uint8, 8 * n, c["at"]).reshape(8, n)
        values = np.ascontiguousarray(planes.T).view("<f8").reshape(n).copy()
    if "missing" in c:
        values[column(blob, c["missing"]) == 1] = np.nan
    return values


@pytest.mark.parametrize(
    "values",
    [
        [],
        [7],
        [5, 5, 5],
        [0, 1_000_000, 2_000_000],
        [0, 3, -4, 2**31, -(2**31), 2**40, 2**52],
        [1, 2**32, 1],
        [1, 255, 256, 65_536, 2**24],
        [1.5, -2.25, 1e-12],
        [float("nan"), 3.0, float("nan"), 5.0],
        [float("nan"), float("nan")],
        [0.1, float("nan")],
    ],
)
def test_columns_come_back_as_they_were(values: list[float]) -> None:
    columns = Columns()
    columns.add([1, 5, 2])  # so that the column does not begin at the blob's begin
    written = columns.add(values)
    blob = zlib.decompress(base64.b64decode(columns.to_base64()))
    np.testing.assert_array_equal(column(blob, written), np.array(values, dtype=np.float64))


def test_thinning_keeps_first_values_peaks_and_troughs() -> None:
    values = np.full(10_000, 50)
    values[3_333], values[7_777], values[9_999] = 99, 1, 0
    places = kept(values, 300)
    assert len(places) <= 303
    assert {0, 3_333, 7_777, 9_999} <= set(places.tolist())
    assert (np.diff(places) > 0).all()
    assert kept(values, 10_000).tolist() == list(range(10_000))


def test_more_samples_than_fit_are_thinned_and_counted(tmp_path: Path) -> None:
    result = incast.Result.open(Made(samples=3000).write(tmp_path / "a"))
    columns = Columns()
    drawn = pictures([result], columns, samples=900)
    blob = zlib.decompress(base64.b64decode(columns.to_base64()))
    assert (drawn["samples"], drawn["thinned"]) == (9000, True)
    port = drawn["results"][0]["ports"][0]
    queue, sent = column(blob, port["queue_bytes"]), column(blob, port["transmitted_bytes"])
    assert len(queue) <= 310
    assert queue.max() == result.port_series.column("queue_bytes").max()
    assert set(sent) <= set(result.port_series.column("transmitted_bytes").tolist())


def test_bins_of_sizes() -> None:
    assert edges(np.array([])).tolist() == []
    # Few sizes: one bin each. Many: 2000 flows in 20 bins of 100.
    assert edges(np.array([3.0, 1.0, 3.0])).tolist() == [1, 3]
    assert edges(np.arange(1.0, 2001.0)).tolist() == list(range(100, 2001, 100))
    # 120 flows are enough for two bins of 60.
    assert edges(np.arange(1.0, 121.0)).tolist() == [60, 120]


def test_slowdowns_are_those_of_the_summary() -> None:
    result = incast.Scenario.from_toml(SMALL.replace("200KB", "20KB")).run()
    names = {"mean": "mean", "p50": "p50", "p99": "p99", "p99.9": "p999"}
    for line in (s for s in result.info["summary"]["slowdowns"] if s["group"] is None):
        ours = distribution(of_class(Flows.of(result), line["class"]))
        assert ours is not None, line["class"]
        for name, theirs in names.items():
            assert ours[name] == pytest.approx(line["slowdown"][theirs], rel=1e-12)


def test_the_network_is_found_in_the_table_of_ports(tmp_path: Path) -> None:
    made = Made(leaves=3, hosts=2)
    network = Network.of(incast.Result.open(made.write(tmp_path / "a")))
    assert network is not None
    assert network.hosts == 6
    named = [tuple(network.names[n] for n in end) for end in network.ends]
    assert sorted(named) == sorted(made.links())
    tiers = [[network.names[n] for n in tier] for tier in network.tiers()]
    assert tiers == [[f"h{i}" for i in range(6)], ["leaf0", "leaf1", "leaf2"], ["spine0", "spine1", "spine2"]]
    ports = incast.Result.open(tmp_path / "a").ports
    for (a, b), (there, back) in zip(network.ends, network.links, strict=True):
        assert (ports.column("node_id")[there], ports.column("peer")[there]) == (a, network.names[b])
        assert (ports.column("node_id")[back], ports.column("peer")[back]) == (b, network.names[a])


def test_parallel_links_meet_their_own_far_ends() -> None:
    toml = SMALL.replace(
        'kind = "star"\nhosts = 4\nrate = "100Gbps"\ndelay = "3us"',
        'kind = "graph"\nhosts = ["h0-h3"]\nswitches = ["a", "b"]\nrate = "100Gbps"\ndelay = "3us"\n'
        'links = [{ between = ["h0-h1", "a"] }, { between = ["a", "b"], parallel = 3 }, '
        '{ between = ["h2-h3", "b"] }]',
    )
    network = Network.of(incast.Scenario.from_toml(toml).run())
    assert network is not None
    assert [tuple(network.names[n] for n in end) for end in network.ends].count(("a", "b")) == 3
    assert len({row for link in network.links for row in link}) == 2 * len(network.links) == 14


def test_results_are_told_apart(tmp_path: Path) -> None:
    def titles(*made: Made) -> list[str]:
        folders = [m.write(tmp_path / f"{len(list(tmp_path.iterdir()))}") for m in made]
        grid = Grid.of([incast.Result.open(f) for f in folders])
        return [e.title for e in entries(detailed(grid))]

    assert titles(Made(), Made(algorithm="hpcc")) == ["OSCAR", "HPCC"]
    assert titles(Made(), Made(preset="artifact")) == ["OSCAR (fair)", "OSCAR (artifact)"]
    # Other seeds of one scenario are one entry.
    assert titles(Made(), Made(seed=2)) == ["OSCAR"]
    assert titles(Made(), Made()) == ["OSCAR (6)", "OSCAR (7)"]
    assert titles(Made(algorithm="mine", preset="")) == ["mine"]


def test_an_algorithm_has_its_colour_and_its_variants_have_dashes(tmp_path: Path) -> None:
    made = [Made(), Made(preset="artifact"), Made(algorithm="dcqcn"), Made(algorithm="mine")]
    results = [incast.Result.open(m.write(tmp_path / str(i))) for i, m in enumerate(made)]
    oscar, variant, dcqcn, mine = entries(detailed(Grid.of(results)))
    from incast.plot import style

    assert oscar.colour == variant.colour == style.colour("oscar")
    assert (oscar.dashes, len(variant.dashes)) == ((), 2)
    assert (dcqcn.colour, dcqcn.dark) == ("#000000", "#ffffff")
    assert mine.colour == style.colour("mine", ["mine"])
    assert on_dark("#332288") != "#332288"
    assert on_dark("#e69f00") == "#e69f00"


class Words(html.parser.HTMLParser):
    """The text of a page's body, and its elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.hidden = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.hidden += tag in ("script", "style", "title")

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("script", "style", "title")

    def handle_data(self, data: str) -> None:
        if not self.hidden and data.strip():
            self.words.append(data.strip())


def words_of(tmp_path: Path, *made: Made) -> list[str]:
    results = [incast.Result.open(m.write(tmp_path / f"result{i}")) for i, m in enumerate(made)]
    return Words(report.write(results, tmp_path / "report.html").read_text()).words


def test_a_sound_run_has_no_warning(tmp_path: Path) -> None:
    words = words_of(tmp_path, Made(name="fine"))
    assert words[:2] == ["fine", "OSCAR"]
    assert words[words.index("finished", 6) - 1] == "ended"
    assert not [w for w in words if "This run" in w]


def test_flows_without_a_size_do_not_count_as_unfinished(tmp_path: Path) -> None:
    words = words_of(tmp_path, Made(endless=2, outcome={"flows_finished": 1998}))
    assert not [w for w in words if "unfinished" in w]
    assert words[words.index("flows finished") + 1] == "1,998 of 1,998"
    assert words[words.index("flows without a size") + 1] == "2"


def test_a_killed_run_says_so_before_anything_else(tmp_path: Path) -> None:
    words = words_of(tmp_path, Made(killed=True, samples=500))
    said = words.index("This run was killed, or could no longer write, before its end")
    assert said < words.index("Summary")
    assert "2,000 flows, 1,500 samples up to 499 µs" in words[said + 1]


def test_a_stalled_run_says_so_and_why(tmp_path: Path) -> None:
    outcome = {
        "end": "stalled",
        "why": "no progress since 2ms, with 3 flows unfinished: PFC deadlock, a port 1, b port 2 wait",
        "flows_finished": 1997,
        "waiting": [{"flow": 3, "waits_for": "port 1 of a, which is paused"}],
    }
    words = words_of(tmp_path, Made(outcome=outcome), Made(algorithm="hpcc"))
    said = words.index("OSCAR: this run failed: it stalled")
    assert said < words.index("Summary")
    assert "PFC deadlock, a port 1, b port 2" in words[said + 1]
    assert words[said + 2] == "flow 3: port 1 of a, which is paused"


def test_broken_invariants_come_first(tmp_path: Path) -> None:
    left = {
        "end": "time limit",
        "why": "time limit 2ms reached with 5 flows unfinished",
    }
    words = words_of(
        tmp_path,
        Made(outcome=left, unfinished=5),
        Made(algorithm="hpcc", outcome={"violations": ["a byte is missing"]}),
    )
    bad = words.index("HPCC: this run broke an invariant of the simulator")
    note = words.index("OSCAR: this run left 5 of 2,000 flows unfinished")
    assert bad < note < words.index("Summary")
    assert "a byte is missing" in words[bad:note]


def test_different_scenarios_are_pointed_out(tmp_path: Path) -> None:
    same = words_of(tmp_path / "a", Made(), Made(algorithm="hpcc", seed=2, preset="x"))
    assert not [w for w in same if "compare them with care" in w]
    folder = Made(algorithm="hpcc").write(tmp_path / "b" / "other")
    (folder / "scenario.toml").write_text(
        'name = "made"\n\n[topology]\nkind = "star"\n\n[cc]\nalgorithm = "hpcc"\n'
    )
    results = [incast.Result.open(tmp_path / "a" / "result0"), incast.Result.open(folder)]
    words = Words(report.write(results, tmp_path / "b.html").read_text()).words
    assert [w for w in words if "different scenarios" in w]


NASTY = (
    """</script><script>alert('x')</script><img src=x onerror="alert(1)"> """
    """& 'quoted' "twice" \u2028 --> <!-- ]]>"""
)


def test_text_of_users_stays_text(tmp_path: Path) -> None:
    made = Made(
        name=NASTY,
        group=NASTY,
        algorithm=NASTY,
        preset="",
        outcome={"end": "stalled", "why": NASTY, "waiting": [{"flow": 1, "waits_for": NASTY}]},
    )
    plain = Words(
        report.write(incast.Result.open(Made().write(tmp_path / "plain")), tmp_path / "a.html").read_text()
    )
    result = incast.Result.open(made.write(tmp_path / "a 'b' \"c\" <d>"))
    page = report.write({NASTY: result}, tmp_path / 'r "1" <b>.html').read_text()
    found = Words(page)
    assert found.words[0] == NASTY
    # Nothing but what the warnings are made of came in, and no attribute either.
    assert {tag for tag, _ in found.elements} - {tag for tag, _ in plain.elements} <= {"strong", "ul", "li"}
    assert page.count("<script") == plain_scripts(tmp_path) == 3
    assert not [a for _, attributes in found.elements for a in attributes if a.startswith("on")]
    content = json.loads(re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)[0])
    assert content["entries"][0]["title"] == NASTY
    assert NASTY in [picture["group"] for picture in content["flows"]]


def plain_scripts(tmp_path: Path) -> int:
    return (tmp_path / "a.html").read_text().count("<script")


def test_the_page_names_no_address(tmp_path: Path) -> None:
    page = report.write(incast.Result.open(Made().write(tmp_path / "a")), tmp_path / "a.html").read_text()
    addresses = set(re.findall(r"""(?:https?:)?//[\w.-]+\.\w{2,}[^\s'"<]*""", page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name space, which nothing loads
    assert not re.findall(r"""(?:src|href)="(?!data:,")""", page)
    assert "default-src 'none'" in page
    assert "unsafe" not in page


def test_a_run_in_memory_can_be_reported(tmp_path: Path) -> None:
    result = incast.Scenario.from_toml(SMALL).run()
    path = report.write(result, tmp_path / "report.html")
    assert "was not saved" in path.read_text()


def test_nothing_is_left_when_a_report_cannot_be_written(tmp_path: Path) -> None:
    result = incast.Result.open(Made().write(tmp_path / "a"))
    (tmp_path / "taken.html").mkdir()
    with pytest.raises(incast.ResultError, match=r"cannot write .*taken"):
        report.write(result, tmp_path / "taken.html")
    with pytest.raises(incast.ResultError, match=r"cannot write .*No such file"):
        report.write(result, tmp_path / "absent" / "r.html")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "taken.html"]
    with pytest.raises(ValueError, match="at least one"):
        report.write([], tmp_path / "r.html")


def test_the_command_takes_folders_of_results(incast: Incast, tmp_path: Path) -> None:
    for name in ("oscar", "hpcc"):
        Made(algorithm=name).write(tmp_path / "results of 'today'" / name)
    done = incast("report", "results of 'today'", "--out", "my report.html")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"report my report.html \(2 results, \d\.\d MB\)\n", done.stdout)
    assert "HPCC, OSCAR" in (tmp_path / "my report.html").read_text()


def test_the_command_names_what_is_no_result(incast: Incast, tmp_path: Path) -> None:
    done = incast("report", "nothing")
    assert done.returncode == 1
    assert done.stderr == "incast: nothing holds no result (no result.json)\n"
    assert not (tmp_path / "report.html").exists()


def test_a_run_that_was_killed_is_reported(incast: Incast, tmp_path: Path) -> None:
    # Long enough to be killed in the middle: 100 GB at 100 Gbps.
    (tmp_path / "long.toml").write_text(SMALL.replace('"2MB"', '"100GB"').replace('"1ms"', '"10s"'))
    run = incast.start("run", "long.toml", "--out", "killed")
    wait_until(lambda: any((tmp_path / "killed" / "port_series").glob("part-*.parquet")), run)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()
    assert run.returncode == -signal.SIGKILL
    assert incast("report", "killed").returncode == 0
    page = (tmp_path / "report.html").read_text()
    assert page.index("This run was killed") < page.index("<table>")


def test_the_scripts_never_make_html_of_text() -> None:
    scripts = [path.read_text() for path in (Path(report.__file__).parent / "assets").glob("*.js")]
    assert len(scripts) >= 11
    script = "".join(scripts)
    assert "innerHTML" not in script
    assert "insertAdjacentHTML" not in script
    assert "eval(" not in script
    assert "fetch(" not in script


def test_setup_does_nothing_where_all_is_there() -> None:
    done = subprocess.run(
        [Path(__file__).parents[1] / "setup.sh"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
