"""The divided times of flows: after every event of a host the limit of each of its senders, and its duration.

From docs/guide/limits.md, with the hosts of plain.py. There are no transitions, nothing is credited in
advance: the limit follows from the state alone, and counts until the next event.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from incast import Result
from models import cases, plain
from models.cases import Case
from models.links import Packet
from models.plain import Outcome

QUEUED = ("window", "answer")
"""Waits that are earlier over without queues if an acknowledgement ends them."""
RELABELLED = (*QUEUED, "credit")
"""Waits that are repairs if a timer ends them."""


class Compared:
    """A case of which the divided times of flows are compared."""

    def observed(self, result: Result, outcomes: list[Outcome], order: list[int]) -> list[Outcome]:
        table = result.limits
        names = [name for name in table.columns if name.endswith("_ps") and name != "time_ps"]
        columns = [table.column(name).tolist() for name in names]
        limits = [name.removesuffix("_ps") for name in names]
        divided = list(outcomes)
        for row, flow in enumerate(table.column("flow").tolist()):
            if outcomes[order[flow]].finish is None:
                continue
            of = {limit: int(column[row]) for limit, column in zip(limits, columns, strict=True)}
            divided[order[flow]] = with_times(outcomes[order[flow]], of)
        return divided


@dataclass(frozen=True)
class LimitedCase(Compared, Case):
    """Such a case of the window transport."""


@dataclass(frozen=True)
class Divided(Outcome):
    """An outcome with the time of each limit that has any, by name, and the parts that queues added."""

    times: tuple[tuple[str, int], ...]


def with_times(o: Outcome, times: dict[str, int]) -> Divided:
    """An outcome with these times by limit."""
    known = tuple(sorted((limit, time) for limit, time in times.items() if time))
    return Divided(o.finish, o.delivered, o.packets, o.resent, o.timeouts, known)


class Division:
    """The time of one sender so far.

    Attributes:
        times: Time by limit, in waits that are over.
        limit: The present one.
        since: When it began.
        late: By how much queues delayed the acknowledgement that has just arrived.
    """

    def __init__(self, now: int) -> None:
        self.times: dict[str, int] = {}
        self.limit, self.since, self.late = "", now, 0

    def observe(self, now: int, limit: str) -> None:
        """This limit holds now."""
        if limit != self.limit:
            self.count(now, self.limit)
            self.limit = limit

    def count(self, now: int, limit: str) -> None:
        """Counts the time since the begin of the present wait for this limit."""
        if now > self.since:
            self.times[limit] = self.times.get(limit, 0) + now - self.since
            if limit in QUEUED:
                queued = f"{limit}_queued"
                self.times[queued] = self.times.get(queued, 0) + min(now - self.since, self.late)
        self.since = now

    def expired(self, now: int, set_at: int) -> None:
        """A timer that was set then makes the sender send again."""
        if self.limit in RELABELLED:
            self.count(max(set_at, self.since), self.limit)
            self.count(now, "repair")


class Observer(plain.Host):
    """A host that observes its senders. What keeps them back is for a class of each transport."""

    divisions: dict[int, Division]

    def serve(self) -> None:
        super().serve()
        if not hasattr(self, "divisions"):
            self.divisions = {}
        for sender in self.senders:
            if sender.state != "done":
                now = self.clock.now
                self.divisions.setdefault(sender.number, Division(now)).observe(now, self.limit(sender))

    def limit(self, sender: plain.Sender) -> str:
        """Returns what keeps the next packet of a sender back."""
        raise NotImplementedError

    def arrived(self, port: int, packet: Packet) -> None:
        super().arrived(port, packet)
        for division in self.divisions.values():
            division.late = 0

    def finish(self, sender: plain.Sender) -> None:
        super().finish(sender)
        division = self.divisions[sender.number]
        division.count(self.clock.now, division.limit)


class Host(Observer):
    """A host with windows."""

    def limit(self, sender: plain.Sender) -> str:
        if sender.state == "leaving":
            return "repair" if sender.again else "sending"
        if not sender.has_something():
            return "repair" if sender.again else "answer"
        if sender.inflight > 0 and sender.inflight >= sender.window:
            return "window"
        if sender.next_at > self.clock.now:
            return "pacing"
        return "paused" if self.wire.paused else "card"

    def answered(self, sender: plain.Sender, packet: Packet) -> None:
        trip = self.clock.now - packet.sent - packet.held
        self.divisions[sender.number].late = max(0, trip - plain.base_rtt(sender))
        super().answered(sender, packet)

    def expired(self, sender: plain.Sender) -> None:
        now = self.clock.now
        if sender.state != "done" and sender.deadline == now and sender.inflight:
            self.divisions[sender.number].expired(now, now - (self.case.transport.rto << sender.backoff))
        super().expired(sender)


def run(case: LimitedCase, order: list[int]) -> list[Outcome]:
    """The outcome of every flow of a case with its divided time, in the order of the case."""
    return divided(plain.played(case, order, Host))


def divided(senders: list[plain.Sender]) -> list[Outcome]:
    """The outcomes of the flows of these senders, with their divided times."""
    divisions = [host.divisions[s.number] for s in senders if isinstance(host := s.host, Observer)]
    return [with_times(o, d.times) for o, d in zip(plain.outcomes(senders), divisions, strict=True)]


AnyCase = TypeVar("AnyCase", bound=Case)


def limited(kind: Callable[[int], Case], to: type[AnyCase]) -> Callable[[int], AnyCase]:
    """Cases of another kind whose divided times are compared."""

    def draw_case(seed: int) -> AnyCase:
        case = kind(seed)
        return to(**{name: getattr(case, name) for name in to.__dataclass_fields__})

    return draw_case


KINDS: dict[str, Callable[[int], Case]] = {
    f"limits, {name}": limited(cases.KINDS[name], LimitedCase)
    for name in (
        "lossless star",
        "lossy star",
        "lossy star, heavy loss",
        "two switches with PFC",
        "two switches with PFC, tiny packets",
        "lossy star, selective repeat",
        "sprayed spines",
    )
}
