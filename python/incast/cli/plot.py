"""``incast plot``: pictures of saved results."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from incast.cli.options import Commands, add_command, choice_option, results_argument
from incast.cli.report import folders
from incast.cli.show import open_result
from incast.errors import ResultError
from incast.results.grid import Grid
from incast.results.result import Result
from incast.results.titles import made, short, title
from incast.runs.sweep import grid_of
from incast.units import Time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Part:
    """The part of the results to draw; nothing for the default.

    Attributes:
        port: A port.
        flow: Flows, as for `Result.find_flows`.
        job: A job.
        hosts: Hosts.
        grid: The grid of the results.
        measure: A measure.
        x: The key along the horizontal axis.
        lines: The key that has lines.
        y: The key along the vertical axis.
        panels: Keys that have panels.
        baseline: The value that others are ratios to.
    """

    port: tuple[str, int] | None = None
    flow: str | int | None = None
    job: str | None = None
    hosts: tuple[str, ...] | None = None
    grid: Grid | None = None
    measure: str | None = None
    x: str | None = None
    lines: str | None = None
    y: str | None = None
    panels: tuple[str, ...] | None = None
    baseline: str | None = None


Draw = Callable[[Mapping[str, Result], Part], "Figure"]


@dataclass(frozen=True)
class Kind:
    """A kind of picture.

    Attributes:
        about: What it shows.
        draw: What draws it.
        takes: The fields of `Part` that it follows.
    """

    about: str
    draw: Draw
    takes: tuple[str, ...] = ()


FORMATS = ("png", "pdf", "svg")
"""Endings of pictures."""


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(
        commands,
        act,
        "plot",
        "draw saved results",
        "Draws saved results into one picture, sized for a two-column paper. "
        f"Kinds: {'; '.join(f'{name}: {kind.about}' for name, kind in KINDS.items())}.",
    )
    results_argument(sub)
    choice_option(
        sub, "--kind", tuple(KINDS), f"one of {', '.join(KINDS)} (default: what fits)", metavar="KIND"
    )
    sub.add_argument(
        "--port", type=_port, metavar="NODE:PORT", help="the port to draw, like s0:15 (default: the busiest)"
    )
    sub.add_argument(
        "--flow",
        type=_flow,
        metavar="FLOW",
        help="the flows to draw: a traffic block, like burst; its fourth flow, burst.3; or a number "
        "(default: all that have samples; of deduced the first)",
    )
    sub.add_argument("--job", metavar="JOB", help="the job whose operations to draw (default: all)")
    sub.add_argument(
        "--hosts",
        type=_hosts,
        metavar="HOST,…",
        help="the hosts whose operations to draw, with commas between them (default: all)",
    )
    sub.add_argument(
        "--measure",
        metavar="MEASURE",
        help="of a sweep, the number to draw, like p99.small or queue(all, p99) (see `incast list measures`)",
    )
    for name, about in (
        ("--x", "the key along the horizontal axis (default: the first with three numbers or more)"),
        ("--lines", "the key that has a line for each value (default: the algorithm)"),
        ("--y", "the key along the vertical axis of a heat map"),
    ):
        sub.add_argument(name, metavar="KEY", help=f"of a sweep, {about}")
    sub.add_argument(
        "--panels",
        type=_hosts,
        metavar="KEY,…",
        help="of a sweep, keys that have a panel for each value (default: all others)",
    )
    sub.add_argument(
        "--baseline",
        metavar="VALUE",
        help="of a sweep, draw ratios to the runs with this value, like hpcc or delay=1us, paired by seed",
    )
    sub.add_argument(
        "--out", type=_picture, metavar="FILE", help="a .png, .pdf or .svg (default: KIND.png and KIND.pdf)"
    )


def _port(text: str) -> tuple[str, int]:
    node, _, port = text.rpartition(":")
    if not node or not port.isascii() or not port.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not like s0:15: a node, a colon, the port's number")
    return node, int(port)


def _flow(text: str) -> str | int:
    return int(text) if text.isascii() and text.isdigit() else text


def _hosts(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} is not like h0,h1: names with commas between them")
    return names


def _picture(text: str) -> Path:
    if text.rpartition(".")[2].lower() not in FORMATS:
        raise argparse.ArgumentTypeError(f"{text!r} does not end in .{', .'.join(FORMATS)}")
    return Path(text)


def act(options: argparse.Namespace) -> int:
    """Draws, and prints the files that were written."""
    grid = grid_of(options.results[0]) if len(options.results) == 1 else None
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        from incast import plot
    except ImportError:
        raise ResultError("no picture without matplotlib\n    help: pip install 'incast[plot]'") from None
    kind = options.kind or (None if grid is None else "sweep")
    results: Mapping[str, Result] = {}
    if grid is None:
        results = labelled([open_result(folder) for folder in folders(options.results)])
    elif kind not in ("sweep", "heat"):
        firsts = ((entry.label, entry.first()) for entry in grid.entries)
        results = {label: result for label, result in firsts if result is not None}
    kind = kind or ("panels" if any(r.probed_ports() for r in results.values()) else "slowdown")
    part = replace(_part(kind, options), grid=grid)
    try:
        figure = KINDS[kind].draw(results, part)
    except (KeyError, ValueError) as error:
        raise ResultError(f"{kind}: {error.args[0]}") from None
    if options.out is None:
        files = plot.save(figure, Path(kind))
    else:
        files = [options.out]
        try:
            figure.savefig(options.out)
        except OSError as error:
            raise ResultError(f"cannot write {options.out}: {error.strerror}") from None
    for file in files:
        print(f"picture {file}")
    return 0


def _part(kind: str, options: argparse.Namespace) -> Part:
    """The part of the results that the options name; refused where the kind does not follow it."""
    names = ("port", "flow", "job", "hosts", "measure", "x", "lines", "y", "panels", "baseline")
    given = {name: getattr(options, name) for name in names}
    for name, value in given.items():
        if value is not None and name not in KINDS[kind].takes:
            kinds = ", ".join(other for other, one in KINDS.items() if name in one.takes)
            raise ResultError(f"--{name} has no effect on pictures of the kind {kind}; kinds: {kinds}")
    return Part(**given)


def labelled(results: Sequence[Result]) -> dict[str, Result]:
    """Results by unique labels: their algorithm, if needed with their seed or their folder.

    The part after a colon changes the dashes of a line but not its colour.
    """

    def described(result: Result, *more: object) -> str:
        name = ", ".join(map(short, result.info["algorithms"]))
        return " ".join([name if ":" in name or not more else f"{name}:", *map(str, more)]).replace(": ", ":")

    def names(*keys: Callable[[Result], object]) -> list[str]:
        return [described(result, *(key(result) for key in keys)) for result in results]

    for found in (names(), names(made), names(_seed), names(made, _seed), names(_folder)):
        if len(set(found)) == len(found):
            break
    return dict(zip(found, results, strict=True))


def _seed(result: Result) -> str:
    return f"seed {result.info['seed']}"


def _folder(result: Result) -> str:
    return str(result.folder)


def _panels(results: Mapping[str, Result], part: Part) -> Figure:
    from incast import plot

    chosen = part.port or busiest(results)
    figure, _ = plot.queue_and_utilisation(results, chosen, _titles(results))
    figure.suptitle(f"{chosen[0]}, port {chosen[1]}", fontsize=8)
    return figure


def _slowdown(results: Mapping[str, Result], part: Part) -> Figure:
    from incast import plot

    del part
    for label, result in results.items():
        if not len(result.flow_times().slowdown):
            raise ResultError(f"{label}: no flow with a size finished, so there is no slowdown to draw")
    figure, _ = plot.slowdown(results, _titles(results))
    return figure


def _of_port(name: str) -> Draw:
    def draw(results: Mapping[str, Result], part: Part) -> Figure:
        from incast import plot

        axes: Axes = getattr(plot, name)(results, part.port or busiest(results))
        return cast("Figure", axes.figure)

    return draw


def _of_samples(name: str) -> Draw:
    def draw(results: Mapping[str, Result], part: Part) -> Figure:
        from incast import plot

        axes: Axes = getattr(plot, name)(results, part.flow)
        return cast("Figure", axes.figure)

    return draw


def _of_all(name: str, **keywords: object) -> Draw:
    def draw(results: Mapping[str, Result], part: Part) -> Figure:
        from incast import plot

        del part
        axes: Axes = getattr(plot, name)(results, **keywords)
        return cast("Figure", axes.figure)

    return draw


def _internals(results: Mapping[str, Result], part: Part) -> Figure:
    from incast import plot

    figure, _ = plot.internals(_only(results), part.flow)
    return figure


def _loads(results: Mapping[str, Result], part: Part) -> Figure:
    from incast import plot

    del part
    figure, _ = plot.loads(_only(results))
    return figure


def _limits(by: str) -> Draw:
    def draw(results: Mapping[str, Result], part: Part) -> Figure:
        from incast import plot

        del part
        return cast("Figure", plot.limits(_only(results), by=by).figure)

    return draw


def _deduced(results: Mapping[str, Result], part: Part) -> Figure:
    from incast import plot

    result, flow = _only(results), part.flow
    if flow is None:
        samples = result.internals
        having = samples.column("flow")[samples.column("name") == "deduced_arrival"]
        if not len(having):
            help_ = (
                "    help: theta-powertcp deduces them; its scenario needs [probe] flows and internals = true"
            )
            raise ResultError(f"no flow has samples of what it deduces of the congestion\n{help_}")
        flow = int(having[0])
    numbers, base_rtts = (result.flows.column(name) for name in ("flow", "base_rtt_ps"))
    base_rtt = base_rtts[np.isin(numbers, result.find_flows(flow))]
    if not len(base_rtt):
        raise KeyError(f"there is no flow {flow}")
    figure, _ = plot.deduced(result, part.port or busiest(results), flow, Time(int(base_rtt[0])))
    return figure


def _operations(results: Mapping[str, Result], part: Part) -> Figure:
    from incast import plot

    try:
        axes = plot.operations(_only(results), part.job, part.hosts)
    except ValueError as error:
        help_ = "    help: --job JOB for one job, --hosts h0,h1 for some of the hosts"
        raise ResultError(f"operations: {error}\n{help_}") from None
    return cast("Figure", axes.figure)


def _of_grid(name: str, other: str) -> Draw:
    def draw(results: Mapping[str, Result], part: Part) -> Figure:
        from incast import plot

        of = part.grid or Grid.of(list(results.values()))
        keys = {"x": part.x, other: getattr(part, other), "panels": part.panels or ()}
        figure, _ = getattr(plot, name)(of, part.measure, baseline=part.baseline, **keys)
        return cast("Figure", figure)

    return draw


def _only(results: Mapping[str, Result]) -> Result:
    """The result, where a picture is of one."""
    if len(results) > 1:
        raise ValueError(f"a picture of this kind is of one result, and {len(results)} are given")
    return next(iter(results.values()))


def busiest(results: Mapping[str, Result]) -> tuple[str, int]:
    """The probed port with the longest queue in any of the results.

    Raises:
        ResultError: When none has a probed port.
    """
    ports = {port: None for result in results.values() for port in result.probed_ports()}
    if not ports:
        help_ = '    help: give the scenario a probe, like [probe] ports = ["to h3"]'
        raise ResultError(f"no port was probed, so there is no queue to draw\n{help_}")

    def peak(port: tuple[str, int]) -> int:
        having = (r for r in results.values() if port in r.probed_ports())
        return max(r.peak_queue_bytes(*port) for r in having)

    return max(ports, key=peak)


def _titles(results: Mapping[str, Result]) -> dict[str, str]:
    return {label: title(label) for label in results}


_FLOWS = ("flow",)

KINDS: dict[str, Kind] = {
    "panels": Kind("queue and utilisation of a probed port, a panel for each algorithm", _panels, ("port",)),
    "queue": Kind("queue of a probed port over time", _of_port("queue"), ("port",)),
    "throughput": Kind("throughput of a probed port over time", _of_port("throughput"), ("port",)),
    "phase-plane": Kind("queue of a probed port against its growth", _of_port("phase_plane"), ("port",)),
    "window": Kind("windows of the probed flows over time", _of_samples("window"), _FLOWS),
    "rate": Kind("rates of the probed flows over time", _of_samples("rate"), _FLOWS),
    "goodput": Kind("goodput of the probed flows over time", _of_samples("goodput"), _FLOWS),
    "fairness": Kind("Jain's index of the goodput of the probed flows over time", _of_all("fairness")),
    "internals": Kind("internal quantities of the algorithm, of one result", _internals, _FLOWS),
    "deduced": Kind(
        "inflight and arrival rate of a probed port, and what a flow deduces of them, of one result",
        _deduced,
        ("port", "flow"),
    ),
    "slowdown": Kind("slowdown of small and large flows, and its distribution", _slowdown),
    "slowdown-by-size": Kind(
        "99th percentile of the slowdown over the flow's size", _of_all("slowdown_by_size")
    ),
    "fct-cdf": Kind("distribution of flow completion times", _of_all("fct_cdf")),
    "loads": Kind("what blocks offer and what is carried over time, of one result", _loads),
    "limits": Kind("what kept flows back over their sizes, of one result", _limits("size")),
    "limits-over-time": Kind("numbers of open flows by what keeps them back, of one result", _limits("time")),
    "operations": Kind(
        "what hosts send, receive and compute over time, of one result", _operations, ("job", "hosts")
    ),
    "jobs": Kind("distribution of job completion times", _of_all("jobs")),
    "jobs-ratio": Kind(
        "distribution of job completion times divided by their lower bounds", _of_all("jobs", ratio=True)
    ),
    "sweep": Kind(
        "a number of a sweep over a key, with intervals over the seeds",
        _of_grid("sweep", "lines"),
        ("measure", "x", "lines", "panels", "baseline"),
    ),
    "heat": Kind(
        "a number of a sweep over two keys, as colours",
        _of_grid("heat", "y"),
        ("measure", "x", "y", "panels", "baseline"),
    ),
}
"""Kinds of pictures."""
