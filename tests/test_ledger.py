"""The ledger: quantities and bands, reading claims, measures, verdicts."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from blocks import block, claim, constant, joined, traffic
from helpers import RING, ROOT, SMALL, Incast, Wrong, refusal, wait_until, written, written_wrongly
from incast import Scenario
from incast import algorithms as incast_algorithms
from incast.ledger import LedgerError, Verdict, find, ids, judge, record, run_figure, site
from incast.ledger.band import Band
from incast.ledger.figure import read
from incast.ledger.judge import evaluate
from incast.ledger.picture import draw
from incast.results import measures as m
from incast.results.measures.quantity import Quantity, quantity
from incast.results.measures.view import View
from incast.runs.runner import Done, Task, Watch, execute

PAPERS = ROOT / "papers"

FASTEST = ("oscar/fig8", "oscar/fig9")
"""The two figures that take the least time."""

CONSTANT = joined(
    block("[topology]", kind="star", hosts=3, rate="100Gbps", delay="3us"),
    block("[switch]", buffer="unlimited"),
    traffic("half", "h0", "h2", stop="100us", cc=constant("50Gbps")),
    traffic("late", "h1", "h2", start="50us", size="500KB", cc=constant("100Gbps")),
    block("[probe]", ports=["s0->h2"], flows=["half", "late"], interval="500ns"),
    block("[run]", until="200us"),
)
"""A flow at half the line rate; from 50 us on another at the full one, so that the queue grows."""

CLAIMS = joined(
    block("[figure]", title="A title", place="Nowhere", setup="Set-up.", choices=["One."], shows="A line."),
    block(
        "[[runs]]",
        name="run/{hosts}",
        cc="oscar",
        scenario="small.toml",
        set=["topology.hosts={hosts}"],
        vary={"hosts": [4, 5]},
    ),
    claim(
        "full",
        "The link is full",
        paper="full",
        unit="%",
        measure={"do": "utilisation", "run": "run/4", "port": "s0->h3", "from": "20us", "to": "100us"},
        reproduced="at least 99%",
        trend="at least 50%",
        rule="Full.",
        reason="None needed.",
    ),
)


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """A folder of papers with one figure in it."""
    return written(tmp_path / "papers", {"some/fig1/small.toml": SMALL, "some/fig1/claims.toml": CLAIMS})


@pytest.fixture(scope="module")
def view() -> View:
    return View("constant", Scenario.from_toml(CONSTANT).run(threads=1))


@pytest.mark.parametrize(
    ("text", "value", "dimension"),
    [
        ("75KB", 75e3, "bytes"),
        ("12 us", 12e-6, "time"),
        ("0.5", 0.5, "number"),
        ("86%", 0.86, "number"),
        ("-3", -3.0, "number"),
        ("2x", 2.0, "number"),
        ("25Gbps", 25e9, "rate"),
    ],
)
def test_quantities_are_read(text: str, value: float, dimension: str) -> None:
    found = quantity(text)
    assert found.value == pytest.approx(value)
    assert found.dimension == dimension


@pytest.mark.parametrize("text", ["", "KB", "12 parsecs", "1e3", "75KB/s"])
def test_what_is_not_a_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a quantity|not a unit"):
        quantity(text)


@pytest.mark.parametrize(
    ("value", "dimension", "unit", "shown"),
    [
        (76123.0, "bytes", "KB", "76.1 KB"),
        (1234567.0, "bytes", "KB", "1,235 KB"),
        (0.8688, "number", "%", "86.9 %"),
        (3.2, "number", "x", "3.20×"),
        (0.0, "number", "", "0"),
        (0.0625, "number", "", "0.0625"),
        (math.inf, "time", "us", "never"),
        (math.nan, "number", "", "none"),
    ],
)
def test_quantities_are_shown_in_a_unit(value: float, dimension: str, unit: str, shown: str) -> None:
    assert Quantity(value, dimension).shown(unit) == shown


def test_a_unit_of_another_dimension_is_refused() -> None:
    with pytest.raises(ValueError, match="not a unit of an amount of bytes"):
        Quantity(1.0, "bytes").shown("us")


def test_bands_include_their_ends() -> None:
    band = Band.parse("65KB to 85KB")
    assert [band.holds(Quantity(v, "bytes")) for v in (64999.0, 65e3, 85e3, 85001.0)] == [0, 1, 1, 0]
    assert Band.parse("at least 2x").holds(Quantity(2.0))
    assert not Band.parse("at least 2x").holds(Quantity(1.99))
    assert Band.parse("at most 20us").holds(Quantity(20e-6, "time"))
    assert not Band.parse("at most 20us").holds(Quantity(math.inf, "time"))
    assert not Band.parse("0 to 1").holds(Quantity(math.nan))
    assert Band.parse("-0.5 to 0.5").holds(Quantity(-0.5))


@pytest.mark.parametrize("text", ["85KB to 65KB", "65KB to 85us", "75KB", "over 3", "at most", ""])
def test_what_is_not_a_band_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"band|backward|quantity|runs from"):
        Band.parse(text)


def test_a_band_does_not_take_another_dimension() -> None:
    with pytest.raises(ValueError, match="not a band of a time"):
        Band.parse("1KB to 2KB").holds(Quantity(1.0, "time"))


def test_instants(view: View) -> None:
    assert view.instant("50us") == 50_000_000
    assert view.instant("start(late)") == 50_000_000
    assert view.instant("start(late)+3us") == 53_000_000
    assert view.instant("start(late) - 3us") == 47_000_000
    end = view.instant("end(late)")
    assert end == view.instant("first_end(late)") == view.instant("100%(late)")
    assert view.instant("50%(late)") == (50_000_000 + end) // 2
    for text in ("soon", "end(nobody)", "50KB"):
        with pytest.raises(ValueError, match="no"):
            view.instant(text)


def test_measures_against_arithmetic(view: View) -> None:
    """Constant senders: what each measure gives can be worked out by hand."""
    port = "s0->h2"
    assert m.utilisation(view, port, "10us", "50us").value == pytest.approx(0.5, abs=0.01)
    assert m.utilisation(view, port, "60us", "100us").value == pytest.approx(1.0, abs=0.01)
    assert m.lost_time(view, port, "10us", "50us").value == pytest.approx(20e-6, rel=0.02)
    assert m.nonempty(view, port, "10us", "50us").value == 0
    # From its arrival at the switch on the second flow is half a line rate too much: 6.25 GB/s.
    assert m.queue(view, port, "span", "60us", "80us").value == pytest.approx(6.25e9 * 20e-6, rel=0.02)
    # The first acknowledgement is there after one RTT of 12 us.
    assert m.goodput(view, "half", "20us", "50us").value == pytest.approx(50e9 * 1000 / 1054, rel=0.02)
    assert m.wire_rate(view, "half", "54B", "1000B", "20us", "50us").value == pytest.approx(50e9, rel=0.02)
    assert m.share_of_line(view, "half", "20us", "50us", "2").value == pytest.approx(1000 / 1054, rel=0.02)
    # The link is at half until the second flow's first packet: 3 us of flight, one packet's time more.
    assert m.recovery(view, port, "30us", "80us", "0.9", "1us").value == pytest.approx(24e-6, abs=1.1e-6)
    assert m.recovery(view, port, "10us", "50us", "0.9", "5us").value == math.inf
    assert m.allowance(view, "half", "rate", "mean", "10us", "50us").value == pytest.approx(0.5)
    assert m.reaches(view, "half", "rate", "0.9", "10us").value == math.inf
    congestion = m.congestion(view, port, "half", "mean", "10us", "50us").value
    assert congestion == pytest.approx(0.5, abs=0.02)
    assert m.peak_queue(view, port).value >= m.queue(view, port, "max").value
    assert m.flows(view).value == 1


def test_fairness_of_equal_and_unequal_flows(view: View) -> None:
    assert m.jain(view, ["half"], "20us", "50us").value == pytest.approx(1.0)
    # From 60 us on the port is shared in proportion to what arrives, 1 to 2: (1 + 2)² / (2 · 5).
    assert m.jain(view, ["half", "late"], "70us", "85us").value == pytest.approx(0.9, abs=0.02)


def test_turns_are_counted_for_good_only() -> None:
    class Fake(View):
        def __init__(self, queue: list[int]) -> None:
            import numpy as np

            from incast.results.result import PortSeries

            time = np.arange(len(queue), dtype=np.int64) * 1_000_000
            ones = np.ones(len(queue), dtype=np.int64)
            self._made = PortSeries(
                "s0", 0, 10**11, time, np.array(queue), np.ones(len(queue)), ones, ones, ones
            )

        def port(self, text: str) -> object:  # type: ignore[override]
            return self._made

    def turns(*kilobytes: int) -> float:
        queue = [1000 * k for k in (0, 300, *kilobytes)]
        return m.direction_changes(Fake(queue), "p", "10KB", "150KB", "0us", "1ms").value

    assert turns(140, 100, 75, 75, 76, 74) == 0
    assert turns(140, 33, 50, 75, 75) == 1
    assert turns(140, 100, 120, 90, 100, 80) == 4
    assert turns(200, 220, 140, 75) == 0


def test_measures_combine(papers: Path) -> None:
    (figure,) = find(papers, ["some/fig1"])
    results = run_figure(figure)
    use = {"do": "utilisation", "port": "s0->h3", "from": "20us", "to": "100us"}
    one = evaluate({**use, "run": "run/4"}, results)
    assert evaluate({"do": "ratio", "of": use, "to": use}, results, "run/4").value == 1
    assert evaluate({"do": "improvement", "of": use, "over": use}, results, "run/4").value == 0
    assert evaluate({"do": "difference", "of": use, "less": use}, results, "run/4").value == 0
    assert evaluate({"do": "better", "of": use, "over": use}, results, "run/4").value == 0
    twice = {"do": "sum", "all": [use, use]}
    assert evaluate({"do": "better", "of": use, "over": twice}, results, "run/4").value == pytest.approx(1)
    assert evaluate({"do": "improvement", "of": use, "over": twice}, results, "run/4").value == 0.5
    for do in ("mean", "median", "smallest", "largest"):
        assert evaluate({"do": do, "each": "run/4", "of": use}, results) == one
    assert evaluate({"do": "sum", "all": [use, use]}, results, "run/4").value == 2 * one.value
    assert evaluate({"do": "flatness", "each": "run/*", "of": use}, results).value == pytest.approx(1)
    closer = {"do": "share_closer", "each": "run/4", "than": "run/5", "of": use}
    assert evaluate(closer, results).value == 0
    hosts = {"do": "flows", "above": "{hosts}B"}
    assert evaluate({"do": "mean", "each": "run/*", "of": hosts}, results).value == 3


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"do": "magic", "run": "run/4"}, "unknown measure 'magic'"),
        ({"do": "queue", "run": "run/4"}, "missing: port"),
        ({"do": "queue", "run": "run/4", "port": "s0->h3", "colour": "red"}, "unknown: colour"),
        ({"do": "queue", "port": "s0->h3"}, "names no run"),
        ({"do": "queue", "run": "ruin/4", "port": "s0->h3"}, "no run is called 'ruin/4'"),
        ({"do": "ratio", "of": {}}, "takes of and to"),
        ({"do": "queue", "run": "run/4", "port": "{rate}"}, "names a value that is not in vary"),
    ],
)
def test_a_measure_that_is_written_wrongly_is_explained(
    papers: Path, spec: dict[str, object], message: str
) -> None:
    (figure,) = find(papers, ["some/fig1"])
    results = run_figure(figure)
    with pytest.raises(LedgerError, match=re.escape(message)):
        evaluate(spec, results)


@written_wrongly(
    {
        'title = "A title" → ': "[figure]: title is missing",
        "[[claim]] → [[claims]]": "unknown: claims",
        'unit = "%" → unit = "furlong"': "claim 'full': 'furlong' is not a unit",
        '"at least 99%" → "at least 99KB"': "does not match the unit '%'",
        '"at least 99%" → "fine"': "claim 'full': reproduced: 'fine' is not a band",
        'rule = "Full." → ': "claim 'full': rule is missing",
        'rule = "Full." → verdict = "reproduced"\nrule = "Full."': "unknown: verdict",
        "hosts={hosts} → hosts={host}": "names a value that is not in vary",
        "run/{hosts} → run": "two runs are called 'run'",
        "[figure] → [figure": "claims.toml:",
    }
)
def test_claims_that_are_written_wrongly_are_explained(papers: Path, wrong: Wrong) -> None:
    file = papers / "some" / "fig1" / "claims.toml"
    assert "claims.toml" in refusal(file, wrong, lambda: find(papers, ["all"]))


def test_the_verdict_follows_from_the_rule(papers: Path, incast: Incast) -> None:
    """One set of runs under three rules has three verdicts; the reason shows only where it is asked for."""
    file = papers / "some" / "fig1" / "claims.toml"
    for low, trend, verdict in (
        ("99%", "50%", "reproduced"),
        ("120%", "50%", "trend"),
        ("120%", "110%", "not reproduced"),
    ):
        text = CLAIMS.replace("at least 99%", f"at least {low}").replace("at least 50%", f"at least {trend}")
        file.write_text(text)
        done = incast.here("reproduce", "some/fig1", "--papers", papers, "--no-picture")
        assert done.returncode == 0, done.stderr
        assert re.search(rf"^  {verdict} +full$", done.stdout, re.MULTILINE)
        assert ("None needed." in done.stdout) == (verdict != "reproduced")
        assert "ours: 100" in done.stdout


def test_results_that_are_there_are_reused(papers: Path, incast: Incast) -> None:
    words = ("reproduce", "some", "--papers", papers, "--no-picture")
    first = incast.here(*words)
    assert first.returncode == 0, first.stderr
    made = sorted(incast.folder.glob("incast-results/small/*/result.json"))
    assert len(made) == 2
    times = [path.stat().st_mtime_ns for path in made]
    assert incast.here(*words).stdout == first.stdout
    assert [path.stat().st_mtime_ns for path in made] == times
    assert incast.here(*words, "--fresh").returncode == 0
    assert all(path.stat().st_mtime_ns > time for path, time in zip(made, times, strict=True))


def test_killed_it_goes_on_where_it_was(papers: Path, incast: Incast) -> None:
    """The run with five hosts takes hours; after a kill, only the one with four is there, and stays."""
    file = papers / "some" / "fig1" / "claims.toml"
    endless = CLAIMS.replace("vary = {", 'along = { size = ["2MB", "900GB"] }\nvary = {').replace(
        '"topology.hosts={hosts}"', '"topology.hosts={hosts}", "traffic.long.size={size}", "run.until=1000s"'
    )
    file.write_text(endless)
    process = incast.start("reproduce", "some", "--papers", papers, "--no-picture", "--jobs", "1")
    wait_until(lambda: len(list(incast.folder.glob("incast-results/small/*/result.json"))) == 2, process)
    process.kill()
    process.communicate()
    ends = {
        path: json.loads(path.read_text()) for path in incast.folder.glob("incast-results/*/*/result.json")
    }
    (kept,) = [path for path, info in ends.items() if info["state"] == "complete"]
    time = kept.stat().st_mtime_ns
    file.write_text(endless.replace("900GB", "1MB"))
    again = incast.here("reproduce", "some", "--papers", papers, "--no-picture")
    assert again.returncode == 0, again.stderr
    assert kept.stat().st_mtime_ns == time


def test_a_figure_runs_on_any_executor(papers: Path, tmp_path: Path) -> None:
    """The data passed to an executor is enough to make the runs, as on a cluster."""

    class Here:
        """Makes the runs in this process, the last one first."""

        jobs = 1

        def run(self, tasks: Sequence[Task], watch: Watch) -> Iterator[Done]:
            for task in reversed(tasks):
                watch(task.index, 0.5)
                yield Done(task.index, reused=execute(task))

    (figure,) = find(papers, ["some/fig1"])
    states: list[tuple[int, int]] = []
    there = run_figure(
        figure, folder=tmp_path / "runs", executor=Here(), watch=lambda s: states.append((s.made, s.runs))
    )
    here = run_figure(figure)
    assert [r.fingerprint for r in there.values()] == [r.fingerprint for r in here.values()]
    assert states == [(0, 2), (1, 2), (1, 2), (2, 2)]


def test_a_run_that_fails_is_named(papers: Path, incast: Incast) -> None:
    figure = papers / "some" / "fig1"
    (figure / "small.toml").write_text(RING)
    claims = CLAIMS.replace("topology.hosts={hosts}", "seed={hosts}").replace('"oscar"', '"constant"')
    (figure / "claims.toml").write_text(claims)
    done = incast.here("reproduce", "some", "--papers", papers, "--no-picture", "--jobs", "1")
    assert done.returncode == 2
    assert "some/fig1: the run 'run/4' failed: " in done.stderr
    assert "PFC deadlock" in done.stderr


def test_evidence_that_fails_is_told(papers: Path, incast: Incast) -> None:
    file = papers / "some" / "fig1" / "claims.toml"
    evidence = """
[[claim.evidence]]
says = "Flows"
measure = { do = "flows", run = "run/4" }
holds = "at most 1"
"""
    file.write_text(CLAIMS.replace("at least 99%", "at least 120%") + evidence)
    done = incast.here("reproduce", "some", "--papers", papers, "--no-picture")
    assert done.returncode == 0, done.stderr
    assert "Flows: 3.00, which is not at most 1: this reason fails." in " ".join(done.stdout.split())


def test_the_command_says_what_is_wrong(incast: Incast, tmp_path: Path) -> None:
    done = incast.here("reproduce", "oscar/fig99")
    assert done.returncode == 2
    assert "there is no figure 'oscar/fig99'; did you mean 'oscar/fig9'?" in done.stderr
    done = incast.here("reproduce")
    assert done.returncode == 2
    assert "which figure?" in done.stderr
    done = incast.here("reproduce", "all", "--papers", tmp_path / "nothing")
    assert done.returncode == 2
    assert "contains no figure" in done.stderr


def test_the_command_lists_all_figures(incast: Incast) -> None:
    done = incast.here("reproduce", "--list")
    assert done.returncode == 0, done.stderr
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    for name in ids(PAPERS):
        assert re.search(rf"^{name} ", done.stdout, re.MULTILINE)


def test_a_report_is_written_with_its_picture(papers: Path, incast: Incast) -> None:
    file = papers / "some" / "fig1" / "claims.toml"
    file.write_text(
        CLAIMS + '[[panel]]\ny = "q"\nlines = [{ show = "queue", run = "run/4", port = "s0->h3" }]\n'
    )
    done = incast.here("reproduce", "all", "--papers", papers, "--write", "docs/page.md")
    assert done.returncode == 0, done.stderr
    overview = (incast.folder / "docs" / "page.md").read_text()
    symbol = (
        '<span class="verdict reproduced">[●](page/some-fig1.md#full "reproduced: The link is full")</span>'
    )
    assert symbol in overview
    page = (incast.folder / "docs" / "page" / "some-fig1.md").read_text()
    assert '| <a id="full"></a>The link is full (here) | full | 100.0 % | reproduced |' in page
    assert "](some-fig1.png)" in page
    assert (incast.folder / "docs" / "page" / "some-fig1.png").read_bytes().startswith(b"\x89PNG")


def test_a_figure_written_alone_leaves_the_others_in_the_overview(papers: Path, incast: Incast) -> None:
    first, second = papers / "some" / "fig1", papers / "some" / "fig2"
    shutil.copytree(first, second)
    words = ("--papers", papers, "--no-picture", "--write", "docs/page.md")
    done = incast.here("reproduce", "all", *words, "--record")
    assert done.returncode == 0, done.stderr
    overview = incast.folder / "docs" / "page.md"
    other = incast.folder / "docs" / "page" / "some-fig1.md"
    before = other.read_text()
    rows = [row for row in overview.read_text().splitlines() if row.startswith("| [some/")]
    assert [row.partition("]")[0] for row in rows] == ["| [some/fig1", "| [some/fig2"]
    # The second figure now fails: its row and its page change, those of the first stay.
    bands = 'reproduced = "at least 99%"\ntrend = "at least 50%"\n'
    assert bands in CLAIMS
    (second / "claims.toml").write_text(CLAIMS.replace(bands, 'reproduced = "at most 1%"\n'))
    (papers / "some" / "history.toml").write_text(f'[[fig2.full]]\nwhy = "It passed."\n{bands}')
    done = incast.here("reproduce", "some/fig2", *words)
    assert done.returncode == 0, done.stderr
    now = [row for row in overview.read_text().splitlines() if row.startswith("| [some/")]
    assert now[0] == rows[0]
    assert now[1] != rows[1]
    assert "✕" in now[1]
    assert other.read_text() == before


def test_a_figure_that_cannot_be_judged_does_not_stop_the_others(papers: Path, incast: Incast) -> None:
    first, second = papers / "some" / "fig1", papers / "some" / "fig2"
    shutil.copytree(first, second)
    (first / "claims.toml").write_text(CLAIMS.replace('do = "utilisation"', 'do = "nothing"'))
    done = incast.here(
        "reproduce", "all", "--papers", papers, "--no-picture", "--write", "docs/page.md", "--record"
    )
    assert done.returncode == 2
    assert "unknown measure 'nothing'" in done.stderr
    assert done.stderr.splitlines()[-1] == "incast: not judged, for the errors above: some/fig1"
    assert "some/fig2" in done.stdout
    assert (incast.folder / "docs" / "page" / "some-fig2.md").exists()
    assert list(record.read(papers)) == ["some/fig2"]


def test_a_run_without_congestion_control_leaves_the_section_out(papers: Path) -> None:
    file = papers / "some" / "fig1" / "claims.toml"
    file.write_text(CLAIMS.replace('cc = "oscar"', 'cc = "none"'))
    (figure,) = find(papers, ["some/fig1"])
    assert [run.overrides for run in figure.runs] == [("topology.hosts=4",), ("topology.hosts=5",)]


def test_groups_have_a_bar_for_each_run(papers: Path) -> None:
    use = '{ do = "utilisation", port = "s0->h3", from = "20us", to = "100us" }'
    groups = f"""
[[panel]]
y = "use (%)"
unit = "%"
legend = "outside"
groups = [
    {{ label = "use", of = {use} }},
    {{ label = "half", of = {{ do = "ratio", of = {use}, to = {{ do = "sum", all = [{use}, {use}] }} }} }},
]
lines = [{{ run = "run/4" }}, {{ run = "run/5", label = "five", dashes = 2 }}]
"""
    (papers / "some" / "fig1" / "claims.toml").write_text(CLAIMS + groups)
    (figure,) = find(papers, ["some/fig1"])
    axes = draw(figure, run_figure(figure)).axes[0]
    heights = [bar.get_height() for container in axes.containers for bar in getattr(container, "patches", [])]
    assert heights[1] == heights[3] == pytest.approx(50)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["use", "half"]
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["run/4", "five"]


@pytest.mark.parametrize("name", ids(PAPERS))
def test_every_figure_of_the_ledger_is_sound(name: str) -> None:
    """All claims can be read, and the scenarios of all runs are right."""
    figure = read(PAPERS / name, name)
    for run in figure.runs:
        run.load(run.seeds[0] if run.seeds else None).size()
    assert figure.panels


def test_the_quick_set_has_every_algorithm() -> None:
    used: set[str] = set()
    for name in ids(PAPERS):
        figure = read(PAPERS / name, name)
        if figure.quick:
            for run in figure.runs:
                words = run.load(run.seeds[0] if run.seeds else None).to_toml()
                used.update(re.findall(r'algorithm = "([^"]+)"', words))
    assert {algorithm.name for algorithm in incast_algorithms()} - used == set()


@pytest.mark.parametrize("name", FASTEST)
def test_verdicts_are_the_recorded_ones(name: str) -> None:
    """Runs the figure again: verdicts as in papers/verdicts.json, and reasons that hold for failures."""
    (figure,) = find(PAPERS, [name])
    judgements = judge(figure, run_figure(figure))
    assert {j.claim.id: j.verdict for j in judgements} == record.read(PAPERS)[name].verdicts
    for judgement in judgements:
        if judgement.verdict is not Verdict.REPRODUCED:
            assert judgement.reason_holds, judgement.claim.id


def test_every_claim_has_a_verdict_a_page_and_a_reason_for_every_failure() -> None:
    recorded = record.read(PAPERS)
    assert list(recorded) == ids(PAPERS)
    for name in ids(PAPERS):
        page = (ROOT / "docs" / "reproduction" / site.page_name(name)).read_text()
        assert "No reason found yet" not in page, name
        assert "this reason fails" not in page, name
        claims = [claim.id for claim in read(PAPERS / name, name).claims]
        assert list(recorded[name].verdicts) == claims, name
        assert re.findall(r'<a id="([^"]+)"></a>', page) == claims, name
        shown = re.findall(r"\| ([a-z ]+) \|$", page, re.MULTILINE)
        assert shown == [verdict.value for verdict in recorded[name].verdicts.values()], name
