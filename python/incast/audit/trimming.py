"""Checks a switch that trims packets (docs/network/trimming.md)."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from incast.audit.draws import mix
from incast.audit.evidence import Evidence, Packet, quantity
from incast.audit.report import Report
from incast.audit.routes import Routes
from incast.audit.switches import Out, Replay

DATA, HEADERS = 0, 1
"""The queues of a port."""

STREAM = 0x7472696D6D696E67


@dataclass
class HeadersFirst:
    """Headers first, but a data packet after ``ratio`` headers that were sent while data waited."""

    ratio: int
    headers: int = 0

    def __call__(self, heads: Sequence[int | None], single: Sequence[bool]) -> int:
        """Chooses the queue that sends next."""
        data = heads[DATA] is not None
        if heads[HEADERS] is None or (data and self.headers >= self.ratio):
            self.headers = 0
            return DATA
        self.headers += data
        return HEADERS


class Trimming(Replay):
    """Replays a switch that removes the payload of packets for which a data queue has no room."""

    def __init__(self, evidence: Evidence, report: Report, node: int, routes: Routes) -> None:
        super().__init__(evidence, report, node, routes)
        self.keys: Mapping[str, Any] = evidence.settings["switch"]["trimming"]
        self.most = quantity(self.keys["data"]), quantity(self.keys.get("headers", self.keys["data"]))
        for out in self.outs.values():
            out.choose = HeadersFirst(self.keys["ratio"])
            out.queues, out.lengths = [deque(), deque()], [0, 0]
        self.draws = mix(evidence.settings["seed"] ^ mix(node ^ STREAM))

    def queue_of(self, packet: Packet) -> int:
        """Returns the queue of a packet."""
        return DATA if packet.kind == "data" else HEADERS

    def _came_to(self, time: int, ingress: Out, index: int, out: Out) -> None:
        packet, port = self.arrivals[index][2], ingress.port.port
        self.report.checked["admissions"] += 1
        if packet.kind != "data":
            self._control(time, port, out, packet)
            return
        length, queue = out.lengths[DATA], out.queues[DATA]
        last = queue[-1].packet.size if queue else 0
        if length + packet.size <= self.most[DATA]:
            self._append(time, port, out, packet)
        elif length - last + packet.size > self.most[DATA] or not self._draw(packet):
            self._trim(time, port, out, packet)
        else:
            victim = queue.pop()
            out.lengths[DATA] -= last
            self._append(time, port, out, packet)
            marked = victim.packet.marked or bool(victim.mark)
            self._trim(time, victim.ingress, out, victim.packet._replace(marked=marked))

    def _draw(self, packet: Packet) -> bool:
        """Returns whether the last packet of the queue is trimmed in place of the one that arrives."""
        times = self.evidence.begun[packet.flow, packet.position, packet.hash]
        sent = times[max(bisect_right(times, packet.time) - 1, 0)]
        return bool(mix(self.draws ^ packet.hash ^ mix(packet.position ^ mix(sent))) >> 63)

    def _trim(self, time: int, ingress: int, out: Out, packet: Packet) -> None:
        """Removes the payload of a packet."""
        out.totals["trimmed_packets"] += 1
        size = min(packet.size, quantity(self.keys["size"]))
        self._control(time, ingress, out, packet._replace(kind="header", size=size, payload=0))

    def _control(self, time: int, ingress: int, out: Out, packet: Packet) -> None:
        """Handles a header, or a packet that is no data, that comes to a port."""
        if out.lengths[HEADERS] + packet.size <= self.most[HEADERS]:
            self._append(time, ingress, out, packet)
            return
        if packet.kind == "header" and self.keys["return_to_sender"]:
            back = packet._replace(kind="returned", source=packet.destination, destination=packet.source)
            way = self.routes.way(self.node, back)
            if way is not None:
                self._control(time, ingress, self.outs[way], back)
                return
        out.drop(packet)
