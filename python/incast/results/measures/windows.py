"""Measures of what flows carry in a window of time, from its begin to its end.

Payload acknowledged at an instant is interpolated between the samples of a flow. Before its start and from
its end on it is known without samples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from incast.results import stats
from incast.results.arrays import Floats, np
from incast.results.measures.call import declare
from incast.results.measures.quantity import Quantity, picoseconds
from incast.results.measures.view import View

if TYPE_CHECKING:
    import numpy.typing as npt


def single_flows(view: View, flows: list[str]) -> list[int]:
    """Returns the rows of some blocks and single flows, each once."""
    return list(dict.fromkeys(int(row) for name in flows for row in view.rows(name)))


def window_bytes(view: View, flows: list[str], first: int, last: int) -> Floats:
    """Payload of each of some flows that is acknowledged in a window, in bytes.

    Args:
        view: The run.
        flows: Traffic blocks and single flows, each of which counts once.
        first: Begin of the window, in picoseconds.
        last: Its end.
    """
    ends = np.array([first, last])
    return np.array([np.diff(view.acked_at(row, ends))[0] for row in single_flows(view, flows)])


@declare(better="higher")
def carried(view: View, flows: list[str], port: str, start: str = "", end: str = "") -> Quantity:
    """The payload of some flows that is acknowledged in a window, as a share of what a port can send.

    Headers are no payload: 1000 of 1054 bytes of a full link are 0.949.
    """
    first, last = view.window(start, end)
    bits = float(window_bytes(view, flows, first, last).sum()) * 8
    return Quantity(bits / ((last - first) / 1e12 * view.rate_bps(port)))


@declare()
def share(view: View, flows: list[str], of: list[str], start: str = "", end: str = "") -> Quantity:
    """The share of some flows in the payload of others that is acknowledged in a window.

    Args:
        view: The run.
        flows: The flows.
        of: All flows among which they have a share, usually with themselves.
        start: Begin of the window.
        end: Its end.
    """
    first, last = view.window(start, end)
    whole = float(window_bytes(view, of, first, last).sum())
    if not whole:
        raise ValueError(f"nothing of {', '.join(of)} is acknowledged in the window")
    return Quantity(float(window_bytes(view, flows, first, last).sum()) / whole)


@declare(better="higher")
def fairness(
    view: View,
    flows: list[str],
    start: str = "",
    end: str = "",
    fair: list[float] = [],  # noqa: B006  # it is not changed
) -> Quantity:
    """Jain's index of the payloads of single flows that are acknowledged in a window.

    1 when all are equal, 1/n when one of n flows has everything. Flows of which nothing is acknowledged
    count too.

    Args:
        view: The run.
        flows: Traffic blocks and single flows.
        start: Begin of the window.
        end: Its end.
        fair: The fair share of each flow, in any unit: its payload is divided by that first.
    """
    got = window_bytes(view, flows, *view.window(start, end))
    if fair:
        if len(fair) != len(got):
            raise ValueError(f"fair has {len(fair)} numbers for {len(got)} flows")
        if min(fair) <= 0:
            raise ValueError("the numbers of fair are above 0")
        got = got / np.array(fair)
    if not got.any():
        raise ValueError(f"nothing of {', '.join(flows)} is acknowledged in the window")
    return Quantity(stats.jain(got))


@declare(better="higher")
def fairness_over_time(view: View, flows: list[str], step: str, start: str = "", end: str = "") -> Quantity:
    """The mean over steps of time of Jain's index of the payloads acknowledged in a step.

    In each step it is of the flows that have started by its begin and end no earlier than it does. Steps with
    fewer than two flows, or of which nothing is acknowledged, are left out.

    Args:
        view: The run.
        flows: Traffic blocks and single flows.
        step: The length of a step.
        start: Begin of the first step.
        end: End of the last one.
    """
    first, last = view.window(start, end)
    edges = np.arange(first, last + 1, picoseconds(step))
    if len(edges) < 2:
        raise ValueError(f"the window is shorter than one step of {step}")
    rows = single_flows(view, flows)
    got = np.array([np.diff(view.acked_at(row, edges)) for row in rows])
    lives = np.array([view.life_ps(row) for row in rows])
    active: npt.NDArray[np.bool_] = (lives[:, :1] <= edges[:-1]) & (lives[:, 1:] >= edges[1:])
    indices = [
        stats.jain(got[active[:, k], k])
        for k in range(len(edges) - 1)
        if active[:, k].sum() > 1 and got[active[:, k], k].any()
    ]
    if not indices:
        raise ValueError("no step has two flows of which something is acknowledged")
    return Quantity(float(np.mean(indices)))
