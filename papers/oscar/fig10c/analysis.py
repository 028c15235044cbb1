"""Figure 10c: the longest queue of a run."""

from incast.ledger.runs import Results
from incast.results.measures.quantity import Quantity


def longest_queue(results: Results, run: str) -> Quantity:
    """The longest queue of any port of a switch, exactly."""
    return Quantity(float(results[run].ports.column("peak_queue_bytes").max()), "bytes")
