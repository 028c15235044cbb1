r"""CCC in floating point, with other readings of the paper to find or exclude causes in papers/ccc.

A plugin beside `ccc` of the core (`crates/cc/src/ccc.rs`), which is in integers and has what the paper
prints. With its defaults it has the core's rates (`tests/test_papers_ccc.py`); its parameters are what the
reasons in the claims of fig5, fig9 and tab1 refer to. Of the paper (Jiang et al., NSDI'26) are:

* signals q, Itv, q_v: Equations 2 to 4, section 4.3.1 (`on_ack`);
* criterion and reference rate: Equations 5 and 6, section 4.3.2 (`log_ratio`, `probing_step`);
* regions: Figure 4, as docs/algorithms/ccc.md deduces it (`region`);
* analytical step: Equation 8, section 4.3.3 (`analytical_step`);
* probing steps, v_ai, f, S: Equations 1 and 9, section 4.3.4, Algorithm 1 (`probing_step`, `update_basis`);
* rate and window: section 5 (`allowance`).

Logarithms are exact, also where the testbed's are piecewise (Equation 10). All that the reasons cite, in
about a minute (a second or two for each line; `fig5`, `fig9` or `tab1` as argument for one of them):

    python papers/ccc/readings.py

    fig5: Jain's index from 15 ms to 20 ms, median of five starts; q_B 20 us, window r (RTT_min + q_B)
      as the core's                                    0.51
      transport.payload = 946B                         1.00
      transport.payload = 946B, noise = 100ns          0.50
      step_of_share = 1, 2, 3, 4                       1.00, 0.97, 0.74, 0.64
    fig9: runs of seven in which four flows are fair within 5 ms; window r RTT_min where no other is named
      as the core's                                    1
      window_in_payload = True, window_beyond = 1      0
      whole_nanoseconds = True                         0
      noise = 100ns, 300ns                             1, 3
      window = headroom, constant, none                7, 7, 7 (median 0.4 ms each)
    tab1: T_B and E_B in S1, mean of five seeds
      as the core's                                    156 us, 98.8 %
      negligible = 0                                   400 us, 96.9 %
      negligible = 0.2^290                             280 us, 97.8 %

Single runs. In the first the flows end at 6.83 ms (without `cc.negligible` at 6.71 ms); of the second
`incast show` tells that the senders' links are used to 17 % and 83 %:

    incast run papers/ccc/tab1/s1.toml --plugin papers/ccc/readings.py --set cc.algorithm=ccc-readings \
        --set cc.negligible=0
    incast run papers/ccc/fig5/testbed.toml --plugin papers/ccc/readings.py \
        --set 'cc={algorithm="ccc-readings",q_b="20us"}'
"""

from __future__ import annotations

import math
import random
import statistics
import sys
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import incast
from incast.results import measures
from incast.results.measures.view import View
from incast.units import Time

Window = Literal["headroom", "letter", "constant", "none"]
"""Limit of the bytes in flight: r (RTT_min + q_B), r RTT_min, R_l (RTT_min + q_B), or none."""


class CccReadings(incast.CongestionControl):
    """CCC (NSDI'26) in floating point, with other readings of its text.

    Args:
        q_b: Queueing delay that is aimed at (section 6.1: 5us; on the testbed, section 6.2: 20us).
        window: Limit of the bytes in flight (section 5: ``letter``).
        window_in_payload: Whether the window counts payload in place of bytes on the wire.
        window_beyond: Packets by which the window may be exceeded.
        negligible: A q_v of a smaller magnitude counts as zero; the paper states no such limit.
        noise: Up to this is added to each RTT, drawn uniformly.
        whole_nanoseconds: Whether times are rounded down to nanoseconds.
        step_of_share: Zero for the analytical step of Equation 8, one for each acknowledgement. N for one per
            time: as large, in any time, as that of a flow with an N-th of the line, whatever the flow's rate.
    """

    GAMMA = 0.2  # section 6.1
    DOUBLINGS = 10  # of v_ai, at most; not in the paper
    FLOOR = 1e-3  # of the line rate; not in the paper

    def __init__(
        self,
        q_b: str = "5us",
        window: Window = "headroom",
        window_in_payload: bool = False,
        window_beyond: float = 0.0,
        negligible: float = 2.0**-20,
        noise: str = "0ns",
        whole_nanoseconds: bool = False,
        step_of_share: int = 0,
    ) -> None:
        if window not in get_args(Window):
            raise ValueError(f"window is one of {', '.join(get_args(Window))}")
        self.q_b, self.noise = int(Time(q_b)), int(Time(noise))
        self.window, self.window_in_payload, self.window_beyond = window, window_in_payload, window_beyond
        self.negligible, self.whole_nanoseconds = negligible, whole_nanoseconds
        self.step_of_share = step_of_share
        self.flows = 0

    def start(self, path: incast.FlowPath, now: int) -> CccReadingsFlow:
        """The state of a flow that starts."""
        self.flows += 1
        return CccReadingsFlow(self, path, self.flows)


class CccReadingsFlow(incast.Flow):
    """The state of one flow: times in ps, rates in bit/s."""

    def __init__(self, params: CccReadings, path: incast.FlowPath, seed: int) -> None:
        self.params, self.path = params, path
        self.line = float(path.line_rate)
        self.rate = self.basis = self.line
        self.gradient = 0.0
        self.previous: tuple[int, int] | None = None  # RTT(k-1) and t(k-1)
        self.idle_since: int | None = None
        self.recorded: deque[float] = deque(maxlen=5)
        self.analytical = False
        self.least = min(path.base_rtt / 4096, params.q_b / 4)  # of q in a logarithm
        self.random = random.Random(seed)

    def on_ack(self, ack: incast.Ack, hops: Sequence[incast.IntHop]) -> None:
        """Algorithm 1."""
        params, base = self.params, self.path.base_rtt
        rtt, now = ack.rtt, ack.now
        if params.noise:
            rtt += int(params.noise * self.random.random())
        if params.whole_nanoseconds:
            rtt, now = rtt // 1000 * 1000, now // 1000 * 1000
        before, self.previous = self.previous, (rtt, now)
        if before is None or now == before[1]:
            return
        # Line 2, Equations 2 to 5.
        interval = now - before[1]
        q = max(0, rtt - base)
        self.gradient = params.GAMMA * self.gradient + (1 - params.GAMMA) * (rtt - before[0]) / interval
        q_v = max(-1.0, self.gradient) if abs(self.gradient) >= params.negligible else 0.0
        delta = self.log_ratio(q) - q_v
        # Section 4.3.4: v_ai is 2^n after n round trips at a queue of less than 5 % of RTT_min.
        if q >= 0.05 * base:
            self.idle_since = None
        elif self.idle_since is None:
            self.idle_since = now
        # Line 3.
        region = self.region(q, q_v, delta)
        self.update_basis(q_v, region)
        # Lines 6 to 16.
        elapsed = min(interval / base, 1.0)
        if region == "Ai":
            step = self.analytical_step(q, q_v, elapsed)
        else:
            step = self.probing_step(q, delta, elapsed, region, now)
        self.rate = min(max(self.rate + step, params.FLOOR * self.line), self.line)

    def log_ratio(self, q: float) -> float:
        """The first term of Equation 5."""
        return 0.5 * math.log2(self.params.q_b / max(q, self.least))

    def region(self, q: float, q_v: float, delta: float) -> str:
        """Figure 4, as docs/algorithms/ccc.md deduces it."""
        if q_v > 0 and delta <= 0:
            return "H1d"
        if q < self.params.q_b:
            return "H1i" if q_v < 0 else "H2i"
        if q > 4 * self.params.q_b:
            return "H2d"
        return "Ai" if delta > 0 else "Ad"

    def update_basis(self, q_v: float, region: str) -> None:
        """Line 5, and section 4.3.4: S is the mean of the last five rates at a calm queue."""
        if abs(q_v) < 0.05:
            self.recorded.append(self.rate)
        analytical = region in ("Ai", "Ad")
        if self.analytical and not analytical and self.recorded:
            self.basis = sum(self.recorded) / len(self.recorded)
        self.analytical = analytical

    def analytical_step(self, q: float, q_v: float, elapsed: float) -> float:
        """Equation 8; or, with ``step_of_share``, the same for each RTT_min in place of each packet."""
        missing = self.log_ratio(q + elapsed * self.path.base_rtt * q_v) - q_v
        if self.params.step_of_share:
            return missing * self.line / self.params.step_of_share * elapsed
        return missing * self.path.packet * 8e12 / self.path.base_rtt

    def probing_step(self, q: float, delta: float, elapsed: float, region: str, now: int) -> float:
        """Equations 1, 6 and 9, lines 4 and 8 to 15."""
        free = max(0.0, 1 - q / self.params.q_b)
        if (free * self.line - self.rate) * delta <= 0:
            return 0.0
        if region not in ("H1i", "H2i"):
            return -0.25 * min(abs(q / self.params.q_b - 1), 1.0) * elapsed * self.rate
        trips = 0 if self.idle_since is None else (now - self.idle_since) // self.path.base_rtt
        acceleration = 2.0 ** min(self.params.DOUBLINGS, trips)
        weight = 0.5 * max(0.0, 1 - 2 * self.rate / self.line) if region == "H1i" else 0.1
        return self.basis * weight * free * acceleration * elapsed

    def allowance(self) -> tuple[float | None, float]:
        """Section 5: packets leave at r, and a window limits what is in flight."""
        params, path = self.params, self.path
        if params.window == "none":
            return None, self.rate
        rate = self.line if params.window == "constant" else self.rate
        window = rate * (path.base_rtt + (0 if params.window == "letter" else params.q_b)) / 8e12
        if params.window_in_payload:
            window *= path.packet / path.payload
        return max(window + params.window_beyond * path.packet, path.packet), self.rate


FIGURES: dict[str, list[dict[str, Any]]] = {
    "fig5": [
        {},
        {"transport.payload": "946B"},
        {"transport.payload": "946B", "noise": "100ns"},
        *({"step_of_share": share} for share in (1, 2, 3, 4)),
    ],
    "fig9": [
        {},
        {"window_in_payload": True, "window_beyond": 1.0},
        {"whole_nanoseconds": True},
        {"noise": "100ns"},
        {"noise": "300ns"},
        {"window": "headroom"},
        {"window": "constant"},
        {"window": "none"},
    ],
    "tab1": [{}, {"negligible": 0.0}, {"negligible": 0.2**290}],
}
"""What the reasons of each figure cite: parameters, and keys of the scenario, which have a dot."""


def _view(scenario: str, changes: dict[str, Any], reading: dict[str, Any]) -> View:
    """A run of a scenario of this folder with a reading."""
    keys = {key: value for key, value in reading.items() if "." in key}
    params = {key: value for key, value in reading.items() if "." not in key}
    found = incast.Scenario.load(Path(__file__).parent / scenario).with_(changes | keys)
    return View(scenario, found.with_algorithm(CccReadings, **params).run())


def _fig5(reading: dict[str, Any]) -> str:
    """Jain's index of the last 5 ms of ccc/fig5."""

    def index(start: int) -> float:
        changes = {"traffic.second.start": f"{start}us"}
        view = _view("fig5/testbed.toml", changes, {"q_b": "20us"} | reading)
        return float(measures.jain(view, ["first", "second"], "15ms", "20ms").value)

    return f"Jain's index {statistics.median(index(us) for us in (1000, 1004, 1009, 1013, 1017)):.2f}"


def _fig9(reading: dict[str, Any]) -> str:
    """The time from which four flows are fair, as in `ccc-fair-4` of ccc/fig9."""

    def after(interval: int) -> float:
        changes = {"traffic.flow.interval": f"{interval}us", "run.until": "20100us"}
        view = _view("fig9/arrivals.toml", changes, {"window": "letter"} | reading)
        flows = [f"flow.{number}" for number in range(4)]
        end = "start(flow.3)+5ms"
        return float(measures.fair_after(view, flows, "0.95", "200us", "start(flow.3)", end).value)

    times = [after(us) for us in (5000, 5002, 5004, 5007, 5011, 5013, 5017)]
    middle = statistics.median(times)
    share = f"in {sum(time < math.inf for time in times)} of 7 within 5 ms"
    return share if middle == math.inf else f"{share}, median {middle * 1e3:.1f} ms"


def _tab1(reading: dict[str, Any]) -> str:
    """T_B and E_B, as in `tb-ccc` and `eb-ccc` of ccc/tab1."""
    took, used = [], []
    for seed in (1, 2, 3, 4, 5):
        view = _view("tab1/s1.toml", {"seed": seed, "run.until": "8ms"}, reading)
        took.append(measures.regained(view, "edge0->h0", "3ms", "end(long)", "95%", "20us").value)
        used.append(measures.utilisation(view, "edge0->h0", "0ms", "end(long)").value)
    return f"T_B {statistics.mean(took) * 1e6:.0f} us, E_B {statistics.mean(used):.1%}"


MEASURED: dict[str, Callable[[dict[str, Any]], str]] = {"fig5": _fig5, "fig9": _fig9, "tab1": _tab1}


def main(wanted: Sequence[str]) -> None:
    """Prints what the reasons of some figures cite; without any, of all."""
    if not MEASURED.keys() >= set(wanted):
        sys.exit(f"figures are {', '.join(MEASURED)}")
    for figure in wanted or MEASURED:
        for reading in FIGURES[figure]:
            words = (
                ", ".join(
                    f"{key} = {value:g}" if isinstance(value, float) else f"{key} = {value}"
                    for key, value in reading.items()
                )
                or "as the core's"
            )
            print(f"{figure}: {words}: {MEASURED[figure](reading)}")


if __name__ == "__main__":
    main(sys.argv[1:])
