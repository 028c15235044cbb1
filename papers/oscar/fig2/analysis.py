"""Figure 2 of OSCAR: how long a flow sends nothing."""

from __future__ import annotations

import numpy as np

from incast.ledger.runs import Results
from incast.results.measures.quantity import Quantity


def pause(results: Results, begin: str, end: str) -> Quantity:
    """The longest time of a span in which the long flow's host begins no packet, to half a microsecond."""
    series = results.view("hpcc").port("h0->s0")
    view = results.view("hpcc")
    inside = (series.time_ps >= view.instant(begin)) & (series.time_ps <= view.instant(end))
    time, sent = series.time_ps[inside], series.transmitted_bytes[inside]
    starts = np.flatnonzero(np.diff(sent)) + 1
    return Quantity(float(np.diff(time[starts]).max()) / 1e12, "time")
