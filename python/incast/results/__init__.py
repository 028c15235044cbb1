"""Results of runs: their tables, statistics, captured packets, and numbers that are computed from them."""
