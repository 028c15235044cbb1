"""The network for the report: tiers and links, found in the table of ports."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from incast.report.columns import Columns
from incast.results.result import Result

MOST_HOSTS = 160
"""More hosts than this are drawn as one box for each switch."""

MOST_LINKS = 4000
"""A network with more links between switches than this is shown as a heat map only."""

_NUMBERS = ("transmitted_bytes", "peak_queue_bytes", "dropped_packets", "marked_packets", "paused_ps")


@dataclass(frozen=True)
class Network:
    """Nodes and links.

    Attributes:
        names: Name of each node, by its number; hosts come first.
        hosts: How many hosts there are.
        links: Rows of the table of ports, one for each direction of a link: from the first node to
            the second, and back.
        ends: The nodes of each link.
    """

    names: list[str]
    hosts: int
    links: list[tuple[int, int]]
    ends: list[tuple[int, int]]

    @classmethod
    def of(cls, result: Result) -> Network | None:
        """That of a result; None where the table of ports was not written."""
        table = result.ports
        if not len(table):
            return None
        node, ids, peer = (table.column(c).tolist() for c in ("node", "node_id", "peer"))
        names = dict(zip(ids, node, strict=True))
        numbers = {name: number for number, name in names.items()}
        # The k-th port towards a neighbour is the far end of the neighbour's k-th port back.
        between: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        for row, (a, name) in enumerate(zip(ids, peer, strict=True)):
            if name in numbers:
                between[a, numbers[name]].append(row)
        links, ends = [], []
        for (a, b), there in between.items():
            if a < b:
                back = between.get((b, a), [])
                pairs = list(zip(there, back, strict=False))
                links += pairs
                ends += [(a, b)] * len(pairs)
        degree = [0] * (max(names) + 1)
        for a in ids:
            degree[a] += 1
        # Results of earlier versions do not say how many hosts there are: those had one port each.
        of_degree = next((number for number, ports in enumerate(degree) if ports != 1), len(degree))
        hosts = result.info.get("hosts", of_degree)
        return cls([names.get(i, "") for i in range(len(degree))], hosts, links, ends)

    def tiers(self) -> list[list[int]]:
        """The nodes by their distance from the hosts, each tier in the order in which it is drawn."""
        neighbours: defaultdict[int, list[int]] = defaultdict(list)
        for a, b in self.ends:
            neighbours[a].append(b)
            neighbours[b].append(a)
        distance = dict.fromkeys(range(self.hosts), 0)
        waiting = deque(distance)
        while waiting:
            near = waiting.popleft()
            for far in neighbours[near]:
                if far not in distance:
                    distance[far] = distance[near] + 1
                    waiting.append(far)
        tiers: list[list[int]] = [[] for _ in range(max(distance.values(), default=0) + 1)]
        for number in range(len(self.names)):
            tiers[distance.get(number, len(tiers) - 1)].append(number)
        place: dict[int, float] = {}
        for level, tier in enumerate(tiers[1:], start=1):
            if level > 1:
                below = {n: [place[m] for m in neighbours[n] if m in place] for n in tier}
                tier.sort(key=lambda n: (float(np.mean(below[n])) if below[n] else 0.0, n))
            place |= {n: (i + 0.5) / len(tier) for i, n in enumerate(tier)}
        above = {host: neighbours[host][0] for host in tiers[0] if neighbours[host]}
        tiers[0].sort(key=lambda host: (place.get(above.get(host, -1), 0.0), host))
        return tiers


def pictures(results: Sequence[Result], columns: Columns) -> dict[str, Any]:
    """Returns the pictures of networks: each different network once, and the numbers of each result."""
    networks: list[Network] = []
    drawn: list[dict[str, Any] | None] = []
    for result in results:
        network = Network.of(result)
        outcome = result.info.get("outcome")
        if network is None or outcome is None:
            drawn.append(None)
            continue
        if network not in networks:
            networks.append(network)
        table = result.ports
        numbers = {name: columns.add(table.column(name)) for name in _NUMBERS}
        drawn.append({"network": networks.index(network), "now_ps": outcome["now_ps"], **numbers})
    shapes = []
    for number, network in enumerate(networks):
        table = results[next(i for i, d in enumerate(drawn) if d and d["network"] == number)].ports
        between_switches = sum(1 for a, _ in network.ends if a >= network.hosts)
        shapes.append(
            {
                "names": network.names,
                "hosts": network.hosts,
                "tiers": network.tiers(),
                "ends": [columns.add([end[i] for end in network.ends]) for i in (0, 1)],
                "rows": [columns.add([link[i] for link in network.links]) for i in (0, 1)],
                "port": columns.add(table.column("port")),
                "rate": columns.add(table.column("rate_bps")),
                "drawn": between_switches <= MOST_LINKS,
                "grouped": network.hosts > MOST_HOSTS,
            }
        )
    return {"networks": shapes, "results": drawn}
