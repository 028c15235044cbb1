"""The basis S of CCC's flows against an equal share of the link (CCC's Figure 10)."""

from __future__ import annotations

import numpy as np

from incast.ledger.runs import Results
from incast.results.measures import internal_series

LINE_BPS = 25e9


def _mean(results: Results, run: str, flow: int, flows: int) -> float:
    """The mean of a flow's S in the last 2 ms of the span in which there are so many flows."""
    view = results.view(run)
    time, s = internal_series(view, f"flow.{flow}", "s_bps")
    next_at = f"start(flow.{flows})" if flows < 4 else "start(flow.3)+5ms"
    end = view.instant(next_at)
    return float(np.mean(s[(time >= end - 2_000_000_000) & (time < end)]))


def share(results: Results, run: str, flows: int, which: str) -> float:
    """The smallest or largest S of the flows over the link's equal share."""
    means = [_mean(results, run, flow, flows) for flow in range(flows)]
    return (min(means) if which == "smallest" else max(means)) * flows / LINE_BPS


def third(results: Results, run: str) -> float:
    """The third flow's S over the mean of the first two, while there are three."""
    return _mean(results, run, 2, 3) / np.mean([_mean(results, run, flow, 3) for flow in (0, 1)])
