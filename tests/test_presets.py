"""The tables of presets in the pages of the algorithms, and the builds that figures judge."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import incast
from helpers import ROOT
from incast.ledger import builds, figure


def _presets() -> ModuleType:
    spec = importlib.util.spec_from_file_location("presets_of_docs", ROOT / "docs/presets.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its data classes look themselves up there.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


presets = _presets()
NAMES = presets.names()
RENEW = "run: .venv/bin/python docs/presets.py {}"


@pytest.mark.parametrize("name", NAMES)
def test_every_preset_has_its_row_in_every_table_with_the_parameters_of_now(name: str) -> None:
    there = presets.read(name)
    wanted = list(presets.cells(name))
    assert len(wanted) == 4 * 8 * len(presets.all_presets(name))
    assert set(there) == set(wanted), RENEW.format(name)
    assert all(there.values())
    assert not presets.stale(name), RENEW.format(name)


def test_the_defaults_side_by_side_are_those_of_the_pages() -> None:
    assert presets.split(presets.SUMMARY)[1] == presets.summary(), RENEW.format("constant")


@pytest.mark.parametrize("name", NAMES)
def test_numbers_of_a_table_are_what_its_runs_give(name: str) -> None:
    """Two cells of each preset on the network whose runs take least, one of the default on the next."""
    there, columns = presets.read(name), len(presets.COLUMNS)
    first, names = NAMES.index(name), presets.all_presets(name)
    chosen = [(preset, 0, first + 3 * row + more) for row, preset in enumerate(names) for more in (0, 4)]
    for preset, network, turn in [*chosen, (names[0], 1, first + 2)]:
        cell = presets.Cell(name, preset, network, turn % columns)
        assert there[cell] == cell.text(), RENEW.format(name)


def test_a_table_of_other_parameters_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not presets.stale("constant")
    monkeypatch.setattr(presets, "TIMEOUT", 101)
    assert presets.stale("constant")


def test_networks_and_runs_are_those_of_the_page() -> None:
    """By hand: the BDPs of the four networks, and the base RTTs of near, far, one and two hops."""
    assert [network.bdp for network in presets.NETWORKS] == [62_500, 150_000, 400_000, 600_000]
    network = presets.NETWORKS[1]
    near = presets.Cell("oscar", presets.all_presets("oscar")[0], 1, 3).scenario()
    # Propagation 4 · 2 us and 2 · (4 + 2) us; on two links each 84.3 ns for a packet of 1,054 B, some more
    # with OSCAR's header, and 5.1 ns or more for an acknowledgement.
    rtts = sorted(near.run().flows.column("base_rtt_ps").tolist())
    assert rtts[0] == rtts[1]
    assert rtts[2] == rtts[3]
    assert rtts[2] - rtts[0] == 4_000_000
    assert 8_170_000 < rtts[0] < 8_190_000
    assert network.time(1 / 8) == "1500000ps"


@pytest.mark.parametrize(("base", "column"), [("star", 1), ("two-rtts", 3), ("parking-lot", 4)])
def test_the_files_are_the_runs_at_100_gbps(base: str, column: int) -> None:
    file = incast.Scenario.load(presets.BASES / f"{base}.toml")
    assert file.warnings == []
    cell = presets.Cell("oscar", presets.all_presets("oscar")[0], 1, column)
    assert cell.scenario().with_(name=base) == file.with_(name=base)


def test_the_runs_of_an_algorithm_can_be_had_as_files(tmp_path: Path) -> None:
    """Homa on four networks by three settings: six columns, as two of the eight have noise."""
    presets.main(["--files", str(tmp_path), "homa"])
    files = sorted(tmp_path.glob("*.toml"))
    assert len(files) == 4 * 3 * 6
    one = next(file for file in files if file.name == "homa-default-100Gbps-2-flows.toml")
    assert incast.Scenario.load(one).size().flows == 2


def test_amounts_have_three_digits_and_ratios_an_end() -> None:
    cases = {0: "0 B", 999: "999 B", 999.6: "1.00 KB", 9_994: "9.99 KB", 9_996: "10.0 KB", 123_456: "123 KB"}
    assert {count: presets.amount(count) for count in cases} == cases
    assert presets.amount(33_010, 10_444) == "33.0 ± 10.4 KB"
    one = presets.Measured(0.9, (300, 100, 1), ("near0", "near1", "far0"), 0.0, 0.0, 1)
    assert one.ratio("near", "far") == "> 100"
    assert one.ratio("far", "near") == "0.01"
    # (300 + 100 + 1)² / (3 · (90,000 + 10,000 + 1)) = 160,801 / 300,003.
    assert one.shared() == "90.0 % 0.54"
    assert presets.Measured(0.0, (0, 0), ("a", "b"), 0.0, 0.0, 1).shared() == "0.0 % –"


def test_switches_mark_where_an_algorithm_reads_marks() -> None:
    """DCTCP marks above a fifth of 62,500 bytes; Swift reads delays alone."""
    network = presets.NETWORKS[0]
    assert presets.needs("dctcp", network)["switch.ecn"]["kmin"] == "12500B"
    assert presets.needs("dcqcn", network)["switch.ecn"]["kmax"] == "400000B"
    for name in ("swift", "lswift", "oscar", "bfc"):
        assert "switch.ecn" not in presets.needs(name, network), name


def test_the_rules_of_the_page_name_every_algorithm_that_reads_marks() -> None:
    rows = re.findall(r"^\| ([^|]+) \| [^|]*\bmarks\b", presets.SUMMARY.read_text(), re.MULTILINE)
    named = sorted(title for row in rows for title in row.split(", "))
    assert named == sorted(one.title for one in incast.algorithms() if presets.reads_marks(one.name))


def test_every_preset_that_is_a_letter_or_public_code_exists() -> None:
    for known in presets.ROLES.values():
        for name in known:
            algorithm, _, preset = name.partition(":")
            assert preset in presets.all_presets(algorithm), name
    assert presets.role("oscar", "artifact-hai") == "artifact"
    assert presets.role("newreno", "rfc") == "letter, default"


def test_builds_of_a_figure_are_those_of_its_file() -> None:
    """oscar/fig20, by hand: all claims measure `oscar:paper`; evidence has `wide_batch=3` too."""
    name = "oscar/fig20"
    judged = builds.judged(figure.read(ROOT / "papers" / name, name))
    assert {(build.algorithm, build.preset) for build in judged.claims} == {("oscar", "paper")}
    changed = {build.changed for build in judged.claims}
    wide = ("wide_batch", "3.0")
    steps = ("0.01", "0.02", "0.03", "0.04", "0.05")
    assert changed == {(), *((("u_ai", step),) for step in steps)}
    assert wide in {change for build in judged.beside for change in build.changed}
    assert builds.told(judged.claims)[0] == "`oscar:paper`"
    assert "5 values" in builds.told(judged.claims)[1]


def test_the_default_is_a_build_without_set_parameters() -> None:
    for algorithm in incast.algorithms():
        default = builds.default(algorithm.name)
        assert builds.Build(algorithm.name, default).default
        assert not builds.Build(algorithm.name, default, (("x", "1"),)).default
    assert builds.told([builds.Build("dctcp", "paper")]) == ["**`dctcp:paper`**"]
