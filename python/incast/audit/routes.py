"""The ways of packets through the network (docs/network/routing.md)."""

from __future__ import annotations

from functools import cache

from incast.audit.draws import fmix32, mix
from incast.audit.evidence import Evidence, Packet


class Routes:
    """The port by which a switch forwards a packet, where the hash of the packet decides."""

    def __init__(self, evidence: Evidence) -> None:
        switch, balancing = evidence.settings["switch"], evidence.settings.get("balancing", {})
        blocks = evidence.settings.get("traffic", [])
        policies = {balancing.get("policy"), *(block.get("balancing") for block in blocks)}
        several = len([node for node, _ in evidence.ports if node in evidence.hosts]) > len(evidence.hosts)
        known = switch.get("path", "ecmp") == "ecmp" and not several
        self.known = known and not policies & {"random", "adaptive"}
        self.data_only = balancing.get("acknowledgements") == "one-path"
        self.step = -1 if switch.get("next_hops") == "descending" else 1
        self.evidence = evidence
        self.ports = cache(self._ports)

    def way(self, node: int, packet: Packet) -> int | None:
        """Returns the port by which a switch forwards a packet; None: it does not follow from the hash."""
        if not self.known or (self.data_only and packet.kind not in ("data", "header", "returned")):
            return None
        ports = self.ports(node, packet.destination)
        return ports[fmix32(packet.hash ^ mix(node + 1) >> 32) * len(ports) >> 32] if ports else None

    def _ports(self, node: int, destination: int) -> list[int]:
        """Returns the ports of a switch that are nearest to a host, in the order of next hops."""
        links = self.evidence.ports.values()
        distance, ring = {destination: 0}, [destination]
        while ring:
            near = [port for port in links if port.peer in ring and port.node not in distance]
            ring = sorted({port.node for port in near})
            distance |= dict.fromkeys(ring, max(distance.values()) + 1)
            ring = [each for each in ring if each not in self.evidence.hosts]
        nearest = [p.port for p in links if p.node == node and distance.get(p.peer, -1) == distance[node] - 1]
        return nearest[:: self.step]
