"""The axes of pictures, and the labels of their lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from incast.plot import style
from incast.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def place(axes: Axes | None, square: bool = False) -> Axes:
    """The axes to draw into: those given, or new ones of one column's width."""
    if axes is not None:
        return axes
    import matplotlib.pyplot as plt

    height = style.COLUMN * (0.8 if square else 0.55)
    _, made = plt.subplots(figsize=(style.COLUMN, height), layout="constrained")
    return made


def labelled(results: Mapping[str, Result] | Result) -> Mapping[str, Result]:
    """Results by the label of their algorithm.

    Raises:
        ValueError: Without any result.
    """
    if isinstance(results, Result):
        algorithms = results.info["algorithms"]
        return {algorithms[0] if len(algorithms) == 1 else results.info["name"]: results}
    if not results:
        raise ValueError("there is no result to draw")
    return results


def ports(
    results: Mapping[str, Result] | Result, port: str | tuple[str, int] | None
) -> list[tuple[str, Result, tuple[str, int]]]:
    """Results by label, each with the port to draw; by default the one with the longest queue.

    Raises:
        KeyError: When there is no such port, or none is named and none has samples.
    """
    known = labelled(results)
    if port is not None:
        return [(label, result, result.find_port(port)) for label, result in known.items()]
    probed = next(iter(known.values())).probed_ports()
    if not probed:
        raise KeyError('no port has samples; name some in the scenario: [probe] ports = ["to h3"]')
    busiest = max(probed, key=lambda at: max(result.peak_queue_bytes(*at) for result in known.values()))
    return [(label, result, busiest) for label, result in known.items()]


def legend(axes: Axes, lines: int, loc: Literal["best", "lower right"] = "best") -> None:
    """Adds a legend, if there is more than one line."""
    if lines > 1:
        names = axes.legend(loc=loc, handletextpad=0.5, labelspacing=0.25, borderaxespad=0.3)
        # Lines under the legend stay visible, and its text readable.
        names.set_frame_on(True)
        names.get_frame().set(facecolor="white", edgecolor="none", alpha=0.8)
