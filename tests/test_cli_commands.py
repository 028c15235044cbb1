"""The commands `show`, `plot`, `schema`, `doctor`, `completion`, and `--estimate`."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import incast as package
from blocks import block, joined
from helpers import PLUGIN, SLOW, SMALL, Incast, wait_until
from incast import Result, ResultError, _core, report
from incast.cli import plot
from incast.cli.table import number

RINGS = """\
cc = { algorithm = "hpcc" }

[topology]
kind = "star"
hosts = 4
rate = "100Gbps"
delay = "1us"

[[traffic]]
name = "ring"
kind = "ring-allreduce"
groups = "consecutive"
group_size = 2
size = "20KB"
passes = 2
"""
"""Two rings of two hosts."""

ENDLESS = ("--set", "run.until=1000s", "--set", "traffic.long.size=900GB")


def fits(text: str) -> bool:
    return all(len(line) <= 80 for line in text.splitlines())


def test_show_sums_up_a_result(incast: Incast, scenario: Path) -> None:
    ran = incast.here("run", scenario, "--out", "out")
    done = incast.here("show", "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert fits(done.stdout)
    assert "small: oscar:fair, seed 7" in done.stdout
    assert f"Incast {_core.__version__}" in done.stdout
    # All that `run` said, it says again.
    for line in ran.stdout.splitlines()[:-2]:
        assert line in done.stdout
    result = Result.open(incast.folder / "out")
    node, port = result.ports.column("node"), result.ports.column("port")
    here = (node == "s0") & (port == 3)
    rate, sent = (float(result.ports.column(c)[here][0]) for c in ("rate_bps", "transmitted_bytes"))
    used = 100 * sent * 8e12 / (rate * result.info["outcome"]["now_ps"])
    row = next(line for line in done.stdout.splitlines() if line.startswith("s0 port 3"))
    assert float(row.split()[4]) == pytest.approx(used, rel=0.01)


def test_jobs_are_in_what_run_compare_and_show_print(incast: Incast) -> None:
    (incast.folder / "rings.toml").write_text(RINGS)
    ran = incast.here("run", "rings.toml", "--out", "out")
    assert (ran.returncode, ran.stderr) == (0, "")
    of = Result.open(incast.folder / "out").info["summary"]["jobs"][0]
    rows = [line.split() for line in ran.stdout.partition("\njobs\n")[2].splitlines()]
    assert rows[0] == ["algorithm", "traffic", "jobs", "mean", "slowest", "time", "/", "bound", "straggler"]
    name, traffic, jobs, mean, slowest, ratio, worst, straggler = rows[3]
    assert (name, traffic, jobs, straggler) == ("HPCC", "ring", "2", of["straggler_host"])
    for text, value in [(mean, of["jct_ps"]["mean"]), (slowest, of["jct_ps"]["max"])]:
        assert float(text) == pytest.approx(value / 1e6, rel=5e-3)
    for text, key in [(ratio, "mean"), (worst, "max")]:
        assert float(text) == pytest.approx(of["bound_ratio"][key], rel=5e-3)
    shown = incast.here("show", "out").stdout
    assert "\njobs\n" in shown
    # 20 KB of two ranks in two passes; 2 · 1/2 of that is sent.
    times = Result.open(incast.folder / "out").jobs.column("jct_ps")
    rate = number(float((40_000 * 8e12 / times).mean()) / 1e9)
    assert re.search(rf"^HPCC +ring +{rate} +{rate}$", shown.partition("\ncollectives\n")[2], re.MULTILINE)
    both = incast.here("compare", "rings.toml", "--cc", "oscar,hpcc", "--out", "both").stdout
    assert "\njobs\n" in both
    assert fits(both)
    cut = incast.here("run", "rings.toml", "--set", "run.until='3us'", "--out", "cut").stdout
    assert re.search(r"^HPCC +ring +0 of 2 +– +– +– +– +–$", cut, re.MULTILINE)


def test_a_transport_without_an_algorithm_has_its_name_and_trims_are_counted(incast: Incast) -> None:
    text = SMALL.replace('[cc]\nalgorithm = "oscar"\n', '[transport]\nkind = "ndp"\n')
    text = text.replace('buffer = "unlimited"', 'trimming = { data = "12KB" }').replace("2MB", "500KB")
    (incast.folder / "trims.toml").write_text(text)
    ran = incast.here("run", "trims.toml", "--out", "out")
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"^NDP +\d", ran.stdout, re.MULTILINE)
    result = Result.open(incast.folder / "out")
    trimmed = result.info["outcome"]["packets_trimmed"]
    assert trimmed > 0
    assert f", {trimmed:,} trimmed;" in ran.stdout
    assert fits(ran.stdout)
    shown = incast.here("show", "out").stdout
    assert fits(shown)
    row = next(line for line in shown.splitlines() if line.startswith("s0 port 3"))
    assert row.split()[-1] == f"{trimmed:,}"


def test_show_says_at_the_top_that_a_run_goes_on_or_was_killed(incast: Incast, scenario: Path) -> None:
    process = incast.start("run", scenario, "--out", "out", *ENDLESS)
    wait_until(lambda: bool(list(incast.folder.glob("out/port_series/part-*.parquet"))), process)
    going = incast.here("show", "out")
    assert going.returncode == 0
    assert "NOT COMPLETE: the run is in progress" in going.stdout
    process.kill()
    process.communicate()
    killed = incast.here("show", "out")
    assert killed.returncode == 0
    assert "NOT COMPLETE: the run was killed" in killed.stdout
    assert killed.stdout.index("NOT COMPLETE") < 200
    assert fits(killed.stdout)


def test_plot_draws_several_results_into_one_picture(incast: Incast, scenario: Path) -> None:
    assert incast.here("compare", scenario, "--cc", "oscar,constant", "--out", "both").returncode == 0
    done = incast.here("plot", "both")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "picture panels.png\npicture panels.pdf\n"
    assert (incast.folder / "panels.png").read_bytes().startswith(b"\x89PNG")
    done = incast.here("plot", "both/oscar", "both/constant", "--kind", "slowdown", "--out", "a b.svg")
    assert (done.returncode, done.stdout) == (0, "picture a b.svg\n")
    svg = (incast.folder / "a b.svg").read_text()
    assert "OSCAR" in svg
    assert "constant" in svg


def test_plot_tells_results_of_one_algorithm_apart(incast: Incast, scenario: Path) -> None:
    for seed in ("1", "2"):
        assert incast.here("run", scenario, "--seed", seed, "--out", f"seed-{seed}").returncode == 0
    assert incast.here("plot", "seed-1", "seed-2", "--port", "s0:3", "--out", "q.svg").returncode == 0
    svg = (incast.folder / "q.svg").read_text()
    assert "OSCAR (seed 1)" in svg
    assert "OSCAR (seed 2)" in svg


def test_every_kind_of_picture_is_drawn_where_there_is_what_it_shows(incast: Incast, scenario: Path) -> None:
    probe = ("--set", "probe.flows=['long','burst']", "--set", "traffic.burst.count=5")
    assert incast.here("compare", scenario, "--cc", "oscar,hpcc", "--out", "both", *probe).returncode == 0
    internals = ("--set", "cc.algorithm='theta-powertcp'", "--set", "probe.internals=true")
    counts = ("--set", "probe.limits=1us")
    assert incast.here("run", scenario, *probe, *internals, *counts, "--out", "inside").returncode == 0
    (incast.folder / "rings.toml").write_text(RINGS)
    assert incast.here("compare", "rings.toml", "--cc", "oscar,hpcc", "--out", "rings").returncode == 0
    axes = ("--vary", "cc=oscar,hpcc", "--vary", "topology.delay=1us,2us,3us")
    assert incast.here("sweep", scenario, *axes, "--out", "swept").returncode == 0
    load = block("[[traffic]]", kind="poisson", sizes="1KB", load=0.1, duration="10us")
    text = SMALL.replace('interval = "1us"', 'interval = "1us"\nload_interval = "2us"')
    (incast.folder / "load.toml").write_text(joined(text, load))
    assert incast.here("run", "load.toml", "--out", "load").returncode == 0
    shown = dict.fromkeys(("internals", "deduced", "limits", "limits-over-time"), "inside")
    shown |= {"loads": "load"}
    shown |= dict.fromkeys(("sweep", "heat"), "swept")
    shown |= {"operations": "rings/oscar", "jobs": "rings", "jobs-ratio": "rings"}
    chosen = {"window": ("--flow", "burst"), "deduced": ("--flow", "0", "--port", "s0:3")}
    chosen |= {"operations": ("--job", "ring/group1", "--hosts", "h2,h3")}
    for kind in plot.KINDS:
        for part in ((), chosen.get(kind, ())):
            done = incast.here("plot", shown.get(kind, "both"), "--kind", kind, "--out", f"{kind}.svg", *part)
            assert (done.returncode, done.stderr) == (0, "")
            assert (incast.folder / f"{kind}.svg").stat().st_size > 5000


def test_a_picture_without_what_it_shows_is_explained(incast: Incast, scenario: Path) -> None:
    assert incast.here("run", scenario, "--set", "probe={}", "--out", "bare").returncode == 0
    (incast.folder / "rings.toml").write_text(RINGS)
    assert incast.here("compare", "rings.toml", "--cc", "oscar,hpcc", "--out", "rings").returncode == 0
    missing = {
        ("bare", "queue"): "no port was probed",
        ("bare", "window"): "no flow has samples",
        ("bare", "internals"): "no flow has samples of internal quantities",
        ("bare", "loads"): "there is no load over time",
        ("bare", "limits-over-time"): "open flows were not counted",
        ("bare", "deduced"): "theta-powertcp deduces them",
        ("bare", "deduced", "--flow", "9"): "there is no flow 9",
        ("bare", "operations"): "the result has no operations",
        ("bare", "jobs"): "has no jobs",
        ("bare", "jobs-ratio"): "has no jobs",
        (
            "bare",
            "jobs",
            "--job",
            "ring/group0",
        ): "--job has no effect on pictures of the kind jobs; kinds: operations",
        (
            "bare",
            "slowdown",
            "--port",
            "s0:1",
        ): "--port has no effect on pictures of the kind slowdown; kinds: ",
        ("rings", "operations"): "a picture of this kind is of one result, and 2 are given",
        (
            "rings/hpcc",
            "operations",
            "--job",
            "rings",
        ): "no job is called 'rings'; jobs: ring/group0, ring/group1",
        ("rings/hpcc", "operations", "--hosts", "h9"): "host 'h9' has no operations here",
    }
    for (folder, kind, *part), named in missing.items():
        done = incast.here("plot", folder, "--kind", kind, *part)
        assert done.returncode == 1
        assert named in done.stderr
        assert "Traceback" not in done.stderr


def test_schema_is_a_json_schema_that_knows_every_algorithm(incast: Incast) -> None:
    done = incast("schema")
    assert (done.returncode, done.stderr) == (0, "")
    schema = json.loads(done.stdout)
    assert "json-schema.org" in schema["$schema"]
    for algorithm in _core.algorithms():
        assert f'"{algorithm.name}"' in done.stdout


def test_doctor_says_what_there_is_and_what_is_missing(
    incast: Incast, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = incast("doctor")
    assert fits(done.stdout)
    assert f"incast         {_core.__version__}" in done.stdout
    assert f"a {_core.profile} build" in " ".join(done.stdout.split())
    assert done.returncode == (1 if _core.profile == "debug" else 0)
    assert re.search(r"[\d.]+ M packet-hops/s", done.stdout)
    assert "Python " in done.stdout
    assert re.search(r"\d+ cores?, \d+ GB memory", done.stdout)
    # Where nothing is on the path, programs are missing, and it says how to get them.
    monkeypatch.setenv("PATH", str(incast.folder))
    bare = incast("doctor").stdout
    assert re.search(r"missing  tshark +not installed; .*\n +→ apt install tshark\n", bare)
    assert re.search(r"missing  cargo ", bare)
    assert list(incast.folder.iterdir()) == []


def complete(script: Path, line: str, folder: Path) -> list[str]:
    """Returns the completions that bash offers at the end of a line."""
    words = " ".join(f"'{word}'" for word in line.split(" "))
    ask = f"source {script}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _incast"
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", f'{ask}; printf "%s\\n" "${{COMPREPLY[@]}}"'],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return [word for word in done.stdout.splitlines() if word]


def test_bash_completes_commands_options_names_and_files(incast: Incast, tmp_path: Path) -> None:
    script = tmp_path / "script.bash"
    script.write_text(incast("completion", "bash").stdout)
    folder = tmp_path / "work"
    (folder / "results").mkdir(parents=True)
    (folder / "scenario one.toml").write_text("")

    def offers(line: str) -> list[str]:
        return complete(script, line, folder)

    assert offers("incast sw") == ["sweep"]
    assert {"run", "compare", "sweep", "show", "plot", "report", "--version"} <= set(offers("incast "))
    assert set(offers("incast run --s")) == {"--set", "--seed"}
    assert offers("incast run sc") == ["scenario one.toml"]
    assert offers("incast run x --out re") == ["results"]
    assert offers("incast run x --seed 1") == []
    assert offers("incast compare x --cc osc") == ["oscar"]
    assert offers("incast compare x --cc oscar,theta") == ["oscar,theta-powertcp"]
    assert offers("incast compare x --cc al") == ["all"]
    assert offers("incast compare x --cc all,const") == ["all,constant"]
    assert offers("incast list bf") == ["bfc", "bfc-128"]
    assert offers("incast list fat-tree-1") == ["fat-tree-128"]
    assert offers("incast plot results --kind sl") == ["slowdown", "slowdown-by-size"]
    assert offers("incast completion z") == ["zsh"]
    # Every command and every option that there is, is offered.
    for command in offers("incast "):
        if not command.startswith("-"):
            usage = incast(command, "--help").stdout
            wanted = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", usage.split("\n\n")[0])) | {"--help"}
            assert wanted <= set(offers(f"incast {command} --"))


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_scripts_for_other_shells_name_every_command(incast: Incast, shell: str) -> None:
    done = incast("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    for command in ("run", "compare", "sweep", "validate", "list", "show", "plot", "report", "doctor"):
        assert re.search(rf"\b{command}\b", done.stdout)
    interpreter = shutil.which(shell)
    if interpreter is not None:
        subprocess.run([interpreter, "-n"], input=done.stdout, text=True, check=True)


def test_an_estimate_of_a_short_run_is_a_measurement(incast: Incast, scenario: Path) -> None:
    done = incast("run", scenario, "--estimate")
    assert (done.returncode, done.stderr) == (0, "")
    assert fits(done.stdout)
    assert "Measured: the trial reached the end" in done.stdout
    assert incast.here("run", scenario, "--out", "out").returncode == 0
    hops = Result.open(incast.folder / "out").info["outcome"]["hops"]
    row = next(line.split() for line in done.stdout.splitlines() if line.startswith("OSCAR"))
    assert float(row[1]) * 1e6 == pytest.approx(hops, rel=0.01)
    assert not (incast.folder / "incast-results").exists()


def test_an_estimate_of_a_long_run_foresees_its_packet_hops(scenario: Path) -> None:
    from incast import Scenario
    from incast.cli.estimate import try_out

    # Each run takes some seconds; the trial sees the first tenths of them.
    cases = {
        "flows with sizes": ["run.until=1000s", "traffic.long.size=6GB"],
        "a time limit": ["run.until=500ms", "traffic.long.size=900GB"],
    }
    for name, overrides in cases.items():
        one = Scenario.load(scenario, overrides)
        found = try_out(one, 0.2)
        assert 0 < found.share < 0.8, name
        hops = one.run().info["outcome"]["hops"]
        assert found.hops == pytest.approx(hops, rel=0.05), name


def test_the_disk_of_flows_that_have_not_started_is_foreseen(scenario: Path, tmp_path: Path) -> None:
    from incast import Scenario
    from incast.cli.estimate import _extrapolate

    draw = random.Random(1)
    rows = [f"h{draw.randrange(3)},h3,{draw.randrange(1, 40)},{draw.randrange(20_000)}" for _ in range(4000)]
    table = scenario.with_name("flows.csv")
    table.write_text("\n".join(["source,destination,size [KB],start [us]", *rows]))
    flows = f"traffic=[{{kind='flow-table', file='{table}'}}]"
    whole = Scenario.load(scenario, [flows, "run.until=20ms"])
    trial = Scenario.load(scenario, [flows, "run.until=1ms"])
    of_whole, of_trial = tmp_path / "whole", tmp_path / "trial"
    result = trial.run_quietly(of_trial)
    assert len(result.flows) == len(whole.run_quietly(of_whole).flows) == 4000
    # Its rows of flows are there, and nearly empty.
    sizes = [(folder / "flows.parquet").stat().st_size for folder in (of_trial, of_whole)]
    assert sizes[0] < sizes[1] / 2
    found = _extrapolate(whole, whole.size(), result, of_trial, (0.0, 0.0), whole=False)
    real = sum(file.stat().st_size for file in of_whole.iterdir())
    assert real / 1.5 < found.disk_bytes < real * 1.5


def test_a_sweep_is_estimated_as_a_whole(incast: Incast, scenario: Path) -> None:
    done = incast("sweep", scenario, "--vary", "cc=oscar,constant", "--seeds", "5", "--estimate")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^all 10 runs +[\d.]+", done.stdout, re.MULTILINE)
    assert not (incast.folder / "incast-results").exists()


def test_two_processes_that_want_the_same_result_make_it_once(incast: Incast, scenario: Path) -> None:
    (incast.folder / "slow.py").write_text(SLOW)
    slow = ("--plugin", "slow.py", "--set", "cc.algorithm=fixed-rate")
    first = incast.start("run", scenario, *slow)
    wait_until((incast.folder / "waiting").exists, first)
    others = [incast.start("run", scenario, *slow) for _ in range(2)]
    for other in others:
        assert other.stderr is not None
        assert "another process is computing" in other.stderr.readline()
    # The lock is on a file of the result, not beside it.
    assert len(list((incast.folder / "incast-results/small").iterdir())) == 1
    (incast.folder / "stopped").touch()
    out, err = first.communicate()
    assert (first.returncode, err) == (0, "")
    for other in others:
        said, why = other.communicate()
        assert (other.returncode, said) == (0, out)
        assert "reused" in why
    left = sorted(path.name for path in (incast.folder / "incast-results/small").iterdir())
    assert len(left) == 1
    assert Result.open(incast.folder / "incast-results/small" / left[0]).state == "complete"


def test_when_the_one_that_makes_it_is_killed_another_makes_it(incast: Incast, scenario: Path) -> None:
    first = incast.start("run", scenario, *ENDLESS, "--out", "out")
    wait_until((incast.folder / "out/result.json").exists, first)
    second = incast.start("run", scenario, *ENDLESS, "--out", "out")
    line = second.stderr.readline() if second.stderr else ""
    assert "another process is computing out; waiting for it" in line
    first.kill()
    first.communicate()

    def is_running() -> bool:
        try:
            return Result.open(incast.folder / "out").state == "running"
        except ResultError:
            return False  # while the second one removes the incomplete result

    wait_until(is_running, second)
    second.send_signal(signal.SIGINT)
    _, err = second.communicate()
    assert second.returncode == 130
    assert "removed an incomplete result of an earlier run" in err
    assert Result.open(incast.folder / "out").end == "interrupted"


def test_many_processes_at_once_leave_one_whole_result(incast: Incast, scenario: Path) -> None:
    together = [incast.start("run", scenario) for _ in range(5)]
    said = {process.communicate()[0].splitlines()[-1] for process in together}
    assert [process.returncode for process in together] == [0] * 5
    assert len(said) == 1
    left = list((incast.folder / "incast-results/small").iterdir())
    assert len(left) == 1
    assert Result.open(left[0]).end == "finished"


def test_a_full_disk_is_explained_and_what_was_written_can_be_read(incast: Incast, scenario: Path) -> None:
    # No file may grow beyond 60 KB: the operating system refuses like a full disk does.
    limited = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY));"
        "from incast.cli import main; main(sys.argv[1:])"
    )
    fine = ("--set", "probe.interval=20ns", "--set", "run.until=200ms", "--set", "traffic.long.size=200MB")
    words = [sys.executable, "-c", limited, "run", str(scenario), "--out", "out", *fine]
    done = subprocess.run(words, cwd=incast.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert re.search(r"incast: cannot write out/\S+: File too large", done.stderr)
    assert "Traceback" not in done.stderr
    left = Result.open(incast.folder / "out")
    assert left.state == "incomplete"
    assert incast.here("show", "out").returncode == 0
    # With room again, the same command makes it whole.
    again = incast.here("run", scenario, "--out", "out", *fine)
    assert again.returncode == 0
    assert "removed an incomplete result" in again.stderr
    assert Result.open(incast.folder / "out").end == "finished"


def test_help_of_every_command_fits_and_exit_codes_are_in_it(incast: Incast) -> None:
    top = incast("--help").stdout
    assert fits(top)
    for code in ("0 ", "1 ", "2 ", "130"):
        assert re.search(rf"^  {code}", top, re.MULTILINE)
    names = re.findall(r"^    ([a-z]+)\b", top, re.MULTILINE)
    assert {"run", "sweep", "show", "plot", "schema", "doctor", "completion"} <= set(names)
    env = {**os.environ, "COLUMNS": "80"}
    for name in names:
        done = subprocess.run(
            incast.words(name, "--help"), env=env, capture_output=True, text=True, check=True
        )
        assert fits(done.stdout)


def without_algorithm(scenario: Path) -> Path:
    """The scenario without its section [cc], beside it."""
    path = scenario.with_name("bare.toml")
    path.write_text(scenario.read_text().replace('[cc]\nalgorithm = "oscar"\n', ""))
    assert "[cc]" not in path.read_text()
    return path


def test_compare_and_sweep_need_no_algorithm_in_the_scenario(incast: Incast, scenario: Path) -> None:
    bare = without_algorithm(scenario)
    refused = incast.here("run", bare)
    assert refused.returncode == 2
    assert "cc: is missing; write a section [cc]" in refused.stderr
    with_it = incast.here("compare", scenario, "--cc", "oscar,hpcc:artifact", "--set", "name=same", "--quiet")
    without = incast.here("compare", bare, "--cc", "oscar,hpcc:artifact", "--set", "name=same", "--quiet")
    assert (without.returncode, without.stderr) == (0, "")
    # The very same runs: they are found in the very same folders.
    assert without.stdout == with_it.stdout
    swept = incast.here("sweep", bare, "--vary", "cc=oscar,hpcc", "--vary", "load=1,2")
    assert swept.returncode == 2  # there is no key `load`, which is all that is wrong
    assert "cc: is missing" not in swept.stderr
    swept = incast.here("sweep", bare, "--vary", "cc=oscar,hpcc:artifact", "--set", "name=same")
    assert (swept.returncode, swept.stderr) == (0, "")
    assert "2 × 1 seed: 0 made, 2 reused" in swept.stdout
    results = package.compare(bare, ["oscar", "hpcc"])
    assert [result.info["algorithms"] for result in results.values()] == [["oscar:fair"], ["hpcc:paper"]]


def test_an_algorithm_in_python_takes_the_place_of_one_with_a_preset(incast: Incast, scenario: Path) -> None:
    (incast.folder / "mine.py").write_text(PLUGIN)
    text = scenario.read_text().replace('algorithm = "oscar"', 'algorithm = "hpcc"\npreset = "artifact"')
    scenario.write_text(text)
    plugin = ("--plugin", "mine.py")
    chosen = incast("run", scenario, *plugin, "--set", "cc.algorithm=fixed-rate", "--quiet")
    assert (chosen.returncode, chosen.stderr) == (0, "")
    whole = incast("run", scenario, *plugin, "--set", "cc={algorithm='fixed-rate'}")
    assert "reused" in whole.stderr
    # What the class does not know is still refused, a preset that is meant for it too.
    for more in ("cc.eta=0.9", "cc.preset=artifact"):
        refused = incast("run", scenario, *plugin, "--set", "cc.algorithm=fixed-rate", "--set", more)
        assert refused.returncode == 2
        assert "FixedRate" in refused.stderr


def test_a_report_is_an_html_file(incast: Incast, scenario: Path) -> None:
    assert incast.here("run", scenario, "--out", "one").returncode == 0
    refused = incast.here("report", "one", "--out", "x.pdf")
    assert refused.returncode == 2
    assert "x.pdf: a report is an HTML file; name one that ends in .html" in refused.stderr
    assert not (incast.folder / "x.pdf").exists()
    with pytest.raises(ValueError, match=r"name one that ends in \.html"):
        report.write(package.Result.open(incast.folder / "one"), incast.folder / "x.pdf")


def test_what_is_no_result_is_skipped_among_several(incast: Incast, scenario: Path) -> None:
    done = incast.here("compare", scenario, "--cc", "oscar,constant", "--out", "both", "--plot")
    assert done.returncode == 0
    (incast.folder / "both/notes").mkdir()
    names = [f"both/{path.name}" for path in sorted((incast.folder / "both").iterdir())]
    assert {"both/queue.png", "both/oscar", "both/notes"} <= set(names)
    for words in (("report", *names), ("plot", *names, "--out", "p.png")):
        made = incast.here(*words)
        assert made.returncode == 0, made.stderr
        for other in ("both/notes", "both/queue.pdf", "both/queue.png"):
            assert f"incast: skipped {other}, which is not a result\n" in made.stderr
    assert "(2 results, " in incast.here("report", *names).stdout
    assert incast.here("report", "both/notes").returncode == 1
    assert incast.here("report", "both/oscar", "nowhere").returncode == 1
