"""Internal quantities of congestion control over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from incast.plot import style
from incast.plot.over_time import MOST_NAMES, Flows
from incast.plot.place import legend
from incast.results.result import Internal, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_UNITS = {"_bytes": ("KB", 1e3), "_bps": ("Gbit/s", 1e9), "_ps": ("µs", 1e6)}
"""The unit that the quantities with an ending are drawn in, and how many of the table's make one."""


def internals(result: Result, flows: Flows | None = None) -> tuple[Figure, Sequence[Axes]]:
    """Draws the internal quantities of flows: a panel for each quantity, with a line for each flow.

    Args:
        result: A result of a scenario with ``probe.internals``.
        flows: Their numbers, or names like ``"burst"`` (all flows of a traffic block) and ``"burst.3"`` (its
            fourth flow to start); by default all that have samples.

    Returns:
        The figure, and its axes in the order of the quantities.

    Raises:
        KeyError: When there are no samples of internal quantities, or none of one of the flows.
    """
    import matplotlib.pyplot as plt

    numbers = result.probed_flows() if flows is None else _probed_flows(result, flows)
    of_flow = {number: result.internals_of(number) for number in numbers}
    if flows is None:
        of_flow = {number: found for number, found in of_flow.items() if found}
    if not of_flow:
        raise KeyError(
            'no flow has samples of internal quantities; write [probe] flows = ["all"], internals = true'
        )
    names = list(dict.fromkeys(name for found in of_flow.values() for name in found))
    groups = dict(
        zip(result.flows.column("flow").tolist(), result.flows.column("group").tolist(), strict=True)
    )
    with style.look():
        size = (style.COLUMN, 0.4 + 1.1 * len(names))
        figure, grid = plt.subplots(
            len(names), sharex=True, figsize=size, layout="constrained", squeeze=False
        )
        axes: list[Axes] = grid[:, 0].tolist()
        shades = style.shades(style.colour(result.info["algorithms"][0]), len(of_flow))
        for panel, name in zip(axes, names, strict=True):
            text, scale = _label(name)
            for (number, found), shade in zip(of_flow.items(), shades, strict=True):
                if name in found:
                    _line(panel, found[name], scale, shade, f"{groups.get(number, '?')}, flow {number}")
            panel.set_ylabel(text)
            panel.margins(x=0)
        axes[-1].set_xlabel("time (µs)")
        if len(of_flow) <= MOST_NAMES:
            legend(axes[0], len(of_flow))
        figure.align_ylabels()
    return figure, axes


def _line(panel: Axes, values: Internal, scale: float, colour: str, name: str) -> None:
    panel.plot(values.time_ps / 1e6, values.value / scale, color=colour, label=name)


def _label(name: str) -> tuple[str, float]:
    """The label of a panel, and the divisor of its values."""
    for ending, (unit, scale) in _UNITS.items():
        if name.endswith(ending):
            return f"{name.removesuffix(ending)} ({unit})", scale
    return name, 1.0


def _probed_flows(result: Result, flows: Flows) -> list[int]:
    """Returns the numbers of the named flows; fails for one that has no samples."""
    named = [flows] if isinstance(flows, (str, int)) else flows
    numbers = list(dict.fromkeys(number for one in named for number in result.find_flows(one)))
    for number in numbers:
        if not result.internals_of(number):
            raise KeyError(f"no samples of internal quantities of flow {number}")
    return numbers
