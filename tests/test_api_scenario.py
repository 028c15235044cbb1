"""Scenarios from Python objects, their changes, their schema; units."""

from __future__ import annotations

import inspect
import os
import pickle
import runpy
import sys
import types
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import incast
from blocks import block, joined
from helpers import ROOT, SMALL, Terminal
from incast import sections
from incast.progress import ProgressLine
from incast.units import KB, MB, Bytes, Rate, Time, gbps, us

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SMALL_DICT: dict[str, Any] = {
    "seed": 7,
    "topology": {"kind": "star", "hosts": 4, "rate": gbps(100), "delay": us(3)},
    "switch": {"buffer": "unlimited", "pfc": None},
    "cc": {"algorithm": "oscar"},
    "traffic": [
        {"name": "long", "kind": "flows", "from": "h0", "to": "h3", "size": MB(2)},
        {
            "name": "burst",
            "kind": "flows",
            "from": ["h1", "h2"],
            "to": "h3",
            "size": KB(200),
            "start": us(50),
        },
    ],
    "probe": {"ports": ["to h3"], "interval": Time("1us")},
    "run": {"until": "1ms"},
}


def test_a_dict_a_text_and_typed_objects_say_the_same() -> None:
    text = incast.Scenario.from_toml(SMALL, "small.toml")
    from_dict = incast.Scenario.from_dict(SMALL_DICT, "small.toml")
    built = incast.Scenario.build(
        name="small",
        seed=7,
        topology=sections.Star(hosts=4, rate="100Gbps", delay=us(3)),
        switch=sections.Switch(buffer="unlimited"),
        cc="oscar",
        traffic=[
            sections.Flows(name="long", from_="h0", to="h3", size=MB(2)),
            sections.Flows(name="burst", from_=["h1", "h2"], to="h3", size="200KB", start="50us"),
        ],
        probe=sections.Probe(ports=["to h3"], interval="1us"),
        run=sections.Run(until="1ms"),
    )
    assert text == from_dict == built
    assert hash(text) == hash(built)
    assert text != text.with_seed(8)
    assert text != "text"
    assert text.run().fingerprint == built.run().fingerprint


def test_every_section_can_be_built() -> None:
    # Contestants are definitions by name: a mapping among the other sections.
    named = {"name", "seed", "topology", "traffic", "cc", "contestant"}
    for key in incast.schema()["properties"].keys() - named:
        assert key in inspect.signature(incast.Scenario.build).parameters, key
        assert hasattr(sections, key.capitalize()), key
    spread = incast.Scenario.build(
        topology=sections.LeafSpine(leaves=2, spines=2, hosts=1, rate="100Gbps", delay="1us"),
        transport=sections.Transport(recovery="selective", repair="lazy"),
        balancing=sections.Balancing(policy="reps", paths=32),
        cc="swift",
        traffic=sections.Permutation(size="100KB"),
        change=sections.Change(at="1us", between=["leaf0", "spine0"], state="down"),
    )
    assert 'policy = "reps"\npaths = 32' in spread.to_toml()
    # Transports without an algorithm at the sender, each with what it needs of the switches.
    for transport, switch in [
        (sections.Transport(kind="ndp", ndp=sections.Ndp(first_window=50)), sections.Switch(trimming=True)),
        (
            sections.Transport(kind="ndp", ndp=sections.Ndp(first_window=50)),
            sections.Switch(trimming=sections.Trimming(data="24KB", headers=KB(12))),
        ),
        (sections.Transport(kind="homa", homa=sections.Homa(unscheduled=3)), sections.Switch(queues=8)),
    ]:
        alone = incast.Scenario.build(
            topology=sections.Star(hosts=3, rate="100Gbps", delay="1us"),
            switch=switch,
            transport=transport,
            traffic=sections.Incast(to="h0", from_="h1-h2", size="100KB"),
        )
        assert alone.run().sound
    paused = incast.Scenario.build(
        topology=sections.LeafSpine(leaves=2, spines=1, hosts=2, rate="100Gbps", delay="1us"),
        switch=sections.Switch(bfc=sections.Bfc(queues=8)),
        cc="constant",
        traffic=sections.FileRequests(size="10KB", interval="10us", requests=2, responders=2),
    )
    assert paused.run().sound
    with pytest.raises(incast.ScenarioError, match="balance: unknown key"):
        incast.Scenario.build(
            topology=sections.Star(hosts=2, rate="100Gbps", delay="1us"),
            traffic=sections.Permutation(size="1KB"),
            cc="swift",
            balance={},
        )


def test_what_is_written_reads_back_as_equal() -> None:
    for path in sorted((ROOT / "examples").glob("*.toml")):
        scenario = incast.Scenario.load(path)
        again = incast.Scenario.from_toml(scenario.to_toml(), path.name)
        assert again == scenario, path
        assert pickle.loads(pickle.dumps(scenario)) == scenario


def test_changes_are_as_if_written_from_the_start() -> None:
    scenario = incast.Scenario.from_toml(SMALL, "small.toml")
    faster = scenario.with_({"topology.rate": gbps(400), "traffic.burst.size": KB(300)}, seed=2)
    assert faster == incast.Scenario.from_toml(
        SMALL.replace("100Gbps", "400Gbps").replace("200KB", "300KB").replace("seed = 7", "seed = 2"),
        "small.toml",
    )
    assert scenario.with_(topology__rate="400Gbps") == scenario.with_({"topology.rate": Rate("400Gbps")})
    # Changes add up, whichever way they were made.
    both = scenario.with_seed(3).with_algorithm("hpcc", eta=0.9).with_(switch={"buffer": "16MB"})
    assert (both.seed, both.algorithm) == (3, "hpcc:paper")
    assert 'buffer = "16MB"' in both.to_toml()
    assert "eta = 0.9" in both.to_toml()
    assert pickle.loads(pickle.dumps(both)) == both
    with pytest.raises(incast.ScenarioError, match=r'"topology\.rate": Time\(.1s.\)}\).*that is a time'):
        scenario.with_({"topology.rate": Time("1s")})
    with pytest.raises(TypeError, match=r"topology\.rate: .* is not allowed in a scenario"):
        scenario.with_({"topology.rate": object()})


def test_a_number_without_unit_is_refused_from_python_too() -> None:
    wrong = {**SMALL_DICT, "topology": {**SMALL_DICT["topology"], "delay": 3}}
    with pytest.raises(incast.ScenarioError, match=r"^mine\.toml: topology\.delay: 3: a time needs"):
        incast.Scenario.from_dict(wrong, "mine.toml")


def test_odd_texts_survive(tmp_path: Path) -> None:
    name = 'a "quoted" \\ name \x7f with \t and é'
    scenario = incast.Scenario.from_dict({**SMALL_DICT, "name": name})
    assert scenario.name == name


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    # As the shell gives one to `incast run <(cat scenario.toml)`. Nobody ever writes to it.
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(incast.ScenarioError, match="not a regular file"):
        incast.Scenario.load(tmp_path / "pipe")


def test_quantities() -> None:
    assert Time("12us") == us(12) == 12 * 10**6
    assert (str(us(12)), repr(gbps(0.5)), str(Bytes(1500))) == ("12us", "Rate('500Mbps')", "1.5KB")
    assert us(12) + us(3) == us(15)
    assert isinstance(us(12) - us(3), Time)
    assert (us(12.5).us, gbps(400).gbps, KB(7).kb) == (12.5, 400.0, 7.0)
    assert f"{us(3)} {us(3):d}" == "3us 3000000"
    assert pickle.loads(pickle.dumps(us(3))) == us(3)
    for wrong in ("12", "12KB", "-3us", "0.1ps"):
        with pytest.raises(ValueError, match=wrong[:2]):
            Time(wrong)
    with pytest.raises(ValueError, match="not a whole number of the smallest unit"):
        us(0.0000001)
    with pytest.raises(ValueError, match="out of range"):
        us(3) - us(4)


def validator() -> jsonschema.Draft202012Validator:
    schema = incast.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_every_scenario_of_the_repository_is_valid_by_the_schema() -> None:
    found = [*(ROOT / "examples").glob("*.toml"), *(ROOT / "papers").glob("**/*.toml")]
    scenarios = [path for path in found if "topology" in tomllib.loads(path.read_text())]
    assert len(scenarios) > 5
    check = validator()
    for path in scenarios:
        check.validate(tomllib.loads(path.read_text()))
        # What the schema lets pass, with every default written out, it lets pass too.
        check.validate(tomllib.loads(incast.Scenario.load(path).to_toml()))


def test_every_algorithm_with_every_preset_is_valid_by_the_schema() -> None:
    scenario = incast.Scenario.from_toml(SMALL, overrides=['switch.ecn={kmin="1KB",kmax="2KB",pmax=1.0}'])
    check = validator()
    for algorithm in incast.algorithms():
        for preset, _ in algorithm.presets:
            made = scenario.with_algorithm(f"{algorithm.name}:{preset}")
            check.validate(tomllib.loads(made.to_toml()))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("seed = 7", "seed = -7"),
        ("seed = 7", 'seed = "7"'),
        ("seed = 7", "sead = 7"),
        ('rate = "100Gbps"', 'rate = "100"'),
        ('rate = "100Gbps"', 'rate = "100us"'),
        ('rate = "100Gbps"', "rate = 100"),
        ('rate = "100Gbps"', 'rate = "0Gbps"'),
        ('delay = "3us"', ""),
        ("hosts = 4", "hosts = 4\nleaves = 2"),
        ('kind = "star"', 'kind = "stat"'),
        ('buffer = "unlimited"', 'buffer = "unlimitd"'),
        ('buffer = "unlimited"', "queues = 0"),
        ('buffer = "unlimited"', "queues = 129"),
        ('buffer = "unlimited"', 'ecn = { kmin = "1KB", kmax = "2KB", pmax = 1.5 }'),
        ('buffer = "unlimited"', 'ecn = { kmin = "1KB" }'),
        ('buffer = "unlimited"', 'scheduler = "fifo"'),
        ('algorithm = "oscar"', 'algorithm = "oskar"'),
        ('algorithm = "oscar"', 'algorithm = "oscar"\npreset = "none"'),
        ('algorithm = "oscar"', 'algorithm = "oscar"\neta = 0.95'),
        ('algorithm = "oscar"', 'algorithm = "hpcc"\neta = -1'),
        ('size = "2MB"', 'size = "2MB"\nload = 0.5'),
        ('interval = "1us"', "interval = 1"),
        ('ports = ["to h3"]', 'ports = "to h3"'),
        ("[run]", "[walk]"),
    ],
)
def test_schema_and_program_refuse_the_same(right: str, wrong: str) -> None:
    assert right in SMALL
    text = SMALL.replace(right, wrong)
    assert list(validator().iter_errors(tomllib.loads(text)))
    with pytest.raises(incast.ScenarioError):
        incast.Scenario.from_toml(text)


def test_changes_of_links_are_built_as_a_file_says_them() -> None:
    text = joined(
        SMALL,
        block("[[change]]", at="20us", between=["s0", "h3"], rate="25Gbps", until="40us"),
        block("[[change]]", at="50us", between=["h0-h1", "s0"], state="down", until="60us"),
    )
    said = incast.Scenario.from_toml(text)
    first = sections.Change(at="20us", between=["s0", "h3"], rate="25Gbps", until="40us")
    second = sections.Change(at="50us", between=["h0-h1", "s0"], state="down", until=us(60))
    table = {name: part for name, part in tomllib.loads(SMALL).items() if name != "seed"}
    assert incast.Scenario.build(change=[first, second], seed=7, **table) == said
    assert incast.Scenario.build(change=first, seed=7, **table) == incast.Scenario.from_toml(
        text.partition('[[change]]\nat = "50us"')[0]
    )
    info = said.run().info
    assert info["hosts"] == 4
    # Both senders are cut off for 10 us in the middle of their flows.
    assert info["outcome"]["packets_lost"] > 0


def test_impairments_are_built_as_a_file_says_them() -> None:
    said = incast.Scenario.from_toml(
        joined(
            SMALL,
            block("[impairments]", timestamp_noise="1us", errors=[{"packet_error_rate": "10%"}]),
        )
    )
    impaired = sections.Impairments(timestamp_noise="1us", errors=[{"packet_error_rate": 0.1}])
    table = {name: part for name, part in tomllib.loads(SMALL).items() if name != "seed"}
    built = incast.Scenario.build(impairments=impaired, seed=7, **table)
    assert built == said
    outcome = built.run().info["outcome"]
    # Every tenth packet, at least a dozen of them; all that are lost were corrupted.
    assert outcome["packets_corrupted"] == outcome["packets_lost"] > 12


def test_the_typed_sections_are_those_of_the_schema() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "sections.py"))
    assert tool["FILE"].read_text(encoding="utf-8") == tool["text"]()


def test_the_tables_of_results_are_those_that_are_declared() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "tables.py"))
    assert tool["FILE"].read_text(encoding="utf-8") == tool["text"]()
    result = incast.Scenario.from_toml(SMALL).run()
    for table in incast._core.tables():
        assert [column.name for column in table.columns] == getattr(result, table.name).columns


def test_progress_in_a_file_is_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    incast.Scenario.from_toml(SMALL).run(progress=True)
    assert capfd.readouterr() == ("", "")


HALF_WAY = incast.Progress(now_ps=10**9, until_ps=10**12, flows_finished=2, flows=3, hops=6_000_000)


def test_progress_in_a_terminal_is_a_line_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    seconds = iter([0.0, 2.0])
    with ProgressLine("small", clock=lambda: next(seconds)) as show:
        show(HALF_WAY)
    drawn = "small              1.00 ms  2/3 flows  3.00 M packet-hops/s  1 s left"
    assert terminal.getvalue() == f"\r\x1b[2K{drawn}\r\x1b[2K"


def test_progress_in_a_notebook_is_one_text_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, data: dict[str, str], *, raw: bool) -> None:
            assert raw
            shown.append(data["text/plain"])

    def display(data: dict[str, str], *, raw: bool, display_id: bool) -> Handle:
        assert raw
        assert display_id
        assert not shown, "one text, not several"
        shown.append(data["text/plain"])
        return Handle()

    # IPython as a kernel has it; only what is asked of it.
    shell = type("ZMQInteractiveShell", (), {})()
    ipython, module = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    ipython.get_ipython = lambda: shell  # type: ignore[attr-defined]
    module.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    seconds = iter([0.0, 1.0, 1.05, 2.0])
    with ProgressLine("small", clock=lambda: next(seconds)) as show:
        for _ in range(3):
            show(HALF_WAY)
    assert [text.split("  ")[-2] for text in shown] == ["6.00 M packet-hops/s", "3.00 M packet-hops/s"]
