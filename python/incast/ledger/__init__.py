"""The ledger: figures of papers, what they claim, and whether it comes out here.

A figure is a folder ``papers/PAPER/FIGURE`` with scenarios and a ``claims.toml``. That file says which
runs to make, what the paper claims, how the same is measured here, and by which rule the verdict
follows. Nothing in it is a verdict: :func:`judge` computes them from the runs.
"""

from incast.ledger.figure import Claim, Figure, LedgerError, find, ids, papers_folder
from incast.ledger.judge import Judgement, Verdict, judge
from incast.ledger.runs import Results, run_figure

__all__ = [
    "Claim",
    "Figure",
    "Judgement",
    "LedgerError",
    "Results",
    "Verdict",
    "find",
    "ids",
    "judge",
    "papers_folder",
    "run_figure",
]
