"""Algorithms in shared libraries: the example in C, what is refused, and what is said when one misbehaves."""

from __future__ import annotations

import platform
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import incast
from helpers import Incast
from incast import _identity
from incast.algorithm import PLUGINS

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "algorithm-in-c" / "target.c"
FAULTY = ROOT / "crates" / "plugin" / "tests" / "plugins" / "faulty.c"

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler (cc)")


@pytest.fixture(autouse=True)
def nothing_stays_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of other tests do not load the plugins of these."""
    monkeypatch.setenv(PLUGINS, "")


SCENARIO = """
topology = { kind = "star", hosts = 4, rate = "100Gbps", delay = "3us" }
cc = { algorithm = "ALGORITHM" }
[[traffic]]
kind = "incast"
to = "h3"
size = "450KB"
"""


def compiled(source: Path, folder: Path, name: str = "", *flags: str) -> Path:
    library = folder / f"{name or source.stem}.so"
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
    command = ["cc", "-std=c11", "-O2", *warnings, "-shared", "-fPIC", "-I", incast.get_include(), *flags]
    subprocess.run([*command, str(source), "-o", str(library)], check=True)
    return library


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example and the faulty plugin."""
    folder = tmp_path_factory.mktemp("plugins")
    for source in (EXAMPLE, FAULTY):
        compiled(source, folder)
    return folder


def scenario(algorithm: str) -> incast.Scenario:
    return incast.Scenario.from_toml(SCENARIO.replace("ALGORITHM", algorithm))


class Target(incast.CongestionControl):
    """The example, in Python."""

    def __init__(self, queueing: str = "6us", gain: int = 128) -> None:
        self.queueing = incast.units.us(float(queueing.removesuffix("us")))
        self.gain = gain
        self.overhead = (4, 4)  # type: ignore[misc]

    def start(self, path: incast.FlowPath, now: int) -> TargetFlow:
        return TargetFlow(self, path)


class TargetFlow(incast.Flow):
    def __init__(self, of: Target, path: incast.FlowPath) -> None:
        self.path, self.gain = path, of.gain
        self.target = path.base_rtt + int(of.queueing)
        self.bdp = path.line_rate * path.base_rtt // (8 * 10**12)
        self.window = self.bdp

    def on_ack(self, ack: incast.Ack, hops: object) -> None:
        rtt = ack.now - ack.sent - ack.held
        gain = ack.acked * self.gain // 256
        if rtt > self.target:
            self.window = max(self.window - gain * (rtt - self.target) // rtt, 0)
        else:
            self.window += gain * (self.target - rtt) // rtt
        self.window = min(max(self.window, self.path.packet), 2 * self.bdp)

    def allowance(self) -> tuple[int, int]:
        return self.window, self.path.line_rate


def test_the_example_computes_what_its_twin_in_python_does(libraries: Path) -> None:
    assert incast.load_plugin(libraries / "target.so") == ["target-in-c"]
    incast.register("target-in-python", Target)
    changed = {"cc.queueing": "2us", "cc.gain": 200}
    for settings in ({}, changed):
        results = [
            scenario(name).with_(settings).run(threads=threads)
            for name, threads in (("target-in-c", 1), ("target-in-c", 2), ("target-in-python", 1))
        ]
        fingerprints = {result.info["outcome"]["fingerprint"] for result in results}
        assert len(fingerprints) == 1
    # The parameters matter.
    first, second = (scenario("target-in-c").with_(settings).run() for settings in ({}, changed))
    assert list(first.flow_times().fct_ps) != list(second.flow_times().fct_ps)


def test_the_parameters_of_a_library_are_those_that_it_declares(libraries: Path) -> None:
    incast.load_plugin(libraries / "target.so")
    found = incast.own_parameters("target-in-c")
    assert found is not None
    assert [(one.name, one.default, one.range) for one in found] == [
        ("queueing", '"6us"', "0ps to 1ms"),
        ("gain", "128", "1 to 256"),
    ]
    assert all(one.meaning for one in found)
    shown = Incast(libraries).here("list", "target.so").stdout
    assert '  queueing = "6us"\n' in shown


def test_a_library_that_a_plugin_links_is_part_of_its_identity(tmp_path: Path) -> None:
    def link(value: int) -> None:
        (tmp_path / "help.c").write_text(f"int help(void);\nint help(void) {{ return {value}; }}\n")
        compiled(tmp_path / "help.c", tmp_path, "libhelp")

    link(1)
    flags = ("-Wl,--no-as-needed", f"-L{tmp_path}", "-lhelp", "-Wl,-rpath,$ORIGIN")
    plugin = compiled(EXAMPLE, tmp_path, "", *flags)
    (tmp_path / "s.toml").write_text(SCENARIO.replace("ALGORITHM", "target-in-c"))
    command, words = Incast(tmp_path), ("run", "s.toml", "--plugin", plugin)
    done = command(*words)
    assert done.returncode == 0, done.stderr
    assert "reused" in command(*words).stderr
    link(2)
    done = command(*words)
    assert done.returncode == 0, done.stderr
    assert "reused" not in done.stderr
    # The system's libraries are not part of it: without others it is the hash of the file.
    alone = compiled(EXAMPLE, tmp_path, "alone")
    assert _identity.of_library(alone) == _identity.digest(alone.read_bytes())


def test_a_file_that_a_list_beside_a_library_names_is_part_of_its_identity(tmp_path: Path) -> None:
    plugin = compiled(EXAMPLE, tmp_path, "")
    alone = _identity.of_library(plugin)
    (tmp_path / "weights.bin").write_bytes(b"1")
    assert _identity.of_library(plugin) == alone
    names = tmp_path / f"{plugin.name}.files"
    names.write_text("# What it reads.\n\nweights.bin\n")
    (tmp_path / "s.toml").write_text(SCENARIO.replace("ALGORITHM", "target-in-c"))
    command, words = Incast(tmp_path), ("run", "s.toml", "--plugin", plugin)
    done = command(*words)
    assert done.returncode == 0, done.stderr
    assert "reused" in command(*words).stderr
    (tmp_path / "weights.bin").write_bytes(b"2")
    done = command(*words)
    assert done.returncode == 0, done.stderr
    assert "reused" not in done.stderr
    names.write_text("weights.bin\nbias.bin\n")
    done = command(*words)
    assert done.returncode != 0
    assert f"{plugin.name}.files:2: there is no file bias.bin" in done.stderr, done.stderr


def test_it_works_on_the_command_line(libraries: Path, tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(SCENARIO.replace("ALGORITHM", "oscar"))
    plugin = ["--plugin", str(libraries / "target.so")]
    compared = Incast(tmp_path)("compare", str(file), "--cc", "oscar,target-in-c", *plugin)
    assert compared.returncode == 0, compared.stderr
    assert "target-in-c" in compared.stdout
    out = tmp_path / "out"
    run = Incast(tmp_path)("run", str(file), *plugin, "--set", "cc=target-in-c", "--out", str(out))
    assert run.returncode == 0, run.stderr
    # A sweep makes its runs in processes of their own.
    swept = Incast(tmp_path)(
        "sweep", str(file), *plugin, "--set", "cc.algorithm=target-in-c", "--vary", "cc.gain=64,128",
        "--out", str(tmp_path / "sweep"),
    )  # fmt: skip
    assert swept.returncode == 0, swept.stderr
    effective = (out / "scenario.toml").read_text()
    assert 'algorithm = "target-in-c"' in effective
    assert 'code = "sha256:' in effective


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"cc.wrongs": 1}, "cc.wrongs: unknown key; the keys of cc with faulty are"),
        ({"cc.wrong": "1us"}, "cc.wrong"),
        ({"cc.wrong": 99}, "99 is out of range: allowed is 0 to 9"),
        ({"cc.slow": 5}, "cc.slow"),
        ({"cc.slow": "2us"}, "out of range: allowed is 1ps to 1ns"),
        ({"cc.share": 1.5}, "out of range: allowed is 0.0 to 1.0"),
        ({"cc.odd": 1}, "cc.odd"),
        ({"cc.odd": True}, "faulty: odd and even do not go together"),
        ({"cc.code": "sha256:0"}, "has the hash"),
    ],
)
def test_wrong_parameters_are_told_with_their_key(
    libraries: Path, keys: dict[str, object], said: str
) -> None:
    incast.load_plugin(libraries / "faulty.so")
    with pytest.raises(incast.ScenarioError) as refused:
        scenario("faulty").with_(keys)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (1, "after on_ack at "),
        (1, "it gave a window of 0 bytes"),
        (2, "it gave a rate of 0 bit/s"),
        (3, ", which is in the past"),
        (4, "after on_timer at 1ps of simulated time it gave the same time as its deadline again"),
        (5, "it had written beyond its flow_bytes, 16"),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_plugin_that_misbehaves_is_named(
    libraries: Path, tmp_path: Path, wrong: int, said: str, threads: int
) -> None:
    incast.load_plugin(libraries / "faulty.so")
    out = tmp_path / "out"
    with pytest.raises(incast.PluginError) as stopped:
        scenario("faulty").with_({"cc.wrong": wrong}).run(out, threads=threads)
    assert str(stopped.value).startswith("the plugin faulty (")
    assert "faulty.so)" in str(stopped.value)
    assert said in str(stopped.value)
    # What was computed is kept, and says how it ended.
    assert incast.Result.open(out).info["outcome"]["end"] == "interrupted"


def test_a_plugin_that_behaves_goes_on(libraries: Path) -> None:
    incast.load_plugin(libraries / "faulty.so")
    assert scenario("faulty").run().info["outcome"]["end"] == "finished"


@pytest.mark.parametrize(
    ("wrong", "number", "said"),
    [
        (6, signal.SIGSEGV, "it accessed invalid memory (SIGSEGV)"),
        (7, signal.SIGFPE, "it divided by zero (SIGFPE)"),
        (8, signal.SIGABRT, "it called abort() (SIGABRT)"),
        (9, signal.SIGSEGV, "it accessed invalid memory (SIGSEGV)"),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_plugin_that_crashes_is_named(
    libraries: Path, tmp_path: Path, wrong: int, number: int, said: str, threads: int
) -> None:
    file = tmp_path / "t.toml"
    file.write_text(SCENARIO.replace("ALGORITHM", "faulty"))
    plugin = str(libraries / "faulty.so")
    ran = Incast(tmp_path)(
        "run", str(file), "--plugin", plugin, "--set", f"cc.wrong={wrong}", "--threads", str(threads),
        "--out", str(tmp_path / "out"),
    )  # fmt: skip
    assert ran.returncode == -number
    assert f"incast: the plugin faulty ({plugin}) crashed in on_ack at " in ran.stderr
    assert said in ran.stderr


def test_a_sweep_says_which_plugin_crashed(libraries: Path, tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(SCENARIO.replace("ALGORITHM", "faulty"))
    swept = Incast(tmp_path)(
        "sweep", str(file), "--plugin", str(libraries / "faulty.so"), "--vary", "cc.wrong=0,6",
        "--out", str(tmp_path / "sweep"),
    )  # fmt: skip
    assert swept.returncode == 1
    assert "the plugin faulty" in swept.stderr
    assert "Traceback" not in swept.stderr


HEAD = "#include <incast_cc.h>\n"
AT = "const incast_plugin *incast_plugin_at(size_t place) { return place ? NULL : &p; }\n"
FUNCTIONS = """
static void start(void *f, const void *s, incast_time n) { (void)f, (void)s, (void)n; }
static void on_ack(void *f, const void *s, const incast_ack *a, const incast_int_stack *t) {
    (void)f, (void)s, (void)a, (void)t;
}
static incast_allowance allowance(const void *f, const void *s) {
    (void)f, (void)s;
    return (incast_allowance){1, 1};
}
"""
WHOLE = ".start = start, .on_ack = on_ack, .allowance = allowance"


def plugin_of(fields: str, before: str = "") -> str:
    return f"{HEAD}{FUNCTIONS}{before}\nstatic const incast_plugin p = {{ {fields} }};\n{AT}"


def parameter(fields: str) -> str:
    return plugin_of(
        f'.abi = INCAST_CC_ABI, .name = "x", .summary = "", {WHOLE}, .parameters = q, .parameter_count = 1',
        f"static const incast_plugin_parameter q[] = {{{{ {fields} }}}};",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("int nothing;\n", "has no function incast_plugin_at"),
        (
            f"{HEAD}const incast_plugin *incast_plugin_at(size_t n) {{ (void)n; return NULL; }}\n",
            "has no plugin",
        ),
        (plugin_of('.abi = 7, .name = "x"'), "its binary interface is 7, here it is 1"),
        (plugin_of(".abi = INCAST_CC_ABI"), "its name: the text is null"),
        (plugin_of(f'.abi = INCAST_CC_ABI, .name = "x y", .summary = "", {WHOLE}'), "not a valid name"),
        (plugin_of(f'.abi = INCAST_CC_ABI, .name = "oscar", .summary = "", {WHOLE}'), "choose another name"),
        (plugin_of('.abi = INCAST_CC_ABI, .name = "x", .summary = ""'), "function start is missing"),
        (
            plugin_of(f'.abi = INCAST_CC_ABI, .name = "x", .summary = "", {WHOLE}, .signals = 4096'),
            "signals has a bit that is no INCAST_SIGNAL",
        ),
        (
            plugin_of(f'.abi = INCAST_CC_ABI, .name = "x", .summary = "", {WHOLE}, .shared_bytes = 8'),
            "share, as it has shared_bytes, is missing",
        ),
        (
            plugin_of(f'.abi = INCAST_CC_ABI, .name = "x", .summary = "", {WHOLE}, .flow_bytes = 1 << 30'),
            "flow_bytes is 1073741824; the most is 1048576",
        ),
        (parameter('"Gain", "", INCAST_KIND_COUNT, 1, 0, 2'), '"Gain" is not a name for a parameter'),
        (parameter('"gain", "", INCAST_KIND_CHOICE, 1, 0, 2'), "its kind is no incast_kind"),
        (parameter('"gain", "", INCAST_KIND_COUNT, 3, 0, 2'), "its initial value is not between"),
    ],
)
def test_libraries_that_cannot_be_used_are_refused(tmp_path: Path, text: str, said: str) -> None:
    source = tmp_path / "broken.c"
    source.write_text(text)
    library = compiled(source, tmp_path, "", "-Wno-missing-field-initializers", "-Wno-unused-function")
    with pytest.raises(ValueError, match=r"broken\.so: ") as refused:
        incast.load_plugin(library)
    assert said in str(refused.value)


def test_a_file_that_is_no_library_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "text.so"
    file.write_text("no library")
    with pytest.raises(ValueError, match=r"cannot be opened as a shared library: .*(short|header)"):
        incast.load_plugin(file)


def test_a_library_that_was_compiled_again_is_the_new_one(tmp_path: Path) -> None:
    source = tmp_path / "again.c"
    ends = []
    for window in (2000, 60000):
        text = plugin_of(f'.abi = INCAST_CC_ABI, .name = "again", .summary = "", {WHOLE}')
        source.write_text(text.replace("{1, 1}", f"{{{window}, 100000000000}}"))
        incast.load_plugin(compiled(source, tmp_path))
        ends.append(scenario("again").run().flow_times().fct_ps.max())
    assert ends[0] > 2 * ends[1]


FLUSHES = """
#include <stdint.h>
#include "incast_cc.h"
/* As crtfastmath.o, with which compilers link what is built with -Ofast: small numbers become zero. */
__attribute__((constructor)) static void flush(void)
{
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
}
"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the mode of x86-64")
def test_a_plugin_built_with_ofast_does_not_change_arithmetic(tmp_path: Path) -> None:
    source = tmp_path / "flushes.c"
    source.write_text(FLUSHES + EXAMPLE.read_text().replace('"target-in-c"', '"flushes-in-c"'))
    library = compiled(source, tmp_path, "flushes", "-Ofast")
    # The least normal number of IEEE 754 is 2^-1022; half of it has one significant bit less and is no zero.
    code = (
        "import ctypes, sys, threading, incast\n"
        "half = lambda: float(sys.float_info.min) / len('ab')\n"
        "assert half() > 0\n"
        "open_library = incast.load_plugin if sys.argv[2] == 'plugin' else ctypes.CDLL\n"
        "open_library(sys.argv[1])\n"
        "found = [half()]\n"
        "thread = threading.Thread(target=lambda: found.append(half()))\n"
        "thread.start(); thread.join()\n"
        "print([number > 0 for number in found])\n"
    )

    def said(how: str) -> str:
        command = [sys.executable, "-c", code, str(library), how]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    # The library alone does change it.
    assert said("alone") == "[False, False]"
    assert said("plugin") == "[True, True]"
