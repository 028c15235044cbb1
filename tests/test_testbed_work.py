"""Operations that depend on each other, as a testbed runs them: by hand, and against the simulator.

Nothing here needs rights or a network: the flows' times are given. So is what the loop gives to sockets.
"""

from __future__ import annotations

import heapq
import random
import select
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import pytest

import incast
from incast import _core
from incast._core import PlannedOperation
from incast.real.testbed import flows as sending
from incast.real.testbed import plan as planning
from incast.real.testbed.work import Work

# Some of these flows are shorter than a first window. That does not matter to when operations come.
pytestmark = pytest.mark.filterwarnings("ignore:.*no flow was held back:incast.IncastWarning")

HEAD = """\
topology = { kind = "star", hosts = 4, rate = "10Gbps", delay = "1us" }
cc = { algorithm = "swift" }
"""

BLOCKS = {
    "ring": 'kind = "ring-allreduce"\nsize = "100KB"\ncompute = "7us"\npasses = 3',
    "steps": 'kind = "ring-allreduce"\nsize = "100KB"\nsteps = true\npasses = 2',
    "barrier": 'kind = "all-to-all"\nsize = "30KB"\nbarrier = true\ncompute = "5us"\npasses = 4',
    "parallel": 'kind = "all-to-all"\nsize = "30KB"\nparallel = 1\npasses = 3',
    "loop": 'kind = "closed-loop"\nsizes = "20KB"\nflows = 5\nparallel = 2\nthink = "9us"',
    "until": 'kind = "closed-loop"\nsizes = "20KB"\nuntil = "200us"\nthink = "9us"',
    "late": 'kind = "ring-allreduce"\nsize = "50KB"\nstart = "40us"\npasses = 2',
    "tree": 'kind = "collective"\noperation = "all-reduce"\nalgorithm = "tree"\nsize = "90KB"\nchunk = "9KB"',
    "layers": 'kind = "parameter-server"\nservers = ["h3"]\nlayers = ["20KB", "30KB"]\ncompute = "11us"',
}
"""Traffic of every kind that has dependencies."""


def run_with(
    described: Sequence[PlannedOperation], earliest: Sequence[int], took: Callable[[int], tuple[int, int]]
) -> Work:
    """Runs operations where it is known how long each flow takes: to the end at its sender, and to arrive."""
    work = Work(described, earliest)
    events: list[tuple[int, int, int]] = []
    now = 0
    while True:
        while events and events[0][0] <= now:
            _, kind, flow = heapq.heappop(events)
            (work.received if kind else work.sent)(flow, now)
        while (started := work.advance(now)) is not None:
            end, arrival = took(started)
            heapq.heappush(events, (now + end, 0, started))
            heapq.heappush(events, (now + arrival, 1, started))
        due = [events[0][0]] if events else []
        due += [] if work.due_ps is None else [work.due_ps]
        if not due:
            return work
        now = min(due)


def follows_the_simulator(scenario: incast.Scenario) -> int:
    """Checks that operations come at the simulator's times if flows take as long; says how many there are."""
    result = scenario.run()
    assert result.end == "finished"
    flows = result.flows
    start, finish, arrival = (flows.column(name) for name in ("start_ps", "finish_ps", "delivered_ps"))
    took = {
        int(flow): (int(finish[row] - start[row]), int(arrival[row] - start[row]))
        for row, flow in enumerate(flows.column("flow"))
    }
    plan = _core.plan(scenario._core)
    work = run_with(plan.operations, [flow.start_ps for flow in plan.flows], took.__getitem__)
    table = result.operations
    known = {
        int(number): (int(table.column("start_ps")[row]), int(table.column("end_ps")[row]))
        for row, number in enumerate(table.column("operation"))
    }
    assert work.open == 0
    assert {
        place: (operation.start_ps, operation.end_ps)
        for place, operation in enumerate(work.operations)
        if not operation.left_out
    } == known
    return len(known)


@pytest.mark.parametrize("kind", BLOCKS)
def test_operations_come_at_the_times_of_the_simulator(kind: str) -> None:
    scenario = incast.Scenario.from_toml(f'{HEAD}[[traffic]]\nname = "it"\n{BLOCKS[kind]}\n', "it.toml")
    assert follows_the_simulator(scenario) >= 10


def schedule(draws: random.Random) -> str:
    """A random graph of operations of four ranks, in GOAL; each depends on operations above it."""
    ranks: list[list[str]] = [[] for _ in range(4)]
    counts = [0] * 4

    def add(rank: int, text: str) -> None:
        here = counts[rank]
        counts[rank] += 1
        ranks[rank].append(f"l{here}: {text}")
        for other in draws.sample(range(here), min(here, draws.randrange(3))):
            ranks[rank].append(f"l{here} {draws.choice(['requires', 'requires', 'irequires'])} l{other}")

    for tag in range(draws.randrange(10, 40)):
        rank = draws.randrange(4)
        if draws.random() < 0.4:
            add(rank, f"calc {draws.choice([0, 500, 3000, 20000])} cpu {draws.randrange(2)}")
        else:
            other = (rank + draws.randrange(1, 4)) % 4
            size = draws.choice([1, 900, 20_000])
            add(rank, f"send {size}b to {other} tag {tag}")
            add(other, f"recv {size}b from {rank} tag {tag}")
    for own in ranks:
        own += [] if own else ["calc 1"]
    blocks = [f"rank {rank} {{\n" + "\n".join(own) + "\n}" for rank, own in enumerate(ranks)]
    return "num_ranks 4\n" + "\n".join(blocks) + "\n"


def test_random_graphs_come_at_the_times_of_the_simulator(tmp_path: Path) -> None:
    draws = random.Random(3)
    operations = 0
    for case in range(40):
        text = schedule(draws)
        (tmp_path / f"{case}.goal").write_text(text)
        block = f'[[traffic]]\nname = "it"\nkind = "goal-file"\nfile = "{tmp_path}/{case}.goal"\n'
        operations += follows_the_simulator(incast.Scenario.from_toml(HEAD + block, "it.toml"))
    assert operations > 1000


def test_a_barrier_of_three_hosts_by_hand() -> None:
    text = (
        HEAD.replace("hosts = 4", "hosts = 3")
        + '[[traffic]]\nname = "it"\nkind = "all-to-all"\nsize = "9KB"\nbarrier = true\npasses = 2\n'
        + 'compute = "10us"\n'
    )
    plan = _core.plan(incast.Scenario.from_toml(text, "it.toml")._core)
    flows = plan.flows
    us = 10**6

    def took(flow: int) -> tuple[int, int]:
        # Messages of a byte take 3 us and 1 us back, flows from h1 15 us and 5 us, others 11 us and 5 us.
        if flows[flow].size_bytes == 1:
            return 4 * us, 3 * us
        return (20 * us, 15 * us) if flows[flow].source == 1 else (16 * us, 11 * us)

    work = run_with(plan.operations, [flow.start_ps for flow in flows], took)
    sends: dict[tuple[int, bool], list[int]] = {}
    computed: dict[int, tuple[int, int]] = {}
    for operation in work.operations:
        assert operation.start_ps is not None
        assert operation.end_ps is not None
        if operation.what == "send":
            small = flows[operation.number].size_bytes == 1
            sends.setdefault((operation.host, small), []).append(operation.start_ps // us)
        elif operation.what == "compute":
            computed[operation.host] = operation.start_ps // us, operation.end_ps // us
    # h2 has all when the flow of h1 has arrived, at 15, and its own are acknowledged, at 16; it tells h0. h1
    # tells it at 20, when its own are acknowledged; h0 has that at 23, computes, and tells the others, who
    # compute from 26 on.
    assert sends[2, True] == [16]
    assert sends[1, True] == [20]
    assert sends[0, True] == [23, 23]
    assert computed == {0: (23, 33), 1: (26, 36), 2: (26, 36)}
    assert {host: sends[host, False] for host in range(3)} == {
        0: [0, 0, 33, 33],
        1: [0, 0, 36, 36],
        2: [0, 0, 36, 36],
    }
    # There is no barrier after the last pass: it ends with h1's flows.
    assert max(operation.end_ps or 0 for operation in work.operations) == 56 * us


def test_what_is_learned_of_late_has_happened_when_it_did() -> None:
    # A computation of 10 after the ends of two flows, and a flow after it.
    work = Work(
        [
            PlannedOperation(0, "send", 0),
            PlannedOperation(0, "send", 1),
            PlannedOperation(0, "compute", 0, time_ps=10, after=[0, 1]),
            PlannedOperation(0, "send", 2, after=[2]),
        ],
        [0, 0, 0],
    )
    assert [work.advance(1), work.advance(2), work.advance(3)] == [0, 1, None]
    # The later end is learned of first.
    work.sent(0, 100)
    assert work.advance(120) is None
    work.sent(1, 90)
    assert work.advance(125) == 2
    assert work.advance(126) is None
    # The computation is from 100 to 110; the flow can start no earlier than when all that is known.
    assert [(o.start_ps, o.end_ps) for o in work.operations[2:]] == [(100, 110), (125, None)]
    assert work.late_ps() == [1, 2, 15]
    assert list(work.waits()) == [(3, "waits for the end of its flow 2")]
    assert work.open == 1


def test_a_flow_may_arrive_before_it_is_waited_for() -> None:
    work = Work(
        [
            PlannedOperation(0, "compute", 0, time_ps=50),
            PlannedOperation(0, "receive", 0, after=[0]),
            PlannedOperation(0, "compute", 0, time_ps=5, after=[1]),
        ],
        [0],
    )
    work.received(0, 20)
    assert work.advance(60) is None
    assert [(o.start_ps, o.end_ps) for o in work.operations] == [(0, 50), (50, 50), (50, 55)]


def test_what_could_start_too_late_is_left_out_with_what_depends_on_it() -> None:
    described = [
        PlannedOperation(0, "send", 0, before_ps=100),
        PlannedOperation(0, "compute", 0, time_ps=30, after=[0], before_ps=100),
        PlannedOperation(0, "send", 1, after=[1], before_ps=100),
        PlannedOperation(0, "compute", 0, time_ps=30, after=[2]),
    ]
    for end, left_out in ((69, []), (70, [1])):
        work = Work(described, [0, 0])
        assert work.advance(0) == 0
        work.sent(0, end)
        # The computation ends at 99 or at 100; the flow may not start at 100.
        assert work.advance(end + 30) == (None if left_out else 1)
        assert work.flows_left_out == left_out
        assert work.open == (0 if left_out else 2)


class Sender:
    """A socket that takes everything and keeps when it was given how much."""

    def __init__(self) -> None:
        self.socket, self.other = socket.socketpair()
        self.given: list[tuple[int, int]] = []

    def close(self) -> None:
        self.socket.close()
        self.other.close()

    def fileno(self) -> int:
        return self.socket.fileno()

    def send(self, data: memoryview) -> int:
        self.given.append((time.monotonic_ns(), len(data)))
        return len(data)

    def sendmsg(self, data: list[memoryview], _: object) -> int:
        return self.send(data[0])


def test_the_first_packets_come_at_the_rate_of_the_link() -> None:
    text = """
topology = { kind = "star", hosts = 3, rate = "10Mbps", delay = "1ms" }
cc = { algorithm = "newreno" }
traffic = [{ kind = "flows", from = ["h0", "h1"], to = "h2", size = "200KB" }]
run = { until = "300ms" }
"""
    plan = planning.read(incast.Scenario.from_toml(text, "two.toml"))
    nothing = sending.Info(0, 0, 0, 0, 0, 0, 0, 0, 0)
    senders = [Sender(), Sender()]
    made = [
        sending.Connection(flow, cast(socket.socket, sender), sender.other, nothing)
        for flow, sender in zip(plan.flows, senders, strict=True)
    ]
    start = time.monotonic_ns() + 1_000_000
    with select.epoll() as events:
        measured = sending.Loop(plan, made, None, lambda *_: None, start, events).measure()
    assert measured.end == "time limit"
    for sender in senders:
        sender.close()
        # A packet of 1054 B takes 843.2 us.
        total, pieces = 0, []
        for when, size in sender.given:
            if total >= 10_000:
                pieces.append(size)
            else:
                assert total + size <= 1000 * (1 + (when - start) / 843_200)
            total += size
        # Then as many packets as before, so that others come in between, until 64 KB are there.
        assert pieces == [10_000, 20_000, 40_000, 65_000, 55_000]
