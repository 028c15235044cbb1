"""Sweeps on a Ray cluster; `make test-ray` installs Ray, which is large, and runs this."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers import Incast

ray = pytest.importorskip("ray", reason="Ray is not installed; `make test-ray` installs it and runs this")
pytestmark = pytest.mark.xdist_group("ray")


RAY = [sys.executable, "-m", "ray.scripts.scripts"]
"""The command `ray` of this Python, whatever stands in PATH."""


def tables(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.csv")}


def free_port() -> int:
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        port: int = it.getsockname()[1]
        return port


def wait_for(port: int, cluster: subprocess.Popen[bytes]) -> None:
    """Waits until somebody listens at a port of this machine."""
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        assert cluster.poll() is None, "the cluster has ended"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A cluster that asks for a token, which stands in the environment; one for all tests."""
    port, client = free_port(), free_port()
    words = ["start", "--head", "--block", "--num-cpus=2", "--include-dashboard=false", f"--port={port}"]
    words += [f"--ray-client-server-port={client}", "--disable-usage-stats"]
    words += [f"--temp-dir={tmp_path_factory.mktemp('ray')}"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", "0123456789abcdef" * 2)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # Not `ray stop`, which would end every cluster of the machine.
        with subprocess.Popen(
            [*RAY, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as cluster:
            wait_for(client, cluster)
            # Its own check: all of it is up, not only the port.
            while subprocess.run(
                [*RAY, "health-check", "--address", f"127.0.0.1:{port}"], check=False, capture_output=True
            ).returncode:
                assert cluster.poll() is None, "the cluster has ended"
            yield f"ray://127.0.0.1:{client}"
            cluster.terminate()


def test_a_local_cluster_gives_the_same_tables(incast: Incast, scenario: Path) -> None:
    words = ("sweep", scenario, "--vary", "cc=oscar,constant", "--seeds", "2")
    here = incast(*words, "--out", "here")
    assert here.returncode == 0
    there = incast(*words, "--out", "there", "--on", "ray")
    # Ray's own processes may have something to say on standard error.
    assert there.returncode == 0, there.stderr
    assert "4 made, 0 reused" in there.stdout
    assert tables(incast.folder / "there") == tables(incast.folder / "here")
    assert len(tables(incast.folder / "there")) == 3


def test_a_cluster_that_is_not_there_is_explained(
    incast: Incast, scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    done = incast("sweep", scenario, "--on", "ray://127.0.0.1:9")
    assert done.returncode == 1
    assert done.stderr.startswith("incast: no Ray cluster at ray://127.0.0.1:9: ")
    assert "RAY_AUTH_TOKEN" in done.stderr
    assert "Traceback" not in done.stderr


REFUSED = "Initialization failure from server:\n"


class Starting:
    """Ray, which refuses a number of times and then connects."""

    def __init__(self, refusals: int, error: str) -> None:
        self.refusals, self.error, self.asked, self.left = refusals, error, 0, 0

    def init(self, **_: object) -> None:
        self.asked += 1
        if self.asked <= self.refusals:
            raise ConnectionAbortedError(self.error)

    def shutdown(self) -> None:
        self.left += 1


@pytest.mark.parametrize(
    "error",
    [
        "The current node timed out during startup.",
        f"{REFUSED}RuntimeError: Starting Ray client server failed. See its log.",
        f"{REFUSED}  File 'proxier.py', line 396, in start_specific_server\npsutil.ZombieProcess: a zombie",
        f"{REFUSED}RuntimeError: Proxy failed to Connect to backend! Check its log.",
    ],
)
def test_a_start_of_ray_that_fails_is_tried_again(error: str) -> None:
    from incast.runs.runner.on_ray import _connect

    some = Starting(4, error)
    _connect(some, "ray://somewhere")  # type: ignore[arg-type]
    assert (some.asked, some.left) == (5, 4)
    with pytest.raises(ConnectionAbortedError):
        _connect(Starting(5, error), "ray://somewhere")  # type: ignore[arg-type]


def test_another_error_of_ray_is_told_at_once() -> None:
    from incast.runs.runner.on_ray import _connect

    refusing = Starting(1, f"{REFUSED}ValueError: another version of Python")
    with pytest.raises(ConnectionAbortedError):
        _connect(refusing, "ray://somewhere")  # type: ignore[arg-type]
    assert refusing.asked == 1


def test_a_run_that_fails_there_fails_alone(incast: Incast, scenario: Path) -> None:
    from dataclasses import replace

    from incast import sweep
    from incast.runs.runner.on_ray import Ray

    plan = sweep.plan(scenario, ["cc=oscar"], seeds=2, results=incast.folder / "runs")
    tasks = [
        sweep.Task(n, run.scenario.to_toml(), str(scenario), str(run.folder))
        for n, run in enumerate(plan.runs)
    ]
    tasks[0] = replace(tasks[0], scenario="topology = 3")
    try:
        done = {over.index: over for over in Ray().run(tasks, lambda index, share: None)}
    finally:
        # This process is its driver, and has other tests to run.
        ray.shutdown()
    assert done[0].error
    assert "topology" in done[0].error
    assert done[1].error is None


def test_a_cluster_refuses_another_token(
    incast: Incast, scenario: Path, guarded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "f" * 32)
    done = incast("sweep", scenario, "--on", guarded)
    assert done.returncode == 1
    assert done.stderr.startswith(f"incast: no Ray cluster at {guarded}: ")
    assert "Traceback" not in done.stderr


def workers() -> list[int]:
    """Processes that make a run of a Ray cluster of this machine."""
    found = subprocess.run(["pgrep", "-f", "^ray::make"], check=False, capture_output=True, text=True)
    return [int(word) for word in found.stdout.split()]


def test_a_cluster_with_tokens_makes_runs_again_whose_workers_are_killed(
    incast: Incast, scenario: Path, guarded: str
) -> None:
    # Runs of some seconds: there is time to find their processes.
    longer = ("--set", "traffic.long.size=2GB", "--set", "run.until=160ms")
    words = ("sweep", scenario, "--vary", "cc=oscar,constant", "--seeds", "2", *longer)
    assert incast(*words, "--out", "here").returncode == 0
    going = incast.start(*words, "--out", "there", "--on", guarded)
    before = os.times().elapsed
    killed: set[int] = set()
    while going.poll() is None and len(killed) < 2 and os.times().elapsed - before < 300:
        for worker in workers():
            if worker not in killed and len(killed) < 2:
                os.kill(worker, signal.SIGKILL)
                killed.add(worker)
        time.sleep(0.05)
    out, err = going.communicate()
    assert going.returncode == 0, err
    assert len(killed) == 2
    assert "4 made, 0 reused" in out
    assert tables(incast.folder / "there") == tables(incast.folder / "here")


def test_an_arena_on_a_cluster_has_the_same_bytes(incast: Incast, guarded: str) -> None:
    words = ("arena", "--quick", "--contestants", "swift,oscar", "--scenarios", "two-hops", "--no-duels")
    assert incast(*words, "--out", "here").returncode == 0
    there = incast(*words, "--out", "there", "--on", guarded)
    # Ray's own processes may have something to say on standard error.
    assert there.returncode == 0, there.stderr
    for name in ("arena.json", "scores.parquet"):
        assert (incast.folder / "there" / name).read_bytes() == (incast.folder / "here" / name).read_bytes()
