"""The ledger at the paper's own length, and claims with fewer seeds than their runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from blocks import block, claim, joined
from helpers import Incast, written
from incast.ledger import LedgerError, find, judge, lock, record, run_figure, setup

SCENARIO = """\
seed = 1

[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
delay = "1us"

[[traffic]]
name = "web"
kind = "poisson"
sizes = "hadoop"
load = 0.5
duration = "2ms"
tail = false
"""

LONGER = ["traffic.web.duration=6ms"]


def counted(run: str) -> dict[str, object]:
    """The measure of the number of flows of a run."""
    return {"do": "analysis", "call": "flows", "run": run}


CLAIMS = joined(
    block("[figure]", title="Length", place="Nowhere", setup="6 ms.", shows="A line."),
    block(
        "[[runs]]", name="{cc}", cc="{cc}", vary={"cc": ["swift"]}, scenario="web.toml", seeds=3, full=LONGER
    ),
    block("[[runs]]", name="short", cc="hpcc", scenario="web.toml"),
    claim("flows", "Flows", measure=counted("swift"), reproduced="at least 1", effect="none"),
    claim(
        "few",
        "Flows of two seeds",
        measure=counted("swift"),
        reproduced="at least 1",
        effect="none",
        seeds=2,
    ),
    claim("other", "Of the other run", measure=counted("short"), reproduced="at least 1", effect="none"),
    claim(
        "both",
        "Of both",
        measure={"do": "ratio", "of": counted("swift"), "to": counted("short")},
        reproduced="0.1 to 10",
        equal=True,
    ),
)

ANALYSIS = '''\
"""For the test."""


def flows(results, run):
    return float(len(results.view(run).result.flows))
'''


def claiming(folder: Path, claims: str) -> Path:
    """Writes a paper `some` with the figure `fig1`, and returns the folder of papers."""
    files = {"claims.toml": claims, "analysis.py": ANALYSIS, "web.toml": SCENARIO}
    return written(folder / "papers", {f"some/fig1/{name}": text for name, text in files.items()})


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    return claiming(tmp_path, CLAIMS)


def test_only_claims_whose_runs_are_all_longer_are_measured_at_full_length(papers: Path) -> None:
    (figure,) = find(papers, ["some"])
    longer = figure.at_full_length()
    assert longer is not None
    assert [one.id for one in longer.claims] == ["flows", "few"]
    assert [(spec.name, spec.seeds, spec.overrides[-1]) for spec in longer.runs] == [
        ("swift", (1,), "traffic.web.duration=6ms")
    ]
    (papers / "some" / "fig1" / "claims.toml").write_text(
        CLAIMS.replace('full = ["traffic.web.duration=6ms"]', "")
    )
    assert find(papers, ["some"])[0].at_full_length() is None


def test_the_full_pass_is_recorded_apart_and_shown_beside(papers: Path, incast: Incast) -> None:
    """6 ms have three times the arrivals of 2 ms: Poisson, so within a factor."""
    words = ("reproduce", "all", "--papers", papers, "--no-picture")
    assert incast.here(*words, "--record").returncode == 0
    locked = (papers / lock.FILE).read_text()
    done = incast.here(*words, "--full", "--record")
    assert done.returncode == 0, done.stderr
    assert (papers / lock.FILE).read_text() == locked
    short, full = record.read(papers)["some/fig1"], record.read(papers, record.FULL)["some/fig1"]
    assert list(full.claims) == ["flows", "few"]
    assert "seeds" not in full.claims["flows"].ours
    once = float(full.claims["flows"].ours)
    mean = float(short.claims["flows"].ours.split(" (")[0])
    assert 2 * mean < once < 4 * mean
    done = incast.here(*words, "--recorded", "--write", "docs/page.md")
    assert done.returncode == 0, done.stderr
    page = (incast.folder / "docs" / "page" / "some-fig1.md").read_text()
    assert "| At the paper's length |" in page
    assert f'| {once:.0f} <span class="verdict reproduced">●</span> | reproduced |' in page
    assert "`incast reproduce some/fig1 --full`, one seed" in page
    overview = " ".join((incast.folder / "docs" / "page.md").read_text().split())
    assert "2 claims of 1 figure, whose runs are shorter here" in overview
    assert "2 have the same verdict, 0 a better one, 0 a worse one" in overview


@pytest.mark.parametrize("other", ["--check", "--recorded", "--quick", "--write"])
def test_a_full_pass_judges_nothing_anew(papers: Path, incast: Incast, other: str) -> None:
    words = [other, "docs/page.md"] if other == "--write" else [other]
    done = incast.here("reproduce", "all", "--papers", papers, "--full", *words)
    assert done.returncode == 2
    assert f"--full cannot be combined with {other}" in done.stderr


def test_a_figure_without_longer_runs_has_no_full_pass(papers: Path, incast: Incast) -> None:
    (papers / "some" / "fig1" / "claims.toml").write_text(
        CLAIMS.replace('full = ["traffic.web.duration=6ms"]', "")
    )
    done = incast.here("reproduce", "all", "--papers", papers, "--full")
    assert done.returncode == 2
    assert "the runs of none of these figures are shorter than the paper's" in done.stderr


def test_a_claim_is_judged_by_the_first_of_its_seeds(papers: Path) -> None:
    """The mean of seeds 1 and 2 is half of the sum of the values that each has alone."""
    (figure,) = find(papers, ["some"])
    results = run_figure(figure)
    each = [len(results.view("swift").result.flows) for _ in results.replicas()]
    found = {one.claim.id: one.ours for one in judge(figure, results)}
    assert sum(each[:2]) / 2 != sum(each) / 3
    assert (found["flows"].seeds, found["few"].seeds) == (3, 2)
    assert found["flows"].value.value == pytest.approx(sum(each) / 3)
    assert found["few"].value.value == sum(each[:2]) / 2


def test_the_number_of_seeds_is_part_of_the_rule(papers: Path) -> None:
    (figure,) = find(papers, ["some"])
    of = {one.id: lock.digests(figure, one)[-1] for one in figure.claims}
    assert of["flows"] != of["few"]
    (papers / "some" / "history.toml").write_text(
        '[[fig1.few]]\nwhy = "The set-up has 2."\nreproduced = "at least 1"\nseeds = 3\n'
    )
    (figure,) = find(papers, ["some"])
    few = next(one for one in figure.claims if one.id == "few")
    assert lock.digests(figure, few) == (of["flows"], of["few"])


def test_the_set_up_looks_at_the_seeds_behind_each_verdict(papers: Path) -> None:
    (papers / "some" / "setup.toml").write_text(
        '[[entry]]\nkey = "seeds"\nvalue = "two"\nsource = "s"\nholds = { seeds = "2" }\n'
        '[[baseline]]\ncc = "swift:paper"\nsource = "s"\n[[baseline]]\ncc = "hpcc:paper"\nsource = "s"\n'
    )
    (figure,) = find(papers, ["some"])
    found = [each for each in setup.read(papers, "some").differences(figure) if each.key == "seeds"]
    assert [(each.run, each.here, each.setup) for each in found] == [("swift", "3", "2")]


@pytest.mark.parametrize(("seeds", "message"), [(4, "its runs do not have as many"), (1, "at least 2")])
def test_wrong_numbers_of_seeds_are_refused(papers: Path, seeds: int, message: str) -> None:
    (papers / "some" / "fig1" / "claims.toml").write_text(CLAIMS.replace("seeds = 2", f"seeds = {seeds}"))
    with pytest.raises(LedgerError, match=message):
        find(papers, ["some"])


def test_the_record_has_the_same_form(papers: Path, incast: Incast) -> None:
    assert (
        incast.here("reproduce", "all", "--papers", papers, "--no-picture", "--full", "--record").returncode
        == 0
    )
    table = json.loads((papers / record.FULL).read_text())
    assert set(table["some/fig1"]) == {"made", "wall_s", "hops", "claims"}


def test_the_rule_before_one_with_fewer_seeds_names_its_own(papers: Path) -> None:
    """The lock would take the number of the claim for it, and the judge all seeds."""
    history = papers / "some" / "history.toml"
    history.write_text('[[fig1.few]]\nwhy = "Seeds."\nreproduced = "at least 1"\neffect = "none"\n')
    with pytest.raises(LedgerError, match=r"its last rule in history\.toml must name its seeds"):
        find(papers, ["some"])


def test_what_is_judged_is_recorded_though_the_overview_cannot_be_written(
    papers: Path, incast: Incast
) -> None:
    """The overview needs a value for every rule of today, also of figures that are not run now."""
    words = ("reproduce", "--papers", papers, "--no-picture", "--record")
    assert incast(*words, "all").returncode == 0
    other = papers / "some" / "fig2"
    other.mkdir()
    for name in ("analysis.py", "web.toml", "claims.toml"):
        (other / name).write_text((papers / "some" / "fig1" / name).read_text())
    claims = papers / "some" / "fig1" / "claims.toml"
    claims.write_text(
        claims.read_text()
        + claim("new", "New", measure=counted("short"), reproduced="at least 1", effect="none")
    )
    done = incast.here(*words, "some/fig2", "--write", "docs/page.md")
    assert done.returncode == 2
    assert "claim 'new': verdicts.json does not have its values" in done.stderr
    assert "some/fig2" in record.read(papers)
