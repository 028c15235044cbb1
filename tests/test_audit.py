"""`incast audit`: clean runs have no findings, and every fault is found."""

from __future__ import annotations

import ast
import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import incast
from audited import SHORT, audited, example, random_scenario
from incast import _core
from incast.audit import Columns, Evidence, audit
from incast.cli.audit import CAPTURING, of_result, of_scenario

PACKAGE = Path(incast.__file__).parent / "audit"

MOST_LINES = 1500

STAR = """
topology = { kind = "star", hosts = 5, rate = "100Gbps", delay = "1us" }
cc = { algorithm = "dctcp" }
traffic = [{ name = "burst", kind = "flows", from = "h1-h4", to = "h0", size = "200KB" }]

[switch]
buffer = "200KB"
ecn = { kmin = "10KB", kmax = "60KB", pmax = 0.5 }
"""


def scenario(keys: dict[str, Any] | None = None) -> incast.Scenario:
    return incast.Scenario.from_toml(STAR).with_(keys or {})


def test_it_is_small_and_knows_nothing_of_the_simulator() -> None:
    lines = 0
    for file in PACKAGE.glob("*.py"):
        text = file.read_text(encoding="utf-8")
        lines += len(text.splitlines())
        for node in ast.walk(ast.parse(text)):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0
                names = [node.module or ""]
            for name in names:
                known = name.split(".")[0] in sys.stdlib_module_names
                assert known or name == "incast.audit" or name.startswith("incast.audit."), (file.name, name)
    assert 500 < lines <= MOST_LINES


def test_every_example_is_in_the_list() -> None:
    assert {file.stem for file in (Path(__file__).parent.parent / "examples").glob("*.toml")} == SHORT.keys()


@pytest.mark.parametrize("name", SHORT)
def test_examples_have_no_findings(name: str) -> None:
    report = audited(example(name))
    assert not report.findings, report.text()
    assert report.checked["totals"] > 0
    if name != "bfc":
        assert report.checked["transmissions of switches"] > 1000, report.text()
    if name in ("incast", "load", "websearch"):
        assert report.checked["ideal times"] > 10, report.text()


@pytest.mark.parametrize("number", range(50))
def test_random_scenarios_have_no_findings(number: int) -> None:
    name, drawn = random_scenario(number)
    report = audited(drawn)
    assert not report.findings, f"{name}\n{report.text()}"
    assert report.checked


@pytest.mark.parametrize(
    "keys",
    [
        {"scheduler": "drr"},
        {"scheduler": "drr", "quanta": ["500B", "9KB"]},
        {"scheduler": "drr", "strict": 2},
        {"scheduler": "wrr"},
        {"scheduler": "wrr", "weights": [3, 2]},
        {"scheduler": "wrr", "strict": 1},
        {"scheduler": "round-robin"},
        {"scheduler": "strict-priority"},
    ],
    ids=lambda keys: " ".join(str(value) for value in keys.values()),
)
def test_schedulers_have_no_findings(keys: dict[str, Any]) -> None:
    """Of four queues two at most have their quanta or weights listed: the others have the defaults."""
    flows = [
        {"name": f"q{i}", "kind": "flows", "from": f"h{i + 1}", "to": "h0", "size": "100KB", "queue": i}
        for i in range(4)
    ]
    switch = {f"switch.{key}": value for key, value in keys.items()}
    report = audited(scenario({"switch.queues": 4, "traffic": flows, **switch}))
    assert not report.findings, report.text()
    # Four flows of a hundred packets each, and as many acknowledgements.
    assert report.checked["transmissions of switches"] >= 800


def forged(evidence: Evidence, table: str, change: Callable[[dict[str, Any]], None]) -> Evidence:
    """The evidence with a change in one table."""
    rows: Columns = getattr(evidence, table)
    columns = {name: list(values) for name, values in rows.items()}
    change(columns)
    return dataclasses.replace(evidence, **{table: columns})


def marked(rows: dict[str, Any]) -> None:
    """Turns the mark of one data packet of the switch."""
    at = next(i for i, node in enumerate(rows["node"]) if node == "s0" and rows["kind"][i] == "data")
    rows["marked"][at] = not rows["marked"][at]


def swapped(rows: dict[str, Any]) -> None:
    """Exchanges two packets that the switch sends to h0 one after the other."""
    sent = [i for i, to in enumerate(rows["destination_id"]) if rows["node"][i] == "s0" and to == 0]
    first, second = sent[30:32]
    for name in ("flow", "source_id", "position_bytes", "payload_bytes", "size_bytes", "hash", "marked"):
        rows[name][first], rows[name][second] = rows[name][second], rows[name][first]


def lost(rows: dict[str, Any]) -> None:
    """One packet does not leave the switch."""
    at = next(i for i, node in enumerate(rows["node"]) if node == "s0" and rows["kind"][i] == "data")
    for values in rows.values():
        del values[at]


def early(rows: dict[str, Any]) -> None:
    """One packet of the switch leaves a picosecond early."""
    sent = [i for i, node in enumerate(rows["node"]) if node == "s0" and rows["kind"][i] == "data"]
    rows["time_ps"][sent[40]] -= 1


def more(table: str, column: str) -> tuple[str, Callable[[dict[str, Any]], None]]:
    """One more in the last row of a column."""

    def change(rows: dict[str, Any]) -> None:
        rows[column][-1] += 1

    return table, change


FORGED = {
    "mark": ("packet_rows", marked),
    "order": ("packet_rows", swapped),
    "admission": ("packet_rows", lost),
    "overlap": ("packet_rows", early),
    "ideal times": more("flow_rows", "own_ideal_fct_ps"),
    "flow times and totals": more("flow_rows", "delivered_ps"),
    "totals": more("port_rows", "peak_queue_bytes"),
}


@pytest.mark.parametrize("kind", FORGED)
def test_a_change_of_a_result_is_found(kind: str) -> None:
    evidence = of_scenario(scenario())
    assert not audit(evidence).findings
    table, change = FORGED[kind]
    report = audit(forged(evidence, table, change))
    assert kind in {finding.kind for finding in report.findings}, report.text()
    assert f"{kind}: " in report.text()


CANARIES: dict[str, tuple[str, dict[str, Any]]] = {
    "mark": ("mark", {}),
    "order": ("order", {}),
    # Ten packets of 1054 bytes have one byte more than the limit.
    "threshold": ("admission", {"switch.buffer": {"per_port": "10539B"}}),
    "pause": ("pause", {"switch.buffer": "1MB", "switch.pfc": {"xoff": "20KB", "xon_offset": "2KB"}}),
    "counter": ("totals", {}),
    "ideal": ("ideal times", {}),
}
"""The deliberate faults of the core for the tests: the kind of the finding, and keys of the scenario."""


@pytest.mark.skipif(not _core.canaries, reason="only the core for the tests has deliberate faults")
@pytest.mark.parametrize("canary", CANARIES)
def test_a_fault_of_the_simulator_is_found(canary: str, tmp_path: Path) -> None:
    kind, keys = CANARIES[canary]
    file = tmp_path / "scenario.toml"
    file.write_text(scenario(keys).to_toml(), encoding="utf-8")
    command = [sys.executable, "-m", "incast", "audit", str(file), "--quiet"]
    for fault, code in (("", 0), (canary, 1)):
        environment = {**os.environ, "INCAST_CANARY": fault}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
    findings = done.stdout[done.stdout.index("the earliest first:") :].splitlines()
    assert findings[1].startswith(f"  {kind}: "), done.stdout


def test_clocks_that_no_key_names_are_known(tmp_path: Path) -> None:
    # Under New Reno clocks differ by default: switches send at times that no rule gives.
    lossy = scenario(
        {"cc": {"algorithm": "newreno"}, "switch.buffer": "20KB", "transport.recovery": "selective"}
    )
    folder = tmp_path / "lossy"
    lossy.with_(CAPTURING).run(folder)
    for evidence in (of_scenario(lossy), of_result(incast.Result.open(folder), folder)):
        report = audit(evidence)
        assert not report.findings, report.text()
        assert "run.clock" in report.text()


def test_the_core_for_the_tests_has_every_canary() -> None:
    assert not _core.canaries or sorted(_core.canaries) == sorted(CANARIES)
    assert not _core.canaries or _core.profile != "release"


def command(*words: str, expect: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "incast", "audit", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_command(tmp_path: Path) -> None:
    scenario().with_(CAPTURING).run(tmp_path / "captured")
    assert "No findings." in command(str(tmp_path / "captured"))
    assert command(str(tmp_path / "captured"), "--quiet") == ""
    assert "change scenarios only" in command(str(tmp_path / "captured"), "--set", "seed=2", expect=2)
    scenario().run(tmp_path / "plain")
    assert "probe.packets = true" in command(str(tmp_path / "plain"), expect=2)
    scenario().with_({**CAPTURING, "probe.from": "1us"}).run(tmp_path / "part")
    assert "leaves some out" in command(str(tmp_path / "part"), expect=2)
