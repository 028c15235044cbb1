"""A solver for fluid models: ordinary differential equations with delays, and what comes out of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from incast.results.arrays import Floats
from incast.results.result import Result
from incast.units import Bytes, Rate, Time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Before = Callable[[Floats], Floats]
"""The state before time 0: takes times in seconds, returns the state with its components along the first
axis."""


class Link:
    """A bottleneck as fluid models see it, with the base RTT of its flows.

    Attributes:
        rate: Its rate.
        base_rtt: The RTT of its flows without a queue.
    """

    def __init__(self, rate: str | Rate, base_rtt: str | Time) -> None:
        """Describes a bottleneck.

        Args:
            rate: Like ``"100Gbps"``.
            base_rtt: Like ``"20us"``.

        Raises:
            ValueError: When one of them is not such a quantity, or zero.
        """
        self.rate = Rate(rate)
        self.base_rtt = Time(base_rtt)
        if not self.rate or not self.base_rtt:
            raise ValueError("a link has a rate and a base RTT above zero")

    @property
    def bytes_per_s(self) -> float:
        """The rate in bytes per second."""
        return int(self.rate) / 8

    @property
    def base_rtt_s(self) -> float:
        """The base RTT in seconds."""
        return seconds(self.base_rtt)

    @property
    def bdp_bytes(self) -> float:
        """Rate times base RTT in bytes: 250 000 at 100 Gbit/s and 20 µs."""
        return int(self.rate) * int(self.base_rtt) / 8e12

    def __repr__(self) -> str:
        return f"Link({str(self.rate)!r}, {str(self.base_rtt)!r})"


def seconds(time: str | Time) -> float:
    """A time in seconds: 2e-05 of ``"20us"``.

    Raises:
        ValueError: When it is no time.
    """
    return int(Time(time)) / 1e12


def amounts(values: str | Bytes | Sequence[str | Bytes]) -> Floats:
    """One or several amounts of data in bytes: ``[1500.0, 3000.0]`` of ``["1500B", "3KB"]``.

    Raises:
        ValueError: When one is no amount.
    """
    several = [values] if isinstance(values, str | int) else list(values)
    return np.array([float(Bytes(value)) for value in several])


class Past:
    """The solution so far, as the derivative of an equation with delays asks for it."""

    def __init__(self, start: Floats, step_s: float, steps: int, before: Before | None) -> None:
        self._states = np.empty((steps + 1, *start.shape))
        self._slopes = np.empty_like(self._states)
        self._step = step_s
        self._known = 0
        self._before = before
        self._states[0] = start

    def __call__(self, component: int | slice, time_s: float | Floats) -> Floats:
        """A component of the state at earlier times.

        Between two steps it is the cubic that has their values and slopes. Before time 0 it is what
        ``before`` says, by default the state at time 0.

        Args:
            component: One, or a slice of several.
            time_s: A time, or an array of times that fits the axes of the state after the first: an own delay
                for each of the solutions that are computed together.

        Returns:
            The component at each of these times.

        Raises:
            ValueError: When a time has not been computed yet: the delay is shorter than a step.
        """
        one = self._states[0, component]
        times = np.broadcast_to(np.asarray(time_s, dtype=np.float64), self._states.shape[2:])
        place = times / self._step
        # The last step's end is known, and nothing after it; a delay of whole steps may be off by a rounding.
        if np.any(place > self._known + 1e-9):
            raise ValueError("a delay is shorter than a step: take shorter steps")
        left = np.clip(np.floor(place), 0, max(self._known - 1, 0)).astype(np.intp)
        right = np.minimum(left + 1, self._known)
        part = np.clip(place - left, 0, 1)
        low, high = self._take(self._states, component, left), self._take(self._states, component, right)
        rise, fall = self._take(self._slopes, component, left), self._take(self._slopes, component, right)
        cubic = (
            (1 + 2 * part) * (1 - part) ** 2 * low
            + part**2 * (3 - 2 * part) * high
            + self._step * part * (1 - part) * ((1 - part) * rise - part * fall)
        )
        found = np.where(right == left, low, cubic)
        if np.any(times < 0):
            earlier = self._before(times)[component] if self._before else one
            found = np.where(times < 0, earlier, found)
        return np.asarray(found, dtype=np.float64)

    @staticmethod
    def _take(table: Floats, component: int | slice, rows: npt.NDArray[np.intp]) -> Floats:
        """Of each of the solutions its own row."""
        chosen = table[:, component]
        if not rows.ndim:
            return np.asarray(chosen[int(rows)])
        # A slice has the components before the axes of the solutions.
        index = np.broadcast_to(rows, chosen.shape[1:])[None]
        return np.asarray(np.take_along_axis(chosen, index, axis=0)[0])

    def _learn(self, number: int, state: Floats) -> None:
        self._states[number] = state
        self._known = number


Derivative = Callable[[float, Floats, Past], npt.ArrayLike]
"""Time in seconds, state, earlier states; returns the state's derivative per second."""


def solve(
    derivative: Derivative,
    start: npt.ArrayLike,
    until: str | Time,
    step: str | Time,
    *,
    least: npt.ArrayLike = -math.inf,
    before: Before | None = None,
) -> tuple[Floats, Floats]:
    """Solves a system of differential equations with delays.

    The method is the classical Runge-Kutta method of fourth order with a fixed step; earlier states come from
    cubic Hermite interpolation of the solution so far, also of fourth order. A step across a kink, such as a
    queue that becomes empty, has an error of the order of the step squared.

    Args:
        derivative: The right-hand side. It is called with the time, the state, and :class:`Past`.
        start: The state at time 0: its components along the first axis. Further axes hold independent
            solutions that are computed together.
        until: The end, like ``"500us"``.
        step: The length of a step at most, like ``"100ns"``.
        least: The smallest value of each component, like 0 for a queue: what is below it after a step is set
            to it. Whether the derivative is zero there is the derivative's business.
        before: The state before time 0; by default that at time 0.

    Returns:
        Times in seconds, of shape (steps + 1), and states, of shape (steps + 1, …).

    Raises:
        ValueError: When the step is zero or longer than the whole time, a delay is shorter than a step, or
            the solution is not finite any more.
    """
    end, longest = seconds(until), seconds(step)
    if not 0 < longest <= end:
        raise ValueError("a step is above zero and at most the whole time")
    state = np.array(start, dtype=np.float64, ndmin=1)
    lowest = np.asarray(least, dtype=np.float64)
    lowest = lowest.reshape(lowest.shape + (1,) * (state.ndim - lowest.ndim)) if lowest.ndim else lowest
    steps = math.ceil(end / longest - 1e-9)
    h = end / steps
    past = Past(state, h, steps, before)
    times: Floats = h * np.arange(steps + 1, dtype=np.float64)

    def slope(time: float, at: Floats) -> Floats:
        return np.asarray(derivative(time, at, past), dtype=np.float64)

    for n in range(steps):
        time = float(times[n])
        first = slope(time, state)
        past._slopes[n] = first
        second = slope(time + h / 2, state + h / 2 * first)
        third = slope(time + h / 2, state + h / 2 * second)
        fourth = slope(time + h, state + h * third)
        state = np.maximum(state + h / 6 * (first + 2 * second + 2 * third + fourth), lowest)
        if not np.all(np.isfinite(state)):
            raise ValueError(f"the solution is not finite any more after {time + h:.3g} s")
        past._learn(n + 1, state)
        # Until the next step begins there is no better slope at its beginning.
        past._slopes[n + 1] = fourth
    return times, past._states


@dataclass(frozen=True)
class Path:
    """A solution: columns over time.

    Attributes:
        time_s: Times in seconds, of shape (times).
        columns: Quantities by name, of shape (times) or (times, …); names end with their unit, like
            ``queue_bytes``.
    """

    time_s: Floats
    columns: Mapping[str, Floats]

    def __getitem__(self, name: str) -> Floats:
        """A column.

        Raises:
            KeyError: When there is none of this name.
        """
        if name not in self.columns:
            raise KeyError(f"there is no column {name!r}; there are {', '.join(self.columns)}")
        return self.columns[name]

    def at(self, name: str, time: str | Time) -> Floats:
        """A column at a time, on the straight line between two steps.

        Returns:
            Its values, of the shape of the column without its first axis.

        Raises:
            ValueError: When the solution does not go so far.
            KeyError: When there is no such column.
        """
        when = seconds(time)
        if when > self.time_s[-1] * (1 + 1e-12):
            raise ValueError(f"the solution ends at {self.time_s[-1]:.3g} s")
        right = int(np.clip(np.searchsorted(self.time_s, when), 1, len(self.time_s) - 1))
        part = (when - self.time_s[right - 1]) / (self.time_s[right] - self.time_s[right - 1])
        column = self[name]
        return np.asarray(column[right - 1] * (1 - part) + column[right] * part)

    def draw(
        self,
        name: str,
        axes: Axes | None = None,
        *,
        result: Result | None = None,
        of: str | None = None,
        start: str | Time = "0us",
        label: str = "theory",
    ) -> Axes:
        """Draws a column over time, over what packets did if there is a result.

        Packets are drawn as a line in the colour of their algorithm, theory as a black dashed one.

        Args:
            name: The column, which must end with ``_bytes``, ``_bps`` or ``_s`` or have no unit.
            axes: Where to draw; by default in a new picture of one column's width.
            result: A run with packets. Of it ``queue_bytes`` is the queue of a port, ``window_bytes`` and
                ``rate_bps`` are the sums over flows, as sampled.
            of: The port (``"to h2"``), or the flows (``"long"``); by default the port with the longest queue,
                or all flows with samples.
            start: When the time of the theory begins in the run.
            label: The name of the theory in the legend.

        Returns:
            The axes; times in µs, data in KB, rates in Gbit/s.

        Raises:
            KeyError: When there is no such column, port or flow.
            ValueError: When packets have nothing that matches the column.
            ImportError: Without matplotlib.
        """
        from incast.plot import style
        from incast.plot.place import legend, place

        shown, size = _shown(name)
        column = self[name].reshape(len(self.time_s), -1)
        with style.look():
            axes = place(axes)
            if result is not None:
                algorithm = result.info["algorithms"][0]
                time, values = _packets(result, name, of)
                look = style.line(algorithm, [algorithm])
                look["label"] += ", packets"
                axes.plot((time - int(Time(start))) / 1e6, values / size, **look)
            lines = axes.plot(self.time_s * 1e6, column / size, color="black", linestyle=(0, (4.0, 1.5)))
            lines[0].set_label(label)
            axes.set(xlabel="time (µs)", ylabel=shown)
            axes.set_xlim(0, self.time_s[-1] * 1e6)
            axes.set_ylim(bottom=0)
            legend(axes, 2)
        return axes


_SHOWN = {"_bytes": ("KB", 1e3), "_bps": ("Gbit/s", 1e9), "_s": ("µs", 1e-6)}


def _shown(name: str) -> tuple[str, float]:
    """Returns the label of an axis, and the size of its unit."""
    for ending, (unit, size) in _SHOWN.items():
        if name.endswith(ending):
            return f"{name.removesuffix(ending).replace('_', ' ')} ({unit})", size
    return name.replace("_", " "), 1.0


def _packets(result: Result, name: str, of: str | None) -> tuple[npt.NDArray[np.int64], Floats]:
    """Times in picoseconds, and what packets have for a column."""
    if name == "queue_bytes":
        from incast.plot.place import ports

        ((_, _, at),) = ports(result, of)
        series = result.port(*at)
        return series.time_ps, series.queue_bytes.astype(np.float64)
    if name not in ("window_bytes", "rate_bps"):
        raise ValueError(f"packets have no {name!r}: draw queue_bytes, window_bytes or rate_bps over them")
    flows = result.probed_flows() if of is None else result.find_flows(of)
    if not flows:
        raise KeyError('no flow has samples; name some in the scenario: [probe] flows = ["all"]')
    several = [result.flow(flow).filled() for flow in flows]
    # Flows are sampled at the same instants from their starts on.
    times = np.unique(np.concatenate([one.time_ps for one in several]))
    total = np.zeros(len(times))
    for one in several:
        total[np.searchsorted(times, one.time_ps)] += np.nan_to_num(getattr(one, name))
    return times, total
