"""Comparisons over several seeds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helpers import Incast

RANDOM = ("--set", "traffic=[{kind='poisson', sizes='20KB', load=0.4, duration='300us'}]")
"""Random flows in place of the small scenario's."""


def test_several_seeds_are_the_sweep_over_the_algorithms(incast: Incast, scenario: Path) -> None:
    # One seed made before is reused.
    one = incast.here("compare", scenario, "--cc", "HPCC,oscar", *RANDOM)
    assert one.returncode == 0
    assert "\nOne seed: differences may be luck. --seeds 5 gives intervals and words.\n" in one.stdout
    done = incast.here("compare", scenario, "--cc", "HPCC,oscar", "--seeds", "3", *RANDOM)
    assert done.returncode == 0
    assert done.stdout.startswith("small: 2 × 3 seeds: 4 made, 2 reused\n")
    assert "differences to hpcc: 1 comparison; each word is right with 95 %" in done.stdout
    assert "One seed" not in done.stdout
    swept = incast.here("sweep", scenario, "--vary", "cc=hpcc,oscar", "--seeds", "3", *RANDOM)
    assert swept.stdout.splitlines()[1:] == done.stdout.splitlines()[1:]
    turned = incast.here(
        "compare", scenario, "--cc", "hpcc,oscar", "--seeds", "3", "--baseline", "oscar", *RANDOM
    )
    assert "differences to oscar" in turned.stdout
    assert turned.stdout.startswith("small: 2 × 3 seeds: 0 made, 6 reused\n")


def test_the_picture_is_of_the_first_seed(incast: Incast, scenario: Path) -> None:
    pytest.importorskip("matplotlib")
    done = incast.here("compare", scenario, "--cc", "hpcc,oscar", "--seeds", "2", "--plot", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "of seed 7:\n" in done.stdout
    files = re.findall(r"^picture (\S+)$", done.stdout, re.MULTILINE)
    assert files
    assert all((incast.folder / name).is_file() for name in files)
    # The folder of a sweep holds them, and is still one.
    again = incast.here("compare", scenario, "--cc", "hpcc,oscar", "--seeds", "2", "--out", "out")
    assert "0 made, 4 reused" in again.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--seeds", "2", "--threads", "2"),
            "--threads has no effect with several seeds; --jobs sets how many runs are made at the same time",
        ),
        (("--seeds", "2", "--testbed"), "compare: --testbed measures one seed at a time"),
        (("--baseline", "hpcc"), "compare: --baseline has no effect with one seed\n    help: --seeds 5"),
        (("--by", "p99.small"), "compare: --by has no effect with one seed"),
        (("--jobs", "2"), "compare: --jobs has no effect with one seed"),
        (("--seeds", "2", "--baseline", "hpc"), 'no value of cc is "hpc"; did you mean "hpcc"?'),
    ],
)
def test_options_without_effect_are_refused(
    incast: Incast, scenario: Path, words: tuple[str, ...], message: str
) -> None:
    refused = incast.here("compare", scenario, "--cc", "hpcc,oscar", *words)
    assert refused.returncode == 2
    assert message in refused.stderr


def test_an_unknown_algorithm_is_found_where_it_is_written(incast: Incast, scenario: Path) -> None:
    refused = incast.here("compare", scenario, "--cc", "hpcc,ocsar", "--seeds", "2")
    assert refused.returncode == 2
    assert 'there is no algorithm "ocsar"' in refused.stderr
    # The user has not written what a sweep would name.
    assert "--vary" not in refused.stderr
