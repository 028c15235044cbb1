"""The hops of one flow: a run is repeated with the packets of its paths captured."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np

from incast.audit.evidence import duration, quantity
from incast.errors import ResultError
from incast.progress import Progress
from incast.results.hops import Hops, hops_in
from incast.results.hops.packets import Link, Place, links_of
from incast.results.result import Result
from incast.scenario import Scenario

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MOST_PACKETS = 50_000_000
"""Most packets that may be captured: they are in memory."""

_LARGEST = 65_535
"""Size of the largest packet, in bytes."""

_SLOWEST_PPM = 200
"""A clock of its own is slow by at most this (docs/network/engine.md)."""


def hops_of(
    result: Result,
    flow: int | str,
    scenario: Scenario | None = None,
    *,
    threads: int = 1,
    progress: Callable[[Progress], None] | bool | None = None,
) -> Hops:
    """Returns how long the packets of a flow waited at each port, and whose packets left while they did.

    Runs are deterministic: the scenario runs once more with the packets of all shortest paths between the two
    hosts captured, from just before the start of the flow to its finish.

    Args:
        result: The result of a complete run.
        flow: Number of the flow, as in the tables; or its name as for :meth:`Result.find_flows`, like
            ``"burst.3"``.
        scenario: The scenario of the result; needed only if the result is not saved in a folder.
        threads: As for :meth:`Scenario.run`.
        progress: As for :meth:`Scenario.run`.

    Raises:
        KeyError: When there is no such flow, the name means several, or it had not started.
        ResultError: When the run cannot be repeated or its packets do not show their waits, with the reason,
            and when the repeated run has other flows.
    """
    number = started_flow(result, flow)
    scenario = _scenario(result) if scenario is None else scenario
    settings = tomllib.loads(scenario.to_toml())
    if reason := refusal(result, scenario, settings):
        raise ResultError(f"hops of flow {number}: {reason}")
    links = links_of(result)
    row = np.flatnonzero(result.flows.column("flow") == number)[0]
    source, destination = (int(result.flows.column(f"{end}_id")[row]) for end in ("source", "destination"))
    ports = ports_between(links, source, destination, int(result.info["hosts"]))
    outages = scenario.outages
    if outages:
        # Routes avoid links that are down: packets may pass any switch.
        ports = [place for place in links if place[0] >= int(result.info["hosts"]) or place in ports]
    window = _window(result, int(row), _slowest(settings, (links[port] for port in ports)))
    most = estimate(result, ports, window)
    if most > MOST_PACKETS:
        raise ResultError(
            f"hops of flow {number}: about {most:,} packets pass its {len(ports):,} ports while it lasts; "
            f"at most {MOST_PACKETS:,} can be captured"
        )
    probe = {
        "captures": [f"{links[port].node}:{port[1]}" for port in ports],
        "packets": True,
        "from": f"{window[0]}ps",
        "until": f"{window[1]}ps",
    }
    switch = settings.get("switch", {})
    is_bfc = "bfc" in switch
    if is_bfc or "pfc" in switch:
        probe["pauses"] = True
    again = scenario.with_({"probe": probe}).run_quietly(threads=threads, progress=progress)
    if not _are_equal(result, again):
        raise ResultError(
            f"hops of flow {number}: the repeated run has other flows: another build made this result, or "
            "files or algorithms that it names have changed"
        )
    return hops_in(again, number, any_queue=is_bfc, outages=outages)


def refusal(result: Result, scenario: Scenario, settings: Mapping[str, Any]) -> str | None:
    """Returns the reason why the waits of packets cannot be found; None: they can.

    Args:
        result: A result.
        scenario: Its scenario.
        settings: The sections of that, with every default.
    """
    outcome = result.info.get("outcome")
    if result.info.get("testbed"):
        return "the result is of a testbed, which gives other times each time"
    if outcome is None:
        return "the run was killed: what it would have made is not known"
    if outcome["end"] == "interrupted":
        return "the run was interrupted: a repeated one does not end where it did"
    if settings["topology"]["kind"] == "rotor":
        return "circuits that turn decide when packets leave (topology.kind is rotor)"
    if settings.get("impairments", {}).get("receivers"):
        return "hosts take packets slowly (impairments.receivers), which captures do not show"
    return None


def ports_between(links: Mapping[Place, Link], source: int, destination: int, hosts: int) -> list[Place]:
    """Returns the ports of all shortest paths between two hosts, both ways, in order.

    Hosts with several cards: those between each card of the one and each card of the other, since flows
    may name their cards.

    Args:
        links: All ports.
        source: Number of the one host.
        destination: Number of the other one.
        hosts: Number of hosts, which never forward.
    """
    into: dict[int, list[Place]] = {}
    for place, link in links.items():
        if place[0] >= hosts:
            into.setdefault(link.peer, []).append(place)
    out: dict[int, list[Place]] = {place[0]: [] for place in links}
    for place in links:
        out[place[0]].append(place)

    @cache
    def distances(switch: int) -> dict[int, int]:
        """The number of links from each switch to one."""
        found, ring = {switch: 0}, [switch]
        while ring:
            near = {place[0] for node in ring for place in into.get(node, [])} - found.keys()
            found |= dict.fromkeys(near, found[ring[0]] + 1)
            ring = list(near)
        return found

    found: set[Place] = set()
    for here, there in ((source, destination), (destination, source)):
        for last in into.get(there, []):
            far = distances(last[0])
            for first in out.get(here, []):
                ring = {links[first].peer}
                if not ring <= far.keys():
                    continue
                found |= {first, last}
                while ring != {last[0]}:
                    next_ = {
                        place
                        for node in ring
                        for place in out[node]
                        if far.get(links[place].peer, -1) == far[node] - 1
                    }
                    found |= next_
                    ring = {links[place].peer for place in next_}
    return sorted(found)


def estimate(result: Result, ports: Collection[Place], window: tuple[int, int]) -> int:
    """Returns about how many packets some ports send in a window: their part of the time of the run.

    Args:
        result: The result.
        ports: The ports.
        window: Begin and end in picoseconds.
    """
    links = links_of(result)
    sent = sum(links[port].transmitted for port in ports)
    whole = max(int(result.info["outcome"]["now_ps"]), 1)
    return -(-sent * min(window[1] - window[0], whole) // whole)


def _slowest(settings: Mapping[str, Any], ports: Iterable[Link]) -> int:
    """Returns the lowest rate that some ports may have at any time of the run, in bit/s; 0 without ports."""
    changes = (quantity(change["rate"]) for change in settings.get("change", ()) if "rate" in change)
    rates = [port.rate_bps for port in ports]
    return min([*rates, *changes]) if rates else 0


def _window(result: Result, row: int, slowest: int) -> tuple[int, int]:
    """Returns the window in which packets are captured.

    It begins a base RTT before the flow, or as long before as the largest packet needs at this lowest rate:
    what was being sent then is in front of the first packet.
    """
    flows = result.flows
    start, base = (int(flows.column(name)[row]) for name in ("start_ps", "base_rtt_ps"))
    largest = duration(_LARGEST, slowest) if slowest else 0
    ahead = max(base, largest + largest * _SLOWEST_PPM // 10**6 + 1)
    end = int(flows.column("finish_ps")[row]) if flows.column("finished")[row] else None
    return max(start - ahead, 0), int(result.info["outcome"]["now_ps"]) + 1 if end is None else end + 1


def started_flow(result: Result, flow: int | str) -> int:
    """Returns the number of a flow that has started.

    Args:
        result: The result.
        flow: Its number, or its name as for :meth:`Result.find_flows`.

    Raises:
        KeyError: When there is no such flow, the name means several, or it had not started.
    """
    found = result.find_flows(flow)
    if len(found) > 1:
        raise KeyError(f"{flow!r} means {len(found)} flows; write {flow}.0 for the first")
    mine = result.flows.column("flow") == found[0]
    if not mine.any():
        raise KeyError(f"there is no flow {found[0]}; the run has {len(result.flows):,}, numbered from 0")
    if not result.flows.column("started")[mine][0]:
        raise KeyError(f"flow {found[0]} had not started when the run ended")
    return found[0]


def _scenario(result: Result) -> Scenario:
    """Returns the effective scenario of a saved result."""
    if result.folder is None:
        raise ResultError("the result is in memory, without its scenario: give hops_of the scenario, too")
    return Scenario.load(result.folder / "scenario.toml")


def _are_equal(result: Result, other: Result) -> bool:
    """Whether two runs have the same flows."""
    one, two = result.flows, other.flows
    if one.columns != two.columns or len(one) != len(two):
        return False
    return all(_same(one.column(name), two.column(name)) for name in one.columns)


def _same(one: np.ndarray[Any, Any], two: np.ndarray[Any, Any]) -> bool:
    """Whether two columns are equal; missing values are equal to each other."""
    equal = one == two
    if one.dtype.kind == two.dtype.kind == "f":
        equal |= np.isnan(one) & np.isnan(two)
    return bool(np.all(equal))
