"""Results of a batch reach the disk together; a crash of the machine costs only the latest."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from incast import Result, ResultError, Scenario, runner, store
from incast.runs.runner import Batch, Job, Task, execute
from incast.runs.runner.settling import Settling


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that Python waits for."""
    found: list[Path] = []
    inner = os.fsync

    def sync(file: int) -> None:
        found.append(Path(f"/proc/self/fd/{file}").readlink())
        inner(file)

    monkeypatch.setattr(os, "fsync", sync)
    return found


def made(folder: Path, content: str = "{}") -> Path:
    folder.mkdir()
    (folder / "result.json").write_text(content)
    return folder


def test_every_result_is_waited_for_by_the_end(tmp_path: Path, synced: list[Path]) -> None:
    settling = Settling()
    folders = [made(tmp_path / str(n)) for n in range(40)]
    for folder in folders:
        settling.add(folder)
    # The first round is some seconds after the beginning.
    assert synced == []
    (folders[7] / "result.json").unlink()
    settling.close()
    assert sorted(synced) == sorted(f / "result.json" for f in folders if f != folders[7])
    settling.close()
    assert len(synced) == 39


def test_results_are_waited_for_while_others_are_made(tmp_path: Path, synced: list[Path]) -> None:
    settling = Settling(every_s=0.0)
    settling.add(made(tmp_path / "first"))
    assert settling._thread is not None
    settling._thread.join()
    assert synced == [tmp_path / "first/result.json"]
    settling.add(made(tmp_path / "second"))
    settling.close()
    assert synced == [tmp_path / "first/result.json", tmp_path / "second/result.json"]


def test_a_result_that_does_not_reach_the_disk_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    settling = Settling()
    settling.add(made(tmp_path / "one"))
    with pytest.raises(ResultError, match=r"cannot write .*one/result\.json: No space left on device"):
        settling.close()


@pytest.mark.parametrize(
    "executor", [lambda: runner.Local(2), lambda: runner.Threads(2)], ids=["processes", "threads"]
)
def test_a_batch_waits_for_what_it_made(
    executor: Callable[[], runner.Executor], scenario: Path, tmp_path: Path, synced: list[Path]
) -> None:
    first = Scenario.load(scenario)
    jobs = [
        Job(f"seed={n}", one := first.with_seed(n), store.place(tmp_path / "results", one)) for n in range(3)
    ]
    batch = Batch(jobs)
    batch.run(executor())
    assert batch.state.made == 3
    assert sorted(synced) == sorted(job.folder / "result.json" for job in jobs if job.folder)
    # What was there already is on disk.
    again = Batch(jobs)
    again.run(executor())
    assert (again.state.reused, len(synced)) == (3, 3)


@pytest.mark.parametrize("emptied", [["result.json"], ["result.json", "scenario.toml"], ["flows.parquet"]])
def test_a_run_of_which_a_crash_left_empty_files_is_made_again(
    emptied: list[str], scenario: Path, tmp_path: Path
) -> None:
    one = Scenario.load(scenario)
    folder = store.place(tmp_path / "results", one)
    task = Task(0, one.to_toml(), str(scenario), str(folder))
    assert execute(task) is False
    fingerprint = Result.open(folder).fingerprint
    assert execute(task) is True
    for name in emptied:
        (folder / name).write_bytes(b"")
    assert store.find(folder, one) is None
    assert execute(task) is False
    assert Result.open(folder).fingerprint == fingerprint
    assert Result.open(folder).state == "complete"
