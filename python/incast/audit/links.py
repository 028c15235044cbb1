"""Checks links: one packet at a time, and totals of what was sent."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from incast.audit.evidence import FRAMES, Evidence, Packet, Port
from incast.audit.report import Report


@dataclass
class Pauses:
    """The queues of a port that its far end has paused, and for how long any was, up to the last frame."""

    queues: set[int] = field(default_factory=set)
    last: int = 0
    paused: int = 0

    def apply(self, time: int, frame: Packet) -> None:
        """Applies a frame that comes in."""
        self.paused, self.last = self.total(time), time
        if frame.kind == "pause":
            self.queues.add(frame.queue)
        else:
            self.queues.discard(frame.queue)

    def total(self, now: int) -> int:
        """Returns for how long any queue was paused up to now."""
        return self.paused + (now - self.last if self.queues else 0)


def check_links(evidence: Evidence, report: Report) -> None:
    """Checks that no port begins a packet before the last bit of the one before it has left."""
    for port in evidence.ports.values():
        free = 0
        for packet in port.sent:
            report.checked["transmissions"] += 1
            if packet.time < free:
                report.find("overlap", port.name, packet.time, packet, f"no earlier than {free} ps", "sent")
            free = port.ends(packet)


def check_totals(evidence: Evidence, report: Report) -> None:
    """Checks the bytes and packets that each port sent."""
    for port in evidence.ports.values():
        total = sum(packet.size for packet in port.sent)
        expected = {"transmitted_bytes": total, "transmitted_packets": len(port.sent)}
        report.same("totals", port.name, expected, port.row)


def check_pauses_of_hosts(evidence: Evidence, report: Report) -> None:
    """Checks that hosts obey pauses, and for how long their ports were paused.

    At the instant at which a frame arrives a packet may begin before it only where another one has just
    ended: the end of a transmission comes before arrivals (docs/network/engine.md, *Order of events*).
    """
    for node in sorted(evidence.hosts):
        arrivals = evidence.arrivals(node)
        for port in evidence.ports_of(node).values():
            came = [(time, frame) for time, at, frame in arrivals if at == port.port and frame.kind in FRAMES]
            _check_port(evidence, report, port, deque(came))


def _check_port(evidence: Evidence, report: Report, port: Port, frames: deque[tuple[int, Packet]]) -> None:
    """Checks a port of a host, given the frames that came to it and their times."""
    pauses, free = Pauses(), 0

    def step(until: int) -> None:
        while frames and frames[0][0] < until:
            pauses.apply(*frames.popleft())

    for packet in port.sent:
        step(packet.time)
        before = free == packet.time and packet.queue not in pauses.queues
        step(packet.time + 1)
        report.checked["transmissions of hosts against pauses"] += 1
        if packet.kind not in FRAMES and packet.queue in pauses.queues and not before:
            report.find("pause", port.name, packet.time, packet, "no transmission: paused", "sent")
        free = port.ends(packet)
    step(evidence.end)
    report.same("totals", port.name, {"paused_ps": pauses.total(evidence.outcome["now_ps"])}, port.row)
