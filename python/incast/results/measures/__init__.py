"""Everything that can be asked of a run, by name."""
