"""A plain model of NDP: senders with credit, receivers that pull.

Written from docs/network/ndp.md; switches and headers are from trimming.py.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from incast import Scenario
from models import cases, trimming, ways
from models.cases import US, Case, Flow, Link
from models.clock import Clock
from models.links import HELD_ACK, RETRANSMIT, duration
from models.links import Packet as PlainPacket
from models.plain import KEPT, LARGEST_BACKOFF, Outcome
from models.plain import Receiver as PlainReceiver
from models.plain import Sender as PlainSender
from models.trimming import Packet, Run, TrimmingCase, trimming_spines, trimming_star

PULL = HELD_ACK + 1
"""The timer of pulls, as a kind of event: after all others (links.py has those)."""


@dataclass(frozen=True)
class Ndp:
    """The keys of `[transport.ndp]`: packets or `"bdp"`, a share of the line, and picoseconds."""

    first_window: int | str = "bdp"
    pull_rate: float = 1
    rto: int = 1000 * US


@dataclass(frozen=True)
class NdpCase(TrimmingCase):
    """A case under NDP. Of the transport only the sizes count; flows have neither window nor rate."""

    ndp: Ndp = field(default_factory=Ndp)

    def scenario(self) -> Scenario:
        sizes = {key: getattr(self.transport, key) for key in ("payload", "header", "ack_extra", "smallest")}
        blocks = [cases._block(number, flow) for number, flow in enumerate(self.flows)]
        for block in blocks:
            del block["cc"]
        transport = {
            **{key: f"{size}B" for key, size in sizes.items()},
            "kind": "ndp",
            "ndp": {
                "first_window": self.ndp.first_window,
                "pull_rate": self.ndp.pull_rate,
                "rto": f"{self.ndp.rto}ps",
            },
        }
        return super().scenario().with_({"transport": transport, "traffic": blocks})


@dataclass
class Told(Packet):
    """A packet from a receiver: an ack, a nack or a pull.

    In `byte` is the packet that an answer names. `expected` is the number of the next expected packet,
    `pulls` how many the receiver has sent for the flow.
    """

    expected: int = 0
    pulls: int = 0


class Sender(trimming.Sender):
    """A sender with credit. A header that is returned tells it of a trimmed copy as a NACK does."""

    host: Host

    def __init__(
        self, host: trimming.Host, flow: Flow, number: int, place: int, receiver: PlainReceiver
    ) -> None:
        super().__init__(host, flow, number, place, receiver)
        assert isinstance(host.case, NdpCase)
        self.rto = host.case.ndp.rto
        self.credit = min(_first_window(host.case, flow), self.total)
        self.pulls = self.answers = 0
        self.active = 0
        self.returned = 0
        """Packets whose headers came back and for which nothing was sent."""
        self.doubled = 0
        """Time at which the timeout last grew."""

    def is_complete(self) -> bool:
        return self.expected == self.total

    def may_send(self) -> bool:
        return self.credit > 0 and self.has_something()

    def take(self) -> int:
        self.credit -= 1
        self.active = self.host.clock.now
        return super().take()

    def on_told(self, packet: Told) -> None:
        """Takes an ACK, a NACK or a pull."""
        shortened = self.heard()
        self.expected = max(self.expected, packet.expected)
        arrived = set(range(packet.expected))
        if packet.kind == "ack":
            arrived.add(packet.byte // self.payload)
        self.flying -= arrived
        self.lost -= arrived
        if packet.kind == "nack":
            self.on_trimmed(packet)
        if packet.kind != "pull":
            self.answers += 1
        if packet.pulls > self.pulls:
            sendable = len(self.lost) + min(self.total, self.expected + KEPT) - self.next
            again = int(packet.kind == "ack" and self.returned > 0)
            self.returned -= again
            self.credit = min(self.credit + packet.pulls - self.pulls + again, sendable)
            self.pulls = packet.pulls
        if shortened and not self.is_complete():
            self.hurry()

    def on_returned(self, packet: Packet) -> None:
        """Takes a returned header."""
        shortened = self.heard()
        before = len(self.lost)
        self.on_trimmed(packet)
        if len(self.lost) > before:
            if not self.flying and self.answers <= self.pulls and self.credit == 0:
                self.credit = 1
            else:
                self.returned += 1
        if shortened:
            self.hurry()

    def heard(self) -> bool:
        """Something has arrived: the timeout is the shortest. Returns whether it was not before."""
        shortened = self.backoff > 0
        self.backoff = 0
        self.active = self.host.clock.now
        return shortened

    def restart_timer(self) -> None:
        self.timer_at(self.host.clock.now + (self.rto << self.backoff))

    def hurry(self) -> None:
        """Sets the timer for when something is due, with the timeout of now."""
        self.timer_at(max(self.due(), self.host.clock.now))

    def expiry(self, number: int) -> int:
        """Returns the time at which a packet in flight is lost."""
        sent = self.copies[number]
        doublings = self.backoff - (self.backoff > 0 and sent < self.doubled)
        return sent + (self.rto << doublings)

    def due(self) -> int:
        """Returns the time at which the timer expires, as things are."""
        if self.flying:
            return min(self.expiry(number) for number in self.flying)
        since = self.host.clock.now if self.credit else self.active
        return since + (self.rto << self.backoff)

    def timer_at(self, time: int) -> None:
        """Sets the timer."""
        self.deadline = time
        self.host.clock.at(time, RETRANSMIT, self.place, self.host.expired, self)

    def expired(self) -> None:
        """The timer is due."""
        now = self.host.clock.now
        if self.due() > now:
            self.timer_at(self.due())
            return
        late = {number for number in self.flying if self.expiry(number) <= now}
        oldest = min((self.copies[number] for number in late), default=None)
        if oldest is None or self.backoff == 0 or oldest >= self.doubled:
            self.timeouts += 1
            self.policy.timeout(now)
            if self.backoff < LARGEST_BACKOFF:
                self.backoff += 1
                self.doubled = now
        self.flying -= late
        self.lost |= late
        self.credit += max(1, len(late))
        if self.flying:
            self.timer_at(self.due())
        else:
            self.restart_timer()


def _first_window(case: NdpCase, flow: Flow) -> int:
    """Returns the number of packets that a flow sends without being pulled."""
    if isinstance(case.ndp.first_window, int):
        return case.ndp.first_window
    size = ways.pair_bytes(case, ways.routes(case), flow.source, flow.destination)
    return min(max(1, -(-size // case.transport.data(case.transport.payload))), KEPT)


class Receiver(trimming.Receiver):
    """A receiver: an answer for every packet, and a pull for each answer."""

    host: Host

    def __init__(self, host: trimming.Host, flow: Flow, place: int) -> None:
        super().__init__(host, flow, place)
        self.arrived: set[int] = set()
        self.next = 0
        self.pulls = self.queued = 0
        self.last: Packet

    def receive(self, packet: PlainPacket) -> None:
        assert isinstance(packet, Packet)
        payload = self.host.case.transport.payload
        total = -(-self.flow.size // payload)
        if self.next == total:
            self.tell("ack", packet, 0)
            return
        number = packet.byte // payload
        if packet.kind == "data":
            self.arrived.add(number)
            while self.next in self.arrived:
                self.next += 1
        self.last = packet
        kind = "ack" if number in self.arrived else "nack"
        if self.next == total:
            self.delivered = self.host.clock.now
            self.host.discard(self)
        else:
            self.host.owe(self)
        self.tell(kind, packet, self.pulls)

    def pull(self) -> None:
        """Sends a queued pull."""
        self.queued -= 1
        self.pulls += 1
        self.tell("pull", self.last, self.pulls)

    def tell(self, kind: str, packet: Packet, pulls: int) -> None:
        """Queues an answer to a packet, or a pull by the path of such an answer."""
        self.reply(
            Told(
                kind,
                self.host.case.transport.ack,
                packet.flow,
                packet.byte,
                sent=packet.sent,
                entropy=packet.entropy,
                marked=packet.marked,
                expected=self.next,
                pulls=pulls,
            )
        )


class Host(trimming.Host):
    """A host whose card also sends pulls, at the pace of its link."""

    kind = Sender

    def __init__(self, clock: Clock, case: Case, link: Link) -> None:
        super().__init__(clock, case, link)
        assert isinstance(case, NdpCase)
        rate = int(link.rate * Fraction(case.ndp.pull_rate))
        self.spacing = duration(case.transport.data(case.transport.payload), rate)
        self.next_pull = 0
        self.waiting: deque[Receiver] = deque()
        self.due = False

    def owe(self, receiver: Receiver) -> None:
        """A packet has arrived that is worth a pull: with the answer, or queued."""
        if not self.waiting and self.clock.now >= self.next_pull:
            receiver.pulls += 1
            self.next_pull = self.clock.now + self.spacing
            return
        receiver.queued += 1
        if receiver not in self.waiting:
            self.waiting.append(receiver)
        self.set_timer()

    def discard(self, receiver: Receiver) -> None:
        """Discards the queued pulls of a flow."""
        if receiver in self.waiting:
            self.waiting.remove(receiver)

    def set_timer(self) -> None:
        """Sets the timer of pulls if some are queued and it is not set."""
        if self.waiting and not self.due:
            self.due = True
            self.clock.at(self.next_pull, PULL, 0, self.pull)

    def pull(self) -> None:
        """The timer is due: the flow whose turn it is has a pull sent, unless it came early."""
        self.due = False
        if self.waiting and self.clock.now >= self.next_pull:
            receiver = self.waiting.popleft()
            self.next_pull = self.clock.now + self.spacing
            if receiver.queued > 1:
                self.waiting.append(receiver)
            receiver.pull()
        self.set_timer()

    def answered(self, sender: PlainSender, packet: PlainPacket) -> None:
        assert isinstance(packet, Packet)
        assert isinstance(sender, Sender)
        if not isinstance(packet, Told):
            sender.on_returned(packet)
            return
        if packet.kind == "ack" and not packet.marked:
            sender.policy.good(self.clock.now, packet.entropy)
        sender.on_told(packet)

    def expired(self, sender: PlainSender) -> None:
        assert isinstance(sender, Sender)
        if sender.state != "done" and sender.deadline == self.clock.now:
            sender.expired()
            self.wake(sender)
            self.serve()


def played(case: NdpCase, order: list[int], host: type[Host] = Host) -> Run:
    """Plays a case. `order` is the order of its flows' starts."""
    return trimming.played(case, order, host, Receiver)


def run(case: NdpCase, order: list[int]) -> list[Outcome]:
    """The outcome of every flow of a case, in the order of the case."""
    return played(case, order).outcomes


def _ndp(draw: random.Random, case: TrimmingCase) -> NdpCase:
    """Changes a case to NDP."""
    flows = tuple(replace(flow, window=None, rate=None) for flow in case.flows)
    hosts = case.hosts()[1:]
    if draw.random() < 0.5:
        # A whole incast at once.
        flows = tuple(
            replace(flow, source=draw.choice(hosts), destination="h0", start=draw.randrange(2 * US))
            for flow in (*flows, *flows[:4])
        )
    rto = draw.choice([1000 * US, draw.randrange(100 * US, 300 * US), draw.randrange(10 * US, 60 * US)])
    trims = case.trimming
    if draw.random() < 0.3:
        # Few senders for all, and headers, answers and pulls that find no room: the timer repairs it all.
        flows = tuple(
            flow if flow.destination in hosts[:2] else replace(flow, source=draw.choice(hosts[:2]))
            for flow in flows
        )
        trims = replace(trims, headers=max(trims.size, case.transport.ack) * draw.randint(1, 2))
        rto = draw.randrange(5 * US, 40 * US)
    ndp = Ndp(
        first_window=draw.choice([23, draw.randint(1, 10), draw.randint(5, 60)]),
        pull_rate=draw.choice([1, 1, 0.5, draw.randint(13, 63) / 64]),
        rto=rto,
    )
    if draw.random() < 0.25:
        ndp = replace(ndp, first_window="bdp")
    return NdpCase(
        case.links,
        flows,
        replace(case.transport, ack_every=1, ack_payload=None, ack_delay=50 * US),
        balancing=case.balancing,
        trimming=trims,
        mark=case.mark,
        mark_at=case.mark_at,
        ndp=ndp,
    )


def ndp_star(seed: int) -> NdpCase:
    """A star with an incast under NDP."""
    return _ndp(random.Random(f"ndp {seed}"), trimming_star(seed))


def ndp_spines(seed: int) -> NdpCase:
    """Leaves and spines, and senders that spread their packets by different policies, under NDP."""
    return _ndp(random.Random(f"ndp spines {seed}"), trimming_spines(seed))


KINDS: dict[str, Callable[[int], Case]] = {"ndp star": ndp_star, "ndp spines": ndp_spines}
"""Functions that draw a case of each kind from a seed."""
