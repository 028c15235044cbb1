"""Sentences of caution on comparisons: what differs beside algorithms, and oracles."""

from __future__ import annotations

import pytest

from blocks import block, joined, traffic
from helpers import SMALL, Incast
from incast import Scenario
from incast.scenario.cautions import cautions, differing, knowing
from incast.scenario.choice import choose
from incast.scenario.contestants import choose_contestants

ORACLE = "Oracle is no candidate: it decides by what no network tells; for comparison, in the simulator only."

TEXT = joined(
    block("[topology]", kind="star", hosts=4, rate="100Gbps", delay="3us"),
    block("[switch]", buffer="32MB"),
    block("[switch.ecn]", kmin="100KB", kmax="400KB", pmax=0.2),
    block("[cc]", algorithm="swift"),
    traffic("burst", ["h0", "h1", "h2"], "h3", size="100KB"),
)


def contestants(*names: str) -> dict[str, Scenario]:
    return dict(choose_contestants(Scenario.from_toml(TEXT), names).scenarios)


def test_algorithms_alone_need_no_caution() -> None:
    scenario = Scenario.from_toml(TEXT)
    assert cautions(choose(scenario, ["swift", "dcqcn", "hpcc"]).scenarios) == []
    # Two contestants of one base without settings of their own.
    assert cautions(contestants("oscar", "timely")) == []


def test_what_differs_is_named_with_its_values() -> None:
    (said,) = cautions(contestants("nscc", "hpcc", "dcqcn"))
    assert said.startswith("Caution: not the algorithms alone differ here, but also balancing.policy (")
    # The settings of `incast list contestant.nscc` and of the two others. HPCC leaves the marks of the file.
    for part in (
        "balancing.policy (NSCC: reps; the others: ecmp)",
        "transport.recovery (NSCC: selective; the others: go-back-n)",
        "switch.pfc (NSCC: no; the others: yes)",
        "switch.trimming (NSCC: yes; the others: no)",
        "HPCC: 100KB to 400KB",
        "DCQCN: 400KB to 1.6MB",
    ):
        assert part in said
    assert "transport.kind" not in said
    assert said.endswith("Differences in the tables are of all of this together.")


def test_a_single_key_is_named() -> None:
    # HPCC takes one base RTT for all, OSCAR that of each path.
    (said,) = differing(contestants("oscar", "hpcc"))
    assert "but also 1 key (transport.base_rtt)." in said


def test_two_equal_camps_are_both_named() -> None:
    (said,) = differing(contestants("dcqcn", "nscc"))
    assert "balancing.policy (NSCC: reps; DCQCN: ecmp)" in said or "(DCQCN: ecmp; NSCC: reps)" in said


def test_an_oracle_is_no_candidate() -> None:
    assert knowing(["swift:paper", "oracle:oscar", "oracle"]) == [ORACLE]
    assert knowing(["swift", "mine", ""]) == []


@pytest.mark.parametrize("seeds", [(), ("--seeds", "2")])
def test_comparisons_say_it(incast: Incast, seeds: tuple[str, ...]) -> None:
    (incast.folder / "s.toml").write_text(TEXT)
    done = incast.here("compare", "s.toml", "--contestants", "nscc,dcqcn", "--quiet", *seeds)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "Caution: not the algorithms alone differ here, but also balancing.policy" in text
    assert "Oracle" not in text
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    same = incast.here("compare", "s.toml", "--cc", "swift,oracle", "--quiet", *seeds)
    text = " ".join(same.stdout.split())
    assert "Caution" not in text
    assert ORACLE in text


def test_a_sweep_over_settings_is_not_cautious_about_them(incast: Incast) -> None:
    """Marks are what is asked for here; the contestants of one value of it are compared."""
    (incast.folder / "s.toml").write_text(TEXT)
    vary = ("--vary", "cc=swift,dcqcn", "--vary", "switch.ecn.kmin=50KB,100KB")
    done = incast.here("sweep", "s.toml", *vary, "--quiet")
    assert done.returncode == 0, done.stderr
    assert "Caution" not in done.stdout
    only = incast.here("sweep", "s.toml", "--vary", "switch.ecn.kmin=50KB,100KB", "--quiet")
    assert "Caution" not in only.stdout


def test_explaining_an_oracle_says_what_it_is(incast: Incast) -> None:
    (incast.folder / "s.toml").write_text(SMALL)
    for algorithm, is_said in (("oracle", True), ("swift", False)):
        words = ("--set", f"cc.algorithm={algorithm}", "--out", algorithm, "--quiet")
        assert incast.here("run", "s.toml", *words).returncode == 0
        shown = " ".join(incast.here("explain", algorithm).stdout.split())
        assert (ORACLE in shown) == is_said
