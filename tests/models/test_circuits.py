"""The ports of ToRs send and drop the same packets as in the plain model of circuits."""

from __future__ import annotations

from collections import Counter

from models.agreement import ran
from models.circuits import Network, RotorCase, drawn

SEEDS = 60


def test_every_port_sends_and_drops_what_it_does_in_the_model() -> None:
    happens: Counter[str] = Counter()
    for seed in range(SEEDS):
        case = drawn(seed)
        network = _compared(case, seed)
        happens["by circuit"] += any(rack.sent[rack.circuit] > 0 for rack in network.racks)
        happens["too long for the day"] += any(rack.blocked for rack in network.racks)
        happens["limited"] += any(rack.limited for rack in network.racks)
        happens["another week"] += network.clock.now > network.rotor.slot * (network.rotor.racks - 1)
    assert happens["by circuit"] > 0.8 * SEEDS
    assert happens["too long for the day"] > 0.5 * SEEDS
    assert happens["limited"] > 0.2 * SEEDS
    assert happens["another week"] > 0.8 * SEEDS


def _compared(case: RotorCase, seed: int) -> Network:
    """The model of a case after its run. The simulator ends one lookahead later, or earlier."""
    result, order = ran(case)
    assert result.sound
    nodes, ports, sent, dropped = (
        list(result.ports.column(name)) for name in ("node", "port", "transmitted_bytes", "dropped_packets")
    )
    simulated = dict(zip(zip(nodes, ports, strict=True), zip(sent, dropped, strict=True), strict=True))
    network = Network(case, order)
    network.run()
    least = network.totals()
    rotor = network.rotor
    network.go_on(min(rotor.delay, rotor.uplink_delay, rotor.circuit_delay))
    most = network.totals()
    for port in least:
        between = zip(least[port], simulated[port], most[port], strict=True)
        assert all(low <= value <= high for low, value, high in between), (seed, port)
    return network
