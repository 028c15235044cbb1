"""Runs at which only earlier rules look: they are made once, and what they gave stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from blocks import block, claim, joined
from helpers import Incast, written
from incast.ledger import find, record
from test_ledger_full import claiming, counted

OTHER = ["traffic.web.load=0.2"]

CLAIMS = joined(
    block("[figure]", title="Earlier", place="Nowhere", setup="2 ms.", shows="A line."),
    block("[[runs]]", name="now", cc="swift", scenario="web.toml"),
    block("[[runs]]", name="before", cc="swift", scenario="web.toml", set=OTHER),
    claim("flows", "Flows", measure=counted("now"), reproduced="at least 1", effect="none"),
)

HISTORY = """\
[[fig1.flows]]
why = "It was another load."
measure = { do = "analysis", call = "flows", run = "before" }
reproduced = "at least 1"
effect = "none"
"""


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    return written(claiming(tmp_path, CLAIMS), {"some/history.toml": HISTORY})


def names(papers: Path, more: str = "") -> tuple[list[str], list[str]]:
    """The runs of today and those left out, with more in the file of claims."""
    file = papers / "some" / "fig1" / "claims.toml"
    file.write_text(CLAIMS + more)
    figure = find(papers, ["some"])[0].of_today()
    return [spec.name for spec in figure.runs], [spec.name for spec in figure.left_out]


def test_only_what_nothing_of_today_looks_at_is_left_out(papers: Path) -> None:
    assert names(papers) == (["now"], ["before"])
    line = '\n[[panel]]\ny = "q"\nlines = [{ show = "queue", run = "bef*", port = "s0->h1" }]\n'
    assert names(papers, line) == (["now", "before"], [])
    # A function that is given all runs may look at any of them; one that is not looks at none.
    line = '\n[[panel]]\ny = "q"\nlines = [{ show = "analysis", call = "CALL" }]\n'
    assert names(papers, line.replace("CALL", "flows")) == (["now", "before"], [])
    with (papers / "some" / "fig1" / "analysis.py").open("a") as file:
        file.write("\n\ndef curve():\n    return [0, 1], [0, 1]\n")
    assert names(papers, line.replace("CALL", "curve")) == (["now"], ["before"])


def test_seeds_that_no_verdict_of_today_has_are_left_out(papers: Path) -> None:
    """Three seeds, of which two are judged: a rule with all three, or with no number, was of all."""
    file = papers / "some" / "fig1" / "claims.toml"
    file.write_text(
        CLAIMS.replace('scenario = "web.toml"', 'scenario = "web.toml"\nseeds = 3') + "seeds = 2\n"
    )
    rule = '[[fig1.flows]]\nwhy = "Seeds."\nreproduced = "at least 1"\neffect = "none"\n'
    history = papers / "some" / "history.toml"
    history.write_text("".join(rule + more for more in ("", "seeds = 3\n", "seeds = 2\n")))
    figure = find(papers, ["some"])[0].of_today()
    assert [spec.seeds for spec in figure.runs] == [(1, 2), (1, 2)]
    assert [figure.is_left_out(each) for each in figure.claims[0].earlier] == [True, True, False]


def test_a_run_that_no_rule_names_is_made(papers: Path) -> None:
    """It may be there for readers who run the figure."""
    (papers / "some" / "history.toml").unlink()
    assert names(papers) == (["now", "before"], [])


def test_what_an_earlier_rule_gave_once_stays(papers: Path, incast: Incast) -> None:
    words = ("reproduce", "all", "--papers", papers, "--no-picture", "--record")
    done = incast.here(*words)
    assert done.returncode == 2
    assert "--earlier makes these runs" in done.stderr
    assert incast.here(*words, "--earlier").returncode == 0
    both = record.read(papers)["some/fig1"]
    assert both.claims["flows"].earlier != (both.claims["flows"].ours,)
    done = incast.here(*words)
    assert done.returncode == 0, done.stderr
    one = record.read(papers)["some/fig1"]
    assert one.claims == both.claims
    assert one.hops < both.hops


def test_the_rule_that_was_recorded_last_is_the_newest_earlier_one(papers: Path, incast: Incast) -> None:
    """A claim moves to another run: its value so far goes to the rule that is replaced."""
    words = ("reproduce", "all", "--papers", papers, "--no-picture", "--record")
    history = papers / "some" / "history.toml"
    history.unlink()
    file = papers / "some" / "fig1" / "claims.toml"
    file.write_text(CLAIMS.replace('run = "now"', 'run = "before"'))
    assert incast.here(*words).returncode == 0
    before = record.read(papers)["some/fig1"].claims["flows"]
    file.write_text(CLAIMS)
    history.write_text(HISTORY)
    done = incast.here(*words)
    assert done.returncode == 0, done.stderr
    after = record.read(papers)["some/fig1"].claims["flows"]
    assert after.earlier == (before.ours,)
    assert after.ours != before.ours


def test_a_rule_with_other_bands_needs_no_run(papers: Path, incast: Incast) -> None:
    words = ("reproduce", "all", "--papers", papers, "--no-picture", "--record")
    history = papers / "some" / "history.toml"
    history.unlink()
    assert incast.here(*words).returncode == 0
    before = record.read(papers)["some/fig1"].claims["flows"]
    file = papers / "some" / "fig1" / "claims.toml"
    file.write_text(CLAIMS.replace("at least 1", "at least 1000"))
    history.write_text('[[fig1.flows]]\nwhy = "Stricter."\nreproduced = "at least 1"\neffect = "none"\n')
    done = incast.here(*words, "--recorded")
    assert done.returncode == 0, done.stderr
    after = record.read(papers)["some/fig1"].claims["flows"]
    assert (after.ours, after.earlier) == (before.ours, (before.ours,))
    assert (before.verdict.value, after.verdict.value) == ("reproduced", "not reproduced")
    # With another measure there is no value for the rule of today.
    file.write_text(CLAIMS.replace('run = "now"', 'run = "before"'))
    first = HISTORY.replace('"before"', '"now"')
    history.write_text(first + first.replace("at least 1", "at least 1000"))
    done = incast.here(*words, "--recorded")
    assert done.returncode == 2
    assert "verdicts.json does not have its values" in done.stderr
