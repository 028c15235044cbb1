"""The rules for the bands of all claims, by numbers worked by hand; the lock; the headlines."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

import pytest

from blocks import block, joined
from helpers import ROOT
from incast.ledger import LedgerError, Verdict, find, lock, record
from incast.ledger.band import Band
from incast.ledger.figure import Claim
from incast.ledger.found import RECORDED, Found
from incast.ledger.headlines import read as headlines
from incast.ledger.judge import verdict_of
from incast.ledger.kinds import Kind, kind_of
from incast.ledger.rule import (
    BETTER,
    DIFFERENCE,
    IMPROVEMENT,
    RATIO,
    SCALES,
    SHARE,
    Bands,
    faults,
    limits,
    printed,
    scale_of,
)
from incast.results.measures.quantity import Quantity

PAPERS = ROOT / "papers"


def bands(reproduced: str, trend: str | None, effect: str, value: float | None, equal: bool = False) -> Bands:
    return Bands(
        Band.parse(reproduced), Band.parse(trend) if trend else None, SCALES.get(effect), value, equal
    )


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("48.1 %", "%", 0.481),
        ("7.6 % worse", "%", 0.076),
        ("about 33 %", "%", 0.33),
        ("9.9 times", "x", 9.9),
        ("0.35×", "x", 0.35),
        ("29.3 us", "us", 29.3e-6),
        ("11,345 KB", "KB", 11.345e6),
        ("1 us", "ms", 1e-6),
        ("5", "", 5),
        # Words, a list, another kind of number.
        ("all 20", "%", None),
        ("80/25 = 3.2x", "x", None),
        ("16.4 %", "x", None),
        ("5 us", "KB", None),
    ],
)
def test_the_papers_number_is_read(text: str, unit: str, value: float | None) -> None:
    found = printed(text, unit)
    assert (found and found.value) == (value and pytest.approx(value))


@pytest.mark.parametrize(
    ("written", "ends"),
    [
        # 48.1 % better is a ratio of 1.481: its cube root is 1.1399, its cube 3.2484.
        (("36.1% to 60.1%", None, "better", 0.481), (0.1399, 2.2484)),
        # The other sign in the text, "8 % worse", where better is positive: 0.92, 0.9726, 0.7787.
        (("-16% to -4%", None, "better", 0.08), (-0.2213, -0.0274)),
        # 74 % lower leaves 0.26: 0.6383 and 0.0176.
        (("64% to 84%", None, "improvement", 0.74), (0.3617, 0.9824)),
        # Four times: 1.5874 and 64.
        (("3x to 5x", None, "ratio", 4.0), (1.5874, 64.0)),
        # "More than twice", in words: no upper end.
        (("at least 2x", None, "ratio", None), (1.2599, math.inf)),
        # Better, in words: nothing is left for a trend.
        (("at most 1x", None, "ratio", None), (0.0, 1.0)),
        # No effect, give or take a tenth: three times as far.
        (("0.9x to 1.1x", None, "ratio", 1.0, True), (0.729, 1.331)),
        # All points of a comparison: half of the points would be no effect, two of three a third of it.
        (("at least 100%", None, "share", None), (2 / 3, math.inf)),
        # A plain value.
        (("60KB to 90KB", None, "", 75e3), (25e3, 225e3)),
        (("at most 20KB", None, "", None), (-math.inf, 60e3)),
        (("at least 95%", None, "", None), (0.95 / 3, math.inf)),
        (("-0.1 to 0.1", None, "", 0.0), (-0.3, 0.3)),
    ],
)
def test_a_trend_has_a_third_to_three_times_the_effect(
    written: tuple[str, str | None, str, float | None], ends: tuple[float, float]
) -> None:
    assert limits(bands(*written)) == pytest.approx(ends, abs=6e-5)


@pytest.mark.parametrize(
    ("written", "unit", "words"),
    [
        (("2.5% to 17.6%", "2.48% to 24%", "better", 0.076), "%", []),
        (("-2.4% to 17.6%", None, "better", 0.076), "%", ["contains no effect, 0 %"]),
        (("at least 0%", "at least -5%", "better", None), "%", ["trend = 'at least -5%' is wider"]),
        (("at least 0.8x", None, "ratio", None), "x", ["contains no effect, 1.00×"]),
        (("0.8x to 1.25x", "0.67x to 1.5x", "ratio", None, True), "x", []),
        (("1.1x to 1.25x", None, "ratio", None, True), "x", ["does not contain no effect"]),
        (("at least 40%", None, "share", None), "%", ["contains no effect, 50.0 %"]),
        (("at least 90%", "at least 60%", "share", None), "%", ["trend = 'at least 60%' is wider"]),
        (("36% to 60%", "at least 1%", "better", 0.481), "%", ["trend = 'at least 1%' is wider"]),
        (("1% to 80%", None, "better", 0.481), "%", ["reproduced = '1% to 80%' is wider"]),
        (("50KB to 70KB", None, "", 75e3), "KB", ["does not contain the paper's number, 75.0 KB"]),
        # An improvement cannot be above 100 %, so that this end is as good as open.
        (("at least 55%", "at least 30%", "improvement", None), "%", []),
    ],
)
def test_a_band_must_be_able_to_fail(
    written: tuple[str, str | None, str, float | None], unit: str, words: list[str]
) -> None:
    found = faults(bands(*written), unit)
    assert len(found) == len(words)
    for fault, word in zip(found, words, strict=True):
        assert word in fault


def test_an_average_of_comparisons_has_their_scale() -> None:
    ratio = {"do": "ratio", "of": {"do": "queue"}, "to": {"do": "queue"}}
    assert scale_of(ratio) is RATIO
    assert scale_of({"do": "mean", "all": [ratio, ratio]}) is RATIO
    assert scale_of({"do": "median", "each": "x/*", "of": {"do": "better"}}) is BETTER
    assert scale_of({"do": "largest", "all": [ratio, {"do": "improvement"}]}) is None
    assert scale_of({"do": "queue"}) is None
    assert scale_of({"do": "improvement"}) is IMPROVEMENT
    assert scale_of({"do": "flatness"}) is RATIO
    assert scale_of({"do": "share_closer"}) is SHARE
    assert scale_of({"do": "smallest", "each": "x/*", "of": {"do": "distance"}}) is DIFFERENCE


OWN = {"do": "analysis", "call": "gain"}
"""The measure of a function of the figure's own."""


def claimed(folder: Path, **keys: object) -> Claim:
    """A claim, read from a figure that has no other.

    Raises:
        LedgerError: When the claim breaks a rule.
    """
    figure = folder / "some" / "gain"
    figure.mkdir(parents=True)
    (figure / "analysis.py").write_text("def gain():\n    return 1.5\n")
    head = block("[figure]", title="Gain", place="Nowhere", setup="Set-up.", shows="A line.")
    words = {
        "id": "gain",
        "says": "A gain",
        "place": "here",
        "paper": "it",
        "rule": "As it says.",
        "unit": "x",
    }
    (figure / "claims.toml").write_text(joined(head, block("[[claim]]", **words, **keys)))
    return find(folder, ["some/gain"])[0].claims[0]


@pytest.mark.parametrize(
    "measure",
    [
        OWN,
        {"do": "smallest", "all": [OWN, OWN]},
        {"do": "median", "each": "run/*", "of": OWN},
        {"do": "sum", "all": [{"do": "queue", "run": "r"}, OWN]},
    ],
)
def test_a_claim_by_a_function_of_the_figure_says_whether_it_is_of_an_effect(
    tmp_path: Path, measure: dict[str, object]
) -> None:
    with pytest.raises(LedgerError, match="claim 'gain': must say whether its value is an effect"):
        claimed(tmp_path / "unsaid", measure=measure, reproduced="at least 1.5x")
    said = claimed(tmp_path / "none", measure=measure, reproduced="at least 1.5x", effect="none")
    assert said.bands.scale is None
    said = claimed(tmp_path / "ratio", measure=measure, reproduced="at least 1.5x", effect="ratio")
    assert said.bands.scale is RATIO


def test_a_comparison_whose_measure_has_a_scale_need_not_name_it(tmp_path: Path) -> None:
    ratio = {"do": "ratio", "of": OWN, "to": OWN}
    assert claimed(tmp_path, measure=ratio, reproduced="at least 1.5x").effect == "ratio"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"reproduced": "at least 1x", "trend": "at least 0.8x"}, "trend = 'at least 0.8x' is wider"),
        ({"reproduced": "at least 1.5x", "trend": "at least 1x"}, "trend = 'at least 1x' is wider"),
        ({"reproduced": "at least 0.9x"}, "contains no effect, 1.00×"),
    ],
)
def test_a_function_of_the_figure_has_no_band_with_no_effect(
    tmp_path: Path, keys: dict[str, object], words: str
) -> None:
    with pytest.raises(LedgerError, match=words):
        claimed(tmp_path / "ratio", measure=OWN, effect="ratio", **keys)
    assert claimed(tmp_path / "none", measure=OWN, effect="none", **keys).effect == ""


def test_a_claim_that_compares_nothing_has_the_digest_that_it_had_before(tmp_path: Path) -> None:
    plain = claimed(tmp_path / "a", measure=OWN, reproduced="at least 1.5x", effect="none")
    ratio = claimed(tmp_path / "b", measure=OWN, reproduced="at least 1.5x", effect="ratio")
    figure = find(tmp_path / "a", ["some/gain"])[0]
    # Of measure, unit, band, no trend, no seeds, and nothing else.
    parts = [OWN, "x", "at least 1.5x", None, 0]
    written = json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()
    assert lock.digests(figure, plain) == (hashlib.sha256(written).hexdigest()[:12],)
    assert lock.digests(figure, ratio) != lock.digests(figure, plain)


def test_no_effect_is_not_part_of_a_band_that_ends_there() -> None:
    better = {"do": "better"}
    words = Claim("c", "", "", "", better, "%", Band.parse("at least 0%"), None, "", "", effect="better")
    assert verdict_of(words, Found.once(Quantity(0.01))) is Verdict.REPRODUCED
    assert verdict_of(words, Found.once(Quantity(0.0))) is not Verdict.REPRODUCED
    assert verdict_of(words, Found.over([Quantity(v) for v in (0.01, 0.02, 0.03)])) is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("found", "unit"),
    [
        (Found.once(Quantity(76123.456, "bytes")), "KB"),
        (Found.over([Quantity(v, samples=400) for v in (0.21, 0.23, 0.25)]), "%"),
        (Found.over([Quantity(v, "time") for v in (1e-5, math.inf)]), "us"),
        (Found.once(Quantity(-1.5)), "x"),
        (Found.once(Quantity(1234567.0, "rate", 12)), "Mbps"),
        (Found.once(Quantity(math.inf)), ""),
    ],
)
def test_a_recorded_value_is_read_back(found: Found, unit: str) -> None:
    text = found.shown(unit, RECORDED)
    back = Found.read(text, unit)
    assert back.shown(unit, RECORDED) == text
    assert back.value.value == pytest.approx(found.value.value, rel=1e-5)
    assert (back.seeds, back.value.samples, back.value.dimension) == (
        found.seeds,
        found.value.samples,
        found.value.dimension,
    )
    assert found.agrees(back, unit)


def test_a_value_outside_of_the_interval_does_not_agree() -> None:
    recorded = Found.over([Quantity(v) for v in (0.9, 1.0, 1.1)])  # 1 ± 0.248
    assert Found.once(Quantity(1.2)).agrees(recorded, "x")
    assert not Found.once(Quantity(1.3)).agrees(recorded, "x")
    assert not Found.once(Quantity(math.inf)).agrees(recorded, "x")
    once = Found.once(Quantity(1.0))
    assert Found.once(Quantity(1.0004)).agrees(once, "x")
    assert not Found.once(Quantity(1.02)).agrees(once, "x")
    # Rounding of formulas, that no page shows: 0.00000006 % and 0 %.
    assert Found.once(Quantity(6e-10)).agrees(Found.once(Quantity(0.0)), "%")
    assert not Found.once(Quantity(6e-4)).agrees(Found.once(Quantity(0.0)), "%")


def test_every_claim_is_recorded_and_locked_by_its_rules() -> None:
    figures = find(PAPERS, ["all"])
    recorded, locked = record.read(PAPERS), lock.read(PAPERS)
    lock.check(PAPERS, figures)
    for figure in figures:
        for judgement in record.page_of(figure, recorded[figure.id]).judgements:
            claim = judgement.claim
            assert judgement.verdict is recorded[figure.id].verdicts[claim.id], f"{figure.id} {claim.id}"
            assert locked[figure.id, claim.id].digests == lock.digests(figure, claim)


def test_every_headline_has_a_claim() -> None:
    found = headlines(PAPERS, find(PAPERS, ["all"]))
    assert len({(each.figure.id, each.claim.id) for each in found}) == len(found)
    assert {each.paper for each in found} == {"oscar", "median", "powertcp", "ccc", "sqcc"}


def test_claims_are_counted_by_what_they_look_at() -> None:
    figures = {figure.id: figure for figure in find(PAPERS, ["oscar/fig9", "oscar/fig26", "sqcc/eq17-18"])}
    assert {kind_of(figures["oscar/fig9"], claim) for claim in figures["oscar/fig9"].claims} == {Kind.RUNS}
    assert {kind_of(figures["oscar/fig26"], claim) for claim in figures["oscar/fig26"].claims} == {
        Kind.ANALYSIS
    }
    mixed = {kind_of(figures["sqcc/eq17-18"], claim) for claim in figures["sqcc/eq17-18"].claims}
    assert mixed == {Kind.RUNS, Kind.ANALYSIS}
