"""The shortest ways through the network of a case."""

from __future__ import annotations

from collections import deque

from models.cases import Case, Link
from models.links import duration


def routes(case: Case) -> dict[tuple[str, str], list[int]]:
    """Returns the ports on shortest ways, by switch and destination."""
    distances = {host: _distances(case, host) for host in case.hosts()}
    return {
        (switch, host): _ports_towards(case, switch, distances[host])
        for switch in case.switches()
        for host in case.hosts()
    }


Routes = dict[tuple[str, str], list[int]]


def paths(case: Case, routes: Routes, a: str, b: str) -> list[list[Link]]:
    """Returns all shortest paths between two hosts, each as its links. They begin at any node."""
    if a == b:
        return [[]]
    links = [link for link in case.links if a in (link.a, link.b)]
    found = []
    for port in routes.get((a, b), [0]):
        link = links[port]
        far = link.b if link.a == a else link.a
        found += [[link, *rest] for rest in paths(case, routes, far, b)]
    return found


def longest(ways: list[list[Link]], size: int) -> int:
    """Returns the longest time of a packet over idle links."""
    return max(sum(duration(size, link.rate) + link.delay for link in way) for way in ways)


def pair_bytes(case: Case, routes: Routes, source: str, destination: str) -> int:
    """Returns the bytes that the path between two hosts takes during their longest round trip."""
    transport = case.transport
    forth, back = paths(case, routes, source, destination), paths(case, routes, destination, source)
    round_trip = longest(forth, transport.data(transport.payload)) + longest(back, transport.ack)
    return round_trip * max(min(link.rate for link in way) for way in forth) // (8 * 10**12)


def _distances(case: Case, host: str) -> dict[str, int]:
    """Returns the number of links from every node to a host. Other hosts forward nothing."""
    distances = {host: 0}
    nodes = deque([host])
    while nodes:
        node = nodes.popleft()
        if node != host and node not in case.switches():
            continue
        for link in case.links:
            if node in (link.a, link.b):
                other = link.b if link.a == node else link.a
                if other not in distances:
                    distances[other] = distances[node] + 1
                    nodes.append(other)
    return distances


def _ports_towards(case: Case, switch: str, distances: dict[str, int]) -> list[int]:
    """The ports of a switch on shortest ways, given how far every node is from the destination."""
    links = [link for link in case.links if switch in (link.a, link.b)]
    ways = [link.b if link.a == switch else link.a for link in links]
    return [port for port, way in enumerate(ways) if distances[way] == distances[switch] - 1]
