"""Plain models of switches: queues, shared buffers, and pauses.

They are written from docs/network/scheduling.md, switch-buffer.md, pfc.md and routing.md.
"""

from __future__ import annotations

import math
from collections import deque
from itertools import islice

from models import spreading
from models.cases import Case, Link, Shared
from models.clock import Clock
from models.links import Packet, Wire
from models.schedulers import Scheduler, scheduler

PFC_FRAME = 64


class Switch:
    """An output-queued switch. Queues keep the port through which a packet came, and the packet."""

    def __init__(self, clock: Clock, case: Case, number: int) -> None:
        self.clock, self.case = clock, case
        self.salt = spreading.salt(number)
        self.wires: list[Wire] = []
        self.queues: list[list[deque[tuple[int, Packet]]]] = []
        self.lengths: list[list[int]] = []
        self.schedulers: list[Scheduler] = []
        self.routes: dict[str, list[int]] = {}
        self.drops = 0
        self.held = 0

    def add(self, link: Link) -> Wire:
        """Joins a link to the next port."""
        self.wires.append(Wire(self.clock, link, self, len(self.wires)))
        self.queues.append([deque() for _ in self.case.quanta])
        self.lengths.append([0 for _ in self.case.quanta])
        self.schedulers.append(scheduler(self.case.scheduler, self.case.quanta, self.case.strict))
        return self.wires[-1]

    def arrived(self, port: int, packet: Packet) -> None:
        if packet.flow is None:
            self.wires[port].paused = packet.kind == "pause"
            self.serve(port)
            return
        flow = packet.flow.flow
        out = self.way(flow.destination if packet.kind == "data" else flow.source, packet.path)
        self.enqueue(port, out, packet)

    def enqueue(self, port: int, out: int, packet: Packet) -> None:
        """Puts a packet that came through `port` into a queue of the port `out`, or drops it."""
        if not self.admit(port, self.lengths[out], packet):
            self.drops += 1
            return
        self.held += packet.size
        self.lengths[out][packet.queue] += packet.size
        self.queues[out][packet.queue].append((port, packet))
        self.serve(out)

    def way(self, destination: str, path: int) -> int:
        """The port by which a packet with this hash leaves."""
        return spreading.chosen(self.routes[destination], path, self.salt)

    def departed(self, port: int) -> None:
        self.wires[port].busy = False
        self.serve(port)

    def serve(self, port: int) -> None:
        """Begins to send the next packet of a port."""
        wire, queues = self.wires[port], self.queues[port]
        if any(queues) and not wire.busy and not wire.paused:
            chosen = self.schedulers[port].choose([self.sizes(queue) for queue in queues])
            ingress, packet = self.take(port, chosen)
            wire.send(packet)
            self.released(ingress, packet.size)

    @staticmethod
    def sizes(queue: deque[tuple[int, Packet]]) -> list[int]:
        """The sizes of the first two packets of a queue, which a scheduler looks at."""
        return [packet.size for _, packet in islice(queue, 2)]

    def take(self, port: int, queue: int) -> tuple[int, Packet]:
        """Takes the first packet from a queue: the port through which it came, and the packet."""
        ingress, packet = self.queues[port][queue].popleft()
        self.lengths[port][queue] -= packet.size
        self.held -= packet.size
        return ingress, packet

    def admit(self, ingress: int, lengths: list[int], packet: Packet) -> bool:
        """Whether a packet may stay: whether its port's limit holds it, or its queue's dynamic threshold.

        `lengths` are the lengths of the queues of the port by which it will leave.
        """
        match self.case.buffer:
            case None:
                return True
            case Shared() as shared:
                free = shared.size - self.held
                length = lengths[packet.queue] + packet.size
                return packet.size <= free and length <= math.floor(shared.alpha * free)
            case limit:
                return sum(lengths) + packet.size <= limit

    def released(self, ingress: int, size: int) -> None:
        """A packet that came through `ingress` begins to leave."""


class Held:
    """Bytes from one port in a switch with PFC, by part: the reserve, the shared pool, the headroom."""

    def __init__(self) -> None:
        self.reserve = self.pool = self.headroom = 0
        self.pausing = False


class PausingSwitch(Switch):
    """A switch with PFC and one queue: what neither reserve nor shared pool takes pauses the far end."""

    def __init__(self, clock: Clock, case: Case, number: int) -> None:
        super().__init__(clock, case, number)
        assert case.pfc is not None
        self.pfc = case.pfc
        self.ingress: list[Held] = []
        self.frames: list[deque[str]] = []

    def add(self, link: Link) -> Wire:
        self.ingress.append(Held())
        self.frames.append(deque())
        return super().add(link)

    def threshold(self) -> float:
        """Returns the bytes of the pool that one port may hold."""
        if self.pfc.xoff is not None:
            return self.pfc.xoff
        assert isinstance(self.case.buffer, Shared)
        return math.floor(self.case.buffer.alpha * self.free())

    def free(self) -> float:
        """Returns the free part of the pool, which is the buffer less all headroom and all reserves."""
        if not isinstance(self.case.buffer, Shared):
            return math.inf
        kept = len(self.ingress) * (self.pfc.headroom + self.pfc.reserve)
        return self.case.buffer.size - kept - sum(held.pool for held in self.ingress)

    def admit(self, ingress: int, lengths: list[int], packet: Packet) -> bool:
        held, size = self.ingress[ingress], packet.size
        if self.case.buffer is None:
            # There is no headroom to run out of: everything counts against the fixed threshold.
            pause = held.pool + size > self.threshold()
            held.pool += size
        else:
            pause = not self.charge(held, size)
        if pause and not held.pausing:
            held.pausing = True
            self.signal(ingress, "pause")
        return True

    def charge(self, held: Held, size: int) -> bool:
        """Charges a packet to the first part that takes it. Says whether the headroom was spared."""
        if held.reserve + size <= self.pfc.reserve:
            held.reserve += size
            return True
        if not held.headroom and held.pool + size <= self.threshold() and size <= self.free():
            held.pool += size
            return True
        held.headroom += size
        assert held.headroom <= self.pfc.headroom, "the case's headroom is too small"
        return False

    def released(self, ingress: int, size: int) -> None:
        held = self.ingress[ingress]
        for part in ("headroom", "pool", "reserve"):
            taken = min(size, getattr(held, part))
            setattr(held, part, getattr(held, part) - taken)
            size -= taken
        low = held.pool == 0 or held.pool + self.pfc.xon_offset <= self.threshold()
        if held.pausing and held.headroom == 0 and low:
            held.pausing = False
            self.signal(ingress, "resume")

    def signal(self, port: int, kind: str) -> None:
        """Tells the far end of a port to pause or to go on. Its opposite that waits cancels a frame."""
        if self.frames[port]:
            opposite = self.frames[port].pop()
            assert opposite != kind
        else:
            self.frames[port].append(kind)
        self.serve(port)

    def serve(self, port: int) -> None:
        if self.frames[port] and not self.wires[port].busy:
            self.wires[port].send(Packet(self.frames[port].popleft(), PFC_FRAME))
        super().serve(port)
