"""Other simulators as a third opinion: distances as stated, and on the page as they are."""

from __future__ import annotations

import pytest

from reference import measure
from reference.peers import HEAD, OPINIONS, Opinion, hold

GROUPS = [
    pytest.param(name, marks=pytest.mark.xdist_group(f"reference-{name}"))
    for name in OPINIONS
    # Their runs are those of test_networks.py, which the same process does.
]


@pytest.mark.parametrize("group", GROUPS)
def test_the_page_has_the_distances_of_today(group: str) -> None:
    hold(group)


@pytest.mark.parametrize("group", GROUPS)
def test_distances_are_within_what_is_allowed_or_the_page_says_why_not(group: str) -> None:
    for one in OPINIONS[group]:
        assert one.met() == (not one.missed), one.row()


def test_the_table_has_every_row_and_no_other() -> None:
    written = measure.written("peers")
    assert written[:2] == HEAD
    keys = [tuple(line.removeprefix("| ").split(" | ")[:3]) for line in written[2:]]
    assert keys == [one.key for of in OPINIONS.values() for one in of]


def test_a_distance_by_hand() -> None:
    # 98 for 100 is 2 %, and half a standard deviation of 4.
    share = Opinion("a peer", "a scenario", "a number", lambda: (100, 98), 0.02)
    assert share.met()
    assert share.row() == "| a peer | a scenario | a number | 100 | 98 | 2.00 % | 2.00 % | yes |"
    narrow = Opinion("a peer", "a scenario", "a number", lambda: (100, 98), 0.0199, missed="it is far")
    assert narrow.row().endswith("| 2.00 % | 1.99 % | no: it is far |")
    spread = Opinion("a peer", "a scenario", "a number", lambda: (100, 98), 0.4, lambda: 4.0, 1)
    assert not spread.met()
    assert "| 100.0 | 98.0 | 0.50 sd | 0.40 sd | no: " in spread.row()
    exact = Opinion("a peer", "a scenario", "a number", lambda: (100, 100))
    assert exact.row().endswith("| 0.00 % | none | yes |")
