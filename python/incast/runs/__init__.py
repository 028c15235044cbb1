"""Runs: where their results are stored, how many are made in parallel, and studies of several."""
