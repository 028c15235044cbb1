"""Listings of results in all their forms, and what notebooks show."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import incast
from helpers import SMALL, Incast
from incast import Result, Scenario, stats, sweep
from incast.results.censored import bounds
from incast.results.grid import Axis, Run, made_of
from incast.results.listing import forms, of_grid
from incast.results.listing.sheet import Column, Listing, columns, number
from report.made import Made
from test_grid import info, runs

ROW = ["θ-PowerTCP", "2.58 ± 0.31", "50 %"]

LISTING = Listing(
    "shares",
    columns("algorithm", ("mean", "us", "begin"), ("share", "")),
    [ROW],
    "A note with 5 % & more.",
)


class Tags(HTMLParser):
    """Reads HTML whose tags must be balanced.

    Attributes:
        text: The text.
        tables: The captions of the tables.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.tables: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        assert tag not in ("script", "style", "br", "img")
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.open and self.open[-1] == "caption":
            self.tables.append(data)


def lines_of(text: str, start: str) -> Sequence[str]:
    return [line for line in text.splitlines() if line.startswith(start)]


def test_a_row_in_markdown_and_latex() -> None:
    assert lines_of(forms.markdown(LISTING), "| θ") == ["| θ-PowerTCP | 2.58 ± 0.31 | 50 % |"]
    assert r"$\theta$-PowerTCP & 2.58 $\pm$ 0.31 & 50 \% \\" in forms.latex(LISTING)


def test_markdown_has_units_in_its_head() -> None:
    assert forms.markdown(LISTING).splitlines() == [
        "**shares**",
        "",
        "| algorithm | begin: mean (us) | share |",
        "| :-- | --: | --: |",
        "| θ-PowerTCP | 2.58 ± 0.31 | 50 % |",
        "",
        "A note with 5 % & more.",
    ]
    odd = Listing("a|b", columns("x"), [["a|b *c* `d`\ne"]])
    assert lines_of(forms.markdown(odd), "| a") == [r"| a\|b \*c\* \`d\` e |"]


def test_latex_has_a_row_of_units_and_heads_over_groups() -> None:
    assert forms.latex(LISTING).splitlines() == [
        r"\begin{table}",
        r"\centering",
        r"\caption{Shares. A note with 5 \% \& more.}",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r" & begin &  \\",
        r"\cmidrule(lr){2-2}",
        r"algorithm & mean & share \\",
        r" & us &  \\",
        r"\midrule",
        r"$\theta$-PowerTCP & 2.58 $\pm$ 0.31 & 50 \% \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    # A column without a name shares the one before it; groups are parted.
    parts = [Column("a", left=True), Column("small", "mean", group="g"), Column("", "p99", group="g")]
    text = forms.latex(Listing("t", [*parts, Column("b", group="h")], []))
    assert r" & \multicolumn{2}{c}{g} & h \\" in text
    assert r"\cmidrule(lr){2-3}\cmidrule(lr){4-4}" in text
    assert r"a & \multicolumn{2}{c}{small} & b \\" in text


def test_every_letter_that_latex_reads_is_written_out() -> None:
    wanted = r"\& \% \$ \# \_ \{ \} \textasciitilde{} \textasciicircum{} \textbackslash{}"
    assert forms.tex("& % $ # _ { } ~ ^ \\") == wanted
    assert forms.tex("µ×–∞−") == r"\textmu{}$\times$--$\infty$$-$"


def test_html_has_scopes_and_escapes_and_counts_what_it_leaves_out() -> None:
    rows = [[f"<b>&{n}", f"{n}"] for n in range(60)]
    html = forms.html(Listing("<t>", columns("name", ("small", "mean")), rows, "a < b"))
    seen = Tags(html)
    assert seen.tables == ["<t>"]
    assert html.count('scope="row"') == 50
    assert html.count('scope="col"') == 2
    assert "<b>" not in html
    assert "&lt;b&gt;&amp;49" in html
    assert "10 more rows" in seen.text
    assert set(re.findall(r'style="([^"]*)"', html)) == {"text-align: left", "text-align: right"}
    grouped = forms.html(LISTING)
    assert '<td colspan="1"></td><th scope="colgroup" colspan="1">begin</th>' in grouped
    Tags(grouped)


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return Scenario.from_toml(SMALL, "small.toml").with_(name="<b>&")


@pytest.fixture(scope="module")
def compared(scenario: Scenario) -> incast.Comparison:
    return incast.compare(scenario, "oscar,constant")


def test_a_result_shows_its_end_and_its_tables(compared: incast.Comparison) -> None:
    result = compared["oscar"]
    html = result._repr_html_()
    assert "&lt;b&gt;&amp;: OSCAR" in html
    seen = Tags(html)
    assert seen.tables == ["queue at s0, port 3", "FCT slowdown", "limits"]
    assert "all 3 flows finished by" in seen.text
    assert result.as_table().startswith("queue at s0, port 3\nalgorithm")
    only = result.as_table("markdown", ["FCT slowdown"])
    assert only.startswith("**FCT slowdown**")
    assert "queue" not in only
    with pytest.raises(KeyError, match='there is no table "FCT slowdwn"; did you mean "FCT slowdown"'):
        result.as_table("text", ["FCT slowdwn"])
    with pytest.raises(ValueError, match='no table has the form "latx"; did you mean "latex"'):
        result.as_table("latx")  # type: ignore[arg-type]


def cells_of(result: Result, table: str, row: str) -> list[str]:
    """The cells of a row of a table in Markdown, without the first."""
    (line,) = lines_of(result.as_table("markdown", [table]), f"| {row} |")
    return line.strip("| ").split(" | ")[1:]


def test_a_percentile_that_is_the_largest_value_and_a_heavy_mean_are_marked(tmp_path: Path) -> None:
    # The p50 of two values is the first of them, the p99 of 99 the last; of 100 it is the 99th.
    rows = {count: Made(flows=count).write(tmp_path / f"{count}") for count in (99, 100)}
    for count, folder in rows.items():
        result = marked(folder, count)
        _, p50, p99 = cells_of(result, "FCT slowdown", "OSCAR")[6:]
        assert not p50.endswith("*")
        assert p99.endswith(r"\*") == (count == 99)
        text = result.as_table(only=["FCT slowdown"])
        assert ("* is the largest value" in " ".join(text.split())) == ("*" in text)
        # Digits stay below each other, and no line is too long.
        assert all(len(line) <= 80 for line in text.splitlines())
    # Pareto with the exponent 1.5 by its quantiles: Hill's estimate of it is near, and below 2.
    heavy = (1 - (np.arange(10_000) + 0.5) / 10_000) ** (-1 / 1.5)
    result = marked(Made(flows=10_000).write(tmp_path / "heavy"), 10_000, heavy)
    assert cells_of(result, "FCT slowdown", "OSCAR")[6].endswith("†")
    assert "† rests on few flows (tail index 1.5): its interval is too narrow" in " ".join(
        result.as_table(only=["FCT slowdown"]).split()
    )
    assert "†</td>" in result._repr_html_()
    assert r"\dag{}" in result.as_table("latex")
    # The exponential's tail is light.
    light = 1 - np.log(1 - (np.arange(10_000) + 0.5) / 10_000)
    result = marked(Made(flows=10_000).write(tmp_path / "light"), 10_000, light)
    assert "†" not in result.as_table()


def marked(
    folder: Path, count: int, slowdown: Sequence[float] | npt.NDArray[np.float64] | None = None
) -> Result:
    """Opens a result whose summary has a class for all its flows, perhaps with other slowdowns."""
    path = folder / "flows.parquet"
    flows = pq.read_table(path)
    if slowdown is not None:
        at = flows.column_names.index("slowdown")
        flows = flows.set_column(at, "slowdown", pa.array(np.asarray(slowdown)))
        pq.write_table(flows, path)
    values = flows.column("slowdown").to_numpy()
    known = json.loads((folder / "result.json").read_text())
    ranks = {"p50": 50, "p95": 95, "p99": 99, "p999": 99.9, "max": 100}
    of_all = {name: stats.percentile(values, rank) for name, rank in ranks.items()}
    known["summary"]["slowdowns"] = [
        {
            "class": "all",
            "group": None,
            "flows": count,
            "unfinished": 0,
            "slowdown": {"mean": float(values.mean()), **of_all},
        }
    ]
    (folder / "result.json").write_text(json.dumps(known))
    return Result.open(folder)


def test_unfinished_flows_make_means_lower_bounds() -> None:
    """Three flows of which the last two are cut off: their bounds count, and every statistic says so."""
    scenario = Scenario.from_toml(SMALL.replace('algorithm = "oscar"', 'algorithm = "constant"'))
    whole = scenario.run()
    ends = np.sort(whole.flows.column("finish_ps"))
    cut = scenario.with_({"run.until": f"{int(ends[0]) // 1000 + 1}ns"}).run()
    values, bound = bounds(cut)
    assert bound.sum() == 2
    mean, p50, p99 = cells_of(cut, "FCT slowdown", "constant")[6:]
    assert mean == f"≥ {number(float(np.mean(values)))}"
    assert p99.startswith("≥ ")
    assert p99.endswith(r"\*")
    assert p50.startswith("≥ ")
    text = " ".join(cut.as_table().split())
    assert "Not finished: constant 2; each counts with the least slowdown that it can have." in text
    assert "≥: a lower bound." in text
    assert "≥" not in whole.as_table()
    # Replications have the same bounds.
    made = incast.replicate(scenario.with_({"run.until": f"{int(ends[0]) // 1000 + 1}ns"}), seeds=[1])
    assert made.metrics["slowdown_all_mean"].mean == pytest.approx(float(np.mean(values)))
    assert {"slowdown_all_mean", "slowdown_all_p99"} <= made.at_least
    assert f"| mean slowdown of flows |  | {mean} | – |" in made.as_table("markdown")
    assert f"slowdown_all_mean    ≥ {float(np.mean(values)):.3g}"[:24] in str(made)


def test_limits_are_shares_of_the_time_of_flows(compared: incast.Comparison) -> None:
    result = compared["oscar"]
    shares = {name: share for name, share in result.limit_shares().items() if share}
    assert stats.limit_shares(result.info) == result.limit_shares()
    assert list(result.limit_shares()) == list(stats.LIMITS)
    lines = result.as_table("markdown", ["limits"]).splitlines()
    assert lines[2] == "| algorithm | " + " | ".join(f"{name} (%)" for name in shares) + " |"
    wanted = [number(100 * share) for share in shares.values()]
    assert cells_of(result, "limits", "OSCAR") == wanted
    # By hand: all parts of the time of the three flows.
    total = sum(sum(result.limits_of(flow).values()) for flow in range(3))
    window = sum(result.limits_of(flow)["window"] for flow in range(3))
    assert stats.metrics(result)["share_window"] == pytest.approx(window / total)


def test_a_table_shows_its_first_rows_and_the_number_of_all(tmp_path: Path) -> None:
    result = Result.open(Made(flows=60, unfinished=60).write(tmp_path / "r"))
    html = result.flows._repr_html_()
    seen = Tags(html)
    assert seen.tables == ["the first 50 of 60 rows"]
    assert html.count('scope="row"') == 50
    assert html.count('scope="col"') == len(result.flows.columns)
    # The last of the rows: the flow 49 of h1, which is not finished; its name is the head of the row.
    last = html.split("<tr>")[-1]
    assert re.findall(r">([^<]*)</t[hd]>", last)[:3] == ["49", "h1", "h6"]
    assert ">–<" in last
    assert ">false<" in last
    few = Result.open(Made(flows=1).write(tmp_path / "one")).flows._repr_html_()
    assert Tags(few).tables == ["1 row"]
    assert "more rows" not in few


def test_a_comparison_shows_a_row_for_each_algorithm(compared: incast.Comparison) -> None:
    assert Tags(compared._repr_html_()).tables == ["queue at s0, port 3", "FCT slowdown", "limits"]
    latex = compared.as_table("latex", ["FCT slowdown"])
    assert latex.startswith("% needs \\usepackage{booktabs}\n\n\\begin{table}")
    assert [line.split(" &")[0] for line in latex.splitlines() if " & --" in line] == ["OSCAR", "constant"]


def test_what_failed_is_said_first(compared: incast.Comparison) -> None:
    other = incast.Comparison("small", {"ndp": "no <trimming>"}, ["hpcc", *compared])
    other.update(compared)
    other.failed["hpcc"] = ValueError("<broken>")
    text = Tags(other._repr_html_()).text
    assert text.index("hpcc failed: <broken>") < text.index("left out: ndp: no <trimming>")


def test_a_killed_run_says_so_first(tmp_path: Path) -> None:
    result = Result.open(Made(killed=True, samples=500).write(tmp_path / "r"))
    html = result._repr_html_()
    assert Tags(html).tables == []
    assert html.splitlines()[2] == "<p>NOT COMPLETE: the run was killed; written so far: 2,000 flows</p>"
    assert result.as_table().startswith("NOT COMPLETE")


def test_a_stalled_run_says_which_flow_waits_for_what(tmp_path: Path) -> None:
    waiting = [{"flow": 3, "waits_for": "port 1 of a, which is paused"}]
    outcome = {"end": "stalled", "why": "no progress since 2ms", "flows_finished": 1997, "waiting": waiting}
    result = Result.open(Made(outcome=outcome).write(tmp_path / "r"))
    text = Tags(result._repr_html_()).text
    assert text.index("no progress since 2ms") < text.index("flow 3: port 1 of a, which is paused")


def test_a_scenario_shows_its_facts_and_folds_its_file(scenario: Scenario) -> None:
    html = scenario._repr_html_()
    seen = Tags(html)
    assert "<strong>&lt;b&gt;&amp;</strong>" in html
    assert "4 hosts" in seen.text
    assert "<details>" in html
    assert scenario.to_toml() in seen.text


def test_replications_show_a_row_for_each_number(scenario: Scenario) -> None:
    def measured(result: Result) -> dict[str, float]:
        return {"job_time_mean_ps": 2e6, "own": float(result.info["seed"])}

    made = incast.replicate(scenario, seeds=[1, 3], measure=measured)
    # Equal values of equal runs have no interval; of 1 and 3: s = √2, t = 12.7062 for one degree: ± 12.7062.
    assert made.as_table("markdown").splitlines()[4:6] == [
        "| mean time of jobs | us | 2.00 | – |",
        "| own |  | 2.00 | 12.71 |",
    ]
    assert Tags(made._repr_html_()).tables == ["means over 2 seeds"]


def test_a_sweep_shows_means_with_intervals(tmp_path: Path, incast: Incast) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    plan = sweep.plan(file, ["cc=oscar,hpcc", "topology.delay=1us,3us"], seeds=2, results=tmp_path / "runs")
    done = sweep.run(plan, folder=tmp_path / "out")
    text = done.as_table()
    assert all(len(line) <= 80 for line in text.splitlines())
    lines = done.as_table("markdown").splitlines()
    assert lines[2].startswith("| cc | delay | runs |")
    assert [line.split(" | ")[:3] for line in lines[4:8]] == [
        ["| OSCAR", "1us", "2, no draws"],
        ["| OSCAR", "3us", "2, no draws"],
        ["| HPCC", "1us", "2, no draws"],
        ["| HPCC", "3us", "2, no draws"],
    ]
    peak = done.summary.column("queue_peak_bytes")
    cells = [line.strip("| ").split(" | ") for line in lines]
    at = cells[2].index("queue (peak KB)")
    shown = [float(row[at].replace(",", "")) for row in cells[4:8]]
    assert shown == pytest.approx([value / 1e3 for value in peak], rel=5e-3)
    assert Tags(done._repr_html_()).tables == ["means, small"]


def test_a_mean_of_percentiles_of_few_flows_is_marked() -> None:
    """A p99 of 200 flows is not the largest of them; of 99 in one run of two it is."""
    few = info(2, 3.0)
    for one in few["summary"]["slowdowns"]:
        one["flows"] = 99
    its: dict[tuple[str, ...], list[Run]] = {
        ("0.3",): runs(1.0, 3.0),
        ("0.6",): [*runs(1.0), Run(2, few)],
    }
    grid = made_of("made", [Axis("traffic.0.load", ("0.3", "0.6"))], its)
    listing = of_grid.means(grid, ["p99.small", "p50.small", "mean.small"])
    assert listing.rows[0][2:] == ["2.00 ± 12.71"] * 3
    assert listing.rows[1][2:] == ["2.00 ± 12.71*", "2.00 ± 12.71", "2.00 ± 12.71"]
    assert "* is the largest value: there are too few flows of a run for this percentile." in listing.notes
    # Numbers of one column end below each other.
    lines = forms.text(listing).splitlines()[3:6]
    assert lines[1].index(".00 ± 12.71 ") == lines[2].index(".00 ± 12.71*")
    assert "*" not in of_grid.means(grid, ["mean.small"]).notes


def test_means_are_of_sound_runs_with_their_interval() -> None:
    bad = info(3, 9.0)
    bad["outcome"]["end"] = "stalled"
    its: dict[tuple[str, ...], list[Run]] = {
        ("0.3",): [*runs(1.0, 3.0), Run(3, bad)],
        ("0.6",): [Run(1, info(1, 2.0)), Run(1, info(1, 2.0))],
    }
    grid = made_of("made", [Axis("traffic.0.load", ("0.3", "0.6"))], its, failed={"a": "b"})
    listing = of_grid.means(grid, ["mean.all"])
    # Of 1 and 3 as above; two equal fingerprints have no interval.
    assert listing.rows == [["0.3", "2", "2.00 ± 12.71"], ["0.6", "2, no draws", "2.00"]]
    assert [column.title for column in listing.columns] == ["load", "runs", "slowdown"]
    assert "Not counted: 1 run that is not sound." in listing.notes
    assert "Without a result: 1 run." in listing.notes
