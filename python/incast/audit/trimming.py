"""Checks a switch that trims packets (docs/network/trimming.md)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from incast.audit.draws import mix
from incast.audit.evidence import Evidence, Packet, quantity
from incast.audit.report import Report
from incast.audit.routes import Routes
from incast.audit.switches import Replay, Waiting

DATA, HEADERS = 0, 1
"""The queues of a port."""

STREAM = 0x7472696D6D696E67


@dataclass
class HeadersFirst:
    """Headers first, but a data packet after ``ratio`` headers that were sent while data waited."""

    ratio: int
    headers: int = 0

    def choose(self, heads: Sequence[int | None], single: Sequence[bool]) -> int:
        """The queue that sends next."""
        data = heads[DATA] is not None
        if heads[HEADERS] is None or (data and self.headers >= self.ratio):
            self.headers = 0
            return DATA
        self.headers += data
        return HEADERS


class Trimming(Replay):
    """Replays a switch that removes the payload of packets for which a data queue has no room."""

    def __init__(self, evidence: Evidence, report: Report, node: int, routes: Routes, begun: Begun) -> None:
        self.keys: Mapping[str, Any] = evidence.settings["switch"]["trimming"]
        self.most = quantity(self.keys["data"]), quantity(self.keys.get("headers", self.keys["data"]))
        self.begun = begun
        super().__init__(evidence, report, node, routes)
        for out in self.outs.values():
            out.scheduler = HeadersFirst(self.keys["ratio"])
            out.queues.append(type(out.queues[0])())
            out.lengths.append(0)
        self.draws = mix(evidence.settings["seed"] ^ mix(node ^ STREAM))

    def queue_of(self, packet: Packet) -> int:
        """The queue of a packet."""
        return DATA if packet.kind == "data" else HEADERS

    def _came_to(self, time: int, port: int, index: int, number: int) -> None:
        packet, out = self.arrivals[index][2], self.outs[number]
        self.report.checked["admissions"] += 1
        if packet.kind != "data":
            self._control(time, port, number, packet)
            return
        length, queue = out.lengths[DATA], out.queues[DATA]
        last = queue[-1].packet.size if queue else 0
        if length + packet.size <= self.most[DATA]:
            self._queue(time, port, number, packet, length)
        elif length - last + packet.size > self.most[DATA] or not self._draw(packet):
            self._trim(time, port, number, packet)
        else:
            victim = queue.pop()
            out.lengths[DATA] -= last
            self._queue(time, port, number, packet, length - last)
            self._trim(time, victim.ingress, number, victim.packet._replace(marked=victim.marked))

    def _draw(self, packet: Packet) -> bool:
        """Whether the last packet of the queue is trimmed in place of the one that arrives."""
        times = self.begun[packet.flow, packet.position, packet.hash]
        sent = times[max(bisect_right(times, packet.time) - 1, 0)]
        return bool(mix(self.draws ^ packet.hash ^ mix(packet.position ^ mix(sent))) >> 63)

    def _queue(self, time: int, port: int, number: int, packet: Packet, length: int) -> None:
        """Puts a data packet behind ``length`` bytes."""
        mark = self._marked_at_enqueue(self.outs[number], packet, length)
        self._append(time, number, DATA, Waiting(packet, port, mark))

    def _trim(self, time: int, port: int, number: int, packet: Packet) -> None:
        """Removes the payload of a packet."""
        self.outs[number].trimmed += 1
        size = min(packet.size, quantity(self.keys["size"]))
        self._control(time, port, number, packet._replace(kind="header", size=size, payload=0))

    def _control(self, time: int, port: int, number: int, packet: Packet) -> None:
        """A header or a packet that is no data comes to a port."""
        out = self.outs[number]
        if out.lengths[HEADERS] + packet.size <= self.most[HEADERS]:
            self._append(time, number, HEADERS, Waiting(packet, port))
            return
        if packet.kind == "header" and self.keys["return_to_sender"]:
            back = packet._replace(kind="returned", source=packet.destination, destination=packet.source)
            way = self.routes.way(self.node, back)
            if way is not None:
                self._control(time, port, way, back)
                return
        self._drop(out, packet)


Begun = Mapping[tuple[int | None, int, int], Sequence[int]]
"""The times at which copies of each data packet left their sender, by flow, position and hash."""


def begun(evidence: Evidence) -> Begun:
    """Collects when data packets left their senders."""
    times: dict[tuple[int | None, int, int], list[int]] = {}
    for (node, _), packets in evidence.packets.items():
        for packet in packets:
            if packet.kind == "data" and packet.source == node:
                times.setdefault((packet.flow, packet.position, packet.hash), []).append(packet.time)
    for each in times.values():
        each.sort()
    return times
