"""Grids of results: entries, titles, lookups and values."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incast
from blocks import block, joined, star, traffic
from helpers import SMALL, Incast
from incast import Result, ResultError, Scenario, sweep
from incast.results.censored import bounds
from incast.results.decide import Values, Word, difference
from incast.results.grid import Axis, Entry, Grid, Run, headline, made_of, primary
from incast.results.listing.of_grid import means
from incast.results.measures.named import find
from incast.results.titles import title


def info(seed: int = 1, value: float = 2.0, *, unfinished: int = 0, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """The parts of a `result.json` that numbers are read from, with one mean for all classes of sizes."""
    slowdown = {"mean": value, "p50": value, "p99": value}
    classes = [
        {"class": name, "group": None, "flows": 200, "unfinished": unfinished, "slowdown": slowdown}
        for name in ("small", "large", "all")
    ]
    outcome = {"end": "finished", "fingerprint": f"{seed}", "flows_finished": 200, "packets_dropped": 0}
    return {
        "name": "made",
        "seed": seed,
        "algorithms": ["oscar:paper"],
        "outcome": outcome,
        "summary": {"slowdowns": classes, "ports": [], **more},
    }


def runs(*values: float, **more: Any) -> list[Run]:  # noqa: ANN401
    return [Run(seed, info(seed, value, **more)) for seed, value in enumerate(values, 1)]


def grid(*axes: Axis, **its: list[Run]) -> Grid:
    return made_of("made", axes, {tuple(name.split("|")): of for name, of in its.items()})


def titles(*axes: Axis, of: Sequence[tuple[str, ...]]) -> list[str]:
    return [entry.title for entry in made_of("made", axes, {values: runs(1.0) for values in of}).entries]


def crossed(*algorithms: str) -> Grid:
    return made_of("made", [CC, LOAD], {(cc, x): runs(1.0) for cc in algorithms for x in ("0.3", "0.6")})


CC, LOAD = Axis("cc", ("oscar", "hpcc")), Axis("traffic.0.load", ("0.3", "0.6"))


def test_a_title_says_what_varies() -> None:
    pairs = [("oscar", "0.3"), ("oscar", "0.6"), ("hpcc", "0.3"), ("hpcc", "0.6")]
    assert titles(CC, LOAD, of=pairs) == [
        "OSCAR, load 0.3",
        "OSCAR, load 0.6",
        "HPCC, load 0.3",
        "HPCC, load 0.6",
    ]
    assert titles(CC, LOAD, of=pairs[::2]) == ["OSCAR", "HPCC"]
    assert titles(CC, LOAD, of=pairs[:2]) == ["load 0.3", "load 0.6"]
    assert titles(CC, LOAD, of=pairs[:1]) == ["made"]
    # The algorithm comes first, wherever its axis stands.
    assert titles(LOAD, CC, of=[("0.3", "oscar"), ("0.6", "hpcc")]) == ["OSCAR, load 0.3", "HPCC, load 0.6"]


def test_keys_with_one_end_are_written_in_full_and_values_that_do_not_apply_are_left_out() -> None:
    a, b = Axis("traffic.0.load", ("0.3", "0.6")), Axis("traffic.1.load", ("0.1", "0.2"))
    wanted = ["traffic.0.load 0.3, traffic.1.load 0.1", "traffic.0.load 0.6, traffic.1.load 0.2"]
    assert titles(a, b, of=[("0.3", "0.1"), ("0.6", "0.2")]) == wanted
    beta = Axis("cc.beta", ("0.4", "0.8", "–"))
    some = [("swift", "0.4"), ("swift", "0.8"), ("oscar", "–")]
    assert titles(CC, beta, of=some) == ["Swift, beta 0.4", "Swift, beta 0.8", "OSCAR"]


def test_a_default_preset_is_named_only_beside_another_one() -> None:
    assert titles(CC, of=[("swift",), ("oscar:paper",)]) == ["Swift", "OSCAR (paper)"]
    assert titles(CC, of=[("swift",), ("swift:oscar",)]) == ["Swift (paper)", "Swift (oscar)"]
    assert title("swift:oscar") == "Swift (oscar)"
    assert title("swift:paper") == title("swift") == "Swift"
    assert title("mine") == "mine"


def test_values_of_one_kind_are_numbers() -> None:
    assert Axis("x", ("0.3", "1e1", "–")).numbers == {"0.3": 0.3, "1e1": 10.0}
    assert Axis("x", ('"100Gbps"', "400Gbps")).numbers == {'"100Gbps"': 1e11, "400Gbps": 4e11}
    assert Axis("x", ("1us", "2ns")).numbers == {"1us": 1e6, "2ns": 2e3}
    assert Axis("x", ("1us", "2KB")).numbers is None
    assert Axis("x", ("1us", "3")).numbers is None
    assert Axis("x", ("ecmp", "reps")).numbers is None


def test_calls_of_measures_read_the_tables() -> None:
    result = Scenario.from_toml(SMALL, "small.toml").run()
    (entry,) = Grid.of(result).entries
    peak = float(result.ports.column("peak_queue_bytes").max())
    assert entry.values_of("top = peak_queues(max)").by_seed == {7: peak}
    # No value is no error: other runs may have it.
    assert entry.values_of("goodput(nobody, start=0us, end=1us)").by_seed == {}
    assert entry.values_of("goodput(nobody, start=0us, end=1us)").runs == {7}


def test_labels_are_unique_and_begin_with_the_algorithm() -> None:
    made = made_of(
        "made", [CC, LOAD], {(c, x): runs(1.0) for c in ("swift:oscar", "hpcc") for x in ("0.3", "0.6")}
    )
    wanted = ["swift:oscar,load=0.3", "swift:oscar,load=0.6", "hpcc:load=0.3", "hpcc:load=0.6"]
    assert [entry.label for entry in made.entries] == wanted
    # Without an axis of algorithms, the results know the algorithm.
    alone = made_of("made", [LOAD], {("0.3",): runs(1.0), ("0.6",): runs(1.0)})
    assert [entry.label for entry in alone.entries] == ["oscar:paper,load=0.3", "oscar:paper,load=0.6"]


def test_an_entry_is_found_by_title_label_and_values() -> None:
    made = crossed("oscar", "hpcc")
    second = made.entries[1]
    for text in (
        "OSCAR, load 0.6",
        "oscar:load=0.6",
        "oscar,0.6",
        "oscar load=0.6",
        "cc=OSCAR traffic.0.load=0.6",
    ):
        assert made.entry(text) is second, text
    with pytest.raises(
        KeyError, match=re.escape('"oscar" means 2 entries: "OSCAR, load 0.3", "OSCAR, load 0.6"')
    ):
        made.entry("oscar")
    with pytest.raises(KeyError, match='no entry is called "oscer"; did you mean "oscar"'):
        made.entry("oscer")
    with pytest.raises(KeyError, match=re.escape('no entry is called "load=0.9"')):
        made.entry("load=0.9")
    # A value of one key is not a value of another.
    with pytest.raises(KeyError, match="no entry"):
        made.entry("load=oscar")


def test_values_are_those_of_sound_runs_that_finished_all_of_it() -> None:
    its = runs(2.0, 4.0, 3.0, 5.0)
    stalled = info(3, 3.0)
    stalled["outcome"]["end"] = "stalled"
    its[2] = Run(3, stalled)
    its[3] = Run(4, info(4, 5.0, unfinished=1))
    entry = Entry(("oscar",), "OSCAR", "oscar", tuple(its))
    values = entry.values_of("p99.small")
    assert values.by_seed == {1: 2.0, 2: 4.0}
    assert sorted(values.runs) == [1, 2, 3, 4]
    assert (values.samples, values.drawn) == (200, True)
    assert entry.values_of("mean.all").samples is None
    # What counts the unfinished has a value there.
    assert entry.values_of("unfinished.flows").by_seed == {1: 0.0, 2: 0.0, 4: 1.0}
    assert not entry.sound
    with pytest.raises(ValueError, match=re.escape('did you mean "p99.small"')):
        entry.values_of("p99.smal")
    compared = difference(values, entry.values_of("p99.small"), find("p99.small"))
    assert (compared.word, compared.seeds) == (Word.TOO_FEW, 2)


def test_times_of_jobs_need_all_jobs() -> None:
    def jobs(unfinished: int) -> list[dict[str, Any]]:
        times = {"mean": 1e6, "max": 2e6}
        return [{"jobs": 2, "unfinished": unfinished, "jct_ps": times, "bound_ratio": times}]

    entry = Entry((), "made", "oscar", (Run(1, info(1, jobs=jobs(0))), Run(2, info(2, jobs=jobs(1)))))
    assert entry.values_of("jobs.mean").by_seed == {1: 1e6}
    assert primary(Grid("made", (), (entry,))) == find("jobs.mean")
    assert headline(Grid("made", (), (entry,))) == [find("jobs.mean"), find("jobs.slowest")]


def test_the_first_measure_is_what_all_entries_have() -> None:
    both = grid(CC, oscar=runs(2.0), hpcc=runs(3.0))
    assert headline(both) == [find("p99.small"), find("mean.all")]
    large = runs(3.0)
    large[0].info["summary"]["slowdowns"][0].update(flows=0, slowdown=None)
    assert headline(grid(CC, oscar=runs(2.0), hpcc=large)) == [find("mean.all")]


def test_results_of_a_list_that_differ_in_their_seed_are_one_entry(tmp_path: Path) -> None:
    scenario = Scenario.from_toml(SMALL, "small.toml")
    # An uncommon seed order: entries keep the order of their first result, runs that of their seeds.
    made = [
        scenario.with_algorithm(cc).with_seed(seed).run(tmp_path / f"{cc}-{seed}")
        for cc, seed in (("hpcc", 8), ("oscar", 7), ("hpcc", 7))
    ]
    found = Grid.of(made)
    assert [(entry.title, [run.seed for run in entry.runs]) for entry in found.entries] == [
        ("HPCC", [7, 8]),
        ("OSCAR", [7]),
    ]
    first = found.entry("hpcc").first()
    assert first is not None
    assert first.info["seed"] == 7
    other = scenario.with_({"topology.delay": "1us"}).run(tmp_path / "near")
    named = [entry.title for entry in Grid.of([made[1], other]).entries]
    assert named == ["OSCAR (oscar-7)", "OSCAR (near)"]
    # One seed twice is not two samples.
    assert [len(entry.runs) for entry in Grid.of([made[1], made[1]]).entries] == [1, 1]
    assert len({entry.label for entry in Grid.of([made[1], made[1]]).entries}) == 2
    one = Grid.of(made[0])
    assert [len(entry.runs) for entry in one.entries] == [1]
    with pytest.raises(ValueError, match="at least one result"):
        Grid.of([])


def test_names_of_a_mapping_are_entries() -> None:
    result = Scenario.from_toml(SMALL, "small.toml").run()
    found = Grid.of({"before": result, "swift:oscar": result})
    assert [(entry.title, entry.label) for entry in found.entries] == [
        ("before", "before"),
        ("Swift (oscar)", "swift:oscar"),
    ]
    assert found.entry("before").first() is result


def test_comparisons_and_replications_are_grids(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = Scenario.from_toml(SMALL, "small.toml")
    whole = Scenario.run_quietly

    def failing(self: Scenario, *args: Any, **options: Any) -> Result:  # noqa: ANN401
        if self.algorithm == "hpcc:paper":
            raise ResultError("no room")
        return whole(self, *args, **options)

    monkeypatch.setattr(Scenario, "run_quietly", failing)
    with pytest.warns(RuntimeWarning, match="hpcc failed"):
        compared = incast.compare(scenario, "hpcc,oscar")
    found = [(entry.title, len(entry.runs)) for entry in Grid.of(compared).entries]
    assert found == [("HPCC", 0), ("OSCAR", 1)]
    assert compared.grid.failed == {"hpcc": "no room"}
    made = incast.replicate(scenario, seeds=2, keep=True).grid
    assert [entry.title for entry in made.entries] == ["small"]
    assert [run.seed for run in made.runs] == [7, 8]
    assert made.entries[0].first() is not None
    assert incast.replicate(scenario, seeds=1).grid.entries[0].first() is None


def test_a_sweep_is_a_grid_and_so_is_its_folder(incast: Incast, scenario: Path) -> None:
    words = ("sweep", scenario, "--vary", "cc=hpcc,oscar", "--vary", "topology.delay=1us,3us", "--seeds", "2")
    assert incast.here(*words, "--out", "out it").returncode == 0
    found = sweep.grid_of(incast.folder / "out it")
    assert found is not None
    assert [entry.title for entry in found.entries] == [
        "HPCC, delay 1us",
        "HPCC, delay 3us",
        "OSCAR, delay 1us",
        "OSCAR, delay 3us",
    ]
    assert [run.seed for run in found.runs] == [7, 8] * 4
    assert found.command == f"incast {' '.join(map(str, words))} --out 'out it'"
    entry = found.entry("oscar,3us")
    assert entry.values == ("oscar", "3us")
    assert entry.values_of("queue.peak").by_seed == {
        run.seed: float(run.open().port_series.column("queue_bytes").max()) for run in entry.runs if run.open
    }
    assert sweep.grid_of(incast.folder) is None


def test_an_older_manifest_is_read_and_a_failure_keeps_its_reason(tmp_path: Path, scenario: Path) -> None:
    plan = sweep.plan(scenario, ["cc=oscar,hpcc"], results=tmp_path / "runs")
    done = sweep.run(plan, folder=tmp_path / "out")
    path = tmp_path / "out/manifest.json"
    said = json.loads(path.read_text())
    assert "command" not in said
    said["runs"][1].update(state="failed", error="no room")
    path.write_text(json.dumps(said))
    found = done.grid
    assert found.command is None
    assert [(entry.label, len(entry.runs)) for entry in found.entries] == [("oscar", 1), ("hpcc", 0)]
    assert found.failed == {"cc=hpcc seed=7": "no room"}
    said["runs"][0].update(state="missing")
    path.write_text(json.dumps(said))
    assert done.grid.runs == []
    with pytest.raises(ResultError, match="no run is done"):
        sweep.grid_of(tmp_path / "out")
    path.unlink()
    with pytest.raises(ResultError, match="holds no sweep any more"):
        assert done.grid


def test_a_result_that_is_gone_is_named(tmp_path: Path, scenario: Path) -> None:
    plan = sweep.plan(scenario, ["cc=oscar"], results=tmp_path / "runs")
    sweep.run(plan, folder=tmp_path / "out")
    file = plan.runs[0].folder / "result.json"
    file.write_text("{")
    with pytest.raises(ResultError, match="it is damaged"):
        sweep.grid_of(tmp_path / "out")
    file.unlink()
    with pytest.raises(ResultError, match=re.escape("result.json: No such file")):
        sweep.grid_of(tmp_path / "out")


CUT = joined(
    star(4, "100Gbps", "1us", run={"until": "15us"}, switch={"buffer": "unlimited"}),
    block("[cc]", algorithm="constant", window="unlimited"),
    traffic("burst", ["h0", "h1"], "h3", size="100KB"),
    traffic("short", "h2", "h3", size="1KB"),
)


def test_unfinished_flows_make_lower_bounds() -> None:
    result = Scenario.from_toml(CUT).run(threads=1)
    [entry] = Grid.of(result).entries
    # The short flow is done, both others are not at 15 us.
    finished = result.flows.column("slowdown")
    assert np.isnan(finished).tolist() == [True, True, False]
    values, bound = bounds(result)
    assert bound.tolist() == [True, True, False]
    seed = result.info["seed"]
    p99, mean = entry.values_of("p99.all"), entry.values_of("mean.small")
    assert dict(p99.by_seed) == {seed: max(values)}
    assert dict(mean.by_seed) == {seed: pytest.approx(values.mean())}
    assert p99.at_least == mean.at_least == {seed}
    assert entry.values_of("unfinished.flows").at_least == frozenset()
    # The least of three is known if a finished one is below both bounds.
    middle = entry.values_of("p50.all")
    assert (seed in middle.at_least) == (sorted(values)[1] != finished[2])
    # Against a side that is slower for certain it is better, but by no known amount.
    slow = Values({seed: 99.0}, frozenset({seed}))
    assert difference(p99, slow, find("p99.all")).word is Word.TOO_FEW
    shown = incast.measure(result, "p99.all")
    assert (shown.value, shown.at_least) == (max(values), True)
    assert incast.measure(result, "p99.all(short)").at_least is False
    assert incast.measure(result, "p99.all(burst)").value == max(values[:2])
    listed = means(Grid.of(result))
    assert sum(cell.startswith("≥ ") for cell in listed.rows[0]) == 3
    assert "≥: a lower bound, since flows did not finish." in listed.notes


def test_without_tables_an_unfinished_run_has_no_slowdown() -> None:
    result = Scenario.from_toml(CUT).run(threads=1)
    closed = grid(Axis("cc", ("oscar",)), oscar=[Run(1, result.info)])
    [entry] = closed.entries
    assert not entry.values_of("p99.all").by_seed
    assert entry.values_of("unfinished.flows").by_seed == {1: 2.0}

    def broken() -> Result:
        raise ResultError("gone")

    [entry] = grid(Axis("cc", ("oscar",)), oscar=[Run(1, result.info, broken)]).entries
    assert not entry.values_of("p99.all").by_seed
