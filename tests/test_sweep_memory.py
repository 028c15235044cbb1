"""A sweep of many runs needs hardly more memory than one of few."""

from __future__ import annotations

import gc
import json
import shutil
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path

from incast import Scenario, sweep
from incast._lazy import Lazy
from incast.results.result import parse_info
from incast.runs.runner import Batch, Job
from incast.runs.runner.executor import Done, Task, Watch

SCENARIO = """
[topology]
kind = "star"
hosts = 2
rate = "100Gbps"
delay = "1us"

[cc]
algorithm = "constant"

[[traffic]]
name = "f"
kind = "flows"
from = "h0"
to = "h1"
size = "1KB"
"""


class Copies:
    """Makes each result as a copy of one, which is what a run takes that costs nothing."""

    jobs = 1

    def __init__(self, of: Path) -> None:
        self.of = of

    def run(self, tasks: Sequence[Task], watch: Watch) -> Iterator[Done]:
        for task in tasks:
            folder = Path(task.folder)
            folder.mkdir(parents=True)
            shutil.copy(self.of / "result.json", folder)
            (folder / "scenario.toml").write_text(task.scenario)
            yield Done(task.index)


def one_result(folder: Path) -> Path:
    Scenario.from_toml(SCENARIO).run(folder / "one")
    return folder / "one"


def held(folder: Path, one: Path, runs: int) -> tuple[int, int]:
    """The bytes that Python holds after a sweep of some runs, and the most that it held."""
    file = folder / "tiny.toml"
    file.write_text(SCENARIO)
    tracemalloc.start()
    try:
        plan = sweep.plan(file, [], seeds=runs, results=folder / f"{runs}-runs")
        done = sweep.run(plan, folder=folder / f"{runs}", executor=Copies(one))
        assert done.state.made == runs
        assert len(done.table) == runs
        gc.collect()
        now, most = tracemalloc.get_traced_memory()
        # The interpreter's table of shared strings, in which keys and names of folders are, doubles now and
        # then, to two megabytes. Nothing that is kept of a thousand runs is one block of a quarter of that.
        table = sum(trace.size for trace in tracemalloc.take_snapshot().traces if trace.size > 500_000)
        return now - table, most - table
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_by_the_results_of_the_runs(tmp_path: Path) -> None:
    one = one_result(tmp_path)
    # What is imported on the way is there before; while this result is there, no key of others is new.
    held(tmp_path, one, 10)
    there = parse_info((one / "result.json").read_text())
    (few, _), (many, most) = (held(tmp_path, one, runs) for runs in (100, 1100))
    # By hand, of a run: 40 numbers with a byte each that says whether it is there are 360 bytes, six numbers
    # of flows, two of the outcome and three places in lists 88; the run 104 with its seed and the name of its
    # folder, 32 and 90, and the fingerprint 65. That is less than 750, and a third more for tables.
    assert (many - few) / 1000 < 1000
    assert (most - few) / 1000 < 1500
    # A result alone has more: thousands of bytes in the file, and more as dictionaries.
    assert len(json.dumps(there)) > 2000


def test_the_table_has_the_numbers_of_the_results(tmp_path: Path) -> None:
    one = one_result(tmp_path)
    info = json.loads((one / "result.json").read_text())
    file = tmp_path / "tiny.toml"
    file.write_text(SCENARIO)
    plan = sweep.plan(file, ["traffic.0.size=1KB,2KB"], seeds=2, results=tmp_path / "runs")
    done = sweep.run(plan, folder=tmp_path / "out", executor=Copies(one))
    assert done.table.column("seed") == [1, 2, 1, 2]
    assert done.table.column("traffic.0.size") == ["1KB", "1KB", "2KB", "2KB"]
    assert done.table.column("fingerprint") == [info["outcome"]["fingerprint"]] * 4
    assert done.table.column("hops") == [info["outcome"]["hops"]] * 4
    assert done.table.column("slowdown_all_mean") == [1.0] * 4
    assert done.table.column("job_time_mean_ps") == [None] * 4
    assert done.table.column("result") == [run.folder.name for run in plan.runs]
    assert done.behind(("2KB",), "all") == [1, 1]
    assert done.behind(("2KB",), "all", 2) == [1]


def test_a_batch_that_hands_its_results_on_holds_none(tmp_path: Path) -> None:
    one = one_result(tmp_path)
    scenario = Scenario.from_toml(SCENARIO)

    def job(n: int) -> Job:
        return Job(f"{n}", scenario.with_seed(n), tmp_path / f"{n}")

    arrived: dict[int, str] = {}
    for made in (3, 0):
        batch = Batch(Lazy(3, job))
        batch.run(Copies(one), arrived=lambda n, info: arrived.update({n: info["state"]}))
        assert arrived == {0: "complete", 1: "complete", 2: "complete"}
        assert not batch.infos
        assert (batch.state.made, batch.state.reused) == (made, 3 - made)
        arrived.clear()
