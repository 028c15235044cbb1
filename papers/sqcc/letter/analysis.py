"""Single steps of patched TIMELY beside Algorithm 2 of the SQCC paper."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incast.ledger.runs import Results
from incast.results.measures import internal_series
from incast.results.measures.quantity import Quantity

BETA = 0.008
"""β of section IV."""

Floats = npt.NDArray[np.float64]


def _steps(results: Results, run: str) -> tuple[Floats, Floats]:
    """RTTs in seconds at which the first flow's rate changed, and the share of it that each change took off.

    The RTT of a completed segment is the internal quantity `previous_rtt` from then on.
    """
    view = results.view(run)
    samples = view.samples("flows.0")
    rate = samples["rate_bps"].astype(float)
    at = np.flatnonzero(np.diff(rate)) + 1
    times, rtts = internal_series(view, "flows.0", "previous_rtt_ps")
    found = np.searchsorted(times, samples["time_ps"][at].astype(np.int64), side="right") - 1
    return rtts[found], 1 - rate[at] / rate[at - 1]


def t_high(results: Results, run: str, above_us: float) -> Quantity:
    """T_high, solved for in line 8 with the RTT and the change of rate of each step beyond an RTT: the mean.

    Raises:
        ValueError: When there is no such step.
    """
    rtt, taken = _steps(results, run)
    beyond = rtt > above_us * 1e-6
    if not beyond.any():
        raise ValueError(f"no RTT is beyond {above_us} us")
    return Quantity(float(np.mean(rtt[beyond] * (1 - taken[beyond] / BETA))), "time")


def taken(results: Results) -> tuple[Floats, Floats]:
    """RTTs in us, and the share of the rate in percent that the step at it took off."""
    rtt, share = _steps(results, "above")
    return rtt * 1e6, share * 100


def line_8() -> tuple[Floats, Floats]:
    """The curve of line 8, percent over RTT in us: β (RTT − T_high)/RTT with T_high = 500 us."""
    rtt = np.linspace(500.0, 2500.0, 100)
    return rtt, 100 * BETA * (1 - 500.0 / rtt)
