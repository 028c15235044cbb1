"""OSCAR's control law (NSDI'26, Algorithms 1 and 2) in Python: `incast run FILE --plugin THIS --set ...`.

The same in Rust, in integers and with what the paper leaves open, is crates/cc/src/oscar.rs.
"""

import incast


class OscarInPython(incast.CongestionControl):
    """OSCAR's control law with the parameters of the paper."""

    overhead = (6, 6)  # 4 B of send time and 2 B of inflight, echoed (section 4.1)

    def __init__(
        self, target: float = 1.5, tau: float = 0.5, u_hai: float = 0.01, u_ai: float = 0.001
    ) -> None:
        self.target, self.tau, self.u_hai, self.u_ai = target, tau, u_hai, u_ai

    def start(self, path: incast.FlowPath, now: int) -> "OscarFlow":
        """The state of a flow that starts."""
        return OscarFlow(self, path, now)


class OscarFlow(incast.Flow):
    """The state of one flow: the batch so far, and the ratio u of window and rate."""

    def __init__(self, params: OscarInPython, path: incast.FlowPath, now: int) -> None:
        self.params, self.path, self.u = params, path, 1.0
        self.begin_batch(now)

    def begin_batch(self, now: int) -> None:
        """Algorithm 1 line 12: a batch begins with the packet that closed the one before."""
        self.begin, self.sent, self.delays, self.inflight = now, [], [], 0

    def on_ack(self, ack: incast.Ack, hops: object) -> None:
        """Algorithm 1: a batch of acknowledgements becomes one estimate."""
        self.sent.append(ack.sent - self.begin)
        self.delays.append(ack.rtt)
        self.inflight += ack.inflight
        n, span = len(self.sent), self.sent[-1]
        if span < self.params.tau * self.path.base_rtt or n < 3:
            return
        delay, middle = sum(self.delays) / n, sum(self.sent) / n
        spread = sum((x - middle) ** 2 for x in self.sent)
        slope = (
            sum((x - middle) * (y - delay) for x, y in zip(self.sent, self.delays, strict=True)) / spread
            if spread
            else 0.0
        )
        self.update(delay, slope, self.inflight / n, n * self.path.packet * 8e12 / span)
        self.begin_batch(ack.sent)

    def update(self, delay: float, slope: float, inflight: float, rate: float) -> None:
        """Algorithm 2, lines 4 to 11: delays in ps, inflight in bytes, rate in bit/s."""
        params, path = self.params, self.path
        if delay <= 1.08 * path.base_rtt:  # the queue is empty: probe
            u = self.u + params.u_hai
        else:
            of_window = inflight * 8e12 / (delay * path.line_rate)
            of_rate = rate / (max(1 + slope, 1e-9) * path.line_rate)
            below = delay < params.target * path.base_rtt
            u = (max if below else min)(of_window, of_rate) + params.u_ai
        self.u = min(u, 1.0)

    def allowance(self) -> tuple[float, float]:
        """Lines 12 and 13: one ratio sets both window and rate."""
        window = self.u * self.params.target * self.path.bdp
        return max(min(window, self.path.bdp), 1.0), self.u * self.path.line_rate
