"""Swift with an additive step that grows, for Figure 9: an algorithm of Python's, as the built-in one has a fixed step."""

from __future__ import annotations

import functools
from pathlib import Path

import incast
from incast import stats
from incast.scenario import Scenario

HERE = Path(__file__).parent
INTERVALS = (5000, 5002, 5007)
"""Times between arrivals in us."""


class GrowingSwift(incast.CongestionControl):
    """Swift whose additive step is `step` packets per RTT, and `grown` after `after` RTTs below the target.

    TIMELY's rule for its own step (SIGCOMM 2015, section 4.3). Target, share and largest decrease are those of the
    preset `bolt` without flow scaling over the two links of a star.
    """

    overhead = (0, 0)

    def __init__(self, step: float = 0.2, grown: float = 1.0, after: int = 5, target: float = 27e6) -> None:
        self.step, self.grown, self.after, self.target = step, grown, after, target

    def start(self, path: incast.FlowPath, now: int) -> GrowingFlow:
        """The state of a flow that starts, with a window of one BDP."""
        return GrowingFlow(self, path, now)


class GrowingFlow(incast.Flow):
    """The state of one flow: its window in packets, and the RTTs in a row that were below the target."""

    def __init__(self, params: GrowingSwift, path: incast.FlowPath, now: int) -> None:
        self.params, self.path = params, path
        self.window = path.bdp / path.packet
        self.rtt, self.cut_at, self.round_at = path.base_rtt, -path.base_rtt, now
        self.rounds, self.above = 0, False

    def on_ack(self, ack: incast.Ack, hops: object) -> None:
        """Swift's Algorithm 1, with the larger step after some RTTs without a delay above the target."""
        params, now, self.rtt = self.params, ack.now, ack.rtt
        if now - self.round_at >= self.rtt:
            self.rounds = 0 if self.above else self.rounds + 1
            self.above, self.round_at = False, now
        if self.rtt < params.target:
            step = params.grown if self.rounds >= params.after else params.step
            self.window += step / max(self.window, 1.0)
        else:
            self.above = True
            if now - self.cut_at >= self.rtt:
                self.window *= max(1 - 0.8 * (self.rtt - params.target) / self.rtt, 0.5)
                self.cut_at = now
        self.window = min(max(self.window, 0.01), 256.0)

    def allowance(self) -> tuple[float, float]:
        """The window in bytes, paced over an RTT."""
        bytes_ = self.window * self.path.packet
        return max(bytes_, self.path.packet), min(bytes_ * 8e12 / self.rtt, self.path.line_rate)
