"""Algorithms outside the simulator: in the Linux kernel, on a testbed, and over real networks."""
