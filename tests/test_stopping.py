"""Runs that are stopped: by Ctrl-C, by a batch system, by SIGKILL."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
from pathlib import Path

import pytest

import incast as package
from helpers import SLOW, Incast, wait_until
from stored import stored

ENDLESS = ("--set", "run.until=1000s", "--set", "traffic.long.size=900GB")
"""Overrides that make the small scenario run for hours."""


def wait_for_parts(folder: Path, process: subprocess.Popen[str]) -> None:
    """Waits until a run has written something to disk."""
    wait_until(lambda: bool(list(folder.glob("port_series/part-*.parquet"))), process)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_keeps_what_is_there_and_says_so(
    incast: Incast, scenario: Path, sent: signal.Signals
) -> None:
    process = incast.start("run", scenario, *ENDLESS)
    where = stored(scenario, "oscar", *ENDLESS)
    folder = incast.folder / where
    wait_for_parts(folder, process)
    process.send_signal(sent)
    out, err = process.communicate()
    assert process.returncode == 130
    assert "stopped on request" in out
    found = re.search(r"stopped at ([\d,.]+) us of simulated time, 2 of 3 flows finished", err)
    assert found
    assert f"the partial result was saved in {where}" in err
    assert "Traceback" not in err
    result = package.Result.open(folder)
    assert result.state == "complete"
    assert result.end == "interrupted"
    # The small flows finished, the endless one did not; the samples reach up to the end.
    assert sorted(result.flows.column("finished").tolist()) == [False, True, True]
    assert result.port_series.column("time_ps")[-1] > 0.9 * result.info["outcome"]["now_ps"]


def test_a_stopped_comparison_keeps_the_algorithms_that_ran(incast: Incast, scenario: Path) -> None:
    # The second one is slow: it waits at its first packet until it has been told to stop.
    (incast.folder / "slow.py").write_text(SLOW)
    words = ("--cc", "constant,fixed-rate", "--plugin", "slow.py", "--out", "out")
    process = incast.start("compare", scenario, *words)
    wait_until((incast.folder / "waiting").exists, process)
    process.send_signal(signal.SIGINT)
    (incast.folder / "stopped").touch()
    out, _ = process.communicate()
    assert process.returncode == 130
    assert "1 of 2 algorithms ran" in out
    assert package.Result.open(incast.folder / "out/constant").end == "finished"
    assert package.Result.open(incast.folder / "out/fixed-rate").end == "interrupted"


def test_after_sigkill_what_was_written_can_be_read_and_a_rerun_is_not_confused(
    incast: Incast, scenario: Path
) -> None:
    process = incast.start("run", scenario, *ENDLESS)
    where = stored(scenario, "oscar", *ENDLESS)
    folder = incast.folder / where
    wait_for_parts(folder, process)
    assert package.Result.open(folder).state == "running"
    process.kill()
    process.communicate()
    killed = package.Result.open(folder)
    assert killed.state == "incomplete"
    assert killed.end == "killed"
    times, samples = (killed.port_series.column(name) for name in ("time_ps", "samples"))
    assert len(times) > 100
    assert (times[1:] - times[:-1] == samples[1:] * 1_000_000).all()
    assert sorted(killed.flows.column("flow").tolist()) in ([], [1, 2])

    # The very same scenario takes the place of what was killed; another one leaves it alone.
    other = incast("run", scenario)
    assert other.stdout.endswith(f"saved in {stored(scenario, 'oscar')}\n")
    assert package.Result.open(folder).state == "incomplete"
    again = incast.start("run", scenario, *ENDLESS)

    def is_running() -> bool:
        try:
            return package.Result.open(folder).state == "running"
        except package.ResultError:
            return False  # while the incomplete result is removed

    wait_until(is_running, again)
    again.send_signal(signal.SIGINT)
    _, err = again.communicate()
    assert f"removed an incomplete result of an earlier run from {where}" in err
    assert package.Result.open(folder).end == "interrupted"


def test_progress_is_shown_on_a_terminal(incast: Incast, scenario: Path) -> None:
    here, there = pty.openpty()
    process = subprocess.Popen(
        incast.words("run", scenario, *ENDLESS), cwd=incast.folder, stderr=there, stdout=subprocess.DEVNULL
    )
    os.close(there)
    seen = ""
    while "packet-hops/s" not in seen:
        seen += os.read(here, 4096).decode()
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    os.close(here)
    assert re.search(r"oscar +[\d.]+ .?s +\d/3 flows +[\d.]+ M packet-hops/s", seen)
