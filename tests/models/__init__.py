"""Independent plain models of hosts and switches, and the tests that hold the simulator against them."""
