"""What other simulators made of given inputs, and the tests that hold Incast against it."""
