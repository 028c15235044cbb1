"""Figure 17: how many flows are under way to a host at the same time."""

import numpy as np

from incast.ledger.runs import Results


def most_flows_at_a_host(results: Results, run: str) -> float:
    """The largest number of flows that are under way to one host, until their last bytes arrive."""
    flows = results[run].flows
    starts, ends = (flows.column(name).astype(np.int64) for name in ("start_ps", "delivered_ps"))
    receivers = flows.column("destination")
    most = 0
    for host in np.unique(receivers):
        of = receivers == host
        times = np.concatenate([starts[of], ends[of]])
        steps = np.concatenate([np.ones(of.sum(), int), -np.ones(of.sum(), int)])
        # A flow that ends at an instant goes before one that starts.
        most = max(most, int(np.cumsum(steps[np.lexsort((steps, times))]).max()))
    return float(most)
