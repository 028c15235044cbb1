"""The hops of a flow: how long its packets waited at each port, and whose packets were in front."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import incast
from audited import random_scenario
from blocks import block, graph, joined, link, traffic
from helpers import Incast
from incast import Hops, IncastWarning, Interrupted, Progress, Result, ResultError, Scenario, hops_of
from incast.cli.audit import CAPTURING
from incast.results.hops.matching import earlier_rows
from incast.results.hops.packets import Link, Packets, links_of
from incast.runs import hops as runs_hops
from incast.runs.hops import estimate, ports_between

PACKET = 84_320
"""Time in ps of a full packet, 1,054 B, at 100 Gbps."""

DELAY = 1_000_000
"""Delay of each link here in ps."""

CONSTANT = block("[cc]", algorithm="constant")

MEETING = joined(
    block("[topology]", kind="star", hosts=3, rate="100Gbps", delay="1us"),
    CONSTANT,
    traffic("f", ["h1", "h2"], "h0", size="1KB"),
)
"""Two packets that meet at the switch."""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IncastWarning)
        yield


def hops(text: str, flow: int | str) -> tuple[Hops, Result]:
    scenario = Scenario.from_toml(text)
    result = scenario.run()
    return hops_of(result, flow, scenario), result


def at(found: Hops, port: str) -> incast.Hop:
    (hop,) = (hop for hop in found if hop.port == port)
    return hop


def last_wait(found: Hops, port: str) -> int:
    passage = at(found, port).last
    assert passage is not None
    return passage.wait_ps


def fct(result: Result, flow: int) -> int:
    return int(result.flows.column("fct_ps")[flow])


def whole(found: Hops) -> int:
    """The parts of the packet that decides the end, summed."""
    assert found.sender_ps is not None
    return found.sender_ps + sum(hop.last.time_ps for hop in found.last if hop.last)


def test_of_two_packets_that_meet_the_second_waits_for_the_first() -> None:
    found, result = hops(MEETING, "f.1")
    assert [hop.port for hop in found] == ["h2->s0", "s0->h0", "h0->s0", "s0->h2"]
    assert [hop.to_receiver for hop in found] == [True, True, False, False]
    assert [hop.stage for hop in found] == [0, 1, 0, 1]
    assert [hop.packets for hop in found] == [1] * 4
    hop = at(found, "s0->h0")
    assert (hop.wait_ps, hop.longest_wait_ps, hop.mean_wait_ps) == (PACKET,) * 3
    assert (hop.in_front_ps, hop.paused_ps, hop.idle_ps) == ({0: PACKET}, 0, 0)
    assert hop.last is not None
    assert (hop.last.came_ps, hop.last.left_ps) == (DELAY + PACKET, DELAY + 2 * PACKET)
    assert (hop.last.serialisation_ps, hop.last.propagation_ps) == (PACKET, DELAY)
    assert (hop.last.wait_ps, hop.last.in_front_ps) == (PACKET, {0: PACKET})
    assert sum(hop.wait_ps for hop in found) == PACKET
    # Acknowledgements of 64 B.
    assert whole(found) == fct(result, 1) == 4 * DELAY + 3 * PACKET + 2 * 5_120
    assert (found.flow, found.sender_ps, found.missing) == (1, 0, {})
    first, _ = hops(MEETING, 0)
    assert sum(hop.wait_ps for hop in first) == 0
    assert not any(hop.in_front_ps for hop in first)


def test_waits_at_two_switches() -> None:
    # a and b leave together and meet at leaf0. c comes to leaf1 10 ps before a, and 84,330 ps before b.
    text = joined(
        block("[topology]", kind="leaf-spine", leaves=2, spines=1, hosts=2, rate="100Gbps", delay="1us"),
        CONSTANT,
        traffic("a", "h0", "h2", size="1KB"),
        traffic("b", "h1", "h2", size="1KB"),
        traffic("c", "h3", "h2", size="1KB", start=f"{2 * (DELAY + PACKET) - 10}ps"),
    )
    a, result = hops(text, "a")
    b, _ = hops(text, "b")
    ports = ["h1->leaf0", "leaf0->spine0", "spine0->leaf1", "leaf1->h2"]
    assert [hop.port for hop in b if hop.to_receiver] == ports
    assert [last_wait(b, port) for port in ports] == [0, PACKET, 0, PACKET - 10]
    assert at(b, "leaf0->spine0").in_front_ps == {0: PACKET}
    assert at(b, "leaf1->h2").in_front_ps == {0: PACKET - 10}
    assert [last_wait(a, port) for port in ("leaf0->spine0", "leaf1->h2")] == [0, PACKET - 10]
    assert at(a, "leaf1->h2").in_front_ps == {2: PACKET - 10}
    assert [whole(found) for found in (a, b)] == [fct(result, 0), fct(result, 1)]


def test_a_pause_is_a_part_of_a_wait() -> None:
    # Packets come to t every 84,320 ps and leave it every 843,200 ps. The fourth one finds 2,108 B there and
    # does not fit: t pauses s, which has begun 28 packets when the frame comes. t resumes as the 27th leaves.
    text = joined(
        graph(["a", "b"], ["s", "t"], link("a", "s"), link("s", "t"), link("t", "b", rate="10Gbps"),
              rate="100Gbps", delay="1us"),
        block("[switch]", buffer="1MB", reserve="0B", pfc={"xoff": "3KB", "xon_offset": "1KB"}),
        CONSTANT,
        traffic("f", "a", "b", size="29KB"),
    )  # fmt: skip
    found, result = hops(text, 0)
    first, frame, slow = 2 * (DELAY + PACKET), DELAY + 5_120, 10 * PACKET
    paused = first + 3 * PACKET + frame
    assert 27 < (paused - DELAY - PACKET) / PACKET < 28
    resumed = first + 26 * slow + frame
    wait = resumed - (DELAY + PACKET + 28 * PACKET)
    hop = at(found, "s->t")
    # The last packet came when the one before had left: nothing was in front of it.
    assert (hop.wait_ps, hop.paused_ps, hop.in_front_ps, hop.idle_ps) == (wait, wait, {}, 0)
    assert hop.last is not None
    assert (hop.last.wait_ps, hop.last.paused_ps) == (wait, wait)
    hop = at(found, "t->b")
    waits = [number * (slow - PACKET) for number in range(28)]
    assert (hop.wait_ps, hop.longest_wait_ps, hop.paused_ps) == (sum(waits), waits[-1], 0)
    assert hop.in_front_ps == {0: sum(waits)}
    assert last_wait(found, "t->b") == 0
    assert whole(found) == fct(result, 0)


def test_a_packet_that_is_lost_waits_nowhere() -> None:
    # Of three packets the first is being sent and the second fills the queue.
    text = joined(
        block("[topology]", kind="star", hosts=4, rate="100Gbps", delay="1us"),
        block("[switch]", buffer={"per_port": "1054B"}),
        block("[transport]", rto="1ms"),
        CONSTANT,
        traffic("f", ["h1", "h2", "h3"], "h0", size="1KB"),
    )
    found, result = hops(text, 2)
    assert found.missing == {"s0": 1}
    assert [hop.packets for hop in found] == [2, 1, 1, 1]
    assert at(found, "s0->h0").wait_ps == 0
    # It was sent again when the timer expired, and waited for nothing then.
    assert found.sender_ps == fct(result, 2) - 4 * DELAY - 2 * PACKET - 2 * 5_120
    assert found.sender_ps >= 1_000_000_000
    assert whole(found) == fct(result, 2)
    second, _ = hops(text, 1)
    assert (second.missing, at(second, "s0->h0").in_front_ps) == ({}, {0: PACKET})


def test_a_trimmed_packet_is_followed() -> None:
    # Four packets come to s0 at once: one is sent, two fill the queue, and the last one, which is too large
    # for the place of the small one before it, is trimmed. The header is the next that leaves.
    text = joined(
        block("[topology]", kind="star", hosts=5, rate="100Gbps", delay="1us"),
        block("[switch]", trimming={"data": "1700B"}),
        block("[transport]", recovery="selective", repair="never"),
        CONSTANT,
        traffic("f", ["h1", "h2", "h4"], "h0", size="1KB"),
        traffic("small", "h3", "h0", size="500B", start="40ns"),
    )
    found, result = hops(text, "f.2")
    crossings = found.crossings
    header = crossings["kind"] == "header"
    assert crossings["size_bytes"][header].tolist() == [64]
    assert crossings["wait_ps"][header].tolist() == [PACKET]
    hop = at(found, "s0->h0")
    assert (hop.packets, hop.in_front_ps, found.missing) == (2, {0: PACKET}, {})
    assert at(found, "h4->s0").packets == 2
    assert whole(found) == fct(result, 2)
    second, _ = hops(text, "f.1")
    assert at(second, "s0->h0").in_front_ps == {0: PACKET, 2: 5_120}


def test_sprayed_packets_have_a_row_for_each_port() -> None:
    text = joined(
        block("[topology]", kind="leaf-spine", leaves=2, spines=3, hosts=2, rate="100Gbps", delay="1us"),
        block("[transport]", recovery="selective"),
        block("[balancing]", policy="ops-rounds"),
        CONSTANT,
        traffic("f", ["h0", "h1"], "h2", size="60KB"),
    )
    found, result = hops(text, 0)
    data = [hop for hop in found if hop.to_receiver]
    by_stage = [[hop.packets for hop in data if hop.stage == stage] for stage in range(4)]
    assert [len(packets) for packets in by_stage] == [1, 3, 3, 1]
    assert [sum(packets) for packets in by_stage] == [60] * 4
    assert whole(found) == fct(result, 0)
    assert len([hop for hop in found.last if hop.to_receiver]) == 4


def test_parallel_links_are_named_by_their_ports() -> None:
    text = joined(
        graph(["a", "b"], ["s", "t"], link("a", "s"), link("s", "t", parallel=2), link("t", "b"),
              rate="100Gbps", delay="1us"),
        CONSTANT,
        traffic("f", "a", "b", size="1KB"),
    )  # fmt: skip
    found, result = hops(text, 0)
    names = [hop.port for hop in found]
    assert names[0] == "a->s"
    assert names[1] in ("s:1", "s:2")
    assert result.find_port(names[1]) == ("s", int(names[1][-1]))


def sent_while(result: Result, place: tuple[str, int], begin: int, end: int) -> dict[int | None, int]:
    """The time of a port in an interval, by the flows whose packets it sent: packet by packet."""
    packets = result.packets
    mine = (packets.column("node") == place[0]) & (packets.column("port") == place[1])
    found: dict[int | None, int] = {}
    columns = (packets.column(name)[mine].tolist() for name in ("time_ps", "serialisation_ps", "flow"))
    for left, takes, flow in zip(*columns, strict=True):
        common = min(left + int(takes), end) - max(left, begin)
        if common > 0:
            key = None if flow != flow else int(flow)
            found[key] = found.get(key, 0) + common
    return found


WHOLE = ("wait", "serialisation", "propagation", "link_wait")
"""The parts of the time of a packet at a port."""


def check(found: Hops, result: Result, every: Result) -> None:
    """Checks that all parts add up, and the decisive packet against a run in which every port is captured."""
    rows = {name: column.tolist() for name, column in found.crossings.items()}
    number = result.flows.column("flow").tolist().index(found.flow)
    flow = {name: result.flows.column(name)[number] for name in result.flows.columns}
    followed: set[int] = set()
    for row in range(len(rows["hop"])):
        waits = [rows[f"{name}_ps"][row] for name in ("in_front", "paused", "down", "idle")]
        parts = sum(waits)
        assert min(waits) >= 0
        assert rows["wait_ps"][row] == parts
        # A port that may send does: a header that is returned waited where it was trimmed.
        assert rows["idle_ps"][row] == 0 or rows["kind"][row] == "returned"
        before = rows["before"][row]
        if before == -1:
            assert found.hops[rows["hop"][row]].stage == 0
            continue
        assert before not in followed, "a packet is at two ports"
        followed.add(before)
        assert rows["came_ps"][row] == rows["arrives_ps"][before] <= rows["left_ps"][row]
        assert rows["position_bytes"][row] == rows["position_bytes"][before]
    links = links_of(result)
    peers = {one.name: one.peer for one in links.values()}
    for row in range(len(rows["hop"])):
        if peers[found.hops[rows["hop"][row]].port] >= result.info["hosts"] or rows["arrives_ps"][row] == -1:
            continue
        total, first = 0, row
        while True:
            total += sum(rows[f"{name}_ps"][first] for name in WHOLE)
            if rows["before"][first] == -1:
                break
            first = rows["before"][first]
        assert total == rows["arrives_ps"][row] - rows["left_ps"][first]
    for hop in found:
        assert sum(hop.in_front_ps.values()) + hop.paused_ps + hop.down_ps + hop.idle_ps == hop.wait_ps
    data = [
        kind == "data" and before == -1 for kind, before in zip(rows["kind"], rows["before"], strict=True)
    ]
    assert sum(data) == flow["packets"]
    if flow["finished"]:
        assert whole(found) == flow["fct_ps"]
        for hop in found.last:
            passage = hop.last
            assert passage is not None
            place = result.find_port(hop.port)
            if passage.came_ps is not None and passage.wait_ps:
                assert passage.in_front_ps == sent_while(every, place, passage.came_ps, passage.left_ps)
    else:
        assert found.last == ()


REFUSED = ("rotor", "slow receivers")
"""First words of the kinds of random scenarios that have what hops cannot show."""


@pytest.mark.parametrize("number", range(50))
def test_random_scenarios_add_up(number: int) -> None:
    name, scenario = random_scenario(number)
    result = scenario.run()
    every = scenario.with_(CAPTURING).run()
    slowdown = np.nan_to_num(result.flows.column("slowdown"), nan=np.inf)
    started = np.flatnonzero(result.flows.column("started"))
    slowest = started[np.argsort(-slowdown[started], kind="stable")][:3]
    for row in slowest.tolist():
        flow = int(result.flows.column("flow")[row])
        if name.startswith(REFUSED):
            with pytest.raises(ResultError, match=f"hops of flow {flow}: "):
                hops_of(result, flow, scenario)
        else:
            check(hops_of(result, flow, scenario), result, every)


SPREAD: dict[str, dict[str, Any]] = {
    "ops": {},
    "reps": {},
    "random": {},
    "adaptive": {"thresholds": ["40KB", "80KB", "160KB"]},
}


@pytest.mark.parametrize("policy", SPREAD)
@pytest.mark.parametrize("lossless", [False, True], ids=["losses", "pauses"])
def test_packets_on_many_paths_add_up(policy: str, lossless: bool) -> None:
    scenario = Scenario.from_dict(
        {
            "topology": {
                "kind": "leaf-spine", "leaves": 3, "spines": 4, "hosts": 4, "rate": "100Gbps", "delay": "1us",
            },
            "switch": {"buffer": "400KB", "pfc": {}} if lossless else {"buffer": "200KB"},
            "transport": {"recovery": "selective", "rto": "200us"},
            "balancing": {"policy": policy, **SPREAD[policy]},
            "cc": {"algorithm": "constant"},
            "traffic": [
                {"name": "in", "kind": "flows", "from": "h4-h11", "to": "h0", "size": "300KB"},
                {"name": "other", "kind": "permutation", "size": "300KB"},
            ],
        }
    )  # fmt: skip
    result = scenario.run()
    every = scenario.with_(CAPTURING).run()
    pauses = 0
    for flow in (*result.find_flows("in")[:2], *result.find_flows("other")[-5:]):
        found = hops_of(result, flow, scenario)
        check(found, result, every)
        pauses += sum(hop.paused_ps for hop in found)
    assert (pauses > 0) == lossless


def matched(came: list[int], left: list[int], since: int = 0, dropped: int = 0) -> list[int]:
    """The places among equal packets that came to a switch of the ones that left it by one port, by time."""
    rows = [(time, 0, 2) for time in came] + [(time, 2, 1) for time in left]
    one = np.ones(len(rows), dtype=np.int64)
    time, node, peer = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    packets = Packets(time, node, 0 * one, one, one, one, 0 * one, one, np.array(["ack"] * len(rows)),
                      time, 0 * one, time, peer, 0 * one)  # fmt: skip
    links = {(2, 0): Link("s->b", "s", 1, 0, 1, 1, dropped, 1)}
    before, missing = earlier_rows(packets, since * one, 0, 1, links)
    assert missing == ({"s": len(came) - len(left)} if len(came) > len(left) else {})
    return [int(row) for row in before[len(came) :]]


def test_equal_copies_are_matched_by_order_and_time() -> None:
    assert matched([0, 10, 20], [5, 15, 25]) == [0, 1, 2]
    # Nothing was dropped, so that the others are in the queue behind the first.
    assert matched([0, 10, 20], [25]) == [0]
    # Some were: it may have been any of the three, and the last is taken.
    assert matched([0, 10, 20], [25], dropped=2) == [2]
    assert matched([0, 10, 20], [15, 25], dropped=1) == [1, 2]
    assert matched([0, 10, 30], [15, 25], dropped=1) == [0, 1]
    # From 10 on the port had no break: what came before was gone.
    assert matched([0, 10], [12], since=10, dropped=1) == [1]


def test_a_copy_cannot_have_waited_through_a_break() -> None:
    # Two ports of one switch, and two copies: the one that left last by time waited longer.
    one = np.ones(4, dtype=np.int64)
    time = np.array([0, 50, 60, 70], dtype=np.int64)
    node, port = np.array([0, 0, 2, 2]), np.array([0, 0, 0, 1])
    peer = np.array([2, 2, 1, 1])
    packets = Packets(time, node, port, one, one, one, 0 * one, one, np.array(["ack"] * 4), time, 0 * one,
                      time, peer, 0 * one)  # fmt: skip
    links = {(2, number): Link("s->b", "s", 1, number, 1, 1, 0, 1) for number in (0, 1)}
    early, _ = earlier_rows(packets, np.array([0, 0, 40, 0]), 0, 1, links)
    assert early.tolist() == [-1, -1, 1, 0]
    late, _ = earlier_rows(packets, np.array([0, 0, 0, 40]), 0, 1, links)
    assert late.tolist() == [-1, -1, 0, 1]


def test_every_port_of_a_shortest_path_is_captured() -> None:
    topology = block("[topology]", kind="leaf-spine", leaves=2, spines=3, hosts=2, rate="1Gbps", delay="1us")
    links = links_of(
        Scenario.from_toml(joined(topology, CONSTANT, traffic("f", "h0", "h2", size="1KB"))).run()
    )
    far = [links[port].name for port in ports_between(links, 0, 2, hosts=4)]
    up = [f"leaf0->spine{i}" for i in range(3)] + [f"spine{i}->leaf1" for i in range(3)]
    down = [f"leaf1->spine{i}" for i in range(3)] + [f"spine{i}->leaf0" for i in range(3)]
    ends = ["h0->leaf0", "leaf1->h2", "h2->leaf1", "leaf0->h0"]
    assert sorted(far) == sorted([*up, *down, *ends])
    near = [links[port].name for port in ports_between(links, 0, 1, hosts=4)]
    assert sorted(near) == sorted(["h0->leaf0", "leaf0->h1", "h1->leaf0", "leaf0->h0"])


def test_flows_of_named_cards_and_servers_add_up() -> None:
    rail = {
        "kind": "rail-optimized",
        "servers": 3,
        "rails": 2,
        "spines": 2,
        "rate": "100Gbps",
        "delay": "1us",
    }
    flows = {"kind": "flows", "from": ["h0.1", "h1"], "to": "h2", "size": "100KB"}
    reduce = {"kind": "collective", "operation": "all-to-all", "size": "200KB"}
    for block_ in (flows, reduce):
        scenario = Scenario.from_dict({"topology": rail, "cc": {"algorithm": "swift"}, "traffic": [block_]})
        result, every = scenario.run(), scenario.with_(CAPTURING).run()
        for flow in (0, len(result.flows) - 1):
            check(hops_of(result, flow, scenario), result, every)


def test_an_open_flow_has_no_end() -> None:
    text = joined(MEETING.replace("1KB", "1MB"), block("[run]", until="20us"))
    found, _ = hops(text, 1)
    assert (found.sender_ps, found.last) == (None, ())
    assert at(found, "s0->h0").packets > 50
    assert found.missing["s0"] > 50


def test_hosts_that_take_packets_slowly_are_refused() -> None:
    slow = {"impairments": {"receivers": [{"hosts": ["h0"], "rate": "50Gbps", "buffer": "100KB"}]}}
    scenario = Scenario.from_toml(MEETING).with_(slow)
    result = scenario.run()
    with pytest.raises(ResultError, match=r"impairments\.receivers"):
        hops_of(result, 0, scenario)


def test_too_many_packets_are_refused_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = Scenario.from_toml(MEETING)
    result = scenario.run()
    # Two packets at s0->h0, two acknowledgements at h0->s0, and one of each at the other two.
    ports = ports_between(links_of(result), 1, 0, hosts=3)
    end = int(result.info["outcome"]["now_ps"])
    assert estimate(result, ports, (0, end)) == 6
    assert estimate(result, ports, (0, end // 2)) == 3
    monkeypatch.setattr(runs_hops, "MOST_PACKETS", 5)
    with pytest.raises(ResultError, match="about 6 packets pass its 4 ports"):
        hops_of(result, 0, scenario)


def test_an_interrupted_run_is_refused() -> None:
    # It would take hours.
    scenario = Scenario.from_toml(MEETING.replace("1KB", "10TB"))

    def stop(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stopped:
        scenario.run(progress=stop)
    with pytest.raises(ResultError, match="the run was interrupted"):
        hops_of(stopped.value.result, 0, scenario)


def test_another_run_is_not_taken_for_the_same() -> None:
    scenario = Scenario.from_toml(MEETING)
    result = scenario.run()
    with pytest.raises(ResultError, match="the repeated run has other flows: another build"):
        hops_of(result, 0, scenario.with_({"topology.delay": "2us"}))
    with pytest.raises(ResultError, match="give hops_of the scenario"):
        hops_of(result, 0)


def test_flows_that_are_not_there_are_refused() -> None:
    late = traffic("late", "h1", "h0", size="1KB", start="10us")
    scenario = Scenario.from_toml(joined(MEETING, late, block("[run]", until="5us")))
    result = scenario.run()
    for flow, words in (("f", "means 2 flows"), (7, "no flow 7"), ("late", "had not started")):
        with pytest.raises(KeyError, match=words):
            hops_of(result, flow, scenario)


def test_the_command(incast: Incast) -> None:
    (incast.folder / "meet.toml").write_text(MEETING)
    assert incast.here("run", "meet.toml", "--out", "meet", "--quiet").returncode == 0
    done = incast.here("explain", "meet", "--flow", "f.1", "--hops")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "s0->h0        1  0.0843   0.0843  0.0843  flow 0 100 %" in lines
    assert "The last packet waited 84.3 ns at s0->h0, all behind flow 0." in lines
    assert "Its acknowledgement did not wait." in lines
    assert done.stdout.startswith(incast.here("explain", "meet", "--flow", "1").stdout.rstrip("\n"))
    assert all(len(line) <= 80 for line in lines)
    alone = incast.here("explain", "meet", "--hops")
    assert (alone.returncode, alone.stdout) == (2, "")
    assert "add --flow FLOW" in alone.stderr
