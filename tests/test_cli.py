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
from incast import Result, _core
from stored import stored

KINDS = ("algorithms", "topologies", "traffic", "distributions")


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


@pytest.mark.parametrize("name", [a.name for a in _core.algorithms()])
def test_list_shows_each_parameter_with_default_range_and_source(incast: Incast, name: str) -> None:
    done = incast.here("list", name)
    assert done.returncode == 0
    assert fits(done.stdout)
    shown = " ".join(done.stdout.split())
    algorithm = _core.algorithm(name)
    assert algorithm is not None
    for p in algorithm.parameters:
        quoted = f'"{p.value}"' if p.kind in ("time", "bytes", "rate", "choice") else p.value
        assert f"{p.name} = {quoted} {' '.join(f'{p.meaning}; {p.range}. {p.source}'.split())}" in shown


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


def test_validate_says_what_a_scenario_comes_to(incast: Incast, scenario: Path) -> None:
    done = incast("validate", scenario)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{scenario}: fine" in done.stdout
    assert "4 hosts, 1 switch, 4 links" in done.stdout
    assert re.search(r"flows +3\n", done.stdout)
    assert re.search(r"traffic +2.40 MB\n", done.stdout)
    assert not (incast.folder / "incast-results").exists()


def test_the_effective_scenario_is_itself_a_scenario(incast: Incast, scenario: Path) -> None:
    effective = incast(
        "validate", scenario, "--effective", "--seed", "11", "--set", "topology.hosts=5"
    ).stdout
    again = incast.folder / "small-again.toml"
    again.write_text(effective)
    assert "seed = 11" in effective
    assert incast("validate", again, "--effective").stdout == effective
    assert "5 hosts" in incast("validate", again).stdout


def test_run_saves_a_result_and_says_where(incast: Incast, scenario: Path) -> None:
    done = incast("run", scenario)
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
    first = incast("run", scenario)
    where = stored(scenario, "oscar")
    file = incast.folder / where / "result.json"
    made = file.stat().st_mtime_ns
    again = incast("run", scenario)
    assert (again.returncode, again.stdout) == (0, first.stdout)
    assert f"incast: reused {where}: same scenario, version and seed" in again.stderr
    assert "--fresh" in again.stderr
    assert file.stat().st_mtime_ns == made
    # In a comparison, too; the other algorithm is run.
    both = incast("compare", scenario, "--cc", "constant,oscar")
    assert both.returncode == 0
    assert both.stderr.count("reused") == 1
    assert file.stat().st_mtime_ns == made
    fresh = incast("run", scenario, "--fresh")
    assert (fresh.returncode, fresh.stderr) == (0, "")
    assert file.stat().st_mtime_ns > made


def test_another_scenario_or_seed_is_another_result(incast: Incast, scenario: Path) -> None:
    prints = set()
    for change in ((), ("--set", "topology.delay=4us"), ("--seed", "8")):
        done = incast("run", scenario, *change)
        assert (done.returncode, done.stderr) == (0, "")
        prints.add(done.stdout.splitlines()[-1])
    assert len(prints) == 3


def test_comments_and_defaults_written_out_are_the_same_scenario(incast: Incast, scenario: Path) -> None:
    assert incast("run", scenario).returncode == 0
    scenario.write_text("# A remark.\n" + scenario.read_text() + 'stall_after = "1s"\n')
    assert "reused" in incast("run", scenario).stderr


def test_sizes_in_a_file_are_part_of_the_scenario(incast: Incast, scenario: Path) -> None:
    sizes = incast.folder / "sizes.txt"
    traffic = "traffic=[{kind='poisson', sizes='sizes.txt', load=0.3, duration='100us'}]"
    sizes.write_text("1000 0\n2000 100\n")
    assert incast("run", scenario, "--set", traffic).stderr == ""
    assert "reused" in incast("run", scenario, "--set", traffic).stderr
    sizes.write_text("1000 0\n3000 100\n")
    assert "reused" not in incast("run", scenario, "--set", traffic).stderr


def test_files_that_the_effective_scenario_only_names_are_part_of_it(incast: Incast) -> None:
    folder = incast.folder / "imported"
    folder.mkdir()
    (folder / "net.txt").write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    (folder / "flow.txt").write_text("1\n0 1 3 100 50000 2.0\n")
    (folder / "all.toml").write_text(
        'cc = { algorithm = "constant" }\ntopology = { kind = "hpcc-file", file = "net.txt" }\n'
        '[[traffic]]\nkind = "hpcc-file"\nfile = "flow.txt"\n'
    )
    assert incast("run", "imported/all.toml").stderr == ""
    assert "reused" in incast("run", "imported/all.toml").stderr
    (folder / "flow.txt").write_text("1\n0 1 3 100 60000 2.0\n")
    again = incast("run", "imported/all.toml")
    assert (again.returncode, again.stderr) == (0, "")
    assert "0 made, 1 reused" in incast("sweep", "imported/all.toml").stdout
    assert "2 made, 0 reused" in incast("sweep", "imported/all.toml", "--vary", "cc=oscar,hpcc").stdout


def test_the_source_of_a_plugin_is_part_of_the_scenario(incast: Incast, scenario: Path) -> None:
    plugin = incast.folder / "mine.py"
    words = ("sweep", scenario, "--plugin", "mine.py", "--vary", "cc=oscar,fixed-rate", "--out", "out")
    plugin.write_text(PLUGIN)
    assert "2 made, 0 reused" in incast(*words).stdout
    assert "0 made, 2 reused" in incast(*words).stdout
    plugin.write_text(PLUGIN.replace("5e10", "4e10"))
    again = incast(*words, "--fresh")
    assert again.returncode == 0
    folders = sorted(path.name.rpartition("-")[0] for path in (incast.folder / "out/runs/small").iterdir())
    assert folders == ["fixed-rate-seed7", "fixed-rate-seed7", "oscar-seed7"]


def test_a_folder_that_the_user_names_is_replaced_only_when_asked(incast: Incast, scenario: Path) -> None:
    assert incast("run", scenario, "--out", "here").returncode == 0
    again = incast("run", scenario, "--out", "here")
    assert again.returncode == 0
    assert "reused here" in again.stderr
    refused = incast("run", scenario, "--out", "here", "--seed", "8")
    assert refused.returncode == 1
    assert "already contains a complete result of something else" in refused.stderr
    assert "--fresh" in refused.stderr
    assert incast("run", scenario, "--out", "here", "--seed", "8", "--fresh").returncode == 0
    assert Result.open(incast.folder / "here").info["seed"] == 8


def test_a_folder_with_other_files_is_left_alone(incast: Incast, scenario: Path) -> None:
    folder = incast.folder / "mine"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    done = incast("run", scenario, "--out", "mine", "--fresh")
    assert done.returncode == 1
    assert "thesis.tex" in done.stderr
    assert [p.name for p in folder.iterdir()] == ["thesis.tex"]


def test_threads_do_not_change_the_result_and_seeds_are_recorded(incast: Incast, scenario: Path) -> None:
    prints = set()
    for threads in ("1", "2", "3"):
        folder = incast.folder / f"t{threads}"
        assert incast("run", scenario, "--threads", threads, "--seed", "5", "--out", folder).returncode == 0
        result = Result.open(folder)
        assert result.info["seed"] == 5
        prints.add(result.fingerprint)
    assert len(prints) == 1


def test_compare_puts_all_algorithms_into_one_table(incast: Incast, scenario: Path) -> None:
    done = incast("compare", scenario, "--cc", "oscar,constant", "--plot", "--set", "traffic.burst.count=5")
    assert (done.returncode, done.stderr) == (0, "")
    assert fits(done.stdout)
    assert "queue at s0, port 3" in done.stdout
    assert "FCT slowdown" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines()]
    assert sum(row[:1] == ["OSCAR"] for row in rows) == 2
    assert sum(row[:1] == ["constant"] for row in rows) == 2
    saved = re.search(r"saved in incast-results/small: (\S+), (\S+)\n", done.stdout)
    assert saved
    assert [name.partition("-")[0] for name in saved.groups()] == ["oscar", "constant"]
    for name in ("queue.png", "queue.pdf", "slowdown.png", "slowdown.pdf"):
        assert (incast.folder / "incast-results/small" / name).stat().st_size > 5000
        assert f"picture incast-results/small/{name}\n" in done.stdout


def test_many_ports_and_traffic_that_comes_and_goes_get_one_table(incast: Incast, scenario: Path) -> None:
    traffic = "traffic=[{kind='poisson', sizes='10KB', load=0.5, duration='200us'}]"
    probed = "probe.ports=['all switch ports','all host ports']"
    one = incast("compare", scenario, "--cc", "oscar,hpcc", "--set", traffic)
    assert one.returncode == 0
    assert "queue at s0, port 3, over the whole run" in one.stdout
    many = incast("run", scenario, "--set", traffic, "--set", probed)
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
    assert incast("compare", scenario, "--cc", "oscar:artifact,oscar:paper", "--out", "both").returncode == 0
    results = [Result.open(incast.folder / "both" / name) for name in ("oscar-artifact", "oscar-paper")]
    for column in ("size_bytes", "start_ps", "source_id"):
        one, other = (sorted(r.flows.column(column).tolist()) for r in results)
        assert one == other
    assert results[0].fingerprint != results[1].fingerprint


def test_a_run_that_cannot_finish_fails_and_says_why(incast: Incast) -> None:
    # Five switches in a ring, each host sends two switches further: every link waits for the next.
    (incast.folder / "ring.toml").write_text(RING)
    done = incast("run", "ring.toml")
    assert done.returncode == 1
    shown = " ".join(done.stdout.split())
    assert re.search(
        r"(no progress since|stopped at) \S+, with 5 flows unfinished: PFC deadlock, s\d port", shown
    )
    for switch in range(5):
        assert f"s{switch} port" in shown
    assert re.search(r"flow \d+: waits for ", shown)
    assert "saved in incast-results/ring/constant-seed" in done.stdout


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
    "no command": ([], "COMMAND"),
}


@pytest.mark.parametrize(("arguments", "named"), BAD.values(), ids=BAD.keys())
@pytest.mark.usefixtures("scenario")
def test_bad_input_is_explained_and_nothing_is_left(incast: Incast, arguments: list[str], named: str) -> None:
    done = incast(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert named in done.stderr
    assert "Traceback" not in done.stderr
    assert "panicked" not in done.stderr
    assert [p.name for p in incast.folder.iterdir()] == ["small.toml"]


def test_a_result_that_cannot_be_written_is_explained(incast: Incast, scenario: Path) -> None:
    (incast.folder / "file").write_text("")
    done = incast("run", scenario, "--out", "file/under")
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


def test_every_example_is_fine(incast: Incast) -> None:
    examples = sorted((ROOT / "examples").glob("*.toml"))
    assert examples
    for example in examples:
        done = incast("validate", example)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_demo_prints_and_saves_both_comparisons(incast: Incast) -> None:
    (incast.folder / "examples").symlink_to(ROOT / "examples")
    words = [sys.executable, "-m", "incast.demo"]
    done = subprocess.run(words, cwd=incast.folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert fits(done.stdout)
    for title in ("OSCAR", "PowerTCP", "θ-PowerTCP", "HPCC", "Swift", "TIMELY", "DCQCN", "DCTCP"):
        assert len(re.findall(rf"^{title} +\S", done.stdout, re.MULTILINE)) == 2
    assert "queue at s0, port 15" in done.stdout
    assert "FCT slowdown" in done.stdout
    for name in ("microburst/queue", "websearch/slowdown"):
        for kind in ("png", "pdf"):
            assert (incast.folder / f"demo-results/{name}.{kind}").stat().st_size > 5000
    assert Result.open(incast.folder / "demo-results/websearch/hpcc").end == "finished"
    assert done.stdout.splitlines()[-2].startswith("  .venv/bin/incast compare examples/")
