"""``incast plot``: pictures of saved results."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from incast import ResultError
from incast.cli.report import folders
from incast.cli.show import open_result
from incast.cli.tables import title
from incast.result import Result
from incast.store import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Draw = Callable[[Mapping[str, Result], tuple[str, int] | None], "Figure"]

FORMATS = ("png", "pdf", "svg")
"""Endings of pictures."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    sub = commands.add_parser(
        "plot",
        help="draw saved results",
        description="Draws saved results into one picture, sized for a two-column paper. "
        f"Kinds: {'; '.join(f'{name}: {about}' for name, (about, _) in KINDS.items())}.",
    )
    sub.add_argument(
        "results",
        nargs="+",
        type=Path,
        metavar="RESULT",
        help="the folder of a result, or a folder of such folders, as `incast compare` writes it",
    )
    sub.add_argument(
        "--kind", choices=tuple(KINDS), metavar="KIND", help=f"one of {', '.join(KINDS)} (default: what fits)"
    )
    sub.add_argument(
        "--port", type=_port, metavar="NODE:PORT", help="the port to draw, like s0:15 (default: the busiest)"
    )
    sub.add_argument(
        "--out", type=_picture, metavar="FILE", help="a .png, .pdf or .svg (default: KIND.png and KIND.pdf)"
    )
    sub.set_defaults(act=act)


def _port(text: str) -> tuple[str, int]:
    node, _, port = text.rpartition(":")
    if not node or not port.isascii() or not port.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not like s0:15: a node, a colon, the port's number")
    return node, int(port)


def _picture(text: str) -> Path:
    if text.rpartition(".")[2].lower() not in FORMATS:
        raise argparse.ArgumentTypeError(f"{text!r} does not end in .{', .'.join(FORMATS)}")
    return Path(text)


def act(options: argparse.Namespace) -> int:
    """Draws, and prints the files that were written."""
    results = labelled([open_result(folder) for folder in folders(options.results)])
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        from incast import plot
    except ImportError:
        raise ResultError("no picture without matplotlib\n    help: pip install 'incast[plot]'") from None
    kind = options.kind or ("panels" if any(r.probed_ports() for r in results.values()) else "slowdown")
    _, draw = KINDS[kind]
    try:
        figure = draw(results, options.port)
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


def labelled(results: Sequence[Result]) -> dict[str, Result]:
    """Results by unique labels: their algorithm, if needed with their seed or their folder.

    The part after a colon changes the dashes of a line but not its colour.
    """

    def described(result: Result, *more: object) -> str:
        name = ", ".join(map(short, result.info["algorithms"]))
        return " ".join([name if ":" in name or not more else f"{name}:", *map(str, more)]).replace(": ", ":")

    def names(*keys: Callable[[Result], object]) -> list[str]:
        return [described(result, *(key(result) for key in keys)) for result in results]

    for found in (names(), names(_seed), names(_folder)):
        if len(set(found)) == len(found):
            break
    return dict(zip(found, results, strict=True))


def _seed(result: Result) -> str:
    return f"seed {result.info['seed']}"


def _folder(result: Result) -> str:
    return str(result.folder)


def _panels(results: Mapping[str, Result], port: tuple[str, int] | None) -> Figure:
    from incast import plot

    chosen = port or busiest(results)
    figure, _ = plot.queue_and_utilisation(results, chosen, _titles(results))
    figure.suptitle(f"{chosen[0]}, port {chosen[1]}", fontsize=8)
    return figure


def _slowdown(results: Mapping[str, Result], port: tuple[str, int] | None) -> Figure:
    from incast import plot

    del port
    for label, result in results.items():
        if not len(result.flow_times().slowdown):
            raise ResultError(f"{label}: no flow with a size finished, so there is no slowdown to draw")
    figure, _ = plot.slowdown(results, _titles(results))
    return figure


def _of_port(name: str) -> Draw:
    def draw(results: Mapping[str, Result], port: tuple[str, int] | None) -> Figure:
        from incast import plot

        axes: Axes = getattr(plot, name)(results, port or busiest(results))
        return cast("Figure", axes.figure)

    return draw


def _of_flows(name: str) -> Draw:
    def draw(results: Mapping[str, Result], port: tuple[str, int] | None) -> Figure:
        from incast import plot

        del port
        axes: Axes = getattr(plot, name)(results)
        return cast("Figure", axes.figure)

    return draw


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


KINDS: dict[str, tuple[str, Draw]] = {
    "panels": ("queue and utilisation of a probed port, a panel for each algorithm", _panels),
    "queue": ("queue of a probed port over time", _of_port("queue")),
    "throughput": ("throughput of a probed port over time", _of_port("throughput")),
    "phase-plane": ("queue of a probed port against its growth", _of_port("phase_plane")),
    "window": ("windows of the probed flows over time", _of_flows("window")),
    "rate": ("rates of the probed flows over time", _of_flows("rate")),
    "goodput": ("goodput of the probed flows over time", _of_flows("goodput")),
    "fairness": ("Jain's index of the goodput of the probed flows over time", _of_flows("fairness")),
    "slowdown": ("slowdown of small and large flows, and its distribution", _slowdown),
    "slowdown-by-size": (
        "99th percentile of the slowdown over the flow's size",
        _of_flows("slowdown_by_size"),
    ),
    "fct-cdf": ("distribution of flow completion times", _of_flows("fct_cdf")),
}
"""What can be drawn: what it shows, and what draws it."""
