"""PowerTCP's analysis: control laws by queue, delay, gradient and power as fluid models of one bottleneck.

Source: Addanki, Michel, Schmid, *PowerTCP*, NSDI 2022, section 2 (Equations 1 to 4, Figures 2 and 3), section
3 (Equations 5 to 8, Theorems 1 to 3), appendices A and B.

A law divides a window by its feedback over its target, f/e, and adds β (Equation 2):

    w_i(t + δt) = γ (w_i(t) e / f(t) + β_i) + (1 - γ) w_i(t)

| Law | f/e | Algorithms |
| --- | --- | --- |
| `queue` | 1 + q/(bτ) | by inflight bytes, like HPCC |
| `delay` | (q/b + τ)/τ, which is the same | by RTT, like FAST and Swift |
| `gradient` | 1 + q'/b | by the gradient of the RTT, like TIMELY |
| `power` | (q + bτ)(q' + μ)/(b²τ) | PowerTCP |
| `theta-power` | (1 + q'/b)(q/b + τ)/τ | θ-PowerTCP (Equation 8): power where the link is full |

with q the queue, q' its growth, b the link's rate, τ the base RTT, μ what leaves the link. The first two are
the paper's *voltage*, the third its *current*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from incast.results.arrays import Floats
from incast.theory.fluid import Link, Past, Path, amounts, seconds, solve
from incast.units import Bytes, Time

Law = Literal["queue", "delay", "gradient", "power", "theta-power"]
"""A control law of section 2 or 3."""

LAWS: tuple[Law, ...] = get_args(Law)
"""All of them."""


def reaction(
    law: Law, link: Link, queue_bytes: npt.ArrayLike, growth: npt.ArrayLike, output: npt.ArrayLike = 1.0
) -> Floats:
    """The factor f/e by which a law divides a window (section 2.2, Figure 2; section 3.5).

    Args:
        law: One of :data:`LAWS`.
        link: The bottleneck.
        queue_bytes: The queue.
        growth: The queue's growth as a share of the link's rate, q'/b: 4 where data arrives at five times the
            rate.
        output: What leaves the link as a share of its rate, μ/b; only power sees it.

    Returns:
        The factor, of the shape that the arguments have together.

    Raises:
        ValueError: When there is no such law.
    """
    voltage = 1 + np.asarray(queue_bytes, dtype=np.float64) / link.bdp_bytes
    change = np.asarray(growth, dtype=np.float64)
    sent = np.asarray(output, dtype=np.float64)
    match law:
        case "queue" | "delay":
            factor = voltage + 0 * (change + sent)
        case "gradient":
            factor = 1 + change + 0 * (voltage + sent)
        case "power":
            factor = voltage * (change + sent)
        case "theta-power":
            factor = voltage * (1 + change) + 0 * sent
        case _:
            raise ValueError(f"there is no law {law!r}; known: {', '.join(LAWS)}")
    return np.asarray(factor, dtype=np.float64)


class Model:
    """Flows of one law at one bottleneck, as a fluid model (Equations 3 and 4; 9 and 14 in appendix A).

    For each flow i and the queue:

        w_i' = γ/δt (w_i e/f - w_i + β_i)
        q'   = w/θ - b, and not below 0 where the queue is empty,   θ = q/b + τ,   w = Σ w_i

    What leaves the link, μ, is b where there is a queue and the smaller one of b and w/θ where there is none.

    With ``delayed`` the feedback is as old as appendices A and B have it: f is taken at the time t - θ + t^f,
    the queue sees the windows of t - t^f, and power divides the window of t - θ (Equation 12); the other laws
    divide the present window (Equations 25 to 27). If false, everything is of the same instant.

    Attributes:
        law: The law.
        link: The bottleneck.
        increases_bytes: β_i of each flow, of shape (flows).
        gamma: γ.
        interval_s: δt in seconds.
        forward_s: t^f in seconds.
        delayed: Whether feedback is late.
    """

    def __init__(
        self,
        law: Law,
        link: Link,
        increase: str | Bytes | Sequence[str | Bytes],
        *,
        gamma: float = 0.9,
        interval: str | Time | None = None,
        forward: str | Time = "0us",
        delayed: bool = False,
    ) -> None:
        """Describes the flows.

        Args:
            law: One of :data:`LAWS`.
            link: The bottleneck.
            increase: β, like ``"12.5KB"``: one for each flow; a single one for one flow, or for the sum of
                all flows (Equation 15 is the same for both).
            gamma: γ, the weight of a new window (section 3.3: 0.9).
            interval: δt, the time between updates; by default the base RTT.
            forward: t^f, the delay from the senders to the bottleneck.
            delayed: Whether feedback is late, see above.

        Raises:
            ValueError: When there is no such law, γ is not within 0 and 1, or the delay to the bottleneck is
                not shorter than the base RTT.
        """
        if law not in LAWS:
            raise ValueError(f"there is no law {law!r}; known: {', '.join(LAWS)}")
        if not 0 < gamma <= 1:
            raise ValueError("γ is above 0 and at most 1")
        self.law: Law = law
        self.link = link
        self.increases_bytes = amounts(increase)
        self.gamma = gamma
        self.interval_s = link.base_rtt_s if interval is None else seconds(interval)
        self.forward_s = seconds(forward)
        self.delayed = delayed
        if self.interval_s == 0:
            raise ValueError("an interval between updates is above zero")
        if self.forward_s >= link.base_rtt_s:
            raise ValueError("the delay to the bottleneck is shorter than the base RTT")

    @property
    def increase_bytes(self) -> float:
        """β̂, the sum of all β_i."""
        return float(self.increases_bytes.sum())

    @property
    def per_s(self) -> float:
        """γ_r = γ/δt, how often per second a window is renewed (after Equation 14)."""
        return self.gamma / self.interval_s

    def growth(self, window_bytes: npt.ArrayLike, queue_bytes: npt.ArrayLike) -> Floats:
        """q'/b, the growth of the queue as a share of the link's rate (Equations 4 and 9).

        Equation 4 says that an empty queue does not change; read here as: does not fall.
        """
        queue = np.maximum(np.asarray(queue_bytes, dtype=np.float64), 0)
        free = self._arrival(np.asarray(window_bytes, dtype=np.float64), queue) - 1
        return np.asarray(np.where((queue <= 0) & (free < 0), 0.0, free))

    def _arrival(self, window: Floats, queue: Floats) -> Floats:
        """λ/b: all windows in one RTT, as a share of the link's rate."""
        return window / (queue + self.link.bdp_bytes)

    def _factor(self, window: Floats, queue: Floats) -> Floats:
        """f/e in a state."""
        queue = np.maximum(queue, 0)
        output = np.where(queue > 0, 1.0, np.minimum(self._arrival(window, queue), 1.0))
        return reaction(self.law, self.link, queue, self.growth(window, queue), output)

    def direction(self, window_bytes: npt.ArrayLike, queue_bytes: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Returns the direction in which a state moves without delays: the arrows of Figure 3.

        Args:
            window_bytes: The sum of all windows.
            queue_bytes: The queue.

        Returns:
            w' and q' in bytes per second, each of the shape that the arguments have together.
        """
        window, queue = np.broadcast_arrays(
            np.asarray(window_bytes, dtype=np.float64), np.asarray(queue_bytes, dtype=np.float64)
        )
        change = self.per_s * (window / self._factor(window, queue) - window + self.increase_bytes)
        return change, self.link.bytes_per_s * self.growth(window, queue)

    def path(
        self,
        window_bytes: npt.ArrayLike,
        queue_bytes: npt.ArrayLike = 0.0,
        until: str | Time = "500us",
        step: str | Time = "200ns",
    ) -> Path:
        """Returns the course of windows and queue from a state: the trajectories of Figure 3.

        Args:
            window_bytes: The window of each flow at time 0, of shape (flows); with one flow a number. A
                further axis holds starting points that are computed together: shape (flows, starts).
            queue_bytes: The queue at time 0: a number, or of shape (starts).
            until: The end.
            step: The length of a step at most.

        Returns:
            The columns ``window_bytes``, the sum of all windows, and ``queue_bytes``, both of shape (times)
            or (times, starts), and ``flow_window_bytes`` of shape (times, flows) or (times, flows, starts).

        Raises:
            ValueError: When there is not a window for each flow, or as :func:`incast.theory.fluid.solve`.
        """
        windows = np.atleast_1d(np.asarray(window_bytes, dtype=np.float64))
        if len(windows) != len(self.increases_bytes):
            raise ValueError(
                f"{len(windows)} windows for {len(self.increases_bytes)} flows: the flows are the first axis"
            )
        queue = np.broadcast_to(np.asarray(queue_bytes, dtype=np.float64), windows.shape[1:])
        start = np.concatenate([queue[None], windows])
        slope = self._late if self.delayed else self._at_once
        least = np.concatenate([[0.0], np.full(len(windows), -math.inf)])
        times, states = solve(slope, start, until, step, least=least)
        return Path(
            times,
            {
                "window_bytes": states[:, 1:].sum(axis=1),
                "queue_bytes": states[:, 0],
                "flow_window_bytes": states[:, 1:],
            },
        )

    def _increases(self, like: Floats) -> Floats:
        return self.increases_bytes.reshape((-1,) + (1,) * (like.ndim - 1))

    def _at_once(self, _: float, state: Floats, __: Past) -> Floats:
        queue, windows = state[0], state[1:]
        total = windows.sum(axis=0)
        change = windows / self._factor(total, queue) - windows + self._increases(windows)
        growth = self.link.bytes_per_s * self.growth(total, queue)
        return np.concatenate([growth[None], self.per_s * change])

    def _late(self, time: float, state: Floats, past: Past) -> Floats:
        queue, windows = np.maximum(state[0], 0), state[1:]
        rest = slice(1, None)
        arriving = past(rest, time - self.forward_s) if self.forward_s else windows
        growth = self.link.bytes_per_s * self.growth(arriving.sum(axis=0), queue)
        rtt = queue / self.link.bytes_per_s + self.link.base_rtt_s
        # Feedback left the bottleneck at t - θ + t^f, where the windows of t - θ had arrived.
        sent = past(rest, time - rtt)
        seen = self._factor(sent.sum(axis=0), past(0, time - rtt + self.forward_s))
        divided = sent if self.law in ("power", "theta-power") else windows
        change = divided / seen - windows + self._increases(windows)
        return np.concatenate([growth[None], self.per_s * change])

    def equilibrium(self) -> tuple[float, float]:
        """The sum of all windows and the queue that stay as they are: (bτ + β̂, β̂) (Theorem 1, appendix B).

        Raises:
            ValueError: For the law by gradient, which has none with β̂ > 0 and any number of them with β̂ =
                0; and for θ-power and β̂ = 0, to which the same applies where the queue is empty.
        """
        if self.law == "gradient":
            raise ValueError(
                "the law by gradient has no unique equilibrium: with β of 0 every queue is one, else none"
            )
        if self.law == "theta-power" and self.increase_bytes == 0:
            raise ValueError("with β of 0 every window below one BDP is an equilibrium of θ-power")
        return self.link.bdp_bytes + self.increase_bytes, self.increase_bytes

    def shares_bytes(self) -> Floats:
        """The window of each flow at the equilibrium, (β̂ + bτ)/β̂ · β_i (Theorem 3).

        Raises:
            ValueError: Where there is no equilibrium, or β̂ is 0, with which windows keep the shares that
                they have.
        """
        total, _ = self.equilibrium()
        if self.increase_bytes == 0:
            raise ValueError("with β of 0 flows keep the shares that they have")
        return total / self.increase_bytes * self.increases_bytes

    def decay(self, window_bytes: float, time_s: npt.ArrayLike) -> Floats:
        """The sum of all windows after a perturbation, w_e + (w - w_e) exp(-γ t/δt) (Theorem 2, Equation 18).

        Args:
            window_bytes: The window at time 0.
            time_s: Times in seconds.

        Raises:
            ValueError: For another law than power, to which the equation does not apply.
        """
        if self.law != "power":
            raise ValueError("Equation 18 holds for power alone")
        goal, _ = self.equilibrium()
        return goal + (window_bytes - goal) * np.exp(-self.per_s * np.asarray(time_s, dtype=np.float64))

    def decay_time_s(self, portion: float) -> float:
        """The time in which a portion of a perturbation is gone: -ln(1 - portion) δt/γ (Theorem 2).

        Raises:
            ValueError: When the portion is not within 0 and 1.
        """
        if not 0 <= portion < 1:
            raise ValueError("a portion is at least 0 and below 1")
        return -math.log(1 - portion) / self.per_s

    def printed_jacobian(self) -> Floats:
        """The matrix of appendix A (after Equation 17): derivatives of (q', w') by (q, w) in 1/s, for power.

        It is the limit for a small β̂: the exact one has bτ/(bτ + β̂) times the first row, see
        :meth:`jacobian`.
        """
        by = 1 / self.link.base_rtt_s
        return np.array([[-by, by], [0.0, -self.per_s]])

    def jacobian(self) -> Floats:
        """The derivatives of (q', w') by (q, w) at the equilibrium in 1/s, from the model without delays.

        By central differences of :meth:`direction`.

        Raises:
            ValueError: Where there is no equilibrium, or β̂ is 0: there the queue is empty, and the model has
                a kink.
        """
        window, queue = self.equilibrium()
        if queue == 0:
            raise ValueError("with β of 0 the equilibrium lies where the model has a kink")
        by = min(queue, self.link.bdp_bytes) * 1e-4
        columns = []
        for up, along in ((by, 0.0), (0.0, by)):
            high = self.direction(window + along, queue + up)
            low = self.direction(window - along, queue - up)
            columns.append([float(high[1] - low[1]) / (2 * by), float(high[0] - low[0]) / (2 * by)])
        return np.asarray(np.transpose(columns), dtype=np.float64)

    def eigenvalues(self) -> npt.NDArray[np.complex128]:
        """The eigenvalues of :meth:`jacobian` in 1/s, the one with the largest real part first.

        The equilibrium is asymptotically stable when all real parts are negative (Theorem 1).

        Raises:
            ValueError: As :meth:`jacobian`.
        """
        found = np.linalg.eigvals(self.jacobian()).astype(np.complex128)
        return np.asarray(found[np.argsort(-found.real, kind="stable")])
