"""The pictures of figures: their palettes, and which command replaces a kept one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from blocks import claim, joined
from helpers import ROOT, SMALL, Incast, written
from incast.ledger import find, judge, palette, run_figure
from incast.ledger.picture import draw
from test_ledger import CLAIMS

PANEL = '[[panel]]\ny = "q"\nlines = [{ show = "queue", run = "run/4", port = "s0->h3" }]\n'

KEPT = ROOT / "docs" / "reproduction"


def picture(*columns: tuple[int, int, int]) -> Image.Image:
    """A picture of one row, a pixel a colour."""
    return Image.fromarray(np.array([columns], dtype=np.uint8))


def test_few_colours_stay_as_they_are() -> None:
    colours = [(0, 0, 0), (255, 255, 255), (230, 159, 0), (229, 159, 0), (86, 180, 233)]
    made = palette.reduced(picture(*colours))
    assert made.mode == "P"
    assert [tuple(pixel) for pixel in np.asarray(made.convert("RGB"))[0]] == colours


def test_of_many_colours_the_frequent_and_the_distant_ones_stay() -> None:
    """Two flat colours stay exactly; 14 greys serve for 256.

    Each choice is the farthest grey from those before. If one were still d levels off after 14, these 15
    would be d apart pairwise: 14 d is at most 255.
    """
    flat = [(230, 159, 0), (0, 114, 178)]
    greys = [(level, level, level) for level in range(256)]
    made = palette.reduced(picture(*flat * 1000, *greys))
    now = np.asarray(made.convert("RGB"))[0].astype(int)
    assert len(np.unique(now, axis=0)) == palette.COLOURS
    assert [tuple(pixel) for pixel in now[:2]] == flat
    assert np.abs(now[2000:] - np.array(greys)).max() <= 255 // 14


def test_the_picture_of_a_figure_has_the_papers_numbers(papers: Path) -> None:
    """A row for the claim with a number, in the last panel; without judgements there is none."""
    file = papers / "some" / "fig1" / "claims.toml"
    number = claim(
        "half",
        "The link is half full",
        paper="50 %",
        unit="%",
        measure={"do": "utilisation", "run": "run/4", "port": "s0->h3", "from": "20us", "to": "100us"},
        reproduced="40% to 60%",
    )
    file.write_text(joined(CLAIMS, number) + PANEL)
    (figure,) = find(papers, ["some/fig1"])
    results = run_figure(figure)
    assert len(draw(figure, results).axes) == 1
    drawing = draw(figure, results, judge(figure, results))
    panel = drawing.axes[-1]
    assert len(drawing.axes) == 2
    assert panel.get_title() == "Paper and here"
    assert [text.get_text() for text in panel.get_yticklabels()] == ["half"]


def test_kept_pictures_have_palettes_and_are_small() -> None:
    pictures = sorted(KEPT.glob("*.png"))
    assert len(pictures) >= 84
    for path in pictures:
        with Image.open(path) as kept:
            assert kept.mode == "P", path.name
    assert sum(path.stat().st_size for path in KEPT.iterdir()) <= 2_500_000


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """A folder of papers with two figures in it that have pictures."""
    for name in ("fig1", "fig2"):
        written(tmp_path / "papers/some" / name, {"small.toml": SMALL, "claims.toml": CLAIMS + PANEL})
    return tmp_path / "papers"


def test_only_a_recorded_pass_over_all_figures_replaces_pictures(papers: Path, incast: Incast) -> None:
    words = ("--papers", papers, "--write", "docs/page.md")
    beside = incast.folder / "docs" / "page" / "some-fig1.png"
    elsewhere = incast.folder / "results" / "reproduce" / "some-fig1.png"
    # The first picture of a figure goes beside its page.
    done = incast.here("reproduce", "some/fig1", *words)
    assert done.returncode == 0, done.stderr
    assert "  picture docs/page/some-fig1.png" in done.stdout
    drawn = beside.read_bytes()
    beside.write_bytes(b"kept")
    for chosen in (("some/fig1",), ("some/fig1", "--record"), ("some", "--record"), ("all",)):
        elsewhere.unlink(missing_ok=True)
        done = incast.here("reproduce", *chosen, *words)
        assert done.returncode == 0, done.stderr
        assert beside.read_bytes() == b"kept"
        assert elsewhere.read_bytes() == drawn
        assert "  picture results/reproduce/some-fig1.png\n  docs/page/some-fig1.png stays: " in done.stdout
        assert "](some-fig1.png)" in beside.with_suffix(".md").read_text()
    done = incast.here("reproduce", "all", *words, "--record")
    assert done.returncode == 0, done.stderr
    assert "stays" not in done.stdout
    assert beside.read_bytes() == drawn


def test_a_page_keeps_its_picture_when_none_is_drawn(papers: Path, incast: Incast) -> None:
    words = ("reproduce", "some/fig1", "--papers", papers, "--write", "docs/page.md")
    page = incast.folder / "docs" / "page" / "some-fig1.md"
    assert incast.here(*words, "--no-picture").returncode == 0
    assert "some-fig1.png" not in page.read_text()
    assert incast.here(*words).returncode == 0
    assert incast.here(*words, "--no-picture").returncode == 0
    assert "](some-fig1.png)" in page.read_text()


def test_a_figure_without_panels_says_what_its_picture_needs(papers: Path, incast: Incast) -> None:
    (papers / "some" / "fig1" / "claims.toml").write_text(CLAIMS)
    done = incast.here("reproduce", "some/fig1", "--papers", papers)
    assert done.returncode == 2
    assert "some/fig1: a picture needs at least one [[panel]] in claims.toml" in done.stderr
    assert "Traceback" not in done.stderr
    assert incast.here("reproduce", "some/fig1", "--papers", papers, "--no-picture").returncode == 0
