"""Runs on a testbed in the ledger: made, reused, or reported as lacking a testbed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from blocks import block, claim, joined, traffic
from helpers import Incast, written
from incast import Result, Scenario, testbed
from incast.ledger import LedgerError, find, judge, run_figure, run_figures
from incast.ledger.testbeds import AbsentError, measure
from incast.progress import Progress, State
from incast.real.testbed import RunError, TestbedError, machine

pytestmark = pytest.mark.filterwarnings("ignore:.*cc.base_target. makes swift:incast.IncastWarning")
"""The delays of kernels are longer than the targets, which the plain network of these figures is for."""

SCENARIO = joined(
    block("[topology]", kind="star", hosts=3, rate="100Mbps", delay="10us"),
    block("[transport]", header="54B"),
    traffic("two", ["h0", "h1"], "h2", size="30KB"),
)

CLAIMS = joined(
    block("[figure]", title="A figure with real packets", place="Nowhere", setup="Set-up.", shows="A line."),
    block("[[runs]]", name="measured", cc="swift", scenario="two.toml", testbed=True, seeds=2),
    block("[[runs]]", name="simulated", cc="swift", scenario="two.toml"),
    claim(
        "as-simulated",
        "Completion times are those of the simulation",
        paper="the same",
        measure={
            "do": "ratio",
            "of": {"do": "completion", "run": "measured", "group": "two", "stat": "mean"},
            "to": {"do": "completion", "run": "simulated", "group": "two", "stat": "mean"},
        },
        unit="x",
        reproduced="1x to 1x",
        equal=True,
        rule="Equal.",
    ),
)


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    return written(tmp_path / "papers", {"some/real/two.toml": SCENARIO, "some/real/claims.toml": CLAIMS})


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Scenario]:
    """A testbed that simulates, and notes what it is asked for; on a machine of its own."""
    asked: list[Scenario] = []

    def run(
        scenario: Scenario,
        out: Path | None = None,
        *,
        fresh: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> Result:
        asked.append(scenario)
        if progress is not None:
            progress(Progress(10**9, 4 * 10**9, 0, 2, 0))
        return scenario.run(out, fresh=fresh)

    monkeypatch.setattr(testbed, "run", run)
    monkeypatch.setattr(machine, "stolen_s", lambda: 0.0)
    return asked


def refusing(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> Result:
        raise TestbedError("a testbed needs root: run it with sudo")

    monkeypatch.setattr(testbed, "run", run)


def test_a_figure_has_runs_of_both_kinds(papers: Path, made: list[Scenario], tmp_path: Path) -> None:
    (figure,) = find(papers, ["some/real"])
    assert figure.testbed
    assert [(spec.name, spec.testbed) for spec in figure.runs] == [("measured", True), ("simulated", False)]
    results = run_figure(figure, folder=tmp_path / "results")
    assert [scenario.seed for scenario in made] == [1, 2]
    (judgement,) = judge(figure, results)
    assert judgement.verdict.value == "reproduced"
    assert judgement.ours.shown("x").endswith("2 seeds)")


def test_complete_results_of_a_testbed_are_reused(
    papers: Path, made: list[Scenario], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (figure,) = find(papers, ["some/real"])
    folder = tmp_path / "results"
    measure(figure, folder, fresh=False)
    measure(figure, folder, fresh=False)
    assert len(made) == 2
    measure(figure, folder, fresh=True)
    assert len(made) == 4
    # One that is gone is made again, and so are those of other code in the kernel.
    places = sorted(folder.rglob("testbed-*/result.json"))
    assert len(places) == 2
    shutil.rmtree(places[0].parent)
    measure(figure, folder, fresh=False)
    assert len(made) == 5
    objects = tmp_path / "objects"
    objects.mkdir()
    (objects / "swift.bpf.o").write_bytes(b"other")
    monkeypatch.setattr("incast.real.kernel.OBJECTS", objects)
    measure(figure, folder, fresh=False)
    assert len(made) == 7
    # And of other programs in switches.
    (objects / "stamp.bpf.o").write_bytes(b"other")
    measure(figure, folder, fresh=False)
    assert len(made) == 9


def test_runs_are_made_again_where_the_processors_were_taken_away(
    papers: Path, made: list[Scenario], monkeypatch: pytest.MonkeyPatch
) -> None:
    (figure,) = find(papers, ["some/real"])
    # During the first run 1000 s, more than it can have lasted; after that nothing.
    times = iter([0.0, 1000.0, 1000.0, 1000.0])
    monkeypatch.setattr(machine, "stolen_s", lambda: next(times))
    measure(figure, None, fresh=False)
    assert [scenario.seed for scenario in made] == [1, 1, 2]
    # During all of them: the second one counts.
    made.clear()
    always = iter(range(0, 10**6, 1000))
    monkeypatch.setattr(machine, "stolen_s", lambda: next(always))
    assert [len(found) for found in measure(figure, None, fresh=False).values()] == [2]
    assert [scenario.seed for scenario in made] == [1, 1, 2, 2]


def test_a_run_that_is_to_be_repeated_is_not_kept(
    papers: Path, made: list[Scenario], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (figure,) = find(papers, ["some/real"])
    times = iter([0.0, 1000.0])
    monkeypatch.setattr(machine, "stolen_s", lambda: next(times))
    first = testbed.run

    def broken(scenario: Scenario, out: Path, *, fresh: bool, progress: Callable[[Progress], None]) -> Result:
        if made:
            raise RunError("flow 0 broke off: Broken pipe")
        return first(scenario, out, fresh=fresh, progress=progress)

    monkeypatch.setattr(testbed, "run", broken)
    # What fails in a run is no lack of the machine.
    with pytest.raises(LedgerError, match="'measured', repetition 1 failed: flow 0 broke off"):
        measure(figure, tmp_path, fresh=False)
    assert list(tmp_path.rglob("testbed-*/result.json")) == []


def test_the_time_that_others_had_is_that_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    # 250 ticks of 10 ms.
    monkeypatch.setattr("os.sysconf", lambda _: 100)
    monkeypatch.setattr(machine, "read", lambda _: "cpu  1 2 3 4 5 6 7 250 9 10\ncpu0 1 2\n")
    assert machine.stolen_s() == 2.5
    monkeypatch.setattr(machine, "read", lambda _: "")
    assert machine.stolen_s() == 0


def test_their_progress_is_that_of_the_batch(papers: Path, made: list[Scenario], tmp_path: Path) -> None:
    (figure,) = find(papers, ["some/real"])
    seen: list[tuple[int, int, list[float]]] = []

    def watch(state: State) -> None:
        seen.append((state.done, state.runs, list(state.shares.values())))

    for reused in (False, True):
        seen.clear()
        run_figure(figure, folder=tmp_path / "results", watch=watch)
        # One run in the simulator, and then two on the testbed, each a quarter over when it reports.
        running = [] if reused else [(1, 3, [0.25]), (2, 3, [0.25])]
        assert [one for one in seen if one[2] == [0.25]] == running
        assert seen[-1] == (3, 3, [])
    assert len(made) == 2


def test_a_machine_without_a_testbed_says_so(papers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (figure,) = find(papers, ["some/real"])
    refusing(monkeypatch)
    with pytest.raises(AbsentError, match="needs root"):
        measure(figure, None, fresh=False)
    # Runs that are not made are not counted.
    seen: list[tuple[int, int]] = []
    run_figures(
        [figure],
        lambda *_: None,
        watch=lambda state: seen.append((state.done, state.runs)),
        absent=lambda *_: seen.append((-1, -1)),
    )
    assert (1, 3) in seen
    assert seen[-2:] == [(-1, -1), (1, 1)]


def test_what_is_not_run_here_is_neither_judged_nor_forgotten(
    papers: Path,
    made: list[Scenario],
    incast: Incast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def record() -> dict[str, Any]:
        table: dict[str, Any] = json.loads((papers / "verdicts.json").read_text())
        return table

    words = ("reproduce", "all", "--papers", str(papers), "--no-picture", "--quiet")
    done = incast.here(*words, "--record", "--write", "docs.md")
    assert done.returncode == 0, done.stderr
    before = record()
    assert before["some/real"]["claims"]["as-simulated"]["verdict"] == "reproduced"
    refusing(monkeypatch)
    absent = incast.here(*words, "--fresh", "--record", "--check", "--write", "docs.md")
    assert absent.returncode == 0, absent.stderr
    assert "not run here: a testbed needs root" in absent.stdout
    assert "not run here: some/real; what is recorded of them stays" in absent.stdout
    assert "reproduced" not in absent.stdout
    assert record() == before
    assert "1 reproduced" in (incast.folder / "docs.md").read_text()


def test_a_scenario_that_is_none_for_a_testbed_is_an_error(papers: Path, incast: Incast) -> None:
    file = papers / "some" / "real" / "two.toml"
    file.write_text(SCENARIO.replace("100Mbps", "100Gbps"))
    wrong = incast.here("reproduce", "all", "--papers", str(papers), "--no-picture", "--quiet")
    assert wrong.returncode == 2
    assert "topology.rate" in wrong.stderr
    assert "the run 'measured', repetition 1" in wrong.stderr
