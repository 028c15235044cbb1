"""Sweeps on a Ray cluster; `make test-ray` installs Ray, which is large, and runs this."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import Incast

pytest.importorskip("ray", reason="Ray is not installed; `make test-ray` installs it and runs this")


def tables(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.csv")}


def test_a_local_cluster_gives_the_same_tables(incast: Incast, scenario: Path) -> None:
    words = ("sweep", scenario, "--vary", "cc=oscar,constant", "--seeds", "2")
    here = incast(*words, "--out", "here")
    assert here.returncode == 0
    there = incast(*words, "--out", "there", "--on", "ray")
    assert (there.returncode, there.stderr) == (0, "")
    assert "4 made, 0 reused" in there.stdout
    assert tables(incast.folder / "there") == tables(incast.folder / "here")
    assert len(tables(incast.folder / "there")) == 2
    assert "0 made, 4 reused" in incast(*words, "--out", "there", "--on", "ray").stdout


def test_a_cluster_that_is_not_there_is_explained(incast: Incast, scenario: Path) -> None:
    done = incast("sweep", scenario, "--on", "ray://127.0.0.1:9")
    assert done.returncode == 1
    assert done.stderr.startswith("incast: no Ray cluster at ray://127.0.0.1:9: ")
    assert "RAY_AUTH_TOKEN" in done.stderr
    assert "Traceback" not in done.stderr


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
    done = {over.index: over for over in Ray().run(tasks, lambda index, share: None)}
    assert done[0].error
    assert "topology" in done[0].error
    assert done[1].error is None
