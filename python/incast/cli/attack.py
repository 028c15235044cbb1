"""``incast attack``: a search for the traffic in which a contestant is worst."""

from __future__ import annotations

import argparse
import sys

from incast.attacking.question import BUDGET, SEEDS, Question, ask
from incast.attacking.run import LIMIT_S, Attack, run
from incast.attacking.search import best
from incast.cli.options import (
    Commands,
    add_command,
    batch_options,
    count,
    executor,
    flag_option,
    limit_option,
    number_option,
    path_option,
    scenario_options,
)
from incast.cli.outcome import BatchLine
from incast.cli.table import Column, paragraph, section, table
from incast.tuning.space import text

MOST_ROWS = 5
"""The worst candidates that are printed."""

_EPILOG = """\
example:
  incast attack examples/microburst.toml --contestant swift --against hpcc \\
      --vary traffic.burst.size=100KB:1MB:log --vary topology.delay=1us:10us \\
      --score p99.all
"""


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(
        commands,
        act,
        "attack",
        "search for the traffic in which a contestant is worst",
        "Searches, within ranges of a scenario's keys, for the values with which a contestant is worst "
        "against another one or against the bound. Then the scenario is made as small as it can be and still "
        "shows it, and written as a file that replays to the fingerprint. A search that was stopped or "
        "killed continues where it was.",
        _EPILOG,
    )
    scenario_options(sub)
    sub.add_argument(
        "--contestant",
        required=True,
        metavar="NAME",
        help="the contestant that is attacked (see `incast list contestants`), or a file that defines one",
    )
    other = sub.add_mutually_exclusive_group(required=True)
    other.add_argument("--against", metavar="NAME", help="the contestant that it is compared with")
    flag_option(other, "--bound", "compare with the best possible value, 1, of measures that have one")
    sub.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="KEY=LOW:HIGH[:log]",
        help="a key of the network or the traffic with its range, or with some values (KEY=A,B,…); may be "
        "repeated",
    )
    sub.add_argument(
        "--score",
        required=True,
        metavar="MEASURE",
        help='the number that is compared, like p99.small or "last_over_bound(burst)"',
    )
    number_option(sub, "--budget", count, f"candidates that are tried (default: {BUDGET})", BUDGET)
    number_option(
        sub, "--seeds", count, f"seeds of each, of which the least ratio counts (default: {SEEDS})", SEEDS
    )
    number_option(sub, "--search-seed", count, "seed of the search itself (default: 1)", 1)
    limit_option(sub, LIMIT_S)
    path_option(sub, "--out", "DIR", "where to save files and results (default: under incast-results/)")
    batch_options(sub)


def act(options: argparse.Namespace) -> int:
    """Makes the search, and prints what it found and the smallest scenario that shows it."""
    question = ask(
        options.file,
        options.contestant,
        options.vary,
        options.score,
        against=options.against,
        overrides=options.overrides,
        budget=options.budget,
        seeds=options.seeds,
        seed=options.seed,
        search_seed=options.search_seed,
    )
    print(heading(question))
    with BatchLine(quiet=options.quiet) as line:
        try:
            done = run(
                question,
                folder=options.out,
                executor=executor(options),
                limit_s=options.limit,
                fresh=options.fresh,
                watch=line,
            )
        except KeyboardInterrupt:
            line.wipe()
            print("\nincast: stopped; the same command continues from there", file=sys.stderr)
            return 130
    print(f"\n{shown(done)}")
    print(f"\nsaved in {done.folder}\n  {', '.join(path.name for path in done.files)}")
    return 1 if done.faults else 0


def heading(question: Question) -> str:
    """Returns the search and its rule, as they are before the first run."""
    seeds = f"{len(question.seeds)} seeds" if len(question.seeds) > 1 else "1 seed"
    lines = [
        paragraph(
            f"attack {question.name}: {question.contestant.name} against {question.other}, "
            f"{question.budget:,} candidates of {seeds}"
        ),
        paragraph(f"score: {question.score.text}, {'more' if question.higher else 'less'} is better"),
        paragraph("within: " + ", ".join(map(str, question.parameters))),
    ]
    return "\n".join(lines)


def shown(done: Attack) -> str:
    """Returns the texts of an attack that is over."""
    question = done.question
    without = sum(one.verdict.ratio == 0 for one in done.candidates)
    counts = f"{len(done.candidates):,} candidates, {without:,} of them without a number"
    parts = [f"{counts}; {done.state.made:,} runs made, {done.state.reused:,} reused"]
    worst = best(done.candidates)[:MOST_ROWS]
    if worst:
        head = [Column("candidate"), *(Column(parameter.name) for parameter in question.parameters)]
        head += [Column("ratio")]
        rows = [[str(one.number), *map(text, one.setting), f"{one.verdict.ratio:.3g}"] for one in worst]
        parts.append(table(head, rows))
    if done.found is None:
        parts.append(
            paragraph(f"{question.contestant.name} is nowhere more than 1 % worse than {question.other}.")
        )
    else:
        parts.append(paragraph(done.sentence))
        if done.steps:
            parts.append(paragraph(f"made smaller by {len(done.steps)} steps: {', '.join(done.steps)}"))
        parts.append(done.text.split("\n\n", 1)[1].rstrip())
    if done.faults:
        rows = [[one.contestant.name, one.kind, one.why] for one in done.faults]
        parts.append(section("runs that do not count", rows))
        names = ", ".join(path.name for path in done.files if path.name.startswith("fault-"))
        parts.append(
            paragraph(f"{names}: the smallest scenario of each; a fault may be one of ours: report it.")
        )
    return "\n\n".join(parts)
