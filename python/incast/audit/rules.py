"""The rules of a switch: schedulers, buffer, marks. From the pages in docs/network, not from the engine."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from incast.audit.evidence import Evidence, Port, duration, quantity

FRAME = 64
"""Size of a pause frame (docs/network/pfc.md)."""


@dataclass(frozen=True)
class Marks:
    """The marks of a port (docs/network/ecn.md)."""

    kmin: int
    kmax: int
    pmax: Fraction
    at_enqueue: bool

    @classmethod
    def of(cls, evidence: Evidence, port: Port) -> Marks | None:
        """Returns the marks of a port; None if it sets none."""
        ecn = evidence.settings["switch"].get("ecn")
        if ecn is None:
            return None
        scale = Fraction(port.rate, quantity(ecn["reference"])) if "reference" in ecn else Fraction(1)
        low, high = (math.floor(quantity(ecn[key]) * scale) for key in ("kmin", "kmax"))
        return cls(low, high, Fraction(str(ecn["pmax"])), ecn["at"] == "enqueue")

    def probability(self, queue: int) -> Fraction:
        """Returns the probability of a mark behind this many bytes."""
        if queue <= self.kmin:
            return Fraction(0)
        if queue >= self.kmax:
            return Fraction(1)
        return self.pmax * (queue - self.kmin) / (self.kmax - self.kmin)


Scheduler = Callable[[Sequence[int | None], Sequence[bool]], int]
"""Chooses the queue of a port that sends next.

Its arguments: the size of the first packet of each queue that may send (None: it may not), and whether that
packet is the only one of its queue.
"""


def following(last: int, heads: Sequence[int | None]) -> int:
    """Returns the next queue that may send after ``last``, round and round."""
    count = len(heads)
    return next(i % count for i in range(last + 1, last + count + 1) if heads[i % count] is not None)


def strict_priority(heads: Sequence[int | None], single: Sequence[bool]) -> int:
    """Chooses the lowest number."""
    return next(i for i, head in enumerate(heads) if head is not None)


@dataclass
class Deficit:
    """Deficit round robin; pauses in the middle of a visit are not modelled."""

    quanta: Sequence[int]
    visited: int = -1
    visiting: bool = False
    counters: Counter[int] = field(default_factory=Counter)

    def __call__(self, heads: Sequence[int | None], single: Sequence[bool]) -> int:
        """Continues the visit, or visits queues until one may send its first packet."""
        while True:
            head = heads[self.visited] if self.visiting else None
            if head is not None and head <= self.counters[self.visited]:
                break
            self.visited, self.visiting = following(self.visited, heads), True
            self.counters[self.visited] += self.quanta[self.visited]
        self.counters[self.visited] -= head
        if single[self.visited]:
            self.counters[self.visited], self.visiting = 0, False
        return self.visited


@dataclass
class Weighted:
    """Weighted round robin by packets; round robin if every weight is 1."""

    weights: Sequence[int]
    turn: int = -1
    sent: int = 0

    def __call__(self, heads: Sequence[int | None], single: Sequence[bool]) -> int:
        """Chooses the queue whose turn it is, or the next one."""
        if self.turn < 0 or self.sent >= self.weights[self.turn] or heads[self.turn] is None:
            self.turn, self.sent = following(self.turn, heads), 0
        self.sent += 1
        return self.turn


@dataclass
class StrictThen:
    """The first queues by strict priority, then the others by another scheduler."""

    strict: int
    others: Scheduler

    def __call__(self, heads: Sequence[int | None], single: Sequence[bool]) -> int:
        """Chooses the lowest number if that is one of the first queues."""
        lowest = strict_priority(heads, single)
        return lowest if lowest < self.strict else self.others(heads, single)


def scheduler(switch: Mapping[str, Any]) -> Scheduler:
    """Returns the scheduler of a port, in its first state."""
    queues, name = switch.get("queues", 1), switch.get("scheduler", "strict-priority")
    others: Scheduler = strict_priority
    # Queues that are not listed have the defaults of docs/network/scheduling.md.
    if name == "drr":
        others = Deficit([quantity(text) for text in switch.get("quanta", []) + ["1518B"] * queues])
    elif name == "wrr":
        others = Weighted(switch.get("weights", []) + [1] * queues)
    elif name == "round-robin":
        others = Weighted([1] * queues)
    return StrictThen(switch.get("strict", 0), others)


def scaled(alpha: Fraction, free: int) -> int:
    """Returns a dynamic threshold: α times the free part, rounded down."""
    return math.floor(alpha * max(free, 0))


@dataclass
class Charged:
    """The bytes of one port and priority in a switch with PFC, by part.

    Attributes:
        alpha: α of its threshold.
        room: The most that its headroom holds.
    """

    alpha: Fraction = Fraction(1)
    room: int = 0
    reserve: int = 0
    pool: int = 0
    headroom: int = 0
    pausing: bool = False


class Buffer:
    """The buffer of a switch (docs/network/switch-buffer.md), which is empty at first.

    Attributes:
        size: Bytes of the shared buffer; None: no limit.
        per_port: Limit of each port; None: none.
        lossless: The queues that pause.
        reserve: The most that the reserve of a port and priority holds.
        pool: The shared pool, which is the whole buffer without PFC.
        held: Bytes in all queues.
        pooled: Bytes charged to the pool.
        charges: The bytes of each port and priority that pauses.
    """

    def __init__(self, evidence: Evidence, node: int) -> None:
        switch, name = evidence.settings["switch"], evidence.nodes[node]
        written, pfc = switch.get("buffer", "unlimited"), switch.get("pfc")
        for entry in switch.get("buffers", []):
            if name in entry["switches"] or name.rstrip("0123456789") in entry["switches"]:
                written = entry["buffer"]
        self.per_port = quantity(written["per_port"]) if isinstance(written, Mapping) else None
        self.size = None if self.per_port is not None or written == "unlimited" else quantity(written)
        self.egress = Fraction(str(switch.get("egress_alpha", 1)))
        self.egress_limit = switch.get("egress_limit", False)
        self.held = self.pooled = self.reserve = 0
        self.lossless: frozenset[int] = frozenset()
        self.charges: dict[tuple[int, int], Charged] = {}
        if pfc is not None:
            self.lossless = frozenset(pfc.get("queues", range(switch.get("queues", 1))))
            self.xoff = None if pfc["xoff"] == "auto" else quantity(pfc["xoff"])
            self.xon_offset = quantity(pfc["xon_offset"])
            ports = evidence.ports_of(node)
            self.charges = {(number, queue): Charged() for number in ports for queue in self.lossless}
            if self.size is not None:
                self.reserve = quantity(switch["reserve"])
                for (number, _), charge in self.charges.items():
                    charge.alpha = _alpha(switch, ports[number])
                    charge.room = _headroom(evidence, pfc, ports[number], len(self.lossless))
        self.pool = (self.size or 0) - sum(self.reserve + charge.room for charge in self.charges.values())

    def threshold(self, charge: Charged) -> int:
        """Returns the bytes of the pool that a port and priority may hold."""
        return self.xoff if self.xoff is not None else scaled(charge.alpha, self.pool - self.pooled)

    def limits(self, queue: int, length: int, total: int, size: int) -> list[tuple[str, int, int]]:
        """Returns the limits that decide on a drop: name, bytes with the packet, and the most."""
        if self.per_port is not None:
            return [("port", total + size, self.per_port)]
        if self.size is None:
            return []
        if queue not in self.lossless:
            free = self.pool - self.pooled
            threshold = scaled(self.egress, free)
            return [("free buffer", size, free), ("threshold", length + size, threshold)]
        if self.egress_limit:
            return [("egress threshold", length + size, scaled(self.egress, self.size - self.held))]
        return []

    def take(self, port: int, queue: int, size: int) -> str | None:
        """Charges a packet that stays. Returns ``pause``, ``full`` (no headroom for it) or None."""
        charge = self.charges.get((port, queue))
        over = False
        if charge is None:
            self.pooled += size
        elif charge.reserve + size <= self.reserve:
            charge.reserve += size
        else:
            fits = charge.pool + size <= self.threshold(charge)
            if self.size is None or (fits and not charge.headroom and size <= self.pool - self.pooled):
                charge.pool += size
                self.pooled += size
                over = not fits
            elif charge.headroom + size <= charge.room:
                charge.headroom += size
                over = True
            else:
                return "full"
        self.held += size
        if charge is None or charge.pausing or not over:
            return None
        charge.pausing = True
        return "pause"

    def release(self, port: int, queue: int, size: int) -> bool:
        """Releases a packet that leaves. Returns whether the far end of ``port`` resumes."""
        self.held -= size
        charge = self.charges.get((port, queue))
        if charge is None:
            self.pooled -= size
            return False
        of_headroom = min(size, charge.headroom)
        of_pool = min(size - of_headroom, charge.pool)
        charge.headroom -= of_headroom
        charge.pool -= of_pool
        self.pooled -= of_pool
        charge.reserve -= size - of_headroom - of_pool
        low = charge.pool == 0 or charge.pool + self.xon_offset <= self.threshold(charge)
        if charge.pausing and charge.headroom == 0 and low:
            charge.pausing = False
            return True
        return False


def _headroom(evidence: Evidence, pfc: Mapping[str, Any], port: Port, priorities: int) -> int:
    """Returns the headroom of a port and priority (docs/network/pfc.md, *Headroom*)."""
    written = pfc["headroom"]
    if written != "auto":
        return quantity(written)
    if "headroom_factor" in pfc:
        return math.floor(Fraction(str(pfc["headroom_factor"])) * port.rate * port.delay / (8 * 10**12))
    payload, header, smallest = evidence.sizes("payload", "header", "smallest")
    largest = max(payload + header + max(evidence.extra.values(), default=0), smallest)
    time = 2 * port.delay + max(duration(largest, port.rate), duration(FRAME, port.rate))
    time += priorities * duration(FRAME, port.rate)
    return -(-port.rate * time // (8 * 10**12)) + 2 * largest


def _alpha(switch: Mapping[str, Any], port: Port) -> Fraction:
    """Returns α of an ingress port: doubled, up to 1, for each halving of its rate down to the reference."""
    alpha = Fraction(str(switch["ingress_alpha"]))
    if "ingress_alpha_rate" in switch:
        rate, reference = Fraction(port.rate), quantity(switch["ingress_alpha_rate"])
        while rate > reference and alpha < 1:
            rate, alpha = rate / 2, min(2 * alpha, Fraction(1))
    return alpha
