"""A plain model of hosts that take packets slowly, and the cases to hold it against the simulator.

It is written from docs/network/receivers.md; switches with PFC are from classes.py, the rest from plain.py.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass

from models.cases import GBPS, Case, Flow, Link, Shared, lossy_star
from models.classes import ClassesCase, ClassesHost, ClassesSwitch, classes
from models.clock import Clock
from models.links import TAKEN, Packet, duration
from models.plain import Host, Outcome, finished, network, outcomes
from models.switches import PFC_FRAME, Held, Switch


@dataclass(frozen=True)
class Slow:
    """An entry of `impairments.receivers`: bits per second, and bytes."""

    host: str
    rate: int
    buffer: int

    def keys(self) -> dict[str, object]:
        """Returns its keys in a scenario."""
        return {"hosts": [self.host], "rate": f"{self.rate}bps", "buffer": f"{self.buffer}B"}


@dataclass(frozen=True)
class DroppingCase(Case):
    """A case without PFC, some of whose hosts are slow."""

    receivers: tuple[Slow, ...] = ()

    def sections(self) -> dict[str, object]:
        return super().sections() | {"impairments": {"receivers": [slow.keys() for slow in self.receivers]}}


@dataclass(frozen=True)
class PausingCase(ClassesCase):
    """A case with PFC on some of its queues, some of whose hosts are slow."""

    receivers: tuple[Slow, ...] = ()

    def sections(self) -> dict[str, object]:
        return super().sections() | {"impairments": {"receivers": [slow.keys() for slow in self.receivers]}}


class Card:
    """The buffer of a slow host. Its packets are taken one after the other, in the order of their arrival."""

    def __init__(self, slow: Slow, case: Case) -> None:
        self.rate, self.pool = slow.rate, slow.buffer
        self.waiting: deque[Packet] = deque()
        self.accounts: dict[int, Held] = {}
        self.lossy = 0
        if isinstance(case, ClassesCase):
            assert case.pfc is not None
            self.pfc = case.pfc
            self.accounts = {queue: Held() for queue in case.lossless}
            self.pool -= self.pfc.headroom * len(self.accounts)
            assert self.pool > 0

    def free(self) -> int:
        """Returns the free part of what is no headroom."""
        return self.pool - self.lossy - sum(held.pool for held in self.accounts.values())

    def admit(self, packet: Packet) -> tuple[bool, bool]:
        """Says whether a packet may stay, and whether the switch must pause."""
        held, size = self.accounts.get(packet.queue), packet.size
        if held is None:
            fits = size <= self.free()
            self.lossy += size * fits
            return fits, False
        if not held.headroom and size <= self.free():
            held.pool += size
            return True, False
        held.headroom += size
        assert held.headroom <= self.pfc.headroom, "the case's headroom is too small"
        pauses, held.pausing = not held.pausing, True
        return True, pauses

    def release(self, packet: Packet) -> bool:
        """A packet has been taken. Says whether the switch must resume."""
        held, size = self.accounts.get(packet.queue), packet.size
        if held is None:
            self.lossy -= size
            return False
        for part in ("headroom", "pool"):
            taken = min(size, getattr(held, part))
            setattr(held, part, getattr(held, part) - taken)
            size -= taken
        low = held.pool == 0 or held.pool + self.pfc.xon_offset <= self.pool
        resumes = held.pausing and not held.headroom and low
        held.pausing = held.pausing and not resumes
        return resumes


class SlowHost(ClassesHost):
    """A host with such a card."""

    def __init__(self, clock: Clock, case: Case, link: Link, slow: Slow) -> None:
        super().__init__(clock, case, link)
        self.card = Card(slow, case)
        self.frames: list[Packet] = []

    def arrived(self, port: int, packet: Packet) -> None:
        if packet.flow is None:
            super().arrived(port, packet)
            return
        stays, pauses = self.card.admit(packet)
        if pauses:
            self.signal(packet.queue, "pause")
        if stays:
            self.card.waiting.append(packet)
            if len(self.card.waiting) == 1:
                self.take()

    def take(self) -> None:
        """Begins to take the first packet."""
        takes = duration(self.card.waiting[0].size, self.card.rate)
        self.clock.at(self.clock.now + takes, TAKEN, 0, self.taken)

    def taken(self) -> None:
        """The host has a packet: as if it arrived now."""
        packet = self.card.waiting.popleft()
        if self.card.release(packet):
            self.signal(packet.queue, "resume")
        if self.card.waiting:
            self.take()
        super().arrived(0, packet)

    def signal(self, queue: int, kind: str) -> None:
        """Tells the switch about a queue. The opposite that waits cancels a frame."""
        waiting = [frame for frame in self.frames if frame.queue == queue]
        if waiting:
            assert waiting[0].kind != kind
            self.frames.remove(waiting[0])
        else:
            self.frames.append(Packet(kind, PFC_FRAME, queue=queue))
        self.serve()

    def serve(self) -> None:
        if self.frames and not self.wire.busy:
            self.wire.send(self.frames.pop(0))
        super().serve()


def run(case: DroppingCase | PausingCase, order: list[int]) -> list[Outcome]:
    """The outcome of every flow of a case, in the order of the case; `order` as in `plain.finished`."""
    clock = Clock()

    def switch(_: str, number: int) -> Switch:
        return (
            ClassesSwitch(clock, case, number)
            if isinstance(case, PausingCase)
            else Switch(clock, case, number)
        )

    def host(link: Link) -> Host:
        name = link.a if link.a[0] == "h" else link.b
        slow = [slow for slow in case.receivers if slow.host == name]
        return SlowHost(clock, case, link, slow[0]) if slow else ClassesHost(clock, case, link)

    _, hosts = network(case, switch, host)
    return outcomes(finished(clock, case, order, hosts))


def _receivers(draw: random.Random, case: Case, headroom: int, favourite: str) -> tuple[Slow, ...]:
    """Draws slow hosts, of which the favourite is one."""
    full = max(case.transport.data(case.transport.payload), case.transport.ack)
    chosen = {host for host in case.hosts() if host == favourite or draw.random() < 0.3}
    rates = {end: link.rate for link in case.links for end in (link.a, link.b)}
    return tuple(
        Slow(
            host,
            max(int(rates[host] * draw.uniform(0.05, 1.2)), GBPS // 10),
            headroom + full + draw.choice([0, draw.randrange(30 * full)]),
        )
        for host in sorted(chosen)
    )


def pausing(seed: int) -> PausingCase:
    """Two switches with lossless and lossy queues, and hosts that pause them."""
    draw = random.Random(f"slow and paused {seed}")
    case = classes(draw.randrange(10**6))
    while not isinstance(case.buffer, Shared):
        case = classes(draw.randrange(10**6))
    assert case.pfc is not None
    favourite = draw.choice(case.hosts())
    headroom = case.pfc.headroom * len(case.lossless)
    receivers = _receivers(draw, case, headroom, favourite)
    keys = {key: getattr(case, key) for key in asdict(case)}
    return PausingCase(**keys | {"flows": _drawn(draw, case, favourite), "receivers": receivers})


def dropping(seed: int) -> DroppingCase:
    """A star with losses, some of whose hosts drop too."""
    draw = random.Random(f"slow and lossy {seed}")
    case = lossy_star(draw.randrange(10**6))
    favourite = draw.choice(case.hosts())
    receivers = _receivers(draw, case, 0, favourite)
    keys = {key: getattr(case, key) for key in asdict(case)}
    return DroppingCase(**keys | {"flows": _drawn(draw, case, favourite), "receivers": receivers})


def _drawn(draw: random.Random, case: Case, favourite: str) -> tuple[Flow, ...]:
    """Returns the flows, half of them to one host."""
    to = {"destination": favourite}
    return tuple(
        Flow(**asdict(flow) | to) if flow.source != favourite and draw.random() < 0.5 else flow
        for flow in case.flows
    )


KINDS: dict[str, Callable[[int], Case]] = {
    "slow receivers with PFC": pausing,
    "slow receivers that drop": dropping,
}
"""Functions that draw a case of each kind from a seed."""
