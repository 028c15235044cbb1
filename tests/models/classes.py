"""A plain model of PFC on some queues and of its watchdog, and the cases to hold it against the simulator.

It is written from docs/network/pfc.md, switch-buffer.md and scheduling.md; wires are from links.py and
transport is from plain.py.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from models.cases import US, Case, Link, Shared, paused
from models.clock import Clock
from models.links import Packet, Wire
from models.plain import Host, Outcome, finished, network, outcomes
from models.switches import PFC_FRAME, Held, Switch

WATCHDOG = 7
"""At a switch its watchdog comes after all arrivals of an instant, by port and queue."""


@dataclass(frozen=True)
class Watchdog:
    """The keys of `[switch.pfc.watchdog]`; times in picoseconds."""

    detect: int
    restore: int
    action: str


@dataclass(frozen=True)
class ClassesCase(Case):
    """A case with PFC on some of its queues; `egress_alpha` belongs to the others."""

    lossless: tuple[int, ...] = (0,)
    egress_alpha: float = 1
    watchdog: Watchdog | None = None

    def sections(self) -> dict[str, object]:
        sections = super().sections()
        switch = sections["switch"]
        assert isinstance(switch, dict)
        switch["pfc"]["queues"] = list(self.lossless)
        if self.watchdog is not None:
            switch["pfc"]["watchdog"] = {
                "detect": f"{self.watchdog.detect}ps",
                "restore": f"{self.watchdog.restore}ps",
                "action": self.watchdog.action,
            }
        if isinstance(self.buffer, Shared):
            switch["egress_alpha"] = self.egress_alpha
        return sections


class ClassesHost(Host):
    """A host whose switch pauses single queues."""

    def __init__(self, clock: Clock, case: Case, link: Link) -> None:
        super().__init__(clock, case, link)
        self.paused: set[int] = set()

    def arrived(self, port: int, packet: Packet) -> None:
        if packet.flow is None:
            change(self.paused, packet)
            self.serve()
        else:
            super().arrived(port, packet)

    def serve(self) -> None:
        """Replies first, lowest queue first, then the first ready flow; of paused queues neither."""
        if self.wire.busy:
            return
        replies = [reply for reply in self.replies if reply.queue not in self.paused]
        if replies:
            reply = min(replies, key=lambda packet: packet.queue)
            self.replies.remove(reply)
            self.wire.send(reply)
            return
        for sender in list(self.ring):
            if sender.flow.queue in self.paused:
                continue
            self.ring.remove(sender)
            sender.state = "idle"
            if sender.may_send():
                sender.state, self.leaving = "leaving", sender
                sender.send()
                return


def change(paused: set[int], frame: Packet) -> None:
    """Takes a frame that pauses or resumes a queue."""
    if frame.kind == "pause":
        paused.add(frame.queue)
    else:
        paused.remove(frame.queue)


class ClassesSwitch(Switch):
    """A switch with an account for each port and lossless queue, and one pool for all queues."""

    def __init__(self, clock: Clock, case: ClassesCase, number: int) -> None:
        super().__init__(clock, case, number)
        assert case.pfc is not None
        self.pfc, self.lossless, self.egress_alpha = case.pfc, case.lossless, case.egress_alpha
        self.accounts: dict[tuple[int, int], Held] = {}
        self.lossy = 0
        self.frames: list[list[Packet]] = []
        self.paused: list[set[int]] = []
        self.watchdog = case.watchdog
        self.storms: set[tuple[int, int]] = set()
        self.spell: Counter[tuple[int, int]] = Counter()

    def add(self, link: Link) -> Wire:
        self.accounts |= {(len(self.wires), queue): Held() for queue in self.lossless}
        self.frames.append([])
        self.paused.append(set())
        return super().add(link)

    def arrived(self, port: int, packet: Packet) -> None:
        if packet.flow is not None:
            super().arrived(port, packet)
            return
        change(self.paused[port], packet)
        self.spell[port, packet.queue] += 1
        self.watch(port, packet.queue)
        self.serve(port)

    def watch(self, port: int, queue: int) -> None:
        """Sets the watchdog for a queue that is paused with a packet in it, or in a storm and not paused."""
        if self.watchdog is None:
            return
        paused, storm = queue in self.paused[port], (port, queue) in self.storms
        wait = None
        if paused and not storm and self.queues[port][queue]:
            wait, then = self.watchdog.detect, self.begin
        elif storm and not paused:
            wait, then = self.watchdog.restore, self.end
        if wait is not None:
            spell, place = self.spell[port, queue], port * 128 + queue
            self.clock.at(self.clock.now + wait, WATCHDOG, place, then, port, queue, spell)

    def begin(self, port: int, queue: int, spell: int) -> None:
        """A storm begins, if nothing has changed since."""
        if self.spell[port, queue] != spell or (port, queue) in self.storms:
            return
        assert self.watchdog is not None
        self.storms.add((port, queue))
        while self.watchdog.action == "drop" and self.queues[port][queue]:
            self.left(*self.take(port, queue))
        self.serve(port)

    def end(self, port: int, queue: int, spell: int) -> None:
        """A storm ends, if nothing has changed since."""
        if self.spell[port, queue] == spell:
            self.storms.discard((port, queue))

    def enqueue(self, port: int, out: int, packet: Packet) -> None:
        place = (out, packet.queue)
        if self.watchdog is not None and self.watchdog.action == "drop" and place in self.storms:
            return
        before = len(self.queues[out][packet.queue])
        super().enqueue(port, out, packet)
        if before == 0:
            self.watch(out, packet.queue)

    def free(self) -> float:
        """Returns the free part of the pool, which is the buffer less all headroom and all reserves."""
        if not isinstance(self.case.buffer, Shared):
            return math.inf
        kept = len(self.accounts) * (self.pfc.headroom + self.pfc.reserve)
        used = sum(held.pool for held in self.accounts.values()) + self.lossy
        return self.case.buffer.size - kept - used

    def threshold(self) -> float:
        """Returns the bytes of the pool that one account may hold."""
        if self.pfc.xoff is not None:
            return self.pfc.xoff
        assert isinstance(self.case.buffer, Shared)
        return math.floor(self.case.buffer.alpha * self.free())

    def admit(self, ingress: int, lengths: list[int], packet: Packet) -> bool:
        size, shared = packet.size, isinstance(self.case.buffer, Shared)
        held = self.accounts.get((ingress, packet.queue))
        if held is None:
            if shared:
                free, length = self.free(), lengths[packet.queue] + size
                if size > free or length > math.floor(self.egress_alpha * free):
                    return False
            self.lossy += size
            return True
        if shared and held.reserve + size <= self.pfc.reserve:
            held.reserve += size
            return True
        fits = held.pool + size <= self.threshold()
        if not shared or (fits and not held.headroom and size <= self.free()):
            held.pool += size
        else:
            fits = False
            if held.headroom + size > self.pfc.headroom:
                assert self.watchdog is not None, "the case's headroom is too small"
                assert self.watchdog.action == "forward"
                return False
            held.headroom += size
        if not fits and not held.pausing:
            held.pausing = True
            self.signal(ingress, packet.queue, "pause")
        return True

    def left(self, ingress: int, packet: Packet) -> None:
        """A packet that came through `ingress` begins to leave."""
        size = packet.size
        held = self.accounts.get((ingress, packet.queue))
        if held is None:
            self.lossy -= size
            return
        for part in ("headroom", "pool", "reserve"):
            taken = min(size, getattr(held, part))
            setattr(held, part, getattr(held, part) - taken)
            size -= taken
        low = held.pool == 0 or held.pool + self.pfc.xon_offset <= self.threshold()
        if held.pausing and held.headroom == 0 and low:
            held.pausing = False
            self.signal(ingress, packet.queue, "resume")

    def signal(self, port: int, queue: int, kind: str) -> None:
        """Tells the far end of a port about a queue. Its opposite that waits cancels a frame."""
        frames = self.frames[port]
        waiting = [frame for frame in frames if frame.queue == queue]
        if waiting:
            assert waiting[0].kind != kind
            frames.remove(waiting[0])
        else:
            frames.append(Packet(kind, PFC_FRAME, queue=queue))
        self.serve(port)

    def serve(self, port: int) -> None:
        wire, queues = self.wires[port], self.queues[port]
        if wire.busy:
            return
        if self.frames[port]:
            wire.send(self.frames[port].pop(0))
            return
        forwards = self.watchdog is not None and self.watchdog.action == "forward"
        kept = {queue for queue in self.paused[port] if not (forwards and (port, queue) in self.storms)}
        ready = [[] if number in kept else self.sizes(q) for number, q in enumerate(queues)]
        if any(ready):
            ingress, packet = self.take(port, self.schedulers[port].choose(ready))
            wire.send(packet)
            self.left(ingress, packet)


def run(case: ClassesCase, order: list[int]) -> list[Outcome]:
    """The outcome of every flow of a case, in the order of the case; `order` as in `plain.finished`."""
    clock = Clock()
    _, hosts = network(
        case,
        lambda _, number: ClassesSwitch(clock, case, number),
        lambda link: ClassesHost(clock, case, link),
    )
    return outcomes(finished(clock, case, order, hosts))


def classes(seed: int) -> ClassesCase:
    """Two switches with hosts on both, and lossless and lossy queues."""
    draw = random.Random(f"classes {seed}")
    case = paused(seed)
    assert case.pfc is not None
    number = draw.randint(2, 5)
    lossless = tuple(sorted(draw.sample(range(number), draw.randint(1, number - 1))))
    transport = replace(case.transport, rto=draw.randrange(50 * US, 400 * US))
    if draw.random() < 0.4:
        transport = replace(transport, ack_queue=draw.randrange(number))
    full = transport.data(transport.payload)
    flows = tuple(
        replace(
            flow,
            destination="h0" if flow.source != "h0" and draw.random() < 0.7 else flow.destination,
            size=flow.size * draw.choice([1, 4]),
            queue=draw.randrange(number),
            window=None if draw.random() < 0.7 else flow.window,
        )
        for flow in case.flows
        for _ in range(draw.randint(1, 4))
    )
    pfc, buffer = case.pfc, None
    if draw.random() < 0.8:
        accounts = (len(case.links) + 1) * len(lossless)
        pool = int(full * draw.uniform(8, 30))
        buffer = Shared(accounts * (pfc.headroom + pfc.reserve) + pool, draw.choice([0.125, 0.25, 0.5, 1.0]))
    elif pfc.xoff is None:
        pfc = replace(pfc, xoff=int(full * draw.uniform(1, 12)) + pfc.xon_offset)
    return ClassesCase(
        case.links,
        flows,
        transport,
        buffer,
        pfc,
        scheduler=draw.choice(["strict-priority", "round-robin"]),
        quanta=(1518,) * number,
        lossless=lossless,
        egress_alpha=draw.choice([0.25, 0.5, 1.0, 2.0]),
    )


def watched(seed: int) -> ClassesCase:
    """Draws such a case with a watchdog that does not wait for long, and links so slow that it acts."""
    draw = random.Random(f"watched {seed}")
    case = classes(seed)
    slow = draw.choice([link.a for link in case.links if link.a[0] == "h"])
    links = tuple(
        replace(link, rate=max(link.rate // draw.randint(5, 50), 10**9)) if slow == link.a else link
        for link in case.links
    )
    flows = tuple(
        replace(flow, destination=slow) if flow.source != slow and draw.random() < 0.6 else flow
        for flow in case.flows
    )
    watchdog = Watchdog(
        draw.randrange(US, 30 * US), draw.randrange(US, 30 * US), draw.choice(["drop", "forward"])
    )
    return replace(case, links=links, flows=flows, watchdog=watchdog)


KINDS: dict[str, Callable[[int], ClassesCase]] = {
    "lossless and lossy queues": classes,
    "PFC with a watchdog": watched,
}
"""Functions that draw a case of each kind from a seed."""
