"""Searches for settings: what is asked for, what is given up, what is found, and what is left of it."""

from __future__ import annotations

import csv
import json
import math
import multiprocessing
import os
import signal
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import incast
from helpers import Incast, wait_until
from incast import Scenario, ScenarioError, tune
from incast.results.measures.named import find
from incast.runs.runner import Done, Task, Threads, Watch
from incast.scenario import template
from incast.scenario.contestants import choose_contestants
from incast.tuning import aim, space
from incast.tuning.check import FIRST_SEED, loss
from incast.tuning.front import compromise, front, hypervolume
from incast.tuning.plan import plan
from incast.tuning.robust import lost, robust
from incast.tuning.runs import Runs
from incast.tuning.search import best, importances, search
from incast.tuning.space import Parameter
from incast.tuning.trial import Bench, Outcome, Trial, Wanted, compared, looks, measure

optuna = pytest.importorskip("optuna")

X = Parameter("cc.x", "number", 0.0, 1.0)
DEFAULT = (0.8,)


@dataclass
class Formula:
    """A bench whose numbers follow from a formula of the first value and the seed."""

    numbers: Callable[[float, int], Mapping[str, float]]
    asked: list[Wanted] = field(default_factory=list)

    def measure(self, wanted: Sequence[Wanted]) -> list[Outcome]:
        self.asked += wanted
        made = []
        for setting, seed in wanted:
            x = DEFAULT[0] if setting is None else float(setting[0])
            made.append(Outcome({"unfinished": 0.0, **self.numbers(x, seed)}))
        return made


def parabola(x: float, seed: int) -> dict[str, float]:
    return {"mean.all": (1 + ((x - 0.5) / 0.1) ** 2) * (1 + 0.1 * seed)}


def searched(
    bench: Bench, of: aim.Aim, trials: int, seeds: int = 1, folder: Path | None = None
) -> tuple[Trial, list[Trial]]:
    (default,) = measure(bench, of, range(seeds), [None], -1)
    default = Trial(-1, DEFAULT, default.state, default.runs, default.values, default.violations)
    found = search(bench, [X], of, trials=trials, seeds=range(seeds), seed=1, default=default, folder=folder)
    return default, found


ONE = aim.read(["mean.all"], [])


def test_the_optimum_and_the_region_within_five_percent_are_found() -> None:
    default, trials = searched(Formula(parabola), ONE, 64)
    assert len(trials) == 64
    assert trials[0].setting == DEFAULT
    (top,) = best(ONE, [default, *trials])
    # Random search over 64 values would be this near with a probability of 1 - (1 - 2 * 0.002) ** 64 = 23 %.
    assert abs(float(top.setting[0]) - 0.5) < 0.002
    (region,) = robust(Formula(parabola), [X], ONE, [0], top, default)
    # 1 + ((x - 0.5) / 0.1)² is 1.05 at 0.5 ± 0.1 · √0.05 = 0.5 ± 0.02236, known to 1/64 of the range.
    assert region.low is not None
    assert region.high is not None
    assert 0.5 - 0.0224 - 0.002 <= float(region.low) <= 0.5 - 0.0224 + 1 / 64 + 0.002
    assert 0.5 + 0.0224 - 1 / 64 - 0.002 <= float(region.high) <= 0.5 + 0.0224 + 0.002
    assert (region.low_open, region.high_open) == (False, False)


def test_a_region_may_reach_the_end_of_the_range() -> None:
    flat = Formula(lambda x, _: {"mean.all": 1.0 if x <= 0.5 else 2.0})
    default, _ = searched(flat, ONE, 1)
    top = Trial(0, (0.25,), "complete", {0: {"mean.all": 1.0}}, (1.0,))
    (region,) = robust(flat, [X], ONE, [0], top, default)
    assert (region.low, region.low_open, region.high_open) == (0.0, True, False)
    assert 0.5 - 1 / 64 <= float(region.high or 0) <= 0.5


def test_choices_are_tried_for_the_region() -> None:
    choice = Parameter("cc.unit", "choice", choices=("a", "b", "c"))
    costs = {"a": 1.0, "b": 1.04, "c": 1.06}

    class Chosen:
        def measure(self, wanted: Sequence[Wanted]) -> list[Outcome]:
            return [Outcome({"unfinished": 0.0, "mean.all": costs[str((s or ("c",))[0])]}) for s, _ in wanted]

    (default,) = measure(Chosen(), ONE, [0], [None], -1)
    top = Trial(0, ("a",), "complete", {0: {"mean.all": 1.0}}, (1.0,))
    (region,) = robust(Chosen(), [choice], ONE, [0], top, default)
    assert (region.value, region.low, region.others) == ("a", None, ("b",))


TWO = aim.read(["mean.small", "mean.large"], [])


def test_with_two_objectives_the_front_is_found_and_its_volume_grows() -> None:
    # Of x² + 1 and (x - 1/2)² + 1 every x from 0 to 1/2 is on the front, and no other.
    bench = Formula(lambda x, _: {"mean.small": x**2 + 1, "mean.large": (x - 0.5) ** 2 + 1})
    default, trials = searched(bench, TWO, 64)
    found = best(TWO, [default, *trials])
    assert len(found) > 8
    assert all(float(trial.setting[0]) <= 0.5 for trial in found)
    middle = found[compromise([trial.values for trial in found])]
    assert abs(float(middle.setting[0]) - 0.25) < 0.05


def test_infeasible_settings_are_kept_and_no_part_of_the_front() -> None:
    limited = aim.read(["mean.all"], ["queue.mean <= 30KB"])
    bench = Formula(lambda x, s: {**parabola(x, s), "queue.mean": 1e5 * x})
    default, trials = searched(bench, limited, 64)
    assert default.state == "infeasible"
    wrong = [trial for trial in trials if trial.state == "infeasible"]
    assert wrong
    assert all(float(trial.setting[0]) > 0.3 and trial.values for trial in wrong)
    # 0.4 misses the bound by a third.
    for trial in wrong:
        missed = 1e5 * float(trial.setting[0]) / 3e4 - 1
        assert trial.violations["queue.mean <= 30KB"] == pytest.approx(missed, rel=1e-12)
    (top,) = best(limited, [default, *trials])
    assert 0.29 < float(top.setting[0]) <= 0.3


def test_failed_runs_are_told_from_slow_ones() -> None:
    class Failing(Formula):
        def measure(self, wanted: Sequence[Wanted]) -> list[Outcome]:
            made = super().measure(wanted)
            return [
                Outcome({}, "it stalled") if s is not None and float(s[0]) < 0.5 else one
                for (s, _), one in zip(wanted, made, strict=True)
            ]

    default, trials = searched(Failing(parabola), ONE, 32)
    failed = [trial for trial in trials if trial.state == "failed"]
    assert failed
    assert all(float(trial.setting[0]) < 0.5 and not trial.values for trial in failed)
    assert failed[0].why == "seed 0: it stalled"
    (top,) = best(ONE, [default, *trials])
    assert 0.5 <= float(top.setting[0]) < 0.52


def test_a_setting_that_is_shown_to_be_no_better_is_given_up() -> None:
    def worse(x: float, seed: int) -> dict[str, float]:
        # Seeds differ by a factor of 2; settings by a factor of x, up to 1 % up and down.
        return {"mean.all": x * 2.0**seed * (1.01 if seed % 2 else 1.0)}

    bench = Formula(worse)
    (default,) = measure(bench, ONE, range(5), [None], -1)
    found = measure(bench, ONE, range(5), [(0.9,), (0.7,)], 0, default, [default])
    assert [trial.state for trial in found] == ["given up", "complete"]
    assert list(found[0].runs) == [0, 1, 2]
    assert found[0].why == "no better than the default after 3 seeds"
    # All ratios to the default are 0.9 / 0.8. The mean over its own three seeds would be 2.1, far below.
    assert found[0].values[0] == pytest.approx(default.values[0] * 0.9 / 0.8, rel=1e-12)
    assert found[1].values[0] == pytest.approx(math.fsum(worse(0.7, s)["mean.all"] for s in range(5)) / 5)


def test_a_setting_that_may_still_be_better_is_not_given_up() -> None:
    def noisy(x: float, seed: int) -> dict[str, float]:
        return {"mean.all": 1.0 if x == DEFAULT[0] else (1.3, 0.8, 1.2, 0.7, 0.6)[seed]}

    bench = Formula(noisy)
    (default,) = measure(bench, ONE, range(5), [None], -1)
    (trial,) = measure(bench, ONE, range(5), [(0.5,)], 0, default, [default])
    assert trial.state == "complete"
    # (1.3 + 0.8 + 1.2 + 0.7 + 0.6) / 5
    assert trial.values[0] == pytest.approx(0.92, rel=1e-12)


def test_with_two_objectives_only_what_improves_on_neither_is_given_up() -> None:
    def numbers(x: float, seed: int) -> dict[str, float]:
        return {"mean.small": x * (1 + seed), "mean.large": (2 * x if x > 0.85 else 1 - x) * (1 + seed)}

    bench = Formula(numbers)
    (default,) = measure(bench, TWO, range(5), [None], -1)
    # Against 0.8 and 0.2: 0.83 is worse in the first and better in the second, 0.9 is worse in both.
    found = measure(bench, TWO, range(5), [(0.83,), (0.9,)], 0, default, [default])
    assert [trial.state for trial in found] == ["complete", "given up"]


def test_a_condition_ends_a_trial_at_once_but_not_the_default_setting() -> None:
    limited = aim.read(["mean.all"], ["mean.all <= 1.05"])
    bench = Formula(lambda x, seed: {"mean.all": 1.0 + 0.1 * seed})
    default, trial = measure(bench, limited, range(5), [None, (0.3,)], -1)
    assert (default.state, len(default.runs)) == ("infeasible", 5)
    assert (trial.state, len(trial.runs)) == ("infeasible", 3)
    assert trial.why == "seed 1: not mean.all <= 1.05"


def test_the_errors_of_all_looks_add_up() -> None:
    assert looks(3) == {}
    # Two looks: 0.05 · 1/3 and 0.05 · 2/3; three: 1/7, 2/7, 4/7.
    assert looks(5) == {3: pytest.approx(0.05 / 3), 4: pytest.approx(0.1 / 3)}
    assert looks(6) == {n: pytest.approx(0.05 * part / 7) for n, part in ((3, 1), (4, 2), (5, 4))}


def test_volumes_and_fronts_by_hand() -> None:
    assert front([(1, 3), (2, 2), (3, 3), (2, 2), (3, 1)]) == [0, 1, 4]
    assert hypervolume([(2.0,), (3.0,)], (5.0,)) == 3
    # Against (4, 4): 1 × 1 of (3, 3) is inside of 2 × 2 of (2, 2); (1, 3) adds 1 × 1, (3, 1) too.
    assert hypervolume([(2, 2), (3, 3)], (4, 4)) == 4
    assert hypervolume([(2, 2), (1, 3), (3, 1), (3, 3), (5, 0)], (4, 4)) == 6
    # Two boxes of 1 × 2 × 2 and 2 × 2 × 1 within (3, 3, 3), which share 1 × 2 × 1.
    assert hypervolume([(2, 1, 1), (1, 1, 2)], (3, 3, 3)) == 6
    assert hypervolume([], (1, 1)) == 0
    # Losses, least over largest: (0, 1), (0.25, 0.5), (1, 0).
    assert compromise([(0, 10), (1, 5), (4, 0)]) == 1


def test_what_is_lost_is_a_ratio_of_costs_or_of_goods() -> None:
    slow, fast = find("mean.all"), find("busbw")
    assert lost(slow, 1.05, 1.0) == pytest.approx(0.05)
    assert lost(fast, 1.0, 1.05) == pytest.approx(0.05)
    assert lost(slow, 0.0, 0.0) == 0
    assert lost(slow, 1.0, 0.0) == math.inf


def test_the_loss_of_the_check_is_against_the_gain_of_the_search() -> None:
    def sides(measured: str, tuned: float, default: float) -> incast.Difference:
        def trial(value: float) -> Trial:
            return Trial(0, (), "complete", {seed: {measured: value} for seed in range(3)})

        return compared(trial(tuned), trial(default), find(measured))

    # 20 % less in the search and 10 % less in the check: 0.9 / 0.8 is 12.5 % more than promised.
    assert loss(find("mean.all"), sides("mean.all", 0.8, 1), sides("mean.all", 0.9, 1)) == pytest.approx(
        0.125
    )
    # A good that was 25 % more and is 20 % more: 1.25 / 1.2 - 1.
    assert loss(find("busbw"), sides("busbw", 1.25, 1), sides("busbw", 1.2, 1)) == pytest.approx(1 / 24)
    # Counts: 3 fewer promised, 1 fewer there.
    assert loss(find("resent"), sides("resent", 2, 5), sides("resent", 4, 5)) == 2


def test_importances_say_which_parameter_matters() -> None:
    other = Parameter("cc.y", "number", 0.0, 1.0)
    trials = [
        Trial(n, (x, y), "complete", {}, ((x - 0.5) ** 2 + 0.01 * y,))
        for n, (x, y) in enumerate((i / 10, j / 10) for i in range(11) for j in range(11))
    ]
    found = importances([X, other], ONE, trials, 0)
    assert list(found) == ["cc.x", "cc.y"]
    assert found["cc.x"] > 0.9
    assert (
        importances([X, other], ONE, [Trial(n, (0.1, 0.2), "complete", {}, (1.0,)) for n in range(9)], 0)
        == {}
    )


EFFECTIVE = {
    "cc": {
        "algorithm": "swift",
        "beta": 0.8,
        "base_target": "20us",
        "retx_reset": 5,
        "unit": "packet",
        "mode": "a",
    },
    "switch": {"ecn": {"kmin": "10KB", "pmax": 1}},
}


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ("cc.beta=0.2:1", Parameter("cc.beta", "number", 0.2, 1.0)),
        ("cc.beta=1:2", Parameter("cc.beta", "number", 1.0, 2.0)),
        ("cc.retx_reset=1:10", Parameter("cc.retx_reset", "count", 1.0, 10.0)),
        ("cc.base_target=5us:0.05ms:log", Parameter("cc.base_target", "time", 5e6, 5e7, True)),
        ("switch.ecn.kmin=1KB:1KiB", Parameter("switch.ecn.kmin", "bytes", 1000, 1024)),
        ("switch.ecn.kmin=0.1 BDP:2 BDP", Parameter("switch.ecn.kmin", "bdp", 0.1, 2.0)),
        ("cc.unit=packet,bdp", Parameter("cc.unit", "choice", choices=("packet", "bdp"))),
        ("cc.beta=0.2, 1", Parameter("cc.beta", "choice", choices=(0.2, 1))),
        (
            "switch.ecn.kmin+kmax=1KB:4KB:log",
            Parameter("switch.ecn.kmin", "bytes", 1000, 4000, True, also=("switch.ecn.kmax",)),
        ),
        (
            "cc.unit + cc.mode = packet, bdp",
            Parameter("cc.unit", "choice", choices=("packet", "bdp"), also=("cc.mode",)),
        ),
    ],
)
def test_ranges_and_values_are_read(spec: str, wanted: Parameter) -> None:
    assert space.read(spec, EFFECTIVE) == wanted


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ("cc.beta", "expected a key and its range"),
        ("cc.beta=0.5", "expected at least two values"),
        ("cc.beta=0.5,0.5", "at least two values, each once"),
        ("cc.beta=1:0.2", "the first end of a range is below the second"),
        ("cc.beta=0:1:log", "a logarithmic range begins above 0"),
        ("cc.beta=0.1:1:lin", "a range has two ends"),
        ("cc.base_target=5us:5KB", "in units of the same kind"),
        ("cc.base_target=5us:50", "in units of the same kind"),
        ("cc.base_target=fast:50us", "'fast' is neither a number nor a quantity"),
        ("cc.betta=0:1", "swift has no parameter 'betta'; did you mean \"cc.beta\""),
        ("cc.beta+beta=0.1:1", "this key is given twice"),
        ("cc.beta+=0.1:1", "expected a key and its range"),
        ("cc.beta+betta=0.1:1", "swift has no parameter 'betta'"),
        ("cc.beta+topology.rate=0.1:1", "network and traffic are the question"),
        ("cc.beta+retx_reset=1:4", "keys that move together take values of the same kind"),
        ("cc=swift,oscar", "one algorithm is tuned at a time"),
        ("topology.rate=100Gbps:400Gbps", "network and traffic are the question"),
    ],
)
def test_wrong_ranges_are_refused_with_what_would_be_right(spec: str, wrong: str) -> None:
    with pytest.raises(ScenarioError) as error:
        space.read(spec, EFFECTIVE)
    assert f"--vary {spec}" in str(error.value)
    assert wrong in str(error.value)


def test_keys_that_move_together_have_one_value() -> None:
    step = space.read("switch.ecn.kmin+kmax=1KB:4KB", EFFECTIVE)
    assert (step.name, step.label) == ("kmin+kmax", "switch.ecn.kmin+switch.ecn.kmax")
    assert str(step) == "switch.ecn.kmin+switch.ecn.kmax=1KB:4KB"
    both = {"cc.x": 0.5, "switch.ecn.kmin": "2KB", "switch.ecn.kmax": "2KB"}
    assert space.values_of([X, step], (0.5, "2KB")) == both
    # In the default setting they may differ; then no value stands for both.
    assert space.together(["2KB", "2KB"]) == "2KB"
    default = space.together(["2KB", "8KB"])
    assert default == "2KB and 8KB"
    assert not step.has(default)
    assert space.values_of([X, step], (0.5, default)) == {"cc.x": 0.5}
    with pytest.raises(ScenarioError, match=r"switch\.ecn\.kmax: this key is varied twice"):
        space.checked([step, space.read("switch.ecn.kmax=1KB:4KB", {"switch": {"ecn": {"kmax": "1KB"}}})])


def test_a_step_of_marks_is_tuned(loaded: Path, tmp_path: Path) -> None:
    what = plan(
        loaded, contestant="dctcp", vary=["switch.ecn.kmin+kmax=10KB:200KB:log"], objectives=["mean.small"]
    )
    runs = Runs(what.scenario, what.parameters, what.aim, tmp_path)
    made = runs.scenario(("30KB",), 1).to_toml()
    assert [line for line in made.splitlines() if line.startswith(("kmin", "kmax"))] == [
        'kmin = "30KB"',
        'kmax = "30KB"',
    ]


def test_values_are_written_with_few_digits_within_the_range() -> None:
    time = Parameter("cc.t", "time", 5e6, 5e7, True)
    assert time.value(12_345_678.9) == "12.35us"
    assert time.value(4.9e6) == "5us"
    # The middle of a logarithmic range is the root of the product: √(5 · 50) = 15.81.
    assert time.value(time.at(0.5)) == "15.81us"
    assert time.place(time.number("15.811388us")) == pytest.approx(0.5)
    assert Parameter("cc.n", "count", 1, 10).value(3.6) == 4
    # Amounts in BDPs are written without an exponent.
    assert Parameter("switch.ecn.kmin", "bdp", 0.00001, 2).value(0.0000123) == "0.0000123 BDP"


@pytest.mark.parametrize(
    ("text", "numbers", "violation"),
    [
        ("p99.small <= 3", {"p99.small": 3.0}, 0),
        ("p99.small <= 3", {"p99.small": 3.6}, 0.2),
        ("p99.small <= 3", {}, 1),
        ("queue.peak <= 100KB", {"queue.peak": 150_000.0}, 0.5),
        ("jobs.mean <= 2ms", {"jobs.mean": 1e9}, 0),
        ("busbw >= 10Gbps", {"busbw": 8e9}, 0.2),
        ("dropped = 0", {"dropped": 3.0}, 3),
        ("finished = all", {"unfinished": 2.0}, 2),
        ("busbw >= 95% of default", {"busbw": 9.5e9}, 0),
        ("busbw >= 95% of default", {"busbw": 7.6e9}, 0.2),
    ],
)
def test_conditions_are_missed_by_a_share_of_their_bound(
    text: str, numbers: dict[str, float], violation: float
) -> None:
    (condition,) = (c for c in aim.read(["mean.all"], [text]).conditions if c.text == text)
    assert condition.violation(numbers, {"busbw": 1e10}) == pytest.approx(violation, abs=1e-12)


@pytest.mark.parametrize(
    ("objectives", "conditions", "wrong"),
    [
        ([], [], "tuning needs an objective"),
        (["p99.smal"], [], 'there is no measure "p99.smal"; did you mean "p99.small"?'),
        (["finished"], [], "has no better and worse"),
        (["mean.all", "mean.all"], [], "given twice"),
        (["mean.all"], ["p99.small < 3"], "expected a measure, one of <= >= = and a bound"),
        (["mean.all"], ["queue.peak <= 100"], "the bound of queue.peak is an amount with its unit"),
        (["mean.all"], ["p99.small <= few"], "the bound of p99.small is a number"),
        (["mean.all"], ["p99.small = all"], "only `finished = all` has this bound"),
    ],
)
def test_wrong_aims_are_refused(objectives: list[str], conditions: list[str], wrong: str) -> None:
    with pytest.raises(ScenarioError) as error:
        aim.read(objectives, conditions)
    assert wrong in str(error.value)


def test_all_flows_have_to_finish_unless_something_else_is_asked_for() -> None:
    assert [c.text for c in aim.read(["mean.all"], ["dropped = 0"]).conditions] == [
        "dropped = 0",
        "finished = all",
    ]
    assert [c.text for c in aim.read(["mean.all"], ["unfinished <= 3"]).conditions] == ["unfinished <= 3"]


def _killed_at(moment: int, folder: Path) -> None:
    """Searches, and kills itself at a moment: before a measurement, or before a trial is stored."""
    left = moment

    def tick() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    class Dying(Formula):
        def measure(self, wanted: Sequence[Wanted]) -> list[Outcome]:
            tick()
            return super().measure(wanted)

    from optuna.storages._cached_storage import _CachedStorage

    store = _CachedStorage.create_new_trial

    def create(self: Any, *args: Any, **more: Any) -> int:  # noqa: ANN401
        tick()
        return store(self, *args, **more)

    setattr(_CachedStorage, "create_new_trial", create)  # noqa: B010 - a method is replaced
    searched(Dying(parabola), ONE, 28, seeds=4, folder=folder)


def test_a_search_killed_at_twenty_moments_ends_with_the_same_trials(tmp_path: Path) -> None:
    _, whole = searched(Formula(parabola), ONE, 28, seeds=4, folder=tmp_path / "whole")
    stored = []
    for moment in range(20):
        # The default setting is measured twice. Then a process is killed before or after the first seeds of a
        # generation, or after it has stored none, one or two of its trials.
        process = multiprocessing.get_context("fork").Process(
            target=_killed_at, args=(2 + moment % 5, tmp_path / "killed")
        )
        with warnings.catch_warnings():
            # The child of a process with threads does nothing with them.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        stored.append(_stored(tmp_path / "killed"))
    assert stored[:5] == [0, 0, 0, 1, 3]
    assert stored == sorted(stored)
    assert 8 < stored[-1] < 28
    _, again = searched(Formula(parabola), ONE, 28, seeds=4, folder=tmp_path / "killed")
    assert again == whole
    # A longer search continues it, and begins with the same trials.
    _, longer = searched(Formula(parabola), ONE, 40, seeds=4, folder=tmp_path / "killed")
    assert longer[:28] == whole
    assert longer == searched(Formula(parabola), ONE, 40, seeds=4)[1]


def _stored(folder: Path) -> int:
    with sqlite3.connect(folder / "study.db") as db:
        return int(db.execute("select count(*) from trials").fetchone()[0])


@dataclass
class Listening(Threads):
    """Makes runs in this process, and keeps the seeds of each batch."""

    seeds: list[set[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(1)

    def run(self, tasks: Sequence[Task], watch: Watch) -> Iterator[Done]:
        self.seeds.append({Scenario.from_toml(task.scenario, task.file).seed for task in tasks})
        return super().run(tasks, watch)


LOADED = """\
seed = 7

[topology]
kind = "star"
hosts = 4
rate = "100Gbps"
delay = "1us"

[switch]
buffer = "unlimited"

[switch.ecn]
kmin = "10KB"
kmax = "40KB"
pmax = 0.2

[cc]
algorithm = "oscar"

[[traffic]]
name = "load"
kind = "poisson"
sizes = "CacheFollower"
load = 0.6
duration = "200us"

[probe]
ports = ["s0"]
interval = "2us"
"""


@pytest.fixture
def loaded(tmp_path: Path) -> Path:
    path = tmp_path / "loaded.toml"
    path.write_text(LOADED)
    (tmp_path / "harder.toml").write_text(LOADED.replace("0.6", "0.7"))
    return path


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


SWIFT = ["cc.beta=0.2:1", "cc.base_target=5us:50us:log"]


def test_held_out_seeds_and_scenarios_are_run_after_the_search_only(loaded: Path, tmp_path: Path) -> None:
    listening = Listening()
    done = tune(
        loaded,
        SWIFT,
        "queue.mean",
        cc="swift",
        trials=8,
        seeds=3,
        held_out=[tmp_path / "harder.toml"],
        folder=tmp_path / "out",
        executor=listening,
    )
    assert done.chosen is not None
    held = [min(seeds) >= FIRST_SEED for seeds in listening.seeds]
    assert held == sorted(held)
    assert held.count(True) == 2
    assert set().union(*listening.seeds[: held.index(True)]) == {7, 8, 9}
    assert [one.name for one in done.checks] == ["loaded", "harder"]
    assert done.checks[0].seeds == (FIRST_SEED, FIRST_SEED + 1, FIRST_SEED + 2)
    # What was measured in the check is what its results say.
    harder = template(tmp_path / "harder.toml").with_algorithm("swift").with_(done.setting)
    ours = [harder.with_seed(seed).run_quietly() for seed in done.checks[1].seeds]
    theirs = [
        template(tmp_path / "harder.toml").with_algorithm("swift").with_seed(seed).run_quietly()
        for seed in done.checks[1].seeds
    ]
    logs = [
        math.log(incast.stats.metrics(a)["queue_mean_bytes"] / incast.stats.metrics(b)["queue_mean_bytes"])
        for a, b in zip(ours, theirs, strict=True)
    ]
    difference = done.checks[1].differences["queue.mean"]
    assert difference.value == pytest.approx(math.exp(math.fsum(logs) / 3), rel=1e-12)
    promised = done.gains["queue.mean"].value
    assert done.checks[1].losses["queue.mean"] == pytest.approx(difference.value / promised - 1, rel=1e-12)


@pytest.mark.parametrize(
    ("vary", "chosen"),
    [
        (SWIFT, {"cc": "swift"}),
        (["cc.g=0.01:0.5:log", "switch.ecn.kmax=0.3 BDP:1 BDP"], {"contestant": "dctcp"}),
        (
            ["cc.target_share=0.1:2:log", "switch.trimming.data=0.5 BDP:2 BDP"],
            {"contestant": "nscc:trimming"},
        ),
        (
            ["balancing.paths=16,32", "transport.ack_every=1,4", "switch.trimming.data=0.1 BDP:0.5 BDP"],
            {"contestant": "nscc"},
        ),
        (["cc.target_share=0.1:2:log"], {"contestant": "mine.toml"}),
    ],
)
def test_the_setting_is_a_file_that_gives_the_same_scenario(
    loaded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vary: list[str], chosen: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(
        '[contestant.mine]\nfrom = "nscc"\ncc = { eta = 0.2 }\n'
        'switch = { ecn = { kmin = "1KB", kmax = "2KB", pmax = 1.0 } }\n'
        'sources = { "cc.eta" = "chosen here" }\n'
    )
    # With this number of queued bytes as the aim some setting is better than the default.
    done = tune(
        loaded, vary, "queue.peak", trials=8, seeds=1, folder=tmp_path / "out", executor=Threads(), **chosen
    )
    assert done.chosen is not None
    assert done.chosen.number >= 0, "the default is the best of all"
    (file,) = [path for path in done.files if path.suffix == ".toml"]
    ((name, again),) = choose_contestants(template(loaded), [str(file)]).scenarios.items()
    assert name == file.stem
    assert again.to_toml() == done.plan.scenario.with_(done.setting).to_toml()
    assert f"tuned: {done.plan.command}" in file.read_text()


def _has(folder: Path, runs: int) -> bool:
    return len(list(folder.glob("*/*/result.json"))) >= runs


def test_a_command_line_search_is_killed_and_ends_with_the_same_files(incast: Incast, loaded: Path) -> None:
    words: list[str | Path] = [
        "tune",
        loaded,
        "--cc",
        "swift",
        "--objective",
        "mean.small",
        "--objective",
        "queue.mean",
    ]
    words += ["--vary", "cc.beta=0.5,0.8,1", "--vary", "cc.base_target=5us:50us:log"]
    words += ["--subject-to", "mean.large <= 110% of default", "--trials", "12", "--seeds", "3"]
    words += ["--held-out", "harder.toml"]
    whole = incast(*words, "--out", "whole", "--plot")
    assert (whole.returncode, whole.stderr) == (0, "")
    assert all(len(line) <= 80 for line in whole.stdout.splitlines())
    folder = incast.folder
    for runs in (5, 35, 60):
        process = incast.start(*words, "--out", "killed")
        wait_until(partial(_has, folder / "killed/runs", runs), process)
        process.kill()
        process.communicate()
    again = incast(*words, "--out", "killed")
    assert again.returncode == 0
    for name in ("trials.csv", "runs.csv", "swift-tuned.toml", "tune.json"):
        assert (folder / "killed" / name).read_text() == (folder / "whole" / name).read_text()
    said = json.loads((folder / "whole/tune.json").read_text())
    trials = rows(folder / "whole/trials.csv")
    assert [int(row["trial"]) for row in trials] == list(range(-1, 12))
    assert {int(row["trial"]) for row in trials if row["front"]} == {f["trial"] for f in said["front"]}
    # The mean of a trial is the mean of its runs.
    first = [float(row["queue.mean"]) for row in rows(folder / "whole/runs.csv") if row["trial"] == "-1"]
    assert float(trials[0]["queue.mean"]) == pytest.approx(math.fsum(first) / 3, rel=1e-12)
    assert said["hypervolume"] == sorted(said["hypervolume"])
    assert said["hypervolume"][-1] == 1
    assert (folder / "whole/tune.png").stat().st_size > 10_000
    other = incast(*words, "--out", "killed", "--search-seed", "2")
    assert (other.returncode, other.stderr.splitlines()[0]) == (
        1,
        "incast: killed already holds another search",
    )


def test_without_a_feasible_setting_the_nearest_miss_is_said(incast: Incast, loaded: Path) -> None:
    words: list[str | Path] = [
        "tune",
        loaded,
        "--cc",
        "swift",
        "--vary",
        "cc.beta=0.2:1",
        "--objective",
        "mean.all",
    ]
    done = incast(*words, "--subject-to", "mean.all <= 0.5", "--trials", "2", "--seeds", "1")
    assert done.returncode == 1
    assert "no setting meets all conditions" in done.stdout
    assert "mean.all <= 0.5  missed by at least" in done.stdout


def test_without_random_draws_one_seed_is_enough(incast: Incast, scenario: Path) -> None:
    done = incast(
        "tune", scenario, "--vary", "cc.epsilon=0.01:0.5:log", "--objective", "queue.peak", "--trials", "4"
    )
    assert done.returncode == 0, done.stderr
    assert "4 settings: 4 with all seeds" in done.stdout
    trials = rows(next(incast.folder.glob("incast-results/small/tune-*/trials.csv")))
    assert {row["seeds"] for row in trials} == {"1"}


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["--vary", "cc.beta=0.2:1"], "tuning needs an objective"),
        (["--objective", "mean.all"], "tuning needs at least one key to vary"),
        (["--objective", "mean.all", "--vary", "cc.beta=2:3"], "--vary cc.beta=2:3: "),
        (
            ["--objective", "mean.all", "--vary", "cc.beta=0:1", "--held-out", "loaded.toml"],
            "this is the scenario of the search",
        ),
        (
            ["--objective", "mean.all", "--vary", "cc.beta=0:1", "--contestant", "swift"],
            "not allowed with argument --cc",
        ),
    ],
)
def test_wrong_commands_are_refused_before_anything_runs(
    incast: Incast, loaded: Path, words: list[str], wrong: str
) -> None:
    done = incast("tune", loaded.name, "--cc", "swift", *words)
    assert done.returncode == 2
    assert wrong in done.stderr
    assert not (incast.folder / "incast-results").exists()


def test_a_key_without_effect_is_refused(loaded: Path) -> None:
    with pytest.raises(ScenarioError, match=r"switch\.trimming sets the limits of queues"):
        tune(loaded, ["switch.buffer=1MB:2MB"], "mean.all", contestant="nscc", trials=1)
