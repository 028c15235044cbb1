"""The ledger where runs have several seeds, where a figure is analysis only, and the recorded verdicts."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from blocks import block, claim, joined
from helpers import Incast, Wrong, refusal, written, written_wrongly
from incast.ledger import LedgerError, Verdict, find, judge, run_figure
from incast.ledger.band import Band
from incast.ledger.figure import Claim
from incast.ledger.found import Found
from incast.ledger.judge import verdict_of
from incast.ledger.record import Change
from incast.results.measures.quantity import Quantity

POISSON = """\
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
delay = "1us"

[[traffic]]
name = "web"
kind = "poisson"
sizes = "websearch"
load = 0.8
duration = "20ms"
"""

CLAIMS = joined(
    block("[figure]", title="Seeds", place="Nowhere", setup="Set-up.", shows="A line.", quick=True),
    block("[[runs]]", name="swift", cc="swift", scenario="poisson.toml", seeds=3),
    block("[[runs]]", name="fixed", cc="swift", scenario="poisson.toml"),
    claim(
        "slower",
        "Mean slowdown",
        measure={"do": "slowdown", "run": "swift", "stat": "p50"},
        unit="x",
        reproduced="at least 1x",
    ),
    claim(
        "same",
        "A run against itself",
        measure={
            "do": "ratio",
            "of": {"do": "analysis", "call": "finished", "run": "swift"},
            "to": {"do": "analysis", "call": "finished", "run": "swift"},
        },
        reproduced="1 to 1",
        equal=True,
    ),
    claim(
        "fixed",
        "Without seeds",
        measure={"do": "slowdown", "run": "fixed", "stat": "mean"},
        reproduced="at least 1",
    ),
)

ANALYSIS = '''\
"""For the test."""

from incast.results.measures.quantity import Quantity


def finished(results, run):
    return float((results.view(run).result.flows.column("delivered_ps") > 0).sum())


def square(of):
    return Quantity(float(of) ** 2, "time")


def curve(n):
    return list(range(n)), list(range(n))
'''

ALONE = joined(
    block("[figure]", title="Analysis", place="Nowhere", setup="Set-up.", shows="A line."),
    claim(
        "square",
        "A square",
        paper="9 s",
        measure={"do": "analysis", "call": "square", "of": "3"},
        unit="s",
        reproduced="9s to 9s",
        effect="none",
    ),
    block("[[panel]]", y="y", x="x", lines=[{"show": "analysis", "call": "curve", "n": 4, "label": "line"}]),
)


HISTORY = """\
[[seeds.slower]]
why = "It was too strict."
reproduced = "at least 1000x"
trend = "at least 500x"

[[seeds.slower]]
why = "It measured another thing."
measure = { do = "flows", run = "fixed" }
unit = ""
reproduced = "at least 1"
"""


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    for name, claims in (("seeds", CLAIMS), ("alone", ALONE)):
        files = {"claims.toml": claims, "analysis.py": ANALYSIS, "poisson.toml": POISSON}
        written(tmp_path / "papers/some" / name, files)
    return written(tmp_path / "papers", {"some/history.toml": HISTORY})


def over(values: Iterable[float]) -> Found:
    return Found.over([Quantity(value) for value in values])


def rule(reproduced: str, trend: str | None) -> Claim:
    both = Band.parse(reproduced), Band.parse(trend) if trend else None
    return Claim("c", "", "", "", {}, "", *both, "", "")


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        # Mean 10, s = 1, t(2) = 4.303: 10 ± 2.484.
        ([9, 10, 11], Verdict.REPRODUCED),
        # 6.5 ± 2.484 has its lower end at 4.02: in the trend's band.
        ([5.5, 6.5, 7.5], Verdict.TREND),
        # 5 ± 2.484 reaches below 4.
        ([4, 5, 6], Verdict.UNDECIDED),
        # 1 ± 0.2484 is outside of both.
        ([0.9, 1, 1.1], Verdict.NOT_REPRODUCED),
        # The same mean as the first, with s = 4: 10 ± 9.94, which leaves the band at both ends.
        ([6, 10, 14], Verdict.UNDECIDED),
        ([7, 8, math.inf], Verdict.UNDECIDED),
        ([math.nan, 10, 10], Verdict.NOT_REPRODUCED),
        ([10, 10, 10], Verdict.REPRODUCED),
    ],
)
def test_the_verdict_is_that_of_the_whole_interval(values: list[float], verdict: Verdict) -> None:
    assert verdict_of(rule("7 to 13", "4 to 13"), over(values)) is verdict


def test_bands_that_do_not_overlap_are_not_joined() -> None:
    def of(*values: float) -> Verdict:
        return verdict_of(rule("7 to 13", "1 to 2"), over(values))

    assert of(1.5, 1.5, 1.5) is Verdict.TREND
    assert of(4, 4, 4) is Verdict.NOT_REPRODUCED
    assert of(1, 8, 8) is Verdict.UNDECIDED


def test_infinite_values_are_no_evidence() -> None:
    """An infinite value is undecided where a band would hold it; by earlier rules it was reproduced."""
    found = over([5.0, math.inf, 7.0])
    assert verdict_of(rule("at least 4", None), found) is Verdict.UNDECIDED
    assert verdict_of(rule("at least 4", None), found, bounded=False) is Verdict.REPRODUCED
    assert verdict_of(rule("at most 4", None), found) is Verdict.NOT_REPRODUCED
    never = Found.once(Quantity(math.inf, "time"))
    band = Claim("c", "", "", "", {}, "us", Band.parse("at most 4us"), None, "", "")
    assert verdict_of(band, never) is Verdict.NOT_REPRODUCED


def test_claims_are_measured_with_each_seed(papers: Path) -> None:
    (figure,) = find(papers, ["some/seeds"])
    assert figure.replicas == 3
    results = run_figure(figure)
    prints = [replica["swift"].fingerprint for replica in results.replicas()]
    assert len(set(prints)) == 3
    assert len({replica["fixed"].fingerprint for replica in results.replicas()}) == 1
    # The scenario's own seed is 1.
    assert results["fixed"].fingerprint == prints[0]
    slower, same, fixed = judge(figure, results)
    assert slower.verdict is Verdict.REPRODUCED
    slowdowns = [np.sort(r["swift"].flow_times().slowdown) for r in results.replicas()]
    each = [float(of_seed[(len(of_seed) - 1) // 2]) for of_seed in slowdowns]
    assert slower.ours.seeds == 3
    assert slower.ours.value.value == pytest.approx(sum(each) / 3, rel=0.1)
    assert slower.ours.value.samples == sum(len(r["swift"].flow_times().slowdown) for r in results.replicas())
    assert "3 seeds; n = " in slower.ours.shown("x")
    assert [verdict for _, verdict in slower.earlier] == [Verdict.NOT_REPRODUCED, Verdict.REPRODUCED]
    assert [found.seeds for found, _ in slower.earlier] == [3, 0]
    assert [rule.why for rule in slower.claim.earlier] == [
        "It was too strict.",
        "It measured another thing.",
    ]
    assert same.earlier == ()
    assert same.ours.seeds == 3
    assert (same.ours.low, same.ours.high) == (1.0, 1.0)
    assert fixed.ours.seeds == 0


def test_a_figure_can_be_analysis_only(papers: Path, incast: Incast) -> None:
    done = incast.here("reproduce", "some/alone", "--papers", papers)
    assert done.returncode == 0, done.stderr
    assert "ours: 9.00 s" in done.stdout
    assert "no runs: analysis only" in done.stdout
    assert (incast.folder / "results" / "reproduce" / "some-alone.png").exists()


@written_wrongly(
    {
        'call = "square" → call = "cube"': "there is no function 'cube'",
        'call = "square" → calls = "square"': "the measure 'analysis': missing: call",
        'of = "3" → at = "3"': "square: missing a required argument: 'of'",
        '\n\n[[panel]] → \n[[claim.earlier]]\nwhy = "x"\n\n[[panel]]': "unknown: earlier",
    }
)
def test_what_is_wrong_with_an_analysis_is_explained(papers: Path, wrong: Wrong) -> None:
    def judged() -> None:
        (figure,) = find(papers, ["some/alone"])
        judge(figure, run_figure(figure))

    refusal(papers / "some" / "alone" / "claims.toml", wrong, judged)


@written_wrongly(
    {
        'reproduced = "at least 1000x" → ': "seeds.slower: number 1: reproduced is missing",
        'reproduced = "at least 1000x" → reproduced = "at least 3s"': "does not match the unit 'x'",
        'why = "It measured → whose = "It measured': "seeds.slower: number 2: why is missing",
        "[[seeds.slower]] → [[seeds.slowest]]": "history.toml: seeds: unknown: slowest",
        "[[seeds.slower]] → [seeds.slower]": "history.toml: ",
        "[[seeds.slower]] → [[nothing.slower]]": "history.toml: there is no figure nothing",
        "[[seeds.slower]] → [[alone]]": "history.toml: alone: must be a table",
    }
)
def test_wrong_earlier_rules_are_explained(papers: Path, wrong: Wrong) -> None:
    file = papers / "some" / "history.toml"
    file.write_text(HISTORY)
    assert "history.toml" in refusal(file, wrong, lambda: find(papers, ["all"]))


def test_figures_can_share_an_analysis(papers: Path) -> None:
    alone = papers / "some" / "alone"
    shared = papers / "some" / "shared"
    shared.mkdir()
    words = (alone / "claims.toml").read_text()
    beside = words.replace("[figure]\n", '[figure]\nanalysis = "../alone/analysis.py"\n', 1)
    (shared / "claims.toml").write_text(beside)
    both = [judge(figure, run_figure(figure)) for figure in find(papers, ["some/alone", "some/shared"])]
    assert [j.ours for j in both[0]] == [j.ours for j in both[1]]
    (shared / "claims.toml").write_text(beside.replace("../alone", "../nothing"))
    with pytest.raises(LedgerError, match=r"analysis: there is no .*nothing/analysis\.py"):
        find(papers, ["some/shared"])


def test_numbers_of_seeds_that_do_not_fit_are_refused(papers: Path) -> None:
    file = papers / "some" / "seeds" / "claims.toml"
    file.write_text(CLAIMS.replace("seeds = 3", "seeds = 1"))
    with pytest.raises(LedgerError, match="seeds must be at least 2"):
        find(papers, ["some/seeds"])
    file.write_text(CLAIMS.replace('name = "fixed"', 'name = "fixed"\nseeds = 4'))
    with pytest.raises(LedgerError, match="need the same number"):
        find(papers, ["some/seeds"])


def test_a_worse_verdict_fails_the_check(papers: Path, incast: Incast) -> None:
    words = ("reproduce", "all", "--quick", "--papers", papers, "--no-picture")
    done = incast.here(*words, "--record")
    assert done.returncode == 0, done.stderr
    # Only one of the two figures is in the quick set.
    recorded = json.loads((papers / "verdicts.json").read_text())
    assert list(recorded) == ["some/seeds"]
    assert recorded["some/seeds"]["wall_s"] >= 0
    assert recorded["some/seeds"]["hops"] > 0
    claims = recorded["some/seeds"]["claims"]
    assert {name: entry["verdict"] for name, entry in claims.items()} == dict.fromkeys(
        ("slower", "same", "fixed"), "reproduced"
    )
    assert claims["same"]["ours"] == "1 (1 to 1, 3 seeds)"
    done = incast.here(*words, "--check")
    assert done.returncode == 0
    assert "no verdict is worse than recorded, no value is outside" in done.stdout
    # A rule that changes is refused, until the old one stands in the history with the reason.
    file = papers / "some" / "seeds" / "claims.toml"
    file.write_text(CLAIMS.replace('reproduced = "1 to 1"\nequal = true', 'reproduced = "2 to 3"'))
    refused = incast.here(*words, "--check")
    assert refused.returncode == 2
    assert "the rule is not the one in rules.lock" in refused.stderr
    assert "claims.toml: claim 'same'" in refused.stderr
    # So is a claim that drops what it says of its effect.
    file.write_text(CLAIMS.replace("equal = true", 'effect = "none"'))
    assert "claim 'same'" in incast.here(*words, "--check").stderr
    file.write_text(CLAIMS.replace('reproduced = "1 to 1"\nequal = true', 'reproduced = "2 to 3"'))
    history = papers / "some" / "history.toml"
    history.write_text(
        HISTORY + '[[seeds.same]]\nwhy = "It was too easy."\nreproduced = "1 to 1"\nequal = true\n'
    )
    worse = incast.here(*words, "--check")
    assert worse.returncode == 1
    assert "worse than recorded: some/seeds same: reproduced -> not reproduced" in worse.stderr
    assert incast.here(*words, "--record").returncode == 0
    (line,) = [
        line
        for line in (papers / "rules.lock").read_text().splitlines()
        if line.startswith("some/seeds same ")
    ]
    assert line.split()[2] == "reproduced"
    assert len(line.split()) == 5


def test_a_value_that_moves_fails_the_check(papers: Path, incast: Incast) -> None:
    words = ("reproduce", "some/seeds", "--papers", papers, "--no-picture")
    assert incast.here(*words, "--record").returncode == 0
    file = papers / "verdicts.json"
    value = json.loads(file.read_text())["some/seeds"]["claims"]["fixed"]["ours"]
    number = float(value.partition("×")[0])
    file.write_text(file.read_text().replace(value, value.replace(f"{number:.5f}", f"{number * 1.02:.5f}")))
    moved = incast.here(*words, "--check")
    assert moved.returncode == 1
    assert "outside of the recorded interval: some/seeds fixed: reproduced (" in moved.stderr
    assert "no verdict is worse than recorded, 1 value is outside" in moved.stdout


def test_recorded_values_are_judged_by_rules_of_today(papers: Path, incast: Incast) -> None:
    """A rule that changes needs no run."""
    words = ("reproduce", "some/seeds", "--papers", papers, "--no-picture")
    first = incast.here(*words, "--record", "--write", "page.md")
    page = incast.folder / "page" / "some-seeds.md"
    before = page.read_text()
    shutil.rmtree(incast.folder / "incast-results")
    again = incast.here(*words, "--recorded", "--write", "page.md")
    assert again.returncode == 0, again.stderr
    assert again.stdout == first.stdout.replace(f"recorded in {papers / 'verdicts.json'}\n", "")
    assert page.read_text() == before
    assert not (incast.folder / "incast-results").exists()
    file = papers / "verdicts.json"
    file.write_text(file.read_text().replace('"fixed": {', '"other": {'))
    refused = incast.here(*words, "--recorded")
    assert refused.returncode == 2
    assert "claim 'fixed': verdicts.json does not have its values" in refused.stderr
    # What is better, or new, is not worse; what is gone is.
    assert not Change("f", "c", Verdict.TREND, Verdict.REPRODUCED).is_worse
    assert not Change("f", "c", None, Verdict.NOT_REPRODUCED).is_worse
    assert Change("f", "c", Verdict.TREND, None).is_worse
    assert Change("f", "c", Verdict.TREND, Verdict.UNDECIDED).is_worse


def test_without_a_quick_figure_nothing_runs(papers: Path, incast: Incast) -> None:
    done = incast.here("reproduce", "some/alone", "--quick", "--papers", papers)
    assert done.returncode == 2
    assert "none of these figures is in the quick set" in done.stderr
