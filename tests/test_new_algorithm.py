"""``incast new algorithm``: the algorithm to start from, which runs as it is."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

import incast as package
from blocks import block, joined, traffic
from helpers import Incast
from incast import Result, Scenario
from incast.algorithm import PLUGINS
from incast.scenario.starts import own_algorithm


@pytest.fixture(autouse=True)
def nothing_stays_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of other tests do not load the plugins of these."""
    monkeypatch.setenv(PLUGINS, "")


def started(folder: Path, text: str) -> Result:
    """The result of a scenario with the algorithm, which is written and loaded."""
    file = folder / "mine.py"
    file.write_text(own_algorithm(str(file)))
    assert package.load_plugin(file) == ["mine"]
    return Scenario.from_toml(text).with_algorithm("mine").run_quietly()


def text(hosts: int, until: str, *blocks: str, **switch: object) -> str:
    """A star at 100 Gbps with a base RTT of about 12 us, samples of the last port and of flows."""
    return joined(
        block("[topology]", kind="star", hosts=hosts, rate="100Gbps", delay="3us"),
        block("[switch]", **switch) if switch else "",
        block("[cc]", algorithm="constant"),
        *blocks,
        block("[probe]", ports=[f"to h{hosts - 1}"], flows=["all"], interval="5us"),
        block("[run]", until=until),
    )


def used(result: Result, port: str, start_us: int) -> float:
    """The share of a port's link that is used from an instant on."""
    series = result.port(port).filled()
    return float(np.mean(series.utilisation[series.time_ps > start_us * 1_000_000]))


def test_a_lone_flow_uses_its_link(tmp_path: Path) -> None:
    result = started(tmp_path, text(2, "500us", traffic("long", "h0", "h1")))
    assert used(result, "to h1", 20) > 0.9


def test_late_flows_are_not_starved(tmp_path: Path) -> None:
    early = traffic("early", ["h0", "h1", "h2", "h3"], "h8")
    late = traffic("late", ["h4", "h5", "h6", "h7"], "h8", start="500us")
    result = started(tmp_path, text(9, "4ms", early, late))
    assert used(result, "to h8", 1000) > 0.9
    # Each of eight flows has an eighth where all is fair; of the second half of the run none has less than
    # half of that.
    flows = [result.flow(flow) for flow in result.probed_flows()]
    after = [np.interp([2e9, 4e9], flow.time_ps, flow.acked_bytes) for flow in flows]
    share = np.diff(after)[:, 0] / np.diff(after).sum()
    assert len(share) == 8
    assert share.min() > 1 / 16


def test_it_gets_over_losses_and_timeouts(tmp_path: Path) -> None:
    """Sixteen senders of 100 KB each, and 50 KB of buffer: packets are lost, and timers expire."""
    burst = traffic("burst", [f"h{n}" for n in range(16)], "h16", size="100KB")
    result = started(tmp_path, text(17, "200ms", burst, buffer="50KB", pfc=False))
    assert result.flows.column("finished").all()
    assert result.flows.column("timeouts").sum() > 0
    assert (result.flows.column("acked_bytes") == 100_000).all()


def test_the_commands_that_it_prints_run(incast: Incast) -> None:
    done = incast.here("new", "algorithm", "my rule.py")
    assert (done.returncode, done.stderr) == (0, "")
    commands = [line.strip() for line in done.stdout.splitlines() if line.startswith("  incast ")]
    assert [command.split()[1] for command in commands] == ["list", "new", "compare"]
    for command in commands:
        after = incast.here(*shlex.split(command)[1:])
        assert after.returncode == 0, after.stderr
    assert "my-rule" in after.stdout
    assert "#   " not in (written := (incast.folder / "my rule.py").read_text())
    assert "incast compare microburst.toml --cc 'my rule.py',swift,oscar" in written


def test_the_file_and_its_name(incast: Incast) -> None:
    assert incast.here("new", "algorithm").stdout.startswith("algorithm mine.py\n")
    again = incast.here("new", "algorithm")
    assert (again.returncode, again.stderr) == (
        2,
        "incast: mine.py is there; name another file, or --force\n",
    )
    assert incast.here("new", "algorithm", "mine.py", "--force").returncode == 0
    other = incast.here("new", "algorithm", "mine.toml")
    assert (other.returncode, other.stderr) == (
        2,
        "incast: mine.toml: the file of an algorithm ends in .py\n",
    )
    # A name that Incast has.
    assert 'register("my-swift", Mine)' in own_algorithm("swift.py")
    assert 'register("mine", Mine)' in own_algorithm("§.py")


def test_every_parameter_has_a_range_and_a_meaning(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(own_algorithm(str(file)))
    package.load_plugin(file)
    found = package.own_parameters("mine")
    assert found
    assert all(one.default and one.range and one.meaning for one in found)
