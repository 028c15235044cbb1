"""Figure 12: completion times over OSCAR's."""

from incast.ledger import measures
from incast.ledger.runs import Results


def over_oscar(results: Results, run: str, work: str) -> float:
    """The mean completion time of an algorithm's groups over that of OSCAR's."""
    times = [measures.job_time(results.view(f"{name}/{work}")).value for name in (run, "oscar")]
    return times[0] / times[1]
