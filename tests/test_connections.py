"""Connections: the flows of a pair of hosts share a path, an order and a congestion state."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from blocks import block, joined
from incast import Result, Scenario, ScenarioError

STAR = block("[topology]", kind="star", hosts=4, rate="100Gbps", delay="500ns")
CONSTANT = block("[cc]", algorithm="constant")
RING = block("[[traffic]]", name="ring", kind="ring-allreduce", size="600B", passes=100)

# Two leaves with four hosts each and four spines: with ECMP flows of different pairs collide.
LEAVES = joined(
    "seed = 5\n",
    block("[topology]", kind="leaf-spine", leaves=2, spines=4, hosts=4, rate="100Gbps", delay="1us"),
    block("[switch]", buffer="unlimited"),
    block("[switch.ecn]", kmin="50KB", kmax="200KB", pmax=0.2),
)
ALL_TO_ALL = block("[[traffic]]", name="shuffle", kind="all-to-all", size="100KB", passes=6, barrier=True)


def with_connections(text: str, connections: str) -> Scenario:
    return Scenario.from_toml(text.replace("[[traffic]]\n", f'[[traffic]]\nconnections = "{connections}"\n'))


def ends_of_passes(result: Result, size: int, passes: int) -> NDArray[np.int64]:
    """Returns when the last flow of each pass was acknowledged, of the flows of this size."""
    flows = result.flows
    chosen = np.asarray(flows.column("size_bytes")) == size
    ends = np.asarray(flows.column("finish_ps"))[chosen][np.argsort(np.asarray(flows.column("flow"))[chosen])]
    last: NDArray[np.int64] = ends.reshape(passes, -1).max(axis=1)
    return last


def test_a_ring_takes_as_long_in_every_pass() -> None:
    # A flow of ceil(2 * 3 * 600 / 4) = 900 B is one packet of 954 B, 76.32 ns at 100 Gbps. It arrives
    # after two of these and 1 us. Its receiver then sends the acknowledgement of 64 B, 5.12 ns, and
    # behind it its packet of the next pass: a pass every 1157.76 ns. Pass k from 0 arrives after 1152.64
    # ns + k * 1157.76 ns, and is acknowledged after two times of an acknowledgement and 1 us more.
    result = Scenario.from_toml(joined(STAR, CONSTANT, RING)).run()
    by_hand = 1_152_640 + 1_157_760 * np.arange(100) + 2 * 5_120 + 1_000_000
    np.testing.assert_array_equal(ends_of_passes(result, 900, 100), by_hand)


def test_passes_of_an_all_to_all_repeat_exactly_on_a_star() -> None:
    # The second pass begins when the messages of the barrier arrive, host after host, and not at all
    # hosts at once as the first one; from then on nothing differs from pass to pass.
    result = Scenario.from_toml(joined(STAR, CONSTANT, ALL_TO_ALL)).run()
    times = np.diff(ends_of_passes(result, 100_000, 6))
    assert len(set(times[1:].tolist())) == 1


@pytest.mark.filterwarnings("ignore:.*no flow was held back:incast.IncastWarning")
@pytest.mark.parametrize("cc", ["constant", "dctcp", "swift"])
def test_every_pass_takes_the_same_paths(cc: str) -> None:
    # Nothing is lost, so that each port sends the same bytes in each pass: six times those of one pass
    # without the messages of the barrier.
    shuffle = ALL_TO_ALL.replace("barrier = true\n", "")
    one = shuffle.replace("passes = 6", "passes = 1")

    def sent(text: str, connections: str) -> NDArray[np.int64]:
        algorithm = block("[cc]", algorithm=cc)
        ports = with_connections(joined(LEAVES, algorithm, text), connections).run().ports
        return np.asarray(ports.column("transmitted_bytes"))

    np.testing.assert_array_equal(sent(shuffle, "pair"), 6 * sent(one, "pair"))
    # Without connections each flow has a hash of its own.
    assert (sent(shuffle, "flow") != 6 * sent(one, "flow")).any()


@pytest.mark.filterwarnings("ignore:.*no flow was held back:incast.IncastWarning")
def test_threads_and_repetition_do_not_matter() -> None:
    scenario = Scenario.from_toml(joined(LEAVES, block("[cc]", algorithm="dcqcn"), ALL_TO_ALL))
    prints = {scenario.run(threads=threads).fingerprint for threads in (1, 2, 3, 5, 8, 1)}
    assert len(prints) == 1
    assert prints != {scenario.with_({"traffic.shuffle.connections": "flow"}).run().fingerprint}


def test_idle_connections_start_again_where_the_scenario_says_so() -> None:
    # Reno in slow start from one packet, over messages of two packets with pauses of 20 us between them.
    # A packet takes 84.32 ns on a link, an acknowledgement 5.12 ns: a round trip of both is 2178.88 ns.
    # With the state of a new flow each message takes two; a window that has grown lets both packets leave
    # at once, and it takes one and 84.32 ns.
    slow_start = block("[cc]", algorithm="newreno", initial_window=1)
    loop = block(
        "[[traffic]]",
        name="loop",
        kind="closed-loop",
        connections="pair",
        **{"from": "h0", "to": "h1"},
        sizes="2000B",
        flows=5,
        think="20us",
    )
    text = joined(STAR, slow_start, block("[run]", clock="exact"), loop)
    first, later = 2 * 2_178_880, 2_178_880 + 84_320

    def times(*sections: str) -> list[int]:
        flows = Scenario.from_toml(joined(text, *sections)).run().flows
        return [int(time) for time in np.asarray(flows.column("fct_ps"))]

    assert times() == [first] + [later] * 4
    # The pause is 20 us, and from the last packet of a message on a round trip more.
    assert times(block("[transport]", idle="restart", idle_after="22us")) == [first] * 5
    assert times(block("[transport]", idle="restart", idle_after="23us")) == [first] + [later] * 4


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        (
            [block("[transport]", kind="ndp"), RING.replace("passes", 'connections = "pair"\npasses')],
            'traffic.ring.connections: must be "flow": transport.kind = "ndp" keeps no state',
        ),
        (
            [
                CONSTANT,
                block(
                    "[[traffic]]",
                    name="bursts",
                    kind="on-off",
                    connections="pair",
                    **{"from": "h0", "to": "h1"},
                    on="5us",
                    off="5us",
                    cycles=3,
                ),
            ],
            'traffic.bursts.connections: must be "flow": flows of the block have no size',
        ),
        (
            [
                CONSTANT,
                RING.replace("passes", 'connections = "flow"\npasses'),
                block("[transport]", idle="restart"),
            ],
            "transport.idle: has no effect: no traffic block has connections",
        ),
        (
            [CONSTANT, RING, block("[transport]", idle_after="3us")],
            'transport.idle_after: has no effect: transport.idle is not "restart"',
        ),
    ],
)
def test_what_has_no_connection_is_refused(sections: list[str], message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        Scenario.from_toml(joined(STAR, *sections)).run()
    assert message in str(refused.value)
