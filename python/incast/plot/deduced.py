"""An algorithm's estimate of the congestion at a port, beside the view of the port's switch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from incast.plot import style
from incast.results.congestion import congestion_at
from incast.results.result import Result
from incast.units import Time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def deduced(
    result: Result, port: str | tuple[str, int], flow: int | str, base_rtt: str | Time
) -> tuple[Figure, Sequence[Axes]]:
    """Draws inflight and arrival rate of a port over time: what its switch sees, and what a flow deduces.

    What the switch sees is drawn one base RTT later than it happened, when a sender can know it at the
    earliest (CCC, Section 2.2, Figure 2).

    Args:
        result: A result of a scenario with samples of the port and, with ``probe.internals``, of the flow.
        port: The port as for :meth:`Result.find_port`, like ``"s0->h15"``.
        flow: The flow, by number or as ``"burst.3"``; its algorithm must have the internal quantities
            ``deduced_inflight_bytes`` and ``deduced_arrival`` (θ-PowerTCP has).
        base_rtt: Round-trip time without queues, like ``"20us"``.

    Returns:
        The figure, and its two axes.

    Raises:
        KeyError: When the port or the flow has no such samples.
    """
    import matplotlib.pyplot as plt

    seen = congestion_at(result, port, base_rtt)
    found = result.internals_of(flow)
    names = ("deduced_inflight_bytes", "deduced_arrival")
    if any(name not in found for name in names):
        raise KeyError(
            f"flow {flow} has no samples of {' and '.join(names)}; theta-powertcp has them, with [probe] "
            "flows and internals = true"
        )
    inflight, arrival = (found[name] for name in names)
    rate = result.port(result.find_port(port)).rate_bps
    later = (seen.time_ps + int(Time(base_rtt))) / 1e6
    with style.look():
        colour = style.colour(result.info["algorithms"][0])
        figure, grid = plt.subplots(2, sharex=True, figsize=(style.COLUMN, 3.0), layout="constrained")
        top, low = grid
        top.plot(later, seen.inflight_bytes / 1e3, color="black", label="seen by the switch")
        top.plot(inflight.time_ps / 1e6, inflight.value / 1e3, color=colour, label=f"deduced by flow {flow}")
        top.set_ylabel("inflight (KB)")
        low.plot(later, seen.arrival_bps / 1e9, color="black")
        low.plot(arrival.time_ps / 1e6, arrival.value * rate / 1e9, color=colour)
        low.set_ylabel("arrival rate (Gbit/s)")
        low.set_xlabel("time (µs)")
        low.margins(x=0)
        top.legend()
        figure.align_ylabels()
    return figure, [top, low]
