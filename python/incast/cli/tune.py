"""``incast tune``: a search for a better setting of an algorithm."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

from incast.cli.options import (
    Commands,
    add_command,
    batch_options,
    count,
    executor,
    flag_option,
    number_option,
    path_option,
    scenario_options,
    whole,
)
from incast.cli.outcome import BatchLine, dropped
from incast.cli.run import say
from incast.cli.table import Column, number, paragraph, section, table
from incast.errors import ScenarioError
from incast.results.measures.named import Measure
from incast.results.titles import number_of
from incast.tuning import record
from incast.tuning.battery import plan_arena
from incast.tuning.check import Check
from incast.tuning.plan import MOST_SEEDS, SEEDS, TRIALS, Plan, plan
from incast.tuning.robust import Region
from incast.tuning.run import Tuning, run
from incast.tuning.search import GENERATION
from incast.tuning.space import text
from incast.tuning.trial import Trial, looks

MOST_ROWS = 12
"""Of a larger front only the first settings are printed."""

_UNITS = {"time": "us", "bytes": "KB", "rate": "Gbps"}

_EPILOG = """\
example:
  incast tune examples/incast.toml --cc swift \\
      --vary cc.beta=0.2:1 --vary cc.base_target=5us:50us:log \\
      --objective p99.small --subject-to "mean.large <= 105% of default"
"""


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(
        commands,
        act,
        "tune",
        "search for a better setting of an algorithm",
        "Searches for values of keys with which an algorithm is better in a scenario. All settings get the "
        "same seeds; one that is shown to be no improvement is given up. The best one is checked on seeds "
        "and scenarios that had no part in the search, and written as a file that other commands read. A "
        "search that was stopped or killed continues where it was.",
        _EPILOG,
    )
    scenario_options(sub, optional=True)
    sub.add_argument(
        "--arena",
        metavar="NAME",
        help="in place of FILE a battery of the arena: quick, full, or the folder of one; the objective is "
        "the geometric mean over its scenarios of the ratios to the default setting",
    )
    chosen = sub.add_mutually_exclusive_group()
    chosen.add_argument("--cc", metavar="NAME[:PRESET]", help="the algorithm (default: the scenario's)")
    chosen.add_argument(
        "--contestant",
        metavar="NAME",
        help="an algorithm with the switches and transport for it (see `incast list contestants`), or a file "
        "that defines one",
    )
    sub.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="KEY=LOW:HIGH[:log]",
        help="a key with its range, or with some values (KEY=A,B,…); may be repeated",
    )
    sub.add_argument(
        "--objective",
        dest="objectives",
        action="append",
        default=[],
        metavar="MEASURE",
        help="a number that is to improve, like p99.small; with several the Pareto front is searched",
    )
    sub.add_argument(
        "--subject-to",
        dest="conditions",
        action="append",
        default=[],
        metavar="CONDITION",
        help='a condition that every run has to meet, like "queue.peak <= 100KB" or '
        '"mean.large <= 105%% of default"; may be repeated (default: all flows finish)',
    )
    sub.add_argument(
        "--held-out",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="a scenario for the last check; may be repeated. With --arena the folder of a battery (default: "
        "the held-out one)",
    )
    number_option(sub, "--trials", count, f"settings that are tried (default: {TRIALS})", TRIALS)
    number_option(
        sub,
        "--seeds",
        _seeds,
        f"seeds of each setting (default: {SEEDS}; with --arena the replicates that all scenarios have)",
    )
    number_option(sub, "--search-seed", count, "seed of the search itself (default: 1)", 1)
    path_option(
        sub, "--out", "DIR", "where to save study, tables and results (default: under incast-results/)"
    )
    flag_option(sub, "--plot", "save a picture too, as PNG and PDF")
    batch_options(sub)


def _seeds(text: str) -> int:
    return whole(text, 1, MOST_SEEDS)


def act(options: argparse.Namespace) -> int:
    """Makes the search, and prints the setting that it found and what is left of it in the check."""
    what = _plan(options)
    print(heading(what))
    if options.arena is None:
        for problem in what.scenario.warnings:
            say(f"warning: {problem}")
    with BatchLine(quiet=options.quiet) as line:
        try:
            done = run(what, folder=options.out, executor=executor(options), fresh=options.fresh, watch=line)
        except KeyboardInterrupt:
            line.wipe()
            print("\nincast: stopped; the same command continues from there", file=sys.stderr)
            return 130
    print(f"\n{shown(done)}")
    if options.arena is None and (without := dropped({what.title: what.scenario})):
        print(f"\n{without}")
    files = [*done.files, *(_picture(done) if options.plot else [])]
    print(f"\nsaved in {done.folder}\n{paragraph(', '.join(path.name for path in files), '  ')}")
    return 0 if done.chosen is not None else 1


def _plan(options: argparse.Namespace) -> Plan:
    """Returns the search that the options ask for.

    Raises:
        ScenarioError: When they do not fit together.
    """
    if (options.file is None) == (options.arena is None):
        raise ScenarioError("tune takes a scenario, or --arena with a battery: one of both")
    if options.arena is None:
        return plan(
            options.file,
            options.vary,
            options.objectives,
            subject_to=options.conditions,
            cc=options.cc,
            contestant=options.contestant,
            overrides=options.overrides,
            trials=options.trials,
            seeds=options.seeds or SEEDS,
            seed=options.seed,
            search_seed=options.search_seed,
            held_out=options.held_out,
        )
    given = {
        "--objective": options.objectives,
        "--subject-to": options.conditions,
        "--cc": options.cc,
        "--set": options.overrides,
        "--seed": options.seed is not None,
    }
    for option, value in given.items():
        if value:
            raise ScenarioError(f"--arena: {option} does not go with it: the battery decides that")
    if options.contestant is None:
        raise ScenarioError("--arena: --contestant NAME says what is tuned")
    if len(options.held_out) > 1:
        raise ScenarioError("--arena: one battery for the last check")
    return plan_arena(
        options.arena,
        options.contestant,
        options.vary,
        trials=options.trials,
        seeds=options.seeds,
        search_seed=options.search_seed,
        held_out=str(options.held_out[0]) if options.held_out else None,
    )


def _picture(done: Tuning) -> list[Path]:
    """Saves the picture of a search."""
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        from incast.plot import style
    except ImportError:
        print("incast: no picture without matplotlib: pip install 'incast[plot]'", file=sys.stderr)
        return []
    return style.save(done.plot(), done.folder / "tune")


def heading(what: Plan) -> str:
    """The search and its rule, as they are before the first run."""
    seeds = number_of(len(what.seeds), what.repeats)
    lines = [f"tune {what.subject}: {what.title}, {what.trials:,} trials of {seeds}"]
    objectives = [f"{'less' if o.better == 'lower' else 'more'} {o.words}" for o in what.aim.objectives]
    lines.append(paragraph(f"for: {', '.join(objectives)}"))
    if what.aim.conditions:
        lines.append(paragraph(f"if: {', '.join(condition.text for condition in what.aim.conditions)}"))
    chances = looks(len(what.seeds))
    if chances:
        after = (
            " and ".join(str(n) for n in chances) if len(chances) < 3 else f"{min(chances)} to {max(chances)}"
        )
        rule = (
            f"rule: after {after} {what.repeats}s a setting is given up that is shown to be no improvement; "
            "wrongly at most in 5 % of the settings"
        )
        lines.append(paragraph(rule))
    return "\n".join(lines)


def shown(done: Tuning) -> str:
    """The texts of a search that is over."""
    parts = [_counts(done), _settings(done)]
    if done.chosen is None:
        parts.append(_nothing(done))
    elif done.chosen.number < 0:
        parts.append("No setting is better than the default one.")
    else:
        parts += [_robust(done), _checks(done)]
    return "\n\n".join(part for part in parts if part)


def _counts(done: Tuning) -> str:
    counts = {
        f"with all {done.plan.repeats}s": "complete",
        "given up": "given up",
        "infeasible": "infeasible",
        "failed": "failed",
    }
    found = {words: sum(t.state == state for t in done.trials) for words, state in counts.items()}
    parts = [f"{n:,} {words}" for words, n in found.items() if n]
    state = done.state
    runs = f"{state.made:,} runs made, {state.reused:,} reused"
    return paragraph(f"{len(done.trials):,} settings: {', '.join(parts)}; {runs}")


def _settings(done: Tuning) -> str:
    """The table of the default setting and of the front."""
    what = done.plan
    several = len(what.aim.objectives) > 1
    best = [trial for trial in done.front if trial.number >= 0]
    if several:
        best.sort(key=lambda trial: trial.values)
    rows = [("default", done.default), *((str(trial.number), trial) for trial in best[:MOST_ROWS])]
    left = [Column("trial", left=True), *(Column(p.name) for p in what.parameters)]
    right = [Column(o.name, _UNITS.get(o.kind, "")) for o in what.aim.objectives]
    body = [
        [
            f"{name} *" if several and trial is done.chosen else name,
            *(text(value) if value != "" else "–" for value in trial.setting),
            *(_amount(trial, n, o) for n, o in enumerate(what.aim.objectives)),
        ]
        for name, trial in rows
    ]
    lines = [table([*left, *right], body)]
    if len(best) > MOST_ROWS:
        lines.append(f"{len(best) - MOST_ROWS:,} more on the front: trials.csv has all")
    if done.default.state == "infeasible":
        lines.append(paragraph(f"The default setting does not meet the conditions: {done.default.why}."))
    if several and done.chosen is not None:
        lines.append(
            paragraph(
                "* the setting that is chosen: its largest loss against the best of each objective is least"
            )
        )
    names = {p.key: p.name for p in done.plan.parameters}
    lines += [
        paragraph(
            f"Share of {name} explained: " + ", ".join(f"{names[k]} {100 * v:.0f} %" for k, v in of.items())
        )
        for name, of in done.importances.items()
        if len(of) > 1
    ]
    if len(done.hypervolume) > 1:
        shares = ", ".join(f"{100 * share:.0f}" for share in done.hypervolume)
        lines.append(
            paragraph(f"Hypervolume after each generation of {GENERATION} trials: {shares} % of the last")
        )
    return "\n".join(lines)


def _amount(trial: Trial, n: int, objective: Measure) -> str:
    return number(trial.values[n] / objective.scale) if trial.values else "–"


def _nothing(done: Tuning) -> str:
    """Says that no setting meets the conditions, and how near the nearest one is to each."""
    rows = []
    for condition in done.plan.aim.conditions:
        of = [trial.violations.get(condition.text, 0.0) for trial in done.trials if trial.state != "failed"]
        if of and min(of) > 0:
            rows.append([condition.text, f"missed by at least {100 * min(of):.1f} %"])
    return section("no setting meets all conditions", rows)


def _robust(done: Tuning) -> str:
    rows = [[region.parameter.name, text(region.value), _region(region)] for region in done.robust]
    head = [Column("key", left=True), Column("setting"), Column("less than 5 % is lost", left=True)]
    return table(head, rows)


def _region(region: Region) -> str:
    if region.low is None or region.high is None:
        return f"also with {', '.join(map(text, region.others))}" if region.others else "only with this"
    low = f"{text(region.low)}{' (end of range)' if region.low_open else ''}"
    return f"{low} – {text(region.high)}{' (end of range)' if region.high_open else ''}"


def _checks(done: Tuning) -> str:
    """The table of gains in the search and in the check."""
    head = [Column("runs", left=True), Column("objective", left=True)]
    head += [Column("difference", left=True), Column("lost")]
    rows = []
    for name, differences, check in [
        ("search", done.gains, None),
        *((_titled(done, one), one.differences, one) for one in done.checks),
    ]:
        for objective in done.plan.aim.objectives:
            d = differences[objective.name]
            lost = "" if check is None else _loss(check.losses[objective.name], d.scale == "ratio", objective)
            rows.append([name, objective.name, f"{d.shown()} {d.word.value}", lost])
    lines = [f"{record.name(done)} against the default setting", table(head, rows)]
    lines += [
        paragraph(f"{_titled(done, one)}: the tuned setting: {'; '.join(one.broken)}")
        for one in done.checks
        if one.broken
    ]
    lines += [
        paragraph(f"{_titled(done, one)}: the default setting: {'; '.join(one.broken_default)}")
        for one in done.checks
        if one.broken_default
    ]
    lines.append(
        paragraph(
            "Lost: of what the search promised; the best of many settings is in part the luckiest. "
            f"Nothing of the search saw the other {done.plan.repeats}s and scenarios."
            if done.checks
            else "Every seed gives the same result, so there are no other seeds for a check."
        )
    )
    return "\n".join(lines)


def _titled(done: Tuning, one: Check) -> str:
    return "other seeds" if one is done.checks[0] and one.name == done.plan.scenario.name else one.name


def _loss(loss: float, ratio: bool, objective: Measure) -> str:
    if math.isnan(loss):
        return "–"
    if ratio:
        return f"{100 * loss:+.1f} %".replace("-", "−")
    return f"{number(loss / objective.scale)} {_UNITS.get(objective.kind, '')}".strip()
