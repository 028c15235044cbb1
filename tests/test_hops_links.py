"""The hops of a flow where links and clocks are not ideal: own clocks, bit errors, changes and failures."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from helpers import Incast
from incast import Hops, IncastWarning, Result, Scenario, hops_of
from incast.audit.evidence import duration, quantity
from incast.cli.audit import CAPTURING
from incast.cli.hops import describe
from models.spreading import mix
from test_hops import DELAY, MEETING, PACKET, at, check, fct, hops, last_wait, whole

ACK = 5_120
"""Time in ps of an acknowledgement, 64 B, at 100 Gbps."""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IncastWarning)
        yield


def changed(**keys: object) -> str:
    """Two packets that meet at the switch, with other keys; their timeouts are a millisecond."""
    return Scenario.from_toml(MEETING).with_({"transport.rto": "1ms", **keys}).to_toml()


def on_links(found: Hops, name: str) -> list[int]:
    """A part of the time of the packet that decides the end, and of its acknowledgement, at each port."""
    return [getattr(hop.last, f"{name}_ps") for hop in found.last]


def said(found: Hops, result: Result) -> str:
    """The description of the hops of a flow in one line."""
    return describe(found, fct(result, found.flow)).replace("\n", " ")


def slow_ppb(seed: int, node: int) -> int:
    """By how many billionths the clock of a node is slow (docs/network/random.md)."""
    return mix(mix(seed) ^ mix(0x636C6F636B ^ node << 40)) % 200_001


def cycle_wait(seed: int, node: int, port: int, packet: int) -> int:
    """The wait of a packet of a port, numbered from 1, for the next cycle of its node's clock, in ps."""
    stream = mix(mix(mix(seed) ^ mix(0x636C6F636B ^ node << 40)) ^ port)
    return mix(stream ^ mix(packet)) % 1_000


def test_packets_take_the_time_of_the_clock_of_their_node() -> None:
    """Two packets of 84,320 ps meet; h1, h2 and s0 are nodes 1, 2 and 3.

    With seed 1 the clock of h1 is 72,494 ppb slow: 84,320 ps take 6.11 ps longer, rounded down 6. The clock
    of h2 is 190,858 ppb slow (16.09 ps), and the one of s0 120,222 ppb (10.14 ps). The packet of h1 waits
    32 ps for a cycle, and is at s0 at 84,326 + 1,000,000 + 32; the one of h2 waits 247 ps and comes at
    84,336 + 1,000,000 + 247, which is 225 ps later. So it waits for 84,330 - 225 = 84,105 ps.
    Acknowledgements of 5,120 ps take less than a picosecond longer, by the clock of h0, too.
    """
    found, result = hops(changed(**{"run.clock": "100ppm", "seed": 1}), 1)
    assert [slow_ppb(1, node) for node in (1, 2, 3)] == [72_494, 190_858, 120_222]
    assert (cycle_wait(1, 1, 0, 1), cycle_wait(1, 2, 0, 1)) == (32, 247)
    assert on_links(found, "serialisation") == [84_336, 84_330, 5_120, 5_120]
    assert on_links(found, "propagation") == [DELAY] * 4
    # At s0 it is the second packet of port 0; the last acknowledgement is the first of port 2.
    waits = [247, cycle_wait(1, 3, 0, 2), cycle_wait(1, 0, 0, 2), cycle_wait(1, 3, 2, 1)]
    assert on_links(found, "link_wait") == waits
    hop = at(found, "s0->h0")
    assert (hop.wait_ps, hop.in_front_ps, hop.idle_ps) == (84_105, {0: 84_105}, 0)
    assert whole(found) == fct(result, 1)
    assert f"{sum(waits) / 1e3:.3g} ns of waits on links" in said(found, result)


def test_clocks_that_a_scenario_has_by_default_are_followed_too(incast: Incast) -> None:
    loses = {"cc": {"algorithm": "newreno"}, "transport.recovery": "selective", "switch.buffer": "100KB"}
    (incast.folder / "loses.toml").write_text(changed(**loses))
    assert incast.here("run", "loses.toml", "--out", "loses", "--quiet").returncode == 0
    done = incast.here("explain", "loses", "--flow", "f.1", "--hops")
    assert done.returncode == 0, done.stderr
    assert " ns of waits on links" in done.stdout.replace("\n", " ")


def test_noise_of_stamps_and_clocks_of_hosts_alter_no_packet() -> None:
    noisy = {"timestamp_noise": "10ns", "clock_offset": "1us", "clock_drift": "100ppm"}
    found, result = hops(changed(cc={"algorithm": "swift"}, impairments=noisy), 1)
    hop = at(found, "s0->h0")
    assert (hop.wait_ps, hop.in_front_ps, hop.idle_ps) == (PACKET, {0: PACKET}, 0)
    assert whole(found) == fct(result, 1) == 4 * DELAY + 3 * PACKET + 2 * ACK


def test_a_packet_that_a_link_corrupts_has_no_further_hop() -> None:
    """The link of h2 corrupts each packet with probability one half; with seed 1 the first two.

    They are sent again after 1 and 2 ms more (the timeout doubles), and the third copy waits for nothing.
    """
    errors = [{"between": ["h2", "s0"], "packet_error_rate": 0.5}]
    found, result = hops(changed(impairments={"errors": errors}, seed=1), 1)
    assert [(hop.port, hop.packets, hop.lost) for hop in found] == [
        ("h2->s0", 3, 2),
        ("s0->h0", 1, 0),
        ("h0->s0", 1, 0),
        ("s0->h2", 1, 0),
    ]
    assert (found.missing, found.sender_ps) == ({}, 3_000_000_000)
    assert whole(found) == fct(result, 1) == 3_000_000_000 + 4 * DELAY + 2 * PACKET + 2 * ACK
    crossings = found.crossings
    assert crossings["arrives_ps"][crossings["hop"] == 0].tolist() == [-1, -1, 3_000_000_000 + PACKET + DELAY]
    assert "Lost on links, which failed or had bit errors: 2 behind h2->s0." in said(found, result)


def test_rate_and_delay_are_those_of_the_instant() -> None:
    """The first packet begins to leave s0 at 1,084,320 ps, before the change, and the second after it."""
    half = {"between": ["h0", "s0"], "at": "1100ns", "rate": "50Gbps"}
    found, result = hops(changed(change=[half]), 1)
    assert on_links(found, "serialisation") == [PACKET, 2 * PACKET, 2 * ACK, ACK]
    assert last_wait(found, "s0->h0") == PACKET
    assert whole(found) == fct(result, 1) == 4 * DELAY + 4 * PACKET + 3 * ACK
    # The second one's last bit leaves at DELAY + 3 packets and would be there half a microsecond later,
    # before the first one, which arrives at 2 delays and 2 packets.
    near = {"between": ["h0", "s0"], "at": "1100ns", "delay": "500ns"}
    found, result = hops(changed(change=[near]), 1)
    assert on_links(found, "propagation") == [DELAY, DELAY // 2, DELAY // 2, DELAY]
    assert on_links(found, "link_wait") == [0, DELAY // 2 - PACKET, 0, 0]
    # So both are acknowledged at once.
    hop = at(found, "h0->s0")
    assert hop.last is not None
    assert (hop.last.wait_ps, hop.last.in_front_ps) == (ACK, {0: ACK})
    assert whole(found) == fct(result, 1) == 3 * DELAY + DELAY // 2 + 2 * PACKET + 3 * ACK


def test_packets_wait_for_a_link_that_is_down() -> None:
    """The link to h0 fails at 1.1 us, as the first packet is on it, and returns at 3 us.

    The second waits for the first, until 1,168,640 ps, and then for the link.
    """
    outage = {"between": ["h0", "s0"], "at": "1100ns", "state": "down", "until": "3us"}
    found, result = hops(changed(change=[outage]), 1)
    down = 3_000_000 - DELAY - 2 * PACKET
    hop = at(found, "s0->h0")
    assert (hop.wait_ps, hop.in_front_ps, hop.down_ps, hop.idle_ps) == (PACKET + down, {0: PACKET}, down, 0)
    assert whole(found) == fct(result, 1) == 3_000_000 + 3 * DELAY + PACKET + 2 * ACK
    assert "behind flow 0 (4 %), while its link was down (96 %)" in said(found, result)
    first, result = hops(changed(change=[outage]), 0)
    assert [(hop.port, hop.lost) for hop in first if hop.lost] == [("s0->h0", 1)]
    assert (first.missing, whole(first)) == ({}, fct(result, 0))
    # The switch notices it at 1.2 us: it has sent the second packet into the dead link by then.
    late = {"change": [outage], "impairments": {"switch_detection": "100ns"}}
    found, result = hops(changed(**late), 1)
    hop = at(found, "s0->h0")
    assert (hop.packets, hop.lost, hop.down_ps) == (2, 1, 0)
    assert whole(found) == fct(result, 1)


KINDS = ("clocks", "errors", "rates", "failures", "failures under PFC", "failures seen late", "all")
"""Kinds of random networks that are not ideal."""


def drawn(kind: str, seed: int) -> dict[str, Any]:
    """A small network of two tiers with short flows, whose links are not ideal in some way."""
    rng = random.Random(f"{kind} {seed}")
    leaves, spines, hosts = rng.randint(2, 3), rng.randint(2, 3), rng.randint(2, 4)
    fails = kind.startswith("failures") or kind == "all"
    lossless = kind == "failures under PFC"
    text: dict[str, Any] = {
        "seed": rng.randrange(1_000),
        "topology": {
            "kind": "leaf-spine", "leaves": leaves, "spines": spines, "hosts": hosts,
            "rate": rng.choice(["100Gbps", "40Gbps", "37Gbps"]), "delay": rng.choice(["1us", "777ns"]),
        },
        "switch": {"buffer": "400KB", "pfc": {}} if lossless else {"buffer": rng.choice(["60KB", "300KB"])},
        "transport": {"recovery": rng.choice(["selective", "go-back-n"]), "rto": "100us"},
        "cc": {"algorithm": rng.choice(["constant", "swift"])},
        "traffic": [
            {"name": "in", "kind": "flows", "from": f"h1-h{hosts}", "to": "h0", "size": "60KB"},
            {"name": "other", "kind": "permutation", "size": "40KB"},
        ],
        "run": {"until": "3ms"},
    }  # fmt: skip
    if rng.random() < 0.5 and not lossless:
        text["balancing"] = {"policy": "random"}
        text["transport"]["recovery"] = "selective"
    if kind in ("clocks", "all"):
        text["run"]["clock"] = "100ppm"
    if kind in ("errors", "all"):
        error = rng.choice([{"packet_error_rate": 0.02}, {"packet_error_rate": 0.05, "burst": 3}])
        text["impairments"] = {"errors": [error]}
    if kind == "failures seen late":
        text["impairments"] = {"switch_detection": "3us", "host_detection": "5us"}
    if kind == "rates" or fails:
        ways = [(f"leaf{leaf}", f"spine{spine}") for leaf in range(leaves) for spine in range(spines)]
        ways += [(f"h{host}", f"leaf{host // hosts}") for host in range(2 * hosts)]
        text["change"] = [
            {
                "between": [*way],
                "at": f"{(begin := rng.randrange(1_000_000, 30_000_000))}ps",
                "until": f"{begin + rng.randrange(1_000_000, 30_000_000)}ps",
                **_property(rng, fails, number),
            }
            for number, way in enumerate(rng.sample(ways, 4))
        ]
    return text


def _property(rng: random.Random, fails: bool, number: int) -> dict[str, str]:
    """A property of a link that changes: of the first of several that it is down, if links are to fail."""
    if fails and (number == 0 or rng.random() < 0.6):
        return {"state": "down"}
    return rng.choice([{"rate": "25Gbps"}, {"delay": "501ns"}, {"rate": "31Gbps", "delay": "1900ns"}])


def lost_by_failures(settings: dict[str, Any], every: Result) -> int:
    """Checks what every captured packet says of its link, and counts those that failures lost.

    Rates, delays and outages are worked out here from the blocks of the scenario, clocks from the formulas of
    the documentation, and the order of a link from the packets before.
    """
    blocks = settings.get("change", [])
    seed, is_own = settings["seed"], settings.get("run", {}).get("clock") == "100ppm"
    ports = {(row["node"], row["port"]): row for row in every.ports}
    number: dict[tuple[str, int], int] = {}
    latest: dict[tuple[str, int], int] = {}
    corrupted: dict[tuple[str, int], int] = {}
    failed = 0
    for row in every.packets:
        place, left = (row["node"], row["port"]), row["time_ps"]
        port = ports[place]
        mine = [
            (quantity(one["at"]), quantity(one["until"]), one)
            for one in blocks
            if {*one["between"]} == {row["node"], port["peer"]}
        ]
        now = {key: value for begin, end, one in mine if begin <= left < end for key, value in one.items()}
        rate = quantity(now["rate"]) if "rate" in now else int(port["rate_bps"])
        delay = quantity(now["delay"]) if "delay" in now else int(port["delay_ps"])
        takes = duration(row["size_bytes"], rate)
        number[place] = number.get(place, 0) + 1
        wait = 0
        if is_own:
            takes += takes * slow_ppb(seed, row["node_id"]) // 10**9
            wait = cycle_wait(seed, row["node_id"], row["port"], number[place])
        arrives = max(left + takes + delay + wait, latest.get(place, 0))
        latest[place] = arrives
        downs = [(begin, end) for begin, end, one in mine if one.get("state") == "down"]
        fails = any(begin <= arrives and left < end for begin, end in downs)
        assert (row["serialisation_ps"], row["propagation_ps"]) == (takes, delay)
        is_lost = row["arrives_ps"] is None or np.isnan(row["arrives_ps"])
        if fails:
            assert is_lost
            failed += 1
        elif is_lost:
            corrupted[place] = corrupted.get(place, 0) + 1
        else:
            assert row["arrives_ps"] == arrives
    for place, port in ports.items():
        assert corrupted.get(place, 0) == port["corrupted_packets"]
    return failed


@pytest.mark.parametrize("kind", KINDS)
def test_random_networks_that_are_not_ideal_add_up(kind: str) -> None:
    found: dict[str, int] = dict.fromkeys(("link_wait", "down", "lost", "failed", "flows"), 0)
    for seed in range(6):
        settings = drawn(kind, seed)
        scenario = Scenario.from_dict(settings)
        result = scenario.run()
        every = scenario.with_(CAPTURING).run()
        found["failed"] += lost_by_failures(settings, every)
        slowdown = np.nan_to_num(result.flows.column("slowdown"), nan=np.inf)
        started = np.flatnonzero(result.flows.column("started"))
        for row in started[np.argsort(-slowdown[started], kind="stable")][:4].tolist():
            one = hops_of(result, int(result.flows.column("flow")[row]), scenario)
            check(one, result, every)
            found["flows"] += 1
            found["link_wait"] += int(one.crossings["link_wait_ps"].sum())
            found["down"] += sum(hop.down_ps for hop in one)
            found["lost"] += sum(hop.lost for hop in one)
    # Each kind has what it is named for.
    assert found["flows"] == 24
    assert (found["link_wait"] > 0) == (kind != "errors"), found
    assert (found["down"] > 0) == (kind.startswith("failures") or kind == "all"), found
    assert (found["lost"] > 0) == (kind not in ("clocks", "rates")), found
    assert (found["failed"] > 0) == (kind.startswith("failures") or kind == "all"), found
