"""The machinery that runs the documentation's snippets notices what is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import snippets
from snippets import Block, DifferentError, Runner, agree, check, merged, shims


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    folder = tmp_path / "page"
    folder.mkdir()
    return Runner(folder, shims(tmp_path / "bin"))


def block(language: str, text: str, **say: str) -> Block:
    return Block("page.md", 1, language, text.splitlines(), say)


@pytest.mark.parametrize(
    ("shown", "found", "agreed"),
    [
        (["a", "b"], ["a", "b"], True),
        (["a", "b"], ["a"], False),
        (["a"], ["a", "b"], False),
        (["…"], [], True),
        (["…", "c"], ["a", "b", "c"], True),
        (["…", "c"], ["a", "b"], False),
        (["a…c"], ["abbbc"], True),
        (["a…c"], ["ab", "c"], False),
        (["1.5 (x)"], ["1x5 (x)"], False),
    ],
)
def test_outputs_agree(shown: list[str], found: list[str], agreed: bool) -> None:
    assert agree(shown, found) == agreed


def test_another_output_is_noticed_and_the_right_one_known(runner: Runner) -> None:
    runner.run(block("console", "$ echo one\none\n$ echo two\ntwo"))
    with pytest.raises(DifferentError) as error:
        runner.run(block("console", "$ echo one\none\n$ echo two\nthree"))
    assert error.value.made == ["$ echo one", "one", "$ echo two", "two"]


def test_an_update_names_the_blocks_with_parts_left_out_that_it_cannot_write(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers are followed, another unit is not; the first block grows by a line, which moves the second."""
    monkeypatch.setattr(snippets, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    grows = "```console\n$ printf '1\\n2\\n'\n1\n```\n"
    unit = "```console\n$ echo 5 ms; echo more\n5 us\n…\n```\n"
    number = "```console\n$ echo 7 ms; echo more\n6 ms\n…\n```\n"
    printed = "```python\nprint('4 ms, then more')\n```\n<!-- test: output -->\n```text\n{} …\n```\n"
    page.write_text(grows + unit + number + printed.format("3 ms,") + printed.format("3 us,"))
    with pytest.raises(DifferentError):
        check(page, runner, update=False)
    assert check(page, runner, update=True) == ["page.md:7", "page.md:28"]
    assert page.read_text() == (
        grows.replace("\n1\n`", "\n1\n2\n`")
        + unit
        + number.replace("6 ms", "7 ms")
        + printed.format("4 ms,")
        + printed.format("3 us,")
    )


def test_a_command_may_go_on_in_the_next_line(runner: Runner) -> None:
    runner.run(block("console", "$ echo one \\\n    two\none two\n$ echo three\nthree"))
    with pytest.raises(DifferentError) as error:
        runner.run(block("console", "$ echo one \\\n    two\none"))
    assert error.value.made == ["$ echo one \\", "    two", "one two"]


def test_another_exit_code_is_noticed(runner: Runner) -> None:
    runner.run(block("console", "$ exit 3", exit="3"))
    with pytest.raises(AssertionError, match="exit code 3, not 0"):
        runner.run(block("console", "$ exit 3"))
    with pytest.raises(AssertionError, match="exit code 0, not 2"):
        runner.run(block("sh", "true", exit="2"))


def test_the_first_failing_line_of_a_shell_block_is_noticed(runner: Runner) -> None:
    with pytest.raises(AssertionError, match="exit code 1, not 0"):
        runner.run(block("sh", "false\ntrue"))


def test_the_command_is_that_of_this_interpreter(runner: Runner) -> None:
    with pytest.raises(DifferentError) as error:
        runner.run(block("console", "$ incast --version\nsomething else"))
    assert re.fullmatch(r"incast \d+\.\d+\.\d+", error.value.made[1])


def test_python_blocks_share_their_names(runner: Runner) -> None:
    runner.run(block("python", "x = 41"))
    runner.run(block("python", "print(x + 1)"))
    assert runner.printed == "42\n"
    with pytest.raises(NameError):
        runner.run(block("python", "print(y)"))


def test_a_wrong_scenario_is_noticed(runner: Runner) -> None:
    with pytest.raises(AssertionError, match="topology"):
        runner.run(block("toml", "[topologi]\nkind = 'star'"))
    runner.run(block("toml", "[topologi]\nkind = 'star'", exit="2"))


def test_a_part_stands_for_the_sections_of_the_same_name() -> None:
    base = 'seed = 1\n[a]\nx = 1\n[a.b]\ny = 2\n[[c]]\nz = 3\n[[c]]\nz = 4\n[d]\nw = "[5]"\n'
    whole = merged(base, "seed = 2\n[[c]]\nz = 9\n")
    assert [line for line in whole.splitlines() if line] == [
        "seed = 2",
        "[a]",
        "x = 1",
        "[a.b]",
        "y = 2",
        "[d]",
        'w = "[5]"',
        "[[c]]",
        "z = 9",
    ]


def test_an_excerpt_must_stand_in_its_file(runner: Runner) -> None:
    runner.run(block("rust", "pub struct Constant {}", excerpt="crates/cc/src/constant.rs"))
    with pytest.raises(AssertionError, match="not in"):
        runner.run(block("rust", "pub struct Variable {}", excerpt="crates/cc/src/constant.rs"))
    with pytest.raises(AssertionError, match="of which file"):
        runner.run(block("rust", "pub struct Constant {}"))


def test_what_is_skipped_does_not_run(runner: Runner) -> None:
    runner.run(block("sh", "exit 1", skip="it is only here to be skipped"))
