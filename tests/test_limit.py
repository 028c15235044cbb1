"""The time limit of runs: one that hangs loses its own row only."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

from helpers import PLUGIN, SMALL, Incast, wait_until
from incast import Scenario, runner
from incast.runs.runner import on_ray
from incast.runs.runner.executor import Task, overdue
from incast.runs.runner.on_ray import Ray

HANGS = "import signal\n" + PLUGIN.replace("return FixedRateFlow()", "while True: signal.pause()").replace(
    "FixedRate", "Hanging"
)
"""An algorithm that never returns, and leaves the cores to other tests: ``hanging``."""


def test_a_run_that_hangs_loses_its_own_row_only(incast: Incast) -> None:
    (incast.folder / "s.toml").write_text(SMALL)
    (incast.folder / "hangs.py").write_text(HANGS)
    words = (
        "sweep",
        "s.toml",
        "--vary",
        "cc=hanging,oscar,hpcc",
        "--plugin",
        "hangs.py",
        "--jobs",
        "1",
        "--out",
        "o",
    )
    done = incast(*words, "--limit", "10")
    assert done.returncode == 1
    assert "cc=hanging seed=7: took longer than 10 s; --limit sets another" in done.stderr
    table = list(csv.DictReader((incast.folder / "o/table.csv").read_text().splitlines()))
    assert [row["cc"] for row in table] == ["oscar", "hpcc"]
    manifest = json.loads((incast.folder / "o/manifest.json").read_text())
    assert [run["state"] for run in manifest["runs"]] == ["failed", "done", "done"]
    # The failure is not kept: the next call tries this run again, and no other.
    again = incast(*words, "--limit", "1")
    assert again.returncode == 1
    assert "1 failed" in again.stdout
    assert "2 reused" in again.stdout
    assert "took longer than 1 s" in again.stderr


def test_a_run_within_the_limit_is_not_ended_and_the_next_has_the_whole_limit(tmp_path: Path) -> None:
    """One process makes both runs; the limit counts from the beginning of each."""
    scenario = Scenario.from_toml(SMALL)
    tasks = [
        Task(n, scenario.with_seed(n).to_toml(), "s.toml", str(tmp_path / str(n)), limit_s=60.0)
        for n in (1, 2)
    ]
    done = list(runner.Local(1).run(tasks, lambda index, share: None))
    assert [(each.index, each.error) for each in done] == [(1, None), (2, None)]


def test_threads_end_a_run_when_it_next_reports(tmp_path: Path) -> None:
    scenario = Scenario.from_toml(SMALL.replace('until = "1ms"', 'until = "60s"'))
    batch = runner.Batch([runner.Job("long", scenario.with_({"traffic.long.size": "60GB"}), None)])
    batch.run(runner.Threads(1), limit_s=0.2)
    assert batch.errors == {0: overdue(0.2)}
    assert not batch.infos


class Cluster:
    """A cluster whose tasks with the seed in ``hangs`` never end; others fail at once."""

    def __init__(self, hangs: set[int]) -> None:
        self.hangs = hangs
        self.cancelled: list[int] = []

    def remote(self, **options: int) -> Callable[[object], SimpleNamespace]:
        assert options == {"num_cpus": 1, "max_retries": 2}
        return lambda function: SimpleNamespace(remote=lambda task, *rest: task.index)

    def wait(
        self, references: list[int], num_returns: int, timeout: float | None
    ) -> tuple[list[int], list[int]]:
        ended = [it for it in references if it not in self.hangs][:num_returns]
        assert ended or timeout is not None, "it would wait for ever"
        return ended, [it for it in references if it not in ended]

    def get(self, reference: int) -> tuple[str, bytes]:
        return f"run {reference} failed", b""

    def cancel(self, reference: int, force: bool) -> None:
        assert force
        self.cancelled.append(reference)


def test_ray_ends_a_run_at_its_limit_and_no_other() -> None:
    cluster = Cluster({1, 3})
    executor = Ray.__new__(Ray)
    executor._ray, executor._jobs = cluster, 2
    tasks = [Task(n, "", "s.toml", str(n), limit_s=0.05) for n in range(5)]
    done = {each.index: each.error for each in executor.run(tasks, lambda index, share: None)}
    ended = {n: overdue(0.05) if n in (1, 3) else f"run {n} failed" for n in range(5)}
    assert done == ended
    assert sorted(cluster.cancelled) == [1, 3]


def test_the_limit_is_a_number_of_seconds(incast: Incast) -> None:
    (incast.folder / "s.toml").write_text(SMALL)
    for wrong in ("0", "-1", "nan", "inf", "soon"):
        done = incast.here("sweep", "s.toml", "--vary", "cc=oscar", f"--limit={wrong}")
        assert done.returncode == 2
        assert "is not a number of seconds, like 300" in done.stderr


def test_what_a_cluster_has_made_waits_for_a_run_that_writes_in_its_place(tmp_path: Path) -> None:
    folder, arriving = tmp_path / "result", tmp_path / ".result.arriving"
    for each in (folder, arriving):
        each.mkdir()
        (each / "scenario.toml").write_text(each.name)
    with (folder / "scenario.toml").open() as writer, ThreadPoolExecutor(1) as pool:
        fcntl.flock(writer, fcntl.LOCK_EX)
        number = os.fstat(writer.fileno()).st_ino
        done = pool.submit(on_ray.replace_result, folder, arriving, tmp_path / ".result.old")
        waits = re.compile(rf"-> FLOCK .*:{number} ")
        wait_until(lambda: waits.search(Path("/proc/locks").read_text()) is not None)
        assert (folder / "scenario.toml").read_text() == "result"
        fcntl.flock(writer, fcntl.LOCK_UN)
        done.result()
    assert (folder / "scenario.toml").read_text() == ".result.arriving"
    assert [path.name for path in tmp_path.iterdir()] == ["result"]
