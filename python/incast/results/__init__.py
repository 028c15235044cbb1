"""Results of runs: their tables, statistics, captured packets, and numbers that are computed from them."""

from incast._core import Table

__all__ = ["Table"]
