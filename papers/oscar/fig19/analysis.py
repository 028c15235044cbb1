"""Figure 19: whether the slowdown goes one way with a parameter."""

import numpy as np

from incast.ledger import measures
from incast.ledger.runs import Results


def steps(results: Results, each: str, up: bool, above: str = "0B", up_to: str = "") -> float:
    """The share of the steps of a sweep in which the mean slowdown of a class of sizes rises, or falls."""
    names = results.matching(each)
    means = [measures.slowdown(results.view(name), "mean", above=above, up_to=up_to).value for name in names]
    return float(np.mean(np.diff(means) > 0 if up else np.diff(means) < 0))
