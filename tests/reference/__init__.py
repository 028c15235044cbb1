"""Results of other simulators for given inputs, and the tests that hold Incast against them."""
