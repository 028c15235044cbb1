"""The rules of a switch: schedulers, buffer, marks. From the pages in docs/network, not from the engine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

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
        """The marks of a port; None if it sets none."""
        ecn = evidence.section("switch", "ecn")
        if ecn is None:
            return None
        scale = Fraction(port.rate, quantity(ecn["reference"])) if "reference" in ecn else Fraction(1)
        low, high = (math.floor(quantity(ecn[key]) * scale) for key in ("kmin", "kmax"))
        return cls(low, high, Fraction(str(ecn["pmax"])), ecn["at"] == "enqueue")

    def probability(self, queue: int) -> Fraction:
        """The probability of a mark behind this many bytes."""
        if queue <= self.kmin:
            return Fraction(0)
        if queue >= self.kmax:
            return Fraction(1)
        return self.pmax * (queue - self.kmin) / (self.kmax - self.kmin)


class Scheduler(Protocol):
    """The choice of the next queue of a port."""

    def choose(self, heads: Sequence[int | None], single: Sequence[bool]) -> int:
        """The queue that sends next.

        Args:
            heads: The size of the first packet of each queue that may send; None: it may not.
            single: Whether that packet is the only one of its queue.
        """
        ...


def following(last: int, heads: Sequence[int | None]) -> int:
    """The next queue that may send after ``last``, round and round."""
    count = len(heads)
    return next(i % count for i in range(last + 1, last + count + 1) if heads[i % count] is not None)


@dataclass
class StrictPriority:
    """The lowest number."""

    def choose(self, heads: Sequence[int | None], single: Sequence[bool]) -> int:
        """The queue that sends next."""
        return next(i for i, head in enumerate(heads) if head is not None)


@dataclass
class RoundRobin:
    """The next one after the last."""

    last: int = -1

    def choose(self, heads: Sequence[int | None], single: Sequence[bool]) -> int:
        """The queue that sends next."""
        self.last = following(self.last, heads)
        return self.last


@dataclass
class Deficit:
    """Deficit round robin; pauses in the middle of a visit are not modelled."""

    quanta: Sequence[int]
    visited: int = -1
    visiting: bool = False
    counters: list[int] = field(default_factory=list)

    def choose(self, heads: Sequence[int | None], single: Sequence[bool]) -> int:
        """The queue that sends next."""
        self.counters = self.counters or [0] * len(heads)
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
    """Weighted round robin by packets."""

    weights: Sequence[int]
    turn: int = -1
    sent: int = 0

    def choose(self, heads: Sequence[int | None], single: Sequence[bool]) -> int:
        """The queue that sends next."""
        if self.turn < 0 or self.sent >= self.weights[self.turn] or heads[self.turn] is None:
            self.turn, self.sent = following(self.turn, heads), 0
        self.sent += 1
        return self.turn


@dataclass
class StrictThen:
    """The first queues by strict priority, then the others by another scheduler."""

    strict: int
    others: Scheduler

    def choose(self, heads: Sequence[int | None], single: Sequence[bool]) -> int:
        """The queue that sends next."""
        for number in range(self.strict):
            if heads[number] is not None:
                return number
        return self.others.choose(heads, single)


def scheduler(switch: Mapping[str, Any]) -> Scheduler:
    """The scheduler of a port, in its first state."""
    queues, name = switch.get("queues", 1), switch.get("scheduler", "strict-priority")
    others: Scheduler
    if name == "drr":
        others = Deficit([quantity(text) for text in switch.get("quanta", ["1518B"] * queues)])
    elif name == "wrr":
        others = Weighted(switch.get("weights", [1] * queues))
    else:
        others = RoundRobin() if name == "round-robin" else StrictPriority()
    return StrictThen(switch.get("strict", 0), others)


def scaled(alpha: Fraction, free: int) -> int:
    """A dynamic threshold: α times the free part, rounded down."""
    return math.floor(alpha * max(free, 0))


@dataclass
class Charged:
    """The bytes of one port and priority in a switch with PFC, by part."""

    reserve: int = 0
    pool: int = 0
    headroom: int = 0
    pausing: bool = False


@dataclass
class Buffer:
    """The buffer of a switch (docs/network/switch-buffer.md).

    Attributes:
        size: Bytes of the shared buffer; None: no limit.
        per_port: Limit of each port; None: none.
        lossless: The queues that pause.
        pool: The shared pool, which is the whole buffer without PFC.
        held: Bytes in all queues.
        pooled: Bytes charged to the pool.
    """

    size: int | None
    per_port: int | None
    egress: Fraction
    ingress: dict[int, Fraction]
    lossless: frozenset[int]
    pool: int
    reserve: int
    headroom: dict[int, int]
    xoff: int | None
    xon_offset: int
    egress_limit: bool
    charges: dict[tuple[int, int], Charged]
    held: int = 0
    pooled: int = 0

    @classmethod
    def of(cls, evidence: Evidence, node: int) -> Buffer:
        """The buffer of a switch, empty.

        Raises:
            ValueError: When the scenario has a setting that is not known here.
        """
        switch, pfc = evidence.settings["switch"], evidence.section("switch", "pfc")
        ports = {number: port for (at, number), port in evidence.ports.items() if at == node}
        written: Any = switch.get("buffer", "unlimited")
        name = evidence.nodes[node]
        for entry in switch.get("buffers", []):
            if name in entry["switches"] or name.rstrip("0123456789") in entry["switches"]:
                written = entry["buffer"]
        per_port = quantity(written["per_port"]) if isinstance(written, Mapping) else None
        size = None if per_port is not None or written == "unlimited" else quantity(written)
        lossless: frozenset[int] = frozenset()
        headroom = dict.fromkeys(ports, 0)
        ingress = dict.fromkeys(ports, Fraction(1))
        reserve, xoff, xon = 0, None, 0
        if pfc is not None:
            lossless = frozenset(pfc.get("queues", range(switch.get("queues", 1))))
            xoff = None if pfc["xoff"] == "auto" else quantity(pfc["xoff"])
            xon = quantity(pfc["xon_offset"])
            if size is not None:
                reserve = quantity(switch["reserve"])
                headroom = {n: _headroom(evidence, pfc, port, len(lossless)) for n, port in ports.items()}
                ingress = {n: _ingress(switch, port) for n, port in ports.items()}
        kept = len(lossless) * sum(headroom[n] + reserve for n in ports)
        return cls(
            size, per_port, Fraction(str(switch.get("egress_alpha", 1))), ingress, lossless,
            (size or 0) - kept, reserve, headroom, xoff, xon, switch.get("egress_limit", False),
            {(n, q): Charged() for n in ports for q in lossless},
        )  # fmt: skip

    def threshold(self, port: int) -> int:
        """The bytes of the pool that a port and priority may hold."""
        return self.xoff if self.xoff is not None else scaled(self.ingress[port], self.pool - self.pooled)

    def limits(self, queue: int, length: int, total: int, size: int) -> list[tuple[str, int, int]]:
        """The limits that decide whether a packet is dropped: name, bytes with the packet, and the most."""
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
        if charge is None:
            self.held += size
            self.pooled += size
            return None
        if self.size is None:
            over = charge.pool + size > self.threshold(port)
            charge.pool += size
            self.pooled += size
        elif charge.reserve + size <= self.reserve:
            charge.reserve += size
            over = False
        elif (
            not charge.headroom
            and charge.pool + size <= self.threshold(port)
            and size <= self.pool - self.pooled
        ):
            charge.pool += size
            self.pooled += size
            over = False
        elif charge.headroom + size <= self.headroom[port]:
            charge.headroom += size
            over = True
        else:
            return "full"
        self.held += size
        if over and not charge.pausing:
            charge.pausing = True
            return "pause"
        return None

    def release(self, port: int, queue: int, size: int) -> bool:
        """Releases a packet that leaves. Returns whether the far end of ``port`` resumes."""
        self.held -= size
        charge = self.charges.get((port, queue))
        if charge is None:
            self.pooled -= size
            return False
        taken = min(size, charge.headroom)
        charge.headroom -= taken
        size -= taken
        taken = min(size, charge.pool)
        charge.pool -= taken
        self.pooled -= taken
        charge.reserve -= size - taken
        low = charge.pool == 0 or charge.pool + self.xon_offset <= self.threshold(port)
        if charge.pausing and charge.headroom == 0 and low:
            charge.pausing = False
            return True
        return False


def _headroom(evidence: Evidence, pfc: Mapping[str, Any], port: Port, priorities: int) -> int:
    """The headroom of a port and priority (docs/network/pfc.md, *Headroom*)."""
    written = pfc["headroom"]
    if written != "auto":
        return quantity(written)
    if "headroom_factor" in pfc:
        return math.floor(Fraction(str(pfc["headroom_factor"])) * port.rate * port.delay / (8 * 10**12))
    transport = evidence.settings["transport"]
    payload, header, smallest = (quantity(transport[key]) for key in ("payload", "header", "smallest"))
    largest = max(payload + header + evidence.extra, smallest)
    time = 2 * port.delay + max(duration(largest, port.rate), duration(FRAME, port.rate))
    time += priorities * duration(FRAME, port.rate)
    return -(-port.rate * time // (8 * 10**12)) + 2 * largest


def _ingress(switch: Mapping[str, Any], port: Port) -> Fraction:
    """α of an ingress port: doubled, up to 1, for each halving that brings its rate down to the reference."""
    alpha = Fraction(str(switch["ingress_alpha"]))
    if "ingress_alpha_rate" in switch:
        rate, reference = Fraction(port.rate), quantity(switch["ingress_alpha_rate"])
        while rate > reference and alpha < 1:
            rate, alpha = rate / 2, min(2 * alpha, Fraction(1))
    return alpha
