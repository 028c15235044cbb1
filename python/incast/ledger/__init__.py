"""The ledger: figures of papers, their claims, and whether these are reproduced.

A figure is a folder ``papers/PAPER/FIGURE`` with scenarios and a ``claims.toml``. That file gives the runs
to make, the claims of the paper, how each is measured here, and the rule for the verdict. It contains no
verdicts: :func:`judge` computes them from the runs.
"""

from incast.ledger.figure import Claim, Figure, find, ids, papers_folder
from incast.ledger.judge import Judgement, Verdict, judge
from incast.ledger.reader import LedgerError
from incast.ledger.runs import Results, run_figure, run_figures

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
    "run_figures",
]
