"""The command `incast` from one end to the other."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers import PLUGIN, RING, ROOT, Incast
from incast import Result, Scenario, _core, compare, demo
from incast.catalogue import canonical
from incast.errors import nearest
from stored import stored

KINDS = ("algorithms", "contestants", "topologies", "traffic", "distributions", "sections")


def fits(text: str) -> bool:
    return all(len(line) <= 80 for line in text.splitlines())


def test_list_has_a_line_for_everything(incast: Incast) -> None:
    done = incast("list")
    assert done.returncode == 0
    assert done.stderr == ""
    assert fits(done.stdout)
    for kind in KINDS:
        assert f"\n{kind}\n" in f"\n{done.stdout}"
        alone = incast("list", kind).stdout
        assert alone.strip() in done.stdout
    for algorithm in _core.algorithms():
        assert re.search(rf"^  {algorithm.name} +\S", done.stdout, re.MULTILINE)


def test_algorithms_are_listed_in_groups_with_what_they_need(incast: Incast) -> None:
    shown = incast.here("list", "algorithms").stdout
    assert fits(shown)
    groups = dict(re.findall(r"^([\w-]+): .+\n((?:  .+\n)+)", f"{shown}\n", re.MULTILINE))
    known: list[_core.Algorithm | _core.OwnControl] = [*_core.algorithms(), *_core.own_controls()]
    families = [family.name for family in _core.families()]
    assert list(groups) == [name for name in families if any(one.family == name for one in known)]
    for one in known:
        text = " ".join(groups[one.family].split())
        assert f"{one.name} {one.summary} needs {one.needs}" in text
        # The same two lines are in the description of one.
        alone = " ".join(incast.here("list", one.name).stdout.split())
        assert alone.startswith(f"{one.title} {one.summary} needs {one.needs} group: {one.family} ")
    assert {"fixed", "loss", "delay", "ECN", "telemetry", "receiver-driven", "in-network"} <= set(groups)
    assert re.search(r"^  ndp +a first window", groups["receiver-driven"], re.MULTILINE)
    assert re.search(r"^  bfc +switches pause", groups["in-network"], re.MULTILINE)


def test_list_says_how_a_transport_or_network_is_selected(incast: Incast) -> None:
    for name, written, key in (
        ("ndp", 'transport.kind = "ndp"; keys of [transport.ndp]', 'first_window = "bdp"'),
        ("homa", 'transport.kind = "homa"; keys of [transport.homa]', "overcommitment"),
        ("bfc", "[switch.bfc]; keys of [switch.bfc]", "queues = 32"),
    ):
        done = incast.here("list", name)
        assert fits(done.stdout)
        assert f"\nselected by {written}\n" in done.stdout
        assert f"\n  {key}" in done.stdout


@pytest.mark.parametrize("name", [a.name for a in _core.algorithms()])
def test_list_shows_each_parameter_with_default_evidence_range_and_source(incast: Incast, name: str) -> None:
    done = incast.here("list", name)
    assert done.returncode == 0
    assert fits(done.stdout)
    shown = " ".join(done.stdout.split())
    algorithm = _core.algorithm(name)
    assert algorithm is not None
    for p in algorithm.parameters:
        quoted = f'"{p.value}"' if p.kind in ("time", "bytes", "rate", "choice") else p.value
        described = " ".join(f"{p.meaning}; {p.range}. {p.source}".split())
        assert f"{p.name} = {quoted} {p.evidence} {described}" in shown


def test_list_says_that_a_preset_sets_a_value_and_not_which_evidence_the_default_has(incast: Incast) -> None:
    # The first preset has thresholds over the base RTT, `paper` the printed ones; both have the same weight.
    for preset, low, beside in (("timely", "0ps", "ours"), ("timely:paper", "50us", "set by the preset")):
        shown = incast.here("list", preset).stdout
        lines = [" ".join(line.split()) for line in shown.splitlines()]
        assert f't_low = "{low}" {beside}' in lines
        assert "alpha = 0.875 printed" in lines


def test_list_shows_topologies_traffic_and_distributions(incast: Incast) -> None:
    named = {topology.name: topology for topology in _core.named_topologies()}
    for kind in [*_core.topologies(), *_core.traffic()]:
        done = incast.here("list", kind.name)
        assert done.returncode == 0
        assert fits(done.stdout)
        if kind.name in named:
            # What it sets; the other keys are those of its kind, which it names.
            topology = named[kind.name]
            for name, value in topology.keys:
                assert f"\n  {name} = {value}\n" in done.stdout
            assert f"incast list {topology.kind}." in " ".join(done.stdout.split())
            assert topology.source in " ".join(done.stdout.split())
            continue
        for key in kind.keys:
            assert re.search(rf"^  {key.name} (= \S|\()", done.stdout, re.MULTILINE)
    assert len(named) > 10
    done = incast("list", "websearch")
    assert "1,711,250 B" in done.stdout


def test_list_suggests_what_may_be_meant(incast: Incast) -> None:
    done = incast("list", "ocsar")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "there is nothing called 'ocsar'\n    help: did you mean 'oscar'?" in done.stderr
    # From names of all kinds, sections and keys; a name of something comes before a key (`rails`).
    for word, meant in (
        ("rail", "rail-optimized"),
        ("swich", "switch"),
        ("kmn", "kmin"),
        ("algoritms", "algorithms"),
    ):
        assert f"help: did you mean '{meant}'?" in incast.here("list", word).stderr


def test_list_finds_names_as_people_write_them(incast: Incast) -> None:
    for written, name in (
        ("OSCAR", "oscar"),
        ("θ-PowerTCP", "theta-powertcp"),
        ("new reno", "newreno"),
        ("Swift:OSCAR", "swift:oscar"),
        ("NDP", "ndp"),
        ("Fat_Tree", "fat-tree"),
        ("Switch.ECN", "switch.ecn"),
    ):
        assert incast.here("list", written).stdout == incast.here("list", name).stdout != ""


def test_list_has_sections_and_keys(incast: Incast) -> None:
    shown = incast.here("list", "sections").stdout
    known = [section for section in _core.sections() if section.name]
    assert re.findall(r"^  (\S+) ", shown, re.MULTILINE) == [section.name for section in known]
    for section in known:
        # A section within another is named by its end too, unless that is the name of something else.
        done = incast.here("list", section.name)
        assert done.returncode == 0
        assert fits(done.stdout)
        if section.name in KINDS:
            continue
        assert done.stdout.startswith(f"[{section.name}]\n")
        for key in section.keys:
            assert re.search(rf"^  {key.name} (= \S|\()", done.stdout, re.MULTILINE)
    assert incast.here("list", "ecn").stdout == incast.here("list", "switch.ecn").stdout
    assert incast.here("list", "bfc").stdout.startswith("BFC\n")
    kmin = " ".join(incast.here("list", "kmin").stdout.split())
    assert kmin.startswith("kmin, a key of [switch.ecn] kmin (required) No marks up to this length.")
    # Two kinds of traffic have a load, each with a line of its own.
    load = incast.here("list", "load").stdout
    assert re.findall(r"^  (traffic \S+) ", load, re.MULTILINE) == ["traffic poisson", "traffic incast"]


def test_list_has_algorithms_of_a_plugin(incast: Incast) -> None:
    (incast.folder / "own.py").write_text(PLUGIN)
    shown = incast("list", "algorithms", "--plugin", "own.py").stdout
    assert fits(shown)
    assert re.search(r"\nyour own\n  fixed-rate +\S", shown)
    assert "your own" not in incast("list", "algorithms").stdout
    assert "group: your own" in incast("list", "fixed-rate", "--plugin", "own.py").stdout


def test_validate_says_what_a_scenario_comes_to(incast: Incast, scenario: Path) -> None:
    done = incast.here("validate", scenario)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{scenario}: fine" in done.stdout
    assert "4 hosts, 1 switch, 4 links" in done.stdout
    assert re.search(r"flows +3\n", done.stdout)
    assert re.search(r"traffic +2.40 MB\n", done.stdout)
    assert not (incast.folder / "incast-results").exists()


def test_the_effective_scenario_is_itself_a_scenario(incast: Incast, scenario: Path) -> None:
    effective = incast.here(
        "validate", scenario, "--effective", "--seed", "11", "--set", "topology.hosts=5"
    ).stdout
    again = incast.folder / "small-again.toml"
    again.write_text(effective)
    assert "seed = 11" in effective
    assert incast.here("validate", again, "--effective").stdout == effective
    assert "5 hosts" in incast.here("validate", again).stdout


def test_run_saves_a_result_and_says_where(incast: Incast, scenario: Path) -> None:
    done = incast.here("run", scenario)
    assert (done.returncode, done.stderr) == (0, "")
    assert fits(done.stdout)
    assert "all 3 flows finished" in done.stdout
    where = stored(scenario, "oscar")
    assert str(where).startswith("incast-results/small/oscar-seed7-")
    assert done.stdout.endswith(f"saved in {where}\n")
    folder = incast.folder / where
    assert {p.name for p in folder.iterdir()} == {
        "result.json",
        "scenario.toml",
        "flows.parquet",
        "limits.parquet",
        "ports.parquet",
        "port_series.parquet",
        "flow_series.parquet",
    }
    info = json.loads((folder / "result.json").read_text())
    assert info["state"] == "complete"
    assert info["seed"] == 7
    assert info["outcome"]["fingerprint"] in done.stdout
    assert len(Result.open(folder).flows) == 3


def test_a_result_that_is_there_is_reused_and_said_so(incast: Incast, scenario: Path) -> None:
    first = incast.here("run", scenario)
    where = stored(scenario, "oscar")
    file = incast.folder / where / "result.json"
    made = file.stat().st_mtime_ns
    again = incast.here("run", scenario)
    assert (again.returncode, again.stdout) == (0, first.stdout)
    assert f"incast: reused {where}: same scenario, version and seed" in again.stderr
    assert "--fresh" in again.stderr
    assert file.stat().st_mtime_ns == made
    # In a comparison, too; the other algorithm is run.
    both = incast.here("compare", scenario, "--cc", "constant,oscar")
    assert both.returncode == 0
    assert both.stderr.count("reused") == 1
    assert file.stat().st_mtime_ns == made
    fresh = incast.here("run", scenario, "--fresh")
    assert (fresh.returncode, fresh.stderr) == (0, "")
    assert file.stat().st_mtime_ns > made


def test_another_scenario_or_seed_is_another_result(incast: Incast, scenario: Path) -> None:
    prints = set()
    for change in ((), ("--set", "topology.delay=4us"), ("--seed", "8")):
        done = incast.here("run", scenario, *change)
        assert (done.returncode, done.stderr) == (0, "")
        prints.add(done.stdout.splitlines()[-1])
    assert len(prints) == 3


def test_comments_and_defaults_written_out_are_the_same_scenario(incast: Incast, scenario: Path) -> None:
    assert incast.here("run", scenario).returncode == 0
    scenario.write_text("# A remark.\n" + scenario.read_text() + 'stall_after = "1s"\n')
    assert "reused" in incast.here("run", scenario).stderr


def test_sizes_in_a_file_are_part_of_the_scenario(incast: Incast, scenario: Path) -> None:
    sizes = incast.folder / "sizes.txt"
    traffic = "traffic=[{kind='poisson', sizes='sizes.txt', load=0.3, duration='100us'}]"
    sizes.write_text("1000 0\n2000 100\n")
    assert "reused" not in incast.here("run", scenario, "--set", traffic).stderr
    assert "reused" in incast.here("run", scenario, "--set", traffic).stderr
    sizes.write_text("1000 0\n3000 100\n")
    assert "reused" not in incast.here("run", scenario, "--set", traffic).stderr


def test_files_that_the_effective_scenario_only_names_are_part_of_it(incast: Incast) -> None:
    folder = incast.folder / "imported"
    folder.mkdir()
    (folder / "net.txt").write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    (folder / "flow.txt").write_text("1\n0 1 3 100 50000 2.0\n")
    (folder / "all.toml").write_text(
        'cc = { algorithm = "constant" }\ntopology = { kind = "hpcc-file", file = "net.txt" }\n'
        '[[traffic]]\nkind = "hpcc-file"\nfile = "flow.txt"\n'
    )
    assert incast.here("run", "imported/all.toml").stderr == ""
    assert "reused" in incast.here("run", "imported/all.toml").stderr
    (folder / "flow.txt").write_text("1\n0 1 3 100 60000 2.0\n")
    again = incast.here("run", "imported/all.toml")
    assert (again.returncode, again.stderr) == (0, "")
    assert "0 made, 1 reused" in incast.here("sweep", "imported/all.toml").stdout
    assert "2 made, 0 reused" in incast.here("sweep", "imported/all.toml", "--vary", "cc=oscar,hpcc").stdout


def test_the_source_of_a_plugin_is_part_of_the_scenario(incast: Incast, scenario: Path) -> None:
    plugin = incast.folder / "mine.py"
    words = ("sweep", scenario, "--plugin", "mine.py", "--vary", "cc=oscar,fixed-rate", "--out", "out")
    plugin.write_text(PLUGIN)
    assert "2 made, 0 reused" in incast.here(*words).stdout
    assert "0 made, 2 reused" in incast.here(*words).stdout
    plugin.write_text(PLUGIN.replace("5e10", "4e10"))
    again = incast.here(*words, "--fresh")
    assert again.returncode == 0
    folders = sorted(path.name.rpartition("-")[0] for path in (incast.folder / "out/runs/small").iterdir())
    assert folders == ["fixed-rate-seed7", "fixed-rate-seed7", "oscar-seed7"]


def test_a_folder_that_the_user_names_is_replaced_only_when_asked(incast: Incast, scenario: Path) -> None:
    assert incast.here("run", scenario, "--out", "here").returncode == 0
    again = incast.here("run", scenario, "--out", "here")
    assert again.returncode == 0
    assert "reused here" in again.stderr
    refused = incast.here("run", scenario, "--out", "here", "--seed", "8")
    assert refused.returncode == 1
    assert "already contains a complete result of another run" in refused.stderr
    assert "--fresh" in refused.stderr
    assert incast.here("run", scenario, "--out", "here", "--seed", "8", "--fresh").returncode == 0
    assert Result.open(incast.folder / "here").info["seed"] == 8


def test_a_folder_with_other_files_is_left_alone(incast: Incast, scenario: Path) -> None:
    folder = incast.folder / "mine"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    done = incast.here("run", scenario, "--out", "mine", "--fresh")
    assert done.returncode == 1
    assert "thesis.tex" in done.stderr
    assert [p.name for p in folder.iterdir()] == ["thesis.tex"]


def test_threads_do_not_change_the_result_and_seeds_are_recorded(incast: Incast, scenario: Path) -> None:
    prints = set()
    for threads in ("1", "2", "3"):
        folder = incast.folder / f"t{threads}"
        assert (
            incast.here("run", scenario, "--threads", threads, "--seed", "5", "--out", folder).returncode == 0
        )
        result = Result.open(folder)
        assert result.info["seed"] == 5
        prints.add(result.fingerprint)
    assert len(prints) == 1


def test_compare_puts_all_algorithms_into_one_table(incast: Incast, scenario: Path) -> None:
    done = incast.here(
        "compare", scenario, "--cc", "oscar,constant", "--plot", "--set", "traffic.burst.count=5"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert fits(done.stdout)
    assert "queue at s0, port 3" in done.stdout
    assert "FCT slowdown" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines()]
    # Of the queue, of the slowdowns, and of what kept the flows back.
    assert sum(row[:1] == ["OSCAR"] for row in rows) == 3
    assert sum(row[:1] == ["constant"] for row in rows) == 3
    saved = re.search(r"saved in incast-results/small: (\S+), (\S+)\n", done.stdout)
    assert saved
    assert [name.partition("-")[0] for name in saved.groups()] == ["oscar", "constant"]
    for name in ("queue.png", "queue.pdf", "slowdown.png", "slowdown.pdf"):
        assert (incast.folder / "incast-results/small" / name).stat().st_size > 5000
        assert f"picture incast-results/small/{name}\n" in done.stdout


def test_many_ports_and_traffic_that_comes_and_goes_get_one_table(incast: Incast, scenario: Path) -> None:
    traffic = "traffic=[{kind='poisson', sizes='10KB', load=0.5, duration='200us'}]"
    probed = "probe.ports=['all switch ports','all host ports']"
    one = incast.here("compare", scenario, "--cc", "oscar,hpcc", "--set", traffic)
    assert one.returncode == 0
    assert "queue at s0, port 3, over the whole run" in one.stdout
    many = incast.here("run", scenario, "--set", traffic, "--set", probed)
    assert many.returncode == 0
    assert "queues of the 8 probed ports, over the whole run" in many.stdout
    assert fits(one.stdout + many.stdout)
    result = Result.open(incast.folder / stored(scenario, "oscar", traffic, probed))
    queue, samples = (result.port_series.column(name) for name in ("queue_bytes", "samples"))
    queue = np.repeat(queue, samples)
    row = next(line.split() for line in many.stdout.splitlines() if line.startswith("OSCAR"))
    shown = [float(row[i].replace(",", "")) for i in (1, 2, 4)]
    expected = [queue.mean() / 1e3, np.sort(queue)[-(-99 * len(queue) // 100) - 1] / 1e3]
    assert shown == pytest.approx([*expected, 100 * (queue > 0).mean()], rel=0.01)


def test_compare_gives_each_algorithm_the_same_flows(incast: Incast, scenario: Path) -> None:
    assert (
        incast.here("compare", scenario, "--cc", "oscar:artifact,oscar:paper", "--out", "both").returncode
        == 0
    )
    results = [Result.open(incast.folder / "both" / name) for name in ("oscar-artifact", "oscar-paper")]
    for column in ("size_bytes", "start_ps", "source_id"):
        one, other = (sorted(r.flows.column(column).tolist()) for r in results)
        assert one == other
    assert results[0].fingerprint != results[1].fingerprint


NO_CIRCUITS = (
    "reacts to announcements of circuits, and the network has no circuits; "
    'a network with topology.kind = "rotor" has them'
)
NO_MARKS = "needs ECN marks, and the switches set none; add a section [switch.ecn] with kmin, kmax and pmax"
MARKS = "switch.ecn={kmin='400KB', kmax='1600KB', pmax=0.2}"


def left_out(text: str) -> dict[str, str]:
    """The algorithms that are left out, each with the reason."""
    found = re.search(r"^left out\n((?:  .+\n)+)", text, re.MULTILINE)
    assert found
    entries = re.split(r"^  (?=\S)", found[1], flags=re.MULTILINE)[1:]
    words = (entry.split() for entry in entries)
    return {name: " ".join(why) for name, *why in words}


def test_compare_all_runs_what_the_scenario_permits_and_says_why_not_the_rest(
    incast: Incast, scenario: Path
) -> None:
    known = {a.name: a for a in _core.algorithms()}
    done = incast("compare", scenario, "--cc", "all", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert fits(done.stdout)
    why = left_out(done.stdout)
    assert (why["constant"], why["retcp"]) == ("controls nothing; name it to run it too", NO_CIRCUITS)
    assert why["oracle"] == "knows what no network tells; name it to run it too"
    assert why["dctcp"] == why["dcqcn"] == NO_MARKS
    assert {"oscar", "hpcc", "powertcp", "theta-powertcp", "swift", "timely"} <= set(known) - set(why)
    ran = [name for name in known if name not in why]
    assert (
        f"small, seed 7: {len(ran)} of {len(ran)} algorithms ran, sorted by the mean slowdown of flows"
        in done.stdout
    )
    # Every algorithm either has a row in all three tables or a reason.
    for name, a in known.items():
        rows = re.findall(rf"^{re.escape(a.title)} +\S", done.stdout, re.MULTILINE)
        assert len(rows) == (3 if name in ran else 0)
    # The reason is what a scenario with that algorithm says.
    refused = incast.here("run", scenario, "--set", "cc.algorithm=dctcp")
    assert refused.returncode == 2
    assert f"dctcp {NO_MARKS}" in refused.stderr
    warned = incast.here("run", scenario, "--set", "cc.algorithm=retcp")
    assert "retcp reacts to announcements of circuits, and the network has no circuits" in warned.stderr
    # With marks those that read them are among them.
    marked = incast("compare", scenario, "--cc", "all", "--quiet", "--set", MARKS)
    assert marked.returncode == 0
    assert {"constant", "retcp"} <= set(left_out(marked.stdout))
    assert not {"dctcp", "dcqcn"} & set(left_out(marked.stdout))


def test_compare_all_sorts_its_tables_alike(incast: Incast, scenario: Path) -> None:
    done = incast("compare", scenario, "--cc", "all", "--quiet", "--out", "all")
    assert done.returncode == 0
    results = {path.name: Result.open(path) for path in (incast.folder / "all").iterdir()}
    titles = {a.name: a.title for a in _core.algorithms()}
    # Means of the same slowdowns, which differ at most in how their sums are rounded, are equal.
    means = {titles[name]: round(r.flow_times().slowdown.mean(), 12) for name, r in results.items()}
    blocks = done.stdout.split("\nalgorithm ")[1:]
    tables = [[re.split(r"  +", line)[0] for line in block.splitlines()] for block in blocks]
    first, second, third = ([row for row in rows if row in means] for rows in tables)
    assert first == second == third
    assert set(first) == set(means)
    assert [means[row] for row in first] == sorted(means.values())


def test_all_can_be_joined_by_presets_and_what_is_named_must_be_possible(
    incast: Incast, scenario: Path
) -> None:
    done = incast("compare", scenario, "--cc", "all,swift:oscar,constant", "--quiet")
    assert done.returncode == 0
    assert re.search(r"^Swift \(oscar\) +\S", done.stdout, re.MULTILINE)
    assert re.search(r"^constant +\S", done.stdout, re.MULTILINE)
    assert "constant" not in left_out(done.stdout)
    refused = incast("compare", scenario, "--cc", "all,dctcp", "--quiet")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert f"dctcp {NO_MARKS}" in " ".join(refused.stderr.split())


def test_where_no_algorithm_is_possible_all_is_an_error(incast: Incast) -> None:
    done = incast("compare", ROOT / "examples/homa.toml", "--cc", "all")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cc: has no effect: the transport (transport.kind) has no congestion control" in done.stderr
    assert len(done.stderr.splitlines()) == 1


BROKEN = PLUGIN.replace("FixedRate", "Broken").replace("return None, 5e10", 'raise RuntimeError("it broke")')


def test_a_run_that_fails_does_not_lose_the_others(incast: Incast, scenario: Path) -> None:
    (incast.folder / "mine.py").write_text(BROKEN)
    plugin = ("--plugin", "mine.py", "--quiet")
    done = incast("compare", scenario, *plugin, "--cc", "oscar,broken,swift")
    assert done.returncode == 1
    assert "RuntimeError: it broke" in done.stderr
    assert "incast: broken failed: it broke" in done.stderr
    assert "small, seed 7: 2 of 3 algorithms ran" in done.stdout
    for title in ("OSCAR", "Swift"):
        assert re.search(rf"^{title} +\S", done.stdout, re.MULTILINE)
    # One's own algorithms are among all.
    everything = incast("compare", scenario, *plugin, "--cc", "all")
    assert everything.returncode == 1
    assert "incast: broken failed: it broke" in everything.stderr
    assert re.search(r": (\d+) of (\d+) algorithms ran", everything.stdout)
    alone = incast("compare", scenario, *plugin, "--cc", "broken")
    assert alone.returncode == 1
    assert alone.stdout == ""
    assert "RuntimeError: it broke" in alone.stderr


def test_a_run_that_cannot_finish_fails_and_says_why(incast: Incast) -> None:
    # Five switches in a ring, each host sends two switches further: every link waits for the next.
    (incast.folder / "ring.toml").write_text(RING)
    done = incast.here("run", "ring.toml")
    assert done.returncode == 1
    shown = " ".join(done.stdout.split())
    assert re.search(
        r"(no progress since|stopped at) \S+, with 5 flows unfinished: PFC deadlock, s\d port", shown
    )
    for switch in range(5):
        assert f"s{switch} port" in shown
    assert re.search(r"flow \d+: waits for ", shown)
    assert "saved in incast-results/ring/constant-seed" in done.stdout
    # The same deadlock, found at a time limit that comes before the run counts as stalled.
    limited = incast.here("run", "ring.toml", "--set", "run.until=3ms", "--out", "limited")
    assert "time limit 3ms reached with 5 flows unfinished: PFC deadlock" in " ".join(limited.stdout.split())
    assert limited.returncode == 1


BAD = {
    "no such file": (["run", "missing.toml"], "missing.toml"),
    "a folder": (["run", "."], "."),
    "no unit": (["run", "small.toml", "--set", "topology.rate=100"], "topology.rate"),
    "wrong unit": (["validate", "small.toml", "--set", "topology.delay=3KB"], "topology.delay"),
    "unknown key": (["validate", "small.toml", "--set", "topology.hostz=3"], "hosts"),
    "unknown algorithm": (["compare", "small.toml", "--cc", "oscar,ocsar"], "oscar"),
    "unknown preset": (["compare", "small.toml", "--cc", "oscar:papr"], "papr"),
    "the same twice": (["compare", "small.toml", "--cc", "oscar,oscar"], "twice"),
    "an empty name": (["compare", "small.toml", "--cc", "oscar,"], "--cc"),
    "an override without value": (["run", "small.toml", "--set", "topology.rate"], "topology.rate"),
    "no algorithms": (["compare", "small.toml"], "--cc"),
    "negative seed": (["run", "small.toml", "--seed", "-1"], "--seed"),
    "no threads": (["run", "small.toml", "--threads", "0"], "--threads"),
    "not a number": (["run", "small.toml", "--seed", "one"], "whole number"),
    "unknown command": (["rum", "small.toml"], "rum"),
    "unknown option": (["run", "small.toml", "--sed", "1"], "--sed"),
}


@pytest.mark.parametrize(("arguments", "named"), BAD.values(), ids=BAD.keys())
@pytest.mark.usefixtures("scenario")
def test_bad_input_is_explained_and_nothing_is_left(incast: Incast, arguments: list[str], named: str) -> None:
    done = incast.here(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert named in done.stderr
    assert "Traceback" not in done.stderr
    assert "panicked" not in done.stderr
    assert [p.name for p in incast.folder.iterdir()] == ["small.toml"]


def test_a_result_that_cannot_be_written_is_explained(incast: Incast, scenario: Path) -> None:
    (incast.folder / "file").write_text("")
    done = incast.here("run", scenario, "--out", "file/under")
    assert done.returncode == 1
    assert "file/under" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_and_version(incast: Incast) -> None:
    assert incast("--version").stdout == f"incast {_core.__version__}\n"
    for command in ((), ("run",), ("compare",), ("validate",), ("list",)):
        done = incast(*command, "--help")
        assert done.returncode == 0
        assert fits(done.stdout)
    assert "130  stopped by Ctrl-C" in incast("--help").stdout


def test_a_command_alone_prints_its_help(incast: Incast) -> None:
    for command in ((), ("kernel",)):
        done = incast.here(*command)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == incast(*command, "--help").stdout


def test_unknown_commands_and_options_get_a_suggestion(incast: Incast) -> None:
    for line, message in (
        ("rum small.toml", 'incast: there is no command "rum"; did you mean "run"?'),
        ("kernel lod oscar", 'incast kernel: there is no command "lod"; did you mean "load"?'),
        ("run x.toml --oot y", "incast run: there is no option --oot; did you mean --out?"),
        ("run x.toml --sede=3", "incast run: there is no option --sede; did you mean --seed?"),
        ("run x.toml --zzz", "incast run: there is no option --zzz\n    help: `incast run --help` shows all"),
        ("qqq", 'incast: there is no command "qqq"\n    help: `incast --help` shows all'),
    ):
        done = incast.here(*line.split())
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{message}\n")
    for line, message in (
        ("plot x --kind quee", "argument --kind: there is no 'quee'; did you mean 'queue'?"),
        ("completion bsh", "argument SHELL: there is no 'bsh'; did you mean 'bash'?"),
        ("testbed x --switch zzz", "there is no 'zzz' (choose from auto, kernel, user)"),
    ):
        done = incast.here(*line.split())
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr


def test_suggestions_are_those_of_scenario_files() -> None:
    # The words of the test in `grammar/suggest.rs`, with the same answers.
    known = ["oscar", "hpcc", "powertcp", "theta-powertcp", "dcqcn"]
    for word, meant in (
        ("oscra", "oscar"),
        ("HPCC", "hpcc"),
        ("theta_powertcp", "theta-powertcp"),
        ("power", "powertcp"),
        ("zzz", None),
        ("", None),
    ):
        assert nearest(word, known) == meant
    # Any words that can be iterated over are taken, and nothing but words.
    assert nearest("hpc", dict.fromkeys(known)) == "hpcc"
    assert nearest("hpc", (word for word in known)) == "hpcc"
    with pytest.raises(TypeError):
        nearest("hpc", [1])  # type: ignore[list-item]


def test_results_have_the_known_names_of_algorithms(incast: Incast, scenario: Path) -> None:
    done = incast.here("compare", scenario, "--cc", "OSCAR,New Reno,Swift:Oscar", "--out", "out")
    assert (done.returncode, done.stderr) == (0, "")
    folders = [path.parent for path in incast.folder.glob("out/*/result.json")]
    found = sorted(name for folder in folders for name in Result.open(folder).info["algorithms"])
    assert found == ["newreno:rfc", "oscar:fair", "swift:oscar"]
    assert "is given twice" in incast.here("compare", scenario, "--cc", "OSCAR,oscar").stderr
    swept = incast.here("sweep", scenario, "--vary", "cc=OSCAR,Swift", "--out", "swept", "--jobs", "1")
    assert swept.returncode == 0
    assert set(re.findall(r"^(oscar|swift) ", swept.stdout, re.MULTILINE)) == {"oscar", "swift"}
    again = incast.here("sweep", scenario, "--vary", "cc=OSCAR,oscar")
    assert again.returncode == 2
    assert "'oscar' is given twice" in again.stderr
    made = compare(scenario, ["θ-PowerTCP"], threads=1)
    assert list(made) == ["theta-powertcp"]


def test_an_algorithm_of_your_own_keeps_its_name() -> None:
    assert canonical("New Reno") == "newreno"
    assert canonical("New Reno", {"New Reno"}) == "New Reno"
    assert canonical("nothing:X") == "nothing:X"
    assert canonical("swift:X") == canonical("SWIFT:X") == "swift:X"


def test_every_example_is_fine(incast: Incast) -> None:
    examples = sorted((ROOT / "examples").glob("*.toml"))
    assert examples
    for example in examples:
        done = incast.here("validate", example)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_demo_has_what_algorithms_for_spraying_are_made_for() -> None:
    for name in ("microburst", "load"):
        scenario = Scenario.load(ROOT / f"examples/{name}.toml").with_(demo.SPRAYED)
        assert scenario.warnings == []
        assert scenario.size().flows > 0


def test_the_demo_ends_at_the_three_doors_of_the_first_page() -> None:
    doors = re.findall(r"^- \[(.+?)\]\((stories/.+?)\)", (ROOT / "docs/index.md").read_text(), re.MULTILINE)
    assert [(title, f"docs/{page}") for title, page in doors] == [door[:2] for door in demo.DOORS]
    for _, page, command in demo.DOORS:
        # The story has the command, but for the name of a file.
        assert f"$ incast {' '.join(command.split()[:2])}" in (ROOT / page).read_text()


def test_the_demo_prints_one_table_and_saves_both_comparisons(incast: Incast) -> None:
    (incast.folder / "examples").symlink_to(ROOT / "examples")
    # With fewer flows than the real one, which takes two minutes with an optimised core.
    words = [sys.executable, "-c", "import sys; from incast import demo; sys.exit(demo.main('40us', '10us'))"]
    done = subprocess.run(words, cwd=incast.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    # So few make no load, which is said of each algorithm; and the queue of the burst stays below what is
    # marked, which is said of the two that declare no signal but marks.
    warned = [line for line in done.stderr.splitlines() if not line.startswith("    help: ")]
    unmarked = [line for line in warned if "switch.ecn.kmin: is 400KB, and no packet was marked" in line]
    assert [line.rpartition(" ")[2] for line in unmarked] == ["dctcp", "smartt"]
    said = [line for line in warned if line not in unmarked]
    assert all("traffic.cache.load: the load of cache is not steady because" in line for line in said)
    assert fits(done.stdout)
    known = {a.name: a for a in _core.algorithms()}
    left = left_out(done.stdout)
    assert {"constant", "retcp"} <= set(left)
    assert {"oscar", "powertcp", "hpcc", "swift", "timely", "dcqcn", "dctcp"} <= set(known) - set(left)

    # One table, with both settings. Nothing is left out in silence: it has a row, or a reason.
    assert len(re.findall("^algorithm ", done.stdout, re.MULTILINE)) == 1
    groups, head, units, _, *lines = done.stdout.split("\n\n")[3].splitlines()
    assert re.fullmatch(r" +-+ microburst -+  -+ CacheFollower -+", groups)
    names = "algorithm paper path peak steady settled unused small large all"
    assert head.split() == names.split()
    assert units.split() == ["KB", "KB", "us", "us", "p99", "mean", "mean"]
    split = [re.split(r"  +", line) for line in lines]
    assert all(title.endswith("*") for title, *_ in split)
    rows = {title.removesuffix("*"): " ".join(cells).split() for title, *cells in split}
    titles = {known[name].title: name for name in known if name not in left}
    assert rows.keys() == titles.keys()
    assert all(len(cells) == 9 for cells in rows.values())
    assert len(said) == len(rows)
    assert re.search(r"[\d.]+ % are offered and [\d.]+ to [\d.]+ % carried", " ".join(done.stdout.split()))
    means = [float(cells[-1]) for cells in rows.values()]
    assert means == sorted(means)
    assert means[0] >= 1
    for title, (paper, path, *_) in rows.items():
        of = [str(n) for n, members in enumerate(demo.PAPERS.values(), 1) if titles[title] in members]
        assert paper == (of[0] if of else "–")
        assert path == ("REPS" if known[titles[title]].family == "spraying" else "one")

    # The five papers and their algorithms; of those that this version does not have, the demo says so.
    named = [name for members in demo.PAPERS.values() for name in members]
    assert len(demo.PAPERS) == 5
    absent = re.findall(r"not in this version: ([^)]+)", " ".join(done.stdout.split()))
    assert {name for members in absent for name in members.split(", ")} == set(named) - set(known)

    # The table has the numbers of the results.
    for label in ("hpcc", "timely"):
        flowing = Result.open(incast.folder / "demo-results/load" / label)
        assert flowing.end == "finished"
        slowdowns = {s["class"]: s["slowdown"] for s in flowing.info["summary"]["slowdowns"]}
        title = label.upper()
        assert float(rows[title][-1]) == pytest.approx(slowdowns["all"]["mean"], rel=0.01)
        peak = Result.open(incast.folder / "demo-results/microburst" / label).peak_queue_bytes("s0", 15)
        assert float(rows[title][2].replace(",", "")) == pytest.approx(peak / 1e3, rel=0.01)
    for name in ("microburst/queue", "load/slowdown"):
        for kind in ("png", "pdf"):
            assert (incast.folder / f"demo-results/{name}.{kind}").stat().st_size > 5000
    following = done.stdout.partition("Next, through one of three doors:\n")[2].splitlines()
    assert [line.split()[:3] for line in following[1::2]] == [
        [".venv/bin/incast", "new", "training"],
        [".venv/bin/incast", "new", "algorithm"],
        [".venv/bin/incast", "reproduce", "oscar/fig9"],
    ]
