"""Output in a terminal: tables, numbers, the progress line."""

from __future__ import annotations

import io

import pytest

from helpers import SMALL, Incast, Terminal
from incast._terminal import cells, guarded, printable, short, wipe
from incast.cli.table import Column, number, table
from incast.progress import (
    Failure,
    Progress,
    ProgressLine,
    Series,
    State,
    duration,
    of_batch,
    of_run,
    simulated,
)

HALF_WAY = Progress(now_ps=500_000_000, until_ps=10**12, flows_finished=50, flows=100, hops=6_000_000)


def test_a_terminal_obeys_no_text() -> None:
    """U+001B begins a command of a terminal, U+009B is one, U+202E turns the direction of writing."""
    hostile = "a\x1b[2J\x9b1m\u202eb\r\tc\n"
    plain = "a\\x1b[2J\\x9b1m\\u202eb\\r\tc\n"
    assert printable(hostile) == plain
    behind = Terminal()
    stream = guarded(behind)
    assert stream.isatty()
    print(hostile, end="", file=stream)
    wipe(stream)
    assert behind.getvalue() == f"{plain}\r\x1b[2K"
    # As wide as it is written.
    assert cells("\x1b") == 4


def test_names_of_files_do_not_reach_the_terminal_as_commands(incast: Incast) -> None:
    name = "x\x1b[31mred"
    text = SMALL.replace('name = "small"\n', "")
    (incast.folder / "s.toml").write_text(f'name = "x\\u001b[31mred"\n{text}')
    (incast.folder / f"{name}.toml").write_text("[topology]\nkind = 1\n")
    calls = [
        ("run", "s.toml", "--out", "result", "--quiet"),
        ("show", "result"),
        ("compare", "s.toml", "--cc", "swift,dctcp", "--quiet"),
        ("validate", "s.toml"),
        ("validate", f"{name}.toml"),
        ("validate", f"{name}.none"),
        ("show", name),
    ]
    for words in calls:
        done = incast(*words)
        assert "\x1b" not in done.stdout + done.stderr, words
    assert "\\x1b[31mred" in done.stderr


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1.00"),
        (12.345, "12.3"),
        (123.45, "123"),
        (1234567.0, "1,234,567"),
        (-12.345, "-12.3"),
        (0.5, "0.500"),
        (0.01234, "0.0123"),
        (float("nan"), "–"),
        (float("inf"), "∞"),
    ],
)
def test_numbers_keep_three_digits(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (404.0, 2, "400"),
        (999.6, 3, "1000"),
        (0.012345, 3, "0.0123"),
        (1.5, 3, "1.5"),
        (12345.0, 3, "12300"),
        (0.0, 3, "0"),
    ],
)
def test_short_numbers_have_no_exponent(value: float, digits: int, text: str) -> None:
    assert short(value, digits) == text


def test_a_table_aligns_numbers_right_and_text_left_under_their_units() -> None:
    text = table(
        [Column("algorithm", left=True), Column("queue", "KB"), Column("lost", "%")],
        [["oscar", "75.0", "0"], ["θ-PowerTCP", "1,200", "12.5"]],
    )
    assert text.splitlines() == [
        "algorithm   queue  lost",
        "               KB     %",
        "----------  -----  ----",
        "oscar        75.0     0",
        "θ-PowerTCP  1,200  12.5",
    ]


def test_a_long_text_is_wrapped_inside_the_last_column() -> None:
    rows = [["hpcc", "word " * 40], ["x", ""]]
    lines = table([Column("name", left=True), Column("meaning", left=True)], rows).splitlines()
    assert max(map(len, lines)) <= 80
    assert sum("word" in one for one in lines) == 3
    assert sum(one.count("word") for one in lines) == 40


def test_wide_letters_take_two_cells_and_accents_none() -> None:
    assert cells("θ") == 1
    assert cells("漢字") == 4
    assert cells("e\u0301") == 1


def test_the_line_of_a_run_says_time_flows_speed_and_what_is_left() -> None:
    text = of_run("oscar", HALF_WAY, elapsed=2.0)
    assert text.split("  ")[0].strip() == "oscar"
    for part in ("500.00 us", "50/100 flows", "3.00 M packet-hops/s", "2 s left"):
        assert part in text


def test_the_line_of_one_of_several_runs_says_what_is_left_of_all() -> None:
    # Of ten runs two had results already and one took 6 s; half of the fourth took 2 s: 1.5 of 8 in 8 s.
    series = Series(10)
    for elapsed in (None, 6.0, None):
        series.ended(elapsed)
    text = of_run("oscar", HALF_WAY, 2.0, series)
    assert "run 4 of 10" in text
    assert text.endswith("  35 s left")
    # What has the same cost as the others takes as long: of one alone nothing is said but itself.
    assert of_run("oscar", HALF_WAY, 2.0, Series(1)) == of_run("oscar", HALF_WAY, 2.0)
    long = of_run("theta-powertcp", HALF_WAY, 2.0, Series(25))
    assert len(long) < 80


def test_the_line_of_a_batch_says_runs_failures_and_what_is_left() -> None:
    # 10 of 40 were reused; of the 30 others 5 are made, 1 failed and 3 are half done: 7.5 of 30 in 5 s.
    state = State(40, reused=10, made=5, failures=[Failure("x", "y")], shares={1: 0.5, 2: 0.5, 3: 0.5})
    assert of_batch("", state, elapsed=5.0) == "16/40 runs  3 running  1 failed  15 s left"
    assert of_batch("oscar/fig9", State(4), elapsed=5.0) == "oscar/fig9  0/4 runs"
    # All results were there: nothing is left.
    assert of_batch("", State(4, reused=4), elapsed=5.0) == "4/4 runs  0 s left"


def test_the_line_fits_80_columns_and_is_wiped() -> None:
    terminal = Terminal()
    with ProgressLine("a label that is much longer than it should be, really" * 2, stream=terminal) as show:
        show(HALF_WAY)
    drawn, wiped = terminal.getvalue().split("\r\x1b[2K")[1:]
    assert 0 < len(drawn) < 80
    assert wiped == ""


def test_the_line_is_redrawn_ten_times_a_second_at_most() -> None:
    terminal = Terminal()
    times = iter([0.0, 0.0, 0.05, 0.11, 0.15, 0.22])
    with ProgressLine("oscar", stream=terminal, clock=lambda: next(times)) as show:
        for _ in range(5):
            show(HALF_WAY)
    # Drawn at 0, 0.11 and 0.22 s, and wiped.
    assert terminal.getvalue().count("\r\x1b[2K") == 3 + 1


def test_nothing_is_drawn_without_a_terminal() -> None:
    for stream, quiet in ((io.StringIO(), False), (Terminal(), True)):
        with ProgressLine("oscar", quiet, stream) as show:
            show(HALF_WAY)
        assert stream.getvalue() == ""


def test_times_in_units_that_suit_them() -> None:
    assert [simulated(ps) for ps in (0, 999_999, 10**6, 10**9, 25 * 10**11)] == [
        "0 ns", "1000 ns", "1.00 us", "1.00 ms", "2.50 s",
    ]  # fmt: skip
    assert [duration(s) for s in (0.4, 59, 61, 3661)] == ["0 s", "59 s", "1 min 01 s", "1 h 01 min"]
