"""Sweeps: plans, tables, kills, failures, executors."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import polars
import pytest

from helpers import PLUGIN, RING, Incast, wait_until
from incast import Result, ResultError, Scenario, ScenarioError, algorithms, stats, sweep
from incast.runs.runner import Watch

TABLES = ("table.parquet", "table.csv", "summary.parquet", "summary.csv")


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in TABLES}


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def small_plan(scenario: Path, seeds: int) -> sweep.Plan:
    return sweep.plan(scenario, ["cc=oscar,constant"], results=scenario.parent / "runs", seeds=seeds)


def test_every_combination_and_seed_has_a_row_with_the_numbers_of_its_result(
    incast: Incast, scenario: Path
) -> None:
    vary = ("--vary", "cc=oscar,constant", "--vary", "topology.delay=1us,3us")
    done = incast.here("sweep", scenario, *vary, "--seeds", "2", "--out", "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    folder = incast.folder / "out"
    found = rows(folder / "table.csv")
    wanted = [(cc, d, s) for cc in ("oscar", "constant") for d in ("1us", "3us") for s in ("7", "8")]
    assert [(row["cc"], row["topology.delay"], row["seed"]) for row in found] == wanted
    for row in found:
        result = Result.open(folder / "runs/small" / row["result"])
        assert result.fingerprint == row["fingerprint"]
        assert result.info["seed"] == int(row["seed"])
        assert float(row["queue_peak_bytes"]) == result.port_series.column("queue_bytes").max()
        assert float(row["slowdown_all_mean"]) == pytest.approx(
            result.flow_times().slowdown.mean(), rel=1e-12
        )
    frame = polars.read_parquet(folder / "table.parquet")
    assert frame["fingerprint"].to_list() == [row["fingerprint"] for row in found]
    assert frame["seed"].to_list() == [7, 8] * 4


def test_means_and_intervals_are_those_of_the_rows(incast: Incast, scenario: Path) -> None:
    random = "traffic=[{kind='poisson', sizes='20KB', load=0.4, duration='300us'}]"
    done = incast.here(
        "sweep", scenario, "--vary", "cc=oscar,hpcc", "--seeds", "4", "--set", random, "--out", "o"
    )
    assert done.returncode == 0
    each, means = rows(incast.folder / "o/table.csv"), rows(incast.folder / "o/summary.csv")
    for row in means:
        values = [float(r["slowdown_all_mean"]) for r in each if r["cc"] == row["cc"]]
        assert len(set(values)) == 4
        assert row["runs"] == "4"
        assert float(row["slowdown_all_mean"]) == pytest.approx(np.mean(values), rel=1e-12)
        # t for 95 % and three degrees of freedom, from a printed table.
        half = 3.182446 * np.std(values, ddof=1) / 2
        assert float(row["slowdown_all_mean_ci95"]) == pytest.approx(half, rel=1e-6)


def test_students_quantiles_are_those_of_a_printed_table() -> None:
    printed = {1: 12.7062, 2: 4.30265, 3: 3.18245, 4: 2.77645, 9: 2.26216, 30: 2.04227, 120: 1.97993}
    for freedom, t in printed.items():
        assert stats.student(0.95, freedom) == pytest.approx(t, rel=2e-6)
    # Exactly: rounding of the mean is no deviation.
    assert stats.Estimate.of([0.1, 0.1, 0.1]).mean == 0.1


def test_what_run_and_compare_made_is_reused(incast: Incast, scenario: Path) -> None:
    assert incast.here("run", scenario).returncode == 0
    assert incast.here("compare", scenario, "--cc", "constant", "--seed", "8").returncode == 0
    words = ("sweep", scenario, "--vary", "cc=oscar,constant", "--seeds", "2")
    done = incast.here(*words)
    assert "2 × 2 seeds: 2 made, 2 reused\n" in done.stdout
    again = incast.here(*words)
    assert "2 × 2 seeds: 0 made, 4 reused\n" in again.stdout
    assert again.stdout.splitlines()[1:] == done.stdout.splitlines()[1:]
    assert "2 × 2 seeds: 4 made, 0 reused\n" in incast.here(*words, "--fresh").stdout
    assert "reused" in incast.here("run", scenario, "--seed", "8").stderr


def test_a_run_is_made_again_whose_file_a_crash_of_the_machine_left_empty(
    incast: Incast, scenario: Path
) -> None:
    words = ("sweep", scenario, "--vary", "cc=oscar,constant", "--out", "o")
    done = incast.here(*words)
    assert done.returncode == 0, done.stderr
    table = next((incast.folder / "o").rglob("flows.parquet"))
    before = table.read_bytes()
    table.write_bytes(b"")
    again = incast.here(*words)
    assert re.search(r"1 made, 1 reused", again.stdout), again.stdout
    assert table.read_bytes() == before


LONG = ("--set", "run.until=1000s", "--set", "traffic.long.size=200MB")
"""Makes a run of the small scenario take some tenths of a second."""


def test_killed_three_times_it_ends_with_the_same_table_as_never_killed(
    incast: Incast, scenario: Path
) -> None:
    words = ("sweep", scenario, "--vary", "cc=oscar,constant,hpcc", "--seeds", "4", "--jobs", "2", *LONG)
    whole = incast.here(*words, "--out", "whole")
    assert whole.returncode == 0
    folder = incast.folder / "killed"
    ready = 0
    for kill in range(3):
        process = incast.start(*words, "--out", "killed")
        wait_until(lambda ready=ready: len(complete(folder)) > ready, process)  # type: ignore[misc]
        process.kill()
        process.communicate()
        ready = len(complete(folder))
        assert ready < 12, f"the sweep was over before kill number {kill + 1}"
        assert not (folder / "table.csv").exists()
    times = {path: (path / "result.json").stat().st_mtime_ns for path in complete(folder)}
    again = incast.here(*words, "--out", "killed")
    assert again.returncode == 0
    reused = re.search(r"(\d+) made, (\d+) reused", again.stdout)
    assert reused
    assert int(reused[2]) >= ready
    # What was there was not made again.
    assert {path: (path / "result.json").stat().st_mtime_ns for path in times} == times
    assert contents(folder) == contents(incast.folder / "whole")


def complete(folder: Path) -> list[Path]:
    """The results that a sweep reuses: what a process found out of its time has the end `interrupted`."""
    infos = {path.parent: json.loads(path.read_text()) for path in folder.glob("runs/*/*/result.json")}
    return [path for path, info in infos.items() if info.get("outcome", {}).get("end") == "finished"]


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(incast: Incast, scenario: Path) -> None:
    words = ("sweep", scenario, "--vary", "cc=oscar,constant", "--seeds", "6", "--out", "out", *LONG)
    process = incast.start(*words)
    wait_until(lambda: bool(complete(incast.folder / "out")), process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert re.search(r"stopped; \d+ of 12 runs are done; the same command continues from there", err)
    assert "Traceback" not in err
    done = incast.here(*words)
    assert done.returncode == 0
    assert len(rows(incast.folder / "out/table.csv")) == 12


def test_when_the_one_who_sweeps_is_killed_its_processes_end(incast: Incast, scenario: Path) -> None:
    endless = ("--set", "run.until=1000s", "--set", "traffic.long.size=900GB")
    process = incast.start("sweep", scenario, "--jobs", "2", "--seeds", "2", "--out", "out", *endless)
    wait_until(lambda: len(list(incast.folder.glob("out/runs/*/*/port_series/part-*"))) >= 2, process)
    children = Path(f"/proc/{process.pid}/task").glob("*/children")
    pids = [int(pid) for file in children for pid in file.read_text().split()]
    assert len(pids) == 2
    process.kill()
    process.communicate()
    wait_until(lambda: not any(runs(pid) for pid in pids))


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_run_that_fails_is_reported_at_the_end_and_stops_no_other(incast: Incast, scenario: Path) -> None:
    # One large flow or so in all of this time: with some seeds there is none, and that is an error.
    rare = "traffic=[{kind='poisson', sizes='websearch', load=0.2, duration='300us'}]"
    words = ("sweep", scenario, "--vary", "cc=oscar,constant", "--seeds", "6", "--set", rare, "--out", "out")
    done = incast.here(*words)
    assert done.returncode == 1
    failed = [
        int(seed)
        for seed in re.findall(r"^  cc=oscar seed=(\d+): .*(?:makes no|no flow starts)", done.stderr, re.M)
    ]
    assert 0 < len(failed) < 6
    assert f"{12 - 2 * len(failed)} made, 0 reused, {2 * len(failed)} failed" in done.stdout
    assert f"{2 * len(failed)} of 12 runs failed" in done.stderr
    assert "Traceback" not in done.stderr
    sound = [str(seed) for seed in range(7, 13) if seed not in failed]
    assert [row["seed"] for row in rows(incast.folder / "out/table.csv")] == 2 * sound
    assert [row["runs"] for row in rows(incast.folder / "out/summary.csv")] == 2 * [str(len(sound))]
    manifest = json.loads((incast.folder / "out/manifest.json").read_text())
    states = {run["seed"]: run["state"] for run in manifest["runs"]}
    assert states == {seed: "failed" if seed in failed else "done" for seed in range(7, 13)}


def test_a_process_that_dies_fails_its_run_alone(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A module that is loaded at every start of Python kills the process that makes seed 8.
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(DYING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    done = sweep.run(small_plan(scenario, seeds=2), folder=tmp_path / "out", executor=sweep.Local(1))
    assert done.state.made == 2
    assert [failure.label for failure in done.state.failures] == ["cc=oscar seed=8", "cc=constant seed=8"]
    for failure in done.state.failures:
        assert failure.why.startswith("its process was ended by SIGKILL (as when memory runs out)")


DYING = """\
import os, signal, sys
if "incast.runs.runner.worker" in " ".join(sys.orig_argv):
    import incast.runs.runner.executor as executor
    make = executor.obtain
    def obtain(task, scenario, progress=None):
        if "seed = 8" in task.scenario:
            os.kill(os.getpid(), signal.SIGKILL)
        return make(task, scenario, progress)
    executor.obtain = obtain
"""


def test_a_run_that_stalls_is_in_the_table_but_in_no_mean(incast: Incast) -> None:
    # Each host of the ring sends two switches further: with pauses every link waits for the next.
    (incast.folder / "ring.toml").write_text(RING)
    done = incast.here("sweep", "ring.toml", "--vary", "traffic.0.shift=1,2", "--out", "out")
    assert done.returncode == 1
    assert "1 of 2 runs failed\n  shift=2 seed=1: " in done.stderr
    assert "PFC deadlock" in done.stderr
    table, means = rows(incast.folder / "out/table.csv"), rows(incast.folder / "out/summary.csv")
    assert [row["end"] for row in table] == ["finished", "stalled"]
    assert [row["runs"] for row in means] == ["1", "0"]
    assert means[1]["slowdown_all_mean"] == ""


def test_progress_is_shown_on_a_terminal_only(incast: Incast, scenario: Path) -> None:
    here, there = pty.openpty()
    words = incast.words("sweep", scenario, "--seeds", "4", "--jobs", "1")
    process = subprocess.Popen(words, cwd=incast.folder, stderr=there, stdout=subprocess.DEVNULL)
    os.close(there)
    seen = ""
    while True:
        try:
            seen += os.read(here, 4096).decode()
        except OSError:
            break
    os.close(here)
    assert process.wait(60) == 0
    assert re.match(r"\r\x1b\[2K\d/4 runs", seen)
    assert seen.endswith("\r\x1b[2K")


def test_a_folder_of_something_else_is_left_alone(incast: Incast, scenario: Path) -> None:
    assert incast.here("sweep", scenario, "--out", "out").returncode == 0
    other = incast.here("sweep", scenario, "--out", "out", "--seeds", "2")
    assert other.returncode == 1
    assert "out already holds another sweep" in other.stderr
    assert incast.here("sweep", scenario, "--out", "out", "--seeds", "2", "--fresh").returncode == 0
    (incast.folder / "mine").mkdir()
    (incast.folder / "mine/thesis.tex").write_text("years of work")
    refused = incast.here("sweep", scenario, "--out", "mine", "--fresh")
    assert refused.returncode == 1
    assert "thesis.tex" in refused.stderr
    assert [path.name for path in (incast.folder / "mine").iterdir()] == ["thesis.tex"]


def test_values_with_commas_are_kept_together() -> None:
    assert sweep.axis('traffic.0.from=["h1","h2"],"h3"').values == ('["h1","h2"]', '"h3"')
    assert sweep.axis("probe={ports=['a', 'b']},{}").values == ("{ports=['a', 'b']}", "{}")


def test_the_last_word_of_a_key_will_do_where_one_traffic_block_has_it(scenario: Path) -> None:
    block = '\n[[traffic]]\nname = "more"\nkind = "incast"\nto = "h0"\nsize = "10KB"\nfan_in = 2\n'
    scenario.write_text(scenario.read_text() + block)
    (varied,) = sweep.plan(scenario, ["fan_in=2,3"]).axes
    assert (varied.key.split(".")[0], varied.key.split(".")[-1], varied.values) == (
        "traffic",
        "fan_in",
        ("2", "3"),
    )
    with pytest.raises(ScenarioError, match="--vary size: 3 traffic blocks have this key") as caught:
        sweep.plan(scenario, ["size=10KB,20KB"])
    assert "help: say which: traffic.0.size, traffic.1.size, traffic.2.size" in str(caught.value)
    # What no block has is refused as it stands.
    with pytest.raises(ScenarioError, match="laod"):
        sweep.plan(scenario, ["laod=0.5"])


def test_an_executor_is_whatever_has_its_methods(scenario: Path, tmp_path: Path) -> None:
    class Here:
        """Makes the runs in this very process, the last one first."""

        jobs = 1

        def run(self, tasks: Sequence[sweep.Task], watch: Watch) -> Iterator[sweep.Done]:
            for task in reversed(tasks):
                yield sweep.Done(task.index, reused=sweep.execute(task))

    plan = small_plan(scenario, seeds=2)
    executor: sweep.Executor = Here()
    here = sweep.run(plan, folder=tmp_path / "here", executor=executor)
    there = sweep.run(plan, folder=tmp_path / "there", executor=sweep.Local(2), fresh=True)
    assert here.state.made == there.state.made == 4
    assert contents(here.folder) == contents(there.folder)
    assert repr(here) == "<Sweep of 'small': 2 entries × 2 seeds>"


def test_a_plan_says_everything_that_is_wrong_before_anything_runs(scenario: Path) -> None:
    with pytest.raises(ScenarioError) as wrong:
        sweep.plan(scenario, ["cc=oscar,ocsar", "topology.delay=3us,3KB"])
    text = str(wrong.value)
    assert "ocsar" in text
    assert "--vary topology.delay=3KB: topology.delay" in text
    assert not (scenario.parent / "incast-results").exists()


def test_parameters_are_varied_beside_their_algorithm(scenario: Path) -> None:
    # The algorithm replaces the section; beta is set after that, in whatever order they are named.
    for axes in (["cc=swift", "cc.beta=0.4,0.8"], ["cc.beta=0.4,0.8", "cc=swift"]):
        plan = sweep.plan(scenario, axes)
        assert [run.scenario.algorithm for run in plan.runs] == ["swift:paper"] * 2
        betas = [re.findall(r"^beta = (\S+)$", run.scenario.to_toml(), re.MULTILINE) for run in plan.runs]
        assert betas == [["0.4"], ["0.8"]]


@pytest.mark.parametrize("command", [("compare", "--cc"), ("sweep", "--vary cc")])
def test_a_parameter_that_the_choice_of_algorithms_would_undo_is_refused(
    incast: Incast, scenario: Path, command: tuple[str, str]
) -> None:
    name, choice = command
    chosen = ("--cc", "oscar") if name == "compare" else ("--vary", "cc=oscar")
    for override in ("cc.preset=paper", "cc.algorithm=hpcc", "cc={algorithm='hpcc'}"):
        refused = incast.here(name, scenario, *chosen, "--set", override)
        assert refused.returncode == 2
        assert f"--set {override}: has no effect: {choice} chooses" in refused.stderr
    done = incast.here("run", scenario, "--set", "cc={algorithm='oscar', tau=2}", "--out", "set")
    plain = incast.here(name, scenario, *chosen, "--out", "plain")
    # Does what the refusal of the parameter says.
    varied = incast.here("sweep", scenario, "--vary", "cc=oscar", "--vary", "cc.tau=2", "--out", "varied")
    assert [each.returncode for each in (done, plain, varied)] == [0, 0, 0]
    run = Result.open(incast.folder / "set").fingerprint
    assert rows(incast.folder / "varied/table.csv")[0]["fingerprint"] == run
    if name == "compare":
        assert Result.open(incast.folder / "plain/oscar").fingerprint != run


def test_all_stands_for_what_each_combination_permits(
    incast: Incast, scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What other tests of this process have registered is not meant.
    monkeypatch.setattr("incast.scenario.choice.registered", dict)
    plan = sweep.plan(scenario, ["cc=all", "topology.delay=1us,3us"])
    ran = {run.values[0] for run in plan.runs}
    assert {"oscar", "hpcc", "swift"} <= ran
    known = {algorithm.name for algorithm in algorithms()}
    # A reason that is the same for every delay is said once.
    assert {word.removeprefix("cc=") for word in plan.left_out} == known - ran
    assert plan.left_out["cc=dctcp"].startswith("needs ECN marks, and the switches set none")
    assert len(plan.runs) == 2 * len(ran)
    # What is wrong with every algorithm is an error, not a reason.
    with pytest.raises(ScenarioError, match=r"--vary topology\.rate=100: topology\.rate: 100: a rate needs"):
        sweep.plan(scenario, ["cc=all", "topology.rate=100Gbps,100"])
    # Where the other key decides, the reason is that of the combination.
    marks = "switch={ecn={kmin='400KB',kmax='1600KB',pmax=0.2}},{}"
    mixed = sweep.plan(scenario, ["cc=all,constant", marks])
    assert "cc=dctcp switch={}" in mixed.left_out
    values = [run.values for run in mixed.runs]
    assert sum(cc == "dctcp" for cc, _ in values) == 1
    assert sum(cc == "constant" for cc, _ in values) == 2
    done = incast("sweep", scenario, "--vary", "cc=all", "--set", "traffic.long.size=20KB", "--out", "out")
    assert done.returncode == 0
    assert "left out\n  cc=" in done.stderr
    assert "\n  cc=constant  controls nothing" in done.stderr
    assert {row["cc"] for row in rows(incast.folder / "out/table.csv")} == ran
    left = json.loads((incast.folder / "out/manifest.json").read_text())["left_out"]
    assert set(left) == {f"cc={name}" for name in known - ran}


def test_the_tables_are_not_written_over_a_full_disk(scenario: Path, tmp_path: Path) -> None:
    limited = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)), resource.RLIM_INFINITY));"
        "from incast.cli import main; main(sys.argv[1:])"
    )
    words = [sys.executable, "-c", limited, "20000", "sweep", str(scenario), "--out", "out", "--jobs", "1"]
    # Samples of flows, which differ as long as a flow sends: equal ones take no space.
    words += ["--vary", "cc=oscar,constant", "--vary", "traffic.long.size=10KB,60MB"]
    words += ["--set", "probe.interval=10ns", "--set", "probe.flows=['all']"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.count("File too large") == 2
    # Runs whose files are small enough are there; of the others, what was written before can be read.
    ends = {row["traffic.long.size"] for row in rows(tmp_path / "out/table.csv")}
    assert ends == {"10KB"}
    for folder in tmp_path.glob("out/runs/small/*"):
        assert Result.open(folder).state in ("complete", "incomplete")


def test_a_plugin_travels_to_where_ray_makes_the_run(incast: Incast, scenario: Path) -> None:
    (incast.folder / "mine.py").write_text(PLUGIN)
    fixed = ("--plugin", "mine.py", "--set", "cc={algorithm='fixed-rate'}")
    effective = incast.here("validate", scenario, *fixed, "--effective").stdout
    assert 'code = "sha256:' in effective
    # What a machine of the cluster does, in a process that has never heard of the plugin.
    there = (
        "import io, sys, tarfile; from pathlib import Path; from incast import __version__, sweep;"
        "from incast.runs.runner.on_ray import make, unpack;"
        "task = sweep.Task(0, sys.argv[1], 'small.toml', '');"
        "plugins = [('mine.py', sys.argv[2].encode())];"
        "error, packed = make(task, __version__, plugins); assert error is None, error;"
        "make(task, __version__, plugins);"
        "unpack(tarfile.open(fileobj=io.BytesIO(packed)), Path('result'));"
        "print(make(task, '0.0', []))"
    )
    words = [sys.executable, "-c", there, effective, PLUGIN]
    done = subprocess.run(words, cwd=incast.folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "the cluster has Incast" in done.stdout
    assert Result.open(incast.folder / "result").info["algorithms"] == ["fixed-rate"]


def test_ray_that_is_missing_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    from incast.runs.runner.on_ray import Ray

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ResultError, match=r"pip install 'incast\[ray\]'"):
        Ray()


@pytest.mark.parametrize(
    ("where", "says", "fails", "attempts"),
    [
        ("ray", "The current node timed out during startup.", 1, 2),
        ("ray://there:10001", "Starting Ray client server failed. See ray_client_server_23001.err", 2, 3),
        ("ray://there:10001", "Starting Ray client server failed. See ray_client_server_23001.err", 5, 5),
        ("ray://there:10001", "no such address", 1, 1),
    ],
)
def test_a_cluster_whose_own_start_fails_gets_further_attempts(
    monkeypatch: pytest.MonkeyPatch, where: str, says: str, fails: int, attempts: int
) -> None:
    from incast.runs.runner.on_ray import Ray

    asked: list[str] = []

    def connect(address: str, **_: object) -> None:
        asked.append(address)
        if len(asked) <= fails:
            raise Exception(says)

    fake = ModuleType("ray")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    for name, value in {
        "is_initialized": lambda: False,
        "init": connect,
        "shutdown": lambda: None,
        "cluster_resources": lambda: {"CPU": 3.0},
    }.items():
        monkeypatch.setattr(fake, name, value, raising=False)
    monkeypatch.setitem(sys.modules, "ray", fake)
    if fails >= attempts:
        with pytest.raises(ResultError, match=says):
            Ray(where)
    else:
        assert Ray(where).jobs == 3
    assert asked == [where if where.startswith("ray://") else "local"] * attempts


def test_a_process_that_makes_runs_reads_what_differs_in_its_seed_once(scenario: Path) -> None:
    from incast.runs.runner.executor import Scenarios

    first = Scenario.load(scenario)
    scenarios = Scenarios()
    others = [first.with_seed(seed) for seed in (7, 8, 2**63)]
    others += [first.with_({"traffic.long.size": "1MB"}).with_seed(seed) for seed in (8, 9)]
    others += [first.with_({"name": "seed = 5"}), first.with_seed(0)]
    for one in others:
        found = scenarios.read(sweep.Task(0, one.to_toml(), "small.toml", "x"))
        assert found.to_toml() == one.to_toml()
        assert (found.seed, found.file) == (one.seed, "small.toml")
    # A text that is no effective scenario is read as it is.
    given = "[run]\nuntil = '1ms'\n" + scenario.read_text().replace("seed = 7", "").replace(
        "[run]", "[probe.x]"
    )
    with pytest.raises(ScenarioError):
        scenarios.read(sweep.Task(0, given, "small.toml", "x"))


def test_an_answer_that_is_of_another_build_is_no_result(scenario: Path, tmp_path: Path) -> None:
    class Old:
        """Makes runs with another build of the simulator, as a machine of a cluster might."""

        jobs = 1

        def run(self, tasks: Sequence[sweep.Task], watch: Watch) -> Iterator[sweep.Done]:
            for task in tasks:
                sweep.execute(task)
                info = json.loads((Path(task.folder) / "result.json").read_text())
                info["build"] = "another" if task.index else info["build"]
                yield sweep.Done(task.index, info=json.dumps(info))

    plan = small_plan(scenario, seeds=1)
    done = sweep.run(plan, folder=tmp_path / "here", executor=Old())
    assert len(done.table) == 1
    assert [failure.why for failure in done.state.failures] == [f"its result is not in {plan.runs[1].folder}"]


def test_sentences_need_no_result_again(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from incast.results.sentences import sentences

    done = sweep.run(small_plan(scenario, seeds=2), folder=tmp_path / "here")
    read, labels = sentences(done.grid), [entry.label for entry in done.grid.entries]
    assert read
    monkeypatch.setattr("incast.runs.sweep.manifest.opened", None)
    assert sentences(done.numbers) == read
    assert [entry.label for entry in done.numbers.entries] == labels
