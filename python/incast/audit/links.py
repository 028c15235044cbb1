"""Checks links: one packet at a time, and totals of what was sent."""

from __future__ import annotations

from dataclasses import dataclass, field

from incast.audit.evidence import FRAMES, Evidence, Port, duration
from incast.audit.report import Report


@dataclass
class Pauses:
    """The queues of a port that its far end has paused, and for how long any was."""

    queues: set[int] = field(default_factory=set)
    since: int = 0
    ended: int = 0

    def apply(self, time: int, kind: str, queue: int) -> None:
        """A frame has come in."""
        was = bool(self.queues)
        if kind == "pause":
            self.queues.add(queue)
        else:
            self.queues.discard(queue)
        if self.queues and not was:
            self.since = time
        elif was and not self.queues:
            self.ended += time - self.since

    def total(self, now: int) -> int:
        """For how long any queue was paused up to now."""
        return self.ended + (now - self.since if self.queues else 0)


def check_links(evidence: Evidence, report: Report) -> None:
    """Checks that no port begins a packet before the last bit of the one before it has left."""
    for key, port in evidence.ports.items():
        free = 0
        for packet in evidence.packets[key]:
            report.checked["transmissions"] += 1
            if packet.time < free:
                report.find(
                    "overlap", port.name, packet.time, str(packet), f"no earlier than {free} ps", "sent"
                )
            free = packet.time + duration(packet.size, port.rate)


def check_totals(evidence: Evidence, report: Report) -> None:
    """Checks the bytes and packets that each port sent."""
    rows = evidence.port_rows
    for key, port in evidence.ports.items():
        row, sent = evidence.row_of(*key), evidence.packets[key]
        total = sum(packet.size for packet in sent)
        report.same("totals", port.name, None, "transmitted_bytes", total, rows["transmitted_bytes"][row])
        report.same(
            "totals", port.name, None, "transmitted_packets", len(sent), rows["transmitted_packets"][row]
        )


def check_pauses_of_hosts(evidence: Evidence, report: Report) -> None:
    """Checks that hosts obey pauses, and for how long their ports were paused.

    At the instant at which a frame arrives a packet may begin before it only where another one has just
    ended: the end of a transmission comes before arrivals (docs/network/engine.md, *Order of events*).
    """
    for node in sorted(evidence.hosts):
        frames: dict[int, list[tuple[int, str, int]]] = {}
        for time, end, frame in evidence.arrivals(node):
            if frame.kind in FRAMES:
                frames.setdefault(end, []).append((time, frame.kind, frame.queue))
        for (at, number), port in evidence.ports.items():
            if at == node:
                _check_port(evidence, report, port, frames.get(number, []))


def _check_port(evidence: Evidence, report: Report, port: Port, frames: list[tuple[int, str, int]]) -> None:
    """Checks a port of a host, given the frames that came to it: time, kind and queue."""
    pauses = Pauses()
    free = at = 0

    def step(until: int) -> None:
        nonlocal at
        while at < len(frames) and frames[at][0] < until:
            pauses.apply(*frames[at])
            at += 1

    for packet in evidence.packets[port.node, port.port]:
        step(packet.time)
        before = free == packet.time and packet.queue not in pauses.queues
        step(packet.time + 1)
        report.checked["transmissions of hosts against pauses"] += 1
        if packet.kind not in FRAMES and packet.queue in pauses.queues and not before:
            report.find("pause", port.name, packet.time, str(packet), "no transmission: paused", "sent")
        free = packet.time + duration(packet.size, port.rate)
    step(evidence.end)
    found = evidence.port_rows["paused_ps"][evidence.row_of(port.node, port.port)]
    total = pauses.total(evidence.outcome["now_ps"])
    report.same("totals", port.name, None, "paused_ps", total, found)
