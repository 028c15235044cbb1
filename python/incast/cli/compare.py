"""``incast compare``: one scenario, several algorithms, one table."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from incast._terminal import WIDTH, cells
from incast.cli import testbed
from incast.cli.common import check_free, folder_name, is_complete, load, place
from incast.cli.differences import calls_of, differences_options, measured, seeds_of
from incast.cli.estimate import estimate
from incast.cli.options import (
    Commands,
    add_command,
    count,
    flag_option,
    number_option,
    run_options,
    scenario_options,
)
from incast.cli.outcome import answers, dropped, ending
from incast.cli.required import Required, require_option
from incast.cli.run import run_one, say, warn
from incast.cli.sweep import carry_out, planned
from incast.cli.table import paragraph, section
from incast.cli.tables import ranked, texts
from incast.errors import ResultError, ScenarioError
from incast.progress import Series
from incast.real.kernel import KernelError
from incast.results.grid import Axis, Grid, Run, made_of, run_of
from incast.results.result import Result
from incast.results.titles import title
from incast.runs import store
from incast.runs.runner import Local
from incast.runs.sweep import plan
from incast.scenario import Interrupted, Scenario
from incast.scenario.cautions import cautions
from incast.scenario.choice import Choice, choose, refuse_overrides, split
from incast.scenario.contestants import algorithms_in, choose_contestants
from incast.scenario.measured import refuse_missing
from incast.scenario.scenario import document


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(
        commands,
        act,
        "compare",
        "run a scenario with several algorithms and print one table",
        "Runs one scenario with several algorithms: same flows, same seed, one table. A contestant is an "
        "algorithm together with the switches, transport and balancing that it is made for. With several "
        "seeds all are compared seed by seed, as by `incast sweep --vary cc=…`.",
    )
    scenario_options(sub)
    which = sub.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--cc",
        metavar="NAME[:PRESET],…",
        help="the algorithms, separated by commas: oscar,hpcc,swift:oscar (see `incast list`); all: every "
        "one that the scenario permits, and why each other one is left out; scenario: the scenario's own; "
        "and files with algorithms of your own (mine.py, mine.so) or with contestants, whose algorithms "
        "are taken (mine.toml)",
    )
    which.add_argument(
        "--contestants",
        metavar="NAME[:PRESET],…",
        help="contestants in place of algorithms: nscc,dcqcn,ndp (see `incast list contestants`), all, and "
        "files that define some (mine.toml) or have algorithms of your own (mine.py, mine.so)",
    )
    number_option(
        sub,
        "--seeds",
        count,
        "number of seeds: the scenario's (or --seed) and those after it (default: 1; with --until-decided "
        "the most, 40)",
    )
    differences_options(sub)
    require_option(sub)
    number_option(sub, "--jobs", count, "with several seeds: runs at the same time (default: one per core)")
    run_options(sub)
    flag_option(sub, "--plot", "save a picture too, as PNG and PDF")
    flag_option(sub, "--testbed", "with real kernels, as `incast testbed`; each run is made anew")


def act(options: argparse.Namespace) -> int:
    """Runs the scenario with each algorithm, and prints the tables and where the results are."""
    option, given = ("--cc", options.cc) if options.cc is not None else ("--contestants", options.contestants)
    refuse_overrides(options.overrides, option)
    several = seeds_of(options) > 1 or options.until_decided is not None
    _refuse_idle(options, several)
    calls = calls_of(options)
    overrides = options.overrides
    options.overrides, parameters = split(overrides)
    chosen = variants(load(options, needs_algorithm=False), given, option, parameters)
    if not options.quiet:
        for note in [*chosen.notes, *defaults(options.file, chosen)]:
            say(note)
    if several:
        options.overrides = overrides
        return _several(options)
    refuse_missing("--measure", calls, chosen.scenarios.values())
    required = Required(options, lambda: entries(chosen), chosen.scenarios.values())
    if options.estimate:
        code = estimate(chosen.scenarios)
        if chosen.left_out:
            print(f"\n{left_out(chosen)}")
        return code
    outcome = Outcome(chosen)
    warn(*chosen.scenarios.values())
    try:
        run_all(outcome, options)
    except Interrupted:
        finish(outcome, options)
        raise
    finish(outcome, options, required)
    sound = all(result.sound for result in outcome.results.values())
    return required.code(0 if sound and not outcome.failed else 1)


def entries(chosen: Choice, results: Mapping[str, Result] | None = None) -> Grid:
    """Returns the grid of a comparison of one seed, also before it is run and with runs that failed.

    Args:
        chosen: What is run.
        results: The results so far, by label.
    """
    done = results or {}
    its: dict[tuple[str, ...], list[Run]] = {
        (label,): [run_of(done[label])] if label in done else [] for label in chosen.scenarios
    }
    over = {} if results is None else chosen.scenarios
    failed = {f"cc={label} seed={one.seed}": "" for label, one in over.items() if label not in done}
    return made_of("", [Axis("cc", tuple(chosen.scenarios))], its, failed=failed)


def _refuse_idle(options: argparse.Namespace, several: bool) -> None:
    """Raises if an option has no effect.

    Raises:
        ScenarioError: When one has none with this number of seeds.
    """
    if several:
        if options.threads != 1:
            raise ScenarioError(
                "compare: --threads has no effect with several seeds; "
                "--jobs sets how many runs are made at the same time"
            )
        if options.testbed:
            raise ScenarioError("compare: --testbed measures one seed at a time")
        return
    for name in ("baseline", "by", "jobs"):
        if getattr(options, name) is not None:
            raise ScenarioError(f"compare: --{name} has no effect with one seed\n    help: --seeds 5")


def _several(options: argparse.Namespace) -> int:
    """Compares the algorithms over several seeds, as a sweep does."""
    what = plan(
        options.file,
        [f"contestant={options.contestants}" if options.cc is None else f"cc={options.cc}"],
        seeds=seeds_of(options),
        seed=options.seed,
        overrides=options.overrides,
        results=store.DEFAULT if options.out is None else options.out / "runs",
    )
    required = Required(options, lambda: planned(what), (run.first for run in what.runs[:: what.seeds]))
    done = carry_out(what, options, Local(options.jobs), required=required)
    if isinstance(done, int):
        return done
    if options.plot:
        firsts = {run.values[0]: run.folder for run in what.runs[:: what.seeds] if is_complete(run.folder)}
        if firsts:
            print(f"of seed {what.runs[0].seed}:")
            for path in pictures({label: Result.open(where) for label, where in firsts.items()}, done.folder):
                print(f"picture {path}")
    return required.code(1 if done.state.failures else 0)


@dataclass
class Outcome:
    """The runs of a comparison.

    Attributes:
        chosen: What is run.
        results: The results of those that are over, by the label of their algorithm.
        failed: Those that ended without a result.
    """

    chosen: Choice
    results: dict[str, Result] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)


def variants(scenario: Scenario, given: str, option: str = "--cc", parameters: Sequence[str] = ()) -> Choice:
    """The scenario with each algorithm of a list like ``oscar,swift:oscar`` or ``all``.

    Args:
        scenario: The scenario.
        given: The list.
        option: The option with the list: ``--cc``, or ``--contestants`` for a list of contestants.
        parameters: Overrides of parameters, for those that have them.

    Raises:
        ScenarioError: With the problems of all of them.
    """
    labels = [label.strip() for label in given.split(",")]
    source = f"{option} {given}"
    if option != "--cc":
        return choose_contestants(scenario, labels, source, parameters)
    names, sections = algorithms_in(labels)
    return choose(scenario, names, source, parameters, sections)


def defaults(file: Path, chosen: Choice) -> list[str]:
    """Returns a sentence if the file sets parameters of an algorithm that is run with its defaults.

    Args:
        file: The scenario file.
        chosen: What is run.
    """
    try:
        section = document(file).get("cc")
    except ValueError:
        return []
    if not isinstance(section, Mapping):
        return []
    sets = [f"{key} = {value}" for key, value in section.items() if key not in ("algorithm", "preset")]
    name = section.get("algorithm")
    if not sets or name not in chosen.scenarios:
        return []
    what = f"[cc] of the file sets {', '.join(sets)}"
    return [f"{name} has its defaults here; {what} (--cc scenario takes it as it is)"]


def run_all(outcome: Outcome, options: argparse.Namespace) -> None:
    """Runs each scenario in turn, and adds its result when it is finished.

    A run that fails is reported and stops no other; if it is the only one, its exception is raised.
    """
    scenarios = outcome.chosen.scenarios
    folders = {label: _folder(label, scenario, options) for label, scenario in scenarios.items()}
    check_free({folders[label]: scenario for label, scenario in scenarios.items()}, options)
    run = testbed.run if options.testbed else run_one
    series = Series(len(scenarios))
    for label, scenario in scenarios.items():
        try:
            outcome.results[label] = run(scenario, label, folders[label], options, series)
        except Exception as error:
            if len(scenarios) == 1:
                raise
            outcome.failed.append(label)
            if not isinstance(error, ResultError | ScenarioError | KernelError):
                traceback.print_exception(error)
            say(f"{label} failed: {error}")


def _folder(label: str, scenario: Scenario, options: argparse.Namespace) -> Path:
    if options.out is None:
        return testbed.place(scenario) if options.testbed else place(scenario, options)
    parent: Path = options.out
    return parent / folder_name(label)


def finish(outcome: Outcome, options: argparse.Namespace, required: Required | None = None) -> None:
    """Prints the tables of finished runs, draws the picture if requested, prints where they are.

    Args:
        outcome: The runs.
        options: The options of the command.
        required: The requirements, if all runs are over.
    """
    scenarios = outcome.chosen.scenarios
    results, by = ranked(outcome.results) if outcome.chosen.all else (outcome.results, "")
    if not results:
        return
    first = next(iter(scenarios.values()))
    kind = "contestants" if options.cc is None else "algorithms"
    ran = f"{first.name}, seed {first.seed}: {len(results)} of {len(scenarios)} {kind} ran"
    print(f"{ran}, sorted by {by}" if by else ran)
    if outcome.chosen.left_out:
        print(left_out(outcome.chosen))
    if not options.testbed and (said := answers(Grid.of(results))):
        print(f"\n{said}")
    for label, result in results.items():
        if not result.sound:
            print(ending(title(label), result))
    if cautious := cautions(scenarios):
        print("\n" + "\n".join(map(paragraph, cautious)))
    if required is not None and (judged := required.text(entries(outcome.chosen, outcome.results))):
        print(f"\n{judged}")
    for text in texts(results):
        print(f"\n{text}")
    if calls := calls_of(options):
        print(f"\n{measured(results, calls)}")
    if without := dropped(scenarios):
        print(f"\n{without}")
    folders = [result.folder for result in results.values() if result.folder]
    parent = Path(os.path.commonpath([folder.parent for folder in folders]))
    names = [str(folder.relative_to(parent)) for folder in folders]
    line = f"saved in {parent}: {', '.join(names)}"
    print("\n" + (line if cells(line) <= WIDTH else "\n  ".join([f"saved in {parent}", *names])))
    if options.plot:
        for path in pictures(results, parent):
            print(f"picture {path}")


def left_out(chosen: Choice) -> str:
    """The algorithms that are left out, each with the reason."""
    return section("left out", list(chosen.left_out.items()))


ENOUGH_FLOWS = 10
"""Fewer finished flows make no picture of a distribution."""


def pictures(results: Mapping[str, Result], parent: Path) -> list[Path]:
    """Draws what the results contain: the queue of the first probed port, the slowdown of their flows.

    Args:
        results: A result for each algorithm, all of one scenario.
        parent: Where to save them.

    Returns:
        The files.
    """
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        from incast import plot
    except ImportError:
        print("incast: no picture without matplotlib: pip install 'incast[plot]'", file=sys.stderr)
        return []
    titles = {label: title(label) for label in results}
    files: list[Path] = []
    ports = next(iter(results.values())).probed_ports()
    if ports:
        busiest = max(ports, key=lambda port: max(r.peak_queue_bytes(*port) for r in results.values()))
        figure, _ = plot.queue_and_utilisation(results, busiest, titles)
        if len(ports) > 1:
            figure.suptitle(f"{busiest[0]}, port {busiest[1]}", fontsize=8)
        files += plot.save(figure, parent / "queue")
    if any(len(result.flow_times().slowdown) >= ENOUGH_FLOWS for result in results.values()):
        figure, _ = plot.slowdown(results, titles)
        files += plot.save(figure, parent / "slowdown")
    return files
