"""Algorithms written in Python."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import incast
from helpers import ROOT, SMALL, Incast, written

OSCAR = ROOT / "examples" / "oscar_in_python.py"
SCENARIO = incast.Scenario.from_toml(SMALL, "small.toml")


class Fixed(incast.CongestionControl):
    """A constant window and rate."""

    def __init__(self, window: int = 100_000, rate: float | None = None) -> None:
        self.window, self.rate = window, rate

    def start(self, path: incast.FlowPath, now: int) -> FixedFlow:
        return FixedFlow(self.window, self.rate)


class FixedFlow(incast.Flow):
    """Its flow."""

    def __init__(self, window: int, rate: float | None) -> None:
        self.window, self.rate = window, rate

    def on_ack(self, ack: incast.Ack, hops: Sequence[incast.IntHop]) -> None:
        pass

    def allowance(self) -> tuple[float | None, float | None]:
        return self.window, self.rate


incast.register("fixed", Fixed)


@pytest.fixture(autouse=True)
def plugins_of_one_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empties the list of plugins for the test, so that processes of other tests do not load them."""
    monkeypatch.setenv(incast.algorithm.PLUGINS, "")


def test_it_does_to_the_picosecond_what_the_same_in_rust_does() -> None:
    ours = SCENARIO.with_algorithm("fixed", window=80_000).run()
    theirs = SCENARIO.with_algorithm("constant", window="80KB").run()
    for table in ("flows", "port_series"):
        for column in ("fct_ps", "packets") if table == "flows" else ("queue_bytes", "time_ps"):
            mine, other = getattr(ours, table).column(column), getattr(theirs, table).column(column)
            assert np.array_equal(mine, other), column
    assert ours.info["algorithms"] == ["fixed"]


def test_the_same_every_time_whatever_the_threads() -> None:
    scenario = SCENARIO.with_algorithm("fixed")
    first = scenario.run().fingerprint
    assert scenario.run(threads=2).fingerprint == first
    assert pickle.loads(pickle.dumps(scenario)).run().fingerprint == first


def test_parameters_come_from_the_scenario() -> None:
    text = SMALL.replace('algorithm = "oscar"', 'algorithm = "fixed"\nwindow = 50_000\nrate = 2.5e10')
    scenario = incast.Scenario.from_toml(text)
    assert (
        scenario.run().fingerprint
        == SCENARIO.with_algorithm("fixed", window=50_000, rate=25e9).run().fingerprint
    )
    with pytest.raises(incast.ScenarioError, match=r"cc: fixed: TypeError: .*unexpected keyword.*'wndow'"):
        SCENARIO.with_algorithm("fixed", wndow=1)
    with pytest.raises(incast.ScenarioError, match='did you mean "fixed"'):
        SCENARIO.with_algorithm("fxed")
    with pytest.raises(ValueError, match="of the catalogue"):
        incast.register("oscar", Fixed)
    with pytest.raises(TypeError, match="an algorithm must be a class"):
        incast.register("number", 3)  # type: ignore[arg-type]


class Watcher(incast.CongestionControl):
    """Records its callbacks."""

    signals = incast.Signals.INT | incast.Signals.ONE_WAY_DELAY
    overhead = (42, 42)
    seen: list[tuple[str, object]] = []  # noqa: RUF012 - shared on purpose

    def start(self, path: incast.FlowPath, now: int) -> WatcherFlow:
        self.seen.append(("start", path))
        return WatcherFlow(path, now)


class WatcherFlow(incast.Flow):
    """Its flow: three timers 10 us apart."""

    def __init__(self, path: incast.FlowPath, now: int) -> None:
        self.path, self.timers, self.next = path, 0, now + 10_000_000

    def on_ack(self, ack: incast.Ack, hops: Sequence[incast.IntHop]) -> None:
        Watcher.seen.append(("ack", ack))
        Watcher.seen.append(("hops", hops))

    def on_sent(self, sent: incast.Sent) -> None:
        Watcher.seen.append(("sent", sent))

    def on_timer(self, now: int) -> None:
        assert now == self.next
        Watcher.seen.append(("timer", now))
        self.timers += 1
        self.next = now + 10_000_000

    def deadline(self) -> int | None:
        return self.next if self.timers < 3 else None

    def allowance(self) -> tuple[float | None, float | None]:
        return self.path.bdp, float("inf")


def test_every_signal_arrives_with_its_unit() -> None:
    Watcher.seen.clear()
    result = SCENARIO.with_algorithm(Watcher).run()
    seen: dict[str, list[object]] = {}
    for kind, thing in Watcher.seen:
        seen.setdefault(kind, []).append(thing)
    path = seen["start"][0]
    assert isinstance(path, incast.FlowPath)
    assert path.line_rate == 100_000_000_000
    assert path.base_rtt == result.flows.column("base_rtt_ps")[0]
    assert path.bdp == path.line_rate * path.base_rtt // (8 * 10**12)
    assert (path.payload, path.packet) == (1000, 1000 + 54 + 42)
    assert (path.time_for(12_500), path.bytes_in(10**6)) == (10**6, 12_500)
    packets = int(result.flows.column("packets").sum())
    assert len(seen["sent"]) == packets
    # The acknowledgement that finishes a flow is not reported.
    assert len(seen["ack"]) == packets - len(result.flows)
    assert len(seen["timer"]) == 9
    for ack in seen["ack"]:
        assert isinstance(ack, incast.Ack)
        assert ack.rtt == ack.now - ack.sent >= path.base_rtt
        assert ack.owd == ack.received - ack.sent >= path.base_owd
        assert (ack.packets, ack.acked) == (1, 1096)
    for hops in seen["hops"]:
        assert isinstance(hops, tuple)
        (hop,) = hops  # one switch
        assert hop.rate == 100_000_000_000
        assert hop.queue >= 0


def test_oscar_in_python_behaves_like_oscar() -> None:
    incast.load_plugin(OSCAR)
    burst = incast.Scenario.load(ROOT / "examples" / "microburst.toml")
    rust, python = incast.compare(burst, ["oscar:paper", "oscar-in-python"]).values()
    # Floating point and whole numbers differ in the last digits, and a queue remembers them.
    assert python.peak_queue_bytes("s0", 15) == pytest.approx(rust.peak_queue_bytes("s0", 15), rel=0.01)
    assert python.flow_times().fct_ps == pytest.approx(rust.flow_times().fct_ps, rel=0.01)
    queues = [result.port("s0", 15).queue_bytes for result in (rust, python)]
    assert float(np.abs(queues[0] - queues[1]).mean()) < 0.01 * float(queues[0].max())
    assert len(OSCAR.read_text().splitlines()) < 90


class FailsError(Exception):
    """Error that Failing raises."""


class Failing(incast.CongestionControl):
    """Raises in one of its methods."""

    def __init__(self, where: str = "on_ack") -> None:
        self.where = where

    def start(self, path: incast.FlowPath, now: int) -> FailingFlow:
        if self.where == "start":
            raise FailsError("in start")
        return FailingFlow(self.where)


class FailingFlow(incast.Flow):
    """Its flow."""

    def __init__(self, where: str) -> None:
        self.where, self.acks = where, 0

    def on_ack(self, ack: incast.Ack, hops: Sequence[incast.IntHop]) -> None:
        self.acks += 1
        if self.where == "on_ack" and self.acks == 5:
            raise FailsError(f"after {self.acks} acknowledgements")

    def allowance(self) -> tuple[float | None, float | None]:
        if self.where == "interrupt" and self.acks == 5:
            raise KeyboardInterrupt
        if self.where == "allowance" and self.acks == 5:
            return "wide", None  # type: ignore[return-value]
        if self.where == "negative":
            return -1.0, None
        return 100_000, None


@pytest.mark.parametrize(
    ("where", "error", "text"),
    [
        ("start", FailsError, "in start"),
        ("on_ack", FailsError, "after 5 acknowledgements"),
        ("allowance", TypeError, "the window must be a number, not wide"),
        ("negative", ValueError, "the window must be zero or more, not -1"),
    ],
)
def test_what_it_raises_stops_the_run(where: str, error: type[Exception], text: str, tmp_path: Path) -> None:
    scenario = SCENARIO.with_algorithm(Failing, where=where)
    with pytest.raises(error, match=text) as raised:
        scenario.run(tmp_path / "out")
    # The saved result says that it was cut short, however soon the simulation would have ended.
    assert incast.Result.open(tmp_path / "out").end == "interrupted"
    if where == "on_ack":
        assert "in on_ack" in "".join(traceback.format_exception(raised.value))
    # The next run on this thread knows nothing of it.
    assert SCENARIO.with_algorithm("fixed").run().end == "finished"


def test_ctrl_c_in_an_algorithm_keeps_the_result() -> None:
    with pytest.raises(incast.Interrupted) as raised:
        SCENARIO.with_algorithm(Failing, where="interrupt").run()
    assert raised.value.result.end == "interrupted"


def test_a_class_without_methods_is_refused() -> None:
    class Empty:
        pass

    incast.register("empty", Empty)
    with pytest.raises(incast.ScenarioError, match=r"empty has no method start\(path, now\)"):
        SCENARIO.with_algorithm("empty")

    class Half:
        def start(self, path: incast.FlowPath, now: int) -> object:
            return object()

    incast.register("half", Half)
    with pytest.raises(TypeError, match=r"which has no method on_ack\(ack, hops\)"):
        SCENARIO.with_algorithm("half").run()


def test_a_changed_file_is_not_taken_for_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The stored bytecode of a file of the same size and second fits, whatever is in the file.
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file = tmp_path / "rule.py"
    source = (
        "import incast\n\nclass MyRule(incast.CongestionControl):\n    def start(self, path, now):\n"
        "        return MyFlow()\n\nclass MyFlow(incast.Flow):\n    def on_ack(self, ack, hops):\n"
        "        pass\n\n    def allowance(self):\n        return 50_000, None\n"
    )
    file.write_text(source)
    os.utime(file, (1e9, 1e9))
    assert incast.load_plugin(file) == ["my-rule"]
    old = SCENARIO.with_algorithm("my-rule")
    file.write_text(source.replace("50_000", "60_000"))
    os.utime(file, (1e9, 1e9))
    assert incast.load_plugin(file) == ["my-rule"]
    new = SCENARIO.with_algorithm("my-rule")
    assert old != new
    with pytest.raises(incast.ScenarioError, match=r"cc\.code: the code of my-rule has"):
        incast.Scenario.from_toml(old.to_toml())
    # A scenario keeps the code that it was made with.
    assert old.run().fingerprint != new.run().fingerprint


def test_a_changed_module_beside_a_file_is_not_taken_for_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    # A name of its own: modules of other tests stay loaded.
    text = PARTS["alg.py"].replace("Parts", "Changing").replace("helper", "changing_values")
    written(tmp_path, {"alg.py": text, "weights.txt": ""})
    values = tmp_path / "changing_values.py"
    prints = []
    for window in ("50_000", "60_000"):
        values.write_text(f"WINDOW = {window}\n")
        os.utime(values, (1e9, 1e9))
        assert incast.load_plugin(tmp_path / "alg.py") == ["changing"]
        # The module is imported, and its bytecode stored, when the first flow starts.
        prints.append(SCENARIO.with_algorithm("changing").run().fingerprint)
    assert prints[0] != prints[1]


PARTS = {
    "alg.py": """\
import incast

class Parts(incast.CongestionControl):
    files = ("weights.txt",)

    def start(self, path, now):
        from helper import WINDOW
        return PartsFlow(WINDOW)

class PartsFlow(incast.Flow):
    def __init__(self, window):
        self.window = window

    def on_ack(self, ack, hops):
        pass

    def allowance(self):
        return self.window, None
""",
    "helper.py": "from deep.values import BYTES\nWINDOW = BYTES * 1\n",
    "deep/__init__.py": "",
    "deep/values.py": "BYTES = 50_000\n",
    "weights.txt": "1\n",
    "unrelated.py": "X = 1\n",
}
"""A plugin with modules beside it, one imported when a flow starts, and a file that it declares."""


@pytest.mark.parametrize("part", ["alg.py", "helper.py", "deep/values.py", "deep/__init__.py", "weights.txt"])
def test_a_result_belongs_to_all_files_of_its_algorithm(tmp_path: Path, part: str) -> None:
    written(tmp_path, {**PARTS, "small.toml": SMALL})
    # In another folder, so that the plugin finds its modules by itself.
    (tmp_path / "elsewhere").mkdir()
    command = Incast(tmp_path / "elsewhere")
    words = ("run", "../small.toml", "--plugin", "../alg.py", "--set", "cc.algorithm=parts")
    done = command(*words)
    assert done.returncode == 0, done.stderr
    (tmp_path / "unrelated.py").write_text("X = 2\n")
    assert "reused" in command(*words).stderr
    with (tmp_path / part).open("a") as file:
        file.write("# changed\n")
    done = command(*words)
    assert done.returncode == 0, done.stderr
    assert "reused" not in done.stderr
    assert "reused" in command(*words).stderr


def test_a_plugin_that_is_loaded_again_has_its_modules_of_now(tmp_path: Path) -> None:
    written(tmp_path, PARTS)
    prints = []
    # Of other lengths, by which Python knows that its bytecode is old.
    for window in (5_000, 60_000):
        (tmp_path / "deep" / "values.py").write_text(f"BYTES = {window}\n")
        assert incast.load_plugin(tmp_path / "alg.py") == ["parts"]
        prints.append(SCENARIO.with_algorithm("parts").run().fingerprint)
    assert prints[0] != prints[1]
    (tmp_path / "weights.txt").unlink()
    with pytest.raises(ValueError, match=r"parts: cannot read .*weights\.txt, which the class declares"):
        incast.load_plugin(tmp_path / "alg.py")


def test_plugins_go_to_other_processes(tmp_path: Path) -> None:
    incast.load_plugin(OSCAR)
    scenario = SCENARIO.with_algorithm("oscar-in-python")
    (tmp_path / "s.pickle").write_bytes(pickle.dumps(scenario))
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')).run().fingerprint)"
    bare = {key: value for key, value in os.environ.items() if key != incast.algorithm.PLUGINS}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "s.pickle")],
        env=bare,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == scenario.run().fingerprint


def test_the_command_takes_plugins(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    command = [sys.executable, "-m", "incast"]
    words = ["compare", "small.toml", "--plugin", str(OSCAR), "--cc", "oscar,oscar-in-python"]
    done = subprocess.run([*command, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "oscar-in-python" in done.stdout
    words = ["run", "small.toml", "--plugin", "none.py"]
    done = subprocess.run([*command, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "none.py: there is no such plugin file" in done.stderr
    (tmp_path / "broken.py").write_text("import incast\n\n1 / 0\n")
    words = ["run", "small.toml", "--plugin", "broken.py"]
    done = subprocess.run([*command, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "broken.py cannot be loaded" in done.stderr
    assert "ZeroDivisionError" in done.stderr


def test_the_crate_outside_the_workspace_builds_and_runs() -> None:
    manifest = ROOT / "examples" / "custom-algorithm" / "Cargo.toml"
    target = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target" / "custom-algorithm")}

    def cargo(*words: str) -> str:
        command = ["cargo", *words, "--quiet", "--locked", "--manifest-path", str(manifest)]
        done = subprocess.run(command, env=target, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "1 passed" in cargo("test")
    lines = cargo("run").splitlines()
    assert [line.split()[0] for line in lines] == ["oscar", "target"]
    assert all("longest queue" in line and "fingerprint" in line for line in lines)


class Ranged(incast.CongestionControl):
    """A window with a range.

    Args:
        window: Bytes in flight, as many as
            the path takes.
        share: Part of it that is used.
        name: Its name.
    """

    ranges = {"share": (0.25, 1)}  # noqa: RUF012 - as users write it

    def __init__(self, window: int, share: float = 0.5, name: str = "x", on: bool = True) -> None:
        self.window = window * share

    def start(self, path: incast.FlowPath, now: int) -> FixedFlow:
        return FixedFlow(int(self.window), None)


incast.register("ranged", Ranged)


def test_parameters_have_defaults_ranges_and_meanings() -> None:
    assert incast.own_parameters("ranged") == [
        incast.OwnParameter("window", "", "", "Bytes in flight, as many as the path takes."),
        incast.OwnParameter("share", "0.5", "0.25 to 1", "Part of it that is used."),
        incast.OwnParameter("name", '"x"', "", "Its name."),
        incast.OwnParameter("on", "true", "", ""),
    ]
    assert incast.own_parameters("fixed") == [
        incast.OwnParameter("window", "100000", "", ""),
        incast.OwnParameter("rate", "none", "", ""),
    ]
    incast.register("any", lambda **parameters: Fixed())
    assert incast.own_parameters("any") is None
    with pytest.raises(KeyError, match="no algorithm is registered as 'nothing'"):
        incast.own_parameters("nothing")


def test_parameters_out_of_range_are_refused() -> None:
    # The half of 160 KB is what a window of 80 KB is.
    half = SCENARIO.with_algorithm("ranged", window=160_000).run()
    assert half.fingerprint == SCENARIO.with_algorithm("ranged", window=80_000, share=1).run().fingerprint
    with pytest.raises(
        incast.ScenarioError, match=r"ranged: ValueError: share = 0\.2 is out of range: allowed is 0\.25 to 1"
    ):
        SCENARIO.with_algorithm("ranged", window=160_000, share=0.2)
    with pytest.raises(incast.ScenarioError, match=r'share = "much" is no number; allowed is 0\.25 to 1'):
        SCENARIO.with_algorithm("ranged", window=160_000, share="much")

    class Wrong(Ranged):
        ranges = {"shere": (0, 1)}  # noqa: RUF012

    with pytest.raises(
        ValueError, match="wrong: ranges names shere, which is no parameter; there are window"
    ):
        incast.register("wrong", Wrong)

    class Empty(Ranged):
        ranges = {"share": (1, 0)}  # noqa: RUF012

    with pytest.raises(ValueError, match="empty: the range of share is empty: 1 to 0"):
        incast.register("empty", Empty)


def test_a_file_is_listed_with_its_parameters(incast: Incast) -> None:
    (incast.folder / "mine.py").write_text(
        "import incast\n\n\nclass Mine(incast.CongestionControl):\n"
        '    """A window.\n\n    Args:\n        window: Bytes in flight.\n    """\n\n'
        '    ranges = {"window": (1000, 2000)}\n\n'
        "    def __init__(self, window=1500):\n        self.window = window\n\n"
        "    def start(self, path, now):\n        raise NotImplementedError\n"
    )
    done = incast.here("list", "mine.py")
    assert (done.returncode, done.stderr) == (0, "")
    lines = ["mine", "A window.", "group: your own", "", "parameters", "  window = 1500"]
    assert done.stdout.splitlines() == [*lines, "      Bytes in flight; 1000 to 2000"]
    assert incast.here("list", "mine", "--plugin", "mine.py").stdout == done.stdout
    missing = incast.here("list", "other.py")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "other.py: there is no such plugin file" in missing.stderr
