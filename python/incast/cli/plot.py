"""``incast plot``: pictures of saved results."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from incast import ResultError
from incast.cli.report import folders
from incast.cli.show import open_result
from incast.cli.tables import title
from incast.result import Result
from incast.store import short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "pdf", "svg")
"""Endings of pictures."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    sub = commands.add_parser(
        "plot",
        help="draw saved results",
        description="Draws saved results into one picture, fit for a paper of two columns. "
        f"Kinds: {'; '.join(f'{name}: {about}' for name, (about, _) in KINDS.items())}.",
    )
    sub.add_argument(
        "results",
        nargs="+",
        type=Path,
        metavar="RESULT",
        help="the folder of a result, or a folder of such folders, as `incast compare` leaves it",
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
    """Draws, and says which files there are now."""
    results = labelled([open_result(folder) for folder in folders(options.results)])
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        from incast import plot
    except ImportError:
        raise ResultError("no picture without matplotlib\n    help: pip install 'incast[plot]'") from None
    kind = options.kind or ("queue" if any(r.probed_ports() for r in results.values()) else "slowdown")
    _, draw = KINDS[kind]
    figure = draw(results, options.port)
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


def labelled(results: list[Result]) -> dict[str, Result]:
    """Results by what tells them apart: their algorithm; where that is not enough, their folder too."""
    names = [", ".join(map(short, result.info["algorithms"])) for result in results]
    found: dict[str, Result] = {}
    for name, result in zip(names, results, strict=True):
        twice = names.count(name) > 1
        found[f"{name} {result.folder.name}" if twice and result.folder else name] = result
    return found


def _queue(results: Mapping[str, Result], port: tuple[str, int] | None) -> Figure:
    from incast import plot

    chosen = port or busiest(results)
    try:
        series = {label: result.port(*chosen) for label, result in results.items()}
    except KeyError as error:
        raise ResultError(str(error.args[0])) from None
    figure, _ = plot.queue_and_utilisation(series, _titles(results))
    figure.suptitle(f"{chosen[0]}, port {chosen[1]}", fontsize=8)
    return figure


def _slowdown(results: Mapping[str, Result], port: tuple[str, int] | None) -> Figure:
    from incast import plot

    del port
    times = {label: result.flow_times() for label, result in results.items()}
    for label, of in times.items():
        if not len(of.slowdown):
            raise ResultError(f"{label}: no flow with a size finished, so there is no slowdown to draw")
    figure, _ = plot.slowdown(times, _titles(results))
    return figure


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
    return {label: " ".join([title(label.split(" ")[0]), *label.split(" ")[1:]]) for label in results}


Draw = Callable[[Mapping[str, Result], tuple[str, int] | None], "Figure"]

KINDS: dict[str, tuple[str, Draw]] = {
    "queue": ("queue and utilisation of a probed port over time", _queue),
    "slowdown": ("slowdown of finished flows by size", _slowdown),
}
"""What can be drawn: what it shows, and what draws it."""
