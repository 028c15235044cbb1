"""The divided times of flows under NDP: from docs/guide/limits.md, with the hosts of ndp.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from models import limits, ndp, plain
from models.cases import Case
from models.links import Packet
from models.plain import Outcome


@dataclass(frozen=True)
class LimitedNdpCase(limits.Compared, ndp.NdpCase):
    """A case under NDP of which the divided times of flows are compared."""


class Host(limits.Observer, ndp.Host):
    """A host that pulls and is pulled."""

    def limit(self, sender: plain.Sender) -> str:
        assert isinstance(sender, ndp.Sender)
        if sender.state == "leaving":
            return "repair" if sender.again else "sending"
        if not sender.has_something():
            return "repair" if sender.again else "answer"
        return "card" if sender.credit else "credit"

    def answered(self, sender: plain.Sender, packet: Packet) -> None:
        if packet.kind == "ack":
            trip = self.clock.now - packet.sent
            self.divisions[sender.number].late = max(0, trip - plain.base_rtt(sender))
        super().answered(sender, packet)

    def expired(self, sender: plain.Sender) -> None:
        assert isinstance(sender, ndp.Sender)
        now = self.clock.now
        if sender.state != "done" and sender.deadline == now and sender.due() <= now:
            set_at = min((sender.copies[number] for number in sender.flying), default=sender.active)
            self.divisions[sender.number].expired(now, set_at)
        super().expired(sender)


def run(case: LimitedNdpCase, order: list[int]) -> list[Outcome]:
    """The outcome of every flow of a case with its divided time, in the order of the case."""
    return limits.divided(ndp.played(case, order, Host).senders)


KINDS: dict[str, Callable[[int], Case]] = {
    f"limits, {name}": limits.limited(draw, LimitedNdpCase) for name, draw in ndp.KINDS.items()
}
