"""The divided times of messages under Homa: from docs/guide/limits.md, with the hosts of homa.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from models import homa, limits, links
from models.cases import Case, Link
from models.clock import Clock
from models.homa import Outgoing, Packet, Plan
from models.limits import Division
from models.plain import Outcome, one_way


@dataclass(frozen=True)
class LimitedHomaCase(limits.Compared, homa.HomaCase):
    """A case under Homa of which the divided times of messages are compared."""


class Host(homa.Host):
    """A host that observes the messages that it sends.

    Attributes:
        divisions: The times of its messages, by number.
        again: Numbers of the messages of which the last packet was sent again.
        leaving: The message of the packet that leaves, if it is data.
        timeouts: Timeouts of its messages that were noticed, by number.
    """

    def __init__(self, clock: Clock, link: Link, plan: Plan) -> None:
        super().__init__(clock, link, plan)
        self.divisions: dict[int, Division] = {}
        self.again: set[int] = set()
        self.leaving: Outgoing | None = None
        self.timeouts: Counter[int] = Counter()

    def departed(self, port: int) -> None:
        self.leaving = None
        super().departed(port)

    def serve(self) -> None:
        now = self.clock.now
        before = {message.number: (message.sent, message.resent) for message in self.started}
        for message in self.started:
            if message.timeouts > self.timeouts[message.number]:
                self.timeouts[message.number] = message.timeouts
                self.divisions[message.number].expired(now, message.last)
        super().serve()
        for message in self.started:
            number, (sent, resent) = message.number, before[message.number]
            if message.sent > sent:
                self.leaving = message
                self.again.discard(number)
                self.again |= {number} if message.resent > resent else set()
            if not message.done:
                self.divisions.setdefault(number, Division(now)).observe(now, self.limit(message))

    def limit(self, message: Outgoing) -> str:
        """Returns what keeps the next packet of a message back."""
        if self.leaving is message:
            return "repair" if message.number in self.again else "sending"
        if message.ready():
            return "card"
        if message.next < message.packets:
            return "credit"
        return "repair" if message.number in self.again else "answer"

    def arrived(self, port: int, packet: links.Packet) -> None:
        assert isinstance(packet, Packet)
        message, now = packet.outgoing, self.clock.now
        assert message is not None
        if message.host is self and not message.done:
            division = self.divisions[message.number]
            if packet.kind == "ack":
                division.late = max(0, now - packet.sent - self.base_rtt(message))
                division.count(now, division.limit)
            elif packet.kind == "request":
                lost = set(range(packet.first, min(packet.end, message.next)))
                if not lost <= message.again:
                    division.expired(now, message.last)
        super().arrived(port, packet)

    def base_rtt(self, message: Outgoing) -> int:
        """Returns the time of a full packet and its answer, without queues."""
        transport, flow = self.plan.case.transport, message.flow
        full = transport.data(transport.payload)
        there = one_way(self.wire, flow.destination, message.data_hash, full)
        return there + one_way(message.incoming.host.wire, flow.source, message.reply_hash, transport.ack)


def run(case: LimitedHomaCase, order: list[int]) -> list[Outcome]:
    """The outcome of every flow of a case with its divided time; of a flow without end, nothing."""
    run = homa.played(case, order, Host)
    divided = []
    for message, outcome in zip(run.messages, run.outcomes, strict=True):
        assert isinstance(message.host, Host)
        times = message.host.divisions[message.number].times
        divided.append(homa.NOTHING if outcome.finish is None else limits.with_times(outcome, times))
    return divided


KINDS: dict[str, Callable[[int], Case]] = {
    "limits, homa star": limits.limited(homa.homa_star, LimitedHomaCase)
}
